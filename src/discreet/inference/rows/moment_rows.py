"""Models for answers of means, variances and covariances: Gaussian rows, or Gaussian rows in each group.

The reported quantities are those that were asked for. For a mean alone the standard deviations are nuisance parameters
that no release measures. Their prior, around half of the half-width, limits the distance between the population's mean
and that of the rows. Where the noise is small compared with this, measure variances too: they narrow the interval. For
means and variances columns are independent; for a covariance they have a joint Gaussian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.rows.class_rows import build_class_model, initialize_classes
from discreet.inference.rows.gaussian_rows import (
    MEASURED,
    MEDIAN_SHARE,
    UNMEASURED,
    Scales,
    build_gaussian_model,
    clip_to_bounds,
    initialize_covariances,
)
from discreet.inference.rows.model_spec import Draws, ModelSpec

Array = NDArray[np.float64]


def _start(where: Scales, means: Array, spreads: Array | None) -> tuple[Array, Array]:
    """Return means and full covariances to start from; covariances of the prior where none were measured."""
    usual = np.broadcast_to(np.diag((MEDIAN_SHARE * np.array(where[1])) ** 2), (*means.shape, means.shape[-1]))
    if spreads is None:
        return clip_to_bounds(means, where), np.array(usual)
    full = spreads[..., None] * np.eye(means.shape[-1]) if spreads.ndim == means.ndim else spreads
    return clip_to_bounds(means, where), full + 1e-4 * usual


def _select_reported(
    asked: str, means: Array, covariances: Array, order: Sequence[int], single: bool
) -> dict[str, Array]:
    """Return draws of the quantities that were asked for, with columns in the order of the answer."""
    chosen = list(order)
    spreads = covariances[..., chosen, :][..., :, chosen]
    result = {"mean": means[..., chosen]}
    if asked == "variance":
        result["variance"] = np.diagonal(spreads, axis1=-2, axis2=-1)
    if asked == "covariance":
        result["covariance"] = spreads
    return {name: np.asarray(part[..., 0]) for name, part in result.items()} if single else result


def _reported_dims(asked: str, single: bool, before: list[str]) -> dict[str, list[str]]:
    """Return the names of the axes of the reported quantities, after those in ``before``."""
    column = before if single else [*before, "column"]
    axes = {"mean": column}
    if asked == "variance":
        axes["variance"] = column
    if asked == "covariance":
        axes["covariance"] = [*column, "other_column"]
    return axes


def build_moments(
    where: Scales, columns: Sequence[str], asked: str, order: Sequence[int], single: bool, means: Array,
    spreads: Array | None, label: str = "", groups: Sequence[Any] | None = None,
) -> ModelSpec:  # fmt: skip
    """Return the model for an answer of means, variances or covariances, of all rows or of each group.

    Parameters
    ----------
    where : Scales
    columns : sequence of str
        In the answer's order.
    asked : str
        ``"mean"``, ``"variance"`` or ``"covariance"``.
    order : sequence of int
        The indices of these columns in a row.
    single : bool
        Whether the answer has no axis of columns.
    means : array of shape (d,), or (K, d) for groups
        Means to start from, in the order of a row.
    spreads : array of shape (d,) or (d, d), or (K, d) or (K, d, d) for groups; optional
        Variances or covariances to start from.
    label : str
        The column of categories, for groups.
    groups : sequence, optional
        Its declared values.
    """
    kind, prior = "full" if asked == "covariance" else "diag", UNMEASURED if asked == "mean" else MEASURED
    mean, covariance = _start(where, means, spreads)
    coords = {"column": list(columns), "other_column": list(columns)}
    if groups is None:
        names, axes = ("θ.mean", "θ.covariance"), _reported_dims(asked, single, [])
        spec = ModelSpec(build_gaussian_model(where, kind, prior))
        start = {"θ.mean": mean} | initialize_covariances(covariance[None], where[1], kind)
    else:
        names, axes = ("θ.means", "θ.covariances"), _reported_dims(asked, single, ["group"])
        spec = replace(build_class_model(where, kind, len(groups), label, prior), labels=tuple(groups))
        start = initialize_classes(where, kind, np.full(len(groups), 1.0 / len(groups)), mean, covariance)
        coords["group"] = list(groups)

    def report(draws: Draws) -> dict[str, Array]:
        return _select_reported(asked, draws[names[0]], draws[names[1]], order, single)

    return replace(spec, start=start, report=report, dims=axes, coords=coords)
