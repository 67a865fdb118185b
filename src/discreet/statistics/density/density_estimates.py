"""Density estimates on [0, 1] from a release: numbers of bins and cosines, bandwidths, shrinkage and projection.

All functions are pure functions of public numbers, and give a density for any released numbers. All lengths are in
units of the column's interval. v is the variance of the noise on a count, n the number of rows.

From a release to a density
---------------------------
Sums of cosines S_j = Σ_i φ_j(t_i), divided by the number of rows n, are the coefficients of the density
1 + Σ_j (S_j/n)·φ_j. They can also be computed from the counts of m bins: Σ_b φ_j(centre of b)·count_b. The width of a
bin multiplies cos(πjt) by sin(x)/x with x = πj/(2m), and this factor is divided out. The φ_j at the centres are
orthogonal, of squared length m, so noise of variance v on each count is noise of variance m·v on each sum,
uncorrelated.

Where n is private it is released too. Its noise enters the noise of the density to first order.

Rules from public numbers
-------------------------
The rules are tuned for a normal density whose standard deviation is a sixteenth of the interval.

**Bins** (``choose_bins``). The integrated squared error of a histogram of m bins is about R/(12·m²) for its steps
(R = ∫f'²), m/n for sampling the rows, and m²·v/n² for the noise (each height is m/n counts). The first and the last
balance at m = (R·n²/(12·v))^(1/4): about 1.6·√(nε) bins for a replaced row and Laplace noise. Up to constants this is
the rule of Wasserman and Zhou (2010), and of Lei (2011) for a density with a slope.

**Bandwidth of a kernel** (``choose_bandwidth``). Likewise the error is S·h⁴/4 for the bias (S = ∫f''²), 1/(2√π·n·h)
for sampling, and 2·s²/(π·h²·n²) for the noise: Σ_j λ_j·σ² with Σ λ_j ≈ 1/(h·√(2π)) and σ² = 4·Σλ_j·s², where s is the
standard deviation of the noise on a sum of sensitivity 1.

**Shrinkage** (``shrinkage_factors``). Each coefficient a_j is multiplied by a factor f_j between 0 and 1 that never
grows with the frequency. The factors minimise an unbiased estimate of the risk,

    Σ_j f_j²·a_j² − 2·f_j·(a_j² − v_j),

where v_j is the variance of noise and sampling together. This is a weighted monotone regression of 1 − v_j/a_j² with
weights a_j² (Beran and Dümbgen 1998). In simulations over six densities it did better than hard thresholds and than a
cut at the best frequency, and much better than a fixed kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.clusters.histogram_clusters import denoise_histogram
from discreet.models.noisy_sums import noise_std
from discreet.models.table.column_maps import project_to_simplex
from discreet.queries.moments.cosines import cosines_at
from discreet.statistics.density.piecewise import Piecewise, project_to_density

Array = NDArray[np.float64]

SPREAD = 1.0 / 16.0
MOST = 1024
NODES = 512


def choose_bins(rows: float, variance: float) -> int:
    """Return the number of bins that minimises the estimated error of a histogram, see the module.

    >>> choose_bins(1000, 8.0), choose_bins(100_000, 8.0), choose_bins(1000, 800.0)
    (39, 210, 16)
    """
    m = np.arange(4.0, MOST + 1.0)
    slope = 1.0 / (4.0 * math.sqrt(math.pi) * SPREAD**3)
    return int(m[np.argmin(slope / (12.0 * m**2) + m / rows + m**2 * variance / rows**2)])


def choose_bandwidth(rows: float, noise: float) -> float:
    """Return the bandwidth that minimises the estimated error, for ``noise`` on a sum of sensitivity 1; see the module.

    >>> round(choose_bandwidth(1000, 4.0), 3)
    0.022
    """
    h = np.geomspace(0.01, 0.5, 400)
    bend = 3.0 / (8.0 * math.sqrt(math.pi) * SPREAD**5)
    wrong = bend * h**4 / 4.0 + 1.0 / (2.0 * math.sqrt(math.pi) * rows * h) + 2.0 / math.pi * (noise / (h * rows)) ** 2
    return float(h[np.argmin(wrong)])


def choose_cosines(rows: float, noise: float) -> int:
    """Return the number of cosines to release: 1.7·√(n/s), found by simulation. Shrinkage removes those not needed.

    >>> choose_cosines(1000, 4.0)
    27
    """
    return int(min(max(round(1.7 * math.sqrt(rows / noise)), 8), 256))


def choose_fine_bins(rows: float, variance: float) -> int:
    """Return the number of bins, even, from which to compute coefficients: 2.3·√(n·√(8/v)), found by simulation.

    >>> choose_fine_bins(1000, 8.0), choose_fine_bins(1000, 800.0)
    (72, 22)
    """
    return 2 * int(min(max(1.15 * math.sqrt(rows * math.sqrt(8.0 / variance)), 8.0), 512.0))


def shrinkage_factors(coefficients: Array, variances: Array) -> Array:
    """Return the non-increasing factors in [0, 1] that minimise the estimated risk, by pooling adjacent violators.

    >>> shrinkage_factors(np.array([1.0, 0.2, 0.0, 0.1]), np.full(4, 0.01)).round(2).tolist()
    [0.99, 0.75, 0.0, 0.0]
    """
    energy = coefficients**2
    blocks: list[tuple[float, float, int]] = []  # Σ(a² − v), Σa² and the length of each block
    for signal, total in zip(energy - variances, energy, strict=True):
        block = (float(signal), float(total), 1)
        # A block whose best factor, signal/total, exceeds that of the previous block is pooled with it.
        while blocks and block[0] * blocks[-1][1] >= blocks[-1][0] * block[1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    factors = [np.full(length, max(signal, 0.0) / total if total else 0.0) for signal, total, length in blocks]
    return np.asarray(np.clip(np.concatenate(factors), 0.0, 1.0))


@dataclass(frozen=True)
class DensityEstimate:
    """An estimate on [0, 1].

    Attributes
    ----------
    heights : ndarray
        The density in bins, where it is flat, else at nodes: at least 0, with integral 1.
    before : ndarray
        The same before projection to such heights.
    noise : ndarray
        The standard deviation of the noise in ``before``.
    flat : bool
        Whether it is constant in each bin.
    factors : ndarray
        The factors by which the cosine coefficients were multiplied; empty for a histogram.
    mixed : bool
        Whether the noise at a point is a sum of many Laplace draws.
    """

    heights: Array
    before: Array
    noise: Array
    flat: bool
    factors: Array
    mixed: bool

    def curve(self, low: float, high: float) -> tuple[Piecewise, Array]:
        """Return the density over an interval, and the points at which it was estimated."""
        cells = len(self.heights) - (0 if self.flat else 1)
        edges = np.linspace(low, high, cells + 1)
        ends = (self.heights, self.heights) if self.flat else (self.heights[:-1], self.heights[1:])
        return Piecewise(edges, *ends), (edges[:-1] + edges[1:]) / 2.0 if self.flat else edges


def _count(noisy: float, std: float, release: Release) -> tuple[float, float]:
    """Return the number of rows and its standard deviation: public, or noisy and then at least its noise."""
    if release.size.rows is not None:
        return float(max(release.size.rows, 1)), 0.0
    return max(noisy, std, 1.0), std


def from_histogram(release: Release, denoise: bool) -> DensityEstimate:
    """Return the histogram of noisy counts, optionally denoised."""
    counts, std = release["counts"], noise_std(release, "counts")
    m = len(counts)
    rows, unsure = _count(float(counts.sum()), std * math.sqrt(m), release)
    # Counts vary by sampling as well as by noise; the threshold accounts for both.
    by_chance = math.sqrt(std**2 + rows / m)
    kept = (
        denoise_histogram(counts, by_chance, rows, np.random.default_rng(0))
        if denoise
        else rows * project_to_simplex(counts, rows, 0.0)
    )
    before = m * counts / rows
    noise = m * np.sqrt(std**2 + (counts / rows * unsure) ** 2) / rows
    return DensityEstimate(m * kept / rows, before, noise, True, np.empty(0), False)


def from_fine_bins(release: Release) -> DensityEstimate:
    """Return the smooth density from the noisy counts of many bins; see the module."""
    counts, std = release["counts"], noise_std(release, "counts")
    m = len(counts)
    rows, unsure = _count(float(counts.sum()), std * math.sqrt(m), release)
    blur = np.sinc(np.arange(1.0, m // 2 + 1.0) / (2.0 * m))
    sums = counts @ cosines_at((np.arange(m) + 0.5) / m, m // 2) / blur
    mixed = release.noise is not None and not release.noise.normal
    return _series(sums, std * math.sqrt(m) / blur, rows, unsure, mixed=mixed)


def from_sums(release: Release, weights: Array, functional: bool) -> DensityEstimate:
    """Return the density from noisy sums of weighted cosines: with the kernel of these weights, or shrunk."""
    counted = "count" in release.parts
    rows, unsure = _count(
        *((float(release["count"][0]), noise_std(release, "count")) if counted else (0.0, 0.0)), release
    )
    sums, stds = release["sums"] / weights, noise_std(release, "sums") / weights
    return _series(sums, stds, rows, unsure, factors=weights**2 if functional else None)


def _series(
    sums: Array, stds: Array, rows: float, unsure: float, factors: Array | None = None, mixed: bool = False
) -> DensityEstimate:
    """Return the density from noisy sums of cosines: shrunk, unless the factors are given."""
    a, tau = sums / rows, stds / rows
    if factors is None:
        doubled = np.zeros(len(a))
        doubled[: len(a) // 2] = a[1::2]  # E φ_j² = 1 + E φ_2j/√2
        chance = np.clip(1.0 + doubled / math.sqrt(2.0) - a**2, 0.0, 2.0) / rows
        factors = shrinkage_factors(a, tau**2 + chance)
    nodes = np.linspace(0.0, 1.0, max(NODES, 4 * len(a)) + 1)
    phi = cosines_at(nodes, len(a))
    bends = phi @ (factors * a)
    noise = np.sqrt(phi**2 @ (factors * tau) ** 2 + (bends * unsure / rows) ** 2)
    heights = project_to_density(1.0 + bends, 1.0 / (len(nodes) - 1))
    return DensityEstimate(heights, 1.0 + bends, noise, False, factors, mixed)
