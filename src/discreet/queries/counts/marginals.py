"""The histograms of all columns, as one release.

A column of numbers has ``cells`` for categories. Which one a number is in follows from comparisons with public edges,
so from its own bits; whatever is no number is in the first.

Row l, with a category l_j in each of m columns, contributes (1_{l_j}/√m)_j: norm 1 in L2 and √m in L1. Where a row is
replaced, each column of several categories moves one count down and another up, and one of a single category nothing:
with m' of the former √(2m'/m) in L2 and 2m'/√m in L1. All are attained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.queries.bound import NORMS, Bound
from discreet.queries.counts.cells import Cells
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.question import Part, Query
from discreet.records import Block, Box, Space

__all__ = ["Marginals"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Marginals(Query):
    """How many rows have each category, in every column of categories, and are in each cell, in every one of numbers.

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns has.
    space : Box or None
        Of the numbers; None to leave them out.
    whole : tuple of bool
        For each column of numbers whether they are declared to be whole.
    """

    categories: tuple[int, ...]
    space: Box | None = None
    whole: tuple[bool, ...] = ()

    name = "marginals"

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns are others."""
        super().check(space, categories)
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ArgumentError("categories", self.categories, f"{have}, as many as are declared")

    @property
    def parts(self) -> Mapping[str, Part]:
        """``table0``, ``table1`` …, one count a category, and ``cells0`` …, for each column of numbers."""
        weight = 1.0 / math.sqrt(self._columns)
        tables = {f"table{j}": Part((count,), weight) for j, count in enumerate(self.categories)}
        return tables | {f"cells{j}": Part((cells.count,), weight) for j, cells in enumerate(self.cells)}

    @property
    def cells(self) -> tuple[Cells, ...]:
        """Those of each column of numbers."""
        if self.space is None:
            return ()
        return tuple(map(Cells, self.space.low, self.space.high, self.whole))  # type: ignore[arg-type]

    @property
    def dimension(self) -> int:
        """The number of columns of numbers."""
        return 0 if self.space is None else self.space.dimension

    @property
    def _columns(self) -> int:
        return len(self.categories) + self.dimension

    @property
    def bound(self) -> Bound:
        """See the module."""
        m, several = self._columns, sum(count > 1 for count in self.categories) + self.dimension
        if not several:  # every row is the same
            return Bound(l2=1.0, l1=math.sqrt(m), attained={name: 0.0 for name in NORMS if name.startswith("replace")})
        return Bound(
            l2=1.0,
            l1=math.sqrt(m),
            replace_l2=math.sqrt(2.0 * several / m),
            replace_l1=2.0 * several / math.sqrt(m),
        )

    @property
    def roundoff(self) -> float:
        """A root and a division; and the norm over the columns."""
        return (self._columns + 4.0) * 2.0**-53

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows side by side, divided by √m."""
        xp = array_namespace(block.codes)
        hot = [one_hot(block.codes[:, j], count) for j, count in enumerate(self.categories)]
        for j, cells in enumerate(self.cells):
            above = block.x[:, j : j + 1] > xp.asarray(cells.edges, device=device(block.x))[None, :]
            hot.append(one_hot(xp.sum(xp.astype(above, xp.int64), axis=1), cells.count))
        return xp.concat(hot, axis=1) / math.sqrt(self._columns)
