"""Reads one cell of a table: as a number, a date, a category, or the name of a unit.

Each function here is about one value alone, and never raises: what it cannot read is missing. This protects the other
rows. Readers of CSV files choose the type of a whole column by looking at all of its rows, so a single odd row can turn
a column of numbers into a column of text. Text that spells a number is therefore read as that number, and 1, 1.0 and
"1" are one category: the odd row then changes its own cell and no other.

This works for numbers below 2⁵³. From there on a reader that makes floats of whole numbers (pandas does, for a column
with one gap) has changed the cells of all rows before they come here. So larger whole numbers are no categories. The
name of a unit is read by its declared type, and a column of floats holds no names.

Text that readers of files take for a gap (NA, null, nan) is a gap here too. Whether they do depends on the column: in
one of whole numbers Arrow reads NA as a gap, and where one odd row has made it a column of text, as the text NA. A gap
and a value that cannot be read are told apart by a check of the declaration, and by a category with ``other``.
"""

from __future__ import annotations

import datetime
import math
import re
import uuid
from collections.abc import Hashable, Iterable
from decimal import Decimal
from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

BOOLEANS = {"true": 1.0, "false": 0.0}  # how CSV files write what other readers would have made booleans

WHOLE = 2**53  # from here on a float may stand for several whole numbers

EPOCH, MICROSECOND = datetime.datetime(1970, 1, 1), datetime.timedelta(microseconds=1)
DAY = 86_400_000_000  # microseconds
FIRST_DAY, LAST_DAY = -719_162.0, 2_932_897.0  # 0001-01-01 and 10000-01-01: databases have an infinity beyond
LAST_INSTANT = math.nextafter(LAST_DAY, 0.0)  # the last microsecond of 9999 would be rounded up to the next day
NO_COUNT = 2**63 - 1
A_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": DAY, "ns": DAY * 1000}
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)

SPELLED_NAN = {sign + "".join(letters) for sign in ("", "+", "-") for letters in product("nN", "aA", "nN")}
# What pandas 3 and Arrow 24 take for a gap in a column of numbers, beside NaN as parsers of floats read it.
GAPS = SPELLED_NAN | {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "None",
    "n/a", "null",
}  # fmt: skip
WHITE = "".join(character for character in map(chr, range(0x3001)) if character.isspace())  # what ``strip`` takes away

LEAST_ID, MOST_ID = -(2**63), 2**64 - 1
DIGITS = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)


def _is_duration(value: object) -> bool:
    return isinstance(value, np.timedelta64)  # NumPy counts durations among the whole numbers; they have a unit


def _raise_interrupt(error: BaseException) -> None:
    """Raise Ctrl-C again, without anything that an object may have put into it; swallow other errors."""
    if isinstance(error, KeyboardInterrupt):
        raise KeyboardInterrupt from None


def is_gap(value: Any) -> bool:
    """Return whether a cell holds nothing: null, NaN, NaT, text of ``GAPS``, or bytes that are no text.

    >>> [is_gap(value) for value in (None, float("nan"), " ", "n/a", "none", float("inf"), 0)]
    [True, True, True, True, False, False, False]
    """
    try:
        if isinstance(value, bytes):
            value = value.decode()
        return value is None or bool(value != value) or (isinstance(value, str) and value.strip() in GAPS)
    except BaseException as error:  # pandas' NA has no truth value, nor has an array
        _raise_interrupt(error)
        return True


def read_number(value: Any) -> float:
    """Return a cell as a finite number; NaN for a gap, and ∞ for any other value that is not a finite number.

    Both are missing. Only a check of the declaration tells them apart.

    >>> [read_number(value) for value in (True, "2.5", None, "n/a", "two", float("inf"))]
    [1.0, 2.5, nan, nan, inf, inf]
    """
    try:
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, str):
            result = BOOLEANS.get(value.strip().lower())
            if result is None:  # Python takes 1_23 for 123, which nobody else does
                result = math.inf if "_" in value else float(value)
        elif isinstance(value, Real | Decimal | np.bool_) and not _is_duration(value):
            result = float(value)
        else:
            result = math.inf
    except BaseException as error:  # whatever a strange object throws, it is not a number
        _raise_interrupt(error)
        result = math.inf
    return result if math.isfinite(result) else math.nan if is_gap(value) else math.inf


def read_numbers(values: Iterable[Any]) -> NDArray[np.float64]:
    """Return cells as numbers; a cell that holds no number is not finite."""
    return np.array([read_number(value) for value in values], dtype=np.float64)


def read_date(value: Any) -> float:
    """Return a date or an instant as days since 1970-01-01; NaN for a gap, and ∞ for any other value.

    Instants with a time zone count from UTC, and those without one are taken as UTC. All is whole numbers of
    microseconds, what is finer is left out, and one division: no time zone of a machine or a session enters.

    >>> values = ("1970-01-03", "1970-01-01T12:00:00Z", datetime.date(1969, 12, 31), None, "3.1.1970")
    >>> [read_date(value) for value in values]
    [2.0, 0.5, -1.0, nan, inf]
    """
    if is_gap(value):
        return math.nan
    try:
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, str):
            text = value.strip()
            if not ISO_DATE.fullmatch(text):
                return math.inf
            value = datetime.datetime.fromisoformat(text)
        if isinstance(value, np.datetime64):
            return float(to_days(np.array([value]))[0])
        if isinstance(value, datetime.datetime):
            value = value.replace(tzinfo=None) - EPOCH - (value.utcoffset() or datetime.timedelta())
        elif isinstance(value, datetime.date):
            value = datetime.datetime(value.year, value.month, value.day) - EPOCH
        else:
            return math.inf
        return min(float(value // MICROSECOND) / DAY, LAST_INSTANT)
    except BaseException as error:  # whatever a strange object throws, it is no date
        _raise_interrupt(error)
        return math.inf


def read_dates(values: Iterable[Any]) -> NDArray[np.float64]:
    """Return cells as days; a cell that holds no date is not finite."""
    return np.array([read_date(value) for value in values], dtype=np.float64)


def format_day(days: float) -> str:
    """Return the day of an instant as 2023-01-31; days beyond the years 1 to 9999 become the first or the last day.

    >>> format_day(18262.9), format_day(float("inf"))
    ('2020-01-01', '9999-12-31')
    """
    whole = int(min(max(math.floor(days) if math.isfinite(days) else days, FIRST_DAY), LAST_DAY - 1.0))
    return str((EPOCH + datetime.timedelta(days=whole)).date())


def to_days(moments: NDArray[Any]) -> NDArray[np.float64]:
    """Return NumPy's instants as days since 1970-01-01; NaN for a gap, and ∞ for one beyond the years 1 to 9999.

    >>> to_days(np.array(["1970-01-02T06", "NaT"], dtype="M8[h]")).tolist()
    [1.25, nan]
    """
    resolution, step = np.datetime_data(moments.dtype)
    missing = np.isnat(moments)
    if resolution not in A_DAY:  # months and years have no fixed length
        moments, resolution, step = moments.astype("M8[D]"), "D", 1
    counts = moments.view(np.int64)
    endless = np.abs(counts) == NO_COUNT  # which databases write for an infinity
    if A_DAY[resolution] > DAY:  # finer than a microsecond
        counts, resolution = counts * step // (A_DAY[resolution] // DAY), "us"
        step = 1
    result = counts.astype(np.float64) * step / A_DAY[resolution]
    first, last = (int(end) * A_DAY[resolution] // step for end in (FIRST_DAY, LAST_DAY))
    beyond = endless | (counts < first) | (counts >= last)
    return np.where(missing, np.nan, np.where(beyond, np.inf, np.minimum(result, LAST_INSTANT)))


def _parse_number(text: str) -> int | float | None:
    """Return the number or truth value that a text spells, exactly if it is whole; None if it spells none."""
    plain = text.strip()
    if (truth := BOOLEANS.get(plain.lower())) is not None:
        return int(truth)
    if len(plain) < 400 and plain.isascii() and "_" not in plain:
        try:
            result = Decimal(plain)
        except ArithmeticError:
            return None
        if result.is_finite() and abs(result.adjusted()) < 400:
            return int(result) if result == result.to_integral_value() else float(plain)
    return None


def category_key(value: Any) -> Hashable:
    """Return what a cell is compared by: a number where it is one or spells one, else its text; None if missing.

    From 2**53 on numbers are missing, and text that spells one is compared as text.

    >>> [category_key(value) for value in (3, 3.0, "3", "03", True, "oak", float("nan"), 2**53)]
    [3, 3, 3, 3, 1, 'oak', None, None]
    """
    result: int | float | None
    try:
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, Decimal):
            result = _parse_number(str(value))
        elif isinstance(value, str):
            result = _parse_number(value)
        elif isinstance(value, Integral) and not _is_duration(value):
            result = int(value)
        else:
            result = read_number(value)
    except BaseException as error:  # whatever a strange object throws, it is no category
        _raise_interrupt(error)
        return None
    if result is None or not abs(result) < WHOLE:  # NaN too
        return str(value) if isinstance(value, str) else None
    return int(result) if result == int(result) else result


def unit_name(value: Any, kind: str) -> str | None:
    """Return whose row it is, as text; None where the cell is missing or cannot be read as the declared type.

    Two cells are one unit where their names are equal. "text" takes text as it stands, character by character, and a
    whole number as its digits; "integer" takes whole numbers from −2⁶³ to 2⁶⁴ − 1, and text in which only digits stand,
    a sign before and white space around them. Nothing else is a name: floats from 2⁵³ on stand for several whole
    numbers, and truth values, dates and bytes are written in more than one way.

    >>> [unit_name(value, "text") for value in (7, "7", "007", "1e3", "ann", "", None, 7.0, 7.5, 2.0**53, True)]
    ['7', '7', '007', '1e3', 'ann', None, None, '7', None, None, None]
    >>> [unit_name(value, "integer") for value in (7, "7", " 007", "1_23", "1e3", "ann", 2**64)]
    ['7', '7', '7', None, None, None, None]
    """
    try:
        if isinstance(value, Decimal):  # with few enough digits to be written out
            value = int(value) if value.adjusted() < 40 and value == value.to_integral_value() else None
        if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE:
            value = int(value)  # of a partition that a gap has made floats: others of its column are whole numbers
        truth = isinstance(value, bool)
        if isinstance(value, Integral) and not truth and not _is_duration(value):
            name = str(int(value))
        elif isinstance(value, str):
            name = str.__str__(value)  # a member of an enumeration too
        elif isinstance(value, uuid.UUID):
            name = str(value)
        else:
            return None
        if kind == "integer":
            if not DIGITS.fullmatch(name):
                return None
            whole = int(name)
            return str(whole) if LEAST_ID <= whole <= MOST_ID else None
        name.encode()
    except BaseException as error:  # half of a surrogate pair, a number of too many digits, a strange object
        _raise_interrupt(error)
        return None
    return name or None
