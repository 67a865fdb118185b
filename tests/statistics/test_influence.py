"""Influence and gross error sensitivity: known values, and no way to hand private rows in by mistake."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.special import ndtri

from discreet.door import open_rows
from discreet.statistics.density.densities import density
from discreet.statistics.robust.robustness import (
    ESTIMATORS,
    gross_error_sensitivity,
    influence,
    weighted_huber,
    weighted_mean,
    weighted_median,
    weighted_trimmed_mean,
)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=2001)


@pytest.mark.parametrize("scale", [0.3, 1e-2, 1e-6])
def test_the_mean_is_pulled_by_how_far_a_point_is(rows, scale):
    result = influence("mean", rows, bounds=(-50, 80), scale=scale)
    np.testing.assert_allclose(result.values, result.points - rows.mean(), rtol=1e-6, atol=1e-6)
    assert result.where == 80.0
    assert result.gross_error_sensitivity == pytest.approx(80.0 - rows.mean(), rel=1e-6)


def test_the_median_is_pulled_by_half_over_the_density():
    """IF = sign(x)/(2f(0)) = ±√(π/2) for standard normal rows."""
    result = influence("median", ndtri((np.arange(2001) + 0.5) / 2001), bounds=(-50, 50), scale=0.02)
    far = np.abs(result.points) > 1.0
    np.testing.assert_allclose(result.values[far], np.sign(result.points[far]) * np.sqrt(np.pi / 2.0), rtol=0.03)
    assert result.gross_error_sensitivity == pytest.approx(np.sqrt(np.pi / 2.0), rel=0.03)


def test_the_huber_location_is_pulled_by_its_bend(rows):
    """IF = clip(x, −k, k)/P(|X| < k) for normal rows."""
    result = influence("huber", rows, bounds=(-50, 50), scale=1e-3, k=1.0)
    assert result.gross_error_sensitivity == pytest.approx(1.0 / 0.6827, rel=0.05)


def test_robust_estimators_have_bounded_sensitivity_and_the_mean_has_not(rows):
    for name in ("median", "trimmed", "huber"):
        near, far = (gross_error_sensitivity(name, rows, bounds=(-b, b), scale=0.01) for b in (10.0, 1e6))
        assert far == pytest.approx(near, rel=0.05)
        assert far < 4.0
    assert gross_error_sensitivity("mean", rows, bounds=(-1e6, 1e6), scale=0.01) == pytest.approx(1e6, rel=1e-3)


def test_the_scale_follows_from_epsilon_and_the_number_of_rows(rows):
    result = influence("mean", rows, bounds=(-9, 9), epsilon=0.5)
    assert result.scale == pytest.approx(1.0 / (0.5 * 2001))
    assert influence("mean", rows, bounds=(-9, 9), epsilon=0.5, n=100).scale == pytest.approx(0.02)
    assert result.extra_error(0.5, 2001) == pytest.approx(result.gross_error_sensitivity * result.scale)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_are_as_good_as_repeated_rows(name):
    rng = np.random.default_rng(1)
    rows, times = rng.normal(size=40), rng.integers(1, 6, 40)
    estimator = ESTIMATORS[name]
    repeated = np.repeat(rows, times)
    assert estimator(rows, times.astype(float)) == pytest.approx(estimator(repeated, np.ones(len(repeated))), abs=1e-9)


def test_estimators_on_rows_that_are_equal_or_alone():
    for estimator in (weighted_mean, weighted_median, weighted_trimmed_mean, weighted_huber):
        assert estimator(np.array([2.0]), np.ones(1)) == 2.0
        assert estimator(np.full(7, 2.0), np.ones(7)) == pytest.approx(2.0)


def test_an_estimator_of_ones_own_and_candidates_of_ones_own(rows):
    result = influence(lambda x, w: float(w @ x**2), rows, bounds=(-3, 3), scale=0.1, candidates=[2.0, -1.0, 2.0])
    assert result.points.tolist() == [-1.0, 2.0]
    np.testing.assert_allclose(result.values, result.points**2 - np.mean(np.clip(rows, -3, 3) ** 2))


def test_rows_drawn_from_a_private_density_do(seeded):
    private = np.random.default_rng(2).normal(170.0, 8.0, 3000)
    made_up = density(private, epsilon=1.0, bounds=(100, 250), bits=seeded(0)).sample(500, np.random.default_rng(0))
    result = influence("median", made_up, bounds=(100, 250), epsilon=1.0)
    assert 0.0 < result.extra_error(1.0, 3000) < 0.1


def test_rows_behind_a_door_are_refused():
    curator = open_rows([1.0, 2.0], bounds=(0, 3))
    for private in (curator, "rows.parquet"):
        with pytest.raises(ValueError, match="not private"):
            influence("mean", private, bounds=(0, 3), scale=0.1)
    assert "NOT PRIVATE" in repr(influence("mean", [1.0], bounds=(0, 3), scale=0.1))


def test_a_plot_shows_the_curve(rows):
    result = influence("trimmed", rows, bounds=(-5, 5), scale=0.05, trim=0.2)
    axes = result.plot()
    assert len(axes.lines[0].get_xdata()) == len(result.points)
    assert result.plot(axes) is axes
    assert "matplotlib.pyplot" not in sys.modules or axes.figure is not None


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"estimator": "mode"}, "estimator="),
        ({"rows": []}, "rows"),
        ({"rows": [[1.0]]}, "rows"),
        ({"rows": [np.nan]}, "rows"),
        ({"bounds": (1, 0)}, "bounds="),
        ({"bounds": 5}, "bounds="),
        ({"bounds": (0, np.inf)}, "bounds="),
        ({"scale": None}, "scale=None"),
        ({"epsilon": 1.0}, "scale=0.1"),
        ({"scale": 1.0}, "scale=1.0"),
        ({"scale": None, "epsilon": 1e-9}, "epsilon="),
        ({"n": 0}, "n="),
        ({"candidates": [9.0]}, "candidates"),
        ({"candidates": []}, "candidates"),
        ({"trim": 0.1}, "trim"),
        ({"estimator": "trimmed", "trim": 0.5}, "trim="),
        ({"estimator": "huber", "k": 0.0}, "k="),
        ({"estimator": weighted_mean, "k": 1.0}, "k"),
    ],
)
def test_bad_arguments_are_refused(arguments, name):
    with pytest.raises(ValueError, match=name):
        influence(**{"estimator": "mean", "rows": [1.0, 2.0], "bounds": (0, 3), "scale": 0.1} | arguments)
