"""The search for clusters: centres move to where clusters are, and a mixture starts there."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.door import PublicSize
from discreet.models.clusters.lloyd_search import LloydSearch, MovingCenters, _read_step
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.cluster_start import start_at_clusters
from discreet.models.mixture.own_coordinates import Shape
from discreet.queries.moments.clipped_moments import SHAPES
from discreet.queries.moments.components import Components


def clusters(seed, count=3, d=2, rows=3000):
    """Return centres in the unit ball, rows around them, and the Gaussian of all rows."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((count, d))
    centres *= 0.5 / np.linalg.norm(centres, axis=1).max()
    table = centres[rng.integers(0, count, rows)] + 0.02 * rng.standard_normal((rows, d))
    return centres, table, Components(np.ones(1), table.mean(axis=0)[None], np.cov(table.T)[None])


def find(table, base, count, steps=8, noise=1e-3, seed=0, releases=None):
    search = LloydSearch(count, steps, noise, np.sqrt(np.diag(base.covariances[0])))
    curator = dp.Curator(table, space=dp.Ball(1.0, center=np.zeros(table.shape[1])))

    def measure(question):
        release = curator.measure(question, dp.GaussianLoss(1e6))
        if releases is not None:
            releases.append(release)
        return release

    return search, search.run(base, float(len(table)), curator.space, np.random.default_rng(seed), measure)


@pytest.mark.parametrize(("count", "d"), [(3, 2), (4, 3), (10, 12), (5, 30)])
@pytest.mark.parametrize("seed", range(3))
def test_without_noise_it_finds_every_cluster(count, d, seed):
    centres, table, base = clusters(seed, count, d)
    search, found = find(table, base, count, seed=seed)
    start = start_at_clusters(found, search, base, Shape("full", d), count, np.random.default_rng(0))
    assert start.count == count
    distances = np.linalg.norm(start.means[:, None] - centres[None], axis=2)
    assert sorted(distances.argmin(axis=1)) == list(range(count))
    assert distances.min(axis=1).max() < 0.02


def test_a_centre_without_rows_halves_the_widest_if_that_pays():
    wide = MovingCenters(np.array([900.0, 100.0, 1.0]), np.array([[0.0, 0.0], [5.0, 0.0], [0.5, 0.0]]), np.ones(3))
    moved = replace(wide, centers=wide.centers.copy(), counts=wide.counts.copy(), spreads=wide.spreads.copy())
    moved.relocate(np.array([2]), 1.0, np.random.default_rng(0))
    assert moved.counts.tolist() == [450.0, 100.0, 450.0]
    np.testing.assert_allclose(moved.centers[[0, 2]].mean(axis=0), 0.0, atol=1e-12)
    far = replace(wide, centers=np.array([[0.0, 0.0], [5.0, 0.0], [50.0, 0.0]]), counts=wide.counts.copy())
    far.relocate(np.array([2]), 1.0, np.random.default_rng(0))  # two rows 45 away are worth more than a half of 900
    assert far.centers[2].tolist() == [50.0, 0.0]


@pytest.mark.parametrize("shape", SHAPES)
def test_components_start_with_the_covariance_type_that_was_asked_for(shape):
    _, table, base = clusters(1)
    round_base = replace(base, covariances=np.eye(2)[None] * np.trace(base.covariances[0]) / 2)
    search, found = find(table, round_base, 3)
    covariances = start_at_clusters(found, search, round_base, Shape(shape, 2), 1, np.random.default_rng(0)).covariances
    if shape in ("diag", "spherical"):
        assert (covariances[:, 0, 1] == 0.0).all()
    if shape == "spherical":
        np.testing.assert_allclose(covariances[:, 0, 0], covariances[:, 1, 1])
    assert (covariances == covariances[0]).all()


def test_as_many_components_as_are_clear():
    """Of twelve that are asked for, three clusters can be told; with twelve at least, there is the base."""
    centres, table, base = clusters(2)
    search, found = find(table, base, 12)
    start = start_at_clusters(found, search, base, Shape("full", 2), 2, np.random.default_rng(0))
    assert 3 <= start.count < 12
    nearest = np.linalg.norm(start.means[None] - centres[:, None], axis=2).min(axis=1)
    assert nearest.max() < 0.05
    assert start_at_clusters(found, search, base, Shape("full", 2), 12, np.random.default_rng(0)) is base


def test_one_gaussian_has_no_clusters():
    rng = np.random.default_rng(0)
    table = 0.1 * rng.standard_normal((5000, 4))
    base = Components(np.ones(1), np.zeros((1, 4)), 0.01 * np.eye(4)[None])
    search, found = find(table, base, 3)
    assert start_at_clusters(found, search, base, Shape("full", 4), 3, rng) is base


def test_the_search_is_paid_from_the_same_budget():
    def plan(epsilon, count=3, d=10, rows=24_000):
        box, guarantee = dp.Box(-1.0, 1.0).for_columns(d), dp.Guarantee(epsilon, 1e-6)
        return Adaptive.for_data(count, box, guarantee, PublicSize(rows, True))

    for epsilon in (0.05, 0.1, 0.3, 1.0, 4.0):
        assert sum(plan(epsilon).shares) == pytest.approx(1.0)
    assert [plan(3.0, count).search_steps for count in (1, 2, 5, 20)] == [0, 5, 7, 10]
    assert plan(1e-4).search_steps == 0  # one Gaussian is all that can be seen
    assert plan(0.05).search_steps == 0 < plan(0.5).search_steps  # noise would hide the clusters
    public = plan(0.3, 12, 6, 8_000)
    unknown = replace(public, size=PublicSize(None, False))
    assert public.search_steps == 0 < unknown.search_steps  # there may be more rows


@pytest.mark.parametrize("value", [0.0, -1e150, 1e150, 5e-324])
def test_any_finite_release_gives_components(value):
    _, table, base = clusters(0)
    releases: list[dp.Release] = []
    search, _ = find(table, base, 3, steps=1, releases=releases)
    release = releases[0]
    ends = np.cumsum([0, *(np.prod(part.shape, dtype=int) for part in release.parts.values())])
    radii = np.full(len(release["counts"]), 0.1)
    for start, end in [(0, ends[-1]), *itertools.pairwise(ends)]:
        values = release.value.copy()
        values[start:end] = value
        absurd = replace(release, value=values, provenance="simulated")
        found, weak = _read_step(np.zeros((len(radii), 2)), radii, absurd)
        found.relocate(np.flatnonzero(weak), 1.0, np.random.default_rng(0))
        result = start_at_clusters(found, search, base, Shape("full", 2), 1, np.random.default_rng(0))
        assert np.all(np.isfinite(result.factors))
