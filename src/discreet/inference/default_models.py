"""The default model of each fitted estimator and answer; where there is none, a refusal that says what to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Answer
from discreet.estimators.factor_analysis import FactorAnalysis
from discreet.estimators.gaussian_classifier import GaussianClassifier
from discreet.estimators.gaussian_mixture import GaussianMixture
from discreet.estimators.kmeans import KMeans
from discreet.estimators.labelled import LabelledEstimator, sort_order
from discreet.estimators.linear_regression import LinearRegression
from discreet.estimators.linear_svc import LinearSVC
from discreet.estimators.logistic_regression import LogisticRegression
from discreet.estimators.pca import PCA
from discreet.estimators.table_mixture import TableMixture
from discreet.inference.measurements import Measurements
from discreet.inference.rows.class_rows import classifier
from discreet.inference.rows.factor_rows import factor_analysis
from discreet.inference.rows.gaussian_rows import NARROW, declared_scales, mixture
from discreet.inference.rows.logistic_rows import logistic
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.moment_rows import moments
from discreet.inference.rows.regression_rows import regression
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.moments.clipped_moments import Components, MomentSums
from discreet.queries.objectives.gradients import MarginGradient
from discreet.records import Category, Space
from discreet.scales import column_scales
from discreet.statistics import Covariance, Mean

Array = NDArray[np.float64]

YOUR_OWN = "write model=… with a model of your own"
INSTEAD: dict[type, str] = {
    KMeans: "clusters are no model of rows; write GaussianMixture(covariance_type='spherical')",
    PCA: "directions are no model of rows; write FactorAnalysis",
    LinearSVC: "margins are no model of labels; write LogisticRegression(method='gradient')",
    TableMixture: f"a mixture of categories has none here; {YOUR_OWN}",
}
METHODS: dict[type, tuple[str, ...]] = {
    GaussianMixture: ("adaptive", "joint"),
    GaussianClassifier: ("adaptive", "joint"),
    LogisticRegression: ("gradient",),
}


def check_has_model(what: Any) -> None:
    """Raise where there is no model for what was fitted or answered, and say what to do instead.

    Parameters
    ----------
    what : fitted estimator or Answer
    """
    name = type(what).__name__
    for kind, instead in INSTEAD.items():
        if isinstance(what, kind):
            raise ValueError(f"releases={name}: expected what has a model of rows; {instead}")
    for kind, methods in METHODS.items():
        if isinstance(what, kind) and what.method not in methods:  # type: ignore[attr-defined]
            accepted = " or ".join(map(repr, methods))
            raise ValueError(
                f"releases={name}(method={what.method!r}): expected a fit whose releases are sums over rows; write "  # type: ignore[attr-defined]
                f"method={accepted}"
            )
    if not isinstance(what, Answer):
        return
    if not isinstance(what, Mean | Covariance):
        raise ValueError(f"releases={name}: expected a mean, a variance or a covariance; {YOUR_OWN}")
    if isinstance(what, Covariance) and what.method == "direct":
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "sums over rows, and method='direct' measures about the rows' own mean",
            write="method='one-shot' or 'adaptive'",
        )
    if any(release.mechanism != "additive" for release in what.releases):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "sums over rows, and the bounds of this mean were drawn as quantiles",
            write=f"mean(…) with loose=False, or infer from the last of its releases: {YOUR_OWN}",
        )


def default_model(what: Any, measured: Measurements) -> ModelSpec:
    """Return the model of a fitted estimator or of an answer.

    Parameters
    ----------
    what : fitted estimator or Answer
    measured : Measurements
        What was measured for it.
    """
    check_has_model(what)
    taken = [name for name in (*measured.layout.columns, *measured.layout.category_columns) if name == "row"]
    if taken:
        raise ArgumentError("columns", UNSHOWN, "none with the name 'row', which a model calls all of them; rename it")
    for kind, build in BUILDERS.items():
        if isinstance(what, kind):
            return build(what, measured)
    raise ValueError(
        f"releases={type(what).__name__}: expected a fitted estimator or an answer of statistics, which have a model; "
        f"else {YOUR_OWN}"
    )


def _named(fitted: Any, measured: Measurements) -> tuple[str, ...]:
    """Return the features' names: those that the fit noted, where the releases only number them.

    Posteriors are of the values that were measured, so a log column is called ``log(income)``.
    """
    names = tuple(map(str, getattr(fitted, "feature_names_in_", measured.layout.columns)))
    known = column_scales(fitted.releases_[0].declared)
    return tuple(known[name].label if name in known else name for name in names)


def _mixture(fitted: Any, measured: Measurements) -> ModelSpec:
    result, columns, where = fitted._components, _named(fitted, measured), declared_scales(measured)
    return mixture(where, columns, fitted.covariance_type, result.weights, result.means, result.covariances)


def _labels(fitted: LabelledEstimator, measured: Measurements) -> tuple[tuple[Any, ...], list[int]]:
    """Return what the codes of the labels stand for, and the code at each place of ``classes_``.

    An array's labels are declared by their places among ``classes``, or sorted where they are public; a curator's and
    a file's as they are.
    """
    if fitted.classes is None:
        values = measured.layout.categories[0]
    elif isinstance(fitted.classes, str):
        values = fitted._values
    else:
        values = Category(fitted.classes).values
    return tuple(values), sort_order(values)


def _classifier(fitted: Any, measured: Measurements) -> ModelSpec:
    labels, order = _labels(fitted, measured)
    layout = measured.layout
    return classifier(
        declared_scales(measured),
        _named(fitted, measured),
        fitted.covariance_type,
        layout.category_columns[0],
        labels,
        order,
        fitted._components,
        fitted._space,
    )


def _factors(fitted: Any, measured: Measurements) -> ModelSpec:
    k, d = fitted.components_.shape
    if (d - k) ** 2 < d + k:  # fewer covariances than loadings and noises (Ledermann 1937)
        most = max(k for k in range(d) if (d - k) ** 2 >= d + k)
        raise ValueError(
            f"releases=FactorAnalysis(n_components={k}) of {d} columns: expected at most {most}, since beyond many "
            "loadings have the same covariance, and nothing tells them apart; for the covariance alone write "
            "GaussianMixture(1)"
        )
    mean = None if fitted.center == "declared" else fitted.mean_
    where = declared_scales(measured)
    return factor_analysis(where, _named(fitted, measured), mean, fitted.components_.T, fitted.noise_variance_)


def _line(fitted: Any, measured: Measurements) -> ModelSpec:
    columns, d = measured.layout.columns, fitted.n_features_in_
    features = set(map(str, getattr(fitted, "feature_names_in_", [f"x{j}" for j in range(d)])))
    (target,) = (place for place, name in enumerate(columns) if name not in features)
    mean, covariance = _gaussian_seen(measured)
    return regression(
        declared_scales(measured), columns, target, mean, covariance, intercept=bool(fitted.fit_intercept)
    )


def _scores(fitted: Any, measured: Measurements) -> ModelSpec:
    labels, order = _labels(fitted, measured)
    layout = measured.layout
    return logistic(
        declared_scales(measured),
        _named(fitted, measured),
        layout.category_columns[0],
        labels,
        order,
        _gaussian_seen(measured),
        (fitted.coef_, fitted.intercept_),
    )


def _gaussian_seen(measured: Measurements) -> tuple[Array, Array]:
    """Return one Gaussian of all rows to start from: the last in whose coordinates one was measured, or the prior's."""
    for one in reversed(measured.each):
        asked: Any = one.question
        seen = asked.features.gaussian if isinstance(asked, MarginGradient) else None
        if isinstance(asked, MomentSums):
            seen = asked.moments.components
        if isinstance(asked, ModelQuery) and isinstance(asked.params, Components):  # of earlier files
            seen = asked.params
        if seen is not None and seen.count == 1:
            space: Space = asked.features.space if isinstance(asked, MarginGradient) else asked.space
            result = seen.rescale(np.asarray(space.center), np.asarray(space.scale))
            return result.means[0], result.covariances[0]
    center, half = (np.array(part) for part in declared_scales(measured))
    return center, np.diag((NARROW * half) ** 2)


def _moments(answer: Mean | Covariance, measured: Measurements) -> ModelSpec:
    layout, scales = measured.layout, answer._scales
    names = [scale.name for scale in scales]
    if set(layout.columns) != set(names):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"an answer without weights, for which there is no model of rows; {YOUR_OWN} and a site for each of "
            f"{list(layout.columns)}",
        )
    asked, d = "mean", len(answer.columns)
    if isinstance(answer, Covariance):
        asked = "covariance" if answer.least < 0.0 else "variance"
    order = [layout.columns.index(name) for name in names]
    back = np.argsort(order)
    grouped: Sequence[int] = () if answer.groups is None else (len(answer.groups),)
    shape = (*grouped, d, d) if asked == "covariance" else (*grouped, d)
    value = np.asarray(answer.value, dtype=np.float64).reshape(shape)
    if asked == "mean":  # as values: the model is of what was measured
        value = np.stack([scale.to_values(value[..., j]) for j, scale in enumerate(scales)], axis=-1)
    value = value[..., back]
    if asked == "covariance":
        value = value[..., back, :]
    means: Array = value if asked == "mean" else np.asarray(answer.means).reshape(*grouped, d)[..., back]  # type: ignore[union-attr]
    labels = tuple(scale.label for scale in scales)
    common = (declared_scales(measured), labels, asked, order, answer.single, means)
    spreads = None if asked == "mean" else value
    if answer.groups is None:
        return moments(*common, spreads)
    return moments(*common, spreads, layout.category_columns[0], answer.groups)


BUILDERS: dict[type, Callable[[Any, Measurements], ModelSpec]] = {
    GaussianMixture: _mixture,
    GaussianClassifier: _classifier,
    FactorAnalysis: _factors,
    LinearRegression: _line,
    LogisticRegression: _scores,
    Mean: _moments,
    Covariance: _moments,
}
