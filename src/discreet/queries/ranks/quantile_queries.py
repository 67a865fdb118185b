"""Medians and quantiles by the exponential mechanism, on a fine grid; the door draws them (``noise.draws``).

**Numbers become whole.** A column in [low, high] is cut into steps, 2⁴⁰ of them unless its values have steps of their
own (``step=1`` for ages). A row becomes the number of the nearest step, a function of its own bits alone, and
everything after that is integer arithmetic on int64: sorting, counting, ranks. Every step is a candidate. Rows may have
weights in [0, 1]; they are rounded to multiples of 2⁻²⁰ and are whole numbers as well.

**The score.** Let W be the weight of all rows, L(y) of those below y, U(y) of those at or below it. The q-quantile
is where q·W lies in [L(y), U(y)]; the distance d(y) = max(0, q·W − U(y), L(y) − q·W) says by how much y misses. A
candidate is drawn with probability ∝ e^(−η·d(y)). So a value that many rows share is a good candidate by itself, and
constant rows give that constant; no rows at all give a uniform draw.

*Spread.* For two neighbours let s be the range, over all y, of d(y) − d'(y). The log-ratio of the two distributions has
a range of at most η·s, so η = ε/s is bounded range ε (Dong, Durfee and Rogers 2020). With w ≤ 1 the weight of a row at
x:

- *A row comes (or goes).* q·W grows by qw. For y > x both L and U grow by w, so each of the two differences moves by
  (1 − q)w or its negative; for y < x by qw or its negative; at y = x the first falls by (1 − q)w, the second by qw. All
  moves of d lie in [−m, m] with m = max(q, 1 − q)w: s = 2·max(q, 1 − q), which is 1 for the median.
- *A row of weight w is replaced by one of weight w'*, so that W grows by w' − w. Above both rows L − q·W and U − q·W
  move by (1 − q)(w' − w), below both by −q(w' − w), and between them by −w − q(w' − w) = −(1 − q)w − q·w' or by
  w' − q(w' − w) = (1 − q)w' + q·w: by at most 1 each, so d moves within [−1, 1]: s = 2.
- Rows that may be dropped: replacing one by none is a row that goes, and 2·max(q, 1 − q) ≤ 2.
- *The ends*, without rows made up (see below). For q = 0 the distance is L(y), for q = 1 it is W − U(y). A row that
  comes moves all of them in one direction, by at most w. One that is replaced moves L by 0 below both rows, by w' − w
  above both, and by w' or −w between them: these three span max(w, w'). In all cases s = 1.

**Several at once.** The rows may be parted: by a public category, or into disjoint public intervals, each with a
quantile of its own, whose W, L and U count its rows alone. A row is in at most one part. When it comes or goes one
distribution changes. When it is replaced, either it stays in its part, as above, or it leaves one and enters another,
and what a row that goes and one that comes have as ranges adds up. A unit of m rows: m times all of this.

**Many quantiles** (``quantile_levels``): the middle one first, then the middle ones of the two halves, and so on
(Kaplan, Schnapp and Stemmer 2022): log₂ of their number levels, each of which is one such release. So that the halves
are halves where rows are tied, every row gets 20 random bits below its step. Given those bits the distribution is as
above. Over them it is a mixture, of which pure privacy remains: ε, as a ``PureLoss``, and the range does not.

**Intervals.** Put c made-up rows at the first candidate and draw as before (``RankTarget.below``): they are public and
do not move between neighbours; with them both sides of d are at work also for q = 0 and q = 1. What is drawn is then at
or below the true quantile but for a chance of K·e^(−η·c), K the number of candidates: the first candidate or one of the
values has d = 0, and every y above the quantile, for which at least q·W rows and all made-up ones lie below y, has d(y)
≥ c. So c = ln(K/α)/η gives a lower end that holds with probability 1 − α, whatever the rows are and however few. Rows
made up at the last candidate, and a target that counts them in, give an upper end (``RankTarget.above``).

**Few candidates** (``Quantiles.flips``). Where a column has few steps, permute-and-flip (McKenna and Sheldon 2020) is
never worse and up to twice as good: go through the candidates in a random order and take each with probability
e^(−η(d(y) − min d)); the first that is taken is it. It is ε-private at the same η = ε/s, as a ``PureLoss``: by their
theorem at ε/(2Δ) where every score moves by at most Δ, and s = 2Δ above but for the ends, which it does not serve.
Parts add up as above.

*Floats.* Only q·W, made-up rows added to it, its distance to ranks and η times that are rounded: by at most 4u·W in
each score, u = 2⁻⁵³, W with the made-up rows. Two neighbours' scores differ by 16u·W more in range, which ``eta`` adds
to s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.guarantees import BoundedRangeLoss, Guarantee, Loss, Neighbors, PureLoss
from discreet.noise.draws import ChooseInRuns, PermuteAndFlip, RandomBits, Runs
from discreet.queries.bound import Setting
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Part, Question, RowQuery
from discreet.queries.ranks.column_steps import GridSteps, Scale
from discreet.records import Ball, Block, Box, Records

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

WEIGHT_STEPS = 2**20
REACH = 100.0  # e^(−100) of 2⁶⁰ candidates is nothing, but is drawn when its turn comes


@dataclass(frozen=True)
class RankTarget:
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
        How many rows to make up at the first or at the last candidate, for a lower or an upper end of an interval.
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


class RankDistribution:
    """The distribution of one target, given its rows: by how much each candidate misses it.

    The module has the proof.

    Candidates come in runs of one score: between two values, and at a value. Those with e^(−REACH) of the best weight
    or less are thrown together, the low ones and the high ones, in bundles (``noise.draws.ChooseInRuns``). So the
    distribution is exact, and of ten million rows some thousand are looked at.

    Parameters
    ----------
    numbers : array of int
        The rows, sorted.
    weights : array of int or None
        In units of 2⁻²⁰; 1 each where there are none.
    target : RankTarget
    eta : float
    """

    def __init__(self, numbers: Whole, weights: Whole | None, target: RankTarget, eta: float) -> None:
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

        >>> runs = RankDistribution(np.array([3, 3, 8]), None, RankTarget(0.5, 0, 0, 9), 1.0).runs()
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


TIE_BITS = 20
MOST_FLIPS = 2**12  # candidates, for permute-and-flip


class QuantileMechanism(Mechanism):
    """A candidate for each target, by the exponential mechanism; see the module for the proof."""

    kind = "selection"

    def spread(self, query: Quantiles, setting: Setting) -> float:
        """Return s."""
        ones = sorted((target.one for target in query.targets), reverse=True)
        if setting.neighbors is Neighbors.ADD_REMOVE:
            return setting.max_rows * ones[0]
        stays = max(target.same for target in query.targets)
        return setting.max_rows * max(stays, sum(ones[:2]) if len(ones) > 1 else 0.0)

    def eta(self, query: Quantiles, loss: PureLoss | BoundedRangeLoss, setting: Setting) -> float:
        """Return η."""
        most = setting.rows + max(target.below + target.above for target in query.targets)
        return loss.epsilon / (self.spread(query, setting) + 16.0 * 2.0**-53 * most)

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``, or for a ``PureLoss`` where ties are broken."""
        if not isinstance(question, Quantiles):
            raise ArgumentError("query", question.name, "Quantiles")
        query = question
        if not isinstance(loss, PureLoss | BoundedRangeLoss) or isinstance(loss, PureLoss) is not query.pure:
            kind = "PureLoss" if query.pure else "BoundedRangeLoss"
            raise ArgumentError("loss", loss, f"a {kind}")
        eta = self.eta(query, loss, setting)
        if not 1e-100 < eta < 1e200:
            raise ArgumentError("loss", loss, "an ε from about 1e-100 to 1e200; at this one the scores overflow")

        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"numbers": Part((len(query.targets), 2))},
            draw=PermuteAndFlip() if query.flips else ChooseInRuns(),
            first=((RandomBits(TIE_BITS), len),) if query.break_ties else (),
            target=lambda rows, ties=None: query.runs(rows, eta, ties),
            finish=query.split,
        )


@dataclass(frozen=True)
class Quantiles(RowQuery):
    """Quantiles of one column, in parts of the rows that do not overlap.

    Parameters
    ----------
    space : Box or Ball
        The curator's.
    column : int
        Which of the numeric columns.
    scale : Scale or GridSteps
    targets : tuple of RankTarget
        One for each part; the parts must not overlap.
    by : tuple of (int, int)
        The columns of categories that define the groups, and how many categories each has. Groups are numbered like
        the digits of a number, the first column being the highest digit. A row of no declared category is in none.
    weights : (int, float) or None
        A numeric column of weights and the largest weight, which counts as 1; less than 0 counts as 0.
    break_ties : bool
        Whether rows get random bits below their step.
    flips : bool
        Whether to draw by permute-and-flip, for few candidates.

    The release has two numbers a target: the step, and the bits below it (0 where ties are not broken).
    """

    space: Box | Ball
    column: int
    scale: Scale | GridSteps
    targets: tuple[RankTarget, ...]
    by: tuple[tuple[int, int], ...] = ()
    weights: tuple[int, float] | None = None
    break_ties: bool = False
    flips: bool = False
    way: QuantileMechanism = field(default_factory=QuantileMechanism, repr=False)

    name = "quantiles"

    def __post_init__(self) -> None:
        groups: dict[int, list[RankTarget]] = {}
        for target in self.targets:
            groups.setdefault(target.group, []).append(target)
            if not (0.0 <= target.q <= 1.0 and 0 <= target.first <= target.last <= self.last):
                raise ArgumentError("targets", target, f"q in [0, 1] and candidates from 0 to {self.last}")
        for several in groups.values():
            several.sort(key=lambda target: target.first)
            if any(before.last >= after.first for before, after in pairwise(several)):
                raise ArgumentError("targets", several, "parts that do not overlap")
        if self.flips and (self.break_ties or self.scale.count >= MOST_FLIPS or any(one.end for one in self.targets)):
            raise ArgumentError("flips", True, f"fewer than {MOST_FLIPS} steps, unbroken ties, and 0 < q < 1")
        if not self.targets or (not self.by and groups.keys() != {0}):
            raise ArgumentError("targets", self.targets, "some, of group 0 where there are no groups")

    @property
    def last(self) -> int:
        """The largest candidate."""
        return self.scale.count if not self.break_ties else ((self.scale.count + 1) << TIE_BITS) - 1

    @property
    def pure(self) -> bool:
        """Whether pure privacy is all that is known of the draw."""
        return self.break_ties or self.flips

    @property
    def mechanism(self) -> QuantileMechanism:
        """The exponential mechanism."""
        return self.way

    @property
    def width(self) -> int:
        """The step, and where there are any the group and the weight."""
        return 1 + bool(self.by) + (self.weights is not None)

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the exponential mechanism's."""
        kind = PureLoss if self.pure else BoundedRangeLoss
        return kind(guarantee.epsilon, guarantee.neighbors)

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the groups are not there."""
        super().check(space, categories)
        known = {place: len(values) for place, values in enumerate(categories)}
        most = max(target.group for target in self.targets)
        if any(known.get(place) != size for place, size in self.by) or most >= math.prod(size for _, size in self.by):
            raise ArgumentError("by", self.by, "columns of categories that have these groups")

    def take(self, block: Block) -> Any:
        """Return the step of each row, its group and its weight, as whole numbers."""
        xp = array_namespace(block.x)
        columns = [self.scale.number(block.x[:, self.column])]
        if self.by:
            columns.append(self._groups(block.codes))
        if self.weights is not None:
            place, most = self.weights
            columns.append(xp.round(xp.clip(block.x[:, place] / most, 0.0, 1.0) * float(WEIGHT_STEPS)))
        return xp.stack(columns, axis=1)

    def _groups(self, codes: Any) -> Any:
        """Return the number of each row's group; −1 for a row that is in none."""
        xp = array_namespace(codes)
        group = xp.zeros_like(codes[:, 0])
        for place, size in self.by:
            code = codes[:, place]
            outside = (group < 0) | (code < 0) | (code >= size)
            group = xp.where(outside, xp.full_like(group, -1), group * size + code)
        return xp.astype(group, xp.float64)

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return what is taken of each row; ``runs`` sorts it, and random bits are drawn for each row by itself."""
        return records.gather(self.take, self.width, sort=False)

    def runs(self, values: Array, eta: float, ties: Any = None) -> list[Runs]:
        """Return the candidates of each target and their weights, given random bits for each row where ties break."""
        numbers = values[:, 0].astype(np.int64)
        if ties is not None:
            numbers = (numbers << TIE_BITS) | ties
        if self.width == 1:
            numbers.sort()
        else:
            order = np.argsort(numbers)
            numbers, values = numbers[order], values[order]
        result = []
        for target in self.targets:
            low, high = np.searchsorted(numbers, [target.first, target.last + 1])
            here = slice(low, high) if not self.by else low + np.flatnonzero(values[low:high, 1] == target.group)
            weights = None if self.weights is None else values[here, -1].astype(np.int64)
            ranks = RankDistribution(numbers[here], weights, target, eta)
            result.append(ranks.runs() if self.flips else ranks.near())
        return result

    def split(self, numbers: Any) -> Array:
        """Return the step and the bits below it of each candidate."""
        step, below = np.divmod(numbers, 1 << TIE_BITS) if self.break_ties else (numbers, np.zeros_like(numbers))
        return np.stack([step, below], axis=1).astype(np.float64).ravel()


def quantile_levels(number: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield level by level which of so many quantiles to draw, with their neighbours among those drawn before.

    Yields
    ------
    list of (place, left, right)
        ``left`` and ``right`` are −1 and ``number`` for the ends.

    Examples
    --------
    >>> list(quantile_levels(3))
    [[(1, -1, 3)], [(0, -1, 1), (2, 1, 3)]]
    """
    parts = [(-1, number)]
    while parts:
        now = [((left + right) // 2, left, right) for left, right in parts]
        yield now
        halves = [half for place, left, right in now for half in ((left, place), (place, right))]
        parts = [(left, right) for left, right in halves if right - left > 1]
