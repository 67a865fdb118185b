"""Clusters from a noisy histogram: denoise its cells, then run k-means on them (post-processing).

**Number of cells** (``grid_size``). The sum of a cluster's rows has the noise of its cells, √(cells)·s·spread with s
the noise of a count: 2√2/ε for a replaced row and Laplace noise. M = (0.28·N/s)^(2d/(2+d)), at least 8K, balances noise
and cell width. It is the (Nε/10)^(2d/(2+d)) of Su et al. 2016, expressed by s.

**Noise.** Counts are thresholded in a Haar basis (``denoise_histogram``).

Everything is computed from releases and public numbers. scikit-learn is imported where it is first needed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from discreet.door import Release
from discreet.models.noisy_sums import noise_std

__all__ = [
    "Clusters",
    "cells_along",
    "denoise_histogram",
    "denoise_release",
    "find_clusters",
    "grid_size",
    "weighted_kmeans",
]

Array = NDArray[np.float64]

MOST_CELLS = 2**14
SPINS = 8  # shifted Haar bases to average over


def grid_size(count: int, rows: float, noise: float, dimension: int) -> int:
    """Return M, the number of cells; see the module."""
    balanced = max(0.28 * rows / noise, 1.0) ** (2.0 * dimension / (2.0 + dimension))
    return int(min(max(balanced, 8.0 * count, 16.0), MOST_CELLS))


def cells_along(most: int, widths: Array) -> tuple[int, ...]:
    """Return the number of cells along each direction: about ``most`` in all, and about equally wide."""
    widest = float(widths.max())
    low, high = 1e-9 * widest, widest  # the side of a cell
    for _ in range(60):
        side = math.sqrt(low * high)
        cells = np.maximum(1.0, np.round(widths / side))
        low, high = (side, high) if math.log(most) < float(np.log(cells).sum()) else (low, side)
    numbers = np.maximum(1, np.round(widths / high).astype(int))
    if numbers.max() == 1:  # a grid has two cells or more
        numbers[widths.argmax()] = 2
    return tuple(int(number) for number in numbers)


def _split(values: Array, axes: list[int]) -> list[Array]:
    """Return sums and differences of neighbours along each axis, divided by √2; the sums along all axes come first."""
    parts = [values]
    for axis in axes:
        split = []
        for part in parts:
            even, odd = (np.take(part, range(start, part.shape[axis], 2), axis=axis) for start in (0, 1))
            split += [(even + odd) / math.sqrt(2.0), (even - odd) / math.sqrt(2.0)]
        parts = split
    return parts


def _join(parts: list[Array], axes: list[int]) -> Array:
    """Undo ``_split``."""
    for axis in reversed(axes):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            np.stack([(both + difference), (both - difference)], axis=axis + 1).reshape(
                [size * (2 if place == axis else 1) for place, size in enumerate(both.shape)]
            )
            / math.sqrt(2.0)
            for both, difference in pairs
        ]
    return parts[0]


def _axes(values: Array) -> list[int]:
    return [axis for axis, size in enumerate(values.shape) if size > 1]


def _details(values: Array) -> Array:
    """Return all Haar coefficients but the total."""
    result = [np.empty(0)]
    while axes := _axes(values):
        values, *details = _split(values, axes)
        result += [part.ravel() for part in details]
    return np.concatenate(result)


def _threshold(values: Array, threshold: float) -> Array:
    """Return the values with all Haar coefficients up to the threshold set to 0."""
    axes = _axes(values)
    if not axes:
        return values
    total, *details = _split(values, axes)
    kept = [np.where(np.abs(part) > threshold, part, 0.0) for part in details]
    return _join([_threshold(total, threshold), *kept], axes)


def denoise_histogram(
    counts: Array, noise: float, total: float | None, rng: np.random.Generator, false: float = 0.1
) -> Array:
    """Return denoised counts of cells that are ≥ 0 and have a known total.

    In an orthonormal Haar basis every coefficient has the same noise, and the coefficients of many cells have much
    signal. Coefficients are kept above the least threshold at which a share ``false`` of those kept is expected to be
    noise alone. The average over shifted bases avoids block artefacts. The result is the nearest vector of counts that
    are ≥ 0 and sum to ``total``, or to the sum of the noisy counts. Where there is nothing but noise, it is flat.

    Parameters
    ----------
    counts : array
        One axis a column.
    noise : float
        Standard deviation.
    total : float or None
    rng : Generator
        For the shifts.
    false : float
        The accepted share of coefficients that are noise alone, among those kept.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = np.kron([[0.0, 100.0], [0.0, 0.0]], np.ones((8, 8)))
    >>> result = denoise_histogram(true + rng.normal(0.0, 10.0, true.shape), 10.0, 6400.0, rng)
    >>> bool(abs(result - true).mean() < 2.0)
    True
    """

    def placed(sizes: list[int], starts: list[int]) -> tuple[Array, tuple[slice, ...]]:
        larger = np.zeros(sizes)
        where = tuple(slice(start, start + size) for start, size in zip(starts, counts.shape, strict=True))
        larger[where] = counts
        return larger, where

    least = [1 << (size - 1).bit_length() for size in counts.shape]
    scaled = np.sort(np.abs(_details(placed(least, [0] * counts.ndim)[0]))) / noise
    levels = np.arange(1.5, 5.0, 0.1)
    above = len(scaled) - np.searchsorted(scaled, levels)
    good = counts.size * erfc(levels / math.sqrt(2.0)) <= false * np.maximum(above, 1)
    threshold = noise * float(levels[good.argmax()] if good.any() else 5.0)
    mean = np.zeros(counts.shape)
    for _ in range(SPINS):
        sizes = [2 * size if size > 1 else 1 for size in least]
        starts = [int(rng.integers(0, size - own + 1)) for size, own in zip(sizes, counts.shape, strict=True)]
        larger, where = placed(sizes, starts)
        mean += _threshold(larger, threshold)[where] / SPINS
    # Thresholding moves some of the total to the padding around the counts; the projection restores it.
    return _project_to_simplex(mean, max(float(counts.sum()) if total is None else total, 1.0))


def _project_to_simplex(values: Array, total: float) -> Array:
    """Return the nearest numbers ≥ 0 with this sum (Euclidean projection onto the simplex)."""
    down = np.sort(values, axis=None)[::-1]
    shifts = (np.cumsum(down) - total) / np.arange(1, down.size + 1)
    shift = shifts[np.flatnonzero(down > shifts)[-1]]
    return np.asarray(np.maximum(values - shift, 0.0))


def weighted_kmeans(points: Array, weights: Array, count: int, rng: np.random.Generator) -> tuple[Array, NDArray[Any]]:
    """Return the k-means centres of weighted points, and the centre of each point; the best of ten starts."""
    from sklearn.cluster import KMeans

    everywhere = weights + 1e-9 * weights.sum() / len(weights)  # so that there are never fewer points than centres
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # starts that did not converge
        model = KMeans(count, n_init=10, random_state=int(rng.integers(2**31)))
        model.fit(points, sample_weight=everywhere / everywhere.mean())
    return np.asarray(model.cluster_centers_, dtype=np.float64), np.asarray(model.labels_)


@dataclass(frozen=True)
class Clusters:
    """Clusters of a histogram.

    Attributes
    ----------
    counts : array of shape (K,)
        The number of rows of each cluster.
    centers : array of shape (K, d)
    squares : array of shape (K,)
        Mean squared distance of the rows to their centre.
    extents : array of shape (K,)
        Largest distance of a cell to its centre, plus the width of a cell.
    variances : array of shape (K,)
        Variance of a coordinate of the centre.
    """

    counts: Array
    centers: Array
    squares: Array
    extents: Array
    variances: Array


def denoise_release(release: Release, count: int, rng: np.random.Generator) -> Array:
    """Return the denoised counts of a released grid, cell by cell, for so many clusters."""
    counts, total = release["counts"], release.size.rows
    # With few cells a cluster, a missed coefficient may be a whole cluster, and a false one costs little.
    false = 0.5 if counts.size < 16 * count else 0.1
    known = None if total is None else float(total)
    return denoise_histogram(counts, noise_std(release, "counts"), known, rng, false).ravel()


def find_clusters(points: Array, release: Release, side: float, count: int, rng: np.random.Generator) -> Clusters:
    """Return the clusters of a released grid whose cells have these centres and are at most ``side`` wide."""
    noise = noise_std(release, "counts")
    cells = denoise_release(release, count, rng)
    centers, labels = weighted_kmeans(points, cells, count, rng)
    squared = ((points - centers[labels]) ** 2).sum(axis=1)
    rows = np.maximum(np.bincount(labels, cells, count), 1.0)
    squares = np.bincount(labels, cells * squared, count) / rows + side**2 / 12.0
    extents = np.zeros(count)
    np.maximum.at(extents, labels, np.where(cells > 0.0, np.sqrt(squared), 0.0))
    variances = noise**2 * np.bincount(labels, squared, count) / rows**2 + side**2 / 12.0
    return Clusters(rows, centers, squares, extents + side, variances)
