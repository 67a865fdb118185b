"""Intervals about the population, and approximate ones of quantiles: how often they hold, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import statistics
from discreet.arguments import ArgumentError
from discreet.models.normal_tails import laplace_normal_tail
from discreet.noise import SeededBits

REPEATS = 120
LEAST = 88  # of 120: a false alarm below 1e-9 where intervals hold with probability 0.93 or more

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
    rng, held = np.random.default_rng(1), 0
    for seed in range(REPEATS):
        kwargs = {"epsilon": 1.0, "bounds": bounds, "population": True, "bits": SeededBits(seed), **options}
        low, high = statistics.mean(draw(rng), **kwargs).interval(of="population")
        held += low <= truth <= high
    assert held >= LEAST


@pytest.mark.parametrize("step", [None, 1.0])
def test_quantiles_hold_those_of_the_population_and_of_the_rows(step):
    rng, held = np.random.default_rng(2), np.zeros(2)
    for seed in range(REPEATS):
        rows = rng.normal(40.0, 10.0, 1000)
        rows = np.round(rows) if step else rows
        result = statistics.median(rows, epsilon=1.0, bounds=(0, 120), step=step, bits=SeededBits(seed))
        inner, outer = result.interval(), result.interval(of="population")
        held += [inner[0] <= np.median(rows) <= inner[1], outer[0] <= 40.0 <= outer[1]]
    assert held.min() >= LEAST


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
    result = statistics.quantiles(np.linspace(0.0, 100.0, 5000), [0.25, 0.75], epsilon=1.0, bounds=(0, 100))
    narrow, wide = result.interval(0.5), result.interval(0.95)
    assert (narrow[1] - narrow[0] < wide[1] - wide[0]).all()
    with pytest.raises(ValueError, match=r"expected at most 0\.95"):
        result.interval(0.99)


def test_variances_hold_that_of_the_population():
    rng, held = np.random.default_rng(5), 0
    for seed in range(REPEATS):
        kwargs = {"epsilon": 2.0, "bounds": (0, 120), "population": True, "bits": SeededBits(seed)}
        low, high = statistics.variance(rng.normal(60.0, 15.0, 1000), **kwargs).interval(of="population")
        held += low <= 225.0 <= high
    assert held >= LEAST


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
    rng = np.random.default_rng(6)
    for scales, normal in (([1.0], 1.0), ([1.0, 1.0], 0.5), ([2.0, 0.5, 0.1], 0.0), ([], 1.0), ([1.0] * 8, 1.0)):
        draws = normal * rng.standard_normal(400_000) + sum(one * rng.laplace(size=400_000) for one in scales)
        for beyond in (0.5, 2.0, 5.0):
            share = float((np.abs(draws) > beyond).mean())
            assert abs(float(laplace_normal_tail(scales, normal, beyond)) - share) < 0.012
