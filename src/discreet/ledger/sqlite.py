"""A ledger in one SQLite file.

- A transaction that writes takes the write lock at its very beginning (BEGIN IMMEDIATE): nobody else's entry can come
  between looking at the history and adding to it.
- ``synchronous=EXTRA``: a commit has reached the disk, folder included, before ``spend`` returns. (With FULL a power
  cut just after the commit may bring the deleted journal back, and with it undo the commit.)
- A new ledger is made under another name and linked into its place when it is whole. So a file under the right
  name is a ledger or it is damaged, and an empty one is never taken for a fresh budget. Once a handle is there it never
  makes a file again.
- SQLite must not be carried across a fork in the middle of a transaction, so a fork waits until this process has
  none. Threads take turns, as they would at the file's own lock.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event

from discreet.ledger.book import Book
from discreet.ledger.errors import LedgerError
from discreet.ledger.storage import Storage

__all__ = ["SqliteStorage"]

_TURN = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release)

_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written; look at its space, its quota and its health",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make both writable, or open a copy to look at",
    sqlite3.SQLITE_PERM: "the file may not be opened; look at its permissions",
    sqlite3.SQLITE_AUTH: "the file may not be opened; look at its permissions",
    sqlite3.SQLITE_NOTADB: "the file is not a ledger, or its beginning is damaged; put back a good copy and verify it",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; put back a good copy and verify it",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; look at its permissions and those of its folder",
}


class SqliteStorage(Storage):
    """One file; see the module."""

    @property
    def path(self) -> Path:
        """The file."""
        assert self.address.path is not None
        return self.address.path

    def _new_engine(self) -> Engine:
        return self._engine_of(self.path, "rw")  # never "rwc": a file that has gone is not a fresh budget

    def _engine_of(self, path: Path, mode: str) -> Engine:
        def connect() -> sqlite3.Connection:
            # isolation_level=None: sqlite3 begins no transaction of its own accord
            raw = sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=self.timeout, isolation_level=None)
            try:
                raw.execute("PRAGMA synchronous=EXTRA")
                raw.execute("PRAGMA fullfsync=ON")  # macOS: past the disk's own cache
            except BaseException:
                raw.close()
                raise
            return raw

        engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            write = connection.get_execution_options().get("discreet_write", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def _begin(self, connection: Connection, *, write: bool) -> None:
        connection.execution_options(discreet_write=write)
        connection.begin()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with _TURN, super()._connected() as connection:
            yield connection

    def prepare(self, create: bool) -> None:
        """Make the file where there is none; see that it holds a ledger where there is one."""
        if create and not os.path.lexists(self.path):
            with self._told():
                self._create()
        with self.reading() as book:
            if not book.exists():
                raise LedgerError(
                    "the file is empty or belongs to something else; put back the ledger, or name another"
                )
            book.check_layout()

    def _create(self) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise LedgerError(f"there is no folder {folder}; make it first")
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            with _TURN, self._engine_of(draft, "rwc").connect() as connection:
                self._begin(connection, write=True)
                Book(connection).create()
                connection.commit()
            # What an earlier ledger of this name left undone would be undone in ours
            journal = self.path.with_name(self.path.name + "-journal")
            if journal.exists() and not self.path.exists():
                raise LedgerError(f"the file has gone but its journal {journal.name} is there; put the file back")
            try:
                os.link(draft, self.path)
            except FileExistsError:
                pass  # another process was faster
            except OSError as error:
                raise LedgerError(f"the file could not be put in its place ({error}); choose a local disk") from error
        finally:
            draft.unlink(missing_ok=True)
        if os.name == "posix":
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def damage(self, connection: Connection) -> str | None:
        """Return the first thing that SQLite's own check finds."""
        found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        return None if found == "ok" else str(found)

    def _cause(self, error: Any) -> str:
        code = getattr(error, "sqlite_errorcode", None)
        kind = 0 if code is None else code & 0xFF  # the rest of an extended code says where
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return (
                f"another process has had it locked for {self.timeout:g} seconds; try again, or give a longer timeout"
            )
        if kind == sqlite3.SQLITE_CANTOPEN and not self.path.exists():
            return "there is no such file; a ledger is made by Ledger(path) only, never by a handle that was there"
        return f"{_CAUSES.get(kind, 'the file cannot be used; put back a good copy')} (SQLite: {error})"
