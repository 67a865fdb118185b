"""Connections and transactions of a ledger, on a SQLite file or a PostgreSQL database; what they write is in ``book``.

No connection outlives a transaction, so forks, threads and pickles share none, and none goes stale. An error of a
driver is replaced by one that says what it means and what to do about it.

**One SQLite file.**

- A transaction that writes takes the write lock at its very beginning (BEGIN IMMEDIATE): no other entry can come
  between reading the history and adding to it.
- ``synchronous=EXTRA``: a commit has reached the disk, folder included, before ``spend`` returns. (With FULL a power
  cut just after the commit may bring the deleted journal back, and with it undo the commit.) The name of a new ledger
  is on the disk with the folder, so before its first entry is.
- A new ledger is made under another name and linked into its place when it is whole. So a file under the right
  name is a ledger or it is damaged, and an empty one is never taken for a fresh budget. Once a handle is there it never
  makes a file again.
- SQLite must not be carried across a fork in the middle of a transaction, so a fork waits until this process has
  none. Threads take turns, as they would at the file's own lock.

**Two tables of a PostgreSQL database.** Writers take turns at an advisory lock, which they hold to the end of their
transaction. (It needs no more rights than to select and to insert, so the tables can be made append-only for the role
that spends.) The lock is taken before anything is read and every statement then sees what was committed before it, so
no other entry can come between reading the history and adding to it. ``synchronous_commit`` is switched on where the
server has it off.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from discreet.ledger.address import Address
from discreet.ledger.book import PUT_BACK, Book, Dialect, LedgerError


@dataclass(eq=False)
class Storage(ABC):
    """Where a ledger is stored.

    Parameters
    ----------
    address : Address
    timeout : float
        How many seconds to wait for a lock or a connection.
    """

    dialect: ClassVar[Dialect]
    missing: ClassVar[str]  # what is said where there is no ledger
    turn: ClassVar[AbstractContextManager[Any]] = nullcontext()  # is held during a transaction

    address: Address
    timeout: float
    errors: type[Exception] = field(init=False)  # the driver's

    @abstractmethod
    def _connect(self, create: bool = False) -> Any:
        """Return a connection that begins no transaction of its own accord; make a ledger first if there is none."""

    @abstractmethod
    def _begin(self, connection: Any, write: bool) -> None:
        """Begin a transaction; a writing one holds the only write lock from here on."""

    @abstractmethod
    def _cause(self, error: Any) -> str:
        """Return what a driver's error means and what to do about it."""

    @property
    def _locked(self) -> str:
        return f"another process has had it locked for {self.timeout:g} seconds; try again, or give a longer timeout"

    def _create_tables(self, connection: Any) -> None:
        self._begin(connection, write=True)
        Book(connection, self.dialect).create()
        connection.execute("COMMIT")

    @contextmanager
    def transaction(self, write: bool = False, create: bool = False) -> Iterator[Book]:
        """Give the record as it is at one moment, to read or to append to; make a ledger first if ``create`` says so.

        When a block that writes has been left without an error, its entries are on the disk. Every error names the
        ledger, and says of a driver's error what it means.
        """
        try:
            with self.turn, closing(self._connect(create)) as connection:
                self._begin(connection, write)
                yield Book(connection, self.dialect)
                if write:
                    connection.execute("COMMIT")
        except (self.errors, OSError) as error:
            kind = type(error) if isinstance(error, LedgerError) else LedgerError
            cause = self._cause(error) if isinstance(error, self.errors) else error
            consequence = "; nothing may be released" if write else ""
            raise kind(f"ledger {self.address.url}: {cause}{consequence}") from error


_TURN = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release)

_SQLITE_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written; look at its space, its quota and its health",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make both writable, or open a copy to look at",
    sqlite3.SQLITE_PERM: "the file may not be opened; look at its permissions",
    sqlite3.SQLITE_AUTH: "the file may not be opened; look at its permissions",
    sqlite3.SQLITE_NOTADB: f"the file is not a ledger, or its beginning is damaged; {PUT_BACK}",
    sqlite3.SQLITE_CORRUPT: f"the file is damaged; {PUT_BACK}",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; look at its permissions and those of its folder",
}


class SqliteStorage(Storage):
    """One file; see the module."""

    dialect = Dialect("?", "INTEGER", "SELECT 1 FROM sqlite_master WHERE name = ?", "PRAGMA integrity_check(1)")
    missing = "the file is empty or belongs to something else; put back the ledger, or name another"
    turn = _TURN
    errors = sqlite3.Error
    mode = "rw"  # never "rwc": a file that has gone is not a fresh budget

    def _connect(self, create: bool = False) -> sqlite3.Connection:
        assert self.address.path is not None
        if create and not os.path.lexists(self.address.path):
            self._make(self.address.path)
        return self._open(self.address.path, self.mode)

    def _open(self, path: Path, mode: str) -> sqlite3.Connection:
        # isolation_level=None: sqlite3 begins no transaction of its own accord
        return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=self.timeout, isolation_level=None)

    def _begin(self, connection: Any, write: bool) -> None:
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: past the disk's own cache
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def _make(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise LedgerError(f"there is no folder {path.parent}; make it first")
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with closing(self._open(draft, "rwc")) as connection:
                self._create_tables(connection)
            # What an earlier ledger of this name left undone would be undone in ours
            journal = path.with_name(path.name + "-journal")
            if journal.exists() and not path.exists():
                raise LedgerError(f"the file has gone but its journal {journal.name} is there; put the file back")
            try:
                with suppress(FileExistsError):  # another process was faster
                    os.link(draft, path)
            except OSError as error:
                raise LedgerError(f"the file could not be put in its place ({error}); choose a local disk") from error
        finally:
            draft.unlink(missing_ok=True)

    def _cause(self, error: Any) -> str:
        code = getattr(error, "sqlite_errorcode", None)
        kind = 0 if code is None else code & 0xFF  # the rest of an extended code says where
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._locked
        if kind == sqlite3.SQLITE_CANTOPEN and not os.path.exists(self.address.path or ""):
            return "there is no such file; an open Ledger does not make it again: write Ledger(path)"
        return f"{_SQLITE_CAUSES.get(kind, 'the file cannot be used; put back a good copy')} (SQLite: {error})"


_LOCK = 0x64697363726565  # any number that others will not think of: "discree"

_POSTGRESQL_CAUSES = {
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
                self._create_tables(connection)

    def _cause(self, error: Any) -> str:
        state = str(getattr(error, "sqlstate", None))
        text = " ".join(str(error).split())
        if state == "55P03":
            return self._locked
        if "no password supplied" in text or "password authentication failed" in text:
            state = "28P01"  # libpq's errors while connecting carry no state
        return f"{_POSTGRESQL_CAUSES.get(state, 'the server could not do it')} (PostgreSQL: {text})"
