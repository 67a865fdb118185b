"""Private linear regression: scikit-learn's contract, what it promises and pays, how near it comes, what it refuses."""

from __future__ import annotations

import itertools
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as Exact
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

import discreet as dp
from discreet.models.regression.regression import AdaptiveMoments, RegressionMoments
from discreet.models.regression.regression_line import Completion, fit_adassp, fit_noise_aware
from discreet.noise import NotPrivateWarning
from discreet.records import as_records
from effort import size

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

a_line_of_nothing_is_fine = pytest.mark.filterwarnings("ignore:the fit is dominated by noise")

METHODS = ("adaptive", "adassp")
BOX, TARGET = dp.Box(-8.0, 8.0), (-30.0, 40.0)
COEF = np.array([3.0, -2.0, 0.0])


def rows(n=5000, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.5]]
    return X, X @ COEF + 5.0 + noise * rng.standard_normal(n)


X, Y = rows()
FRAME = pd.DataFrame({"age": X[:, 0], "income": Y, "dose": X[:, 1], "rate": X[:, 2]})
NUMBERS = {name: dp.Number(*((-30, 40) if name == "income" else (-8, 8))) for name in FRAME.columns}
SCHEMA = dp.Schema(NUMBERS)


def fitted(X=X, y=Y, **parameters):
    given = {"bounds": BOX, "target_bounds": TARGET, "random_state": 0} | parameters
    return dp.LinearRegression(**given).fit(X, y)


@seeds_are_fine
@a_line_of_nothing_is_fine
@parametrize_with_checks(
    [
        dp.LinearRegression(
            epsilon=1e9, bounds=dp.Box(-20, 20), target_bounds=(-1e3, 1e3), random_state=0, method="adassp"
        ),
        dp.LinearRegression(epsilon=1e9, bounds=dp.Box(-20, 20), target_bounds=(-1e3, 1e3), random_state=0),
    ][: size(1, 2)]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@seeds_are_fine
def test_columns_keep_their_names():
    model = dp.LinearRegression(epsilon=1e3, bounds=BOX, target_bounds=TARGET)
    check_dataframe_column_names_consistency("LinearRegression", model)
    model = fitted(FRAME, "income")
    assert model.feature_names_in_.tolist() == ["age", "dose", "rate"]
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


class TestPrivacy:
    @pytest.mark.parametrize("method", METHODS)
    def test_without_a_seed_it_is_private_and_says_so(self, method):
        model = fitted(method=method, random_state=None)
        assert model.guarantee_ == dp.Guarantee(1.0, 1e-6, "replace-one")
        assert {release.provenance for release in model.releases_} == {"measured"}
        assert "NOT RECORDED" in repr(model)
        assert not np.array_equal(model.coef_, fitted(method=method, random_state=None).coef_)
        with pytest.warns(NotPrivateWarning):
            assert fitted(method=method).guarantee_ is None

    @seeds_are_fine
    @a_line_of_nothing_is_fine
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    @pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (20.0, 1e-3)])
    def test_the_losses_are_the_promise_and_all_of_it(self, method, neighbors, epsilon, delta):
        model = fitted(method=method, neighbors=neighbors, epsilon=epsilon, delta=delta)
        assert all(loss.neighbors is dp.Neighbors.parse(neighbors) for loss in model.losses_)
        assert [release.loss for release in model.releases_] == list(model.losses_)
        assert epsilon * (1 - 1e-6) < dp.compose(model.losses_).epsilon(delta) <= epsilon * (1 + 1e-9)

    def test_a_ledger_is_charged_once_and_then_refuses(self, tmp_path):
        guarantee = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(FRAME, schema=SCHEMA, name="rows", ledger=tmp_path / "l.db", budget=guarantee)
        model = dp.LinearRegression().fit(curator, "income")
        assert all(release.recorded for release in model.releases_)
        assert [entry.kind for entry in curator.ledger.history()] == ["limit", "reserve"]
        with pytest.raises(dp.BudgetExceeded):
            dp.LinearRegression(epsilon=0.1).fit(curator, "income")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"bounds": dp.Box(-9.0, 9.0)},
            {"bounds": dp.Ball(9.0)},
            {"bounds": {"age": (-8, 8)}},
            {"target_bounds": (0.0, 1.0)},
            {"neighbors": "add-remove"},
            {"random_state": 3},
            {"epsilon": 0.0},
            {"epsilon": 1e300},
            {"delta": 0.0},
            {"method": "magic"},
            {"fit_intercept": "yes"},
        ],
        ids=str,
    )
    def test_refusals_come_before_anything_is_spent(self, wrong, tmp_path):
        curator = dp.Curator(FRAME, schema=SCHEMA, name="rows", ledger=tmp_path / "l.db")
        with pytest.raises(ValueError, match=r"expected|fit one grid"):
            dp.LinearRegression(**wrong).fit(curator, "income")
        for y in (None, Y, "nobody"):
            with pytest.raises(ValueError, match="expected"):
                dp.LinearRegression().fit(curator, y)
        assert not curator.ledger.history()

    def test_nothing_exact_is_kept(self):
        public = {
            "coef_",
            "intercept_",
            "noise_",
            "ridge_",
            "directions_",
            "covariances_",
            "unshrunk_",
            "identified_",
            "n_features_in_",
        }
        public |= {"unit_", "guarantee_", "losses_", "releases_"}
        assert {name for name in vars(fitted(random_state=None)) if name.endswith("_")} == public


@seeds_are_fine
class TestSources:
    def test_the_same_rows_from_anywhere_give_the_same_fit(self, tmp_path):
        import dask.dataframe as dd

        FRAME.to_parquet(tmp_path / "rows.parquet")
        last = FRAME[["age", "dose", "rate", "income"]]
        curator = dp.Curator(FRAME, schema=SCHEMA)
        seeded = dp.LinearRegression(random_state=0)
        declared = [
            seeded.fit(curator, "income"),
            clone(seeded).fit(SimpleNamespace(curator=curator), "income"),
            clone(seeded).fit(as_records(FRAME, schema=SCHEMA), "income"),
        ]
        others = [
            fitted(tmp_path / "rows.parquet", "income"),
            fitted(dd.from_pandas(last, npartitions=3), "income"),
            fitted(X, Y),
            fitted(FRAME, "income"),
            fitted(pl.from_pandas(FRAME), "income"),
            fitted(FRAME, "income", bounds={"age": (-8, 8), "dose": (-8, 8), "rate": (-8, 8)}),
        ]
        for model in declared:
            np.testing.assert_allclose(model.coef_, declared[0].coef_, rtol=0, atol=1e-9)
        for model in [*declared, *others]:  # another order of the columns has other noise
            np.testing.assert_allclose(model.coef_, COEF, atol=0.3)
            assert model.intercept_ == pytest.approx(5.0, abs=0.3)
        for model in others[2:]:
            np.testing.assert_allclose(model.coef_, others[2].coef_, rtol=0, atol=1e-9)

    def test_bounds_by_name_choose_the_columns(self):
        model = fitted(FRAME, "income", bounds={"rate": (-8, 8), "age": (-8, 8)})
        assert model.feature_names_in_.tolist() == ["rate", "age"]
        again = dp.LinearRegression.from_json(fitted(FRAME, "income").to_json())
        assert again.feature_names_in_.tolist() == ["age", "dose", "rate"]

    def test_a_target_outside_of_its_bounds_is_moved_to_the_border(self):
        far = np.where(np.arange(len(Y)) % 10 == 0, 1e6, Y)
        np.testing.assert_array_equal(fitted(y=far).coef_, fitted(y=np.clip(far, *TARGET)).coef_)

    def test_gaps_behind_a_curator_are_no_error(self):
        gaps = FRAME.assign(income=FRAME["income"].where(np.arange(len(FRAME)) % 7 > 0))
        model = dp.LinearRegression(random_state=0).fit(dp.Curator(gaps, schema=SCHEMA), "income")
        np.testing.assert_allclose(model.coef_, COEF, atol=0.4)

    def test_a_category_is_no_feature(self):
        schema = dp.Schema(NUMBERS | {"ward": dp.Category(["a"])})
        model = dp.LinearRegression(random_state=0).fit(dp.Curator(FRAME.assign(ward=None), schema=schema), "income")
        assert model.feature_names_in_.tolist() == ["age", "dose", "rate"]
        with pytest.raises(ValueError, match="numeric column"):
            dp.LinearRegression().fit(dp.Curator(FRAME.assign(ward="a"), schema=schema), "ward")

    def test_units_are_the_datas_own(self):
        scale, offset = np.array([1e-3, 1e4, 1.0]), np.array([5.0, -1e6, 0.0])
        moved = dp.Box((-8.0 * scale + offset).tolist(), (8.0 * scale + offset).tolist())
        plain, far = fitted(), fitted(X * scale + offset, 10.0 * Y, bounds=moved, target_bounds=(-300, 400))
        np.testing.assert_allclose(far.coef_ * scale / 10.0, plain.coef_, atol=1e-4)
        np.testing.assert_allclose(far.noise_ * scale / 10.0, plain.noise_, rtol=1e-3)
        assert far.predict(X[:1] * scale + offset)[0] == pytest.approx(10.0 * plain.predict(X[:1])[0], rel=1e-3)

    @pytest.mark.parametrize(
        ("wrong", "y", "message"),
        [
            ({"target_bounds": None}, Y, "target_bounds=None: expected"),
            ({"target_bounds": (3.0, 1.0)}, Y, "target_bounds=.3.0, 1.0."),
            ({"target_bounds": 5.0}, Y, "target_bounds=5.0"),
            ({"bounds": None}, Y, "declared bounds"),
            ({"bounds": dp.Ball(9.0)}, Y, "bounds of each column"),
            ({"bounds": {"age": (0, 1)}}, Y, "have no names"),
            ({}, None, "requires y"),
            ({}, Y[:-1], "inconsistent numbers"),
            ({}, np.column_stack([Y, Y]), "y has 2 columns: expected one target"),
            ({}, "income", "data frame"),
            ({}, np.array(["secret"] * len(Y), dtype=object), "y holds text"),
            ({}, np.where(np.arange(len(Y)) == 3, np.nan, Y), "NaN"),
        ],
        ids=str,
    )
    def test_what_is_refused(self, wrong, y, message):
        with pytest.raises(ValueError, match=message) as error:
            fitted(y=y, **wrong)
        assert "secret" not in str(error.value)


@seeds_are_fine
class TestAccuracy:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    def test_with_hardly_any_noise_it_is_least_squares(self, method, fit_intercept, neighbors):
        model = fitted(method=method, fit_intercept=fit_intercept, neighbors=neighbors, epsilon=1e8)
        exact = Exact(fit_intercept=fit_intercept).fit(X, Y)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-3)
        assert model.intercept_ == pytest.approx(exact.intercept_, abs=2e-3)
        np.testing.assert_allclose(model.predict(X[:5]), exact.predict(X[:5]), atol=5e-3)

    def test_rounds_find_rows_in_wide_bounds_and_one_release_does_not(self):
        wide = {"bounds": dp.Box(-100, 100), "target_bounds": (-500, 500)}
        X, Y = rows(20_000)
        exact = Exact().fit(X, Y).score(X, Y)
        assert fitted(X, Y, **wide).score(X, Y) > exact - 0.01
        assert fitted(X, Y, **wide, method="adassp").score(X, Y) < 0.5
        assert fitted(X, Y, epsilon=0.1).score(X, Y) > exact - 0.01

    def test_heavy_tails_do_not_bend_the_line(self):
        """Rows of t with three degrees of freedom, some far outside of what a Gaussian would have."""
        rng = np.random.default_rng(0)
        X = rng.standard_t(3, size=(20_000, 3))
        Y = X @ COEF + rng.standard_t(3, size=20_000)
        model = fitted(X, Y, bounds=dp.Box(-50, 50), target_bounds=(-200, 200))
        np.testing.assert_allclose(model.coef_, COEF, atol=0.1)

    @pytest.mark.parametrize("method", METHODS)
    def test_its_noise_is_what_it_says(self, method):
        """Coefficients of 25 fits vary as ``noise_`` says, to a factor of 2.

        75 numbers: their mean square is off by a factor of 4 with probability below 1e-9.
        """
        some, target = X[:1000], Y[:1000]
        fits = [fitted(some, target, method=method, epsilon=10.0, random_state=seed) for seed in range(25)]
        result = np.array([fit.coef_ for fit in fits]).std(axis=0)
        said = np.sqrt(np.mean([fit.noise_**2 for fit in fits], axis=0))
        assert 0.5 < math.sqrt(np.mean((result / said) ** 2)) < 2.0

    def test_clipping_vanishes_with_the_noise(self):
        guarantee, size = dp.Guarantee(1.0, 1e-6), dp.Curator(X, space=BOX).size
        method = AdaptiveMoments.for_data(4, guarantee, size)
        radii = [method.clipping(n, 1.0, 0.1).squared for n in (10.0, 1e4, 1e6, 1e8)]
        assert radii == sorted(radii)
        assert radii[0] < 10.0 < 1e3 < radii[-1]


@seeds_are_fine
class TestRobustness:
    @a_line_of_nothing_is_fine
    @pytest.mark.parametrize("epsilon", [0.001, 1.0, 1e6])
    @pytest.mark.parametrize("method", METHODS)
    def test_finite_whatever_the_rows(self, epsilon, method):
        rng = np.random.default_rng(0)
        one = rng.standard_normal((300, 1))
        sets = [
            np.repeat(one, 2, axis=1),
            np.column_stack([one, np.full(300, 7.0)]),
            np.zeros((50, 1)),
            np.ones((1, 3)),
            rng.standard_normal((10, 25)),
            1e300 * rng.standard_normal((50, 2)),
        ]
        for some in sets:
            y = np.clip(some, -8.0, 8.0).sum(axis=1)
            for intercept in (True, False):
                model = fitted(some, y, epsilon=epsilon, method=method, fit_intercept=intercept)
                numbers = [*model.coef_, model.intercept_, *model.noise_, model.ridge_]
                assert np.all(np.isfinite(numbers))

    @pytest.mark.parametrize("line", [fit_noise_aware, fit_adassp])
    @pytest.mark.parametrize("noise", [1e-30, 1e-4, 1e6])
    @pytest.mark.parametrize("covariance", [np.zeros((3, 3)), -np.eye(3), 1e9 * np.ones((3, 3)), np.eye(3)], ids=str)
    def test_whatever_was_released_a_line_comes_out(self, line, noise, covariance):
        frames, mean = np.array([np.diag([100.0, 1.0, 1.0]), np.eye(3)]), np.array([1.0, -1.0, 0.5])
        moments = RegressionMoments(mean, covariance, noise, *[np.array([0.1, 1.0]) * noise] * 2, frames, np.ones(3))
        for intercept in (True, False):
            result = line(moments, 1, intercept=intercept)
            assert np.all(np.isfinite([*result.weights, result.intercept, *result.noise, result.ridge]))
            assert 0.0 <= result.directions <= 2.0


def with_another(which, one, rng):
    """Return a fourth column: like the first, or a constant."""
    noise = rng.standard_normal(len(one))
    return {"equal": one, "nearly equal": 0.999 * one + math.sqrt(1 - 0.999**2) * noise, "constant": 0.0 * one + 7.0}[
        which
    ]


@seeds_are_fine
class TestCollinearColumns:
    @pytest.mark.parametrize(
        ("which", "epsilon"),
        size(
            [("equal", 0.3), ("nearly equal", 1.0), ("constant", 0.3)],
            list(itertools.product(["equal", "nearly equal", "constant"], [0.3, 1.0])),
        ),
    )
    def test_coefficients_vary_as_it_says(self, which, epsilon):
        """Deviations over some fits, by those stated, are where χ² has all but 1e-10 on each side."""
        X, Y = rows(10_000)
        X = np.column_stack([X, with_another(which, X[:, 0], np.random.default_rng(1))])
        runs = size(15, 25)
        least, most = np.sqrt(chi2.ppf([1e-10, 1.0 - 1e-10], runs - 1) / (runs - 1))
        fits = [fitted(X, Y, epsilon=epsilon, random_state=seed) for seed in range(runs)]
        coef, noise = np.array([fit.coef_ for fit in fits]), np.array([fit.noise_ for fit in fits])
        ratios = coef.std(axis=0, ddof=1) / np.sqrt((noise**2).mean(axis=0))
        assert least < ratios.min() <= ratios.max() < most
        if which != "nearly equal":  # of which a fit may see nothing, and then is surer
            assert np.all(noise > 0.2 * noise.mean(axis=0))
        assert min(fit.score(X, Y) for fit in fits) > Exact().fit(X, Y).score(X, Y) - 0.01
        if which == "equal":  # deviations are some 0.05
            np.testing.assert_allclose(coef[:, [0, 3]], 1.5, atol=0.4)
        if which == "constant":
            np.testing.assert_allclose(coef[:, 3], 0.0, atol=0.1)
            np.testing.assert_allclose([fit.intercept_ for fit in fits], 5.0, atol=0.5)

    def test_without_noise_equal_columns_share_and_a_constant_one_has_none(self):
        X, Y = rows()
        copies = np.column_stack([X, X[:, 0], X[:, 1], np.full(len(X), 7.0)])
        model, exact = fitted(copies, Y, epsilon=1e6), Exact().fit(X, Y)
        shared = exact.coef_ * [0.5, 0.5, 1.0]
        np.testing.assert_allclose(model.coef_, [*shared, *shared[:2], 0.0], atol=5e-3)
        assert model.intercept_ == pytest.approx(exact.intercept_, abs=5e-3)
        assert model.directions_ == pytest.approx(3.0, abs=1e-3)

    def test_shares_are_in_units_of_the_bounds(self):
        X, Y = rows()
        bounds = dp.Box([-8.0] * 3 + [-80.0], [8.0] * 3 + [80.0])
        model = fitted(np.column_stack([X, 10.0 * X[:, 0]]), Y, bounds=bounds, epsilon=1e6)
        assert model.coef_[0] == pytest.approx(10.0 * model.coef_[3], rel=1e-2)

    def test_it_says_how_much_of_a_line_there_is(self):
        rng = np.random.default_rng(0)
        few, target = rng.standard_normal((50, 60)), rng.standard_normal(50)
        with pytest.warns(UserWarning, match="dominated by noise") as seen:
            model = fitted(few, target)
        assert "larger epsilon" in str(seen[-1].message)
        assert 0.0 <= model.directions_ < 0.01
        np.testing.assert_allclose(model.coef_, 0.0, atol=1e-6)
        assert fitted().directions_ == pytest.approx(3.0, abs=0.1)


class TestCompletion:
    """The line goes on along axes that were not seen."""

    AXES = np.array([[1.0, 3.0, 40.0], [0.0, 2.0, -50.0], [0.5, 0.0, 30.0]])
    KNOWN = np.array([1.0, -2.0, 0.7])

    def completed(self, seen, axes=AXES, known=KNOWN):
        return Completion.minimum_norm(known, np.array(seen), axes.T @ axes, np.zeros(3))

    def test_it_is_the_shortest_line_that_agrees_on_what_was_seen(self):
        result = self.completed([1.0, 1.0, 0.0])
        np.testing.assert_array_equal(result.line[:2], self.KNOWN[:2])
        assert self.AXES[:, 2] @ self.AXES @ result.line == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_allclose(result.response @ self.KNOWN, result.line)

    def test_from_unseen_to_seen_without_a_jump(self):
        lines = np.array([self.completed([1.0, 1.0, seen]).line[2] for seen in np.linspace(0.0, 1.0, 101)])
        assert np.all(np.diff(lines) > 0.0)
        assert np.diff(lines).max() < 0.02
        assert lines[-1] == self.KNOWN[2]
        assert not self.completed([0.0, 0.0, 0.0]).line.any()

    def test_its_noise_is_that_of_tilted_axes(self):
        """To first order, against axes that are turned a little by δC."""
        values, rng, variance = np.array([1.0, 0.8, 0.0]), np.random.default_rng(0), 1e-8
        result = self.completed([1.0, 1.0, 0.0])
        said = result.completion_variances(self.AXES, values, np.full((3, 3), variance))
        moves = []
        for _ in range(2000):
            tilt = math.sqrt(variance) * rng.standard_normal(2) / (values[2] - values[:2])
            turn = np.eye(3)
            turn[:2, 2], turn[2, :2] = tilt, -tilt
            axes = self.AXES @ turn
            moves.append(axes @ self.completed([1.0, 1.0, 0.0], axes, turn.T @ result.line).line)
        # of 2000 draws a deviation is off by a sixth with a probability below 1e-9
        np.testing.assert_allclose(np.std(moves, axis=0), np.sqrt(said), rtol=1 / 6)


@seeds_are_fine
class TestPersistence:
    def test_there_and_back(self):
        model = fitted(random_state=None)
        again = dp.LinearRegression.from_json(model.to_json())
        np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
        assert again.guarantee_ == model.guarantee_
        assert {release.provenance for release in again.releases_} == {"loaded"}
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coef_, model.coef_)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("coef_", [1.0]), ("noise_", [-1.0, 1.0, 1.0]), ("intercept_", "x"), ("ridge_", None), ("directions_", None)],
    )
    def test_what_cannot_be(self, name, value):
        values = fitted(random_state=None).to_dict()
        values["fitted"][name] = value
        with pytest.raises(ValueError, match=name):
            dp.LinearRegression.from_dict(values)


@pytest.mark.filterwarnings("ignore:the fit is dominated by noise")
def test_a_line_that_was_drawn_back_to_nothing_is_not_sure_of_itself(seeded):
    """Slopes of 0: over fits the coefficients scatter by about 0.013, and none states a hundredth of that."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(5000, 3)), rng.normal(size=5000)
    with pytest.warns(NotPrivateWarning):
        models = [
            dp.LinearRegression(bounds=dp.Box(-6, 6), target_bounds=(-20, 20), random_state=seed).fit(X, y)
            for seed in range(10)
        ]
    assert all(model.noise_.min() > 1e-3 for model in models)


@pytest.mark.parametrize("width", [1e-200, 1e160])
def test_bounds_whose_squares_floats_cannot_hold_are_refused_before_anything_is_spent(width, tmp_path):
    rows = np.random.default_rng(0).uniform(-width, width, (50, 2))
    schema = dp.Schema({"a": dp.Number(-width, width), "b": dp.Number(-width, width)})
    curator = dp.Curator(rows, schema=schema, name="wide", ledger=str(tmp_path / "ledger.db"))
    with pytest.raises(ValueError, match="expected widths between"):
        dp.LinearRegression().fit(curator, "b")
    assert not curator.ledger.spent("wide")


def test_no_error_shows_a_target():
    rows = np.zeros((3, 1))
    model = dp.LinearRegression(bounds=dp.Box(0, 1), target_bounds=(0, 1))
    for y in (np.array([0.25 + 1j] * 3), np.array(["2020-01-01"] * 3, dtype="M8[D]"), [10**400, 1, 2]):
        with pytest.raises(ValueError, match="expected numbers") as error:
            model.fit(rows, y)
        assert "25" not in str(error.value)
    with pytest.raises(ValueError, match="y holds complex numbers: expected labels"):
        dp.LogisticRegression(bounds=dp.Box(0, 1), classes=[0, 1]).fit(rows, np.array([0.25 + 1j] * 3))
