"""The search for clusters: cells move to where clusters are, and components start there."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.door import PublicSize
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.adaptive_model import spread_over
from discreet.models.mixture.cell_search import CellSearch
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.queries.moments.clipped_moments import SHAPES, Components


def make_search(d=2, cells=6, shape="full", steps=4):
    base = Components(np.ones(1), np.zeros((1, d)), 0.04 * np.eye(d)[None])
    start = spread_over(base, cells, np.random.default_rng(0))
    return CellSearch(base, start, Clipping.at_quantile(d, 0.8), Shape(shape, d), 3, steps)


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
    found = search.reduce(cells, rng)
    distances = np.linalg.norm(found.means[:, None] - centres[None], axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1).max() < 0.02


def test_a_cell_without_rows_halves_the_widest():
    """All cells but one start far from the rows; after two steps several of them are among the rows."""
    _, rows = three_clusters(0)
    search = make_search()
    away = np.array([[0.0, 0.1], *[[-0.9, -0.1 * k] for k in range(1, 5)], [-0.8, 0.5]])
    start = Components(search.start.weights, away, search.start.covariances * 0.5)
    cells = replace(search, start=start).initialize(2, np.random.default_rng(0))
    for _ in range(2):
        cells = search.maximize(cells, measure(search, cells, rows))
    assert (np.linalg.norm(cells.components.means, axis=1) < 0.6).sum() >= 2


@pytest.mark.parametrize("shape", SHAPES)
def test_components_start_with_the_covariance_type_that_was_asked_for(shape):
    _, rows = three_clusters(1)
    search = make_search(shape=shape)
    rng = np.random.default_rng(0)
    cells = search.maximize(search.initialize(2, rng), measure(search, search.initialize(2, rng), rows))
    covariances = search.reduce(cells, rng).covariances
    if shape in ("diag", "spherical"):
        assert (covariances[:, 0, 1] == 0.0).all()
    if shape == "spherical":  # the base is round
        np.testing.assert_allclose(covariances[:, 0, 0], covariances[:, 1, 1])
    assert (covariances == covariances[0]).all()


@pytest.mark.parametrize("power", ["as it is", "none"])
def test_few_directions_in_which_clusters_differ_are_found_among_many(power, monkeypatch):
    """Three clusters in 20 columns differ in two directions; two steps tell them, if they are exaggerated."""
    if power == "none":
        monkeypatch.setattr("discreet.models.mixture.cell_search.EXAGGERATION", 0.0)
    rng = np.random.default_rng(3)
    centres = 0.12 * rng.standard_normal((3, 20))
    rows = centres[rng.integers(0, 3, 20_000)] + 0.03 * rng.standard_normal((20_000, 20))
    base = Components(np.ones(1), rows.mean(axis=0)[None], np.cov(rows.T)[None])
    search = CellSearch(base, spread_over(base, 12, rng), Clipping.at_quantile(20, 0.8), Shape("full", 20), 3, 2)
    cells = search.initialize(20, rng)
    for _ in range(2):
        cells = search.maximize(cells, measure(search, cells, rows))
    within = np.linalg.eigvalsh(base.whitening[0] @ cells.factor @ cells.factor.T @ base.whitening[0].T)
    assert (within[1] < 0.05) == (power == "as it is")


def test_the_search_is_paid_from_the_same_budget_and_left_out_where_it_would_be_blind():
    def plan(epsilon, count=3, d=10, rows=24_000):
        box, guarantee = dp.Box(-1.0, 1.0).for_columns(d), dp.Guarantee(epsilon, 1e-6)
        return Adaptive.for_data(count, box, guarantee, PublicSize(rows, True))

    for epsilon in (0.05, 0.1, 0.3, 1.0, 4.0):
        assert sum(plan(epsilon).shares) == pytest.approx(1.0)
    assert plan(0.1).search_steps == 0 < plan(0.3).search_steps
    assert plan(0.3).search_share == plan(0.2).search_share > plan(4.0).search_share
    assert [plan(1.0, count).search_steps for count in (1, 2, 5, 20, 60)] == [0, 4, 5, 8, 8]


@pytest.mark.parametrize("value", [0.0, -1e300, 1e300, 1e307, -1e307, 5e-324])
def test_any_finite_release_gives_components(value):
    search, rng = make_search(), np.random.default_rng(0)
    cells = search.initialize(2, rng)
    release = measure(search, cells, three_clusters(0)[1])
    ends = np.cumsum([0, *(np.prod(part.shape, dtype=int) for part in release.parts.values())])
    for start, end in [(0, ends[-1]), *itertools.pairwise(ends)]:
        values = release.value.copy()
        values[start:end] = value
        found = search.maximize(cells, replace(release, value=values, provenance="simulated"))
        assert all(np.all(np.isfinite(each)) for each in (found.components.covariances, found.sizes, found.shrunk))
        assert np.all(np.isfinite(search.reduce(found, rng).factors))
