"""What is said about a mixture: components that coincide, are wide or weak, and what another fit costs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import discreet as dp
from discreet.models.mixture.mixture_diagnosis import diagnose
from discreet.models.mixture.own_coordinates import Shape
from discreet.queries.moments.components import Components
from effort import size


def diagnosed(means, weights=None, sizes=None, rows=20_000.0, noise=6.0):
    means = np.asarray(means, dtype=float)
    count, d = means.shape
    sizes = np.ones(count) if sizes is None else np.asarray(sizes, dtype=float)
    weights = np.full(count, 1 / count) if weights is None else np.asarray(weights)
    components = Components(weights, means, sizes[:, None, None] * np.eye(d))
    again = dp.Guarantee(1.5, 1e-6)
    return diagnose(components, Shape("full", d), rows, noise, again, np.random.default_rng(0))


def test_components_in_places_of_their_own():
    found = diagnosed([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    assert (found.coinciding, found.wide, found.weak, found.missed) == ((), (), (), False)
    assert found.rows == pytest.approx([20_000 / 3] * 3)
    assert str(found).endswith("No two components coincide, and none is wider than noise explains.")


def test_two_in_one_place_and_one_over_two():
    found = diagnosed([[0.0, 0.0], [0.05, 0.0], [30.0, 0.0]], sizes=[1.0, 1.0, 30.0])
    assert found.coinciding == ((0, 1),)
    assert found.wide == (2,)
    assert found.missed
    assert "1 and 2 coincides" in str(found)
    assert "this one and the next cost (ε=1.5, δ=1e-06) replace-one together" in str(found)


def test_what_noise_explains_is_not_said():
    """With a thousand times the noise a component of 30 times the variance may be no wider than the others."""
    assert diagnosed([[0.0, 0.0], [30.0, 0.0]], sizes=[1.0, 30.0]).wide == (1,)
    assert diagnosed([[0.0, 0.0], [30.0, 0.0]], sizes=[1.0, 30.0], noise=6000.0).wide == ()


def test_a_component_whose_rows_may_be_noise():
    found = diagnosed([[0.0, 0.0], [9.0, 0.0]], weights=[0.9995, 0.0005], noise=20.0)
    assert found.weak == (1,)
    assert "the smallest, number 2, has about 10 rows" in str(found)
    assert "With no more rows than noise can show: 2." in found.describe()


@pytest.mark.parametrize("noise", [6.0, 2000.0])
def test_one_component_has_no_other_to_compare_it_with(noise):
    found = diagnosed([[0.0, 0.0]], noise=noise)
    assert (found.coinciding, found.wide, found.unclear) == ((), (), ())
    assert found.describe()[0].startswith("1 component; ")
    assert ("There is no other one that it could coincide with" in str(found)) == (noise == 6.0)
    assert "fewer components" not in str(found)


def test_where_all_coincide_it_is_said_once():
    found = diagnosed(np.zeros((8, 2)))
    assert len(found.coinciding) == 28
    assert len(found.describe()) <= 4
    assert "All of them coincide: this is one Gaussian" in str(found)


def test_where_noise_could_hide_a_wide_component_that_is_said():
    found = diagnosed([[0.0, 0.0], [9.0, 0.0]], noise=2000.0)
    assert found.unclear == (0, 1)
    assert "Too noisy to tell" in str(found)
    assert "No two components" not in str(found)


def test_a_small_component_is_unclear_only_where_it_could_be_wide():
    """With noise of 74 % a width of 6 may be one of 23, and a width of 1 is one of at most 4."""
    small = {"means": [[0.0, 0.0], [9.0, 0.0]], "weights": [0.95, 0.05], "noise": 10.0}
    assert diagnosed(**small).unclear == ()
    assert diagnosed(**small, sizes=[1.0, 6.0]).unclear == (1,)
    assert diagnosed(**small, sizes=[1.0, 60.0]).wide == (1,)


@pytest.mark.parametrize(
    ("covariance_type", "neighbors"),
    size(
        [("full", "replace-one"), ("tied", "add-remove"), ("diag", "replace-one"), ("spherical", "add-remove")],
        list(product(["full", "tied", "diag", "spherical"], ["replace-one", "add-remove"])),
    ),
)
def test_of_a_fit_it_costs_nothing_and_is_in_the_report(covariance_type, neighbors, tmp_path):
    rng = np.random.default_rng(0)
    rows = np.array([[-4.0, 0.0], [4.0, 1.0]])[rng.integers(0, 2, 10_000)] + rng.standard_normal((10_000, 2))
    curator = dp.Curator(
        rows, space=dp.Box([-12.0] * 2, [12.0] * 2), name="rows", ledger=tmp_path / "l.db", neighbors=neighbors
    )
    mixture = dp.GaussianMixture(2, epsilon=1.0, covariance_type=covariance_type).fit(curator)
    spent = len(curator.ledger.history())
    found = mixture.diagnose()
    assert len(curator.ledger.history()) == spent
    assert found.coinciding == found.weak == ()
    assert 1.3 < found.again.epsilon < 1.6  # less than twice: exact composition
    if neighbors == "replace-one" and covariance_type == "full":
        assert "No two components coincide" in mixture.report().html


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("how", [{"method": "joint"}, {"method": "paper"}, {"n_components": [1, 2]}])
def test_other_fits_are_diagnosed_too(how, neighbors):
    rows = np.random.default_rng(0).normal(size=(5_000, 2))
    options = {"n_components": 2, "bounds": (-9.0, 9.0), "neighbors": neighbors} | how
    mixture = dp.GaussianMixture(**options).fit(rows)
    assert len(mixture.diagnose().rows) == mixture.n_components_


def test_of_several_numbers_each_has_a_part_of_the_budget():
    rows = np.random.default_rng(0).normal(size=(5_000, 2))
    one, several = (dp.GaussianMixture(count, bounds=(-9.0, 9.0)).fit(rows).diagnose().noise for count in (1, [1, 2]))
    assert several == pytest.approx(one * (2 / 0.9) ** 0.5)
