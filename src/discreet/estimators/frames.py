"""Data frames in memory, as estimators take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from discreet.arguments import listed
from discreet.records.table_source import as_frame, numeric

__all__ = ["select_columns", "with_days"]


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
