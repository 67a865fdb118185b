"""Likelihoods of factored draws against enumeration and simulation, and the posteriors that follow."""

from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import binom

import discreet
from conftest import FALSE_ALARM
from discreet.door import open_rows
from discreet.inference.factored import direction_posterior
from discreet.inference.factored.direction_posterior import (
    AxisPosterior,
    axis_posterior,
    direction_mechanism,
    sampled_axis_posterior,
)
from discreet.inference.factored.factored_bounds import (
    log_exact_likelihood,
    log_lower_bound,
    log_normal_likelihood,
    log_upper_bound,
    standard_normals,
)
from discreet.inference.factored.factored_posterior import (
    GridPosterior,
    factored_likelihood,
    grid_posterior,
)
from discreet.inference.factored.factored_tilt import (
    ObservedDraws,
    log_upper_bound_at,
    optimize_q,
    tilt_exponents,
    tilt_weights,
)
from discreet.mechanisms import FactoredExponential
from effort import LONG, size
from gridded_chains import gridded_posterior

CANDIDATES = np.arange(1, 10) / 10
SCORES = np.log(np.stack([1 - CANDIDATES, CANDIDATES]))
THETA = np.linspace(0.02, 0.98, 25)
COIN = np.stack([1 - THETA, THETA], axis=1)
HEADS = np.array([[0.0], [1.0]])


def log_likelihood(rows, chances):
    return np.log(np.where(rows == 1, chances, 1 - np.asarray(chances)))


def log_coin(theta):
    return jnp.log(jnp.stack([1 - theta, theta], axis=-1))


MECHANISM = FactoredExponential(log_likelihood, CANDIDATES, math.log(0.1), math.log(0.9))


class TestBounds:
    @pytest.mark.parametrize("rows", [1, 10, 100, 1000])
    @pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 2.0])
    def test_they_hold_the_exact_likelihood_between_them(self, rows, rate):
        for index in range(0, 9, size(4, 1)):
            draw = [ObservedDraws(SCORES, rate, (index,))]
            exact = log_exact_likelihood(draw, COIN, rows)
            error = 1e-13 * rows
            assert (log_lower_bound(draw, COIN, rows) <= exact + error).all()
            assert (log_upper_bound(draw, COIN, rows, steps=6) >= exact - error).all()
            assert (log_upper_bound(draw, COIN, rows, steps=0) >= exact - error).all()

    def test_the_best_q_is_best(self):
        """By duality: the upper bound at q, and the value of the dual problem at the r that goes with it, meet."""
        for rows, rate in itertools.product((10, 1000, 10**5), (0.01, 0.3, 2.0)):
            draws = [ObservedDraws(SCORES, rate, (6, 8)), ObservedDraws(SCORES[:, ::4], 2 * rate, (0,))]
            log_q = optimize_q(draws, COIN, rows, 30)
            r = tilt_weights(COIN, tilt_exponents(draws, log_q))
            dual = -rows * (r * np.log(r / COIN)).sum(axis=1)
            for one in draws:
                logs = rows * one.rate * (r @ one.scores)
                dual += (logs[:, list(one.indices)] - logsumexp(logs, axis=1)[:, None]).sum(axis=1)
            np.testing.assert_allclose(log_upper_bound_at(draws, COIN, rows, log_q), dual, rtol=1e-6, atol=1e-6)
            assert (dual <= 0.0).all()

    def test_the_printed_q_lacks_the_rate(self):
        draw = [ObservedDraws(SCORES, 0.01, (6,))]
        exact = np.exp(log_exact_likelihood(draw, COIN, 100))
        errors = []
        for exponent in (1.0, 0.01):
            logits = 100 * exponent * (COIN @ SCORES)
            q = logits - logsumexp(logits, axis=1)[:, None]
            errors.append(np.abs(np.exp(log_upper_bound_at(draw, COIN, 100, [q])) - exact).max())
        assert errors[0] > 0.5
        assert errors[1] < 1e-3

    @pytest.mark.parametrize("rows", [1, 4])
    def test_the_exact_one_is_the_mean_over_all_data_sets(self, rows):
        rng = np.random.default_rng(rows)
        draws = [
            ObservedDraws(rng.normal(size=(3, 4)), 0.7, (2, 2, 0)),
            ObservedDraws(rng.normal(size=(3, 2)), 1.5, (1,)),
        ]
        weights = rng.dirichlet(np.ones(3), 5)
        total = np.zeros(5)
        for data in itertools.product(range(3), repeat=rows):
            chance = 1.0
            for one in draws:
                noise = softmax(one.rate * one.scores[list(data)].sum(axis=0))
                chance *= noise[list(one.indices)].prod()
            total += weights[:, list(data)].prod(axis=1) * chance
        exact = log_exact_likelihood(draws, weights, rows)
        np.testing.assert_allclose(exact, np.log(total), rtol=1e-12)
        assert (log_lower_bound(draws, weights, rows) <= exact).all()
        assert (log_upper_bound(draws, weights, rows) >= exact).all()

    def test_joint_bounds_and_the_normal_likelihood_over_three_points(self):
        rng = np.random.default_rng(3)
        draws = [
            ObservedDraws(rng.normal(size=(3, 4)), 0.2, (2, 0, 2)),
            ObservedDraws(rng.normal(size=(3, 6)), 0.3, (5,)),
        ]
        weights = rng.dirichlet(np.ones(3), 8)
        exact = log_exact_likelihood(draws, weights, 40)
        assert (log_lower_bound(draws, weights, 40) <= exact).all()
        assert (log_upper_bound(draws, weights, 40) >= exact).all()
        np.testing.assert_allclose(log_normal_likelihood(draws, weights, 40, standard_normals(3)), exact, atol=0.1)

    @pytest.mark.parametrize("rows", [10, 100, 1000])
    @pytest.mark.parametrize("rate", [0.05, 0.5, 2.0])
    def test_the_normal_likelihood_is_close(self, rows, rate):
        """The normals are fixed: nothing is left to chance."""
        for indices in ((6,), (1,), (5, 6, 6, 7, 6, 8, 6, 7, 6, 6)[: int(5 / rate)]):
            draws = [ObservedDraws(SCORES, rate, indices)]
            exact = log_exact_likelihood(draws, COIN, rows)
            result = log_normal_likelihood(draws, COIN, rows, standard_normals(2))
            likely = exact > exact.max() - 8
            assert np.abs(result - exact)[likely].max() < 0.1

    def test_ten_million_rows_and_ten_thousand_candidates(self):
        z = np.linspace(0.1, 0.9, 10_000)
        wide = [ObservedDraws(np.log(np.stack([1 - z, z])), 1e-3, (7500,))]
        weights = np.array([[0.3, 0.7], [0.35, 0.65], [0.9, 0.1]])
        lower, upper = log_lower_bound(wide, weights, 10**7), log_upper_bound(wide, weights, 10**7)
        normal = log_normal_likelihood(wide, weights, 10**7, standard_normals(2, 64))
        assert np.isfinite([lower, upper, normal]).all()
        assert (lower <= normal + 0.05).all()
        assert (normal <= upper + 0.05).all()

    def test_digits_at_ten_million_rows(self):
        draw, rows = [ObservedDraws(SCORES, 1e-3, (6,))], 10**7
        with mpmath.workdps(50):
            powers = [
                sum(mpmath.mpf(p) * mpmath.exp(mpmath.mpf(1e-3) * (mpmath.mpf(s[z]) - mpmath.mpf(s[6]))) for p, s in
                    zip((0.25, 0.75), SCORES, strict=True)) ** rows for z in range(9)
            ]  # fmt: skip
            true = float(-mpmath.log(sum(powers)))
        assert float(log_lower_bound(draw, np.array([0.25, 0.75]), rows)) == pytest.approx(true, abs=1e-6)


def test_joint_intervals_cover_and_products_do_not():
    """Twenty draws from each of 1,000 data sets, θ uniform: 90 % intervals of the joint posterior hold θ in 90 %.

    The band has a false-alarm rate of 1e-9; the seed is fixed. Measurements of one data set are independent given the
    data, not given θ: multiplying their likelihoods (equation 4 of the paper) counts the same luck twenty times.
    """
    rng, sets, rows, rate = np.random.default_rng(7), 1000, 100, 0.5
    theta, grid = rng.uniform(size=1000), np.linspace(0.0025, 0.9975, 200)
    weights = np.stack([1 - grid, grid], axis=1)
    single = np.stack([log_exact_likelihood([ObservedDraws(SCORES, rate, (z,))], weights, rows) for z in range(9)])
    held = {"joint": 0, "product": 0}
    for truth in theta:
        heads = rng.binomial(rows, truth)
        noise = softmax(rate * (np.array([rows - heads, heads]) @ SCORES))
        draws = tuple(rng.choice(9, 20, p=noise))
        for name, logs in (
            ("joint", log_exact_likelihood([ObservedDraws(SCORES, rate, draws)], weights, rows)),
            ("product", single[list(draws)].sum(axis=0)),
        ):
            low, high = GridPosterior(grid, softmax(logs)).interval(0.9)
            held[name] += low <= truth <= high
    band = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], sets, 0.9)
    assert band[0] <= held["joint"] <= band[1], held
    assert held["product"] < band[0], held


class TestPosteriors:
    @pytest.fixture
    def drawn(self, seeded):
        rows, bits = np.repeat([0.0, 1.0], [140, 60]), seeded(1)
        return [MECHANISM.draw(rows, bounds=(0, 1), epsilon=0.5, bits=bits) for _ in range(2)]

    @pytest.mark.parametrize("kind", ["normal", "upper"])
    def test_slopes_are_those_of_the_values(self, drawn, kind):
        """The tilt is held fixed under differentiation: at the best q its own slope is none."""
        f = factored_likelihood(drawn, HEADS, log_coin, likelihood=kind)
        with jax.enable_x64(True):
            values, slopes = jax.jit(jax.vmap(jax.value_and_grad(f)))(jnp.array([0.3, 0.6]))
        near = np.array([0.3 - 1e-4, 0.3, 0.3 + 1e-4, 0.6 - 1e-4, 0.6, 0.6 + 1e-4])
        low, at, high = f(near).reshape(2, 3).T
        np.testing.assert_allclose(values, at, rtol=1e-6)
        np.testing.assert_allclose(slopes, (high - low) / 2e-4, rtol=0.05, atol=0.05)

    def test_priors_and_draws(self, drawn):
        f = factored_likelihood(drawn[0], HEADS, log_coin, likelihood="upper")
        grid = np.linspace(0.005, 0.995, 199)
        pulled = grid_posterior(f, grid, lambda θ: -((θ - 0.9) ** 2) / 0.0002)
        assert abs(pulled.mean - 0.9) < 0.05
        assert set(pulled.sample(100)) <= set(grid)
        pairs = GridPosterior(np.stack([grid, 2 * grid], axis=1), pulled.weights)
        np.testing.assert_allclose(pairs.mean, [pulled.mean, 2 * pulled.mean])
        np.testing.assert_allclose(pairs.interval(0.5)[0], np.array([1, 2]) * pulled.interval(0.5)[0])

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"choices": []}, "choices: expected"),
            ({"choices": [3]}, "choices: expected"),
            ({"points": [0.0, 1.0]}, r"points of shape \(2,\): expected"),
            ({"likelihood": "exact"}, "likelihood='exact': expected"),
            ({"rows": 0}, "rows=0: expected"),
            ({"draws": 1}, "draws=1: expected"),
        ],
    )
    def test_arguments_that_are_none(self, drawn, given, says):
        with pytest.raises(ValueError, match=says):
            factored_likelihood(**{"choices": drawn, "points": HEADS, "log_weights": log_coin} | given)

    def test_more_that_is_refused(self, drawn):
        with pytest.raises(ValueError, match="write likelihood='normal'"):
            log_lower_bound([ObservedDraws(SCORES, 0.1, (1,) * 6)], COIN, 5)
        with pytest.raises(ValueError, match="rows=1000000: expected"):
            log_exact_likelihood([ObservedDraws(SCORES, 0.1, (1,))], COIN, 10**6)
        with pytest.raises(ValueError, match=r"indices=\(9,\): expected"):
            ObservedDraws(SCORES, 0.1, (9,))
        with pytest.raises(ValueError, match=r"rate=1000.0: expected"):
            ObservedDraws(SCORES, 1000.0, (1,))
        with pytest.raises(ValueError, match="log_likelihood: expected"):
            grid_posterior(lambda θ: θ * np.nan, np.linspace(0, 1, 5))
        hidden = MECHANISM.draw([0.0, 1.0], bounds=(0, 1), epsilon=1.0, neighbors="add-remove")
        with pytest.raises(ValueError, match="rows=None: expected"):
            factored_likelihood(hidden, HEADS, log_coin)
        assert callable(factored_likelihood(hidden, HEADS, log_coin, rows=2))
        other = MECHANISM.draw(open_rows([0.0, 1.0], bounds=(0, 1)).where("x0 > 0.5"), epsilon=1.0)
        with pytest.raises(ValueError, match="choices: expected draws from the rows of one data set"):
            factored_likelihood([*drawn, other], HEADS, log_coin)


class TestAxes:
    SIGMA, LENGTH = 0.5, 1.5

    @staticmethod
    def rows(count, theta, sigma, seed=1):
        rng = np.random.default_rng(seed)
        return rng.standard_normal((count, 1)) * theta + sigma * rng.standard_normal((count, len(theta)))

    def test_the_cells_give_the_likelihood_of_simulated_rows(self):
        """5,000 data sets of 50 rows give the chance of each candidate to within 1 %; 6 % is six times that.

        As directions turn, so do posteriors: at one angle, those of all draws are as their likelihoods.
        """
        mechanism = direction_mechanism(16, length=1.0, sigma=self.SIGMA)
        angle = np.pi * 6 / 64
        rows = self.rows(250_000, self.LENGTH * np.array([math.cos(angle), math.sin(angle)]), self.SIGMA)
        drawn = mechanism.draw(rows[:50], bounds=(-5, 5), epsilon=0.4)
        sums = mechanism.log_scores(rows).reshape(5000, 50, 16).sum(axis=1)
        chance = softmax(drawn.rate * sums, axis=1).mean(axis=0)[[0, 2, 4, 8]]
        scale = self.LENGTH / math.sqrt(2 * math.log(2))  # so that the one length of the grid is the true one
        result = [
            axis_posterior(
                dataclasses.replace(drawn, index=index), sigma=self.SIGMA, scale=scale, radius=5.0, lengths=1
            ).weights[6]
            for index in (0, 2, 4, 8)
        ]
        np.testing.assert_allclose(result / sum(result), chance / chance.sum(), rtol=0.06)

    def test_chains_agree_with_the_grid(self, seeded, monkeypatch):
        """In two dimensions, where both are there; all seeds are fixed. Chains walk in ``make audit``."""
        if not LONG:
            monkeypatch.setattr(direction_posterior, "sampled_posterior", gridded_posterior)
        mechanism = direction_mechanism(16, length=self.LENGTH, sigma=self.SIGMA)
        drawn = [mechanism.draw(self.rows(2000, [1.2, 0.9], self.SIGMA), bounds=(-8, 8), epsilon=0.2, bits=seeded(2))]
        given = {"sigma": self.SIGMA, "scale": 1.5}
        grid = axis_posterior(drawn, **given, radius=12.0, lengths=6, likelihood="lower")
        chains = sampled_axis_posterior(drawn, **given, dimension=2, points=400, draws=200, warmup=100)
        angles = np.arctan2(chains.flat[:, 1], chains.flat[:, 0])
        assert np.cos(2 * (angles - grid.axis)).mean() == pytest.approx(grid.concentration, abs=0.2)
        assert (chains.flat @ drawn[0].value >= 0.0).all()
        assert np.linalg.norm(chains.flat, axis=1).mean() == pytest.approx(grid.weights @ grid.lengths, rel=0.4)

    def test_a_line_has_no_sign(self):
        at = np.array([0.1, np.pi - 0.1, np.pi - 0.05, 0.05])
        result = AxisPosterior(np.stack([np.cos(at), np.sin(at)], axis=1), np.full(4, 0.25))
        assert min(result.axis, np.pi - result.axis) < 1e-9
        assert result.concentration > 0.97
        assert result.within(1.0) == pytest.approx(0.1)
        assert 300 < (result.sample(1000)[:, 0] > 0).sum() < 700  # 13 standard deviations; the seed is fixed
        even = AxisPosterior(np.stack([np.cos(at := np.pi * np.arange(8) / 8), np.sin(at)], axis=1), np.full(8, 1 / 8))
        assert even.concentration < 1e-12

    def test_directions_that_are_none(self):
        with pytest.raises(ValueError, match=r"directions of shape \(2, 2\): expected unit vectors"):
            direction_mechanism(2 * np.eye(2), length=1.0, sigma=1.0)
        with pytest.raises(ValueError, match="directions=1: expected"):
            direction_mechanism(1, length=1.0, sigma=1.0)
        with pytest.raises(ValueError, match="sigma=0: expected"):
            direction_mechanism(4, length=1.0, sigma=0)


@pytest.mark.parametrize("name", ["direction_posterior", "factored_bounds", "factored_posterior"])
def test_the_modules_are_attributes_of_the_room(name):
    module = getattr(discreet.inference, name)
    assert all(hasattr(module, public) for public in module.__all__)
