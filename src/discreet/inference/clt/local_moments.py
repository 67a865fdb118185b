"""Compute the mean, covariance and Jacobian of a row's contribution under the model, at given parameters.

Rows are spread evenly over the model at v (``quasi_random``), or enumerated, where they are finitely many. Each gives
its contribution c and its score s = ∂ln p/∂v. With E over the model at v,

    m = E c,    V = Var c,    F = E ssᵀ (the Fisher information of one row),    J = ∂m/∂v = E (c − m)sᵀ.

So the released sum z ≈ N(n·m, n·V + Σ) has, near v, the Jacobian n·J and the information n²JᵀW⁻¹J, W = n·V + Σ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel

Array = NDArray[np.float64]

CHUNK = 4096  # rows that are averaged together, a power of two


class Contributions(Protocol):
    """What rows contribute numbers to: ``Measurements``, for example."""

    def contributions(self, rows: Rows) -> Array:
        """Return the numbers of each row, shape (n, D)."""
        ...


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
    means : array of shape (chunks, D)
        Independent averages whose mean is ``mean``; they show its Monte Carlo error.
    """

    mean: Array
    covariance: Array
    jacobian: Array
    fisher: Array
    mean_score: Array
    draws: float
    means: Array

    def mean_error(self, root: Array) -> Array:
        """Return the covariance of the Monte Carlo error of ``mean``.

        The averages of R chunks are independent and nearly normal, and their variance is estimated from them. So the
        mean is away from its expectation like a t variate of R − 1 degrees of freedom, whose variance is s²/R times
        (R − 1)/(R − 3). Few averages know no correlations: errors are taken to be independent in coordinates in which
        the numbers are.

        Parameters
        ----------
        root : array of shape (D, D)
            A matrix L, where LLᵀ is the covariance of the numbers.
        """
        count = len(self.means)
        if np.isinf(self.draws):
            return np.zeros_like(root)
        away = np.linalg.solve(root, (self.means - self.mean).T)
        return np.asarray((root * ((away**2).sum(axis=1) / (count - 3) / count)) @ root.T)


def compute_local_moments(
    model: RowModel,
    measured: Contributions,
    v: Array,
    draws: int,
    seed: int,
    projection: Array | None = None,
    coefficients: Array | None = None,
    *,
    with_covariance: bool = True,
) -> LocalMoments:
    """Return the expectations at v.

    Parameters
    ----------
    model : RowModel
    measured : Contributions
    v : array of shape (p,)
    draws : int
        The number of rows, in chunks that are independent of one another.
    seed : int
    projection : array of shape (q, D), optional
        A matrix that the contributions are multiplied with.
    coefficients : array of shape (D or q, features), optional
        B, of control variates: where the model knows the expectation γ of some features g, the mean and its Jacobian
        are averages of c − B(g − γ), which varies less, and the Jacobian of Bγ is added.
    with_covariance : bool
        Whether to compute V, which takes most of the time where many numbers were released; otherwise it is empty.
    """
    second: Any = np.zeros((0, 0))
    cross = fisher = scores = 0.0
    count, means = 0.0, []
    gamma: Any = None if coefficients is None else model.call("expectations", v)
    for rows, weights in _draw_chunks(model, v, draws, seed):
        c, s = measured.contributions(rows), np.nan_to_num(model.call("scores", v, rows))
        if projection is not None:
            c = c @ projection.T
        if not count:
            origin = weights @ c / weights.sum()  # near the mean, so that little cancels
        c = c - origin
        e = c if coefficients is None else c - (model.features(rows) - gamma) @ coefficients.T
        weighted = s * weights[:, None]
        means.append(weights @ e / weights.sum())
        if with_covariance:
            second = _weighted_gram(c, weights) + (second if count else 0.0)
        cross = cross + e.T @ weighted
        fisher, scores = fisher + s.T @ weighted, scores + weights @ s
        count += weights.sum()
    mean = np.mean(means, axis=0)
    jacobian = cross / count - np.outer(mean, scores / count)
    if coefficients is not None:
        jacobian = jacobian + coefficients @ model.call("expectation_jacobian", v)
    return LocalMoments(
        mean=origin + mean,
        covariance=second / count - np.outer(mean, mean) if with_covariance else second,
        jacobian=jacobian,
        fisher=np.asarray(fisher / count),
        mean_score=np.asarray(scores / count),
        draws=np.inf if model.points is not None else count,
        means=origin + np.array(means),
    )


def _weighted_gram(c: Array, weights: Array) -> Array:
    """Return Σ w·c·cᵀ. Drawn rows have weights of 1: of one array with itself half of the products are computed."""
    return c.T @ c if np.all(weights == 1.0) else (c * weights[:, None]).T @ c


def _draw_chunks(model: RowModel, v: Array, draws: int, seed: int) -> Iterator[tuple[Rows, Array]]:
    """Yield rows with their weights: all possible rows and their probabilities, or chunks of equally weighted rows."""
    if model.points is not None:
        yield model.points, np.exp(model.call("log_rows", v, model.points))
        return
    for i in range(-(-draws // CHUNK)):
        yield model.draw_evenly(v[None], CHUNK, seed * 1_000_003 + i), np.ones(CHUNK)
