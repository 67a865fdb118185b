"""Transactions on a database, with its errors told in our words.

No connection outlives a transaction (``NullPool``): there is none that a fork, a thread or a pickle could share, and
none that goes stale. An engine belongs to the process that made it; after a fork the child makes its own.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.ledger.address import Address
from discreet.ledger.book import Book
from discreet.ledger.errors import LedgerError

__all__ = ["Storage"]


class Storage(ABC):
    """A place that keeps a ledger.

    Parameters
    ----------
    address : Address
    timeout : float
        How many seconds to wait for a lock or a connection.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self.address, self.timeout = address, timeout
        self._engine, self._process = self._new_engine(), os.getpid()

    @abstractmethod
    def _new_engine(self) -> Engine:
        """Return an engine; nothing is opened yet."""

    @abstractmethod
    def _begin(self, connection: Connection, *, write: bool) -> None:
        """Begin a transaction; a writing one holds the only write lock from here on."""

    @abstractmethod
    def _cause(self, error: Any) -> str:
        """Return what a driver's error means and what to do about it."""

    @abstractmethod
    def prepare(self, create: bool) -> None:
        """Make the ledger where there is none and ``create`` says so; raise where there is none that can be read."""

    def damage(self, connection: Connection) -> str | None:
        """Return what is wrong with the database itself, as far as it can tell."""
        return None

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """Give the record to read, as it is at one moment."""
        with self._told(), self._connected() as connection:
            self._begin(connection, write=False)
            yield Book(connection)
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Book]:
        """Give the record to append to. When the block has been left without an error, it is on the disk."""
        with self._told("; nothing may be released"), self._connected() as connection:
            self._begin(connection, write=True)
            yield Book(connection)
            connection.commit()

    def checkup(self) -> None:
        """Raise where the database itself says that it is damaged."""
        with self._told(), self._connected() as connection:
            found = self.damage(connection)
            if found is not None:
                raise LedgerError(f"the file is damaged ({found}); put back a good copy and verify it")

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        if self._process != os.getpid():
            self._engine, self._process = self._new_engine(), os.getpid()
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _told(self, consequence: str = "") -> Iterator[None]:
        """Say of every error which ledger it is about, and of the driver's errors what they mean."""
        try:
            yield
        except DBAPIError as error:
            raise LedgerError(f"ledger {self.address.url}: {self._cause(error.orig)}{consequence}") from error
        except SQLAlchemyError as error:
            raise LedgerError(f"ledger {self.address.url}: {error}{consequence}") from error
        except LedgerError as error:
            raise type(error)(f"ledger {self.address.url}: {error}{consequence}") from error
        except OSError as error:
            raise LedgerError(f"ledger {self.address.url}: {error}{consequence}") from error
