"""The tables, and what can be done with them inside one transaction.

One table holds the entries, append-only; another says which layout it has. A ``Book`` lives as long as one
transaction. It sees one state of the record, and it appends after having looked at the last entry, so the caller holds
the write lock by then.

An entry of the record: what it says, how it is written down, and the hash that ties it to the one before.

The hash is the SHA-256 of a canonical encoding of every column but the hash itself; the hash of the previous entry is
one of them. So a changed, missing or moved entry shows at that entry, and the last hash stands for the whole record
up to it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from discreet.arguments import integer
from discreet.guarantees import Loss, Neighbors
from discreet.ledger.errors import PUT_BACK, ChainError, LedgerError
from discreet.ledger.limit import Limit

__all__ = [
    "COLUMNS",
    "GENESIS",
    "LAYOUT",
    "LIMITS",
    "SPENDS",
    "Book",
    "Dialect",
    "Entry",
    "digest",
    "draft",
    "follow",
    "read_entry",
]

SPENDS = ("spend", "reserve")

LIMITS = ("limit", "raise")

GENESIS = "0" * 64  # what the first entry has in place of a previous hash

Row = Mapping[str, Any]

# All but the last are hashed, in this order. Changing it, or the encoding, is another layout of the table.
COLUMNS = ("number", "time", "kind", "dataset", "who", "query", "unit", "neighbors", "details", "previous", "hash")

_TAG = "discreet ledger 2"  # so that no other list of texts has the same hash


@dataclass(frozen=True)
class Entry:
    """One entry of a ledger.

    Attributes
    ----------
    number : int
        Its place in the record, from 1.
    time : datetime
        When it was recorded, by the clock of the process that did, in UTC.
    kind : str
        ``"spend"``, ``"reserve"``, ``"limit"`` (set or lowered) or ``"raise"``.
    dataset : str
    who, query : str or None
        Who asked, and for what. An entry about a limit has no query.
    unit : str or None
        Whose privacy the losses are about: ``"row"``, or the declared column that says whose row it is. One a data
        set; None for a limit that was set before the first spend settled it.
    neighbors : Neighbors
        The relation of the losses, or of the limit.
    losses : tuple of (Loss, int)
        Each distinct loss and how many times; ``compose(dict(entry.losses))`` prices them. Empty for a limit.
    limit : Limit or None
    reason : str or None
        Why a limit was raised.
    previous, hash : str
        The hash of the entry before, and of this one.
    """

    number: int
    time: datetime
    kind: str
    dataset: str
    who: str | None
    query: str | None
    unit: str | None
    neighbors: Neighbors
    losses: tuple[tuple[Loss, int], ...]
    limit: Limit | None
    reason: str | None
    previous: str
    hash: str


def draft(
    kind: str, dataset: str, neighbors: Neighbors, details: Row, *, who: str | None, query: str | None, unit: str | None
) -> dict[str, Any]:
    """Return an entry's columns as far as they are known before its place in the record is.

    The details are written in the one form that JSON has: sorted names, no blanks, ASCII, floats in the digits that
    give them back.
    """
    text = json.dumps(details, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    known = {"kind": kind, "dataset": dataset, "who": who, "query": query, "unit": unit}
    return {**known, "neighbors": neighbors.value, "details": text}


def digest(row: Row) -> str:
    """Return the hash that belongs to the other columns.

    A column of another type than we write (SQLite lets it be) is encoded somehow, to a hash that no entry has.
    """
    columns = [_TAG, *(row[name] for name in COLUMNS[:-1])]
    return hashlib.sha256(json.dumps(columns, separators=(",", ":"), default=repr).encode("ascii")).hexdigest()


def follow(rows: Iterable[Row], expected_head: str | None = None) -> str:
    """Return the hash of the last entry, having checked every one, and that ``expected_head`` is among them."""
    number, head = 0, GENESIS
    found = expected_head in (None, GENESIS)
    for row in rows:
        number += 1
        if row["number"] != number:
            raise ChainError(f"entry {number} is missing, the next one is {row['number']}; {PUT_BACK}")
        if row["previous"] != head:
            raise ChainError(
                f"entry {number} does not follow the one before it: one of the two was changed or moved; {PUT_BACK}"
            )
        if row["hash"] != digest(row):
            raise ChainError(f"entry {number} was changed after it was recorded; {PUT_BACK}")
        head = row["hash"]
        found = found or head == expected_head
    if not found:
        raise ChainError(
            f"the expected head is not among the {number} entries: the record was cut, replaced or rolled back; "
            "put back the newest copy"
        )
    return head


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Say what cannot be read, and what to do about it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(f"{what} cannot be read: {error}; {PUT_BACK}") from error


def read_entry(row: Row) -> Entry:
    """Return the entry that the columns hold."""
    with _readable(f"entry {row['number']} of the ledger"):
        limits = row["kind"] in LIMITS
        return Entry(
            number=int(row["number"]),
            time=datetime.fromisoformat(row["time"]),
            neighbors=Neighbors.of(row["neighbors"]),
            losses=() if limits else tuple(losses_of(row["details"]).items()),
            limit=limit_of(row["details"]) if limits else None,
            reason=json.loads(row["details"]).get("reason"),
            **{name: row[name] for name in ("kind", "dataset", "who", "query", "unit", "previous", "hash")},
        )


@lru_cache(maxsize=2**15)  # a spend reads the whole history
def _losses(details: str) -> tuple[tuple[Loss, int], ...]:
    pairs = json.loads(details)["losses"]
    return tuple((Loss.from_dict(loss), integer("count", count, least=1)) for count, loss in pairs)


def losses_of(details: str) -> Counter[Loss]:
    """Return the losses that the column ``details`` of a spend holds."""
    counts = Counter[Loss]()
    with _readable("an entry of the ledger holds losses that"):
        for loss, count in _losses(details):
            counts[loss] += count
    return counts


def limit_of(details: str) -> Limit:
    """Return the limit that the column ``details`` of an entry about a limit holds."""
    with _readable("an entry of the ledger holds a limit that"):
        return Limit.from_dict(json.loads(details)["limit"])


LAYOUT = 2

_PAGE = 1000  # rows that are read at once

_OPTIONAL = ("who", "query", "unit")

_LAYOUTS, _ENTRIES = "discreet_ledger_layout", "discreet_ledger_entries"


class Dialect(NamedTuple):
    """How a database wants it said.

    Attributes
    ----------
    mark : str
        What stands for a value.
    integer : str
        The type of whole numbers of 64 bits.
    there : str
        A query that finds a row where a table of this name is there.
    check : str or None
        A query that finds ``"ok"`` where the database is not damaged.
    """

    mark: str
    integer: str
    there: str
    check: str | None = None


class Book:
    """A ledger's record, as one transaction sees it, on a connection of the database's own driver."""

    def __init__(self, connection: Any, dialect: Dialect) -> None:
        self._connection, self._dialect = connection, dialect
        self._head: tuple[int, str] | None = None

    def _execute(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement.replace("?", self._dialect.mark), values)

    def _first(self, statement: str, *values: Any) -> Any:
        """Return the first column of the first row, or None where there is none."""
        return (self._execute(statement, *values).fetchone() or (None,))[0]

    def exists(self) -> bool:
        """Return whether the database holds a ledger."""
        return self._first(self._dialect.there, _LAYOUTS) is not None

    def create(self) -> None:
        """Make the tables."""
        kinds = {"number": f"{self._dialect.integer} NOT NULL PRIMARY KEY"} | dict.fromkeys(_OPTIONAL, "TEXT")
        columns = ", ".join(f"{name} {kinds.get(name, 'TEXT NOT NULL')}" for name in COLUMNS)
        self._execute(f"CREATE TABLE {_LAYOUTS} (version INTEGER NOT NULL)")
        self._execute(f"CREATE TABLE {_ENTRIES} ({columns})")
        self._execute(f"CREATE INDEX discreet_ledger_by_dataset ON {_ENTRIES} (dataset, kind)")
        self._execute(f"INSERT INTO {_LAYOUTS} VALUES (?)", LAYOUT)

    def check(self) -> None:
        """Raise where the database itself says that it is damaged."""
        found = "ok" if self._dialect.check is None else self._first(self._dialect.check)
        if found != "ok":
            raise LedgerError(f"the file is damaged ({found}); {PUT_BACK}")

    def check_layout(self) -> None:
        """Raise unless the tables are laid out as this version of the library reads them."""
        versions = [version for (version,) in self._execute(f"SELECT version FROM {_LAYOUTS}").fetchall()]
        if versions != [LAYOUT]:
            raise LedgerError(
                f"the ledger has layout {', '.join(map(str, versions)) or 'unknown'} and this version of discreet "
                f"reads layout {LAYOUT}; use the version that wrote it"
            )

    def head(self) -> tuple[int, str]:
        """Return the number and the hash of the last entry.

        Entries are numbered without gaps, so a count tells at once of one that was taken out.
        """
        if self._head is None:
            last = (
                f"SELECT number, hash, (SELECT count(*) FROM {_ENTRIES}) FROM {_ENTRIES} ORDER BY number DESC LIMIT 1"
            )
            number, digest, there = self._execute(last).fetchone() or (0, GENESIS, 0)
            if number != there:
                raise ChainError(
                    f"the last entry has number {number} but there are {there}: some are missing; {PUT_BACK}"
                )
            self._head = (number, digest)
        return self._head

    def hash_of(self, number: int) -> str | None:
        """Return the hash of one entry, or None where there is none."""
        found: str | None = self._first(f"SELECT hash FROM {_ENTRIES} WHERE number = ?", number)
        return GENESIS if number == 0 else found

    def limit(self, dataset: str) -> Limit | None:
        """Return the limit in force: the last one that was recorded."""
        limits = f"FROM {_ENTRIES} WHERE dataset = ? AND kind IN (?, ?) ORDER BY number DESC LIMIT 1"
        details = self._first(f"SELECT details {limits}", dataset, *LIMITS)
        return None if details is None else limit_of(details)

    def unit(self, dataset: str) -> str | None:
        """Return whose privacy the data set's losses are about, or None while nothing has settled it."""
        found: str | None = self._first(
            f"SELECT unit FROM {_ENTRIES} WHERE dataset = ? AND unit IS NOT NULL LIMIT 1", dataset
        )
        return found

    def spent(self, dataset: str) -> Counter[Loss]:
        """Return every loss of the whole history and how many times it was spent."""
        spends = f"FROM {_ENTRIES} WHERE dataset = ? AND kind IN (?, ?) GROUP BY details"
        total = Counter[Loss]()
        for details, times in self._execute(f"SELECT details, count(*) {spends}", dataset, *SPENDS).fetchall():
            for loss, count in losses_of(details).items():
                total[loss] += count * times
        return total

    def append(self, row: dict[str, Any]) -> Entry:
        """Add an entry after the last one: numbered, dated and hashed."""
        number, previous = self.head()
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        placed = {**row, "number": number + 1, "time": time, "previous": previous}
        placed["hash"] = digest(placed)
        names, marks = ", ".join(COLUMNS), ", ".join("?" for _ in COLUMNS)
        self._execute(f"INSERT INTO {_ENTRIES} ({names}) VALUES ({marks})", *(placed[name] for name in COLUMNS))
        self._head = (number + 1, placed["hash"])
        return read_entry(placed)

    def rows(self, dataset: str | None = None) -> Iterator[dict[str, Any]]:
        """Return the rows, all or those of one data set, in order.

        A page at a time, each read to its end: whoever stops in the middle leaves no statement open, which would keep
        the file locked for as long as somebody holds on to the error.
        """
        chosen, of = ("", ()) if dataset is None else ("AND dataset = ?", (dataset,))
        some = f"FROM {_ENTRIES} WHERE number > ? {chosen} ORDER BY number LIMIT {_PAGE}"
        last = -(2**63)
        while page := self._execute(f"SELECT {', '.join(COLUMNS)} {some}", last, *of).fetchall():
            yield from (dict(zip(COLUMNS, row, strict=True)) for row in page)
            last = page[-1][0]

    def datasets(self) -> list[str]:
        """Return the names of all data sets."""
        return sorted(name for (name,) in self._execute(f"SELECT DISTINCT dataset FROM {_ENTRIES}").fetchall())
