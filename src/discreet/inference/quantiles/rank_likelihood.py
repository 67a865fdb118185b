"""The probability of values drawn by the exponential mechanism, given how the rows are spread over cells.

A value y is drawn with probability e^(−η·d(y))/Z, where d is by how many rows it misses its rank (``queries.ranks``).
Within a cell rows are evenly spread, so the rank is linear, and Z = Σ ∫ e^(−η·d) over cells has a closed form. Where a
column has steps and ties are not broken, a cell with one value has all of its rows there, and is one candidate.

With few candidates the draw is by permute-and-flip. It is the largest of −η·d plus exponential noise (Ding, Kifer,
Sayed, Steinke, Wang, Xiao and Zhang 2021), so with w = e^(−η·(d − min d)) the probability is
w_y·∫₀¹ Π_{k≠y} (1 − v·w_k) dv; here v = e^(−u), and the integral over u is a sum of ``NODES``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]

NODES = np.arange(48) * 0.3  # of the integral over u
TINY = 1e-12


@dataclass(frozen=True)
class RankDraw:
    """A value that was drawn, and how.

    Attributes
    ----------
    value : float
        In units of the cells.
    q : float
        Its level among the rows between ``first`` and ``last``.
    first, last : float
        Values between which it was drawn.
    below, above : float
        How many rows were made up at either end.
    eta : float
    atoms : bool
        Whether cells with one value are one candidate.
    flips : bool
    candidate : float
        The width of a candidate.
    """

    value: float
    q: float
    first: float
    last: float
    below: float
    above: float
    eta: float
    atoms: bool
    flips: bool
    candidate: float


class RankLikelihood:
    """The likelihood of several draws from the same rows.

    Parameters
    ----------
    edges : array of shape (leaves + 1,)
        Of the cells.
    draws : sequence of RankDraw
    heap : float
        The share of a cell with one value where its rows are; 1 where they are anywhere in it.
    """

    def __init__(self, edges: Array, draws: list[RankDraw], heap: float) -> None:
        self._grids = {atoms: _Ranks(edges, draws, heap, atoms) for atoms in {one.atoms for one in draws}}
        self._among = [_Candidates(one, self._grids[one.atoms].points) for one in draws]

    def log_likelihood(self, counts: Array) -> Array:
        """Return the log-likelihood of rows in each cell, shape (n, leaves)."""
        ranks = {atoms: grid.find(counts) for atoms, grid in self._grids.items()}
        return np.asarray(sum(one.log_density(ranks[one.draw.atoms]) for one in self._among))

    def misses(self, counts: Array) -> Array:
        """Return by how many standard deviations, about, the ranks of draws miss their aims, shape (n, draws)."""
        ranks = {atoms: grid.find(counts) for atoms, grid in self._grids.items()}
        return np.stack([one.miss(ranks[one.draw.atoms]) for one in self._among], axis=1)


class _Candidates:
    """What a draw was made from: the intervals between some points, in which ranks are linear, or are one candidate."""

    def __init__(self, draw: RankDraw, every: Array) -> None:
        low, high = np.searchsorted(every, [draw.first, draw.last])
        points = every[low : high + 1]
        self.draw, self._part = draw, slice(low, high + 1)
        self._widths = np.diff(points)
        self._single = draw.atoms & (self._widths <= 1.0)
        self._place = int(np.clip(np.searchsorted(points, draw.value, side="right") - 1, 0, len(points) - 2))
        self._inside = float((draw.value - points[self._place]) / self._widths[self._place])

    def _own(self, ranks: Array) -> tuple[Array, Array]:
        """Return the ranks of the points among the rows that it was drawn from, and the rank that was aimed at."""
        draw, own = self.draw, ranks[:, self._part]
        own = own - own[:, :1] + draw.below
        return own, draw.q * (own[:, -1:] - draw.below) + draw.above

    def _found(self, own: Array) -> Array:
        """Return the rank of the draw."""
        return np.asarray((1.0 - self._inside) * own[:, self._place] + self._inside * own[:, self._place + 1])

    def miss(self, ranks: Array) -> Array:
        """Return by how much it misses its aim; the standard deviation of e^(−η·|d|) is √2/η."""
        own, aim = self._own(ranks)
        return (self._found(own) - aim[:, 0]) * self.draw.eta / math.sqrt(2.0)

    def log_density(self, ranks: Array) -> Array:
        """Return ln p(y | ranks), shape (n,)."""
        draw, single, sizes = self.draw, self._single, self._widths
        own, aim = self._own(ranks)
        lower, upper = own[:, :-1].copy(), own[:, 1:].copy()
        if draw.atoms:
            lower[:, 0] -= np.where(single[0], draw.below, 0.0)
            upper[:, -1] += np.where(single[-1], draw.above, 0.0)
        heights = -draw.eta * np.maximum(np.maximum(lower - aim, aim - upper), 0.0)
        means = np.ones_like(heights) if single.all() else _mean_within(lower, upper, aim, draw.eta)
        means[:, single] = 1.0
        if draw.atoms:
            found = heights[:, self._place] + np.log(means[:, self._place])
        else:
            found = -draw.eta * np.abs(self._found(own) - aim[:, 0])
            for made_up, missed, end in (
                (draw.below, aim - draw.below, draw.first),
                (draw.above, own[:, -1:] - aim, draw.last),
            ):
                if made_up:  # the candidate at that end has them all
                    extra = -draw.eta * np.maximum(missed, 0.0)
                    heights, means = np.hstack([heights, extra]), np.hstack([means, np.ones_like(extra)])
                    sizes = np.append(sizes, draw.candidate)
                    found = extra[:, 0] if abs(draw.value - end) <= draw.candidate else found
        if draw.flips:
            return _log_flip(heights + np.log(means), sizes, found)
        most = heights.max(axis=1)
        return np.asarray(found - most - np.log((np.exp(heights - most[:, None]) * means) @ sizes))


class _Ranks:
    """How many rows lie below each of some points: the ends of cells and, where rows fill these, also the draws."""

    def __init__(self, edges: Array, draws: list[RankDraw], heap: float, atoms: bool) -> None:
        points, widths = [edges], np.diff(edges)
        for one in draws:
            points += [np.array([one.first, one.last])] if one.atoms is atoms else []
            points += [] if atoms else [np.array([one.value])]
        if heap < 1.0:
            points.append((edges[:-1] + heap)[widths <= 1.0])
        self.points = np.unique(np.clip(np.concatenate(points), edges[0], edges[-1]))
        self._leaf = np.clip(np.searchsorted(edges, self.points, side="right") - 1, 0, len(widths) - 1)
        filled = np.where(widths <= 1.0, heap, widths) if heap < 1.0 else widths
        self._part = np.clip((self.points - edges[self._leaf]) / filled[self._leaf], 0.0, 1.0)

    def find(self, counts: Array) -> Array:
        """Return the ranks of the points, shape (n, points), for rows in each cell."""
        before = np.cumsum(counts, axis=1) - counts
        return np.asarray(before[:, self._leaf] + self._part * counts[:, self._leaf])


def _mean_within(lower: Array, upper: Array, aim: Array, eta: float) -> Array:
    """Return the mean of e^(−η·d) over ranks from lower to upper, over that at the nearest of them."""
    length = np.maximum(eta * (upper - lower), TINY)
    result = -np.expm1(-length)
    chain, place = np.nonzero((lower < aim) & (aim < upper))
    left, right = (eta * np.abs(one[chain, place] - aim[chain, 0]) for one in (lower, upper))
    result[chain, place] = -np.expm1(-left) - np.expm1(-right)
    return np.asarray(result / length)


def _log_flip(heights: Array, counts: Array, found: Array) -> Array:
    """Return the log-probability by permute-and-flip of one of so many candidates of each height."""
    best = heights.max(axis=1)
    weights = np.exp(heights - best[:, None])
    own = np.exp(found - best)
    v = np.exp(-NODES)
    others = np.log1p(-np.minimum(weights[:, :, None] * v, 1.0 - TINY))
    without = (others * counts[:, None]).sum(axis=1) - np.log1p(-np.minimum(own[:, None] * v, 1.0 - TINY))
    steps = np.full(len(v), NODES[1])
    steps[0] /= 2.0
    return np.asarray(found - best + logsumexp(without - NODES + np.log(steps), axis=1))
