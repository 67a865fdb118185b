"""Models of one's own: one protocol test over every model of the library and of the examples, and what is refused."""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import array_api_strict
import numpy as np
import pandas as pd
import pytest

import discreet as dp
import discreet.models
from discreet.model_check import _numbers, check_model
from discreet.noise import GaussianNoise, NotPrivateWarning
from discreet.queries.bound import Bound
from discreet.queries.models.model_query import GuardedQuery, ModelQuery
from discreet.queries.question import Part
from discreet.queries.search import worst_neighbours
from discreet.records import Block, as_records
from effort import LONG
from instances import MODELS, library_questions

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = ("model_skeleton", "bernoulli_mixture", "poisson_mixture", "hidden_markov", "factor_analysers")


def example(name):
    """Return an example's module, from its file."""
    if name not in sys.modules:
        spec = spec_from_file_location(name, FOLDER / f"{name}.py")
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


for module in pkgutil.walk_packages(discreet.models.__path__, "discreet.models."):
    importlib.import_module(module.name)  # every model registers itself

Mean = example("model_skeleton").Mean
ANSWERS, COUNTS = dp.Box(0.0, 1.0).for_columns(4), dp.Box(0.0, [20.0, 5.0, 80.0])
BALL = dp.Ball(2.0, center=[0.0, 1.0, 5.0])
OWN = {
    "model_skeleton": (Mean(), BALL),
    "bernoulli_mixture": (example("bernoulli_mixture").BernoulliMixture(3, ANSWERS), ANSWERS),
    "poisson_mixture": (example("poisson_mixture").PoissonMixture(3, COUNTS), COUNTS),
    "hidden_markov": (example("hidden_markov").HiddenMarkov(3), dp.Box(-5.0, 5.0).for_columns(5)),
    "factor_analysers": (example("factor_analysers").FactorAnalysers(2, 1), dp.Ball(1.0).for_columns(4)),
}


def library():
    """Return an instance of each model of the library; ``test_worst_neighbours`` attacks all of them, and harder."""
    for model, make in MODELS.items():
        made = make(np.random.default_rng(0), 3, 2.0)
        yield pytest.param(made[len(made) // 2], id=model.__name__)


def examples():
    """Return each example's query at its start."""
    for name, (model, space) in OWN.items():
        start = model.initialize(space.dimension, np.random.default_rng(1))
        yield pytest.param(ModelQuery(model, start, space), id=name)


def test_every_model_of_the_library_has_instances():
    assert set(MODELS) == library_questions(dp.Model)


EVERY = pytest.mark.parametrize("query", [*library(), *examples()])
COMPLETE = dp.PublicSize(1000, True)


def made_up(query, n=60, seed=0):
    """Return rows around and outside of the space."""
    rng, several = np.random.default_rng(seed), query.model.categories
    x = query.space.from_unit(rng.normal(size=(n, query.dimension)) * rng.choice([0.2, 1.0, 1e6], (n, 1)))
    return Block(x, rng.integers(0, several or (1,), (n, len(several) or 1)))


def released(query, value, noise=1.0, size=COMPLETE):
    return dp.Release(
        query=query.name, value=value, parts=query.parts, mechanism="additive", noise=GaussianNoise(noise), exact=True,
        loss=dp.GaussianLoss(1.0), size=size,
    )  # fmt: skip


class TestProtocol:
    @EVERY
    def test_contributions_have_the_shape_of_the_parts_and_the_sum_is_theirs(self, query):
        block = made_up(query)
        rows = query.contributions(block)
        assert rows.shape == (60, sum(part.size for part in query.parts.values()))
        assert np.all(np.isfinite(rows))
        np.testing.assert_allclose(query.sum(block), rows.sum(axis=0), atol=60 * query.bound.l2 * 1e-13)

    @EVERY
    def test_the_bound_holds_under_attack(self, query):
        for finding in worst_neighbours(query, np.random.default_rng(0), starts=24, steps=6):
            assert finding.holds, finding

    @EVERY
    def test_any_release_gives_parameters_and_the_bound_holds_there(self, query):
        rng = np.random.default_rng(0)
        sizes = [COMPLETE, dp.PublicSize(1000, False), dp.PublicSize(None, False)]
        sizes = sizes if "counts" in query.parts else sizes[:1]
        for value in (0.0, -1e3, 1e3, 1e12, 1e-300):
            for size in sizes:
                numbers = value * (1.0 + rng.standard_normal(query.size))
                noise = 10.0 ** rng.uniform(-6.0, 6.0)
                params = query.model.maximize(query.params, released(query, numbers, noise, size))
                assert all(np.all(np.isfinite(number)) for number in _numbers(params))
                following = ModelQuery(query.model, params, query.space)
                lengths = np.linalg.norm(following.contributions(made_up(query)), axis=1)
                assert lengths.max() <= following.bound.l2 * (1.0 + 1e-12)

    @EVERY
    def test_array_libraries_agree(self, query):
        block = made_up(query)
        strict = Block(*map(array_api_strict.asarray, block))
        for method in ("contributions", "sum"):
            here, there = getattr(query, method)(block), getattr(query, method)(strict)
            assert "array_api_strict" in type(there).__module__
            np.testing.assert_allclose(np.from_dlpack(there), here, rtol=0, atol=1e-12 * max(1, 60 * (method == "sum")))

    @EVERY
    def test_parameters_follow_from_releases_alone(self, query):
        """Whatever rows were seen in between, the same releases give the same parameters, to the last bit."""
        values = np.random.default_rng(0).standard_normal((2, query.size)) * 30.0
        result = []
        for seed in (1, 2):
            params = query.params
            for value in values:
                at = ModelQuery(query.model, params, query.space)
                at.sum(made_up(query, seed=seed))
                at.contributions(made_up(query, seed=seed))
                params = query.model.maximize(params, released(at, np.resize(value, at.size)))
            result.append(_numbers(params))
        assert len(result[0]) == len(result[1]) > 0
        assert all(map(np.array_equal, *result))

    @EVERY
    def test_it_passes_the_check(self, query):
        check_model(query.model, query.space, steps=1, size=None if "counts" in query.parts else COMPLETE)


@dataclass(frozen=True)
class Faulty(Mean):
    """A copy of the skeleton with something wrong."""

    fault: str = ""
    space: dp.Ball | None = None

    def bound(self, params):
        bound = super().bound(params)
        if self.fault == "√2 too small":
            return Bound(l2=bound.l2 / math.sqrt(2.0), replace_l2=bound.replace_l2 / math.sqrt(2.0))
        return Bound(l2=1.0, replace_l2=1.0) if self.fault == "replaced as added" else bound

    def contributions(self, params, block):
        rows = super().contributions(params, block)
        if self.fault == "no clipping":  # the data's own units, as they are
            return np.hstack([rows[:, :1], self.space.from_unit(block.x)])
        if self.fault == "only later":
            return rows * (1.0 + 10.0 * np.linalg.norm(params))
        if self.fault == "mean of the block":
            return rows - 0.3 * rows.mean(axis=0)
        if self.fault == "not finite":
            return rows + np.where(np.linalg.norm(block.x, axis=1) > 0.999, np.inf, 0.0)[:, None]
        if self.fault == "too narrow":
            return rows[:, 1:]
        if self.fault == "single precision":
            return rows.astype(np.float32)
        if self.fault == "raises":
            return rows[:, [99]]
        return rows

    def sum(self, params, block):
        rows = np.asarray(self.contributions(params, block))
        if self.fault == "exact count in the denominator":
            side = block.x[:, 0] > 0.0
            return rows[side].sum(axis=0) * len(rows) / max(2.0 * side.sum(), 1.0)
        return rows.sum(axis=0) * (0.5 if self.fault == "half a sum" else 1.0)

    def maximize(self, params, release):
        with np.errstate(all="ignore"):
            if self.fault == "divides by zero":
                return release["first"] / release["counts"]
        if self.fault == "raises at negative counts":
            return super().maximize(params, release) * math.sqrt(release["counts"][0])
        if self.fault == "changes its arguments":
            params += 0.1
        if self.fault == "random":
            return super().maximize(params, release) + np.random.default_rng().normal()
        return super().maximize(params, release)


WRONG_BOUNDS = ("√2 too small", "replaced as added", "no clipping", "exact count in the denominator", "only later")
OTHER_FAULTS = {
    "mean of the block": "rows beside it|bound",
    "not finite": "not finite",
    "too narrow": "as `parts` says",
    "single precision": "float64",
    "raises": "`contributions` raised IndexError",
    "half a sum": "away from the sum",
    "divides by zero": "not finite",
    "raises at negative counts": "`maximize` raised ValueError",
    "changes its arguments": "changed the parameters",
    "random": "two answers for one release",
}


@pytest.fixture
def curator(tmp_path):
    rows = np.random.default_rng(0).normal([0.0, 1.0, 5.0], 0.5, (500, 3))
    return dp.Curator(rows, space=BALL, name="rows", ledger=tmp_path / "ledger.db")


class TestRefusals:
    @pytest.mark.parametrize("fault", WRONG_BOUNDS)
    def test_a_wrong_bound_is_refused_before_anything_is_spent(self, fault, curator):
        model = Faulty(fault=fault, space=BALL)
        with pytest.raises(dp.WrongBound, match=r"bound\.(replace_)?l2 is .*times as much") as caught:
            check_model(model, BALL)
        assert isinstance(caught.value, ValueError)
        with pytest.raises(dp.WrongBound):
            dp.fit_model(model, curator, epsilon=1.0, delta=1e-6, n_steps=2)
        assert not curator.ledger.history()

    @pytest.mark.parametrize("fault", OTHER_FAULTS)
    def test_every_other_fault_is_refused_before_anything_is_spent(self, fault, curator):
        model = Faulty(fault=fault)
        with pytest.raises(ValueError, match=OTHER_FAULTS[fault]):
            check_model(model, BALL)
        with pytest.raises(ValueError, match=OTHER_FAULTS[fault]):
            dp.fit_model(model, curator, epsilon=1.0, delta=1e-6, n_steps=2)
        assert not curator.ledger.history()

    def test_the_right_one_passes_and_is_charged(self, curator):
        fit = dp.fit_model(Faulty(space=BALL), curator, epsilon=1.0, delta=1e-6, n_steps=2)
        assert [entry.kind for entry in curator.ledger.history()] == ["reserve"]
        assert "mean, 2 releases" in str(curator.ledger.history()[0])
        assert "NOT RECORDED" not in repr(fit)

    @pytest.mark.parametrize(
        ("name", "attained"),  # how much of the bound for replaced rows made-up ones attain, at least
        [("bernoulli_mixture", 0.9), ("poisson_mixture", 0.9), ("hidden_markov", 0.6), ("factor_analysers", 0.9)],
    )
    def test_examples_with_a_smaller_bound_are_refused(self, name, attained, monkeypatch):
        model, space = OWN[name]
        right = model.bound(model.initialize(space.dimension, np.random.default_rng(0)))
        for wrong in (Bound(l2=right.l2 / 1.4), Bound(l2=right.l2, replace_l2=right.replace("l2") * attained)):
            with monkeypatch.context() as patched:
                patched.setattr(type(model), "bound", lambda self, params, wrong=wrong: wrong)
                with pytest.raises(dp.WrongBound):
                    check_model(model, space, steps=1)

    def test_a_bound_that_breaks_in_the_middle_of_a_fit_is_not_measured(self, curator):
        seen = []

        class Sleeper(Mean):
            """Wrong from the sixth step on, which the check before the fit does not reach."""

            def initialize(self, dimension, rng):
                return np.zeros(dimension + 1)

            def parts(self, params):
                return super().parts(params[1:])

            def contributions(self, params, block):
                if len(block.x) == 500:
                    seen.append(params[0])
                return super().contributions(params, block) * (2.0 if params[0] > 4.0 else 1.0)

            def maximize(self, params, release):
                return np.concatenate([[params[0] + 1.0], super().maximize(params[1:], release)])

        with pytest.raises(dp.WrongBound, match="Nothing was measured"):
            dp.fit_model(Sleeper(), curator, epsilon=1.0, delta=1e-6, n_steps=9)
        assert seen == [0.0, 1.0, 2.0, 3.0, 4.0]

    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            ({"epsilon": 0.0}, "epsilon="), ({"epsilon": -1.0}, "epsilon="), ({"delta": 0.0}, "delta="),
            ({"delta": 1.0}, "delta="), ({"n_steps": 0}, "n_steps="), ({"n_steps": 1.5}, "n_steps="),
            ({"shares": [1.0]}, "shares="), ({"shares": [1.0, -1.0]}, "shares="), ({"shares": "ab"}, "shares="),
            ({"shares": 1.0}, "shares="), ({"shares": [1.0, float("nan")]}, "shares="),
            ({"neighbors": "add-remove"}, "neighbors="), ({"neighbors": "both"}, "neighbors"),
            ({"bounds": dp.Ball(3.0)}, "bounds="), ({"random_state": 0}, "random_state="),
            ({"model": None}, "model="), ({"model": Mean}, "model="),
            ({"model": Faulty(space=dp.Ball(3.0))}, "space="),
        ],
    )  # fmt: skip
    @seeds_are_fine
    def test_arguments_are_checked_before_a_spend(self, changed, named, curator):
        arguments = {"model": Mean(), "epsilon": 1.0, "delta": 1e-6, "n_steps": 2} | changed
        with pytest.raises(ValueError, match=named):
            dp.fit_model(arguments.pop("model"), curator, **arguments)
        assert not curator.ledger.history()

    def test_bounds_are_declared(self):
        with pytest.raises(ValueError, match="bounds=None"):
            dp.fit_model(Mean(), np.zeros((5, 2)), epsilon=1.0, delta=1e-6, n_steps=1)

    @pytest.mark.parametrize("space", [dp.Ball(1.0), None, "ball"])
    def test_a_check_needs_a_space_with_columns(self, space):
        with pytest.raises(ValueError, match="space="):
            check_model(Mean(), space)


@dataclass(frozen=True)
class ByCategory(dp.Model[np.ndarray]):
    """Rows of each pair of categories: what a model of codes looks like."""

    categories: tuple[int, ...] = (2, 3)
    heavy: float = 1.0
    name: str = "by category"

    def initialize(self, dimension, rng):
        return np.zeros(self.categories)

    def parts(self, params):
        return {"counts": Part(self.categories)}

    def bound(self, params):
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    def contributions(self, params, block):
        rows = np.zeros((len(block.x), 6))
        cell = block.codes @ np.array([self.categories[1], 1])
        rows[np.arange(len(rows)), cell] = np.where(cell == 5, self.heavy, 1.0)
        return rows

    def maximize(self, params, release):
        return np.maximum(release["counts"], 0.0)


class TestCategories:
    SPACE = dp.Box([0.0], [1.0])

    def test_every_combination_is_attacked(self):
        check_model(ByCategory(), self.SPACE)
        with pytest.raises(dp.WrongBound):
            check_model(ByCategory(heavy=1.5), self.SPACE)

    def test_codes_that_are_not_declared_are_not_there(self):
        with pytest.raises(ValueError, match="`contributions` raised"):
            check_model(ByCategory(categories=()), self.SPACE)

    @seeds_are_fine
    def test_declared_categories_are_those_of_the_data(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"x": rng.random(3000), "a": rng.integers(0, 2, 3000), "b": rng.choice(list("pqr"), 3000)})
        columns = {"x": dp.Number(0.0, 1.0), "a": dp.Category([0, 1]), "b": dp.Category(["p", "q", "r"])}
        curator = dp.Curator(frame, schema=dp.Schema(columns))
        fit = dp.fit_model(ByCategory(), curator, epsilon=20.0, delta=1e-6, n_steps=1, random_state=0)
        np.testing.assert_allclose(fit.params, frame.groupby(["a", "b"]).size().to_numpy().reshape(2, 3), atol=9)
        with pytest.raises(ValueError, match=r"categories=.*as many as are declared"):
            dp.fit_model(ByCategory((3, 2)), curator, epsilon=1.0, delta=1e-6, n_steps=1)


ROWS = np.random.default_rng(0).normal([0.0, 1.0, 5.0], 0.5, (3000, 3))
MEAN = BALL.to_unit(ROWS).mean(axis=0)


@cache
def _checked(space, size):
    check_model(Mean(), space, size=size)


class TestFit:
    @pytest.fixture(autouse=True)
    def _one_check(self, monkeypatch):
        """Before each fit a model is checked on made-up rows; for the skeleton once does for all of them."""

        def check(model, space, *, size):
            return _checked(space, size) if type(model) is Mean else check_model(model, space, size=size)

        monkeypatch.setattr(sys.modules[dp.fit_model.__module__], "check_model", check)

    @pytest.mark.parametrize("kind", ["array", "frame", "parquet", "dask", "records", "curator", "strict"])
    def test_rows_come_as_in_every_fit(self, kind, tmp_path):
        frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
        bounds = None if kind in ("records", "curator") else BALL
        rows = ROWS
        if kind == "frame":
            rows = frame
        elif kind == "parquet":
            rows = tmp_path / "rows.parquet"
            frame.to_parquet(rows)
        elif kind == "dask":
            rows = importlib.import_module("dask.array").from_array(ROWS, chunks=(1000, 3))
        elif kind == "records":
            rows = as_records(ROWS, space=BALL)
        elif kind == "curator":
            rows = dp.Curator(ROWS, space=BALL)
        elif kind == "strict":
            rows = array_api_strict.asarray(ROWS)
        fit = dp.fit_model(Mean(), rows, epsilon=50.0, delta=1e-6, n_steps=1, bounds=bounds)
        np.testing.assert_allclose(fit.params, MEAN, atol=0.01)
        assert fit.guarantee == dp.Guarantee(50.0, 1e-6)
        assert {release.provenance for release in fit.releases} == {"measured"}
        assert fit.unit == "row"
        assert "(ε=50, δ=1e-06) replace-one for each row, NOT RECORDED" in repr(fit)

    @seeds_are_fine
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    @pytest.mark.parametrize("shares", [None, (1, 1, 2), np.array([3.0, 0.5, 0.5])])
    def test_the_losses_are_the_promise_shared_as_asked(self, neighbors, shares):
        fit = dp.fit_model(
            Mean(),
            ROWS,
            epsilon=2.0,
            delta=1e-5,
            n_steps=3,
            bounds=BALL,
            neighbors=neighbors,
            shares=shares,
            random_state=0,
        )
        assert [release.loss for release in fit.releases] == list(fit.losses)
        assert dp.compose(fit.losses).epsilon(1e-5) == pytest.approx(2.0)
        squares = np.array([loss.mu**2 for loss in fit.losses])
        asked = np.ones(3) if shares is None else np.asarray(shares, dtype=float)
        np.testing.assert_allclose(squares / squares.sum(), asked / asked.sum(), rtol=1e-9)
        assert all(loss.neighbors is dp.Neighbors.parse(neighbors) for loss in fit.losses)
        np.testing.assert_allclose(fit.params, MEAN, atol=0.05)

    def test_a_seed_is_not_private_and_says_so(self):
        fits = []
        for _ in range(2):
            with pytest.warns(NotPrivateWarning) as caught:
                fits.append(dp.fit_model(Mean(), ROWS, epsilon=1.0, delta=1e-6, n_steps=1, bounds=BALL, random_state=3))
            assert caught[0].filename == __file__
        assert np.array_equal(fits[0].params, fits[1].params)
        assert fits[0].guarantee is None
        assert "WITHOUT privacy" in repr(fits[0])

    def test_persons_with_several_rows(self):
        curator = dp.Curator(ROWS, space=BALL, unit=np.arange(3000) // 3, max_rows=2, unit_name="p")
        fit = dp.fit_model(Mean(), curator, epsilon=50.0, delta=1e-6, n_steps=1)
        assert fit.unit == "each p"
        np.testing.assert_allclose(fit.params, MEAN, atol=0.05)


def fitted(model, rows, space, steps, seed=0):
    return dp.fit_model(model, rows, epsilon=20.0, delta=1e-6, n_steps=steps, bounds=space, random_state=seed).params


@seeds_are_fine
class TestExamples:
    @pytest.fixture(autouse=True)
    def _checked_before(self, monkeypatch):
        """Before each fit a model is checked on made-up rows; short runs leave that to ``TestProtocol``."""
        if not LONG:
            fitting = sys.modules[dp.fit_model.__module__]
            monkeypatch.setattr(fitting, "check_model", lambda model, space, *, size: None)

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_a_whole_model_in_eighty_lines(self, name):
        assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 80

    def test_the_skeleton_runs_as_a_script(self, capsys):
        example("model_skeleton").main()
        assert "mean age 4" in capsys.readouterr().out

    def test_latent_classes_are_found(self):
        truth = np.array([[0.9, 0.9, 0.1, 0.1, 0.9], [0.1, 0.2, 0.8, 0.9, 0.1]])
        rng = np.random.default_rng(0)
        rows = (rng.random((8000, 5)) < truth[(rng.random(8000) < 0.3).astype(int)]).astype(float)
        space = dp.Box(0.0, 1.0).for_columns(5)
        result = fitted(example("bernoulli_mixture").BernoulliMixture(2, space), rows, space, 12)
        order = np.argsort(-result.weights)
        np.testing.assert_allclose(result.weights[order], [0.7, 0.3], atol=0.06)
        np.testing.assert_allclose(result.yes[order], truth, atol=0.08)

    def test_rates_are_found(self):
        truth = np.array([[2.0, 10.0], [12.0, 3.0]])
        rng = np.random.default_rng(0)
        rows = rng.poisson(truth[(rng.random(8000) < 0.4).astype(int)]).astype(float)
        space = dp.Box(0.0, [40.0, 30.0])
        result = fitted(example("poisson_mixture").PoissonMixture(2, space), rows, space, 12)
        order = np.argsort(result.rates[:, 0])
        np.testing.assert_allclose(result.weights[order], [0.6, 0.4], atol=0.06)
        np.testing.assert_allclose(result.rates[order], truth, atol=0.8)

    def test_hidden_states_are_found(self):
        moves, means, widths = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([20.0, 70.0]), np.array([5.0, 10.0])
        rng = np.random.default_rng(0)
        states = [(rng.random(6000) < 0.5).astype(int)]
        for _ in range(3):
            states.append((rng.random(6000) > moves[states[-1], 0]).astype(int))
        states = np.array(states).T
        result = fitted(
            example("hidden_markov").HiddenMarkov(2), rng.normal(means[states], widths[states]), dp.Box(0, 100), 10
        )
        np.testing.assert_allclose(result[0], [0.5, 0.5], atol=0.1)
        np.testing.assert_allclose(result[1], moves, atol=0.06)
        np.testing.assert_allclose(50.0 + 50.0 * result[2], means, atol=2.0)
        np.testing.assert_allclose(50.0 * result[3], widths, atol=2.0)

    def test_factors_are_found(self):
        rng = np.random.default_rng(0)
        directions = np.array([[1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, -1.0]])
        group = rng.integers(0, 2, 10_000)
        rows = 1.5 * (2.0 * group[:, None] - 1.0) + rng.normal(size=(10_000, 1)) * directions[group]
        rows += 0.4 * rng.normal(size=rows.shape)
        result = fitted(example("factor_analysers").FactorAnalysers(2, 1), rows, dp.Ball(6.0), 15)
        order = np.argsort(result.components.means[:, 0])
        np.testing.assert_allclose(6.0 * result.components.means[order], [[-1.5] * 5, [1.5] * 5], atol=0.3)
        loadings = 6.0 * result.loadings[order, :, 0]
        for loading, direction in zip(loadings, directions, strict=True):
            np.testing.assert_allclose(loading * np.sign(loading @ direction), direction, atol=0.3)
        assert np.linalg.eigvalsh(result.components.covariances).min() > 0.0


class Reckless(Mean):
    """The skeleton with faults that made-up rows may not find; on real rows they must do no harm."""

    def __init__(self, fault):
        super().__init__()
        object.__setattr__(self, "fault", fault)
        object.__setattr__(self, "seen", [])

    def contributions(self, params, block):
        rows = np.array(super().contributions(params, block))
        here = np.abs(np.asarray(block.x)[:, 0] - 0.123) < 1e-9
        if self.fault == "raises" and here.any():
            raise ValueError(f"cannot deal with {block.x[here]}")
        if self.fault == "another shape" and here.any():
            return rows[~here]
        rows[here] = {"too long": 1e200, "not finite": np.nan, "a little too long": 1.5 * rows[here]}.get(
            self.fault, rows[here]
        )
        return rows

    def sum(self, params, block):
        self.seen.append(len(block.x))
        return super().sum(params, block) + 100.0


class TestGuard:
    """What a model from outside does with real rows is held to its bound."""

    ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2))

    @pytest.mark.parametrize("fault", ["raises", "another shape", "too long", "not finite", "a little too long"])
    def test_one_row_moves_the_sum_by_the_bound_at_most(self, fault):
        space = dp.Ball(1.0, center=[0.0, 0.0])
        query = GuardedQuery(Reckless(fault), np.zeros(2), space)
        block = Block(self.ROWS, np.zeros((50, 0), dtype=np.int64))
        odd = Block(np.vstack([self.ROWS, [[0.123, 0.0]]]), np.zeros((51, 0), dtype=np.int64))
        rows = query.contributions(odd)
        assert np.linalg.norm(rows, axis=1).max() <= query.bound.l2 * (1.0 + query.roundoff)
        honest = GuardedQuery(Mean(), np.zeros(2), space)
        np.testing.assert_array_equal(rows[:50], honest.contributions(block))
        strict = honest.contributions(Block(*map(array_api_strict.asarray, block)))
        np.testing.assert_array_equal(np.from_dlpack(strict), rows[:50])
        moved = np.linalg.norm(query.sum(odd) - query.sum(block))
        assert moved <= query.bound.l2 * (1.0 + 1e-9)

    @seeds_are_fine
    def test_no_error_and_no_state_tells_of_a_row(self, tmp_path):
        model = Reckless("raises")
        rows = np.vstack([self.ROWS, [[0.123, 0.0]]])
        curator = dp.Curator(rows, space=dp.Ball(1.0), name="rows", ledger=tmp_path / "l.db")
        with pytest.raises(ValueError, match="sum"):
            dp.fit_model(model, curator, epsilon=1.0, delta=1e-6, n_steps=2)  # its sum is refused on made-up rows
        assert not curator.ledger.history()

        class Harmless(Reckless):
            def sum(self, params, block):
                self.seen.append(len(block.x))
                return Mean.sum(self, params, block)

        model = Harmless("raises")
        before = dp.fit_model(model, curator, epsilon=1.0, delta=1e-6, n_steps=2)
        assert np.all(np.isfinite(before.params))
        assert 51 not in model.seen

    def test_state_kept_in_a_sum_is_noticed(self):
        class Keeping(Mean):
            def sum(self, params, block):
                object.__setattr__(self, "kept", np.asarray(block.x).mean(axis=0))
                return super().sum(params, block)

            def maximize(self, params, release):
                return getattr(self, "kept", super().maximize(params, release))

        with pytest.raises(ValueError, match="two answers for one release"):
            check_model(Keeping(), dp.Ball(1.0, center=[0.0, 0.0]))

    def test_a_wrong_place_at_the_parameters_is_found(self):
        class Spike(Mean):
            def initialize(self, dimension, rng):
                return np.full(dimension, 0.3)

            def contributions(self, params, block):
                away = ((block.x - params) ** 2).sum(axis=1, keepdims=True)
                return super().contributions(params, block) * (1.0 + 9.0 * np.exp(-away / (2.0 * 0.001**2)))

        with pytest.raises(dp.WrongBound):
            check_model(Spike(), dp.Ball(1.0, center=[0.0] * 5))
