"""Adaptors of queries: over some columns, with weights, within an interval, in groups, or in bins of a column.

Each takes another query and changes the contribution of a row. Let c be the contribution of the other query, with
B ≥ ‖c(x)‖ and D ≥ ‖c(x) − c(x')‖ in one of the norms:

- ``OfColumns``: c of some columns, perhaps with narrower bounds. The other query clips each row itself, so B and D
  hold.
- ``Weighted``: w·c with 0 ≤ w ≤ 1, the value of a column over its declared maximum. w·c lies between 0 and c, so the
  distance of two of them is largest where each of them is at an end: max(D, B).
- ``Within``: c where a column lies in a public interval, otherwise 0: a weight of 0 or 1.
- ``Grouped``: c in the place of the row's group, 0 in the places of all others. One row: B. Two rows of one group: D.
  Two rows of different groups are orthogonal: √2·B in L2, 2·B in L1. A grouped query may be grouped again, by another
  column: the same argument holds, with its own B and D.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.arguments import ArgumentError, integer, positive
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box


def column_limits(space: Box | Ball, column: int) -> tuple[float, float]:
    """Return the declared limits of a column: the sides of a box, or centre ± radius of a ball.

    >>> column_limits(Box([0, 40], [120, 250]), 1), column_limits(Ball(2.0, center=[1.0]), 0)
    ((40.0, 250.0), (-1.0, 3.0))
    """
    center = float(np.asarray(space.center).reshape(-1)[column])
    if isinstance(space, Ball):
        return center - space.radius, center + space.radius
    low, high = (np.asarray(end).reshape(-1) for end in (space.low, space.high))
    return float(low[column]), float(high[column])


@np.errstate(all="ignore")
def scale_column(space: Box | Ball, x: Any, column: int) -> Any:
    """Return the column scaled to [0, 1] by its declared limits.

    The result is in [0, 1] for any row; a NaN becomes ½. Elementwise and array-API generic.
    """
    low, high = column_limits(space, column)
    half = high / 2.0 - low / 2.0
    xp = array_namespace(x)
    y = (xp.astype(x[:, column], xp.float64) - (low / 2.0 + high / 2.0)) / half
    return xp.clip(0.5 * xp.where(xp.isnan(y), xp.zeros_like(y), y) + 0.5, 0.0, 1.0)


MOST_BINS = 2**12
ROWS_APART = {"replace_l2": "l2", "replace_l1": "l1"}


class _Adapted(Query):
    """Base class of the adaptors: the name and the parts of the other query."""

    query: Query

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the other query."""
        return self.query.name

    @property
    def categories(self) -> int | tuple[int, ...]:
        """How many categories each column of them has, as far as the query looks at them."""
        return getattr(self.query, "categories", 1)

    @property
    def parts(self) -> Mapping[str, Part]:
        """Those of the other query."""
        return self.query.parts

    @property
    def roundoff(self) -> float:
        """That of the other query: a row's numbers stay, or become 0."""
        return self.query.roundoff

    @property
    def whole_numbers(self) -> bool:
        """Whether those of the other query are."""
        return self.query.whole_numbers


class _OnRows(_Adapted):
    """A query about whole rows, as the other one."""

    @property
    def space(self) -> Box | Ball:
        """The curator's."""
        result: Box | Ball = self.query.space  # type: ignore[attr-defined]
        return result

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.query.dimension

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the other query would."""
        super().check(space, categories)
        self.query.check(space, categories)


@dataclass(frozen=True)
class OfColumns(_Adapted):
    """A query over some of the columns.

    Parameters
    ----------
    query : Query
        Over as many columns as are named, in a space of its own.
    space : Box or Ball
        The curator's.
    columns : tuple of int
    """

    query: Query
    space: Box | Ball
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        places = [integer("columns", place, least=0, most=self.space.dimension - 1) for place in self.columns]
        if len(places) != self.query.dimension:
            raise ArgumentError("columns", self.columns, f"{self.query.dimension} of them, as the query has")

    @property
    def bound(self) -> Bound:
        """That of the other query."""
        return self.query.bound

    def _part(self, block: Block) -> Block:
        xp = array_namespace(block.x)
        return Block(xp.stack([block.x[:, place] for place in self.columns], axis=1), block.codes)

    def contributions(self, block: Block) -> Any:
        """Return those of the other query, of these columns."""
        return self.query.contributions(self._part(block))

    def sum(self, block: Block) -> Any:
        """Return that of the other query, of these columns."""
        return self.query.sum(self._part(block))


class _Scaled(_OnRows):
    """A query times a weight in [0, 1] that a row has."""

    @abstractmethod
    def weight(self, block: Block) -> Any:
        """Return the weight of each row."""

    @property
    def bound(self) -> Bound:
        """max(D, B) for two rows; see the module."""
        own = self.query.bound
        apart = {name: max(own.replace(one), own.norm(one)) for name, one in ROWS_APART.items()}
        attained = {name: share for name, share in own.attained.items() if name not in ROWS_APART}
        for name, one in ROWS_APART.items():
            most = max(own.attained.get(name, 1.0) * own.replace(one), own.attained.get(one, 1.0) * own.norm(one))
            attained[name] = most / apart[name] if math.isfinite(apart[name]) else 1.0
        replace_l1 = None if own.l1 is None else apart["replace_l1"]
        return Bound(own.l2, own.l1, apart["replace_l2"], replace_l1, attained)

    def contributions(self, block: Block) -> Any:
        """Return w·c."""
        return self.weight(block)[:, None] * self.query.contributions(block)

    def sum(self, block: Block) -> Any:
        """Return the sum of w·c, each c clipped to the bound of the other query, with its ball."""
        rows = self.weight(block)[:, None] * self.query.clipped_contributions(block)
        return array_namespace(rows).sum(rows, axis=0)


@dataclass(frozen=True)
class Weighted(_Scaled):
    """A query over rows with weights.

    Parameters
    ----------
    query : Query
    column : int
        The weights; negative ones count as 0.
    most : float
        The largest weight, which counts as 1.
    """

    query: Query
    column: int
    most: float

    whole_numbers = False

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.dimension - 1)
        positive("most", self.most)

    @property
    def roundoff(self) -> float:
        """A quotient and a product more than the other query."""
        return self.query.roundoff + 4.0 * UNIT_ROUNDOFF

    def weight(self, block: Block) -> Any:
        """Return the column over its largest value."""
        xp = array_namespace(block.x)
        return xp.clip(block.x[:, self.column] / self.most, 0.0, 1.0)


@dataclass(frozen=True)
class Within(_Scaled):
    """A query over the rows in which a column lies between two public numbers, both included."""

    query: Query
    column: int
    low: float
    high: float

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.dimension - 1)
        if not self.low <= self.high:
            raise ArgumentError(("low", "high"), (self.low, self.high), "low ≤ high")

    def weight(self, block: Block) -> Any:
        """Return 1 inside and 0 outside."""
        xp = array_namespace(block.x)
        x = self.space.clip(block.x)[:, self.column]
        return xp.astype((x >= self.low) & (x <= self.high), xp.float64)


class InGroups(_Adapted):
    """A query in every group of rows, at once; see the module. A row is in at most one group.

    Attributes
    ----------
    groups : int
    """

    groups: int

    @abstractmethod
    def _members(self, block: Block) -> list[Any]:
        """Return for each group whether each row is in it."""

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Those of the other query, with an axis for the groups first."""
        return {
            name: Part((self.groups, *part.shape), part.weight, part.symmetric)
            for name, part in self.query.parts.items()
        }

    @cached_property
    def bound(self) -> Bound:
        """max(D, √2·B) in L2, max(D, 2·B) in L1, for two rows; see the module."""
        own = self.query.bound
        if self.groups == 1:
            return own
        across = {"replace_l2": math.sqrt(2.0) * own.l2, "replace_l1": 2.0 * own.norm("l1")}
        apart = {name: max(own.replace(one), across[name]) for name, one in ROWS_APART.items()}
        attained = dict(own.attained)
        for name, one in ROWS_APART.items():
            if math.isfinite(apart[name]):
                same = own.attained.get(name, 1.0) * own.replace(one)
                attained[name] = max(same, own.attained.get(one, 1.0) * across[name]) / apart[name]
        l1 = None if own.l1 is None else apart["replace_l1"]
        return Bound(own.l2, own.l1, apart["replace_l2"], l1, attained)

    def _cut(self, values: Any) -> list[Any]:
        """Return the parts of the other query's numbers, along the last axis."""
        ends = np.cumsum([part.size for part in self.query.parts.values()])
        return [values[..., end - part.size : end] for end, part in zip(ends, self.query.parts.values(), strict=True)]

    def contributions(self, block: Block) -> Any:
        """Return c in the place of the row's group."""
        rows = self.query.contributions(block)
        xp = array_namespace(rows)
        here = [xp.astype(one, xp.float64)[:, None] for one in self._members(block)]
        return xp.concat([one * part for part in self._cut(rows) for one in here], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums of the groups' rows."""
        xp = array_namespace(block.x)
        sums = []
        for members in self._members(block):
            here = xp.nonzero(members)[0]
            sums.append(self.query.sum(Block(xp.take(block.x, here, axis=0), xp.take(block.codes, here, axis=0))))
        parts = [self._cut(one) for one in sums]
        return xp.concat([part for several in zip(*parts, strict=True) for part in several], axis=0)


@dataclass(frozen=True)
class Grouped(InGroups, _OnRows):
    """A query in every group of a public category, at once.

    Parameters
    ----------
    query : Query
    groups : int
        How many categories the column has.
    column : int
        Which of the columns of categories.
    """

    query: Query
    groups: int
    column: int

    def __post_init__(self) -> None:
        integer("groups", self.groups, least=1)
        integer("column", self.column, least=0)

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of categories."""
        super().check(space, categories)
        if self.column >= len(categories) or len(categories[self.column]) != self.groups:
            raise ValueError(
                f"groups={self.groups}, column={self.column}: expected a column of categories and as many groups as it "
                f"has; they have {[len(values) for values in categories]}"
            )

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column of them has, as far as the query looks at them."""
        inner = super().categories
        known = list(inner) if isinstance(inner, tuple) else [inner]
        known += [1] * (self.column + 1 - len(known))
        known[self.column] = self.groups
        return tuple(known)

    def _members(self, block: Block) -> list[Any]:
        return [block.codes[:, self.column] == group for group in range(self.groups)]
