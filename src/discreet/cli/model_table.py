"""The main parameters of a fitted model as a small table, for the output of ``discreet fit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.cli.printing import OutputTable
from discreet.records.cells import format_day
from discreet.scales import ColumnScale

MOST_COLUMNS = 12  # more would not fit side by side
NOTHING = 1e-9  # relative size below which a number is shown as 0


class ModelTable(NamedTuple):
    """Parameters with a row for each of ``labels``: numbers ``beside`` the columns, and a ``table`` of the columns.

    The typical size of a number in the table is ``unit`` times the width of its column to the power ``power``.
    ``places`` says whether the numbers are locations in the columns.
    """

    word: str
    labels: Sequence[Any]
    beside: dict[str, Any]
    table: Any
    power: int = 1
    unit: float = 1.0
    places: bool = False


def parameter_table(estimator: Any, scales: Mapping[str, ColumnScale], target: str | None = None) -> OutputTable | None:
    """Return the parameters of a fitted model, a row for each component or class; None where they are too many.

    Components are numbered from 1, as in reports and plots. Numbers that are 0 up to rounding are shown as 0. A
    location in a column of dates is a date. For a log column the numbers are about its logarithms, as the header says.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    scales : mapping of str to ColumnScale
        Of each column of numbers, with its declared bounds.
    target : str, optional
        The column that is predicted.
    """
    if hasattr(estimator, "quality"):
        return _strongest_pairs(estimator)
    widths = {name: scale.high - scale.low for name, scale in scales.items()}
    label = scales[target].label if target is not None and target in scales else target
    result = _parameters(estimator, target, label, widths)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    names = [name for name in names if name not in getattr(estimator, "categories_", {})]
    if len(names) != result.table.shape[1] or len(names) > MOST_COLUMNS:
        return None
    sizes = [result.unit * widths[name] ** result.power for name in names]
    rows = [
        (
            label,
            *(_rounded(column[j], result.unit) for column in result.beside.values()),
            *(
                format_day(value) if result.places and scales[name].kind == "date" else _rounded(value, size)
                for name, value, size in zip(names, result.table[j], sizes, strict=True)
            ),
        )
        for j, label in enumerate(result.labels)
    ]
    return OutputTable((result.word, *result.beside, *(scales[name].label for name in names)), rows)


def _strongest_pairs(estimator: Any) -> OutputTable:
    """Return what to expect of the pairs of columns of a synthetic table, the strongest first."""
    rows = [
        (one.first, one.second, round(one.association, 3), round(one.error, 4), "yes" if one.seen else "no")
        for one in list(estimator.quality())[:MOST_COLUMNS]
    ]
    return OutputTable(("column", "and", "association", "expected error", "more than noise"), rows)


def _rounded(value: Any, scale: float) -> float:
    return 0.0 if abs(value) < NOTHING * scale else float(value)


def _parameters(estimator: Any, target: str | None, label: str | None, widths: Mapping[str, float]) -> ModelTable:
    kind = type(estimator).__name__
    if kind in ("GaussianMixture", "TableMixture"):
        means = estimator.means_
        return ModelTable("component", range(1, len(means) + 1), {"weight": estimator.weights_}, means, places=True)
    if kind == "KMeans":
        centres = estimator.cluster_centers_
        return ModelTable("centre", range(1, len(centres) + 1), {}, centres, places=True)
    if kind == "PCA":
        axes = estimator.components_
        return ModelTable(
            "axis", range(1, len(axes) + 1), {"share": estimator.explained_variance_ratio_}, axes, power=0
        )
    if kind == "FactorAnalysis":
        return ModelTable("factor", range(1, len(estimator.components_) + 1), {}, estimator.components_)
    if kind == "GaussianClassifier":
        shares = {"share": estimator.priors_}
        return ModelTable("class", estimator.classes_.tolist(), shares, estimator.means_, places=True)
    coefficients, intercept = np.atleast_2d(estimator.coef_), {"intercept": np.atleast_1d(estimator.intercept_)}
    if kind == "LinearRegression":
        assert target is not None
        return ModelTable("coefficients", [label], intercept, coefficients, -1, widths[target])
    classes = estimator.classes_.tolist()
    return ModelTable("in favour of", classes[1:] if len(classes) == 2 else classes, intercept, coefficients, -1)
