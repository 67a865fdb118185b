"""Posteriors of series: against the Kalman smoother, against quadrature, and calibrated over many series."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.stats import chi2, laplace, norm

import discreet as dp
from discreet import signals
from discreet.inference.series import series_posterior
from discreet.noise import NotPrivateWarning, SeededBits
from effort import size

STEPS = 8
MODEL = signals.StateSpace([[1.0, 1.0], [0.0, 0.9]], [[1.0, 0.0]], np.diag([4.0, 0.25]), 9.0)
NEVER = 1e-9


def as_events(totals):
    """Return rows of times and values in [−1, 1] with these totals."""
    counts = np.ceil(np.abs(totals)).astype(int) + 1
    return np.column_stack([np.repeat(np.arange(len(totals)) + 0.5, counts), np.repeat(totals / counts, counts)])


def release(measure, totals, seed=0, **given):
    common = {"time": 0, "value": 1, "steps": len(totals), "epsilon": 2.0, "bounds": [(0, len(totals)), (-1, 1)]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return measure(as_events(totals), **common | given, bits=SeededBits(seed))


def assert_moments(draws, mean, std, effective):
    """Assert moments of draws, with a false alarm below 1e-9 for all of some hundred numbers."""
    np.testing.assert_array_less(abs(draws.mean(axis=0) - mean) / std, 7.0 / math.sqrt(effective))
    np.testing.assert_array_less(abs(np.log(draws.std(axis=0) / std)), 7.0 * math.sqrt(1.0 / effective))


@pytest.mark.parametrize("most", [0, 500], ids=["smoother", "sums"])
@pytest.mark.parametrize("missing", [None, [1, 5]])
def test_a_declared_model_has_the_posterior_of_the_kalman_smoother(most, missing, monkeypatch):
    monkeypatch.setattr(series_posterior, "MOST_SUMMED", most)
    totals = np.array([0.0, 5.0, 3.0, 20.0, 26.0, 21.0, 30.0, 44.0])
    for target, name in (("totals", "totals"), ("level", "level")):
        fit = release(signals.kalman, totals, model=MODEL, noise="gaussian", target=target, missing=missing)
        posterior = dp.infer(fit, seed=0)
        assert_moments(posterior.draws(name), fit.value, fit.std, 4000)
    assert posterior.diagnostics.sampler == "independent"
    assert "independent of one another" in repr(posterior)
    assert "chains agree" not in repr(posterior)
    np.testing.assert_allclose(posterior.draws("sums"), np.cumsum(posterior.draws("totals"), axis=1))


def test_the_first_state_is_used_where_it_is_declared(monkeypatch):
    known = signals.StateSpace([[1.0]], [[1.0]], [[0.0]], 1.0, [50.0], [[4.0]])
    fit = release(signals.kalman, np.full(STEPS, 40.0), model=known, noise="gaussian")
    for most in (0, 500):
        monkeypatch.setattr(series_posterior, "MOST_SUMMED", most)
        assert_moments(dp.infer(fit, seed=0).draws("totals"), fit.value, fit.std, 4000)


def test_laplace_noise_is_exact():
    known = signals.StateSpace([[1.0]], [[1.0]], [[0.0]], 1.0, [0.0], [[3.0]])
    fit = release(signals.kalman, np.array([20.0]), model=known, noise="laplace")  # far from what the model expects
    grid = np.linspace(-30.0, 50.0, 20_001)
    scale = math.sqrt(fit.release.noise.variance / 2.0)
    mass = norm.pdf(grid, scale=2.0) * laplace.pdf(grid - fit.release.value[0], scale=scale)
    mass /= mass.sum()
    mean = float(mass @ grid)
    posterior = dp.infer(fit, seed=0)
    std = math.sqrt(float(mass @ (grid - mean) ** 2))
    assert_moments(posterior.draws("totals")[:, 0], mean, std, posterior.diagnostics.ess)
    gaussian = 4.0 / (4.0 + fit.release.noise.variance) * fit.release.value[0]
    assert abs(gaussian - mean) / std > 14.0 / math.sqrt(posterior.diagnostics.ess)  # else nothing was tested


def test_chains_and_the_grid_agree_on_unknown_standard_deviations(monkeypatch):
    rng = np.random.default_rng(0)
    fit = release(signals.kalman, rng.normal(np.cumsum(rng.normal(0.0, 3.0, 16)), 2.0), noise="gaussian")
    grid = dp.infer(fit, seed=0)
    assert grid.diagnostics.sampler == "grid"
    monkeypatch.setattr(series_posterior, "MOST_SUMMED", 0)
    chains = dp.infer(fit, seed=0)
    assert chains.diagnostics.sampler == "gibbs"
    for name in ("level_sd", "total_sd", "totals", "level"):
        one, other = np.log(abs(grid.draws(name))), np.log(abs(chains.draws(name)))
        error = one.std(axis=0) * math.sqrt(1.0 / 4000 + 1.0 / chains.diagnostics.ess)
        np.testing.assert_array_less(abs(one.mean(axis=0) - other.mean(axis=0)) / error, 7.0)


def test_running_sums_are_calibrated_and_the_noise_matters():
    scores, worse = [], []
    for i in range(size(36, 400)):
        rng = np.random.default_rng(i)
        moves, scatter = abs(np.tan(np.pi * (rng.uniform(size=2) - 0.5)))
        totals = rng.normal(np.cumsum(rng.normal(0.0, moves, STEPS)), scatter).clip(-1e4, 1e4)
        fit = release(signals.running_sum, totals, seed=i)
        draws = dp.infer(fit, chains=1, draws=400, seed=i).draws("sums")[:, -1]
        noise = fit.value[-1] - totals.sum()
        for truth, result in ((totals.sum(), scores), (totals.sum() - 2.0 * noise, worse)):  # three times the noise
            result.append(norm.ppf((np.sum(draws < truth) + rng.uniform()) / (len(draws) + 1)))
    low, high = chi2.ppf([NEVER / 2.0, 1.0 - NEVER / 2.0], len(scores))
    assert low < np.sum(np.square(scores)) < high < np.sum(np.square(worse))


def test_a_release_of_a_series_is_enough():
    fit = release(signals.running_sum, np.arange(float(STEPS)))
    one, other = (dp.infer(given, chains=1, draws=50, seed=0) for given in (fit, fit.release))
    np.testing.assert_array_equal(one.draws("totals"), other.draws("totals"))
    assert one.guarantee == fit.guarantee


def test_persons_are_moved_back_from_the_middle_of_their_bounds():
    rows = np.full((400, 6), 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        fit = signals.running_sum(rows, epsilon=3.0, bounds=(0, 4), bits=SeededBits(0))
    posterior = dp.infer(fit, seed=0)
    low, high = posterior.interval("sums", 1.0 - 1e-6)
    assert np.all((low < 1200.0 * np.arange(1, 7)) & (1200.0 * np.arange(1, 7) < high))
    assert posterior.plot("sums") is not None
    assert posterior.plot("level_sd") is not None


def test_what_has_no_posterior_is_refused_with_what_to_write():
    events = np.repeat(np.arange(16) + 0.5, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        chosen = signals.fourier(events, time=0, steps=16, epsilon=1.0, bounds=(0, 16), bits=SeededBits(0))
        fixed = signals.fourier(
            events, time=0, steps=16, coefficients=5, epsilon=1.0, bounds=(0, 16), bits=SeededBits(0)
        )
        long = signals.running_sum(events, time=0, steps=501, epsilon=1.0, bounds=(0, 16), bits=SeededBits(0))
    with pytest.raises(ValueError, match="coefficients="):
        dp.infer(chosen)
    assert dp.infer(fixed, draws=50, seed=0).draws("totals").shape == (200, 16)
    with pytest.raises(ValueError, match="at most 500 steps, got 501"):
        dp.infer(long)
    with pytest.raises(ValueError, match="rows"):
        dp.infer(fixed, rows=100)
