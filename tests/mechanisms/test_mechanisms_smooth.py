"""Smooth sensitivity: noises under any slide and stretch, the median's bound by brute force, and whole output laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from test_mechanisms import REPLACE, as_rows, data_sets, neighbours, pairs, quiet_bits

import discreet.mechanisms as dm
from conftest import FALSE_ALARM
from discreet import Ball, Category, Curator, Guarantee, Number, Schema
from discreet.arguments import format_value
from discreet.door import open_rows
from discreet.door.exit import draw_plan
from discreet.guarantees import ApproximateLoss, PureLoss
from discreet.ledger import Ledger
from discreet.queries.functions.admissible_noise import InverseTransformNoise
from discreet.queries.functions.median_sensitivity import OneColumn, SmoothMedian, _smooth, rank_of
from discreet.queries.functions.smooth_noise import FLOOR, SmoothFunction
from discreet.queries.functions.user_functions import UserFunction
from discreet.records import Box
from effort import size
from goodness import binomial_p, chi_square_p
from together import together

PURE = [dm.StudentNoise(), dm.StudentNoise(1), dm.CauchyNoise(), dm.CauchyNoise(2), dm.CauchyNoise(3.5)]
WITH_DELTA = [dm.LaplaceSlide(), dm.GaussianSlide()]

# A dense grid of places, fine near zero and far into the tails.
Z = np.concatenate([-np.logspace(9, -6, 1500), [0.0], np.logspace(-6, 9, 1500)])


def log_ratio(noise, z, shift, stretch):
    """Return the log-ratio of h at z to the law that slid by ``shift`` and shrank by e^``stretch``, in its units."""
    return noise.log_density(z) - stretch - noise.log_density((z - shift) * math.exp(stretch))


def slides(alpha, beta, count=9):
    """Yield all shifts and stretches of a grid: the shift is at most α times the smaller of the two scales."""
    for stretch in np.linspace(-beta, beta, count):
        for shift in np.linspace(-alpha, alpha, count):
            yield shift * min(1.0, math.exp(-stretch)), stretch


class TestNoises:
    @together("epsilon", [0.1, 1.0, 5.0])
    @together("share", [0.2, 0.5, 0.9])
    @together("noise", PURE, ids=repr)
    def test_no_slide_and_stretch_costs_more_than_epsilon(self, noise, share, epsilon):
        alpha, beta = noise.rates(epsilon, 0.0, share)
        worst = max(float(np.abs(log_ratio(noise, Z, *move)).max()) for move in slides(alpha, beta))
        assert worst <= epsilon * (1 + 1e-9)

    @pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
    @pytest.mark.parametrize("noise", PURE[:2], ids=repr)
    def test_students_alpha_is_the_largest(self, noise, share):
        alpha, beta = noise.rates(1e-3, 0.0, share)
        worst = max(float(np.abs(log_ratio(noise, Z, *move)).max()) for move in slides(alpha, beta))
        assert 0.99 * 1e-3 <= worst <= 1e-3 * (1 + 1e-9)

    @pytest.mark.parametrize("noise", PURE[2:], ids=repr)
    def test_the_constants_are_attained(self, noise):
        """A small slide alone takes its whole share, and so does a stretch."""
        alpha, beta = noise.rates(1e-3, 0.0, 0.5)
        assert 0.99 * 5e-4 <= np.abs(log_ratio(noise, Z, alpha, 0.0)).max() <= 5e-4 * (1 + 1e-6)
        assert 0.99 * 5e-4 <= np.abs(log_ratio(noise, Z, 0.0, beta)).max() <= 5e-4 * (1 + 1e-6)

    @pytest.mark.parametrize("noise", PURE, ids=repr)
    def test_larger_constants_are_caught(self, noise):
        alpha, beta = noise.rates(0.1, 0.0, 0.5)
        for a, b in ((2.5 * alpha, beta), (alpha, 2.5 * beta)):  # broken on purpose
            assert max(float(np.abs(log_ratio(noise, Z, *move)).max()) for move in slides(a, b)) > 0.1

    def delta(self, noise, epsilon, shift, stretch):
        """Return the hockey stick at ε, by summing over a fine grid."""
        z = np.linspace(-60.0, 60.0, 240_001)
        ratio = log_ratio(noise, z, shift, stretch)
        return float((np.exp(noise.log_density(z)) * -np.expm1(np.minimum(epsilon - ratio, 0.0))).sum() * (z[1] - z[0]))

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-3), (4.0, 1e-5)])
    @pytest.mark.parametrize("noise", WITH_DELTA, ids=repr)
    def test_slides_and_stretches_keep_their_delta(self, noise, epsilon, delta):
        alpha, beta = noise.rates(epsilon, delta, 0.5)
        worst = max(self.delta(noise, epsilon, *move) for move in slides(alpha, beta, 5))
        assert worst <= delta
        stretched = self.delta(noise, epsilon / 2, 0.0, beta)  # a stretch alone, at its share of ε
        own = delta if isinstance(noise, dm.LaplaceSlide) else delta / 2
        assert beta < epsilon / 2
        assert 0.99 * own <= stretched <= own * (1 + 1e-3)

    @pytest.mark.parametrize("noise", WITH_DELTA, ids=repr)
    def test_twice_the_stretch_is_caught(self, noise):
        alpha, beta = noise.rates(1.0, 1e-6, 0.5)
        assert max(self.delta(noise, 1.0, *move) for move in slides(alpha, 2.5 * beta, 5)) > 1e-6

    @pytest.mark.parametrize("noise", PURE + WITH_DELTA, ids=repr)
    def test_draws_have_the_density(self, noise):
        z = noise.sample(4000, quiet_bits(8))

        def mass(x):
            return 2 * float(quad(lambda t: math.exp(noise.log_density(np.float64(t))), 0.0, x, limit=200)[0])

        if isinstance(noise, InverseTransformNoise):
            places = np.linspace(0.0, 1.0, 41)[1:-1]
            assert [mass(x) for x in noise.quantile(places)] == pytest.approx(places, abs=1e-6)
        grid = np.append(np.logspace(-5, 3, 400), np.inf)
        masses = np.append([mass(x) for x in grid[:-1]], 1.0)
        assert masses[-2] == pytest.approx(1.0, abs=1e-3)  # γ = 2 has most beyond it
        counts = np.histogram(np.abs(z), np.append(0.0, grid))[0]
        assert chi_square_p(counts, np.diff(masses, prepend=0.0)) > FALSE_ALARM
        assert abs((z > 0).sum() - 2000) < 6.2 * math.sqrt(1000)

    def test_parameters_at_the_edge(self):
        for power in (1.0, 1.2, 65.0):
            with pytest.raises(ValueError, match=r"expected from 1.25 to 64"):
                dm.CauchyNoise(power)
        with pytest.raises(ValueError, match=r"expected from 0.25"):
            dm.StudentNoise(1e-3)
        alpha, beta = dm.LaplaceSlide().rates(1.0, 1e-300)
        assert alpha > 0.0
        assert beta > 0.0


VALUES = (0.0, 1.0, 3.0, 4.0)
LOW, HIGH = 0.0, 4.0


def plain_smooth(x, m, beta):
    """Return the formula, pair by pair."""
    x = [LOW, *sorted(x), HIGH]
    return max(
        (x[j] - x[i]) * math.exp(-beta * (j - i - 1)) for i in range(m + 1) for j in range(max(m, i + 1), len(x))
    )


class TestMedianSensitivity:
    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    def test_it_is_the_smooth_sensitivity_by_definition(self, n):
        sets = data_sets(VALUES, (n,))
        median = {rows: sorted(rows)[rank_of(0.5, n) - 1] for rows in sets}
        local = np.array([max(abs(median[a] - median[b]) for b in neighbours(a, VALUES, REPLACE)) for a in sets])
        codes = np.array(sets)
        for rows in itertools.combinations_with_replacement(VALUES, n):
            away = (codes != np.array(rows)).sum(axis=1)
            for beta in (0.05, 0.4, 2.0):
                exact = float((local * np.exp(-beta * away)).max())
                assert dm.smooth_sensitivity_of_median(rows, LOW, HIGH, beta) == pytest.approx(exact, rel=1e-12)

    def test_it_agrees_with_the_formula_on_larger_arrays(self):
        rng = np.random.default_rng(0)
        for n in (1, 2, 7, 30, 64, 101):
            for beta in (0.01, 0.1, 1.0, 30.0):
                for x in (rng.uniform(0, 4, n), rng.integers(0, 3, n) * 2.0, np.full(n, 1.5), 4 * rng.beta(9, 9, n)):
                    for m in {1, rank_of(0.25, n), rank_of(0.5, n), n}:
                        result = _smooth(np.sort(x), m, (LOW, HIGH), beta)
                        assert result == pytest.approx(plain_smooth(x, m, beta), rel=1e-9)

    def test_many_rows_are_quick_and_far_pairs_do_not_matter(self):
        x = np.sort(np.random.default_rng(1).uniform(0, 4, 200_000))
        assert 0.0 < dm.smooth_sensitivity_of_median(x, LOW, HIGH, 0.1) < 0.01
        assert dm.smooth_sensitivity_of_median(np.full(2001, 1.0), LOW, HIGH, 1.0) < 1e-300

    def test_wrong_arguments_are_errors(self):
        for wrong in ([], [[1.0]]):
            with pytest.raises(ValueError, match="at least one value"):
                dm.smooth_sensitivity_of_median(wrong, 0, 1, 0.1)
        with pytest.raises(ValueError, match="beta"):
            dm.smooth_sensitivity_of_median([0.5], 0, 1, 0.0)


class LocalOnly(SmoothMedian):
    """Broken on purpose: the local sensitivity, which is not smooth."""

    def at(self, values, beta):
        x = np.concatenate([[LOW], np.sort(values[:, 0]), [HIGH]])
        m = rank_of(0.5, len(values))
        return float(x[m]), float(max(x[m + 1] - x[m], x[m] - x[m - 1], 1e-3))


class TestSmoothMedian:
    # Fine between the values, and far out: what the clipping makes of it afterwards is post-processing.
    y = np.concatenate([-np.logspace(5, -2, 150), np.linspace(0.0, 4.0, 801), 4.0 + np.logspace(-2, 5, 150)])

    def distributions(self, way, epsilon, delta):
        alpha, beta = way.noise.rates(epsilon, delta, way.share)
        known = {}

        def log_density(rows):
            key = tuple(sorted(rows))
            if key not in known:
                value, bound = way.bounded(as_rows(key), alpha, beta)
                scale = bound / alpha
                known[key] = way.noise.log_density((self.y - value) / scale) - math.log(scale)
            return known[key]

        return log_density

    def worst(self, way, epsilon, sizes=(1, 2, 3, 4)):
        logs = self.distributions(way, epsilon, 0.0)
        return max(float((logs(a) - logs(b)).max()) for a, b in pairs(VALUES, sizes, REPLACE))

    @pytest.mark.parametrize("noise", PURE[:4], ids=repr)
    @pytest.mark.parametrize("epsilon", [0.5, 2.0])
    def test_all_neighbours_are_within_epsilon(self, noise, epsilon):
        way = SmoothMedian(noise, 0.5, Box(LOW, HIGH).for_columns(1))
        assert 0.49 * epsilon <= self.worst(way, epsilon) <= epsilon * (1 + 1e-9)

    def test_broken_copies_are_caught(self):
        box = Box(LOW, HIGH).for_columns(1)
        assert self.worst(LocalOnly(dm.StudentNoise(), 0.5, box), 0.5) > 0.5

        class Narrow(dm.StudentNoise):
            def rates(self, epsilon, delta=0.0, share=0.5):
                alpha, beta = super().rates(epsilon, delta, share)
                return 3.0 * alpha, beta

        assert self.worst(SmoothMedian(Narrow(), 0.5, box), 0.5) > 0.5

    @pytest.mark.parametrize("noise", WITH_DELTA, ids=repr)
    def test_all_neighbours_are_within_epsilon_and_delta(self, noise):
        epsilon, delta = 1.0, 0.01
        way = SmoothMedian(noise, 0.5, Box(LOW, HIGH).for_columns(1))
        alpha, beta = noise.rates(epsilon, delta, 0.5)
        y = np.linspace(-200.0, 204.0, 40_401)
        densities = {}
        for rows in data_sets(VALUES, (1, 3)):
            value, bound = way.bounded(as_rows(rows), alpha, beta)
            densities[rows] = np.exp(noise.log_density((y - value) * alpha / bound)) * alpha / bound
        step = y[1] - y[0]
        worst = max(
            float(np.clip(densities[a] - math.exp(epsilon) * densities[b], 0.0, None).sum()) * step
            for a, b in pairs(VALUES, (1, 3), REPLACE)
        )
        assert worst <= delta

    @pytest.mark.parametrize("noise", [dm.StudentNoise(), dm.LaplaceSlide()], ids=repr)
    def test_draws_have_the_law(self, noise):
        way = SmoothMedian(noise, 0.5, Box(LOW, HIGH).for_columns(1))
        loss = PureLoss(1.0) if noise.pure else ApproximateLoss(1.0, 1e-3)
        rows, bits = as_rows([2.0] * 61), quiet_bits(11)
        setting = open_rows(rows, bounds=(LOW, HIGH)).setting
        many = size(400, 800)
        drawn = np.concatenate([draw_plan(way.plan_rows(loss, setting), rows, bits) for _ in range(many)])
        alpha, beta = noise.rates(1.0, loss.failure, 0.5)
        _, bound = way.bounded(rows, alpha, beta)
        for level in (0.2, 0.5):
            half = bound / alpha * float(noise.quantile(np.array(level)))
            assert half < 2.0
            assert binomial_p(int((np.abs(drawn - 2.0) <= half).sum()), many, level) > FALSE_ALARM

    def test_it_is_near_where_rows_are_close(self):
        rows = np.random.default_rng(0).normal(50.0, 5.0, 20_001)
        for more in ({}, {"delta": 1e-6}, {"delta": 1e-6, "noise": dm.GaussianSlide()}, {"noise": dm.CauchyNoise(2)}):
            answer = dm.smooth_median(rows, bounds=(0, 100), epsilon=1.0, bits=quiet_bits(3), **more)
            assert abs(answer.value - 50.0) < 1.0
            assert not answer.release.exact
            assert answer.release.mechanism == "sampled"

    def test_columns_by_name_by_number_and_in_a_ball(self):
        rows = np.tile([[10.0, 30.0]], (3001, 1))
        one = dm.smooth_median(rows, 1, bounds=(0, 100), epsilon=5.0)
        named = dm.smooth_median(rows, "x0", bounds=Ball(50.0, [20.0, 20.0]), epsilon=5.0)
        assert abs(one.value - 30.0) < 1e-3
        assert abs(named.value - 10.0) < 1e-3
        assert one.guarantee == Guarantee(5.0)
        for wrong in (None, 2, "x7", True):
            with pytest.raises(ValueError, match="column="):
                dm.smooth_median(rows, wrong, bounds=(0, 100), epsilon=5.0)

    def test_wrong_noise_and_share_are_errors(self):
        with pytest.raises(ValueError, match="noise=LaplaceSlide"):
            dm.smooth_median([0.5], bounds=(0, 1), epsilon=1.0, noise=dm.LaplaceSlide())
        for share in (0.0, 1.0, -1.0, "half"):
            with pytest.raises(ValueError, match="share="):
                dm.smooth_median([0.5], bounds=(0, 1), epsilon=1.0, share=share)
        with pytest.raises(ValueError, match="at least one row"):
            dm.smooth_median([], bounds=(0, 1), epsilon=1.0)
        frame, schema = pd.DataFrame({"c": ["a", "b"]}), Schema({"c": Category(["a", "b"], missing="fill", fill="a")})
        for column in (None, "c", 0):
            with pytest.raises(ValueError, match="expected a numeric column"):
                dm.smooth_median(frame, column, schema=schema, epsilon=1.0)

    def test_a_question_that_is_asked_by_hand_needs_rows_that_surely_count(self):
        curator = Curator(pd.DataFrame({"x": [0.5, np.nan]}), schema=Schema({"x": Number(0, 1)}))
        way = SmoothMedian(dm.StudentNoise(), 0.5, Box(0, 1).for_columns(1))
        with pytest.raises(ValueError, match=r"query='smooth median': expected .*all count"):
            curator.plan(OneColumn(way, 1, 0), Guarantee(1.0))

    @pytest.mark.parametrize("epsilon", [1e-200, 1e-6, 50.0, 1e4])
    def test_any_epsilon_gives_a_number_in_the_bounds_or_an_error_of_its_own(self, epsilon):
        for noise in PURE:
            assert 0.0 <= dm.smooth_median([0.5] * 9, bounds=(0, 1), epsilon=epsilon, noise=noise).value <= 1.0
        for noise in WITH_DELTA:
            if epsilon >= 1e-6:
                result = dm.smooth_median([0.5] * 9, bounds=(0, 1), epsilon=epsilon, delta=1e-6, noise=noise)
                assert 0.0 <= result.value <= 1.0

    @pytest.mark.parametrize("rows", [[0.5], [0.0] * 2000, [-9.0, 99.0], [1.0, 1.0]])
    def test_few_and_constant_rows_give_a_number_in_the_bounds(self, rows):
        for delta in (0.0, 1e-6):
            assert 0.0 <= dm.smooth_median(rows, bounds=(0, 1), epsilon=0.1, delta=delta).value <= 1.0


class TestOwn:
    def test_bounds_on_s_keep_it_smooth(self):
        way = SmoothFunction(
            dm.StudentNoise(),
            0.5,
            Box(0, 2).for_columns(1),
            UserFunction.with_output(np.max, (0, 2)),
            lambda rows, beta: rows.sum() - 3,
        )
        assert way.bounded(as_rows((1.0, 9.0)), 0.5, 0.1) == (2.0, 2.0)  # both cut at the width
        assert way.bounded(as_rows((1.0, 1.0)), 0.5, 0.1) == (1.0, 2.0 * FLOOR)
        assert way.bounded(as_rows(()), 0.5, 0.1)[0] == 1.0  # the default

    @pytest.mark.parametrize("box", [Box(0, 1), Box(-1e9, -1e9 + 1), Box(1e16, 1e16 + 2), Box(-3, 3)], ids=repr)
    @pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e6, 1e15])
    def test_the_noise_is_never_lost_in_the_last_bits(self, box, alpha):
        """Of all floats in the box none is farther from the next than 2⁻¹² of the noise's scale."""
        box = box.for_columns(1)
        way = SmoothFunction(
            dm.StudentNoise(), 0.5, box, UserFunction.with_output(np.max, (0, 2)), lambda rows, beta: 0.0
        )
        _, bound = way.bounded(as_rows((1.0,)), alpha, 0.1)
        assert max(np.spacing(np.abs(box.low))[0], np.spacing(np.abs(box.high))[0]) <= 2.0**-12 * bound / alpha

    def test_nothing_is_spent_where_output_is_for_several_numbers(self, tmp_path):
        ledger = Ledger(tmp_path / "ledger.sqlite")
        curator = Curator(np.zeros((5, 1)), space=Box(0, 1), name="rows", ledger=ledger)
        for output in (([0, 0], [1, 1]), ([0], [1]), (0, [1, 2])):
            size = np.broadcast(*output).size
            with pytest.raises(ValueError, match=r"output=\(.*expected \(low, high\), one number each"):
                dm.smooth_sensitivity(
                    lambda rows, size=size: np.zeros(size), lambda rows, beta: 1.0, curator, output=output, epsilon=1.0
                )
        assert len(ledger.history("rows")) == 0

    def test_output_and_default_are_named_where_they_are_wrong(self):
        def message(**more):
            given = {"output": (0, 1), "bounds": (0, 1), "epsilon": 1.0, **more}
            with pytest.raises(ValueError, match="expected") as caught:
                dm.smooth_sensitivity(lambda rows: 0.5, lambda rows, beta: 1.0, [0.5], **given)
            return str(caught.value)

        for output in ((0, 1e308), (1, 0), (0, float("nan")), ("a", "b"), (-1e300, 1e300), (0, 1e-310)):
            assert message(output=output).startswith(f"output={output!r}: expected ")
        for default in ("a", [1.0, 2.0], float("inf"), {}, 10**400):
            assert message(default=default).startswith(f"default={format_value(default)}: expected a finite number;")

    def test_the_medians_own_bound_gives_the_same_law(self):
        median = SmoothMedian(dm.StudentNoise(), 0.5, Box(LOW, HIGH).for_columns(1))
        own = SmoothFunction(
            dm.StudentNoise(),
            0.5,
            Box(LOW, HIGH).for_columns(1),
            UserFunction.with_output(lambda rows: np.sort(rows[:, 0])[rank_of(0.5, len(rows)) - 1], (LOW, HIGH)),
            lambda rows, beta: dm.smooth_sensitivity_of_median(np.sort(rows[:, 0]), LOW, HIGH, beta),
        )
        for rows in data_sets(VALUES, (1, 3)):
            assert own.bounded(as_rows(rows), 0.5, 0.2) == median.bounded(as_rows(rows), 0.5, 0.2)

    def test_losses_are_the_noises(self):
        assert SmoothMedian(dm.StudentNoise(), 0.5, Box(0, 1)).default_loss(Guarantee(1.0)) == PureLoss(1.0)
        approximate = SmoothMedian(dm.LaplaceSlide(), 0.5, Box(0, 1)).default_loss(Guarantee(1.0, 1e-6))
        assert approximate == ApproximateLoss(1.0, 1e-6)
