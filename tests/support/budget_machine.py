"""A machine that attacks a budget: actions in any order, with ``budget_model`` beside them.

Measuring, reserving, fitting, copying, searching; threads, forks and other processes; errors at every moment; disks
that are full, files that are changed, set back or gone; clocks that run wild; limits that are lowered and raised.
"""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import sqlite3
import threading
import warnings
from collections import Counter
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from functools import partial, wraps

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import discreet as dp
from budget_formulas import admitted
from budget_model import ADVICE, BOX, FILES, Model, made
from discreet.ledger import BudgetExceeded, ChainError, Ledger, LedgerError
from discreet.noise import NotPrivateWarning, SeededBits
from watched_draws import key, losses_in, measure_elsewhere

try:
    import resource

    from cli_folder import discreet
except ImportError:  # another system, or no command line
    resource = discreet = None

ERRORS = [
    partial(OSError, errno.EIO, "the cable fell out"),
    KeyboardInterrupt,
    MemoryError,
    partial(RuntimeError, "bug"),
]
RECORDED = {"inserting": 0, "inserted": 0, "committed": 1, "reading": 1, "drawing": 1, "drawn": 1}  # entries, by then
VERBS = ("show", "history", "verify")

places = st.integers(0, 999)
losses = st.tuples(st.sampled_from([dp.GaussianLoss, dp.LaplaceLoss]), st.sampled_from([0.01, 0.03, 0.1, 0.2, 0.7]))


class Bound(BaseEstimator):
    """An estimator that holds its curator, as a search over private fits needs it."""

    def __init__(self, curator=None, loss=None):
        self.curator, self.loss = curator, loss

    def fit(self, X, y=None):
        self.release_ = ask(self.curator, self.loss)
        return self

    def score(self, X, y=None):
        return -float(np.abs(self.release_.value).sum())


def ask(curator, loss):
    return curator.measure(dp.Sum(curator.space), loss)


def action(*, when=None, **strategies):
    """Return a rule that counts how often it was followed, and of which only ``when`` there is no fault by default."""

    def made_rule(take):
        @wraps(take)
        def taken(self, **arguments):
            self.seen["action", take.__name__] += 1
            return take(self, **arguments)

        return precondition(when or (lambda self: self.fault is None))(rule(**strategies)(taken))

    return made_rule


def always(machine):
    return True


def holding(machine):
    return machine.fault is None and bool(machine.held)


class Budget(Model):
    """What is done to a budget; see the module."""

    curators = Model.curators

    # Asking

    @action(when=always, curator=curators, loss=losses)
    def measure(self, curator, loss):
        loss = made(curator, loss)
        self.pay(curator, "spend", [loss], lambda: ask(curator, loss))

    @action(when=always, curator=curators, loss=losses)
    def spend_without_a_release(self, curator, loss):
        loss, ledger = made(curator, loss), curator.ledger
        self.pay(
            curator, "spend", [loss], lambda: ledger.spend(curator.name, loss, query="q", unit=curator.unit), draws=0
        )

    @action(when=always, curator=curators, epsilon=st.sampled_from([0.05, 0.3, 1.0]), pca=st.booleans())
    def fit(self, curator, epsilon, pca):
        model = self.model(epsilon, pca)
        asked = model.plan(curator).losses
        result = self.pay(curator, "reserve", asked, lambda: model.fit(curator), draws=len(asked))
        if result is None:
            return
        again = pickle.loads(pickle.dumps(model))
        for one in (clone(model), again):  # each fit is paid for, whatever the estimator was made from
            asked = one.plan(curator).losses
            self.pay(curator, "reserve", asked, lambda one=one: one.fit(curator), draws=len(asked))

    def model(self, epsilon, pca):
        if pca:
            return dp.PCA(1, epsilon=epsilon, delta=1e-6)
        return dp.GaussianMixture(1, epsilon=epsilon, delta=1e-6, n_steps=1)

    @action(curator=curators, loss=losses, folds=st.integers(2, 3), grid=st.booleans())
    def search(self, curator, loss, folds, grid):
        one = made(curator, loss)
        model, rows = Bound(curator, one), np.zeros((6, 1))

        def act():
            if grid:
                search = GridSearchCV(model, {"loss": [one, one]}, cv=folds, refit=True, error_score="raise")
                search.fit(rows)
            else:
                cross_val_score(model, rows, cv=folds, error_score="raise")

        self.pay(curator, "spend", [one], lambda: act() or "done", times=2 * folds + 1 if grid else folds)

    # Schedules

    @action(when=always, curator=curators, asked=st.lists(losses, min_size=1, max_size=3))
    def reserve(self, curator, asked):
        self.reserved(curator, [made(curator, loss) for loss in asked])

    @action(when=holding, place=places, curator=curators, how=st.sampled_from(["measure", "paid by", "copied"]))
    def use_a_schedule(self, place, curator, how):
        schedule, left = self.held[place % len(self.held)]
        assert schedule.left == tuple(left)
        name, loss = schedule.curator.name, left[0] if left else dp.GaussianLoss(0.01, curator.neighbors)

        def act():
            if how == "paid by":
                return curator.paid_by(schedule).measure(dp.Sum(BOX), loss)
            return (copy.deepcopy(copy.copy(schedule)) if how == "copied" else schedule).measure(dp.Sum(BOX))

        self.refused(lambda: pickle.dumps(schedule), TypeError)
        if not left or (how == "paid by" and curator.name != name):
            self.refused(act, ValueError)
        else:
            act()
            self.draws[name, key(left.pop(0))] += 1
        assert schedule.left == tuple(left)

    @action(when=holding, place=places)
    def use_a_schedule_in_threads(self, place):
        schedule, left = self.held[place % len(self.held)]

        def act():
            with suppress(ValueError):
                schedule.measure(dp.Sum(BOX))
                return 1
            return 0

        assert sum(self.in_threads([act] * (len(left) + 1))) == len(left)
        while left:
            self.draws[schedule.curator.name, key(left.pop())] += 1

    # Handles

    @action(target=curators, curator=curators, anew=st.booleans())
    def take_another_handle(self, curator, anew):
        assert copy.copy(curator) is copy.deepcopy(curator) is clone(Bound(curator)).curator is curator
        other = pickle.loads(pickle.dumps(curator))
        if anew:
            vars(other)["ledger"] = pickle.loads(pickle.dumps(Ledger(self.place.url, create=False)))
        self.ledgers.append(other.ledger)
        assert other.ledger == self.ledger
        little = dp.LaplaceLoss(1e-3, other.neighbors)
        self.pay(other, "spend", [little], lambda: ask(other, little))
        return other

    # At once

    def in_threads(self, acts):
        """Return what acts return that run at once; an error of one of them is raised."""
        result, barrier = [None] * len(acts), threading.Barrier(len(acts))

        def run(place):
            barrier.wait(60)
            try:
                result[place] = acts[place]()
            except BaseException as error:
                result[place] = error

        threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in result:
            if isinstance(one, BaseException):
                raise one
        return result

    @action(curator=curators, loss=losses, number=st.integers(2, 5), look=st.booleans(), last=st.booleans())
    def in_several_threads(self, curator, loss, number, look, last):
        loss = made(curator, loss)
        limit, left = self.limits.get(curator.name), curator.ledger.remaining(curator.name).epsilon
        if last and left and limit is not None and limit["neighbors"] == str(curator.neighbors):
            loss = dp.LaplaceLoss(0.8 * left, curator.neighbors)  # it fits once, and only one of them may have it

        def act():
            with suppress(BudgetExceeded):
                ask(curator, loss)
                return 1
            return 0

        def watch_it():
            curator.ledger.verify()
            return 0

        self.pay(
            curator,
            "spend",
            [loss],
            lambda: sum(self.in_threads([act] * number + [watch_it] * look)),
            times=number,
        )

    @action(when=lambda self: self.fault is None and hasattr(os, "fork"), curator=curators, loss=losses)
    def in_a_fork(self, curator, loss):
        loss = made(curator, loss)

        def forked():
            for schedule, _ in self.held:
                with pytest.raises(RuntimeError, match="belongs to the process that paid for it; pay for one"):
                    schedule.measure(dp.Sum(BOX))
            done = 0
            for _ in range(2):
                with suppress(BudgetExceeded):
                    ask(curator, loss)
                    done += 1
            return done

        def act():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of forking where other tests have left threads
                child = os.fork()
            if child == 0:
                code = 99
                try:
                    code = forked()
                finally:
                    os._exit(code)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        self.pay(curator, "spend", [loss], act, times=2)

    @action(when=lambda self: self.fault is None and self.elsewhere is not None, curator=curators, loss=losses)
    def in_another_process(self, curator, loss):
        loss = made(curator, loss)
        saved, log = pickle.dumps(curator), self.watch.log
        run = self.elsewhere.submit
        with self.undrifted():
            self.pay(
                curator,
                "spend",
                [loss],
                lambda: run(measure_elsewhere, saved, self.place, log, [loss] * 2).result(60),
                times=2,
            )

    @contextmanager
    def undrifted(self):
        """Set the clock right, as it is in a process that knows nothing of ours."""
        before, self.drift = self.drift, timedelta(0)
        yield
        self.drift = before

    # What is refused

    @action(curator=curators, loss=losses)
    def ask_what_is_refused(self, curator, loss):
        loss, query = made(curator, loss), dp.Sum(curator.space)
        other = "add-remove" if str(curator.neighbors) == "replace-one" else "replace-one"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            bits = SeededBits(3)
        seeded = dp.PCA(1, epsilon=0.1, random_state=3)
        book, unit = curator.ledger, curator.unit
        for act in (
            lambda: curator.measure(query, loss, bits=bits),
            lambda: curator.measure(query, type(loss)(0.01, other)),
            lambda: seeded.fit(curator),
            lambda: curator.reserve([], query="q"),
            lambda: curator.measure(query, dp.ZcdpLoss(0.1, curator.neighbors)),
        ):
            self.refused(act, ValueError)
        if self.spent.get(curator.name):
            self.refused(lambda: book.spend(curator.name, loss, query="q", unit=unit + "s"), ValueError)
        told = book.preview(curator.name, loss)
        model = admitted("spend", self.limits.get(curator.name), self.spent.get(curator.name, Counter()), one(loss))
        assert model is None or told.admitted is model

    # Errors in the middle

    @action(curator=curators, loss=losses, error=st.sampled_from(ERRORS), fits=st.booleans())
    def fail_in_the_middle(self, curator, loss, error, fits):
        for moment in RECORDED:
            if fits:
                model = self.model(0.3, pca=False)
                self.fail(curator, "reserve", model.plan(curator).losses, model.fit, moment, error())
            else:
                asked = made(curator, loss)
                self.fail(curator, "spend", [asked], partial(ask, loss=asked), moment, error())

    def fail(self, curator, kind, asked, act, moment, error):
        """Have an error raised at a moment; what is recorded by then stays, and no more is drawn than by then."""
        name, counts = curator.name, Counter(map(key, asked))
        self.watch.trap(moment, error)
        try:
            act(curator)
        except BudgetExceeded as refusal:
            self.tell(refusal)
        except BaseException as result:
            wrapped = isinstance(error, OSError) and not RECORDED[moment]  # the ledger tells which one it is
            if not self.watch.sprung or (result is not error and not (wrapped and isinstance(result, LedgerError))):
                raise
            if wrapped:
                self.tell(result)
        else:
            raise AssertionError(f"{error!r} was swallowed at {moment}")
        sprung = self.watch.sprung
        self.watch.free()
        rows = self.place.rows()[len(self.rows) :]
        done = RECORDED[moment] if sprung else 0
        paid = [row for row in rows if row["kind"] != "unanswered"]
        assert [(row["kind"], row["dataset"], losses_in(row)) for row in paid] == [(kind, name, counts)] * done
        assert all(not losses_in(row) for row in rows if row["kind"] == "unanswered")
        self.accept(rows)
        if not sprung:
            assert admitted(kind, self.limits.get(name), self.spent.get(name, Counter()), counts) is not True
        elif moment == "drawn":
            self.draws[name, key(asked[0])] += 1

    # Disks and files

    @action(
        when=lambda self: self.fault is None and self.place.path is not None and resource is not None,
        fault=st.sampled_from([*FILES, "read-only", "full"]),
    )
    def break_the_file(self, fault):
        path = self.place.path
        self.good = path.read_bytes()
        for ledger in self.ledgers:
            assert ledger.head == self.rows[-1]["hash"]  # what a handle has seen it does not forget
        if fault == "gone":
            path.unlink()
        elif fault == "empty":
            path.write_bytes(b"")
        elif fault == "garbage":
            path.write_bytes(b"\xa5" * 100 + self.good[100:])
        elif fault == "rolled back":
            if self.older[0] == len(self.rows):
                return
            path.write_bytes(self.older[1])
            self.refused(lambda: Ledger(path).verify(self.rows[-1]["hash"]), ChainError)
        elif fault == "read-only":
            for ledger in self.ledgers:
                ledger._storage.mode = "ro"
        self.fault = fault
        for ledger in self.ledgers:
            told = ChainError if fault == "rolled back" else LedgerError
            self.refused(partial(ledger.spend, "anew", dp.PureLoss(1e-9), query="q"), told)

    @action(when=lambda self: self.fault is not None, curator=curators)
    def look(self, curator):
        book = curator.ledger
        if self.fault in FILES:
            for act in (book.verify, book.history, lambda: book.remaining("rows"), lambda: book.limit("rows")):
                self.refused(act, LedgerError)
        else:
            with self.conditions():
                assert [entry.hash for entry in book.history()] == [row["hash"] for row in self.rows]
                book.verify()

    @action(when=lambda self: self.fault is not None)
    def repair(self):
        self.mend()

    @action(
        when=lambda self: self.place.path is not None and self.fault is None and len(self.rows) > 2,
        what=st.sampled_from(["details", "who", "time", "unit", "hash", "previous", "kind", None]),
        place=places,
    )
    def change_an_entry(self, what, place):
        path, good = self.place.path, self.place.path.read_bytes()
        number = 1 + place % (len(self.rows) - 1)  # not the last one, whose absence a fresh handle cannot know of
        with closing(sqlite3.connect(path)) as connection, connection:
            if what is None:
                connection.execute("DELETE FROM discreet_ledger_entries WHERE number = ?", (number,))
            else:
                value = json.dumps({"losses": []}) if what == "details" else "other"
                connection.execute(f"UPDATE discreet_ledger_entries SET {what} = ? WHERE number = ?", (value, number))
        for book in (Ledger(path), self.ledger):
            self.refused(book.verify, ChainError)
        path.write_bytes(good)
        self.ledger.verify()

    @action(years=st.sampled_from([-30, -1, 0, 1, 50]))
    def set_the_clock(self, years):
        self.drift = timedelta(days=365 * years)

    # Limits

    @action(
        curator=curators,
        factor=st.sampled_from([0.5, 0.9, 1.0, 1.5, 4.0]),
        counted_by=st.sampled_from(["gaussian", "zcdp", "pure"]),
        typed=st.sampled_from([False, False, False, True]),
        reason=st.booleans(),
    )
    def change_a_limit(self, curator, factor, counted_by, typed, reason):
        name, limit = curator.name, self.limits.get(curator.name)
        first = {"epsilon": 1.0, "delta": 1e-6, "neighbors": str(curator.neighbors), "filter": counted_by}
        epsilon = factor * (limit or first)["epsilon"]
        delta, relation = (limit or first)["delta"], (limit or first)["neighbors"]
        allowed = (limit is None or factor <= 1.0) if not reason else (limit is not None and factor > 1.0)
        unchanged = allowed and limit is not None and factor == 1.0
        if typed and discreet is not None:
            words = ["--reason", "agreed"] if reason else ["--filter", (limit or first)["filter"]]
            words += ["--neighbors", relation]
            ran = discreet("budget limit", self.place.url, f"{epsilon!r}:{delta!r}", "--name", name, *words)
            assert ran.code == (0 if allowed else 1), ran.printed
            assert allowed or ADVICE.search(ran.err), ran.err
        else:
            guarantee = dp.Guarantee(epsilon, delta, relation)
            kept = {"filter": (limit or first)["filter"]}
            if reason:
                act = lambda: curator.ledger.raise_limit(name, guarantee, reason="agreed")  # noqa: E731
            else:
                act = lambda: curator.ledger.set_limit(name, guarantee, **kept)  # noqa: E731
            act() if allowed else self.refused(act, ValueError)
        if allowed and not unchanged:
            self.settled("raise" if reason else "limit", name)

    @action(when=lambda self: discreet is not None and len(self.rows) % 3 == 0, verb=st.sampled_from(VERBS))
    def read_it_at_the_command_line(self, verb):
        head = self.rows[-1]["hash"]
        ran = discreet(f"budget {verb}", self.place.url, "--json", *(["--head", head] if verb == "verify" else []))
        if self.fault in FILES:
            if self.fault != "rolled back" or verb == "verify":  # whoever has seen nothing else cannot know of it
                assert (ran.code, ran.out) == (1, "")
                assert ADVICE.search(ran.err), ran.err
        elif verb == "verify":
            assert ran.data["head"] == head
        elif verb == "history":
            assert [one["hash"] for one in ran.data["entries"]] == [row["hash"] for row in self.rows]
        else:
            spends = Counter({row["dataset"]: 0 for row in self.rows})
            spends.update(row["dataset"] for row in self.rows if row["kind"] in ("spend", "reserve"))
            assert {one["name"]: one["spends"] for one in ran.data["datasets"]} == spends


def one(loss):
    return Counter([key(loss)])
