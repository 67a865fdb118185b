"""Noises in floats: no atom anywhere, the right mass near zero, and a δ that is no less than the true one."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import kstest
from test_mechanisms import quiet_bits

import discreet.mechanisms as dm
from conftest import FALSE_ALARM
from goodness import binomial_p
from together import together

POWERS = (1.25, 2.0, 3.5, 4.0, 10.0, 64.0)
NOISES = [
    *(dm.CauchyNoise(power) for power in POWERS),
    *(dm.StudentNoise(freedom) for freedom in (0.25, 1.0, 2.0, 3.0, 1e4)),
    dm.LaplaceSlide(),
    dm.GaussianSlide(),
]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_no_value_is_drawn_twice_and_none_is_zero(noise):
    """Of 1e5 draws from 2⁵² values two are equal with probability 1e-6, but the seed is fixed."""
    z = np.abs(noise.sample(100_000, quiet_bits(21)))
    assert np.isfinite(z).all()
    assert z.min() > 0.0
    assert len(np.unique(z)) == len(z)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_mass_near_zero_is_the_densitys(noise):
    """P(|Z| ≤ h) = 2h·density, which falls by at most 1 % within 0.01: the mean of both ends is right to 1e-3."""
    z = np.abs(noise.sample(200_000, quiet_bits(22)))
    top = math.exp(noise.log_density(np.float64(0.0)))
    for h in (0.01, 1e-3):
        end = math.exp(noise.log_density(np.float64(h)))
        assert 0.99 * top < end <= top
        assert binomial_p(int((z <= h).sum()), z.size, h * (top + end)) > FALSE_ALARM


@pytest.mark.parametrize("noise", NOISES[len(POWERS) :], ids=repr)
def test_quantiles_keep_their_digits_near_zero(noise):
    top = math.exp(noise.log_density(np.float64(0.0)))
    u = np.array([2.0**-53, 1e-15, 1e-12, 1e-9, 1e-6])
    assert noise.quantile(u) * 2.0 * top == pytest.approx(u, rel=1e-5, abs=2.0**-52)


@pytest.mark.parametrize("power", POWERS)
def test_the_generalised_cauchy_has_its_law(power):
    """z^γ/(1 + z^γ) is beta distributed; two-sided, and for each power by itself."""

    def mass(z):
        far = np.abs(z) ** power
        low, high = betainc(1 / power, 1 - 1 / power, far / (1 + far)), betainc(1 - 1 / power, 1 / power, 1 / (1 + far))
        return np.where(far < 1.0, low, 1.0 - high)

    z = dm.CauchyNoise(power).sample(50_000, quiet_bits(23))
    assert kstest((1.0 + np.sign(z) * mass(z)) / 2.0, "uniform").pvalue > FALSE_ALARM


def test_draws_of_all_sizes():
    for noise in NOISES:
        assert noise.sample(0).shape == (0,)
        assert noise.sample(1).shape == (1,)


class TestGaussianDelta:
    """δ₂ + e^(ε₂)·δ₁, as the docstring has it, with 60 digits."""

    @staticmethod
    def true(epsilon, delta, share=0.5):
        with mpmath.workdps(60):
            alpha, beta = map(mpmath.mpf, dm.GaussianSlide().rates(epsilon, delta, share))
            first = mpmath.mpf(share) * mpmath.mpf(epsilon)
            second = mpmath.mpf(epsilon) - first
            c = mpmath.sqrt(2 * (second + beta) / mpmath.expm1(2 * beta))
            stretch = 2 * mpmath.ncdf(-c) - mpmath.exp(second) * 2 * mpmath.ncdf(-mpmath.exp(beta) * c)
            slide = mpmath.ncdf(alpha / 2 - first / alpha) - mpmath.exp(first) * mpmath.ncdf(-alpha / 2 - first / alpha)
            return float(stretch / delta), float(mpmath.exp(second) * slide / delta), float(beta / second)

    @together("delta", [1e-100, 1e-20, 1e-14, 1e-10, 1e-6, 1e-2])
    @together("epsilon", [1e-14, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 50.0])
    def test_it_is_never_more_than_was_promised_and_hardly_less(self, epsilon, delta):
        stretch, slide, used = self.true(epsilon, delta)
        assert stretch <= 0.5
        assert stretch + slide <= 1.0
        assert stretch >= 0.5 * (1.0 - 1e-6) or used > 1.0 - 1e-9

    def test_shares(self):
        for share in (0.1, 0.9):
            assert sum(self.true(1e-9, 1e-12, share)[:2]) <= 1.0

    def test_errors_speak_of_what_was_asked_for(self):
        for epsilon, delta in ((1e3, 1e-300), (1.0, 1e-306)):
            with pytest.raises(ValueError, match=rf"epsilon={epsilon!r}, delta={delta!r}: expected a larger δ.*write"):
                dm.GaussianSlide().rates(epsilon, delta)
        with pytest.raises(ValueError, match=r"epsilon=1000.0, delta=1e-300"):
            dm.smooth_median([0.5], bounds=(0, 1), epsilon=1e3, delta=1e-300, noise=dm.GaussianSlide())
        with pytest.raises(ValueError, match=r"epsilon=1e-322, delta=1e-06"):
            dm.LaplaceSlide().rates(1e-322, 1e-6, 0.999)
