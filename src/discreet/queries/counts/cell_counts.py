"""Counts of rows in cells, of which each row is in one.

c(x) is 1 at the row's cell and 0 elsewhere: norm 1 in L1 and L2. A replaced row moves one count down and another up: 2
in L1, √2 in L2. All are attained where there are two cells. Counts below 2⁵³ are exact. A query of this family says
which cell a row is in, from the row's own bits alone: by comparisons and elementwise operations.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from discreet.queries.bound import Bound
from discreet.queries.question import Query
from discreet.records import Block

__all__ = ["CellCounts"]


class CellCounts(Query):
    """How many rows are in each cell."""

    @abstractmethod
    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell, from 0 to ``size`` − 1."""

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
        number = self.numbers(block)
        xp = array_namespace(number)
        cells = xp.arange(self.size, dtype=number.dtype, device=device(number))
        return xp.astype(number[:, None] == cells[None, :], xp.float64)

    def sum(self, block: Block) -> Any:
        """Return the counts, without a row for each row: by counting, or by sorting where a library cannot count."""
        number = self.numbers(block)
        if is_numpy_array(number):
            inside = number[(number >= 0) & (number < self.size)]  # as everywhere, a cell that is none counts nothing
            return np.bincount(inside, minlength=self.size).astype(np.float64)
        xp = array_namespace(number)
        ends = xp.arange(self.size + 1, dtype=number.dtype, device=device(number))
        return xp.astype(xp.diff(xp.searchsorted(xp.sort(number), ends)), xp.float64)
