"""Every draw of noise, counted beside the library and held against the ledger's own table at that very moment.

The table is read with plain SQL and plain JSON, so that what the ledger makes of it is not taken on trust. Draws are
noted in a file, one line each, before they are made: threads, forks and other processes write to the same one. What is
wrong is noted as well and not raised, since what raises in the middle of a search or of another process may be lost.
"""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import discreet as dp
from discreet.door import exit as door
from discreet.door.curator import ImmediatePayment
from discreet.door.schedule import Schedule
from discreet.ledger import Ledger
from discreet.ledger.book import Book
from discreet.noise import SecureBits

COLUMNS = ("number", "time", "kind", "dataset", "who", "query", "unit", "neighbors", "details", "previous", "hash")
SELECT = f"SELECT {', '.join(COLUMNS)} FROM discreet_ledger_entries ORDER BY number"


@dataclass(frozen=True)
class Place:
    """Where a ledger's table is: a file, or a schema of a PostgreSQL server."""

    url: str
    server: Any = None

    @property
    def path(self) -> Path | None:
        return Path(self.url) if self.server is None else None

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as it is."""
        if self.server is not None:
            with self.server.connect(self.url.rpartition("%3D")[2]) as connection:
                result = connection.execute(SELECT).fetchall()
        else:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=60)) as connection:
                result = connection.execute(SELECT).fetchall()
        return [dict(zip(COLUMNS, row, strict=True)) for row in result]


def key(loss: dp.PureLoss | dict[str, Any]) -> str:
    """Return a loss, or its plain values, as one text."""
    return json.dumps(loss if isinstance(loss, dict) else loss.to_dict(), sort_keys=True)


def losses_in(row: dict[str, Any]) -> Counter[str]:
    """Return the losses that a row of the table holds."""
    counts = Counter()
    for count, loss in json.loads(row["details"]).get("losses", ()):
        counts[key(loss)] += count
    return counts


def recorded(rows: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Return how many of each loss the table has for each data set."""
    counts = Counter()
    for row in rows:
        for loss, count in losses_in(row).items():
            counts[row["dataset"], loss] += count
    return counts


class Watch:
    """The draws so far, what was wrong with them, and what shall go wrong next."""

    def __init__(self, place: Place, log: Path) -> None:
        self.place, self.log = place, log
        self._handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._drawing = threading.local()
        self._trap: tuple[str, BaseException] | None = None

    def close(self) -> None:
        os.close(self._handle)

    def _write(self, *line: str) -> None:
        os.write(self._handle, (json.dumps(line) + "\n").encode())

    def _lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    @property
    def drawn(self) -> Counter[tuple[str, str]]:
        """How many draws there were of each loss from each data set."""
        return Counter((dataset, loss) for what, dataset, loss in self._lines() if what == "drawn")

    @property
    def wrong(self) -> list[list[str]]:
        """What was wrong."""
        return [line for line in self._lines() if line[0] == "wrong"]

    def trap(self, moment: str, error: BaseException) -> None:
        """Have an error raised when a moment is reached next."""
        self._trap = (moment, error)

    @property
    def sprung(self) -> bool:
        """Whether the moment has come."""
        return self._trap is None

    def free(self) -> None:
        self._trap = None

    def reached(self, moment: str) -> None:
        if self._trap is not None and self._trap[0] == moment:
            (_, error), self._trap = self._trap, None
            raise error

    def note(self, dataset: str, loss: Any) -> None:
        """Note a draw that is about to be made, and see that the table has it."""
        self._write("drawn", dataset, key(loss))
        made = self.drawn[dataset, key(loss)]  # first: others go on meanwhile, and what they draw is paid for by then
        paid = recorded(self.place.rows())[dataset, key(loss)]
        if made > paid:
            self._write("wrong", f"{made} draws from {dataset}, {paid} recorded", key(loss))

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """Have every draw counted, and the traps sprung."""
        draw_plan, measured = door.draw_plan, door.make_measured
        words, append, remember = SecureBits.words, Book.append, Ledger._remember
        # No stream is drawn from where draws are watched.
        payments = [(kind, kind.pay) for kind in (ImmediatePayment, Schedule)]

        def watched(pay):
            def paid(payment, plan):
                result = pay(payment, plan)
                self.reached("reading")
                self._drawing.payment = payment
                return result

            return paid

        def counted(plan, collected, bits):
            payment, self._drawing.payment = getattr(self._drawing, "payment", None), None
            self.reached("drawing")
            if payment is None:
                self._write("wrong", "a draw that nobody has paid for", key(plan.loss))
            else:
                self._drawing.dataset = payment.curator.name
                self.note(self._drawing.dataset, plan.loss)
            self._drawing.now = True
            try:
                result = draw_plan(plan, collected, bits)
            finally:
                self._drawing.now = False
            self.reached("drawn")
            return result

        def wrapped(**facts):
            if facts["dataset"] != self._drawing.dataset:
                self._write("wrong", f"a draw from {facts['dataset']}, paid for by {self._drawing.dataset}", "")
            return measured(**facts)

        def guarded(bits, count):
            if not getattr(self._drawing, "now", False):
                self._write("wrong", "noise outside of a draw", str(count))
            return words(bits, count)

        def appended(book, row):
            self.reached("inserting")
            entry = append(book, row)
            self.reached("inserted")
            return entry

        def remembered(handle, entry):
            self.reached("committed")
            remember(handle, entry)

        with ExitStack() as stack:
            for where, name, what in [
                *((kind, "pay", watched(pay)) for kind, pay in payments),
                (door, "draw_plan", counted),
                (door, "make_measured", wrapped),
                (SecureBits, "words", guarded),
                (Book, "append", appended),
                (Ledger, "_remember", remembered),
            ]:
                stack.enter_context(patch.object(where, name, what))
            yield self


def measure_elsewhere(saved: bytes, place: Place, log: Path, losses: list[Any]) -> int:
    """Measure with a pickled curator in the process that this runs in; return how many were admitted."""
    curator, watch, done = pickle.loads(saved), Watch(place, log), 0
    with watch.watching():
        for loss in losses:
            with suppress(dp.BudgetExceeded):
                curator.measure(dp.Sum(curator.space), loss)
                done += 1
    watch.close()
    return done
