"""Counts of declared categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.arguments import integer
from discreet.queries.counts.cell_counts import CellCounts
from discreet.queries.question import Part
from discreet.records import Block, Space

__all__ = ["Histogram"]


@dataclass(frozen=True)
class Histogram(CellCounts):
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

    def numbers(self, block: Block) -> Any:
        """Return the codes."""
        return block.codes[:, self.column]

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows, as a database can compute them."""
        xp = array_namespace(block.codes)
        code = block.codes[:, self.column : self.column + 1]
        labels = xp.reshape(xp.arange(self.categories, dtype=code.dtype, device=device(code)), (1, -1))
        return xp.astype(code == labels, xp.float64)
