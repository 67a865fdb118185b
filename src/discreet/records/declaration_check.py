"""Views of records for checking a declaration: how it treats each cell, and how many rows persons have.

Both are records like any others: queries about them go through the door, and are paid for.

- ``StateReading``: the rows that count, with a category for each declared column that says what its declaration makes
  of the cell: it is as declared, clipped from below or above, a gap, or unreadable (text that is no number, a value
  that is not among the declared ones). Nothing is dropped: every row within the limit of its unit has all of its
  states. A state is a function of one row alone.
- ``PersonSource``: one row a person, with a category for how many rows that person has: one, up to ``max_rows``, or
  more. A person is one row of it, however many rows the person has, so one person changes one count. How many *rows*
  there are beyond the limit has no such bound and cannot be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.records.declared.ball import Ball
from discreet.records.declared.columns import Category
from discreet.records.generic_arrays import to_host
from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows
from discreet.records.sources.source import LocalSource, Source

STATES = ("as declared", "below", "above", "gap", "unreadable")  # of a number or a date
LABEL_STATES = ("as declared", "gap", "unreadable")  # of a category


class StateReading(Reading):
    """A reading whose blocks have states in the place of values."""

    by_database = False

    @classmethod
    def from_reading(cls, declared: Reading) -> StateReading:
        """Return the states of all that is declared."""
        return cls(**declared.arguments)

    def to_reading(self) -> Reading:
        """Return what its blocks look like: categories alone, of which none is missing."""
        states = dict.fromkeys(self.numbers, STATES) | dict.fromkeys(self.categories, LABEL_STATES)
        known = {name: Category(values, missing="fill", fill=values[0]) for name, values in states.items()}
        return Reading((), (), (), None, None, known, self.unit, self.block_rows)

    @np.errstate(all="ignore")
    def block(self, rows: DeclaredRows) -> Block:
        """Return the states of the rows within the limit of their unit, numeric columns first."""
        numbers, codes, keep = rows
        x = to_host(numbers).astype(np.float64)
        x = np.where(np.array(self.scales) == "date", np.floor(x), x) if self.numbers else x
        states = np.concatenate([self._of_numbers(x), np.where(codes < 0, -codes, 0)], axis=1)
        states = states if keep is None else states[keep]
        xp = array_namespace(numbers)
        result = xp.asarray(states, dtype=xp.int64, device=device(numbers))
        return Block(xp.zeros((len(states), 0), dtype=xp.float64, device=device(numbers)), result)

    def _of_numbers(self, x: Any) -> Any:
        """Return 0 inside of the bounds, 1 below, 2 above or beyond a ball, 3 for a gap, 4 for no finite number."""
        if self.bounds is None:
            return np.zeros(x.shape, dtype=np.int64)
        if isinstance(self.bounds, Ball):
            there = np.where(np.isfinite(x), x, np.asarray(self.bounds.center))
            beyond = (np.asarray(self.bounds.clip(there)) != there).any(axis=1, keepdims=True)
            states = np.where(beyond, 2, np.zeros(x.shape, dtype=np.int64))
        else:
            states = np.where(x < np.array(self.bounds.low), 1, np.where(x > np.array(self.bounds.high), 2, 0))
        return np.where(np.isnan(x), 3, np.where(np.isinf(x), 4, states))


def size_categories(max_rows: int) -> tuple[str, ...]:
    """Return the categories of how many rows a person has.

    >>> size_categories(4), size_categories(1)
    (('1 row', '2 to 4 rows', 'more than 4 rows'), ('1 row', 'more than 1 row'))
    """
    if max_rows == 1:
        return "1 row", "more than 1 row"
    return "1 row", f"2 to {max_rows} rows" if max_rows > 2 else "2 rows", f"more than {max_rows} rows"


class PersonSource(LocalSource):
    """One row for each unit of a source: how many rows it has.

    Parameters
    ----------
    source : Source
    """

    def __init__(self, source: Source) -> None:
        size = Category(size_categories(source.reading.max_rows), missing="fill", fill="1 row")
        super().__init__(Reading((), (), (), None, None, {"rows": size}, None, source.reading.block_rows))
        self._of, self.kind, self.per_unit = source, source.kind, source.per_unit

    def rows(self) -> int:
        """Return how many persons there are."""
        return int(sum(self._of.unit_sizes()))

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield the persons, sorted by how many rows they have."""
        last = len(reading.categories["rows"].values) - 1  # 1 where the limit is one row: then nobody has several
        codes = np.repeat([0, 1, last], self._of.unit_sizes())
        yield DeclaredRows(np.empty((len(codes), 0)), codes[:, None])
