"""Plots of fitted estimators, from public numbers.

Everything here reads fitted attributes and releases, which are public. It reads no row; rows in a plot are synthetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import ArgumentError, choice
from discreet.door import Release
from discreet.estimators.fitted_columns import (
    choose_columns,
    columns_to_values,
    date_columns,
    declared_bounds,
    numeric_scales,
    rows_to_values,
    value_labels,
)
from discreet.models.noisy_sums import noise_std, released_rows
from discreet.plots import (
    Centres,
    Coefficients,
    Ellipses,
    GaussianPairs,
    HeatMap,
    NoiseShares,
    Plot,
    SampleOverDensity,
    Scree,
    Shares,
    SyntheticRows,
)
from discreet.plots.plot import format_number
from discreet.plots.scatter_matrix import MOST_PAIRED
from discreet.plots.statistic_names import statistic_names
from discreet.queries.moments.components import Components

Array = NDArray[np.float64]

DRAWN = 600  # synthetic rows in a plot
MOST_ABREAST = 12  # most columns of a heat map
MOST_SHOWN = 40  # most bars, or rows of a heat map; of more only the largest are drawn


def plot_model(model: Any, what: str | None = None, columns: Sequence[str | int] | None = None) -> Plot:
    """Return a plot of a fitted estimator.

    Parameters
    ----------
    model : fitted estimator
    what : str, optional
        One of ``available_plots(model)``; by default the first of them.
    columns : sequence of str or int, optional
        The columns to draw, where the plot has a choice: two of them, or up to five for ``"pairs"``.
    """
    check_is_fitted(model)
    names = available_plots(model)
    plot = PLOTS[choice("what", names[0] if what is None else what, names)](model, columns)
    return plot.with_dates(date_columns(model))


def available_plots(model: Any) -> tuple[str, ...]:
    """Return the names of the plots of an estimator."""
    names: tuple[str, ...] = model._plots
    return names


def _gaussians(model: Any) -> Components:
    result: Components = model._mixture.components if hasattr(model, "cells_") else model._components
    return result


def _by_difference(result: Components) -> list[int]:
    """Return the columns, sorted by how much the Gaussians differ in them, the largest difference first."""
    mean = result.weights @ result.means
    between = result.weights @ (result.means - mean) ** 2
    within = result.weights @ np.diagonal(result.covariances, axis1=1, axis2=2)
    return [int(place) for place in np.argsort(-between / (between + within), kind="stable")]


def _labels(model: Any) -> dict[str, Any]:
    """Return what a Gaussian stands for, the labels of all of them, and whether rows are clipped to the bounds."""
    if hasattr(model, "priors_"):
        return {"what": "class", "labels": [str(label) for label in model.classes_], "cut": False}
    labels = [str(k + 1) for k in range(len(_gaussians(model).weights))]
    return {"what": "component", "labels": labels, "cut": hasattr(model, "cells_")}


def _components(model: Any, columns: Sequence[str | int] | None) -> Plot:
    result, names = _gaussians(model), value_labels(model)
    if len(names) == 1:
        return _pairs(model, None)
    j = choose_columns(model, columns, 2, sorted(_by_difference(result)[:2]))
    parts = (result.means[:, j], result.covariances[:, j][:, :, j])
    bounds = declared_bounds(model)[j]
    return Ellipses(result.weights, *parts, columns=(names[j[0]], names[j[1]]), bounds=bounds, **_labels(model))


def _pairs(model: Any, columns: Sequence[str | int] | None) -> Plot:
    result, names = _gaussians(model), value_labels(model)
    j = choose_columns(model, columns, MOST_PAIRED, sorted(_by_difference(result)[:MOST_PAIRED]))
    parts = (result.means[:, j], result.covariances[:, j][:, :, j])
    bounds = declared_bounds(model)[j]
    return GaussianPairs(result.weights, *parts, columns=[names[one] for one in j], bounds=bounds, **_labels(model))


def _largest(sizes: Array) -> list[int]:
    """Return the indices of the ``MOST_SHOWN`` largest numbers, in ascending order of the index."""
    return [int(place) for place in np.sort(np.argsort(-np.abs(sizes), kind="stable")[:MOST_SHOWN])]


def _describe(what: str, kept: Sequence[int], count: int) -> str:
    """Return what is shown, and how many are left out."""
    return what if len(kept) == count else f"{what}, the {len(kept)} largest of {count}"


def _weights(model: Any, _: Any) -> Plot:
    result, seen = _gaussians(model), _labels(model)
    labels = [f"{seen['what']} {label}" for label in seen["labels"]]
    noise = None
    counted = [one for one in model.releases_ if one.noise is not None and _counts(one) == len(result.weights)]
    if hasattr(model, "noise_"):
        noise = model.noise_["counts"] / max(float(model.class_count_.sum()), 1.0)
    elif counted:
        std = noise_std(counted[-1], "counts") / released_rows(counted[-1])
        noise = np.full(len(result.weights), std)
    what = "shares of the classes" if seen["what"] == "class" else "weights of the components"
    kept = _largest(result.weights)
    noise = None if noise is None else noise[kept]
    return Shares(result.weights[kept], [labels[k] for k in kept], noise, _describe(what, kept, len(labels)))


def _counts(release: Release) -> int:
    return release.parts["counts"].size if "counts" in release.parts else 0


def _centres(model: Any, columns: Sequence[str | int] | None) -> Plot:
    names, centres, bounds = value_labels(model), model.cluster_centers_, declared_bounds(model)
    if len(names) == 1:
        return _grid(centres, [f"centre {k + 1}" for k in range(len(centres))], names, "centres")
    spread = centres.std(axis=0) / (bounds[:, 1] - bounds[:, 0])
    j = choose_columns(model, columns, 2, sorted(np.argsort(-spread, kind="stable")[:2].tolist()))
    return Centres(centres[:, j], (names[j[0]], names[j[1]]), bounds[j], regions=len(names) == 2)


def _grid(values: Array, rows: Sequence[str], columns: Sequence[str], what: str) -> Plot:
    """Return a table of the rows that have the largest numbers, and of the first columns."""
    kept, some = _largest(np.abs(values).max(axis=1)), range(min(values.shape[1], MOST_ABREAST))
    what = _describe(what, kept, len(rows)) + ("" if len(some) == len(columns) else f", the first {len(some)} columns")
    return HeatMap(values[kept][:, some], [rows[k] for k in kept], [columns[k] for k in some], what)


def _axes(model: Any, _: Any) -> Plot:
    labels = [f"axis {k + 1}" for k in range(len(model.components_))]
    return _grid(model.components_.T, value_labels(model), labels, "principal axes")


def _loadings(model: Any, _: Any) -> Plot:
    labels = [f"factor {k + 1}" for k in range(len(model.components_))]
    what = "loadings of the factors, as correlations with the columns"
    return _grid(_correlations(model), value_labels(model), labels, what)


def _correlations(model: Any) -> Array:
    return np.asarray((model.components_ / np.sqrt(np.diagonal(model.get_covariance()))).T)


def _scree(model: Any, _: Any) -> Plot:
    if hasattr(model, "explained_variance_ratio_"):
        labels = [f"axis {k + 1}" for k in range(len(model.components_))]
        return Scree(model.explained_variance_ratio_, labels)
    labels = [f"factor {k + 1}" for k in range(len(model.components_))]
    what = "share of the columns' variance that each factor explains, on average over the columns"
    return Scree((_correlations(model) ** 2).mean(axis=0), labels, what)


def _coefficients(model: Any, _: Any) -> Plot:
    names, bounds = value_labels(model), declared_bounds(model)
    widths = bounds[:, 1] - bounds[:, 0]
    if model.coef_.ndim == 1 or len(model.coef_) == 1:
        line = model.coef_.ndim == 1
        own, noise = model.coef_.reshape(-1), model.noise_ if line else None
        moves = "the target" if line else f"the score of {model.classes_[1]}"
        intercept = float(model.intercept_ if line else model.intercept_[0])
        kept = _largest(own * widths)
        noise = None if noise is None else noise[kept]
        shown = [names[k] for k in kept]
        what = _describe(f"coefficients (intercept {format_number(intercept)})", kept, len(names))
        return Coefficients.from_bounds(own[kept], widths[kept], shown, noise, moves, what)
    what = "coefficients of each class times the widths of the declared bounds"
    return _grid((model.coef_ * widths).T, names, [f"class {label}" for label in model.classes_], what)


def _categories(model: Any, _: Any) -> Plot:
    rows, values = [], []
    for name, table in model.probabilities_.items():
        rows += [f"{name}: {value}" for value in model.categories_[name]]
        values += list(table.T)
    labels = [f"component {k + 1}" for k in range(len(model.weights_))]
    return _grid(np.array(values), rows, labels, "probabilities of the categories in each component")


def _associations(model: Any, _: Any) -> Plot:
    quality = model.quality()
    return _square(quality.associations, quality.columns, "association of each pair of columns")


def _errors(model: Any, _: Any) -> Plot:
    quality = model.quality()
    what = "expected error of each pair table: the share of rows in a wrong cell"
    return _square(quality.pair_errors, quality.columns, what)


def _square(values: Array, names: Sequence[str], what: str) -> Plot:
    """Return numbers of pairs of columns, of the columns that have the largest ones."""
    known = np.nan_to_num(values)
    kept = np.sort(np.argsort(-known.max(axis=1), kind="stable")[:MOST_ABREAST])
    what += "" if len(kept) == len(names) else f", the {len(kept)} columns with the largest"
    some = [names[k] for k in kept]
    return HeatMap(known[np.ix_(kept, kept)], some, some, what)


def _sample(model: Any, columns: Sequence[str | int] | None) -> Plot:
    names = value_labels(model)
    if len(names) < 2:
        raise ArgumentError("what", "sample", "a model of two columns of numbers or more")
    if hasattr(model, "columns_"):
        return _sample_of_table(model, columns)
    result = _gaussians(model)
    j = choose_columns(model, columns, 2, sorted(_by_difference(result)[:2]))
    drawn = model.sample(DRAWN, random_state=0)
    shown, bounds, scales = (names[j[0]], names[j[1]]), declared_bounds(model)[j], numeric_scales(model)
    given = drawn[0] if isinstance(drawn, tuple) else drawn
    rows = rows_to_values(given, scales) if isinstance(given, np.ndarray) else model._rows(given)
    parts = (result.weights, result.means[:, j], result.covariances[:, j][:, :, j])
    return SampleOverDensity(rows[:, j], *parts, shown, bounds)


def _sample_of_table(model: Any, columns: Sequence[str | int] | None) -> Plot:
    """Return synthetic rows alone: values within the released histograms have no density of Gaussians."""
    names, bounds, scales = value_labels(model), declared_bounds(model), numeric_scales(model)
    if hasattr(model, "cells_"):  # a TableMixture
        first = sorted(_by_difference(_gaussians(model))[:2])
    else:
        quality = model.quality()  # columns that follow from others are not in it
        tied = np.zeros((len(scales), len(scales)))
        own = [(k, quality.columns.index(one.name)) for k, one in enumerate(scales) if one.name in quality.columns]
        for (k, i), (m, j) in permutations(own, 2):
            tied[k, m] = np.nan_to_num(quality.associations[i, j])
        first = sorted(divmod(int(tied.argmax()), len(tied))) if tied.any() else [0, 1]
    j = choose_columns(model, columns, 2, first)
    drawn = model.sample(DRAWN, random_state=0) if hasattr(model, "cells_") else _draw_complete(model, j)
    return SyntheticRows(columns_to_values(drawn, scales)[:, j], (names[j[0]], names[j[1]]), bounds[j])


def _draw_complete(model: Any, columns: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Return synthetic rows without a gap in the chosen columns."""
    drawn = model._draw_columns(DRAWN, 0)
    numbers = model._numbers
    missing = np.any([drawn[numbers[j]][1] for j in columns], axis=0)
    return {name: drawn[name][0][~missing] for name in numbers}


def _noise(model: Any, _: Any) -> Plot:
    """Return the noise of each part of each question; the median where a question has several releases."""
    result: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
    for release in model.releases_:
        if release.noise is None:
            continue
        std = float(np.sqrt(release.noise.variance))
        for name, part in release.parts.items():
            if part.weight:
                noise = part.unpack(np.full(part.size, std))
                sizes = [float(np.sqrt(np.mean(numbers**2))) for numbers in (noise, release[name])]
                result.setdefault((release.query, name), []).append((sizes[0], sizes[1], type(release.noise).__name__))
    if not result:
        raise ArgumentError("what", "noise", "releases with a noise distribution; this model has none")
    noises, values = (np.array([np.median([one[i] for one in each]) for each in result.values()]) for i in (0, 1))
    declared = model.releases_[0].declared
    names = statistic_names(list(result), declared["columns"], declared.get("category_columns") or ())
    return NoiseShares(names, noises, values, [each[0][2] for each in result.values()])


PLOTS: dict[str, Callable[[Any, Sequence[str | int] | None], Plot]] = {
    "components": _components,
    "classes": _components,
    "pairs": _pairs,
    "weights": _weights,
    "centres": _centres,
    "axes": _axes,
    "loadings": _loadings,
    "scree": _scree,
    "coefficients": _coefficients,
    "categories": _categories,
    "associations": _associations,
    "errors": _errors,
    "sample": _sample,
    "noise": _noise,
}
