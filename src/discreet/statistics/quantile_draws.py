"""Draws of several quantiles of a column by the exponential mechanism (proofs: ``queries.ranks``).

They are drawn level by level of a binary tree, the middle ones first, in all groups at once. Each is drawn between
those neighbours that are known, so that k quantiles take about log₂ k draws from the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.door.inquiry import Measure
from discreet.guarantees import BoundedRangeLoss, Loss, PureLoss
from discreet.queries.bound import Setting
from discreet.queries.ranks.column_steps import GridSteps, Scale
from discreet.queries.ranks.quantile_queries import MOST_FLIPS, TIE_BITS, Quantiles, RankTarget, quantile_levels
from discreet.records import Ball, Box
from discreet.statistics.groups import Groups

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QuantileDraws:
    """The draws of quantiles of a column, in every group.

    Attributes
    ----------
    space : Box or Ball
    place : int
        The index of the column.
    scale : Scale
        The grid of candidate values.
    levels : tuple of float
        Those of the quantiles, in ascending order.
    groups : Groups or None
    weights : (int, float) or None
        The index of the column of weights, and the largest weight.
    """

    space: Box | Ball
    place: int
    scale: Scale
    levels: tuple[float, ...]
    groups: Groups | None
    weights: tuple[int, float] | None

    @cached_property
    def tree(self) -> list[list[tuple[int, int, int]]]:
        """The quantiles of each level of the tree, each with its neighbours."""
        return list(quantile_levels(len(self.levels)))

    @property
    def several(self) -> bool:
        """Whether there are levels of the tree; then ties are broken by ``TIE_BITS`` random bits."""
        return len(self.tree) > 1

    @property
    def last(self) -> int:
        """The index of the last candidate; where ties are broken, with the random bits below it."""
        return ((self.scale.count + 1) << TIE_BITS) - 1 if self.several else self.scale.count

    @property
    def number(self) -> int:
        """The number of groups."""
        return 1 if self.groups is None else len(self.groups)

    @property
    def flips(self) -> bool:
        """Whether permute-and-flip is used: for a single quantile from few candidates."""
        return len(self.levels) == 1 and self.scale.count < MOST_FLIPS and 0.0 < self.levels[0] < 1.0

    @property
    def form(self) -> Quantiles:
        """A question of the same form as those of each level of the tree, which depend on earlier releases."""
        return self.question([RankTarget(0.5, group, 0, self.last) for group in range(self.number)])

    def question(self, targets: Sequence[RankTarget]) -> Quantiles:
        """Return the question for some quantiles."""
        return self._ask(self.scale, targets, break_ties=self.several, flips=self.flips)

    def end(self, q: float, steps: Scale | GridSteps, up: bool, rows: float) -> Quantiles:
        """Return the question for an end of a quantile's interval in every group, with this many artificial rows."""
        made_up = {"above" if up else "below": rows}
        return self._ask(steps, [RankTarget(q, group, 0, steps.count, **made_up) for group in range(self.number)])

    def _ask(
        self,
        steps: Scale | GridSteps,
        targets: Sequence[RankTarget],
        *,
        break_ties: bool = False,
        flips: bool = False,
    ) -> Quantiles:
        by = () if self.groups is None else self.groups.sizes
        return Quantiles(self.space, self.place, steps, tuple(targets), by, self.weights, break_ties, flips)

    def draw(
        self, measure: Measure, losses: Sequence[Loss], setting: Setting
    ) -> tuple[Array, list[list[tuple[float, ...]]], list[Release]]:
        """Draw the quantiles, of shape (groups, levels), and return them with their errors and the releases.

        The error of a rank is a sum of independent Laplace variables, of which the scales are returned: its own, and
        those of the values between which it was drawn, by its place between them.

        Parameters
        ----------
        measure : callable
        losses : sequence of Loss
            That of each level of the tree.
        setting : Setting
        """
        scale, last, several = self.scale, self.last, self.several
        # Indices of candidates, with the ends of the scale on both sides.
        places = np.full((self.number, len(self.levels) + 2), -1, dtype=np.int64)
        places[:, -1] = last
        levels = [0.0, *self.levels, 1.0]
        releases = []
        errors: list[dict[int, dict[int, float]]] = [{} for _ in range(self.number)]
        for depth, nodes in enumerate(self.tree):
            asked, targets = [], []
            for group in range(self.number):
                for place, left, right in nodes:
                    first, final = int(places[group, left + 1]) + 1, int(places[group, right + 1])
                    span = levels[right + 1] - levels[left + 1]
                    q = (levels[place + 1] - levels[left + 1]) / span if span > 0.0 else 0.5
                    known = errors[group]
                    before, after = known.get(left, {}), known.get(right, {})
                    keys = before.keys() | after.keys()
                    known[place] = {key: (1.0 - q) * before.get(key, 0.0) + q * after.get(key, 0.0) for key in keys}
                    if first > final:  # no candidate lies between its neighbours
                        places[group, place + 1] = final
                        continue
                    asked.append((group, place))
                    targets.append(RankTarget(q, group, first, final))
            # A level without targets was paid for as well, and the schedule expects a question.
            targets = targets or [RankTarget(0.5, 0, last, last)]
            question, loss = self.question(targets), losses[depth]
            assert isinstance(loss, PureLoss | BoundedRangeLoss)
            for group, place in asked:
                errors[group][place][place] = 1.0 / question.way.eta(question, loss, setting)
            releases.append(measure(question))
            for (group, place), (whole, below) in zip(asked, releases[-1]["numbers"], strict=False):
                places[group, place + 1] = (int(whole) << TIE_BITS) + int(below) if several else int(whole)
        steps = places[:, 1:-1] >> (TIE_BITS if several else 0)
        scales = [[tuple(known[place].values()) for place in range(len(self.levels))] for known in errors]
        return np.vectorize(scale.value, otypes=[np.float64])(steps), scales, releases
