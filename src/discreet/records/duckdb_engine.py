"""Tables that DuckDB reads: Parquet, CSV and Arrow files, and tables of a DuckDB file.

CSV files are read as text, all of it: a reader that looks for types looks at the rows. The names are those of the first
line, and what separates the columns is told from that line alone. A line that is broken is left out, or lacks columns.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.records.optional import need
from discreet.records.parquet_source import parquet_files
from discreet.records.sql_engine import Engine, quietly
from discreet.records.sql_text import quoted, text_literal
from discreet.records.table_source import unique_names

__all__ = ["DUCKDB_SUFFIXES", "DuckDBEngine", "duckdb_engine"]

DUCKDB_SUFFIXES = (".duckdb", ".ddb", ".db")
CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
SEPARATORS = (",", ";", "\t", "|")
TYPES = dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer")
TYPES |= {f"U{name}": "integer" for name in TYPES}
TYPES |= {"FLOAT": "float", "DOUBLE": "float", "BOOLEAN": "boolean", "VARCHAR": "text"}
# Nothing is fetched from anywhere: no extension, no remote file.
SETTINGS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
ROWS = "rows"  # the name of an Arrow file's table


class DuckDBEngine(Engine):
    """One table, by DuckDB.

    Parameters
    ----------
    kind : str
    relation : str
    position : str or None
    database : str
        A DuckDB file, which is opened to be read; or ``":memory:"``.
    arrow : str or None
        The path of an Arrow file that ``relation`` names.
    """

    careful = False
    matches = "regexp_matches({text}, {pattern})"

    def __init__(
        self, kind: str, relation: str, position: str | None, database: str = ":memory:", arrow: str | None = None
    ) -> None:
        self.kind, self.relation, self.position = kind, relation, position
        self._database, self._arrow = database, arrow
        with quietly():
            described = self._answer(f"DESCRIBE SELECT * FROM {relation}")
        self.types = {row[0]: TYPES.get(row[1], "other") for row in described}
        unique_names(self.types)

    def _connected(self) -> Any:
        stored = self._database != ":memory:"
        connection = need("duckdb").connect(self._database, read_only=stored, config=SETTINGS)
        if self._arrow is not None:
            connection.register(ROWS, need("pyarrow.dataset").dataset(self._arrow, format="ipc"))
        return connection

    def _answer(self, query: str) -> list[Any]:
        with self._connected() as connection:
            found: list[Any] = connection.execute(query).fetchall()
            return found

    def batches(self, query: str, rows: int) -> Iterator[Any]:
        """Yield Arrow batches, in the order of the table."""
        with quietly(), self._connected() as connection:
            yield from connection.sql(query).to_arrow_reader(rows)

    def texts(self, query: str) -> Sequence[str]:
        """Return one row of text."""
        with quietly():
            return [str(cell) for cell in self._answer(query)[0]]


def duckdb_engine(path: Path, table: str | None = None) -> DuckDBEngine:
    """Return the table that a path stands for; errors here are about files and names, never about rows.

    Parameters
    ----------
    path : Path
        A Parquet file or a folder of them; a CSV file (``.csv``, ``.tsv``, also with ``.gz``); an Arrow file
        (``.arrow``, ``.feather``, ``.ipc``); or a DuckDB file (``.duckdb``, ``.ddb``, ``.db``).
    table : str, optional
        Which table of a DuckDB file; needed where it has several.
    """
    name = path.name.lower()
    if name.endswith(DUCKDB_SUFFIXES):
        return _stored(_existing(path), table)
    if table is not None:
        raise ValueError(f"table={table!r}: expected None for {str(path)!r}, which holds one table")
    if name.endswith(CSV_SUFFIXES):
        return _csv(_existing(path))
    if name.endswith(ARROW_SUFFIXES):
        try:
            need("pyarrow.dataset").dataset(str(_existing(path)), format="ipc")
        except (OSError, ValueError):
            raise ValueError(f"{str(path)!r}: expected an Arrow file (Feather, version 2)") from None
        return DuckDBEngine("Arrow file", ROWS, None, arrow=str(path))
    return _parquet(path)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{str(path)!r}: no such file")
    return path


def _parquet(path: Path) -> DuckDBEngine:
    files = [str(file) for file in parquet_files(path)]
    listed = "[" + ", ".join(map(text_literal, files)) + "]"
    schemas = [_parquet_columns(file) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if schema != schemas[0]:
            raise ValueError(
                f"{file!r} has other columns or types than {files[0]!r}: expected the same in all files of a folder"
            )
    taken = {"filename", "file_row_number"} & {name for name, _ in schemas[0]}
    options = "hive_partitioning = false" + ("" if taken else ", file_row_number = true, filename = true")
    position = None if taken else f"list_position({listed}, filename), file_row_number"
    engine = DuckDBEngine("Parquet", f"read_parquet({listed}, {options})", position)
    engine.types = {name: engine.types[name] for name, _ in schemas[0]}
    return engine


def _parquet_columns(file: str) -> list[tuple[str, str]]:
    parquet, pa = need("pyarrow.parquet"), need("pyarrow")
    try:
        schema = parquet.read_schema(file)
    except pa.lib.ArrowInvalid:
        schema = None
    if schema is None:
        raise ValueError(f"{file!r}: expected a Parquet file, or one whose name ends with .csv, .arrow or .duckdb")
    return [(name, str(kind)) for name, kind in zip(unique_names(schema.names), schema.types, strict=True)]


def _csv(path: Path) -> DuckDBEngine:
    import gzip

    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline(2**20)
    separator = max(SEPARATORS, key=first.count)
    names = unique_names(next(iter(csv.reader([first], delimiter=separator)), []))
    if not any(names):
        raise ValueError(f"{str(path)!r}: expected a first line with the names of the columns")
    columns = ", ".join(f"{text_literal(name)}: 'VARCHAR'" for name in names)
    options = f"auto_detect = false, header = true, delim = {text_literal(separator)}, quote = '\"', escape = '\"'"
    tolerant = "ignore_errors = true, null_padding = true, strict_mode = false"
    relation = f"read_csv({text_literal(str(path))}, {options}, {tolerant}, columns = {{{columns}}})"
    return DuckDBEngine("CSV file", relation, None)


def _stored(path: Path, table: str | None) -> DuckDBEngine:
    duckdb = need("duckdb")
    failure = ""
    try:
        with duckdb.connect(str(path), read_only=True, config=SETTINGS) as connection:
            found = connection.execute(
                "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY 1, 2"
            ).fetchall()
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
        raise ValueError(f"table={table!r}: expected one of the tables of {str(path)!r}: {known}")
    place, name, kind = places[table]
    position = "rowid" if kind == "BASE TABLE" else None
    return DuckDBEngine(f"DuckDB table {name!r}", f"{quoted(place)}.{quoted(name)}", position, str(path))
