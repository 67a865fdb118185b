"""Persons with visits from a fitted ``TableSynthesizer``: which column numbers the visits, and which are constant."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, format_names, is_list
from discreet.models.synthesis.person_rows import link_rows
from discreet.models.synthesis.table_rows import DrawnColumn

MOST_VISITS = 128
BATCHES = 20  # of rows, until there are enough persons
WRITE = "for example visit='visit', which is declared as Number(1, 4) and whole, or as Category([1, 2, 3, 4])"


def check_persons(
    visit: Any,
    constant: Any,
    person: Any,
    columns: Collection[str],
    numbered: Mapping[str, int],
    drawn: Collection[str],
) -> None:
    """Raise where a column does not number visits, or is not there.

    Parameters
    ----------
    visit, constant, person
        As in ``TableSynthesizer.sample_persons``.
    columns : collection of str
        All columns.
    numbered : mapping of str to int
        The columns of whole numbers from 1 on, and the largest of these.
    drawn : collection of str
        The columns that follow from no other.
    """
    if not isinstance(visit, str) or numbered.get(visit, MOST_VISITS + 1) > MOST_VISITS:
        raise ArgumentError("visit", visit, f"a column of whole numbers from 1 on, at most {MOST_VISITS}", WRITE)
    some = [name for name in drawn if name != visit]
    if not is_list(constant) or not all(name in some for name in constant):
        raise ArgumentError("constant", constant, f"names of columns, of {format_names(some)}")
    if not isinstance(person, str) or not person or person in columns:
        raise ArgumentError("person", person, "a name that no column has")


def put_together(
    columns: Mapping[str, DrawnColumn], visits: NDArray[np.int64], constant: Collection[str], rng: np.random.Generator
) -> tuple[dict[str, DrawnColumn], NDArray[np.int64]]:
    """Return the rows that have a person, sorted by person and visit, and the number of each row's person from 0 on.

    Parameters
    ----------
    columns : mapping of str to DrawnColumn
        Drawn rows.
    visits : int array
        The number of each row's visit; 0 where it is missing.
    constant : collection of str
        The columns that are the same in all rows of a person.
    rng : Generator
    """
    own = [columns[name] for name in constant]
    groups = [one.missing.astype(np.int64) for one in own]
    groups += [one.values for one in own if one.values.dtype.kind == "i"]
    numbers = [one.values.astype(np.float64) for one in own if one.values.dtype.kind == "f"]
    first = link_rows(visits, groups, numbers, rng)
    some = np.flatnonzero(first >= 0)
    some = some[np.lexsort((visits[some], first[some]))]
    result = {name: one.take(first[some] if name in constant else some) for name, one in columns.items()}
    return result, np.unique(first[some], return_inverse=True)[1].reshape(-1)


def keep_whole(broken: NDArray[np.bool_], persons: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows stay where some may not be: those before the first such row of their person.

    >>> keep_whole(np.array([False, True, False, False]), np.array([0, 0, 0, 1])).tolist()
    [True, False, False, True]
    """
    before = np.cumsum(broken)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(persons)) + 1])
    until = np.repeat(before[starts] - broken[starts], np.diff(np.append(starts, len(persons))))
    return np.asarray(before == until)


def rows_for(persons: int, share: float) -> int:
    """Return how many rows to draw for so many persons, where a share of the rows are first visits.

    >>> rows_for(100, 0.5)
    237
    """
    return math.ceil(1.1 * persons / max(share, 1e-3)) + 16
