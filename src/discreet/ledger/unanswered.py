"""What was recorded and then not answered, because an error or Ctrl-C came first: it is marked, and the error says so.

``answering`` begins before the spend. An entry is noted there *before* its commit, so Ctrl-C may come at any moment:
also in the middle of the commit, or between the commit and the next line. Whether the commit succeeded is then read
from the ledger, by the number and the hash of the entry. The reading takes the write lock, so a server has finished the
commit by then, or has given it up.

Blocks may be nested. The innermost block that fails marks what was recorded within it. What was recorded in a block
that succeeded belongs to the block around it, whose answer is not out yet. Each thread has blocks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.ledger.book import Entry
    from discreet.ledger.ledger import Ledger

STAYS = "was not answered, but stays charged to"

Recorded = list[tuple["Ledger", "Entry"]]
_recorded: ContextVar[Recorded | None] = ContextVar("recorded", default=None)


@contextmanager
def answering() -> Iterator[Recorded]:
    """Mark in the ledger, if the block fails, what was paid in it and not answered, and add that to the error.

    Yields the list to which a ledger adds what it records.
    """
    outer = _recorded.get()
    mine: Recorded = [] if outer is None else outer
    start = len(mine)
    try:
        _recorded.set(mine)
        yield mine
    except BaseException as error:
        for ledger, entry in mine[start:]:
            mark, where = True, "if it was recorded: the ledger cannot be read now"
            with suppress(OSError, KeyboardInterrupt):  # the first error is the one to show
                mark, where = ledger.mark_unanswered(entry) is not None, f"entry {entry.number} of the ledger"
            if mark:
                error.add_note(f"{entry.query!r} {STAYS} {entry.dataset!r}: {entry.cost}, {where}")
        del mine[start:]
        raise
    finally:
        _recorded.set(outer)
