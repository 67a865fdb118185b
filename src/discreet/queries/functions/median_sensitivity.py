"""The smooth sensitivity of the median, and how far its rows are from a larger sensitivity, under replace-one.

(The median of ``statistics`` is drawn in another way: ``queries.ranks``.)

Rows x₁ ≤ … ≤ x_n in [low, high], n public, x₀ = low and x_{n+1} = high; f = x_m with m = ⌈n/2⌉, the lower of the middle
two where n is even. (What follows holds for an order statistic of any rank m.)

**Local sensitivity at a distance** (Nissim, Raskhodnikova and Smith 2007). Let A_k be the most that one more replaced
row can move f after k rows were replaced. Then A_k = max of x_j − x_i over i ≤ m ≤ j with 0 < j − i ≤ k + 1.

*At least.* Send the rows with numbers strictly between i and j away, down to x_i or up to x_j, so many down that m rows
are at or below x_i, or m − 1; one of the two can be had. Then one more row moves f from x_i to x_j, or back.

*At most.* After k replacements f moves at most to the next order statistic on either side, so A_k is at most some gap
(a, b) between x'_m and x'_{m+1}, or x'_{m−1} and x'_m; let r be m or m − 1, the number of rows x' up to a. Of the old
rows let p be up to a and c strictly between a and b. The c must have been replaced, and |p − r| at least on the side
that had too many (p − r of those up to a; or r − p − c of those from b on). If p ≤ m ≤ p + c + 1, take i = p, j = p + c
+ 1, with c ≤ k. If p > m, take i = m and j = p + c + 1: j − i = c + 1 + p − m ≤ k + 1. If p + c + 1 < m, take i = p and
j = m: j − i = m − p ≤ k + 1, as k ≥ c + (r − p − c) ≥ m − 1 − p. In each case x_i ≤ a and x_j ≥ b.

So S = max over i ≤ m ≤ j, i < j, of (x_j − x_i)·e^(−β(j−i−1)) is the smooth sensitivity: S ≥ A_0, and as A_k(D) ≤
A_{k+1}(D'), S(D) ≤ e^β·S(D').

**How it is computed.** For i < i' and j < j': if j' is no worse than j for i, it is no worse for i', as
(x_j' w_j' − x_j w_j) ≥ x_i(w_j' − w_j) with w_j' ≤ w_j gets easier for a larger x_i. So the first best j never falls as
i grows: the best j of the middle i halves the search, O(n log n) in all, a level at a time. Pairs more than 750/β
apart have a weight that is zero in floats, and are left out.

**Distance to a larger sensitivity** (``OrderDistance``): how many rows must be replaced until one more can move f by
more than b: the least j − i − 1 over i ≤ m ≤ j with x_j − x_i > b. In floats x_j is compared with the float before x_i
+ b. That threshold never falls as x_i grows, and is never above x_i + b; so what is counted is at most the true
distance. It changes by at most 1 between neighbours: when a row goes up, x'_j ≥ x_j and x'_{i−1} ≤ x_i, so the pair (i
− 1, j) serves, or (i, j) itself where i = 0; when one goes down, (i, j + 1), or (i, j) where j = n + 1.

*The difference of two order statistics* is rounded: by at most 2⁻⁵³ of itself, which is at most W = high − low. Two
neighbours' differences can so be 2⁻⁵²·W farther apart than in exact arithmetic. Their distance is therefore computed
for b − 2⁻⁵¹·W, which for b ≤ W is below b − 2⁻⁵²·W in floats too: while one more row moves the exact difference by no
more than that, it moves the computed one by no more than b. (For b > W nothing moves by more than b.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import UNSHOWN, ArgumentError, as_numbers, integer, positive
from discreet.guarantees import Loss, Neighbors
from discreet.queries.bound import Setting
from discreet.queries.functions.smooth_noise import SmoothMechanism
from discreet.queries.functions.user_functions import Array, MechanismQuery, require_public_count
from discreet.queries.mechanism import Plan
from discreet.records import Block, Box

NEGLIGIBLE = 750.0  # e^-750 is zero in floats


def rank_of(quantile: float, n: int) -> int:
    """Return the rank ⌈q·n⌉ of an order statistic, from 1 to n."""
    return min(max(math.ceil(quantile * n), 1), n)


def smooth_sensitivity_of_median(values: ArrayLike, low: float, high: float, beta: float) -> float:
    """Return the β-smooth sensitivity of the lower median x_⌈n/2⌉ under replace-one.

    It is a private number, like the rows themselves.

    Parameters
    ----------
    values : array-like of shape (n,)
        n ≥ 1 of them; best sorted. Moved into the bounds.
    low, high : float
        The declared bounds.
    beta : float
        Above 0.

    Examples
    --------
    >>> smooth_sensitivity_of_median([0.0, 5.0, 6.0, 7.0, 10.0], 0.0, 10.0, beta=10.0)
    1.0
    """
    box = Box(low, high).for_columns(1)
    try:
        ordered = as_numbers(values)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("values", UNSHOWN, "numbers") from None
    if ordered.ndim != 1 or ordered.size == 0:
        raise ArgumentError("values", UNSHOWN, f"one dimension and at least one value, got shape {ordered.shape}")
    bounds = np.asarray(box.low)[0], np.asarray(box.high)[0]
    inside = np.sort(box.clip(ordered[:, None])[:, 0])
    return _smooth(inside, rank_of(0.5, ordered.size), bounds, positive("beta", beta))


def _smooth(ordered: Array, m: int, bounds: tuple[float, float], beta: float) -> float:
    """Return S for the order statistic of rank m; see the module."""
    x = np.concatenate([[bounds[0]], ordered, [bounds[1]]])
    reach = min(len(x), math.ceil(min(NEGLIGIBLE / beta, 2.0**60)) + 1)
    first, last = max(0, m - reach), min(len(x) - 1, m + reach)
    best = 0.0
    # Each search: the i from i0 to i1, whose best j lie from j0 to j1.
    i0, i1, j0, j1 = np.array([first]), np.array([m]), np.array([m]), np.array([last])
    while i0.size:
        i = (i0 + i1) // 2
        sizes = j1 - j0 + 1
        starts = np.cumsum(sizes) - sizes
        j = np.arange(int(sizes.sum())) + np.repeat(j0 - starts, sizes)
        of = np.repeat(i, sizes)
        with np.errstate(under="ignore", over="ignore"):
            result = (x[j] - x[of]) * np.exp(-beta * np.maximum(j - of - 1, 0))
        tops = np.maximum.reduceat(result, starts)
        best = max(best, float(tops.max()))
        hits = np.flatnonzero(result == np.repeat(tops, sizes))
        top = j[hits[np.searchsorted(hits, starts)]]
        left, right = i0 < i, i < i1
        i0, i1, j0, j1 = (
            np.concatenate([i0[left], i[right] + 1]),
            np.concatenate([i[left] - 1, i1[right]]),
            np.concatenate([j0[left], top[right]]),
            np.concatenate([top[left], j1[right]]),
        )
    return best


@dataclass(frozen=True)
class OrderDistance:
    """For ``propose_test_release``: how many rows must be replaced until a statistic can move by more than a proposal.

    ``distance(rows)`` is that number, or less; ``distance.statistic`` is the function that it speaks of. For the
    difference of two order statistics: a row that goes up moves neither down, so the difference moves by at most the
    larger of their moves, and the distance is at least the lesser one of theirs.

    Parameters
    ----------
    proposal : float
        b.
    low, high : float
        The declared bounds of the column; values are moved into them.
    quantiles : tuple of float
        One, or two of which the difference is taken.
    column : int
        Which column of the rows.
    """

    proposal: float
    low: float
    high: float
    quantiles: tuple[float, ...]
    column: int = 0

    neighbors = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        Box(self.low, self.high).for_columns(1)
        object.__setattr__(self, "low", float(np.ravel(self.low)[0]))
        object.__setattr__(self, "high", float(np.ravel(self.high)[0]))
        object.__setattr__(self, "proposal", positive("proposal", self.proposal))
        if not self._charged > 0.0:
            raise ArgumentError(
                "proposal",
                self.proposal,
                f"more than the roundings of a difference, about {2.0**-51 * (self.high - self.low):.1g} here",
                write="a larger one, or narrower bounds",
            )
        object.__setattr__(self, "column", integer("column", self.column, least=0))

    @property
    def _charged(self) -> float:
        """The proposal, less what the rounding of a difference takes."""
        if len(self.quantiles) == 1:
            return self.proposal
        return self.proposal - 2.0**-51 * (self.high - self.low)

    def _ordered(self, rows: Any) -> Array:
        return np.clip(np.sort(np.asarray(rows, dtype=np.float64)[:, self.column]), self.low, self.high)

    def statistic(self, rows: Array) -> float:
        """Return the order statistic, or the upper minus the lower one."""
        ordered = self._ordered(rows)
        result = [float(ordered[rank_of(q, ordered.size) - 1]) for q in self.quantiles]
        return result[0] if len(result) == 1 else result[1] - result[0]

    def __call__(self, rows: Array) -> float:
        """Return the distance; infinity where even the bounds are no farther apart than the proposal."""
        ordered = self._ordered(rows)
        x = np.concatenate([[self.low], ordered, [self.high]])
        return min(self._at(x, rank_of(q, ordered.size)) for q in self.quantiles)

    def _at(self, x: Array, m: int) -> float:
        i = np.arange(m + 1)
        passed = np.nextafter(x[i] + self._charged, -math.inf)
        j = np.maximum(np.searchsorted(x, passed, side="right"), np.maximum(m, i + 1))
        result = j < len(x)
        return float((j - i - 1)[result].min()) if result.any() else math.inf


def median_distance(proposal: float, low: float, high: float, column: int = 0) -> OrderDistance:
    """Return the distance of the lower median x_⌈n/2⌉ from where one row can move it by more than a proposal.

    >>> distance = median_distance(1.5, 0.0, 10.0)
    >>> distance([[0.0], [5.0], [6.0], [7.0], [10.0]]), distance.statistic([[0.0], [5.0], [6.0], [7.0], [10.0]])
    (1.0, 6.0)
    """
    return OrderDistance(proposal, low, high, (0.5,), column)


def iqr_distance(proposal: float, low: float, high: float, column: int = 0) -> OrderDistance:
    """Return the distance of the interquartile range x_⌈3n/4⌉ − x_⌈n/4⌉ from where one row can move it by more.

    >>> iqr_distance(1.5, 0.0, 10.0).statistic([[1.0], [2.0], [4.0], [9.0]])
    3.0
    """
    return OrderDistance(proposal, low, high, (0.25, 0.75), column)


class SmoothMedian(SmoothMechanism):
    """The lower median of one column with noise by its smooth sensitivity, under replace-one with n public.

    The module has the smooth sensitivity, ``smooth_noise`` has what a release with it keeps. Values are the column
    inside of its declared bounds.
    """

    name = "smooth median"

    def at(self, values: Array, beta: float) -> tuple[float, float]:
        """Return the median and its smooth sensitivity."""
        ordered = np.sort(values[:, 0])
        low, high = float(np.asarray(self.box.low)[0]), float(np.asarray(self.box.high)[0])
        bound = smooth_sensitivity_of_median(ordered, low, high, beta)
        return float(ordered[rank_of(0.5, ordered.size) - 1]), bound

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw; under replace-one only."""
        require_public_count(setting, self.name)
        return super().plan_rows(loss, setting)


@dataclass(frozen=True, eq=False)
class OneColumn(MechanismQuery):
    """One numeric column, inside of its bounds, for a median with noise by its smooth sensitivity."""

    place: int
    width = 1

    def take(self, block: Block) -> Any:
        """Return the column."""
        return block.x[:, self.place : self.place + 1]
