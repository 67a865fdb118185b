"""Rows of a table in memory: pandas, Polars, Arrow and whatever else narwhals knows as an eager data frame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import narwhals as nw
import numpy as np

from discreet.records.reading import Reading, Slab
from discreet.records.source import LocalSource
from discreet.records.table_cells import numeric, plain, readable

__all__ = ["NAMES", "FrameSource", "TableSource", "check_type", "check_types", "unique_names"]

NUMBERS, LABELS = "numbers", "text, whole numbers or booleans"
NAMES = "names of units: text, whole numbers, bytes or dates"


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return the names of a table's columns as text; an error where one is there twice."""
    found = [str(name) for name in names]
    for name in found:
        if found.count(name) > 1:
            raise ValueError(f"the column {name!r} is there twice in the data: expected each name once; rename one")
    return found


DAYS = "write (table.when - start) / pandas.Timedelta('1D'), say, for days since a start that you name"


def check_types(frame: nw.DataFrame[Any], reading: Reading) -> None:
    """Check the types of the columns that are read, the unit's too."""
    for series in frame.iter_columns():
        name = str(series.name)
        if name in reading.columns:
            check_type(
                name, series, NUMBERS if name in reading.numbers else LABELS if name in reading.labels else NAMES
            )


def check_type(name: str, series: nw.Series[Any], wanted: str) -> None:
    """Check that the type of a column can hold what is wanted."""
    if not readable(series, unit=wanted is NAMES):
        found, native = series.dtype, series.to_native()
        if isinstance(found, nw.Unknown):
            found = native.type if hasattr(native, "type") else native.dtype
        how = DAYS if wanted is NUMBERS and series.dtype.is_temporal() else "convert it first"
        raise ValueError(f"the column {name!r} has the type {found}: expected {wanted}; {how}")


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


class FrameSource(LocalSource):
    """Rows that come as data frames, one after the other."""

    @abstractmethod
    def _frames(self, columns: tuple[str, ...]) -> Iterator[nw.DataFrame[Any]]:
        """Yield some of the columns, frame by frame, in the order of the rows."""

    def slabs(self) -> Iterator[Slab]:
        """Yield frames, one at a time."""
        for frame in self._frames(self.reading.numbers + self.reading.labels):
            yield from TableSource(frame, self.reading).slabs()

    def unit_cells(self) -> Iterator[Iterable[Any]]:
        """Yield the unit's column, frame by frame."""
        if self.reading.unit is not None:
            for frame in self._frames((self.reading.unit,)):
                yield plain(frame[self.reading.unit])
