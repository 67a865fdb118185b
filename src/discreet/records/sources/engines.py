"""Chooses the engine that reads a file or a table of a database: ``open_engine``, by the location of a ``Table``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet.arguments import ArgumentError
from discreet.records.sources.csv_files import CSV_SUFFIXES, CsvEngine, csv_header
from discreet.records.sources.duckdb_tables import ArrowEngine, ParquetEngine, check_names, open_duckdb_table
from discreet.records.sources.parquet_files import ParquetFiles, parquet_files
from discreet.records.sources.postgresql_tables import PostgreSQLEngine, database_address, is_postgresql
from discreet.records.sources.stored import Engine

ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
DUCKDB_SUFFIXES = (".duckdb", ".ddb", ".db")
PASSWORD = re.compile(r"(://[^:/@]*):.*@")


@dataclass(frozen=True, repr=False)
class Table:
    """A table that a database reads in a stream; sums of moments are computed inside of the database.

    A password in the location is never shown, and a pickle leaves it out.

    Parameters
    ----------
    location : str or path
        A CSV file (``.csv``, ``.tsv``, also with ``.gz``), in which one line is one row; a Parquet file or a folder of
        them, an Arrow file (``.arrow``, ``.feather``, ``.ipc``) or a DuckDB file (``.duckdb``, ``.ddb``, ``.db``), by
        DuckDB; or the URL of a PostgreSQL database, ``"postgresql://user@host/database"``, with the password in
        ``PGPASSWORD`` or ``~/.pgpass``.
    table : str, optional
        Which table of a database, ``"name"`` or ``"schema.name"``; needed where there are several.
    per_unit : bool
        For a view: the owner declares that each of its rows is made from the rows of one person, and from public
        tables, alone. A view with window functions, aggregates or joins can put other people's values into a person's
        cells. Then one person more would change the rows of others, and no bound holds. Nothing can check this, and
        every release says that it was declared. Tables and files need no such declaration.

    Examples
    --------
    >>> Table("postgresql://ann:secret@db/clinic", "visits")
    Table('postgresql://ann:***@db/clinic', 'visits')
    """

    location: str | os.PathLike[str]
    table: str | None = None
    per_unit: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.location, str | os.PathLike):
            raise ArgumentError("location", self.location, "a path, or a URL of PostgreSQL")
        if is_postgresql(self.location):
            database_address(str(self.location))  # refuses a password in other places
        if not (self.table is None or (isinstance(self.table, str) and self.table)):
            raise ArgumentError("table", self.table, "the name of a table, or None")

    def __reduce__(self) -> tuple[Any, ...]:
        server = is_postgresql(self.location)
        location = database_address(str(self.location)).url if server else self.location  # without its password
        return Table, (location, self.table, self.per_unit)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        location = PASSWORD.sub(r"\1:***@", str(self.location))
        table = "" if self.table is None else f", {self.table!r}"
        return f"Table({location!r}{table}{', per_unit=True' if self.per_unit else ''})"


def open_engine(data: str | os.PathLike[str] | Table) -> Engine:
    """Return the engine that reads a file, a folder of Parquet files or a table of a database.

    Its errors are about files, servers and names, never about rows. DuckDB computes sums over the Parquet files of a
    ``Table``; those of a plain path are only streamed, which needs no DuckDB.
    """
    table = data if isinstance(data, Table) else Table(data)
    if is_postgresql(table.location):
        engine: Engine = PostgreSQLEngine(str(table.location), table.table)
    else:
        engine = _open_file(table.location, table.table, by_database=isinstance(data, Table))
    if engine.view and not table.per_unit:
        raise ValueError(
            f"table={table.table!r} is a view: expected a table, or the owner's declaration that each row of the view "
            "is made from the rows of one person, and from public tables, alone; write Table(location, table, "
            "per_unit=True), or make a table of it"
        )
    return engine


def _open_file(location: str | os.PathLike[str], table: str | None, *, by_database: bool) -> Engine:
    text = str(location)
    if "\n" in text:  # most likely rows, which must not be shown in an error
        raise ValueError("data: expected the path of a file, and got text of several lines; make a table of it")
    if isinstance(location, str) and "://" in location:
        scheme = location.partition("://")[0]
        raise ValueError(
            f"location: expected a path, or a URL of PostgreSQL, and got a URL of {scheme!r}; copy the file to this "
            "machine and write its path"
        )
    path, name = Path(location).absolute(), Path(location).name.lower()
    if name.endswith(DUCKDB_SUFFIXES):
        return open_duckdb_table(_check_exists(path), table)
    if table is not None:
        raise ArgumentError("table", table, f"None for {str(path)!r}, which holds one table")
    if name.endswith(CSV_SUFFIXES):
        return _open_csv(_check_exists(path))
    if name.endswith(ARROW_SUFFIXES):
        return ArrowEngine(_check_exists(path))
    return ParquetEngine(parquet_files(path)) if by_database else ParquetFiles(parquet_files(Path(location)))


def _check_exists(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{str(path)!r}: no such file")
    return path


def _open_csv(path: Path) -> CsvEngine:
    separator, header = csv_header(path)
    if not any(header):
        raise ValueError(
            f"{str(path)!r}: expected a first line with the names of the columns, and a line feed after each line"
        )
    return CsvEngine(path, separator, check_names(header))


def has_several_tables(location: str | os.PathLike[str]) -> bool:
    """Return whether a location is that of a database, whose tables have names: PostgreSQL or a DuckDB file."""
    return is_postgresql(location) or Path(location).name.lower().endswith(DUCKDB_SUFFIXES)  # as ``_open_file`` has it
