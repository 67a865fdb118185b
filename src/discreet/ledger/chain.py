"""Following the chain of entries from the first to the last."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.ledger.entry import GENESIS, Row, digest
from discreet.ledger.errors import PUT_BACK, ChainError

__all__ = ["follow"]


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
