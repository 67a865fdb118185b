"""Instances of every question for the search of worst neighbours: random and extreme public parameters.

``QUERIES[kind](rng, d, radius)`` gives questions in d dimensions whose space has about this radius. A test goes through
all subclasses of ``Query`` in the library and fails if one is not here.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

import discreet
from discreet.guarantees import Neighbors
from discreet.mechanisms.factored_exponential import FactoredExponential
from discreet.models.clusters.lloyd import lloyd_weights, packed_start
from discreet.models.clusters.private_kmeans import cluster_components
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool
from discreet.models.mixture.joint_release import JointMixture, spread_components
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import clip_to_ball
from discreet.models.table.column_maps import project_to_simplex
from discreet.models.table.table_model import TableModel, TablePool
from discreet.queries.adaptors import Grouped, OfColumns, Weighted, Within
from discreet.queries.counts.condition_counts import ConditionCounts
from discreet.queries.counts.count_queries import Bins, Chosen, Count, GroupModes, Histogram, Margins, Mode
from discreet.queries.counts.grids import Grid, Marginals, ProjectedGrid
from discreet.queries.counts.rounded_numbers import RoundedNumbers
from discreet.queries.counts.table_counts import CategoryCells, NumberCells, TableCounts
from discreet.queries.counts.table_queries import Binned, SideBySide
from discreet.queries.functions.factored_scores import FactoredSum
from discreet.queries.functions.user_functions import Array
from discreet.queries.models.log_likelihood import LogLikelihood
from discreet.queries.models.model_query import GuardedQuery, ModelQuery
from discreet.queries.models.prediction_queries import Confusion, LinearRule, ResidualSquares, ScoreCells
from discreet.queries.moments.bernstein import Bernstein
from discreet.queries.moments.class_moments import ClassMoments, ClassSums
from discreet.queries.moments.clipped_moments import (
    COUNTS,
    COUNTS_AND_SUMS,
    FIRST,
    FULL,
    LLOYD,
    ROUND,
    SECOND,
    SHAPES,
    ClippedMoments,
    MomentSums,
)
from discreet.queries.moments.coded_moments import CodedMoments
from discreet.queries.moments.components import Components
from discreet.queries.moments.cosines import Cosines, heat_weights, power_weights
from discreet.queries.moments.deviations import DeviationProducts, DeviationSquares
from discreet.queries.moments.moments import Moments, Products, Squares, Sum, Total
from discreet.queries.moments.principal_direction import DirectionScatter, Energies
from discreet.queries.moments.score_products import ScoreProducts
from discreet.queries.objectives.curvatures import MarginCurvature
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import HuberHinge, Logistic
from discreet.queries.series.event_sums import EventSums
from discreet.queries.series.factorization import Tree, square_root
from discreet.queries.series.fourier_choice import FourierCount
from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.operators import Identity, Operator, Picked, PrefixSums, StepsAndBlocks, Toeplitz
from discreet.queries.series.series_sums import ColumnSums, StepSums, WaveSums
from discreet.records import Ball, Box, Condition


def _components(rng: np.random.Generator, count: int, base: Components) -> Components:
    """Return components with any weights, some far from the rows, each with a multiple of a Gaussian's covariance."""
    return Components(
        rng.dirichlet(np.full(count, 0.5)) * 0.999 + 0.001 / count,
        clip_to_ball(rng.standard_normal((count, base.dimension)) * 0.5),
        np.repeat(base.covariances, count, axis=0) * rng.uniform(0.1, 2.0, (count, 1, 1)),
    )


def _adaptive_mixture_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return queries to search: few and many components, overlapping and narrow ones, every shape."""
    space = Ball(radius, center=rng.standard_normal(d) * radius)
    result = []
    for count, name in zip((2, 3, 5, 30), SHAPES, strict=True):
        shape = Shape(name, d)
        for width in (0.5, 0.01):
            base = Components(np.ones(1), np.zeros((1, d)), np.eye(d)[None] * width**2)
            start = _components(rng, count, base)
            model = AdaptiveMixture(count, base, Clipping.at_quantile(d, 0.8), shape, (0.1, 0.3, 0.6), 10)
            result.append(ModelQuery(model, Pool.empty(start), space))
    return result


def _joint_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return queries to search: few and many components, every shape, soft and hard."""
    space = Ball(radius, center=rng.standard_normal(d) * radius)
    result = []
    for count, shape in zip((1, 2, 3, 30), SHAPES, strict=True):
        for hard in (False, True):
            model = JointMixture(count, shape, hard)
            result.append(ModelQuery(model, model.initialize(d, rng), space))
    return result


def _one_gaussian_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Ball(radius, center=rng.standard_normal(d) * radius)
    result = []
    for shape in SHAPES:
        for counted in (False, True):
            model = OneGaussian(Shape(shape, d), Clipping.at_quantile(d, 0.9), Neighbors.REPLACE_ONE, counted)
            start = model.initialize(d, rng)
            narrow = Components(start.weights, clip_to_ball(rng.standard_normal((1, d))), start.covariances * 1e-3)
            result += [ModelQuery(model, start, space), ModelQuery(model, narrow, space)]
    return result


def _table_model_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return queries to search: one, few and many components, overlapping and narrow, one to three columns."""
    space = Ball(radius, center=rng.standard_normal(d) * radius)
    cases = [
        (1, (3,), "full", 0.01), (1, (2, 1), "diag", 0.5), (2, (2, 6), "full", 0.5), (2, (2, 6), "full", 0.01),
        (3, (4,), "tied", 0.01), (20, (5, 1, 3), "full", 0.5), (20, (5, 1, 3), "full", 0.01),
    ]  # fmt: skip
    result = []
    for count, categories, name, width in cases:
        base = Components(np.ones(1), np.zeros((1, d)), np.eye(d)[None] * width**2)
        start = _components(rng, count, base)
        numbers = AdaptiveMixture(count, base, Clipping.at_quantile(d, 0.8), Shape(name, d), (0.1, 0.3, 0.6), 10)
        marginals = tuple(rng.dirichlet(np.ones(size)) * 0.99 + 0.01 / size for size in categories)
        weights = tuple(rng.dirichlet(np.ones(len(categories))) * rng.uniform(0.2, 0.8))
        model = TableModel(numbers, marginals, (1e-4,) * len(categories), weights)
        sharp = tuple(project_to_simplex(rng.dirichlet(np.full(size, 0.1), count), 1.0) for size in categories)
        result.append(ModelQuery(model, TablePool.empty(Pool.empty(start), sharp), space))
    return result


def _adapted_moments(rng: np.random.Generator, d: int, radius: float) -> OfColumns:
    space = Box(np.full(d + 1, -radius), np.full(d + 1, radius))
    narrow = Box(np.full(d, -0.5 * radius), np.full(d, 0.25 * radius))
    return OfColumns(Moments(narrow, weights=tuple(rng.dirichlet(np.ones(3)))), space, tuple(range(d)))


def _marginals_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = rng.standard_normal(d) * radius
    box = Box(low, low + radius * rng.uniform(1.0, 50.0, d))
    several = [(d + 1,), (2, 3), (1, 4, 6), (2,) * d, (1,)]
    whole = tuple((np.arange(d) % 2 == 0).tolist())
    result = [Marginals(categories) for categories in several]
    return [*result, Marginals((1,), box, whole), Marginals((2, 3), box, (False,) * d)]


def _cells_of(rng: np.random.Generator, box: Box, most: int) -> tuple[NumberCells, ...]:
    """Return a few cells for each column of a box, their edges inside of it."""
    ends = zip(box.low, box.high, strict=True)
    edges = [np.sort(rng.uniform(0.05, 0.95, rng.integers(1, most))) * (high - low) + low for low, high in ends]
    return tuple(NumberCells(j, tuple(np.unique(one).tolist())) for j, one in enumerate(edges))


def _table_counts_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return counts of single columns, of pairs and of triples, with gaps and with columns of a single cell."""
    low = rng.standard_normal(d) * radius
    box = Box(low, low + radius * rng.uniform(1.0, 50.0, d))
    cells = _cells_of(rng, box, 3)
    labels = (CategoryCells(0, (0, 1, 1)), CategoryCells(1, (0,)), CategoryCells(2, (1, 0)))
    both = (*cells[:3], *labels)
    gap = (NumberCells(0, (float(low[0]) + radius / 4.0,), gap=0), CategoryCells(1, (0, 1, 2)))
    pairs = tuple(combinations(range(len(both)), 2))
    triples = tuple(combinations(range(len(both)), 3))
    return [
        TableCounts(box, (), cells, tuple((j,) for j in range(d))),
        TableCounts(box, (3, 1, 2), both, pairs),
        TableCounts(box, (3, 1, 2), both, (*pairs, *triples[:4], (1,))),
        TableCounts(box, (3, 1, 2), both, triples),  # as of synthetic tables
        TableCounts(box, (2, 3), gap, ((0, 1), (0,))),
        TableCounts(None, (3, 1, 2), labels, ((0, 1), (0, 2), (1,))),
        TableCounts(None, (2,), (CategoryCells(0, (0, 0)),), ((0,),)),
    ]


def _score_products_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return products of two and of many columns, with even, skewed and small scores."""
    low = rng.standard_normal(d) * radius
    box = Box(low, low + radius * rng.uniform(1.0, 50.0, d))
    labels = (CategoryCells(0, (0, 1, 2)), CategoryCells(1, (0, 1)))
    result: list[Any] = [
        ScoreProducts(None, (3, 2), labels, ((-1.0, 0.5, 1.0), (-1.0, 1.0))),
        ScoreProducts(None, (3, 2), labels, ((0.1, 0.5, 0.9), (-0.25, 1.0))),
    ]
    if d > 1:
        cells = _cells_of(rng, box, 2)[:6]  # two cells: the search finds the ends of a column, not its middle
        even = tuple(tuple(np.linspace(-1.0, 1.0, one.count).tolist()) for one in cells)
        skewed = tuple(tuple(rng.uniform(-0.2, 1.0, one.count).tolist()) for one in cells)
        result += [ScoreProducts(box, (), cells, even), ScoreProducts(box, (), cells, skewed)]
    return result


def _binned_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    moments = _adapted_moments(rng, d, radius)
    space, edges = moments.space, (-0.5 * radius, 0.1 * radius, 0.4 * radius)
    return [
        Binned(Count(), space, d, edges),
        Binned(moments, space, d, edges[:1]),
        Grouped(Binned(Binned(Count(), space, 0, edges), space, d, edges), 3, 0),
        Binned(Grouped(moments, 2, 1), space, d, edges),
    ]


def _side_by_side_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return histograms of several columns, tables with their margins, and queries with other bounds."""
    space = Box(np.full(d, -radius), np.full(d, radius))
    bins = tuple(Bins(space, j, (-0.3 * radius, 0.3 * radius)) for j in range(min(d, 4)))
    named = (Grouped(Count(), 3, 0), Grouped(Count(), 2, 1))
    a, b = 0.9, 0.3
    cells = Grouped(Grouped(Count(), 2, 1), 3, 0)
    binned = Binned(Count(), space, 0, (0.1 * radius,))
    return [
        SideBySide((*bins, *named), (1.0,) * (len(bins) + 2)),
        SideBySide(named, (1.0, 1.0)),
        SideBySide((cells, *named), (a, b, b)),
        SideBySide((Grouped(binned, 3, 0), named[0], binned), (a, b, 0.1)),
        SideBySide((Sum(space), Histogram(3)), (a, b)),
    ]


def _projected_grid_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Ball(radius, center=rng.standard_normal(d) * radius)
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0][: min(d, 3)]
    few = len(axes)
    return [
        ProjectedGrid(space, (4,) * few, axes, rng.uniform(-0.1, 0.1, few), rng.uniform(0.1, 1.0, few)),
        ProjectedGrid(space, (2,), axes[:1], np.zeros(1), np.full(1, 1e-3)),
    ]


def _factored_exponential_steep(rows: Array, candidates: Sequence[float]) -> Array:
    return np.asarray(5.0 * rows[:, :1] * np.asarray(candidates))


def _guarded_query_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    model, space = JointMixture(3), Ball(radius, center=np.zeros(d))
    return [GuardedQuery(model, model.initialize(d, rng), space)]


def _log_likelihood_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Ball(radius, center=np.zeros(d))
    spread = np.repeat(np.eye(d)[None] * 0.02 / d, 2, axis=0) * radius**2
    models = [
        Components(np.array([0.5, 0.5]), rng.standard_normal((2, d)) * 0.01 * radius, spread * factor)
        for factor in (1.0, 2.0)
    ]
    return [LogLikelihood(models, space, count) for count in (False, True)]


def _rules(rng: np.random.Generator, d: int, radius: float, count: int) -> list[Any]:
    """Return a linear and a Gaussian rule, and one whose scores are all equal."""
    own = Components(
        rng.dirichlet(np.ones(count)) * 0.9 + 0.1 / count,
        rng.standard_normal((count, d)) * 0.3 * radius,
        np.repeat(np.eye(d)[None] * (0.3 * radius) ** 2, count, axis=0),
    )
    lines = LinearRule(rng.standard_normal((count, d)) / radius, rng.standard_normal(count))
    return [lines, own, LinearRule(np.zeros((count, d)), np.zeros(count))]


def _confusion_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    ball, box = Ball(radius, center=np.zeros(d)), Box(np.full(d, -radius), np.full(d, radius))
    rules = zip((ball, box, ball), (2, 3, 5), (0, 1, 0), strict=True)
    return [Confusion(space, _rules(rng, d, radius, k)[i], k, place) for i, (space, k, place) in enumerate(rules)]


def _score_cells_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    ball, box = Ball(radius, center=np.zeros(d)), Box(np.full(d, -radius), np.full(d, radius))
    grids = [(0.0,), tuple(np.linspace(-8.0, 8.0, 65)), (-1e-9, 1e9)]
    rules = zip((ball, box, ball), _rules(rng, d, radius, 2), grids, (0, 0, 1), strict=True)
    return [ScoreCells(space, rule, grid, place) for space, rule, grid, place in rules]


def _residual_squares_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return queries to search: targets at either end, steep and flat lines, with and without a count."""
    result = []
    for counted in (False, True):
        low = rng.standard_normal(d + 1) * radius
        box = Box(low, low + radius * rng.uniform(1.0, 9.0, d + 1))
        width = np.asarray(box.high) - np.asarray(box.low)
        for target in (0, d):
            steep = rng.choice([-1.0, 1.0], d) * 3.0 * width[target] / np.delete(width, target)
            middle = (np.asarray(box.high) + np.asarray(box.low)) / 2.0
            start = middle[target] - float(steep @ np.delete(middle, target))
            result.append(ResidualSquares(box, LinearRule(steep[None, :], np.array([start])), target, counted))
        flat = LinearRule(np.zeros((1, d)), np.array([float(box.high[0])]))
        result.append(ResidualSquares(box, flat, 0, counted))
    return result


def _class_moments_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return queries to search: every shape, few and several classes, wide and narrow, spaces skewed and far off."""
    low = rng.normal(size=d) * radius
    ball: Box | Ball = Ball(radius, center=rng.normal(size=d) * radius)
    skewed, cube = Box(low, low + radius * 10.0 ** rng.uniform(-3.0, 3.0, d)), Box(np.full(d, -radius), radius)
    usual, first = (0.2, 0.3, 0.5), (0.02, 0.9, 0.08)
    cases = [
        (ball, 2, 0.01, "full", usual, 1), (ball, 2, 0.01, "tied", first, 0), (cube, 4, 0.3, "tied", usual, 1),
        (skewed, 3, 0.05, "full", first, 0), (skewed, 3, 0.05, "diag", usual, 1), (ball, 2, 0.0, "diag", first, 1),
        (cube, 4, 0.0, "full", usual, 0), (skewed, 2, 0.0, "tied", usual, 0), (ball, 1, 0.01, "full", first, 0),
    ]  # fmt: skip
    result = []
    for space, count, width, shape, weights, column in cases:
        turn = np.linalg.qr(rng.standard_normal((count, d, d)))[0] * rng.uniform(0.3, 1.5, (count, 1, d))
        means = clip_to_ball(0.5 * rng.standard_normal((count, d)))
        covariances = max(width, 0.1) ** 2 * turn @ np.swapaxes(turn, 1, 2)
        own = Components(np.full(count, 1.0 / count), means, covariances)
        result.append(ClassMoments(space, own, 1.5 * math.sqrt(d) if width else None, weights, shape, column))
    return result


def _class_sums_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = rng.normal(size=d) * radius
    skewed = Box(low, low + radius * 10.0 ** rng.uniform(-3.0, 3.0, d))
    return [ClassSums(Box(np.full(d, -radius), np.full(d, radius)), 1), ClassSums(skewed, 3, 1)]


def _coded_moments_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    ball = Ball(radius, center=rng.normal(size=d) * radius)
    low = rng.normal(size=d) * radius
    box = Box(low, low + radius * 10.0 ** rng.uniform(-3.0, 3.0, d))
    factor = 0.2 * np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.uniform(0.5, 1.0, d)
    narrow = Components(np.ones(1), 0.3 * rng.standard_normal((1, d)) / math.sqrt(d), (factor @ factor.T)[None])
    return [
        CodedMoments(Features(ball, 0.0), 0.3, 2),
        CodedMoments(Features(ball, 0.5), 0.8, 2, 1),
        CodedMoments(Features(ball, 0.5), 0.3, 3),
        CodedMoments(Features(ball, 0.8), 0.6, 4, 1),
        CodedMoments(Features(box, 0.6), 0.5, 2),
        CodedMoments(Features(box, 0.3), 0.7, 3),
        CodedMoments(Features(box, 0.5, narrow, 1.5 * math.sqrt(d)), 0.4, 3),
    ]


def _cosines_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = rng.normal(size=d) * radius
    spaces: list[Box | Ball] = [Box(low, low + radius * 10.0 ** rng.uniform(-2.0, 2.0, d)), Ball(radius, center=low)]
    weights = [heat_weights(0.2), power_weights(9), (1.0,) * 4, (0.7,), tuple(rng.uniform(size=3).tolist())]
    column = int(rng.integers(d))
    return [Cosines(space, column, some, count) for space in spaces for some in weights for count in (0.0, 0.5)]


def _directions_bases(rng: np.random.Generator, d: int, radius: float) -> Iterator[tuple[Ball, Array]]:
    for q in sorted({1, max(d // 2, 1), d}):
        yield Ball(radius, center=rng.standard_normal(d)), np.linalg.qr(rng.standard_normal((d, q)))[0]


def _moment_sums_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return what is asked of one parameter of a mixture, and of clusters."""
    space = Ball(radius, center=np.zeros(d))
    result = []
    for count in (1, 3):
        components = spread_components(count, d, rng)
        for weights in (COUNTS, FIRST, SECOND):
            only = None if weights is COUNTS else 0
            result.append(MomentSums(ClippedMoments(components, None, weights, only=only), space, "one parameter"))
    for count, weights in ((1, ROUND), (3, ROUND), (1, FULL), (20, COUNTS_AND_SUMS), (6, LLOYD), (3, lloyd_weights(d))):
        centers, radii = rng.uniform(-0.5, 0.5, (count, d)) / math.sqrt(d), 10.0 ** rng.uniform(-3.0, 0.3, count)
        components = cluster_components(space, np.ones(count), centers, radii)
        shape = "full" if weights is FULL else "spherical"
        moments = ClippedMoments(components, 1.0, weights, shape, hard=True)
        result.append(MomentSums(moments, space, "clusters"))
    narrow = Box(np.full(d, -radius), np.where(np.arange(d) == 0, 1e-3 * radius, radius))
    components = cluster_components(narrow, np.ones(4), packed_start(4, narrow, rng), np.ones(4))
    moments = ClippedMoments(components, None, lloyd_weights(d), "spherical", hard=True)
    result.append(MomentSums(moments, narrow, "clusters"))
    models = (_adaptive_mixture_instances, _joint_instances, _one_gaussian_instances)
    return [*result, *(one.model.query(one.params, one.space) for make in models for one in make(rng, d, radius)[::3])]


def _moments_spaces(rng: np.random.Generator, d: int, radius: float) -> list[Box | Ball]:
    """Return spaces to search in: a cube, a skewed box far from zero, a ball off the centre."""
    low = rng.normal(size=d) * radius
    return [
        Box(np.full(d, -radius), np.full(d, radius)),
        Box(low, low + radius * 10.0 ** rng.uniform(-3.0, 3.0, d)),
        Ball(radius, center=rng.normal(size=d) * radius),
    ]


def _squares_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    boxes = [Box([-radius], [radius]), Box([radius], [3.0 * radius])]
    result: list[Any] = [Squares(box, counted) for box in boxes for counted in (False, True)]
    return result + [Squares(boxes[0], True, tuple(rng.dirichlet(np.ones(3)))) for _ in range(4)]


def _deviation_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    box, shares = Box([-radius], [radius]), (0.3, 1.0, 0.1)
    return [
        DeviationSquares(box, False, shares, (0.0,)),
        DeviationSquares(box, True, shares, (0.7 * radius,)),
        DeviationSquares(box, True, tuple(rng.dirichlet(np.ones(3))), (-radius,)),
        DeviationSquares(box, True, shares, (-0.9 * radius, 0.0, radius), ((0, 3),)),
        Grouped(DeviationSquares(box, True, shares, (-0.5 * radius, 0.5 * radius), ((0, 2),)), 2, 0),
    ]


def _product_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    box, shares = Box(np.full(d, -radius), np.full(d, radius)), (0.3, 1.0, 0.1)
    center = tuple((radius * rng.uniform(-1.0, 1.0, d)).tolist())
    middle, end = (0.0,) * d, (radius,) * d
    return [
        DeviationProducts(box, False, shares, (middle,)),
        DeviationProducts(box, False, (0.0, 1.0, 1.0), (middle,)),
        DeviationProducts(box, True, shares, (center,)),
        DeviationProducts(box, True, shares, (center, middle, end), ((0, 3),)),
        Grouped(DeviationProducts(box, True, shares, (end, middle), ((0, 2),)), 2, 0),
    ]


def _total_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = np.abs(rng.normal(size=d)) * radius
    high = low + radius * 10.0 ** rng.uniform(-2.0, 2.0, d)
    ends = [
        (np.zeros(d), np.full(d, radius)),
        (np.full(d, -radius), np.full(d, 0.5 * radius)),
        (low, high),
        (-high, -low),
    ]
    return [Total(Box(*pair)) for pair in ends]


def _curvature_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    ball, box = Ball(radius, center=rng.normal(size=d) * radius), Box(np.full(d, -radius), np.full(d, radius))
    factor = 0.2 * np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.uniform(0.5, 1.0, d)
    narrow = Components(np.ones(1), 0.3 * rng.standard_normal((1, d)) / math.sqrt(d), (factor @ factor.T)[None])
    weighted = Features(box, 0.35, narrow, 1.5 * math.sqrt(d), weighted=True)
    return [
        MarginCurvature(weighted, np.zeros(d + 1), 2),
        MarginCurvature(weighted, 0.5 * rng.standard_normal(d + 1), 2),
        MarginCurvature(Features(ball, 0.0), np.zeros(d), 2),
        MarginCurvature(Features(ball, 0.3), 4.0 * rng.standard_normal(d + 1), 2, 1),
        MarginCurvature(Features(box, 0.6), 0.5 * rng.standard_normal(d + 1), 2),
    ]


def _gradients_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    """Return queries to search: small and large θ, both losses, few and several classes, own coordinates."""
    ball = Ball(radius, center=rng.normal(size=d) * radius)
    low = rng.normal(size=d) * radius
    box = Box(low, low + radius * 10.0 ** rng.uniform(-3.0, 3.0, d))
    factor = 0.2 * np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.uniform(0.5, 1.0, d)
    narrow = Components(np.ones(1), 0.3 * rng.standard_normal((1, d)) / math.sqrt(d), (factor @ factor.T)[None])
    theta = rng.standard_normal((1, d + 1))
    theta /= np.linalg.norm(theta)
    level = theta * np.append(np.ones(d), 0.0)
    several = rng.standard_normal((4, d + 1)) / math.sqrt(d)
    return [
        MarginGradient(Features(ball, 0.0), Logistic(), np.zeros((1, d)), 2),
        MarginGradient(Features(ball, 0.0), Logistic(), 3.0 * theta[:, :d], 2, 1),
        MarginGradient(Features(ball, 0.5), Logistic(), 2.0 * level, 2),
        MarginGradient(Features(box, 0.6), HuberHinge(2.0), theta, 2),
        MarginGradient(Features(box, 0.5, narrow, 2.0 * math.sqrt(d)), Logistic(), 8.0 * theta, 2),
        MarginGradient(Features(box, 0.5, narrow, 1.5 * math.sqrt(d), weighted=True), Logistic(), 2.0 * theta, 2),
        MarginGradient(Features(ball, 0.3), Logistic(), np.zeros((3, d + 1)), 3),
        MarginGradient(Features(box, 0.8), Logistic(), 0.3 * several, 4, 1),
    ]


def some_operators(count: int) -> list[Operator]:
    """Return a few operators over so many steps."""
    signed = Toeplitz(np.array([1.0, -0.7, 0.2, 0.1])[:count])
    return [Identity(count), PrefixSums(count), signed if count <= 4 else Picked(count, (count - 1, 0))]


def _column_sums_wide(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = np.full(d, -radius)
    high = np.full(d, 0.5 * radius)
    spaces = [(Box(low, high), False), (Box(low, high), True), (Box(np.full(d, 0.1 * radius), high), False)]
    uneven = Box(low * 10.0 ** rng.uniform(-1.0, 1.0, d), high)
    return [
        ColumnSums(space, operator, centred)
        for space, centred in [*spaces, (uneven, True), (uneven, False)]
        for operator in some_operators(d)
    ]


def _fourier_choice_few(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    times = Box(np.full(d, -radius), np.full(d, radius))
    result = [FourierCount(StepSums(times, Identity(4), 0, None, -radius, radius), (1, 3, 4), (0.0, 1.0, 2.0))]
    if 1 < d < 8:
        low = Box(np.full(d, -radius), np.full(d, 0.5 * radius))
        result.append(FourierCount(ColumnSums(low, Identity(d), False), (1, d if d < 3 else 3), (1.0, 3.0)))
    return result


def _step_sums_long(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Box(np.full(d, -radius), np.full(d, radius))
    ends = (-radius, 0.6 * radius)  # of the corners of the space some lie in the first step, and some outside
    result = [StepSums(space, operator, 0, None, *ends) for operator in some_operators(4)]
    if d > 1:
        positive = Box([-radius, 0.25 * radius, *[0.0] * (d - 2)], np.full(d, radius))
        result += [StepSums(space, operator, d - 1, 0, *ends) for operator in some_operators(3)]
        result += [StepSums(positive, operator, 0, 1, *ends) for operator in some_operators(3)]
    return result


def _event_sums_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    box, ball = Box(np.full(d, -radius), np.full(d, radius)), Ball(radius, center=np.zeros(d))
    ends = (-0.5 * radius, 0.1 * radius, 0.6 * radius, radius)
    operators = [Identity(5), StepsAndBlocks(5, 2), Tree(5), square_root(5).operator, PrefixSums(5)]
    result = [EventSums(box, operator, d - 1, ends, 0, (False, True)) for operator in operators]
    grouped = [EventSums(ball, one, 0, ends, 1, (True, False, True), ((0, 2), (2, 3))) for one in operators[::3]]
    return [*result, *grouped]


def _wave_sums_waves(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    space = Box(np.full(d, -radius), np.full(d, radius))
    ends = (-0.8 * radius, 0.6 * radius)
    result = [WaveSums(space, operator, 0, None, *ends) for operator in (Fourier(4, 3), Fourier(7, 3), Fourier(5, 5))]
    return [*result, WaveSums(space, Fourier(6, 1), d - 1, 0, *ends)] if d > 1 else result


MODELS: dict[type[Any], Callable[..., list[Any]]] = {
    AdaptiveMixture: _adaptive_mixture_instances,
    JointMixture: _joint_instances,
    OneGaussian: _one_gaussian_instances,
    TableModel: _table_model_instances,
}


def _every_model(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    return [query for make in MODELS.values() for query in make(rng, d, radius)]


def _condition_instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    names, labels, sizes = tuple(f"x{j}" for j in range(d)), ("g", "h"), (3, 2)
    texts = [f"x0 > {0.1 * radius!r}", f"g in ['a', 'c'] or not x{d - 1} <= 0", "g != 'b' and h == 'd'"]
    conditions = [Condition.parse(text, names, {"g": ("a", "b", "c"), "h": ("d", "e")}) for text in texts]
    return [ConditionCounts(one, names, labels, sizes, both) for one in conditions for both in (True, False)]


QUERIES: dict[type[Any], Callable[..., list[Any]]] = {
    ModelQuery: _every_model,
    OfColumns: lambda rng, d, radius: [_adapted_moments(rng, d, radius)],
    Weighted: lambda rng, d, radius: [Weighted(_adapted_moments(rng, d, radius), d, radius)],
    Within: lambda rng, d, radius: [Within(_adapted_moments(rng, d, radius), d, -0.5 * radius, 0.5 * radius)],
    Grouped: lambda rng, d, radius: [
        Grouped(_adapted_moments(rng, d, radius), 3, 0),
        Grouped(Grouped(_adapted_moments(rng, d, radius), 2, 1), 3, 0),
        Grouped(Moments(Ball(radius, center=np.zeros(d)), (0.0, 1.0, 0.0)), 2, 1),
    ],
    Bernstein: lambda rng, d, radius: [Bernstein(Box([-radius], [radius])), Bernstein(Box([radius], [3.0 * radius]))],
    Chosen: lambda rng, d, radius: [Chosen(3, 0, 1), Chosen(2, 0, 0)],
    Bins: lambda rng, d, radius: [
        Bins(Box(np.full(d, -radius), np.full(d, radius)), d - 1, (-0.5 * radius, 0.1 * radius)),
        Bins(Ball(radius, center=np.zeros(d)), 0, tuple(np.linspace(-radius, radius, 22)[1:-1])),
    ],
    RoundedNumbers: lambda rng, d, radius: [
        RoundedNumbers(
            Box(np.full(d, -radius), np.full(d, radius)), d - 1, (-radius, radius), (radius / 4, radius / 2)
        ),
        RoundedNumbers(Box(np.full(d, -radius), np.full(d, radius)), 0, (-1.0, 2.0), (0.1, 0.5, 1.0), log=True),
    ],
    Count: lambda rng, d, radius: [Count()],
    Grid: lambda rng, d, radius: [
        Grid(Box(np.full(d, -radius), np.full(d, radius)), 2 if d <= 8 else 1 + (np.arange(d) < 3)),
        Grid(Ball(radius, center=rng.normal(size=d) * radius), 3 if d <= 5 else 1 + (np.arange(d) < 5)),
    ],
    Histogram: lambda rng, d, radius: [Histogram(categories=d + 1)],
    Marginals: _marginals_instances,
    TableCounts: _table_counts_instances,
    ScoreProducts: _score_products_instances,
    Binned: _binned_instances,
    SideBySide: _side_by_side_instances,
    Margins: lambda rng, d, radius: [Margins((2,) * d), Margins((d + 2, 3))],
    Mode: lambda rng, d, radius: [Mode(categories=d + 1)],
    GroupModes: lambda rng, d, radius: [GroupModes((d + 1, 3, 2), 1, (0,)), GroupModes((2, 3, 2), 0, (2, 1))],
    ConditionCounts: _condition_instances,
    ProjectedGrid: _projected_grid_instances,
    FactoredSum: lambda rng, d, radius: [
        FactoredSum(FactoredExponential(_factored_exponential_steep, (-2.0, -1.0, 1.0), -1.0, 1.0), d),
        FactoredSum(FactoredExponential(_factored_exponential_steep, tuple(rng.choice([-1.0, 1.0], 5)), -0.5, 3.0), d),
    ],
    GuardedQuery: _guarded_query_instances,
    LogLikelihood: _log_likelihood_instances,
    Confusion: _confusion_instances,
    ScoreCells: _score_cells_instances,
    ResidualSquares: _residual_squares_instances,
    ClassMoments: _class_moments_instances,
    ClassSums: _class_sums_instances,
    CodedMoments: _coded_moments_instances,
    Cosines: _cosines_instances,
    DeviationProducts: _product_instances,
    DeviationSquares: _deviation_instances,
    DirectionScatter: lambda rng, d, radius: [
        DirectionScatter(space, basis) for space, basis in _directions_bases(rng, d, radius)
    ],
    Energies: lambda rng, d, radius: [
        Energies(space, basis.T, counted)
        for space, basis in _directions_bases(rng, d, radius)
        for counted in (False, True)
    ],
    MomentSums: _moment_sums_instances,
    Sum: lambda rng, d, radius: [Sum(space) for space in _moments_spaces(rng, d, radius)],
    Moments: lambda rng, d, radius: [
        Moments(space, weights=tuple(weights))
        for space in _moments_spaces(rng, d, radius)
        for weights in (
            rng.dirichlet(np.ones(3)),
            (1 / 3,) * 3,
            (0.0, 0.5, 0.5),
            (0.0, 0.9, 0.1),
            (0.0, 0.0, 1.0),
            (0.3, 0.7, 0.0),
        )
    ],
    Products: lambda rng, d, radius: [Products(Ball(radius, center=np.zeros(d)), counted) for counted in (False, True)],
    Squares: _squares_instances,
    Total: _total_instances,
    MarginCurvature: _curvature_instances,
    MarginGradient: _gradients_instances,
    EventSums: _event_sums_instances,
    ColumnSums: _column_sums_wide,
    FourierCount: _fourier_choice_few,
    StepSums: _step_sums_long,
    WaveSums: _wave_sums_waves,
}


def library_questions(kind: type) -> set[type]:
    """Return all concrete questions of a kind that the library defines, in whatever module."""
    for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
        importlib.import_module(module.name)
    result, ahead = set(), [kind]
    while ahead:
        for query in ahead.pop().__subclasses__():
            ahead.append(query)
            if query.__module__.startswith("discreet.") and not query.__abstractmethods__:
                result.add(query)
    return result
