"""The second look: which pairs of columns are counted once more, chosen by what the first counts say.

Where two columns are nearly independent their table is drawn to independence, and its noise hardly matters. Where they
are tied it does. With noise of variance v, and t the variance of the counts around those that are expected, the best
estimate of a count has the error √(t·v/(t + v)) (``table_quality``). Another release of k tables has noise of variance
v_k, in proportion to k, and with it v becomes 1/(1/v + 1/v_k).

Pairs of a target are always counted again, since a classifier adds up weak relations. For each of a few numbers k the
others are those whose errors fall most. Of these choices the one is taken in which the sum of all errors falls most. It
is a function of releases, so it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.models.synthesis.pair_targets import PairTargets
from discreet.models.synthesis.table_quality import estimate_spread, pair_tables, pair_trends

Array = NDArray[np.float64]

PARTS = (0.125, 0.25, 0.5, 1.0)  # of the pairs without a target


def choose_pairs(targets: PairTargets, noise: Callable[[int], float]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of columns to count once more, in order.

    Parameters
    ----------
    targets : PairTargets
        By the counts so far.
    noise : callable
        From the number of pairs to the standard deviation of a count.
    """
    pairs = list(combinations(range(len(targets.columns.sizes)), 2))
    known = []
    for i, j in pairs:
        n, y = pair_tables(targets, i, j)
        v = float(targets.noise[i, j])
        known.append((estimate_spread(n, y - pair_trends(targets, i, j)[0], v) * n**2, v))
    always = np.array([targets.target in pair for pair in pairs])
    best, result = -1.0, np.arange(0)
    for part in PARTS:
        number = int(always.sum()) + math.ceil(part * int((~always).sum()))
        other = noise(number) ** 2
        gains = np.array([_error(t, v) - _error(t, v * other / (v + other)) for t, v in known])
        some = np.argsort(np.where(always, -np.inf, -gains), kind="stable")[:number]
        if float(gains[some].sum()) > best:
            best, result = float(gains[some].sum()), np.sort(some)
    return tuple(pairs[place] for place in result.tolist())


def _error(t: Array, v: float) -> float:
    """Return Σ √(t·v/(t + v))."""
    return float(np.sqrt(t * (v / (t + v))).sum())
