"""Arrays of any library that follows the array API: conversions to floats and to NumPy, and selection of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj
from numpy.typing import NDArray

UNIT_ROUNDOFF = 2.0**-53


def as_floats(x: Any) -> tuple[Any, Any]:
    """Return the namespace of ``x`` and ``x`` in float64; lists and frames become NumPy arrays."""
    x = x if is_array_api_obj(x) else _convert_to_floats(x)
    if x.ndim == 0:
        raise ValueError("rows: expected an array whose last axis is the columns, got a single number")
    xp = array_namespace(x)
    return xp, xp.astype(x, xp.float64, copy=False)


def _convert_to_floats(x: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # whose text may show a row
        raise ValueError(f"rows of type {type(x).__name__}: expected numbers, as an array") from None


def on_device(values: float | tuple[float, ...] | tuple[tuple[float, ...], ...], like: Any) -> Any:
    """Return declared numbers as a float64 array beside ``like``.

    Single numbers too: with a Python number some libraries divide by multiplying with a reciprocal, which rounds twice.
    """
    if isinstance(like, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    xp = array_namespace(like)
    return xp.asarray(values, dtype=xp.float64, device=device(like))


def take(x: Any, places: Any, axis: int = 0) -> Any:
    """Return some rows, or columns, of an array of any library."""
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(np.asarray(places, dtype=np.int64), device=device(x)), axis=axis)


def to_host(x: Any) -> NDArray[Any]:
    """Return an array of any library as a NumPy array."""
    if hasattr(x, "detach"):  # torch
        x = x.detach().cpu()
    elif hasattr(x, "get") and hasattr(x, "__cuda_array_interface__"):  # CuPy
        x = x.get()
    return np.asarray(x)
