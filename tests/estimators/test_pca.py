"""Private principal components: the contract, what is promised, the laws of spectra and draws, how near it comes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dp
from discreet.models.spectral.principal_directions import Directions
from discreet.models.spectral.spectrum import Spectrum
from discreet.noise import NotPrivateWarning
from discreet.queries.moments.moments import Products
from discreet.queries.moments.principal_direction import DirectionScatter, Energies, Frame, OneDirection
from discreet.queries.search import worst_neighbours
from discreet.records import Ball, Block
from effort import size

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

METHODS = ("adaptive", "analyze-gauss", "sulq", "exponential", "gibbs")
BALL = dp.Ball(radius=12.0)


def rows(n=20_000, seed=0):
    """Return rows that spread 3, 2, 1 and ½ along turned axes."""
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(np.random.default_rng(5).standard_normal((4, 4)))[0]
    return (rng.standard_normal((n, 4)) * [3.0, 2.0, 1.0, 0.5]) @ turned.T, turned.T


ROWS, AXES = rows()


def fitted(X=ROWS, n_components=2, **parameters):
    return dp.PCA(n_components, **({"bounds": BALL, "random_state": 0} | parameters)).fit(X)


@seeds_are_fine
@parametrize_with_checks(
    [
        dp.PCA(1, epsilon=1e3, bounds=dp.Ball(1e3), random_state=0, method=method)
        for method in ("auto", "exponential", "analyze-gauss")[: size(2, 3)]
    ]
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

    estimator = dp.PCA(1, epsilon=1e3, bounds=BALL, random_state=0)
    check_dataframe_column_names_consistency("PCA", estimator)
    check_transformer_get_feature_names_out_pandas("PCA", estimator)
    check_set_output_transform("PCA", estimator)
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    model = fitted(frame).set_output(transform="pandas")
    assert model.transform(frame).columns.tolist() == ["pca0", "pca1"]
    assert model.feature_names_in_.tolist() == list("abcd")


class TestPrivacy:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    def test_the_losses_are_the_promise_and_all_of_it(self, method, neighbors):
        model = dp.PCA(2, epsilon=0.7, delta=1e-5, bounds=BALL, method=method, neighbors=neighbors).fit(ROWS)
        assert [release.loss for release in model.releases_] == list(model.losses_)
        spent = dp.compose(model.losses_).epsilon(1e-5)
        assert 0.7 * (1 - 1e-3) < spent <= 0.7 * (1 + 1e-9)
        assert model.guarantee_ == (None if method == "gibbs" else dp.Guarantee(0.7, 1e-5, neighbors))
        assert model.components_.shape == (2, 4)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)

    def test_what_a_sampled_release_takes_for_granted_is_said(self):
        drawn, measured = dp.PCA(1, bounds=BALL, method="exponential").fit(ROWS).releases_
        assert (drawn.mechanism, drawn.exact, drawn.noise) == ("sampled", False, None)
        assert "floating-point" in drawn.caveat
        assert (measured.mechanism, measured.exact, measured.caveat) == ("additive", True, None)

    def test_a_chain_that_was_stopped_promises_nothing(self):
        model = dp.PCA(2, bounds=BALL, method="gibbs").fit(ROWS)
        assert model.guarantee_ is None
        assert "WITHOUT a proof of privacy" in repr(model)
        assert model.releases_[0].mechanism == "approximate"
        assert "nothing is proved" in model.releases_[0].caveat
        again = dp.PCA.from_json(model.to_json())
        assert again.guarantee_ is None
        forged = model.to_dict()
        forged["fitted"]["guarantee_"] = {"epsilon": 1.0, "delta": 1e-6, "neighbors": "replace-one"}
        with pytest.raises(ValueError, match="approximately"):
            dp.PCA.from_dict(forged)

    def test_a_ledger_takes_no_draw_that_is_not_proved(self, tmp_path):
        curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db")
        with pytest.raises(ValueError, match="nothing is proved"):
            dp.PCA(2, method="gibbs").fit(curator)
        assert not curator.ledger.history()

    def test_a_file_cannot_promise_more_than_its_losses(self):
        facts = dp.PCA(1, bounds=BALL).fit(ROWS).to_dict()
        for name, wrong in (
            ("guarantee_", {"epsilon": 0.5, "delta": 1e-6, "neighbors": "replace-one"}),
            ("unit_", "each patient"),
            ("unit_", []),
        ):
            with pytest.raises(ValueError, match=name):
                dp.PCA.from_dict(facts | {"fitted": facts["fitted"] | {name: wrong}})
        assert "in ideal arithmetic" in repr(dp.PCA(1, bounds=BALL, method="exponential").fit(ROWS))
        assert "ideal" not in repr(dp.PCA(1, bounds=BALL).fit(ROWS))

    @pytest.mark.parametrize("method", ["adaptive", "exponential"])
    def test_a_ledger_is_charged_once_and_then_refuses(self, tmp_path, method):
        guarantee = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db", budget=guarantee)
        model = dp.PCA(2, method=method).fit(curator)
        assert all(release.recorded for release in model.releases_)
        assert [entry.kind for entry in curator.ledger.history()] == ["limit", "reserve"]
        with pytest.raises(dp.BudgetExceeded):
            dp.PCA(1, epsilon=0.1, method=method).fit(curator)

    def test_the_ball_around_a_box_moves_no_row(self):
        box = dp.Box([0.0, -5.0, 1e6], [1.0, 500.0, 1e6 + 1e-3])
        corners = np.array(np.meshgrid(*zip(box.low, box.high, strict=True))).reshape(3, -1).T
        assert np.array_equal(box.around.clip(corners), corners)
        curator = dp.Curator(corners, space=box)
        curator.measure(dp.Moments(box.around), dp.GaussianLoss(1.0))
        with pytest.raises(ValueError, match="expected the space of the curator"):
            curator.measure(dp.Moments(Ball(1.0, center=[0.0, 0.0, 0.0])), dp.GaussianLoss(1.0))


class TestMechanism:
    """The exponential mechanism over directions, looked at as a privacy researcher would."""

    def test_the_range_of_the_exponent_is_the_loss(self):
        """Over replaced rows and all directions log p(v) − log p'(v) has a range of at most ε, and some come close."""
        rng = np.random.default_rng(0)
        space, epsilon = Ball(1.0, center=[0.0] * 3), 0.8
        largest = 0.0
        for neighbors, worst in (("replace-one", 2.0), ("add-remove", 1.0)):
            curator = dp.Curator(rng.normal(size=(5, 3)), space=space, neighbors=neighbors)
            query = DirectionScatter(space, np.eye(3))
            plan = curator.plan(query, dp.BoundedRangeLoss(epsilon, neighbors))
            assert plan.kind == "sampled"
            eta = epsilon / worst  # what the draw multiplies the scores with, but for float error
            ball = space.to_unit(rng.normal(size=(2000, 3)))
            directions = rng.normal(size=(500, 3))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            scores = (ball @ directions.T) ** 2
            others = scores[rng.permutation(len(scores))] if worst == 2.0 else 0.0
            moves = eta * (scores - others)
            ranges = moves.max(axis=1) - moves.min(axis=1)
            assert ranges.max() <= epsilon * (1 + 1e-12)
            largest = max(largest, float(ranges.max()) / epsilon)
        assert largest > 0.95

    def test_the_exponent_that_is_drawn_from_is_the_planned_one(self, monkeypatch):
        """η of the plan, seen through the matrix that the sampler is handed."""
        seen = []
        monkeypatch.setattr("discreet.noise.draws.bingham", lambda matrix, bits: seen.append(matrix) or np.eye(3)[0])
        space = Ball(1.0, center=[0.0] * 3)
        X = np.eye(3)
        for neighbors, worst in (("replace-one", 2.0), ("add-remove", 1.0)):
            size = {} if worst == 2.0 else {"at_most": 3}
            curator = dp.Curator(X, space=space, neighbors=neighbors, **size)
            curator.measure(DirectionScatter(space, np.eye(3)), dp.BoundedRangeLoss(0.8, neighbors))
            np.testing.assert_allclose(seen[-1], 0.8 / worst * np.eye(3), rtol=1e-10, atol=1e-14)

    def test_bounds_are_attained_along_axes(self):
        axes = np.eye(4)[:2]
        space = Ball(1.0, center=[0.0] * 4)
        block = Block(np.eye(4)[:2], np.zeros((2, 0), dtype=np.int64))
        for query in (Products(space, False), Energies(space, axes, False), DirectionScatter(space, np.eye(4))):
            one, other = np.asarray(query.contributions(block))
            assert np.linalg.norm(one) == pytest.approx(query.bound.l2, rel=1e-9)
            assert np.linalg.norm(one - other) == pytest.approx(query.bound.replace("l2"), rel=1e-9)

    def test_a_basis_that_is_not_orthonormal_is_charged_for(self):
        query = DirectionScatter(Ball(1.0, center=[0.0] * 3), 2.0 * np.eye(3))
        assert query.bound.l2 == pytest.approx(4.0)
        assert all(finding.holds for finding in worst_neighbours(query, np.random.default_rng(0)))

    def test_only_its_own_loss_and_query(self):
        curator = dp.Curator(ROWS, space=BALL)
        with pytest.raises(ValueError, match="BoundedRangeLoss"):
            curator.measure(DirectionScatter(curator.space, np.eye(4)), dp.GaussianLoss(1.0))
        with pytest.raises(ValueError, match="DirectionScatter"):
            curator.measure(dp.Sum(curator.space), dp.BoundedRangeLoss(1.0), mechanism=OneDirection())
        with pytest.raises(ValueError, match="at most 4 directions"):
            curator.plan(DirectionScatter(curator.space, np.eye(4), Frame(5)), dp.BoundedRangeLoss(1.0))
        with pytest.raises(ValueError, match="orthonormal"):
            Energies(curator.space, np.vstack([np.eye(4), np.eye(4)]), False)
        with pytest.raises(ValueError, match="overflow"):
            curator.plan(DirectionScatter(curator.space, np.eye(4)), dp.BoundedRangeLoss(1e299))

    def test_shares_are_those_of_the_budget(self):
        guarantee = dp.Guarantee(1.0, 1e-6)
        losses = Directions(3, dp.PublicSize(100, True)).losses(guarantee)
        rho = [loss.epsilon**2 / 8 for loss in losses[:3]] + [losses[3].mu ** 2 / 2]
        np.testing.assert_allclose(np.array(rho) / sum(rho), [0.3, 0.3, 0.3, 0.1], rtol=1e-9)


class TestSpectrum:
    """Noise pushes eigenvalues apart by a known amount."""

    @staticmethod
    def noisy(values, noise, rng):
        d = len(values)
        turned = np.linalg.qr(rng.standard_normal((d, d)))[0]
        matrix = (turned * values) @ turned.T
        square = rng.standard_normal((d, d)) * noise * math.sqrt(2.0)
        return matrix, Spectrum.from_matrix(matrix + (square + square.T) / 2.0, noise)

    def test_few_large_eigenvalues_are_estimated_as_theory_says(self):
        rng = np.random.default_rng(0)
        d, noise = 400, 0.05
        true = np.array([4.0, 2.5])
        _, spectrum = self.noisy(np.concatenate([true, np.zeros(d - 2)]), noise, rng)
        edge = 4.0 * noise**2 * d
        top = spectrum.values[:2]
        np.testing.assert_allclose(spectrum.estimates[:2], (top + np.sqrt(top**2 - edge)) / 2.0, rtol=0.02)
        np.testing.assert_allclose(spectrum.shrunk_values[:2], np.sqrt(top**2 - edge), rtol=0.04)
        np.testing.assert_allclose(spectrum.estimates[:2], true, rtol=0.06)
        assert np.all(top - true > 0.1), "uncorrected they are too large"

    @pytest.mark.parametrize(("d", "bulk", "noise"), [(100, 0.0, 0.05), (100, 0.5, 0.03), (12, 0.3, 0.1)])
    def test_the_corrected_matrix_is_nearly_the_best_with_these_eigenvectors(self, d, bulk, noise):
        rng = np.random.default_rng(1)
        values = np.full(d, bulk)
        values[:3] += [3.0, 2.0, 1.0]
        errors = []
        for _ in range(20):
            matrix, spectrum = self.noisy(values, noise, rng)
            best = np.einsum("ij,ik,kj->j", spectrum.vectors, matrix, spectrum.vectors)
            errors.append(
                [np.linalg.norm(spectrum.matrix(v) - matrix) for v in (spectrum.values, spectrum.shrunk_values, best)]
            )
        raw, corrected, oracle = np.mean(errors, axis=0)
        assert corrected < 0.85 * raw
        assert corrected < 1.35 * oracle

    def test_without_noise_nothing_is_corrected(self):
        _, spectrum = self.noisy(np.array([3.0, 2.0, 1.0]), 0.0, np.random.default_rng(0))
        np.testing.assert_allclose(spectrum.estimates, [3.0, 2.0, 1.0])
        np.testing.assert_allclose(spectrum.shrunk_values, [3.0, 2.0, 1.0])


class TestAccuracy:
    @seeds_are_fine
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("bounds", [BALL, dp.Box(-12.0, 12.0), dp.Box([-9, -14, -9, -9], [9, 14, 9, 9])])
    def test_at_a_large_epsilon_it_is_the_exact_one(self, method, bounds):
        model = fitted(method=method, bounds=bounds, epsilon=50.0)
        exact = decomposition.PCA(2).fit(ROWS)
        assert np.all(np.abs(np.sum(model.components_ * exact.components_, axis=1)) > 0.99)
        np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=0.15)
        np.testing.assert_allclose(model.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=0.15)
        assert model.noise_variance_ == pytest.approx(exact.noise_variance_, rel=0.25)
        np.testing.assert_allclose(
            model.transform(ROWS[:5]) @ model.components_ + model.mean_,
            model.inverse_transform(model.transform(ROWS[:5])),
        )
        assert model.score(ROWS) == pytest.approx(exact.score(ROWS), abs=0.05)
        sample = model.sample(4000, random_state=0)
        np.testing.assert_allclose(np.cov(sample.T), model.get_covariance(), atol=0.6)

    @seeds_are_fine
    def test_a_share_of_the_variance_chooses_how_many(self):
        assert fitted(n_components=0.8, epsilon=20.0).n_components_ == 2
        assert fitted(n_components=None, epsilon=20.0).n_components_ == 4
        assert fitted(n_components=None, epsilon=20.0).noise_variance_ == 0.0

    @seeds_are_fine
    @pytest.mark.parametrize("method", ["auto", "analyze-gauss", "sulq", "exponential"])
    def test_deviations_from_a_declared_centre(self, method):
        moved = ROWS + np.array([4.0, 0.0, 0.0, 0.0])
        model = fitted(moved, n_components=1, method=method, center="declared", epsilon=30.0)
        best = np.linalg.eigh(moved.T @ moved)[1][:, -1]
        assert abs(model.components_[0] @ best) > 0.99
        assert np.array_equal(model.mean_, np.zeros(4))
        if method != "sulq" and method != "exponential":
            centred = fitted(moved, n_components=1, method=method, center="private", epsilon=30.0)
            np.testing.assert_allclose(centred.mean_, [4.0, 0.0, 0.0, 0.0], atol=0.2)
            assert abs(centred.components_[0] @ AXES[0]) > 0.98

    @seeds_are_fine
    def test_rows_whose_number_is_private_are_counted(self):
        for method in METHODS:
            model = fitted(method=method, neighbors="add-remove", epsilon=30.0)
            np.testing.assert_allclose(model.explained_variance_, [9.0, 4.0], rtol=0.2)

    @seeds_are_fine
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("epsilon", [1e-3, 0.1])
    def test_next_to_no_budget_gives_noise_but_valid_numbers(self, method, epsilon):
        model = fitted(ROWS[:50], method=method, epsilon=epsilon)
        for name in ("components_", "explained_variance_", "explained_variance_ratio_", "mean_"):
            assert np.all(np.isfinite(getattr(model, name)))
        assert np.all(np.isfinite(model.score_samples(ROWS)))


@seeds_are_fine
@pytest.mark.parametrize("method", METHODS)
def test_columns_of_different_units_are_scaled_by_their_bounds(method):
    """As if they had been scaled by hand; everything else in the data's own units."""
    units = np.array([1.0, 1000.0, 0.01, 5.0])
    box, unit = dp.Box(-12.0 * units, 12.0 * units), dp.Box(-1.0, 1.0)
    model = fitted(ROWS * units, bounds=box, scale_by_bounds=True, method=method, epsilon=50.0)
    by_hand = fitted(ROWS / 12.0, bounds=unit, method=method, epsilon=50.0)
    assert np.array_equal(model.scale_, 12.0 * units)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(by_hand.components_), atol=0.05)
    np.testing.assert_allclose(model.explained_variance_, by_hand.explained_variance_, rtol=0.1)
    rows = ROWS[:100] * units
    np.testing.assert_allclose(
        model.transform(model.inverse_transform(model.transform(rows))), model.transform(rows), atol=1e-10
    )
    assert model.score(rows) == pytest.approx(by_hand.score(ROWS[:100] / 12.0) - np.log(12.0 * units).sum(), abs=0.2)
    np.testing.assert_allclose(
        np.cov(model.sample(20_000, random_state=0).T) / np.outer(units, units),
        model.get_covariance() / np.outer(units, units),
        atol=0.4,
    )
    with pytest.raises(ValueError, match="expected bounds of each column"):
        fitted(scale_by_bounds=True)


@seeds_are_fine
@pytest.mark.parametrize("method", ["auto", "adaptive", "analyze-gauss"])
def test_variances_that_cannot_be_are_not_reported(method):
    for epsilon in (1e-3, 0.01, 0.1):
        model = fitted(ROWS[:200] / 12.0, n_components=None, bounds=dp.Ball(1.0), method=method, epsilon=epsilon)
        assert model.explained_variance_.sum() <= 1.0 + 1e-9


@pytest.mark.parametrize("make", [dp.PCA, dp.FactorAnalysis, dp.KMeans])
def test_what_cannot_be_transformed_is_refused_before_it_is_fitted(make, tmp_path):
    curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db")
    with pytest.raises(ValueError, match="write fit"):
        make(1).fit_transform(curator)
    assert not curator.ledger.history()


@seeds_are_fine
@pytest.mark.parametrize("method", METHODS)
def test_json_there_and_back(method):
    model = fitted(method=method)
    again = dp.PCA.from_json(model.to_json())
    assert np.array_equal(again.transform(ROWS), model.transform(ROWS))
    assert np.array_equal(again.score_samples(ROWS), model.score_samples(ROWS))
    assert again.releases_[0].provenance == "simulated"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 5}, "n_components=5"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 1.5}, "n_components=1.5: expected a whole number from 1 to 4, a share of the variance"),
        ({"n_components": "two"}, "n_components='two'"),
        ({"n_components": 0.5, "method": "exponential"}, "expected a number with method='exponential'"),
        ({"method": "svd"}, "method='svd'"),
        ({"center": "mean"}, "center='mean'"),
        ({"center": "private", "method": "sulq"}, "center='private'"),
        ({"center": "declared", "method": "adaptive"}, "center='declared'"),
        ({"bounds": None}, "bounds=None"),
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"delta": 0.0}, "delta=0.0"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(parameters, words, tmp_path):
    curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db")
    parameters = {"n_components": 2} | parameters
    if "bounds" in parameters:
        with pytest.raises(ValueError, match=words):
            dp.PCA(**parameters).fit(ROWS)
        return
    with pytest.raises(ValueError, match=words):
        dp.PCA(**parameters).fit(curator)
    assert not curator.ledger.history()


def test_a_seed_is_refused_beside_a_ledger(tmp_path):
    curator = dp.Curator(ROWS, space=BALL, name="rows", ledger=tmp_path / "l.db")
    with pytest.raises(ValueError, match="random_state=0"):
        dp.PCA(1, random_state=0).fit(curator)
    with pytest.warns(NotPrivateWarning):
        assert fitted().guarantee_ is None
