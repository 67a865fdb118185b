"""Columns: which of them is meant, where it can lie, and where in there a row is. All by public facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.arguments import integer, shown
from discreet.door import Curator
from discreet.guarantees import Loss
from discreet.queries.adapted import OfColumns
from discreet.queries.columns import limits_of
from discreet.queries.counts.grid import Grid
from discreet.queries.question import Query
from discreet.records import Ball, Box

__all__ = [
    "cells_of",
    "check_limits",
    "known_rows",
    "noise_variance",
    "place_of",
]

GUESSED_ROWS = 1000


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


def known_rows(curator: Curator, rows: int | None) -> int:
    """Return a public number of rows to plan with: the true one, the caller's guess, or a thousand."""
    if rows is not None:
        return integer("rows", rows, least=1, most=2**50)
    return max(GUESSED_ROWS if curator.size.units is None else curator.size.units, 1)


def noise_variance(curator: Curator, query: Query, loss: Loss) -> float:
    """Return the variance that a number of a query would get, from public numbers; nothing is spent."""
    law = curator.plan(query, loss).law
    assert law is not None  # every sum over rows has additive noise
    return law.variance


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
