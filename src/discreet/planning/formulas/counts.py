"""The errors of counts.

A histogram's row is 1 in its cell: norm 1, and a replaced row moves two cells (query ``Histogram``): 2 in L1, √2 in L2.
A count of rows with some property has rows of 0 or 1, so 1 under either relation. Errors are in rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee
from discreet.planning.formulas.formula import Formula, noise_deviation
from discreet.queries.bound import Bound
from discreet.queries.counts.histogram import Histogram as Query

__all__ = ["Cells", "Count"]


@dataclass(frozen=True, kw_only=True)
class Count(Formula):
    """The error of a count of rows, in rows.

    >>> round(Count(n=1000).noise(Guarantee(1.0)), 4)
    1.4142
    """

    name: ClassVar[str] = "count"
    measure: ClassVar[str] = "root mean squared error of the count, in rows"

    def noise(self, promise: Guarantee) -> float:
        """Return the standard deviation of the noise."""
        return noise_deviation(Bound(l2=1.0, l1=1.0, replace_l2=1.0, replace_l1=1.0), promise)

    @property
    def sampling_error(self) -> float:
        """√n/2, that of a property which half of the rows have; for others it is less."""
        return math.sqrt(self.n) / 2.0


@dataclass(frozen=True, kw_only=True)
class Cells(Formula):
    """The error of each cell of a histogram, in rows.

    >>> round(Cells(n=1000, cells=10).noise(Guarantee(1.0)), 4)
    2.8284
    """

    cells: int = 10

    name: ClassVar[str] = "histogram"
    measure: ClassVar[str] = "root mean squared error of each cell's count, in rows"

    def noise(self, promise: Guarantee) -> float:
        """Return the standard deviation of the noise, the same whatever the number of cells."""
        return noise_deviation(Query(self.cells).bound, promise)

    @property
    def sampling_error(self) -> float:
        """That of equal cells, √(n·p(1 − p)) with p one over their number."""
        return math.sqrt(self.n * (self.cells - 1.0)) / self.cells
