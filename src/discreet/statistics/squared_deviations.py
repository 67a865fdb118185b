"""Variances as they follow from released sums: of squares, or of squared deviations from a released mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.statistics.population import each_interval, largest_clusters, mean_interval

Array = NDArray[np.float64]


def count_rows(release: Release) -> tuple[Array, float]:
    """Return the number of rows of each group, public or released, and the count's weight a (∞ where it is public)."""
    if "count" in release.parts:
        return np.maximum(release["count"].reshape(-1, 1), 1.0), release.parts["count"].weight
    assert release.size.rows is not None
    return np.full((1, 1), float(max(release.size.rows, 1))), math.inf


def variances_from_squares(release: Release) -> tuple[Array, Array]:
    """Return the variance of each group in a release of ``Squares``, in [−1, 1], and its noise coefficients."""
    rows, a = count_rows(release)
    b, c = release.parts["first"].weight, release.parts["square"].weight
    m, t = (release[name].reshape(-1, 1) / rows for name in ("first", "square"))
    noises = [np.full(m.shape, 0.5 / c), 2.0 * np.abs(m) / b, np.abs(t / 2.0 - 2.0 * m * m) / a]
    return (t + 1.0) / 2.0 - m * m, np.stack(noises, axis=-1) / rows[..., None]


@dataclass(frozen=True, eq=False)
class Deviations:
    """The released squared deviations of one column, and the error of the means that they are taken from.

    Attributes
    ----------
    release : Release
        Of ``DeviationSquares``.
    squares : array of shape (groups, 1)
        R²: the largest squared deviation.
    mean_variances, mean_stds : arrays of shape (groups, 1)
        v, the expectation of the squared error of each mean by noise; and the standard deviation of that square.
    """

    release: Release
    squares: Array
    mean_variances: Array
    mean_stds: Array

    @cached_property
    def _measured(self) -> tuple[Array, Array, Array, float]:
        """The sum of z, the number of rows as it was released and kept above 0, and the weight a of the count."""
        rows, a = count_rows(self.release)
        count = self.release["count"].reshape(-1, 1) if "count" in self.release.parts else rows
        return self.release["first"].reshape(-1, 1), count, rows, a

    @property
    def variances(self) -> Array:
        """The variance of each group, as measured."""
        total, _, rows, _ = self._measured
        return self.squares * (total / rows + 1.0) / 2.0 - self.mean_variances

    def rows_interval(self, level: float) -> tuple[Array, Array]:
        """Return both ends of an interval for the variance of the rows of each group."""
        return self._interval(level, 0.0)

    def population_interval(self, level: float) -> tuple[Array, Array]:
        """Return both ends of an interval for the variance in the population of each group."""
        return self._interval(level, float(largest_clusters(self.release.declared)))

    def _interval(self, level: float, clusters: float) -> tuple[Array, Array]:
        noise = self.release.noise
        assert noise is not None  # additive
        total, count, _, a = self._measured
        weights = a, self.release.parts["first"].weight
        variances, coefficients = variances_from_squares(self.release)  # of z
        stds = math.sqrt(noise.variance) * np.sqrt((coefficients**2).sum(axis=-1))

        def interval(place: tuple[int, ...]) -> tuple[float, float]:
            variance, extra = (float(variances[place]), float(stds[place])), float(self.mean_stds[place])
            return mean_interval(
                noise,
                weights,
                float(total[place]),
                float(count[place]),
                variance,
                clusters,
                level,
                extra=extra / float(self.squares[place]) * 2.0,
            )

        ends = each_interval(total, interval)
        low, high = (self.squares * (end + 1.0) / 2.0 - self.mean_variances for end in ends)
        value = np.clip(self.variances, 0.0, self.squares)
        return np.clip(low, 0.0, value), np.maximum(high, value)
