"""What data a caller has given: of which library it is, which columns it has, and what it is called in a ledger.

This is the one place that recognises the library that a collection of rows comes from; ``opening`` then chooses the
source. Rows of a file, a database, Dask or Spark are *stored*: they are read as declared, and no error depends on a
row. Other rows are in memory, passed by a person who may see them: arrays, and tables that narwhals knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.records.sources.engines import Table, has_several_tables, open_engine
from discreet.records.sources.frames import as_frame
from discreet.sql.text import quote_identifier

NAMELESS = "expected the data set's name in the ledger; write for example name='clinic'"


def is_dask(data: Any) -> bool:
    """Return whether something is a Dask collection."""
    dask = sys.modules.get("dask")  # a Dask collection exists only where dask was imported
    return dask is not None and bool(dask.is_dask_collection(data))


def is_spark(data: Any) -> bool:
    """Return whether something is a Spark data frame, of a session of its own or of Spark Connect."""
    return "pyspark" in sys.modules and hasattr(data, "mapInArrow")


def is_file(data: Any) -> bool:
    """Return whether rows are those of a file or of a table in a database."""
    return isinstance(data, str | os.PathLike | Table)


def is_stored(data: Any) -> bool:
    """Return whether rows are read as declared: those of a file, a table in a database, Dask or Spark."""
    return is_file(data) or is_dask(data) or is_spark(data)


is_array = is_array_api_obj  # an array in memory, of NumPy or of another library
is_numpy = is_numpy_array


def as_table(data: Any) -> Any:
    """Return one column, or a list, as a table; anything else as it is."""
    if isinstance(data, list | tuple):
        if data and isinstance(data[0], Mapping):
            raise ValueError("data: expected rows in a table, got a list of dictionaries; write pandas.DataFrame(data)")
        try:
            data = np.asarray(data)
        except ValueError:
            raise ValueError("data: expected numbers, or rows of the same length") from None
    if is_array(data):
        return data.reshape(-1, 1) if data.ndim == 1 else data
    if is_stored(data):
        return data
    if data is None or isinstance(data, Mapping | float | int):
        raise ValueError(
            f"data of type {type(data).__name__}: expected rows, as an array, a data frame, a path of Parquet files, a "
            "Dask collection, Records or a Curator; write pandas.DataFrame(data) for a dictionary of columns"
        )
    try:
        series = nw.from_native(data, series_only=True)
    except TypeError:
        return data
    return series.to_frame().to_native()


def column_names(data: Any) -> list[str]:
    """Return the names of the columns of a file, a table or a data frame; errors where they have none."""
    if is_file(data):
        return list(open_engine(data).types)
    frame = data if (is_dask(data) and hasattr(data, "columns")) or is_spark(data) else as_frame(data)
    if frame is None:
        way = "dask.dataframe.from_dask_array(X)" if is_dask(data) else "pandas.DataFrame(X, columns=[…])"
        raise ArgumentError("X", UNSHOWN, "a data frame, whose columns have names", way)
    return [str(name) for name in frame.columns]


def dataset_name(data: Any) -> str:
    """Return the usual name of the rows in a file or in a table of a database, for a ledger.

    One data set has one budget only if it always has the same name, however its location is written. So links are
    followed, and a table of a database has the schema in which the database found it.

    That of a file or folder is its own up to the first dot, not that of a link to it. That of a table in a DuckDB file
    or a PostgreSQL database is ``schema.table``, with the schema in which it was found; a part with a dot is quoted.

    >>> dataset_name("clinic/visits.csv.gz")
    'visits'
    """
    if not is_file(data):
        raise ValueError(f"name=None: {NAMELESS}")
    table = data if isinstance(data, Table) else Table(data)
    if has_several_tables(table.location):
        engine: Any = open_engine(table)
        return ".".join(quote_identifier(part) if set(part) & {".", '"'} else part for part in engine.table_name)
    name = Path(os.path.realpath(table.location)).name.lstrip(".").split(".")[0]
    if not name:
        raise ValueError(f"name=None: {NAMELESS}")
    return name
