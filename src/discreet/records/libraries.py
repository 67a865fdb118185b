"""Which library a collection of rows comes from: the one place that knows.

Rows are *stored* where they are read as declared, and nothing that is raised depends on one: those of a file, of a
database, of Dask. Others are in memory, handed over by whoever may see them: arrays, and tables that narwhals knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.records.sql_table import Table, open_table

__all__ = ["as_frame", "as_table", "column_names", "is_array", "is_dask", "is_file", "is_numpy", "is_stored"]


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


is_array = is_array_api_obj  # an array in memory, of NumPy or of another library
is_numpy = is_numpy_array


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
    if is_file(data):
        return list(open_table(data).types)
    frame = data if is_dask(data) and hasattr(data, "columns") else as_frame(data)
    if frame is None:
        way = "dask.dataframe.from_dask_array(X)" if is_dask(data) else "pandas.DataFrame(X, columns=[…])"
        raise ArgumentError("X", UNSHOWN, "a data frame, whose columns have names", way)
    return [str(name) for name in frame.columns]
