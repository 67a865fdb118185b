"""Counts of the numbers of one column, between declared edges. Which bin a number is in, comparisons alone decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.counts.cell_counts import CellCounts
from discreet.queries.question import Part
from discreet.records import Ball, Block, Box

__all__ = ["Bins"]

MOST = 2**22


@dataclass(frozen=True)
class Bins(CellCounts):
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

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's bin."""
        x = self.space.clip(block.x)[:, self.column]
        xp = array_namespace(x)
        return xp.searchsorted(xp.asarray(self.inner, dtype=x.dtype, device=device(x)), x, side="right")
