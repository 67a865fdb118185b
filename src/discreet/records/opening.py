"""From data and declarations to records, read as declared: which source reads what."""

from __future__ import annotations

import sys
from typing import Any

import narwhals as nw
import numpy as np
from array_api_compat import device, is_array_api_obj, is_numpy_array
from narwhals.exceptions import DuplicateError

from discreet.records.array_source import ArraySource, check_array, check_ids, check_shape, unit_cells
from discreet.records.ball import Ball
from discreet.records.box import Box
from discreet.records.dask_source import DaskSource
from discreet.records.declared import Declared
from discreet.records.libraries import is_dask, is_file
from discreet.records.records import Records
from discreet.records.schema import Schema
from discreet.records.source import Source
from discreet.records.space import to_host
from discreet.records.sql_engine import SqlEngine
from discreet.records.sql_source import SqlSource
from discreet.records.sql_table import open_table
from discreet.records.stored_source import StoredSource
from discreet.records.table_cells import NAMES
from discreet.records.table_cells import unit_cells as series_cells
from discreet.records.table_source import TableSource, check_type, check_types, unique_names
from discreet.records.units import UnitCells

__all__ = ["as_records"]

DEVICE_ROWS = 2**20


def as_records(
    data: Any,
    *,
    space: Box | Ball | None = None,
    schema: Schema | None = None,
    unit: Any = None,
    max_rows: int | None = None,
    unit_type: str | None = None,
    order: str | None = None,
    missing: str = "drop",
    block_rows: int | None = None,
) -> Records:
    """Return ``data`` as records, read as declared.

    Parameters
    ----------
    data : array, table or path
        A NumPy array or another array of two dimensions (torch, CuPy, JAX …); a pandas, Polars or Arrow table; the
        path of a Parquet file or of a folder of them, read in batches; a Dask array or data frame; a ``Table``, or the
        path of a CSV, Arrow or DuckDB file, which a database reads.
    space : Box or Ball or None
        For rows of numbers: where they lie. In a table it is for all columns but the unit's.
    schema : Schema or None
        For tables with categories, or where values are missing in different ways. Exactly one of ``space`` and
        ``schema`` is given. In an array the schema's columns are the array's, in order.
    unit : str, int, array or None
        Whose row it is, where one person has several: the name of a column; for an array the number of a column, or
        the units themselves, one a row. None when each row stands for itself. What is protected is the name, so
        different people need different ones.
    max_rows : int or None
        With ``unit``: how many rows of one unit count. Which ones follows from that unit's own declared rows, by a
        public rule (``row_choice``), whatever the source.
    unit_type : str or None
        What names the units: "text" (the default; a whole number is its digits) or "integer" ("007" is 7). Rows whose
        unit is missing, or cannot be read so, are left out. A column of floats is refused.
    order : str or None
        A declared column of numbers or dates: of each unit the rows that are first in it count.
    missing : str
        With ``space``: "drop" leaves out a row in which a number is missing or not finite; it still counts in ``rows``.
        "fill" puts the centre of the space in the place of the number. A schema says this for each column.
    block_rows : int or None
        The largest block. If None, up to 16,384 by the number of columns, and 2²⁰ for an array on a GPU.

    Returns
    -------
    Records

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.records import Ball, as_records
    >>> rows = np.array([[3.0, 4.0], [6.0, 8.0]])
    >>> records = as_records(rows, space=Ball(9), unit=["ann", "ann"], max_rows=1, order="x0")
    >>> records.reduce(lambda block: block.x.sum(axis=0), 2).tolist()
    [3.0, 4.0]
    """
    if isinstance(data, Records):
        given = (space, schema, unit, max_rows, unit_type, order, block_rows)
        if any(one is not None for one in given) or missing != "drop":
            raise ValueError("data is Records already, with declarations of its own: leave the other arguments out")
        return data
    if block_rows is None and is_array_api_obj(data) and "cpu" not in str(device(data)).lower():
        block_rows = DEVICE_ROWS
    limit = {"max_rows": max_rows, "unit_type": unit_type, "order": order}
    return Records(_source(data, Declared(space, schema, unit, limit, missing, block_rows)))


def _source(data: Any, declared: Declared) -> Source:
    if is_file(data):
        engine = open_table(data)
        reading = declared.table(tuple(engine.types))
        return SqlSource(engine, reading) if isinstance(engine, SqlEngine) else StoredSource(engine, reading)
    if is_dask(data):
        return _dask_source(data, declared)
    return _array_source(data, declared) if is_array_api_obj(data) else _table_source(data, declared)


def _array_source(data: Any, declared: Declared) -> Source:
    data = check_array(data)
    names, reading = declared.array(data.shape[1])
    ids = _ids(declared.unit, data.shape[0]) if declared.beside else None
    if ids is None and reading.unit is not None:
        check_ids(_kind(data))
    return ArraySource(data, names, reading, ids=ids)


def _table_source(data: Any, declared: Declared) -> Source:
    try:
        frame = nw.from_native(data, eager_only=True)
        names = tuple(unique_names(frame.columns))
    except DuplicateError:
        unique_names(getattr(data, "column_names", None) or data.columns)  # raises, with our words
        raise
    except TypeError:
        raise ValueError(
            f"data of type {type(data).__qualname__}: expected an array of two dimensions, a pandas, Polars or Arrow "
            "table, a path of Parquet files, or a Dask collection; write numpy.asarray(data) for a list, "
            "data.to_frame() for a single column, data.collect() for a lazy frame, data.toarray() for a sparse matrix"
        ) from None
    reading = declared.table(names)
    check_types(frame, reading)
    return TableSource(frame, reading)


def _dask_source(data: Any, declared: Declared) -> Source:
    if hasattr(data, "dtypes") and hasattr(data, "columns"):
        reading = declared.table(unique_names(data.columns))
        check_types(nw.from_native(data._meta, eager_only=True), reading)
        return DaskSource(data, None, reading)
    if not hasattr(data, "rechunk"):
        raise ValueError(
            f"data of type {type(data).__qualname__}: expected a Dask array or data frame; write data.to_dataframe()"
        )
    check_shape(data)
    if not is_array_api_obj(data._meta):  # scipy's sparse matrices
        raise ValueError(
            f"data has chunks of type {type(data._meta).__qualname__}: expected arrays; "
            "write data.map_blocks(lambda chunk: chunk.toarray())"
        )
    if data.dtype.kind not in "biufOSUT":
        raise ValueError(f"data has the type {data.dtype}: expected numbers; write data.astype('float64')")
    if declared.beside:
        raise ValueError("unit: for a Dask array expected the number of the units' column; write unit=0 for the first")
    names, reading = declared.array(data.shape[1])
    if reading.unit is not None:
        check_ids(data.dtype.kind)
    return DaskSource(data, names, reading)


def _kind(data: Any) -> str:
    """Return the kind of an array's type, as NumPy writes it."""
    return str(data.dtype.kind) if is_numpy_array(data) else str(to_host(data[:0, ...]).dtype.kind)


def _ids(unit: Any, rows: int) -> UnitCells:
    """Return units that came beside the rows. Nothing is converted: in a list 7 and "07" must stay what they are."""
    if is_dask(unit):
        raise ValueError("unit: expected units in memory beside an array in memory; write unit.compute()")
    if isinstance(unit, np.ma.MaskedArray):  # what a mask covers is missing
        check_ids(unit.dtype.kind)
        whole, size = unit.dtype.kind in "iu", unit.shape
        found = UnitCells(unit.data, np.ma.getmaskarray(unit)) if whole else UnitCells(unit.tolist())
    elif is_array_api_obj(unit):
        check_ids(_kind(unit))
        found, size = unit_cells(unit), tuple(unit.shape)
    else:
        found = _listed(unit)
        size = (len(found.cells),)
    if size != (rows,):
        raise ValueError("unit: expected one unit for each row of data, in an array of one dimension")
    return found


def _listed(unit: Any) -> UnitCells:
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(unit, arrow.Array):
        unit = arrow.chunked_array([unit])
    try:
        series = nw.from_native(unit, series_only=True)
    except TypeError:
        return UnitCells(list(unit))
    check_type("unit", series, NAMES)
    return series_cells(series)
