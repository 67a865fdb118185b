"""A table of a PostgreSQL database, in Arrow batches by ADBC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from discreet.records.optional import need
from discreet.records.sql_engine import Engine, quietly
from discreet.records.sql_text import quoted, text_literal
from discreet.records.table_source import unique_names

__all__ = ["PostgreSQLEngine", "is_postgresql"]

TYPES = {"int2": "integer", "int4": "integer", "int8": "integer", "float4": "float", "float8": "float"}
TYPES |= {"bool": "boolean", "text": "text", "varchar": "text", "numeric": "decimal"}
AS_TEXT = ("decimal", "uuid", "bpchar", "enum", "name")
# A scan starts at the first page and goes on page by page: rows come in one order each time.
SETTINGS = ("SET synchronize_seqscans = off", "SET max_parallel_workers_per_gather = 0", "SET extra_float_digits = 3")
READ_ONLY = "SET default_transaction_read_only = on"


def is_postgresql(data: object) -> bool:
    """Return whether something is the URL of a PostgreSQL database."""
    return isinstance(data, str) and data.split("://", 1)[0].split("+", 1)[0] in ("postgresql", "postgres")


class PostgreSQLEngine(Engine):
    """One table, by PostgreSQL.

    Parameters
    ----------
    url : str
        ``"postgresql://user@host/database"``; the password in ``PGPASSWORD`` or ``~/.pgpass``.
    table : str
        Its name, or ``"schema.name"``.
    """

    careful = True
    fence = " OFFSET 0"
    matches = "{text} ~ {pattern}"

    def __init__(self, url: str, table: str | None) -> None:
        if not isinstance(table, str) or not table:
            raise ValueError(f"table={table!r}: expected the name of a table of the database; write table='visits'")
        parts = urlsplit(url)
        self._url = urlunsplit(parts._replace(scheme="postgresql"))
        self.kind = f"PostgreSQL table {table!r}"
        need("adbc_driver_postgresql")
        self._check(parts.hostname)
        name = self._found(table)
        described = self._described(name)
        if not described:
            raise ValueError(f"table={table!r}: expected a table that this account may read, and there is none")
        self.relation = name
        self.types = {row["name"]: TYPES.get(row["kind"], row["kind"]) for row in described}
        unique_names(self.types)
        # A table and a materialised view have one place for each row; others are read as they come.
        self.position = "ctid" if described[0]["stored"] in ("r", "m") else None

    def _check(self, host: str | None) -> None:
        """Raise, with what the server says, where it cannot be reached; it says nothing of rows."""
        failure = ""
        try:
            self._connected().close()
        except Exception as error:
            failure = type(error).__name__ + ": " + str(error).splitlines()[0].replace(self._url, "the URL")
        if failure:
            raise OSError(f"the PostgreSQL server at {host or 'this machine'} cannot be reached: {failure}")

    def _connected(self) -> Any:
        connection = need("adbc_driver_postgresql.dbapi").connect(self._url, autocommit=True)
        with connection.cursor() as cursor:
            for setting in (*SETTINGS, READ_ONLY):
                cursor.execute(setting)
        return connection

    def _found(self, table: str) -> str:
        """Return the quoted name of a table: as it stands, or with a schema before the first point."""
        candidates = [quoted(table)]
        if "." in table:
            place, _, name = table.partition(".")
            candidates.append(f"{quoted(place)}.{quoted(name)}")
        for name in candidates:
            if self._described(name):
                return name
        return candidates[0]

    def _described(self, name: str) -> list[dict[str, Any]]:
        query = (
            "SELECT a.attname::text AS name, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE t.typname::text END AS kind, "
            "c.relkind::text AS stored FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
            f"JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = to_regclass({text_literal(name)}) "
            "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
        )
        return [row for batch in self.batches(query, 1000) for row in batch.to_pylist()]

    def batches(self, query: str, rows: int) -> Iterator[Any]:
        """Yield Arrow batches, in the order of the table."""
        with quietly(), self._connected() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            for batch in cursor.fetch_record_batch():
                for start in range(0, batch.num_rows or 1, rows):
                    yield batch.slice(start, rows)

    def texts(self, query: str) -> Sequence[str]:
        """Return one row of text."""
        with quietly(), self._connected() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return [str(cell) for cell in cursor.fetchone()]
        raise AssertionError  # the type checker does not know that errors are not swallowed

    def number(self, name: str) -> str:
        """Return a column of numbers; decimals that no float holds are missing, as everywhere."""
        cell = quoted(name)
        if self.types[name] != "decimal":
            return cell
        tiny = f"CASE WHEN ABS({cell}) < 1e-300 THEN 0 ELSE {cell} END"
        return f"CASE WHEN ABS({cell}) <= 1.7976931348623157e308 THEN CAST({tiny} AS FLOAT8) END"

    def label(self, name: str) -> str:
        """Return a column of categories or of units."""
        return f"CAST({quoted(name)} AS TEXT)" if self.types[name] in AS_TEXT else quoted(name)
