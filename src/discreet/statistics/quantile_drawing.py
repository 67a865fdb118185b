"""How quantiles and their limits are drawn, level by level and group by group; see ``quantiles``.

**Limits.** Once a value v is drawn, a limit is looked for at v less (or more) a distance that shrinks by a factor from
step to step: some sixty candidates, however wide the bounds are. Rows go to the step below them for a lower limit and
to the one above for an upper one, so that a limit for them is one for the rows themselves; and rows are made up at the
far end, as many as the level asks for (``mechanisms.order``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, probability
from discreet.door import Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import BoundedRangeLoss, Loss, PureLoss
from discreet.queries.ranks.quantiles import MOST_FLIPS, TIE_BITS, Quantiles, quantile_levels
from discreet.queries.ranks.ranks import Target
from discreet.queries.ranks.scales import Scale, Steps
from discreet.statistics.request import ColumnRequest

__all__ = ["AboutQuantiles"]

Array = NDArray[np.float64]
Result = TypeVar("Result", covariant=True)

LIMITS = 0.4  # of ε, for the limits
RATIO, STEPS = 1.5, 55  # of the distances of a limit's candidates from the value: down to 2⁻³¹ of the bounds


@dataclass(frozen=True, kw_only=True)
class AboutQuantiles(ColumnRequest[Result]):
    """A request for quantiles of a column in every group, or for what follows from them.

    Attributes
    ----------
    levels : tuple of float
        Which, as they were asked for.
    step : float or None
    interval : float or None
    """

    levels: tuple[float, ...]
    step: float | None
    interval: float | None

    argument: ClassVar[str] = "column"
    one: ClassVar[bool] = True
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        (scale,) = self.scales
        if scale.kind == "log" and self.step is not None:
            raise ArgumentError(
                "step",
                self.step,
                f"None for {scale.name!r}, which is on a log scale; round the answer, or declare the column without "
                "log=True",
            )
        if scale.kind == "date" and self.step is None:
            object.__setattr__(self, "step", 1.0)
        if self.interval is not None and probability("interval", self.interval) == 0.0:
            raise ArgumentError("interval", self.interval, "a level in (0, 1), or None for no limits")

    @property
    def each(self) -> float | None:
        """The level of the limits of each quantile."""
        return self.interval

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Of each level of the tree, and of two limits for each quantile."""
        number, epsilon = len(self._tree), self.guarantee.epsilon * (1.0 if self.interval is None else 1.0 - LIMITS)
        kind = PureLoss if number > 1 or self._flips else BoundedRangeLoss
        drawn = (kind(epsilon / number, self.guarantee.neighbors),) * number
        return drawn if self.interval is None else (*drawn, *self.drawn(LIMITS, 2 * len(self.levels)))

    def plan(self) -> Inquiry[Result]:
        """Return questions that are like those to come."""
        several, scale = len(self._tree) > 1, self._scale
        targets = [Target(0.5, group, 0, self._last) for group in range(self._groups)]
        questions = [self._question(scale, targets, break_ties=several)] * len(self._tree)
        rows = {} if self.each is None else self._made_up(self.each)

        def answer(measure: Measure) -> Result:
            found, releases = self._draw(measure)
            if not rows:
                return self.answer(found, None, releases)
            lower, upper, outer = self._draw_limits(measure, found, rows)
            return self.answer(found, (lower, upper), [*outer, *releases])  # the value is read from the last one

        questions += [self._limit(q, Steps((0.0, 1.0), up), 1.0) for q, up in rows]
        return self.asks(questions, answer, "quantiles")

    @abstractmethod
    def answer(self, found: Array, limits: tuple[Array, Array] | None, releases: list[Release]) -> Result:
        """Return the answer, from arrays with an axis of groups and one of levels, in order."""

    def shown(self, values: Array) -> Any:
        """Return values that have an axis of groups, without it where there are none."""
        kept = values if self.groups is not None else values[0]
        return kept if np.ndim(kept) else float(kept)

    @property
    def facts(self) -> dict[str, Any]:
        """What every answer says."""
        return {"groups": self.groups, "single": True, "levels": self.levels, "level": self.interval}

    @cached_property
    def wanted(self) -> list[float]:
        """The levels in order."""
        return sorted(self.levels)

    @cached_property
    def _tree(self) -> list[list[tuple[int, int, int]]]:
        return list(quantile_levels(len(self.levels)))

    @property
    def _scale(self) -> Scale:
        """The candidates for values."""
        return Scale(*self.limits[0], self.step)

    @property
    def _last(self) -> int:
        """The last of them, in units of the candidates, or of what breaks their ties."""
        return ((self._scale.count + 1) << TIE_BITS) - 1 if len(self._tree) > 1 else self._scale.count

    @property
    def _groups(self) -> int:
        return 1 if self.groups is None else len(self.groups)

    @property
    def _flips(self) -> bool:
        """Whether one quantile is drawn from few candidates."""
        return len(self.levels) == 1 and self._scale.count < MOST_FLIPS and 0.0 < self.levels[0] < 1.0

    def _question(self, scale: Scale | Steps, targets: Sequence[Target], *, break_ties: bool = False) -> Quantiles:
        flips, (place,) = isinstance(scale, Scale) and self._flips, self.places
        return Quantiles(self.curator.space, place, scale, tuple(targets), self.by, self.weights, break_ties, flips)

    def _draw(self, measure: Measure) -> tuple[Array, list[Release]]:
        """Return the quantiles, groups by levels, and the releases."""
        scale, last, several = self._scale, self._last, len(self._tree) > 1
        # With the ends of the scale at both sides; in units of the candidates.
        places = np.full((self._groups, len(self.levels) + 2), -1, dtype=np.int64)
        places[:, -1] = last
        levels = [0.0, *self.wanted, 1.0]
        releases = []
        for nodes in self._tree:
            asked, targets = [], []
            for group in range(self._groups):
                for place, left, right in nodes:
                    first, final = int(places[group, left + 1]) + 1, int(places[group, right + 1])
                    if first > final:  # nothing is between its neighbours
                        places[group, place + 1] = final
                        continue
                    span = levels[right + 1] - levels[left + 1]
                    q = (levels[place + 1] - levels[left + 1]) / span if span > 0.0 else 0.5
                    asked.append((group, place))
                    targets.append(Target(q, group, first, final))
            # A level that has none left was paid for, and the schedule asks for something.
            targets = targets or [Target(0.5, 0, last, last)]
            releases.append(measure(self._question(scale, targets, break_ties=several)))
            for (group, place), (whole, below) in zip(asked, releases[-1]["numbers"], strict=False):
                places[group, place + 1] = (int(whole) << TIE_BITS) + int(below) if several else int(whole)
        steps = places[:, 1:-1] >> (TIE_BITS if several else 0)
        return np.vectorize(scale.value, otypes=[np.float64])(steps), releases

    def _limit(self, q: float, steps: Steps, rows: float) -> Quantiles:
        """Return the question for a limit of a quantile in every group, with so many rows made up."""
        made_up = {"above" if steps.up else "below": rows}
        return self._question(steps, [Target(q, group, 0, steps.count, **made_up) for group in range(self._groups)])

    def _steps(self, values: Array, *, up: bool) -> Steps:
        """Return steps away from the values that were drawn for the groups, each half as far again as the one before.

        A limit is found to within that factor of its distance, whatever the bounds are.
        """
        ((low, high),) = self.limits
        away = (high - low) * RATIO ** -np.arange(float(STEPS))
        spread = np.concatenate([values, *(values + (away[:, None] if up else -away[:, None]))])
        if self.step is not None:
            spread = low + self.step * (np.ceil if up else np.floor)((spread - low) / self.step - 1e-9)
        found = np.unique(np.clip(spread, low, high))
        if len(found) == 1:  # at an end of the bounds already: the other end makes it two
            found = np.array([low, high])
        return Steps(tuple(found.tolist()), up)

    def _made_up(self, level: float) -> dict[tuple[float, bool], float]:
        """Return how many rows to make up for each limit; what cannot be drawn is refused here."""
        loss, setting = self.drawn(LIMITS, 2 * len(self.levels))[0], self.curator.setting
        most = self._groups * (STEPS + 1)
        found = {}
        for q in self.wanted:
            for up in (False, True):
                steps = Steps(tuple(np.arange(float(max(most, 2)))), up)
                one = self._limit(q, steps, 1.0)
                eta = one.way.eta(one, loss, setting)
                found[q, up] = math.log(2.0 * most / (1.0 - level)) / eta
                if one.way.eta(self._limit(q, steps, found[q, up]), loss, setting) < eta * (1.0 - 1e-6):
                    spent = self.guarantee.epsilon
                    raise ArgumentError("epsilon", spent, "a larger one for limits, or interval=None")
        return found

    def _draw_limits(
        self, measure: Measure, found: Array, rows: Mapping[tuple[float, bool], float]
    ) -> tuple[Array, Array, list[Release]]:
        """Return the limits, groups by levels, with the values between them, and the releases."""
        ends, releases = {False: found.copy(), True: found.copy()}, []
        for (q, up), made_up in rows.items():
            place = self.wanted.index(q)
            steps = self._steps(found[:, place], up=up)
            releases.append(measure(self._limit(q, steps, made_up)))
            values = np.array([steps.value(float(number)) for number in releases[-1]["numbers"][:, 0]])
            ends[up][:, place] = np.maximum(values, found[:, place]) if up else np.minimum(values, found[:, place])
        return ends[False], ends[True], releases
