"""Columns: which of them is meant, where it can lie, and where in there a row is. All by public facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.arguments import integer, shown
from discreet.door import Curator, Query, open_rows
from discreet.door.queries import Grid, OfColumns
from discreet.records import Ball, Box, Records
from discreet.records.bounds import is_pair
from discreet.records.libraries import is_array

__all__ = [
    "cells_of",
    "check_limits",
    "chosen_column",
    "chosen_columns",
    "column_share",
    "known_rows",
    "limits_of",
    "opened",
    "place_of",
]

GUESSED_ROWS = 1000


def opened(data: Any, declared: Mapping[str, Any], names: Sequence[Any]) -> Curator:
    """Return rows behind a door; a pair of bounds beside names of a table's columns is for those columns alone."""
    found = dict(declared)
    bounds = found.get("bounds")
    table = not (isinstance(data, Curator | Records | list | tuple) or is_array(data))
    named = bool(names) and all(isinstance(name, str) for name in names)
    if table and named and is_pair(bounds):
        found["bounds"] = dict.fromkeys(names, bounds)
    return open_rows(data, **found)


def place_of(argument: str, name: Any, known: Sequence[str]) -> int:
    """Return the place of a column that was named, or numbered."""
    if isinstance(name, str) and name in known:
        return known.index(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(known):
        return int(name)
    have = ", ".join(map(repr, known)) or "none: declare them in a Schema"
    kind = "a declared column of categories" if argument == "by" else "a declared column of numbers"
    given = shown(name) if isinstance(name, str | int | float | None) else f"a {type(name).__name__}"  # never rows
    raise ValueError(f"{argument}={given}: expected {kind}, by its name or number; there are {have}")


def chosen_column(curator: Curator, column: str | int | None) -> int:
    """Return the number of the chosen numeric column.

    >>> from discreet.door import open_rows
    >>> curator = open_rows([[1.0, 2.0]], bounds=(0, 10))
    >>> chosen_column(curator, "x1"), chosen_column(curator, 0)
    (1, 0)
    """
    names = curator.columns
    if not names:
        raise ValueError("data: expected a numeric column; none is declared")
    if column is None:
        if len(names) > 1:
            raise ValueError(
                f"column=None: expected one of {names}, since there are several; write column={names[0]!r}"
            )
        return check_limits(curator, 0)
    return check_limits(curator, place_of("column", column, names))


def chosen_columns(curator: Curator, column: Any) -> tuple[int, ...]:
    """Return the numbers of the chosen columns, for a name, a number, or a list of them."""
    if not isinstance(column, list | tuple):
        return (chosen_column(curator, column),)
    numbers = tuple(chosen_column(curator, one) for one in column)
    if not numbers or len(set(numbers)) < len(numbers) or None in column:
        raise ValueError(f"column={column!r}: expected different names or numbers of columns")
    return numbers


def limits_of(space: Box | Ball, column: int) -> tuple[float, float]:
    """Return where a column of the space can lie: the sides of a box, centre ± radius for a ball.

    >>> limits_of(Box([0, 40], [120, 250]), 1), limits_of(Ball(2.0, center=[1.0]), 0)
    ((40.0, 250.0), (-1.0, 3.0))
    """
    center = float(np.asarray(space.center).reshape(-1)[column])
    if isinstance(space, Ball):
        return center - space.radius, center + space.radius
    low, high = (np.asarray(end).reshape(-1) for end in (space.low, space.high))
    return float(low[column]), float(high[column])


@np.errstate(all="ignore")
def column_share(space: Box | Ball, x: Any, column: int) -> Any:
    """Return where in its interval each row's column lies, from 0 at the low end to 1 at the high end.

    In [0, 1] for any row whatever; a NaN is in the middle. Elementwise and array-API generic.
    """
    low, high = limits_of(space, column)
    half = high / 2.0 - low / 2.0
    xp = array_namespace(x)
    y = (xp.astype(x[:, column], xp.float64) - (low / 2.0 + high / 2.0)) / half
    return xp.clip(0.5 * xp.where(xp.isnan(y), xp.zeros_like(y), y) + 0.5, 0.0, 1.0)


def known_rows(curator: Curator, rows: int | None) -> int:
    """Return a public number of rows to plan with: the true one, the caller's guess, or a thousand."""
    if rows is not None:
        return integer("rows", rows, least=1, most=2**50)
    return max(GUESSED_ROWS if curator.size.units is None else curator.size.units, 1)


def check_limits(curator: Curator, column: int) -> int:
    """Return the column if its bounds leave room for statistics: squares that floats hold, and cells between them."""
    low, high = limits_of(curator.space, column)
    size = max(abs(low), abs(high))
    if not (size <= 1e100 and high - low >= max(1e-8 * size, 1e-100)):
        raise ValueError(
            f"bounds of {curator.columns[column]!r}: expected numbers of at most 1e100 in size, apart by 1e-100 and by "
            f"1e-8 of their size or more, got {low!r} and {high!r}; shift or scale the column"
        )
    return column


def cells_of(space: Box | Ball, columns: Sequence[int], bins: Sequence[int]) -> Query:
    """Return the query that counts the rows in each of so many equal bins of some columns.

    >>> cells_of(Box([0.0, 0.0], [1.0, 8.0]), [1], [4]).parts["counts"].shape
    (4,)
    """
    low, high = zip(*(limits_of(space, column) for column in columns), strict=True)
    return OfColumns(Grid(Box(low, high), list(bins)), space, tuple(columns))
