"""What a database must be able to do, so that its rows can be read and summed.

An engine knows one table: its columns and their types, which are public, and how to ask for rows and for numbers. It
opens a connection for each question and closes it, so that it can be pickled and used from any thread. Errors of a
database may show a cell; once the table is open they are replaced by one that does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.records.sql_text import quoted

__all__ = ["Engine", "quietly"]


@contextmanager
def quietly() -> Iterator[None]:
    """Replace an error of the database, whose text may show rows."""
    failed = False
    try:
        yield
    except Exception:
        failed = True
    if failed:  # outside of the except block, so that nothing comes along as context
        raise OSError("the database failed to answer; its own error is left out, since it may show rows. See its log")


class Engine(ABC):
    """One table of a database.

    Attributes
    ----------
    kind : str
        What it is, in words; without a password.
    careful : bool
        Whether an underflow is an error (``sql_text``).
    types : mapping of str to str
        For each column, in order: ``"integer"``, ``"float"``, ``"boolean"``, ``"text"``, or anything else, which is
        read and never computed with in the database.
    relation : str
        What stands after FROM.
    position : str or None
        What a table's rows are ordered by when it is read, for ORDER BY; None where that has no name.
    fence : str
        What keeps a subquery from being written into the next one, where its expressions would be computed once for
        each place that they stand in.
    matches : str
        The operator or function for regular expressions, with ``{text}`` and ``{pattern}``.
    """

    kind: str
    careful: bool
    types: Mapping[str, str]
    relation: str
    position: str | None
    fence: str = ""
    matches: str

    @abstractmethod
    def batches(self, query: str, rows: int) -> Iterator[Any]:
        """Yield the answer as Arrow batches of at most about so many rows, in order."""

    @abstractmethod
    def texts(self, query: str) -> Sequence[str]:
        """Return the one row of an answer that consists of text."""

    def number(self, name: str) -> str:
        """Return how to read a column of numbers."""
        return quoted(name)

    def label(self, name: str) -> str:
        """Return how to read a column of categories, or the unit's."""
        return quoted(name)

    def exactly(self, name: str) -> str:
        """Return a column of text that is compared character by character."""
        return f'{quoted(name)} COLLATE "C"'
