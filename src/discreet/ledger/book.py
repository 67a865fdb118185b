"""The record of a ledger: its entries, the hashes that chain them, and the tables that hold them.

**Entries.** An ``Entry`` is a row of the table. Its hash is the SHA-256 of a canonical encoding of every column but the
hash itself; the hash of the previous entry is one of them. So a changed, missing or moved entry is detected at that
entry, and the last hash commits to the whole record up to it.

**Tables.** One table holds the entries, append-only; another says which layout it has. A ``Book`` lives as long as one
transaction. It sees one state of the record. It appends after having looked at the last entry, so the caller holds the
write lock by then.

**Names** of data sets, queries and people. Two spellings that look alike would be two data sets, each with a budget of
its own. So blanks at the ends, invisible characters and line breaks are refused, and accented letters are brought to
one form (Unicode NFC).

**Errors.** Wrong arguments are ``ValueError``s, as everywhere.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from discreet.arguments import ArgumentError, integer
from discreet.guarantees import Loss, Neighbors
from discreet.ledger.dataset_limits import Account, Limit, describe_cost

PUT_BACK = "put back a good copy and verify it"  # what to do about a record that was changed


class LedgerError(OSError):
    """The record could not be read or written. Whatever was asked for does not count as spent: release nothing.

    An ``OSError``, since its causes are: a full disk, a file that is missing, read-only, locked or damaged, a server
    that does not answer.
    """


class ChainError(LedgerError):
    """The entries do not follow from one another: the record was edited, cut, reordered or rolled back."""


_MOST = 1000
# Letters and marks of Unicode that show nothing, although Python calls them printable: fillers, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def check_text(name: str, value: Any) -> str:
    """Return ``value`` in Unicode NFC if it is a text that looks different from every other such text.

    >>> check_text("dataset", "census 2020")
    'census 2020'
    >>> check_text("dataset", "census ")
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: dataset='census ': expected a text of 1 to 1000 printable characters, ...
    """
    if isinstance(value, str):
        normal = unicodedata.normalize("NFC", value)
        seen = normal.isprintable() and not _INVISIBLE.search(normal)
        if seen and normal == normal.strip() and 0 < len(normal) <= _MOST:
            return normal
    raise ArgumentError(name, value, f"a text of 1 to {_MOST} printable characters, without a blank at either end")


def check_who(who: Any) -> str | None:
    """Return the name of who is asking: as given, else the login name, else None where the system knows none."""
    if who is not None:
        return check_text("who", who)
    with suppress(OSError, KeyError, ImportError, ValueError):  # a container's user often has no name
        return check_text("who", getpass.getuser())
    return None


SPENDS = ("spend", "reserve")

LIMITS = ("limit", "raise")

UNANSWERED = "unanswered"  # a mark; it has no losses, so earlier versions of the library read it as a spend of nothing

GENESIS = "0" * 64  # what the first entry has in place of a previous hash

LAYOUT = 2

# All but the last are hashed, in this order. Changing it, or the encoding, is another layout of the table.
COLUMNS = ("number", "time", "kind", "dataset", "who", "query", "unit", "neighbors", "details", "previous", "hash")

_TAG = "discreet ledger 2"  # so that no other list of texts has the same hash

_PAGE = 1000  # rows that are read at once

_LAYOUTS, _ENTRIES = "discreet_ledger_layout", "discreet_ledger_entries"

_TABLES = (
    f"CREATE TABLE {_LAYOUTS} (version INTEGER NOT NULL)",
    f"CREATE TABLE {_ENTRIES} (number BIGINT NOT NULL PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, "
    "dataset TEXT NOT NULL, who TEXT, query TEXT, unit TEXT, neighbors TEXT NOT NULL, details TEXT NOT NULL, "
    "previous TEXT NOT NULL, hash TEXT NOT NULL)",
    f"CREATE INDEX discreet_ledger_by_dataset ON {_ENTRIES} (dataset, kind)",
    f"INSERT INTO {_LAYOUTS} VALUES ({LAYOUT})",
)

_LAST = (
    f"SELECT number, hash, (SELECT count(*) FROM {_ENTRIES}), (SELECT hash FROM {_ENTRIES} WHERE number = ?) "
    f"FROM {_ENTRIES} ORDER BY number DESC LIMIT 1"
)

_OF_DATASET = (
    f"SELECT kind, details, max(unit), count(*) FROM {_ENTRIES} WHERE dataset = ? GROUP BY kind, details "
    "ORDER BY max(number)"
)

_INSERT = f"INSERT INTO {_ENTRIES} ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"


class Details(NamedTuple):
    """What the column ``details`` holds: the losses of a spend, or a limit, and the reason why it was raised.

    Of a mark it is the number of the marked entry. A limit that a curator set has a digest of the declared columns.
    """

    losses: tuple[tuple[Loss, int], ...] = ()
    limit: Limit | None = None
    reason: str | None = None
    marked: int | None = None
    declared: str | None = None


@lru_cache(maxsize=2**15)  # a spend reads the whole history
def read_details(kind: str, details: str) -> Details:
    """Return what the column ``details`` of an entry of this kind holds."""
    try:
        values = json.loads(details)
        if kind in LIMITS:
            limit = Limit.from_dict(values["limit"])
            return Details((), limit, values.get("reason"), declared=values.get("declared"))
        losses = Counter[Loss]()
        for count, loss in values["losses"]:
            losses[Loss.from_dict(loss)] += integer("count", count, least=1)
        marked = integer("entry", values["entry"], least=1) if kind == UNANSWERED else None
        return Details(tuple(losses.items()), marked=marked)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(f"an entry of the ledger, a {kind}, cannot be read: {error}; {PUT_BACK}") from error


def write_details(details: Mapping[str, Any]) -> str:
    """Return details in the one form that JSON has: sorted names, no blanks, ASCII, floats in all their digits."""
    return json.dumps(details, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class Entry(NamedTuple):
    """One entry of a ledger: a row of its table, and what the row says.

    Attributes
    ----------
    number : int
        Its place in the record, from 1.
    written : str
        Its time as it is written.
    kind : str
        ``"spend"``, ``"reserve"``, ``"limit"`` (set or lowered), ``"raise"``, or ``"unanswered"``: an earlier entry
        was paid for and then not answered.
    dataset : str
    who, query : str or None
        Who asked, and for what. An entry about a limit has no query.
    unit : str or None
        Whose privacy the losses are about: ``"row"``, or the declared column that says whose row it is. One a data
        set; None for a limit that was set before the first spend settled it.
    relation : str
        Its neighbour relation as it is written.
    details : str
        Its losses, or its limit, as JSON.
    previous, hash : str
        The hash of the entry before, and of this one.
    """

    number: int
    written: str
    kind: str
    dataset: str
    who: str | None
    query: str | None
    unit: str | None
    relation: str
    details: str
    previous: str
    hash: str

    @property
    def time(self) -> datetime:
        """When it was recorded, by the clock of the process that did, in UTC."""
        return datetime.fromisoformat(self.written)

    @property
    def neighbors(self) -> Neighbors:
        """The relation of the losses, or of the limit."""
        return Neighbors.parse(self.relation)

    @property
    def losses(self) -> tuple[tuple[Loss, int], ...]:
        """Each distinct loss and how many times; ``compose(dict(entry.losses))`` prices them. Empty for a limit."""
        return read_details(self.kind, self.details).losses

    @property
    def limit(self) -> Limit | None:
        """The limit, or None for a spend."""
        return read_details(self.kind, self.details).limit

    @property
    def reason(self) -> str | None:
        """Why a limit was raised."""
        return read_details(self.kind, self.details).reason

    @property
    def marked(self) -> int | None:
        """Of a mark, the number of the entry that was not answered; None for other entries."""
        return read_details(self.kind, self.details).marked

    @property
    def cost(self) -> str:
        """What the losses cost together, in words."""
        return describe_cost(self.losses)

    def check_readable(self) -> Entry:
        """Return the entry; raise unless all of it can be read."""
        try:
            _ = int(self.number), self.time, self.neighbors, self.losses
        except (ValueError, TypeError) as error:
            raise LedgerError(f"entry {self.number} of the ledger cannot be read: {error}; {PUT_BACK}") from error
        return self

    def digest(self) -> str:
        """Return the hash that belongs to the other columns.

        A column of another type than we write (SQLite allows it) is encoded as its ``repr``, to a hash that no entry
        has.
        """
        columns = json.dumps([_TAG, *self[:-1]], separators=(",", ":"), default=repr)
        return hashlib.sha256(columns.encode("ascii")).hexdigest()


def check_chain(entries: Iterable[Entry], expected_head: str | None = None) -> str:
    """Check every entry, and that ``expected_head`` is among their hashes; return the hash of the last one."""
    number, head = 0, GENESIS
    is_there = expected_head in (None, GENESIS)
    for entry in entries:
        number += 1
        if entry.number != number:
            raise ChainError(f"entry {number} is missing, the next one is {entry.number}; {PUT_BACK}")
        if entry.previous != head:
            raise ChainError(
                f"entry {number} does not follow the one before it: one of the two was changed or moved; {PUT_BACK}"
            )
        if entry.hash != entry.digest():
            raise ChainError(f"entry {number} was changed after it was recorded; {PUT_BACK}")
        head = entry.hash
        is_there = is_there or head == expected_head
    if not is_there:
        raise ChainError(
            f"the expected head is not among the {number} entries: the record was cut, replaced or rolled back; "
            "put back the newest copy"
        )
    return head


class Dialect(NamedTuple):
    """How the SQL of a database differs.

    Attributes
    ----------
    mark : str
        The placeholder of a value.
    integer : str
        The type of whole numbers of 64 bits.
    exists : str
        A query that returns a row if there is a table of this name.
    check : str or None
        A query that returns ``"ok"`` if the database is not damaged.
    """

    mark: str
    integer: str
    exists: str
    check: str | None = None


@dataclass
class Book:
    """A ledger's record, as one transaction sees it, on a connection of the database's own driver.

    Attributes
    ----------
    head : (int, str)
        The number and the hash of the last entry, from ``check_head`` on.
    """

    _connection: Any
    _dialect: Dialect
    head: tuple[int, str] = (0, GENESIS)

    def _execute(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement.replace("?", self._dialect.mark), values)

    def exists(self) -> bool:
        """Return whether the database holds a ledger."""
        return self._execute(self._dialect.exists, _LAYOUTS).fetchone() is not None

    def create(self) -> None:
        """Create the tables, unless another process created them while this one waited for the lock."""
        for statement in () if self.exists() else _TABLES:
            self._execute(statement.replace("BIGINT", self._dialect.integer))

    def check(self) -> None:
        """Raise where the database itself says that it is damaged."""
        (result,) = ("ok",) if self._dialect.check is None else self._execute(self._dialect.check).fetchone()
        if result != "ok":
            raise LedgerError(f"the file is damaged ({result}); {PUT_BACK}")

    def check_layout(self, missing: str) -> None:
        """Raise unless there are tables, laid out as this version of the library reads them."""
        if not self.exists():
            raise LedgerError(missing)
        versions = [version for (version,) in self._execute(f"SELECT version FROM {_LAYOUTS}").fetchall()]
        if versions != [LAYOUT]:
            raise LedgerError(
                f"the ledger has layout {', '.join(map(str, versions)) or 'unknown'} and this version of discreet "
                f"reads layout {LAYOUT}; use the version that wrote it"
            )

    def check_head(self, seen: tuple[int, str]) -> tuple[int, str]:
        """Return the number and the hash of the last entry; the one that was seen before must still be there.

        Entries are numbered without gaps, so the count shows when one was removed.
        """
        number, digest, there, again = self._execute(_LAST, seen[0]).fetchone() or (0, GENESIS, 0, None)
        if seen[0] and again != seen[1]:
            raise ChainError(
                f"entry {seen[0]}, which this handle has seen, has gone or changed: the record was replaced or rolled "
                "back; put back the newest copy"
            )
        if number != there:
            raise ChainError(f"the last entry has number {number} but there are {there}: some are missing; {PUT_BACK}")
        self.head = (number, digest)
        return self.head

    def account(self, dataset: str) -> Account:
        """Return what is recorded of a data set. The limit in force is the last one; all that is no limit was spent."""
        limit, unit, spent = None, None, Counter[Loss]()
        for kind, details, whose, times in self._execute(_OF_DATASET, dataset).fetchall():
            read, unit = read_details(kind, details), unit or whose
            limit = read.limit or limit
            for loss, count in read.losses:
                spent[loss] += count * times
        return Account(dataset, limit, spent, unit)

    def append(self, columns: tuple[str, str, str | None, str | None, str | None, str, str]) -> Entry:
        """Add an entry, given from its kind to its details, after the last one: numbered, dated and hashed."""
        number, previous = self.head
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        entry = Entry(number + 1, time, *columns, previous, "")
        entry = entry._replace(hash=entry.digest())
        self._execute(_INSERT, *entry)
        self.head = (entry.number, entry.hash)
        return entry

    def has(self, entry: Entry) -> bool:
        """Return whether this entry is in the record."""
        there = f"SELECT 1 FROM {_ENTRIES} WHERE number = ? AND hash = ?"
        return self._execute(there, entry.number, entry.hash).fetchone() is not None

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """Return the entries, all or those of one data set, in order.

        They are read a page at a time, each page to its end. So no statement stays open where the caller stops in the
        middle; it would keep the file locked for as long as the error is referenced.
        """
        chosen, of = ("", ()) if dataset is None else ("AND dataset = ?", (dataset,))
        some = f"FROM {_ENTRIES} WHERE number > ? {chosen} ORDER BY number LIMIT {_PAGE}"
        last = -(2**63)
        while page := self._execute(f"SELECT {', '.join(COLUMNS)} {some}", last, *of).fetchall():
            yield from map(Entry._make, page)
            last = page[-1][0]

    def declarations(self) -> dict[str, str | None]:
        """Return the names of all data sets, sorted, each with the digest of its declaration where one is recorded."""
        result: dict[str, str | None] = dict.fromkeys(self.datasets())
        limits = f"SELECT dataset, details FROM {_ENTRIES} WHERE kind = 'limit' ORDER BY number"
        for dataset, details in self._execute(limits).fetchall():
            result[dataset] = read_details("limit", details).declared or result[dataset]
        return result

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all data sets, sorted."""
        names = self._execute(f"SELECT DISTINCT dataset FROM {_ENTRIES}").fetchall()
        return tuple(sorted(name for (name,) in names))
