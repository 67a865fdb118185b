"""The search for worst neighbours: an attack on a query's bound.

Given a query (its public parameters are part of what is searched over: the registry makes many), look for rows whose
contribution is largest, and for two rows whose contributions are farthest apart. What is found is a lower bound on the
true sensitivity: it must not exceed the proved one, and where that claims to be tight it must come close.

The rows are tried by themselves, through ``contributions``, and among others, through the ``sum`` that is really
measured: a sum that divides by an exact count, say, is fine row by row and not fine at all in a small group.

Starts: corners of the space, its centre, rows inside, far outside, equal rows, changed categories. From the best of
them, steepest ascent with numerical gradients, in coordinates in which the space is a unit box, and by changing one
category at a time. How many categories a row has in how many columns says ``query.categories``: a number for one
column, a tuple for several.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door.bound import NORMS
from discreet.door.query import Query
from discreet.records import Ball, Block, Box

__all__ = ["Finding", "random_codes", "worst_neighbours"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

CHANGES = 128  # of one category that a step of the climb tries


@dataclass(frozen=True)
class Finding:
    """The largest distance that was found, in one of the norms of ``Bound``, and the bound on it."""

    norm: str
    found: float
    bound: float
    attained: float

    @property
    def holds(self) -> bool:
        """Whether nothing above the bound was found, float error of one row aside."""
        return self.found <= self.bound * (1.0 + 1e-12)

    @property
    def tight(self) -> bool:
        """Whether as much of the bound was found as it claims to be attained."""
        return self.found >= 0.99 * self.attained * self.bound


def worst_neighbours(query: Query, rng: np.random.Generator, *, starts: int = 64, steps: int = 30) -> list[Finding]:
    """Return what the search found for each norm that the query bounds."""
    findings = []
    for norm in NORMS:
        one_norm = norm.removeprefix("replace_")
        bound = query.bound.replace(one_norm) if norm.startswith("replace") else query.bound.norm(one_norm)
        if math.isfinite(bound):
            distance = _distance(query, norm)
            rows = _starts(rng, 2 * query.dimension, starts)
            codes = np.hstack([random_codes(query, rng, len(rows)) for _ in range(2)])
            found = distance(rows, codes)
            for index in _best(found):
                climbed = _climb(distance, rows[index], codes[index], _counts(query) * 2, steps, rng)
                found = np.append(found, climbed)
            found = np.append(found, _among_others(query, norm, rng, rows, codes))
            findings.append(Finding(norm, float(found.max()), bound, query.bound.attained.get(norm, 1.0)))
    return findings


def _best(found: Array) -> NDArray[np.int64]:
    """Return where the four largest values are that differ: many corners are as good as each other."""
    _, places = np.unique(np.round(-found / max(float(found.max()), 1e-300), 9), return_index=True)
    return np.asarray(places[:4], dtype=np.int64)


Distance = Callable[[Array, Codes], Array]


def _counts(query: Query) -> tuple[int, ...]:
    """Return how many categories each column has; one column of one for a query that looks at none."""
    declared: int | tuple[int, ...] = getattr(query, "categories", 1)
    return declared if isinstance(declared, tuple) else (max(declared, 1),)


def random_codes(query: Query, rng: np.random.Generator, rows: int) -> Codes:
    """Return a category for each row in each of the query's columns of categories."""
    counts = _counts(query)
    return rng.integers(0, np.array(counts, dtype=np.int64), (rows, len(counts)))


def _changed(codes: Codes, counts: tuple[int, ...], rng: np.random.Generator) -> Codes:
    """Return codes that differ in one place, one a row: all that there are, or some of many."""
    ends = np.cumsum(np.where(np.array(counts, dtype=np.int64) > 1, counts, 0))
    size = int(ends[-1]) if counts else 0
    tried = np.arange(size) if size <= CHANGES else rng.integers(0, size, CHANGES)
    places = np.searchsorted(ends, tried, side="right")
    others = np.repeat(codes[None, :], len(tried), axis=0)
    others[np.arange(len(tried)), places] = ends[places] - 1 - tried
    return others


def _block(query: Query, unit: Array, codes: Codes) -> Block:
    """Return a block of rows, from coordinates in which the space is a unit box."""
    space: Box | Ball | None = getattr(query, "space", None)
    return Block(unit if space is None else _from_unit_box(space, unit), codes)


def _length(difference: Array, norm: str) -> Array:
    return np.asarray(np.linalg.norm(difference, ord=2 if norm.endswith("l2") else 1, axis=1))


def _distance(query: Query, norm: str) -> Distance:
    """Return the function to be made large: of pairs of rows side by side, and of their categories."""
    d = query.dimension

    def contributions(unit: Array, codes: Codes) -> Array:
        return np.asarray(query.contributions(_block(query, unit, codes)), dtype=np.float64)

    def distance(rows: Array, codes: Codes) -> Array:
        half = codes.shape[1] // 2
        difference = contributions(rows[:, :d], codes[:, :half])
        if norm.startswith("replace"):
            difference = difference - contributions(rows[:, d:], codes[:, half:])
        return _length(difference, norm)

    return distance


def _among_others(query: Query, norm: str, rng: np.random.Generator, rows: Array, codes: Codes) -> Array:
    """Return how far the measured sum moves in small data sets when one row goes, or is replaced."""
    d, half = query.dimension, codes.shape[1] // 2

    def total(unit: Array, code: Codes) -> Array:
        return np.asarray(query.sum(_block(query, unit, code)), dtype=np.float64)

    moves = []
    for others in (1, 2, 3, 10) * 8:
        some = rng.integers(0, len(rows), others + 1)
        unit, code = np.clip(rows[some], -4.0, 4.0), codes[some]
        before = total(unit[:, :d], code[:, :half])
        if norm.startswith("replace"):
            after = total(np.vstack([unit[:1, d:], unit[1:, :d]]), np.vstack([code[:1, half:], code[1:, :half]]))
        else:
            after = total(unit[1:, :d], code[1:, :half])
        moves.append(before - after)
    # The sums' own float error is charged apart (Query.float_error); a few rows have next to none.
    return _length(np.array(moves), norm) * (1.0 - 1e-11)


def _climb(
    distance: Distance, start: Array, codes: Codes, counts: tuple[int, ...], steps: int, rng: np.random.Generator
) -> float:
    """Return the distance reached by steepest ascent with numerical gradients, a line search, and changed codes."""

    def at(points: Array) -> Array:
        return distance(points, np.repeat(codes[None, :], len(points), axis=0))

    point = np.clip(start, -4.0, 4.0)
    value = float(at(point[None, :])[0])
    nudge = 1e-5 * np.eye(len(point))
    for _ in range(steps):
        before = value
        others = _changed(codes, counts, rng)
        if len(others):
            values = distance(np.repeat(point[None, :], len(others), axis=0), others)
            if values.max() > value:
                codes, value = others[values.argmax()].copy(), float(values.max())
        if len(point):
            slope = at(point + nudge) - at(point - nudge)
            length = float(np.linalg.norm(slope))
            if length > 0.0:
                line = point + np.outer(2.0 ** -np.arange(-1.0, 18.0), slope / length)
                values = at(line)
                if values.max() > value:
                    point, value = line[values.argmax()], float(values.max())
        if value <= before:
            break
    return value


def _from_unit_box(space: Box | Ball, unit: Array) -> Array:
    """Return rows of the data's own scale: [−1, 1] in each coordinate spans the space, and more lies outside."""
    if isinstance(space, Box):
        low, high = np.asarray(space.low), np.asarray(space.high)
        return np.asarray(low / 2 + high / 2 + unit * (high / 2 - low / 2))
    return np.asarray(space.center + unit * space.radius)


def _starts(rng: np.random.Generator, width: int, count: int) -> Array:
    half = width // 2
    corners = rng.choice([-1.0, 1.0], (count, width))
    few = np.where(rng.random((count, width)) < 2.0 / max(half, 1), rng.choice([-1.0, 1.0], (count, width)), 0.0)
    inside = rng.uniform(-1.0, 1.0, (count, width))
    outside = rng.normal(size=(count, width)) * 10.0 ** rng.uniform(0.0, 150.0, (count, 1))
    opposite = rng.normal(size=(count, width))
    opposite[:, half:] = -opposite[:, :half]
    mixed = corners.copy()
    flips = np.arange(count) % (half + 1)  # two corners that differ in so many coordinates
    for row, flip in zip(mixed, flips, strict=True):
        row[half:] = row[:half]
        row[half : half + flip] *= -1.0
    halves = np.hstack([corners[:, :half], inside[:, half:]])
    steps = np.linspace(-1.0, 1.0, 9)
    diagonal = np.repeat(
        [[one, other] for one in steps for other in steps], half, axis=1
    )  # pairs, the centre among them
    return np.vstack([corners, mixed, few, inside, halves, outside, opposite, diagonal])
