"""A ledger in two tables of a PostgreSQL database.

Writers take turns at an advisory lock, which they hold to the end of their transaction. (It needs no more rights than
to select and to insert, so the tables can be made append-only for the role that spends.) The lock is taken before
anything is read and every statement then sees what was committed before it, so nobody's entry can come between
looking at the history and adding to it. ``synchronous_commit`` is switched on where the server has it off.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, func, make_url, select

from discreet.ledger.address import Address
from discreet.ledger.errors import LedgerError
from discreet.ledger.storage import Storage

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

    def __init__(self, address: Address, timeout: float) -> None:
        if find_spec("psycopg") is None:
            raise ImportError(
                "a ledger in PostgreSQL needs the package psycopg; install it with: pip install 'psycopg[binary]'"
            )
        super().__init__(address, timeout)

    def _new_engine(self) -> Engine:
        url = make_url(self.address.url)
        if self.address.password is not None:
            url = url.set(password=self.address.password)
        wait = max(2, math.ceil(self.timeout))  # libpq counts in whole seconds, from 2
        return create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": wait})

    def _begin(self, connection: Connection, *, write: bool) -> None:
        connection.execution_options(isolation_level="READ COMMITTED" if write else "REPEATABLE READ")
        connection.begin()
        if write:
            self._lock(connection)

    def _lock(self, connection: Connection) -> None:
        milliseconds = str(max(1, math.ceil(1000.0 * self.timeout)))
        connection.execute(select(func.set_config("lock_timeout", milliseconds, True)))
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        if connection.execute(select(func.current_setting("synchronous_commit"))).scalar() == "off":
            connection.execute(select(func.set_config("synchronous_commit", "on", True)))

    def prepare(self, create: bool) -> None:
        """Make the tables where there are none; see that they can be read where there are."""
        with self.reading() as book:
            there = book.exists()
        if not there:
            if not create:
                raise LedgerError(f"ledger {self.address.url}: the database holds no ledger; Ledger(url) makes one")
            with self.writing() as book:
                if not book.exists():  # nobody made it while we waited for the lock
                    book.create()
        with self.reading() as book:
            book.check_layout()

    def _cause(self, error: Any) -> str:
        state = str(getattr(error, "sqlstate", None))
        text = " ".join(str(error).split())
        if state == "55P03":
            return (
                f"another process has had it locked for {self.timeout:g} seconds; try again, or give a longer timeout"
            )
        if "no password supplied" in text or "password authentication failed" in text:
            state = "28P01"  # libpq's errors while connecting carry no state
        return f"{_CAUSES.get(state, 'the server could not do it')} (PostgreSQL: {text})"
