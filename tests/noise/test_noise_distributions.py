"""Noise has exactly the distribution that it names: chi-square, tails, atoms, moments; broken copies are caught."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from inspect import isabstract

import numpy as np
import pytest
from scipy.special import betainc, gammaincc, ndtr
from scipy.stats import gamma, kstest, laplace, nbinom, norm

from conftest import FALSE_ALARM
from discreet import GaussianLoss, GeometricLoss, LaplaceLoss, PureLoss, ZcdpLoss
from discreet.noise import (
    Bits,
    DiscreteGaussianNoise,
    EuclideanNoise,
    GaussianNoise,
    GeometricNoise,
    LaplaceNoise,
    NoiseDistribution,
    bernoulli_exp,
    categorical,
    geometric,
    uniform_integers,
)
from effort import size
from goodness import binomial_p, chi_square_p, counts_between

MANY = size(1_000_000, 4_000_000)  # with fewer a scale wrong by a percent, in the audit by half of one, may pass
FEWER = size(500_000, 2_000_000)


def rounded_normal(fineness: int, low: int, high: int) -> np.ndarray:
    """Return P(round(2^m Z) = k) for k from low to high, the tails added to the ends."""
    edges = (np.arange(low, high) + 0.5) / 2.0**fineness
    return np.diff(np.concatenate([[0.0], ndtr(edges), [1.0]]))


@pytest.mark.parametrize(("fineness", "reach"), [(0, 5), (1, 10), (4, 80)])
def test_coarse_rounded_gaussian(seeded, fineness, reach):
    sample = GaussianNoise(1.0, fineness).sample(MANY, seeded(fineness))
    counts = counts_between(sample, -reach, reach)
    assert chi_square_p(counts, rounded_normal(fineness, -reach, reach)) > FALSE_ALARM
    zero = 2.0 * ndtr(0.5 / 2**fineness) - 1.0
    assert binomial_p((sample == 0).sum(), MANY, zero) > FALSE_ALARM
    assert binomial_p((sample > 0).sum(), (sample != 0).sum(), 0.5) > FALSE_ALARM


def test_fine_rounded_gaussian(seeded):
    noise, many = GaussianNoise(1.0), MANY
    sample = noise.sample(many, seeded(40))
    z = sample * noise.grid
    cells = np.floor(ndtr(z) * 4096).astype(np.int64)
    assert chi_square_p(np.bincount(cells, minlength=4096), np.full(4096, 1 / 4096)) > FALSE_ALARM
    low_bits = np.bincount(sample & 1023, minlength=1024)
    assert chi_square_p(low_bits, np.full(1024, 1 / 1024)) > FALSE_ALARM
    assert binomial_p((z > 0).sum(), many, 0.5) > FALSE_ALARM
    for t in [3.0, 4.0, 4.5, 5.0]:
        for side in [1, -1]:
            assert binomial_p((side * z > t).sum(), many, norm.sf(t)) > FALSE_ALARM
    # The k-th moment's standard error is √(E Z^2k − (E Z^k)²)/√n.
    for power, mean, square in [(1, 0, 1), (2, 1, 3), (3, 0, 15), (4, 3, 105)]:
        error = math.sqrt((square - mean**2) / many)
        assert abs((z**power).mean() - mean) < norm.isf(FALSE_ALARM / 2) * error


def test_cutting_bits_instead_of_rounding_would_be_caught(seeded):
    """Zero would get both first atoms: the sign and the magnitude cut to m bits, at the sample size used above."""
    fine = GaussianNoise(1.0, 24).sample(MANY, seeded(1))
    broken = np.sign(fine) * (np.abs(fine) >> 20)
    assert chi_square_p(counts_between(broken, -80, 80), rounded_normal(4, -80, 80)) < FALSE_ALARM


def test_a_scale_wrong_by_a_percent_would_be_caught(seeded):
    """At the sample size used above; in the audit, of half a percent."""
    sample = np.rint(GaussianNoise(1.0).sample(MANY, seeded(2)) * (size(1.01, 1.005) / 2**36)).astype(np.int64)
    assert chi_square_p(counts_between(sample, -80, 80), rounded_normal(4, -80, 80)) < FALSE_ALARM


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0, 7.5, 61.03125])
def test_two_sided_geometric(seeded, scale):
    sample = GeometricNoise(scale).sample(FEWER, seeded(3))
    reach = math.ceil(14 * scale) + 3
    q = math.exp(-1.0 / scale)
    inner = (1.0 - q) / (1.0 + q) * q ** np.abs(np.arange(-reach + 1, reach))
    tail = q**reach / (1.0 + q)
    assert chi_square_p(counts_between(sample, -reach, reach), np.array([tail, *inner, tail])) > FALSE_ALARM
    if scale > 0.2:
        assert binomial_p((sample > 0).sum(), (sample != 0).sum(), 0.5) > FALSE_ALARM


@pytest.mark.parametrize(
    "noise",
    [
        LaplaceNoise(3.0),
        GeometricNoise(2.0**48),
        GeometricNoise(1e9 + 0.5),
    ],
)
def test_laplace_and_the_two_sided_geometric_of_large_scale(seeded, noise):
    x = noise.sample(FEWER, seeded(4)) * (noise.grid / noise.scale)
    uniform = np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1.0 - 0.5 * np.exp(-np.maximum(x, 0)))
    cells = np.minimum((uniform * 2048).astype(np.int64), 2047)
    assert chi_square_p(np.bincount(cells, minlength=2048), np.full(2048, 1 / 2048)) > FALSE_ALARM
    for t in [5.0, 10.0, 14.0]:
        assert binomial_p((np.abs(x) > t).sum(), x.size, math.exp(-t)) > FALSE_ALARM


@pytest.mark.parametrize("fineness", [0, 1, 3])
def test_coarse_rounded_laplace(seeded, fineness):
    sample = LaplaceNoise(1.0, fineness).sample(FEWER, seeded(17))
    reach = 14 * 2**fineness
    edges = (np.arange(-reach, reach) + 0.5) / 2.0**fineness
    below = np.where(edges < 0, 0.5 * np.exp(-np.abs(edges)), 1.0 - 0.5 * np.exp(-np.abs(edges)))
    noise = np.diff(np.concatenate([[0.0], below, [1.0]]))
    assert chi_square_p(counts_between(sample, -reach, reach), noise) > FALSE_ALARM
    assert binomial_p((sample == 0).sum(), sample.size, -math.expm1(-0.5 / 2**fineness)) > FALSE_ALARM


@pytest.mark.parametrize("scale", [0.3, 2.0, 33.25])
def test_one_sided_geometric(seeded, scale):
    sample = geometric(scale, FEWER, seeded(5))
    reach = math.ceil(14 * scale) + 3
    q = math.exp(-1.0 / scale)
    noise = np.append((1.0 - q) * q ** np.arange(reach), q**reach)
    assert chi_square_p(counts_between(sample, 0, reach), noise) > FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.25, 1.0, 4.75, 100.5])
def test_discrete_gaussian(seeded, sigma):
    sample = DiscreteGaussianNoise(sigma).sample(FEWER, seeded(6))
    reach = math.ceil(7 * sigma) + 2
    weights = np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2.0)
    assert chi_square_p(counts_between(sample, -reach, reach), weights / weights.sum()) > FALSE_ALARM


def test_discrete_gaussian_of_large_scale_is_normal(seeded):
    z = DiscreteGaussianNoise(2.0**48).sample(FEWER, seeded(7)) / 2.0**48
    cells = np.floor(ndtr(z) * 1024).astype(np.int64)
    assert chi_square_p(np.bincount(cells, minlength=1024), np.full(1024, 1 / 1024)) > FALSE_ALARM


@pytest.mark.parametrize("high", [1, 2, 3, 6, 1000, 1025])
def test_uniform_integers(seeded, high):
    sample = uniform_integers(high, FEWER // 2, seeded(8))
    assert sample.min() >= 0
    assert sample.max() < high
    if high > 1:
        assert chi_square_p(np.bincount(sample, minlength=high), np.full(high, 1 / high)) > FALSE_ALARM


def test_uniform_integers_up_to_a_large_end(seeded):
    high = 3 * 2**60
    cells = uniform_integers(high, FEWER // 2, seeded(9)) // (high // 768)
    assert chi_square_p(np.bincount(np.minimum(cells, 767), minlength=768), np.full(768, 1 / 768)) > FALSE_ALARM


@pytest.mark.parametrize("x", [0.01, 0.6931471805599453, 1.0, 6.5])
def test_bernoulli_exp(seeded, x):
    bits, many = seeded(10), size(2_000, 20_000)
    assert binomial_p(sum(bernoulli_exp(x, bits) for _ in range(many)), many, math.exp(-x)) > FALSE_ALARM


@pytest.mark.parametrize(
    "scores",
    [
        [0.0, 0.0, 0.0],
        [0.0, -1.0, -2.5, 0.5, -30.0],
        [1e300, 1e300, -1e300],
        [-1e-300, 1e-300, 0.0, -math.inf],
        [-5000.0, -5001.0, -5002.0],
        list(np.linspace(-3.0, 3.0, 200)),
    ],
    ids=lambda scores: f"{len(scores)} from {scores[0]:g}",
)
def test_categorical(seeded, scores):
    bits = seeded(11)
    with np.errstate(under="ignore"):
        weights = np.exp(np.array(scores) - max(scores))
    drawn = np.bincount([categorical(scores, bits) for _ in range(size(1_000, 3_000))], minlength=len(scores))
    assert np.all(drawn[weights == 0.0] == 0)
    if (weights > 0.0).sum() > 1:
        assert chi_square_p(drawn[weights > 0.0], weights[weights > 0.0] / weights.sum()) > FALSE_ALARM


def test_categorical_with_many_candidates(seeded):
    """A million of the same score and one that outweighs them all together, one to one."""
    scores = np.zeros(1_000_001)
    scores[77] = math.log(1e6)
    bits = seeded(12)
    runs = size(32, 60)  # all of them on one side would be 5e-10
    hits = sum(categorical(scores, bits) == 77 for _ in range(runs))
    assert binomial_p(hits, runs, 0.5) > FALSE_ALARM


def test_euclidean_noise(seeded):
    distribution = EuclideanNoise(2.0, dimension=7)
    assert not distribution.exact
    noise = distribution.sample((200_000, 7), seeded(13)) * distribution.grid
    radius = np.linalg.norm(noise, axis=1)
    assert kstest(radius / 2.0, gamma(7).cdf).pvalue > FALSE_ALARM
    assert kstest(noise[:, 0] / radius, lambda t: _beta_coordinate(t, 7)).pvalue > FALSE_ALARM
    assert noise.var(axis=0) == pytest.approx(np.full(7, distribution.variance), rel=0.03)


def _beta_coordinate(t, d):
    """Return the distribution function of one coordinate of a uniform direction in d dimensions."""
    return 0.5 + np.sign(t) * betainc(0.5, (d - 1) / 2.0, np.square(t)) / 2.0


DISTRIBUTIONS = [
    GaussianNoise(2.0),
    GaussianNoise(2.0, 2),
    GeometricNoise(3.0),
    GeometricNoise(0.5),
    LaplaceNoise(3.0),
    DiscreteGaussianNoise(0.5),
    DiscreteGaussianNoise(5.0),
]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_a_distribution_knows_its_variance_and_its_intervals(seeded, distribution):
    assert distribution.exact
    noise = distribution.sample(size(400_000, 1_000_000), seeded(14)) * distribution.grid
    assert noise.var() == pytest.approx(distribution.variance, rel=0.02)
    for level in [0.0, 0.5, 0.9, 0.999]:
        covered = (np.abs(noise) <= distribution.half_width(level)).mean()
        assert covered >= level - 5e-3
        if distribution.grid < 1e-6:
            assert covered == pytest.approx(level, abs=5e-3)


@pytest.mark.parametrize("shape", [[3, 2], (3, 2), np.array([3, 2])], ids=str)
def test_any_shape_is_filled_with_independent_draws(shape, seeded):
    sample = GaussianNoise(1.0).sample(shape, seeded(18))
    assert sample.shape == (3, 2)
    assert len(np.unique(sample)) == 6
    assert GaussianNoise(1.0).sample((), seeded(18)).shape == ()
    assert GaussianNoise(1.0).sample(0).shape == (0,)


@pytest.mark.parametrize("sensitivity", [1.0000000000000002, 0.3, 1.5])
def test_a_sensitivity_between_steps_costs_the_next_step(sensitivity):
    for noise in [GeometricNoise(2.0), GeometricNoise(0.5, 0.125)]:
        loss = noise.loss(sensitivity)
        assert loss.epsilon == loss.steps * noise.step / noise.scale
        assert loss.steps * noise.step >= sensitivity


@pytest.mark.parametrize("level", [0.5, 0.999, 0.99999, 0.999999])
def test_intervals_hold_far_out_in_the_tail(level):
    assert 2.0 * norm.sf(GaussianNoise(1.0).half_width(level)) <= (1.0 - level) * (1.0 + 1e-9)
    noise = EuclideanNoise(1.0, 2)
    radius = np.linspace(noise.half_width(level), 80.0, 400_001)
    outside = gamma(2).pdf(radius) * (1.0 - (2.0 / np.pi) * np.arcsin(noise.half_width(level) / radius))
    assert float(((outside[1:] + outside[:-1]) / 2.0 * np.diff(radius)).sum()) <= (1.0 - level) * (1.0 + 1e-4)


def test_a_distribution_says_what_it_costs():
    assert GaussianNoise(4.0).loss(2.0) == GaussianLoss(0.5)
    assert LaplaceNoise(4.0).loss(2.0, "add-remove") == LaplaceLoss(0.5, "add-remove")
    assert GeometricNoise(2.0).loss(2, "add-remove") == GeometricLoss(1.0, 2, "add-remove")
    assert DiscreteGaussianNoise(4.0).loss(2.0) == ZcdpLoss(0.125)
    assert EuclideanNoise(4.0, 3).loss(2.0) == PureLoss(0.5)


@pytest.mark.parametrize("noise", [*DISTRIBUTIONS, EuclideanNoise(2.0, 3)], ids=repr)
def test_a_distribution_goes_through_json(noise):
    assert NoiseDistribution.from_dict(json.loads(json.dumps(noise.to_dict()))) == noise


def test_what_is_no_distribution_in_json():
    with pytest.raises(ValueError, match="kind='RoundedNoise': expected one of"):
        NoiseDistribution.from_dict({"kind": "RoundedNoise"})
    with pytest.raises(ValueError, match="expected the fields"):
        NoiseDistribution.from_dict({"kind": "GaussianNoise", "scale": 1.0})


@pytest.mark.parametrize("dimension", [1, 2, 12])
def test_the_intervals_of_euclidean_noise(seeded, dimension):
    distribution = EuclideanNoise(0.5, dimension)
    noise = distribution.sample((size(50_000, 200_000), dimension), seeded(16))[:, 0] * distribution.grid
    for level in [0.5, 0.95]:
        assert (np.abs(noise) <= distribution.half_width(level)).mean() == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize("noise", [*DISTRIBUTIONS, EuclideanNoise(2.0, 2)], ids=repr)
def test_what_is_released_lies_on_the_grid(seeded, noise):
    values = np.array([[0.3, -17.2], [5.0, 1000.0 / 7.0]])
    released = noise.add(values, seeded(15))
    assert released.shape == (2, 2)
    steps = released / noise.grid
    np.testing.assert_allclose(steps, np.rint(steps), rtol=1e-15)
    expected = noise.steps(values) + noise.sample((2, 2), seeded(15))
    np.testing.assert_array_equal(np.rint(steps).astype(np.int64), expected)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_spherical_noise_pays_for_its_grid(size):
    """Two neighbours come 2·grid·√size farther apart, which is taken off ε: near 2⁵² steps no little."""
    for largest in [1.0, 1e6, 1e10]:
        noise = EuclideanNoise.for_query(epsilon=0.5, sensitivity=0.7, largest=largest, size=size)
        apart = 0.7 + 2.0 * noise.grid * math.sqrt(size)
        assert noise.loss(apart).epsilon == pytest.approx(0.5, rel=1e-12)
        assert np.all(np.abs(noise.steps(np.full(size, largest))) <= 2**52)
    with pytest.raises(ValueError, match="tighter bounds"):
        EuclideanNoise.for_query(epsilon=0.5, sensitivity=0.7, largest=1e18, size=size)


def test_a_query_costs_no_more_than_it_is_said_to():
    """In rational arithmetic: in half of the cases the scale was a last digit too small, and so was the loss."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        root = int(rng.integers(1, 30))
        cost, moved = float(10.0 ** rng.uniform(-3.0, 1.0)), float(10.0 ** rng.uniform(-3.0, 3.0))
        facts = {"sensitivity": moved, "largest": moved * float(10.0 ** rng.uniform(0.0, 4.0)), "size": root * root}
        distributions = [
            (GaussianNoise.for_query(mu=cost, **facts), 2 * root),
            (EuclideanNoise.for_query(epsilon=cost, **facts), 2 * root),
            (LaplaceNoise.for_query(epsilon=cost, **facts), 2 * root * root),
        ]
        for noise, steps in distributions:
            apart = Fraction(moved) + steps * Fraction(noise.grid)
            assert apart <= Fraction(cost) * Fraction(noise.scale) <= apart * (1 + Fraction(1, 2**48))
            loss = noise.loss(moved)
            assert Fraction(moved) <= Fraction(loss.mu if loss.gaussian else loss.epsilon) * Fraction(noise.scale)
        assert Fraction(moved) ** 2 <= 2 * Fraction(DiscreteGaussianNoise(3.0).loss(moved).rho) * 9
        whole = GeometricNoise(3.0, 0.125).loss(moved)
        assert Fraction(moved) <= whole.steps * Fraction(0.125) <= Fraction(whole.epsilon) * 3


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 1.0, 1e4])
def test_spherical_noise_of_any_epsilon_has_a_grid(epsilon):
    for width in (1, 500):
        noise = EuclideanNoise.for_query(epsilon=epsilon, sensitivity=0.7, largest=1.0, size=width)
        assert noise.loss(0.7).epsilon > 0.98 * epsilon
        assert noise.loss(0.7 + 2.0 * noise.grid * math.sqrt(width)).epsilon <= epsilon * (1.0 + 1e-12)


class LongRuns(Bits):
    """Bits that are random at first and at the end; between, each three words prolong an exponential by one."""

    def __init__(self, bits, calls):
        self._bits, self._calls, self._place = bits, iter(calls), 0

    def words(self, count):
        if not next(self._calls, False):
            return self._bits.words(count)
        places, self._place = self._place + np.arange(count), self._place + count
        return np.array([2, 1, 3], dtype=np.uint64)[places % 3] << np.uint64(60)


@pytest.mark.parametrize("dimension", [1, 3])
def test_no_radius_is_left_out(dimension, seeded):
    """The radius once ended at its quantile of 1 − 2⁻¹⁰⁶, while δ = 0 was charged."""
    noise = EuclideanNoise(1.0, dimension)
    for runs in (3, 10):
        bits = LongRuns(seeded(23), [False] + [True] * runs)
        radius = float(np.linalg.norm(noise.sample((1, dimension), bits)) * noise.grid)
        assert radius > runs * 30
    assert radius > gamma(dimension).isf(2.0**-106)


def test_a_direction_is_drawn_again_where_there_is_none(seeded, monkeypatch):
    drawn = GaussianNoise.sample
    left = iter([True, False, False])

    def zeros(self, size, bits=None):
        return drawn(self, size, bits) * (0 if next(left) else 1)

    monkeypatch.setattr(GaussianNoise, "sample", zeros)
    assert np.all(np.abs(EuclideanNoise(1.0, 1).sample((5, 1), seeded(19))) < 2**30)


def test_putting_a_statistic_on_the_grid_moves_it_by_at_most_a_step():
    rng = np.random.default_rng(0)
    for largest in [1.0, 1e3, 1e9]:
        noise = GaussianNoise.for_query(mu=1.0, sensitivity=0.7, largest=largest)
        values = rng.uniform(-largest, largest, 10_000)
        grid = Fraction(noise.grid)
        gaps = [abs(Fraction(v) / grid - int(s)) for v, s in zip(values, noise.steps(values), strict=True)]
        assert max(gaps) <= 1
        assert np.abs(noise.steps(np.array([largest]))).max() <= 2**52


def test_the_grid_is_as_fine_as_the_size_of_the_statistic_allows():
    for sensitivity, largest, fineness in [(1.0, 100.0, 40), (1.0, 2.0**20, 32), (1e-3, 2.0**-40, 40)]:
        assert GaussianNoise.for_query(mu=1.0, sensitivity=sensitivity, largest=largest).fineness == fineness


@pytest.mark.parametrize("size", [1, 100, 10**7])
def test_a_query_costs_what_was_asked_for_with_the_grid_charged(size):
    """Two statistics Δ apart are, on the grid, at most μ standard deviations apart."""
    noise = GaussianNoise.for_query(mu=0.3, sensitivity=2.0, largest=1e4, size=size)
    assert 2.0 + 2.0 * noise.grid * math.sqrt(size) <= 0.3 * noise.scale * (1.0 + 1e-15)
    assert noise.scale == pytest.approx(2.0 / 0.3, rel=1e-4)
    laplace = LaplaceNoise.for_query(epsilon=0.3, sensitivity=2.0, largest=1e4, size=size)
    assert 2.0 + 2.0 * laplace.grid * size <= 0.3 * laplace.scale * (1.0 + 1e-15)


EVERY = [GaussianNoise(2.0), DiscreteGaussianNoise(2.0), LaplaceNoise(2.0), GeometricNoise(2.0), EuclideanNoise(2.0, 3)]


def test_every_distribution_of_the_library_is_listed():
    known = {kind for kind in NoiseDistribution._kinds.values() if kind.__module__.startswith("discreet.")}
    assert {kind for kind in known if not isabstract(kind)} == {type(noise) for noise in EVERY}


@pytest.mark.parametrize("noise", EVERY, ids=lambda noise: type(noise).__name__)
def test_two_statistics_are_told_apart_by_what_their_distance_costs(noise):
    """The distance is the μ or the ε of the loss, and no log-likelihood ratio of a pure distribution exceeds it."""
    shift = np.array([3.0, -4.0, 12.0])
    apart = float(noise.distance(shift))
    loss = noise.loss({"l1": 19.0, "l2": 13.0}[noise.norm])
    assert apart == pytest.approx(math.sqrt(2.0 * loss.zcdp) if noise.normal else loss.pure)
    rng = np.random.default_rng(0)
    one = np.array([1.0, 2.0, 3.0])
    ratios = [noise.log_ratio(one + noise.simulate(rng, (3,)), one, one + shift) for _ in range(200)]
    assert noise.log_ratio(one, one, one + shift) == pytest.approx(-(apart**2) / 2.0 if noise.normal else -apart)
    assert noise.log_ratio(one + shift / 2.0, one, one + shift) == pytest.approx(0.0, abs=1e-12)
    if not noise.normal:
        assert max(map(abs, ratios)) <= apart * (1.0 + 1e-12)


@pytest.mark.parametrize(("distribution", "ideal"), [(EVERY[0], norm(scale=2.0)), (EVERY[2], laplace(scale=2.0))])
def test_the_log_density_is_that_of_the_continuous_distribution(distribution, ideal):
    noise = np.random.default_rng(1).normal(0.0, 3.0, (50, 4))
    assert distribution.log_density(noise) - distribution.log_density(noise[0]) == pytest.approx(
        ideal.logpdf(noise).sum(axis=-1) - ideal.logpdf(noise[0]).sum()
    )


@pytest.mark.parametrize("noise", [GaussianNoise(2.0), LaplaceNoise(2.0), GaussianNoise(2.0, 1), LaplaceNoise(2.0, 1)])
@pytest.mark.parametrize(
    "coefficients", [[1.0], [3.0, -1.0], [2.0, 2.0, 2.0], [1.0, 0.0, 1e-12], [1.0] * 3 + [-0.1] * 4]
)
def test_the_tail_of_a_sum_is_never_understated(noise, coefficients, seeded):
    sums = (noise.sample((size(100_000, 400_000), len(coefficients)), seeded(3)) * noise.grid) @ np.array(coefficients)
    for level in [0.5, 0.9, 0.999]:
        half = noise.half_width_of_sum(coefficients, level)
        assert noise.tail(coefficients, half) <= 1.0 - level
        inside = np.count_nonzero(np.abs(sums) <= half)
        assert inside >= len(sums) * level or binomial_p(inside, len(sums), level) > FALSE_ALARM
    if len(coefficients) == 1:
        assert noise.half_width_of_sum([1.0], 0.9) == pytest.approx(noise.half_width(0.9))
    assert noise.half_width_of_sum([0.0], 0.9) == 0.0
    assert noise.tail(coefficients, 1e9) < 1e-15
    assert noise.half_width_of_sum(coefficients, 1.0 - 1e-14) < 1e4


@pytest.mark.parametrize("terms", [7, 30, 1000])
def test_the_tail_of_many_equal_laplace_terms_is_that_of_two_races(terms):
    """The difference of two sums of n exponentials: j steps of one are done when the other is, and n − j remain."""
    noise = LaplaceNoise(2.0)
    for deviations in (0.5, 2.0, 4.0):
        beyond = deviations * math.sqrt(2.0 * terms) * 2.0
        done = np.arange(terms)
        races = nbinom(terms, 0.5).pmf(done) * gammaincc(terms - done, beyond / 2.0)
        assert noise.tail([1.0] * terms, beyond) == pytest.approx(2.0 * races.sum(), rel=1e-6, abs=2e-10)


def test_the_tail_of_many_laplace_terms_continues_that_of_few():
    few = [1.0, 1.5, 2.25, 3.4, 5.0, 7.5]
    for far in (5.0, 20.0, 60.0):
        assert LaplaceNoise(1.0).tail([*few, 1e-3], far) == pytest.approx(LaplaceNoise(1.0).tail(few, far), rel=1e-4)


def test_a_distribution_that_knows_no_sums_says_so():
    with pytest.raises(ValueError, match=r"noise=GeometricNoise\(.*expected Gaussian or Laplace noise"):
        GeometricNoise(2.0).tail([1.0], 3.0)


def test_a_loss_takes_a_scale_of_its_own_distribution_alone():
    assert (
        GaussianNoise(1.0).least_scale(GaussianLoss(0.5), 3.0)
        == LaplaceNoise(1.0).least_scale(LaplaceLoss(0.5), 3.0)
        == 6.0
    )
    assert GaussianNoise(1.0).least_scale(LaplaceLoss(0.5), 3.0) == math.inf
    assert (
        LaplaceNoise(1.0).least_scale(PureLoss(0.5), 3.0)
        == GeometricNoise(1.0).least_scale(PureLoss(0.5), 3.0)
        == math.inf
    )
