"""How many rows meet a condition, and how many do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from discreet.arguments import ArgumentError
from discreet.queries.bound import Bound
from discreet.queries.counts.count_queries import CellCounts
from discreet.queries.question import Part
from discreet.records import Block, Condition, Space


@dataclass(frozen=True)
class ConditionCounts(CellCounts):
    """How many rows meet a condition and, if asked, how many do not.

    Whether a condition holds, h(x), is a function of one row alone, 0 or 1 whatever the row holds (a comparison with
    NaN does not hold). With both numbers a row contributes (h, 1 − h): a query of ``CellCounts``, with its bounds. With
    the first alone it contributes h: norm 1, and two rows are at most 1 apart; attained by a row that meets it and one
    that does not.

    Parameters
    ----------
    condition : Condition
        Over the values that queries see: logarithms for columns on a log scale.
    columns, labels : tuple of str
        The names of the numeric columns and of those of categories, in the order of a block.
    categories : tuple of int
        How many categories each of the latter has.
    both : bool
        Whether the rows that do not meet it are counted too.
    """

    condition: Condition
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    categories: tuple[int, ...]
    both: bool

    name = "condition"

    def __post_init__(self) -> None:
        if not isinstance(self.condition, Condition) or not self.condition.columns <= {*self.columns, *self.labels}:
            raise ArgumentError("condition", str(self.condition), f"one about {(*self.columns, *self.labels)}")
        if len(self.labels) != len(self.categories):
            raise ArgumentError("categories", self.categories, f"the sizes of {self.labels}")

    @property
    def dimension(self) -> int:
        """The number of numeric columns."""
        return len(self.columns)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns have other numbers of categories."""
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ArgumentError("categories", self.categories, f"as many as each column has, {have}")

    @property
    def parts(self) -> Mapping[str, Part]:
        """The rows that meet it, then those that do not."""
        return {"counts": Part((2 if self.both else 1,))}

    @property
    def bound(self) -> Bound:
        """Those of two cells, or 1 in every norm."""
        return super().bound if self.both else Bound(l2=1.0, l1=1.0, replace_l2=1.0, replace_l1=1.0)

    def numbers(self, block: Block) -> Any:
        """Return 0 for the rows that meet it, and 1 for the others."""
        met = self.condition.holds(block.x, block.codes, self.columns, self.labels)
        xp = array_namespace(met)
        return xp.astype(~met, xp.int64)

    def contributions(self, block: Block) -> Any:
        """Return (h, 1 − h), or h, as a database can compute them."""
        met = self.condition.holds(block.x, block.codes, self.columns, self.labels)
        xp = array_namespace(block.x)
        h = xp.astype(met, xp.float64)[:, None]
        return xp.concat([h, 1.0 - h], axis=1) if self.both else h
