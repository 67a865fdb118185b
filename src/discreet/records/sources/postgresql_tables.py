"""A table of a PostgreSQL database, read in Arrow batches by ADBC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self
from urllib.parse import quote, urlsplit

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.ledger.address import Address
from discreet.records.sources.frames import import_optional, unique_names
from discreet.records.sources.stored import Read, SqlEngine, replace_errors
from discreet.sql.text import quote_identifier, write_text

TYPES = {"int2": "integer", "int4": "integer", "int8": "integer", "float4": "float", "float8": "float"}
TYPES |= {"bool": "boolean", "text": "text", "varchar": "text", "numeric": "decimal"}
TYPES |= {"date": "date", "timestamp": "timestamp", "timestamptz": "timestamp"}
AS_TEXT = ("decimal", "uuid", "bpchar", "enum", "name")
# Text, numbers and dates are written and read in one way, whatever the defaults of the server or the account are.
SETTINGS = {"standard_conforming_strings": "on", "default_transaction_read_only": "on"}
SETTINGS |= {"TimeZone": "UTC", "extra_float_digits": "3"}
ENCODING = "SELECT current_setting('server_encoding') AS encoding"
DESCRIBE = (
    "SELECT a.attname::text AS name, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE t.typname::text END AS kind, "
    "c.relkind::text AS stored, n.nspname::text AS place, c.relname::text AS found "
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = to_regclass({name}) "
    "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
SETTING = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in SETTINGS.items())


def is_postgresql(data: object) -> bool:
    """Return whether something is the URL of a PostgreSQL database."""
    return isinstance(data, str) and data.split("://", 1)[0].split("+", 1)[0] in ("postgresql", "postgres")


def database_address(url: str) -> Address:
    """Return where a database is, the password apart; errors show nothing of the URL."""
    address = Address.parse(url)
    try:
        usable = urlsplit(address.url).port != 0
    except ValueError:
        usable = False
    options = address.url.partition("?")[2]
    if not usable or not all("=" in option for option in options.split("&") if option):
        accepted = "'postgresql://user@host:port/database', with special characters as %40"
        raise ArgumentError("location", UNSHOWN, accepted, "the password into PGPASSWORD or ~/.pgpass")
    return address


class PostgreSQLEngine(SqlEngine):
    """One table, by PostgreSQL. A pickle of it leaves the password out, as that of a ledger does.

    Parameters
    ----------
    url : str
        ``"postgresql://user@host/database"``; the password in ``PGPASSWORD`` or ``~/.pgpass``.
    table : str
        Its name, or ``"schema.name"``.
    """

    careful = True
    ordered = False
    fence = " OFFSET 0"
    finite = "{cell} BETWEEN CAST('-1.7976931348623157e308' AS FLOAT8) AND CAST('1.7976931348623157e308' AS FLOAT8)"
    microseconds = "CAST(EXTRACT(EPOCH FROM {cell}) * 1000000 AS BIGINT)"

    def __init__(self, url: str, table: str | None) -> None:
        if not isinstance(table, str) or not table or "\0" in table:
            raise ArgumentError("table", table, "the name of a table of the database", "table='visits'")
        self._address = database_address(url)
        import_optional("adbc_driver_postgresql")
        place, dot, name = table.partition(".")
        names = [quote_identifier(table)] + (
            [f"{quote_identifier(place)}.{quote_identifier(name)}"] if dot else []
        )  # as it stands, or with a schema
        with self._connect_or_explain() as connection:
            if _fetch(connection, ENCODING)[0]["encoding"] == "SQL_ASCII":  # a name that cannot be read would stop all
                raise ValueError(
                    "the database has the encoding SQL_ASCII: expected one that says what text is, as UTF8"
                )
            tables = [(one, _fetch(connection, DESCRIBE.format(name=write_text(one)))) for one in names]
        self.relation, described = next((found for found in tables if found[1]), tables[0])
        if not described:
            raise ValueError(f"table={table!r}: expected a table that this account may read, and there is none")
        types = {row["name"]: TYPES.get(row["kind"], row["kind"]) for row in described}
        super().__init__(f"PostgreSQL table {table!r}", types, files=())
        unique_names(self.types)
        self.table_name = (described[0]["place"], described[0]["found"])  # by the server's own search path
        self.view = described[0]["stored"] not in ("r", "p")  # not a table, nor one in partitions

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _connect_or_explain(self) -> Any:
        """Return a connection; raise, with what the server says, where there is none. It says nothing of rows."""
        failure = ""
        try:
            return self._connect()
        except Exception as error:
            failure = type(error).__name__ + ": " + str(error).splitlines()[0].replace(self._url, "the URL")
        host = urlsplit(self._address.url).hostname or "this machine"
        hint = "; set PGPASSWORD, or write ~/.pgpass" if "password" in failure else ""
        raise OSError(f"the PostgreSQL server at {host} cannot be reached: {failure}{hint}")

    @property
    def _url(self) -> str:
        rest, password = self._address.url.partition("://")[2], self._address.password
        user, at, server = rest.partition("@")
        login = "" if password is None else f":{quote(password, safe='')}"
        more = "&" if "?" in server or "?" in user else "?"
        return f"postgresql://{user}{login}{at}{server}{more}client_encoding=UTF8"

    def _connect(self) -> Any:
        connection = import_optional("adbc_driver_postgresql.dbapi").connect(self._url, autocommit=True)
        with connection.cursor() as cursor:
            cursor.execute(SETTING)
            cursor.fetchall()
        return connection

    @contextmanager
    def snapshot(self) -> Iterator[Read]:
        """Return what reads one state of the database."""
        with replace_errors(), self._connect() as connection, ExitStack() as opened:

            def read(query: str, rows: int) -> Any:
                cursor = opened.enter_context(connection.cursor())
                cursor.execute(query)
                return cursor.fetch_record_batch()

            with connection.cursor() as cursor:
                cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield read

    def number(self, name: str) -> str:
        """Return a column of numbers; decimals that no float holds are missing, as everywhere."""
        cell = quote_identifier(name)
        if self.types[name] != "decimal":
            return cell
        tiny = f"CASE WHEN ABS({cell}) < 1e-300 THEN 0 ELSE {cell} END"
        return f"CASE WHEN ABS({cell}) <= 1.7976931348623157e308 THEN CAST({tiny} AS FLOAT8) END"

    def label(self, name: str) -> str:
        """Return a column of categories or of units."""
        return f"CAST({quote_identifier(name)} AS TEXT)" if self.types[name] in AS_TEXT else quote_identifier(name)


def _fetch(connection: Any, query: str) -> list[dict[str, Any]]:
    with replace_errors(), connection.cursor() as cursor:
        cursor.execute(query)
        found: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
        return found
