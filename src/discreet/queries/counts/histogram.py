"""Counts of declared categories.

c(x) is 1 at the row's category and 0 elsewhere: norm 1 in L1 and L2. A replaced row moves one count down and another
up: 2 in L1, √2 in L2. All are attained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.arguments import integer
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Block, Space

__all__ = ["Histogram"]


@dataclass(frozen=True)
class Histogram(Query):
    """How many rows have each declared category.

    Parameters
    ----------
    categories : int
        How many categories the column has.
    column : int
        Which of the category columns, counted from 0.
    """

    categories: int
    column: int = 0

    name = "histogram"

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", integer("categories", self.categories, least=2))
        object.__setattr__(self, "column", integer("column", self.column, least=0))

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of categories."""
        have = [len(values) for values in categories]
        if self.column >= len(have) or have[self.column] != self.categories:
            raise ValueError(
                f"categories={self.categories}, column={self.column}: expected a column of categories, counted from 0, "
                f"and as many categories as it has; they have {have}"
            )

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a category."""
        return {"counts": Part((self.categories,))}

    @property
    def dimension(self) -> int:
        """No numeric column is looked at."""
        return 0

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
