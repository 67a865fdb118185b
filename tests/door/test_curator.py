"""The curator: right noise, paid for before it is drawn, and nothing of a row in anything else that comes out."""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import math
import os
import pickle
import signal
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import kstest, norm
from sklearn.base import BaseEstimator

import discreet as dp
from conftest import FALSE_ALARM
from discreet.door import PublicSize, Schedule, simulate
from discreet.ledger import LedgerError
from discreet.noise import GaussianNoise
from discreet.queries.counts.count_queries import Histogram, Mode
from discreet.queries.mechanism import Additive, Euclidean, Exponential, Mechanism, NoisyMax
from discreet.queries.moments.moments import Moments, Sum
from discreet.records import Number, Schema
from effort import size
from goodness import binomial_p, chi_square_p

ROWS = np.random.default_rng(0).uniform(0.0, 10.0, (500, 3))
BOX = dp.Box(0.0, 10.0)
PERSONS = {"unit": np.arange(500) // 5, "max_rows": 5, "unit_name": "person"}


TABLE = Schema({"age": Number(0.0, 100.0), "town": dp.Category(["a", "b", "c"])})


def table(n=300, seed=0):
    import polars

    rng = np.random.default_rng(seed)
    return polars.DataFrame({"age": rng.uniform(0, 100, n), "town": rng.choice(["a", "b", "c"], n)})


@pytest.fixture
def ledger(tmp_path):
    return dp.Ledger(tmp_path / "budget.db")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("loss", [dp.GaussianLoss, dp.LaplaceLoss])
def test_the_noise_is_the_one_that_the_loss_asks_for(relation, loss, seeded):
    """Sensitivity over scale is the loss, up to the float error and the grid, which cost less than a thousandth."""
    curator = dp.Curator(ROWS, space=BOX, neighbors=relation)
    query = Moments(curator.space)
    plan = curator.plan(query, loss(0.5, relation))
    norm_name = "l2" if loss is dp.GaussianLoss else "l1"
    ideal = query.bound.sensitivity(norm_name, relation)
    assert plan.noise.loss(ideal, relation) != plan.loss
    price = plan.noise.loss(ideal, relation)
    spent = price.mu if loss is dp.GaussianLoss else price.epsilon
    assert 0.4995 < spent < 0.5
    release = curator.measure(query, loss(0.5, relation), bits=seeded(1))
    exact = query.sum(next(iter(curator._records.blocks())))
    assert np.all(np.abs(release.value - exact) < plan.noise.half_width(1 - 1e-9))


def test_the_error_of_many_releases_is_normal(seeded):
    curator = dp.Curator(ROWS, space=BOX)
    query, bits = Sum(curator.space), seeded(2)
    exact = curator._records.reduce(query.sum, query.size)
    noise = curator.plan(query, dp.GaussianLoss(1.0)).noise
    errors = [curator.measure(query, dp.GaussianLoss(1.0), bits=bits).value - exact for _ in range(1000)]
    assert kstest(np.ravel(errors) / noise.scale, norm.cdf).pvalue > FALSE_ALARM


def test_a_unit_of_several_rows_costs_as_many_rows():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"who": ["a"] * 5 + ["b"] * 2 + ["c"], "x": np.arange(8.0)})
    curator = dp.Curator(frame, space=dp.Box(0.0, 8.0), unit="who", max_rows=2)
    one = dp.Curator(frame.select("x"), space=dp.Box(0.0, 8.0))
    several, single = (c.plan(Sum(c.space), dp.GaussianLoss(1.0)).noise.scale for c in (curator, one))
    assert several == pytest.approx(2.0 * single, rel=1e-3)
    assert curator.size == PublicSize(units=3, complete=False)
    assert one.size == PublicSize(units=8, complete=False)


def test_what_is_public_about_the_size():
    assert dp.Curator(ROWS, space=BOX, neighbors="add-remove").size == PublicSize(None, False)
    filled = Schema({"x": Number(0.0, 1.0, missing="fill", fill=0.5)})
    polars = pytest.importorskip("polars")
    assert dp.Curator(polars.DataFrame({"x": [0.1, None]}), schema=filled).size == PublicSize(2, True)
    with pytest.raises(ValueError, match="at_most=10"):
        dp.Curator(ROWS, space=BOX, neighbors="add-remove", at_most=10)


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({}, 12),
        ({"unit": "id", "max_rows": 2}, 8),  # four persons, of whom at most two rows count
        ({"unit": "id", "max_rows": 10**6}, 100),
        ({"neighbors": "add-remove"}, 100),
        ({"unit": "id", "max_rows": 2, "neighbors": "add-remove"}, 100),
    ],
)
def test_a_mechanism_plans_with_the_least_public_bound_on_the_rows(given, rows):
    frame = pd.DataFrame({"id": list("abcd") * 3, "x": np.linspace(0.0, 1.0, 12)})
    schema = dp.Schema({"x": dp.Number(0, 1)})
    assert dp.Curator(frame, schema=schema, at_most=100, **given).setting.rows == rows


DRAWS = size(1000, 3000)  # of 1,000, twice or half the loss lies more than 10 deviations off


class TestSelection:
    COUNTS = np.array([30, 25, 10])

    @pytest.fixture
    def curator(self):
        polars = pytest.importorskip("polars")
        labels = np.repeat(["a", "b", "c"], self.COUNTS)
        schema = Schema({"town": dp.records.Category(["a", "b", "c"])})
        return dp.Curator(polars.DataFrame({"town": labels}), schema=schema)

    def test_the_exponential_mechanism_has_its_law(self, curator, seeded):
        """P ∝ e^(ε·count/2) under replace-one."""
        bits, loss = seeded(3), dp.BoundedRangeLoss(0.2)
        drawn = [int(curator.measure(Mode(3), loss, bits=bits).value[0]) for _ in range(DRAWS)]
        noise = np.exp(0.2 * self.COUNTS / 2.0)
        assert chi_square_p(np.bincount(drawn, minlength=3), noise / noise.sum()) > FALSE_ALARM

    def test_the_noisy_maximum_has_its_law(self, curator, seeded):
        bits, loss = seeded(4), dp.PureLoss(0.2)
        drawn = [int(curator.measure(Mode(3), loss, bits=bits).value[0]) for _ in range(DRAWS)]
        rng = np.random.default_rng(0)
        truth = np.bincount(np.argmax(self.COUNTS + rng.laplace(scale=10.0, size=(400_000, 3)), axis=1)) / 400_000
        for candidate in range(3):
            assert binomial_p(drawn.count(candidate), DRAWS, truth[candidate]) > FALSE_ALARM

    def test_a_selection_is_charged_as_what_it_is(self, curator):
        release = curator.measure(Mode(3), dp.BoundedRangeLoss(0.5))
        assert release.mechanism == "selection"
        assert release.loss == dp.BoundedRangeLoss(0.5)
        with pytest.raises(ValueError, match="expected a release with a noise distribution"):
            release.interval()

    def test_counts_of_categories(self, curator, seeded):
        release = curator.measure(Histogram(3), dp.LaplaceLoss(5.0), bits=seeded(5))
        np.testing.assert_allclose(release["counts"], self.COUNTS, atol=10)


def test_idealised_noise_says_so():
    curator = dp.Curator(ROWS, space=BOX)
    release = curator.measure(Sum(curator.space), dp.PureLoss(1.0), mechanism=Euclidean())
    assert release.mechanism == "sampled"
    assert not release.exact
    assert "idealised" in repr(release)


def test_a_mechanism_of_ones_own_goes_through_the_same_door(ledger):
    class Rounded(Mechanism):
        """Gaussian noise, rounded to whole numbers: post-processing of the additive mechanism."""

        def plan(self, query, loss, setting):
            inner = Additive().plan(query, loss, setting)
            return replace(inner, kind=self.kind, noise=None, finish=np.rint)

    curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
    release = curator.measure(Sum(curator.space), dp.GaussianLoss(0.1), mechanism=Rounded())
    assert np.all(release.value == np.rint(release.value))
    assert len(ledger.history("rows")) == 1


class PrivateMean(BaseEstimator):
    def __init__(self, curator=None, mu=0.1):
        self.curator, self.mu = curator, mu

    def fit(self, X, y=None):
        release = self.curator.measure(Sum(self.curator.space), dp.GaussianLoss(self.mu))
        self.mean_ = release["sum"] / len(ROWS)
        return self

    def score(self, X, y=None):
        return -float(np.abs(self.mean_).sum())


class TestPaying:
    def test_every_release_is_recorded_and_the_budget_holds(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6))
        loss = dp.calibrate(dp.Guarantee(1.0, 1e-6), [dp.GaussianLoss(1.0)] * 4).losses[0]
        for _ in range(4):
            assert curator.measure(Sum(curator.space), loss).recorded
        with pytest.raises(dp.BudgetExceeded):
            curator.measure(Sum(curator.space), loss)
        spends = [entry for entry in ledger.history("rows") if entry.kind == "spend"]
        assert len(spends) == 4

    def test_a_mixed_schedule_of_an_epsilon_fits_a_limit_of_that_epsilon(self, ledger):
        guarantee = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger, budget=guarantee)
        losses = dp.calibrate(guarantee, [dp.LaplaceLoss(1.0), *[dp.GaussianLoss(1.0)] * 3]).losses
        schedule = curator.reserve(losses, query="fit")
        for loss in losses:
            assert schedule.measure(Sum(curator.space)).loss == loss
        with pytest.raises(ValueError, match="used up"):
            schedule.measure(Sum(curator.space))
        with pytest.raises(dp.BudgetExceeded):
            curator.measure(Sum(curator.space), dp.LaplaceLoss(0.01))
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(schedule)
        assert copy.deepcopy(schedule) is schedule

    def test_a_schedule_is_used_once_whatever_process_or_thread_asks(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        schedule = curator.reserve([dp.GaussianLoss(0.01)] * 20, query="fit")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking a process that has threads
            child = os.fork()
        if child == 0:
            try:
                schedule.measure(Sum(curator.space))
            except RuntimeError:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        made = []

        def use():
            with contextlib.suppress(ValueError):
                while True:
                    made.append(schedule.measure(Sum(curator.space)))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 20

    def test_a_second_curator_must_name_the_same_budget(self, ledger):
        guarantee = dp.Guarantee(1.0, 1e-6)
        for _ in range(2):
            dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger, budget=guarantee)
        for other in (dp.Guarantee(0.5, 1e-6), dp.Guarantee(2.0, 1e-6)):
            with pytest.raises(ValueError, match=r"budget=.*expected \(ε=1, δ=1e-06\)"):
                dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger, budget=other)
        assert ledger.limit("rows").guarantee == guarantee

    def test_a_seed_is_refused_where_a_ledger_records(self, ledger, seeded):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        with pytest.raises(ValueError, match="bits: expected None"):
            curator.measure(Sum(curator.space), dp.GaussianLoss(0.1), bits=seeded(9))
        assert not ledger.history("rows")

    def test_rows_and_persons_do_not_share_a_name(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        curator.measure(Sum(curator.space), dp.GaussianLoss(0.1))
        with pytest.raises(ValueError, match="do not add up"):
            dp.Curator(
                ROWS, space=BOX, name="rows", ledger=ledger, unit=np.arange(500) // 5, max_rows=5, unit_name="person"
            )
        early = dp.Curator(ROWS, space=BOX, name="both", ledger=ledger)
        persons = dp.Curator(
            ROWS, space=BOX, name="both", ledger=ledger, unit=np.arange(500) // 5, max_rows=5, unit_name="person"
        )
        persons.measure(Sum(persons.space), dp.GaussianLoss(0.1))
        with pytest.raises(ValueError, match="do not add up"):
            early.measure(Sum(early.space), dp.GaussianLoss(0.1))
        with pytest.raises(ValueError, match="do not add up"):
            early.reserve(dp.GaussianLoss(0.1), query="fit")
        dp.Curator(
            ROWS, space=BOX, name="persons", ledger=ledger, unit=np.arange(500) // 5, max_rows=5, unit_name="person"
        )

    def test_what_is_recorded_was_recorded(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows")
        assert not curator.reserve(dp.GaussianLoss(0.1), query="fit").measure(Sum(curator.space)).recorded
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        assert curator.reserve(dp.GaussianLoss(0.1), query="fit").measure(Sum(curator.space)).recorded

    def test_a_schedule_cannot_be_had_without_paying(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger, budget=dp.Guarantee(1.0, 1e-6))
        with pytest.raises(dp.BudgetExceeded):
            Schedule(curator, (dp.GaussianLoss(1e6),), "all of it")
        schedule = Schedule(curator, dp.GaussianLoss(0.1), "a fit")
        assert [entry.kind for entry in ledger.history("rows")] == ["limit", "reserve"]
        with pytest.raises(dp.BudgetExceeded):
            schedule.__init__(curator, (dp.GaussianLoss(1e6),), "all of it")
        assert schedule.left == (dp.GaussianLoss(0.1),)

    def test_a_schedule_of_counts_has_them_all(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        assert curator.reserve({dp.GaussianLoss(0.01): 3}, query="fit").left == (dp.GaussianLoss(0.01),) * 3
        for wrong in (5, [], {}):
            with pytest.raises(ValueError, match="losses"):
                curator.reserve(wrong, query="fit")

    @pytest.mark.parametrize("attribute", ["name", "ledger", "neighbors", "unit"])
    def test_what_the_ledger_goes_by_cannot_be_exchanged(self, ledger, attribute):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        with pytest.raises(AttributeError):
            setattr(curator, attribute, None)

    def test_units_without_a_name_must_be_given_one(self, ledger):
        declared = {"space": BOX, "name": "rows", "ledger": ledger, "max_rows": 5}
        with pytest.raises(ValueError, match="unit_name=None: expected what the unit is"):
            dp.Curator(ROWS, **declared, unit=np.arange(500) // 5)
        patients = dp.Curator(ROWS, **declared, unit=np.arange(500) // 5, unit_name="patient")
        patients.measure(Sum(patients.space), dp.GaussianLoss(0.1))
        assert ledger.unit("rows") == "each patient"
        with pytest.raises(ValueError, match="do not add up"):
            dp.Curator(ROWS, **declared, unit=np.arange(500) // 50, unit_name="ward")
        with pytest.raises(ValueError, match="where each row stands for itself"):
            dp.Curator(ROWS, space=BOX, unit_name="row")

    def test_spellings_of_a_name_are_one_name(self, ledger):
        frame = pl.DataFrame({"a": [1.0, 2.0], "pa\u0302tient": [1, 2]})
        for _ in range(2):
            curator = dp.Curator(frame, space=BOX, name="re\u0301gion", ledger=ledger, unit="pa\u0302tient", max_rows=1)
            release = curator.measure(Sum(curator.space), dp.GaussianLoss(0.1))
        assert release.dataset in ledger.datasets()

    @pytest.mark.parametrize("wrong", [{"name": 5}, {"name": " a"}, {"who": 5, "name": "a"}, {"at_most": 10**400}])
    def test_names_are_looked_at_first(self, wrong):
        with pytest.raises(ValueError, match="expected"):
            dp.Curator(ROWS, space=BOX, **wrong)

    def test_a_sum_larger_than_any_is_moved_back_and_not_told_of(self):
        class Large(Sum):
            def sum(self, block):
                return super().sum(block) + 1e9

        curator = dp.Curator(ROWS, space=BOX)
        release = curator.measure(Large(curator.space), dp.GaussianLoss(10.0))
        assert abs(release["sum"][0]) < 600.0

    def test_the_spend_is_recorded_before_the_rows_are_read(self, ledger):
        """A reduction that fails leaves the spend; a plan that is refused leaves none."""

        class Fails(Sum):
            def sum(self, block):
                raise OSError("the disk is gone")

        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        with pytest.raises(OSError, match="gone"):
            curator.measure(Fails(curator.space), dp.GaussianLoss(0.1))
        assert [entry.kind for entry in ledger.history("rows")] == ["spend", "unanswered"]
        for query, loss in [
            (Sum(curator.space), dp.ZcdpLoss(0.1)),
            (Sum(curator.space), dp.GaussianLoss(0.1, "add-remove")),
            (Sum(dp.Box([0.0], [1.0])), dp.GaussianLoss(0.1)),
            (Sum(dp.Box([0.0] * 3, [1.0] * 3)), dp.GaussianLoss(0.1)),
            (Histogram(2), dp.GaussianLoss(0.1)),
            (Mode(3), dp.PureLoss(0.1)),
            (Sum(curator.space), dp.GaussianLoss(1e-12)),
            ("sum", dp.GaussianLoss(0.1)),
            (Sum(curator.space), 0.1),
        ]:
            with pytest.raises(ValueError, match="expected"):
                curator.measure(query, loss)
        assert len(ledger.history("rows")) == 2

    def test_copies_and_pickles_charge_the_same_record(self, ledger):
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        assert copy.deepcopy(curator) is curator
        assert copy.copy(curator) is curator
        again = pickle.loads(pickle.dumps(curator))
        again.measure(Sum(again.space), dp.GaussianLoss(0.1))
        curator.measure(Sum(again.space), dp.GaussianLoss(0.1))
        assert len(ledger.history("rows")) == 2

    def test_a_grid_search_with_sixteen_fits_records_sixteen(self, ledger):
        from joblib import parallel_config
        from sklearn.model_selection import GridSearchCV

        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        grid = {"mu": [0.1, 0.2, 0.3, 0.4]}
        search = GridSearchCV(PrivateMean(curator), grid, cv=4, refit=False, n_jobs=2)
        with parallel_config(size("multiprocessing", "loky")):  # processes that are forked start at once
            search.fit(np.zeros((8, 1)))
        assert len(ledger.history("rows")) == 16

    def test_a_budget_needs_a_ledger_and_a_ledger_a_name(self, ledger):
        with pytest.raises(ValueError, match="ledger=None"):
            dp.Curator(ROWS, space=BOX, budget=dp.Guarantee(1.0))
        with pytest.raises(ValueError, match="budget=1"):
            dp.Curator(ROWS, space=BOX, name="x", ledger=ledger, budget=1.0)
        with pytest.raises(ValueError, match="name=None"):
            dp.Curator(ROWS, space=BOX, ledger=ledger)
        with pytest.raises(ValueError, match="budget="):
            dp.Curator(ROWS, space=BOX, name="x", ledger=ledger, budget=dp.Guarantee(1.0, 0.0, "add-remove"))


class TestNothingOfARowComesOut:
    POISON = (1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324, 1e300)

    @pytest.mark.parametrize("value", POISON)
    def test_poisoned_rows_change_nothing_but_the_numbers(self, value, seeded, caplog, capfd):
        poisoned = ROWS.copy()
        poisoned[7, 1] = value
        seen = []
        for rows in (ROWS, poisoned):
            curator = dp.Curator(rows, space=BOX, name="rows")
            with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
                warnings.simplefilter("error")
                release = curator.measure(Moments(curator.space), dp.GaussianLoss(0.3), bits=seeded(6))
            facts = release.to_dict()
            assert np.all(np.isfinite(facts.pop("value")))
            seen.append((facts, repr(release), repr(curator), caplog.text))
        assert seen[0] == seen[1]
        assert capfd.readouterr() == ("", "")

    def test_no_representation_holds_a_value(self):
        marked = ROWS.copy()
        marked[3, 2] = 7.123456789
        curator = dp.Curator(marked, space=BOX)
        release = curator.measure(Sum(curator.space), dp.GaussianLoss(0.3))
        for text in (repr(curator), repr(release), release.to_json(), str(vars(release))):
            assert "7.12345" not in text


class TestAsking:
    def test_a_guarantee_is_enough_to_say_what_to_spend(self):
        curator = dp.Curator(table(), schema=TABLE)
        gaussian = curator.measure(Sum(curator.space), dp.Guarantee(0.5, 1e-6))
        assert dp.compose(gaussian.loss).epsilon(1e-6) == pytest.approx(0.5)
        assert curator.measure(Sum(curator.space), dp.Guarantee(0.5)).loss == dp.LaplaceLoss(0.5)
        assert curator.measure(Mode(3), dp.Guarantee(0.5)).loss == dp.BoundedRangeLoss(0.5)
        with pytest.raises(ValueError, match="expected one under replace-one"):
            curator.measure(Sum(curator.space), dp.Guarantee(0.5, 1e-6, "add-remove"))
        with pytest.raises(ValueError, match=r"expected what to spend, for example Guarantee"):
            curator.measure(Sum(curator.space), 0.5)

    def test_a_name_that_looks_like_another_is_asked_about(self, tmp_path):
        dp.Curator(ROWS, space=BOX, name="visits", ledger=tmp_path / "l.db", budget=dp.Guarantee(1.0, 1e-6))
        with pytest.warns(UserWarning, match="did you mean 'visits'"):
            dp.Curator(ROWS, space=BOX, name="vists", ledger=tmp_path / "l.db")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dp.Curator(ROWS, space=BOX, name="births", ledger=tmp_path / "l.db")


class TestExtremes:
    """A loss that cannot be drawn is refused by the plan, before anything is spent."""

    def test_a_score_that_overflows(self, tmp_path):
        curator = dp.Curator(table(), schema=TABLE, name="rows", ledger=tmp_path / "l.db")
        with pytest.raises(ValueError, match="expected a smaller ε"):
            curator.measure(Mode(3), dp.BoundedRangeLoss(1e308))
        with pytest.raises(ValueError, match="expected a larger ε"):
            curator.plan(Histogram(3), dp.PureLoss(2e-308), mechanism=Euclidean())
        assert not curator.ledger.history()

    @pytest.mark.parametrize("wrong", [{"mechanism": "x"}, {"mechanism": Additive}, {"bits": 5}])
    def test_what_is_no_mechanism(self, wrong):
        curator = dp.Curator(ROWS, space=BOX)
        with pytest.raises(ValueError, match="expected"):
            curator.measure(Sum(curator.space), dp.GaussianLoss(0.1), **wrong)

    def test_weights_that_sum_to_one_but_for_rounding(self):
        weights = Moments(BOX.for_columns(3), (1 / 3, 1 / 3, 1 / 3 + 9e-10)).weights
        assert abs(math.fsum(weights) - 1.0) < 4e-16
        for wrong in (None, ("a", 1, 2), ("0.2", "0.4", "0.4"), 5):
            with pytest.raises(ValueError, match="weights="):
                Moments(BOX.for_columns(3), wrong)

    def test_a_number_of_numpys_goes_to_json(self):
        curator = dp.Curator(table(), schema=TABLE)
        assert curator.measure(Histogram(np.int64(3)), dp.GaussianLoss(0.1)).to_json()


class TestRelease:
    def release(self):
        curator = dp.Curator(ROWS, space=BOX, name="rows")
        return curator.measure(Moments(curator.space), dp.GaussianLoss(0.3))

    def test_it_goes_through_json_and_then_says_loaded(self):
        release = self.release()
        assert release.provenance == "measured"
        loaded = dp.Release.from_json(release.to_json())
        assert loaded.provenance == "loaded"
        np.testing.assert_array_equal(loaded.value, release.value)
        assert loaded.to_dict() | {"provenance": ""} == release.to_dict() | {"provenance": ""}
        assert dp.Release.from_json(loaded.to_json()) == loaded

    def test_copies_and_pickles(self):
        release = self.release()
        assert copy.deepcopy(release) is release
        again = pickle.loads(pickle.dumps(release))
        assert again.provenance == "loaded"
        np.testing.assert_array_equal(again.value, release.value)

    def test_it_is_frozen(self):
        release = self.release()
        with pytest.raises(ValueError, match="read-only"):
            release.value[0] = 1.0
        with pytest.raises(AttributeError):
            release.value = np.zeros(3)
        with pytest.raises(TypeError):
            release.parts["count"] = None
        with pytest.raises(ValueError, match=r"(?i)writeable"):
            release.value.flags.writeable = True
        before = release.to_json()
        release.to_dict()["declared"]["space"]["high"][0] = 9.0
        assert release.to_json() == before

    def test_parts_and_intervals(self):
        release = self.release()
        assert release["first"].shape == (3,)
        low, high = release.interval(0.9, "count")
        assert low[0] < release["count"][0] < high[0]
        assert (high - low)[0] / 2 == pytest.approx(release.noise.half_width(0.9) / math.sqrt(1 / 3))
        low, high = release.interval(0.9, "second")
        assert low.shape == (3, 3)
        assert (high - low)[0, 1] == pytest.approx((high - low)[0, 0] / math.sqrt(2.0))
        with pytest.raises(ValueError, match="name=None: expected one of 'count'"):
            release.interval()
        curator = dp.Curator(ROWS, space=BOX)
        alone = curator.measure(Sum(curator.space), dp.GaussianLoss(0.3))
        np.testing.assert_array_equal(alone.interval(), alone.interval(0.95, "sum"))
        with pytest.raises(ValueError, match="name='third'"):
            release["third"]

    def test_what_is_made_by_hand_says_so_for_ever(self, seeded):
        made = simulate("sum", [1.0, 2.0], GaussianNoise(1.0), dp.GaussianLoss(1.0), PublicSize(10, True))
        assert made.provenance == "simulated"
        assert dp.Release.from_json(made.to_json()).provenance == "simulated"
        curator = dp.Curator(ROWS, space=BOX)
        assert curator.measure(Sum(curator.space), dp.GaussianLoss(1.0), bits=seeded(7)).provenance == "simulated"
        with pytest.raises(ValueError, match="provenance='measured'"):
            dp.Release(**{name: getattr(made, name) for name in made.__dataclass_fields__} | {"provenance": "measured"})

    def test_the_parts_are_the_statistics_and_not_their_weighted_sums(self, seeded):
        curator = dp.Curator(ROWS, space=BOX)
        y = curator.space.to_unit(ROWS)
        for weights in [(1 / 3, 1 / 3, 1 / 3), (0.1, 0.2, 0.7), (0.0, 0.5, 0.5)]:
            release = curator.measure(Moments(curator.space, weights), dp.GaussianLoss(1e6), bits=seeded(8))
            if weights[0]:
                assert release["count"] == pytest.approx(len(ROWS), abs=1e-3)
            np.testing.assert_allclose(release["first"], y.sum(axis=0), atol=1e-3)
            np.testing.assert_allclose(release["second"], y.T @ y, atol=1e-3)

    def test_a_file_tells_what_the_numbers_mean(self):
        facts = json.loads(self.release().to_json())["declared"]
        assert facts["space"] == {"kind": "Box", "low": [0.0] * 3, "high": [10.0] * 3}
        assert facts["columns"] == ["x0", "x1", "x2"]
        assert (facts["unit"], facts["max_rows"]) == (None, 1)

    def test_a_damaged_file_is_refused(self):
        facts = json.loads(self.release().to_json())
        with pytest.raises(ValueError, match="expected the fields"):
            dp.Release.from_dict({name: value for name, value in facts.items() if name != "loss"})
        with pytest.raises(ValueError, match="finite"):
            dp.Release.from_dict(facts | {"value": [math.nan] * len(facts["value"])})
        for text in ("[]", "3", "null"):
            with pytest.raises(ValueError, match="expected the fields"):
                dp.Release.from_json(text)
        for wrong in (
            {"extra": 1},
            {"loss": None},
            {"parts": []},
            {"size": {}},
            {"size": {"units": -3, "complete": True}},
            {"declared": None},
            {"exact": "no"},
            {"recorded": "maybe"},
            {"query": 3},
            {"parts": facts["parts"] | {"first": facts["parts"]["first"] | {"shape": [-1]}}},
            {"parts": facts["parts"] | {"second": facts["parts"]["second"] | {"shape": [3, 2]}}},
        ):
            with pytest.raises(ValueError, match="expected"):
                dp.Release.from_dict(facts | wrong)

    def test_another_format_is_refused(self):
        wrong = json.loads(self.release().to_json()) | {"format": 99}
        with pytest.raises(ValueError, match="format=99"):
            dp.Release.from_dict(wrong)

    def test_it_says_when_nothing_was_recorded(self, ledger):
        assert "NOT RECORDED" in repr(self.release())
        curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=ledger)
        assert "NOT RECORDED" not in repr(curator.measure(Sum(curator.space), dp.GaussianLoss(0.3)))


def test_a_wrong_mechanism_for_a_query():
    curator = dp.Curator(ROWS, space=BOX)
    for mechanism in (Exponential(), NoisyMax(), Euclidean()):
        with pytest.raises(ValueError, match="expected"):
            curator.measure(Sum(curator.space), dp.GaussianLoss(1.0), mechanism=mechanism)


def _measure_for_ever(path, log):
    curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=str(path))
    with open(log, "a", buffering=1) as released:
        while True:
            curator.measure(Sum(curator.space), dp.GaussianLoss(0.01))
            released.write("released\n")


def test_killing_a_curator_never_leaves_a_release_without_its_spend(tmp_path):
    """Kill −9 at random moments: what was released is at most what is recorded, and the ledger opens and verifies."""
    path, log = tmp_path / "budget.db", tmp_path / "released"
    dp.Curator(ROWS, space=BOX, name="rows", ledger=str(path)).measure(Sum(BOX.for_columns(3)), dp.GaussianLoss(0.01))
    log.write_text("released\n")
    rng = np.random.default_rng(0)
    for _ in range(size(4, 12)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking a process that has threads
            child = os.fork()
        if child == 0:
            try:
                _measure_for_ever(path, log)
            finally:
                os._exit(1)
        time.sleep(rng.uniform(0.02, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ledger = dp.Ledger(path)
        ledger.verify()
        assert log.read_text().count("released") <= len(ledger.history("rows"))
    assert log.read_text().count("released") > 1


def test_a_ledger_that_cannot_record_lets_nothing_out(tmp_path):
    class Watched(Sum):
        seen = 0

        def sum(self, block):
            Watched.seen += 1
            return super().sum(block)

    path = tmp_path / "budget.db"
    curator = dp.Curator(ROWS, space=BOX, name="rows", ledger=str(path))
    curator.measure(Watched(curator.space), dp.GaussianLoss(0.1))
    before = Watched.seen
    path.write_bytes(b"this is no database any more" * 500)
    with pytest.raises(LedgerError):
        curator.measure(Watched(curator.space), dp.GaussianLoss(0.1))
    assert Watched.seen == before
