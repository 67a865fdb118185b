"""The cells of a table's column as Python values, and which types of column can be read.

A library that makes Python values of a column fails as a whole for one cell: text that is not UTF-8, a date after the
year 9999. Its error would show the cell, and come after the spend. So no function here raises for a cell: moments are
read as whole numbers in the column's resolution, and where a column fails all the same it is read cell by cell, and
what fails then is missing.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records import cells
from discreet.records.optional import need

__all__ = ["arrow_values", "numeric", "plain", "readable"]

NOT_A_TIME = -(2**63)
STOP = (KeyboardInterrupt, SystemExit)

# What holds numbers and categories, by the names of pyarrow.types and of Polars; then what also names a unit. Nested
# types hold neither. A list of what is known, so that a type yet to come is refused and not dropped row by row.
ARROW = ("null", "boolean", "integer", "floating", "decimal", "string", "large_string", "string_view")
ARROW_TIMES = ("date", "time", "timestamp", "duration")
ARROW_BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
POLARS = ("Null", "Boolean", "String", "Categorical", "Enum", "Object")
POLARS_UNIT = (*POLARS, "Date", "Time", "Datetime", "Duration", "Binary")


def readable(series: nw.Series[Any], *, unit: bool) -> bool:
    """Return whether a column's type can hold names of units, or else numbers and categories; no cell is looked at.

    Typed tables state their types. Pandas guesses them from the rows, and a guess must not decide over an error: there
    the types that a reader may guess pass for everything, and cells that do not fit are missing.
    """
    arrow = _arrow(series)
    if arrow is not None:
        wide = unit or series.implementation.is_pandas_like()
        return _is(arrow_values(arrow.type), ARROW + ARROW_TIMES + ARROW_BYTES if wide else ARROW)
    if series.implementation.is_polars():
        dtype = series.to_native().dtype
        return bool(dtype.is_numeric()) or dtype.base_type().__name__ in (POLARS_UNIT if unit else POLARS)
    return True


def arrow_values(kind: Any) -> Any:
    """Return the Arrow type of the values behind a dictionary, a run-end encoding or an extension."""
    pa = need("pyarrow")
    while True:
        if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        else:
            return kind


def _is(kind: Any, names: tuple[str, ...]) -> bool:
    return any(getattr(need("pyarrow").types, f"is_{name}")(kind) for name in names)


def numeric(series: nw.Series[Any]) -> NDArray[Any]:
    """Return a column as floats, NaN where a cell holds no number."""
    dtype = series.dtype
    machine = dtype.is_float() or dtype.is_integer() or isinstance(dtype, nw.Boolean)
    if machine and not isinstance(dtype, nw.Int128 | nw.UInt128):  # NumPy has no such integers
        found: NDArray[Any] = series.to_numpy()
        if found.dtype.kind in "biuf":
            return found
    return cells.numbers(plain(series))


def plain(series: nw.Series[Any]) -> list[Any]:
    """Return a column as Python values, moments as NumPy's, None where a cell cannot be read.

    Whole numbers stay whole: beyond 2**53 a float would confuse two units.
    """
    try:
        times = _times(series)
        return series.to_list() if times is None else list(times)
    except BaseException as error:  # a panic of Polars is no Exception
        if isinstance(error, STOP):
            raise
    return [_cell(series, j) for j in range(len(series))]


def _cell(series: nw.Series[Any], place: int) -> Any:
    try:
        return series[place]
    except BaseException as error:
        if isinstance(error, STOP):
            raise
    return None


def _arrow(series: nw.Series[Any]) -> Any:
    """Return a column of Arrow, or of pandas where Arrow holds it, as Arrow's; else None."""
    native = series.to_native()
    if series.implementation.is_pyarrow():
        return native
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "pyarrow_dtype"):
        return native.array.__arrow_array__()
    return None


def _times(series: nw.Series[Any]) -> NDArray[Any] | None:
    """Return a column of dates, times or durations as NumPy's, from the whole numbers that it stores; else None."""
    arrow = _arrow(series)
    if arrow is not None:
        return _arrow_times(arrow)
    native, dtype = series.to_native(), series.dtype
    if series.implementation.is_polars() and dtype.is_temporal():
        resolution = "D" if isinstance(dtype, nw.Date) else getattr(dtype, "time_unit", "ns")
        counts = native.to_physical().cast(int).fill_null(NOT_A_TIME).to_numpy()
        return _moments(counts, resolution, instant=isinstance(dtype, nw.Date | nw.Datetime))
    if series.implementation.is_pandas_like() and native.dtype.kind in "mM":
        zoned = getattr(native.dtype, "tz", None) is not None
        found: NDArray[Any] = (native.dt.tz_convert(None) if zoned else native).to_numpy()
        return found
    return None


def _arrow_times(column: Any) -> NDArray[Any] | None:
    pa = need("pyarrow")
    kind = arrow_values(column.type)
    if not _is(kind, ARROW_TIMES):
        return None
    if pa.types.is_run_end_encoded(column.type):
        column = need("pyarrow.compute").run_end_decode(column)
    resolution = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    counts = column.cast(kind).cast(stored).cast(pa.int64()).fill_null(NOT_A_TIME).to_numpy()
    return _moments(counts, resolution, instant=pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _moments(counts: NDArray[Any], resolution: str, *, instant: bool) -> NDArray[Any]:
    return counts.astype(np.int64, copy=False).view(f"{'M8' if instant else 'm8'}[{resolution}]")
