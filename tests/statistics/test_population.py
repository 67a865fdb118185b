"""Intervals about the population, and approximate ones of quantiles: how often they hold, and what is refused."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics
from discreet.arguments import ArgumentError
from discreet.models.normal_tails import laplace_normal_tail
from discreet.noise import SeededBits
from discreet.statistics.quantile_spans import QuantileSpans
from effort import size
from goodness import least_successes, often

REPEATS = size(40, 120)
LEAST = least_successes(REPEATS, 0.93)  # intervals at 0.95 hold with this probability or more

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")


@pytest.mark.parametrize(
    ("draw", "bounds", "truth"),
    [
        (lambda rng: rng.normal(40.0, 10.0, 400), (0, 120), 40.0),
        (lambda rng: (rng.random(400) < 0.3).astype(float), (0, 1), 0.3),
    ],
)
@pytest.mark.parametrize("options", [{}, {"delta": 1e-6, "neighbors": "add-remove"}])
def test_means_hold_the_mean_of_the_population(draw, bounds, truth, options):
    rng = np.random.default_rng(1)

    def holds(seed):
        kwargs = {"epsilon": 1.0, "bounds": bounds, "population": True, "bits": SeededBits(seed), **options}
        low, high = statistics.mean(draw(rng), **kwargs).interval(of="population")
        return low <= truth <= high

    assert often(map(holds, range(REPEATS)), REPEATS, LEAST)


@pytest.mark.parametrize("column", [dp.Category(["no", "yes"]), dp.Category(["no", "yes"], missing="fill", fill="no")])
def test_proportions_hold_those_of_the_population_and_of_the_rows(column):
    rng, schema = np.random.default_rng(7), dp.Schema({"ill": column})

    def hold(seed):
        ill = rng.random(400) < 0.15
        rows = pd.DataFrame({"ill": np.where(ill, "yes", "no")})
        result = statistics.proportion(rows, "ill", of="yes", epsilon=0.5, schema=schema, bits=SeededBits(seed))
        inner, outer = result.interval(), result.interval(of="population")
        assert inner[1] - inner[0] < outer[1] - outer[0]
        return [inner[0] <= ill.mean() <= inner[1], outer[0] <= 0.15 <= outer[1]]

    assert often(map(hold, range(REPEATS)), REPEATS, LEAST)


@pytest.mark.parametrize("step", [None, 1.0])
def test_quantiles_hold_those_of_the_population_and_of_the_rows(step):
    rng = np.random.default_rng(2)

    def hold(seed):
        rows = rng.normal(40.0, 10.0, 1000)
        rows = np.round(rows) if step else rows
        result = statistics.median(rows, epsilon=1.0, bounds=(0, 120), step=step, bits=SeededBits(seed))
        inner, outer = result.interval(), result.interval(of="population")
        return [inner[0] <= np.median(rows) <= inner[1], outer[0] <= 40.0 <= outer[1]]

    assert often(map(hold, range(REPEATS)), REPEATS, LEAST)


def test_approximate_intervals_of_quantiles_are_narrower_than_worst_case_ones():
    rows, widths = np.random.default_rng(3).normal(40.0, 10.0, 5000), []
    for kind in ("approximate", "worst-case"):
        several = [
            statistics.median(rows, epsilon=1.0, bounds=(0, 120), interval_kind=kind, bits=SeededBits(seed)).interval()
            for seed in range(20)
        ]
        widths.append(np.median([high - low for low, high in several]))
    assert 5.0 * widths[0] < widths[1]


def test_quantiles_of_too_few_rows_have_the_bounds_as_interval():
    rows = np.random.default_rng(4).pareto(1.5, 60) + 1.0
    assert statistics.median(rows, epsilon=0.1, bounds=(1, 10_000)).interval() == (1.0, 10_000.0)


def test_a_lower_level_is_narrower_and_a_higher_one_is_refused():
    rows, bits = np.linspace(0.0, 100.0, 5000), SeededBits(0)
    result = statistics.quantiles(rows, [0.25, 0.75], epsilon=1.0, bounds=(0, 100), bits=bits)
    narrow, wide = result.interval(0.5), result.interval(0.95)
    assert (narrow[1] - narrow[0] < wide[1] - wide[0]).all()
    with pytest.raises(ValueError, match=r"expected at most 0\.95"):
        result.interval(0.99)


def test_variances_hold_that_of_the_population():
    rng = np.random.default_rng(5)

    def holds(seed):
        kwargs = {"epsilon": 2.0, "bounds": (0, 120), "population": True, "bits": SeededBits(seed)}
        low, high = statistics.variance(rng.normal(60.0, 15.0, 1000), **kwargs).interval(of="population")
        return low <= 225.0 <= high

    assert often(map(holds, range(REPEATS)), REPEATS, LEAST)


def test_shares_of_groups_sum_to_one_within_their_intervals():
    counts = statistics.histogram(np.linspace(0, 1, 1000), bins=4, epsilon=1.0, bounds=(0, 1))
    low, high = counts.share_interval(of="population")
    assert low.sum() < 1.0 < high.sum()
    inner = counts.share_interval()
    assert (low <= inner[0]).all()
    assert (inner[1] <= high).all()
    for end, share in zip(counts.interval(of="population"), (low, high), strict=True):
        np.testing.assert_allclose(end, 1000.0 * share)


def test_rows_of_one_person_widen_the_interval():
    people = pd.DataFrame({"id": np.repeat(np.arange(2000), 4), "x": np.repeat(np.linspace(0.0, 1.0, 2000), 4)})
    widths = []
    for unit in ({}, {"unit": "id", "max_rows": 4}):
        schema = dp.Schema({"x": dp.Number(0, 1)}, **unit)
        result = statistics.mean(people, "x", epsilon=50.0, schema=schema, population=True)
        low, high = result.interval(of="population")
        widths.append(high - low)
    assert widths[1] > 1.9 * widths[0]


def test_what_the_releases_do_not_allow_is_refused():
    rows = np.linspace(0.0, 1.0, 100)
    asked = {"epsilon": 1.0, "bounds": (0, 1)}
    answers = [
        statistics.mean(rows, **asked),
        statistics.variance(rows, **asked),
        statistics.sum(rows, **asked),
        statistics.trimmed_mean(rows, **asked),
        statistics.count(rows, neighbors="add-remove", **asked),
        statistics.median(rows, interval_kind="worst-case", **asked),
    ]
    for answer in answers:
        answer.interval()
        with pytest.raises(ArgumentError, match="of='population': expected of='rows'"):
            answer.interval(of="population")
        with pytest.raises(ArgumentError, match="of='sample': expected"):
            answer.interval(of="sample")


def test_the_tail_of_laplace_and_normal_is_that_of_draws():
    rng, many = np.random.default_rng(6), size(100_000, 400_000)
    for scales, normal in (([1.0], 1.0), ([1.0, 1.0], 0.5), ([2.0, 0.5, 0.1], 0.0), ([], 1.0), ([1.0] * 8, 1.0)):
        draws = normal * rng.standard_normal(many) + sum(one * rng.laplace(size=many) for one in scales)
        for beyond in (0.5, 2.0, 5.0):
            share = float((np.abs(draws) > beyond).mean())
            assert abs(float(laplace_normal_tail(scales, normal, beyond)) - share) < 0.012


def _related(rng, rows):
    z = rng.normal(size=(rows, 2))
    return np.stack([np.exp(3.0 + 0.5 * z[:, 0]), 40.0 + 6.0 * z[:, 0] + 8.0 * z[:, 1]], axis=1).clip(0.0, 100.0)


@cache
def _related_truths():
    many = _related(np.random.default_rng(11), size(400_000, 2_000_000))
    return np.cov(many.T, bias=True), np.corrcoef(many.T)


@pytest.mark.parametrize(
    ("delta", "neighbors"),
    size([(0.0, "add-remove"), (1e-6, "replace-one")], list(product([0.0, 1e-6], ["replace-one", "add-remove"]))),
)
def test_intervals_of_covariances_and_correlations_hold_those_of_the_population(delta, neighbors):
    truths, runs, rng = _related_truths(), size(20, 50), np.random.default_rng(12)

    def hold(seed):
        rows = _related(rng, 3000)
        how = {"epsilon": 4.0, "delta": delta, "bounds": (0, 100), "neighbors": neighbors}
        for ask, truth in zip((statistics.covariance, statistics.correlation), truths, strict=True):
            low, high = ask(rows, population=True, bits=SeededBits(seed), **how).interval(0.95, of="population")
            yield (low <= truth + 1e-12) & (truth <= high + 1e-12)

    assert often((list(hold(seed)) for seed in range(runs)), runs, least_successes(runs, 0.93))


def test_covariances_of_groups_about_the_population_are_those_of_their_rows():
    rng = np.random.default_rng(12)
    x, ward = _related(rng, 4000), rng.integers(0, 2, 4000)
    x[ward == 1, 1] = 100.0 - x[ward == 1, 1]
    rows = pd.DataFrame({"stay": x[:, 0], "age": x[:, 1], "ward": ward})
    how = {"by": "ward", "epsilon": 1e7, "bounds": {"stay": (0, 100), "age": (0, 100)}, "classes": {"ward": [0, 1]}}
    how["bits"] = SeededBits(1)
    result = statistics.covariance(rows, ["stay", "age"], population=True, **how)
    related = statistics.correlation(rows, ["stay", "age"], population=True, **how)
    assert len(result.releases) == 2
    for group in (0, 1):
        exact = x[ward == group].T
        assert np.allclose(result.value[group], np.cov(exact, bias=True), rtol=1e-3, atol=1e-2)
        assert np.allclose(related.value[group], np.corrcoef(exact), atol=1e-3)
        low, high = (end[group] for end in related.interval(0.95, of="population"))
        half = 1.96 * (1.0 - related.value[group][0, 1] ** 2) / np.sqrt((ward == group).sum())
        assert 0.7 * half < (high - low)[0, 1] / 2.0 < 1.5 * half  # that of a normal pair, and these are not far off
    inner, outer = related.interval(0.95), related.interval(0.95, of="population")
    assert ((outer[0] <= inner[0]) & (inner[1] <= outer[1])).all()
    assert (related.table(0.95, "population")[1]["low"] < related.value[0, 0, 1]).all()


@pytest.mark.parametrize("population", [True, False])
def test_no_level_makes_a_correlation_of_variances_that_may_be_negative(population):
    # All rows at one place: each measured variance is below 0 half of the time.
    rows = np.full((50, 4), 0.3)
    for seed in range(4):
        with pytest.warns(dp.noise.NotPrivateWarning):
            found = statistics.correlation(
                rows, epsilon=1.0, bounds=(-1, 1), population=population, bits=SeededBits(seed)
            )
        low, high = found.interval(1e-17, of="population" if population else "rows")
        assert np.all(found.drowned(1e-17) == ~np.eye(4, dtype=bool))
        assert np.all(low[~np.eye(4, dtype=bool)] == -1.0)
        assert np.all(high[~np.eye(4, dtype=bool)] == 1.0)


def test_a_standard_deviation_has_the_roots_of_the_interval_of_its_variance():
    rows = np.random.default_rng(13).normal(40.0, 10.0, 2000)
    result = statistics.std(rows, epsilon=1.0, bounds=(0, 100), population=True, bits=SeededBits(0))
    low, high = result.variance.interval(0.9, of="population")
    assert result.interval(0.9, of="population") == pytest.approx((np.sqrt(low), np.sqrt(high)))


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda x: statistics.covariance(x, epsilon=1.0, bounds=(0, 1)).interval(of="population"),
            "covariance.*population=True",
        ),
        (lambda x: statistics.correlation(x, epsilon=1.0, bounds=(0, 1)).interval(of="population"), "population=True"),
        (lambda x: statistics.std(x, epsilon=1.0, bounds=(0, 1)).interval(of="population"), "population=True"),
        (lambda x: statistics.covariance(x, epsilon=1.0, bounds=(0, 1), population=1), "population=1"),
        (
            lambda x: statistics.covariance(x, epsilon=1.0, bounds=(0, 1), population=True, method="direct"),
            "'one-shot'",
        ),
        (lambda x: statistics.correlation(x[:, :1], [0], epsilon=1.0, bounds=(0, 1)), "two columns or more"),
    ],
)
def test_what_says_nothing_of_the_population_is_refused(ask, says):
    with pytest.raises(ArgumentError, match=says):
        ask(np.random.default_rng(0).random((50, 2)))


def test_where_draws_coincide_on_a_step_only_the_interval_of_rows_stays_there():
    one = np.full((1, 1), 5.0)
    spans = QuantileSpans(
        values=one,
        below=one,
        above=one,
        levels=(0.5,),
        scales=[[(1.0,)]],
        end_scales=np.array([3.0]),
        reaches=np.array([20.0]),
        rows=np.full((1, 1), 8000.0),
        clusters=1,
        grid=(0.0, 30.0, 1.0),
        candidates=31,
    )
    assert [end.item() for end in spans.interval(0.95, population=False)] == [5.0, 5.0]
    low, high = (end.item() for end in spans.interval(0.95, population=True))
    assert low <= 4.0  # beyond the draws nothing is known of the rows
    assert high >= 6.0
