"""Which library a collection of rows comes from: the one place that knows.

Rows are *stored* where they are read as declared, and nothing that is raised depends on one: those of a file, of a
database, of Dask. Others are in memory, handed over by whoever may see them: arrays, and tables that narwhals knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from discreet.arguments import listed
from discreet.records.parquet_source import parquet_files, parquet_names
from discreet.records.sql_table import Table, read_by_database
from discreet.records.table_cells import numeric

__all__ = [
    "as_frame",
    "as_table",
    "column_names",
    "is_array",
    "is_dask",
    "is_file",
    "is_numpy",
    "is_stored",
    "select_columns",
    "with_days",
]


def is_dask(data: Any) -> bool:
    """Return whether something is a Dask collection."""
    dask = sys.modules.get("dask")  # whoever has a Dask collection has imported it
    return dask is not None and bool(dask.is_dask_collection(data))


def is_file(data: Any) -> bool:
    """Return whether rows are those of a file or of a table in a database."""
    return isinstance(data, str | os.PathLike | Table)


def is_stored(data: Any) -> bool:
    """Return whether rows are read as declared: those of a file, a table in a database, or Dask."""
    return is_file(data) or is_dask(data)


def is_array(data: Any) -> bool:
    """Return whether something is an array in memory, of NumPy or of another library."""
    return is_array_api_obj(data)


def is_numpy(data: Any) -> bool:
    """Return whether something is an array of NumPy's."""
    return is_numpy_array(data)


def as_frame(data: Any) -> nw.DataFrame[Any] | None:
    """Return a pandas, Polars or Arrow table for narwhals; None where it is something else."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
    except TypeError:
        return None
    return frame


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
    if isinstance(data, Table) or read_by_database(data):
        return list((data if isinstance(data, Table) else Table(data)).engine().types)
    if is_file(data):
        return parquet_names(parquet_files(Path(data)))
    frame = data if is_dask(data) and hasattr(data, "columns") else as_frame(data)
    if frame is None:
        way = "dask.dataframe.from_dask_array(X)" if is_dask(data) else "pandas.DataFrame(X, columns=[…])"
        raise ValueError(f"X: expected a data frame, whose columns have names; write {way}")
    return [str(name) for name in frame.columns]


def select_columns(data: Any, names: Sequence[str]) -> Any:
    """Return some of the columns of a data frame in memory; an error where one is not there."""
    frame = as_frame(data)
    if frame is None:
        raise ValueError(f"X of type {type(data).__name__}: expected a data frame, whose columns have names")
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"bounds: the column {name!r} is not in the data: expected one of {listed(frame.columns)}")
    return frame.select(list(names)).to_native()


def with_days(data: Any, dated: Sequence[str]) -> Any:
    """Return a data frame with days since 1970-01-01 in the place of dates; anything else as it is."""
    frame = as_frame(data) if dated else None
    there = [] if frame is None else [name for name in dated if name in frame.columns]
    if frame is None or not there:
        return data
    backend = frame.implementation
    days = [nw.new_series(name, numeric(frame[name], "date"), nw.Float64, backend=backend) for name in there]
    kept = frame.with_columns(*days).to_native()
    if hasattr(kept, "index") and hasattr(data, "index"):
        kept.index = data.index
    return kept
