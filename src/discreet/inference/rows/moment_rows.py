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


def moments_of_rows(
    where: Scales, columns: Sequence[str], asked: str, order: Sequence[int], single: bool, means: Array,
    spreads: Array | None,
) -> ModelSpec:  # fmt: skip
    """Return the model behind a mean, variances or a covariance of all rows.

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
    means : array of shape (d,)
        To start from, in a row's order.
    spreads : array of shape (d,) or (d, d), optional
        The same of variances or a covariance.
    """
    kind = "full" if asked == "covariance" else "diag"
    mean, covariance = _start(where, means, spreads)

    def report(draws: Draws) -> dict[str, Array]:
        return _reported(asked, draws["θ.mean"], draws["θ.covariance"], order, single)

    return ModelSpec(
        gaussian_model(where, kind, UNMEASURED if asked == "mean" else USUAL),
        {"θ.mean": mean} | covariance_start(covariance[None], where[1], kind),
        report,
        _axes(asked, single, []),
        {"column": list(columns), "other_column": list(columns)},
    )


def moments_of_groups(
    where: Scales, columns: Sequence[str], asked: str, order: Sequence[int], single: bool, means: Array,
    spreads: Array | None, label: str, groups: Sequence[Any],
) -> ModelSpec:  # fmt: skip
    """Return the model behind means, variances or covariances of groups.

    Parameters
    ----------
    where, columns, asked, order, single
        As in ``moments_of_rows``.
    means : array of shape (K, d)
    spreads : array of shape (K, d) or (K, d, d), optional
    label : str
        The column of categories.
    groups : sequence
        Its declared values.
    """
    kind = "full" if asked == "covariance" else "diag"
    rows = labelled_rows(where, kind, len(groups), label, UNMEASURED if asked == "mean" else USUAL)
    shares = np.full(len(groups), 1.0 / len(groups))

    def report(draws: Draws) -> dict[str, Array]:
        return _reported(asked, draws["θ.means"], draws["θ.covariances"], order, single)

    return replace(
        rows,
        start=class_start(where, kind, shares, *_start(where, means, spreads)),
        report=report,
        dims=_axes(asked, single, ["group"]),
        coords={"column": list(columns), "other_column": list(columns), "group": list(groups)},
        labels=tuple(groups),
    )
