"""Rows of a table in memory: pandas, Polars, Arrow and whatever else narwhals knows as an eager data frame."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records import cells
from discreet.records.reading import Reading, Slab
from discreet.records.source import LocalSource

__all__ = ["TableSource", "check_types", "unique_names"]

# Types that hold no numbers and no categories. A typed table states them; pandas guesses them from the rows, so there
# they must not decide over an error, and such cells are simply missing.
WRONG = (nw.Date, nw.Datetime, nw.Time, nw.Duration, nw.List, nw.Array, nw.Struct, nw.Binary)


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return the names of a table's columns as text; an error where one is there twice."""
    found = [str(name) for name in names]
    for name in found:
        if found.count(name) > 1:
            raise ValueError(f"the column {name!r} is there twice in the data: expected each name once; rename one")
    return found


def check_types(frame: nw.DataFrame[Any], reading: Reading) -> None:
    """Check the declared types of the columns that are read."""
    if frame.implementation.is_pandas_like():
        return
    for series in frame.iter_columns():
        if series.name in reading.numbers + reading.labels and isinstance(series.dtype, WRONG):
            wanted = "numbers" if series.name in reading.numbers else "text, whole numbers or booleans"
            raise ValueError(
                f"the column {series.name!r} has the type {series.dtype}: expected {wanted}; convert it first"
            )


class TableSource(LocalSource):
    """Rows of an eager data frame.

    Parameters
    ----------
    frame : narwhals DataFrame
        The table.
    reading : Reading
        Its columns are in the table.
    start : mapping or None
        See ``LocalSource``.
    """

    def __init__(
        self, frame: nw.DataFrame[Any], reading: Reading, *, start: Mapping[Hashable, int] | None = None
    ) -> None:
        super().__init__(reading, start)
        self._rows = len(frame)
        self._columns = {str(series.name): series for series in frame.iter_columns()}
        self.kind = f"{frame.implementation.name.lower()} table"

    def rows(self) -> int:
        """Return how many rows there are."""
        return self._rows

    def _pieces(self) -> Iterator[slice]:
        step = self.reading.slab_rows
        return (slice(start, start + step) for start in range(0, self._rows, step))

    def slabs(self) -> Iterator[Slab]:
        """Yield slices of the table."""
        for piece in self._pieces():
            numbers = np.empty((len(range(self._rows)[piece]), len(self.reading.numbers)))
            for j, name in enumerate(self.reading.numbers):
                numbers[:, j] = numeric(self._columns[name][piece])
            yield Slab(numbers, [plain(self._columns[name][piece]) for name in self.reading.labels])

    def unit_cells(self) -> Iterator[Iterable[Any]]:
        """Yield pieces of the unit's column."""
        if self.reading.unit is not None:
            for piece in self._pieces():
                yield plain(self._columns[self.reading.unit][piece])


def numeric(series: nw.Series[Any]) -> NDArray[Any]:
    """Return a column as floats, NaN where a cell holds no number."""
    dtype = series.dtype
    if dtype.is_float() or dtype.is_integer() or isinstance(dtype, nw.Boolean):
        found: NDArray[Any] = series.to_numpy()
        if found.dtype.kind in "biuf":
            return found
    return cells.numbers(series.to_list())


def plain(series: nw.Series[Any]) -> list[Any]:
    """Return a column as Python values. Whole numbers stay whole: beyond 2**53 a float would confuse two units."""
    found: list[Any] = series.to_list()
    return found
