"""Warnings where a new name or a new ledger gives a full new budget to people who may have one already.

A ledger knows data sets by their names alone. So a copy of a file under another name, and a new ledger beside an old
one, begin with a full budget. No row is looked at, so whether the same people are in both is not known. What can be
seen is: another ledger in the same folder that has this name; a data set, here or there, that is declared in the same
way; and a new ledger beside others. Each of these is said once, when a name is first opened, and never refused.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path

from discreet.guarantees.caution import lines_to_caller
from discreet.ledger.book import Book
from discreet.ledger.storage import SqliteStorage

MOST_FILES = 200  # of a folder that are looked at
MAGIC = b"SQLite format 3\0"
WAIT = 0.2  # seconds, for another process that writes


class NewBudgetWarning(UserWarning):
    """Warns of a full new budget for people who may have one already.

    >>> issubclass(NewBudgetWarning, UserWarning)
    True
    """


def warn_of_new_budget(dataset: str, path: Path | None, declared: str | None, here: Mapping[str, str | None]) -> None:
    """Warn where a data set that is new in a ledger may hold the people of another data set.

    Parameters
    ----------
    dataset : str
        Its name, under which the ledger has no entry yet.
    path : Path or None
        The ledger's file; None for a database, beside which nothing is looked for.
    declared : str or None
        A digest of how its columns are declared; None where that says nothing about the data.
    here : mapping of str to str or None
        The data sets of this ledger and how they are declared.
    """
    others = {} if path is None else other_ledgers(path)
    said = _reason(dataset, declared, here, others) if here or others else ""
    ledger = "this ledger" if path is None else f"the ledger {path.name!r}"
    if said:
        warnings.warn(
            f"name={dataset!r}: it is new in {ledger} and has a full budget of its own; {said}. If the same people are "
            "in both, use one name and one ledger: their privacy losses add up",
            NewBudgetWarning,
            stacklevel=lines_to_caller(),
        )


def _reason(
    dataset: str,
    declared: str | None,
    here: Mapping[str, str | None],
    others: Mapping[str, Mapping[str, str | None]],
) -> str:
    """Return why the data set may hold the people of another one; empty where nothing says so."""
    for file, names in others.items():
        if dataset in names:
            return f"{file!r} in the same folder has a data set of this name"
    if declared is not None:
        for name, other in here.items():
            if other == declared:
                return f"{name!r} is declared in the same way, so this may be a copy of it"
        for file, names in others.items():
            for name, other in names.items():
                if other == declared:
                    return f"{name!r} in the ledger {file!r} of the same folder is declared in the same way"
    if not here and others:
        file, names = next(iter(others.items()))
        return f"beside it is the ledger {file!r}, with {', '.join(map(repr, list(names)[:3]))}"
    return ""


def other_ledgers(path: Path) -> dict[str, dict[str, str | None]]:
    """Return the other ledgers in the folder of a ledger: their files, data sets, and how these are declared.

    A file that cannot be read is left out. At most ``MOST_FILES`` files are looked at, by their first bytes.
    """
    found: dict[str, dict[str, str | None]] = {}
    try:
        with os.scandir(path.parent) as entries:
            files = sorted(
                entry.name
                for entry in islice(entries, MOST_FILES)
                if entry.name != path.name and not entry.name.startswith(".") and entry.is_file()
            )
    except OSError:
        return found
    for name in files:
        names = _datasets(path.with_name(name))
        if names:
            found[name] = names
    return found


def _datasets(file: Path) -> dict[str, str | None]:
    """Return the data sets of a ledger and how they are declared; empty where a file is no ledger."""
    try:
        with open(file, "rb") as opened:
            if opened.read(len(MAGIC)) != MAGIC:
                return {}
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT)) as connection:
            book = Book(connection, SqliteStorage.dialect)
            return book.declarations() if book.exists() else {}
    except (OSError, sqlite3.Error, ValueError):
        return {}
