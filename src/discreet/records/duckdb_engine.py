"""Tables that DuckDB reads: Parquet and Arrow files, and tables of a DuckDB file. CSV files have a reader of their own.

Parquet and Arrow files are streamed by Arrow, as everywhere: DuckDB stops at text that is not UTF-8. Paths are
absolute and name one file each: DuckDB would look for others where one has a ``*``, ``?`` or ``[``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.records.csv_engine import CSV_SUFFIXES, CsvEngine, csv_header
from discreet.records.optional import need
from discreet.records.parquet_source import file_state, parquet_files
from discreet.records.sql_engine import Engine, Snapshot, SqlEngine, quietly
from discreet.records.sql_text import quoted, text_literal
from discreet.records.table_source import unique_names

__all__ = ["ARROW_SUFFIXES", "DUCKDB_SUFFIXES", "DuckDBEngine", "duckdb_engine"]

DUCKDB_SUFFIXES = (".duckdb", ".ddb", ".db")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
TYPES = dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer")
TYPES |= {f"U{name}": "integer" for name in TYPES}
TYPES |= {"FLOAT": "float", "DOUBLE": "float", "BOOLEAN": "boolean", "VARCHAR": "text"}
TYPES |= {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp"}
# Nothing is fetched from anywhere, no extension and no remote file; and no row is written to a temporary file.
SETTINGS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "temp_directory": ""}
SETTINGS |= {"python_enable_replacements": "false"}  # no name is that of a variable of the caller
ROWS = "rows"  # the name of an Arrow file's table
BUFFER = 2**18  # bytes read ahead in each column of a Parquet file


class DuckDBSnapshot(Snapshot):
    """A connection to DuckDB, within a transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def batches(self, query: str, rows: int) -> Iterator[Any]:
        """Yield Arrow batches."""
        yield from self._connection.sql(query).to_arrow_reader(rows)

    def texts(self, query: str) -> Sequence[str]:
        """Return one row of text."""
        return [str(cell) for cell in self._connection.execute(query).fetchall()[0]]


class DuckDBEngine(SqlEngine):
    """One table, by DuckDB.

    Parameters
    ----------
    kind : str
    relation : str
    database : str
        A DuckDB file, which is opened to be read; or ``":memory:"``.
    view : bool
        Whether it is a view.
    table_name : (str, str), optional
        The schema and the name of a table of a file, as it was found there.
    """

    careful = False
    ordered = False
    finite = "isfinite({cell})"
    microseconds = "epoch_us({cell})"

    def __init__(
        self,
        kind: str,
        relation: str,
        database: str = ":memory:",
        table_name: tuple[str, str] | None = None,
        *,
        view: bool = False,
    ) -> None:
        self.kind, self.relation, self.view = kind, relation, view
        self._database = database
        self.table_name = table_name
        with quietly(), self._connected() as connection:
            described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        self.types = {row[0]: TYPES.get(row[1], "other") for row in described}

    def _connected(self) -> Any:
        stored = self._database != ":memory:"
        return need("duckdb").connect(self._database, read_only=stored, config=SETTINGS)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Return a connection that sees one state of the database."""
        with quietly(), self._connected() as connection:
            connection.execute("SET TimeZone = 'UTC'; BEGIN TRANSACTION")
            yield DuckDBSnapshot(connection)

    def schema(self, query: str) -> Any:
        """Return the types of an answer."""
        with quietly(), self._connected() as connection:
            return connection.sql(query).to_arrow_reader(1).schema


class ParquetEngine(DuckDBEngine):
    """Parquet files of one schema, whose names are ``names``."""

    ordered = True

    def __init__(self, files: Sequence[str], names: Sequence[str]) -> None:
        self._files = tuple(files)
        listed = "[" + ", ".join(map(text_literal, map(_one_file, files))) + "]"
        super().__init__("Parquet", f"read_parquet({listed}, hive_partitioning = false)")
        self.types = {name: self.types[name] for name in names}

    def state(self) -> Any:
        """Return the sizes of the files and when they were written."""
        return file_state(self._files)

    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield batches, file by file; a file is never read whole."""
        parquet = need("pyarrow.parquet")
        with quietly():
            for file in self._files:
                with parquet.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False) as opened:
                    yield from opened.iter_batches(rows, columns=list(names), use_threads=False)

    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Any:
        """Return the types that the files state."""
        with quietly():
            return need("pyarrow.parquet").read_schema(self._files[0]).empty_table().select(list(names))


class ArrowEngine(DuckDBEngine):
    """An Arrow file."""

    ordered = True
    checks_text = False

    def __init__(self, file: str) -> None:
        self._file = file
        super().__init__("Arrow file", ROWS)

    def state(self) -> Any:
        """Return the size of the file and when it was written."""
        return file_state([self._file])

    def _dataset(self) -> Any:
        return need("pyarrow.dataset").dataset(self._file, format="ipc")

    def _connected(self) -> Any:
        connection = super()._connected()
        connection.register(ROWS, self._dataset())
        return connection

    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield batches, one at a time."""
        with quietly():
            yield from self._dataset().to_batches(
                columns=list(names), batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False
            )

    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Any:
        """Return the types that the file states."""
        with quietly():
            return self._dataset().schema.empty_table().select(list(names))


def duckdb_engine(path: Path, table: str | None = None) -> Engine:
    """Return the table that a path stands for; errors here are about files and names, never about rows.

    Parameters
    ----------
    path : Path
        A Parquet file or a folder of them; a CSV file (``.csv``, ``.tsv``, also with ``.gz``); an Arrow file
        (``.arrow``, ``.feather``, ``.ipc``); or a DuckDB file (``.duckdb``, ``.ddb``, ``.db``).
    table : str, optional
        Which table of a DuckDB file; needed where it has several.
    """
    path, name = path.absolute(), path.name.lower()
    if name.endswith(DUCKDB_SUFFIXES):
        return _stored(_existing(path), table)
    if table is not None:
        raise ValueError(f"table={table!r}: expected None for {str(path)!r}, which holds one table")
    if name.endswith(CSV_SUFFIXES):
        return _csv(_existing(path))
    if name.endswith(ARROW_SUFFIXES):
        try:
            schema = need("pyarrow.dataset").dataset(str(_existing(path)), format="ipc").schema
        except (OSError, ValueError):
            raise ValueError(f"{str(path)!r}: expected an Arrow file (Feather, version 2)") from None
        _names(schema.names)
        return ArrowEngine(str(path))
    return _parquet(path)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{str(path)!r}: no such file")
    return path


def _one_file(path: str) -> str:
    """Return a path for DuckDB, in which no character stands for others."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def _names(names: Iterable[str]) -> list[str]:
    """Return the names of columns, which DuckDB can tell apart."""
    found, seen = unique_names(names), dict[str, str]()
    for name in found:
        if not name:
            raise ValueError("a column has no name: expected a name for each; write one into the file")
        if name.lower() in seen:
            raise ValueError(
                f"the columns {seen[name.lower()]!r} and {name!r} are one for DuckDB, which takes A for a: expected "
                "names that differ in more than that; rename one"
            )
        seen[name.lower()] = name
    return found


def _parquet(path: Path) -> DuckDBEngine:
    files = [str(file) for file in parquet_files(path)]
    schemas = [_parquet_columns(file) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if schema != schemas[0]:
            raise ValueError(
                f"{file!r} has other columns or types than {files[0]!r}: expected the same in all files of a folder"
            )
    return ParquetEngine(files, [name for name, _ in schemas[0]])


def _parquet_columns(file: str) -> list[tuple[str, str]]:
    parquet, pa = need("pyarrow.parquet"), need("pyarrow")
    try:
        schema = parquet.read_schema(file)
    except pa.lib.ArrowInvalid:
        schema = None
    if schema is None:
        raise ValueError(f"{file!r}: expected a Parquet file, or one whose name ends with .csv, .arrow or .duckdb")
    return [(name, str(kind)) for name, kind in zip(_names(schema.names), schema.types, strict=True)]


def _csv(path: Path) -> CsvEngine:
    separator, header = csv_header(path)
    if not any(header):
        raise ValueError(
            f"{str(path)!r}: expected a first line with the names of the columns, and a line feed after each line"
        )
    return CsvEngine(path, separator, _names(header))


def _stored(path: Path, table: str | None) -> DuckDBEngine:
    duckdb = need("duckdb")
    failure = ""
    try:
        with duckdb.connect(str(path), read_only=True, config=SETTINGS) as connection:
            found = connection.execute(
                "SELECT table_schema, table_name, table_type FROM information_schema.tables "
                "WHERE table_catalog = current_database() ORDER BY 1, 2"
            ).fetchall()
            ((catalog,),) = connection.execute("SELECT current_database()").fetchall()
    except duckdb.Error as error:
        failure = str(error).splitlines()[0]  # of the file: it is locked, or none
    if failure:
        raise OSError(f"{str(path)!r}: expected a DuckDB file that can be read; {failure}")
    places: dict[str, tuple[str, str, str]] = {f"{place}.{name}": (place, name, kind) for place, name, kind in found}
    for place, name, kind in found:
        if place == "main":
            places[name] = (place, name, kind)
    known = ", ".join(repr(name) for name in sorted(places)) or "none"
    if table is None and len(found) == 1:
        table = f"{found[0][0]}.{found[0][1]}"
    if table not in places:
        raise ValueError(
            f"table={table!r}: expected one of the tables of {str(path)!r}: {known}; write for example "
            f"Table({path.name!r}, 'visits')"
        )
    place, name, kind = places[table]
    relation = ".".join(map(quoted, (catalog, place, name)))
    kind, view = ("view", True) if kind != "BASE TABLE" else ("table", False)
    return DuckDBEngine(f"DuckDB {kind} {name!r}", relation, str(path), (place, name), view=view)
