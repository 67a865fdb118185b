"""Counts of the categories of several columns at once.

c(x) has, for each of k columns, a 1 at the row's category and 0 elsewhere: k ones, so norm k in L1 and √k in L2. A
replaced row moves, in each column, one count down and another up: 2k in L1, √(2k) in L2. All are attained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.arguments import ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Block, Space

__all__ = ["Margins"]


@dataclass(frozen=True)
class Margins(Query):
    """How many rows have each category of each column.

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns of categories has.
    """

    categories: tuple[int, ...]

    name = "margins"

    def __post_init__(self) -> None:
        sizes = tuple(integer("categories", size, least=2) for size in self.categories)
        if not sizes:
            raise ArgumentError("categories", (), "the number of categories of at least one column")
        object.__setattr__(self, "categories", sizes)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns have other numbers of categories."""
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ValueError(f"categories={self.categories}: expected as many as each column has, {have}")

    @property
    def parts(self) -> Mapping[str, Part]:
        """One part a column, one count a category."""
        return {f"column{place}": Part((size,)) for place, size in enumerate(self.categories)}

    @property
    def dimension(self) -> int:
        """No numeric column is looked at."""
        return 0

    @property
    def bound(self) -> Bound:
        """√k and k for k columns; √(2k) and 2k when a row is replaced."""
        k = float(len(self.categories))
        return Bound(l2=_root(k), l1=k, replace_l2=_root(2.0 * k), replace_l1=2.0 * k)

    @property
    def roundoff(self) -> float:
        """Counts below 2⁵³ are exact."""
        return 0.0

    def contributions(self, block: Block) -> Any:
        """Return a one for each column."""
        xp = array_namespace(block.codes)
        ones = []
        for place, size in enumerate(self.categories):
            code = block.codes[:, place : place + 1]
            labels = xp.reshape(xp.arange(size, dtype=code.dtype, device=device(code)), (1, -1))
            ones.append(xp.astype(code == labels, xp.float64))
        return xp.concat(ones, axis=1)


def _root(number: float) -> float:
    """Return a square root that is rounded up."""
    root = math.sqrt(number)
    return root if root * root == number else math.nextafter(root, math.inf)
