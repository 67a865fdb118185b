"""Intervals of quantiles of rounded numbers hold without a declared step, and smooth numbers get none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet import statistics as st
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.statistics.quantile_spans import Multiples, QuantileSpans
from discreet.statistics.rounding import LEAST, MOST, decimal_steps, find_step, predicted_shares, rounding_share
from effort import size
from goodness import least_successes

pytestmark = pytest.mark.filterwarnings(f"ignore::{NotPrivateWarning.__module__}.{NotPrivateWarning.__name__}")

SCORES = [0.1, 0.2, 0.2, 0.3, 0.2]
COLUMNS = {
    "ages": (lambda rng: np.round(rng.normal(40.0, 10.0, 1000)), (0, 120), 1.0),
    "days": (lambda rng: np.round(rng.lognormal(1.5, 0.8, 1000)), (0, 365), 1.0),
    "scores": (lambda rng: rng.choice(np.arange(1.0, 6.0), 1000, p=SCORES), (1, 5), 1.0),
    "prices": (lambda rng: 10.0 * np.round(rng.lognormal(5.0, 0.6, 1000) / 10.0), (0, 2000), 10.0),
}
OFTEN = size(50, 120)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", COLUMNS)
def test_intervals_hold_where_numbers_are_rounded_and_no_step_is_declared(name, neighbors):
    draw, bounds, step = COLUMNS[name]
    rng = np.random.default_rng(3)
    held = found = 0
    for seed in range(OFTEN):
        rows = draw(rng)
        answer = st.median(rows, epsilon=1.0, bounds=bounds, neighbors=neighbors, bits=SeededBits(seed))
        low, high = answer.interval(0.95)
        ordered = np.sort(rows)
        held += bool(low <= ordered[500] + 1e-9 and ordered[499] - 1e-9 <= high)
        found += answer._spans.rounding == step
    assert held >= least_successes(OFTEN, 0.93)
    assert found >= least_successes(OFTEN, 0.93)


@pytest.mark.parametrize("name", ["normal", "lognormal"])
def test_no_step_is_found_where_there_is_none(name):
    rng, found, often = np.random.default_rng(4), 0, size(25, 60)
    for seed in range(often):
        rows = rng.normal(40.0, 10.0, 1000) if name == "normal" else rng.lognormal(1.0, 1.0, 1000)
        answer = st.quantiles(rows, [0.25, 0.5], epsilon=1.0, bounds=(0, 120), bits=SeededBits(seed))
        found += answer._spans.rounding is not None
    assert found <= often - least_successes(often, 0.98)


def test_log_columns_and_groups_have_steps_in_their_own_units():
    rng = np.random.default_rng(5)
    schema = dp.Schema({"pay": dp.Number(1, 100_000, log=True), "ward": dp.Category([0, 1])})
    pay, ward = 100.0 * np.round(rng.lognormal(7.5, 0.4, 4000) / 100.0 + 1.0), rng.integers(0, 2, 4000)
    answer = st.median(np.column_stack([pay, ward]), "pay", by="ward", epsilon=2.0, schema=schema, bits=SeededBits(0))
    assert answer._spans.rounding == 100.0
    for group, (low, high) in enumerate(zip(*answer.interval(0.95), strict=True)):
        assert low <= np.median(pay[ward == group]) <= high
        assert np.allclose([low / 100.0, high / 100.0], np.round([low / 100.0, high / 100.0]))


def test_a_declared_step_and_worst_case_intervals_count_no_multiples():
    rows = np.arange(100.0)
    plans = [
        st.median.plan(rows, epsilon=1.0, bounds=(0, 120), **how)
        for how in ({}, {"step": 1}, {"interval_kind": "worst-case"}, {"interval": None})
    ]
    names = [[question.name for question, _ in plan.asked] for plan in plans]
    assert [names[place].count("rounded numbers") for place in range(4)] == [1, 0, 0, 0]


def test_the_predicted_shares_are_those_of_evenly_spread_numbers():
    steps = decimal_steps(0.0, 200.0)
    assert steps[-1] == 100.0
    shares = predicted_shares(steps)
    assert np.allclose(shares.sum(axis=1), 1.0)
    numbers = np.arange(1, 100_000)  # of which a step of 1 predicts 4/5, 1/10, 2/25 …
    for step, row in ((1.0, shares[1 + steps.index(1.0)]), (5.0, shares[1 + steps.index(5.0)])):
        here = numbers[numbers % step == 0]
        top = [one for one in steps if one >= step]
        share = np.array([np.mean(here % one == 0) for one in top])
        assert np.allclose(row[-len(top) :], share - np.append(share[1:], 0.0), atol=1e-3)


@pytest.mark.parametrize(
    ("counts", "step"),
    [
        ([0, 80, 10, 10, 0], 1.0),
        ([0, 30, 35, 35, 0], 5.0),  # heaped: the larger step is the safe one
        ([0, 0, 50, 50, 0], 5.0),
        ([0, 0, 0, 100, 0], 10.0),
        ([100, 0, 0, 0, 0], None),
        ([60, 40, 0, 0, 0], None),
        ([0, 8, 1, 1, 90], 10.0),  # nearly all at 0 or at a bound
        ([0, 40, 5, 5, 50], 1.0),
        ([-900, 800, -700, 600, -900], 10.0),
    ],
)
def test_the_step_is_that_which_predicts_the_counts(counts, step):
    assert find_step(np.array(counts, dtype=np.float64), 100.0, (1.0, 5.0, 10.0)) == step


@pytest.mark.parametrize("rows", [0, 1, 10**9, None])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
def test_the_share_for_the_counts_stays_small(rows, epsilon):
    assert LEAST <= rounding_share(rows, epsilon, 7) <= MOST


def spans(below, value, above, rounding, *, log=False, grid=(0.0, 120.0, None)):
    return QuantileSpans(
        values=np.full((1, 1), value),
        below=np.full((1, 1), below),
        above=np.full((1, 1), above),
        levels=(0.5,),
        scales=[[(1.0,)]],
        end_scales=np.array([3.0]),
        reaches=np.array([20.0]),
        rows=np.full((1, 1), 8000.0),
        clusters=1,
        grid=grid,
        candidates=2**40,
        rounding=rounding,
        log=log,
    )


def ends(found, *, population=False):
    return tuple(end.item() for end in found.interval(0.95, population=population))


def test_between_two_multiples_the_interval_has_both():
    assert ends(spans(39.2, 39.7, 39.5, 1.0)) == (39.0, 40.0)
    assert ends(spans(39.9, 39.7, 39.1, 1.0)) == (39.0, 40.0)  # in the wrong order: between them order is chance
    assert ends(spans(40.0, 40.0, 40.0, 1.0)) == (40.0, 40.0)
    low, high = ends(spans(40.0, 40.0, 40.0, 1.0), population=True)
    assert low <= 39.0
    assert high >= 41.0


def test_half_a_row_counts_where_the_number_of_rows_is_known():
    """Between the two middle rows every value is a median, so an interval of the rows is shorter on each side."""
    private = spans(38.0, 39.7, 41.0, None)
    even, odd = replace(private, exact=True), replace(private, exact=True, rows=np.full((1, 1), 8001.0))
    assert ends(private)[0] < ends(even)[0] < ends(even)[1] < ends(private)[1]
    assert ends(odd) == pytest.approx(ends(private))
    assert ends(even, population=True) == ends(private, population=True)
    last = replace(private, exact=True, levels=(0.9,), rows=np.full((1, 1), 8001.0))  # the rank 7200.9 is row 7201
    low, high = np.subtract(ends(last), ends(replace(last, exact=False)))
    assert low < 0.0
    assert high < 0.0


def test_a_step_is_not_believed_where_draws_are_too_close_for_it():
    assert ends(spans(39.60, 39.61, 39.62, 50.0)) == ends(spans(39.60, 39.61, 39.62, None))
    assert ends(spans(100.0, 100.0, 100.0, 50.0)) == (100.0, 100.0)
    tied = spans(*[np.log(100.0)] * 3, 50.0, log=True, grid=(0.0, 12.0, None))
    assert np.exp(ends(tied, population=True)[1]) > 149.0


@pytest.mark.parametrize("log", [False, True])
def test_multiples_of_a_log_column_are_those_of_its_own_units(log):
    of = np.log if log else np.asarray
    multiples = Multiples(10.0, log)
    assert multiples.before(float(of(37.0))) == pytest.approx(float(of(30.0)))
    assert multiples.after(float(of(37.0))) == pytest.approx(float(of(40.0)))
    assert multiples.after(float(of(40.0))) == pytest.approx(float(of(40.0)))
    down, up = multiples.steps_from(float(of(37.0)))
    assert (down, up) == pytest.approx((float(of(37.0) - of(27.0)), float(of(47.0) - of(37.0))))
    assert np.isfinite(multiples.before(float(of(3.0))))


@pytest.mark.parametrize(("step", "decimals"), [(0.1, 1), (0.05, 2), (0.001, 3), (5.0, 0)])
def test_multiples_are_the_floats_nearest_to_their_decimals(step, decimals):
    own = [float(f"{times * step:.{decimals}f}") for times in range(400)]
    assert [Multiples(step).before(one) for one in own] == own  # 3 · 0.1 is above 0.3, and would miss it
