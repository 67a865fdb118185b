"""Guard rails: warnings of weak guarantees and second budgets, refusals in words, marks of what was not answered."""

from __future__ import annotations

import shutil
import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import Sum, statistics
from discreet.guarantees.caution import guarantee_caution
from discreet.ledger.new_budgets import NewBudgetWarning, other_ledgers
from discreet.planning import WeakGuaranteeWarning

ROWS = np.random.default_rng(0).uniform(0.0, 1.0, (200, 1))
FRAME = pd.DataFrame({"age": ROWS[:, 0] * 100})
BOX = dp.Box([0.0], [1.0])
BUDGET = dp.Guarantee(1.0, 1e-6)


def curated(**more):
    return dp.Curator(ROWS, space=BOX, **more)


def seen(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [one for one in caught if issubclass(one.category, WeakGuaranteeWarning)]


FRONTS = {
    "statistic": lambda e, d, _: statistics.mean(ROWS, epsilon=e, delta=d, bounds=(0, 1)),
    "two releases": lambda e, d, _: statistics.median(ROWS, epsilon=e, bounds=(0, 1)),
    "estimator": lambda e, d, _: dp.KMeans(2, epsilon=e, delta=d or 1e-6, bounds=(0, 1)).fit(ROWS),
    "curator": lambda e, d, _: curated().measure(Sum(BOX), dp.Guarantee(e, d)),
    "budget": lambda e, d, path: curated(name="a", ledger=path / "a.db", budget=dp.Guarantee(e, d)),
    "database": lambda e, d, path: dp.StatisticalDatabase(
        FRAME, bounds={"age": (0, 100)}, name="a", ledger=path / "a.db", budget=dp.Guarantee(e, d)
    ),
}


@pytest.mark.parametrize("front", FRONTS)
def test_every_front_warns_once_of_a_weak_guarantee_at_the_callers_line(front, tmp_path):
    (large,) = seen(lambda: FRONTS[front](10.5, 1e-6, tmp_path))
    assert "ε=10.5 guarantees almost nothing" in str(large.message)
    assert large.filename == __file__


@pytest.mark.parametrize("front", [front for front in FRONTS if front != "two releases"])
def test_delta_is_compared_with_the_public_number_of_units(front, tmp_path):
    """200 rows: 0.006 is above 1/200, 0.004 is not."""
    if front != "statistic":  # which takes Laplace noise, and no δ
        (large,) = seen(lambda: FRONTS[front](1.0, 0.006, tmp_path / "."))
        assert "δ=0.006 is above 1/n" in str(large.message)
    (tmp_path / "b").mkdir()
    assert not seen(lambda: FRONTS[front](1.0, 0.004, tmp_path / "b"))


@pytest.mark.parametrize("front", FRONTS)
def test_usual_guarantees_do_not_warn(front, tmp_path):
    assert not seen(lambda: FRONTS[front](10.0, 1e-6, tmp_path))


def test_losses_without_a_stated_guarantee_are_composed():
    assert seen(lambda: curated().measure(Sum(BOX), dp.LaplaceLoss(12.0)))
    assert seen(lambda: curated().measure(Sum(BOX), dp.GaussianLoss(3.0)))
    assert not seen(lambda: curated().measure(Sum(BOX), dp.GaussianLoss(1.0)))
    assert not seen(lambda: curated().reserve([dp.GaussianLoss(0.1)] * 100, query="many"))
    assert seen(lambda: curated().reserve([dp.GaussianLoss(0.3)] * 100, query="many"))


def test_a_private_number_is_not_looked_at():
    """Under add-remove the warning may not depend on the number of rows."""
    for rows in (10, 100_000):
        curator = dp.Curator(np.zeros((rows, 1)), space=BOX, neighbors="add-remove")
        assert not seen(lambda at=curator: at.measure(Sum(BOX), dp.Guarantee(1.0, 5e-4, "add-remove")))
        assert seen(lambda at=curator: at.measure(Sum(BOX), dp.Guarantee(1.0, 2e-3, "add-remove")))
    assert guarantee_caution(dp.Guarantee(1.0, 1e-3)) == ""


def test_a_warning_that_is_an_error_spends_nothing(tmp_path):
    curator = curated(name="a", ledger=tmp_path / "a.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        with pytest.raises(WeakGuaranteeWarning):
            statistics.mean(curator, epsilon=20.0)
    assert len(curator.ledger.history()) == 0


class TestNewBudgets:
    def test_a_name_in_another_ledger_of_the_folder(self, tmp_path):
        curated(name="people", ledger=tmp_path / "old.ledger", budget=BUDGET)
        with pytest.warns(NewBudgetWarning, match=r"'old.ledger' in the same folder has a data set of this name"):
            curated(name="people", ledger=tmp_path / "new.ledger", budget=BUDGET)

    def test_a_new_ledger_beside_an_old_one(self, tmp_path):
        curated(name="people", ledger=tmp_path / "old.ledger", budget=BUDGET)
        with pytest.warns(
            NewBudgetWarning,
            match=r"new in the ledger 'new.ledger' and .*; beside it is the ledger 'old.ledger', with 'people'",
        ):
            curated(name="patients", ledger=tmp_path / "new.ledger", budget=BUDGET)

    @pytest.mark.parametrize("other", ["one.ledger", "two.ledger"])
    def test_a_copy_of_a_file_under_another_name(self, tmp_path, other):
        def opened(name, ledger):
            FRAME.to_parquet(tmp_path / f"{name}.parquet")
            bounds = {"age": (0, 100)}
            path = tmp_path / f"{name}.parquet"
            return dp.StatisticalDatabase(path, bounds=bounds, ledger=tmp_path / ledger, budget=BUDGET)

        opened("people", "one.ledger")
        with pytest.warns(NewBudgetWarning, match="'people' .*is declared in the same way"):
            opened("backup", other)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            opened("backup", other)  # said once

    def test_what_is_not_alike_is_not_told(self, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            curated(name="people", ledger=tmp_path / "a.ledger", budget=BUDGET)
            curated(name="machines", ledger=tmp_path / "a.ledger", budget=BUDGET)  # arrays: x0 says nothing

    def test_other_files_of_the_folder_do_no_harm(self, tmp_path):
        (tmp_path / "notes.txt").write_text("SQLite")
        (tmp_path / "empty").touch()
        (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
        (tmp_path / "folder").mkdir()
        sqlite3.connect(tmp_path / "foreign.db").execute("CREATE TABLE t (x)").connection.close()
        curated(name="people", ledger=tmp_path / "a.ledger", budget=BUDGET)
        shutil.copy(tmp_path / "a.ledger", tmp_path / "copy.ledger")
        assert other_ledgers(tmp_path / "a.ledger") == {"copy.ledger": {"people": None}}


class TestWords:
    def test_a_refusal_says_what_was_asked_what_is_left_and_what_fits(self, tmp_path):
        curator = curated(name="a", ledger=tmp_path / "a.db", budget=BUDGET)
        with pytest.raises(dp.BudgetExceeded) as refused:
            curator.measure(Sum(BOX), dp.Guarantee(2.0, 1e-6))
        text = str(refused.value)
        assert "ε=2 at δ=1e-06 was asked for" in text
        assert "ε=1 at δ=1e-06 (Gaussian noise) or ε=1 (Laplace noise)" in text
        assert text.endswith("ε=0.99 or less would fit") or text.endswith("ε=1 or less would fit")
        assert "Loss" not in text
        assert "mu" not in text
        curator.measure(Sum(BOX), dp.Guarantee(0.99, 1e-6))
        with pytest.raises(dp.BudgetExceeded, match="in 200 releases"):
            curator.reserve([dp.GaussianLoss(0.2)] * 200, query="many")

    def test_what_is_advised_fits(self, tmp_path):
        for epsilon, delta in [(3.0, 0.0), (3.0, 1e-6)]:
            curator = curated(name=f"a{delta}", ledger=tmp_path / f"{delta}.db", budget=BUDGET)
            curator.measure(Sum(BOX), dp.Guarantee(0.1, delta))
            with pytest.raises(dp.BudgetExceeded) as refused:
                curator.measure(Sum(BOX), dp.Guarantee(epsilon, delta))
            advised = float(str(refused.value).split("ε=")[-1].split()[0])
            curator.measure(Sum(BOX), dp.Guarantee(advised, delta))


class Stops(Sum):
    stop: type[BaseException] = KeyboardInterrupt

    def sum(self, block):
        raise self.stop


class TestMarks:
    @pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, OSError])
    def test_what_was_paid_and_not_answered_is_marked(self, tmp_path, stop):
        curator = curated(name="a", ledger=tmp_path / "a.db", budget=BUDGET)
        curator.measure(Sum(BOX), dp.GaussianLoss(0.01))
        left = curator.ledger.remaining("a")
        question = Stops(BOX)
        object.__setattr__(question, "stop", stop)
        with pytest.raises(stop) as raised:
            curator.measure(question, dp.GaussianLoss(0.1))
        history = curator.ledger.history("a")
        assert [entry.kind for entry in history] == ["limit", "spend", "spend", "unanswered"]
        assert history.unanswered == {3}
        assert history[-1].marked == 3
        assert [cost.endswith(", not answered") for cost in history.costs] == [False, False, True, False]
        assert "not answered" in repr(history)
        (note,) = raised.value.__notes__
        assert "stays charged to 'a': ε=0.3969 at δ=1e-06, entry 3 of the ledger" in note
        assert curator.ledger.remaining("a").mu < left.mu  # it stays charged, and the mark costs nothing
        assert curator.ledger.spent("a") == {dp.GaussianLoss(0.01): 1, dp.GaussianLoss(0.1): 1}
        assert curator.ledger.verify() == curator.ledger.head

    def test_a_fit_that_is_stopped_is_one_mark(self, tmp_path, monkeypatch):
        curator = curated(name="a", ledger=tmp_path / "a.db", budget=BUDGET)
        from discreet.door import schedule

        releases = []

        def release(*args, **kwargs):
            if len(releases) == 2:
                raise KeyboardInterrupt
            releases.append(1)
            return whole(*args, **kwargs)

        whole = schedule.release
        monkeypatch.setattr(schedule, "release", release)
        with pytest.raises(KeyboardInterrupt):
            dp.GaussianMixture(2, epsilon=0.5).fit(curator)
        assert [entry.kind for entry in curator.ledger.history("a")] == ["limit", "reserve", "unanswered"]

    def test_a_refusal_leaves_no_mark(self, tmp_path):
        curator = curated(name="a", ledger=tmp_path / "a.db", budget=BUDGET)
        with pytest.raises(dp.BudgetExceeded):
            statistics.mean(curator, epsilon=3.0)
        assert [entry.kind for entry in curator.ledger.history("a")] == ["limit"]
