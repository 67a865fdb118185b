"""The ledger, the same in a file and in PostgreSQL: what it records, what it refuses, who may share it."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

import discreet as dp
from discreet.guarantees.normal import normal_mu
from discreet.ledger import BudgetExceeded, ChainError, Entry, Ledger, LedgerError, Limit
from discreet.ledger.book import COLUMNS, check_chain
from effort import size

PROMISE = dp.Guarantee(1.0, 1e-6)
MU = normal_mu(1.0, 1e-6)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path, monkeypatch):
    """Give a place without a ledger; what is needed to log in is in the environment, as the documentation says."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    running = request.getfixturevalue("server")
    monkeypatch.setenv("PGPASSWORD", running.password)
    return running.url(running.new_schema(), password=False)


@pytest.fixture
def ledger(url):
    return Ledger(url)


@pytest.fixture
def in_a_file(tmp_path):
    """Give a ledger to tests of what is decided before any database is asked."""
    return Ledger(tmp_path / "arguments.db")


def run(script, *arguments, **more):
    """Run a script in another process and return what it printed."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **more).stdout


# The record


def test_a_spend_is_recorded_with_everything_about_it(ledger):
    entry = ledger.spend("census", [dp.GaussianLoss(0.1)] * 3 + [dp.LaplaceLoss(0.2)], query="mean age", who="Ann")
    assert isinstance(entry, Entry)
    assert (entry.number, entry.kind, entry.dataset, entry.query, entry.who) == (
        1,
        "spend",
        "census",
        "mean age",
        "Ann",
    )
    assert dict(entry.losses) == {dp.GaussianLoss(0.1): 3, dp.LaplaceLoss(0.2): 1}
    assert entry.neighbors is dp.Neighbors.REPLACE_ONE
    assert timedelta(0) <= datetime.now(UTC) - entry.time < timedelta(minutes=5)
    assert entry.previous == "0" * 64
    assert entry.hash == ledger.head == ledger.verify()
    assert ledger.history() == (entry,)
    assert dp.compose(dict(entry.losses)).epsilon(1e-6) > 0.0


def test_the_login_name_is_recorded_unless_another_is_given(ledger, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    assert ledger.spend("census", dp.GaussianLoss(0.1), query="q").who == "ann"

    def nobody():
        raise OSError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert ledger.spend("census", dp.GaussianLoss(0.1), query="q").who is None
    assert ledger.spend("census", dp.GaussianLoss(0.1), query="q", who="bo").who == "bo"


def test_a_new_ledger_is_empty(ledger):
    assert ledger.history() == ledger.datasets() == ()
    assert ledger.head == ledger.verify() == "0" * 64
    assert ledger.limit("census") is None
    assert ledger.remaining("census").mu == math.inf


def test_every_kind_of_loss_comes_back_as_it_was(ledger):
    losses = [
        dp.GaussianLoss(0.1), dp.ClassicalGaussianLoss(0.1, 1e-9), dp.LaplaceLoss(1 / 3), dp.GeometricLoss(0.1, 7),
        dp.PureLoss(1e-300), dp.BoundedRangeLoss(0.1), dp.ZcdpLoss(1e-3), dp.ApproximateLoss(0.1, 1e-9),
    ]  # fmt: skip
    for loss in losses:
        ledger.spend("census", loss, query="q")
    assert [entry.losses for entry in ledger.history()] == [((loss, 1),) for loss in losses]


def test_data_sets_are_kept_apart(ledger):
    for name in ("b", "a", "b"):
        ledger.spend(name, dp.GaussianLoss(0.1), query="q")
    ledger.set_limit("c", PROMISE)
    assert ledger.datasets() == ("a", "b", "c")
    assert [entry.number for entry in ledger.history("b")] == [1, 3]
    ledger.set_limit("a", PROMISE)
    assert ledger.remaining("a").mu == pytest.approx(math.sqrt(MU**2 - 0.01))


def test_names_with_accents_quotes_and_other_alphabets(ledger):
    for name in ["zürich", 'o\'brien "x"', "人口", "100%_done;--", "a" * 1000]:
        ledger.spend(name, dp.GaussianLoss(0.1), query=name, who=name)
        (entry,) = ledger.history(name)
        assert (entry.dataset, entry.query, entry.who) == (name, name, name)
    ledger.spend("zu\u0308rich", dp.GaussianLoss(0.1), query="q")  # u and a combining accent: the same name
    assert len(ledger.history("zürich")) == 2
    ledger.verify()


@pytest.mark.parametrize("name", ["", " census", "census\n", "a\tb", "a\0b", "\ud800", "a" * 1001, None, 3, "a\u200bb"])
def test_names_that_could_be_mistaken_for_others(in_a_file, name):
    for call in [
        lambda: in_a_file.spend(name, dp.GaussianLoss(0.1), query="q"),
        lambda: in_a_file.spend("d", dp.GaussianLoss(0.1), query=name),
        lambda: in_a_file.set_limit(name, PROMISE),
        lambda: in_a_file.remaining(name),
    ]:
        with pytest.raises(ValueError, match=r"(dataset|query)=.*: expected a text of 1 to 1000 printable"):
            call()
    assert in_a_file.history() == ()


def test_wrong_losses_are_refused_before_anything_is_recorded(in_a_file):
    for losses, text in [
        ([], "losses"),
        (0.1, "losses"),
        ([dp.GaussianLoss(0.1), dp.GaussianLoss(0.1, "add-remove")], "one neighbour relation"),
        ({dp.GaussianLoss(0.1): 0}, "whole number"),
    ]:
        for verb in (in_a_file.spend, in_a_file.reserve):
            with pytest.raises(ValueError, match=text):
                verb("d", losses, query="q")
        with pytest.raises(ValueError, match=text):
            in_a_file.preview("d", losses)
    assert in_a_file.history() == ()


# Limits


@pytest.mark.parametrize("name", ["gaussian", "zcdp", "pure"])
def test_equal_shares_fit_exactly_and_a_refusal_changes_nothing(ledger, name):
    ledger.set_limit("census", PROMISE, name)
    whole = ledger.remaining("census")
    kind, size = {
        "gaussian": (dp.GaussianLoss, whole.mu / math.sqrt(7.0)),
        "zcdp": (dp.ZcdpLoss, whole.rho / 7.0),
        "pure": (dp.LaplaceLoss, 1.0 / 7.0),
    }[name]
    share = kind(size)
    for _ in range(7):
        ledger.spend("census", share, query="q")
    before = ledger.history()
    with pytest.raises(BudgetExceeded, match=r"dataset='census': .*not admitted; left of .*: nothing") as caught:
        ledger.spend("census", share, query="one too many")
    assert not caught.value.preview.admitted
    assert caught.value.preview.losses == ((share, 1),)
    assert "nothing was recorded" in str(caught.value)
    assert ledger.history() == before
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    ledger.spend("another", share, query="q")


def test_a_schedule_that_was_calibrated_for_the_limit_can_be_reserved(ledger):
    ledger.set_limit("census", PROMISE)
    losses = dp.calibrate(PROMISE, [dp.ZcdpLoss(1.0)] * 2 + [dp.GaussianLoss(1.0)]).losses
    with pytest.raises(BudgetExceeded, match="admitted as a reservation"):
        ledger.spend("census", losses, query="fit")
    entry = ledger.reserve("census", losses, query="fit")
    assert entry.kind == "reserve"
    assert sum(count for _, count in entry.losses) == 3
    for verb in (ledger.spend, ledger.reserve):
        with pytest.raises(BudgetExceeded):
            verb("census", dp.GaussianLoss(1e-6), query="more")
    assert str(ledger.remaining("census")) == "nothing"


def test_a_reservation_that_is_not_the_first_goes_through_the_filter(ledger):
    ledger.set_limit("census", PROMISE)
    ledger.spend("census", dp.GaussianLoss(1e-3), query="q")
    with pytest.raises(BudgetExceeded, match="no price for ZcdpLoss"):
        ledger.reserve("census", dp.ZcdpLoss(1e-6), query="q")
    ledger.reserve("census", [dp.GaussianLoss(0.01)] * 10, query="q")
    assert ledger.remaining("census").mu == pytest.approx(math.sqrt(MU**2 - 1e-6 - 1e-3))


def test_what_was_spent_before_the_limit_counts(ledger):
    ledger.spend("census", dp.GaussianLoss(0.2), query="q")
    ledger.set_limit("census", PROMISE)
    assert ledger.remaining("census").mu == pytest.approx(math.sqrt(MU**2 - 0.04))
    ledger.spend("other", dp.GaussianLoss(3.0), query="q")
    ledger.set_limit("other", PROMISE)
    assert ledger.remaining("other").mu == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.reserve("other", dp.GaussianLoss(1e-6), query="q")


def test_a_preview_records_nothing_and_tells_the_truth(ledger):
    ledger.set_limit("census", PROMISE)
    head = ledger.head
    told = ledger.preview("census", [dp.GaussianLoss(0.1)] * 4)
    assert told.admitted
    assert told.reservable
    assert ledger.head == head
    ledger.spend("census", [dp.GaussianLoss(0.1)] * 4, query="q")
    assert told.left == ledger.remaining("census")
    assert not ledger.preview("census", dp.GaussianLoss(0.2)).admitted
    assert ledger.preview("no limit", dp.GaussianLoss(9.0)).admitted


def test_a_limit_is_set_once_and_lowered_freely(ledger):
    assert ledger.set_limit("census", PROMISE, who="Bo") == Limit.from_arguments(PROMISE) == ledger.limit("census")
    ledger.set_limit("census", PROMISE)
    assert len(ledger.history()) == 1  # the limit in force already: nothing to record
    ledger.set_limit("census", dp.Guarantee(0.5, 1e-7))
    assert ledger.limit("census").guarantee == dp.Guarantee(0.5, 1e-7)
    for guarantee, name, failures in [
        (PROMISE, "gaussian", None),
        (dp.Guarantee(0.4, 1e-6), "gaussian", None),
        (dp.Guarantee(0.4, 1e-7), "zcdp", None),
        (dp.Guarantee(0.4, 1e-7), "gaussian", 1e-8),
        (dp.Guarantee(0.4, 1e-7, "add-remove"), "gaussian", None),
    ]:
        with pytest.raises(ValueError, match="raise_limit"):
            ledger.set_limit("census", guarantee, name, failures=failures)
    kinds = [(entry.kind, entry.limit.guarantee.epsilon, entry.losses) for entry in ledger.history()]
    assert kinds == [("limit", 1.0, ()), ("limit", 0.5, ())]
    assert ledger.history()[0].who == "Bo"
    ledger.verify()


def test_raising_a_limit_is_an_act_with_a_reason(ledger):
    with pytest.raises(ValueError, match="set_limit sets the first"):
        ledger.raise_limit("census", PROMISE, reason="why not")
    ledger.set_limit("census", PROMISE, failures=1e-7)
    ledger.spend("census", dp.GaussianLoss(0.2), query="q")
    raised = ledger.raise_limit("census", dp.Guarantee(2.0, 1e-6), reason="the board agreed", who="Cy")
    assert raised == ledger.limit("census") == Limit.from_arguments(dp.Guarantee(2.0, 1e-6), failures=1e-7)
    last = ledger.history()[-1]
    assert (last.kind, last.reason, last.who, last.limit) == ("raise", "the board agreed", "Cy", raised)
    ledger.spend("census", dp.GaussianLoss(0.3), query="q")
    for more in [
        {"guarantee": PROMISE},
        {"guarantee": dp.Guarantee(3.0, 1e-6), "filter": "zcdp"},
        {"guarantee": dp.Guarantee(3.0, 1e-6, "add-remove")},
        {"guarantee": dp.Guarantee(3.0, 1e-7)},
        {"guarantee": dp.Guarantee(2.0, 1e-6), "failures": 5e-7},  # to move δ from one share to the other is no raise
        {"guarantee": dp.Guarantee(3.0, 1e-6), "reason": ""},
    ]:
        with pytest.raises(ValueError, match="expected"):
            ledger.raise_limit("census", **{"reason": "again", **more})
    ledger.verify()


def test_the_filter_can_be_changed_while_nothing_is_spent(ledger):
    ledger.set_limit("census", PROMISE)
    ledger.raise_limit("census", PROMISE, filter="zcdp", reason="a slip")
    assert ledger.limit("census") == Limit.from_arguments(PROMISE, "zcdp")
    ledger.spend("census", dp.ZcdpLoss(1e-3), query="q")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((1.0, 1e-6),), "guarantee="),
        ((PROMISE, "gauss"), "filter='gauss'"),
        ((PROMISE, None), "filter=None"),
    ],
)
def test_wrong_limits(in_a_file, arguments, text):
    with pytest.raises(ValueError, match=text):
        in_a_file.set_limit("d", *arguments)
    for failures in (-1e-9, 1e-5, math.nan, "1e-7"):
        with pytest.raises(ValueError, match="failures="):
            in_a_file.set_limit("d", PROMISE, failures=failures)
    assert in_a_file.history() == ()


def test_a_limit_has_one_relation(ledger):
    ledger.set_limit("census", PROMISE)
    ledger.spend("census", dp.GaussianLoss(0.1, "add-remove"), query="q")
    assert ledger.history()[-1].neighbors is dp.Neighbors.ADD_REMOVE
    assert ledger.remaining("census").mu == pytest.approx(math.sqrt(MU**2 - 0.04))
    ledger.set_limit("rows", dp.Guarantee(1.0, 1e-6, "add-remove"))
    with pytest.raises(ValueError, match="accounted under 'add-remove'"):
        ledger.spend("rows", dp.GaussianLoss(0.1), query="q")
    ledger.spend("free", dp.GaussianLoss(0.1), query="q")
    with pytest.raises(ValueError, match="accounted under 'add-remove'"):
        ledger.set_limit("free", dp.Guarantee(1.0, 1e-6, "add-remove"))
    assert ledger.limit("free") is None


# Sharing

# Imports once, then forks eight processes, each with a handle of its own, that begin at the same moment.
EIGHT = """
import json, os, sys, discreet as dp
from discreet.ledger import Ledger, BudgetExceeded
url, share, most = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
dp.compose(dp.GaussianLoss(1.0)).epsilon(1e-6)
ready, go = os.pipe(), os.pipe()
results = []
for number in range(8):
    result = os.pipe()
    if os.fork() == 0:
        done = 0
        try:
            os.write(ready[1], b".")
            os.close(go[1])
            os.read(go[0], 1)
            ledger = Ledger(url)
            for _ in range(most):
                ledger.spend("census", dp.GaussianLoss(share), query="q", who=f"p{number}")
                done += 1
        except BudgetExceeded:
            pass
        except BaseException as error:
            done = repr(error)
        os.write(result[1], json.dumps(done).encode())
        os._exit(0)
    os.close(result[1])
    results.append(result[0])
for _ in results:
    os.read(ready[0], 1)
os.close(go[0])
os.close(go[1])
print(json.dumps([json.loads(os.read(result, 10000)) for result in results]))
"""


@needs_fork
def test_eight_processes_end_exactly_at_the_limit(ledger, url):
    ledger.set_limit("census", PROMISE)
    spent = size(40, 100)
    share = dp.calibrate(PROMISE, [dp.GaussianLoss(1.0)] * spent).losses[0]
    done = json.loads(run(EIGHT, url, share.mu, spent * 6 // 10))  # one alone cannot spend all
    spends = [entry for entry in ledger.history() if entry.kind == "spend"]
    assert len(spends) == sum(done) == spent
    assert [sum(entry.who == f"p{number}" for entry in spends) for number in range(8)] == done
    assert sum(count > 0 for count in done) > 1
    assert dp.compose({share: len(spends)}).delta(1.0) <= 1e-6 * (1 + 1e-12)
    ledger.verify()


@needs_fork
def test_eight_processes_make_one_ledger_between_them(url):
    assert json.loads(run(EIGHT, url, 0.1, 2)) == [2] * 8
    ledger = Ledger(url, create=False)
    ledger.verify()
    assert len(ledger.history()) == 16


def test_threads_share_one_handle(ledger):
    ledger.set_limit("census", PROMISE)
    share = dp.calibrate(PROMISE, [dp.GaussianLoss(1.0)] * 30).losses[0]

    def spend(_):
        try:
            return ledger.spend("census", share, query="q", who=threading.current_thread().name)
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(8) as pool:
        entries = [entry for entry in pool.map(spend, range(48)) if entry is not None]
    assert sorted(entry.number for entry in entries) == list(range(2, 32))
    assert len(ledger.history()) == 31
    ledger.verify()


FORKER = """
import os, sys, threading, discreet as dp
from discreet.ledger import Ledger
ledger, loss = Ledger(sys.argv[1], timeout=20), dp.GaussianLoss(1e-3)
ledger.spend("d", loss, query="q", who="first")
stop = threading.Event()
def busy():
    while not stop.is_set():
        ledger.spend("d", loss, query="q", who="thread")
thread = threading.Thread(target=busy)
thread.start()
children = []
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                ledger.spend("d", loss, query="q", who="child")
            os._exit(0)
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
stop.set()
thread.join()
ledger.spend("d", loss, query="q", who="last")
"""


@needs_fork
def test_a_fork_in_the_middle_of_anything_spends_on_the_same_record(ledger, url):
    children = size(6, 12)
    assert run("import warnings; warnings.simplefilter('ignore')\n" + FORKER, url, children).strip() == str(
        [0] * children
    )
    who = [entry.who for entry in ledger.history()]
    assert (who.count("first"), who.count("child"), who.count("last")) == (1, 3 * children, 1)
    ledger.verify()


def test_copies_are_the_same_handle(ledger, url):
    assert copy.copy(ledger) is copy.deepcopy(ledger) is copy.deepcopy([ledger])[0] is ledger
    again = pickle.loads(pickle.dumps(ledger))
    assert again == ledger == Ledger(url)
    assert hash(again) == hash(ledger)
    assert again is not ledger
    again.spend("census", dp.GaussianLoss(0.1), query="q")
    assert len(ledger.history()) == 1
    assert ledger != "ledger"


class Charged(ClassifierMixin, BaseEstimator):
    """A classifier that does nothing but spend."""

    def __init__(self, ledger=None, mu=0.01):
        self.ledger, self.mu = ledger, mu

    def fit(self, X, y):
        self.ledger.spend("census", dp.GaussianLoss(self.mu), query="fit", who="grid")
        self.classes_ = sorted(set(y))
        return self

    def predict(self, X):
        return [self.classes_[0]] * len(X)


def test_a_grid_search_charges_every_fit(ledger):
    model = Charged(ledger)
    assert clone(model).ledger is ledger
    search = GridSearchCV(model, {"mu": [0.01, 0.02, 0.03]}, cv=5)
    search.fit([[float(row)] for row in range(20)], [0, 1] * 10)
    assert len(ledger.history("census")) == 16  # 3 × 5 and the refit
    ledger.verify()


# Opening a data set


def test_a_budget_becomes_the_first_limit_and_must_then_be_the_same(in_a_file):
    for _ in range(2):
        in_a_file.open_dataset("visits", unit="each patient", budget=PROMISE, who="ann")
    in_a_file.open_dataset("visits", unit="each patient")
    (entry,) = in_a_file.history("visits")
    assert (entry.kind, entry.unit, entry.who, entry.limit.guarantee) == ("limit", "each patient", "ann", PROMISE)
    with pytest.raises(ValueError, match="the limit that the ledger has for 'visits'"):
        in_a_file.open_dataset("visits", unit="each patient", budget=dp.Guarantee(0.5, 1e-6))
    with pytest.raises(ValueError, match="expected 'each patient', for which 'visits' is charged"):
        in_a_file.open_dataset("visits", unit="row", budget=PROMISE)
    with pytest.warns(UserWarning, match="did you mean 'visits'"):
        in_a_file.open_dataset("visit", unit="row")
    assert len(in_a_file.history()) == 1


def test_of_two_that_open_at_once_the_first_sets_the_limit(in_a_file, monkeypatch):
    """The second has looked before the first has written, and would have lowered its limit."""

    def meanwhile(*_, **__):
        Ledger(in_a_file.url).set_limit("visits", PROMISE)
        return []

    monkeypatch.setattr("discreet.ledger.ledger.get_close_matches", meanwhile)
    with pytest.raises(ValueError, match="the limit that the ledger has for 'visits'"):
        in_a_file.open_dataset("visits", unit="row", budget=dp.Guarantee(0.5, 1e-6))
    assert in_a_file.limit("visits").guarantee == PROMISE


def test_a_data_set_with_a_limit_is_opened_in_a_file_that_may_only_be_read(in_a_file):
    in_a_file.open_dataset("visits", unit="row", budget=PROMISE)
    in_a_file._storage.mode = "ro"
    in_a_file.open_dataset("visits", unit="row", budget=PROMISE)


# Dying

CHILD = """
import os, sys
import discreet as dp
from discreet.ledger import Ledger
from discreet.ledger.book import Book
def spend(moment):
    ledger = Ledger(url)
    if moment == "before the insert":
        Book.append = lambda *_: os.kill(os.getpid(), 9)
    if moment == "before the commit":
        append = Book.append
        def die(*arguments):
            append(*arguments)
            os.kill(os.getpid(), 9)
        Book.append = die
    if moment == "after the commit":
        ledger._remember = lambda entry: os.kill(os.getpid(), 9)
    ledger.spend("census", dp.GaussianLoss(0.1), query="q")
url, *moments = sys.argv[1:]
for moment in moments:
    child = os.fork()
    if child == 0:
        spend(moment)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.stdin.readline()
"""


MOMENTS = {"before the insert": 0, "before the commit": 0, "after the commit": 1}  # and what is then recorded


@needs_fork
def test_killing_a_spender_at_a_chosen_moment(ledger, url):
    before = ledger.spend("census", dp.GaussianLoss(0.1), query="q")
    command = [sys.executable, "-W", "ignore", "-c", CHILD, url, *MOMENTS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as spenders:
        for recorded in MOMENTS.values():
            assert spenders.stdout.readline() == "-9\n"
            again = Ledger(url, create=False)
            assert again.verify(before.hash)
            assert len(again.history()) == before.number + recorded
            before = again.spend("census", dp.GaussianLoss(0.1), query="q")
            assert before.number == len(again.history())
            spenders.stdin.write("\n")


# Telling that it was changed


def change(url, statement, server=None):
    """Change the record behind the ledger's back."""
    if url.startswith("postgresql"):
        with server.connect(url.rpartition("%3D")[2]) as connection:
            connection.execute(statement)
    else:
        import sqlite3

        connection = sqlite3.connect(url)
        with connection:
            connection.execute(statement)
        connection.close()


@pytest.fixture
def changed(request, url):
    server = request.getfixturevalue("server") if url.startswith("postgresql") else None
    return lambda statement: change(url, statement, server)


def filled(url):
    ledger = Ledger(url)
    ledger.set_limit("census", PROMISE)
    for number in range(6):
        ledger.spend("census", dp.GaussianLoss(0.01 * (number + 1)), query=f"q{number}", who="Ann")
    ledger.raise_limit("census", dp.Guarantee(2.0, 1e-6), reason="agreed")
    return ledger


def test_one_unit_a_data_set(url):
    ledger = Ledger(url)
    ledger.set_limit("census", dp.Guarantee(1.0, 1e-6))
    assert ledger.unit("census") is None
    assert ledger.spend("census", dp.GaussianLoss(0.1), query="q", unit="column person").unit == "column person"
    before = ledger.head
    for refused in (
        lambda: ledger.spend("census", dp.GaussianLoss(0.1), query="q"),
        lambda: ledger.reserve("census", dp.GaussianLoss(0.1), query="q", unit="column household"),
        lambda: ledger.set_limit("census", dp.Guarantee(0.5, 1e-6), unit="row"),
    ):
        with pytest.raises(ValueError, match=r"expected 'column person', for which 'census' is charged"):
            refused()
    assert (ledger.head, ledger.unit("census"), ledger.unit("other")) == (before, "column person", None)
    ledger.set_limit("census", dp.Guarantee(0.5, 1e-6))
    ledger.spend("other", dp.GaussianLoss(0.1), query="q")


def test_a_limit_can_settle_the_unit(url):
    ledger = Ledger(url)
    ledger.set_limit("census", dp.Guarantee(1.0, 1e-6))
    ledger.set_limit("census", dp.Guarantee(1.0, 1e-6), unit="column person")
    assert ledger.history("census")[-1].unit == ledger.unit("census") == "column person"
    assert len(ledger.history()) == 2
    ledger.set_limit("census", dp.Guarantee(1.0, 1e-6), unit="column person")
    assert len(ledger.history()) == 2
    with pytest.raises(ValueError, match="unit='row'"):
        ledger.spend("census", dp.GaussianLoss(0.1), query="q")


def test_two_units_that_come_first_at_once_do_not_both_get_in(url):
    ledger = Ledger(url)
    barrier = threading.Barrier(8)

    def spend(unit):
        handle = Ledger(url)
        barrier.wait()
        try:
            return handle.spend("census", dp.GaussianLoss(0.1), query="q", unit=unit).unit
        except ValueError:
            return None

    with ThreadPoolExecutor(8) as pool:
        units = list(pool.map(spend, ["row", "column person"] * 4))
    assert len({unit for unit in units if unit is not None}) == 1
    assert {entry.unit for entry in ledger.history()} == {ledger.unit("census")}


TABLE = "discreet_ledger_entries"
EDITS = {
    "number": "100",
    "time": "'2020-01-01T00:00:00.000000+00:00'",
    "kind": "'limit'",
    "dataset": "'other'",
    "who": "NULL",
    "query": "'nothing'",
    "unit": "'column person'",
    "neighbors": "'add-remove'",
    "details": "replace(details, '0.04', '0.03')",
    "previous": "repeat('0', 64)",
    "hash": "repeat('a', 64)",
}


def test_an_edit_of_any_column_shows(url, changed):
    """And taking it back makes the record whole again."""
    ledger = filled(url)
    assert set(EDITS) == set(COLUMNS)
    changed(f"CREATE TABLE before AS SELECT * FROM {TABLE}")
    for column, value in EDITS.items():
        if not url.startswith("postgresql"):
            value = value.replace("repeat('0', 64)", f"'{'0' * 64}'").replace("repeat('a', 64)", f"'{'a' * 64}'")
        changed(f"UPDATE {TABLE} SET {column} = {value} WHERE number = 5")
        with pytest.raises(ChainError, match=r"entry [56]"):
            Ledger(url).verify()
        with pytest.raises(ChainError):
            ledger.verify()
        changed(f"DELETE FROM {TABLE}")
        changed(f"INSERT INTO {TABLE} SELECT * FROM before")
        assert Ledger(url).verify() == ledger.verify()


@pytest.mark.parametrize("number", [1, 4, 7])
def test_an_entry_that_was_taken_out_shows_at_once(url, changed, number):
    ledger = filled(url)
    changed(f"DELETE FROM {TABLE} WHERE number = {number}")
    for handle in (ledger, Ledger(url)):
        with pytest.raises(ChainError, match=f"entry {number} is missing"):
            handle.verify()
        with pytest.raises(ChainError, match="some are missing"):
            handle.spend("census", dp.GaussianLoss(0.01), query="q")


def test_closing_the_gap_or_changing_the_order_shows(url, changed):
    filled(url)
    changed(f"DELETE FROM {TABLE} WHERE number = 4")
    for number in (5, 6, 7, 8):
        changed(f"UPDATE {TABLE} SET number = {number - 1} WHERE number = {number}")
    with pytest.raises(ChainError, match="entry 4 does not follow"):
        Ledger(url).verify()


def test_two_entries_that_changed_places_show(url, changed):
    filled(url)
    for old, new in [(3, 99), (4, 3), (99, 4)]:
        changed(f"UPDATE {TABLE} SET number = {new} WHERE number = {old}")
    with pytest.raises(ChainError, match="entry 3 does not follow"):
        Ledger(url).verify()


def test_a_record_that_was_cut_shows_against_a_head_that_was_written_down(url, changed):
    ledger = filled(url)
    written_down, early = ledger.head, ledger.history()[2].hash
    assert ledger.verify(written_down) == written_down
    assert ledger.verify(early) == written_down
    assert ledger.verify("0" * 64) == written_down
    changed(f"DELETE FROM {TABLE} WHERE number > 6")
    fresh = Ledger(url)
    fresh.verify()  # nothing in the record itself tells
    fresh.verify(early)
    with pytest.raises(ChainError, match="the expected head is not among the 6 entries"):
        fresh.verify(written_down)
    for call in (ledger.verify, lambda: ledger.spend("census", dp.GaussianLoss(0.01), query="q")):
        with pytest.raises(ChainError, match="entry 8, which this handle has seen, has gone"):
            call()


@pytest.mark.parametrize("head", ["", "abc", 3, b"0" * 64])
def test_what_is_no_head(in_a_file, head):
    with pytest.raises(ValueError, match="expected_head="):
        in_a_file.verify(head)


def test_losses_that_cannot_be_read_stop_every_spend(url, changed):
    filled(url)
    for details in ("{}", "not json", '{"losses":[[-5,{"kind":"LaplaceLoss"}]]}', '{"losses":[[1,{}]]}'):
        changed(f"UPDATE {TABLE} SET details = '{details}' WHERE number = 3")
        with pytest.raises(LedgerError, match="cannot be read"):
            Ledger(url).history()
        with pytest.raises(LedgerError, match="cannot be read"):
            Ledger(url).spend("census", dp.GaussianLoss(1e-3), query="q")


def test_another_layout_is_not_touched(url, changed):
    ledger = filled(url)
    changed("UPDATE discreet_ledger_layout SET version = 3")
    with pytest.raises(LedgerError, match=r"layout 3 and this version of discreet reads layout 2"):
        Ledger(url)
    with pytest.raises(LedgerError, match="layout 3"):
        pickle.loads(pickle.dumps(ledger)).history()
    changed("DELETE FROM discreet_ledger_layout")
    with pytest.raises(LedgerError, match="layout unknown"):
        Ledger(url)


def test_no_ledger_is_made_when_none_is_asked_for(url):
    with pytest.raises(LedgerError, match=r"no such file|holds no ledger"):
        Ledger(url, create=False)
    Ledger(url)
    Ledger(url, create=False)


@pytest.mark.parametrize("timeout", [0, -1.0, math.nan, "5", None])
def test_wrong_timeouts(tmp_path, timeout):
    with pytest.raises(ValueError, match="timeout="):
        Ledger(tmp_path / "budget.db", timeout=timeout)


# What only PostgreSQL has


@pytest.fixture
def schema(server, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    return server.new_schema()


def test_a_password_in_the_url_is_used_and_kept_secret(server, schema, monkeypatch):
    ledger = Ledger(server.url(schema))
    ledger.spend("census", dp.GaussianLoss(0.1), query="q")
    saved = pickle.dumps(ledger)
    for shown in (repr(ledger), str(ledger), ledger.url, repr(saved)):
        assert "s3cret" not in shown
    loaded = pickle.loads(saved)
    with pytest.raises(LedgerError, match=r"refuses the login; put the password in PGPASSWORD or ~/\.pgpass"):
        loaded.spend("census", dp.GaussianLoss(0.1), query="q")
    monkeypatch.setenv("PGPASSWORD", server.password)
    loaded.spend("census", dp.GaussianLoss(0.1), query="q")
    assert len(ledger.history()) == 2


def test_a_wrong_password_and_a_database_that_is_not_there(server, schema):
    wrong = server.url(schema).replace("s3cret", "s4cret")
    with pytest.raises(LedgerError, match="refuses the login") as caught:
        Ledger(wrong)
    assert "s4cret" not in str(caught.value)
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger(server.url(schema).replace("/postgres?", "/nowhere?"))
    with pytest.raises(LedgerError, match="the server could not do it"):
        Ledger(server.url(schema).replace(str(server.port), "1"))


def test_a_role_that_may_only_append_is_enough(server, schema):
    Ledger(server.url(schema)).set_limit("census", PROMISE)
    role = f"spender_{schema}"
    with server.connect(schema) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'other'")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"GRANT SELECT ON discreet_ledger_layout TO {role}")
        connection.execute(f"GRANT SELECT, INSERT ON {TABLE} TO {role}")
    url = server.url(schema, password=False).replace("keeper@", f"{role}:other@")
    ledger = Ledger(url)
    ledger.spend("census", dp.GaussianLoss(0.1), query="q")
    ledger.verify()
    with server.connect(schema) as connection:
        connection.execute(f"REVOKE INSERT ON {TABLE} FROM {role}")
    with pytest.raises(LedgerError, match=r"may not do that; .*nothing may be released"):
        ledger.spend("census", dp.GaussianLoss(0.1), query="q")
    assert len(ledger.history()) == 2


def test_a_lock_that_stays_and_a_server_that_may_only_read(server, schema):
    from discreet.ledger.storage import _LOCK

    ledger = Ledger(server.url(schema), timeout=0.2)
    with server.connect(schema) as connection:
        connection.execute(f"SELECT pg_advisory_lock({_LOCK})")
        with pytest.raises(LedgerError, match=r"locked for 0\.2 seconds; .*nothing may be released"):
            ledger.spend("census", dp.GaussianLoss(0.1), query="q")
    read_only = Ledger(server.url(schema) + "%20-cdefault_transaction_read_only%3Don")
    with pytest.raises(LedgerError, match="may only read"):
        read_only.spend("census", dp.GaussianLoss(0.1), query="q")
    assert read_only.history() == ()


def test_a_record_that_grows_while_it_is_verified_is_intact(server, schema, monkeypatch):
    """Another thread at the same handle spends after the reading has begun, which does not see that entry."""
    ledger = Ledger(server.url(schema))
    ledger.spend("census", dp.GaussianLoss(0.1), query="q")

    def slowly(rows, expected_head):
        first = next(rows)
        with ThreadPoolExecutor(1) as other:
            other.submit(ledger.spend, "census", dp.GaussianLoss(0.1), query="q").result()
        return check_chain([first, *rows], expected_head)

    monkeypatch.setattr("discreet.ledger.ledger.check_chain", slowly)
    head = ledger.verify()
    assert next(iter(ledger.history())).hash == head
    with server.connect(schema) as connection:
        connection.execute(f"DELETE FROM {TABLE} WHERE number = 2")
    with pytest.raises(ChainError, match="has gone or changed"):
        ledger.spend("census", dp.GaussianLoss(0.1), query="q")


def test_a_commit_is_on_the_disk_even_where_the_server_does_not_insist(server, schema):
    lazy = Ledger(server.url(schema) + "%20-csynchronous_commit%3Doff")
    with lazy._storage.transaction(write=True) as book:
        assert book._connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_a_history_reads_as_a_table(ledger):
    assert repr(ledger.history()) == "no entries"
    ledger.set_limit("census", PROMISE)
    ledger.spend("census", dp.LaplaceLoss(0.05), query="count", who="ann")
    ledger.spend(
        "census", [dp.GaussianLoss(0.05)] * 4, query="a question with a very long name, longer than a line", who="bo"
    )
    first, second, third = str(ledger.history("census")).splitlines()
    assert "limit   " in first
    assert first.endswith("(ε=1, δ=1e-06) replace-one, gaussian filter")
    assert second.endswith("ε=0.05")
    assert second.split()[3] == "ann"
    assert "…" in third
    assert third.endswith("at δ=1e-06")


def test_no_name_has_letters_that_nobody_sees(in_a_file):
    for letter in "\u034f\u115f\u2800\u3164\ufe0f\U000e0100":
        with pytest.raises(ValueError, match="printable characters"):
            in_a_file.set_limit(f"stays{letter}", PROMISE)
