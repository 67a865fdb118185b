"""Counts of multiples: each row is in one cell, which is that of its own number, whatever it is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.arguments import ArgumentError
from discreet.queries.counts.rounded_numbers import RoundedNumbers
from discreet.records import Block, Box

BOX = Box([-100.0], [100.0])
STEPS = (0.1, 0.5, 1.0, 5.0, 10.0)
NONE, ATOM = 0, len(STEPS) + 1


def cells_of(numbers, *, log=False, ends=(-100.0, 100.0)):
    query = RoundedNumbers(BOX, 0, ends, STEPS, log)
    x = np.asarray(numbers, dtype=np.float64)[:, None]
    block = Block(x, np.empty((len(x), 0), dtype=np.int64))
    cells = query.numbers(block)
    assert np.array_equal(query.contributions(block), np.eye(query.size)[cells])
    assert np.array_equal(query.sum(block), np.bincount(cells, minlength=query.size))
    return cells.tolist()


def test_a_number_is_in_the_cell_of_the_largest_step_of_which_it_is_a_multiple():
    numbers = [0.123, 0.3, -0.7, 2.5, 3.0, -35.0, 40.0, 1 / 3, np.pi]
    assert cells_of(numbers) == [NONE, 1, 1, 2, 3, 4, 5, NONE, NONE]


def test_zero_the_bounds_and_what_is_beyond_are_atoms():
    assert cells_of([0.0, -0.0, 100.0, -100.0, 1e300, -np.inf, np.inf]) == [ATOM] * 7
    assert cells_of([np.nan]) == [NONE]


def test_a_small_number_is_no_multiple_of_a_large_step():
    assert cells_of([1e-9, -1e-5, 0.01]) == [NONE] * 3


def test_no_number_overflows_and_none_warns():
    far = [1e308, -1e308, 1e-300, np.inf, -np.inf, np.nan]
    assert cells_of(far, ends=(-1e3, 1e3)) == [ATOM, ATOM, NONE, ATOM, ATOM, NONE]
    assert cells_of(far, log=True, ends=(-9.0, 9.0)) == [ATOM, ATOM, 3, ATOM, ATOM, NONE]


def test_floats_of_32_bits_and_logarithms_count_as_the_numbers_that_they_are_of():
    assert cells_of(np.array([0.1, 0.3, 2.5, 70.0], dtype=np.float32)) == [1, 1, 2, 5]
    assert cells_of(np.log([0.7, 3.0, 35.0, 0.623, 0.1]), log=True, ends=(-1.0, 4.0)) == [1, 3, 4, NONE, ATOM]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"steps": ()}, "steps"), ({"steps": (1.0, 1.0)}, "steps"), ({"column": 1}, "column"), ({"ends": (1, 1)}, "ends")],
)
def test_what_is_no_chain_of_steps_is_refused(change, says):
    how = {"space": BOX, "column": 0, "ends": (-1.0, 1.0), "steps": (1.0,)} | change
    with pytest.raises(ArgumentError, match=says):
        RoundedNumbers(**how)
