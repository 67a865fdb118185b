"""The search for clusters: cells move to where clusters are, and components start there."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.models.mixture.adaptive_model import spread_over
from discreet.models.mixture.cell_search import CellSearch
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.queries.moments.clipped_moments import SHAPES, Components


def make_search(d=2, cells=6, shape="full", steps=4):
    base = Components(np.ones(1), np.zeros((1, d)), 0.04 * np.eye(d)[None])
    start = spread_over(base, cells, np.random.default_rng(0))
    return CellSearch(base, start, Clipping.at_quantile(d, 0.8), Shape(shape, d), steps)


def measure(search, cells, rows, loss=1e6):
    curator = dp.Curator(rows, space=dp.Ball(1.0, center=np.zeros(rows.shape[1])))
    return curator.measure(search.query(cells, curator.space), dp.GaussianLoss(loss))


def three_clusters(seed, count=3000):
    rng = np.random.default_rng(seed)
    centres = np.array([[-0.3, 0.0], [0.3, 0.05], [0.0, 0.3]])
    return centres, centres[rng.integers(0, 3, count)] + 0.02 * rng.standard_normal((count, 2))


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_it_finds_every_cluster(seed):
    centres, rows = three_clusters(seed)
    search = make_search(steps=6)
    rng = np.random.default_rng(seed)
    cells = search.initialize(2, rng)
    for _ in range(6):
        cells = search.maximize(cells, measure(search, cells, rows))
    found = search.reduce(cells, 3, rng)
    distances = np.linalg.norm(found.means[:, None] - centres[None], axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1).max() < 0.02


def test_a_cell_without_rows_halves_the_widest():
    """All cells but one start far from the rows; after two steps several of them are among the rows."""
    _, rows = three_clusters(0)
    search = make_search()
    away = np.array([[0.0, 0.1], *[[-0.9, -0.1 * k] for k in range(1, 5)], [-0.8, 0.5]])
    start = Components(search.start.weights, away, search.start.covariances * 0.5)
    cells = CellSearch(search.base, start, search.clipping, search.shape, 4).initialize(2, np.random.default_rng(0))
    for _ in range(2):
        cells = search.maximize(cells, measure(search, cells, rows))
    assert (np.linalg.norm(cells.components.means, axis=1) < 0.6).sum() >= 2


@pytest.mark.parametrize("shape", SHAPES)
def test_components_start_with_the_covariance_type_that_was_asked_for(shape):
    _, rows = three_clusters(1)
    search = make_search(shape=shape)
    rng = np.random.default_rng(0)
    cells = search.maximize(search.initialize(2, rng), measure(search, search.initialize(2, rng), rows))
    covariances = search.reduce(cells, 3, rng).covariances
    if shape in ("diag", "spherical"):
        assert (covariances[:, 0, 1] == 0.0).all()
    if shape == "spherical":  # the base is round
        np.testing.assert_allclose(covariances[:, 0, 0], covariances[:, 1, 1])
    assert (covariances == covariances[0]).all()
