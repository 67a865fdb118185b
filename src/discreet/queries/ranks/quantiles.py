"""Quantiles by the exponential mechanism: exact, on a grid so fine that nobody sees it.

**Numbers become whole.** A column in [low, high] is cut into steps, 2⁴⁰ of them unless its values have steps of their
own (``step=1`` for ages). A row becomes the number of the nearest step, a function of its own bits alone, and
everything after that is integer arithmetic on int64: sorting, counting, ranks. Every step is a candidate. Rows may have
weights in [0, 1]; they are rounded to multiples of 2⁻²⁰ and are whole numbers as well.

**The score.** Let W be the weight of all rows, L(y) of those below y, U(y) of those at or below it. The q-quantile
is where q·W lies in [L(y), U(y)]; the distance d(y) = max(0, q·W − U(y), L(y) − q·W) says by how much y misses. A
candidate is drawn with probability ∝ e^(−η·d(y)). So a value that many rows share is a good candidate by itself, and
constant rows give that constant; no rows at all give a uniform draw.

*Spread.* For two neighbours let s be the range, over all y, of d(y) − d'(y). The log-ratio of the two laws has a range
of at most η·s, so η = ε/s is bounded range ε (Dong, Durfee and Rogers 2020). With w ≤ 1 the weight of a row at x:

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
quantile of its own, whose W, L and U count its rows alone. A row is in at most one part. When it comes or goes one law
changes. When it is replaced, either it stays in its part, as above, or it leaves one and enters another, and what a
row that goes and one that comes have as ranges adds up. A unit of m rows: m times all of this.

**Many quantiles** (``quantile_levels``): the middle one first, then the middle ones of the two halves, and so on
(Kaplan, Schnapp and Stemmer 2022): log₂ of their number levels, each of which is one such release. So that the halves
are halves where rows are tied, every row gets 20 random bits below its step. Given those bits the law is as above.
Over them it is a mixture, of which pure privacy remains: ε, as a ``PureLoss``, and the range does not.

**Limits.** Put c made-up rows at the first candidate and draw as before (``Target.below``): they are public and do not
move between neighbours; with them both sides of d are at work also for q = 0 and q = 1. What is drawn is then at or
below the true quantile but for a chance of K·e^(−η·c), K the number of candidates: the first candidate or one of the
values has d = 0, and every y above the quantile, for which at least q·W rows and all made-up ones lie below y, has
d(y) ≥ c. So c = ln(K/α)/η gives a lower limit that holds with probability 1 − α, whatever the rows are and however few.
Rows made up at the last candidate, and a target that counts them in, give an upper limit (``Target.above``).

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
from discreet.queries.ranks.ranks import WEIGHT_STEPS, Ranks, Target
from discreet.queries.ranks.scales import Scale, Steps
from discreet.records import Ball, Block, Box, Records

__all__ = ["MOST_FLIPS", "TIE_BITS", "DrawnQuantiles", "Quantiles", "quantile_levels"]

Array = NDArray[np.float64]

TIE_BITS = 20
MOST_FLIPS = 2**12  # candidates, for permute-and-flip


class DrawnQuantiles(Mechanism):
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
    scale : Scale or Steps
    targets : tuple of Target
        One for each part; the parts must not overlap.
    by : int or None
        The column of categories that groups are of.
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
    scale: Scale | Steps
    targets: tuple[Target, ...]
    by: int | None = None
    weights: tuple[int, float] | None = None
    break_ties: bool = False
    flips: bool = False
    way: DrawnQuantiles = field(default_factory=DrawnQuantiles, repr=False)

    name = "quantiles"

    def __post_init__(self) -> None:
        groups: dict[int, list[Target]] = {}
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
        if not self.targets or (self.by is None and groups.keys() != {0}):
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
    def mechanism(self) -> DrawnQuantiles:
        """The exponential mechanism."""
        return self.way

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def width(self) -> int:
        """The step, and where there are any the group and the weight."""
        return 1 + (self.by is not None) + (self.weights is not None)

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the exponential mechanism's."""
        kind = PureLoss if self.pure else BoundedRangeLoss
        return kind(guarantee.epsilon, guarantee.neighbors)

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the groups are not there."""
        super().check(space, categories)
        if self.by is not None:
            most = max(target.group for target in self.targets)
            if self.by >= len(categories) or most >= len(categories[self.by]):
                raise ArgumentError("by", self.by, "a column of categories that has these groups")

    def taken(self, block: Block) -> Any:
        """Return the step of each row, its group and its weight, as whole numbers."""
        xp = array_namespace(block.x)
        columns = [self.scale.number(block.x[:, self.column])]
        if self.by is not None:
            columns.append(xp.astype(block.codes[:, self.by], xp.float64))
        if self.weights is not None:
            place, most = self.weights
            columns.append(xp.round(xp.clip(block.x[:, place] / most, 0.0, 1.0) * float(WEIGHT_STEPS)))
        return xp.stack(columns, axis=1)

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return what is taken of each row; ``runs`` sorts it, and random bits are drawn for each row by itself."""
        return records.gather(self.taken, self.width, sort=False)

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
        found = []
        for target in self.targets:
            low, high = np.searchsorted(numbers, [target.first, target.last + 1])
            here = slice(low, high) if self.by is None else low + np.flatnonzero(values[low:high, 1] == target.group)
            weights = None if self.weights is None else values[here, -1].astype(np.int64)
            ranks = Ranks(numbers[here], weights, target, eta)
            found.append(ranks.runs() if self.flips else ranks.near())
        return found

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
