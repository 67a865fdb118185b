"""The law of one quantile, given its rows: by how much a candidate misses it (``quantiles`` has the proof)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.draws import Runs

__all__ = ["WEIGHT_STEPS", "Ranks", "Target"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

WEIGHT_STEPS = 2**20
REACH = 100.0  # e^(−100) of 2⁶⁰ candidates is nothing, but is drawn when its turn comes


@dataclass(frozen=True)
class Target:
    """A quantile of some of the rows: of a group, and between two candidates, both included.

    Parameters
    ----------
    q : float
        From 0 to 1, of these rows.
    group : int
        The category that they have; 0 where there are no groups.
    first, last : int
        The candidates, and the rows that count: numbers of steps, or where ties are broken of their 2²⁰th parts.
    below, above : float
        How many rows to make up at the first or at the last candidate, for a lower or an upper limit.
    """

    q: float
    group: int
    first: int
    last: int
    below: float = 0.0
    above: float = 0.0

    @property
    def one(self) -> float:
        """The spread of a row that comes or goes."""
        return 1.0 if self.end else 2.0 * max(self.q, 1.0 - self.q)

    @property
    def same(self) -> float:
        """The spread of a row that is replaced."""
        return 1.0 if self.end else 2.0

    @property
    def end(self) -> bool:
        """Whether it is an end of the rows, without any made up."""
        return self.q in (0.0, 1.0) and not self.below and not self.above


class Ranks:
    """The law of one target, given its rows.

    Candidates come in runs of one score: between two values, and at a value. Those with e^(−REACH) of the best weight
    or less are thrown together, the low ones and the high ones, in bundles (``noise.draws.ChooseInRuns``). So the law
    is exact, and of ten million rows some thousand are looked at.

    Parameters
    ----------
    numbers : array of int
        The rows, sorted.
    weights : array of int or None
        In units of 2⁻²⁰; 1 each where there are none.
    target : Target
    eta : float
    """

    def __init__(self, numbers: Whole, weights: Whole | None, target: Target, eta: float) -> None:
        self._numbers, self._target, self._eta = numbers, target, eta
        self._sums = None if weights is None else np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(weights)])
        self._aim = target.q * float(self._rank(len(numbers))) + target.above

    def _rank(self, place: Any) -> Any:
        """Return the weight of so many of the first rows."""
        return place if self._sums is None else self._sums[place] / float(WEIGHT_STEPS)

    def _window(self, reach: float) -> tuple[int, int]:
        """Return which rows to look at one by one: those within reach of the aim, with all that are tied to them."""
        numbers, count = self._numbers, len(self._numbers)
        ends = np.array([self._aim - reach, self._aim + reach]) - self._target.below
        if self._sums is None:
            low, high = (int(end) for end in np.clip([np.floor(ends[0]), np.ceil(ends[1])], 0, count))
        else:
            low, high = np.searchsorted(self._sums / float(WEIGHT_STEPS), ends)
        low, high = min(low, count), min(high, count)
        if low >= high:
            return 0, count
        return int(np.searchsorted(numbers, numbers[low])), int(np.searchsorted(numbers, numbers[high - 1], "right"))

    def near(self) -> Runs:
        """Return the runs within reach of the aim, and what lies beyond them in two bundles."""
        return self.runs(REACH / self._eta + 2.0)

    def runs(self, reach: float = math.inf) -> Runs:
        """Return the runs, with bundles of what lies farther from the aim than some reach.

        >>> runs = Ranks(np.array([3, 3, 8]), None, Target(0.5, 0, 0, 9), 1.0).runs()
        >>> runs.starts.tolist(), runs.counts.tolist(), runs.weights.tolist()
        ([0, 3, 4, 8, 9], [3, 1, 4, 1, 1], [-1.5, -0.0, -0.5, -0.5, -1.5])
        """
        target, count = self._target, len(self._numbers)
        low, high = (0, count) if math.isinf(reach) else self._window(reach)
        numbers = self._numbers[low:high]
        there = np.flatnonzero(np.diff(numbers, prepend=-1))  # where a new value begins; all are ≥ 0
        values = numbers[there]
        ranks = self._rank(np.append(there, len(numbers)) + low).astype(np.float64) + target.below
        if target.below and low == 0:
            if not len(values) or values[0] != target.first:
                values, ranks = np.insert(values, 0, target.first), np.insert(ranks, 0, 0.0)
            ranks[0] = 0.0  # none is below the first candidate
        if target.above and high == count:
            if not len(values) or values[-1] != target.last:
                values, ranks = np.append(values, target.last), np.append(ranks, ranks[-1])
            ranks[-1] += target.above
        # Runs come in turns: the gap before a value, the value, …, the gap after the last one.
        starts = np.empty(2 * len(values) + 1, dtype=np.int64)
        starts[0], starts[1::2], starts[2::2] = target.first, values, values + 1
        counts = np.diff(starts, append=target.last + 1)
        twice = np.repeat(ranks, 2)
        lower, upper = twice[: len(starts)], twice[1:]  # a gap and the value after it share L, a value and its gap U
        distance = np.maximum(np.maximum(self._aim - upper, lower - self._aim), 0.0)
        bundles = np.zeros(len(starts), dtype=np.bool_)
        bundles[0], bundles[-1] = low > 0, high < count
        kept = counts > 0
        return Runs(starts[kept], counts[kept], -self._eta * distance[kept], bundles[kept].tolist(), self._score)

    def _score(self, number: int) -> float:
        """Return the score of any candidate but the first and the last."""
        below = self._rank(np.searchsorted(self._numbers, number)) + self._target.below
        upto = self._rank(np.searchsorted(self._numbers, number, "right")) + self._target.below
        return -self._eta * max(self._aim - float(upto), float(below) - self._aim, 0.0)
