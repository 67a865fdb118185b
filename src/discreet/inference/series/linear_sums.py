"""Totals of a series given noisy linear sums of them, with the variances of its model on a grid.

    z = O·S + e, e ~ N(0, σ²I);    S = G·β + level + v;    S given the variances ~ N(G·β, Σ), Σ = R·I + Σ_j q_j·K_j.

O is the public operator of the release, β the first state, with a flat or a normal prior, G its effect on each step,
and K_j the covariance of the levels where the j-th state moves with variance 1. So z is normal given the variances,
and S given both. Variances are drawn from their posterior on a grid, and S is S⁺ + E[S | z − O·S⁺ − e⁺], where S⁺ and
e⁺ are simulated from the model (Matheron's rule).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import minimize

from discreet.inference.series.state_paths import find_root, observe

Array = NDArray[np.float64]

LEAST = -6.0  # logarithm of the least standard deviation of a grid, in units of the noise
POINTS = (10, 14, 20)  # of the grid each way, in three rounds
LIKELY = 12.0  # below the largest log-density, where a grid ends


class LinearSums:
    """The public part of the model, and the released sums, in units of the noise.

    Parameters
    ----------
    operator : array of shape (m, T)
        O.
    transition : array of shape (s, s)
    row : array of shape (s,)
    start : (array, array) or None
        The mean and the covariance of β; None for a flat prior.
    sums : array of shape (m,)
        z.
    """

    def __init__(
        self, operator: Array, transition: Array, row: Array, start: tuple[Array, Array] | None, sums: Array
    ) -> None:
        self.operator, self.transition, self.row, self.start = operator, transition, row, start
        self.seen = observe(transition, row, operator.shape[1])  # G
        self.offset = np.zeros(operator.shape[1]) if start is None else self.seen @ start[0]
        self.sums = sums - operator @ self.offset
        self.flat = operator @ self.seen if start is None else np.zeros((len(sums), 0))

    def spread(self, process: Array) -> Array:
        """Return the covariance of the levels where the state moves with this covariance, shape (T, T)."""
        T = len(self.seen)
        result = np.zeros((T, T))
        covariance = np.zeros_like(process) if self.start is None else self.start[1]
        for t in range(T):
            result[t, t:] = self.seen[: T - t] @ covariance @ self.row
            covariance = self.transition @ covariance @ self.transition.T + process
        return np.triu(result) + np.triu(result, 1).T

    def draw(
        self, levels: Array, process: Array, scatter: float, count: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return levels and totals given the variances, both of shape (count, T).

        Parameters
        ----------
        levels : array of shape (T, T)
            ``spread`` of the process.
        process : array of shape (s, s)
        scatter : float
            R.
        count : int
        rng : Generator
        """
        T, s = self.seen.shape
        state = np.zeros((count, s))
        if self.start is not None:
            state = rng.normal(size=(count, s)) @ find_root(self.start[1]).T
        root, simulated = find_root(process), np.empty((count, T))
        for t in range(T):
            simulated[:, t] = state @ self.row
            state = state @ self.transition.T + rng.normal(size=(count, s)) @ root.T
        totals = simulated + np.sqrt(scatter) * rng.normal(size=(count, T))
        copies = totals @ self.operator.T + rng.normal(size=(count, len(self.sums)))
        given = GivenVariances(self, levels + scatter * np.eye(T))
        first, weights = given.explain((self.sums - copies).T)
        moved = self.offset + (self.seen @ first).T if len(first) else self.offset[None]
        back = weights.T @ self.operator
        return simulated + moved + back @ levels, totals + moved + back @ levels + scatter * back


class GivenVariances:
    """The posterior where the totals have a known covariance."""

    def __init__(self, model: LinearSums, covariance: Array) -> None:
        self._model = model
        inner = model.operator @ covariance @ model.operator.T
        inner[np.diag_indices_from(inner)] += 1.0
        self._factor, failed = dpotrf(inner, lower=1)  # some hundred times: LAPACK itself, since matrices are small
        if failed:
            raise np.linalg.LinAlgError("the covariance of the released sums is not positive definite")
        self._whitened = self._solve(model.flat)
        self._information = model.flat.T @ self._whitened

    def explain(self, sums: Array) -> tuple[Array, Array]:
        """Return the expectation of β, and V⁻¹(z − O·G·β), given sums in columns."""
        first = np.asarray(np.linalg.solve(self._information, self._whitened.T @ sums), dtype=np.float64)
        return first, self._solve(sums - self._model.flat @ first)

    def _solve(self, sums: Array) -> Array:
        """Return V⁻¹ times columns."""
        return np.asarray(dpotrs(self._factor, sums, lower=1)[0]) if sums.shape[1] else sums

    @cached_property
    def log_likelihood(self) -> float:
        """Of the variances, with β integrated out."""
        left = self._model.sums[:, None]
        height = np.log(np.diag(self._factor)).sum() + 0.5 * float((left * self.explain(left)[1]).sum())
        return -float(height + 0.5 * np.linalg.slogdet(self._information)[1])


def weigh_grid(log_density: Callable[[Array], float], size: int, top: float) -> tuple[Array, Array, Array]:
    """Return points where a density is not negligible, their probabilities, and the widths of a cell.

    Parameters
    ----------
    log_density : callable
        Of a vector.
    size : int
    top : float
        The largest value of each coordinate.
    """
    low, high = np.full(size, LEAST), np.full(size, top)
    best: tuple[float, Array] | None = None
    for count in POINTS:
        step = (high - low) / count
        axes = [a + (np.arange(count) + 0.5) * h for a, h in zip(low, step, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)
        heights = np.array([log_density(point) for point in points])
        if best is None:
            found = minimize(lambda at: -log_density(at), points[heights.argmax()], method="Nelder-Mead")
            best = -float(found.fun), found.x
        likely = np.vstack([best[1], points[heights > best[0] - LIKELY]])
        low, high = likely.min(axis=0) - step, likely.max(axis=0) + step
    weights = np.exp(heights - heights.max())
    return points, weights / weights.sum(), step
