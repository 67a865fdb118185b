"""The cells of a table's column as Python values, and which types of column can be read.

A library that makes Python values of a column fails as a whole for one cell: text that is not UTF-8, a date after the
year 9999. Its error would show the cell, and come after the spend. So no function here raises for a cell: moments are
read as whole numbers in the column's resolution, and where a column fails all the same it is read cell by cell, and
what fails then is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records import cells
from discreet.records.optional import need
from discreet.records.units import UnitCells

__all__ = ["DATES", "LABELS", "NAMES", "NUMBERS", "arrow_values", "numeric", "plain", "readable", "unit_cells"]

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


def readable(series: nw.Series[Any], wanted: str) -> bool:
    """Return whether a column's type can hold what is wanted; no cell is looked at.

    Types are looked at once, when the table is opened, and a refusal is its owner's to see. In pandas a column may also
    be of objects, whose cells are then read one by one.
    """
    arrow = _arrow(series)
    if arrow is not None:
        kind = arrow_values(arrow.type)
        named = wanted is NAMES and (_uuid(arrow.type) or getattr(kind, "scale", 1) == 0)  # a decimal without a point
        return named or _is(kind, ARROW[wanted])
    return _polars_reads(series, wanted) if series.implementation.is_polars() else _pandas_reads(series, wanted)


def _polars_reads(series: nw.Series[Any], wanted: str) -> bool:
    dtype = series.to_native().dtype
    if wanted is NAMES:
        whole = bool(dtype.is_integer()) or getattr(dtype, "scale", 1) == 0
        return whole or dtype.base_type().__name__ in POLARS[NAMES]
    return dtype.base_type().__name__ in POLARS[wanted] or (bool(dtype.is_numeric()) and wanted is not DATES)


def _pandas_reads(series: nw.Series[Any], wanted: str) -> bool:
    native = series.to_native()
    dtype = getattr(getattr(native, "cat", native), "categories", native).dtype  # of pandas' categories
    return dtype.kind in {NAMES: "iuOUT", DATES: "MOUTS"}.get(wanted, "biufOUTS")


def _uuid(kind: Any) -> bool:
    return str(getattr(kind, "extension_name", "")) == "arrow.uuid"


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


def numeric(series: nw.Series[Any], scale: str = "linear") -> NDArray[Any]:
    """Return a column as floats, NaN where a cell holds no number; a column of dates as days."""
    if scale == "date":
        times = _or_none(lambda: _times(series))
        return cells.dates(plain(series)) if times is None or times.dtype.kind != "M" else cells.days(times)
    dtype = series.dtype
    machine = dtype.is_float() or dtype.is_integer() or isinstance(dtype, nw.Boolean)
    if machine and not isinstance(dtype, nw.Int128 | nw.UInt128):  # NumPy has no such integers
        found: NDArray[Any] = series.to_numpy()
        if found.dtype.kind in "biuf":
            return found
    return cells.numbers(plain(series))


def unit_cells(series: nw.Series[Any]) -> UnitCells:
    """Return a column of names of units: whole numbers as they are, others as Python's values."""
    dtype = series.dtype
    if dtype.is_integer() and not isinstance(dtype, nw.Int128 | nw.UInt128):
        gaps = series.null_count() > 0
        found: NDArray[Any] = (series.fill_null(0) if gaps else series).to_numpy()
        if found.dtype.kind in "iu":
            return UnitCells(found, series.is_null().to_numpy().astype(np.bool_) if gaps else None)
    arrow = _arrow(series)
    if arrow is not None and _is(arrow.type, TEXT[1:3]):
        return _text_cells(arrow)
    return UnitCells(plain(series))


def _text_cells(arrow: Any) -> UnitCells:
    """Return a column of text: each text once, and then places."""
    pa = need("pyarrow")
    whole = arrow.cast(pa.large_string()).combine_chunks().dictionary_encode()  # of any size
    names = plain(nw.from_native(pa.chunked_array([whole.dictionary]), series_only=True))
    gone = whole.indices.is_null().to_numpy(zero_copy_only=False)
    return UnitCells(whole.indices.fill_null(0).to_numpy(zero_copy_only=False), gone, names)


def _or_none(read: Callable[[], Any]) -> Any:
    """Return what is read, None where that fails; a panic of Polars is no Exception."""
    try:
        return read()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
    return None


def plain(series: nw.Series[Any]) -> list[Any]:
    """Return a column as Python values, moments as NumPy's, None where a cell cannot be read.

    Whole numbers stay whole: beyond 2**53 a float would confuse two units.
    """
    times = _or_none(lambda: _times(series))
    found = _or_none(series.to_list) if times is None else list(times)
    return [_or_none(partial(series.__getitem__, j)) for j in range(len(series))] if found is None else found


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
    if not _is(kind, TIMES):
        return None
    if pa.types.is_run_end_encoded(column.type):
        column = need("pyarrow.compute").run_end_decode(column)
    resolution = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    counts = column.cast(kind).cast(stored).cast(pa.int64()).fill_null(NOT_A_TIME).to_numpy()
    return _moments(counts, resolution, instant=pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _moments(counts: NDArray[Any], resolution: str, *, instant: bool) -> NDArray[Any]:
    return counts.astype(np.int64, copy=False).view(f"{'M8' if instant else 'm8'}[{resolution}]")
