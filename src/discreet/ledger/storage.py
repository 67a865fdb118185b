"""Transactions on a database, with its errors told in our words.

No connection outlives a transaction: there is none that a fork, a thread or a pickle could share, and none that goes
stale.

Where a ledger is: a file, or a PostgreSQL database.

The password of a database is kept apart from the address that is shown and pickled. A pickle ends up in files, caches
and worker processes, so it leaves the password out; libpq finds it again in ``PGPASSWORD`` or ``~/.pgpass``, which is
the place for it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from discreet.arguments import ArgumentError
from discreet.ledger.book import Book, Dialect
from discreet.ledger.errors import LedgerError

__all__ = ["Address", "Storage"]

_SQLITE = ("sqlite", "sqlite+pysqlite")

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")

_ACCEPTED = (
    "a path, 'sqlite:///path' or 'postgresql+psycopg://user@host/database' (the password in PGPASSWORD or ~/.pgpass)"
)


@dataclass(frozen=True)
class Address:
    """A place for a ledger.

    Attributes
    ----------
    url : str
        Without a password, absolute, and so the same from every folder and process.
    path : Path or None
        The file, or None for a database.
    password : str or None
        Never shown, compared or pickled.
    """

    url: str
    path: Path | None = None
    password: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, url: Any) -> Address:
        """Return the address that a path or a URL means.

        >>> Address.of("postgresql+psycopg://ann:secret@localhost/budgets").url
        'postgresql+psycopg://ann@localhost/budgets'
        """
        given = os.fspath(url) if isinstance(url, os.PathLike) else url
        if not isinstance(given, str) or not given or "\0" in given:
            shown = "…" if isinstance(given, str) and given else given  # it may hold a password
            raise ArgumentError("url", shown, _ACCEPTED)
        driver, mark, rest = given.partition("://")
        if mark and driver not in _SQLITE:
            return cls._of_database(driver, rest)
        if mark and not rest.startswith("/"):
            raise ArgumentError("url", given, _ACCEPTED)
        name = rest[1:] if mark else given
        if name in ("", ":memory:"):
            raise ArgumentError("url", name, "a file; a record in memory is forgotten when the process ends")
        try:
            path = Path(os.path.abspath(Path(name).expanduser()))
        except RuntimeError:  # ~somebody
            raise ArgumentError("url", name, "a path without ~, since nobody of this name has a home") from None
        return cls(f"sqlite:///{path}", path)

    @classmethod
    def _of_database(cls, driver: str, rest: str) -> Address:
        shown = f"{driver}://…"  # the rest may hold a password, so no error shows it
        if driver not in _POSTGRESQL:
            raise ArgumentError("url", shown, _ACCEPTED)
        place, mark, options = rest.partition("?")
        names = {option.partition("=")[0] for option in options.split("&")}
        if names & {"password", "sslpassword"}:
            raise ArgumentError("url", shown, "the password in PGPASSWORD or ~/.pgpass, not among the options")
        login, at, server = place.rpartition("@")
        user, colon, password = login.partition(":")
        url = f"postgresql+psycopg://{user}{at}{server}{mark}{options}"
        return cls(url, password=unquote(password) if colon else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Address, (self.url, self.path)


class Storage(ABC):
    """A place that keeps a ledger.

    Parameters
    ----------
    address : Address
    timeout : float
        How many seconds to wait for a lock or a connection.
    """

    dialect: ClassVar[Dialect]
    missing: ClassVar[str]  # what is said where there is no ledger
    turn: ClassVar[AbstractContextManager[Any]] = nullcontext()  # is held during a transaction

    errors: type[Exception]  # the driver's

    def __init__(self, address: Address, timeout: float) -> None:
        self.address, self.timeout = address, timeout

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

    @contextmanager
    def transaction(self, write: bool = False, create: bool = False) -> Iterator[Book]:
        """Give the record as it is at one moment, to read or to append to; make one first if ``create`` says so.

        When a block that writes has been left without an error, it is on the disk. Every error says which ledger it is
        about, and of the driver's errors what they mean.
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
