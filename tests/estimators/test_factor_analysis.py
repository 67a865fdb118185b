"""Private factor analysis: the contract, what is promised, EM on a released covariance, how near it comes."""

from __future__ import annotations

import math
import warnings
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import FactorAnalysis as Exact
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dp
from discreet.models.spectral.factors import Factors
from discreet.models.spectral.one_release import OneRelease
from discreet.noise import NotPrivateWarning
from effort import size

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

BALL = dp.Ball(radius=20.0)
LOADINGS = np.array([[2.0, 0.0], [2.0, 0.5], [1.0, -1.0], [0.0, 2.0], [0.0, -1.5], [0.5, 0.5]])
NOISE = np.array([1.0, 0.5, 1.5, 0.7, 1.0, 2.0])
MEAN = np.array([1.0, -2.0, 0.0, 0.5, 3.0, 0.0])


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return MEAN + rng.standard_normal((n, 2)) @ LOADINGS.T + rng.standard_normal((n, 6)) * np.sqrt(NOISE)


ROWS = rows(20_000)


def fitted(X=ROWS, n_components=2, **parameters):
    return dp.FactorAnalysis(n_components, **({"bounds": BALL, "random_state": 0} | parameters)).fit(X)


@cache
def without_privacy():
    return Exact(2).fit(ROWS)


def overlap(one, other):
    """Return the mean squared cosine between two spaces of loadings."""
    a, b = (np.linalg.qr(np.asarray(matrix))[0] for matrix in (one, other))
    return float(np.linalg.norm(a.T @ b) ** 2) / a.shape[1]


@seeds_are_fine
@parametrize_with_checks(
    [
        dp.FactorAnalysis(1, epsilon=1e3, bounds=dp.Box(-1e3, 1e3), random_state=0, method="one-release"),
        dp.FactorAnalysis(1, epsilon=1e3, bounds=dp.Ball(1e3), random_state=0),
    ][-size(1, 2) :]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@seeds_are_fine
def test_names_come_out_and_frames_if_asked_for():
    from sklearn.utils.estimator_checks import (
        check_dataframe_column_names_consistency,
        check_set_output_transform,
        check_transformer_get_feature_names_out_pandas,
    )

    estimator = dp.FactorAnalysis(1, epsilon=1e3, bounds=BALL, random_state=0)
    check_dataframe_column_names_consistency("FactorAnalysis", estimator)
    check_transformer_get_feature_names_out_pandas("FactorAnalysis", estimator)
    check_set_output_transform("FactorAnalysis", estimator)
    frame = pd.DataFrame(ROWS, columns=list("abcdef"))
    model = fitted(frame).set_output(transform="pandas")
    assert model.transform(frame).columns.tolist() == ["factoranalysis0", "factoranalysis1"]


class TestEM:
    """The steps on a covariance that is public already."""

    @pytest.mark.parametrize(
        ("load", "count"),
        size([(load_iris, 1), (load_iris, 2), (load_wine, 3)], list(product([load_iris, load_wine], [1, 2, 3]))),
    )
    def test_it_reaches_the_likelihood_of_scikit_learn(self, load, count):
        X = load().data
        exact = Exact(count, tol=1e-8, max_iter=1000, svd_method="lapack", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it did not converge
            reached = exact.fit(X).score(X)
        model = Factors.from_covariance(X.mean(axis=0), np.cov(X.T, bias=True), count)
        assert model.log_density(X).mean() > reached - 0.005

    def test_densities_latents_and_samples_are_those_of_the_gaussian(self):
        model = Factors(MEAN, LOADINGS, NOISE)
        np.testing.assert_allclose(model.precision @ model.covariance, np.eye(6), atol=1e-12)
        x = ROWS[:50] - MEAN
        quadratic = np.einsum("ni,ij,nj->n", x, np.linalg.inv(model.covariance), x)
        density = -0.5 * (quadratic + np.linalg.slogdet(model.covariance)[1] + 6 * math.log(2 * math.pi))
        np.testing.assert_allclose(model.log_density(ROWS[:50]), density)
        latent = x @ np.linalg.inv(model.covariance) @ LOADINGS
        np.testing.assert_allclose(model.latent(ROWS[:50]), latent)
        sample = model.sample(200_000, np.random.default_rng(0))
        np.testing.assert_allclose(np.cov(sample.T), model.covariance, atol=0.1)

    def test_columns_of_any_scale_have_the_same_fit(self):
        covariance, scale = np.cov(ROWS.T), 10.0 ** np.arange(-3.0, 3.0)
        one = Factors.from_covariance(MEAN, covariance, 2)
        other = Factors.from_covariance(MEAN * scale, covariance * np.outer(scale, scale), 2)
        np.testing.assert_allclose(other.noise, one.noise * scale**2, rtol=1e-6)
        np.testing.assert_allclose(np.abs(other.loadings), np.abs(one.loadings) * scale[:, None], rtol=1e-5, atol=1e-9)

    @pytest.mark.parametrize(
        "covariance",
        [
            np.eye(4),
            np.zeros((4, 4)) + 1e-300 * np.eye(4),
            np.ones((4, 4)),
            np.diag([1e-12, 1.0, 1e6, 1.0]),
            -np.eye(4),
            np.diag([1.0, -5.0, 2.0, 0.0]) + 3.0,
        ],
    )
    def test_whatever_the_covariance_a_model_comes_out(self, covariance):
        model = Factors.from_covariance(np.zeros(4), covariance, 2)
        assert np.all(model.noise > 0.0)
        assert np.all(np.isfinite(model.loadings))
        assert np.all(np.isfinite(model.log_density(np.ones((3, 4)))))


class TestPrivacy:
    @pytest.mark.parametrize("method", ["adaptive", "one-release"])
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    def test_the_losses_are_the_promise_and_all_of_it(self, method, neighbors):
        model = dp.FactorAnalysis(1, epsilon=0.7, delta=1e-5, bounds=BALL, method=method, neighbors=neighbors).fit(ROWS)
        assert model.guarantee_ == dp.Guarantee(0.7, 1e-5, neighbors)
        assert 0.7 * (1 - 1e-6) < dp.compose(model.losses_).epsilon(1e-5) <= 0.7 * (1 + 1e-9)
        assert [release.loss for release in model.releases_] == list(model.losses_)

    def test_one_release_has_the_noise_of_the_lemma_on_either_side_of_the_diagonal(self):
        """Off the diagonal of the second moment the deviation is Δ/(μ·c·√2), on it √2 times that."""
        rng = np.random.default_rng(0)
        curator = dp.Curator(rng.normal(size=(50, 40)), space=BALL)
        query = OneRelease(curator.size).query(curator.space)
        loss = dp.GaussianLoss(1.0)
        second = query.parts["second"]
        exact = second.unpack(curator._records.reduce(query.sum, query.size)[-second.size :])
        noise = curator.measure(query, loss)["second"] - exact
        expected = query.bound.sensitivity("l2", "replace-one") / math.sqrt(query.weights[2])
        # 780 and 40 numbers: five standard deviations of the estimates and a little more
        assert noise[np.triu_indices(40, 1)].std() == pytest.approx(expected / math.sqrt(2.0), rel=0.14)
        assert np.diag(noise).std() == pytest.approx(expected, rel=0.65)
        assert np.array_equal(noise, noise.T)

    def test_a_ledger_is_charged_once_and_then_refuses(self, tmp_path):
        guarantee = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db", budget=guarantee)
        assert all(release.recorded for release in dp.FactorAnalysis(2).fit(curator).releases_)
        with pytest.raises(dp.BudgetExceeded):
            dp.FactorAnalysis(1, epsilon=0.1).fit(curator)

    def test_with_a_seed_it_is_not_private_and_says_so(self):
        with pytest.warns(NotPrivateWarning):
            model = fitted()
        assert model.guarantee_ is None
        assert "WITHOUT privacy" in repr(model)


class TestAccuracy:
    @seeds_are_fine
    @pytest.mark.parametrize("method", ["auto", "adaptive", "one-release"])
    @pytest.mark.parametrize("bounds", [BALL, dp.Box(-12.0, 12.0)])
    def test_at_a_large_epsilon_it_is_the_exact_one(self, method, bounds):
        model, test = fitted(method=method, bounds=bounds, epsilon=20.0), rows(5000, seed=1)
        exact = without_privacy()
        assert model.score(test) > exact.score(test) - 0.1
        assert overlap(model.components_.T, LOADINGS) > 0.98
        np.testing.assert_allclose(model.mean_, MEAN, atol=0.2)
        np.testing.assert_allclose(model.get_covariance(), LOADINGS @ LOADINGS.T + np.diag(NOISE), atol=0.5)
        np.testing.assert_allclose(model.get_precision(), np.linalg.inv(model.get_covariance()), atol=1e-9)
        back = model.inverse_transform(model.transform(test))
        assert ((back - test) ** 2).mean() < 1.2 * NOISE.mean()
        assert model.sample(10, random_state=0).shape == (10, 6)

    @seeds_are_fine
    def test_the_adaptive_way_is_nearer_at_a_small_epsilon(self):
        test = rows(5000, seed=1)
        scores = {
            m: fitted(method=m, epsilon=0.3, bounds=dp.Ball(60.0)).score(test) for m in ("adaptive", "one-release")
        }
        assert scores["adaptive"] > scores["one-release"] + 0.3

    @seeds_are_fine
    def test_a_declared_centre_is_the_mean(self):
        model = fitted(ROWS - MEAN, center="declared", epsilon=20.0)
        assert np.array_equal(model.mean_, np.zeros(6))
        assert overlap(model.components_.T, LOADINGS) > 0.98

    @seeds_are_fine
    @pytest.mark.parametrize("method", ["adaptive", "one-release"])
    @pytest.mark.parametrize("epsilon", [1e-3, 0.1])
    def test_next_to_no_budget_gives_noise_but_a_valid_model(self, method, epsilon):
        model = fitted(ROWS[:30], method=method, epsilon=epsilon, neighbors="add-remove")
        assert np.all(model.noise_variance_ > 0.0)
        assert np.all(np.isfinite(model.score_samples(ROWS)))

    @seeds_are_fine
    def test_many_columns(self):
        rng = np.random.default_rng(0)
        loadings = rng.standard_normal((600, 1))
        X = (rng.standard_normal((3000, 1)) @ loadings.T + rng.standard_normal((3000, 600))) / 40.0
        model = fitted(X, n_components=1, epsilon=10.0, bounds=dp.Ball(2.5))
        assert overlap(model.components_.T, loadings) > 0.9
        assert len(model.losses_) == 1, "one release: there are too many columns for rounds"


@seeds_are_fine
@pytest.mark.parametrize("make", [dp.FactorAnalysis, dp.PCA, dp.GaussianMixture])
def test_a_score_that_can_be_published(make):
    model = make(1, bounds=BALL, epsilon=5.0, random_state=0).fit(ROWS)
    score = dp.private_score(model, rows(4000, seed=2), epsilon=1.0, random_state=0)
    assert score.value == pytest.approx(model.score(rows(4000, seed=2)), abs=0.1)


@seeds_are_fine
def test_json_there_and_back():
    model = fitted()
    again = dp.FactorAnalysis.from_json(model.to_json())
    assert np.array_equal(again.transform(ROWS), model.transform(ROWS))
    assert np.array_equal(again.score_samples(ROWS), model.score_samples(ROWS))
    broken = model.to_dict()
    broken["fitted"]["noise_variance_"][0] = -1.0
    with pytest.raises(ValueError, match="noise_variance_"):
        dp.FactorAnalysis.from_dict(broken)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 7}, "n_components=7"),
        ({"n_components": 0}, "n_components=0"),
        ({"method": "ml"}, "method='ml'"),
        ({"center": "mean"}, "center='mean'"),
        ({"center": "declared", "method": "adaptive"}, "center='declared'"),
        ({"epsilon": -1.0}, r"epsilon=-1\.0"),
        ({"delta": 1.5}, r"delta=1\.5"),
        ({"random_state": 1}, "random_state=1"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(parameters, words, tmp_path):
    curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db")
    with pytest.raises(ValueError, match=words):
        dp.FactorAnalysis(**({"n_components": 1} | parameters)).fit(curator)
    assert not curator.ledger.history()


@seeds_are_fine
def test_factors_of_the_wrong_number_are_refused():
    with pytest.raises(ValueError, match="expected 2, one a factor"):
        fitted().inverse_transform(np.ones((3, 3)))
