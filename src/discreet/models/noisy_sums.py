"""Turn noisy sums into valid parameters: positive counts, means in the unit ball, positive definite covariances.

Every function here is total: it accepts whatever finite numbers a release holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.guarantees import Neighbors
from discreet.noise import GaussianNoise

Array = NDArray[np.float64]

# Limits on the eigenvalues of a covariance of rows in the unit ball: standard deviations from 0.001 to 1
SMALLEST, LARGEST = 1e-6, 1.0
MOST_ROWS = 1e18


def noise_std(release: Release, name: str) -> float:
    """Return the standard deviation of the noise on a part of a release, in the units of ``release[name]``."""
    assert release.noise is not None  # releases of moments have additive noise
    return float(np.sqrt(release.noise.variance)) / release.parts[name].weight


def count_noise(budget: float, neighbors: Neighbors) -> float:
    """Return the standard deviation of one of several counts that have the squared budget μ²: 1/μ, or √2/μ.

    A row that is replaced leaves one count and enters another.

    >>> round(count_noise(0.25, Neighbors.REPLACE_ONE), 3), count_noise(0.25, Neighbors.ADD_REMOVE)
    (2.828, 2.0)
    """
    return math.sqrt((2.0 if neighbors is Neighbors.REPLACE_ONE else 1.0) / budget)


def mean_release(releases: Sequence[Release]) -> Release:
    """Return the mean of releases of one question, weighted by precision, with its smaller noise, as a release."""
    variances = np.array([release.noise.variance for release in releases if release.noise is not None])
    precision = 1.0 / variances
    value = precision @ np.array([release.value for release in releases]) / precision.sum()
    noise = GaussianNoise(1.0 / math.sqrt(precision.sum()))
    return replace(releases[0], value=value, noise=noise, provenance="simulated")


def released_rows(release: Release, counts: str = "counts") -> float:
    """Return the number of rows that contribute: the public number, or the released one.

    A released number is at least two standard deviations of its noise and at least 1; more than 10¹⁸ are no rows.
    """
    if release.size.rows is not None:
        return float(max(release.size.rows, 1))
    return min(max(float(release[counts].sum()), 2.0 * noise_std(release, counts), 1.0), MOST_ROWS)


def released_counts(release: Release) -> Array:
    """Return the noisy counts. Where the number of rows is public, they are all shifted so that they sum to it."""
    counts = release["counts"]
    if release.size.rows is None:
        return counts
    return np.asarray(counts + (release.size.rows - counts.sum()) / len(counts))


def positive_counts(release: Release, name: str = "counts") -> Array:
    """Return a part that holds counts as positive numbers that sum to the number of rows.

    Under replace-one, where every unit is one row that surely counts, that number is public. Otherwise it is the sum of
    the noisy counts. Each count is at least two standard deviations of its noise and at least one row.
    """
    counts, units = release[name].ravel(), release.size.rows
    total = max(float(counts.sum()) if units is None else float(units), 1.0)
    least = min(max(2.0 * noise_std(release, name), 1.0), 0.5 * total / len(counts))
    shifted = counts + (total - counts.sum()) / len(counts)
    floored = np.maximum(shifted, least)
    return np.asarray(floored * (total / floored.sum()))


def clip_eigenvalues(matrices: Array, least: float | Array, most: float | Array) -> Array:
    """Return symmetric matrices with their eigenvalues clipped to [least, most], one pair for all or one a matrix."""
    values, vectors = np.linalg.eigh((matrices + np.swapaxes(matrices, -1, -2)) / 2.0)
    clipped = np.clip(values, np.asarray(least)[..., None], np.asarray(most)[..., None])
    return np.asarray((vectors * clipped[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def clip_to_ball(points: Array, radius: float = 1.0) -> Array:
    """Return points projected radially into the ball of this radius around 0."""
    lengths = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))
