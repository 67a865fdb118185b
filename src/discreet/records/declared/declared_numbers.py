"""Checks of the numbers that an owner declares: bounds of columns, and one number for all columns or one a column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError, integer, iterable

Vector = float | tuple[float, ...]

# Bounds stay away from the ends of the float range, so that no map of a space can overflow or lose digits.
LARGEST, SMALLEST = 1e300, 1e-300
NO_NUMBERS = (str, bytes, bool, np.bool_, np.complexfloating, np.ndarray)  # although float() takes them


def set_fields(frozen: object, **values: Any) -> None:
    """Set the fields of a frozen dataclass in its constructor."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def as_vector(name: str, value: Any, write: str) -> Vector:
    """Return a declared bound as a float or a tuple of floats. The error of a wrong one shows ``write``."""
    if value is None:
        raise ArgumentError(name, None, "declared bounds, never taken from the rows", write)
    single = isinstance(value, str | bytes) or not iterable(value)
    numbers = tuple(map(as_number, (value,) if single else value))
    if not numbers or not all(abs(number) <= LARGEST for number in numbers):  # nor a NaN
        accepted = f"finite numbers of at most {LARGEST:g} in size, one for all columns or one a column"
        raise ArgumentError(name, value, accepted, write)
    return numbers[0] if single else numbers


def as_number(item: Any) -> float:
    """Return a declared number as a float; NaN if it is not a number."""
    try:
        return math.nan if isinstance(item, NO_NUMBERS) else float(item)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def broadcast(name: str, value: Vector, columns: int) -> tuple[float, ...]:
    """Return one value for each column."""
    columns = integer("columns", columns, least=1, most=2**31)
    if not isinstance(value, tuple):
        return (value,) * columns
    if len(value) != columns:
        raise ValueError(f"{name} has {len(value)} values: expected one for all, or one for each of {columns} columns")
    return value


def check_interval(low: float, high: float, write: str) -> None:
    """Raise unless ``low`` and ``high`` are the ends of an interval."""
    if not low < high:
        raise ValueError(f"low={low!r} is not below high={high!r}: expected low < high; write {write}")
    if high / 2.0 - low / 2.0 < SMALLEST:
        raise ValueError(f"low={low!r}, high={high!r}: expected bounds at least {2 * SMALLEST:g} apart")
