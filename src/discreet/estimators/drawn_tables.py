"""Drawn columns with gaps as a table: a data frame of a library, or arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray


def to_table(columns: Mapping[str, tuple[NDArray[Any], NDArray[np.bool_]]], backend: Any) -> Any:
    """Return columns with gaps as a data frame of a library, or as a dictionary of arrays."""
    if backend is None:
        backend = next(
            (name for name in ("pandas", "polars", "pyarrow") if name in sys.modules or find_spec(name)), None
        )
    if backend is None:
        return {name: _with_gaps(values, missing) for name, (values, missing) in columns.items()}
    series = {}
    for name, (values, missing) in columns.items():
        if not missing.any():
            series[name] = nw.new_series(name, values, backend=backend)
        elif backend == "pandas" and values.dtype.kind in "ifM":
            series[name] = nw.new_series(name, _with_gaps(values, missing), backend=backend)
        else:
            cells = [None if gap else cell for cell, gap in zip(values.tolist(), missing, strict=True)]
            kind: Any = {"i": nw.Int64, "f": nw.Float64, "M": nw.Date, "b": nw.Boolean}.get(values.dtype.kind)
            kind = None if backend == "pandas" else kind
            series[name] = nw.new_series(name, cells, kind, backend=backend)
    return nw.from_dict(series, backend=backend).to_native()


def _with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return values with NaN, NaT or None in the place of gaps."""
    if not missing.any():
        return values
    if values.dtype.kind == "M":
        return np.asarray(np.where(missing, np.datetime64("NaT"), values))
    if values.dtype.kind in "if":
        return np.asarray(np.where(missing, np.nan, values.astype(np.float64)))
    result = values.astype(object)
    result[missing] = None
    return result
