"""What one cell of a table means: as a number, as a category, as the name of a unit.

Each function here looks at one value alone, and never raises: what it cannot read is missing. That matters more than it
seems. Readers of CSV files choose the type of a whole column by looking at all of its rows, so a single odd row
can turn a column of numbers into a column of text. Text that spells a number is therefore read as that number, and
1, 1.0 and "1" are one category: the odd row then changes its own cell and no other.
"""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Hashable, Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["category_key", "number", "numbers", "unit_key"]

NAMED = {"true": 1.0, "false": 0.0}  # how CSV files write what other readers would have made booleans

# Only types whose equality says the same in every process: objects compared by identity would split a unit.
UNIT_TYPES = (
    bytes,
    Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    np.datetime64,
    np.timedelta64,
)


def _is_duration(value: object) -> bool:
    return isinstance(value, np.timedelta64)  # NumPy counts durations among the whole numbers; they have a unit


def number(value: Any) -> float:
    """Return a cell as a finite number, NaN where it is none.

    >>> [number(value) for value in (True, "2.5", None, "n/a", float("inf"))]
    [1.0, 2.5, nan, nan, nan]
    """
    try:
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, str):
            found = NAMED.get(value.strip().lower())
            found = float(value) if found is None else found
        elif isinstance(value, Real | Decimal | np.bool_) and not _is_duration(value):
            found = float(value)
        else:
            return math.nan
    except Exception:  # whatever a strange object throws, it is not a number
        return math.nan
    return found if math.isfinite(found) else math.nan


def numbers(values: Iterable[Any]) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where they are none."""
    return np.array([number(value) for value in values], dtype=np.float64)


def category_key(value: Any) -> Hashable:
    """Return what a cell is compared by: a number where it is one or spells one, else its text; None if missing.

    >>> [category_key(value) for value in (3, 3.0, "3", "03", True, "oak", float("nan"))]
    [3, 3, 3, 3, 1, 'oak', None]
    """
    try:
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, Integral) and not _is_duration(value):
            return int(value)
        if isinstance(value, str) and (digits := value.strip().removeprefix("-")).isascii() and digits.isdigit():
            return int(value)  # past 2**53 a float would confuse neighbours
    except Exception:
        return None
    found = number(value)
    if math.isnan(found):
        return value if isinstance(value, str) else None
    return int(found) if found.is_integer() else found


def _spelt(text: str) -> Hashable:
    """Return the number or truth value that a text spells, else the text."""
    plain = text.strip()
    if plain.lower() in ("true", "false"):
        return int(plain.lower() == "true")
    if len(plain) < 400 and plain.isascii():
        try:
            number = Decimal(plain)
        except ArithmeticError:
            return str(text)
        if number.is_finite() and abs(number.adjusted()) < 400:
            return int(number) if number == number.to_integral_value() else float(plain)
    return str(text)


def unit_key(value: Any) -> Hashable:
    """Return what a unit's name is compared by, None if it is missing.

    Numbers of one value are one unit, and so is text that spells that number in whatever way, or a truth value. A
    reader of CSV files types a column by what stands in it, part by part: with one odd name in it, all others may come
    as "007" instead of 7. If those were two units, one row would split everybody else's, and twice their rows would
    count. To make one unit of two is safe: fewer rows count.

    >>> [unit_key(value) for value in (7, 7.0, "7", " 007", "7.0", "7.5", "ann", None, float("nan"))]
    [7, 7.0, 7, 7, 7, 7.5, 'ann', None, None]
    """
    try:
        if value is None or value != value:  # NaN, NaT
            return None
        if isinstance(value, str):
            return _spelt(value)
        if isinstance(value, np.bool_):
            return int(value)
        if isinstance(value, Real) and not _is_duration(value):
            return int(value) if isinstance(value, Integral) else float(value)
        if isinstance(value, UNIT_TYPES):
            hash(value)
            return value
    except Exception:  # pandas' NA, a signalling NaN, an array: names that cannot be compared are missing
        return None
    return None
