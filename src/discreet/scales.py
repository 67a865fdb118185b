"""Scales of declared columns: converts values that queries see to the units of a column, and back.

Imports these rooms, and may import any other above it: ``arguments``, ``records``.

The values of a log column are natural logarithms, those of a column of dates whole days since 1970-01-01
(``records.declared.columns``). Measurements are on that scale. Showing them on another scale is post-processing, and
uses public declarations only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import ArgumentError, Verbatim, suggest_name
from discreet.records.cells import format_day, read_date
from discreet.records.declared.ball import Ball
from discreet.records.declared.space import Space

Array = NDArray[np.float64]

KINDS = ("linear", "log", "date")
DIGITS = 17  # with which every float can be written


@dataclass(frozen=True)
class ColumnScale:
    """The scale of a numeric column.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        "linear", "log" or "date".
    low, high : float
        The declared bounds, as values.

    Examples
    --------
    >>> income = ColumnScale("income", "log", 0.0, float(np.log(1e6)))
    >>> income.to_own([0.0, 4.605170185988092, 99.0]).round(6).tolist(), income.label
    ([1.0, 100.0, 1000000.0], 'log(income)')
    >>> ColumnScale("admitted", "date", 18262.0, 20453.0).shown(18262.9)
    '2020-01-01'
    """

    name: str
    kind: str
    low: float
    high: float

    @property
    def label(self) -> str:
        """The name of the values: ``log(income)``, or the column's name."""
        return f"log({self.name})" if self.kind == "log" else self.name

    @property
    def own_ends(self) -> tuple[float, float]:
        """The declared bounds in the column's own units."""
        if self.kind != "log":
            return self.low, self.high
        return _number_of_log(self.low), _number_of_log(self.high)

    @np.errstate(over="ignore")
    def to_own(self, values: ArrayLike, *, inside: bool = True) -> Array:
        """Return values in the column's own units; days stay days.

        Parameters
        ----------
        values : array
        inside : bool
            Whether they lie inside of the declared bounds. Values that rounding moves out are then moved back.
        """
        result = np.asarray(values, dtype=np.float64)
        if self.kind != "log":
            return result
        numbers = np.minimum(np.exp(result), np.finfo(np.float64).max)
        if not inside:
            return numbers
        low, high = self.own_ends
        return np.where(result <= self.low, low, np.where(result >= self.high, high, np.clip(numbers, low, high)))

    @np.errstate(divide="ignore", invalid="ignore")
    def to_values(self, cells: ArrayLike) -> Array:
        """Return numbers in the column's own units as values: −∞ for the logarithm of 0, NaN for that of less."""
        result = np.asarray(cells, dtype=np.float64)
        return np.log(result) if self.kind == "log" else result

    def shown(self, own: float) -> float | str:
        """Return a number in the column's own units for display: a day as 2023-01-31."""
        return format_day(own) if self.kind == "date" else float(own)

    def as_rows(self, values: ArrayLike, *, inside: bool = True) -> NDArray[Any]:
        """Return values as a table holds them: dates as ``datetime64[D]``."""
        own = self.to_own(values, inside=inside)
        return as_dates(own) if self.kind == "date" else own


def place_of(argument: str, name: Any, known: Sequence[str]) -> int:
    """Return the position of a column, which is given by its name or its number."""
    if isinstance(name, str) and name in known:
        return known.index(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(known):
        return int(name)
    have = ", ".join(map(repr, known)) or "none: declare them in a Schema"
    kind = "a declared column of categories" if argument in ("by", "between") else "a declared column of numbers"
    given = name if isinstance(name, str | int | float | None) else Verbatim(f"a {type(name).__name__}")  # never rows
    raise ArgumentError(argument, given, f"{kind}, by its name or number; there are {have}{suggest_name(name, known)}")


def column_scales(declared: Mapping[str, Any]) -> dict[str, ColumnScale]:
    """Return the scale of each numeric column, from what a release or a curator says was declared.

    >>> space = {"kind": "Box", "low": [0.0], "high": [120.0]}
    >>> column_scales({"columns": ["age"], "space": space})
    {'age': ColumnScale(name='age', kind='linear', low=0.0, high=120.0)}
    """
    names = [str(name) for name in declared.get("columns") or ()]
    if declared.get("space") is None or not names:
        return {}
    kinds = declared.get("scales") or ["linear"] * len(names)
    if len(kinds) != len(names) or not set(kinds) <= set(KINDS):
        raise ValueError(f"scales={kinds!r}: expected one of {', '.join(KINDS)} for each of {len(names)} columns")
    space: Any = Space.from_dict(declared["space"]).for_columns(len(names))
    if isinstance(space, Ball):
        low, high = (np.asarray(space.center) + sign * space.radius for sign in (-1.0, 1.0))
    else:
        low, high = np.asarray(space.low), np.asarray(space.high)
    return {
        name: ColumnScale(name, kind, float(least), float(most))
        for name, kind, least, most in zip(names, kinds, low, high, strict=True)
    }


def as_days(given: Any) -> Array:
    """Return dates, ISO texts or numbers of days as days since 1970-01-01; any other value is not finite.

    >>> as_days(["1970-01-03", 5.0, "soon"]).tolist(), as_days(np.datetime64("1970-01-02")).tolist()
    ([2.0, 5.0, inf], 1.0)
    """
    cells = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64)
    days = [float(cell) if _is_number(cell) else read_date(cell) for cell in cells.ravel()]
    return np.array(days, dtype=np.float64).reshape(cells.shape)


def as_dates(days: ArrayLike) -> NDArray[Any]:
    """Return days since 1970-01-01 as ``datetime64[D]``, each instant on its day."""
    return np.floor(np.asarray(days, dtype=np.float64)).astype(np.int64).astype("M8[D]")


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | np.integer | np.floating) and not isinstance(cell, bool)


def _number_of_log(value: float) -> float:
    """Return the number with this logarithm that has the fewest digits, which is the declared one.

    The exponential function is off in the last digits: exp(log(1e6)) is not 1e6.

    >>> _number_of_log(float(np.log(1e6))), _number_of_log(float(np.log(0.3)))
    (1000000.0, 0.3)
    """
    with np.errstate(over="ignore"):
        near = min(float(np.exp(value)), float(np.finfo(np.float64).max))
    written = [float(f"{near:.{digits}g}") for digits in range(1, DIGITS + 1)]
    for room in (0.0, 2.0 * float(np.spacing(max(abs(value), 1.0)))):  # another machine may round a logarithm otherwise
        for number in written:
            if 0.0 < number < np.inf and abs(float(np.log(number)) - value) <= room:
                return number
    return near
