"""What one cell of a table means: as a number, as a category, as the name of a unit.

Each function here looks at one value alone, and never raises: what it cannot read is missing. That matters more than it
seems. Readers of CSV files choose the type of a whole column by looking at all of its rows, so a single odd row
can turn a column of numbers into a column of text. Text that spells a number is therefore read as that number, and
1, 1.0 and "1" are one category: the odd row then changes its own cell and no other.

That much can be done for numbers below 2⁵³. Beyond, a reader that makes floats of whole numbers (pandas does, for a
column with one gap) has changed everybody's cell before it comes here. So larger whole numbers are no categories, and
as names of units they must come as whole numbers or as text: in pandas as Int64 or as text, not as float.
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

WHOLE = 2**53  # from here on a float may stand for several whole numbers

EPOCH = datetime.datetime(1970, 1, 1)
SECOND = 10**18  # attoseconds, the finest resolution of NumPy
RESOLUTIONS = {"W": 604800 * SECOND, "D": 86400 * SECOND, "h": 3600 * SECOND, "m": 60 * SECOND}
RESOLUTIONS |= {name: 10 ** (18 - 3 * j) for j, name in enumerate(["s", "ms", "us", "ns", "ps", "fs", "as"])}

Time = datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64


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


def _spelt(text: str) -> int | float | None:
    """Return the number or truth value that a text spells, exactly if it is whole; None if it spells none."""
    plain = text.strip()
    if (truth := NAMED.get(plain.lower())) is not None:
        return int(truth)
    if len(plain) < 400 and plain.isascii():
        try:
            found = Decimal(plain)
        except ArithmeticError:
            return None
        if found.is_finite() and abs(found.adjusted()) < 400:
            return int(found) if found == found.to_integral_value() else float(plain)
    return None


def category_key(value: Any) -> Hashable:
    """Return what a cell is compared by: a number where it is one or spells one, else its text; None if missing.

    From 2**53 on numbers are missing, and text that spells one is compared as text.

    >>> [category_key(value) for value in (3, 3.0, "3", "03", True, "oak", float("nan"), 2**53)]
    [3, 3, 3, 3, 1, 'oak', None, None]
    """
    found: int | float | None
    try:
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, Decimal):
            found = _spelt(str(value))
        elif isinstance(value, str):
            found = _spelt(value)
        elif isinstance(value, Integral) and not _is_duration(value):
            found = int(value)
        else:
            found = number(value)
    except Exception:  # whatever a strange object throws, it is no category
        return None
    if found is None or not abs(found) < WHOLE:  # NaN too
        return str(value) if isinstance(value, str) else None
    return int(found) if found == int(found) else found


def _time_key(value: Time) -> Hashable:
    """Return a date, a time of day or a duration in attoseconds, so that one instant is one unit in any resolution.

    Times with a zone count from UTC, as their columns store them.
    """
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()  # pandas' own have nanoseconds
    if isinstance(value, np.datetime64 | np.timedelta64):
        kind = "instant" if isinstance(value, np.datetime64) else "duration"
        resolution, step = np.datetime_data(value.dtype)
        count = int(value.astype(np.int64)) * step
        if resolution in RESOLUTIONS:
            return kind, count * RESOLUTIONS[resolution]
        return kind, resolution, count  # months and years have no fixed length
    if isinstance(value, datetime.timedelta):
        kind, length = "duration", value
    elif isinstance(value, datetime.time):
        kind, wall = "duration", datetime.datetime.combine(EPOCH, value.replace(tzinfo=None))
        length = wall - EPOCH - (value.utcoffset() or datetime.timedelta())
    elif isinstance(value, datetime.datetime):
        kind, length = "instant", value.replace(tzinfo=None) - EPOCH - (value.utcoffset() or datetime.timedelta())
    else:
        kind, length = "instant", datetime.datetime.combine(value, datetime.time()) - EPOCH
    return kind, length // datetime.timedelta(microseconds=1) * RESOLUTIONS["us"]


def unit_key(value: Any) -> Hashable:
    """Return what a unit's name is compared by, None if it is missing.

    Numbers of one value are one unit, and so is text that spells that number in whatever way, or a truth value. A
    reader of CSV files types a column by what stands in it, part by part: with one odd name in it, all others may come
    as "007" instead of 7. If those were two units, one row would split everybody else's, and twice their rows would
    count. For the same reason bytes are read as the text that they encode, and decimals and UUIDs as their text.

    The unit that is protected is this key, so names of different people must have different keys. Two people who share
    one are protected as one: where one of them leaves, a row of the other may take the free place, and together they
    move twice the rows that one may.

    >>> [unit_key(value) for value in (7, 7.0, "7", " 007", "7.0", "7.5", b"7", "ann", None, float("nan"))]
    [7, 7.0, 7, 7, 7, 7.5, 7, 'ann', None, None]
    """
    try:
        if value is None or value != value:  # NaN, NaT
            return None
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError:
                return bytes(value)
        if isinstance(value, Decimal | uuid.UUID):
            value = str(value)
        if isinstance(value, str):
            found = _spelt(value)
            return str(value) if found is None else found
        if isinstance(value, np.bool_):
            return int(value)
        if isinstance(value, Time):
            return _time_key(value)
        if isinstance(value, Real):
            return int(value) if isinstance(value, Integral) else float(value)
    except Exception:  # pandas' NA, a signalling NaN, an array: names that cannot be compared are missing
        return None
    return None  # objects compared by identity would split a unit
