"""Counts of declared categories.

c(x) is 1 at the row's category and 0 elsewhere: norm 1 in L1 and L2. A replaced row moves one count down and another
up: 2 in L1, √2 in L2. All are attained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.arguments import integer
from discreet.door.bound import Bound
from discreet.door.query import Query
from discreet.door.registry import registered
from discreet.records import Block

__all__ = ["Histogram"]


@registered(lambda rng, d, radius: [Histogram(categories=d + 1)])
@dataclass(frozen=True)
class Histogram(Query):
    """How many rows have each declared category.

    Parameters
    ----------
    categories : int
        How many categories the column has.
    column : int
        Which of the category columns, counted from 0.
    dimension : int
        How many numeric columns the rows have beside; they are not looked at.
    """

    categories: int
    column: int = 0
    dimension: int = 0

    name = "histogram"

    def __post_init__(self) -> None:
        integer("categories", self.categories, least=2)
        integer("column", self.column, least=0)

    @property
    def category_columns(self) -> int:
        """Up to its column."""
        return self.column + 1

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """One count a category."""
        return {"counts": (self.categories,)}

    @property
    def bound(self) -> Bound:
        """1 in both norms; √2 and 2 when a row is replaced."""
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    @property
    def roundoff(self) -> float:
        """Counts below 2⁵³ are exact."""
        return 0.0

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows."""
        xp = array_namespace(block.codes)
        code = block.codes[:, self.column : self.column + 1]
        labels = xp.reshape(xp.arange(self.categories, dtype=code.dtype, device=device(code)), (1, -1))
        return xp.astype(code == labels, xp.float64)
