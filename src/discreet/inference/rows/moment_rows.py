"""The models behind means, variances and covariances: Gaussian rows, or Gaussian rows in each group.

What was asked is what is reported. For a mean alone the standard deviations are nuisance parameters. Nothing was
measured of them, and their prior (half of the half-width, more or less) says how far the mean of the population may be
from that of these rows. Where the noise is small beside that, measure variances too: they narrow the interval. There,
and for variances, columns are independent; a covariance has all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.rows.class_rows import class_start, labelled_rows
from discreet.inference.rows.gaussian_rows import (
    NARROW,
    UNMEASURED,
    USUAL,
    Scales,
    covariance_start,
    gaussian_model,
    inside,
)
from discreet.inference.rows.model_spec import Draws, ModelSpec

Array = NDArray[np.float64]


def _start(where: Scales, means: Array, spreads: Array | None) -> tuple[Array, Array]:
    """Return means and full covariances to start from, with a prior's where none were measured."""
    usual = np.broadcast_to(np.diag((NARROW * np.array(where[1])) ** 2), (*means.shape, means.shape[-1]))
    if spreads is None:
        return inside(means, where), np.array(usual)
    full = spreads[..., None] * np.eye(means.shape[-1]) if spreads.ndim == means.ndim else spreads
    return inside(means, where), full + 1e-4 * usual


def _reported(asked: str, means: Array, covariances: Array, order: Sequence[int], single: bool) -> dict[str, Array]:
    """Return what was asked, of draws, its columns in another order."""
    chosen = list(order)
    spreads = covariances[..., chosen, :][..., :, chosen]
    result = {"mean": means[..., chosen]}
    if asked == "variance":
        result["variance"] = np.diagonal(spreads, axis1=-2, axis2=-1)
    if asked == "covariance":
        result["covariance"] = spreads
    return {name: np.asarray(part[..., 0]) for name, part in result.items()} if single else result


def _axes(asked: str, single: bool, before: list[str]) -> dict[str, list[str]]:
    column = before if single else [*before, "column"]
    axes = {"mean": column}
    if asked == "variance":
        axes["variance"] = column
    if asked == "covariance":
        axes["covariance"] = [*column, "other_column"]
    return axes


def moments(
    where: Scales, columns: Sequence[str], asked: str, order: Sequence[int], single: bool, means: Array,
    spreads: Array | None, label: str = "", groups: Sequence[Any] | None = None,
) -> ModelSpec:  # fmt: skip
    """Return the model behind means, variances or covariances, of all rows or of each group.

    Parameters
    ----------
    where : Scales
    columns : sequence of str
        In the answer's order.
    asked : str
        ``"mean"``, ``"variance"`` or ``"covariance"``.
    order : sequence of int
        The places of these columns in a row.
    single : bool
        Whether the answer has no axis of columns.
    means : array of shape (d,), or (K, d) for groups
        To start from, in a row's order.
    spreads : array of shape (d,) or (d, d), or (K, d) or (K, d, d) for groups; optional
        The same of variances or covariances.
    label : str
        The column of categories, for groups.
    groups : sequence, optional
        Its declared values.
    """
    kind, prior = "full" if asked == "covariance" else "diag", UNMEASURED if asked == "mean" else USUAL
    mean, covariance = _start(where, means, spreads)
    coords = {"column": list(columns), "other_column": list(columns)}
    if groups is None:
        names, axes = ("θ.mean", "θ.covariance"), _axes(asked, single, [])
        spec = ModelSpec(gaussian_model(where, kind, prior))
        start = {"θ.mean": mean} | covariance_start(covariance[None], where[1], kind)
    else:
        names, axes = ("θ.means", "θ.covariances"), _axes(asked, single, ["group"])
        spec = replace(labelled_rows(where, kind, len(groups), label, prior), labels=tuple(groups))
        start = class_start(where, kind, np.full(len(groups), 1.0 / len(groups)), mean, covariance)
        coords["group"] = list(groups)

    def report(draws: Draws) -> dict[str, Array]:
        return _reported(asked, draws[names[0]], draws[names[1]], order, single)

    return replace(spec, start=start, report=report, dims=axes, coords=coords)
