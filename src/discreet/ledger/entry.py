"""An entry of the record: what it says, how it is written down, and the hash that ties it to the one before.

The hash is the SHA-256 of a canonical encoding of every column but the hash itself; the hash of the previous entry is
one of them. So a changed, missing or moved entry shows at that entry, and the last hash stands for the whole record
up to it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Self

from discreet.arguments import integer
from discreet.guarantees import Loss, Neighbors
from discreet.ledger.errors import PUT_BACK, LedgerError
from discreet.ledger.limit import Limit

__all__ = ["GENESIS", "LIMITS", "SPENDS", "Entry", "digest", "draft", "limit_of", "losses_of", "read_entry", "sealed"]

SPENDS = ("spend", "reserve")
LIMITS = ("limit", "raise")

GENESIS = "0" * 64  # what the first entry has in place of a previous hash

Row = Mapping[str, Any]

# The columns that are hashed, in this order. Changing it, or the encoding, is another layout of the table.
_HASHED = ("number", "time", "kind", "dataset", "who", "query", "unit", "neighbors", "details", "previous")
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

    @classmethod
    def _of(cls, row: Row) -> Self:
        details = json.loads(row["details"])
        about_limit = row["kind"] in LIMITS
        return cls(
            number=int(row["number"]),
            time=datetime.fromisoformat(row["time"]),
            kind=row["kind"],
            dataset=row["dataset"],
            who=row["who"],
            query=row["query"],
            unit=row["unit"],
            neighbors=Neighbors.of(row["neighbors"]),
            losses=() if about_limit else tuple(losses_of(row["details"]).items()),
            limit=limit_of(row["details"]) if about_limit else None,
            reason=details.get("reason"),
            previous=row["previous"],
            hash=row["hash"],
        )


def _canonical(value: Any) -> str:
    """Return JSON in its one form: sorted names, no blanks, ASCII, floats in the digits that give them back."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(row: Row) -> str:
    """Return the hash that belongs to the other columns.

    A column of another type than we write (SQLite lets it be) is encoded somehow, to a hash that no entry has.
    """
    columns = [_TAG, *(row[name] for name in _HASHED)]
    return hashlib.sha256(json.dumps(columns, separators=(",", ":"), default=repr).encode("ascii")).hexdigest()


def draft(
    kind: str,
    dataset: str,
    *,
    who: str | None,
    neighbors: Neighbors,
    query: str | None = None,
    unit: str | None = None,
    losses: Mapping[Loss, int] | None = None,
    limit: Limit | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    """Return an entry's columns as far as they are known before its place in the record is."""
    details: dict[str, Any] = {}
    if losses is not None:
        details["losses"] = [[count, loss.to_dict()] for loss, count in losses.items()]
    if limit is not None:
        details["limit"] = limit.to_dict()
    if reason is not None:
        details["reason"] = reason
    return {
        "kind": kind,
        "dataset": dataset,
        "who": who,
        "query": query,
        "unit": unit,
        "neighbors": neighbors.value,
        "details": _canonical(details),
    }


def sealed(row: Row, number: int, previous: str) -> dict[str, Any]:
    """Return the row in its place: numbered, dated and hashed."""
    time = datetime.now(UTC).isoformat(timespec="microseconds")
    placed = {**row, "number": number, "time": time, "previous": previous}
    return {**placed, "hash": digest(placed)}


def read_entry(row: Row) -> Entry:
    """Return the entry that the columns hold."""
    try:
        return Entry._of(row)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(f"entry {row['number']} of the ledger cannot be read: {error}; {PUT_BACK}") from error


@lru_cache(maxsize=2**15)  # a spend reads the whole history
def _losses(details: str) -> tuple[tuple[Loss, int], ...]:
    pairs = json.loads(details)["losses"]
    return tuple((Loss.from_dict(loss), integer("count", count, least=1)) for count, loss in pairs)


def losses_of(details: str) -> Counter[Loss]:
    """Return the losses that the column ``details`` of a spend holds."""
    counts = Counter[Loss]()
    try:
        for loss, count in _losses(details):
            counts[loss] += count
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(f"an entry of the ledger holds losses that cannot be read: {error}; {PUT_BACK}") from error
    return counts


def limit_of(details: str) -> Limit:
    """Return the limit that the column ``details`` of an entry about a limit holds."""
    try:
        return Limit.from_dict(json.loads(details)["limit"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(f"an entry of the ledger holds a limit that cannot be read: {error}; {PUT_BACK}") from error
