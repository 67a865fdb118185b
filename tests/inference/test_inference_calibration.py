"""Whether intervals hold the truth as often as they say, and whether those of wrong posteriors do not.

``benchmarks/bench_calibration.py`` does this over thousands of data sets; here it is a coin, and few of them. Where
noise is *loud* the posterior that takes releases for the rows' own sums must fail. Where it is *quiet* and releases are
many, the one that multiplies their likelihoods must.

Of a coin the exact posterior is a sum over the heads. Parameters are drawn from the prior, so an interval's probability
under that posterior is the chance that it holds the truth, given the releases: its mean over the data sets is the
coverage, and says more than counting does. Seeds are fixed.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import beta, binom

import discreet as dp
from conftest import FALSE_ALARM
from discreet.noise import NotPrivateWarning
from effort import size

numpyro = pytest.importorskip("numpyro")

from discreet.inference import InferenceWarning  # noqa: E402

THROWS, TIMES, SETS, LEVEL = 100, 8, size(6, 12), 0.9
EPSILON = {"quiet": 4.0, "loud": 0.03}
HEADS, CHANCES = np.arange(THROWS + 1), (np.arange(400) + 0.5) / 400
LOG_ROWS = binom.logpmf(HEADS, THROWS, CHANCES[:, None])

# An end of an interval from draws that are worth 50 has a share of at most √(0.05·0.95/50) = 0.031 around it, as a
# standard deviation; both ends 0.044, the mean of 12 data sets 0.0127. 6.3 of these are 0.08: a false alarm of 3e-10.
SLACK = 0.08 * np.sqrt(12 / SETS)


def coin():
    chance = numpyro.sample("chance", numpyro.distributions.Uniform())
    numpyro.sample("x0", numpyro.distributions.Bernoulli(chance))


def drawn(kind, i, bits):
    """Return a chance from the prior, and releases of the heads of one data set."""
    rng = np.random.default_rng([i, len(kind)])
    chance = rng.uniform()
    curator = dp.Curator(rng.binomial(1, chance, (THROWS, 1)).astype(float), space=dp.Box(0.0, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return chance, [
            curator.measure(dp.Sum(curator.space), dp.Guarantee(EPSILON[kind]), bits=bits) for _ in range(TIMES)
        ]


def noisy_heads(releases):
    """Return the noisy heads, and the scale of their noise; what was summed is 2x − 1."""
    return np.array([(release.value[0] + THROWS) / 2 for release in releases]), releases[0].noise.scale / 2


def shares(releases, *, together):
    """Return the posterior's distribution function at the chances: of all releases, or of the product over them."""
    noisy, scale = noisy_heads(releases)
    log_noise = -np.abs(noisy[:, None] - HEADS) / scale
    parts = [log_noise.sum(axis=0)] if together else log_noise
    log_density = sum(logsumexp(LOG_ROWS + part, axis=1) for part in parts)
    return np.cumsum(np.exp(log_density - logsumexp(log_density)))


def exact(releases, seed):
    return np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], shares(releases, together=True), CHANCES)


def product(releases, seed):
    return np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], shares(releases, together=False), CHANCES)


def naive(releases, seed):
    """Take the mean of the releases for the heads."""
    seen = float(np.clip(noisy_heads(releases)[0].mean(), 0.0, THROWS))
    return beta.interval(LEVEL, 1 + seen, 1 + THROWS - seen)


def inferred(releases, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # of chains that are short on purpose
        posterior = dp.infer(
            releases, coin, rows=THROWS, start={"chance": 0.5}, chains=2, draws=150, warmup=100, seed=seed
        )
    return posterior.interval("chance", LEVEL)


def coverage(interval, kind, seeded):
    """Return the mean probability of intervals, and in how many data sets they hold the truth."""
    inside, held = [], 0
    for i in range(SETS):
        chance, releases = drawn(kind, i, seeded(i))
        low, high = interval(releases, i)
        inside.append(np.diff(np.interp([low, high], CHANCES, shares(releases, together=True)))[0])
        held += bool(low <= chance <= high)
    return np.mean(inside), held


@pytest.mark.parametrize("interval", [inferred, exact])
def test_right_intervals_hold_the_truth_as_often_as_they_say(interval, seeded):
    result = [coverage(interval, kind, seeded) for kind in EPSILON]
    assert [mean for mean, _ in result] == pytest.approx([LEVEL, LEVEL], abs=SLACK)
    assert sum(held for _, held in result) >= binom.ppf(FALSE_ALARM, len(EPSILON) * SETS, LEVEL)


def test_intervals_that_ignore_the_noise_fail_where_it_is_loud(seeded):
    assert coverage(naive, "loud", seeded)[0] < LEVEL - 4 * SLACK


def test_the_product_over_releases_of_the_same_rows_fails_where_noise_is_quiet(seeded):
    assert coverage(product, "quiet", seeded)[0] < LEVEL - 4 * SLACK
