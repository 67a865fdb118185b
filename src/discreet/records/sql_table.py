"""A table outside of memory that a database reads."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet.arguments import ArgumentError
from discreet.records.csv_engine import CSV_SUFFIXES
from discreet.records.duckdb_engine import ARROW_SUFFIXES, DUCKDB_SUFFIXES, duckdb_engine
from discreet.records.parquet_engine import ParquetFiles, parquet_files
from discreet.records.postgresql_engine import PostgreSQLEngine, database_address, is_postgresql
from discreet.records.stored_source import Engine

__all__ = ["Table", "open_table"]

PASSWORD = re.compile(r"(://[^:/@]*):.*@")


@dataclass(frozen=True, repr=False)
class Table:
    """A table that a database reads, streamed; sums of moments are computed inside of it.

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
        For a view: the owner's word that each of its rows is made from the rows of one person, and from public tables,
        alone. A view with window functions, aggregates or joins can put other people into a person's cells, and then no
        rule about rows helps: one person more would change the rows of others. Nothing can check this, and every
        release says that it was declared. Tables and files need no such word.

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

    def engine(self) -> Engine:
        """Return what reads it; errors are about files, servers and names."""
        engine: Engine
        if is_postgresql(self.location):
            engine = PostgreSQLEngine(str(self.location), self.table)
        elif isinstance(self.location, str) and "://" in self.location:
            scheme = self.location.partition("://")[0]
            raise ValueError(f"location: expected a path, or a URL of PostgreSQL; got one of {scheme!r}")
        else:
            engine = duckdb_engine(Path(self.location), self.table)
        if engine.view and not self.per_unit:
            raise ValueError(
                f"table={self.table!r} is a view: expected a table, or the owner's word that each row of the view is "
                "made from the rows of one person, and from public tables, alone; write Table(location, table, "
                "per_unit=True), or make a table of it"
            )
        return engine

    def __reduce__(self) -> tuple[Any, ...]:
        server = is_postgresql(self.location)
        location = database_address(str(self.location)).url if server else self.location  # without its password
        return Table, (location, self.table, self.per_unit)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        shown = PASSWORD.sub(r"\1:***@", str(self.location))
        table = "" if self.table is None else f", {self.table!r}"
        return f"Table({shown!r}{table}{', per_unit=True' if self.per_unit else ''})"


def open_table(data: Any) -> Engine:
    """Return what reads a table, a file or a folder of Parquet files."""
    if isinstance(data, Table):
        return data.engine()
    by_database = (*CSV_SUFFIXES, *ARROW_SUFFIXES, *DUCKDB_SUFFIXES)
    if is_postgresql(data) or str(data).lower().endswith(by_database):
        return Table(data).engine()
    return ParquetFiles(parquet_files(Path(data)))
