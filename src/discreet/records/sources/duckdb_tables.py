"""Tables that DuckDB reads: Parquet and Arrow files, and tables of a DuckDB file.

DuckDB computes sums over Parquet and Arrow files, and Arrow streams their rows: DuckDB fails at text that is not UTF-8.
Paths are absolute and name one file each: in a path DuckDB would take ``*``, ``?`` and ``[`` for patterns. CSV files
are read without DuckDB (``csv_files``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.arguments import ArgumentError
from discreet.records.sources.frames import empty_table, import_optional, unique_names
from discreet.records.sources.parquet_files import ParquetFiles
from discreet.records.sources.stored import Engine, Read, SqlEngine, replace_errors
from discreet.sql.text import quote_identifier, write_text

TYPES = dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer")
TYPES |= {f"U{name}": "integer" for name in TYPES}
TYPES |= {"FLOAT": "float", "DOUBLE": "float", "BOOLEAN": "boolean", "VARCHAR": "text"}
TYPES |= {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp"}
# Nothing is fetched from anywhere, no extension and no remote file; and no row is written to a temporary file.
SETTINGS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "temp_directory": ""}
SETTINGS |= {"python_enable_replacements": "false"}  # no name is that of a variable of the caller
TABLES = (
    "SELECT table_schema, table_name, table_type FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY 1, 2"
)
ROWS = "rows"  # the name of an Arrow file's table


class DuckDBEngine(SqlEngine):
    """One table, by DuckDB.

    Parameters
    ----------
    kind : str
    relation : str
    files : sequence of Path
        The files that hold the rows; none for a table of a DuckDB file, whose rows may change.
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
        *,
        files: Sequence[Path],
        database: str = ":memory:",
        table_name: tuple[str, str] | None = None,
        view: bool = False,
    ) -> None:
        self.relation, self.view = relation, view
        self._database = database
        self.table_name = table_name
        with replace_errors(), self._connect() as connection:
            described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        Engine.__init__(self, kind, {row[0]: TYPES.get(row[1], "other") for row in described}, files)

    def _connect(self) -> Any:
        stored = self._database != ":memory:"
        return import_optional("duckdb").connect(self._database, read_only=stored, config=SETTINGS)

    @contextmanager
    def snapshot(self) -> Iterator[Read]:
        """Return what reads one state of the database."""
        with replace_errors(), self._connect() as connection:
            connection.execute("SET TimeZone = 'UTC'; BEGIN TRANSACTION")
            yield lambda query, rows: connection.sql(query).to_arrow_reader(rows)


class ParquetEngine(ParquetFiles, DuckDBEngine):
    """Parquet files that DuckDB sums over and Arrow streams.

    Parameters
    ----------
    files : list of Path
    """

    ordered = True

    def __init__(self, files: list[Path]) -> None:
        ParquetFiles.__init__(self, files)
        names = check_names(self.types)
        for file, schema in zip(files, self.schemas, strict=True):
            if (schema.names, schema.types) != (self.schemas[0].names, self.schemas[0].types):
                raise ValueError(
                    f"{str(file)!r} has other columns or types than {str(files[0])!r}: expected the same in all files "
                    "of a folder"
                )
        paths = ", ".join(write_text(_escape_pattern(str(file))) for file in files)
        relation = f"read_parquet([{paths}], hive_partitioning = false)"
        DuckDBEngine.__init__(self, self.kind, relation, files=files)
        self.types = {name: self.types[name] for name in names}  # DuckDB may have added some


class ArrowEngine(DuckDBEngine):
    """An Arrow file, whose text may be no UTF-8: DuckDB sums over it, and Arrow streams.

    Parameters
    ----------
    file : Path
    """

    ordered = True
    checks_text = False

    def __init__(self, file: Path) -> None:
        self._file = str(file)
        try:
            names = check_names(self._dataset().schema.names)
        except (OSError, import_optional("pyarrow").lib.ArrowInvalid):
            raise ValueError(f"{self._file!r}: expected an Arrow file (Feather, version 2)") from None
        super().__init__("Arrow file", ROWS, files=[file])
        self.types = {name: self.types[name] for name in names}

    def _dataset(self) -> Any:
        return import_optional("pyarrow.dataset").dataset(self._file, format="ipc")

    def _connect(self) -> Any:
        connection = super()._connect()
        connection.register(ROWS, self._dataset())
        return connection

    def stream(self, names: Sequence[str], numbers: Collection[str], rows: int) -> Iterator[Any]:
        """Yield batches, one at a time."""
        with replace_errors():
            yield from self._dataset().to_batches(
                columns=list(names), batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False
            )

    def empty(self, names: Sequence[str], numbers: Collection[str]) -> Sequence[Any]:
        """Return the types that the file states."""
        with replace_errors():
            return [empty_table(self._dataset().schema).select(list(names))]


def _escape_pattern(path: str) -> str:
    """Return a path for DuckDB, which then takes no character of it for a pattern."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def check_names(names: Iterable[str]) -> list[str]:
    """Return the names of columns; raise unless DuckDB, which ignores case, can tell them apart."""
    result, seen = unique_names(names), dict[str, str]()
    for name in result:
        if not name:
            raise ValueError("a column has no name: expected a name for each; write one into the file")
        if name.lower() in seen:
            raise ValueError(
                f"the columns {seen[name.lower()]!r} and {name!r} are one for DuckDB, which takes A for a: expected "
                "names that differ in more than that; rename one"
            )
        seen[name.lower()] = name
    return result


def open_duckdb_table(path: Path, table: str | None) -> DuckDBEngine:
    """Return the engine of a table of a DuckDB file; ``table`` is needed where there are several."""
    duckdb, failure = import_optional("duckdb"), ""
    try:
        with duckdb.connect(str(path), read_only=True, config=SETTINGS) as connection:
            result = connection.execute(TABLES).fetchall()
            ((catalog,),) = connection.execute("SELECT current_database()").fetchall()
    except duckdb.Error as error:
        failure = str(error).splitlines()[0]  # of the file: it is locked, or none
    if failure:
        raise OSError(f"{str(path)!r}: expected a DuckDB file that can be read; {failure}")
    places = {f"{place}.{name}": (place, name, kind) for place, name, kind in result}
    places |= {name: (place, name, kind) for place, name, kind in result if place == "main"}
    if table is None and len(result) == 1:
        table = f"{result[0][0]}.{result[0][1]}"
    if table not in places:
        known = ", ".join(map(repr, sorted(places))) or "none"
        write = f"for example Table({path.name!r}, 'visits')"
        raise ArgumentError("table", table, f"one of the tables of {str(path)!r}: {known}", write)
    place, name, kind = places[table]
    relation = ".".join(map(quote_identifier, (catalog, place, name)))
    kind, view = ("view", True) if kind != "BASE TABLE" else ("table", False)
    return DuckDBEngine(
        f"DuckDB {kind} {name!r}", relation, files=(), database=str(path), table_name=(place, name), view=view
    )
