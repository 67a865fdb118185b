"""Differential evolution: chains that learn the shape of their target from one another (ter Braak 2006).

A chain proposes its own point plus a multiple of the difference of two others, and accepts by Metropolis' rule. So
proposals have the covariance of the target without any tuning. Half of the chains move at a time, by differences within
the other half, which stands still: each half-step leaves the target of all chains invariant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHAINS = 64
WHOLE_STEPS = 0.1  # share of proposals with a multiple of 1, from one mode to another
JITTER = 1e-3


def propose(points: Array, first: bool, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array]:
    """Return which half of the chains moves, and a proposal for each.

    Parameters
    ----------
    points : array of shape (chains, size)
    first : bool
        Whether the first half moves, or the second one.
    rng : Generator
    """
    count, size = points.shape
    halves = np.array_split(np.arange(count), 2)
    moving, still = halves if first else halves[::-1]
    one = rng.integers(len(still), size=len(moving))
    other = (one + rng.integers(1, len(still), size=len(moving))) % len(still)
    multiple = np.where(rng.random((len(moving), 1)) < WHOLE_STEPS, 1.0, 2.38 / np.sqrt(2.0 * size))
    jitter = JITTER * rng.normal(size=(len(moving), size))
    return moving, points[moving] + multiple * (points[still[one]] - points[still[other]]) + jitter


def group_chains(draws: Array, chains: int) -> Array:
    """Return draws of shape (members, kept, …) as (chains, members·kept/chains, …), so that each has whole members.

    >>> group_chains(np.arange(12.0).reshape(4, 3), 2).tolist()
    [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]
    """
    members, kept = draws.shape[:2]
    return draws.reshape(chains, members // chains * kept, *draws.shape[2:])
