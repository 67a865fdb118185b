"""Counts of the cells of a grid over the declared space.

c(x) is 1 at the cell that the row, moved into the space, lies in, and 0 elsewhere: norm 1 in L1 and L2. A replaced row
moves one count down and another up: 2 in L1, √2 in L2. All are attained where there are two cells. Which cell a row
lies in is decided by elementwise operations alone, so it is a function of the row's own bits; counts are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

__all__ = ["Grid"]

MOST_CELLS = 2**22


@dataclass(frozen=True, init=False)
class Grid(Query):
    """How many rows lie in each cell of a grid.

    Parameters
    ----------
    space : Box or Ball
        Rows outside are moved into it. The grid covers the box, or the cube around the ball.
    cells : int, or one a column
        How many intervals each column is cut into.

    Examples
    --------
    >>> Grid(Box([0.0, 0.0], [1.0, 2.0]), 4).parts["counts"].shape
    (4, 4)
    """

    space: Box | Ball
    cells: tuple[int, ...]

    name = "grid"

    def __init__(self, space: Box | Ball, cells: Any) -> None:
        each = [cells] * space.dimension if np.ndim(cells) == 0 else list(cells)
        whole = tuple(integer("cells", number, least=1) for number in each)
        if len(whole) != space.dimension or not 2 <= math.prod(whole) <= MOST_CELLS:
            raise ArgumentError(
                "cells",
                cells,
                f"a number, or one for each of the {space.dimension} columns, and between 2 and {MOST_CELLS} cells in "
                "all",
            )
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "cells", whole)

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a cell, an axis a column."""
        return {"counts": Part(self.cells)}

    @property
    def bound(self) -> Bound:
        """1 in both norms; √2 and 2 when a row is replaced."""
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    @property
    def roundoff(self) -> float:
        """Counts below 2⁵³ are exact."""
        return 0.0

    @property
    def reach(self) -> float:
        """How far the grid goes from the centre of the unit ball, in each column."""
        return 1.0 if isinstance(self.space, Ball) else 1.0 / math.sqrt(self.dimension)

    def centers(self) -> NDArray[np.float64]:
        """Return the middle of each cell, in the coordinates of the unit ball, in the order of the counts."""
        axes = [self.reach * ((2.0 * np.arange(m) + 1.0) / m - 1.0) for m in self.cells]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def _numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        number = xp.zeros((y.shape[0],), dtype=xp.int64, device=device(y))
        for j, m in enumerate(self.cells):
            place = xp.floor((y[:, j] / self.reach + 1.0) * (0.5 * m))
            inside = xp.clip(place, 0.0, float(m - 1))
            number = number * m + xp.astype(inside, xp.int64)
        return number

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows."""
        number = self._numbers(block)
        xp = array_namespace(number)
        cells = xp.arange(self.size, dtype=number.dtype, device=device(number))
        return xp.astype(number[:, None] == cells[None, :], xp.float64)

    def sum(self, block: Block) -> Any:
        """Return the counts, without a row for each row."""
        number = self._numbers(block)
        xp = array_namespace(number)
        if number.shape[0] == 0:
            return xp.zeros((self.size,), dtype=xp.float64, device=device(number))
        there, counts = xp.unique_counts(number)
        order = xp.argsort(there)  # the standard promises no order
        there, counts = xp.take(there, order), xp.take(counts, order)
        cells = xp.arange(self.size, dtype=number.dtype, device=device(number))
        place = xp.searchsorted(there, cells)
        found = xp.minimum(place, xp.full_like(place, there.shape[0] - 1))
        right = xp.take(there, found) == cells
        return xp.where(right, xp.astype(xp.take(counts, found), xp.float64), xp.zeros_like(cells, dtype=xp.float64))
