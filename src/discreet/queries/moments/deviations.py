"""``DeviationSquares``: the squared deviations of a column from public centres, and their squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.arguments import ArgumentError
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.moments.moments import Squares
from discreet.queries.question import Part, Query
from discreet.records import Block, Box
from discreet.records.generic_arrays import on_device


@dataclass(frozen=True)
class DeviationSquares(Query):
    """Σ(a, b·z, c·(2z² − 1)) of the squared deviations of one column from a centre, scaled to z in [−1, 1].

    A variance is the mean of squared deviations u = (x − m)²; how far it is from that of the population follows from
    the mean of u². With R the distance from m to the farther of the bounds, z = 2u/R² − 1.

    *Bounds.* m lies between the bounds, so |x − m| ≤ R and z is in [−1, 1]. A row contributes what it would contribute
    to ``Squares`` with z in place of y. The proof there uses of y only that it lies in [−1, 1], so its bounds hold,
    also for two rows with different centres. Both ends are attained: z = −1 at x = m, and z = 1 at the farther bound.

    Parameters
    ----------
    space : Box
        The column's bounds.
    counted : bool
        Whether the rows are counted as well.
    weights : (float, float, float)
        a², b² and c², in any unit.
    centers : tuple of float
        m: one for all rows, or one for each group. They must be public.
    by : tuple of (int, int)
        The columns of categories that define the groups, and how many categories each has; the first one is the
        highest digit of a group's number. A row of no declared category has the first centre.
    """

    space: Box
    counted: bool
    weights: tuple[float, float, float]
    centers: tuple[float, ...]
    by: tuple[tuple[int, int], ...] = ()

    name = "squared deviations"
    dimension = 1

    def __post_init__(self) -> None:
        low, high = self._ends
        if len(self.centers) != int(np.prod([size for _, size in self.by], dtype=np.int64)):
            raise ArgumentError("centers", self.centers, "one, or one for each group")
        if not all(low <= center <= high for center in self.centers):
            raise ArgumentError("centers", self.centers, "numbers between the bounds")

    @property
    def _ends(self) -> tuple[float, float]:
        return float(np.asarray(self.space.low)[0]), float(np.asarray(self.space.high)[0])

    @property
    def _squares(self) -> Squares:
        return Squares(self.space, self.counted, self.weights)

    @property
    def reaches(self) -> tuple[float, ...]:
        """R of each centre."""
        low, high = self._ends
        return tuple(max(center - low, high - center) for center in self.centers)

    @property
    def categories(self) -> int | tuple[int, ...]:
        """How many categories each column of them has, as far as the query looks at them."""
        known = [1] * (1 + max((place for place, _ in self.by), default=0))
        for place, size in self.by:
            known[place] = size
        return tuple(known)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count, the sum of z and the sum of 2z² − 1."""
        return self._squares.parts

    @property
    def bound(self) -> Bound:
        """That of ``Squares``."""
        return self._squares.bound

    @property
    def roundoff(self) -> float:
        """Some operations more than the default allows for."""
        return super().roundoff + 32.0 * UNIT_ROUNDOFF

    def contributions(self, block: Block) -> Any:
        """Return (a, b·z, c·(2z² − 1))."""
        a, b, c = self._squares.amplitudes
        x = self.space.clip(block.x)[:, 0]
        xp = array_namespace(x)
        centers, reaches = on_device(self.centers, x), on_device(self.reaches, x)
        if self.by:
            group = xp.zeros_like(block.codes[:, 0])
            inside = group == 0
            for place, size in self.by:
                code = block.codes[:, place]
                inside = inside & (code >= 0) & (code < size)
                group = group * size + code
            group = xp.where(inside, group, xp.zeros_like(group))
            centers, reaches = xp.take(centers, group), xp.take(reaches, group)
        share = (x - centers) / reaches
        z = xp.clip(2.0 * share * share - 1.0, -1.0, 1.0)
        parts = [a * xp.ones_like(z)] if a else []
        return xp.stack([*parts, b * z, c * (2.0 * z * z - 1.0)], axis=1)
