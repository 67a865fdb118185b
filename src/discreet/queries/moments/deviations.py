"""Deviations of rows from public centres, for spreads with intervals about the population.

``DeviationSquares`` has the squared deviations of a column and their squares, ``DeviationProducts`` the products of
deviations of several columns and products of four.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.arguments import ArgumentError
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.moments.moments import Squares
from discreet.queries.question import Part, Query
from discreet.records import Block, Box
from discreet.records.generic_arrays import on_device


def look_up_group(block: Block, by: tuple[tuple[int, int], ...]) -> Any:
    """Return the number of each row's group; 0 for a row of no declared category.

    ``by`` has the columns of categories that define the groups, and how many categories each has; the first one is the
    highest digit of a group's number.
    """
    xp = array_namespace(block.codes)
    group = xp.zeros_like(block.codes[:, 0])
    inside = group == 0
    for place, size in by:
        code = block.codes[:, place]
        inside = inside & (code >= 0) & (code < size)
        group = group * size + code
    return xp.where(inside, group, xp.zeros_like(group))


def categories_looked_at(by: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Return how many categories each column of them has, as far as a query looks at them."""
    known = [1] * (1 + max((place for place, _ in by), default=0))
    for place, size in by:
        known[place] = size
    return tuple(known)


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
        return categories_looked_at(self.by)

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
            group = look_up_group(block, self.by)
            centers, reaches = xp.take(centers, group), xp.take(reaches, group)
        share = (x - centers) / reaches
        z = xp.clip(2.0 * share * share - 1.0, -1.0, 1.0)
        parts = [a * xp.ones_like(z)] if a else []
        return xp.stack([*parts, b * z, c * (2.0 * z * z - 1.0)], axis=1)


@dataclass(frozen=True)
class DeviationProducts(Query):
    """Σ(a, b·y_i·y_j, c·y_i²·y_j², c·y_i³·y_j) of the scaled deviations y of several columns from public centres.

    The second part has all i ≤ j, the third too, and the last all i ≠ j. A covariance is the mean of a product of
    deviations, and how far it is from that of the population follows from the mean of its square; for a correlation the
    other products of four are needed as well. With m_j the centre of a column and R_j its distance to the farther
    bound, y_j = (x_j − m_j)/R_j.

    *Bounds.* m_j lies between the bounds, so every y_j is in [−1, 1], and so is every product. With D = d(d + 1)/2 and
    F = D + d(d − 1) numbers of the last two parts together, ‖v‖₂² ≤ a² + b²D + c²F = 1 and ‖v‖₁ ≤ a + bD + cF, attained
    at every corner y_j = ±1.

    Two rows have the same count. *In L2*, with c ≤ b, the rest of v and v' has an inner product of at least 0, so
    ‖v − v'‖² ≤ ‖v‖² + ‖v'‖² ≤ 2(b²D + c²F). For, with p_i = y_i·y'_i and s, A, t, B the sums of p, p², p³, p⁴,

        v·v' = b²(s² + A)/2 + c²(A² + B)/2 + c²(ts − B)
             ≥ c²/2·(s² + 2ts + A + A² − B) ≥ c²/2·(A + A² − B − t²) ≥ c²/2·(1 + A)(A − B) ≥ 0,

    as b ≥ c, (s + t)² ≥ 0, t² ≤ A·B (Cauchy and Schwarz), and p⁴ ≤ p². *In L1* y_i² and y_i²·y_j² lie in [0, 1], so two
    of them are at most 1 apart, and the others 2. Both hold for any two y, also about different centres.

    Parameters
    ----------
    space : Box
        The columns' bounds.
    counted : bool
        Whether the rows are counted as well.
    weights : (float, float, float)
        a², b² and c², in any unit, c² ≤ b².
    centers : tuple of tuples of float
        m: one for each column, for all rows or for each group. They must be public.
    by : tuple of (int, int)
        As in ``DeviationSquares``.
    """

    space: Box
    counted: bool
    weights: tuple[float, float, float]
    centers: tuple[tuple[float, ...], ...]
    by: tuple[tuple[int, int], ...] = ()

    name = "products of deviations"

    def __post_init__(self) -> None:
        low, high = np.asarray(self.space.low), np.asarray(self.space.high)
        if len(self.centers) != int(np.prod([size for _, size in self.by], dtype=np.int64)):
            raise ArgumentError("centers", self.centers, "one of each column, for all rows or for each group")
        for center in self.centers:
            if len(center) != self.dimension or not np.all((low <= center) & (center <= high)):
                raise ArgumentError("centers", self.centers, "a number between the bounds for each column")
        _, b2, c2 = self.weights
        if not 0.0 < c2 <= b2:
            raise ArgumentError("weights", self.weights, "c² above 0 and at most b²")

    @property
    def _numbers(self) -> tuple[int, int]:
        """D, and d(d − 1)."""
        return self.dimension * (self.dimension + 1) // 2, self.dimension * (self.dimension - 1)

    @cached_property
    def amplitudes(self) -> tuple[float, float, float]:
        """a, b and c."""
        (a2, b2, c2), (pairs, cubes) = self.weights, self._numbers
        total = (a2 if self.counted else 0.0) + b2 * pairs + c2 * (pairs + cubes)
        return math.sqrt(a2 / total) if self.counted else 0.0, math.sqrt(b2 / total), math.sqrt(c2 / total)

    @cached_property
    def reaches(self) -> tuple[tuple[float, ...], ...]:
        """R of each centre."""
        ends = np.asarray(self.space.low), np.asarray(self.space.high)
        found = np.maximum(np.asarray(self.centers) - ends[0], ends[1] - np.asarray(self.centers))
        return tuple(tuple(one) for one in found.tolist())

    @property
    def categories(self) -> int | tuple[int, ...]:
        """How many categories each column of them has, as far as the query looks at them."""
        return categories_looked_at(self.by)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The count, and the sums of the three kinds of products."""
        (a, b, c), (pairs, cubes) = self.amplitudes, self._numbers
        several = {"products": Part((pairs,), b), "squares": Part((pairs,), c)}
        return ({"count": Part((1,), a)} if a else {}) | several | ({"cubes": Part((cubes,), c)} if cubes else {})

    @cached_property
    def bound(self) -> Bound:
        """See the class; a row at the farthest corner and one at the centre attain a known share for two rows."""
        (a, b, c), (pairs, cubes) = self.amplitudes, self._numbers
        rest2, rest1 = b * b * pairs + c * c * (pairs + cubes), b * pairs + c * (pairs + cubes)
        replace_l2, replace_l1 = math.sqrt(2.0 * rest2), b * (2 * pairs - self.dimension) + c * (pairs + 2 * cubes)
        attained = {"replace_l2": math.sqrt(0.5), "replace_l1": rest1 / replace_l1}
        return Bound(l2=1.0, l1=a + rest1, replace_l2=replace_l2, replace_l1=replace_l1, attained=attained)

    @property
    def roundoff(self) -> float:
        """Some operations more than the default allows for."""
        return super().roundoff + 32.0 * UNIT_ROUNDOFF

    def contributions(self, block: Block) -> Any:
        """Return (a, b·y_i·y_j, c·y_i²·y_j², c·y_i³·y_j)."""
        a, b, c = self.amplitudes
        x = self.space.clip(block.x)
        xp = array_namespace(x)
        centers, reaches = on_device(self.centers, x), on_device(self.reaches, x)
        if self.by:
            group = look_up_group(block, self.by)
            centers, reaches = xp.take(centers, group, axis=0), xp.take(reaches, group, axis=0)
        y = xp.clip((x - centers) / reaches, -1.0, 1.0)
        columns = [y[:, place] for place in range(self.dimension)]
        pairs = [columns[i] * columns[j] for i, j in zip(*np.triu_indices(self.dimension), strict=True)]
        order = [(i, j) for i in range(self.dimension) for j in range(self.dimension) if i != j]
        cubes = [columns[i] * columns[i] * columns[i] * columns[j] for i, j in order]
        parts = [a * xp.ones_like(columns[0])] if a else []
        parts += [b * one for one in pairs] + [c * one * one for one in pairs] + [c * one for one in cubes]
        return xp.stack(parts, axis=1)
