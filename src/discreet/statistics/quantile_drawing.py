"""How quantiles and their limits are drawn, level by level and group by group; see ``quantiles``.

**Limits.** Once a value v is drawn, a limit is looked for at v less (or more) a distance that shrinks by a factor from
step to step: some sixty candidates, however wide the bounds are. Rows go to the step below them for a lower limit and
to the one above for an upper one, so that a limit for them is one for the rows themselves; and rows are made up at the
far end, as many as the level asks for (``mechanisms.order``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.guarantees import BoundedRangeLoss, Loss, PureLoss
from discreet.mechanisms.order import MOST_FLIPS, TIE_BITS, Quantiles, quantile_levels
from discreet.mechanisms.ranks import Target
from discreet.mechanisms.scales import Scale, Steps
from discreet.statistics.asking import Asking
from discreet.statistics.columns import limits_of

__all__ = ["LIMITS", "Drawing", "Limits"]

Array = NDArray[np.float64]

LIMITS = 0.4  # of ε, for the limits
RATIO, STEPS = 1.5, 55  # of the distances of a limit's candidates from the value: down to 2⁻³¹ of the bounds


@dataclass(frozen=True)
class Drawing:
    """Quantiles of a column, in every group."""

    asking: Asking
    step: float | None
    wanted: list[float]

    @property
    def scale(self) -> Scale:
        """The candidates for values."""
        return Scale(*limits_of(self.asking.curator.space, self.asking.places[0]), self.step)

    @property
    def _groups(self) -> int:
        return 1 if self.asking.groups is None else len(self.asking.groups)

    @property
    def _flips(self) -> bool:
        """Whether one quantile is drawn from few candidates."""
        return len(self.wanted) == 1 and self.scale.count < MOST_FLIPS and 0.0 < self.wanted[0] < 1.0

    def _question(self, scale: Scale | Steps, targets: Sequence[Target], *, break_ties: bool = False) -> Quantiles:
        asking = self.asking
        flips = isinstance(scale, Scale) and self._flips
        return Quantiles(
            asking.curator.space, asking.places[0], scale, tuple(targets), asking.by, asking.weights, break_ties, flips
        )

    def levels(self, share: float) -> tuple[Loss, ...]:
        """Return a loss for each level of the tree: together a share of ε."""
        number = len(list(quantile_levels(len(self.wanted))))
        epsilon = share * self.asking.promise.epsilon / number
        kind = PureLoss if number > 1 or self._flips else BoundedRangeLoss
        return (kind(epsilon, self.asking.promise.neighbors),) * number

    def rehearsed(self, losses: Sequence[Loss]) -> list[tuple[Quantiles, Loss]]:
        """Return questions like those to come, so that what would be refused is refused before anything is spent."""
        scale, several = self.scale, len(losses) > 1
        last = self._last(scale, several)
        targets = [Target(0.5, group, 0, last) for group in range(self._groups)]
        return [(self._question(scale, targets, break_ties=several), loss) for loss in losses]

    @staticmethod
    def _last(scale: Scale, several: bool) -> int:
        return ((scale.count + 1) << TIE_BITS) - 1 if several else scale.count

    def drawn(self, measure: Any) -> tuple[Array, list[Release]]:
        """Return the quantiles, groups by levels, and the releases."""
        scale, number = self.scale, len(self.wanted)
        tree = list(quantile_levels(number))
        several = len(tree) > 1
        last = self._last(scale, several)
        # With the ends of the scale at both sides; in units of the candidates.
        places = np.full((self._groups, number + 2), -1, dtype=np.int64)
        places[:, -1] = last
        levels = [0.0, *self.wanted, 1.0]
        releases = []
        for nodes in tree:
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
            releases.append(measure(self._question(scale, targets or self._nothing(last), break_ties=several)))
            for (group, place), (whole, below) in zip(asked, releases[-1]["numbers"], strict=False):
                places[group, place + 1] = (int(whole) << TIE_BITS) + int(below) if several else int(whole)
        steps = places[:, 1:-1] >> (TIE_BITS if several else 0)
        return np.vectorize(scale.value, otypes=[np.float64])(steps), releases

    def _nothing(self, last: int) -> list[Target]:
        """Return a target for a level that has none left: it was paid for, and the schedule asks for something."""
        return [Target(0.5, 0, last, last)]

    def limit(self, q: float, steps: Steps, rows: float) -> Quantiles:
        """Return the question for a limit of a quantile in every group, with so many rows made up."""
        made_up = {"above" if steps.up else "below": rows}
        return self._question(steps, [Target(q, group, 0, steps.count, **made_up) for group in range(self._groups)])

    def steps(self, values: Array, *, up: bool) -> Steps:
        """Return steps away from the values that were drawn for the groups, each half as far again as the one before.

        A limit is found to within that factor of its distance, whatever the bounds are.
        """
        low, high = limits_of(self.asking.curator.space, self.asking.places[0])
        away = (high - low) * RATIO ** -np.arange(float(STEPS))
        spread = np.concatenate([values, *(values + (away[:, None] if up else -away[:, None]))])
        if self.step is not None:
            spread = low + self.step * (np.ceil if up else np.floor)((spread - low) / self.step - 1e-9)
        found = np.unique(np.clip(spread, low, high))
        if len(found) == 1:  # at an end of the bounds already: the other end makes it two
            found = np.array([low, high])
        return Steps(tuple(found.tolist()), up)

    def limits(self, level: float) -> Limits:
        """Return how to draw limits; what cannot be drawn is refused here."""
        losses = self.asking.drawn(LIMITS, 2 * len(self.wanted))
        most = self._groups * (STEPS + 1)
        eta = {}
        for q in self.wanted:
            for up in (False, True):
                steps = Steps(tuple(np.arange(float(max(most, 2)))), up)
                one, setting = self.limit(q, steps, 1.0), self.asking.curator.setting
                eta[q, up] = one.way.eta(one, losses[0], setting)
                rows = math.log(2.0 * most / (1.0 - level)) / eta[q, up]
                if one.way.eta(self.limit(q, steps, rows), losses[0], setting) < eta[q, up] * (1.0 - 1e-6):
                    spent = self.asking.promise.epsilon
                    raise ValueError(f"epsilon={spent!r}: expected a larger one for limits, or interval=None")
        plan = [(self.limit(q, Steps((0.0, 1.0), up), 1.0), losses[0]) for q, up in eta]
        return Limits(self, {key: math.log(2.0 * most / (1.0 - level)) / one for key, one in eta.items()}, plan)


@dataclass(frozen=True)
class Limits:
    """How limits are drawn: rows to make up for each of them, and questions like those to come."""

    drawing: Drawing
    rows: dict[tuple[float, bool], float]
    plan: list[tuple[Quantiles, BoundedRangeLoss]]

    def drawn(self, measure: Any, found: Array) -> tuple[Array, Array, list[Release]]:
        """Return the limits, groups by levels, with the values between them, and the releases."""
        ends, releases = {False: found.copy(), True: found.copy()}, []
        for (q, up), rows in self.rows.items():
            place = self.drawing.wanted.index(q)
            steps = self.drawing.steps(found[:, place], up=up)
            releases.append(measure(self.drawing.limit(q, steps, rows)))
            values = np.array([steps.value(float(number)) for number in releases[-1]["numbers"][:, 0]])
            ends[up][:, place] = np.maximum(values, found[:, place]) if up else np.minimum(values, found[:, place])
        return ends[False], ends[True], releases
