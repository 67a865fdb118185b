"""Rows of a table in memory: pandas, Polars, Arrow and whatever else narwhals knows as an eager data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import narwhals as nw
import numpy as np

from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows
from discreet.records.source import LocalSource
from discreet.records.table_cells import DATES, LABELS, NAMES, NUMBERS, numeric, plain, readable, unit_cells
from discreet.records.units import UnitCells

__all__ = ["TableSource", "as_frame", "check_type", "check_types", "unique_names"]


def as_frame(data: Any) -> nw.DataFrame[Any] | None:
    """Return a pandas, Polars or Arrow table for narwhals; None where it is something else."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
    except TypeError:
        return None
    return frame


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
    wanted = dict.fromkeys(reading.categories, LABELS)
    for name, scale in zip(reading.numbers, reading.scales, strict=True):
        wanted[name] = DATES if scale == "date" else NUMBERS
    if reading.unit is not None:
        wanted[reading.unit.column] = NAMES
    for series in frame.iter_columns():
        if str(series.name) in wanted:
            check_type(str(series.name), series, wanted[str(series.name)])


def check_type(name: str, series: nw.Series[Any], wanted: str) -> None:
    """Check that the type of a column can hold what is wanted."""
    if not readable(series, wanted):
        found, native = series.dtype, series.to_native()
        if isinstance(found, nw.Unknown):
            found = native.type if hasattr(native, "type") else native.dtype
        raise ValueError(f"the column {name!r} has the type {found}: expected {wanted}; {_how(name, series, wanted)}")


def _how(name: str, series: nw.Series[Any], wanted: str) -> str:
    """Return how to write a column that cannot be read."""
    if wanted is NAMES:
        how = "write table.astype({'" + name + "': 'Int64'}) for whole numbers, or read it as text (dtype=str)"
        return f"{how}; floats make one of several large numbers, and a column with one gap becomes floats in pandas"
    if wanted is NUMBERS and series.dtype.is_temporal():
        dated = isinstance(series.dtype, nw.Date | nw.Datetime)
        return "declare it as Date('2020-01-01', '2025-12-31')" if dated else DAYS
    return "write it as dates, or as text like 2023-01-31" if wanted is DATES else "convert it first"


class TableSource(LocalSource):
    """Rows of an eager data frame.

    Parameters
    ----------
    frame : narwhals DataFrame
        The table.
    reading : Reading
        Its columns are in the table.
    """

    def __init__(self, frame: nw.DataFrame[Any], reading: Reading) -> None:
        super().__init__(reading)
        self._rows = len(frame)
        self._columns = {str(series.name): series for series in frame.iter_columns()}
        self.kind = f"{frame.implementation.name.lower()} table"

    def rows(self) -> int:
        """Return how many rows there are."""
        return self._rows

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield slices of the table."""
        step = reading.slab_rows
        for start in range(0, self._rows, step):
            piece = slice(start, min(start + step, self._rows))
            numbers = np.empty((piece.stop - start, len(reading.numbers)))
            for j, (name, scale) in enumerate(zip(reading.numbers, reading.scales, strict=True)):
                numbers[:, j] = numeric(self._columns[name][piece], scale)
            labels = [plain(self._columns[name][piece]) for name in reading.categories]
            yield DeclaredRows(numbers, reading.codes(labels, len(numbers)))

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column."""
        yield unit_cells(self._columns[column])
