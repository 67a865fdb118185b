"""How to share one release between counts, first and second moments: the a², b², c² of the lemma.

In a component's own coordinates (mean 0, covariance I, clipped to radius R) noise of variance x·Δ²/a² on the share of a
component, x·Δ²/b² on each coordinate of the mean of y and x·Δ²/c² on each of its second moment costs, in nats of
Kullback–Leibler divergence a row,

    x·Δ²·(A/a² + B/b² + C/c²),    A = ½ + d/4,    B = d·R²/(2β₁²),    C = R⁴/(4β₂²)·(d(d + 1)/2 numbers, or fewer),

with β of ``clipping``. Under replace-one Δ² depends on a, b and c as well. Two things keep C from swallowing everything
when d is large: a component's own covariance cannot be worth more than some tenth of a nat a dimension, since without
it the shared one serves; and shared over K components its noise is K times less. A small grid is searched, once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.guarantees import Neighbors
from discreet.models.clipping import Clipping
from discreet.models.shapes import Shape

__all__ = ["mixture_weights", "moment_weights"]

WORTH = 0.1  # nats a dimension

Array = NDArray[np.float64]
Weights = tuple[float, float, float]


def costs(clipping: Clipping, shape: Shape) -> Weights:
    d, q = clipping.dimension, clipping.squared
    return 0.5 + d / 4.0, d * q / (2.0 * clipping.beta1() ** 2), shape.energy() * (q / clipping.beta2()) ** 2 / 8.0


def _least(a2: Array, b2: Array, c2: Array, shape: Shape) -> Array:
    """Return t of ``clipped_moments``."""
    q = c2 / shape.dimension if shape.name == "diag" else c2
    return np.asarray(np.where(b2 <= 2.0 * q, a2 - b2 * b2 / (4.0 * q), a2 - b2 + q))


@lru_cache(maxsize=256)
def moment_weights(clipping: Clipping, shape: Shape, neighbors: Neighbors, *, counted: bool) -> Weights:
    """Return a², b², c² for a single Gaussian; a = 0 where its rows need not be counted.

    >>> round(sum(moment_weights(Clipping(3, 9.0), Shape("full", 3), Neighbors.ADD_REMOVE, counted=True)), 12)
    1.0
    """
    count, first, second = costs(clipping, shape)
    a2 = np.geomspace(0.002, 0.5, 60)[None, :] if counted else np.zeros((1, 1))
    b2 = np.geomspace(0.002, 0.9, 200)[:, None]
    c2 = np.maximum(1.0 - a2 - b2, 1e-9)
    squared = 2.0 - 2.0 * _least(a2, b2, c2, shape) if neighbors is Neighbors.REPLACE_ONE else np.ones_like(c2)
    cost = np.maximum(squared, 1.0) * (first / b2 + second / c2 + (count / a2 if counted else 0.0))
    return _chosen(a2, b2, c2, cost)


@lru_cache(maxsize=256)
def mixture_weights(
    clipping: Clipping, shape: Shape, neighbors: Neighbors, count: int, noise: float, shared: float
) -> Weights:
    """Return a², b², c² for a mixture.

    Parameters
    ----------
    count : int
        K.
    noise : float
        x: the squared scale of the noise for Δ = 1, relative to the rows of one component.
    shared : float
        What the covariance of all rows together costs already, in nats.
    """
    share, first, second = costs(clipping, shape)
    a2 = np.geomspace(0.0005, 0.5, 50)[None, :]
    b2 = np.geomspace(0.002, 0.7, 50)[:, None]
    c2 = np.maximum(1.0 - a2 - b2, 1e-9)
    squared = 2.0 + 2.0 * np.maximum(0.0, -_least(a2, b2, c2, shape))
    squared = squared if neighbors is Neighbors.REPLACE_ONE else np.ones_like(squared)
    worth = WORTH * clipping.dimension
    own = second * noise * squared / c2
    cost = (
        (share / a2 + first / b2) * noise * squared + worth * own / (own + worth) + 1.0 / (count / own + 1.0 / shared)
    )
    return _chosen(a2, b2, c2, cost)


def _chosen(a2: Array, b2: Array, c2: Array, cost: Array) -> Weights:
    cost = np.where(c2 > 0.02, cost, np.inf)
    i, j = np.unravel_index(np.argmin(cost), cost.shape)
    a, b = float(a2[0, j]), float(b2[i, 0])
    return a, b, 1.0 - a - b
