"""Compute the mean, covariance and Jacobian of a row's contribution under the model, at given parameters.

Rows are drawn from the model at v (or enumerated, where they are finitely many). Each gives its contribution c and its
score s = ∂ln p/∂v. With E over the model at v,

    m = E c,    V = Var c,    F = E ssᵀ (the Fisher information of one row),    J = ∂m/∂v = E (c − m)sᵀ.

So the released sum z ≈ N(n·m, n·V + Σ) has, near v, the Jacobian n·J and the information n²JᵀW⁻¹J, W = n·V + Σ.
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
    mean : array of shape (D,)
        m.
    covariance : array of shape (D, D)
        V.
    jacobian : array of shape (D, p)
        J.
    fisher : array of shape (p, p)
        F.
    mean_score : array of shape (p,)
        E s, which is 0 unless the support of a row depends on v.
    draws : float
        The number of rows that were averaged; infinite where all rows were enumerated.
    mean_error : array of shape (D, D)
        The covariance of the Monte Carlo error of ``mean``.
    """

    mean: Array
    covariance: Array
    jacobian: Array
    fisher: Array
    mean_score: Array
    draws: float
    mean_error: Array


def compute_local_moments(
    model: RowModel,
    measured: Measurements,
    v: Array,
    draws: int,
    seed: int,
    projection: Array | None = None,
    coefficients: Array | None = None,
) -> LocalMoments:
    """Return the expectations at v.

    Parameters
    ----------
    model : RowModel
    measured : Measurements
    v : array of shape (p,)
    draws : int
        The number of rows to draw, in chunks.
    seed : int
    projection : array of shape (q, D), optional
        A matrix that the contributions are multiplied with.
    coefficients : array of shape (D or q, features), optional
        B, of control variates: where the model knows the expectation γ of some features g, the mean and its Jacobian
        are averages of c − B(g − γ), which varies less, and the Jacobian of Bγ is added.
    """
    first = second = cross = fisher = scores = rest = 0.0
    count = 0.0
    gamma: Any = None if coefficients is None else model.call("expectations", v)
    for rows, weights in _draw_chunks(model, v, draws, seed):
        c, s = measured.contributions(rows), np.nan_to_num(model.call("scores", v, rows))
        if projection is not None:
            c = c @ projection.T
        if not count:
            origin = weights @ c / weights.sum()  # near the mean, so that little cancels
        c = c - origin
        e = c if coefficients is None else c - (model.features(rows) - gamma) @ coefficients.T
        weighted = e * weights[:, None]
        first, rest, cross = first + weighted.sum(axis=0), rest + weighted.T @ e, cross + weighted.T @ s
        second = rest if coefficients is None else second + (c * weights[:, None]).T @ c
        fisher, scores = fisher + (s * weights[:, None]).T @ s, scores + weights @ s
        count += weights.sum()
    mean = np.asarray(first / count)
    outer = np.outer(mean, mean)
    jacobian = cross / count - np.outer(mean, scores / count)
    if coefficients is not None:
        jacobian = jacobian + coefficients @ model.call("expectation_jacobian", v)
    size = np.inf if model.points is not None else count
    return LocalMoments(
        mean=origin + mean,
        covariance=second / count - outer,
        jacobian=jacobian,
        fisher=np.asarray(fisher / count),
        mean_score=np.asarray(scores / count),
        draws=size,
        mean_error=(rest / count - outer) / size,
    )


def _draw_chunks(model: RowModel, v: Array, draws: int, seed: int) -> Iterator[tuple[Rows, Array]]:
    """Yield rows with their weights: all possible rows and their probabilities, or chunks of equally weighted draws."""
    if model.points is not None:
        yield model.points, np.exp(model.call("log_rows", v, model.points))
        return
    size = min(draws, CHUNK)
    for i in range(-(-draws // size)):
        yield model.draw(v, size, seed * 1_000_003 + i), np.ones(size)
