"""Few rows in many columns: clusters that are apart are found where covariances are noise, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest

import discreet as dp
from discreet.door import PublicSize
from discreet.door.release import simulate
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_estimates import shrink_means
from discreet.models.noisy_sums import mean_release
from discreet.noise import GaussianNoise
from discreet.queries.moments.clipped_moments import SHAPES
from discreet.queries.moments.components import Components

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")
ROWS, COLUMNS, EPSILON = 5000, 20, 0.3


def plan(count=4, rows=ROWS, columns=COLUMNS, epsilon=EPSILON, size=None):
    space = dp.Box(-1.0, 1.0).for_columns(columns)
    return Adaptive.for_data(count, space, dp.Guarantee(epsilon, 1e-6), size or PublicSize(rows, True))


def drawn(spread):
    rng = np.random.default_rng(0)
    centres = spread * rng.standard_normal((4, COLUMNS))
    labels = rng.integers(0, 4, 2 * ROWS)
    return np.split(centres[labels] + rng.standard_normal((2 * ROWS, COLUMNS)), 2), centres


def test_the_look_is_paid_from_the_same_budget():
    for method in (plan(), plan(2, 20_000, 30), plan(3, 26_000, 60)):
        assert method.has_look
        assert sum(method.shares) == pytest.approx(1.0)
        assert not method.earlier.has_look
        assert sum(method.earlier.shares) == pytest.approx(1.0)
    assert not plan(1).has_look
    assert not plan(4, 200_000).has_look  # covariances are seen
    assert not plan(12, 500).has_look  # means are not


@seeds_are_fine
@pytest.mark.parametrize("looks", [True, False])
def test_clusters_that_are_apart_are_found_where_covariances_are_noise(looks, monkeypatch):
    if not looks:
        monkeypatch.setattr(Adaptive, "has_look", False)
    (rows, others), centres = drawn(5.0)
    model = dp.GaussianMixture(4, epsilon=EPSILON, bounds=(-30.0, 30.0), random_state=0).fit(rows)
    distances = np.linalg.norm(model.means_[:, None] - centres, axis=2)
    assert (distances.min(axis=0).max() < np.sqrt(COLUMNS)) == looks
    exact = -0.5 * COLUMNS * (1.0 + np.log(2.0 * np.pi)) - np.log(4.0)
    assert (exact - model.score(others) < 3.0) == looks


@seeds_are_fine
@pytest.mark.parametrize("seed", [3, 104])
def test_two_clusters_whose_size_is_noise_are_found_and_not_too_narrow(seed):
    """They are 14 of their widths apart in each of 30 columns: the size of a look is right within a factor of three."""
    rng = np.random.default_rng(seed)
    centres = 10.0 * rng.standard_normal((2, 30))
    rows, others = np.split(centres[rng.integers(0, 2, 2 * ROWS)] + rng.standard_normal((2 * ROWS, 30)), 2)
    bound = 1.2 * np.abs(rows).max()
    model = dp.GaussianMixture(2, epsilon=EPSILON, delta=1e-6, bounds=(-bound, bound), random_state=seed).fit(rows)
    exact = -15.0 * (1.0 + np.log(2.0 * np.pi)) - np.log(2.0)
    assert exact - model.score(others) < 2.5


@seeds_are_fine
@pytest.mark.parametrize("kept", [True, False])
def test_centers_of_a_look_that_finds_nothing_apart_are_started_from(kept, monkeypatch):
    """Three clusters of spread 2 in 30 columns lose too little as one Gaussian for the look to call them apart."""
    if not kept:
        monkeypatch.setattr(Adaptive, "sees_centers", lambda self, rows: False)
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.standard_normal((3, 30))
    rows = centres[rng.integers(0, 3, 40_000)] + rng.standard_normal((40_000, 30))
    given = {"epsilon": EPSILON, "bounds": (-9.0, 9.0), "neighbors": "add-remove", "random_state": 0}
    model = dp.GaussianMixture(3, **given).fit(rows)
    distances = np.linalg.norm(model.means_[:, None] - centres, axis=2)
    assert (distances.min(axis=0).max() < 0.2 * np.sqrt(30)) == kept


@seeds_are_fine
def test_one_gaussian_stays_one():
    (rows, _), _ = drawn(0.0)
    model = dp.GaussianMixture(4, epsilon=EPSILON, bounds=(-30.0, 30.0), random_state=0).fit(rows)
    assert np.ptp(model.means_, axis=0).max() == 0.0
    assert [release.query for release in model.releases_].count("search for clusters") == 7


@seeds_are_fine
def test_fewer_rows_than_planned_for_are_measured_in_few_questions():
    rng = np.random.default_rng(1)
    centres = 5.0 * rng.standard_normal((2, 15))
    rows = np.repeat(centres, 1000, axis=0) + rng.standard_normal((2000, 15))
    method = plan(2, columns=15, size=PublicSize(None, False))
    assert not method.has_look
    assert method.looks_with(2000.0)
    assert not method.looks_with(200_000.0)
    bounds = {"epsilon": EPSILON, "bounds": (-20.0, 20.0), "neighbors": "add-remove", "random_state": 0}
    model = dp.GaussianMixture(2, **bounds).fit(rows)
    distances = np.linalg.norm(model.means_[:, None] - centres, axis=2)
    assert distances.min(axis=0).max() < np.sqrt(15)
    asked = [str(release.parts["counts"].weight) for release in model.releases_ if release.query == "adaptive mixture"]
    assert len(set(asked)) == 3 < len(asked)  # sizes, a coarse measurement and a fine one, each asked several times


@seeds_are_fine
@pytest.mark.parametrize("shape", SHAPES)
def test_covariances_keep_their_type(shape):
    (rows, _), _ = drawn(5.0)
    bounds = {"epsilon": EPSILON, "bounds": (-30.0, 30.0), "random_state": 0}
    model = dp.GaussianMixture(4, covariance_type=shape, **bounds).fit(rows)
    again = dp.GaussianMixture.from_json(model.to_json())
    np.testing.assert_array_equal(again.covariances_, model.covariances_)
    queries = [release.query for release in model.releases_]
    assert ("search for clusters" in queries[:3]) == (shape in ("full", "diag"))  # the look comes after two rounds


@seeds_are_fine
def test_files_of_versions_without_a_look_are_read(monkeypatch):
    (rows, _), _ = drawn(5.0)
    with monkeypatch.context() as earlier:
        earlier.setattr(Adaptive, "has_look", False)
        old = dp.GaussianMixture(4, epsilon=EPSILON, bounds=(-30.0, 30.0)).fit(rows)
    new = dp.GaussianMixture(4, epsilon=EPSILON, bounds=(-30.0, 30.0)).fit(rows)
    assert len(old.losses_) != len(new.losses_)
    for model in (old, new):
        assert dp.GaussianMixture.from_json(model.to_json()).losses_ == model.losses_


@seeds_are_fine
@pytest.mark.parametrize("value", [0.0, -1.0, -1e50, 1e50, 5e-324])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_finite_release_gives_components_that_are_apart(value, shape):
    rng, d = np.random.default_rng(0), 3
    base = Components(np.ones(1), np.zeros((1, d)), 0.04 * np.eye(d)[None])
    start = Components(np.full(2, 0.5), 0.3 * rng.standard_normal((2, d)), 0.01 * np.repeat(np.eye(d)[None], 2, axis=0))
    clipping, space = Clipping(d, 2.5 * d), dp.Ball(1.0, center=np.zeros(d))
    model = AdaptiveMixture(2, base, clipping, Shape(shape, d), (0.1, 0.3, 0.6), 2, apart=True)
    pool, curator = Pool.empty(start), dp.Curator(np.zeros((50, d)), space=space)
    release = curator.measure(model.query(pool, space), dp.GaussianLoss(1.0))
    ends = np.cumsum([0, *(part.size for part in release.parts.values())])
    for begin, end in [(0, ends[-1]), *pairwise(ends)]:
        values = release.value.copy()
        values[begin:end] = value
        absurd = mean_release([replace(release, value=values, provenance="simulated")] * 2)
        found = model.maximize(model.maximize(pool, absurd), absurd).widened.components
        assert np.all(np.isfinite(found.factors))
        assert np.all(np.isfinite(found.means))


def test_the_mean_of_releases_has_the_noise_of_all_of_them():
    loss, size = dp.GaussianLoss(1.0), PublicSize(10, True)
    one, two = (simulate("sum", [value], GaussianNoise(scale), loss, size) for value, scale in ((1.0, 3.0), (5.0, 1.0)))
    both = mean_release([one, two])
    assert both["sum"] == pytest.approx([4.6])  # weights 1/9 and 1
    assert both.noise.variance == pytest.approx(0.9)


def test_far_clusters_are_not_drawn_together_by_the_noise_of_their_means():
    """Two means at ±5 whose noise is 0.3 a coordinate: nothing of 15 times 0.3² is explained by 5²."""
    d, means = 15, np.zeros((2, 15))
    means[:, 0] = -5.0, 5.0
    frames, variances, weights = np.repeat(np.eye(d)[None], 2, axis=0), np.full(2, 0.09), np.full(2, 0.5)
    _, factors = shrink_means(means, weights, np.eye(d), variances, frames, 0.0)
    np.testing.assert_allclose(factors, 1.0 - d * 0.09 / 25.0)
    _, own = shrink_means(means, weights, np.linalg.inv(np.linalg.cholesky(4.0 * frames)), variances, 4.0 * frames, 0.0)
    np.testing.assert_allclose(own, 1.0 - d * 0.09 / (25.0 / 4.0))


@pytest.mark.parametrize(("distance", "noise", "apart"), [(8.0, 0.0, True), (2.0, 0.0, False), (8.0, 15.0, False)])
def test_components_are_apart_if_rows_tell_them_apart_in_spite_of_noise(distance, noise, apart):
    frames = np.repeat(np.eye(2)[None], 2, axis=0)
    two = Components(np.full(2, 0.5), np.array([[0.0, 0.0], [distance, 0.0]]), frames)
    assert replace(Pool.empty(two), mean_noise=np.full(2, noise)).is_apart == apart


def test_one_component_is_not_apart():
    one = Components(np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    assert not Pool.empty(one).is_apart


@seeds_are_fine
def test_clusters_that_are_apart_have_fewer_and_larger_steps():
    """From half of the steps on each question is asked twice as often as the one before."""

    def lengths(distance):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((20_000, 3)) + distance * rng.integers(0, 2, (20_000, 1))
        model = dp.GaussianMixture(2, epsilon=1.0, bounds=(-30.0, 30.0), n_steps=12, random_state=0).fit(rows)
        steps = [str(release.asked) for release in model.releases_[-12:]]
        return [len(list(same)) for _, same in groupby(steps)]

    assert lengths(0.0) == [1] * 12
    assert lengths(12.0) == [1] * 6 + [2, 4]
