"""Private series and running sums: operators against their matrices, bounds under attack, noise as stated."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import time
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

import discreet as dp
from conftest import FALSE_ALARM
from discreet.door import Curator, StreamMechanism
from discreet.noise import GaussianNoise
from discreet.queries.search import worst_neighbours
from discreet.queries.series import series_sums as step_sums_module
from discreet.queries.series.buffered_toeplitz import BufferedRun, BufferedTotals, factorize_buffered, fit_factor
from discreet.queries.series.factorization import (
    BETWEEN,
    BETWEEN_NORM,
    WITHIN,
    Blocks,
    DoublingSums,
    Tree,
    TreeSums,
    series_quotient,
    square_root,
)
from discreet.queries.series.operators import convolve
from discreet.queries.series.series_sums import ColumnSums, StepSums
from discreet.signals import Identity, Picked, PrefixSums, Series, Steps, Stream, Toeplitz, running_sum
from discreet.signals.running_sum import METHODS
from effort import crossed, size

SIZES = (1, 2, 3, 5, 8)


def operators(count):
    signed = np.random.default_rng(count).normal(size=count)
    return [
        Identity(count),
        Picked(count, tuple(range(0, count, 2))),
        PrefixSums(count),
        Toeplitz(signed),
        square_root(count).operator,
        factorize_buffered(count).operator,
        Blocks(count),
        Tree(count),
    ]


@pytest.mark.parametrize("count", SIZES)
def test_norms_of_operators_are_those_of_their_matrices(count):
    corners = np.array(list(product([-1.0, 1.0], repeat=count)))
    halves = np.random.default_rng(0).uniform(0.1, 3.0, count)
    for operator in operators(count):
        matrix = operator.matrix
        assert matrix.shape == (operator.size, count)
        assert operator.nonnegative == bool((matrix >= 0.0).all())
        for name, order in (("l1", 1), ("l2", 2)):
            columns = np.linalg.norm(matrix, ord=order, axis=0).max()
            assert columns <= operator.column_norm(name)
            assert isinstance(operator, Blocks) or operator.column_norm(name) <= columns * (1 + 1e-8)
            for sizes, proved in ((np.ones(count), operator.box_norm(name)), (halves, operator.reach(halves, name))):
                result = np.linalg.norm((corners * sizes) @ matrix.T, ord=order, axis=1).max()
                assert result <= proved * (1 + 1e-14)
                assert not operator.nonnegative or proved <= result * (1 + 1e-8)


def test_the_float_error_of_operators_is_within_its_bound():
    count = 1500
    rng = np.random.default_rng(0)
    for operator in operators(count):
        for series in (rng.normal(size=count), np.eye(1, count)[0], np.ones(count), rng.uniform(size=count) * 1e12):
            wide = series.astype(np.longdouble)
            if isinstance(operator, Toeplitz):
                exact = np.convolve(operator.coefficients.astype(np.longdouble), wide)[:count]
            elif isinstance(operator, Blocks):
                terms = operator.terms.astype(np.longdouble)
                parts = [np.convolve(terms, wide[p])[: p.stop - p.start] / own for p, own in operator.blocks]
                totals = [wide[p].sum() for p, _ in operator.blocks[: operator.finished]]
                between = np.convolve(terms, totals)[: len(totals)] * BETWEEN / BETWEEN_NORM
                exact = np.concatenate([*parts, between])
            elif isinstance(operator, Tree):
                exact = np.concatenate([wide[: (count >> j) << j].reshape(-1, 1 << j).sum(axis=1) for j in range(11)])
            elif isinstance(operator, PrefixSums):
                exact = np.cumsum(wide)
            else:
                exact = operator.apply(series)
            off = np.linalg.norm((operator.apply(series) - exact).astype(float))
            assert off <= operator.error * np.abs(series).sum()


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("method", METHODS)
def test_factors_multiply_to_running_sums_and_deviations_are_rows(method, count):
    factors = METHODS[method](count)
    decoder = np.stack([factors.decode(one) for one in np.eye(factors.operator.size)], axis=1)
    np.testing.assert_allclose(decoder @ factors.operator.matrix, np.tri(count), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(decoder, axis=1), factors.weights, rtol=1e-12)
    np.testing.assert_allclose(np.abs(decoder).max(axis=1), factors.peaks, rtol=1e-12)


def test_the_largest_deviation_at_1024_steps_is_the_known_one():
    assert square_root(1024).errors().max() == pytest.approx(3.27, abs=0.005)
    assert TreeSums(Tree(1024)).errors().max() == pytest.approx(10.49, abs=0.005)
    assert DoublingSums(Blocks(1024)).errors().max() < 0.5 * 10.49


@pytest.mark.parametrize("count", [2, 1000, 2**18])
def test_few_buffers_come_close_to_the_square_root(count):
    result = fit_factor(count)
    assert len(result.gaps) <= 6
    assert result.norm * result.decoder_norm(count) < 1.005 * square_root(count).errors().max()
    assert result.terms.max() == 1.0
    assert result.terms.min() > 0.0
    assert 1.0 <= result.norm / np.linalg.norm(result.terms) < 1.0 + 1e-8
    assert result.decoder_norm(count) == pytest.approx(np.linalg.norm(result.decoder), rel=1e-8)
    np.testing.assert_allclose(convolve(result.terms, result.decoder), 1.0, rtol=0, atol=1e-7)


def test_series_are_divided_as_power_series():
    rng = np.random.default_rng(3)
    bottom, top = 0.5 ** np.arange(300.0) * rng.normal(size=300), rng.normal(size=300)
    bottom[0] = 2.0
    quotient = series_quotient(top, bottom)
    np.testing.assert_allclose(np.convolve(quotient, bottom)[:300], top, atol=1e-10 * np.abs(quotient).max())


# The bounds under attack. The registry's search goes over single rows; here whole data sets go through the records.


def collected(data, operator, **declared):
    arguments = {"time": declared.pop("time", None), "value": declared.pop("value", None)}
    steps = declared.pop("steps", None)
    series = Series.from_rows(data, **arguments, steps=steps, epsilon=1.0, delta=1e-6, bits=None, declared=declared)
    query = series.query(operator)
    curator = series.curator
    return query.collect(curator._records, curator.setting), curator.setting.sensitivity(query, "l2"), series


@pytest.mark.parametrize(
    ("operator", "persons", "relation"),
    crossed([Identity(4), square_root(4).operator, Tree(4)], [False, True], ["add-remove", "replace-one"]),
    ids=lambda one: getattr(one, "name", str(one)),
)
def test_neighbouring_long_data_sets_are_no_farther_apart_than_proved(operator, persons, relation):
    rng = np.random.default_rng(5)
    schema = dp.Schema(
        {"day": dp.Number(0, 5), "kwh": dp.Number(0, 3)}, *(("who", 2) if persons else ())
    )  # day 4 to 5 is outside
    worst, proved = 0.0, None
    for run in range(size(12, 50)):
        rows = [(rng.integers(0, 4), rng.uniform(-1, 6), rng.uniform(-2, 9)) for _ in range(6)]
        days = rng.choice([0.0, 0.0, 0.0, 2.0, 4.5], 3), rng.choice([3.5, 3.5, 3.5, 0.0, np.nan], 3)
        if not run:  # as far apart as can be
            days = np.zeros(3), np.full(3, 3.5)
        extreme, other = ([(9, day, 50.0) for day in some] for some in days)
        mine = slice(None) if persons else slice(0, 1)
        first = pd.DataFrame(extreme[mine] + rows, columns=["who", "day", "kwh"])
        second = pd.DataFrame((other[mine] if relation == "replace-one" else []) + rows, columns=["who", "day", "kwh"])
        sums = []
        for frame in (first, second):
            declared = {"schema": schema, "neighbors": relation, "time": "day", "value": "kwh", "steps": Steps(0, 4, 4)}
            result, proved, series = collected(frame, operator, **declared)
            assert series.level == ("user" if persons else "event")
            sums.append(result)
        worst = max(worst, np.linalg.norm(sums[0] - sums[1]))
    ideal = 3.0 * operator.column_norm("l2") * (2 if persons else 1)
    assert worst <= proved
    assert proved == pytest.approx(ideal * (np.sqrt(2.0) if relation == "replace-one" else 1.0), rel=2e-3)
    tight = isinstance(operator, Identity) or relation == "add-remove"
    assert worst > (0.998 if tight else 0.6) * proved


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_neighbouring_wide_data_sets_are_no_farther_apart_than_proved(relation):
    operator = square_root(3).operator
    others = np.random.default_rng(1).uniform(-4.0, 9.0, (5, 3))
    result = []
    for ends in product([-7.0, 20.0], repeat=6):
        first = np.vstack([others, [ends[:3]]])
        second = others if relation == "add-remove" else np.vstack([others, [ends[3:]]])
        bounds = dp.Box([0.0, -1.0, 2.0], [5.0, 4.0, 5.0])
        one, proved, series = collected(first, operator, bounds=bounds, neighbors=relation)
        two, _, _ = collected(second, operator, bounds=bounds, neighbors=relation)
        result.append(np.linalg.norm(one - two))
    assert series.level == "user"
    assert 0.999 * proved < max(result) <= proved


def test_bounds_that_are_too_small_are_caught(monkeypatch):
    query = StepSums(dp.Box([0.0, 0.0], [4.0, 1.0]), Identity(4), 0, 1, 0.0, 4.0)
    wide = ColumnSums(dp.Box([0.0] * 3, [1.0] * 3), square_root(3).operator, False)
    assert all(one.holds for right in (query, wide) for one in worst_neighbours(right, np.random.default_rng(0)))
    monkeypatch.setattr(step_sums_module, "event_distance", lambda low, high, nonnegative: 1.0)
    loose = StepSums(query.space, Identity(4), 0, 1, 0.0, 4.0)
    assert not all(one.holds for one in worst_neighbours(loose, np.random.default_rng(0)))
    monkeypatch.setattr(dp.Box, "clip", lambda self, x: x)
    for right in (query, wide):
        assert not all(one.holds for one in worst_neighbours(right, np.random.default_rng(0)))


# What is measured.


def test_rows_fall_into_their_steps_at_whatever_times():
    frame = pd.DataFrame(
        {
            "day": [0.0, 0.99, 1.0, 2.5, 4.0, 4.01, -3.0, np.nan, 3.9999, 99.0],
            "kwh": [1.0, 1.0, 2.0, 99.0, 3.0, 7.0, 7.0, 1.0, np.nan, 1.0],
        }
    )
    schema = dp.Schema({"day": dp.Number(-1, 6), "kwh": dp.Number(0, 5, missing="fill", fill=0.5)})
    declared = {"schema": schema, "time": "day", "value": "kwh", "steps": Steps(0, 4, 4)}
    sums, _, series = collected(frame, Identity(4), **declared)
    assert sums.tolist() == [2.0, 2.0, 5.0, 3.5]  # 99 is clipped to 5; day 4 is in the last step; others are outside
    assert (series.layout, series.count, series.largest) == ("long", 4, 5.0)
    whole, _, _ = collected(frame, Identity(7), **(declared | {"steps": 7}))
    assert whole.sum() == 2.0 + 2.0 + 5.0 + 3.5 + 5.0 + 5.0 + 1.0  # early and late rows fall into the steps at the ends
    counts, _, _ = collected(frame, Identity(4), schema=schema, time="day", steps=Steps(0, 4, 4))
    assert counts.tolist() == [2.0, 1.0, 1.0, 2.0]


def test_wide_rows_are_put_back_about_zero():
    rows = np.random.default_rng(0).uniform(90.0, 100.0, (5000, 12))
    for relation in ("replace-one", "add-remove"):
        result = running_sum(rows, epsilon=1.0, bounds=(80, 110), neighbors=relation)
        assert result.level == "user"
        assert np.all(np.abs(result.value - np.cumsum(rows.sum(axis=0))) < 8.0 * result.std)
    assert "user-level" in repr(result)
    gaps = np.where(rows == rows[0, 0], np.nan, rows)
    schema = dp.Schema({f"m{j}": dp.Number(80, 110) for j in range(12)})
    result = running_sum(pd.DataFrame(gaps, columns=schema.names), epsilon=1.0, schema=schema)
    assert np.all(np.abs(result.value - np.cumsum(gaps[1:].sum(axis=0))) < 8.0 * result.std)


def test_a_person_costs_as_many_events_as_count():
    events = pd.DataFrame({"who": np.arange(300) % 100, "day": np.linspace(0, 7, 300)})
    declared = {"bounds": {"day": (0, 7)}, "neighbors": "add-remove", "epsilon": 1.0, "steps": 7, "time": "day"}
    event = running_sum(events, **declared)
    user = running_sum(events, **declared, unit="who", max_rows=3)
    assert (event.level, user.level) == ("event", "user")
    np.testing.assert_allclose(user.std / event.std, 3.0, rtol=2e-3)
    assert "user-level" in repr(user)
    assert "each who" in repr(user)


@pytest.mark.parametrize("method", METHODS)
def test_the_noise_at_every_step_has_the_stated_deviation(method, seeded):
    times = np.repeat(np.arange(6.0) + 0.5, [5, 0, 3, 9, 1, 2])
    truth = np.cumsum([5, 0, 3, 9, 1, 2])
    bits, runs = seeded(11), size(60, 120)
    errors = []
    for _ in range(runs):
        result = running_sum(times, time=0, steps=6, epsilon=2.0, bounds=(0, 6), method=method, bits=bits)
        errors.append((result.value - truth) / result.std)
    squares = (np.array(errors) ** 2).sum(axis=0)
    # Six chi-squares of as many degrees of freedom as runs, two-sided: a false alarm of at most 1e-9 together.
    assert np.all(chi2.ppf(FALSE_ALARM / 12, runs) < squares)
    assert np.all(squares < chi2.isf(FALSE_ALARM / 12, runs))
    assert result.guarantee is None
    assert "WITHOUT privacy" in repr(result)


def test_a_hundred_thousand_steps(seeded):
    count = 100_000
    times = np.random.default_rng(2).uniform(0.0, 1.0, 50_000)
    result = running_sum(times, time=0, steps=count, epsilon=1.0, bounds=(0, 1), bits=seeded(3))
    exact = np.histogram(times, bins=count, range=(0.0, 1.0))[0]
    noise = (result.release.value - square_root(count).operator.apply(exact)) / result.release.noise.scale
    # One chi-square of 100,000 degrees of freedom, two-sided, at 1e-9.
    assert chi2.ppf(FALSE_ALARM / 2, count) < (noise**2).sum() < chi2.isf(FALSE_ALARM / 2, count)
    # And 100,000 normal variates, none of which is beyond its bound at 1e-9 for all.
    assert np.abs((result.value - np.cumsum(exact)) / result.std).max() < norm.isf(FALSE_ALARM / 2 / count)


def test_one_step_and_no_rows():
    for method in METHODS:
        result = running_sum(np.empty((0, 1)), time=0, steps=1, epsilon=1.0, bounds=(0, 1), method=method)
        assert result.value.shape == (1,)
        assert np.isfinite(result.value).all()


def test_sums_of_what_is_never_negative_can_be_made_to_increase(seeded):
    times = np.repeat(np.arange(50.0), 2)
    plain = running_sum(times, time=0, steps=50, epsilon=0.5, bounds=(0, 50), bits=seeded(1))
    result = running_sum(times, time=0, steps=50, epsilon=0.5, bounds=(0, 50), bits=seeded(1), monotone=True)
    truth = np.cumsum(np.full(50, 2.0))
    assert np.all(np.diff(result.value) >= 0.0)
    assert result.value[0] >= 0.0
    assert np.any(np.diff(plain.value) < 0.0)
    weighted = [(((one.value - truth) / one.std) ** 2).sum() for one in (result, plain)]
    assert weighted[0] < weighted[1]


def test_pure_privacy_takes_a_tree_and_its_limits_hold(seeded):
    bits, inside = seeded(5), 0
    for _ in range(100):
        result = running_sum([0.5] * 40, time=0, steps=7, epsilon=1.0, delta=0, bounds=(0, 7), method="tree", bits=bits)
        low, high = result.interval(0.9)
        inside += int(((low <= 40.0) & (high >= 40.0)).sum())
    assert result.release.noise.scale == pytest.approx(2.0 * 3.0, rel=1e-6)  # replace-one, three levels
    # 700 limits of at least 0.9 each; steps of a run are not independent, so runs are counted: by Hoeffding
    # 100 runs of a mean in [0, 1] are 0.33 below theirs with probability 4e-10.
    assert inside / 700 > 0.9 - 0.33
    assert inside / 700 > 0.9  # with this seed; they are wide
    assert np.all(high - low <= 1.3 * 2.0 * norm.isf(0.05) * result.std)


def test_a_signal_shows_itself():
    import matplotlib

    matplotlib.use("Agg")
    result = running_sum([0.5, 1.5], time=0, steps=Steps(0, 2, 2), epsilon=1.0, bounds=(0, 2))
    assert list(result.table()) == ["times", "value", "low", "high"]
    assert result.table()["times"].tolist() == [0.0, 1.0]
    axes = result.plot(truth=[1.0, 2.0])
    assert len(axes.get_lines()) == 2


def test_the_ledger_is_asked_first(tmp_path):
    curator = Curator(
        np.array([[0.5]]), space=dp.Box(0, 2), name="visits", ledger=str(tmp_path / "ledger.db"),
        budget=dp.Guarantee(1.0, 1e-6),
    )  # fmt: skip
    result = running_sum(curator, time=0, steps=2, epsilon=1.0)
    assert result.release.recorded
    with pytest.raises(dp.BudgetExceeded):
        running_sum(curator, time=0, steps=2, epsilon=1.0)


FRAME = pd.DataFrame({"day": [1.0, 2.0], "kwh": [1.0, 2.0], "ward": ["a", "b"]})
BOUNDS = {"day": (0, 7), "kwh": (-1, 5)}
SCHEMA = dp.Schema({"day": dp.Number(0, 7), "kwh": dp.Number(0, 5), "ward": dp.Category(["a", "b"])})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time": "day", "bounds": BOUNDS}, "steps=None: expected how many"),
        ({"time": "day", "steps": 0, "bounds": BOUNDS}, "steps=0: expected a whole number"),
        ({"time": "day", "steps": -3, "bounds": BOUNDS}, "steps=-3"),
        ({"time": "day", "steps": 2.5, "bounds": BOUNDS}, r"steps=2\.5"),
        ({"time": "day", "steps": 2**22 + 1, "bounds": BOUNDS}, "at most 4194304"),
        ({"time": "day", "steps": 7}, "bounds, schema: expected one"),
        ({"time": "hour", "steps": 7, "bounds": BOUNDS}, "time='hour': expected a declared column"),
        ({"time": "ward", "steps": 7, "schema": SCHEMA}, "time='ward': expected a column of numbers"),
        ({"time": "day", "value": "ward", "steps": 7, "schema": SCHEMA}, "value='ward': expected a column of numbers"),
        ({"time": "day", "value": "day", "steps": 7, "bounds": BOUNDS}, "value='day': expected another column"),
        ({"time": "day", "value": "cost", "steps": 7, "bounds": BOUNDS}, "value='cost': expected a declared"),
        ({"time": "day", "steps": Steps(0, 8, 8), "bounds": BOUNDS}, "within the declared range"),
        ({"value": "kwh", "bounds": BOUNDS}, "value='kwh': expected a column of time"),
        ({"bounds": {"day": (0, 7)}}, "time=None, steps=None: expected rows of several columns"),
        ({"bounds": BOUNDS, "steps": 24}, "time=None, steps=24"),
        ({"time": "day", "steps": 7, "bounds": BOUNDS, "delta": 0}, "delta=0: expected δ above 0"),
        ({"time": "day", "steps": 7, "bounds": BOUNDS, "delta": 1.0}, "delta=1.0"),
        ({"time": "day", "steps": 7, "bounds": BOUNDS, "epsilon": 0}, "epsilon=0"),
        ({"time": "day", "steps": 7, "bounds": BOUNDS, "method": "magic"}, "method='magic': expected one of"),
        ({"time": "day", "value": "kwh", "steps": 7, "bounds": BOUNDS, "monotone": True}, "monotone=True: expected"),
        ({"time": "day", "steps": 7, "bounds": BOUNDS, "monotone": 1}, "monotone=1: expected True or False"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_is_spent(arguments, message, monkeypatch):
    monkeypatch.setattr(Curator, "_charge", lambda *_: pytest.fail("something was spent"))
    with pytest.raises(ValueError, match=message):
        running_sum(FRAME, **({"epsilon": 1.0} | arguments))


@pytest.mark.parametrize(
    "ends",
    [(0.0, 0.0), (1.0, 1.0), (1e9, 1e9 + 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), ("a", 1.0), (None, 1.0)],
)
def test_grids_that_are_none(ends):
    with pytest.raises(ValueError, match="expected two numbers"):
        Steps(*ends, 3)


# Streams.


def doubled(sums):
    """Return what a stream without a horizon releases, in its order: at the end of a block the totals' number too."""
    result, totals, start = [], [], 0
    between = Blocks(len(sums)).terms * BETWEEN / BETWEEN_NORM
    while start < len(sums):
        factor, part = fit_factor(start + 1), sums[start : 2 * start + 1]
        result += (np.convolve(factor.terms, part)[: len(part)] * WITHIN / factor.norm).tolist()
        if len(part) == start + 1:
            totals.append(part.sum())
            result.append(np.convolve(between, totals)[len(totals) - 1])
        start = 2 * start + 1
    return np.array(result)


@pytest.mark.parametrize("horizon", [16, None])
def test_a_stream_releases_what_its_operator_says(horizon, monkeypatch):
    released = []
    draw = StreamMechanism.draw
    monkeypatch.setattr(StreamMechanism, "draw", lambda self, value: released.append(value) or draw(self, value))
    stream = Stream(bounds=(-1, 2), horizon=horizon, epsilon=1.0)
    steps = [[5.0, 1.0], [], [np.nan, 0.5], [-9.0], *([0.25 * j] for j in range(12))]
    sums = np.array([3.0, 0.0, 0.5, -1.0, *(min(0.25 * j, 2.0) for j in range(12))])
    values = [stream.add(rows) for rows in steps]
    expected = Toeplitz(fit_factor(16).terms).apply(sums) if horizon else doubled(sums)
    np.testing.assert_allclose(released, expected, rtol=1e-12, atol=1e-12)
    assert np.all(np.abs(np.array(values) - np.cumsum(sums)) < 40 * stream.std)


@pytest.mark.parametrize(("low", "high"), [(0.0, 3.0), (-1.0, 3.0), (-3.0, -1.0)])
@pytest.mark.parametrize("horizon", [1, 12, None])
def test_neighbouring_streams_are_no_farther_apart_than_proved(horizon, low, high, monkeypatch):
    asked = {}
    for_query = GaussianNoise.for_query
    monkeypatch.setattr(GaussianNoise, "for_query", lambda **given: asked.update(given) or for_query(**given))
    steps = horizon or 15

    def path(step, value):
        run, totals, numbers = BufferedRun(fit_factor(horizon)) if horizon else None, BufferedTotals(), []
        for t in range(steps):
            if not horizon and (run is None or run.finished):
                factor = fit_factor(1 if run is None else 2 * run.factor.count)
                run = BufferedRun(factor, factor.norm / WITHIN)
            numbers.append(run.encode(value if t == step else 0.0))
            run.decode(0.0)
            if not horizon and run.finished:
                numbers.append(totals.encode(run.exact))
        return np.array(numbers)

    events = [path(step, end) for step in range(steps) for end in (low, high)]
    for relation in ("add-remove", "replace-one"):
        Stream(bounds=(low, high), horizon=horizon, epsilon=1.0, neighbors=relation)
        proved = asked["sensitivity"]
        apart = events if relation == "add-remove" else [one - two for one in events for two in events]
        worst = max(np.linalg.norm(one) for one in [*events, *apart])
        assert worst <= proved
        assert worst > (0.93 if relation == "add-remove" else 0.65) * proved


@pytest.mark.parametrize("horizon", [5, None])
def test_the_noise_of_a_stream_has_the_stated_deviation(horizon, seeded):
    bits, runs, errors = seeded(8), 100, []
    for _ in range(runs):
        stream = Stream(horizon=horizon, epsilon=2.0, at_most=1000, bits=bits)
        stds = []
        for _ in range(5):
            stream.add(["a", "b"])
            stds.append((stream.value - 2.0 * stream.steps) / stream.std)
        errors.append(stds)
    squares = (np.array(errors) ** 2).sum(axis=0)
    # Five chi-squares of 100 degrees of freedom, two-sided: a false alarm of at most 1e-9 together.
    assert np.all(chi2.ppf(FALSE_ALARM / 10, runs) < squares)
    assert np.all(squares < chi2.isf(FALSE_ALARM / 10, runs))
    assert stream.guarantee is None
    assert "WITHOUT privacy" in repr(stream)


def test_a_stream_is_paid_for_once_at_the_beginning(tmp_path, seeded):
    place = str(tmp_path / "ledger.db")
    opened = {"horizon": 3, "epsilon": 1.0, "name": "visits", "ledger": place, "budget": dp.Guarantee(1.0, 1e-6)}
    stream = Stream(**opened)
    paid = dp.Ledger(place).spent("visits")
    with pytest.raises(dp.BudgetExceeded):
        Stream(**opened)
    for _ in range(3):
        stream.add([1, 2])
        assert stream.release.recorded
    assert dp.Ledger(place).spent("visits") == paid
    assert sum(paid.values()) == 1
    with pytest.raises(ValueError, match="horizon=3: all steps of the stream are over"):
        stream.add([1])
    assert stream.steps == 3
    with pytest.raises(ValueError, match="bits: expected None"):
        Stream(**(opened | {"bits": seeded(1)}))
    assert "NOT RECORDED" not in repr(stream)


def test_private_sums_of_a_stream_stay_in_it():
    stream = Stream(bounds=(0, 1e6), horizon=10, epsilon=1.0)
    stream.add([123456.789])
    for shown in (repr(stream), str(stream), repr(stream._mechanism), repr(stream.release)):
        assert "123456" not in shown
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be"):
            copied(stream)
        with pytest.raises(TypeError, match="cannot be"):
            copied(stream._mechanism)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0}, "delta=0: expected δ above 0"),
        ({"epsilon": -1}, "epsilon=-1"),
        ({"horizon": 0}, "horizon=0"),
        ({"horizon": 2**22 + 1}, "horizon=4194305"),
        ({"at_most": 0}, "at_most=0"),
        ({"bounds": 3}, "bounds=3: expected"),
        ({"bounds": (3, 1)}, "expected low < high"),
        ({"bounds": (0, 1e200)}, "at most 1e100"),
        ({"neighbors": "any"}, "any"),
        ({"at_most": 10**9}, "at_most=1000000000: expected a smaller bound"),
    ],
)
def test_streams_that_cannot_be_opened(arguments, message):
    with pytest.raises(ValueError, match=message):
        Stream(**({"epsilon": 1.0} | arguments))


def test_what_cannot_be_added_is_refused_and_costs_no_step():
    stream = Stream(bounds=(0, 1), horizon=2, epsilon=1.0, at_most=3)
    for rows in ("ab", 7, None, np.ones((2, 1)), np.array(5.0), [0.1] * 4):
        with pytest.raises(ValueError, match="expected"):
            stream.add(rows)
    assert stream.steps == 0
    stream.add([])
    assert stream.interval(0.5)[0] < stream.value < stream.interval(0.5)[1]
    for rows in (7, np.array(5.0), "ab"):
        with pytest.raises(ValueError, match="rows: expected"):
            Stream(epsilon=1.0).add(rows)


STRANGE = [None, "3", 2**70, 10**400, 1j, [2.0], {}, np.nan, -np.inf, True, Decimal("1.5"), Decimal("sNaN"), pd.NA]
COUNTED = [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.5, 0.0, 0.0]


@pytest.mark.parametrize("kind", [list, tuple, lambda rows: pd.Series(rows, dtype=object)])
def test_no_row_of_a_stream_raises_and_each_counts_for_itself(kind):
    stream = Stream(bounds=(-1, 2), horizon=1, epsilon=1.0)
    for row, counted in zip(STRANGE, COUNTED, strict=True):
        assert stream._summed(kind([0.25, row, 7])) == (3, 2.25 + counted)


def test_arrays_of_numbers_are_added_as_their_numbers_would_be():
    stream = Stream(bounds=(-1, 2), horizon=1, epsilon=1.0)
    kept = [True, True, False]
    for rows in (
        np.array([0.1, 1.7, np.inf], dtype=np.float16),
        np.array([0.1, -0.3, np.longdouble("1e4000")]),
        np.array(kept),
        np.array([1, 5, -7], dtype=np.int8),
        pd.Series([1, 2, pd.NA], dtype="Int64"),
    ):
        assert stream._summed(rows) == stream._summed(list(rows))
    assert stream._summed(np.array(["1", "2"])) == (2, 0.0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_process_in_the_middle_of_a_step_is_refused_at_once():
    stream = Stream(horizon=3, epsilon=1.0)
    with stream._lock, stream._mechanism._lock:
        child = os.fork()
        if not child:
            refused = 0
            for ask in (lambda: stream.add([1]), lambda: stream._mechanism.draw(1.0)):
                try:
                    ask()
                except RuntimeError:
                    refused += 1
            os._exit(refused)
        deadline = time.monotonic() + 30.0
        ended = (0, 0)
        while not ended[0] and time.monotonic() < deadline:
            time.sleep(0.01)
            ended = os.waitpid(child, os.WNOHANG)
        if not ended[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert ended[0] == child
    assert os.waitstatus_to_exitcode(ended[1]) == 2


def test_what_is_no_number_is_not_drawn():
    standing = Stream(horizon=3, epsilon=1.0)._mechanism
    for value in (None, "1", 1j, np.ones(1)):
        with pytest.raises(ValueError, match="value: expected a number"):
            standing.draw(value)
    assert standing.left == 3


@pytest.mark.parametrize("places", [3, None, (), (0, 0), (9,), (1.5,)])
def test_steps_that_cannot_be_picked(places):
    with pytest.raises(ValueError, match="places"):
        Picked(4, places)


@pytest.mark.parametrize("coefficients", [[1j], "x", None, [], [[1.0]], [np.nan], [0.0], [1.0, [2.0]]])
def test_coefficients_that_are_none(coefficients):
    with pytest.raises(ValueError, match=r"coefficients|count"):
        Toeplitz(coefficients)
