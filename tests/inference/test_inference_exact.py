"""Data augmentation against posteriors in closed form, and the bound on its acceptance."""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.special import betaln, log_softmax, softmax
from scipy.stats import beta, binom, norm, t

from conftest import FALSE_ALARM
from discreet import Box, Curator, GaussianLoss, LaplaceLoss, Sum, infer
from discreet.door import open_rows
from discreet.inference.augmented.augmentation import sample_augmented
from discreet.inference.augmented.sum_densities import FactoredDraw, NoisySum, update_rows
from discreet.inference.clt.reference import Problem
from discreet.inference.measurements import Measurements, read_measurements
from discreet.inference.rows.row_model import Layout, double_precision, get_user_row_model
from discreet.mechanisms import FactoredExponential
from discreet.records import Block, as_records
from effort import size

ROWS, HEADS = 20, 15
CHAINS, DRAWS, WARMUP = 32, size(100, 200), size(60, 100)
THROWS = np.repeat([0.0, 1.0], [ROWS - HEADS, HEADS])
UNIT = Sum(Box([0.0], [1.0]))
BOTH = Sum(Box([0.0, -50.0], [1.0, 50.0]))
LAYOUT = Layout(("x0", "x1"))
COUNTS = np.arange(ROWS + 1)
GRID = np.linspace(0.0005, 0.9995, 1000)
PUBLIC = np.array([[1.0, 0.5], [1.0, 1.0]])  # rows that anybody may see


def coin_and_number():
    """One model for all tests, so that it is compiled once; what is not measured keeps its prior."""
    chance = numpyro.sample("chance", dist.Uniform())
    mean = numpyro.sample("mean", dist.Normal(0.0, 2.0))
    numpyro.sample("x0", dist.Bernoulli(chance))
    numpyro.sample("x1", dist.Normal(mean, 1.0))


def log_likelihood(rows, chances):
    return np.log(np.where(rows == 1, chances, 1 - np.asarray(chances)))


CHANCES = np.arange(1, 10) / 10
FACTORED = FactoredExponential(log_likelihood, CHANCES, math.log(0.1), math.log(0.9))


def problem_of(*releases, rows=ROWS):
    measured = read_measurements(list(releases)) if releases else Measurements((), LAYOUT)
    public = {"x": PUBLIC, "codes": np.zeros((len(PUBLIC), 0), dtype=np.int64)}
    return Problem(get_user_row_model(coin_and_number, LAYOUT), measured, rows, public)


def sampled(problem, **options):
    given = {"chains": CHAINS, "draws": DRAWS, "warmup": WARMUP, "seed": 1, "progress": False}
    if problem.measured.sums:
        given["start"] = np.zeros(2)
    return sample_augmented(problem, **given | options)


def of_zero_and_one(question):
    """Return what rows of zeros and of ones contribute."""
    x = np.repeat([[0.0], [1.0]], question.dimension, axis=1)
    return question.contributions(Block(x, np.zeros((2, 0), dtype=np.int64)))


def log_noise(release, question=UNIT):
    """Return the log-density of the first number of a release, for each number of heads."""
    tails, heads = of_zero_and_one(question)[:, 0]
    away = (release.value[0] - COUNTS * heads - (ROWS - COUNTS) * tails) / release.noise.scale
    return -np.abs(away) if isinstance(release.loss, LaplaceLoss) else -(away**2) / 2


def assert_same_law(draws, moments):
    """Compare the means of functions over chains with their expectations.

    Chains are independent, so the means of each are, and Student's t has the false-alarm rate of FALSE_ALARM in all.
    """
    limit = t.isf(FALSE_ALARM / len(moments) / 2, len(draws) - 1)
    for function, expected in moments:
        each = function(draws).mean(axis=1)
        assert abs(each.mean() - expected) < limit * each.std(ddof=1) / math.sqrt(len(each)), (each.mean(), expected)


def coin_moments(log_density):
    """Return expectations under the posterior, a mixture of Beta laws: one for each number of heads.

    Both public throws are heads: the prior is Beta(3, 1).
    """
    a, b = COUNTS + 3.0, ROWS - COUNTS + 1.0
    weights = softmax(log_density + binom.logpmf(COUNTS, ROWS, 0.5) + betaln(a, b))
    moments = [(lambda θ: θ, weights @ beta.mean(a, b)), (np.square, weights @ (beta.var(a, b) + beta.mean(a, b) ** 2))]
    below = weights @ beta.cdf(GRID, a[:, None], b[:, None])
    at = np.searchsorted(below, [0.1, 0.3, 0.5, 0.7, 0.9])
    return moments + [(lambda θ, q=q: θ < q, share) for q, share in zip(GRID[at], below[at], strict=True)]


def normal_moments(noise):
    moments = [(lambda v: v, noise.mean()), (lambda v: (v - noise.mean()) ** 2, noise.var())]
    return moments + [(lambda v, q=q: v < noise.ppf(q), q) for q in (0.1, 0.5, 0.9)]


def chance(result):
    return 1.0 / (1.0 + np.exp(-result.v[:, :, 0]))


def test_a_noisy_count_gives_the_posterior_of_enumeration(seeded):
    release = open_rows(THROWS, bounds=(0, 1)).measure(UNIT, LaplaceLoss(1.0), bits=seeded(5))
    result = sampled(problem_of(release), draws=DRAWS // 2, warmup=WARMUP // 2, steps=2)
    assert_same_law(chance(result), coin_moments(log_noise(release)))
    assert result.v.shape == (CHAINS, DRAWS // 2, 2)
    precision = 1 / 4 + len(PUBLIC)  # nothing was measured of the numbers
    assert_same_law(result.v[:, :, 1], normal_moments(norm(PUBLIC[:, 1].sum() / precision, precision**-0.5)))
    assert not result.diverging.any()
    # A row of the coin moves the count by all of its sensitivity, so the bound is attained.
    assert result.acceptance_bound == math.exp(-1.0)
    assert result.least_acceptance == pytest.approx(result.acceptance_bound, rel=1e-6)
    assert result.acceptance_bound < result.acceptance < 1.0


def test_releases_of_one_data_set_are_joined_through_its_rows(seeded):
    """The second question depends on the first release; their likelihoods multiply given rows, not given θ."""
    curator = open_rows(THROWS, bounds=(0, 1))
    first = curator.measure(UNIT, LaplaceLoss(4.0), bits=seeded(1))
    second = curator.measure(UNIT, GaussianLoss(3.0 if first.value[0] > 0.0 else 1.0), bits=seeded(2))
    logs = log_noise(first), log_noise(second)
    result = sampled(problem_of(first, second))
    assert_same_law(chance(result), coin_moments(logs[0] + logs[1]))
    assert result.acceptance_bound is None
    each = binom.pmf(COUNTS[:, None], ROWS, GRID)
    product = GRID**2 * np.prod([np.exp(log) @ each for log in logs], axis=0)
    product /= product.sum()
    with pytest.raises(AssertionError):
        assert_same_law(chance(result), [(lambda θ: (θ - product @ GRID) ** 2, product @ (GRID - product @ GRID) ** 2)])


class Cauchy:
    """A count with Cauchy noise: a mechanism of one's own, whose density is all that is known of it."""

    name, size, epsilon = "Cauchy count", 1, math.inf
    value, scale = 11.0, 3.0

    def contributions(self, rows):
        return rows["x"][:, :1]

    def log_density(self, total):
        return -jnp.sum(jnp.log1p(((self.value - total) / self.scale) ** 2), axis=-1)


def test_rows_are_gone_through_one_after_the_other():
    """Against a loop in Python: each proposal is judged by the sum that the ones before it left."""
    rng = np.random.default_rng(2)
    c, others = rng.normal(0.5, 2.0, (2, 40, 1))
    logs, total, kept = np.log(rng.random(40)), c.sum(axis=0), c.copy()
    chances = []
    for i in range(40):
        replaced = total - c[i] + others[i]
        chances.append(min(0.0, float(Cauchy().log_density(replaced) - Cauchy().log_density(total))))
        if logs[i] < chances[-1]:
            total, kept[i] = replaced, others[i]
    with double_precision():
        rows, after, mean, least, most = update_rows([Cauchy()], logs, {"x": c}, {"x": others}, c, others)
    np.testing.assert_allclose(after, kept)
    np.testing.assert_array_equal(rows["x"], after)
    np.testing.assert_allclose([mean, least], [np.exp(chances).mean(), min(chances)], rtol=1e-4)
    assert most[0] >= -least


def test_factored_draws_and_a_mechanism_of_ones_own(seeded):
    curator = open_rows(THROWS, bounds=(0, 1))
    drawn = [FACTORED.draw(curator, epsilon=epsilon, bits=seeded(3)) for epsilon in (2.0, 4.0)]
    result = sampled(problem_of(), also=[*drawn, Cauchy()])
    scores = np.log(np.stack([1 - CHANCES, CHANCES]))
    summed = np.stack([ROWS - COUNTS, COUNTS], axis=1) @ scores
    logs = Cauchy().log_density(COUNTS[:, None]) + sum(
        log_softmax(one.rate * summed, axis=1)[:, one.index] for one in drawn
    )
    assert_same_law(chance(result), coin_moments(np.asarray(logs, dtype=np.float64)))


def test_a_gaussian_mean_with_gaussian_noise_is_conjugate(seeded):
    """Beside a count in the same release, so that contributions are of two numbers; bounds are wide."""
    numbers = np.random.default_rng(0).normal(1.5, 1.0, ROWS)
    curator = open_rows(np.stack([THROWS, numbers], axis=1), bounds=BOTH.space)
    release = curator.measure(BOTH, GaussianLoss(20.0), bits=seeded(4))
    result = sampled(problem_of(release))
    assert_same_law(chance(result), coin_moments(log_noise(release, BOTH)))
    zero, one = of_zero_and_one(BOTH)[:, 1]
    total, spread = (release.value[1] - ROWS * zero) / (one - zero), release.noise.scale / (one - zero)
    variance = ROWS + spread**2  # of the noisy sum of rows, given their mean
    precision = 1 / 4 + ROWS**2 / variance + len(PUBLIC)
    mean = (ROWS * total / variance + PUBLIC[:, 1].sum()) / precision
    assert_same_law(result.v[:, :, 1], normal_moments(norm(mean, precision**-0.5)))
    assert result.least_acceptance < math.exp(-1.0)


@pytest.mark.filterwarnings("ignore::discreet.inference.posterior.InferenceWarning")  # of short chains
def test_through_the_front_with_sums_and_factored_draws_together(seeded):
    """As many chains, rows and steps of warm-up as in the other tests, for which all is compiled."""
    rows = as_records(np.stack([THROWS, np.ones(ROWS)], axis=1), space=BOTH.space, missing="fill")
    mechanism = FactoredExponential(lambda x, z: log_likelihood(x[:, :1], z), CHANCES, math.log(0.1), math.log(0.9))
    curator = Curator(rows)
    drawn = [mechanism.draw(curator, epsilon=40.0, bits=seeded(i)) for i in range(2)]
    release = curator.measure(BOTH, LaplaceLoss(20.0), bits=seeded(2))
    result = infer(
        [*drawn, release], coin_and_number, public=PUBLIC, likelihood="exact", chains=CHAINS, draws=50,
        warmup=WARMUP, seed=1, start={"chance": 0.5, "mean": 0.0},
    )  # fmt: skip
    low, high = result.interval("chance", 0.999)
    assert low < HEADS / ROWS < high
    assert high - low < 0.6
    assert result.likelihood == "exact"
    facts = result.data.attrs
    assert facts["least_row_acceptance"] >= facts["least_row_acceptance_proved"] * (1 - 1e-9)


class Halved(NoisySum):
    """A density of half the noise that there was."""

    def log_density(self, total):
        return 2.0 * super().log_density(total)


class Longer(NoisySum):
    """Contributions that are √2 longer than was proved."""

    def contributions(self, rows):
        return math.sqrt(2.0) * super().contributions(rows)


@pytest.mark.parametrize("broken", [Halved, Longer, "rate"])
def test_the_acceptance_bound_finds_a_wrong_mechanism(seeded, broken):
    curator = open_rows(THROWS, bounds=(0, 1))
    if broken == "rate":
        drawn = FACTORED.draw(curator, epsilon=1.0, bits=seeded(3))
        wrong, name = dataclasses.replace(drawn, rate=8.0 * drawn.rate), "factored exponential mechanism"
    else:
        measured = read_measurements(curator.measure(UNIT, LaplaceLoss(1.0), bits=seeded(1)))
        wrong, name = broken(measured.sums[0], LAYOUT), "sum"
    with pytest.raises(RuntimeError, match=f"{name}: its density or its sensitivity is wrong"):
        sampled(problem_of(), also=[wrong])


def test_a_replaced_row_is_two_steps_of_add_remove(seeded):
    curator = open_rows(THROWS, bounds=(0, 1), neighbors="add-remove")
    measured = read_measurements(curator.measure(UNIT, LaplaceLoss(0.5, "add-remove"), bits=seeded(1)))
    assert NoisySum(measured.sums[0], LAYOUT).epsilon == 1.0
    assert FactoredDraw.from_choice(FACTORED.draw(curator, epsilon=0.25, bits=seeded(1)), LAYOUT).epsilon == 0.5


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (None, {}, "rows=None: expected the number of rows"),
        (2.5, {}, "rows=2.5: expected a whole number"),
        (10**6, {}, "rows=1000000: expected at most 10000 for 1 released numbers.*likelihood='normal'"),
        (20, {"draws": 0}, "draws=0: expected a whole number"),
        (20, {"steps": 0}, "steps=0: expected a whole number"),
        (20, {"start": np.zeros(3)}, r"start of shape \(3,\): expected \(2,\)"),
    ],
)
def test_what_cannot_be_done_is_refused_first(seeded, rows, options, message):
    release = open_rows(THROWS, bounds=(0, 1)).measure(UNIT, LaplaceLoss(1.0), bits=seeded(1))
    with pytest.raises(ValueError, match=message):
        sampled(problem_of(release, rows=rows), **options)


def test_other_refusals(seeded):
    release = open_rows(THROWS, bounds=(0, 1)).measure(UNIT, LaplaceLoss(1.0), bits=seeded(1))
    drawn = FACTORED.draw(Curator(THROWS[:, None], space=UNIT.space, name="another"), epsilon=1.0, bits=seeded(1))
    with pytest.raises(ValueError, match="expected releases of the rows of one data set"):
        sampled(problem_of(release), also=[drawn])
    with pytest.raises(ValueError, match="expected at least one"):
        sampled(problem_of())


def test_a_bar_is_shown_on_request(seeded, capsys):
    """With the warm-up of the other tests, for which the chains are compiled."""
    problem = problem_of(open_rows(THROWS, bounds=(0, 1)).measure(UNIT, LaplaceLoss(1.0), bits=seeded(1)))
    sampled(problem, draws=1)
    assert not capsys.readouterr().err
    sampled(problem, draws=1, progress=True)
    assert f"{WARMUP + 1}/{WARMUP + 1}" in capsys.readouterr().err
