"""Densities: valid whatever comes out, right within their noise, and private by bounds that hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from conftest import FALSE_ALARM
from discreet.door import open_rows
from discreet.door.curator import Curator
from discreet.guarantees import Guarantee
from discreet.queries.adaptors import scale_column
from discreet.queries.bound import Bound
from discreet.queries.moments.cosines import Cosines, cosines_at, heat_weights, power_weights
from discreet.queries.question import Query
from discreet.queries.search import worst_neighbours
from discreet.records import Ball, Block, Box, Category, Number, Schema
from discreet.statistics.density.densities import density
from discreet.statistics.density.density_estimates import (
    choose_bandwidth,
    choose_bins,
    choose_cosines,
    shrinkage_factors,
)
from discreet.statistics.density.piecewise import Piecewise, project_to_density
from discreet.statistics.request import grid_query
from effort import size
from goodness import binomial_p, least_successes, often

WAYS = [
    {"method": "smooth"},
    {"method": "smooth", "delta": 1e-6},
    {"method": "histogram"},
    {"method": "histogram", "denoise": False, "delta": 1e-6},
    {"method": "functional", "delta": 1e-6},
]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())))


def integral(result, low, high, pieces=400_000):
    edges = np.linspace(low, high, pieces + 1)
    return float(result((edges[1:] + edges[:-1]) / 2.0).mean() * (high - low))


@each_way
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_density_is_at_least_0_and_has_integral_1(way, neighbors, seeded):
    rows = np.random.default_rng(0).normal(170.0, 8.0, 3000)
    result = density(rows, epsilon=1.0, bounds=(120, 220), neighbors=neighbors, bits=seeded(1), **way)
    assert result(np.linspace(100.0, 240.0, 999)).min() >= 0.0
    widths, heights = np.diff(result.curve.edges), (result.curve.left + result.curve.right) / 2.0
    assert widths @ heights == pytest.approx(1.0, abs=1e-12)
    assert integral(result, 120.0, 220.0) == pytest.approx(1.0, abs=1e-4)  # bins do not end where the sum's pieces do
    assert result([119.9, 220.1]).tolist() == [0.0, 0.0]
    assert float(result.quantile(0.5)) == pytest.approx(170.0, abs=3.0)
    points, values = result.grid()
    np.testing.assert_allclose(values, result(points))
    assert result.release.neighbors.value == neighbors
    assert "density of x0" in repr(result)


@each_way
@pytest.mark.parametrize(
    "rows",
    [[3.0], [5.0] * 200, [0.0] * 50 + [10.0] * 50, [10.0, 1e300, -1e300, 10.0]],
    ids=["one row", "constant", "ties at the ends", "outside"],
)
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_odd_rows_give_finite_densities(way, rows, neighbors, seeded):
    result = density(rows, epsilon=0.1, bounds=(0, 10), neighbors=neighbors, bits=seeded(2), **way)
    for numbers in (result.value, *result.interval(), result.quantile([0.0, 0.1, 1.0]), result.sample(50)):
        assert np.all(np.isfinite(numbers))
    assert result.value.min() >= 0.0
    assert ((result.sample(50) >= 0.0) & (result.sample(50) <= 10.0)).all()


@each_way
def test_no_row_at_all_gives_a_finite_density(way, seeded):
    nothing = pd.DataFrame({"a": [np.nan, np.nan], "b": [1.0, 2.0]})
    schema = Schema({"a": Number(0, 1), "b": Number(0, 5)})
    result = density(nothing, "b", schema=schema, epsilon=1.0, bits=seeded(3), **way)
    assert np.all(np.isfinite(result.value))
    assert integral(result, 0.0, 5.0) == pytest.approx(1.0, abs=1e-4)


def test_only_the_chosen_column_matters(seeded):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.uniform(0, 120, 500), "weight": rng.normal(70, 10, 500)})
    bounds = {"age": (0, 120), "weight": (30, 150)}
    other = table.assign(age=60.0)
    for way in WAYS:
        one, two = (
            density(rows, "weight", bounds=bounds, epsilon=1.0, bits=seeded(4), **way).value for rows in (table, other)
        )
        np.testing.assert_array_equal(one, two)
    ball = Ball(100.0, center=[60.0, 70.0])
    by_number = density(table.to_numpy(), 1, bounds=ball, epsilon=5.0, bits=seeded(4))
    assert by_number.curve.edges[[0, -1]].tolist() == [-30.0, 170.0]
    assert float(by_number.quantile(0.5)) == pytest.approx(70.0, abs=5.0)


def target(result, rows):
    """Return what the same smoothing gives without noise, on [0, 1]."""
    if not len(result.factors):
        counts, _ = np.histogram(rows, len(result.value), (0.0, 1.0))
        return counts * len(counts) / len(rows)
    count = len(result.factors)
    if result.release.query == "bins":
        m = 2 * count
        middles = (np.histogram(rows, m, (0.0, 1.0))[0], (np.arange(m) + 0.5) / m)
        sums = middles[0] @ cosines_at(middles[1], count) / np.sinc(np.arange(1, count + 1) / (2 * m))
    else:
        sums = cosines_at(rows, count).sum(axis=0)
    return 1.0 + cosines_at(result.grid()[0], count) @ (result.factors * sums / len(rows))


@each_way
def test_intervals_hold_what_there_was_before_noise(way, seeded):
    """Exactly for fixed maps of the noise; about so, 0.77 or more, where the shrinking was chosen after it."""
    rng = np.random.default_rng(2)
    rows = np.clip(np.concatenate([rng.normal(0.3, 0.06, 800), rng.normal(0.7, 0.1, 200)]), 0.0, 1.0)
    runs, level = size(60, 200 if way["method"] == "smooth" else 80), 0.8

    def holds(seed):
        result = density(rows, epsilon=1.0, bounds=(0, 1), bits=seeded(seed), **way)
        place = int(rng.integers(len(result.value)))
        low, high = result.interval(level)
        return low[place] <= target(result, rows)[place] <= high[place]

    if way["method"] == "smooth":
        assert often(map(holds, range(runs)), runs, least_successes(runs, 0.77))
    else:
        assert binomial_p(sum(map(holds, range(runs))), runs, level) > FALSE_ALARM


def test_smooth_beats_the_paper_and_the_histogram(seeded):
    """Mean integrated square error over densities of different kinds; by a factor, so not by luck."""
    rng = np.random.default_rng(3)
    points = np.linspace(0.0, 1.0, 401)

    def normal(mean, std):
        return np.exp(-(((points - mean) / std) ** 2) / 2.0) / (std * np.sqrt(2.0 * np.pi))

    kinds = [
        (lambda: rng.normal(0.5, 0.1, 2000), normal(0.5, 0.1)),
        (lambda: rng.normal(0.3, 0.03, 2000), normal(0.3, 0.03)),
        (lambda: rng.uniform(0.0, 1.0, 2000), np.ones(401)),
    ]

    def errors(**way):
        return [
            np.mean([
                ((density(draw(), epsilon=0.5, bounds=(0, 1), bits=seeded(seed), **way)(points) - true) ** 2).mean()
                for seed in range(8)
            ])
            for draw, true in kinds
        ]  # fmt: skip

    def mean_log(wrong):
        return float(np.log(wrong).mean())

    assert mean_log(errors(delta=1e-6)) < mean_log(errors(delta=1e-6, method="functional")) - np.log(1.5)
    assert mean_log(errors()) < mean_log(errors(method="histogram")) - np.log(1.5)


@dataclass(frozen=True)
class Broken(Query):
    """A query with something wrong."""

    right: Query
    fault: str
    name = "broken"
    dimension = property(lambda self: self.right.dimension)
    space = property(lambda self: self.right.space)
    parts = property(lambda self: self.right.parts)

    @property
    def bound(self):
        bound = self.right.bound
        if self.fault == "sqrt 2":
            return Bound(l2=bound.l2 / np.sqrt(2.0), replace_l2=bound.replace("l2") / np.sqrt(2.0))
        if self.fault == "replace as add":
            return Bound(l2=bound.l2, replace_l2=bound.l2)
        return bound

    def contributions(self, block):
        rows = np.array(self.right.contributions(block))
        if self.fault == "no clipping":  # a row that is outside contributes by how far
            x = np.asarray(block.x)[:, :1]
            return rows * np.clip(np.abs(x), 1.0, 1e6)
        return rows


@pytest.mark.parametrize("fault", ["sqrt 2", "replace as add", "no clipping"])
@pytest.mark.parametrize(
    "right",
    [
        grid_query(Box([-1.0, -1.0], [1.0, 1.0]), [0], [4]),
        Cosines(Box([-1.0, -1.0], [1.0, 1.0]), 0, power_weights(8)),
        Cosines(Ball(1.0, center=[0.0, 0.0]), 0, heat_weights(0.1), 1.0),
    ],
    ids=["bins", "cosines", "heat kernel with a count"],
)
def test_broken_copies_are_caught(right, fault):
    findings = worst_neighbours(Broken(right, fault), np.random.default_rng(0))
    assert not all(finding.holds for finding in findings)
    assert all(finding.holds for finding in worst_neighbours(right, np.random.default_rng(0)))


@pytest.mark.parametrize("weights", [heat_weights(0.03), heat_weights(0.3), power_weights(40), (1.0,) * 7, (0.1, 2.0)])
def test_the_bound_on_replaced_rows_holds_on_a_fine_grid_of_pairs(weights):
    query = Cosines(Box([0.0], [1.0]), 0, weights)
    rows = query.contributions(Block(np.linspace(0.0, 1.0, 701)[:, None], np.zeros((701, 0))))
    squares = (rows**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * rows @ rows.T, 0.0))
    most = float(distances.max())
    assert most <= query.bound.replace("l2") * (1.0 + 1e-12)
    assert most >= 0.99 * query.bound.attained["replace_l2"] * query.bound.replace("l2")
    assert np.sqrt(squares.max()) == pytest.approx(query.bound.l2, rel=1e-12)


def test_the_heat_kernel_is_a_gaussian_kernel_with_mirrors():
    h, weights = 0.08, np.array(heat_weights(0.08))
    s, t = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    at_s, at_t = (cosines_at(axis.ravel(), len(weights)) for axis in (s, t))
    kernel = 1.0 + (at_s * at_t) @ weights**2
    gauss = sum(
        np.exp(-(((s - sign * t - 2.0 * k) / h) ** 2) / 2.0) / (h * np.sqrt(2.0 * np.pi))
        for sign in (1, -1)
        for k in (-2, -1, 0, 1, 2)
    )
    np.testing.assert_allclose(kernel, gauss.ravel(), atol=1e-5)


def test_the_noise_is_a_gaussian_process_with_the_covariance_of_the_kernel(seeded):
    """The functional mechanism: the variance of the noise on the function at t is σ²·(K(t, t) − 1), over n²."""
    rows = np.random.default_rng(4).uniform(0.0, 1.0, 300)
    result = density(rows, epsilon=1.0, delta=1e-6, method="functional", bandwidth=0.1, bounds=(0, 1), bits=seeded(0))
    points, _ = result.grid()
    weights = np.array(heat_weights(0.1))
    kernel = (cosines_at(points, len(weights)) ** 2) @ weights**2
    np.testing.assert_allclose(result.noise**2, result.release.noise.variance * kernel / 300**2, rtol=1e-9)
    np.testing.assert_allclose(result.factors, weights**2)


def test_whatever_stands_in_a_row_lands_in_the_interval():
    rows = np.array([[np.nan], [np.inf], [-np.inf], [1e308], [-1e308], [2.0]])
    for space in (Box([0.0], [4.0]), Ball(2.0, center=[2.0])):
        assert scale_column(space, rows, 0).tolist() == [0.5, 1.0, 0.0, 1.0, 0.0, 0.5]
    counts = grid_query(Box([0.0], [4.0]), [0], [4]).sum(Block(rows, np.zeros((6, 0))))
    assert counts.tolist() == [2.0, 0.0, 2.0, 2.0]
    assert grid_query(Box([0.0], [4.0]), [0], [4]).sum(Block(rows[:0], np.zeros((0, 0)))).tolist() == [0.0] * 4


def test_pieces_evaluate_integrate_and_invert():
    rng = np.random.default_rng(5)
    nodes = np.maximum(rng.normal(size=30), 0.0)
    for curve in (
        Piecewise(np.linspace(-2.0, 5.0, 30), nodes[:-1], nodes[1:]),
        Piecewise(np.linspace(-2.0, 5.0, 31), nodes, nodes),
    ):
        q = np.linspace(0.0, 1.0, 999)
        points = curve.quantile(q)
        np.testing.assert_allclose(curve.distribution(points), q, atol=1e-9)
        assert np.all(np.diff(points) >= 0.0)
        assert np.isscalar(curve.quantile(0.3))
    heights = rng.normal(size=200)
    kept = project_to_density(heights, 0.1)
    steps = np.full(200, 0.1)
    steps[[0, -1]] = 0.05
    assert steps @ kept == pytest.approx(1.0, abs=1e-9)
    assert kept.min() == 0.0


def test_shrinking_is_monotone_and_keeps_what_is_clear():
    rng = np.random.default_rng(6)
    for _ in range(50):
        factors = shrinkage_factors(rng.normal(size=40) * 0.9 ** np.arange(40), np.full(40, 0.02))
        assert np.all(np.diff(factors) <= 1e-12)
        assert factors.min() >= 0.0
        assert factors.max() <= 1.0
    assert shrinkage_factors(np.array([1.0, 1.0, 0.0]), np.full(3, 1e-6))[1] > 0.999
    assert shrinkage_factors(np.zeros(5), np.ones(5)).tolist() == [0.0] * 5


def test_rules_grow_with_rows_and_shrink_with_noise():
    assert choose_bins(1e5, 8.0) > choose_bins(1e3, 8.0) > choose_bins(1e3, 800.0) >= 4
    assert choose_bandwidth(1e5, 4.0) < choose_bandwidth(1e3, 4.0) < choose_bandwidth(1e3, 400.0)
    assert choose_cosines(1e5, 4.0) > choose_cosines(1e3, 4.0) >= choose_cosines(1.0, 400.0) == 8


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"method": "kernel"}, "method="),
        ({"epsilon": 0.0}, "epsilon="),
        ({"delta": 1.0}, "delta="),
        ({"method": "functional"}, "delta=0.0"),
        ({"bandwidth": 1.0}, "bandwidth="),
        ({"bandwidth": -1.0, "method": "functional", "delta": 1e-6}, "bandwidth="),
        ({"bandwidth": 1e-9, "method": "functional", "delta": 1e-6}, "bandwidth="),
        ({"bins": 10, "delta": 1e-6}, "bins="),
        ({"bins": 1, "method": "histogram"}, "bins="),
        ({"bins": 2.5}, "bins="),
        ({"bins": 2**12}, "bins="),
        ({"denoise": 1}, "denoise="),
        ({"rows": 0}, "rows="),
        ({"column": 2}, "column="),
        ({"column": "age"}, "column="),
        ({"column": None}, "column=None"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_spent(arguments, name, tmp_path):
    curator = Curator(np.zeros((5, 2)), space=Box([0, 0], [1, 1]), name="rows", ledger=f"{tmp_path}/ledger")
    with pytest.raises(ValueError, match=name):
        density(curator, **{"column": 0, "epsilon": 1.0} | arguments)
    assert curator.ledger.history() == ()


def test_queries_and_quantiles_refuse_what_they_cannot_take():
    box = Box([0.0], [1.0])
    for wrong in [((0,), (1,)), ((0,), (2, 2)), ((0,), (2**23,))]:
        with pytest.raises(ValueError, match="expected"):
            grid_query(box, *wrong)
    for weights in ((), (0.0,), (-1.0,), (np.nan,), (1.0,) * 513):
        with pytest.raises(ValueError, match="weights="):
            Cosines(box, 0, weights)
    with pytest.raises(ValueError, match="q="):
        density([0.5], epsilon=1.0, bounds=(0, 1)).quantile(1.5)
    sex = open_rows(pd.DataFrame({"sex": ["f", "m"]}), schema=Schema({"sex": Category(["f", "m"])}))
    with pytest.raises(ValueError, match="expected at least one column of numbers"):
        density(sex, epsilon=1.0)


def test_the_answer_says_what_was_promised():
    curator = open_rows(np.linspace(0.0, 1.0, 50), bounds=(0, 1))
    result = density(curator, epsilon=2.0)
    assert result.guarantee == Guarantee(2.0, 0.0, curator.neighbors)
    assert result.release.exact
    assert len(result.releases) == 1
