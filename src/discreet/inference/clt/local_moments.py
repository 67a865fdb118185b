"""The mean, covariance and slope of a row's contribution under the model, near some parameters.

Rows are drawn from the model at v (or all rows gone through, where they are few), and for each the contribution c and
the score s = ∂ln p/∂v are taken. With E over the model at v,

    m = E c,    V = Var c,    F = E ssᵀ (Fisher's information of one row),    ∂m/∂v = E (c − m)sᵀ = J.

So z ≈ N(n·m, n·V + Σ) has, near v, the slope n·J and the information n²JᵀW⁻¹J, W = n·V + Σ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.measurements import Measurements
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel

Array = NDArray[np.float64]

CHUNK = 8192


@dataclass(frozen=True, eq=False)
class LocalMoments:
    """Expectations at v; see the module.

    Attributes
    ----------
    v : array of shape (p,)
    mean : array of shape (D,)
    covariance : array of shape (D, D)
    slope : array of shape (D, p)
    fisher : array of shape (p, p)
    score : array of shape (p,)
        E s, which is 0 unless the range of rows depends on v.
    draws : float
        How many rows they are averages of; infinite where all rows were gone through.
    error : array of shape (D, D)
        The covariance of the Monte Carlo error of ``mean``.
    """

    v: Array
    mean: Array
    covariance: Array
    slope: Array
    fisher: Array
    score: Array
    draws: float
    error: Array


def local_moments(
    model: RowModel,
    measured: Measurements,
    v: Array,
    draws: int,
    seed: int,
    projection: Array | None = None,
    explained: Array | None = None,
) -> LocalMoments:
    """Return the expectations at v.

    Parameters
    ----------
    model : RowModel
    measured : Measurements
    v : array
    draws : int
        How many rows to draw, in chunks.
    seed : int
    projection : array of shape (q, D), optional
        What the contributions are multiplied with.
    explained : array of shape (D or q, features), optional
        B, where the model knows the expectation γ of some features g: the mean and its slope are then averages of
        c − B(g − γ), which varies less, and the slope of Bγ is added.
    """
    first = second = slope = fisher = scores = rest = 0.0
    count = 0.0
    gamma: Any = None if explained is None else model.call("expectations", v)
    for rows, weights in _chunks(model, v, draws, seed):
        c, s = measured.contributions(rows), np.nan_to_num(model.call("scores", v, rows))
        if projection is not None:
            c = c @ projection.T
        if not count:
            origin = weights @ c / weights.sum()  # near the mean, so that little cancels
        c = c - origin
        e = c if explained is None else c - (model.features(rows) - gamma) @ explained.T
        weighted = e * weights[:, None]
        first, rest, slope = first + weighted.sum(axis=0), rest + weighted.T @ e, slope + weighted.T @ s
        second = rest if explained is None else second + (c * weights[:, None]).T @ c
        fisher, scores = fisher + (s * weights[:, None]).T @ s, scores + weights @ s
        count += weights.sum()
    mean = np.asarray(first / count)
    outer = np.outer(mean, mean)
    result = slope / count - np.outer(mean, scores / count)
    if explained is not None:
        result = result + explained @ model.call("expected_slope", v)
    many = np.inf if model.points is not None else count
    return LocalMoments(
        v,
        origin + mean,
        second / count - outer,
        result,
        np.asarray(fisher / count),
        np.asarray(scores / count),
        many,
        (rest / count - outer) / many,
    )


def _chunks(model: RowModel, v: Array, draws: int, seed: int) -> Iterator[tuple[Rows, Array]]:
    """Yield rows and what each weighs: all that there are, or some that are drawn."""
    if model.points is not None:
        yield model.points, np.exp(model.call("log_rows", v, model.points))
        return
    size = min(draws, CHUNK)
    for i in range(-(-draws // size)):
        yield model.draw(v, size, seed * 1_000_003 + i), np.ones(size)
