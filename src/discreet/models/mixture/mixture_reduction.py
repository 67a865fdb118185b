"""Reduces a mixture to fewer components by merging, two at a time, those whose merging loses least.

Two components of weights v and w merge into the one with their weight, mean and covariance,

    C = (v·C₁ + w·C₂)/(v + w) + v·w/(v + w)²·(m₁ − m₂)(m₁ − m₂)ᵀ.

Runnalls (2007) bounds what this loses, as the Kullback–Leibler divergence from the mixture before to that after, by

    B = ½((v + w)·ln det C − v·ln det C₁ − w·ln det C₂) nats a row.

Where components are pieces of one Gaussian, which overlap, that bound is far too large: nothing is lost there. If it is
known which component a row is of, as good as it is where components are apart, the loss is less by the entropy of
these labels, (v + w)·ln(v + w) − v·ln v − w·ln w, and is negative for pieces of one Gaussian. ``labels`` says how much
of the entropy counts, from 0 to 1. All of it is arithmetic on public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from discreet.queries.moments.clipped_moments import Components

__all__ = ["reduce_mixture"]

Array = NDArray[np.float64]
Places = NDArray[np.intp]


def reduce_mixture(components: Components, count: int, labels: float = 0.0) -> Components:
    """Return the mixture with at most ``count`` components.

    >>> four = Components(np.full(4, 0.25), np.array([[0.0], [0.1], [4.0], [4.1]]), np.ones((4, 1, 1)))
    >>> reduce_mixture(four, 2).means.ravel().round(2).tolist()
    [0.05, 4.05]
    """
    pieces = _Pieces(components.weights.copy(), components.means.copy(), components.covariances.copy())
    left = np.arange(components.count)
    losses = np.full((len(left), len(left)), np.inf)
    for k in range(len(left)):
        losses[k, :k] = pieces.losses(k, left[:k], labels)
    while len(left) > count:
        one, other = np.unravel_index(np.argmin(losses), losses.shape)
        kept, gone = int(min(one, other)), int(max(one, other))
        pieces.merge(kept, gone)
        losses[gone, :] = losses[:, gone] = np.inf
        left = left[left != gone]
        others = left[left != kept]
        losses[np.maximum(others, kept), np.minimum(others, kept)] = pieces.losses(kept, others, labels)
    return Components(pieces.weights[left] / pieces.weights[left].sum(), pieces.means[left], pieces.covariances[left])


@dataclass(eq=False)
class _Pieces:
    """The components, in arrays that merging writes to; ``volumes`` is ln det of their covariances."""

    weights: Array
    means: Array
    covariances: Array

    def __post_init__(self) -> None:
        self.volumes = np.linalg.slogdet(self.covariances)[1]

    def merged(self, k: int, others: Places) -> tuple[Array, Array, Array]:
        """Return weight, mean and covariance of component k merged with each of the others."""
        both = self.weights[k] + self.weights[others]
        share, apart = self.weights[others] / both, self.means[others] - self.means[k]
        within = self.covariances[k] + share[:, None, None] * (self.covariances[others] - self.covariances[k])
        between = (share * (1.0 - share))[:, None, None] * (apart[:, :, None] * apart[:, None, :])
        return both, self.means[k] + share[:, None] * apart, within + between

    def losses(self, k: int, others: Places, labels: float) -> Array:
        """Return what merging component k with each of the others loses; see the module."""
        both, _, covariances = self.merged(k, others)
        v, w = self.weights[k], self.weights[others]
        bound = 0.5 * (both * np.linalg.slogdet(covariances)[1] - v * self.volumes[k] - w * self.volumes[others])
        return np.asarray(bound - labels * (xlogy(both, both) - xlogy(v, v) - xlogy(w, w)))

    def merge(self, kept: int, gone: int) -> None:
        """Merge one component into another."""
        (self.weights[kept],), (self.means[kept],), (self.covariances[kept],) = self.merged(kept, np.array([gone]))
        self.volumes[kept] = np.linalg.slogdet(self.covariances[kept])[1]
