"""The most frequent category, chosen by counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.guarantees import Neighbors
from discreet.queries.bound import Setting
from discreet.queries.counts.histogram import Histogram
from discreet.queries.question import Selection

__all__ = ["Mode"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mode(Histogram, Selection):
    """The most frequent category of a column.

    The score of a category is its count. A row that comes or goes moves one count by 1 and the others by 0: spread 1.
    A row that is replaced moves one up and one down: spread 2. A unit of m rows: m times that. Counts below 2⁵³ are
    exact.
    """

    name = "mode"

    def scores(self, values: Array) -> Array:
        """Return the counts."""
        return values

    def spread(self, setting: Setting) -> float:
        """Return m under add-remove, 2m under replace-one."""
        return setting.max_rows * (1.0 if setting.neighbors is Neighbors.ADD_REMOVE else 2.0)

    def largest_score(self, setting: Setting) -> float:
        """Return the bound on the number of rows."""
        return float(setting.rows)
