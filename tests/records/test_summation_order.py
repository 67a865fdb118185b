"""Sums in floats under attack: rows in the worst order, cut and stored in every way, against what is charged for them.

A sum of floats depends on the order of its terms, so neighbours' sums differ by more than one row's contribution. What
that can add is charged (``Query.float_error`` with the query's ``accumulation``). The attack searches for rows,
orders and cuts whose sum is farthest from the sum without a rounding, on every kind of source, and says which share of
the charge it attained. More than all of it would be a hole in the promise.

The second half attacks what has jumps: which cell or which cluster a row belongs to must be the same float by float
wherever the row stands, since no charge could pay for rows that change sides with their neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace
from test_records_sources import ARRAYS, TABLES

from discreet.door import Curator
from discreet.models.mixture.joint_release import JointMixture
from discreet.queries.adaptors import Grouped, Within
from discreet.queries.counts.count_queries import Bins, Count, Histogram
from discreet.queries.counts.grids import Grid, ProjectedGrid
from discreet.queries.counts.table_queries import Binned, SideBySide
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.moments.class_moments import ClassMoments
from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.queries.moments.moments import Moments, Sum
from discreet.queries.moments.scatter import Scatter
from discreet.queries.question import Query, upper_triangle_like
from discreet.records import Ball, Block, Box, Category, Number, Schema, as_records, float_error
from discreet.records.sources.engines import Table
from discreet.records.sources.whole_sums import WholeSum
from discreet.sql import text as sql_text
from effort import LONG, measured, size
from float_truth import class_truth, distance, mixture_truth, times, traced_truth

LOW, HIGH = [-1.0, 1000.0, 0.0], [1.0, 1000.001, 7.0]  # one column is narrow and far from zero
CLASSES = 3
SCHEMA = Schema(
    {f"x{j}": Number(low, high) for j, (low, high) in enumerate(zip(LOW, HIGH, strict=True))}
    | {"label": Category(list(range(CLASSES)))}
)
SPACE = Box(LOW, HIGH)
USUAL = (0.2, 0.3, 0.5)
ROWS = size(1_200, 5_000)
RESTARTS, CHEAP = size(1, 12), size(4, 60)  # in most places, and in memory
DISTINCT = 5


def components():
    """Return overlapping and narrow Gaussians in the unit ball, turned."""
    rng = np.random.default_rng(1300)
    turned = np.linalg.qr(rng.standard_normal((CLASSES, 3, 3)))[0] * np.array([0.5, 0.02, 0.1])
    means = rng.uniform(-0.3, 0.3, (CLASSES, 3))
    return Components(np.array([0.5, 0.3, 0.2]), means, turned @ np.swapaxes(turned, 1, 2))


PARTS = components()
MIXTURE = ClippedMoments(PARTS, 2.0, USUAL)
LABELLED = ClassMoments(SPACE, PARTS, 2.0, USUAL)
QUERIES: dict[str, Query] = {
    "sum": Sum(SPACE),
    "moments": Moments(SPACE, USUAL),
    "grouped moments": Grouped(Moments(SPACE, USUAL), CLASSES, 0),
    "mixture": MomentSums(MIXTURE, SPACE, "mixture"),
    "class moments": LABELLED,
}


def charge(query, setting):
    """Return what is charged for the float error of a sum (``Setting.sensitivity``)."""
    return query.float_error(setting.rows, query.accumulation(setting))


def asked_of(place):
    """Return what is asked in a place: in the short size all of it only in memory."""
    return (
        QUERIES if LONG or place.startswith("numpy") else {name: QUERIES[name] for name in ("moments", "class moments")}
    )


def truth(name, x, codes):
    """Return the contributions of rows without a rounding."""
    if name == "mixture":
        return mixture_truth(MIXTURE, SPACE.to_unit(x))
    if name == "class moments":
        return class_truth(PARTS, 2.0, USUAL, SPACE.to_unit(x), codes[:, 0])
    return traced_truth(QUERIES[name], x, codes)


@dataclass(frozen=True)
class World:
    """Few different rows, many times, in some order: so the exact sum is cheap and the float sum is not exact."""

    x: np.ndarray
    codes: np.ndarray
    order: np.ndarray
    block_rows: int

    def table(self):
        return {f"x{j}": self.x[self.order, j] for j in range(3)} | {"label": self.codes[self.order, 0]}

    def counts(self):
        return np.bincount(self.order, minlength=len(self.x))


def random_rows(rng):
    """Return rows of the unit box: constant, nearly constant, cancelling, of many sizes, at the bounds."""
    shape = (DISTINCT, 3)
    kinds = [
        np.repeat(rng.uniform(-1.0, 1.0, (1, 3)), DISTINCT, axis=0),
        rng.uniform(-1.0, 1.0) + 1e-13 * rng.standard_normal(shape),
        np.where(np.arange(DISTINCT) % 2, 1.0, -1.0)[:, None] * (rng.uniform(0.1, 1.0, 3) + 1e-12),
        rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-18.0, 0.0, shape),
        rng.choice([-1.0, 1.0], shape),
    ]
    unit = kinds[rng.integers(len(kinds))]
    low, high = np.array(LOW), np.array(HIGH)
    return np.clip(low / 2 + high / 2 + unit * (high / 2 - low / 2), low, high)


def random_order(rng, rows=ROWS):
    """Return which row stands where: sorted, interleaved, shuffled, or many of one kind before a few others."""
    kinds = [
        np.sort(rng.integers(0, DISTINCT, rows)),
        np.arange(rows) % DISTINCT,
        rng.integers(0, DISTINCT, rows),
        np.where(np.arange(rows) < 0.9 * rows, 0, rng.integers(0, DISTINCT, rows)),
        np.zeros(rows, dtype=np.int64),
    ]
    return kinds[rng.integers(len(kinds))]


def worlds(rng, worst, restarts):
    """Yield worlds to try: the first half from nowhere, the others near the worst so far."""
    for turn in range(restarts):
        x, codes = random_rows(rng), rng.integers(0, CLASSES, (DISTINCT, 1))
        order, block_rows = random_order(rng), int(rng.choice([512, 2048, 16384]))
        if turn > restarts // 2:
            best = max(worst.values(), key=lambda each: each[0])[1]
            change = rng.integers(3)
            x = x if change == 0 else best.x
            codes = best.codes
            order = rng.permutation(best.order) if change == 1 else best.order
            block_rows = block_rows if change == 2 else best.block_rows
        yield World(x, codes, order, block_rows)


@pytest.fixture
def stored(request, tmp_path):
    """Give a way to store a table in a kind of place."""
    kinds = {**ARRAYS, **TABLES}

    def store(kind, table):
        if kind in kinds:
            return kinds[kind](table, tmp_path)
        if kind == "jax":
            return request.getfixturevalue("double").asarray(np.column_stack(list(table.values())))
        rows = TABLES["arrow"](table, tmp_path)
        if kind == "duckdb":
            duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
            path = tmp_path / f"{len(list(tmp_path.iterdir()))}.duckdb"
            with duckdb.connect(str(path)) as connection:
                connection.register("given", rows)
                connection.execute("CREATE TABLE t AS SELECT * FROM given")
            return Table(path, "t")
        return request.getfixturevalue("postgresql")(table)

    return store


@pytest.fixture
def double():
    """Give JAX with float64, which it has only where it is asked for."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(True):
        yield jax.numpy


@pytest.fixture
def postgresql(server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", server.password)

    def store(table):
        schema = server.new_schema()
        names = list(table)
        with server.connect(schema) as connection:
            kinds = {name: "int8" if name == "label" else "float8" for name in names}
            types = ", ".join(f"{sql_text.quote_identifier(name)} {kind}" for name, kind in kinds.items())
            connection.execute(f"CREATE TABLE t ({types})")
            with connection.cursor().copy("COPY t FROM STDIN") as sink:
                for row in zip(*(column.tolist() for column in table.values()), strict=True):
                    sink.write_row(row)
        return Table(server.url(schema, password=False), "t")

    return store


def computed(data, block_rows, query):
    """Return the sum as it is measured, before any noise, and the public numbers that its noise is planned with."""
    curator = Curator(as_records(data, schema=SCHEMA, block_rows=block_rows))
    return query.collect(curator._records, curator.setting), curator.setting


# PostgreSQL and JAX take seconds to start.
PLACES = [*ARRAYS, *TABLES, "duckdb", *size([], ["jax", "postgresql"])]


@pytest.mark.parametrize("place", PLACES)
def test_no_order_no_cut_and_no_source_leaves_the_charged_error(place, stored):
    rng = np.random.default_rng(1301)
    worst: dict[str, tuple[float, World]] = {}
    queries = asked_of(place)
    apart = dict.fromkeys(queries, 0.0)
    restarts = CHEAP if place.startswith("numpy") else 2 if place == "jax" else RESTARTS  # JAX compiles each shape
    for world in worlds(rng, worst, restarts):
        data = stored(place, world.table())
        changed = World(world.x, world.codes, rng.permutation(world.order), world.block_rows)
        changed.order[rng.integers(ROWS)] = rng.integers(DISTINCT)
        neighbour = stored(place, changed.table())
        for name, query in queries.items():
            result, setting = computed(data, world.block_rows, query)
            charged = charge(query, setting)
            share = distance(result, times(truth(name, world.x, world.codes), world.counts())) / charged
            if name not in worst or share > worst[name][0]:
                worst[name] = share, world
            other, same = computed(neighbour, world.block_rows, query)
            assert same == setting
            for norm, order in (("l2", 2), ("l1", 1)):
                ratio = float(np.linalg.norm(result - other, order)) / setting.sensitivity(query, norm)
                apart[name] = max(apart[name], ratio)
    shares = {name: share for name, (share, _) in worst.items()}
    measured(
        f"order-{place.replace(' ', '-').replace(',', '')}",
        place=place,
        rows=ROWS,
        worlds=restarts,
        worst_share_of_charge=shares,
        neighbours_share_of_sensitivity=apart,
    )
    assert max(shares.values()) <= 1.0, shares
    assert max(apart.values()) <= 1.0, apart


COUNTED: dict[str, Query] = {
    "count": Count(),
    "bins in groups": Grouped(Bins(SPACE, 0, (0.0, 0.5)), CLASSES, 0),
    "a table within": Within(Binned(Histogram(CLASSES), SPACE, 2, (1.0, 3.5)), 0, -0.5, 0.7),
    "side by side": SideBySide((Histogram(CLASSES), Binned(Count(), SPACE, 0, (0.1,)), Count()), (19.0, 6.0, 1024.0)),
}


@pytest.mark.parametrize("place", PLACES)
def test_counts_are_exact_whatever_the_order_the_cut_and_the_source(place, stored):
    """Nothing is charged for their float error, so there must be none, in a database too."""
    rng = np.random.default_rng(1320)
    for world in worlds(rng, {"none": (0.0, None)}, 1):
        data = stored(place, world.table())
        for name, query in COUNTED.items():
            alone = query.contributions(Block(world.x, world.codes)).tolist()
            ideal = times([list(map(Fraction, row)) for row in alone], world.counts())
            for block_rows in size((31, 16384), (7, 512, 16384)):
                result, setting = computed(data, block_rows, query)
                assert [Fraction(one) for one in result.tolist()] == ideal, (name, block_rows)
                assert charge(query, setting) == 0.0


@pytest.mark.skipif(not LONG, reason="every module is imported for it: in the audit only")
def test_every_registered_query_stays_within_its_charge():
    """Few rows many times, in blocks, against each row by itself: both are within the roundoff of the ideal."""
    from discreet.queries.search import random_codes
    from instances import QUERIES as ALL
    from instances import library_questions

    rng, shares = np.random.default_rng(1306), {}
    for kind in sorted(library_questions(Query) & ALL.keys(), key=lambda query: query.__name__):
        worst = 0.0
        for d, radius in ((1, 1e3), (4, 1.0), (24, 1e-3)):
            for query in ALL[kind](rng, d, radius):
                worst = max(worst, *(_share_among_others(query, random_codes(query, rng, 4), rng) for _ in range(3)))
        shares[kind.__name__] = worst
    measured("order-registered", worst_share_of_charge=shares)
    assert max(shares.values()) <= 1.0, shares


def _share_among_others(query, codes, rng):
    """Return how far the sum of rows in blocks is from the sum of each by itself, in units of what is charged."""
    space = getattr(query, "space", None)
    center, scale = (0.0, 1.0) if space is None else (np.asarray(space.center), np.asarray(space.scale))
    wide = 10.0 ** rng.uniform(-8.0, 0.5, (4, 1))
    known = center + scale * wide * rng.standard_normal((4, query.dimension))
    order = np.where(rng.random(700) < 0.8, 0, rng.integers(0, 4, 700))
    alone = [np.asarray(query.contributions(Block(known[k : k + 1], codes[k : k + 1])))[0] for k in range(4)]
    ideal = [math.fsum(column) for column in np.array(alone)[order].T]
    total = WholeSum(query.size, query.bound.l2)
    for start in range(0, len(order), 512):
        some = order[start : start + 512]
        total.add(np.asarray(query.sum(Block(known[some], codes[some])), dtype=np.float64))
    charged = query.float_error(len(order), float_error(512)) + len(order) * query.bound.l2 * query.roundoff
    return float(np.linalg.norm(total.to_floats() - ideal)) / charged


@pytest.mark.parametrize(
    "place", size(["numpy"], ["numpy", "array-api-strict", "dask array", "parquet folder", "duckdb"])
)
def test_a_scatter_about_the_rows_own_mean_stays_within_its_charge(place, stored):
    """It is no sum over rows: S − ssᵀ/n cancels, the more the closer rows are to each other."""
    rng, worst = np.random.default_rng(1307), 0.0
    query = Scatter(SPACE, (0, 1, 2))
    i, j = np.triu_indices(3)
    for _ in range(size(3, 20)):
        world = World(random_rows(rng), np.zeros((DISTINCT, 1), dtype=np.int64), random_order(rng), 2048)
        result, setting = computed(stored(place, world.table()), world.block_rows, query)
        z = query.rows(Block(world.x, world.codes))[0] - 0.5
        rows = [[Fraction(one) for one in row] for row in z.tolist()]
        means = [total / ROWS for total in times(rows, world.counts())]
        away = [[one - mean for one, mean in zip(row, means, strict=True)] for row in rows]
        ideal = times([[row[a] * row[b] for a, b in zip(i, j, strict=True)] for row in away], world.counts())
        off = max(abs(Fraction(a) - b) for a, b in zip(result.tolist(), ideal, strict=True))
        worst = max(worst, float(off) / query.mechanism.float_error(setting))
    measured(f"order-scatter-{place.replace(' ', '-')}", worst_share_of_charge=worst)
    assert worst <= 1.0


def test_the_same_blocks_give_the_same_bits_whatever_they_are_read_from(tmp_path):
    """In one process, on Dask's workers and from files, which cut their rows into other slabs."""
    rng = np.random.default_rng(1310)
    table = {f"x{j}": column for j, column in enumerate(random_rows(rng)[rng.integers(0, DISTINCT, 1000)].T)}
    kinds = {**ARRAYS, **TABLES}
    for query in (Sum(SPACE), Moments(SPACE, USUAL), MomentSums(MIXTURE, SPACE, "mixture")):
        sums = {}
        for kind in ("numpy", "pandas", "polars", "arrow", "parquet file", "parquet folder", "dask array"):
            data = kinds[kind](table, tmp_path)
            records = as_records(data, space=SPACE, block_rows=50)  # as Dask's chunks are of 250
            sums[kind] = records.reduce(query.sum, query.size, query.bound.l2).tobytes()
        assert len({*sums.values()}) == 1, query.name


@dataclass(frozen=True)
class Raw(Moments):
    """Moments from raw rows, moved to the middle after the sum: what must not be done, since it cancels."""

    def sum(self, block):
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        x, n = np.asarray(block.x), block.x.shape[0]
        center, scale = np.asarray(self.space.center), np.asarray(self.space.scale)
        total = x.sum(axis=0)
        cross = np.outer(center, total)
        second = (x.T @ x - cross - cross.T + n * np.outer(center, center)) / np.outer(scale, scale)
        i, j, packed = upper_triangle_like(x, x.shape[1])
        return np.concatenate([[a * n], b * (total - n * center) / scale, c * second[i, j] * packed])


@dataclass(frozen=True)
class Single(Moments):
    """Moments that are summed in single precision."""

    def sum(self, block):
        rows = np.asarray(self.contributions(block), dtype=np.float32)
        return rows.sum(axis=0).astype(np.float64)


@dataclass(frozen=True)
class Undercharged(Moments):
    """The right moments, with a bound on float error that forgets the sum: that of one row alone."""

    def float_error(self, rows, accumulation):
        return rows * self.bound.l2 * 2.0**-54


@pytest.mark.parametrize("broken", [Raw, Single, Undercharged])
def test_the_search_finds_a_sum_that_loses_digits(broken, stored):
    rng = np.random.default_rng(1302)
    query, worst = broken(SPACE, USUAL), 0.0
    for _ in range(4):
        world = World(random_rows(rng), np.zeros((DISTINCT, 1), dtype=np.int64), random_order(rng), 16384)
        result, setting = computed(stored("numpy", world.table()), world.block_rows, query)
        charged = charge(query, setting)
        worst = max(worst, distance(result, times(truth("moments", world.x, world.codes), world.counts())) / charged)
    measured(f"order-broken-{broken.__name__.lower()}", worst_share_of_charge=worst)
    assert worst > 1.0


class Forgetful(WholeSum):
    """A running sum in floats."""

    def __init__(self, many, norm):
        self.total = np.zeros(many)

    def add(self, term):
        self.total = self.total + term

    def to_floats(self):
        return self.total


def test_the_search_finds_a_sum_over_blocks_in_floats(stored, monkeypatch):
    monkeypatch.setattr("discreet.records.sources.whole_sums.WholeSum", Forgetful)
    x = np.array([[0.1, 1000.0007, 5.3]] * DISTINCT)
    world = World(x, np.zeros((DISTINCT, 1), dtype=np.int64), np.zeros(1000, dtype=np.int64), 1)
    query = Sum(SPACE)
    result, setting = computed(stored("numpy", world.table()), 1, query)
    ideal = times(truth("sum", world.x, world.codes), world.counts())
    assert distance(result, ideal) > charge(query, setting)


def jumping(rng, d):
    """Return queries whose contributions jump, and how many of their first numbers say where a row belongs."""
    ball, box = Ball(3.0, center=rng.normal(size=d)), Box(np.full(d, -3.0), np.full(d, 2.0))
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0][:1]
    result = [
        Bins(ball, 0, tuple(np.asarray(ball.center)[0] + np.array([-1.1, 0.3, 0.7]))),
        Bins(box, d - 1, (-0.1, 0.3)),
        Grid(ball, 1 + (np.arange(d) < 3)),
        Grid(box, 1 + 2 * (np.arange(d) < 2)),
        ProjectedGrid(ball, (4,), axes, np.full(1, 0.05), np.full(1, 0.4)),
    ]
    cells = [(query, query.size) for query in result]
    model = JointMixture(3, "full", True)
    hard = ModelQuery(model, model.initialize(d, rng), ball)
    return [*cells, (hard, 3)]


def sides(query, count, x, like=None):
    """Return where each row belongs, by its contribution."""
    block = Block(x, (np if like is None else like).zeros((x.shape[0], 0), dtype=(np if like is None else like).int64))
    return np.asarray(query.contributions(block))[:, :count].argmax(axis=1)


def edge_of(query, count, rng):
    """Return two rows that are next to each other and belong to different places, by halving; None where none is."""
    scale, center = np.asarray(query.space.scale), np.asarray(query.space.center)
    for _ in range(20):
        one, other = center + scale * rng.uniform(-1.5, 1.5, (2, len(scale)))
        left, right = sides(query, count, one[None])[0], sides(query, count, other[None])[0]
        if left == right:
            continue
        while True:
            middle = one / 2.0 + other / 2.0
            if (middle == one).all() or (middle == other).all():
                return one, other
            if sides(query, count, middle[None])[0] == left:
                one = middle
            else:
                other = middle
                right = sides(query, count, other[None])[0]
    return None


@pytest.mark.parametrize("d", [1, 3, 30])
def test_a_row_at_an_edge_belongs_to_one_side_wherever_it_stands(d):
    """Rows at jumps, many times, in arrays of every length, by rows and by columns, and of another library."""
    rng = np.random.default_rng(1303 + d)
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    tried = 0
    for query, count in [each for _ in range(size(1, 12)) for each in jumping(rng, d)]:
        edge = edge_of(query, count, rng)
        if edge is None:
            continue
        tried += 1
        around = np.asarray(query.space.center) + np.asarray(query.space.scale) * rng.normal(size=(4, d))
        known = np.vstack([*edge, around])
        alone = np.array([sides(query, count, row[None])[0] for row in known])
        for n in size((1, 2, 7, 65), (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 257, 1025)):
            order = np.where(rng.random(n) < 0.8, rng.integers(0, 2, n), rng.integers(0, len(known), n))
            x = known[order]
            for laid in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1]):
                assert (sides(query, count, laid) == alone[order]).all(), (query.name, n)
                counted = np.asarray(query.sum(Block(laid, np.zeros((n, 0), dtype=np.int64))))[:count]
                ideal = np.bincount(alone[order], minlength=count)
                assert np.array_equal(np.rint(counted / (counted.sum() / n)), ideal), (query.name, n)
            assert (sides(query, count, strict.asarray(x), strict) == alone[order]).all(), (query.name, n)
    assert tried >= size(3, 40)


@pytest.mark.parametrize("place", ["numpy", "numpy, by columns", "array-api-strict", "pandas", "dask array"])
def test_a_condition_at_an_edge_is_decided_by_the_row_alone(place, tmp_path):
    """Rows outside of a ball are moved onto it: whether x0 < 0.6 then must not depend on where they stand."""
    rng = np.random.default_rng(1304)
    for _ in range(size(2, 30)):
        way = rng.normal(size=3)
        rows = np.array([[3.0 * (1.0 + k * 2.0**-52), 4.0, 1e-3 * way[2]] for k in range(-4, 5)])

        def kept(x):
            data = {**ARRAYS, **TABLES}[place]({f"x{j}": x[:, j] for j in range(3)}, tmp_path)
            records = as_records(data, space=Ball(1.0), block_rows=int(rng.choice([1, 7, 64]))).where("x0 < 0.6")
            return int(records.reduce(_count, 1)[0])

        alone = [kept(row[None]) for row in rows]
        order = rng.integers(0, len(rows), 100)
        assert kept(rows[order]) == sum(alone[k] for k in order)


def _count(block) -> Any:
    xp = array_namespace(block.x)
    return xp.sum(xp.ones_like(block.x[:, :1]), axis=0)
