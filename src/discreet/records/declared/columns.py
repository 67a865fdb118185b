"""The kinds of column that a schema declares: numbers, dates and categories.

Numbers and dates are numeric columns. Each has two scales: that of the cells, in which it is declared, clipped,
filled and compared in conditions, and that of the *values* that queries see and noise is added on. They are the same
but for ``Number(log=True)``, whose values are the natural logarithms of its cells.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice, format_value, iterable
from discreet.records.cells import category_key, is_gap, read_date
from discreet.records.declared.declared_numbers import as_number, as_vector, check_interval, set_fields

MISSING = ("drop", "fill")
WRITE = "for example Number(0, 120)"
Value = str | int | bool


@dataclass(frozen=True, init=False, repr=False)
class Number:
    """A column of numbers between declared bounds.

    Missing is what holds no finite number: null, NaN, ±∞, text that spells no number, a date.

    Parameters
    ----------
    low, high : float
        Declared bounds; numbers outside are clipped to them.
    missing : str
        "drop": a row that lacks this number contributes nothing, and still counts in the public number of rows.
        "fill": ``fill`` takes its place.
    fill : float or None
        The declared value to fill, inside the bounds.
    log : bool
        For positive numbers with a long tail (incomes, lengths of stay): queries see natural logarithms, noise is added
        on that scale, and answers come back in the data's own units. A mean of logarithms is a geometric mean, and is
        called so.

    Examples
    --------
    >>> Number(0, 120, missing="fill", fill=40)
    Number(low=0.0, high=120.0, missing='fill', fill=40.0)
    >>> Number(1, 1e6, log=True)
    Number(low=1.0, high=1000000.0, log=True)
    >>> Number(120, 0)
    Traceback (most recent call last):
        ...
    ValueError: low=120.0 is not below high=0.0: expected low < high; write for example Number(0, 120)
    >>> Number(0, 120, missing="fill", fill=200)
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: fill=200: expected a number from low=0.0 to high=120.0, declared and ...
    """

    low: float
    high: float
    missing: str
    fill: float | None
    log: bool

    def __init__(
        self, low: Any = None, high: Any = None, missing: str = "drop", fill: float | None = None, log: bool = False
    ) -> None:
        least, most = as_vector("low", low, WRITE), as_vector("high", high, WRITE)
        if isinstance(least, tuple) or isinstance(most, tuple):
            raise ArgumentError("low, high", (low, high), "one number each", WRITE)
        check_interval(least, most, WRITE)
        if _check_fill(missing, fill, "Number(0, 120, missing='fill', fill=40)"):
            given, fill = fill, as_number(fill)
            if not least <= fill <= most:
                inside = f"a number from low={least!r} to high={most!r}, declared and not taken from the rows"
                raise ArgumentError("fill", given, inside)
        if not isinstance(log, bool):
            raise ArgumentError("log", log, "True or False")
        if log and not least > 0.0:
            write = "for example Number(1, 1e6, log=True)"
            raise ValueError(f"low={least!r} with log=True: expected a number above 0; write {write}")
        set_fields(self, low=least, high=most, missing=missing, fill=fill, log=log)

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds as numbers, on the scale of the cells."""
        return self.low, self.high

    @property
    def scale(self) -> str:
        """The scale of the values: "linear" or "log"."""
        return "log" if self.log else "linear"

    @property
    def fill_value(self) -> float:
        """The number to fill, NaN where the row is dropped."""
        return math.nan if self.fill is None else self.fill

    def __repr__(self) -> str:
        more = "" if self.fill is None else f", missing='fill', fill={self.fill!r}"
        return f"Number(low={self.low!r}, high={self.high!r}{more}{', log=True' if self.log else ''})"


@dataclass(frozen=True, init=False, repr=False)
class Date:
    """A column of dates between declared bounds; instants are read as the day, in UTC, that they are on.

    Queries see days since 1970-01-01. Missing is what holds no date: null, text that is not written as 2023-01-31 (a
    time may follow), a number.

    Parameters
    ----------
    low, high : str or datetime.date
        The first and the last day; others are clipped to them.
    missing : str
        "drop" or "fill", as in ``Number``.
    fill : str, datetime.date or None
        The declared day to fill.

    Examples
    --------
    >>> admitted = Date("2020-01-01", "2025-12-31")
    >>> admitted
    Date('2020-01-01', '2025-12-31')
    >>> admitted.ends
    (18262.0, 20453.0)
    >>> Date("2025-12-31", "2020-01-01")
    Traceback (most recent call last):
        ...
    ValueError: low='2025-12-31' is not before high='2020-01-01': expected low < high; ...
    """

    low: datetime.date
    high: datetime.date
    missing: str
    fill: datetime.date | None
    scale = "date"

    def __init__(self, low: Any = None, high: Any = None, missing: str = "drop", fill: Any = None) -> None:
        first, last = _day("low", low), _day("high", high)
        write = "write for example Date('2020-01-01', '2025-12-31')"
        if not first < last:
            raise ValueError(f"low='{first}' is not before high='{last}': expected low < high; {write}")
        if _check_fill(missing, fill, "Date('2020-01-01', '2025-12-31', missing='fill', fill='2020-01-01')"):
            fill = _day("fill", fill)
            if not first <= fill <= last:
                raise ValueError(f"fill='{fill}': expected a day from low='{first}' to high='{last}'")
        set_fields(self, low=first, high=last, missing=missing, fill=fill)

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds as days since 1970-01-01."""
        return read_date(self.low), read_date(self.high)

    @property
    def fill_value(self) -> float:
        """The number to fill, NaN where the row is dropped."""
        return math.nan if self.fill is None else read_date(self.fill)

    def __repr__(self) -> str:
        more = "" if self.fill is None else f", missing='fill', fill='{self.fill}'"
        return f"Date('{self.low}', '{self.high}'{more})"


def _day(argument: str, value: Any) -> datetime.date:
    """Return a declared day."""
    days = read_date(value)
    if not math.isfinite(days) or days != int(days):
        raise ArgumentError(argument, value, "a day", "for example '2020-01-01' or datetime.date(2020, 1, 1)")
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(days))


@dataclass(frozen=True, init=False)
class Category:
    """A column of declared, public categories.

    Missing is every other value: null, or one that was not declared. 1, 1.0 and "1" are one category, and so are True,
    1 and "true", since readers of files give one or the other. Whole numbers from 2**53 on are declared as text and
    match text only: readers round such numbers, for a whole column, if one row holds a gap.

    With ``other``, a value that nobody declared is that category. So is one that cannot be read as the declared ones
    are: text in a column of whole numbers, ±∞, a whole number from 2**53 on. Gaps stay gaps: null, NaN, empty text,
    text that readers of files take for a gap (NA, null, nan) and is not declared, bytes that are no text.

    Parameters
    ----------
    values : sequence of str, int or bool
        The categories, in the order of their codes.
    missing : str
        "drop" or "fill", as in ``Number``.
    fill : str, int, bool or None
        The declared category to fill.
    other : str, int, bool or None
        The category of all values that were not declared; it comes last, unless it is among ``values``.

    Examples
    --------
    >>> Category(["oak", "elm", "ash"]).encode(["elm", None, "yew", "oak"]).tolist()
    [1, -1, -2, 0]
    >>> trees = Category(["oak", "elm"], other="other")
    >>> trees.values, trees.encode(["elm", None, "yew", 7]).tolist()
    (('oak', 'elm', 'other'), [1, -1, 2, 2])
    """

    values: tuple[Value, ...]
    missing: str
    fill: Value | None
    other: Value | None

    def __init__(
        self,
        values: Iterable[Value] | None = None,
        missing: str = "drop",
        fill: Value | None = None,
        other: Value | None = None,
    ) -> None:
        write = "for example Category(['female', 'male'])"
        if isinstance(values, str | bytes) or not iterable(values):
            raise ArgumentError("values", values, "the public categories, never taken from the rows", write)
        values = tuple(map(_to_builtin, values))
        if not values or not all(isinstance(value, str | int) for value in values):
            raise ArgumentError("values", values, "at least one, each text, a whole number or a boolean", write)
        seen: dict[Hashable, Value] = {}
        for value in values:
            if (key := category_key(value)) is None:
                raise ValueError(f"values: {value!r} is too large for a category; expected less than 2**53; write text")
            if key in seen:
                raise ValueError(f"values: {seen[key]!r} and {value!r} are one category; expected each once")
            seen[key] = value
        if other is not None:
            other = _to_builtin(other)
            if not isinstance(other, str | int) or (key := category_key(other)) is None or other == "":
                raise ArgumentError("other", other, "the name of the category of all other values", "other='other'")
            values = values if key in seen else (*values, other)
            other = seen.setdefault(key, other)
        if _check_fill(missing, fill, f"Category({list(values)!r}, missing='fill', fill={values[0]!r})"):
            if category_key(fill) not in seen:
                raise ArgumentError("fill", fill, f"one of the declared categories {list(values)!r}")
            fill = seen[category_key(fill)]
        set_fields(self, values=values, missing=missing, fill=fill, other=other)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain values, which are the arguments of a ``Category``."""
        return {"values": list(self.values), "missing": self.missing, "fill": self.fill, "other": self.other}

    @cached_property
    def _codes(self) -> dict[Hashable, int]:
        codes: dict[Hashable, int] = {category_key(value): code for code, value in enumerate(self.values)}
        # The text itself too, which saves parsing; no other category can have it.
        return codes | {value: code for code, value in enumerate(self.values) if isinstance(value, str)}

    @property
    def fill_code(self) -> int:
        """The code that takes the place of a missing value, −1 where the row is dropped."""
        return -1 if self.fill is None else self.values.index(self.fill)

    @property
    def other_code(self) -> int:
        """The code of a value that was not declared, −2 where it is missing."""
        return -2 if self.other is None else self.values.index(self.other)

    def encode(self, values: Iterable[Any]) -> NDArray[np.int64]:
        """Return the code of each value, −1 for a gap and ``other_code`` for any other value that was not declared."""
        cells, codes, other = list(values), self._codes, self.other_code
        parsed: dict[str, int] = {}

        def code(value: Any) -> int:
            if type(value) is not str:
                return codes.get(category_key(value), -1 if is_gap(value) else other)
            if value not in parsed:
                parsed[value] = codes.get(category_key(value), -1 if is_gap(value) else other)
            return parsed[value]

        # Plain values can be looked up as they are: the same codes, only sooner. Other text may spell a number.
        plain = {str, int, bool, float, type(None)}.issuperset(map(type, cells))
        known: list[int | None] = list(map(codes.get, cells)) if plain else [None] * len(cells)
        result = [code(cell) if at is None else at for cell, at in zip(cells, known, strict=True)]
        return np.array(result, dtype=np.int64)


Numeric = Number | Date
Column = Number | Date | Category


def fill_gaps(column: Column) -> Column:
    """Return a column that drops no row: what it lacks is filled, with the middle, the first day or category."""
    if column.fill is not None:
        return column
    fill: Any = column.values[0] if isinstance(column, Category) else column.low
    return replace(column, missing="fill", fill=fill / 2.0 + column.high / 2.0 if isinstance(column, Number) else fill)


def _to_builtin(value: Any) -> Any:
    """Return NumPy's values and members of enumerations as Python's own, which a file can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_fill(missing: str, fill: Any, write: str) -> bool:
    """Return whether missing values are filled; an error where ``missing`` and ``fill`` do not go together."""
    choice("missing", missing, MISSING)
    if missing == "drop" and fill is not None:
        raise ValueError(f"fill={format_value(fill)} with missing='drop': write missing='fill', or leave fill out")
    if missing == "fill" and (fill is None or (isinstance(fill, float) and math.isnan(fill))):
        raise ArgumentError("fill", fill, "a declared value to fill", f"for example {write}")
    return missing == "fill"
