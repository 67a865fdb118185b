"""Choose the default model of a fitted estimator or an answer. Where there is none, the error says what to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from discreet.estimators.linear_classifier import LinearClassifier
from discreet.estimators.linear_regression import LinearRegression
from discreet.estimators.linear_svc import LinearSVC
from discreet.estimators.logistic_regression import LogisticRegression
from discreet.estimators.pca import PCA
from discreet.estimators.table_mixture import TableMixture
from discreet.inference.measurements import Measurements
from discreet.inference.rows.cell_rows import CellAxis, build_cells
from discreet.inference.rows.class_rows import build_classifier
from discreet.inference.rows.component_labels import MixtureDraws
from discreet.inference.rows.direction_rows import build_clusters, build_principal_axes
from discreet.inference.rows.factor_rows import build_factor_analysis
from discreet.inference.rows.gaussian_rows import MEDIAN_SHARE, read_declared_scales
from discreet.inference.rows.logistic_rows import build_logistic
from discreet.inference.rows.mixture_rows import MIXTURE_NAMES, build_mixture
from discreet.inference.rows.model_spec import Draws, ModelSpec
from discreet.inference.rows.moment_rows import build_moments
from discreet.inference.rows.regression_rows import build_regression
from discreet.queries.counts.grids import Marginals
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.moments.clipped_moments import MomentSums
from discreet.queries.moments.components import Components
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.minimum import Minimum
from discreet.records import Category, Space
from discreet.scales import column_scales
from discreet.statistics import (
    Association,
    Correlation,
    Counts,
    Covariance,
    Crosstab,
    Density,
    Difference,
    Extreme,
    Histograms,
    LogRank,
    Mean,
    MeanCrosstab,
    MEstimate,
    MostFrequent,
    PersonCounts,
    RankTest,
    RestrictedMean,
    StandardDeviation,
    Survival,
    Totals,
    Trend,
)

Array = NDArray[np.float64]

YOUR_OWN = "write model=… with a model of your own"
MOVED = 0.05  # share of the rows that a column's histogram moves, above which it is said not to be that of Gaussians
POPULATION = "its own interval(of='population') accounts for noise and sampling"
ANSWERS: dict[type, str] = {
    Extreme: "how far a population reaches cannot be known from a sample; write quantiles(…) with levels inside (0, 1)",
    Histograms: "histograms of several columns do not tell how they go together; write crosstab(…), or one histogram",
    MeanCrosstab: "means in a table have no default model; write mean(…, by=…) with one column",
    PersonCounts: f"persons of several rows have no default model; {YOUR_OWN}",
    Totals: "a sum belongs to these rows, and a population has none; write mean(…), or count(…)",
    MostFrequent: "the most frequent value is drawn, and says little of the others; write count(…, by=…)",
    Density: "a density is computed from the counts of many bins; write histogram(…), whose shares have a posterior",
    Difference: f"the numbers that are compared have one each; write mean(…, by=…) or count(…, by=…), or {POPULATION}",
    Trend: f"a line through bins has no default model of rows; fit LinearRegression, or {POPULATION}",
    RankTest: f"a test compares ranks; write quantiles(…, by=…), or {POPULATION}",
    Association: "a test compares a table with independent columns; write crosstab(…), whose shares have a posterior",
    Survival: f"rows that end before their event have no default model; {POPULATION}",
    RestrictedMean: f"rows that end before their event have no default model; {POPULATION}",
    LogRank: f"rows that end before their event have no default model; {POPULATION}",
    MEstimate: "it is drawn around a score of the rows, and has no density given rows; write mean(…) or median(…)",
}
METHODS: dict[type, tuple[str, ...]] = {
    GaussianMixture: ("adaptive", "joint"),
    GaussianClassifier: ("adaptive", "joint"),
    LogisticRegression: ("objective", "gradient"),
    LinearSVC: ("objective",),
    KMeans: ("adaptive", "joint"),
    PCA: ("auto", "adaptive", "analyze-gauss", "sulq"),
}


def check_has_model(source: Any) -> None:
    """Raise an error if a fitted estimator or an answer has no default model; the error says what to write instead.

    Parameters
    ----------
    source : fitted estimator or Answer
    """
    name = type(source).__name__
    method = getattr(source, "method", None)
    for kind, methods in METHODS.items():
        if isinstance(source, kind) and method not in methods:
            accepted = " or ".join(map(repr, methods))
            raise ValueError(
                f"releases={name}(method={method!r}): expected a fit whose releases have a known density given rows; "
                f"write method={accepted}"
            )
    if isinstance(source, LinearClassifier) and source.method == "objective":
        _check_features_measured(source)
    if not isinstance(source, Answer):
        return
    for kind, instead in ANSWERS.items():
        if isinstance(source, kind):
            raise ValueError(f"releases={name}: expected an answer with a model of rows; {instead}")
    source = _moments_behind(source)
    if not isinstance(source, Mean | Covariance | Counts | Crosstab):
        raise ValueError(
            f"releases={name}: expected a mean, a variance, a standard deviation, a covariance, a correlation, counts, "
            f"a cross-tab, a share, quantiles or a series; {YOUR_OWN}"
        )
    if isinstance(source, Covariance) and source.method == "direct":
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "sums over rows, but method='direct' measures around the rows' own mean",
            write="method='one-shot' or 'adaptive'",
        )
    if any(release.mechanism != "additive" for release in source.releases):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "sums over rows, but the bounds of this mean were drawn as quantiles",
            write=f"mean(…) with loose=False, or infer from the last of its releases: {YOUR_OWN}",
        )


def _moments_behind(source: Any) -> Any:
    """Return the variance or covariance that an answer was computed from; other sources as they are."""
    if isinstance(source, StandardDeviation):
        return source.variance
    return source.covariance if isinstance(source, Correlation) else source


def _check_features_measured(source: LinearClassifier) -> None:
    """Raise an error if nothing but the minimum was released: a slope is relative to the spread of the features."""
    if isinstance(source.releases_[0].question, Minimum):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"a fit that has measured how the features spread, but this {type(source).__name__} saw them as declared",
            write="coordinates='private', or model=… with a model of your own",
        )


def choose_sums(source: Any, measured: Measurements) -> Measurements:
    """Return the measurements that the default model is a model of.

    The histograms of numbers that a ``TableMixture`` has released are left out. They correct synthetic rows where
    Gaussians do not fit, and nothing else that was released depends on them.
    """
    if not isinstance(source, TableMixture):
        return measured
    sums = [
        replace(one, used=sum(one.question.categories)) if isinstance(one.question, Marginals) else one
        for one in measured.sums
    ]
    return replace(measured, sums=tuple(sums))


def default_model(source: Any, measured: Measurements) -> ModelSpec:
    """Return the default model of a fitted estimator or of an answer.

    Parameters
    ----------
    source : fitted estimator or Answer
    measured : Measurements
        Its releases.
    """
    check_has_model(source)
    if "row" in (*measured.layout.columns, *measured.layout.category_columns):
        raise ArgumentError("columns", UNSHOWN, "none with the name 'row', which is the site of a whole row; rename it")
    for kind, build in BUILDERS.items():
        if isinstance(source, kind):
            return build(source, measured)
    raise ValueError(
        f"releases={type(source).__name__}: expected a fitted estimator or an answer of statistics, which have a "
        f"default model; otherwise {YOUR_OWN}"
    )


def _feature_names(fitted: Any, measured: Measurements) -> tuple[str, ...]:
    """Return the features' names: those of the fit, where the releases only number them.

    Posteriors are of the values that were measured, so a log column is called ``log(income)``.
    """
    names = tuple(map(str, getattr(fitted, "feature_names_in_", measured.layout.columns)))
    scales = column_scales(fitted.releases_[0].declared)
    return tuple(scales[name].label if name in scales else name for name in names)


def _mixture(fitted: Any, measured: Measurements) -> ModelSpec:
    fit, columns, where = fitted._components, _feature_names(fitted, measured), read_declared_scales(measured)
    mixture = MixtureDraws(fit.weights, fit.means, fit.covariances)
    return build_mixture(where, columns, fitted.covariance_type, mixture)


def _table_mixture(fitted: TableMixture, measured: Measurements) -> ModelSpec:
    layout, scales = measured.layout, column_scales(fitted.releases_[0].declared)
    taken = {*MIXTURE_NAMES, "rows"} & set(layout.category_columns)
    if taken:
        raise ArgumentError("columns", UNSHOWN, f"no column {min(taken)!r}, which the posterior has as well; rename it")
    columns = tuple(scales[name].label if name in scales else name for name in layout.columns)
    fit = fitted._mixture.components
    tables = tuple(fitted.probabilities_[name] for name in layout.category_columns)
    mixture = MixtureDraws(fit.weights, fit.means, fit.covariances, tables)
    values = dict(zip(layout.category_columns, layout.categories, strict=True))
    spec = build_mixture(read_declared_scales(measured), columns, fitted.covariance_type, mixture, values)
    uneven = [name for name, share in fitted._moved_shares().items() if share > MOVED]
    remark = (
        f"the released histograms of {uneven} are not those of Gaussians: the posterior and its synthetic tables are "
        "of the Gaussians, where sample() follows the histograms; for tables that do fit a TableSynthesizer, then "
        "dp.infer(synthesizer).synthesize(m=20)"
    )
    return replace(spec, remarks=lambda reported: [*spec.remarks(reported), *([remark] if uneven else [])])


def _labels(fitted: LabelledEstimator, measured: Measurements) -> tuple[tuple[Any, ...], list[int]]:
    """Return the label of each code, and the code of each of ``classes_``.

    Labels of an array are declared by their indices in ``classes``, or in sorted order where they are public; those of
    a curator or a file as they are.
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
    return build_classifier(
        read_declared_scales(measured),
        _feature_names(fitted, measured),
        fitted.covariance_type,
        measured.layout.category_columns[0],
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
            f"releases=FactorAnalysis(n_components={k}) of {d} columns: expected at most {most}, since with more, "
            "different loadings have the same covariance and are not identified; for the covariance alone write "
            "GaussianMixture(1)"
        )
    mean = None if fitted.center == "declared" else fitted.mean_
    where = read_declared_scales(measured)
    return build_factor_analysis(
        where, _feature_names(fitted, measured), mean, fitted.components_.T, fitted.noise_variance_
    )


def _regression(fitted: Any, measured: Measurements) -> ModelSpec:
    columns, d = measured.layout.columns, fitted.n_features_in_
    features = set(map(str, getattr(fitted, "feature_names_in_", [f"x{j}" for j in range(d)])))
    (target,) = (index for index, name in enumerate(columns) if name not in features)
    mean, covariance = _starting_gaussian(measured)
    return build_regression(
        read_declared_scales(measured), columns, target, mean, covariance, intercept=bool(fitted.fit_intercept)
    )


def _logistic(fitted: Any, measured: Measurements) -> ModelSpec:
    labels, order = _labels(fitted, measured)
    return build_logistic(
        read_declared_scales(measured),
        _feature_names(fitted, measured),
        measured.layout.category_columns[0],
        labels,
        order,
        _starting_gaussian(measured),
        (fitted.coef_, fitted.intercept_),
    )


def _principal(fitted: Any, measured: Measurements) -> ModelSpec:
    if fitted.center == "declared" or (fitted.center is None and fitted.method == "sulq"):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "a fit that has measured the mean, but this PCA has deviations from the declared centre",
            write="center='private'",
        )
    columns, where = _feature_names(fitted, measured), read_declared_scales(measured)
    mean, covariance = _starting_gaussian(measured)
    return build_principal_axes(where, columns, mean, covariance, fitted.components_, fitted.scale_)


def _clusters(fitted: Any, measured: Measurements) -> ModelSpec:
    return build_clusters(read_declared_scales(measured), _feature_names(fitted, measured), fitted.cluster_centers_)


def _cells(answer: Counts | Crosstab, measured: Measurements) -> ModelSpec:
    """Return the model of counts: by groups, then by the cells of a column, or of two."""
    counted = answer._counted if isinstance(answer, Crosstab) else [] if answer._column is None else [answer._column]
    layout = measured.layout
    values = dict(zip(layout.category_columns, layout.categories, strict=True))
    axes = [CellAxis(name, tuple(values[name])) for name in answer.by]
    for one in counted:
        if one.inner is None or one.scale is None:
            axes.append(CellAxis(one.name, tuple(values[one.name])))
        else:
            ends = np.array([one.scale.low, *one.inner, one.scale.high])
            axes.append(CellAxis(one.name, tuple(one.cells), tuple(((ends[1:] + ends[:-1]) / 2.0).tolist())))
    if not axes or {axis.name for axis in axes} != {*layout.columns, *layout.category_columns}:
        raise ArgumentError("releases", UNSHOWN, f"counts of all cells of the columns that were read; {YOUR_OWN}")
    counts = answer.measured if answer.measured is not None else answer.value
    return build_cells(axes, np.asarray(counts, dtype=np.float64))


def _starting_gaussian(measured: Measurements) -> tuple[Array, Array]:
    """Return the mean and covariance of all rows to start from: those of the last whitening, or of the prior."""
    for one in reversed(measured.sums):
        question: Any = one.question
        gaussian = question.features.gaussian if isinstance(question, MarginGradient) else None
        if isinstance(question, MomentSums):
            gaussian = question.moments.components
        if isinstance(question, ModelQuery) and isinstance(question.params, Components):  # of earlier files
            gaussian = question.params
        if gaussian is not None and gaussian.count == 1:
            space: Space = question.features.space if isinstance(question, MarginGradient) else question.space
            result = gaussian.rescale(np.asarray(space.center), np.asarray(space.scale))
            return result.means[0], result.covariances[0]
    center, half = (np.array(part) for part in read_declared_scales(measured))
    return center, np.diag((MEDIAN_SHARE * half) ** 2)


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
    if len(answer.by) > 1:
        raise ArgumentError("releases", UNSHOWN, f"an answer by one column, not {len(answer.by)}; {YOUR_OWN}")
    asked, d = "mean", len(answer.columns)
    if isinstance(answer, Covariance):
        asked = "covariance" if answer.least < 0.0 else "variance"
    order = [layout.columns.index(name) for name in names]
    back = np.argsort(order)
    grouped: Sequence[int] = () if answer.groups is None else (len(answer.groups),)
    shape = (*grouped, d, d) if asked == "covariance" else (*grouped, d)
    value = np.asarray(answer.value, dtype=np.float64).reshape(shape)
    if asked == "mean":  # on the scale of the model, which is that of the measured values
        value = np.stack([scale.to_values(value[..., j]) for j, scale in enumerate(scales)], axis=-1)
    value = value[..., back]
    if asked == "covariance":
        value = value[..., back, :]
    means: Array = value if asked == "mean" else np.asarray(answer.means).reshape(*grouped, d)[..., back]  # type: ignore[union-attr]
    labels = tuple(scale.label for scale in scales)
    common = (read_declared_scales(measured), labels, asked, order, answer.single, means)
    spreads = None if asked == "mean" else value
    if answer.groups is None:
        return build_moments(*common, spreads)
    return build_moments(*common, spreads, layout.category_columns[0], answer.groups)


def _deviations(answer: StandardDeviation, measured: Measurements) -> ModelSpec:
    """Return the model of variances, which reports their roots."""
    spec = _moments(answer.variance, measured)

    def report(draws: Draws) -> dict[str, Array]:
        result = spec.report(draws)
        return {"mean": result["mean"], "std": np.sqrt(result["variance"])}

    return replace(spec, report=report, dims={"mean": spec.dims["mean"], "std": spec.dims["variance"]})


def _correlations(answer: Correlation, measured: Measurements) -> ModelSpec:
    """Return the model of covariances, which reports correlations as well."""
    spec = _moments(answer.covariance, measured)

    def report(draws: Draws) -> dict[str, Array]:
        result = spec.report(draws)
        sizes = np.sqrt(np.diagonal(result["covariance"], axis1=-2, axis2=-1))
        return {**result, "correlation": result["covariance"] / (sizes[..., :, None] * sizes[..., None, :])}

    return replace(spec, report=report, dims={**spec.dims, "correlation": spec.dims["covariance"]})


BUILDERS: dict[type, Callable[[Any, Measurements], ModelSpec]] = {
    GaussianMixture: _mixture,
    TableMixture: _table_mixture,
    GaussianClassifier: _classifier,
    FactorAnalysis: _factors,
    LinearRegression: _regression,
    LogisticRegression: _logistic,
    LinearSVC: _logistic,
    Mean: _moments,
    Covariance: _moments,
    StandardDeviation: _deviations,
    Correlation: _correlations,
    PCA: _principal,
    KMeans: _clusters,
    Counts: _cells,
    Crosstab: _cells,
}
