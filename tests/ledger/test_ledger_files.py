"""A ledger in a file, when the file, the folder or the disk is not what it should be."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import discreet as dp
from discreet.ledger import BudgetExceeded, ChainError, Ledger, LedgerError
from discreet.ledger.address import Address

PROMISE = dp.Guarantee(1.0, 1e-6)
LOSS = dp.GaussianLoss(1e-4)


def filled(path, entries=40):
    ledger = Ledger(path)
    for _ in range(entries):
        ledger.spend("census", LOSS, query="a query with a name of some length, to fill the pages")
    return ledger


def refused(call, text, kind=LedgerError):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, OSError)
    assert "ledger sqlite:///" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def spend(ledger):
    return ledger.spend("census", LOSS, query="q")


# Places


def test_a_path_and_its_url_are_one_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [
        "budget.db",
        "sqlite:///budget.db",
        f"sqlite:///{tmp_path}/budget.db",
        tmp_path / "budget.db",
        "./budget.db",
    ]
    ledgers = [Ledger(place) for place in [*places, f"sqlite+pysqlite:///{tmp_path}/budget.db"]]
    for ledger in ledgers:
        spend(ledger)
    assert len(set(ledgers)) == 1
    assert len(ledgers[0].history()) == len(ledgers)
    assert repr(ledgers[0]) == f"Ledger('sqlite:///{tmp_path}/budget.db')"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    spend(pickle.loads(pickle.dumps(ledgers[0])))
    assert len(ledgers[0].history()) == len(ledgers) + 1
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?.db", "a#b.db", "zürich.db", "a&mode=ro.db", "it's.db"])
def test_odd_file_names(tmp_path, name):
    spend(Ledger(tmp_path / name))
    assert os.listdir(tmp_path) == [name]
    assert len(Ledger(f"sqlite:///{tmp_path / name}", create=False).history()) == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        ":memory:",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite+aiosqlite:///x.db",
        "mysql://x/y",
        "postgresql+asyncpg://u@h/d",
        "a\0b",
        None,
        3,
    ],
)
def test_places_that_are_none(url):
    with pytest.raises(ValueError, match=r"url=.*: expected"):
        Ledger(url)


def test_a_password_is_neither_shown_nor_pickled():
    secret = "s3cr:et@x"
    address = Address.parse("postgresql+psycopg://ann:s3cr%3Aet%40x@localhost:5/budgets?sslmode=require")
    assert address.password == secret
    assert address.url == "postgresql+psycopg://ann@localhost:5/budgets?sslmode=require"
    assert "s3cr" not in repr(address)
    assert b"s3cr" not in pickle.dumps(address)
    assert pickle.loads(pickle.dumps(address)) == address
    assert Address.parse("postgres://ann@h/d").url == "postgresql+psycopg://ann@h/d"
    for url in [
        "postgresql+psycopg://ann@h/d?password=s3cr",
        "mysql://ann:s3cr@h/d",
        "postgresql+psycopg2://a:s3cr@h/d",
    ]:
        with pytest.raises(ValueError, match="expected") as caught:
            Address.parse(url)
        assert "s3cr" not in str(caught.value)


def test_without_psycopg_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"pip install 'psycopg\[binary\]'"):
        Ledger("postgresql+psycopg://ann@localhost/budgets")


def test_importing_the_room_leaves_the_drivers_out():
    code = "import sys, discreet.ledger; assert not {'psycopg', 'sqlite3'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Files that are not there


def test_a_missing_folder(tmp_path):
    refused(lambda: Ledger(tmp_path / "nowhere" / "budget.db"), "there is no folder .*nowhere; make it first")


def test_a_folder_in_place_of_the_file(tmp_path):
    refused(lambda: Ledger(tmp_path), "cannot be opened")


def test_a_file_that_has_gone_is_not_made_anew(tmp_path):
    path = tmp_path / "budget.db"
    ledger = filled(path, 2)
    saved = pickle.dumps(ledger)
    path.unlink()
    loaded = pickle.loads(saved)  # loading alone opens nothing
    for handle in (ledger, loaded):
        for call in (lambda handle=handle: spend(handle), handle.history, handle.verify):
            refused(call, "there is no such file")
    assert os.listdir(tmp_path) == []


def test_a_file_that_was_replaced_by_a_new_one_is_noticed(tmp_path):
    path = tmp_path / "budget.db"
    ledger = filled(path, 3)
    path.unlink()
    Ledger(path)
    refused(lambda: spend(ledger), "entry 3, which this handle has seen, has gone", ChainError)


def test_a_journal_without_its_file(tmp_path):
    path = tmp_path / "budget.db"
    (tmp_path / "budget.db-journal").write_bytes(b"what somebody left behind")
    refused(lambda: Ledger(path), "its journal budget.db-journal is there")
    assert not path.exists()


WRITTEN_BEFORE = """
CREATE TABLE discreet_ledger_layout (version INTEGER NOT NULL);
CREATE TABLE discreet_ledger_entries (number INTEGER NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT
NULL, who TEXT, "query" TEXT, unit TEXT, neighbors TEXT NOT NULL, details TEXT NOT NULL, previous TEXT NOT NULL, hash
TEXT NOT NULL, PRIMARY KEY (number));
CREATE INDEX discreet_ledger_by_dataset ON discreet_ledger_entries (dataset, kind);
INSERT INTO discreet_ledger_layout VALUES (2);
INSERT INTO discreet_ledger_entries VALUES
(1, '2026-11-16T19:22:54.055160+00:00', 'limit', 'a', 'root', NULL, NULL, 'replace-one',
'{"limit":{"delta":1e-06,"epsilon":1.0,"failures":0.0,"filter":"gaussian","neighbors":"replace-one"}}',
'0000000000000000000000000000000000000000000000000000000000000000',
'3ada16ca8ad78d3449b8bab2285951efc6d9aaff2e488e3562f56db469bdb994'),
(2, '2026-11-16T19:22:54.065886+00:00', 'spend', 'a', 'root', 'q', 'row', 'replace-one',
'{"losses":[[1,{"kind":"GaussianLoss","mu":0.1,"neighbors":"replace-one"}]]}',
'3ada16ca8ad78d3449b8bab2285951efc6d9aaff2e488e3562f56db469bdb994',
'89fa60db67b7e61035ab27c27c0baa3a58583ad5907aaac74d10225a38d0cf1d'),
(3, '2026-11-16T19:22:54.070277+00:00', 'reserve', 'a', 'root', 'q2', 'row', 'replace-one',
'{"losses":[[3,{"epsilon":0.01,"kind":"LaplaceLoss","neighbors":"replace-one"}]]}',
'89fa60db67b7e61035ab27c27c0baa3a58583ad5907aaac74d10225a38d0cf1d',
'76c5b47d8bc80639056b2bf5d58ba92c007f96d5ce4326c7e269aec21c61ea50'),
(4, '2026-11-16T19:22:54.073745+00:00', 'raise', 'a', 'root', NULL, NULL, 'replace-one',
'{"limit":{"delta":1e-06,"epsilon":2.0,"failures":0.0,"filter":"gaussian","neighbors":"replace-one"},"reason":"r"}',
'76c5b47d8bc80639056b2bf5d58ba92c007f96d5ce4326c7e269aec21c61ea50',
'09f0b2ba2717c0df0f03591737101492590f77440d7d83ca890741a189714463');
"""


def test_a_file_that_an_earlier_version_wrote_is_read_and_goes_on(tmp_path):
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection:
        connection.executescript(WRITTEN_BEFORE)
    ledger = Ledger(tmp_path / "budget.db", create=False)
    assert ledger.verify() == "09f0b2ba2717c0df0f03591737101492590f77440d7d83ca890741a189714463"
    assert ledger.limit("a").guarantee == dp.Guarantee(2.0, 1e-6)
    assert ledger.spent("a") == {dp.GaussianLoss(0.1): 1, dp.LaplaceLoss(0.01): 3}
    assert [(entry.kind, entry.who, entry.query, entry.reason) for entry in ledger.history()] == [
        ("limit", "root", None, None),
        ("spend", "root", "q", None),
        ("reserve", "root", "q2", None),
        ("raise", "root", None, "r"),
    ]
    entry = ledger.spend("a", dp.GaussianLoss(0.1), query="q")
    assert (entry.number, entry.previous) == (5, ledger.history()[3].hash)
    ledger.verify()


# Files that are damaged


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to look at " * 100, b"SQLite format 3\0"])
def test_a_file_that_is_no_ledger_is_left_alone(tmp_path, content):
    path = tmp_path / "budget.db"
    path.write_bytes(content)
    refused(lambda: Ledger(path), "not a ledger|empty or belongs to something else")
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "budget.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    before = path.read_bytes()
    refused(lambda: Ledger(path), "belongs to something else")
    assert path.read_bytes() == before


def test_a_truncated_file(tmp_path):
    path = tmp_path / "budget.db"
    ledger = filled(path)
    whole = path.read_bytes()
    for size in (0, 50, 100, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:size])
        calls = [ledger.verify, lambda: Ledger(path).verify()]
        if (
            size < len(whole) - 1
        ):  # a page is missing; the last byte alone is one of a hash, and nobody else looks at it
            calls.append(lambda: spend(ledger))
        for call in calls:
            with pytest.raises(LedgerError, match="ledger sqlite:///"):
                call()
    path.write_bytes(whole)
    ledger.verify()
    spend(ledger)


def test_damage_anywhere_in_the_file_is_found(tmp_path):
    """Each block of 512 bytes in turn is overwritten. Where that changes anything that is in use, verify says so."""
    path = tmp_path / "budget.db"
    filled(path, 20)
    whole = path.read_bytes()
    entries = Ledger(path).history()
    result = 0
    for start in range(0, len(whole), 512):
        path.write_bytes(whole[:start] + b"\xa5" * 512 + whole[start + 512 :])
        try:
            Ledger(path).verify()
        except LedgerError:
            result += 1
        else:  # free space: nothing that is read was changed
            assert Ledger(path).history() == entries, start
    assert result > 0.3 * len(whole) / 512


def test_an_older_copy_of_the_file_is_noticed(tmp_path):
    path, copy = tmp_path / "budget.db", tmp_path / "copy.db"
    ledger = filled(path, 3)
    shutil.copy(path, copy)
    spend(ledger)
    head = ledger.head
    shutil.copy(copy, path)
    refused(lambda: spend(ledger), "entry 4, which this handle has seen, has gone", ChainError)
    fresh = Ledger(path)
    fresh.verify()  # an older copy is a good record in itself
    refused(lambda: fresh.verify(head), "expected head is not among the 3 entries", ChainError)
    spend(fresh)  # as long as the fourth entry of before
    refused(lambda: fresh.verify(head), "expected head is not among the 4 entries", ChainError)
    refused(lambda: spend(ledger), "entry 4, which this handle has seen, has gone or changed", ChainError)


def test_a_column_of_a_wrong_type(tmp_path):
    path = tmp_path / "budget.db"
    for column, value in [
        ("who", "x'00ff'"),
        ("time", "9e999"),
        ("query", "CAST(x'ff' AS TEXT)"),
        ("details", "x'00'"),
    ]:
        path.unlink(missing_ok=True)
        filled(path, 2)
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE discreet_ledger_entries SET {column} = {value} WHERE number = 2")
        connection.close()
        with pytest.raises(LedgerError, match="ledger sqlite:///"):
            Ledger(path).verify()


def test_an_error_that_is_kept_keeps_no_lock(tmp_path):
    path = tmp_path / "budget.db"
    ledger = filled(path, 6)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE discreet_ledger_entries SET details = '{}' WHERE number = 3")
    connection.close()
    kept = []
    for call in (ledger.verify, ledger.history, lambda: ledger.remaining("census")):
        with pytest.raises(LedgerError) as caught:
            call()
        kept.append(caught)  # and with it every frame between here and the database
    with sqlite3.connect(path, timeout=0.1) as connection:
        connection.execute("BEGIN EXCLUSIVE")
    connection.close()
    assert len(kept) == 3


def test_a_long_record_is_read_in_pages(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.ledger.book._PAGE", 7)
    ledger = filled(tmp_path / "budget.db", 22)
    ledger.spend("other", LOSS, query="q")
    assert [entry.number for entry in ledger.history()] == list(range(1, 24))
    assert len(ledger.history("census")) == 22
    assert ledger.verify() == ledger.head


# Files that cannot be written

FULL = """
import resource, sys, discreet as dp
from discreet.ledger import Ledger
ledger, done = Ledger(sys.argv[1]), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    for _ in range(1000):
        done = ledger.spend("census", dp.GaussianLoss(1e-4), query="a long name" * 40).number
except OSError as error:
    print(type(error).__name__, done, error)
"""


def test_a_full_disk(tmp_path):
    pytest.importorskip("resource")
    path = tmp_path / "budget.db"
    told = subprocess.run([sys.executable, "-c", FULL, str(path)], check=True, capture_output=True, text=True).stdout
    kind, done, error = told.split(" ", 2)
    assert kind == "LedgerError"
    assert "the disk is full" in error or "the disk could not be" in error, error
    assert "nothing may be released" in error
    ledger = Ledger(path)  # with room again
    ledger.verify()
    assert len(ledger.history()) == int(done) > 10
    spend(ledger)


def test_a_full_disk_while_the_ledger_is_made(tmp_path):
    pytest.importorskip("resource")
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n" + FULL
    told = subprocess.run([sys.executable, "-c", script, str(tmp_path / "budget.db")], capture_output=True, text=True)
    assert "LedgerError: ledger sqlite:///" in told.stderr
    assert os.listdir(tmp_path) == []


READ_ONLY = """
import os, sys, discreet as dp
from discreet.ledger import Ledger
path = sys.argv[1]
dp.compose(dp.GaussianLoss(1.0)).epsilon(1e-6)
Ledger(path).history()
if os.geteuid() == 0:  # root may write everything
    os.setgid(65534)
    os.setuid(65534)
print(len(Ledger(path).history()), Ledger(path).verify()[:4])
for handle in (Ledger(path), Ledger(path, create=False)):
    try:
        handle.spend("census", dp.GaussianLoss(0.1), query="q")
    except OSError as error:
        print(type(error).__name__, error)
try:
    Ledger(path + ".new")
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_file_can_be_read_and_not_spent_from(what):
    import tempfile

    with tempfile.TemporaryDirectory() as name:  # pytest's own folder is closed to other users
        folder = Path(name)
        path = folder / "budget.db"
        ledger = filled(path, 3)
        path.chmod(0o444 if what == "file" else 0o666)
        folder.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], check=True, capture_output=True, text=True)
        folder.chmod(0o755)
        lines = done.stdout.splitlines()
        assert lines[0] == f"3 {ledger.head[:4]}"
        for line in lines[1:3]:
            assert line.startswith("LedgerError ledger sqlite:///")
            assert "nothing may be released" in line
            assert "read-only" in line or "cannot be opened" in line
        assert lines[3].startswith("LedgerError ledger sqlite:///")
        assert len(lines) == 4
        assert len(ledger.history()) == 3


def test_a_file_that_stays_locked(tmp_path):
    path = tmp_path / "budget.db"
    ledger = filled(path, 2)
    impatient = Ledger(path, timeout=0.2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(lambda: spend(impatient), r"locked for 0\.2 seconds; .*nothing may be released")
    assert len(impatient.history()) == 2  # reading goes on
    other.execute("ROLLBACK")
    other.execute("BEGIN EXCLUSIVE")
    refused(lambda: spend(impatient), "locked for")
    refused(impatient.history, "locked for")
    other.execute("ROLLBACK")
    other.execute("BEGIN")
    other.execute("SELECT * FROM discreet_ledger_entries").fetchone()  # a reader in the way of the commit
    refused(lambda: spend(impatient), "locked for")
    other.execute("ROLLBACK")
    other.close()
    assert spend(impatient).number == 3
    ledger.verify()


def test_a_commit_is_on_the_disk(tmp_path):
    """A killed process cannot tell; only a power cut could. So the setting itself is looked at."""
    with Ledger(tmp_path / "budget.db")._storage.transaction(write=True) as book:
        assert book._connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert book._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_an_error_while_committing_counts_as_not_spent(tmp_path, monkeypatch):
    ledger = filled(tmp_path / "budget.db", 2)

    def fail(*_):
        raise OSError(errno.EIO, "the cable fell out")

    monkeypatch.setattr("discreet.ledger.book.Book.append", fail)
    refused(lambda: spend(ledger), "the cable fell out; nothing may be released")
    monkeypatch.undo()
    assert spend(ledger).number == 3


# The filter, through the file


def independent_delta(mu, epsilon):
    return norm.cdf(-epsilon / mu + mu / 2) - norm.cdf(-epsilon / mu - mu / 2) * 2.718281828459045**epsilon


def independent_price(loss):
    """μ, found from the definition: the Gaussian with the total variation of randomised response at ε."""
    if isinstance(loss, dp.GaussianLoss):
        return loss.mu
    distance = float(dp.PureLoss(loss.pure).delta_at(0.0))
    return brentq(lambda mu: norm.cdf(mu / 2) - norm.cdf(-mu / 2) - distance, 1e-12, 20.0, xtol=1e-15)


LOSSES = st.one_of(
    st.floats(1e-3, 0.4).map(dp.GaussianLoss),
    st.floats(1e-3, 0.6).map(dp.LaplaceLoss),
    st.builds(dp.ApproximateLoss, st.floats(1e-3, 0.2), st.floats(1e-9, 1e-6)),
    st.floats(1e-4, 0.02).map(dp.ZcdpLoss),
)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    asked=st.lists(st.tuples(LOSSES, st.integers(1, 3), st.booleans()), min_size=1, max_size=12),
    failures=st.sampled_from([0.0, 2e-6]),
)
def test_no_sequence_of_spends_ends_beyond_the_limit(tmp_path_factory, asked, failures):
    ledger = Ledger(tmp_path_factory.mktemp("random") / "budget.db")
    epsilon, delta = 1.0, 1e-5
    ledger.set_limit("census", dp.Guarantee(epsilon, delta), failures=failures)
    for loss, count, fixed in asked:
        told = ledger.preview("census", {loss: count})
        before = ledger.history()
        try:
            (ledger.reserve if fixed else ledger.spend)("census", {loss: count}, query="q")
        except BudgetExceeded:
            assert not (told.reservable if fixed else told.admitted)
            assert ledger.history() == before
        else:
            assert told.reservable if fixed else told.admitted
            assert told.left == ledger.remaining("census")
    spends = [entry for entry in ledger.history() if entry.kind != "limit"]
    losses = [loss for entry in spends for loss, count in entry.losses for _ in range(count)]
    if len(spends) == 1 and spends[0].kind == "reserve" and dp.compose(losses).delta(epsilon) <= delta * (1 + 1e-9):
        return
    if losses and not (all(loss.failure == 0 for loss in losses) and sum(loss.pure for loss in losses) <= 1 + 1e-9):
        assert not any(isinstance(loss, dp.ZcdpLoss) for loss in losses)
        assert sum(loss.failure for loss in losses) <= failures * (1 + 1e-9)
        mu = sum(independent_price(loss) ** 2 for loss in losses) ** 0.5
        assert independent_delta(mu, epsilon) <= (delta - failures) * (1 + 1e-6)
    ledger.verify()
