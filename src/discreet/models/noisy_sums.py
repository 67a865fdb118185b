"""From noisy sums to valid numbers: positive counts, means inside the unit ball, positive definite covariances.

Everything here is total: it takes whatever finite numbers a release holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release

Array = NDArray[np.float64]

# Eigenvalues of a covariance of rows in the unit ball: standard deviations from a thousandth of its radius to all of it
SMALLEST, LARGEST = 1e-6, 1.0


def noise_of(release: Release, name: str) -> float:
    """Return the standard deviation of the noise on a part, its weight undone."""
    assert release.noise is not None  # additive, as every release of moments
    return float(np.sqrt(release.noise.variance)) / release.parts[name].weight


def released_rows(release: Release, counts: str = "counts") -> float:
    """Return the number of rows that contribute: public, or as released, and at least what its noise could make up."""
    if release.size.rows is not None:
        return float(max(release.size.rows, 1))
    return max(float(release[counts].sum()), 2.0 * noise_of(release, counts), 1.0)


def released_counts(release: Release) -> Array:
    """Return the counts with their noise. Where the number of rows is public, they are moved so that they sum to it."""
    counts = release["counts"]
    if release.size.rows is None:
        return counts
    return np.asarray(counts + (release.size.rows - counts.sum()) / len(counts))


def positive_counts(release: Release, name: str = "counts") -> Array:
    """Return a part that holds counts as positive numbers that sum to what is known of the number of rows.

    Under replace-one, where every unit is a row that surely counts, the sum is public; else it is that of the counts.
    Each is at least two standard deviations of its noise and at least one row.
    """
    counts, units = release[name].ravel(), release.size.rows
    total = max(float(counts.sum()) if units is None else float(units), 1.0)
    least = min(max(2.0 * noise_of(release, name), 1.0), 0.5 * total / len(counts))
    shifted = counts + (total - counts.sum()) / len(counts)
    floored = np.maximum(shifted, least)
    return np.asarray(floored * (total / floored.sum()))


def clip_eigenvalues(matrices: Array, least: float | Array, most: float | Array) -> Array:
    """Return symmetric matrices with their eigenvalues moved between two numbers (or one pair a matrix)."""
    values, vectors = np.linalg.eigh((matrices + np.swapaxes(matrices, -1, -2)) / 2.0)
    least, most = (np.broadcast_to(np.asarray(limit)[..., None], values.shape) for limit in (least, most))
    clipped = np.clip(values, least, most)
    return np.asarray((vectors * clipped[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def inside_ball(points: Array, radius: float = 1.0) -> Array:
    """Return points moved radially into the ball around 0."""
    lengths = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))
