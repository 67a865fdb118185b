"""Paths of a linear Gaussian state given a noisy series, for many chains at a time.

    x_{t+1} = A·x_t + w_t, w_t ~ N(0, Q);    S_t = C·x_t + v_t, v_t ~ N(0, R);    z_t = S_t + e_t, e_t ~ N(0, τ_t).

Each chain has its own Q, R and τ. A draw of the path given z is x⁺ + E[x | z − z⁺], where x⁺ and z⁺ are simulated from
the model (Durbin and Koopman 2002). The expectation is the Kalman smoother's. Nothing is known of the first state where
its covariance is that much wider than what the series tells of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Variances(NamedTuple):
    """What each chain takes for known: a root of Q, shape (chains, s, s), and R, shape (chains,)."""

    root: Array
    scatter: Array

    def pick(self, chains: NDArray[np.int64]) -> Variances:
        """Return those of some chains."""
        return Variances(self.root[chains], self.scatter[chains])


class Filtered(NamedTuple):
    """The forward pass: the log-likelihood of each chain, and at each step the prediction, its error and its gain."""

    log_likelihood: Array
    means: list[Array]
    covariances: list[Array]
    errors: list[Array]
    gains: list[Array]
    precisions: list[Array]


@dataclass(frozen=True, eq=False)
class StatePaths:
    """The public part of the model.

    Parameters
    ----------
    transition : array of shape (s, s)
        A.
    row : array of shape (s,)
        C.
    mean, covariance : array of shape (s,), (s, s)
        Of the first state.
    known : bool
        Whether these were declared. If not, nothing is known of the first state: the covariance is a wide one.
    measured : array of bool of shape (T,)
    """

    transition: Array
    row: Array
    mean: Array
    covariance: Array
    known: bool
    measured: NDArray[np.bool_]

    @property
    def offset(self) -> Array:
        """C·x of each step by the first mean alone, shape (T,)."""
        return observe(self.transition, self.row, len(self.measured)) @ self.mean

    def filter(self, series: Array, noise: Array, variances: Variances) -> Filtered:
        """Run the Kalman filter on series of shape (chains, T) less ``offset``, with the variances τ of their noise."""
        A, C = self.transition, self.row
        process = variances.root @ np.swapaxes(variances.root, 1, 2)
        chains = len(series)
        mean = np.zeros((chains, len(C)))
        covariance = np.tile(self.covariance, (chains, 1, 1))
        height = np.zeros(chains)
        result = Filtered(height, [], [], [], [], [])
        for t, there in enumerate(self.measured):
            result.means.append(mean)
            result.covariances.append(covariance)
            if there:
                seen = covariance @ C
                precision = 1.0 / (seen @ C + variances.scatter + noise[:, t])
                error = series[:, t] - mean @ C
                gain = seen * precision[:, None]
                height += 0.5 * (np.log(precision) - error**2 * precision)
                mean = mean + gain * error[:, None]
                covariance = covariance - gain[:, :, None] * seen[:, None, :]
            else:
                error, gain, precision = np.zeros(chains), np.zeros_like(mean), np.zeros(chains)
            result.errors.append(error)
            result.gains.append(gain)
            result.precisions.append(precision)
            mean, covariance = mean @ A.T, A @ covariance @ A.T + process
        return result

    def smooth(self, series: Array, noise: Array, variances: Variances) -> Array:
        """Return E[x | series] for a first state of mean 0, shape (T, chains, s)."""
        A, C, run = self.transition, self.row, self.filter(series, noise, variances)
        later = np.zeros_like(run.means[0])
        result = np.empty((len(self.measured), *later.shape))
        for t in range(len(self.measured) - 1, -1, -1):
            later = later @ A
            later = later + C * (run.errors[t] * run.precisions[t] - (later * run.gains[t]).sum(axis=1))[:, None]
            result[t] = run.means[t] + (run.covariances[t] @ later[:, :, None])[:, :, 0]
        return result

    def draw(self, series: Array, noise: Array, variances: Variances, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return levels C·x and totals S given the series, both of shape (chains, T)."""
        chains, T, s = len(noise), len(self.measured), len(self.row)
        state = np.tile(self.mean, (chains, 1))
        if self.known:
            state = state + rng.normal(size=(chains, s)) @ find_root(self.covariance).T
        simulated = np.empty((T, chains, s))
        for t in range(T):
            simulated[t] = state
            state = state @ self.transition.T + (variances.root @ rng.normal(size=(chains, s, 1)))[:, :, 0]
        scatter = variances.scatter[:, None]
        copy = (simulated @ self.row).T + np.sqrt(scatter + noise) * rng.normal(size=(chains, T))
        path = simulated + self.smooth(series - copy, noise, variances)
        level = (path @ self.row).T
        share = np.where(self.measured, scatter / (scatter + noise), 0.0)
        spread = np.sqrt(np.where(self.measured, share * noise, scatter))
        return level, level + share * (series - level) + spread * rng.normal(size=(chains, T))


def observe(transition: Array, row: Array, count: int) -> Array:
    """Return C·Aᵗ for each step, shape (T, s).

    >>> observe(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0]), 3).tolist()
    [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    """
    rows = [row]
    for _ in range(count - 1):
        rows.append(rows[-1] @ transition)
    return np.array(rows)


def wide_start(transition: Array, row: Array, series: Array, measured: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return a first mean near the series, and a covariance far wider than the series' differences can tell of it."""
    places = np.flatnonzero(measured)
    first = places[: 2 * len(row)]
    seen = observe(transition, row, int(first[-1]) + 1)[first]
    inverse = np.linalg.pinv(seen)
    moves = np.diff(series[places])
    spread = 1.0 + (float(np.mean(moves**2)) if len(moves) else float(series[places[0]] ** 2))
    return np.asarray(inverse @ series[first]), np.asarray(1e6 * spread * (inverse @ inverse.T))


def find_root(covariance: Array) -> Array:
    """Return a matrix whose product with its transpose is the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def half_cauchy(logs: Array) -> Array:
    """Return the log-density of logarithms of standard deviations that are half-Cauchy of scale 1, summed."""
    heights = logs - np.logaddexp(0.0, 2.0 * logs) + math.log(2.0 / math.pi)
    return np.asarray(heights.sum(axis=-1))
