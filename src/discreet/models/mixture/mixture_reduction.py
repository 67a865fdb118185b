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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from discreet.queries.moments.components import Components

__all__ = ["SYNTHETIC", "closest_pair", "merge_pair", "most_likely_reductions", "reductions"]

Array = NDArray[np.float64]
Places = NDArray[np.intp]

LABELS = (0.0, 0.5, 1.0)  # how much labels count in the reductions that are compared
SYNTHETIC = 5000  # rows that they are compared on


def reductions(components: Components, labels: float = 0.0) -> Iterator[Components]:
    """Yield the mixture with one component less than before, down to a single one.

    >>> four = Components(np.full(4, 0.25), np.array([[0.0], [0.1], [4.0], [4.1]]), np.ones((4, 1, 1)))
    >>> [reduced.means.ravel().round(2).tolist() for reduced in reductions(four)][1:]
    [[0.05, 4.05], [2.05]]
    """
    pieces = _Pieces(components.weights.copy(), components.means.copy(), components.covariances.copy())
    left = np.arange(components.count)
    losses = np.full((len(left), len(left)), np.inf)
    for k in range(len(left)):
        losses[k, :k] = pieces.losses(k, left[:k], labels)
    while len(left) > 1:
        one, other = np.unravel_index(np.argmin(losses), losses.shape)
        kept, gone = int(min(one, other)), int(max(one, other))
        pieces.merge(kept, gone)
        losses[gone, :] = losses[:, gone] = np.inf
        left = left[left != gone]
        others = left[left != kept]
        losses[np.maximum(others, kept), np.minimum(others, kept)] = pieces.losses(kept, others, labels)
        weights = pieces.weights[left] / pieces.weights[left].sum()
        yield Components(weights, pieces.means[left], pieces.covariances[left])


def merge_pair(components: Components, one: int, other: int) -> Components:
    """Return the single component that two of them merge into, with the weight of both."""
    pieces = _Pieces(components.weights, components.means, components.covariances)
    return Components(*pieces.merged(one, np.array([other])))


def closest_pair(components: Components, among: list[int]) -> tuple[int, int]:
    """Return the two of some components whose merging loses least, if it is known of which one a row is."""
    pieces = _Pieces(components.weights, components.means, components.covariances)
    pairs = []
    for i, k in enumerate(among):
        earlier = np.array(among[:i], dtype=np.intp)
        losses = pieces.losses(k, earlier, labels=1.0) if i else ()
        pairs += [(float(loss), int(j), k) for loss, j in zip(losses, earlier, strict=True)]
    _, one, other = min(pairs)
    return min(one, other), max(one, other)


def most_likely_reductions(components: Components, rows: Array, most: int) -> Iterator[Components]:
    """Yield the reductions to ``most`` components and fewer: of each number the likeliest for the rows, over LABELS."""
    if components.count <= most:
        yield components
    for several in zip(*(reductions(components, labels) for labels in LABELS), strict=True):
        if several[0].count <= most:
            yield max(several, key=lambda reduced: float(reduced.log_density(rows).mean()))


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
