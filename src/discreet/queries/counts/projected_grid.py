"""Counts of the cells of a grid along public directions: where there are too many columns for a grid over all of them.

A row, moved into the space, is in one cell, so the bounds are those of every grid, whatever the directions. Which cell
it is, is decided by elementwise operations alone, column by column and not by a matrix product, so it is a function of
the row's own bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.queries.counts.grid import Grid
from discreet.records import Block

__all__ = ["ProjectedGrid"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProjectedGrid(Grid):
    """How many rows lie in each cell of a grid along public directions.

    Parameters
    ----------
    space : Box or Ball
    cells : tuple of q ints
    axes : array of shape (q, d)
        Directions, applied to rows in the unit ball.
    origin, extent : arrays of shape (q,)
        The grid goes from origin − extent to origin + extent; what is outside counts in the cell at the border.
    """

    axes: Array
    origin: Array
    extent: Array

    name = "grid along directions"

    def centers(self) -> Array:
        """Return the middle of each cell along the directions, in the order of the counts."""
        each = zip(self.origin, self.extent, self.cells, strict=True)
        axes = [origin + extent * ((2.0 * np.arange(m) + 1.0) / m - 1.0) for origin, extent, m in each]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        number = xp.zeros((y.shape[0],), dtype=xp.int64, device=device(y))
        for axis, origin, extent, m in zip(self.axes, self.origin, self.extent, self.cells, strict=True):
            place = xp.zeros((y.shape[0],), dtype=xp.float64, device=device(y))
            for j, share in enumerate(axis):
                place = place + y[:, j] * float(share)
            place = xp.floor(((place - float(origin)) / float(extent) + 1.0) * (0.5 * m))
            number = number * m + xp.astype(xp.clip(place, 0.0, float(m - 1)), xp.int64)
        return number
