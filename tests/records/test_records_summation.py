"""The float error of a sum over rows stays within its proved bound, for every order and every cut."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_records_sources import ARRAYS, TABLES

from discreet.records import Ball, Box, as_records, float_error
from discreet.records.sources.whole_sums import WholeSum
from effort import LONG, size

U = 2.0**-53


def exact(columns: np.ndarray) -> list[Fraction]:
    return [sum(map(Fraction, column), Fraction(0)) for column in columns.T.tolist()]


def distance(result: np.ndarray, ideal: list[Fraction]) -> float:
    return math.sqrt(float(sum((Fraction(a) - b) ** 2 for a, b in zip(result.tolist(), ideal, strict=True))))


def nasty(n: int, seed: int) -> dict[str, np.ndarray]:
    """Return rows of norm at most 1: huge beside tiny, cancelling, nearly constant."""
    rng = np.random.default_rng(seed)
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    return {
        "cancelling": sign * (0.5 + rng.normal(size=n) * 1e-12),
        "nearly constant": 0.3 + rng.normal(size=n) * 1e-15,
        "many sizes": 0.1 * rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-300, 0, n),
        "drifting": np.linspace(0.0, 0.6, n),
    }


def plain_sum(block):
    xp = block.x.__array_namespace__() if hasattr(block.x, "__array_namespace__") else __import__("torch")
    return xp.sum(block.x, axis=0)


def one_by_one(block):
    total = np.zeros(block.x.shape[1])
    for row in block.x:
        total = total + row
    return total


@pytest.mark.parametrize(
    ("kind", "block_rows"),
    [
        (kind, block_rows)
        for i, kind in enumerate([*ARRAYS, *TABLES])
        for j, block_rows in enumerate([1, 10, 4096])
        if LONG or i % 3 != j  # two sizes of each kind, and each with two thirds of the kinds
    ],
)
def test_every_source_stays_within_the_bound(kind, block_rows, tmp_path):
    n = 200
    table = nasty(n, 0)
    order = np.random.default_rng(1).permutation(n)
    for rows in (table, {name: column[order] for name, column in table.items()}):
        data = {**ARRAYS, **TABLES}[kind](rows, tmp_path)
        records = as_records(data, space=Ball(1.0), block_rows=block_rows)
        x = np.vstack([np.asarray(block.x) for block in records.blocks()])
        assert records.float_error == float_error(block_rows)
        assert distance(records.reduce(plain_sum, 4), exact(x)) <= records.float_error * n


@pytest.mark.parametrize("kernel", [plain_sum, one_by_one])
@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e290])
def test_the_bound_scales_with_the_rows(kernel, scale):
    n = size(2_500, 20_000)
    x = np.column_stack(list(nasty(n, 2).values())) * scale
    records = as_records(x, space=Box(-scale, scale), block_rows=512)
    assert distance(records.reduce(kernel, 4, scale) / scale, exact(x / scale)) <= records.float_error * n * (1 + 1e-9)


def test_many_blocks_need_whole_numbers():
    """Break it on purpose: a plain sum over the blocks leaves the bound, that of whole numbers does not."""
    n = 3000
    x = np.full((n, 1), 0.1)
    records = as_records(x, space=Box(0, 1), block_rows=1)
    ideal, bound = exact(x), float_error(1) * n * 0.1
    naive = np.zeros(1)
    for block in records.blocks():
        naive = naive + plain_sum(block)
    assert distance(naive, ideal) > bound
    assert distance(records.reduce(plain_sum, 1, 0.1), ideal) <= bound


def whole(terms, norm):
    total = WholeSum(1, norm)
    for term in terms:
        total.add(np.array([term]))
    return total


@settings(max_examples=size(80, 300), deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), max_size=60), st.sampled_from([2.0**-1000, 1e-290, 0.3, 1.0, 1e290]))
def test_a_whole_sum_is_off_by_its_grid_and_one_conversion(terms, norm):
    terms = [term * norm for term in terms]
    exactly, result = sum(map(Fraction, terms)), Fraction(float(whole(terms, norm).to_floats()[0]))
    grid = Fraction(2) ** (math.frexp(norm)[1] - 77)
    assert abs(result - exactly) <= len(terms) * grid + Fraction(4.1) * Fraction(U) * (abs(exactly) + len(terms) * grid)


@settings(max_examples=size(60, 200), deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_no_order_and_no_grouping_changes_a_bit(terms, chance):
    expected = whole(terms, 1e3)
    shuffled = chance.sample(terms, len(terms))
    cut = chance.randrange(len(terms) + 1)
    merged = whole(shuffled[cut:], 1e3).merge(whole(shuffled[:cut], 1e3))
    for one in (whole(shuffled, 1e3), merged):
        assert (one.high.tolist(), one.low.tolist()) == (expected.high.tolist(), expected.low.tolist())
    assert merged.to_floats().tolist() == expected.to_floats().tolist()


@settings(max_examples=size(60, 200), deadline=None)
@given(st.integers(-(2**100), 2**100), st.integers(-(2**100), 2**100))
def test_whole_numbers_are_added_without_a_rounding(one, other):
    total = WholeSum(1, 1.0)
    for term in (one, other):
        total.add_whole([term], total.exponent)
    assert int(total.high[0]) * 2**60 + int(total.low[0]) == one + other
    assert float(total.to_floats()[0]) == pytest.approx((one + other) * 2.0**-total.exponent, rel=2**-50)


def test_what_no_rows_could_give_counts_as_zero_or_as_the_largest():
    total = WholeSum(4, 1.0)
    total.add(np.array([np.nan, np.inf, -np.inf, 1e300]))
    assert total.to_floats().tolist() == [0.0, 2.0**33, -(2.0**33), 2.0**33]


def test_whole_numbers_of_counts_are_exact():
    total = WholeSum(2, 1.0)
    for _ in range(1000):
        total.add(np.array([2.0**30 - 1.0, -(2.0**30) + 3.0]))
    assert total.to_floats().tolist() == [1000 * (2.0**30 - 1), 1000 * (3 - 2.0**30)]


def test_the_bound_is_a_function_of_the_block_alone():
    assert float_error(1) == pytest.approx(7 * U, rel=1e-12)
    for n in (1, 7, 4096, 2**30):
        ideal = Fraction(n, 2**53) / (1 - Fraction(n, 2**53)) + Fraction(6, 2**53)
        assert ideal <= Fraction(float_error(n)) <= ideal * (1 + Fraction(1, 2**40))
    with pytest.raises(ValueError, match="depth=0"):
        float_error(0)


def test_a_product_in_a_matrix_product_is_within_the_bound_too():
    n = 3000
    x = np.column_stack(list(nasty(n, 5).values()))
    records = as_records(x, space=Ball(1.0), block_rows=256)
    rows = np.vstack([block.x for block in records.blocks()])
    ideal = [
        sum((Fraction(a) * Fraction(b) for a, b in zip(left, right, strict=True)), Fraction(0))
        for left in rows.T.tolist()
        for right in rows.T.tolist()
    ]
    result = records.reduce(lambda block: (block.x.T @ block.x).reshape(-1), 16)
    assert distance(result, ideal) <= records.float_error * n
