"""Check ``--limit`` against the ledger, and try a spend on a temporary ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os.path import lexists
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.guarantees import Guarantee
from discreet.ledger import Entry, Ledger, LedgerError
from discreet.ledger.address import Address
from discreet.ledger.book import SPENDS

EMPTY = "holds no ledger"  # in the error for a server that answers but has no ledger


def open_ledger_if_exists(ledger: str) -> Ledger | None:
    """Return the ledger, or None if it does not exist. It never creates one."""
    path = Address.parse(ledger).path
    if path is not None:
        return Ledger(ledger, create=False) if lexists(path) else None
    try:
        return Ledger(ledger, create=False)
    except LedgerError as error:
        if EMPTY not in str(error):
            raise
        return None


def check_limit(ledger: str, name: str, limit: str | None, asked: Guarantee | None) -> bool:
    """Return whether a limit is in force; raise where ``--limit`` differs from it."""
    book = open_ledger_if_exists(ledger)
    in_force = None if book is None else book.limit(name)
    if in_force is None:
        return False
    if asked is not None and asked != in_force.guarantee:
        raise ValueError(
            f"--limit {limit}: the limit of {name!r} is {in_force.guarantee}, and it is set once; leave --limit out, "
            f"or change it: discreet budget limit {ledger} {limit} --name {name} --reason '…'"
        )
    return True


class _TrialLedger(Ledger):
    """A ledger to try things on. What it records is not spent, so nothing of it stays charged."""

    def mark_unanswered(self, entry: Entry) -> None:
        """Do nothing: nothing was paid."""


@contextmanager
def trial_ledger(ledger: str, name: str) -> Iterator[Ledger]:
    """Yield a temporary ledger with the spends of a data set that has no limit yet."""
    with TemporaryDirectory() as folder:
        trial, book = _TrialLedger(Path(folder) / "trial.ledger"), open_ledger_if_exists(ledger)
        for entry in () if book is None else book.history(name):
            if entry.kind in SPENDS:
                trial.reserve(name, dict(entry.losses), query=str(entry.query), unit=str(entry.unit))
        yield trial
