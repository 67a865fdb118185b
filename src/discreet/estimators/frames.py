"""Data frames in memory, as estimators take them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from discreet.arguments import listed
from discreet.records.table_source import as_frame, numeric

__all__ = ["frame_library", "select_columns", "to_frame", "with_days"]


def frame_library(data: Any) -> str | None:
    """Return the library of a data frame whose columns have names; None of anything else.

    >>> import pandas as pd
    >>> frame_library(pd.DataFrame({"age": [30.0]})), frame_library([[30.0]])
    ('pandas', None)
    """
    frame = as_frame(data)
    named = frame is not None and all(isinstance(name, str) for name in frame.columns)
    return frame.implementation.name.lower() if frame is not None and named else None


def to_frame(columns: Mapping[str, Any], library: str) -> Any:
    """Return columns as a data frame of a library.

    >>> to_frame({"age": [30.0, 41.0]}, "polars").columns
    ['age']
    """
    backend: Any = library
    return nw.from_dict(dict(columns), backend=backend).to_native()


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
