"""Comparison of a model with the same fit without privacy. It is NOT private.

It is computed exactly from the rows, for their owner only, and only if the owner passes them in. Rows are first clipped
to the declared bounds, as in the private fit, so that the difference is the effect of the noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.estimators.covariance_types import unpack_covariances
from discreet.estimators.fitted_columns import (
    columns_to_values,
    declared_bounds,
    numeric_columns,
    numeric_scales,
    value_labels,
    values_to_rows,
)
from discreet.estimators.plots import plot_model
from discreet.plots import Ellipses, Facts, Plot
from discreet.plots.plot import format_number, format_percent
from discreet.records.cells import format_day
from discreet.report.synthetic_rows import compare_rows
from discreet.scales import ColumnScale

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComparisonWithoutPrivacy:
    """The same statistics with and without privacy.

    Attributes
    ----------
    facts : Facts
    plots : sequence of Plot
        Plots of the fit without privacy.
    """

    facts: Facts
    plots: Sequence[Plot] = ()


def compare_without_privacy(
    model: Any, private_rows: Any, columns: Sequence[str | int] | None
) -> ComparisonWithoutPrivacy:
    """Return the comparison of a fitted model with the same fit without privacy.

    Parameters
    ----------
    model : fitted estimator
    private_rows : array, data frame, or (X, y)
        The rows; with labels or a target, where the model has them.
    columns : pair of str or int, optional
        The columns to draw, where there is a plot.
    """
    X, y = private_rows if isinstance(private_rows, tuple) and len(private_rows) == 2 else (private_rows, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of solvers may depend on the rows
        if hasattr(model, "cells_"):
            return _compare_table(model, X)
        if hasattr(model, "quality"):
            return ComparisonWithoutPrivacy(*compare_rows(model, X))
        rows = _rows_inside(model, X)
        targeted = hasattr(model, "coef_") or hasattr(model, "priors_")
        if targeted and (y is None or len(y) != len(rows)):
            raise ArgumentError("private_rows", UNSHOWN, "(X, y) with a label or a target for each row of X")
        _check_enough(model, rows, y if hasattr(model, "classes_") else None)
        return (
            _comparison(model)(model, rows, columns) if not targeted else _compare_predictor(model, rows, np.asarray(y))
        )


def _rows_inside(model: Any, X: Any) -> Array:
    """Return the rows as numbers clipped to the declared bounds. No error shows a row."""
    rows: Array | None = None
    try:
        rows = model._rows(X)
    except ValueError:
        rows = None
    if rows is None:  # outside the except block, so that the first error is not its context
        raise ArgumentError(
            "private_rows",
            UNSHOWN,
            "complete rows of numbers with the columns " + ", ".join(map(repr, numeric_columns(model))),
        )
    low, high = declared_bounds(model).T
    return np.clip(rows, low, high)


def _check_enough(model: Any, rows: Array, labels: Any) -> None:
    """Raise where the rows are too few for a fit without privacy."""
    parts = [getattr(model, name, ()) for name in ("weights_", "cluster_centers_", "components_")]
    least = max(2, *map(len, parts))
    if len(rows) < least:
        raise ArgumentError("private_rows", UNSHOWN, f"at least {least} complete rows to fit this model to")
    if labels is not None and len(set(np.asarray(labels).tolist())) < 2:
        raise ArgumentError("private_rows", UNSHOWN, "rows of at least two of the classes")


def _comparison(model: Any) -> Callable[[Any, Array, Sequence[str | int] | None], ComparisonWithoutPrivacy]:
    if hasattr(model, "cluster_centers_"):
        return _compare_centres
    return _compare_mixture if hasattr(model, "weights_") else _compare_directions


def _facts(rows: Sequence[tuple[str, str, str]]) -> Facts:
    return Facts(["", "this model (private)", "from the rows (NOT private)"], rows)


def _compare_mixture(model: Any, rows: Array, columns: Sequence[str | int] | None) -> ComparisonWithoutPrivacy:
    from sklearn.mixture import GaussianMixture

    how = {"covariance_type": model.covariance_type, "n_init": 3, "tol": 1e-4, "max_iter": 300}
    fitted = GaussianMixture(len(model.weights_), random_state=0, **how)
    widths = np.asarray(declared_bounds(model) @ [-1.0, 1.0])
    fitted.fit(rows / widths)
    scores = (_score(model, rows), fitted.score(rows / widths) - float(np.log(widths).sum()))
    facts = _facts([("mean log-likelihood of a row", format_number(scores[0], 4), format_number(scores[1], 4))])
    if len(widths) == 1:
        return ComparisonWithoutPrivacy(facts)
    seen = plot_model(model, None, columns)
    assert isinstance(seen, Ellipses)
    j = [value_labels(model).index(name) for name in seen.columns]
    exact = unpack_covariances(fitted.covariances_, model.covariance_type, *fitted.means_.shape)
    exact = (exact * np.outer(widths, widths))[:, j][:, :, j]
    means = (fitted.means_ * widths)[:, j]
    labels = [f"{k + 1} (not private)" for k in range(len(means))]
    without = replace(seen, weights=fitted.weights_, means=means, covariances=exact, labels=labels)
    return ComparisonWithoutPrivacy(facts, [without.with_dates(seen.dated)])


def _compare_centres(model: Any, rows: Array, columns: Sequence[str | int] | None) -> ComparisonWithoutPrivacy:
    from sklearn.cluster import KMeans

    fitted = KMeans(len(model.cluster_centers_), n_init=3, random_state=0).fit(rows)
    each = [-one / len(rows) for one in (_score(model, rows), fitted.score(rows))]
    facts = _facts(
        [("mean squared distance of a row to its centre", format_number(each[0], 4), format_number(each[1], 4))]
    )
    return ComparisonWithoutPrivacy(facts)


def _compare_directions(model: Any, rows: Array, columns: Sequence[str | int] | None) -> ComparisonWithoutPrivacy:
    from sklearn.decomposition import PCA, FactorAnalysis

    count = len(model.components_)
    if not hasattr(model, "explained_variance_"):
        widths = np.asarray(declared_bounds(model) @ [-1.0, 1.0])
        fitted = FactorAnalysis(count).fit(rows / widths)
        exact = fitted.score(rows / widths) - float(np.log(widths).sum())
        return ComparisonWithoutPrivacy(
            _facts([("mean log-likelihood of a row", format_number(_score(model, rows), 4), format_number(exact, 4))])
        )
    scaled = rows / model.scale_
    covariance = np.cov(scaled.T)
    kept = float(np.trace(model.components_ @ covariance @ model.components_.T) / np.trace(covariance))
    best = float(PCA(count).fit(scaled).explained_variance_ratio_.sum())
    return ComparisonWithoutPrivacy(
        _facts([("share of the variance along the axes", format_percent(kept, 4), format_percent(best, 4))])
    )


def _compare_predictor(model: Any, rows: Array, y: NDArray[Any]) -> ComparisonWithoutPrivacy:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    low, high = declared_bounds(model).T
    unit = (rows - low) / (high - low)
    if hasattr(model, "priors_"):
        kinds = {"full": QuadraticDiscriminantAnalysis(reg_param=1e-6), "tied": LinearDiscriminantAnalysis()}
        other: Any = kinds.get(model.covariance_type, GaussianNB())
    else:
        other = LinearRegression() if model.coef_.ndim == 1 else LogisticRegression(C=1e6, max_iter=1000)
    other.fit(unit, y)
    name = "share of the target's variance that is explained" if isinstance(other, LinearRegression) else (
        "share of the rows whose class is predicted"
    )  # fmt: skip
    return ComparisonWithoutPrivacy(
        _facts([(name, format_percent(_score(model, rows, y), 4), format_percent(other.score(unit, y), 4))])
    )


def _score(model: Any, rows: Array, *y: Any) -> float:
    """Return the score of a model, for rows on the measured scale."""
    return float(model.score(values_to_rows(rows, numeric_scales(model)), *y))


def _place(scale: ColumnScale, value: float) -> str:
    return format_day(value) if scale.kind == "date" else format_number(value, 4)


def _compare_table(model: Any, X: Any) -> ComparisonWithoutPrivacy:
    """Compare means of numbers and shares of categories between synthetic rows and the real ones."""
    numbers, codes = model._read(X)
    low, high = declared_bounds(model).T
    numbers = np.clip(numbers, low, high)
    drawn, scales = model.sample(10_000, random_state=0), numeric_scales(model)
    means = [rows.mean(axis=0) for rows in (columns_to_values(drawn, scales), numbers)]
    compared = [
        (f"mean of {scale.label}", _place(scale, float(means[0][j])), _place(scale, float(means[1][j])))
        for j, scale in enumerate(scales)
    ]
    for j, (name, values) in enumerate(model.categories_.items()):
        for code, value in enumerate(values[:12]):
            shares = [float(np.mean(drawn[name] == value)), float(np.mean(codes[:, j] == code))]
            compared.append((f"share of {name} = {value}", format_percent(shares[0]), format_percent(shares[1])))
    return ComparisonWithoutPrivacy(_facts(compared))
