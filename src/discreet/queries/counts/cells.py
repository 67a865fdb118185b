"""The cells into which a column of numbers is cut for its histogram.

A column whose numbers are declared to be whole, and at most ``MOST`` of them, has a cell for each. Any other has one
for its lower bound itself, ``EVEN`` of equal width, and one for its upper bound, since many rows may sit at a bound.
Which cell a number is in follows from comparisons with public edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells"]

Array = NDArray[np.float64]

EVEN, MOST = 64, 128


@dataclass(frozen=True)
class Cells:
    """The cells of one column.

    Examples
    --------
    >>> Cells(0.5, 3.0, whole=True).edges.tolist(), Cells(0.0, 1.0).count
    ([1.5, 2.5], 66)
    """

    low: float
    high: float
    whole: bool = False

    @property
    def single(self) -> bool:
        """Whether each whole number has a cell."""
        first, last = math.ceil(self.low), math.floor(self.high)
        return self.whole and first < last < first + MOST

    @property
    def ends(self) -> Array:
        """Of the cells but for those of a bound: one more than there are of them."""
        if self.single:
            return np.arange(math.ceil(self.low), math.floor(self.high) + 2, dtype=np.float64) - 0.5
        return np.asarray(self.low + (self.high - self.low) * (np.arange(EVEN + 1) / EVEN))

    @property
    def edges(self) -> Array:
        """A number is in cell i if it is above i of these."""
        if self.single:
            return self.ends[1:-1]
        below = np.nextafter(self.high, self.low)
        return np.concatenate([[self.low], np.clip(self.ends[1:-1], self.low, below), [below]])

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + 1
