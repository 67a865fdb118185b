"""A ledger in one SQLite file.

- A transaction that writes takes the write lock at its very beginning (BEGIN IMMEDIATE): nobody else's entry can come
  between looking at the history and adding to it.
- ``synchronous=EXTRA``: a commit has reached the disk, folder included, before ``spend`` returns. (With FULL a power
  cut just after the commit may bring the deleted journal back, and with it undo the commit.) The name of a new ledger
  is on the disk with the folder, so before its first entry is.
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
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.ledger.book import Book, Dialect
from discreet.ledger.errors import PUT_BACK, LedgerError
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
                self._begin(connection, write=True)
                Book(connection, self.dialect).create()
                connection.execute("COMMIT")
            # What an earlier ledger of this name left undone would be undone in ours
            journal = path.with_name(path.name + "-journal")
            if journal.exists() and not path.exists():
                raise LedgerError(f"the file has gone but its journal {journal.name} is there; put the file back")
            try:
                os.link(draft, path)
            except FileExistsError:
                pass  # another process was faster
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
            return "there is no such file; a ledger is made by Ledger(path) only, never by a handle that was there"
        return f"{_CAUSES.get(kind, 'the file cannot be used; put back a good copy')} (SQLite: {error})"
