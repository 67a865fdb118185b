"""From a release to an estimate of a density on [0, 1]: pure functions, total for whatever numbers came out.

Sums of cosines S_j = Σ_i φ_j(t_i), over the number of rows n, are the density's coefficients: 1 + Σ_j (S_j/n)·φ_j.
Counts of m bins give them too: Σ_b φ_j(middle of b)·count_b, where a bin's width has blurred cos(πjt) by the factor
sin(x)/x, x = πj/(2m), which is undone. The φ_j at the middles are orthogonal, of squared length m, so noise of variance
v on each count is noise of variance m·v on each sum, uncorrelated.

Where n is private it is released too; its noise enters the noise of the density to first order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.histogram_clusters import denoised
from discreet.models.marginals import on_simplex
from discreet.models.released import noise_of
from discreet.queries.moments.cosines import cosines_at
from discreet.statistics.piecewise import Piecewise, nearest_density
from discreet.statistics.smoothing import shrunk

__all__ = ["Estimate", "from_fine_bins", "from_histogram", "from_sums"]

Array = NDArray[np.float64]

NODES = 512


@dataclass(frozen=True)
class Estimate:
    """An estimate on [0, 1].

    Attributes
    ----------
    heights : ndarray
        In bins, where it is flat, or at nodes: at least 0, with integral 1.
    before : ndarray
        Before they were moved to be so.
    noise : ndarray
        The standard deviation of the noise on those.
    flat : bool
    factors : ndarray
        What the coefficients of the cosines were multiplied with; none of a histogram.
    mixed : bool
        Whether the noise is a sum of many Laplace draws.
    """

    heights: Array
    before: Array
    noise: Array
    flat: bool
    factors: Array
    mixed: bool

    def curve(self, low: float, high: float) -> tuple[Piecewise, Array]:
        """Return the density over an interval, and the points where it was estimated."""
        cells = len(self.heights) - (0 if self.flat else 1)
        edges = np.linspace(low, high, cells + 1)
        ends = (self.heights, self.heights) if self.flat else (self.heights[:-1], self.heights[1:])
        return Piecewise(edges, *ends), (edges[:-1] + edges[1:]) / 2.0 if self.flat else edges


def _count(noisy: float, deviation: float, release: Release) -> tuple[float, float]:
    """Return the number of rows, public or noisy and then not below its noise, and its standard deviation."""
    if release.size.rows is not None:
        return float(max(release.size.rows, 1)), 0.0
    return max(noisy, deviation, 1.0), deviation


def from_histogram(release: Release, denoise: bool) -> Estimate:
    """Return the density of noisy counts, with noise and chance taken out of it or not."""
    counts, deviation = release["counts"], noise_of(release, "counts")
    m = len(counts)
    rows, unsure = _count(float(counts.sum()), deviation * math.sqrt(m), release)
    # Counts have the chance of a sample on them as well; a threshold that knows keeps less of it.
    by_chance = math.sqrt(deviation**2 + rows / m)
    kept = (
        denoised(counts, by_chance, rows, np.random.default_rng(0)) if denoise else rows * on_simplex(counts, rows, 0.0)
    )
    before = m * counts / rows
    noise = m * np.sqrt(deviation**2 + (counts / rows * unsure) ** 2) / rows
    return Estimate(m * kept / rows, before, noise, True, np.empty(0), False)


def from_fine_bins(release: Release) -> Estimate:
    """Return the smooth density of noisy counts of many bins; see the module."""
    counts, deviation = release["counts"], noise_of(release, "counts")
    m = len(counts)
    rows, unsure = _count(float(counts.sum()), deviation * math.sqrt(m), release)
    blur = np.sinc(np.arange(1.0, m // 2 + 1.0) / (2.0 * m))
    sums = counts @ cosines_at((np.arange(m) + 0.5) / m, m // 2) / blur
    mixed = release.law is not None and not release.law.normal
    return _series(sums, deviation * math.sqrt(m) / blur, rows, unsure, mixed=mixed)


def from_sums(release: Release, weights: Array, functional: bool) -> Estimate:
    """Return the density of noisy sums of weighted cosines: with the kernel of these weights, or shrunk."""
    counted = "count" in release.parts
    rows, unsure = _count(
        *((float(release["count"][0]), noise_of(release, "count")) if counted else (0.0, 0.0)), release
    )
    sums, deviations = release["sums"] / weights, noise_of(release, "sums") / weights
    return _series(sums, deviations, rows, unsure, factors=weights**2 if functional else None)


def _series(
    sums: Array, deviations: Array, rows: float, unsure: float, factors: Array | None = None, mixed: bool = False
) -> Estimate:
    """Return the density of noisy sums of cosines: shrunk, unless the factors are given."""
    a, tau = sums / rows, deviations / rows
    if factors is None:
        doubled = np.zeros(len(a))
        doubled[: len(a) // 2] = a[1::2]  # E φ_j² = 1 + E φ_2j/√2
        chance = np.clip(1.0 + doubled / math.sqrt(2.0) - a**2, 0.0, 2.0) / rows
        factors = shrunk(a, tau**2 + chance)
    nodes = np.linspace(0.0, 1.0, max(NODES, 4 * len(a)) + 1)
    phi = cosines_at(nodes, len(a))
    bends = phi @ (factors * a)
    noise = np.sqrt(phi**2 @ (factors * tau) ** 2 + (bends * unsure / rows) ** 2)
    heights = nearest_density(1.0 + bends, 1.0 / (len(nodes) - 1))
    return Estimate(heights, 1.0 + bends, noise, False, factors, mixed)
