"""One histogram as the start of a mixture: what it finds, and when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import discreet as dp
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.histogram_start import start_at_peaks
from discreet.models.mixture.own_coordinates import Shape
from discreet.queries.moments.clipped_moments import SHAPES
from discreet.queries.moments.components import Components

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")


def clusters(count, columns, rows):
    """Return rows of clusters that are far apart, and their centres."""
    rng = np.random.default_rng(0)
    places = np.array(np.meshgrid(*[np.arange(5.0)] * columns)).reshape(columns, -1).T * 8.0 - 16.0
    centres = places[rng.permutation(len(places))[:count]]
    return centres[rng.integers(0, count, rows)] + rng.standard_normal((rows, columns)), centres


def plan(count, columns, rows, epsilon=1.0):
    space = dp.Box(-25.0, 25.0).for_columns(columns)
    return Adaptive.for_data(count, space, dp.Guarantee(epsilon, 1e-6), dp.PublicSize(rows, True))


def test_it_is_for_few_columns_many_components_and_much_noise():
    assert plan(8, 3, 3000).has_histogram
    assert plan(12, 2, 4000).has_histogram
    assert not plan(8, 4, 3000).has_histogram
    assert not plan(4, 2, 1000).has_histogram
    assert not plan(8, 2, 100_000).has_histogram
    assert not plan(8, 3, 300).has_histogram  # one Gaussian is all that can be seen


@pytest.mark.parametrize(("count", "columns", "rows"), [(8, 3, 3000), (12, 2, 4000), (24, 2, 4000)])
def test_all_of_the_budget_is_shared_out(count, columns, rows):
    new = plan(count, columns, rows)
    assert new.search_steps == 1
    assert not new.growth_shares
    less = new.earlier
    assert less.has_histogram
    assert less.search_share < new.search_share
    assert less.steps >= new.steps
    assert less.earlier == replace(less, uses_histogram=False)
    for method in (new, less, less.earlier):
        assert sum(method.shares) == pytest.approx(1.0)


@seeds_are_fine
@pytest.mark.parametrize(
    ("count", "columns", "rows", "epsilon", "neighbors"),
    [(8, 3, 3000, 1.0, "replace-one"), (12, 2, 4000, 1.0, "replace-one"), (20, 2, 10_000, 0.45, "add-remove")],
)
def test_it_finds_clusters_of_few_rows(count, columns, rows, epsilon, neighbors):
    table, centres = clusters(count, columns, rows)
    model = dp.GaussianMixture(
        count, epsilon=epsilon, delta=1e-6, bounds=(-25.0, 25.0), neighbors=neighbors, random_state=0
    ).fit(table)
    assert sum(release.query == "grid along directions" for release in model.releases_) == 1
    distances = np.linalg.norm(model.means_[:, None] - centres, axis=2)
    assert (distances.min(axis=0) < 2.0).mean() > 0.85


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_without_noise_components_are_at_the_clusters_with_one_covariance_of_their_shape(shape, columns):
    count = 5 if columns == 1 else 8
    table, centres = clusters(count, columns, 4000)
    scales = np.array([1.0, 0.01, 5.0])[:columns]  # columns count by their standard deviations
    centres = 0.005 * scales * centres
    table = 0.005 * scales * table
    base = Components(np.ones(1), table.mean(axis=0)[None], np.atleast_2d(np.cov(table.T))[None])
    curator = dp.Curator(table, space=dp.Ball(1.0, center=np.zeros(columns)))

    def measure(question):
        return curator.measure(question, dp.GaussianLoss(1e6))

    rng = np.random.default_rng(0)
    start = start_at_peaks(count, 0, 0.1, Shape(shape, columns), base, 4000.0, curator.space, rng, measure)
    assert start.count == count
    distances = np.linalg.norm((start.means[:, None] - centres) / (0.005 * scales), axis=2)
    assert distances.min(axis=0).max() < (1.0 if columns < 3 else 1.5)  # half of a cell, in three columns
    np.testing.assert_array_equal(start.covariances, np.repeat(start.covariances[:1], count, axis=0))
    if shape == "diag":
        assert np.count_nonzero(start.covariances[0]) == columns


@seeds_are_fine
class TestNumberOfComponents:
    """With "auto" in few columns the histogram chooses it: the budget was shared for what the public rule permits."""

    OPTIONS: ClassVar[dict[str, Any]] = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-25.0, 25.0), "random_state": 0}

    def test_clear_clusters_get_more_than_the_rule_permits(self):
        table, _ = clusters(24, 2, 4000)
        usual = plan(None, 2, 4000)
        model = dp.GaussianMixture("auto", **self.OPTIONS).fit(table)
        assert usual.count < 16 < model.n_components_ <= usual.most_chosen
        assert len(model.losses_) == len(usual.shares)
        assert model.releases_[-1]["counts"].size == model.n_components_ == len(model.means_)
        assert model.score(table) > dp.GaussianMixture(usual.count, **self.OPTIONS).fit(table).score(table) + 0.1
        again = dp.GaussianMixture.from_json(model.to_json())
        assert again.n_components_ == model.n_components_
        assert str(again.diagnose()).startswith(f"{model.n_components_} components")

    def test_rows_without_clusters_get_half(self):
        table = np.random.default_rng(0).normal(size=(4000, 2)) * [8.0, 3.0]
        model = dp.GaussianMixture("auto", **self.OPTIONS).fit(table)
        assert model.n_components_ == (plan(None, 2, 4000).count + 1) // 2

    def test_a_number_that_is_given_stays(self):
        table, _ = clusters(24, 2, 4000)
        assert dp.GaussianMixture(12, **self.OPTIONS).fit(table).n_components_ == 12

    @pytest.mark.parametrize("count", ["auto", 12])
    def test_files_of_versions_in_which_it_did_not_are_read(self, count, monkeypatch):
        table, _ = clusters(12, 2, 3000)
        options = self.OPTIONS | {"random_state": None}
        now = Adaptive.for_data
        with monkeypatch.context() as earlier:
            earlier.setattr(Adaptive, "for_data", lambda *known, **more: now(*known, **more).earlier)
            old = dp.GaussianMixture(count, **options).fit(table)
        new = dp.GaussianMixture(count, **options).fit(table)
        assert new.losses_ != old.losses_
        for model in (old, new):
            assert dp.GaussianMixture.from_json(model.to_json()).losses_ == model.losses_
        assert old.n_components_ == plan(None if count == "auto" else count, 2, 3000).count
