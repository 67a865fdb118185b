"""What queries of a series have in common, whether their rows are events or persons.

What a row contributes is linear in its own series, so the rows are summed into S first and the operator is applied
once. All of the private side is then one pass that adds numbers into T bins.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from discreet.queries.question import Part, Query
from discreet.queries.series.operators import Identity, Operator, Picked
from discreet.queries.series.toeplitz import PrefixSums, Toeplitz
from discreet.records import Block, Box, Contributions, Records

if TYPE_CHECKING:
    from discreet.queries.bound import Setting

__all__ = ["OfSeries", "host", "some_operators"]

Array = NDArray[np.float64]


def host(values: Any) -> Array:
    """Return an array of any library as a NumPy array."""
    return np.asarray(values.cpu() if is_torch_array(values) else values, dtype=np.float64)


class OfSeries(Query):
    """A sum over rows of O times their own series."""

    space: Box
    operator: Operator

    @property
    def name(self) -> str:  # type: ignore[override]
        """With the operator's name, for the ledger."""
        return f"series, {self.operator.name}"

    @property
    def dimension(self) -> int:
        """The number of numeric columns of a row."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """O·S."""
        return {"series": Part((self.operator.size,))}

    @abstractmethod
    def binned(self, block: Block) -> Any:
        """Return the block's own series S, shape (T,)."""

    @property
    def entries(self) -> Contributions | None:
        """The series of each row by itself, for a database that sums; None where it cannot."""
        return None

    def sum(self, block: Block) -> Any:
        """Return O·S of the block."""
        return self.operator.apply(host(self.binned(block)))

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return O·S over all rows; see ``Query.collect`` for the last step."""
        most = setting.largest(self)
        series = records.reduce(self.binned, self.operator.count, self.entries)
        return np.clip(self.operator.apply(series), -most, most)


def some_operators(count: int) -> list[Operator]:
    """Return a few operators, for the search of worst neighbours."""
    signed = Toeplitz(np.array([1.0, -0.7, 0.2, 0.1])[:count])
    return [Identity(count), PrefixSums(count), signed if count <= 4 else Picked(count, (count - 1, 0))]
