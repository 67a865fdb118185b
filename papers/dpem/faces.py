"""Factor analysis of faces: the paper's method with honest noise, its code as published, ours, and none.

There are 400 pictures. For more, each is taken several times: that leaves every moment as it is, and the noise beside
it is as small as so many people would make it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.models.noisy_sums import noise_std
from discreet.models.spectral.factors import Factors
from discreet.noise import SeededBits

__all__ = ["METHODS", "Found", "alignment", "pictures"]

Array = NDArray[np.float64]

FACTORS, DELTA = 10, 1e-4
GREYS = 255.0
STEPS = 100  # of EM; each is free


class Found(NamedTuple):
    """Loadings, those of the same model without privacy, and what can be seen: a spike above the edge."""

    loadings: Array
    exact: Array
    spike: float
    edge: float | None


def pictures(side: int) -> Array:
    """Return the faces, with side × side pixels of whole levels from 0 to 255."""
    faces = dp.datasets.fetch_olivetti()
    assert isinstance(faces, dp.datasets.Dataset)
    wide = 64 // side
    means = faces.X.reshape(400, side, wide, side, wide).mean(axis=(2, 4))
    return np.asarray(means.round().reshape(400, -1))


def alignment(one: Array, other: Array) -> tuple[float, float]:
    """Return the largest cosine, and the mean squared one, between the spaces of two matrices' columns."""
    a, b = np.linalg.qr(one)[0], np.linalg.qr(other)[0]
    cosines = np.linalg.svd(a.T @ b, compute_uv=False)
    return float(min(cosines.max(), 1.0)), float((cosines**2).mean())


def honest(rows: Array, times: int, epsilon: float, seed: int) -> Found:
    """Return the paper's factors: one noisy second moment of rows within a public radius, and EM on it."""
    n, d = len(rows) * times, rows.shape[1]
    ball = dp.Ball(GREYS * math.sqrt(d))  # the longest picture that there can be
    exact = rows.T @ rows / len(rows) / ball.radius**2
    curator = dp.Curator(np.repeat(rows, times, axis=0), space=ball)
    query = dp.Moments(curator.space, (0.0, 0.0, 1.0))
    release = curator.measure(query, dp.Guarantee(epsilon, DELTA), bits=SeededBits(seed))
    edge = noise_std(release, "second") / n * math.sqrt(d / 2.0)
    return Found(_factors(_positive(release["second"] / n)), _factors(exact), _largest(exact), edge)


def published(rows: Array, times: int, epsilon: float, seed: int) -> Found:
    """Return the factors of the paper's code, which are not private.

    It takes off the exact mean, scales by the largest norm of a column where that of a row is meant, and hands the
    variance of its noise to a function that expects the standard deviation.
    """
    moved = rows - rows.mean(axis=0)
    moved /= np.linalg.norm(moved, axis=0).max()
    n, d = len(rows) * times, rows.shape[1]
    exact = moved.T @ moved / len(rows)
    std = 2.0 * math.log(1.25 / DELTA) * (2.0 / n) ** 2 / epsilon**2
    upper = np.triu(np.random.default_rng(seed).normal(0.0, std, (d, d)))
    noisy = exact + upper + np.triu(upper, 1).T
    return Found(_factors(_positive(noisy)), _factors(exact), _largest(exact), std * math.sqrt(d))


def ours(rows: Array, times: int, epsilon: float, seed: int) -> Found:
    """Return our factors; pictures are declared to be at most half as far from grey as black and white are."""
    d = rows.shape[1]
    ball = dp.Ball(GREYS / 4.0 * math.sqrt(d), center=GREYS / 2.0)
    model = dp.FactorAnalysis(FACTORS, epsilon=epsilon, delta=DELTA, bounds=ball, random_state=seed)
    model.fit(np.repeat(rows.astype(np.uint8), times, axis=0))  # an eighth of the memory
    exact = np.cov(rows.T, bias=True) / ball.radius**2
    return Found(model.components_.T, _factors(exact), _largest(exact), None)


def none(rows: Array, times: int, epsilon: float, seed: int) -> Found:
    """Return the factors of the paper's model without privacy."""
    exact = rows.T @ rows / len(rows) / (GREYS**2 * rows.shape[1])
    factors = _factors(exact)
    return Found(factors, factors, _largest(exact), None)


METHODS: dict[str, Callable[[Array, int, float, int], Found]] = {
    "none": none,
    "published": published,
    "honest": honest,
    "ours": ours,
}


def _factors(second: Array) -> Array:
    return Factors.from_covariance(np.zeros(len(second)), second, FACTORS, STEPS).loadings


def _positive(matrix: Array) -> Array:
    """Return a symmetric matrix without its negative eigenvalues, which no second moment has."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 0.0
    return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)


def _largest(matrix: Array) -> float:
    from scipy.sparse.linalg import eigsh

    return float(eigsh(matrix, k=1, v0=np.ones(len(matrix)), return_eigenvectors=False)[0])
