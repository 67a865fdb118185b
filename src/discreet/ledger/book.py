"""The tables, and what can be done with them inside one transaction.

One table holds the entries, append-only; another says which layout it has. A ``Book`` lives as long as one
transaction. It sees one state of the record, and it appends after having looked at the last entry, so the caller holds
the write lock by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
)

from discreet.guarantees import Loss
from discreet.ledger.entry import GENESIS, LIMITS, SPENDS, Entry, limit_of, losses_of, read_entry, sealed
from discreet.ledger.errors import PUT_BACK, ChainError, LedgerError
from discreet.ledger.limit import Limit

__all__ = ["LAYOUT", "Book"]

LAYOUT = 2

_PAGE = 1000  # rows that are read at once

_METADATA = MetaData()

_LAYOUTS = Table("discreet_ledger_layout", _METADATA, Column("version", Integer, nullable=False))

_ENTRIES = Table(
    "discreet_ledger_entries",
    _METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("who", Text),
    Column("query", Text),
    Column("unit", Text),
    Column("neighbors", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("discreet_ledger_by_dataset", "dataset", "kind"),
)


class Book:
    """A ledger's record, as one transaction sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._head: tuple[int, str] | None = None

    def exists(self) -> bool:
        """Return whether the database holds a ledger."""
        return inspect(self._connection).has_table(_LAYOUTS.name)

    def create(self) -> None:
        """Make the tables."""
        _METADATA.create_all(self._connection, checkfirst=False)
        self._connection.execute(insert(_LAYOUTS).values(version=LAYOUT))

    def check_layout(self) -> None:
        """Raise unless the tables are laid out as this version of the library reads them."""
        versions = self._connection.execute(select(_LAYOUTS.c.version)).scalars().all()
        if list(versions) != [LAYOUT]:
            raise LedgerError(
                f"the ledger has layout {', '.join(map(str, versions)) or 'unknown'} and this version of discreet "
                f"reads layout {LAYOUT}; use the version that wrote it"
            )

    def head(self) -> tuple[int, str]:
        """Return the number and the hash of the last entry.

        Entries are numbered without gaps, so a count tells at once of one that was taken out.
        """
        if self._head is None:
            count = select(func.count()).select_from(_ENTRIES).scalar_subquery()
            statement = select(_ENTRIES.c.number, _ENTRIES.c.hash, count).order_by(_ENTRIES.c.number.desc()).limit(1)
            number, digest, there = self._connection.execute(statement).first() or (0, GENESIS, 0)
            if number != there:
                raise ChainError(
                    f"the last entry has number {number} but there are {there}: some are missing; {PUT_BACK}"
                )
            self._head = (number, digest)
        return self._head

    def hash_of(self, number: int) -> str | None:
        """Return the hash of one entry, or None where there is none."""
        if number == 0:
            return GENESIS
        return self._connection.execute(select(_ENTRIES.c.hash).where(_ENTRIES.c.number == number)).scalar()

    def limit(self, dataset: str) -> Limit | None:
        """Return the limit in force: the last one that was recorded."""
        statement = (
            select(_ENTRIES.c.details)
            .where(_ENTRIES.c.dataset == dataset, _ENTRIES.c.kind.in_(LIMITS))
            .order_by(_ENTRIES.c.number.desc())
            .limit(1)
        )
        details = self._connection.execute(statement).scalar()
        return None if details is None else limit_of(details)

    def unit(self, dataset: str) -> str | None:
        """Return whose privacy the data set's losses are about, or None while nothing has settled it."""
        statement = select(_ENTRIES.c.unit).where(_ENTRIES.c.dataset == dataset, _ENTRIES.c.unit.is_not(None)).limit(1)
        unit: str | None = self._connection.execute(statement).scalar()
        return unit

    def spent(self, dataset: str) -> Counter[Loss]:
        """Return every loss of the whole history and how many times it was spent."""
        statement = (
            select(_ENTRIES.c.details, func.count())
            .where(_ENTRIES.c.dataset == dataset, _ENTRIES.c.kind.in_(SPENDS))
            .group_by(_ENTRIES.c.details)
        )
        total = Counter[Loss]()
        for details, times in self._connection.execute(statement).all():
            for loss, count in losses_of(details).items():
                total[loss] += count * times
        return total

    def append(self, row: dict[str, Any]) -> Entry:
        """Add an entry after the last one."""
        number, previous = self.head()
        placed = sealed(row, number + 1, previous)
        self._connection.execute(insert(_ENTRIES).values(placed))
        self._head = (number + 1, placed["hash"])
        return read_entry(placed)

    def rows(self, dataset: str | None = None) -> Iterator[dict[str, Any]]:
        """Return the rows, all or those of one data set, in order.

        A page at a time, each read to its end: whoever stops in the middle leaves no statement open, which would keep
        the file locked for as long as somebody holds on to the error.
        """
        every = select(_ENTRIES).order_by(_ENTRIES.c.number).limit(_PAGE)
        if dataset is not None:
            every = every.where(_ENTRIES.c.dataset == dataset)
        page = self._connection.execute(every).all()
        while page:
            yield from (row._asdict() for row in page)
            page = self._connection.execute(every.where(_ENTRIES.c.number > page[-1].number)).all()

    def datasets(self) -> list[str]:
        """Return the names of all data sets."""
        return sorted(self._connection.execute(select(_ENTRIES.c.dataset).distinct()).scalars().all())
