"""Posteriors of quantiles and of shares: the density of a draw against the mechanism's own, the prior, calibration."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import beta, chi2, norm

import discreet as dp
from discreet import statistics
from discreet.inference.quantiles.normal_walk import approximate, walk
from discreet.inference.quantiles.quantile_posterior import ColumnValues
from discreet.inference.quantiles.rank_likelihood import RankDraw, RankLikelihood
from discreet.inference.quantiles.share_tree import ShareTree
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.queries.ranks.column_steps import Scale
from discreet.queries.ranks.quantile_queries import RankDistribution, RankTarget
from effort import size

NEVER = 1e-9
COUNTS = np.array([0.0, 7.0, 2.0, 0.0, 0.0, 5.0, 11.0, 1.0, 0.0, 4.0])
PLACES = np.arange(10)


def quiet(ask, *given, seed, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return ask(*given, **more, bits=SeededBits(seed))


def expected(target, eta, counts=COUNTS):
    """Return the log-probability of each candidate by the mechanism itself."""
    runs = RankDistribution(np.repeat(np.arange(len(counts)), counts.astype(int)), None, target, eta).runs()
    weights = np.repeat(runs.weights, runs.counts)
    return weights - logsumexp(weights)


def ours(value, target, eta, *, atoms=True, flips=False, counts=COUNTS, edges=None):
    edges = np.arange(len(counts) + 1.0) if edges is None else edges
    draw = RankDraw(value, target.q, edges[0], edges[-1], target.below, target.above, eta, atoms, flips, 1.0)
    return float(RankLikelihood(edges, [draw], 1.0).log_likelihood(counts[None])[0])


@pytest.mark.parametrize("made_up", [{}, {"below": 4.5}, {"above": 9.0}, {"below": 40.0}], ids=str)
@pytest.mark.parametrize("q", [0.5, 0.1, 0.95])
def test_a_draw_of_steps_has_the_probability_of_the_mechanism(q, made_up):
    target = RankTarget(q, 0, 0, 9, **made_up)
    found = [ours(place + 0.5, target, 0.3) for place in PLACES]
    np.testing.assert_allclose(found, expected(target, 0.3), atol=1e-9)


@pytest.mark.parametrize("made_up", [{}, {"below": 30.0}, {"above": 30.0}], ids=str)
def test_a_draw_among_evenly_spread_rows_has_the_density_of_the_mechanism(made_up):
    fine, target, eta = 2000, RankTarget(0.4, 0, 0, 19_999, **made_up), 0.02
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 300, 10).astype(float)
    spread = [place * fine + (np.arange(n) + 0.5) / n * fine for place, n in zip(PLACES, counts, strict=True)]
    runs = RankDistribution(np.concatenate(spread).astype(int), None, target, eta).runs()
    weights = np.repeat(runs.weights, runs.counts)
    exact = weights - logsumexp(weights)
    for value in (3 * fine, 4 * fine + 17, 5 * fine + 900):
        found = ours((value + 0.5) / fine, target, eta, atoms=False, counts=counts)
        assert abs(found - math.log(fine) - exact[value]) < 4.0 * eta


def test_permute_and_flip_is_what_it_draws():
    target, eta, counts = RankTarget(0.5, 0, 0, 4), 0.4, np.array([1.0, 3.0, 0.0, 4.0, 2.0])
    heights = expected(RankTarget(0.5, 0, 0, 4), eta, counts)
    found = np.exp([ours(place + 0.5, target, eta, flips=True, counts=counts) for place in range(5)])
    assert abs(found.sum() - 1.0) < 5e-3
    rng, number = np.random.default_rng(0), 200_000
    noisy = heights + rng.exponential(size=(number, 5))  # the same distribution (Ding et al. 2021)
    seen = np.bincount(noisy.argmax(axis=1), minlength=5) / number
    np.testing.assert_array_less(abs(seen - found), 7.0 * np.sqrt(found / number) + 3e-3)


def test_cells_of_several_steps_are_nearly_those_of_one():
    target, counts = RankTarget(0.5, 0, 0, 9), np.full(10, 6.0)
    whole = ours(6.5, target, 0.01, counts=np.array([24.0, 12.0, 24.0]), edges=np.array([0.0, 4.0, 6.0, 10.0]))
    assert abs(whole - ours(6.5, target, 0.01, counts=counts)) < 0.15


def tree(whole=False):
    width = 12.0 if whole else 1.0
    draws = np.array([0.31, 0.33]) * width
    return ShareTree.around(width, whole, draws, np.full(2, 5.0), lambda at: 1000.0 * at / width)


def test_where_nothing_was_seen_the_population_is_drawn_from_the_prior():
    one, number = tree(), 4000
    shares = one.draw_population(np.zeros((number, len(one.edges) - 1)), np.zeros(number), np.random.default_rng(0))
    left = shares @ one.lefts / (shares @ (one.lefts + one.rights))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    spread = 0.5 / np.sqrt(one.strengths + 1.0)
    np.testing.assert_array_less(abs(left.mean(axis=0) - 0.5), 7.0 * spread / math.sqrt(number))
    np.testing.assert_array_less(abs(np.log(left.std(axis=0) / spread)), 7.0 / math.sqrt(number))


def test_rows_given_as_they_are_leave_a_population_its_sampling():
    one, number, n = tree(whole=True), 4000, 400.0
    shares = np.diff(one.edges) / one.edges[-1]
    drawn = one.draw_population(np.log(np.tile(shares, (number, 1))), np.full(number, n), np.random.default_rng(0))
    below = drawn[:, : len(shares) // 2].sum(axis=1)
    expected = shares[: len(shares) // 2].sum()
    assert abs(below.std() / math.sqrt(expected * (1.0 - expected) / n) - 1.0) < 0.1
    fine = replace(one, edges=np.arange(13.0), lefts=np.zeros((12, 1)), rights=np.zeros((12, 1)))
    levels = fine.quantiles(np.full((1, 12), 1.0 / 12), np.array([0.2, 0.51]), True, np.random.default_rng(0))
    np.testing.assert_array_equal(levels, [[2.0, 6.0]])
    assert np.all(np.diff(one.quantiles(drawn, np.array([0.4, 0.41, 0.8]), True, np.random.default_rng(0))) >= 0.0)


@pytest.mark.parametrize("whole", [False, True])
def test_coordinates_have_the_density_of_the_shares(whole):
    one, units, rng = tree(whole), np.array([60.0]), np.random.default_rng(0)

    def odds(points):
        shares = np.exp(one.unfold(points, np.full(len(points), 60.0))[0])
        return np.log(shares @ one.lefts) - np.log(shares @ one.rights)

    off = []
    for point in rng.normal(0.0, 1.0, (4, one.size)):
        step = 1e-5 * np.eye(one.size)
        jacobian = (odds(point + step) - odds(point - step)) / 2e-5
        log_shares, density = one.unfold(point[None], units)
        count = (np.exp(log_shares) @ (one.lefts + one.rights) * 60.0)[0]
        wide = np.maximum(count * (one.strengths + 1.0) / (one.strengths + count) - 1.0, 0.2)
        share = 1.0 / (1.0 + np.exp(-odds(point[None])[0]))
        by_hand = beta.logpdf(share, wide * one.shares, wide * (1.0 - one.shares)) + np.log(share * (1.0 - share))
        assert density[0] == pytest.approx(by_hand.sum() + np.linalg.slogdet(jacobian)[1], abs=1e-4)
        off.append(density[0] - norm.logpdf(point).sum())
    assert max(abs(np.array(off))) < 0.25 * one.size  # they are nearly normal


def test_chains_around_a_normal_have_their_target():
    """The residual x + y²/4 − 1 has an error of e^(−3|r|): bent and pointed. Against a sum over a grid."""

    def log_density(points):
        return -0.5 * np.square(points).sum(axis=1) - 3.0 * np.abs(points[:, 0] + points[:, 1] ** 2 / 4.0 - 1.0)

    near = approximate(lambda at: 2.0 * (at[:, :1] + at[:, 1:] ** 2 / 4.0 - 1.0), 2)
    draws = walk(log_density, *near, 400, 60, 60, 4, np.random.default_rng(0))
    line = np.linspace(-6.0, 6.0, 401)
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(log_density(grid))
    mass /= mass.sum()
    for function in (lambda at: at[..., 0], lambda at: abs(at[..., 1]), lambda at: (at[..., 1] > 1.5) * 1.0):
        each = function(draws).mean(axis=1)  # of independent chains
        assert abs(each.mean() - mass @ function(grid)) < 7.0 * each.std(ddof=1) / math.sqrt(len(each))


def test_values_follow_steps_that_were_declared_or_found():
    declared = ColumnValues.of(Scale(0.0, 110.0, 1.0), None)
    assert (declared.width, declared.place(37.5)) == (111.0, 37.5)
    found = ColumnValues.of(Scale(-0.5, 110.2), 1.0)
    assert (found.start, found.width) == (0.0, 111.0)
    assert abs(found.place(2.0**40 * 37.75 / 110.7) - 37.25) < 1e-9
    assert found.to_values(np.array([37.0])).tolist() == [37.0]


ROWS = 300


def draw_population(rng):
    """Return 2^12 shares of the prior."""
    shares = np.ones(1)
    for depth in range(12):
        half = max(1.0, depth - 2.0) ** 2 / 2.0
        left = rng.beta(half, half, len(shares))
        shares = np.stack([shares * left, shares * (1.0 - left)], axis=1).ravel()
    return shares


def test_quantiles_are_calibrated_and_the_noise_matters():
    scores, naive = [], []
    for i in range(size(8, 200)):
        rng = np.random.default_rng(i)
        shares = draw_population(rng)
        edges = np.linspace(0.0, 1.0, len(shares) + 1)
        truth = np.interp(0.5, np.append(0.0, np.cumsum(shares)), edges)
        rows = (rng.choice(len(shares), ROWS, p=shares) + rng.uniform(size=ROWS)) / len(shares)
        answer = quiet(statistics.median, rows, epsilon=0.2, bounds=(0, 1), seed=i)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few draws
            draws = dp.infer(answer, chains=2, draws=100, seed=i).draws("quantiles")[:, 0]
        scores.append(norm.ppf((np.sum(draws < truth) + rng.uniform()) / (len(draws) + 1)))
        below = np.clip(np.sum(rows < truth) - np.sum(rows < answer.value) + ROWS / 2.0, 0.0, ROWS)
        naive.append(norm.ppf(np.clip(beta.cdf(0.5, below + 0.5, ROWS - below + 0.5), 1e-12, 1.0 - 1e-12)))
    low, high = chi2.ppf([NEVER / 2.0, 1.0 - NEVER / 2.0], len(scores))
    assert low < np.sum(np.square(scores)) < high
    assert np.sum(np.square(naive)) > high  # the released value as if it were that of the rows


def test_groups_dates_ranges_and_unknown_numbers_of_rows():
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, 3000), unit="D")
    frame = pd.DataFrame(
        {"day": days, "age": rng.normal(50.0, 10.0, 3000), "sex": np.where(rng.random(3000) < 0.3, "f", "m")}
    )
    schema = dp.Schema(
        {"day": dp.Date("2023-01-01", "2023-12-31"), "age": dp.Number(0, 110), "sex": dp.Category(["f", "m"])}
    )
    curator = dp.Curator(frame, schema=schema)
    given = {"epsilon": 2.0}
    dates = dp.infer(quiet(statistics.median, curator, "day", **given, seed=0), draws=100, seed=0)
    assert abs(dates.mean("quantiles")[0] - 19358 - 182) < 30
    groups = quiet(statistics.quantiles, curator, [0.9, 0.5], "age", by="sex", **given, seed=0)
    posterior = dp.infer(groups, draws=100, seed=0)
    assert posterior.draws("quantiles").shape == (400, 2, 2)
    assert np.all(posterior.draws("quantiles")[:, :, 0] >= posterior.draws("quantiles")[:, :, 1])
    assert np.all(abs(posterior.mean("quantiles") - [62.8, 50.0]) < 5.0)
    assert posterior.guarantee == groups.guarantee
    assert posterior.plot("quantiles") is not None
    apart = quiet(statistics.interquartile_range, frame["age"].to_numpy(), bounds=(0, 110), **given, seed=0)
    spread = dp.infer(apart, draws=100, seed=0)
    np.testing.assert_allclose(spread.draws("range"), np.diff(spread.draws("quantiles"), axis=1)[:, 0])
    bare = quiet(statistics.median, curator, "age", interval=None, **given, seed=0)
    with pytest.raises(ValueError, match=r"rows=…, or interval=0\.95"):
        dp.infer(bare)
    assert dp.infer(bare, rows=3000, draws=100, seed=0).names == ("quantiles",)


def test_quantiles_that_have_no_posterior_are_refused_with_what_to_write():
    X = np.abs(np.random.default_rng(0).normal(size=(300, 2)))
    weighed = quiet(statistics.median, X, 0, weights=1, epsilon=1.0, bounds=dp.Box([0.0, 0.0], [8.0, 8.0]), seed=0)
    with pytest.raises(ValueError, match="without weights"):
        dp.infer(weighed)
    ends = quiet(statistics.quantiles, X[:, 0], [0.0, 0.5], epsilon=1.0, bounds=(0, 8), seed=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        dp.infer(ends)
    with pytest.raises(ValueError, match=r"write quantiles\(…\)"):
        dp.infer(quiet(statistics.max, X[:, 0], epsilon=1.0, bounds=(0, 8), seed=0))


# ---- shares ----


@pytest.mark.parametrize("private", [False, True], ids=["known rows", "counted rows"])
def test_shares_are_calibrated_and_the_noise_matters(private):
    places, naive = [], []
    for i in range(300):
        rng = np.random.default_rng(i)
        n, truth = 60, rng.uniform()
        values = (rng.uniform(size=n) < truth).astype(float)
        given = {"neighbors": "add-remove"} if private else {}
        answer = quiet(statistics.proportion, values, "x0 > 0.5", epsilon=0.3, bounds=(0, 1), seed=i, **given)
        posterior = dp.infer(answer, chains=1, draws=200, seed=i)
        places.append((np.sum(posterior.draws("share") < truth) + rng.uniform()) / 201.0)
        met = answer.value * n
        naive.append(beta.cdf(truth, met + 1.0, n - met + 1.0))
    limit = chi2.ppf(1.0 - NEVER, 9)
    found, wrong = (
        ((np.histogram(one, np.linspace(0.0, 1.0, 11))[0] - 30.0) ** 2 / 30.0).sum() for one in (places, naive)
    )
    assert found < limit < wrong
    assert "independent of one another" in repr(posterior)


def test_a_share_has_groups_and_no_weights():
    frame = pd.DataFrame({"age": np.arange(100.0), "sex": ["f", "m"] * 50})
    curator = dp.Curator(frame, schema=dp.Schema({"age": dp.Number(0, 110), "sex": dp.Category(["f", "m"])}))
    answer = quiet(statistics.proportion, curator, "age >= 30", by="sex", epsilon=5.0, seed=0)
    posterior = dp.infer(answer, seed=0)
    assert posterior.draws("share").shape == (4000, 2)
    assert np.all(abs(posterior.mean("share") - 0.7) < 0.1)
    with pytest.raises(ValueError, match="count the rows"):
        dp.infer(answer, rows=100)
    weighed = quiet(statistics.proportion, curator, "sex == 'f'", weights="age", epsilon=5.0, seed=0)
    with pytest.raises(ValueError, match="without weights"):
        dp.infer(weighed)
