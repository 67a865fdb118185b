"""Logistic regression from moments and along noisy gradients: bounds under attack, the path, how near it comes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import array_api_strict
import numpy as np
import pytest

import discreet as dp
from discreet.door import PublicSize, Release
from discreet.door.exit import draw_plan
from discreet.models.linear.functional import Functional, coded_minimum
from discreet.models.linear.gradient_descent import NoisyGradient
from discreet.models.linear.row_coordinates import CONSTANT, Coordinates
from discreet.noise import GaussianNoise
from discreet.queries.bound import Bound
from discreet.queries.moments.coded_moments import CodedMoments
from discreet.queries.moments.components import Components
from discreet.queries.objectives.gradients import STEP, MarginGradient, replaced_gradients
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import HuberHinge, Logistic
from discreet.queries.search import worst_neighbours
from discreet.records import Block, as_records

SKEWED = dp.Box([-3.0, 100.0, 0.0], [1.0, 101.0, 5000.0])
BALL = dp.Ball(2.0, center=[0.0, 1.0, 2.0])


def seen_through(space, constant=0.5, radius=2.0):
    """Return features in coordinates in which most rows are clipped."""
    factor = 0.1 * np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0] * [1.0, 0.5, 0.2]
    narrow = Components(np.ones(1), np.array([[0.2, -0.1, 0.3]]), (factor @ factor.T)[None])
    return Features(space, constant, narrow, radius)


class Unclipped(Features):
    """Features of rows that stay where they are."""

    def map_rows(self, block):
        z = (self.space.to_unit(block.x) - self.gaussian.means[0]) @ self.gaussian.whitening[0].T / self.radius
        return np.hstack([self._share * z, np.full((len(z), 1), self.constant)])


def unclipped(features):
    return Unclipped(features.space, features.constant, features.gaussian, features.radius)


def broken(right, fault):
    """Return a copy of a query with something wrong."""

    @dataclass(frozen=True, eq=False)
    class Broken(type(right)):
        @property
        def bound(self):
            bound = right.bound
            if fault == "sqrt 2":
                return Bound(l2=bound.l2 / math.sqrt(2.0), replace_l2=bound.replace("l2") / math.sqrt(2.0))
            if fault == "replace as add":
                return Bound(l2=bound.l2, replace_l2=bound.l2)
            if fault == "as at θ = 0":
                return type(right)(right.features, right.loss, 0.0 * right.theta, right.classes).bound
            return bound

    values = dict(vars(right))
    names = [name for name in right.__dataclass_fields__ if name in values]
    arguments = {name: values[name] for name in names}
    if fault == "no clipping":
        arguments["features"] = unclipped(arguments["features"])
    return Broken(**arguments)


TWO, SEVERAL = np.array([[2.0, -1.0, 0.5, 1.0]]), np.array([[0.5, 0.1, 0.0, 0.2], [0.0, -0.4, 0.3, 0.0], [0.2] * 4])


class TestBounds:
    """``test_door_search`` attacks every registered instance; here are copies that must not get through."""

    @pytest.mark.parametrize("fault", ["none", "sqrt 2", "replace as add", "no clipping"])
    @pytest.mark.parametrize("classes", [2, 3])
    def test_broken_moments_are_caught(self, classes, fault):
        query = broken(CodedMoments(seen_through(SKEWED), 0.4, classes), fault)
        findings = worst_neighbours(query, np.random.default_rng(1))
        assert all(finding.holds for finding in findings) == (fault == "none")

    @pytest.mark.parametrize("fault", ["none", "sqrt 2", "replace as add", "no clipping", "as at θ = 0"])
    @pytest.mark.parametrize("theta", [TWO, SEVERAL], ids=["two", "three"])
    def test_broken_gradients_are_caught(self, theta, fault):
        query = broken(MarginGradient(seen_through(BALL), Logistic(), theta, max(2, len(theta))), fault)
        findings = worst_neighbours(query, np.random.default_rng(1))
        assert all(finding.holds for finding in findings) == (fault == "none")

    @pytest.mark.parametrize("loss", [Logistic(), HuberHinge(2.0)], ids=str)
    @pytest.mark.parametrize("steps", [0, 1, 200, 1000, 5000])
    def test_the_distance_of_two_gradients_is_that_of_a_fine_grid(self, loss, steps):
        """Between what a grid finds at the upper end of the interval, and a thousandth more."""
        angles = np.linspace(0.0, math.pi, 801)
        push = -loss.slope(-steps * STEP * np.cos(angles))
        one, other = np.meshgrid(push, push)
        cosines = np.cos(angles[:, None] + angles[None, :])
        result = math.sqrt((one**2 + other**2 - 2.0 * one * other * cosines).max())
        assert result <= replaced_gradients(loss, steps) * (1.0 + 1e-12)
        assert replaced_gradients(loss, steps) <= result * 1.002

    def test_a_gradient_at_the_start_costs_half_of_one_far_off(self):
        costs = [replaced_gradients(Logistic(), round(size / STEP)) for size in (0.0, 1.0, 4.0, 1e4)]
        np.testing.assert_allclose(costs, [1.0, 1.0995, 1.533, 2.0], atol=2e-3)

    @pytest.mark.parametrize("classes", [3, 10])
    @pytest.mark.parametrize(("constant", "back"), [(0.0, 1.0), (0.8, 0.0)])
    def test_the_softmax_at_zero_is_exact(self, classes, constant, back):
        features, squared = Features(BALL, constant), 1.0 - 1.0 / classes
        bound = MarginGradient(features, Logistic(), np.zeros((classes, features.size)), classes).bound
        assert bound.l2 == pytest.approx(math.sqrt(squared))
        assert bound.replace("l2") == pytest.approx(math.sqrt(2.0 * squared + 2.0 * max(back * squared, 1.0 / classes)))

    @pytest.mark.parametrize("classes", [2, 4])
    def test_every_backend_gives_the_same_sum(self, classes):
        rng = np.random.default_rng(0)
        x, codes = rng.normal(size=(100, 3)), rng.integers(0, classes, (100, 2))
        block, other = Block(x, codes), Block(array_api_strict.asarray(x), array_api_strict.asarray(codes))
        theta = rng.standard_normal((1 if classes == 2 else classes, 4))
        for features in (Features(BALL), seen_through(BALL)):
            for query in (
                CodedMoments(features, 0.4, classes, 1),
                MarginGradient(features, Logistic(), theta, classes, 1),
            ):
                expected = query.sum(block)
                np.testing.assert_allclose(np.asarray(query.sum(other)), expected, rtol=1e-9, atol=1e-9)
                np.testing.assert_allclose(np.asarray(query.contributions(other)).sum(axis=0), expected, atol=1e-9)

    @pytest.mark.parametrize(("kind", "neighbors"), [("moments", "replace-one"), ("gradient", "add-remove")])
    def test_an_attacker_learns_no_more_than_promised(self, kind, neighbors, seeded):
        """A changed label, end to end, in an asymmetric box: the two laws are at most μ = 1 apart, and nearly so.

        Projected on the difference of the sums a release is normal, at distance μ in units of its deviation. With 700
        runs a side the mean difference is off by more than 6.2·√(2/700) = 0.331 with probability 6e-10.
        """
        schema = dp.Schema({"a": dp.Number(-3, 1), "l": dp.Category(["u", "v"]), "b": dp.Number(100, 5000)})
        others = np.array([[-1.0, 0, 700.0], [0.5, 1, 4000.0]])
        ends = ([1.0, 0, 5000.0], [1.0, 1, 5000.0]) if neighbors == "replace-one" else ([1.0, 0, 5000.0],)
        tables = [np.vstack([others, end]) for end in ends] + [others] * (2 - len(ends))
        codes = dp.Schema(dict(schema.columns) | {"l": dp.Category([0, 1])})
        curators = [dp.Curator(as_records(rows, schema=codes), neighbors=neighbors) for rows in tables]
        features = Features(curators[0].space, 0.5)
        queries = {
            "moments": CodedMoments(features, 0.9, 2),
            "gradient": MarginGradient(features, Logistic(), [[0.0] * 3], 2),
        }
        query, bits, loss = queries[kind], seeded(1), dp.GaussianLoss(1.0, neighbors)
        sums = [query.collect(curator._records, curator.setting) for curator in curators]
        direction = (sums[0] - sums[1]) / np.linalg.norm(sums[0] - sums[1])
        plans = [curator.plan(query, loss) for curator in curators]
        result = [
            np.mean([direction @ draw_plan(plan, values, bits) for _ in range(700)])
            for plan, values in zip(plans, sums, strict=True)
        ]
        std = math.sqrt(plans[0].noise.variance)
        assert 0.99 - 0.331 < (result[0] - result[1]) / std < 1.0 + 0.331

    def test_what_does_not_fit(self):
        features = Features(BALL)
        for theta, classes in (
            (np.zeros((1, 3)), 2),
            (np.zeros((2, 4)), 2),
            (np.full((1, 4), np.nan), 2),
            ([[0] * 4], 1),
        ):
            with pytest.raises(ValueError, match="theta"):
                MarginGradient(features, Logistic(), theta, classes)
        for first in (0.0, 1.0):
            with pytest.raises(ValueError, match="first"):
                CodedMoments(features, first, 2)
        with pytest.raises(ValueError, match="features without weights"):  # far rows are then longer than 1
            CodedMoments(replace(seen_through(BALL), weighted=True), 0.5, 2)
        curator = hyperplane(dp.datasets.make_synth(50, random_state=0))
        for query in (CodedMoments(Features(curator.space), 0.5, 3), CodedMoments(Features(curator.space), 0.5, 2, 1)):
            with pytest.raises(ValueError, match="categories"):
                curator.measure(query, dp.GaussianLoss(0.1))


def hyperplane(drawn, neighbors="replace-one", classes=2):
    """Return a curator of rows with labels, all of which surely count."""
    columns = {
        name: dp.Number(*pair, missing="fill", fill=sum(pair) / 2.0)
        for name, pair in zip(drawn.columns, drawn.bounds, strict=True)
    }
    schema = dp.Schema(columns | {"label": dp.Category(range(classes))})
    return dp.Curator(as_records(np.column_stack([drawn.X, drawn.y]), schema=schema), neighbors=neighbors)


def fitted(curator, name, epsilon, bits, classes=2, **more):
    """Return the scores in the data's own units, the method, and its releases."""
    guarantee = dp.Guarantee(epsilon, 1e-6, curator.neighbors)
    coordinates = Coordinates.for_data(curator.space.dimension, CONSTANT, guarantee, curator.size, **more)
    ways = {
        "functional": Functional(classes, coordinates),
        "gradient": NoisyGradient.for_data(classes, Logistic(), coordinates),
    }
    method = ways[name]
    losses = method.losses(guarantee)
    assert epsilon * (1 - 1e-6) < dp.compose(losses).epsilon(1e-6) <= epsilon * (1 + 1e-9)
    schedule = curator.reserve(losses, query="test")
    steps = (lambda query: schedule.measure(query, bits=bits) for _ in losses)
    result, releases = method.run(curator.space, np.random.default_rng(0), steps)
    assert [release.loss for release in releases] == list(losses)
    return result.rescale(np.asarray(curator.space.center), np.asarray(curator.space.scale)), method, releases


def error_of(result, drawn):
    scores = drawn.X @ result.weights.T + result.intercepts
    predicted = scores[:, 0] > 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return float(np.mean(predicted != drawn.y))


NAMES = ("functional", "gradient")


class TestMethods:
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    @pytest.mark.parametrize("name", NAMES)
    def test_the_papers_sets(self, name, neighbors, seeded):
        """Errors on the training rows; without privacy about 5 % and 16 %."""
        cm2, synth = dp.datasets.make_cm2(random_state=0), dp.datasets.make_synth(4000, random_state=0)
        for drawn, epsilon, most in ((cm2, 1.0, 0.06), (cm2, 0.3, 0.075), (synth, 1.0, 0.19)):
            result, _, _ = fitted(hyperplane(drawn, neighbors), name, epsilon, seeded(1))
            assert error_of(result, drawn) < most

    @pytest.mark.parametrize("name", NAMES)
    def test_several_classes(self, name, seeded):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 4, 8000)
        X = np.clip(3.0 * np.eye(4)[y] + rng.standard_normal((8000, 4)), -5.0, 8.0)
        drawn = dp.datasets.Dataset("groups", X, y, tuple("abcd"), ((-5.0, 8.0),) * 4, "", "")
        result, _, _ = fitted(hyperplane(drawn, classes=4), name, 1.0, seeded(0), classes=4)
        assert result.weights.shape == (4, 4)
        assert error_of(result, drawn) < 0.08

    def test_every_number_of_classes_has_a_bound(self):
        """The share that is attained is rounded, and at θ = 0 it is all of the bound."""
        features = Features(dp.Box([-1.0] * 2, [1.0] * 2), 0.8)
        for classes in range(2, 101):
            theta = np.zeros((1 if classes == 2 else classes, 3))
            query = MarginGradient(features, Logistic(), theta, classes)
            assert 0.0 < query.bound.l2 <= 1.0
            with pytest.raises(ValueError, match="read-only"):
                query.theta[:] = 30.0

    def test_the_path_follows_from_the_releases(self, seeded):
        curator = hyperplane(dp.datasets.make_cm2(3000, random_state=0))
        _, method, releases = fitted(curator, "gradient", 3.0, seeded(0))
        loaded = [Release.from_json(release.to_json()) for release in releases]
        queries = [release.question for release in loaded if isinstance(release.question, MarginGradient)]
        path = [release.question.theta for release in releases if isinstance(release.question, MarginGradient)]
        assert len(path) == method.steps > 3
        assert not path[0].any()
        exact = [curator._records.reduce(query.sum, query.size) for query in queries]
        noises = [release.value - sums for release, sums in zip(releases[-len(path) :], exact, strict=True)]
        for theta, query, release, noise in zip(path, queries, releases[-len(path) :], noises, strict=True):
            np.testing.assert_array_equal(theta, query.theta)
            std = math.sqrt(release.noise.variance)
            assert std * release.loss.mu == pytest.approx(query.bound.replace("l2"), rel=1e-3)
            # 11 numbers, each beyond 7 deviations with probability 3e-12
            assert np.abs(noise).max() < 7.0 * std

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    def test_declared_coordinates_and_few_rows(self, name, neighbors, seeded):
        drawn = dp.datasets.make_synth(30, random_state=0)
        for own, epsilon in ((False, 1.0), (True, 0.01), (None, 1e-3)):
            result, _, _ = fitted(hyperplane(drawn, neighbors), name, epsilon, seeded(0), own=own)
            assert np.all(np.isfinite(result.weights))
            assert np.all(np.isfinite(result.intercepts))

    @pytest.mark.parametrize(("classes", "column"), [(3, 0), (2, 1)])
    def test_labels_that_do_not_fit_are_refused_in_the_plan(self, classes, column):
        curator, guarantee = hyperplane(dp.datasets.make_synth(100, random_state=0)), dp.Guarantee(1.0, 1e-6)
        coordinates = Coordinates.for_data(4, CONSTANT, guarantee, curator.size)
        for method in (
            Functional(classes, coordinates, column),
            NoisyGradient.for_data(classes, Logistic(), coordinates, column),
        ):
            *_, loss = method.losses(guarantee)
            *_, query = method.questions(curator.space, len(method.losses(guarantee)))
            with pytest.raises(ValueError, match="categories"):
                curator.plan(query, loss)

    @pytest.mark.parametrize("value", [0.0, -1.0, 1e12, -1e12])
    def test_whatever_is_released_a_minimum_comes_out(self, value):
        query = CodedMoments(Features(BALL), 0.3, 3)
        release = Release(
            query="coded moments", value=np.full(query.size, value), parts=query.parts, mechanism="additive",
            noise=GaussianNoise.for_query(mu=1.0, sensitivity=1.0, largest=1e3, size=query.size), exact=True,
            loss=dp.GaussianLoss(1.0), size=PublicSize(10, True),
        )  # fmt: skip
        assert np.all(np.isfinite(coded_minimum(release, 10.0)))
