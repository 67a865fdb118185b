"""Engines, which read one table outside of memory each, and the source that streams an engine's rows in Arrow batches.

An engine knows one table: its columns and their types, which are public, and how to read rows and numbers. It opens a
connection for each query and closes it, so that it can be pickled and used from any thread. A query that needs the
table twice (which units have too many rows, and then the rows) sees one state of it: a snapshot. Errors of a database
may show a cell, so once the table is open they are replaced by one that does not.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw

from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows, UnitCells
from discreet.records.sources.frames import TableSource, check_types, empty_table, import_optional, unit_cells
from discreet.records.sources.source import LocalSource
from discreet.sql.text import quote_identifier

FAILED = (
    "the database failed to answer: is the file still there, does the server run? Its own error is left out, since it "
    "may show rows. What was recorded for an answer stays recorded"
)
Read: TypeAlias = Callable[[str, int], Any]  # from a query and a batch size to Arrow's reader of batches


class replace_errors:  # noqa: N801
    """Replace an error of the database, whose text may show rows.

    An error that is raised while another one is handled keeps that one as its context, even with ``from None``. So the
    context is removed.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            clean = OSError(FAILED)
            try:
                raise clean
            finally:
                clean.__context__ = None


class Engine(ABC):
    """One table outside of memory.

    Parameters
    ----------
    kind : str
        What it is, in words; without a password.
    types : mapping of str to str
        For each column, in order: ``"integer"``, ``"float"``, ``"boolean"``, ``"text"``, ``"date"``, ``"timestamp"``,
        or anything else.
    files : sequence of Path
        The files that hold the rows; none for a database. Their state tells when they were written anew, so that
        nothing that was read before is used again.

    Attributes
    ----------
    ordered : bool
        Whether rows come in the same order each time, as those of a file do and those of a database may not.
    view : bool
        Whether the rows are made by a query, which may put other people into them.
    """

    ordered: bool = True
    view: bool = False

    def __init__(self, kind: str, types: Mapping[str, str], files: Sequence[Path]) -> None:
        self.kind, self.types, self.files = kind, types, files

    @abstractmethod
    def rows(self) -> int:
        """Return how many rows there are."""

    def state(self) -> Any:
        """Return a value that changes when a file is written anew; None for a database.

        None, too, where a file is gone: reading it then raises.
        """
        try:
            result = [os.stat(file) for file in self.files]
        except OSError:
            return None
        return tuple((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in result) or None

    @abstractmethod
    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield some of the columns as Arrow batches of at most about ``rows`` rows, in the order of the table."""

    @abstractmethod
    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Sequence[Any]:
        """Return what ``stream`` yields as Arrow tables without rows, for their types; one for each file."""


class SqlEngine(Engine):
    """One table of a database. What is not of a known type is read and never computed with in the database.

    Attributes
    ----------
    careful : bool
        Whether an underflow is an error (``sql.text``).
    relation : str
        What stands after FROM.
    fence : str
        What keeps a subquery from being written into the next one, where its expressions would be computed once for
        each place that they stand in.
    finite : str
        Whether a number of 64 bits, ``{cell}``, is finite. DuckDB answers comparisons from statistics of a file, which
        know of no NaN, and would let one pass a test of its size.
    microseconds : str
        A timestamp, ``{cell}``, as microseconds since 1970-01-01 in UTC.
    checks_text : bool
        Whether text is surely UTF-8, so that the database reads the names that are read elsewhere.
    """

    careful: bool
    relation: str
    fence: str = ""
    finite: str
    microseconds: str
    checks_text: bool = True

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Read]:
        """Return what reads one state of the database; errors on it show no row."""

    def rows(self) -> int:
        """Return how many rows there are."""
        with self.snapshot() as read:
            return int(read_texts(read, f"SELECT CAST(COUNT(*) AS VARCHAR) FROM {self.relation}")[0])
        raise AssertionError  # the type checker does not know that errors are not swallowed

    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield some of the columns as Arrow batches of at most about ``rows`` rows."""
        with self.snapshot() as read:
            yield from read(self.select(names, numbers), rows)

    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Sequence[Any]:
        """Return what ``stream`` yields without rows, for its types."""
        schema = None
        with self.snapshot() as read:
            schema = read(f"{self.select(names, numbers)} LIMIT 0", 1).schema
        return [empty_table(schema)]  # outside: what Arrow says of a type is about no row

    def select(self, names: Sequence[str], numbers: Collection[str]) -> str:
        """Return a query for some of the columns."""
        read = [
            f"{self.number(name) if name in numbers else self.label(name)} AS {quote_identifier(name)}"
            for name in names
        ]
        return f"SELECT {', '.join(read)} FROM {self.relation}"

    def number(self, name: str) -> str:
        """Return how to read a column of numbers."""
        return quote_identifier(name)

    def label(self, name: str) -> str:
        """Return how to read a column of categories, or the unit's."""
        return quote_identifier(name)

    def exactly(self, name: str) -> str:
        """Return a column of text that is compared character by character."""
        return f'{quote_identifier(name)} COLLATE "C"'


def read_texts(read: Read, query: str) -> list[str]:
    """Return the one row of an answer that consists of text."""
    return [str(column[0]) for column in read(query, 1).read_all().columns]


class StoredSource(LocalSource):
    """Rows that an engine streams, in the same order each time.

    Parameters
    ----------
    engine : Engine
    declared : Reading
        Its columns are in the table.
    """

    def __init__(self, engine: Engine, declared: Reading) -> None:
        super().__init__(declared)
        self._engine = engine
        self.kind, self.per_unit = engine.kind, engine.view  # a view is opened only where its owner declared per_unit
        try:
            for empty in engine.empty(tuple(dict.fromkeys(declared.needed)), tuple(declared.numbers)):
                check_types(nw.from_native(empty, eager_only=True), declared)
        except NotImplementedError:  # of Arrow, for unions and the like
            raise ValueError(
                "a declared column has a type that cannot be read: expected numbers or text; cast it in a view"
            ) from None

    def rows(self) -> int:
        """Return how many rows the table has."""
        return self._cache("rows", self._engine.rows)

    def state(self) -> Any:
        """Return what changes where a file is written anew."""
        return self._engine.state()

    def _frames(self, columns: tuple[str, ...]) -> Iterator[nw.DataFrame[Any]]:
        return as_frames(self._engine.stream(columns, self.declared.numbers, self.declared.slab_rows))

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield frames, one at a time."""
        for frame in self._frames(reading.names):
            yield from TableSource(frame, reading).read(reading)

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column, frame by frame."""
        return (unit_cells(frame[column]) for frame in self._frames((column,)))


def as_frames(batches: Iterable[Any]) -> Iterator[nw.DataFrame[Any]]:
    """Yield Arrow batches as data frames, without empty ones."""
    table = import_optional("pyarrow").Table
    return (nw.from_native(table.from_batches([batch]), eager_only=True) for batch in batches if batch.num_rows)
