"""Round Gaussians that are fitted to a noisy histogram."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from discreet.models.mixture.matched_gaussians import match_gaussians, matching_size


def histogram(shape, reach, centers, rows, width):
    """Return the expected counts of a grid from −reach to reach."""
    result = np.zeros(shape)
    for center, number in zip(centers, rows, strict=True):
        cells = np.array(float(number))
        for size, far, middle in zip(shape, reach, center, strict=True):
            edges = np.linspace(-far, far, size + 1)
            cells = np.multiply.outer(cells, np.diff(norm.cdf(edges, middle, width)))
        result += cells
    return result


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_clusters_are_found_beside_much_more_noise(columns):
    shape, reach = (30, 12, 10)[:columns], np.array([2.5, 2.0, 1.5])[:columns]
    centers = np.array([[-1.5, 1.0, 0.5], [0.2, -1.0, -0.6], [1.6, 0.6, 0.9]])[:, :columns]
    rows = np.array([300.0, 220.0, 260.0])
    rng = np.random.default_rng(columns)
    noisy = histogram(shape, reach, centers, rows, 0.15) + rng.normal(0.0, 15.0, shape)
    found, numbers, width = match_gaussians(noisy, reach, 3)
    distances = np.linalg.norm(found[:, None] - centers, axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1).max() < 0.35
    assert np.abs(numbers - rows[distances.argmin(axis=1)]).max() < 150.0
    assert 0.05 < width < 0.4


def test_two_near_ones_do_not_share_one_of_twice_the_width():
    reach, centers = np.array([2.0, 2.0, 2.0]), np.array([[0.0, 0.0, -0.4], [0.0, 0.0, 0.4], [1.5, 1.5, 1.5]])
    exact = histogram((12, 12, 12), reach, centers, [200.0, 200.0, 100.0], 0.15)
    found, _, width = match_gaussians(exact, reach, 3)
    assert np.linalg.norm(found[:, None] - centers, axis=2).min(axis=0).max() < 0.3
    assert width < 0.3


@pytest.mark.parametrize("value", [0.0, -5.0, 1.0, 1e200])
def test_any_counts_give_finite_numbers(value):
    found, rows, width = match_gaussians(np.full((4, 3), value), np.array([2.0, 1.0]), 5)
    assert found.shape == (5, 2)
    assert (np.abs(found) <= [2.0, 1.0]).all()
    assert np.isfinite(rows).all()
    assert (rows >= 0.0).all()
    assert width > 0.0


def test_cells_are_smaller_where_there_is_less_noise():
    sizes = [matching_size(8, 2000.0, noise) for noise in (1000.0, 20.0, 10.0, 0.01)]
    assert sizes == [64, 375, 1500, 4096]
