"""Opens data with its declarations as records: ``as_records``, and ``open_records`` for bounds in short forms.

``as_records`` takes exact declarations, and every other way in goes through it. It checks the declarations as far as
possible without the data, and then chooses the source by the library that the data comes from (``given_data``). Which
engine reads a file or a table of a database is chosen in ``sources.engines``.

``open_records`` also takes bounds in the short forms of ``declared.bounds``, lists and single columns. Rows in memory
with bounds alone are checked for NaN, infinities and text (``complete_rows``), which is the owner's own path and
outside of the guarantee. No such check is made where a schema says what happens to such values, nor for stored rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array
from narwhals.exceptions import DuplicateError

from discreet.arguments import UNSHOWN, ArgumentError, choice, format_names, integer, suggest_name
from discreet.records.complete_rows import check_owned
from discreet.records.declared.ball import Ball
from discreet.records.declared.bounds import fill_number_gaps, read_bounds
from discreet.records.declared.box import Box
from discreet.records.declared.columns import MISSING
from discreet.records.declared.schema import Schema, as_reading
from discreet.records.device_reading import check_device, device_block_rows, is_on_device
from discreet.records.generic_arrays import to_host
from discreet.records.given_data import as_table, is_dask, is_file, is_spark, is_stored
from discreet.records.reading import Reading, Unit, check_no_limit
from discreet.records.records import Records
from discreet.records.row_choice import UnitCells
from discreet.records.sources.arrays import ArraySource, check_array, check_ids, check_shape, unit_cells
from discreet.records.sources.csv_files import CsvEngine, is_value
from discreet.records.sources.dask_collections import DaskSource
from discreet.records.sources.databases import SqlSource
from discreet.records.sources.engines import open_engine
from discreet.records.sources.frames import NAMES, TableSource, check_type, check_types, unique_names
from discreet.records.sources.frames import unit_cells as series_cells
from discreet.records.sources.source import Source, default_block_rows
from discreet.records.sources.spark_frames import SparkSource
from discreet.records.sources.stored import Engine, SqlEngine, StoredSource
from discreet.records.sources.text_files import TextSource

WRITE = (
    "Bounds are declared, never taken from the data: write for example space=Box(low=[0, 40], high=[120, 250]) or "
    "schema=Schema({'age': Number(0, 120)})"
)
WRITE_SCHEMA = "Schema({'age': Number(0, 120), 'ward': Category(['a', 'b'])}), or Schema.from_toml(path) for a file"
WRITE_FILL = "for example Number(0, 120, missing='fill', fill=40)"


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
    device: str | None = None,
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
        The largest block. If None, up to 16,384 by the number of columns, and up to 2²² for an array on a GPU.
    device : str or None
        For rows that are on the host, in arrays, tables or files: a device of torch on which they are computed, as
        "cuda". Blocks are copied there one after the other, so there may be more rows than fit. None: where they are.

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
        given = (space, schema, unit, max_rows, unit_type, order, block_rows, device)
        if any(one is not None for one in given) or missing != "drop":
            raise ValueError("data is Records already, with declarations of its own: leave the other arguments out")
        return data
    if (space is None) == (schema is None):
        result = "neither space nor schema" if space is None else "both space and schema"
        raise ValueError(f"{result}: expected exactly one. {WRITE}")
    if not isinstance(space, Box | Ball | None):
        raise ArgumentError("space", space, "a Box or a Ball", "for example space=Box(0, 1)")
    if not isinstance(schema, Schema | None):
        raise ArgumentError("schema", schema, "a Schema", WRITE_SCHEMA)
    if choice("missing", missing, MISSING) != "drop" and schema is not None:
        raise ArgumentError("missing", missing, "'drop' where there is a schema", WRITE_FILL)
    limit = {"max_rows": max_rows, "unit_type": unit_type, "order": order}
    if schema is not None:
        unit, limit = _merge_limit(schema, unit, limit)
    if unit is None:
        check_no_limit(**limit)
    if block_rows is not None:
        block_rows = integer("block_rows", block_rows, least=1, most=2**30)
    elif device is not None or is_on_device(data):
        block_rows = device_block_rows(data, device)
    place = None if device is None else check_device(device, workers=is_dask(data) or is_spark(data))
    return Records(_source(data, _Declarations(space, schema, unit, limit, missing, block_rows, place)))


def _merge_limit(schema: Schema, unit: Any, limit: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the unit and what limits its rows, from the schema and from arguments that must not contradict it."""
    # By number or by array a unit is for data without names, and comes before the schema's name.
    for name, value in {**limit, "unit": unit if isinstance(unit, str) else None}.items():
        given, stated = value.item() if isinstance(value, np.generic) else value, getattr(schema, name)
        if given is not None and stated is not None and given != stated:
            raise ValueError(f"{name}={given!r}, and the schema has {stated!r}: expected one of them, or both the same")
    merged = {name: getattr(schema, name) if value is None else value for name, value in limit.items()}
    return schema.unit if unit is None else unit, merged


class _Declarations(NamedTuple):
    """What was declared: the arguments of ``as_records``, checked against each other.

    Attributes
    ----------
    space, schema, missing, block_rows, device
        As there.
    unit : str, int, array or None
        The name or the number of a column, or the units themselves.
    limit : mapping
        ``max_rows``, ``unit_type`` and ``order``.
    """

    space: Any
    schema: Schema | None
    unit: Any
    limit: Mapping[str, Any]
    missing: str
    block_rows: int | None
    device: str | None = None

    def table(self, names: Sequence[str]) -> Reading:
        """Return the reading of a table whose columns have ``names``."""
        if not isinstance(self.unit, str | None):
            raise ArgumentError("unit", UNSHOWN, "the name of a column of the table", "for example unit='patient_id'")
        reading = self._reading(names, self.unit)
        for name in reading.needed:
            if name not in names:
                expected = f"expected one of {format_names(names)}{suggest_name(name, names)}"
                if any(map(is_value, names)) or not {*names} & {*reading.needed}:
                    expected = "its first line may be a row, so nothing of it is shown; write the names of the columns"
                raise ValueError(f"the column {name!r} is not in the data: {expected}")
        return reading

    def array(self, width: int) -> tuple[tuple[str, ...], Reading]:
        """Return names for the columns of an array, and its reading. Units in an array of their own are called "unit".

        An array's columns are found by these names, so none is there twice, the unit's included.
        """
        place = None if self.unit is None else self._place(width)
        read = [f"x{j}" for j in range(width) if j != place]
        names = read if self.schema is None else list(self.schema.names)
        if len(read) != len(names):
            raise ValueError(
                f"data has {len(read)} columns to read, the schema {len(names)}: expected as many, in the same order"
            )
        unit = None if self.unit is None else "unit" if place is None else f"x{place}"
        while unit in names:
            unit = f"{unit}_"
        every = names if unit is None or place is None else [*names[:place], unit, *names[place:]]
        return tuple(every), self._reading(names, unit)

    def _place(self, width: int) -> int | None:
        """Return which column of an array names the unit; None where the units come in an array of their own."""
        if isinstance(self.unit, str):
            write = "the number of its column, as unit=0, or an array of units, one a row"
            raise ArgumentError("unit", self.unit, "no name, since an array has none", write)
        several = hasattr(self.unit, "__len__") or hasattr(self.unit, "shape")
        beside = several and getattr(self.unit, "ndim", 1) > 0
        return None if beside else integer("unit", self.unit, least=0, most=width - 1)

    def _reading(self, names: Sequence[str], unit: str | None) -> Reading:
        if self.schema is not None:
            rows = self.block_rows or default_block_rows(len(self.schema.columns))
            reading = replace(as_reading(self.schema, rows), device=self.device)
        else:
            numbers = tuple(name for name in names if name != unit)
            if not numbers:
                raise ValueError("data has no column beside the unit's: expected at least one")
            width, space = len(numbers), self.space.for_columns(len(numbers))
            fills = space.center if self.missing == "fill" else (None,) * width
            rows = self.block_rows or default_block_rows(width)
            reading = Reading(numbers, ("linear",) * width, fills, space, space, {}, None, rows, device=self.device)
        if unit is None:
            return reading
        return replace(reading, unit=Unit.declared(unit, **self.limit, numbers=reading.numbers))


# What reads the table of an engine: the first that fits.
SOURCES: tuple[tuple[type[Engine], Callable[..., Source]], ...] = (
    (SqlEngine, SqlSource),
    (CsvEngine, TextSource),
    (Engine, StoredSource),
)


def _source(data: Any, declared: _Declarations) -> Source:
    if is_dask(data):
        return _dask_source(data, declared)
    if is_spark(data):
        return SparkSource(data, declared.table(unique_names(data.columns)))
    if is_array_api_obj(data):
        return _array_source(check_array(data), declared)
    if is_file(data):
        engine = open_engine(data)
        reading = declared.table(tuple(engine.types))
        return next(source for kind, source in SOURCES if isinstance(engine, kind))(engine, reading)
    return _table_source(data, declared)


def _array_source(data: Any, declared: _Declarations) -> Source:
    names, reading = declared.array(data.shape[1])
    ids = None if reading.unit is None else _read_ids(declared.unit, data, beside=reading.unit.column not in names)
    return ArraySource(data, names, reading, ids=ids)


def _table_source(data: Any, declared: _Declarations) -> Source:
    try:
        frame = nw.from_native(data, eager_only=True)
        names = tuple(unique_names(frame.columns))
    except DuplicateError:
        unique_names(getattr(data, "column_names", None) or data.columns)  # raises our own error
        raise
    except TypeError:
        raise ValueError(
            f"data of type {type(data).__qualname__}: expected an array of two dimensions, a pandas, Polars, Arrow or "
            "Spark data frame, a path of Parquet files, or a Dask collection; write numpy.asarray(data) for a list, "
            "data.to_frame() for a single column, data.collect() for a lazy frame of Polars, data.toarray() for a "
            "sparse matrix, data.toDF() for an RDD of Spark"
        ) from None
    reading = declared.table(names)
    check_types(frame, reading)
    return TableSource(frame, reading)


def _dask_source(data: Any, declared: _Declarations) -> Source:
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
    names, reading = declared.array(data.shape[1])
    if reading.unit is not None:
        if reading.unit.column not in names:
            raise ValueError(
                "unit: for a Dask array expected the number of the units' column; write unit=0 for the first"
            )
        check_ids(data.dtype.kind)
    return DaskSource(data, names, reading)


def _array_kind(data: Any) -> str:
    """Return the kind of an array's type, as NumPy writes it."""
    return str(data.dtype.kind) if is_numpy_array(data) else str(to_host(data[:0, ...]).dtype.kind)


def _read_ids(unit: Any, data: Any, *, beside: bool) -> UnitCells | None:
    """Return units that came beside an array; None where they are a column of it, whose type is checked.

    Nothing is converted: in a list 7 and "07" must stay what they are.
    """
    if not beside:
        check_ids(_array_kind(data))
        return None
    if is_dask(unit):
        raise ValueError("unit: expected units in memory beside an array in memory; write unit.compute()")
    if isinstance(unit, np.ma.MaskedArray):  # what a mask covers is missing
        check_ids(unit.dtype.kind)
        whole, size = unit.dtype.kind in "iu", unit.shape
        result = UnitCells(unit.data, np.ma.getmaskarray(unit)) if whole else UnitCells(unit.tolist())
    elif is_array_api_obj(unit):
        check_ids(_array_kind(unit))
        result, size = unit_cells(unit), tuple(unit.shape)
    else:
        result = _read_listed_ids(unit)
        size = (len(result.cells),)
    if size != (data.shape[0],):
        raise ValueError("unit: expected one unit for each row of data, in an array of one dimension")
    return result


def _read_listed_ids(unit: Any) -> UnitCells:
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(unit, arrow.Array):
        unit = arrow.chunked_array([unit])
    try:
        series = nw.from_native(unit, series_only=True)
    except TypeError:
        return UnitCells(list(unit))
    check_type("unit", series, NAMES)
    return series_cells(series)


def open_records(
    data: Any,
    *,
    bounds: Any = None,
    classes: Any = None,
    schema: Schema | None = None,
    complete: bool | None = None,
    **units: Any,
) -> Records:
    """Return rows as records, from bounds in short forms or a schema.

    Parameters
    ----------
    data : Records, array of one or two dimensions, list, data frame, series, path, Table, or Dask collection
    bounds : (low, high), list of pairs, Box, Ball, or mapping of str to pairs or columns
        Where numbers lie: see ``discreet.records.declared.bounds``. Public, never taken from the rows.
    classes : mapping of str to list or Category, optional
        Columns of categories beside bounds by name, and which categories there are.
    schema : Schema, optional
        In place of both.
    complete : bool, optional
        For rows in memory with bounds alone. By default they are checked: a gap is an error. True where the caller has
        checked them; False where they are read as declared, so that a row with a gap is dropped.
    **units
        ``unit``, ``max_rows``, ``unit_type``, ``order``, ``block_rows``: as in ``as_records``.

    Examples
    --------
    >>> open_records([[30.0, 118.0], [45.0, 131.0]], bounds=[(0, 120), (40, 250)])
    Records(numpy array, columns=('x0', 'x1'), space=Box(low=(0.0, 40.0), high=(120.0, 250.0)))
    """
    declared = {"bounds": bounds, "classes": classes, "schema": schema}
    given = [name for name, value in (declared | units).items() if value is not None]
    if isinstance(data, Records):
        if given:
            raise ValueError(f"{given[0]}: expected None, since the Records have declarations of their own")
        return data
    if (bounds is None and classes is None) == (schema is None):
        result = "bounds, schema: expected one of them, got " + ("none" if schema is None else "both")
        raise ValueError(
            f"{result}. Columns are declared, never taken from the rows: write for example bounds=(0, 120), "
            "bounds={'age': (0, 120)}, or a Schema where there are categories or gaps"
        )
    data = as_table(data)
    if schema is not None:
        return as_records(data, schema=schema, **units)
    space = read_bounds(bounds, classes)
    owned = complete is not False and not is_stored(data)
    if owned and complete is None:
        check_owned(data, space, units.get("unit"))
    # Every row is complete, so nothing is filled; this declares that no row is dropped.
    if isinstance(space, Schema):
        return as_records(data, schema=fill_number_gaps(space) if owned else space, **units)
    return as_records(data, space=space, missing="fill" if owned else "drop", **units)
