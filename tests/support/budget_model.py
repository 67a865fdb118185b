"""The model beside an attacked budget: what should be on record, and what may be refused.

After every step it reads the ledger's table with plain SQL and finds it exactly as it should be: each payment once, in
its place, admitted by the limit then in force (``budget_formulas``), and nothing drawn that is not there
(``watched_draws``). A refusal is a documented error that says what to do, and it leaves no trace.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple

import discreet as dp
from budget_formulas import admitted, together
from discreet.ledger import BudgetExceeded, Ledger, LedgerError
from watched_draws import Place, Watch, key, losses_in, recorded

try:
    import resource
except ImportError:  # another system
    resource = None

ROWS = np.random.default_rng(20240711).uniform(0.0, 1.0, (40, 2))
BOX = dp.Box([0.0, 0.0], [1.0, 1.0])

ADVICE = re.compile(
    "put back|free some space|look at|try again|make both|a ledger is made by|there is no such ledger|"
    "nothing was recorded|nothing may be released|expected|reserve another|reserve one|cannot be pickled|write"
)
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where thousands of commits need not wait for a disk
FILES = ("gone", "empty", "garbage", "rolled back")  # faults while which nothing can be read


def made(curator, loss):
    """Return a loss under the curator's relation."""
    kind, amount = loss
    return kind(amount, curator.neighbors)


def clock(machine):
    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + machine.drift

    return Clock


class Model(RuleBasedStateMachine):
    """See the module. Subclasses say what is done, and where the ledger is."""

    seen: ClassVar[Counter] = Counter()  # which actions, and which errors
    elsewhere = None  # a pool of one process that was not forked, where there is one

    curators = Bundle("curators")

    def new_place(self, folder):
        return Place(str(folder / "budget.db"))

    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(TemporaryDirectory(dir=MEMORY)))
        self.place = self.new_place(self.folder)
        self.drift, self.fault, self.good, self.older = timedelta(0), None, None, None
        self.watch = self.stack.enter_context(Watch(self.place, self.folder / "draws").watching())
        self.stack.callback(self.watch.close)
        self.stack.enter_context(patch("discreet.ledger.book.datetime", clock(self)))
        self.rows, self.draws, self.limits, self.spent = [], Counter(), {}, {}
        self.held = []  # schedules, and what is left of each
        self.changed = set()  # data sets whose limit was not the same all along
        self.ledger = Ledger(self.place.url)
        self.ledgers = [self.ledger]

    @initialize(
        target=curators,
        budget=st.sampled_from([dp.Guarantee(1.0, 1e-6), dp.Guarantee(0.3, 1e-5), dp.Guarantee(2.0, 0.0)]),
        counted_by=st.sampled_from([None, "gaussian", "zcdp", "pure"]),
        neighbors=st.sampled_from(["replace-one", "add-remove"]),
    )
    def begin(self, budget, counted_by, neighbors):
        rows = dp.Curator(ROWS, space=BOX, name="rows", ledger=self.ledger, budget=budget)
        self.settled("limit", "rows")
        persons = {"unit": np.arange(len(ROWS)) // 2, "max_rows": 2, "unit_name": "person"}
        people = dp.Curator(ROWS, space=BOX, name="people", ledger=self.ledger, **persons)
        visits = dp.Curator(ROWS, space=BOX, name="visits", ledger=self.ledger, neighbors="add-remove", at_most=100)
        if counted_by is not None:
            self.ledger.set_limit("people", dp.Guarantee(1.0, 1e-5), counted_by)
            self.settled("limit", "people")
            self.ledger.set_limit("visits", dp.Guarantee(1.5, 1e-6, neighbors), counted_by)
            self.settled("limit", "visits")
        for curator in (rows, visits):
            self.reserved(curator, [made(curator, (dp.LaplaceLoss, 0.01))] * 2)
        self.keep_a_copy()
        return multiple(rows, people, visits)

    # The model

    def accept(self, rows):
        """Note rows that were added, having seen that they follow the others and that the limit admits them."""
        for row in rows:
            last = self.rows[-1] if self.rows else {"number": 0, "hash": "0" * 64}
            assert (row["number"], row["previous"]) == (last["number"] + 1, last["hash"])
            assert abs(datetime.fromisoformat(row["time"]) - self.drift - datetime.now(UTC)) < timedelta(minutes=10)
            name, kind = row["dataset"], row["kind"]
            spent, asked = self.spent.setdefault(name, Counter()), losses_in(row)
            if kind in ("limit", "raise"):
                if spent or name in self.limits:
                    self.changed.add(name)
                self.limits[name] = json.loads(row["details"])["limit"]
            else:
                assert not asked or admitted(kind, self.limits.get(name), spent, asked) is not False, row
            spent.update(asked)
            self.rows.append(row)

    def settled(self, kind, name):
        """See that one entry about a limit was added, and note it."""
        rows = self.place.rows()[len(self.rows) :]
        assert [(row["kind"], row["dataset"]) for row in rows] == [(kind, name)]
        self.accept(rows)

    def pay(self, curator, kind, asked, act, *, draws=1, times=1):
        """Act so as to pay ``times`` times for the losses ``asked``, and to draw the first ``draws`` of them each time.

        ``act`` returns how many times it was done, or anything else where that is all of them. It is done as often as
        the model finds that the limit admits it, and not at all while the disk is at fault.
        """
        name, counts = curator.name, Counter(map(key, asked))
        try:
            with self.conditions():
                result = act()
            assert self.fault is None
        except LedgerError as error:
            if self.fault is None:
                raise
            self.tell(error)
            return None
        except BudgetExceeded as error:
            assert self.fault not in FILES  # a disk that is full can be read
            self.tell(error)
            result = None
        rows = self.place.rows()[len(self.rows) :]
        paid = [row for row in rows if row["kind"] != "unanswered"]
        done = len(paid) if result is None else result if isinstance(result, int) else times
        assert [(row["kind"], row["dataset"], losses_in(row)) for row in paid] == [(kind, name, counts)] * done
        assert all(not losses_in(row) for row in rows if row["kind"] == "unanswered")
        self.accept(rows)
        if done < times:
            assert admitted(kind, self.limits.get(name), self.spent.get(name, Counter()), counts) is not True
        for loss in asked[:draws]:
            self.draws[name, key(loss)] += done
        return result

    def refused(self, act, *kinds):
        """See that something is refused in a documented way."""
        with self.conditions(), pytest.raises(kinds) as caught:
            act()
        self.tell(caught.value)

    def tell(self, error):
        self.seen["error", type(error).__name__] += 1
        assert ADVICE.search(str(error)), error

    @contextmanager
    def conditions(self):
        """Have the disk full, while it is."""
        if self.fault != "full":
            yield
            return
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    @invariant()
    def all_that_was_drawn_is_on_record(self):
        assert self.watch.wrong == []
        assert +self.watch.drawn == +self.draws
        if self.fault not in FILES:
            assert self.place.rows() == self.rows
            assert self.draws <= recorded(self.rows)

    def teardown(self):
        try:
            if self.fault is not None:
                self.mend()
            fresh = Ledger(self.place.url, create=False)
            heads = {each.verify() for each in [fresh, *self.ledgers]}
            assert heads == {self.rows[-1]["hash"] if self.rows else "0" * 64}
            for name, limit in self.limits.items():
                if name not in self.changed and self.spent.get(name) and limit["delta"]:
                    assert together(limit, self.spent[name]) <= limit["delta"] * (1.0 + 1e-6)
        finally:
            self.stack.close()

    def keep_a_copy(self):
        """Keep the file as it is, to be put back when there is more."""
        if self.place.path is not None:
            self.older = (len(self.rows), self.place.path.read_bytes())

    def mend(self):
        if self.fault in FILES:
            self.place.path.write_bytes(self.good)
        if self.fault == "read-only":
            for ledger in self.ledgers:
                ledger._storage.mode = "rw"
        self.fault = None
        for ledger in self.ledgers:
            ledger.verify(self.rows[-1]["hash"])
        self.keep_a_copy()

    def reserved(self, curator, asked):
        schedule = self.pay(curator, "reserve", asked, lambda: curator.reserve(asked, query="fit"), draws=0)
        if schedule is not None:
            self.held.append((schedule, asked))
