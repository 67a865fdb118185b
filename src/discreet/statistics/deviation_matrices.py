"""Covariances and correlations about a population: means first, then products of deviations and products of four.

A share of the budget releases the means m̂, and the rest the sums of ``DeviationProducts``. In units of the reaches R
the deviations are y, and z_ij is the mean of y_i·y_j. So a covariance is a mean, of a product of deviations, and has
the intervals of a mean with its noise and its sampling error (``population``), the variance of y_i·y_j being the mean
of y_i²·y_j² less z_ij². The product of the errors of two means adds v_ij, their covariance by noise, which is
subtracted, and has a standard deviation that is added to the error as if it were normal.

**A correlation** ρ. With k_ij = z_ij − v_ij/(R_i·R_j) and κ = √(k_jj/k_ii), to first order

    k_ij − ρ·√(k_ii·k_jj)  =  mean of ψ,   ψ = y_i·y_j − ρ/2·(κ·y_i² + y_j²/κ),

which has the expectation 0 at the true ρ, whatever the distribution is. Its sampling variance is that of ψ over n, from
the released products of four:

    E ψ² = E y_i²y_j² − ρ(κ·E y_i³y_j + E y_i y_j³/κ) + ρ²/4·(κ²·E y_i⁴ + 2·E y_i²y_j² + E y_j⁴/κ²).

The interval has all ρ in [−1, 1] at which noise and sampling explain what was measured, as for a mean. So neither the
columns nor their relation need to be normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.noise import NoiseDistribution
from discreet.statistics.population import (
    find_boundary,
    largest_clusters,
    mean_interval,
    plausible_variances,
    population_tail,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DeviationMatrix:
    """The released products of deviations, and the error of the means that they are taken from.

    Attributes
    ----------
    release : Release
        Of ``DeviationProducts``.
    reaches : array of shape (groups, d)
        R.
    offsets, offset_stds : arrays of shape (groups, d, d)
        v, the expectation of the product of the errors of two means by noise; and its standard deviation.
    """

    release: Release
    reaches: Array
    offsets: Array
    offset_stds: Array

    @property
    def _noise(self) -> NoiseDistribution:
        assert self.release.noise is not None  # additive
        return self.release.noise

    @cached_property
    def outer(self) -> Array:
        """R_i·R_j, shape (groups, d, d)."""
        return np.asarray(self.reaches[:, :, None] * self.reaches[:, None, :])

    @cached_property
    def weights(self) -> tuple[float, float, float]:
        """The amplitudes a (∞ where the number of rows is public), b and c."""
        parts = self.release.parts
        a = parts["count"].weight if "count" in parts else math.inf
        return a, parts["products"].weight, parts["squares"].weight

    @cached_property
    def counts(self) -> tuple[Array, Array]:
        """The number of rows of each group, as released or public, and kept above 0; shape (groups, 1, 1)."""
        if "count" in self.release.parts:
            count = self.release["count"].reshape(-1, 1, 1)
        else:
            assert self.release.size.rows is not None
            count = np.full((1, 1, 1), float(self.release.size.rows))
        return count, np.maximum(count, 1.0)

    def _symmetric(self, part: str) -> Array:
        """Return means of a part that has i ≤ j, as matrices."""
        d = self.reaches.shape[1]
        i, j = np.triu_indices(d)
        given = self.release[part].reshape(-1, len(i))
        result = np.zeros((len(given), d, d))
        result[:, i, j] = result[:, j, i] = given
        return np.asarray(result / self.counts[1])

    @cached_property
    def products(self) -> Array:
        """z, shape (groups, d, d)."""
        return self._symmetric("products")

    @cached_property
    def squares(self) -> Array:
        """The means of y_i²·y_j², shape (groups, d, d)."""
        return self._symmetric("squares")

    @cached_property
    def cubes(self) -> Array:
        """The means of y_i³·y_j off the diagonal, shape (groups, d, d)."""
        d = self.reaches.shape[1]
        result = np.zeros((len(self.products), d, d))
        i, j = np.nonzero(~np.eye(d, dtype=np.bool_))
        result[:, i, j] = self.release["cubes"].reshape(len(result), -1)
        return np.asarray(result / self.counts[1])

    @property
    def covariances(self) -> Array:
        """The covariances as measured, shape (groups, d, d)."""
        return np.asarray(self.outer * self.products - self.offsets)

    @cached_property
    def errors(self) -> Array:
        """The coefficients of independent noises in each covariance, shape (groups, d, d, D + 1)."""
        d, (a, b, _) = self.reaches.shape[1], self.weights
        i, j = np.triu_indices(d)
        own = np.zeros((d, d, len(i)))
        own[i, j, np.arange(len(i))] = own[j, i, np.arange(len(i))] = 1.0 / b
        both = np.broadcast_to(own, (len(self.products), *own.shape))
        result = np.concatenate([both, -self.products[..., None] / a], axis=-1)
        return np.asarray(result * (self.outer / self.counts[1])[..., None])

    def interval(self, level: float, *, population: bool) -> tuple[Array, Array]:
        """Return both ends of an interval for each covariance, of these rows or of the population."""
        clusters = float(largest_clusters(self.release.declared)) if population else 0.0
        (a, b, c), z, q, noise = self.weights, self.products, self.squares, self._noise
        count, rows = (np.broadcast_to(one, z.shape) for one in self.counts)
        spread = np.sqrt(1.0 / c**2 + (2.0 * z / b) ** 2 + ((q - 2.0 * z * z) / a) ** 2) / rows
        low, high = np.empty(z.shape), np.empty(z.shape)
        for place in np.ndindex(z.shape):
            group, i, j = place
            if i > j:
                continue
            low[place], high[place] = mean_interval(
                noise,
                (a, b),
                float(z[place] * rows[place]),
                float(count[place]),
                (float(q[place] - z[place] ** 2), float(spread[place]) * math.sqrt(noise.variance)),
                clusters,
                level,
                extra=float(self.offset_stds[place] / self.outer[place]),
            )
            low[group, j, i], high[group, j, i] = low[place], high[place]
        return self.outer * low - self.offsets, self.outer * high - self.offsets

    def correlation_interval(self, group: int, i: int, j: int, level: float) -> tuple[float, float]:
        """Return both ends of an interval for a correlation of the population; see the module."""
        k = self._scaled(group)
        start = float(np.clip(k[i, j] / math.sqrt(k[i, i] * k[j, j]), -1.0, 1.0))

        def tail(rho: float) -> float:
            return self.correlation_tail(group, i, j, rho)

        return find_boundary(start, -1.0, tail, 1.0 - level), find_boundary(start, 1.0, tail, 1.0 - level)

    def _scaled(self, group: int) -> Array:
        """Return k of the module, for one group."""
        return np.asarray(self.products[group] - self.offsets[group] / self.outer[group])

    def correlation_tail(self, group: int, i: int, j: int, rho: float) -> float:
        """Return the probability that noise and sampling alone give at least what was measured, at a correlation ρ."""
        k, shift = self._scaled(group), self.offset_stds[group] / self.outer[group]
        q, t, z = self.squares[group], self.cubes[group], self.products[group]
        (a, b, c), noise = self.weights, self._noise
        rows, clusters = float(self._rows(group)), largest_clusters(self.release.declared)
        ratio, both = math.sqrt(k[j, j] / k[i, i]), math.sqrt(k[i, i] * k[j, j])
        one, other = rho * ratio / 2.0, rho / ratio / 2.0
        mean = z[i, j] - one * z[i, i] - other * z[j, j]
        parts = [1.0 + 2.0 * one * other, 2.0 * one, 2.0 * other, one**2, other**2]
        moments = [q[i, j], -t[i, j], -t[j, i], q[i, i], q[j, j]]
        measured = float(np.dot(parts, moments)) - mean**2
        std = math.sqrt(noise.variance * float(np.dot(parts, parts))) / c / rows
        most = (1.0 + abs(one) + abs(other)) ** 2
        extra = shift[i, j] ** 2 + (one * shift[i, i]) ** 2 + (other * shift[j, j]) ** 2
        plausible = clusters * plausible_variances(measured, std, most, normal=noise.normal) + rows * extra
        coefficients = [part for part in (1.0 / b, one / b, other / b, mean / a) if part != 0.0]
        return float(population_tail(noise, coefficients, rows * abs(k[i, j] - rho * both), rows, plausible))

    def _rows(self, group: int) -> float:
        rows = self.counts[1].ravel()
        return float(rows[group if len(rows) > 1 else 0])
