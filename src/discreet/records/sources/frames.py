"""Rows of a table in memory: pandas, Polars, Arrow and whatever else narwhals knows as an eager data frame.

A library that converts a column to Python values fails for the whole column because of one cell: text that is not
UTF-8, a date after the year 9999. Its error would show the cell, and would come after the spend. So nothing here raises
for a cell. Instants are read as whole numbers in the column's resolution. Where a column fails nevertheless, it is read
cell by cell, and a cell that fails is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records import cells
from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows, UnitCells
from discreet.records.sources.source import LocalSource

NOT_A_TIME = -(2**63)

NUMBERS, DATES, LABELS = "numbers", "dates", "text, whole numbers or booleans"
NAMES = "names of units, as text or whole numbers"

# What holds numbers and categories, by the names of pyarrow.types and of Polars; then what holds dates, and what names
# a unit. Nested types hold none. A list of what is known, so that a type yet to come is refused and not dropped.
TEXT = ("null", "string", "large_string", "string_view")
TIMES = ("date", "time", "timestamp", "duration")
ARROW: dict[str, tuple[str, ...]] = dict.fromkeys(
    (NUMBERS, LABELS), ("boolean", "integer", "floating", "decimal", *TEXT)
)
ARROW |= {DATES: ("date", "timestamp", *TEXT), NAMES: ("integer", *TEXT)}
POLARS: dict[str, tuple[str, ...]] = {NAMES: ("Null", "String", "Categorical", "Enum", "Object")}
POLARS |= dict.fromkeys((NUMBERS, LABELS), ("Boolean", *POLARS[NAMES]))
POLARS |= {DATES: ("Null", "String", "Date", "Datetime", "Object")}
# What to install for a library that is imported where it is first needed.
EXTRAS = {"pyarrow": "sql", "duckdb": "sql", "adbc_driver_postgresql": "postgresql", "dask": "dask", "pyspark": "spark"}


def import_optional(module: str) -> Any:
    """Return an optional module; an error that says what to install where it is absent."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise ImportError(
            f"this needs {library}, which is not installed: pip install 'discreet[{EXTRAS[library]}]'"
        ) from None


def empty_table(schema: Any) -> Any:
    """Return an Arrow table without rows. Arrow's own ``empty_table`` imports pandas, which takes its time."""
    return import_optional("pyarrow").Table.from_batches([], schema)


def as_frame(data: Any) -> nw.DataFrame[Any] | None:
    """Return a pandas, Polars or Arrow table for narwhals; None where it is something else."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
    except TypeError:
        return None
    return frame


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return the names of a table's columns as text; an error where one is there twice."""
    result = [str(name) for name in names]
    for name in result:
        if result.count(name) > 1:
            raise ValueError(f"the column {name!r} is there twice in the data: expected each name once; rename one")
    return result


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
    if not is_readable(series, wanted):
        result, native = series.dtype, series.to_native()
        if isinstance(result, nw.Unknown):
            result = native.type if hasattr(native, "type") else native.dtype
        raise ValueError(
            f"the column {name!r} has the type {result}: expected {wanted}; {_suggest_conversion(name, series, wanted)}"
        )


def _suggest_conversion(name: str, series: nw.Series[Any], wanted: str) -> str:
    """Return how to write a column that cannot be read."""
    if wanted is NAMES:
        how = "write table.astype({'" + name + "': 'Int64'}) for whole numbers, or read it as text (dtype=str)"
        return f"{how}; floats make one of several large numbers, and a column with one gap becomes floats in pandas"
    if wanted is NUMBERS and series.dtype.is_temporal():
        dated = isinstance(series.dtype, nw.Date | nw.Datetime)
        return "declare it as Date('2020-01-01', '2025-12-31')" if dated else DAYS
    return "write it as dates, or as text like 2023-01-31" if wanted is DATES else "convert it first"


def is_readable(series: nw.Series[Any], wanted: str) -> bool:
    """Return whether a column's type can hold what is wanted; no cell is looked at.

    Types are looked at once, when the table is opened, and a refusal is its owner's to see. In pandas a column may also
    be of objects, whose cells are then read one by one.
    """
    arrow = _to_arrow(series)
    if arrow is not None:
        kind = arrow_value_type(arrow.type)
        uuid = str(getattr(arrow.type, "extension_name", "")) == "arrow.uuid"
        named = wanted is NAMES and (uuid or getattr(kind, "scale", 1) == 0)  # a decimal without a point
        return named or _is_arrow_type(kind, ARROW[wanted])
    return (
        _is_polars_readable(series, wanted)
        if series.implementation.is_polars()
        else _is_pandas_readable(series, wanted)
    )


def _is_polars_readable(series: nw.Series[Any], wanted: str) -> bool:
    dtype = series.to_native().dtype
    if wanted is NAMES:
        whole = bool(dtype.is_integer()) or getattr(dtype, "scale", 1) == 0
        return whole or dtype.base_type().__name__ in POLARS[NAMES]
    return dtype.base_type().__name__ in POLARS[wanted] or (bool(dtype.is_numeric()) and wanted is not DATES)


def _is_pandas_readable(series: nw.Series[Any], wanted: str) -> bool:
    native = series.to_native()
    dtype = getattr(getattr(native, "cat", native), "categories", native).dtype  # of pandas' categories
    return dtype.kind in {NAMES: "iuOUT", DATES: "MOUTS"}.get(wanted, "biufOUTS")


def arrow_value_type(kind: Any) -> Any:
    """Return the Arrow type of the values behind a dictionary, a run-end encoding or an extension."""
    pa = import_optional("pyarrow")
    while True:
        if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        else:
            return kind


def _is_arrow_type(kind: Any, names: tuple[str, ...]) -> bool:
    return any(getattr(import_optional("pyarrow").types, f"is_{name}")(kind) for name in names)


def to_floats(series: nw.Series[Any], scale: str = "linear") -> NDArray[Any]:
    """Return a column as floats, NaN where a cell holds no number; a column of dates as days."""
    if scale == "date":
        times = _try(lambda: _to_times(series))
        return (
            cells.read_dates(to_python_values(series))
            if times is None or times.dtype.kind != "M"
            else cells.to_days(times)
        )
    dtype = series.dtype
    machine = dtype.is_float() or dtype.is_integer() or isinstance(dtype, nw.Boolean)
    if machine and not isinstance(dtype, nw.Int128 | nw.UInt128):  # NumPy has no such integers
        result: NDArray[Any] = series.to_numpy()
        if result.dtype.kind in "biuf":
            return result
    return cells.read_numbers(to_python_values(series))


def unit_cells(series: nw.Series[Any]) -> UnitCells:
    """Return a column of names of units: whole numbers as they are, others as Python's values."""
    dtype = series.dtype
    if dtype.is_integer() and not isinstance(dtype, nw.Int128 | nw.UInt128):
        gaps = series.null_count() > 0
        result: NDArray[Any] = (series.fill_null(0) if gaps else series).to_numpy()
        if result.dtype.kind in "iu":
            return UnitCells(result, series.is_null().to_numpy().astype(np.bool_) if gaps else None)
    arrow = _to_arrow(series)
    if arrow is not None and _is_arrow_type(arrow.type, TEXT[1:3]):
        return _encode_text(arrow)
    return UnitCells(to_python_values(series))


def _encode_text(arrow: Any) -> UnitCells:
    """Return a column of text: each text once, and then places."""
    pa = import_optional("pyarrow")
    whole = arrow.cast(pa.large_string()).combine_chunks().dictionary_encode()  # of any size
    names = to_python_values(nw.from_native(pa.chunked_array([whole.dictionary]), series_only=True))
    gone = whole.indices.is_null().to_numpy(zero_copy_only=False)
    return UnitCells(whole.indices.fill_null(0).to_numpy(zero_copy_only=False), gone, names)


def _try(read: Callable[[], Any]) -> Any:
    """Return what is read, None where that fails; a panic of Polars is no Exception."""
    try:
        return read()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
    return None


def to_python_values(series: nw.Series[Any]) -> list[Any]:
    """Return a column as Python values, instants as NumPy's, None where a cell cannot be read.

    Whole numbers stay whole: from 2**53 on a float would make one unit of two.
    """
    times = _try(lambda: _to_times(series))
    result = _try(series.to_list) if times is None else list(times)
    return [_try(partial(series.__getitem__, j)) for j in range(len(series))] if result is None else result


def _to_arrow(series: nw.Series[Any]) -> Any:
    """Return a column of Arrow, or of pandas where Arrow holds it, as Arrow's; else None."""
    native = series.to_native()
    if series.implementation.is_pyarrow():
        return native
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "pyarrow_dtype"):
        return native.array.__arrow_array__()
    return None


def _to_times(series: nw.Series[Any]) -> NDArray[Any] | None:
    """Return a column of dates, times or durations as NumPy's, from the whole numbers that it stores; else None."""
    arrow = _to_arrow(series)
    if arrow is not None:
        return _arrow_to_times(arrow)
    native, dtype = series.to_native(), series.dtype
    if series.implementation.is_polars() and dtype.is_temporal():
        resolution = "D" if isinstance(dtype, nw.Date) else getattr(dtype, "time_unit", "ns")
        counts = native.to_physical().cast(int).fill_null(NOT_A_TIME).to_numpy()
        return _view_as_times(counts, resolution, instant=isinstance(dtype, nw.Date | nw.Datetime))
    if series.implementation.is_pandas_like() and native.dtype.kind in "mM":
        zoned = getattr(native.dtype, "tz", None) is not None
        result: NDArray[Any] = (native.dt.tz_convert(None) if zoned else native).to_numpy()
        return result
    return None


def _arrow_to_times(column: Any) -> NDArray[Any] | None:
    pa = import_optional("pyarrow")
    kind = arrow_value_type(column.type)
    if not _is_arrow_type(kind, TIMES):
        return None
    if pa.types.is_run_end_encoded(column.type):
        column = import_optional("pyarrow.compute").run_end_decode(column)
    resolution = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    counts = column.cast(kind).cast(stored).cast(pa.int64()).fill_null(NOT_A_TIME).to_numpy()
    return _view_as_times(counts, resolution, instant=pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _view_as_times(counts: NDArray[Any], resolution: str, *, instant: bool) -> NDArray[Any]:
    return counts.astype(np.int64, copy=False).view(f"{'M8' if instant else 'm8'}[{resolution}]")


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
        self.backend = frame.implementation.name.lower()
        self.kind = f"{self.backend} table"

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
                numbers[:, j] = to_floats(self._columns[name][piece], scale)
            labels = [to_python_values(self._columns[name][piece]) for name in reading.categories]
            yield DeclaredRows(numbers, reading.codes(labels, len(numbers)))

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column."""
        yield unit_cells(self._columns[column])
