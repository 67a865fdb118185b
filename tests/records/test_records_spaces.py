"""Spaces: the declared bound really holds, in floats, for every row whatever."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records import Ball, Box, Space
from discreet.records.declared.ball import _fold
from effort import size

FLOATS = st.floats(width=64, allow_nan=True, allow_infinity=True)
EXTREME = [0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e-300, 1.0, -1.0, 1e16, 1e300, 1e308, -1e308, 1.7976931348623157e308]
EXTREME += [math.inf, -math.inf, math.nan]


def spaces(d: int) -> list[Space]:
    rng = np.random.default_rng(d)
    low = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 6, d)
    return [
        Box(0, 1).for_columns(d),
        Box(-1e300, 1e300).for_columns(d),
        Box(low, low + 10.0 ** rng.uniform(-6, 6, d)),
        Box(1.0, math.nextafter(1.0, 2.0)).for_columns(d),
        Ball(1.0).for_columns(d),
        Ball(1e-300).for_columns(d),
        Ball(1e300).for_columns(d),
        Ball(3.7, center=low),
        Ball(1e-3, center=np.full(d, 1e6)),
        Ball(1e299, center=np.full(d, -1e300)),
    ]


def exactly_inside(space: Space, row: list[float]) -> bool:
    """Say whether a row of floats lies in the space, in exact arithmetic."""
    if isinstance(space, Box):
        return all(low <= value <= high for low, value, high in zip(space.low, row, space.high, strict=True))
    squares = ((Fraction(value) - Fraction(c)) ** 2 for value, c in zip(row, space.center, strict=True))
    return sum(squares) <= Fraction(space.radius) ** 2


def squared_norm(row: list[float]) -> Fraction:
    return sum((Fraction(value) ** 2 for value in row), Fraction(0))


def rows_for(space: Space, d: int) -> np.ndarray:
    """Return rows that try a bound: extreme ones, rows near the surface, huge and tiny ones."""
    rng = np.random.default_rng(7)
    n = size(120, 300) if d < 20 else 20
    direction = rng.normal(size=(n, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    near = 1.0 + rng.integers(-30, 31, (n, 1)) * 2.0**-53
    scale, center = np.array(space.scale), np.array(space.center)
    with np.errstate(over="ignore"):
        on_surface = center + scale * direction * near
        far = center + scale * direction * 10.0 ** rng.uniform(-300, 300, (n, 1))
    axes = center + scale * np.vstack([np.eye(d), -np.eye(d)])
    return np.vstack([on_surface, far, axes, rng.choice(EXTREME, (n, d))])


@pytest.mark.parametrize("d", [1, 2, 7, size(40, 100)])
def test_a_clipped_row_lies_in_the_space_exactly(d):
    for space in spaces(d):
        x = rows_for(space, d)
        clipped = space.clip(x)
        assert clipped.shape == x.shape
        assert clipped.dtype == np.float64
        assert all(exactly_inside(space, row) for row in clipped.tolist()), space


@pytest.mark.parametrize("d", [1, 2, 7, size(40, 100)])
def test_a_row_of_the_unit_ball_has_norm_at_most_1_exactly(d):
    for space in spaces(d):
        x = rows_for(space, d)
        assert all(squared_norm(row) <= 1 for row in space.to_unit(x).tolist()), space


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5).flatmap(lambda d: st.tuples(st.just(d), st.lists(FLOATS, min_size=d, max_size=d))))
def test_any_floats_end_up_inside(case):
    d, row = case
    for space in spaces(d):
        clipped = space.clip([row])
        assert exactly_inside(space, clipped[0].tolist())
        assert np.array_equal(space.clip(clipped), clipped), "clipping twice is clipping once"
        assert squared_norm(space.to_unit([row])[0].tolist()) <= 1


@pytest.mark.parametrize("d", [1, 3, 10])
def test_clipping_changes_no_row_that_is_well_inside(d):
    rng = np.random.default_rng(0)
    for space in spaces(d):
        y = rng.normal(size=(200, d))
        y *= rng.uniform(0, 0.99, (200, 1)) / np.linalg.norm(y, axis=1, keepdims=True)
        x = space.from_unit(y)
        if isinstance(space, Box):
            x = np.clip(x, space.low, space.high)
        inside = np.array([exactly_inside(space, row) for row in x.tolist()])
        assert np.array_equal(space.clip(x)[inside], x[inside])
        assert inside.mean() > 0.9


def test_a_row_becomes_the_same_floats_whatever_stands_beside_it():
    rng = np.random.default_rng(1)
    for d in (1, 3, 17):
        for space in spaces(d):
            x = rows_for(space, d)[::5]
            alone = np.vstack([space.clip(x[j : j + 1]) for j in range(len(x))])
            assert np.array_equal(space.clip(x), alone)
            shuffled = rng.permutation(len(x))
            assert np.array_equal(space.clip(np.asfortranarray(x[shuffled])), alone[shuffled])
            assert np.array_equal(space.to_unit(x), np.vstack([space.to_unit(x[j : j + 1]) for j in range(len(x))]))


@pytest.mark.parametrize("d", [1, 2, 7, size(40, 100)])
def test_the_short_way_for_rows_far_inside_changes_no_bit(d):
    rng = np.random.default_rng(2)
    for ball in (space for space in spaces(d) if isinstance(space, Ball)):
        y = rng.normal(size=(500, d))
        y *= (1.0 - 10.0 ** rng.uniform(-8, 0, (500, 1))) / np.linalg.norm(y, axis=1, keepdims=True)
        x = np.vstack([rows_for(ball, d), ball.from_unit(y)])
        with np.errstate(all="ignore"):
            assert ball.clip(x).tobytes() == ball._clip(x).tobytes()
            assert np.array_equal(ball.to_unit(x), ball._to_unit(x))
    short, _ = Ball(1.0).for_columns(d)._far_inside(y)
    assert 0.5 < short.mean() < 1.0, "the rows go both ways"


def test_a_ball_clips_radially():
    ball = Ball(2.0, center=[1.0, -1.0])
    x = np.array([[4.0, 3.0], [-1e308, -1e308], [1e200, 1.0], [math.inf, 5.0], [math.inf, -math.inf], [math.nan, 9.0]])
    ideal = np.array([[0.6, 0.8], [-1, -1], [1, 0], [1, 0], [1, -1], [0, 1]])
    ideal = [1.0, -1.0] + 2.0 * ideal / np.linalg.norm(ideal, axis=1, keepdims=True)
    assert np.allclose(ball.clip(x), ideal, rtol=1e-14)


def test_a_nan_goes_to_the_middle():
    assert Box([0, 10], [4, 20]).clip([[math.nan, 12.0]]).tolist() == [[2.0, 12.0]]
    assert Ball(5.0, center=[1.0, 2.0]).clip([[math.nan, 3.0]]).tolist() == [[1.0, 3.0]]
    assert Ball(5.0).to_unit([[math.nan, math.nan]]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("d", [1, 2, 10])
def test_the_map_to_the_unit_ball_can_be_undone(d):
    rng = np.random.default_rng(2)
    for space in (Box(-3, 5).for_columns(d), Ball(4.0, center=np.arange(d) + 1.0)):
        x = space.clip(rng.normal(size=(100, d)) * 3.0)
        assert np.allclose(space.from_unit(space.to_unit(x)), x, rtol=1e-13, atol=1e-13)
        y = rng.normal(size=(5, d))
        assert np.allclose(space.from_unit(y), np.array(space.center) + np.array(space.scale) * y)
        assert np.isinf(space.from_unit(np.full((1, d), 1e308))).all()  # and no warning


def test_the_box_uses_the_whole_unit_ball():
    corner = Box([0, -5, 1], [1, 5, 9]).to_unit([[1.0, -5.0, 9.0]])
    assert np.linalg.norm(corner) == pytest.approx(1.0, abs=1e-15)


def test_a_clipped_array_is_never_a_view_of_the_data():
    for space in spaces(2):
        x = np.array([space.center, space.center])
        before = x.copy()
        space.clip(x)[:] = 0.5
        space.to_unit(x)[:] = 0.5
        assert np.array_equal(x, before)


def test_sums_over_columns_are_those_of_the_columns():
    for d in (1, 2, 3, 7, 64, 100):
        x = np.random.default_rng(d).integers(0, 1000, (4, d)).astype(float)
        assert np.array_equal(_fold(np.add, x)[:, 0], x.sum(axis=1))
        assert np.array_equal(_fold(np.maximum, x)[:, 0], x.max(axis=1))


@pytest.mark.parametrize("space", [Box(0, 1), Box(0, [1, 2]), Ball(2), Ball(2, center=[1, 2, 3])])
def test_a_space_is_a_value(space):
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    assert type(space).from_dict(space.to_dict()) == space
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(space) == hash(pickle.loads(pickle.dumps(space)))
    with pytest.raises(FrozenInstanceError):
        space.radius = 1.0


def test_one_bound_for_all_columns_is_spread():
    assert Box(0, 1).for_columns(3) == Box([0, 0, 0], [1, 1, 1])
    assert Box(0, [1, 2]).for_columns(2).low == (0.0, 0.0)
    assert Ball(1).for_columns(2).center == (0.0, 0.0)
    assert Box(0, 1).columns is None
    assert Box(0, [1, 2]).dimension == 2
    with pytest.raises(ValueError, match="for_columns"):
        _ = Box(0, 1).dimension


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box(), ["low=None", "never taken from the rows", "write for example Box("]),
        (lambda: Box(0), ["high=None", "write for example Box("]),
        (lambda: Box(1, 0), ["low=1.0 is not below high=0.0", "low < high"]),
        (lambda: Box(1, 1), ["low < high"]),
        (lambda: Box([0, 5], [1, 5]), ["low=5.0", "low < high"]),
        (lambda: Box(0, math.inf), ["high=inf", "finite"]),
        (lambda: Box(math.nan, 1), ["low=nan", "finite"]),
        (lambda: Box(0, 1e301), ["high=1e+301", "at most 1e+300"]),
        (lambda: Box("0", 1), ["low='0'", "finite numbers"]),
        (lambda: Box(True, 2), ["low=True", "finite numbers"]),
        (lambda: Box([], []), ["low=[]", "finite numbers"]),
        (lambda: Box([[0, 1]], 2), ["low=[[0, 1]]", "one a column"]),
        (lambda: Box(np.zeros((2, 1)), 2), ["low=", "one a column"]),
        (lambda: Box([0, 1], [1, 2, 3]), ["low has 2 values", "each of 3 columns"]),
        (lambda: Box(0, 5e-324), ["apart"]),
        (lambda: Box(0, [1, 2]).for_columns(3), ["high has 2 values", "3 columns"]),
        (lambda: Box(0, [1, 2]).clip(np.zeros((5, 4))), ["high has 2 values", "4 columns"]),
        (lambda: Ball(), ["radius=None", "write for example Ball("]),
        (lambda: Ball(0), ["radius=0", "write for example Ball("]),
        (lambda: Ball(-1), ["radius=-1"]),
        (lambda: Ball(math.inf), ["radius=inf"]),
        (lambda: Ball(1e301), ["radius=1e+301", "1e+300"]),
        (lambda: Ball(1, center=[0, math.nan]), ["center=[0, nan]", "finite"]),
        (lambda: Ball(1, center=[0, 1]).for_columns(3), ["center has 2 values", "3 columns"]),
        (lambda: Ball(1e-20, center=[1e6]), ["radius=1e-20", "at least"]),
        (lambda: Space.from_dict({"kind": "Cube"}), ["kind='Cube'", "'Ball', 'Box'"]),
        (lambda: Space.from_dict({"kind": "Box", "low": 0}), ["['low']", "['high', 'low']"]),
    ],
)
def test_an_error_says_what_to_write(make, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        make()
    for word in words:
        assert word in str(error.value)
