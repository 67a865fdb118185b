"""Sums of whole numbers are exact, so nothing is charged for floats: every query that claims it, under attack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.door import Curator
from discreet.guarantees import Neighbors
from discreet.queries.adaptors import Grouped, OfColumns, Weighted, Within
from discreet.queries.bound import Bound, Setting
from discreet.queries.counts.count_queries import Bins, Count, Histogram, Margins
from discreet.queries.counts.table_queries import Binned, SideBySide
from discreet.queries.moments.moments import Moments, Sum
from discreet.queries.question import Part, Query
from discreet.queries.search import random_codes
from discreet.queries.series.event_sums import EventSums
from discreet.queries.series.operators import Identity, PrefixSums
from discreet.queries.series.series_sums import StepSums
from discreet.records import Block, Box, Category, Number, Schema, as_records, float_error
from discreet.records.sources.whole_sums import MOST_WHOLE, WholeSum
from discreet.sql.text import find_exponent
from effort import size
from instances import QUERIES, library_questions
from together import together

U = 2.0**-53
REPLACE, ADD = Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE
BOX = Box([0.0, -3.0], [8.0, 5.0])
SCHEMA = Schema({"time": Number(0.0, 8.0), "value": Number(-3.0, 5.0), "label": Category([0, 1])})


def setting(rows, neighbors=REPLACE, max_rows=1):
    return Setting(neighbors, max_rows, rows, 16384)


def instances():
    """Return every instance of the registry that claims whole numbers, and adaptors and weights around some."""
    library_questions(Query)  # imports every module
    rng, result = np.random.default_rng(2600), []
    for kind in sorted(QUERIES, key=lambda query: query.__name__):
        for d, radius in ((1, 1e3), (3, 1.0), (12, 1e-3)):
            result += [query for query in QUERIES[kind](rng, d, radius) if query.whole_numbers]
    bins = Bins(BOX, 0, (2.0, 3.5))
    around = [
        Within(bins, 1, 0.0, 1.0),
        OfColumns(Bins(Box([-3.0], [5.0]), 0, (0.1,)), BOX, (1,)),
        Grouped(Grouped(bins, 3, 0), 2, 1),
        Binned(Within(bins, 1, -1.0, 4.0), BOX, 0, (1.0,)),
        SideBySide((Count(), Histogram(3), Grouped(Margins((3, 2)), 3, 0)), (19.0, 6.0, 1024.0)),
    ]
    assert all(query.whole_numbers for query in around)
    return result + around


INSTANCES = instances()


def test_which_queries_claim_it():
    kinds = {type(query).__name__ for query in INSTANCES}
    assert kinds == {
        "Binned", "Bins", "Chosen", "ConditionCounts", "Confusion", "Count", "Grid", "GroupModes", "Grouped",
        "Histogram", "Margins", "Mode", "OfColumns", "ProjectedGrid", "RoundedNumbers", "ScoreCells", "ScoreProducts",
        "SideBySide", "TableCounts", "Within",
    }  # fmt: skip


def test_what_no_longer_is_whole_claims_nothing():
    moments = Moments(BOX, (0.2, 0.3, 0.5))
    bins = Bins(BOX, 0, (2.0,))
    others = [
        Weighted(bins, 1, 5.0),
        Grouped(Weighted(bins, 1, 5.0), 2, 0),
        SideBySide((bins, Count()), (1.0, 0.5)),
        SideBySide((bins, Sum(BOX)), (1.0, 1.0)),
        Within(moments, 0, 1.0, 2.0),
        Grouped(moments, 3, 0),
    ]
    for query in others:
        assert not query.whole_numbers
        assert query.accumulation(setting(1000)) == float_error(16384)
        assert setting(10**9).sensitivity(query, "l2") > (1.0 + 1e-4) * query.bound.sensitivity("l2", REPLACE)


def nasty_rows(query, rng, count):
    """Return rows in the space, at its ends, near edges, far outside, and such that are no numbers."""
    space = getattr(query, "space", None)
    center, scale = (0.0, 1.0) if space is None else (np.asarray(space.center), np.asarray(space.scale))
    wide = rng.choice([1e-12, 0.1, 0.5, 1.0, 3.0, 1e9], (count, 1))
    x = center + scale * wide * rng.standard_normal((count, query.dimension))
    x[rng.random(x.shape) < 0.05] = rng.choice([np.nan, np.inf, -np.inf])
    edges = np.array([2.0, 3.5, 0.1, 1.0, 0.0])
    near = rng.random(x.shape) < 0.3
    x[near] = np.nextafter(rng.choice(edges, int(near.sum())), rng.choice([-9.0, 9.0]))
    return x, random_codes(query, rng, count)


def exact_sum(query, x, codes):
    """Return the sum of what each row contributes by itself, as fractions."""
    alone = [query.contributions(Block(x[i : i + 1], codes[i : i + 1]))[0].tolist() for i in range(len(x))]
    return [sum(map(Fraction, column), Fraction(0)) for column in zip(*alone, strict=True)]


def largest_error(query, rng):
    """Return how far sums over rows in some orders, cuts and memory layouts are from the exact sum: 0 if all agree."""
    rows, orders = size(60, 900), 3
    known, labels = nasty_rows(query, rng, size(6, 24))
    places = np.where(rng.random(rows) < 0.5, 0, rng.integers(0, len(known), rows))
    each = [exact_sum(query, known[k : k + 1], labels[k : k + 1]) for k in range(len(known))]
    counts = np.bincount(places, minlength=len(known)).tolist()
    ideal = [sum(n * one for n, one in zip(counts, column, strict=True)) for column in zip(*each, strict=True)]
    worst = Fraction(0)
    for turn in range(orders):
        order = rng.permutation(places)
        ends = np.unique([0, rows, *rng.integers(0, rows, turn * 5)])
        parts = []
        for first, last in pairwise(ends):
            x, codes = known[order[first:last]], labels[order[first:last]]
            x = np.asfortranarray(x) if turn % 2 else x
            total = WholeSum(query.size, query.bound.l2)
            total.add(np.asarray(query.sum_in_pieces(Block(x, codes)), dtype=np.float64))
            parts.append(total)
        first, *others = (parts[k] for k in rng.permutation(len(parts)))
        for other in others:
            first.merge(other)
        result = first.to_floats().tolist()
        worst = max(worst, *(abs(Fraction(a) - b) for a, b in zip(result, ideal, strict=True)))
    return worst


@together("query", INSTANCES, ids=lambda query: type(query).__name__)
def test_no_order_and_no_cut_has_an_error(query):
    rng = np.random.default_rng(2601)
    x, codes = nasty_rows(query, rng, 200)
    rows = np.asarray(query.contributions(Block(x, codes)))
    assert np.array_equal(rows, np.rint(rows))
    assert np.array_equal(np.asarray(query.clipped_contributions(Block(x, codes))), rows)  # clipping changes nothing
    assert query.roundoff == query.float_error(10**9, query.accumulation(setting(10**9))) == 0.0
    assert largest_error(query, rng) == 0


@together("query", INSTANCES, ids=lambda query: type(query).__name__)
@together("neighbors", [REPLACE, ADD])
def test_the_sensitivity_does_not_depend_on_the_number_of_rows(query, neighbors):
    for norm in ("l2", "l1"):
        few, many = (setting(rows, neighbors, 3).sensitivity(query, norm) for rows in (3, 10**9))
        ideal = query.bound.sensitivity(norm, neighbors, max_rows=3)
        assert few == many == pytest.approx(ideal, rel=2.0 * (query.size + 16.0) * U)
        assert few >= ideal


def test_neighbours_are_no_farther_apart_than_their_rows():
    """At an edge of what is charged: 20,000 rows, two of a unit replaced, in other blocks."""
    rng = np.random.default_rng(2602)
    x, codes = rng.uniform(0.0, 1.0, (20_000, 2)), rng.integers(0, 3, (20_000, 1))
    query = Grouped(Bins(BOX, 0, (0.5,)), 3, 0)
    other, others = x.copy(), codes.copy()
    other[:2, 0], others[:2] = 1.0 - np.round(x[:2, 0]), (codes[:2] + 1) % 3
    order = rng.permutation(20_000)
    sums = []
    for rows, labels in ((x, codes), (other[order], others[order])):
        total = WholeSum(query.size, query.bound.l2)
        for start in range(0, len(rows), 4096):
            total.add(query.sum(Block(rows[start : start + 4096], labels[start : start + 4096])))
        sums.append(total.to_floats())
    assert np.linalg.norm(sums[0] - sums[1], 1) == 4.0 <= setting(20_000, max_rows=2).sensitivity(query, "l1")
    assert setting(20_000, max_rows=2).sensitivity(query, "l1") < 4.0 * (1.0 + 1e-14)


@st.composite
def whole_rows(draw):
    """Return whole numbers whose sizes sum up to at most 2⁵¹, and a norm of a row, as large as it may be."""
    terms = draw(st.lists(st.integers(-(2**51), 2**51), min_size=1, max_size=12))
    norm = max(1, *map(abs, terms))
    while len(terms) * norm > 2**51:
        terms = [math.trunc(term / 2) for term in terms]
        norm = max(1, *map(abs, terms))
    widest = 2**51 // len(terms)
    return terms, float(draw(st.integers(norm, widest)))


@settings(max_examples=size(120, 400), deadline=None)
@given(whole_rows(), st.randoms(use_true_random=False))
def test_whole_numbers_up_to_the_limit_are_exact_in_every_order_and_grid(given_rows, chance):
    """The module's second proof: float sums of pieces, the grid, whole numbers of a database, and the way back."""
    terms, norm = given_rows
    assert setting(len(terms)).adds_exactly(norm)
    terms = chance.sample(terms, len(terms))
    cut, back = sorted(chance.randrange(len(terms) + 1) for _ in range(2))
    total = WholeSum(1, norm)
    total.add(np.array([math.fsum(terms[:cut])]))
    piece = np.zeros(1)
    for term in terms[cut:back]:
        piece = piece + float(term)
    total.add(piece)
    exponent = find_exponent(norm)  # as a database rounds it: row by row
    rounded = [round(Fraction(term) * Fraction(2) ** exponent) for term in terms[back:]]
    total.add_whole([sum(rounded)], exponent)
    assert Fraction(float(total.to_floats()[0])) == sum(terms)


def test_beyond_the_limit_floats_are_charged_again():
    """Break it on purpose: above 2⁵³ a sum of whole numbers is no float, and what is charged covers it."""
    assert setting(2**45).adds_exactly(64.0)
    assert not setting(2**45).adds_exactly(64.1)
    heavy = SideBySide((Count(),), (2.0**50,))
    assert heavy.whole_numbers
    few, many = setting(2), setting(9)
    assert few.rows * heavy.bound.l2 <= MOST_WHOLE < many.rows * heavy.bound.l2
    assert heavy.accumulation(few) == 0.0
    assert heavy.accumulation(many) == float_error(16384)
    odd = SideBySide((Count(), Count()), (2.0**50 + 1.0, 1.0))
    total = WholeSum(2, odd.bound.l2)
    for _ in range(9):
        total.add(np.array([2.0**50 + 1.0, 1.0]))
    exact = 9 * (2**50 + 1)
    assert int(total.to_floats()[0]) != exact
    assert abs(int(total.to_floats()[0]) - exact) <= odd.float_error(9, odd.accumulation(many))


@dataclass(frozen=True)
class FalseClaim(Moments):
    """Moments that claim to be whole numbers and are added up in floats."""

    whole_numbers = True

    def sum(self, block):
        return self.contributions(block).sum(axis=0)


@dataclass(frozen=True)
class Halves(Histogram):
    """Counts in single precision of something that is no whole number."""

    def sum(self, block):
        return np.float64(np.float32(0.1)) * super().sum(block)

    def contributions(self, block):
        return 0.1 * super().contributions(block)


@pytest.mark.parametrize("query", [FalseClaim(BOX, (0.2, 0.3, 0.5)), Halves(3)], ids=lambda one: type(one).__name__)
def test_the_attack_finds_a_false_claim(query):
    assert query.whole_numbers
    assert largest_error(query, np.random.default_rng(2603)) > 0


@dataclass(frozen=True)
class Tenths(Query):
    """A user's query that claims whole numbers, and has tenths."""

    name = "tenths"
    dimension = 1
    whole_numbers = True

    @property
    def parts(self):
        return {"sum": Part((2,))}

    @property
    def bound(self):
        return Bound(l2=3.0)

    def contributions(self, block):
        return np.column_stack([block.x[:, 0], block.x[:, 0]])


def test_a_row_that_is_not_whole_contributes_nothing_where_a_query_claims_it():
    """So a false claim costs accuracy and no privacy, and so does a row that clipping has made a fraction."""
    rows = np.array([[0.1], [2.0], [-2.0], [3.0], [np.nan], [np.inf], [1.0], [0.0]])
    block = Block(rows, np.zeros((len(rows), 0), dtype=np.int64))
    assert Tenths().clipped_contributions(block)[:, 0].tolist() == [0.0, 2.0, -2.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    assert Tenths().clipped_contributions(Block(rows[1:3], block.codes[1:3]))[:, 1].tolist() == [2.0, -2.0]
    rng, sums = np.random.default_rng(2604), set()
    x = np.round(rng.uniform(-3.0, 3.0, (size(600, 3000), 1)), 1)
    for block_rows in (1, 7, 4096):
        curator = Curator(as_records(rng.permutation(x), space=Box([-3.0], [3.0]), block_rows=block_rows))
        sums.add(Tenths().collect(curator._records, curator.setting).tobytes())
    assert len(sums) == 1


@dataclass(frozen=True)
class AtTheBound(Query):
    """A user's query whose rows are exactly as long as its bound; some rows give what is not finite or too long."""

    counts: tuple[float, ...]
    most: float
    name = "at the bound"
    dimension = 1
    whole_numbers = True

    @property
    def parts(self):
        return {"counts": Part((len(self.counts),))}

    @property
    def bound(self):
        return Bound(l2=self.most)

    def contributions(self, block):
        return block.x[:, :1] * np.array(self.counts)


@together(
    ("counts", "other"),
    product([(1.0, 5.0), (1.0, 2.0, 12.0), (7.0, 7.0), (3.0, 3.0), (1.0,) * 7], [np.nan, np.inf, 100.0, 0.5, 1e300]),
)
def test_what_a_row_contributes_depends_on_no_other_row(counts, other):
    """A row exactly as long as its bound stays so, whatever another row of its block is: found by an attack."""
    for most in {math.hypot(*counts), math.sqrt(sum(one**2 for one in counts)), counts[0] * math.sqrt(len(counts))}:
        query = AtTheBound(counts, most)
        alone = Block(np.ones((3, 1)), np.zeros((3, 0), dtype=np.int64))
        among = Block(np.array([[1.0], [other], [1.0], [1.0]]), np.zeros((4, 0), dtype=np.int64))
        rows = query.clipped_contributions(among)
        assert rows[[0, 2, 3]].tolist() == query.clipped_contributions(alone).tolist()
        assert not rows[1].any()


@together("query", INSTANCES)
def test_no_row_of_the_library_depends_on_another(query):
    """Rows of a registered query beside rows that are too long or not finite have the bits that they have alone."""
    rng = np.random.default_rng(2606)
    block = Block(rng.uniform(-1.0, 1.0, (40, query.dimension)), random_codes(query, rng, 40))
    rows = np.asarray(query.contributions(block), dtype=np.float64)
    for other in (np.nan, 1e6, 0.3):
        among = np.concatenate([rows, np.full((1, query.size), other)])
        assert query.bound.clip_contributions(among, query.roundoff)[:-1].tolist() == rows.tolist()


def events(rows, rng):
    return rng.uniform(0.0, 8.0, (rows, 2)), rng.integers(0, 2, (rows, 1))


@pytest.mark.parametrize("operator", [Identity(3), PrefixSums(3)], ids=["identity", "prefix sums"])
def test_counts_under_an_operator_are_exact_before_it_is_applied(operator):
    """In whatever order and blocks, the same bits: those of the operator on the exact counts."""
    rng = np.random.default_rng(2605)
    x, codes = events(size(300, 3000), rng)
    queries = [
        EventSums(BOX, operator, 0, (2.0, 5.0), 0, (False, True)),
        StepSums(BOX, operator, 0, None, 0.0, 9.0),
    ]
    for query in queries:
        results = set()
        for block_rows in (1, 100, 4096):
            order = rng.permutation(len(x))
            data = np.column_stack([x[order], codes[order]])
            curator = Curator(as_records(data, schema=SCHEMA, block_rows=block_rows))
            results.add(query.collect(curator._records, curator.setting).tobytes())
        assert len(results) == 1
        assert query.accumulation(setting(10**9)) == 0.0
        assert query.float_error(10**9, 0.0) == pytest.approx(10**9 * operator.error)


def test_values_under_an_operator_are_charged():
    query = StepSums(BOX, Identity(3), 0, 1, 0.0, 9.0)
    assert query.accumulation(setting(10**9)) == float_error(16384)
