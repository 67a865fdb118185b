"""A ledger in two tables of a PostgreSQL database.

Writers take turns at an advisory lock, which they hold to the end of their transaction. (It needs no more rights than
to select and to insert, so the tables can be made append-only for the role that spends.) The lock is taken before
anything is read and every statement then sees what was committed before it, so nobody's entry can come between
looking at the history and adding to it. ``synchronous_commit`` is switched on where the server has it off.
"""

from __future__ import annotations

import math
from contextlib import closing
from typing import Any

from discreet.ledger.book import Book, Dialect
from discreet.ledger.storage import Address, Storage

__all__ = ["PostgresqlStorage"]

_LOCK = 0x64697363726565  # any number that others will not think of: "discree"

_CAUSES = {
    "53100": "the server's disk is full; free some space",
    "25006": "the server or this role may only read; connect where it may write",
    "42501": "this role may not do that; it needs to select from and insert into the ledger's tables",
    "28P01": "the server refuses the login; put the password in PGPASSWORD or ~/.pgpass (a pickle leaves it out)",
    "28000": "the server refuses the login",
    "3D000": "there is no such database; make it first",
}


class PostgresqlStorage(Storage):
    """A database by its URL; see the module."""

    dialect = Dialect("%s", "BIGINT", "SELECT 1 WHERE to_regclass(?) IS NOT NULL")
    missing = "the database holds no ledger; Ledger(url) makes one"

    def __init__(self, address: Address, timeout: float) -> None:
        try:
            import psycopg
        except ImportError:
            raise ImportError(
                "a ledger in PostgreSQL needs the package psycopg; install it with: pip install 'psycopg[binary]'"
            ) from None
        super().__init__(address, timeout)
        self._driver, self.errors = psycopg, psycopg.Error

    def _connect(self, create: bool = False) -> Any:
        if create:
            self._make()
        wait = max(2, math.ceil(self.timeout))  # libpq counts in whole seconds, from 2
        url = self.address.url.replace("+psycopg", "", 1)
        return self._driver.connect(url, password=self.address.password, connect_timeout=wait, autocommit=True)

    def _begin(self, connection: Any, write: bool) -> None:
        connection.execute(f"BEGIN ISOLATION LEVEL {'READ COMMITTED' if write else 'REPEATABLE READ'}")
        if write:
            milliseconds = str(max(1, math.ceil(1000.0 * self.timeout)))
            connection.execute("SELECT set_config('lock_timeout', %s, true)", [milliseconds])
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            if connection.execute("SHOW synchronous_commit").fetchone() == ("off",):
                connection.execute("SET LOCAL synchronous_commit = on")

    def _make(self) -> None:
        with closing(self._connect()) as connection:
            there = Book(connection, self.dialect).exists()
        if not there:  # a new connection: the old one may remember that there was no table
            with closing(self._connect()) as connection:
                self._begin(connection, write=True)
                book = Book(connection, self.dialect)
                if not book.exists():  # nobody made it while we waited for the lock
                    book.create()
                connection.execute("COMMIT")

    def _cause(self, error: Any) -> str:
        state = str(getattr(error, "sqlstate", None))
        text = " ".join(str(error).split())
        if state == "55P03":
            return self._locked
        if "no password supplied" in text or "password authentication failed" in text:
            state = "28P01"  # libpq's errors while connecting carry no state
        return f"{_CAUSES.get(state, 'the server could not do it')} (PostgreSQL: {text})"
