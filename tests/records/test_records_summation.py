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
from discreet.records.sources.source import CompensatedSum, two_sum

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


@pytest.mark.parametrize("block_rows", [1, 10, 4096])
@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
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
    n = 20_000
    x = np.column_stack(list(nasty(n, 2).values())) * scale
    records = as_records(x, space=Box(-scale, scale), block_rows=512)
    assert distance(records.reduce(kernel, 4) / scale, exact(x / scale)) <= records.float_error * n * (1 + 1e-9)


def test_many_blocks_need_the_compensation():
    """Break it on purpose: a plain sum over the blocks leaves the bound, the compensated one does not."""
    n = 3000
    x = np.full((n, 1), 0.1)
    records = as_records(x, space=Box(0, 1), block_rows=1)
    ideal, bound = exact(x), float_error(1) * n * 0.1
    naive = np.zeros(1)
    for block in records.blocks():
        naive = naive + plain_sum(block)
    assert distance(naive, ideal) > bound
    assert distance(records.reduce(plain_sum, 1), ideal) <= bound


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-1e290, 1e290) | st.floats(-1.0, 1.0), max_size=60))
def test_a_compensated_sum_is_off_by_less_than_two_roundings(terms):
    total = CompensatedSum(1)
    for term in terms:
        total.add(np.array([term]))
    size = sum(abs(Fraction(term)) for term in terms)
    assert abs(Fraction(total.pair[0][0]) - sum(map(Fraction, terms))) <= Fraction(1.4) * Fraction(U) * size
    assert abs(total.pair[1][0]) <= U * abs(total.pair[0][0])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.floats(-1e3, 1e3), max_size=10), min_size=1, max_size=10))
def test_partial_sums_merge_to_the_sum(parts):
    total = CompensatedSum(1)
    for part in parts:
        partial = CompensatedSum(1)
        for term in part:
            partial.add(np.array([term]))
        total.merge(partial.pair)
    terms = [Fraction(term) for part in parts for term in part]
    assert abs(Fraction(total.pair[0][0]) - sum(terms)) <= Fraction(1.4) * Fraction(U) * sum(map(abs, terms))


def test_partial_sums_keep_their_compensation():
    total = CompensatedSum(1)
    for _ in range(1000):
        total.merge((np.array([1.0]), np.array([U])))
    assert total.pair[0].tolist() == [float(1000 * (1 + Fraction(U)))] != [1000.0]


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_two_sum_is_exact(a, b):
    total, lost = two_sum(np.array(a), np.array(b))
    assert Fraction(float(total)) + Fraction(float(lost)) == Fraction(a) + Fraction(b)


def test_the_bound_is_a_function_of_the_block_alone():
    assert float_error(1) == pytest.approx(3 * U, rel=1e-12)
    for n in (1, 7, 4096, 2**30):
        ideal = Fraction(n, 2**53) / (1 - Fraction(n, 2**53)) + Fraction(2, 2**53)
        assert ideal <= Fraction(float_error(n)) <= ideal * (1 + Fraction(1, 2**40))
    with pytest.raises(ValueError, match="block_rows=0"):
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
