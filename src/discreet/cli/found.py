"""What a fitted model found, as one small table: what a person looks at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.cli.answer import Grid

__all__ = ["found_in"]

MOST_COLUMNS = 12  # of which more would not stand beside each other


class Found(NamedTuple):
    """Parameters with a row for each ``label``: numbers ``beside`` the columns, and a ``table`` of the columns."""

    word: str
    labels: Sequence[Any]
    beside: dict[str, Any]
    table: Any


def found_in(estimator: Any) -> Grid | None:
    """Return the parameters of a fitted model, a row for each component or class; None where they are too many."""
    found = _parameters(estimator)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    names = [name for name in names if name not in getattr(estimator, "categories_", {})]
    if len(names) != found.table.shape[1] or len(names) > MOST_COLUMNS:
        return None
    rows = [
        (label, *(float(column[j]) for column in found.beside.values()), *map(float, found.table[j]))
        for j, label in enumerate(found.labels)
    ]
    return Grid((found.word, *found.beside, *names), rows)


def _parameters(estimator: Any) -> Found:
    kind = type(estimator).__name__
    if kind in ("GaussianMixture", "TableMixture"):
        means = estimator.means_
        return Found("component", range(len(means)), {"weight": estimator.weights_}, means)
    if kind == "KMeans":
        centres = estimator.cluster_centers_
        return Found("centre", range(len(centres)), {}, centres)
    if kind == "PCA":
        axes = estimator.components_
        return Found("axis", range(len(axes)), {"share": estimator.explained_variance_ratio_}, axes)
    if kind == "FactorAnalysis":
        return Found("factor", range(len(estimator.components_)), {}, estimator.components_)
    if kind == "GaussianClassifier":
        return Found("class", estimator.classes_.tolist(), {"share": estimator.priors_}, estimator.means_)
    coefficients, intercept = np.atleast_2d(estimator.coef_), {"intercept": np.atleast_1d(estimator.intercept_)}
    if kind == "LinearRegression":
        return Found("coefficients", ["target"], intercept, coefficients)
    classes = estimator.classes_.tolist()
    return Found("in favour of", classes[1:] if len(classes) == 2 else classes, intercept, coefficients)
