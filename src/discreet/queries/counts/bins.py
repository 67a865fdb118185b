"""Counts of the numbers of one column, between declared edges.

c(x) is 1 at the bin that the number lies in and 0 elsewhere: norm 1 in L1 and L2. A replaced row moves one count down
and another up: 2 in L1, √2 in L2. All are attained. Which bin it is, comparisons alone decide; counts are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

__all__ = ["Bins"]

MOST = 2**22


@dataclass(frozen=True)
class Bins(Query):
    """How many rows have the number of a column between two edges; an edge belongs to the bin above it.

    Parameters
    ----------
    space : Box or Ball
    column : int
    inner : tuple of float
        The edges between bins, in increasing order. The first bin has all below, the last all above.
    """

    space: Box | Ball
    column: int
    inner: tuple[float, ...]

    name = "bins"

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.space.dimension - 1)
        edges = np.asarray(self.inner, dtype=np.float64)
        if (
            edges.ndim != 1
            or not 1 <= edges.size < MOST
            or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all())
        ):
            raise ArgumentError("inner", UNSHOWN, f"from 1 to {MOST - 1} finite edges, in increasing order")

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a bin."""
        return {"counts": Part((len(self.inner) + 1,))}

    @property
    def bound(self) -> Bound:
        """1 in both norms; √2 and 2 when a row is replaced."""
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    @property
    def roundoff(self) -> float:
        """Counts below 2⁵³ are exact."""
        return 0.0

    def _numbers(self, block: Block) -> Any:
        x = self.space.clip(block.x)[:, self.column]
        xp = array_namespace(x)
        return xp.searchsorted(xp.asarray(self.inner, dtype=x.dtype, device=device(x)), x, side="right")

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows."""
        number = self._numbers(block)
        xp = array_namespace(number)
        bins = xp.arange(self.size, dtype=number.dtype, device=device(number))
        return xp.astype(number[:, None] == bins[None, :], xp.float64)

    def sum(self, block: Block) -> Any:
        """Return the counts, by sorting."""
        number = self._numbers(block)
        xp = array_namespace(number)
        ends = xp.arange(self.size + 1, dtype=number.dtype, device=device(number))
        return xp.astype(xp.diff(xp.searchsorted(xp.sort(number), ends)), xp.float64)
