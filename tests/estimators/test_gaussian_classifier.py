"""The private classifier: scikit-learn's contract, what it promises and pays, how near it comes, what it refuses."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dp
from discreet.door import PublicSize, Release
from discreet.models.classes.bayes_error import bhattacharyya_bound
from discreet.models.classes.class_estimates import ClassEstimates, positive_part, shrink_classes
from discreet.models.classes.xi_classes import repair_covariance
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import clip_to_ball
from discreet.noise import GaussianNoise, NotPrivateWarning
from discreet.queries.bound import Bound
from discreet.queries.moments.class_moments import SHAPES, ClassMoments
from discreet.queries.moments.components import Components
from discreet.queries.search import worst_neighbours
from discreet.records import Block, as_records
from effort import crossed, size

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

BOX = dp.Box(-8.0, 10.0)
METHODS = ("adaptive", "joint", "xi2011")
WAYS = [*((method, shape) for method in ("adaptive", "joint") for shape in SHAPES), ("xi2011", "full")]


def rows(n=4000, d=2, seed=0, apart=2.0, classes=2):
    """Return groups of different sizes and widths along the diagonal, and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return (1.0 + 0.3 * y[:, None]) * rng.standard_normal((n, d)) + apart * y[:, None], y


X, Y = rows()
FRAME = pd.DataFrame(X, columns=["age", "income"]).assign(ill=np.where(Y, "yes", "no"))
SCHEMA = dp.Schema({"age": dp.Number(-8, 10), "ill": dp.Category(["no", "yes"]), "income": dp.Number(-8, 10)})


def fitted(X=X, y=Y, **parameters):
    return dp.GaussianClassifier(**({"bounds": BOX, "classes": [0, 1], "random_state": 0} | parameters)).fit(X, y)


@seeds_are_fine
@parametrize_with_checks(
    [
        dp.GaussianClassifier(
            classes="public",
            epsilon=1e6,
            bounds=dp.Box(-20, 20),
            random_state=0,
            method="joint",
            covariance_type="tied",
        ),
        dp.GaussianClassifier(classes="public", epsilon=1e6, bounds=dp.Box(-20, 20), random_state=0),
        dp.GaussianClassifier(classes="public", epsilon=1e6, bounds=dp.Box(-20, 20), random_state=0, method="xi2011"),
    ][: size(1, 3)]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@seeds_are_fine
def test_columns_keep_their_names():
    from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency

    model = dp.GaussianClassifier(epsilon=1e3, bounds=BOX, classes="public")
    check_dataframe_column_names_consistency("GaussianClassifier", model)
    model = fitted(FRAME, "ill", classes=["no", "yes"])
    assert model.feature_names_in_.tolist() == ["age", "income"]
    assert fitted(pd.DataFrame(X, columns=["x0", "x1"])).feature_names_in_.tolist() == ["x0", "x1"]
    assert not hasattr(model.set_params(classes=[0, 1]).fit(X, Y), "feature_names_in_")


def classes_of(count, d, rng, width=0.05):
    """Return classes of their own widths, some of them turned."""
    turn = np.linalg.qr(rng.standard_normal((count, d, d)))[0] * rng.uniform(0.3, 1.5, (count, 1, d)) * width
    means = clip_to_ball(0.4 * rng.standard_normal((count, d)))
    return Components(np.full(count, 1.0 / count), means, turn @ np.swapaxes(turn, 1, 2))


class TestBound:
    """The bound of ``class_moments`` under attack; ``test_door_search`` has the same for every registered query."""

    @pytest.mark.parametrize("fault", ["none", "sqrt 2", "replace as add", "no clipping", "a changed label is free"])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_broken_copies_are_caught(self, shape, fault):
        rng = np.random.default_rng(3)
        skewed = dp.Box([-3.0, 100.0, 0.0], [1.0, 101.0, 5000.0])

        @dataclass(frozen=True, eq=False)
        class Broken(ClassMoments):
            @property
            def bound(self):
                bound = super().bound
                if fault == "sqrt 2":
                    return Bound(l2=bound.l2 / math.sqrt(2.0), replace_l2=bound.replace("l2") / math.sqrt(2.0))
                if fault == "replace as add":
                    return Bound(l2=1.0, replace_l2=1.0)
                if fault == "a changed label is free":  # as for a single class, with a count that cancels
                    return Bound(l2=1.0, replace_l2=math.sqrt(2.0 - 2.0 * self.weights[0]))
                return bound

            def _own(self, y, k):
                if fault == "no clipping":
                    return (y - self.classes.means[k]) @ self.classes.whitening[k].T / self.radius
                return super()._own(y, k)

        query = Broken(skewed, classes_of(3, 3, rng), 2.5, (0.45, 0.1, 0.45), shape)
        effort = size({"starts": 12, "steps": 6}, {})
        assert all(finding.holds for finding in worst_neighbours(query, rng, **effort)) == (fault == "none")

    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    def test_an_attacker_learns_no_more_than_promised(self, neighbors, seeded):
        """A changed label, end to end, in an asymmetric box: the two laws are at most μ = 4 apart, and nearly so.

        Projected on the difference of the sums a release is normal, at distance μ in units of its deviation. The
        mean difference of runs is off by more than 6.2·√(2/runs) with probability 6e-10: by 0.88 of 100 a side, while
        without √2 the distance would be 5.66.
        """
        rng, runs, mu = np.random.default_rng(0), size(100, 2_000), 4.0
        off = 6.2 * math.sqrt(2.0 / runs)
        schema = dp.Schema({"a": dp.Number(-3, 1), "l": dp.Category(["u", "v"]), "b": dp.Number(100, 5000)})
        others = {"a": [-1.0, 0.5], "l": ["u", "v"], "b": [700.0, 4000.0]}
        far = {"a": [1.0], "l": ["u"], "b": [5000.0]}
        moved = {"a": [-3.0], "l": ["v"], "b": [100.0]} if neighbors == "replace-one" else {"a": [], "l": [], "b": []}
        curators = [
            dp.Curator(
                pl.DataFrame({name: others[name] + one[name] for name in others}), schema=schema, neighbors=neighbors
            )
            for one in (far, moved)
        ]
        query = ClassMoments(curators[0].space, classes_of(2, 2, rng), 2.0, (0.2, 0.2, 0.6))
        bits, loss = seeded(1), dp.GaussianLoss(mu, neighbors)
        blocks = [curator._records.reduce(query.sum, query.size) for curator in curators]
        direction = (blocks[0] - blocks[1]) / np.linalg.norm(blocks[0] - blocks[1])
        result = [
            np.mean([direction @ curator.measure(query, loss, bits=bits).value for _ in range(runs)])
            for curator in curators
        ]
        std = math.sqrt(curators[0].plan(query, loss).noise.variance)
        assert 0.99 * mu - off < (result[0] - result[1]) / std < mu + off

    @pytest.mark.parametrize("shape", SHAPES)
    def test_every_backend_gives_the_same_sum(self, shape):
        rng = np.random.default_rng(0)
        x, codes = rng.normal(size=(200, 3)), rng.integers(0, 3, (200, 2))
        block, other = Block(x, codes), Block(array_api_strict.asarray(x), array_api_strict.asarray(codes))
        for radius in (None, 2.0):
            query = ClassMoments(
                dp.Box([-1.0] * 3, [2.0] * 3), classes_of(3, 3, rng), radius, (0.2, 0.3, 0.5), shape, 1
            )
            expected = query.sum(block)
            np.testing.assert_allclose(np.asarray(query.sum(other)), expected, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(
                np.asarray(query.contributions(other)).sum(axis=0), expected, rtol=1e-9, atol=1e-9
            )

    def test_what_does_not_fit(self):
        classes = classes_of(2, 2, np.random.default_rng(0))
        for weights in ((0.5, 0.5, 0.5), (0.0, 0.5, 0.5)):
            with pytest.raises(ValueError, match="weights="):
                ClassMoments(BOX.for_columns(2), classes, None, weights)
        curator = dp.Curator(FRAME, schema=SCHEMA)
        for query in (
            ClassMoments(curator.space, classes_of(3, 2, np.random.default_rng(0)), None, (0.2, 0.3, 0.5)),
            ClassMoments(curator.space, classes, None, (0.2, 0.3, 0.5), column=1),
        ):
            with pytest.raises(ValueError, match="categories"):
                curator.measure(query, dp.GaussianLoss(0.1))


class TestPrivacy:
    @pytest.mark.parametrize("method", METHODS)
    def test_without_a_seed_it_is_private_and_says_so(self, method):
        delta = 0.0 if method == "xi2011" else 1e-6
        model = fitted(method=method, random_state=None)
        assert model.guarantee_ == dp.Guarantee(1.0, delta, "replace-one")
        assert {release.provenance for release in model.releases_} == {"measured"}
        assert "NOT RECORDED" in repr(model)
        assert "for each row" in repr(model)
        assert not np.array_equal(model.means_, fitted(method=method, random_state=None).means_)

    def test_with_a_seed_it_is_not_and_says_so(self):
        with pytest.warns(NotPrivateWarning):
            model = fitted()
        assert model.guarantee_ is None
        assert "WITHOUT privacy" in repr(model)

    @seeds_are_fine
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    @pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 1e-6), (20.0, 1e-3)])
    def test_the_losses_are_the_promise_and_all_of_it(self, method, neighbors, epsilon, delta):
        model = fitted(method=method, neighbors=neighbors, epsilon=epsilon, delta=delta)
        assert all(loss.neighbors is dp.Neighbors.parse(neighbors) for loss in model.losses_)
        assert [release.loss for release in model.releases_] == list(model.losses_)
        if method == "xi2011":
            assert sum(loss.epsilon for loss in model.losses_) == pytest.approx(epsilon)
        else:
            assert epsilon * (1 - 1e-6) < dp.compose(model.losses_).epsilon(delta) <= epsilon * (1 + 1e-9)

    def test_the_noise_is_the_one_that_the_loss_asks_for(self):
        """σ = Δ/μ of the lemma, to the little that weights, grid and float error add; it does not grow with K."""
        X, y = rows(3000, 3, classes=6)
        for method in ("adaptive", "joint"):
            for neighbors, sensitivity in (("replace-one", math.sqrt(2.0)), ("add-remove", 1.0)):
                model = fitted(X, y, method=method, neighbors=neighbors, classes=range(6), random_state=None)
                last = model.releases_[-1]
                assert 1.0 <= math.sqrt(last.noise.variance) * last.loss.mu / sensitivity <= 1.15

    @pytest.mark.parametrize(("neighbors", "touched"), [("replace-one", 2.0), ("add-remove", 1.0)])
    def test_the_published_noise_is_honest(self, neighbors, touched):
        """Counts 1, sums d, scatters d(d+1)/2 in L1, at ε/3 each; a changed label touches two classes."""
        model = fitted(method="xi2011", neighbors=neighbors, random_state=None)
        for release, moved in zip(model.releases_, (1.0, 2.0, 3.0), strict=True):
            assert math.sqrt(release.noise.variance / 2.0) == pytest.approx(touched * moved * 3.0, rel=1e-3)

    def test_a_ledger_is_charged_once_and_then_refuses(self, tmp_path):
        guarantee = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(FRAME, schema=SCHEMA, name="rows", ledger=tmp_path / "l.db", budget=guarantee)
        model = dp.GaussianClassifier().fit(curator, "ill")
        assert all(release.recorded for release in model.releases_)
        assert "NOT RECORDED" not in repr(model)
        assert [entry.kind for entry in curator.ledger.history()] == ["limit", "reserve"]
        with pytest.raises(dp.BudgetExceeded):
            dp.GaussianClassifier(epsilon=0.1).fit(curator, "ill")
        assert len(curator.ledger.history()) == 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"bounds": dp.Box(-9.0, 9.0)},
            {"neighbors": "add-remove"},
            {"random_state": 3},
            {"epsilon": 0.0},
            {"epsilon": float("nan")},
            {"epsilon": 1e300},
            {"delta": 0.0},
            {"delta": 1.0},
            {"classes": ["yes", "no"]},
            {"classes": "public"},
            {"method": "magic"},
            {"covariance_type": "spherical"},
            {"method": "xi2011", "covariance_type": "diag"},
        ],
        ids=str,
    )
    def test_refusals_come_before_anything_is_spent(self, wrong, tmp_path):
        curator = dp.Curator(FRAME, schema=SCHEMA, name="rows", ledger=tmp_path / "l.db")
        with pytest.raises(ValueError, match=r"expected|fit one grid"):
            dp.GaussianClassifier(**wrong).fit(curator, "ill")
        for y in (None, Y, "age", "nobody"):
            with pytest.raises(ValueError, match="expected"):
                dp.GaussianClassifier().fit(curator, y)
        assert not curator.ledger.history()

    def test_nothing_exact_is_kept(self):
        model = fitted(random_state=None)
        fitted_to = {"class_count_", "priors_", "means_", "covariances_", "noise_", "categories_", "n_features_in_"}
        public = fitted_to | {"unit_", "guarantee_", "losses_", "releases_"}
        assert {name for name in vars(model) if name.endswith("_")} == public


@seeds_are_fine
class TestLabels:
    @pytest.mark.parametrize(
        ("classes", "labels"),
        [
            ([0, 1], Y),
            (["no", "yes"], np.where(Y, "yes", "no")),
            ([False, True], Y.astype(bool)),
            ([1, 0], Y.astype(float)),
            (["0", "1"], Y),
        ],
        ids=str,
    )
    def test_declared_ones(self, classes, labels):
        model = fitted(y=labels, classes=classes)
        assert model.classes_.tolist() == sorted(classes)
        same = [classes[1 if str(classes[0]) == "1" else 0], classes[0 if str(classes[0]) == "1" else 1]]
        assert np.mean(model.predict(X) == np.array(same)[Y]) > 0.85

    def test_scores_of_scikit_learn_have_the_right_way_round(self):
        labels = np.where(Y, "above", "below")
        for classes in (["below", "above"], ["above", "below"]):
            model = dp.GaussianClassifier(epsilon=20.0, bounds=BOX, classes=classes, random_state=0)
            assert cross_val_score(model, X, labels, cv=2, scoring="roc_auc").min() > 0.9
        model = fitted(y=labels, classes=["below", "above"])
        assert model.means_[0].mean() > model.means_[1].mean()
        assert model.noise_["means"].shape == model.means_.shape

    def test_labels_that_do_not_fit_are_told_from_released_counts(self):
        with pytest.warns(UserWarning, match="of 4000, have one of the labels 'No', 'Yes'"):
            fitted(y=np.where(np.arange(len(Y)) < 100, np.where(Y, "Yes", "No"), "no"), classes=["No", "Yes"])
        with pytest.raises(ValueError, match=r"expected at least one declared label \('No', 'Yes'\)"):
            fitted(y=np.where(Y, "yes", "no"), classes=["No", "Yes"])
        with pytest.warns(UserWarning, match="hardly a row has the label 0"):
            fitted(y=Y + 1)

    def test_public_ones_are_read_and_sorted(self):
        assert fitted(y=np.where(Y, "b", "a"), classes="public").classes_.tolist() == ["a", "b"]
        assert fitted(y=Y.astype(bool).tolist(), classes="public").classes_.tolist() == [False, True]
        assert fitted(y=pd.Series(10 - Y), classes="public").classes_.tolist() == [9, 10]

    @pytest.mark.parametrize("classes", [[0, 1], "public"], ids=str)
    def test_a_row_without_a_declared_label_is_dropped(self, classes):
        """As if it were not there: under add-remove to the last bit."""
        gaps = Y.astype(float)
        gaps[::7] = np.nan
        kept = np.isfinite(gaps)
        model = fitted(y=gaps, classes=classes, neighbors="add-remove")
        without = fitted(X[kept], Y[kept], classes=classes, neighbors="add-remove")
        np.testing.assert_allclose(model.means_, without.means_, rtol=1e-9)
        if classes != "public":
            odd = Y.astype(object)
            odd[::7] = "odd"
            np.testing.assert_allclose(fitted(y=odd, neighbors="add-remove").means_, without.means_, rtol=1e-9)

    def test_behind_a_curator_no_row_is_an_error(self):
        odd = FRAME.assign(ill=FRAME["ill"].where(np.arange(len(FRAME)) % 5 > 0, "who knows"))
        odd.loc[3, "age"] = np.nan
        model = dp.GaussianClassifier(random_state=0).fit(dp.Curator(odd, schema=SCHEMA), "ill")
        assert model.score(FRAME[["age", "income"]], FRAME["ill"]) > 0.85

    @pytest.mark.parametrize("covariance_type", SHAPES)
    @pytest.mark.parametrize("method", ["adaptive", "joint"])
    def test_a_class_without_rows_gets_what_the_others_share(self, method, covariance_type):
        with pytest.warns(UserWarning, match="hardly a row has the label 2"):
            model = fitted(classes=[0, 1, 2], covariance_type=covariance_type, method=method)
        assert model.priors_[2] < 0.05
        assert np.mean(model.predict(X) == 2) < 0.02
        result = model._components.covariances
        pooled = np.einsum("k,kij->ij", model.priors_[:2] / model.priors_[:2].sum(), result[:2])
        np.testing.assert_allclose(result[2], pooled, atol=0.3)

    @pytest.mark.parametrize(
        ("wrong", "y", "message"),
        [
            ({"classes": None}, Y, "classes=None: expected the possible labels"),
            ({"classes": "yes"}, Y, "classes='yes': expected"),
            ({"classes": [0]}, Y, "at least two"),
            ({"classes": [0, 0]}, Y, "one category"),
            ({"classes": [0.5, 1]}, Y, "whole number"),
            ({"classes": 2}, Y, "expected a sequence"),
            ({"classes": range(2000)}, Y, "1000"),
            ({"classes": "public"}, np.zeros(len(Y)), "got one class"),
            ({"classes": "public"}, np.full(len(Y), np.nan), "got no class"),
            ({"classes": "public"}, X[:, 0], "Unknown label type"),
            ({}, None, "requires y"),
            ({}, Y[:-1], "inconsistent numbers"),
            ({}, "ill", "data frame"),
            ({"bounds": None}, Y, "declared bounds"),
            ({"bounds": dp.Ball(9.0)}, Y, "bounds of each column"),
            ({"bounds": (0, 1, 2)}, Y, "declared bounds"),
        ],
        ids=str,
    )
    def test_what_is_refused(self, wrong, y, message):
        with pytest.raises(ValueError, match=message):
            fitted(y=y, **wrong)

    def test_no_error_shows_a_row(self):
        secret = 271828.18
        bad = X.astype(object)
        bad[5, 0] = f"text {secret}"
        for rows_of in (bad, np.where(np.arange(len(X))[:, None] == 5, np.inf, X)):
            with pytest.raises(ValueError, match="holds") as error:
                fitted(rows_of)
            assert "271828" not in str(error.value)


@seeds_are_fine
class TestSources:
    def test_the_same_rows_from_anywhere_give_the_same_fit(self, tmp_path):
        import dask.dataframe as dd

        FRAME.to_parquet(tmp_path / "rows.parquet")
        order = FRAME[["age", "income", "ill"]]
        curator = dp.Curator(FRAME, schema=SCHEMA)
        seeded = dp.GaussianClassifier(random_state=0)
        declared = [
            seeded.fit(curator, "ill"),
            clone(seeded).fit(SimpleNamespace(curator=curator), "ill"),
            clone(seeded).fit(as_records(FRAME, schema=SCHEMA), "ill"),
            fitted(tmp_path / "rows.parquet", "ill", classes=["no", "yes"]),
            fitted(dd.from_pandas(order, npartitions=3), "ill", classes=["no", "yes"]),
        ]
        owned = [
            fitted(X, FRAME["ill"], classes=["no", "yes"]),
            fitted(order, "ill", classes=["no", "yes"]),
            fitted(pl.from_pandas(order), "ill", classes=["no", "yes"]),
            fitted(FRAME[["age", "income"]], FRAME["ill"].tolist(), classes="public"),
        ]
        for model in declared + owned:
            np.testing.assert_allclose(model.means_, declared[0].means_, rtol=0, atol=1e-6)
            np.testing.assert_allclose(model.priors_, declared[0].priors_, rtol=0, atol=1e-6)
            assert model.classes_.tolist() == ["no", "yes"]

    def test_what_cannot_be_read(self, tmp_path):
        FRAME.to_parquet(tmp_path / "rows.parquet")
        for source, y, classes in (
            (tmp_path / "rows.parquet", "who", ["no", "yes"]),
            (tmp_path / "rows.parquet", Y, ["no", "yes"]),
            (tmp_path / "rows.parquet", "ill", "public"),
            (tmp_path / "rows.parquet", "ill", None),
            (FRAME, "who", ["no", "yes"]),
        ):
            with pytest.raises(ValueError, match="expected"):
                fitted(source, y, classes=classes)

    def test_a_gap_in_a_column_that_is_not_asked_for_drops_no_row(self):
        more = FRAME.assign(ward=None)
        schema = dp.Schema(dict(SCHEMA.columns) | {"ward": dp.Category(["a", "b"])})
        result = dp.GaussianClassifier(random_state=0).fit(dp.Curator(more, schema=schema), "ill")
        plain = dp.GaussianClassifier(random_state=0).fit(dp.Curator(FRAME, schema=SCHEMA), "ill")
        np.testing.assert_array_equal(result.means_, plain.means_)

    def test_units_are_the_datas_own(self):
        """Moving and stretching the rows with their box moves and stretches the classes."""
        scale, offset = np.array([1e-3, 1e4]), np.array([5.0, -1e6])
        moved = dp.Box((-8.0 * scale + offset).tolist(), (10.0 * scale + offset).tolist())
        plain, far = fitted(), fitted(X * scale + offset, bounds=moved)
        np.testing.assert_allclose((far.means_ - offset) / scale, plain.means_, atol=1e-3)
        np.testing.assert_allclose(far.covariances_ / np.outer(scale, scale), plain.covariances_, atol=1e-3)
        np.testing.assert_allclose(far.noise_["means"] / scale, plain.noise_["means"], rtol=1e-3)
        np.testing.assert_allclose(
            far.noise_["covariances"] / np.outer(scale, scale), plain.noise_["covariances"], 1e-3
        )

    def test_a_person_of_several_rows(self):
        frame = FRAME.assign(person=np.arange(len(FRAME)) // 2)
        curator = dp.Curator(frame, schema=SCHEMA, unit="person", max_rows=2)
        model = dp.GaussianClassifier(random_state=0).fit(curator, "ill")
        assert model.unit_ == "each person"
        assert math.sqrt(model.releases_[-1].noise.variance) >= 2.0 / model.losses_[-1].mu
        assert model.score(FRAME[["age", "income"]], FRAME["ill"]) > 0.85


@seeds_are_fine
class TestAccuracy:
    @pytest.mark.parametrize(("n", "most"), [(4_000, 0.03), (32_000, 0.012)])
    def test_the_mixture_of_the_paper(self, n, most):
        """Of ``python -m papers xi/figure-1``, where the published method has errors above 0.1."""
        errors = []
        for seed in range(5):
            train, test = (dp.datasets.make_xi_pair(size, random_state=s) for size, s in ((n, seed), (20_000, 99)))
            stds = np.sqrt(train.truth.covariances.diagonal(axis1=1, axis2=2))
            box = dp.Box((train.truth.means - 4.0 * stds).min(axis=0), (train.truth.means + 4.0 * stds).max(axis=0))
            model = fitted(
                train.X, train.y, bounds=box, epsilon=0.1, delta=1e-5, neighbors="add-remove", random_state=seed
            )
            errors.append(1.0 - model.score(test.X, test.y))
        assert np.mean(errors) <= most

    def test_many_columns(self):
        train, test = (dp.datasets.make_xi_correlated(n, 10, 3.0, random_state=n) for n in (32_000, 20_000))
        exact = QuadraticDiscriminantAnalysis().fit(train.X, train.y).score(test.X, test.y)
        model = fitted(train.X, train.y, bounds=dp.Box(-8, 9), epsilon=0.1, delta=1e-5, neighbors="add-remove")
        assert model.score(test.X, test.y) > exact - 0.03

    @pytest.mark.parametrize(("method", "covariance_type"), WAYS)
    def test_with_hardly_any_noise_it_is_scikit_learns(self, method, covariance_type):
        shapes = {"full": QuadraticDiscriminantAnalysis, "tied": LinearDiscriminantAnalysis, "diag": GaussianNB}
        exact = shapes[covariance_type]()
        X, y = rows(5000, 3, classes=3)
        model = fitted(X, y, classes=range(3), method=method, covariance_type=covariance_type, epsilon=1e6)
        assert np.mean(model.predict(X) == exact.fit(X, y).predict(X)) > 0.995
        np.testing.assert_allclose(model.priors_, np.bincount(y) / len(y), atol=1e-3)
        np.testing.assert_allclose(model.means_, [X[y == k].mean(axis=0) for k in range(3)], atol=0.01)

    def test_a_wide_box_costs_little(self):
        """A thousand times the volume: rounds find the rows in it, one release does not."""
        X, y = rows(20_000, 3)
        wide = {method: fitted(X, y, bounds=dp.Box(-100, 100), method=method) for method in ("adaptive", "joint")}
        assert wide["adaptive"].score(X, y) > fitted(X, y).score(X, y) - 0.005
        assert wide["adaptive"].score(X, y) > wide["joint"].score(X, y)

    def test_its_noise_is_what_it_says(self):
        """Means and covariances of 60 fits vary as ``noise_`` says, to a factor of 1.5 (or less, where shrunk).

        60 numbers of each kind: their mean square is off by a factor of 1.5² with probability below 1e-9.
        """
        fits = [fitted(neighbors="add-remove", random_state=seed, method="joint") for seed in range(60)]
        said = fits[0]._noise_stds()
        shapes = [(2,), (2, 2), (2, 2, 2)]
        assert [part.shape for part in said] == shapes
        means = np.array([fit.means_ for fit in fits]).std(axis=0)
        covariances = np.array([fit.covariances_ for fit in fits]).std(axis=0)
        assert np.sqrt(np.mean((means / said[1]) ** 2)) == pytest.approx(1.0, rel=0.5)
        assert 0.2 < np.sqrt(np.mean((covariances / said[2]) ** 2)) < 1.5


@seeds_are_fine
class TestRobustness:
    @pytest.mark.filterwarnings("ignore:hardly a row")
    @pytest.mark.parametrize(("way", "epsilon", "place"), crossed(WAYS, [0.001, 1.0, 1000.0], range(5)))
    def test_finite_whatever_the_rows(self, way, epsilon, place):
        rng, (method, covariance_type) = np.random.default_rng(0), way
        rows_of = [
            np.zeros((50, 1)),
            np.repeat(rng.standard_normal((2, 3)), 100, axis=0),
            np.column_stack([rng.standard_normal((300, 2)), np.full(300, 7.0)]),
            1e300 * rng.standard_normal((200, 3)),
            rng.standard_normal((3, 2)),
        ][place]
        y = np.arange(len(rows_of)) % 2
        model = fitted(rows_of, y, epsilon=epsilon, method=method, covariance_type=covariance_type, classes=range(9))
        far = np.full((1, rows_of.shape[1]), 1e308)
        shares = model.predict_proba(np.vstack([rows_of, far, -far]))
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert np.all(np.isfinite(model.log_joint(far)))
        assert np.linalg.eigvalsh(model._components.covariances).min() > 0.0
        assert np.all(model.priors_ > 0.0)
        assert model.priors_.sum() == pytest.approx(1.0)
        assert all(np.all(np.isfinite(part)) for part in model._noise_stds())

    def test_many_columns_and_classes(self):
        X, y = rows(2000, 60, classes=20)
        for epsilon in (0.01, 10.0):
            assert np.all(np.isfinite(fitted(X, y, classes=range(20), epsilon=epsilon).predict_proba(X)))

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("clipped", [False, True])
    def test_any_release_gives_valid_classes(self, shape, clipped):
        rng, d, k = np.random.default_rng(0), 3, 4
        clipping, form = Clipping.at_quantile(d, 0.9) if clipped else None, Shape(shape, d)
        space = dp.Box([-1.0] * d, [1.0] * d)
        classes, result = classes_of(k, d, rng), None
        for _ in range(60):
            query = ClassMoments(space, classes, clipping and clipping.radius, (0.1, 0.3, 0.6), shape)
            size = rng.choice([PublicSize(1000, True), PublicSize(1000, False), PublicSize(None, False)])
            value = rng.standard_normal(query.size) * 10.0 ** rng.uniform(-300, 8) * rng.choice([0.0, 1.0, 1.0])
            release = Release(
                query="q", value=value, parts=query.parts, mechanism="additive", exact=True, size=size,
                noise=GaussianNoise(10.0 ** rng.uniform(-6, 6)), loss=dp.GaussianLoss(1.0),
            )  # fmt: skip
            new = ClassEstimates.from_release(release, classes, clipping, form)
            result = new if result is None else result.pool(new, form)
            classes = shrink_classes(result, form)
            assert np.all(classes.weights > 0.0)
            assert classes.weights.sum() == pytest.approx(1.0)
            assert np.linalg.norm(classes.means, axis=1).max() <= 1.0 + 1e-9
            assert np.linalg.eigvalsh(classes.covariances).min() > 1e-7

    def test_the_repair_of_the_paper(self):
        np.testing.assert_allclose(np.linalg.eigvalsh(repair_covariance(np.diag([4.0, -3.0, 1.0]))), [1.0, 1.0, 4.0])
        np.testing.assert_array_equal(repair_covariance(-np.eye(2)), np.eye(2) / 12.0)
        np.testing.assert_array_equal(repair_covariance(np.zeros((2, 2))), np.eye(2) / 12.0)

    def test_counts_stay_positive(self):
        counts = positive_part(np.array([-1e9, -5.0, 0.0, 5.0, 1e9]), 1.0)
        assert np.all(counts > 0.0)
        assert np.all(np.diff(counts) > 0.0)
        assert counts[-1] == 1e9


@seeds_are_fine
class TestUse:
    def test_densities_are_those_of_the_classes(self):
        for covariance_type in SHAPES:
            model = fitted(covariance_type=covariance_type)
            joint = model.log_joint(X)
            np.testing.assert_allclose(model.decision_function(X), joint[:, 1] - joint[:, 0])
            np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
            np.testing.assert_array_equal(model.predict(X), model.classes_[joint.argmax(axis=1)])
            assert model.score(X, Y) == np.mean(model.predict(X) == Y)
        three = fitted(*rows(classes=3), classes=range(3))
        assert three.decision_function(X).shape == (len(X), 3)

    def test_rows_outside_are_moved_to_the_border(self):
        model = fitted()
        np.testing.assert_array_equal(model.log_joint([[1e9, -1e9]]), model.log_joint([[10.0, -8.0]]))

    def test_samples_follow_the_classes(self):
        model = fitted(y=np.where(Y, "yes", "no"), classes=["no", "yes"])
        sample, labels = model.sample(50_000, random_state=1)
        assert np.mean(labels == "yes") == pytest.approx(model.priors_[1], abs=0.02)
        np.testing.assert_allclose(sample[labels == "yes"].mean(axis=0), model.means_[1], atol=0.06)
        np.testing.assert_allclose(np.cov(sample[labels == "no"].T), model.covariances_[0], atol=0.08)
        assert not np.array_equal(model.sample(5)[0], model.sample(5)[0])

    @pytest.mark.parametrize(("method", "covariance_type"), WAYS)
    def test_it_goes_through_json(self, covariance_type, method):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = fitted(
                FRAME, "ill", classes=["no", "yes"], random_state=None, covariance_type=covariance_type, method=method
            )
        again = dp.GaussianClassifier.from_json(model.to_json())
        frame = FRAME[["age", "income"]]
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        assert again.classes_.tolist() == ["no", "yes"]
        assert again.guarantee_ == model.guarantee_
        assert {release.provenance for release in again.releases_} == {"loaded"}
        assert again.get_params() == model.get_params()
        assert dp.GaussianClassifier.from_json(again.to_json()).to_dict() == again.to_dict()
        facts = json.loads(model.to_json())
        for wrong in (
            {"priors_": [-1.0, 2.0]},
            {"means_": [[0.0]]},
            {"noise_": {"counts": [1.0, 1.0]}},
            {"categories_": {"ill": ["no"]}},
            {"categories_": {"ill": ["no", "yes"], "more": ["a"]}},
            {"covariances_": (0.0 * np.array(facts["fitted"]["covariances_"])).tolist()},
            {"guarantee_": {"epsilon": 1e-9, "delta": 0.0, "neighbors": "replace-one"}},
        ):
            with pytest.raises(ValueError, match="expected"):
                dp.GaussianClassifier.from_dict(facts | {"fitted": facts["fitted"] | wrong})

    def test_copies(self):
        model = fitted(classes=(0, 1))
        assert clone(model).get_params() == model.get_params()
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).means_, model.means_)

    def test_progress_is_shown_when_asked_for(self, capsys):
        fitted(verbose=True)
        assert "GaussianClassifier" in capsys.readouterr().err
        fitted()
        assert capsys.readouterr() == ("", "")

    def test_before_fit_there_is_nothing(self):
        from sklearn.exceptions import NotFittedError

        model = dp.GaussianClassifier(bounds=BOX, classes=[0, 1])
        assert not hasattr(model, "classes_")
        with pytest.raises(NotFittedError):
            model.predict(X)


@seeds_are_fine
@pytest.mark.parametrize(
    ("method", "d", "count"),
    size(
        [("adaptive", 2, 3), ("joint", 1, 2), ("xi2011", 2, 3)],
        [(method, *shape) for method in METHODS for shape in ((1, 2), (2, 3))],
    ),
)
def test_the_limit_on_the_bayes_error_holds_as_often_as_it_says(method, d, count):
    # At a level of 0.95, more than 8 of 12 limits fail with a probability below 1e-9, and more than 10 of 20.
    runs, most = size((12, 8), (20, 10))
    means, covariances = 3.0 * np.arange(count)[:, None] * np.ones(d), np.repeat(np.eye(d)[None], count, axis=0)
    truth = bhattacharyya_bound(np.full(count, 1.0 / count), means, covariances)
    failed = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, count, 4000)
        many = rng.normal(size=(4000, d)) + means[y]
        how = {"classes": list(range(count)), "bounds": dp.Box(-5, 12), "method": method, "random_state": seed}
        result = fitted(many, y, epsilon=2.0, **how).bayes_error_bound(0.95)
        assert 0.0 <= result.chernoff <= result.value * (1.0 + 1e-9)
        assert result.value <= result.limit
        failed += result.limit < truth
    assert failed <= most


@seeds_are_fine
def test_the_limit_holds_where_classes_are_alike_and_the_prior_is_the_bound():
    failed, (runs, most) = 0, size((12, 8), (20, 10))  # as above: each with a probability of about 0.05
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = (rng.random(4000) < 0.2).astype(int)
        many = rng.normal(size=(4000, 2))
        result = fitted(many, y, bounds=dp.Box(-6, 6), random_state=seed, epsilon=2.0).bayes_error_bound(0.95)
        assert result.value <= result.limit
        failed += result.limit < 0.2
    assert failed <= most


def test_the_bound_says_what_it_bounds_and_survives_a_file():
    model = fitted(random_state=None)
    again = dp.GaussianClassifier.from_json(model.to_json())
    assert again.bayes_error_bound().value == model.bayes_error_bound().value
    says = model.bayes_error_bound().says
    assert "does not bound the error of a classifier made from private parameters" in says
    for level in (0.0, 1.0, -1.0, "high"):
        with pytest.raises(ValueError, match="level"):
            model.bayes_error_bound(level)


def test_a_file_of_any_kind_will_do(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    FRAME.to_parquet(tmp_path / "rows.parquet")
    for data in (tmp_path / "rows.csv", str(tmp_path / "rows.parquet"), dp.Table(tmp_path / "rows.parquet")):
        model = dp.GaussianClassifier(epsilon=5.0, bounds=BOX, classes=["no", "yes"]).fit(data, "ill")
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.feature_names_in_.tolist() == ["age", "income"]


@seeds_are_fine
def test_bounds_by_name_choose_columns(tmp_path):
    wide = FRAME.assign(note="text", extra=1.0)
    wide.to_parquet(tmp_path / "rows.parquet")
    how = {"bounds": {"income": (-8, 10), "age": (-8, 10)}, "classes": ["no", "yes"], "epsilon": 5.0}
    for data, y in ((wide, wide["ill"]), (wide, "ill"), (tmp_path / "rows.parquet", "ill")):
        model = dp.GaussianClassifier(**how).fit(data, y)
        assert model.feature_names_in_.tolist() == ["income", "age"]
        assert model.score(wide[["income", "age"]], wide["ill"]) > 0.85
        clone(model)
    for bounds, words in (
        ({"height": (0, 3)}, "'height' is not in the data"),
        ({"age": 3}, r"bounds\['age'\]=3: expected \(low, high\)"),
        ({}, "declared columns"),
    ):
        with pytest.raises(ValueError, match=words):
            dp.GaussianClassifier(bounds=bounds, classes=["no", "yes"]).fit(wide, wide["ill"])
    with pytest.raises(ValueError, match="have no names"):
        dp.GaussianClassifier(bounds={"age": (0, 1)}, classes=[0, 1]).fit(X, Y)
