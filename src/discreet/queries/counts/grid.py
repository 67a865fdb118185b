"""Counts of the cells of a grid over the declared space.

Which cell a row, moved into the space, lies in is decided by elementwise operations alone, so it is a function of the
row's own bits.
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
from discreet.queries.counts.cell_counts import CellCounts
from discreet.queries.question import Part
from discreet.records import Ball, Block, Box

__all__ = ["Grid"]

MOST_CELLS = 2**22


@dataclass(frozen=True, init=False)
class Grid(CellCounts):
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
    def reach(self) -> float:
        """How far the grid goes from the centre of the unit ball, in each column."""
        return 1.0 if isinstance(self.space, Ball) else 1.0 / math.sqrt(self.dimension)

    def centers(self) -> NDArray[np.float64]:
        """Return the middle of each cell, in the coordinates of the unit ball, in the order of the counts."""
        axes = [self.reach * ((2.0 * np.arange(m) + 1.0) / m - 1.0) for m in self.cells]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        number = xp.zeros((y.shape[0],), dtype=xp.int64, device=device(y))
        for j, m in enumerate(self.cells):
            place = xp.floor((y[:, j] / self.reach + 1.0) * (0.5 * m))
            inside = xp.clip(place, 0.0, float(m - 1))
            number = number * m + xp.astype(inside, xp.int64)
        return number
