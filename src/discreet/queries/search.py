"""The search for worst neighbours: an attack on a query's bound.

For a given query, look for the row with the largest contribution, and for the two rows with the largest distance
between their contributions. (The tests also search over public parameters: their registry makes many instances of each
query.) The result is a lower bound on the true sensitivity. It must not exceed the proved bound, and must come close
where that claims to be tight.

Rows are tried alone, through ``contributions``, and among others, through the measured ``sum``. For example, a sum that
is divided by an exact count may pass row by row, but fails in a small group.

The search starts at corners of the space, its centre, rows inside, rows far outside, equal rows and changed categories.
The best of these are improved by steepest ascent with numerical gradients, in coordinates in which the space is a unit
box, and by changing one category at a time. Several ascents run at once, because a query is nearly as fast for many
rows as for one. ``query.categories`` gives the number of categories: an int for one column, a tuple for several.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.bound import NORMS
from discreet.queries.question import Query
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

GAIN = 1e-13  # the share by which a step has to gain for an ascent to go on: less is rounding
CHANGES = 128  # how many changes of one category a step tries
SIDE_BY_SIDE = 2**21  # how many numbers the ascents may have in memory at a time; large queries run one by one


@dataclass(frozen=True)
class Finding:
    """The largest distance found by the search, in one of the norms of ``Bound``, and the bound on it."""

    norm: str
    result: float
    bound: float
    attained: float

    @property
    def holds(self) -> bool:
        """Whether nothing above the bound was found, float error of one row aside."""
        return self.result <= self.bound * (1.0 + 1e-12)

    @property
    def tight(self) -> bool:
        """Whether the search reached the share of the bound that is claimed to be attained."""
        return self.result >= 0.99 * self.attained * self.bound


def worst_neighbours(
    query: Query, rng: np.random.Generator, *, starts: int = 64, steps: int = 30, crowds: int = 8
) -> list[Finding]:
    """Search for worst neighbours, and return a finding for each norm that the query bounds.

    Rows are tried among others in so many data sets (``crowds``) of each of a few numbers of rows.
    """
    rows = _starts(rng, 2 * query.dimension, starts)
    codes = np.stack([random_codes(query, rng, len(rows)) for _ in range(2)], axis=1)
    pairs = rows.reshape(len(rows), 2, query.dimension)
    alone, among = _contributions(query, pairs, codes), _among_others(query, rng, pairs, codes, crowds)
    together = max(1, SIDE_BY_SIDE // ((2 * query.dimension + 1) * query.size))
    findings = []
    for norm in NORMS:
        sides, one_norm = 1 + norm.startswith("replace"), norm.removeprefix("replace_")
        bound = query.bound.norm(one_norm) if sides == 1 else query.bound.replace(one_norm)
        if math.isfinite(bound):
            result = _apart(alone[:, :sides], norm)
            alike = (codes[:, 0] == codes[:, sides - 1]).all(axis=-1)  # neither kind of neighbours may hide the other
            best = np.concatenate([_best(result, kind) for kind in (alike, ~alike)])
            climbed = [
                _climb(query, norm, pairs[some, :sides], codes[some, :sides], steps, rng)
                for some in np.split(best, range(together, len(best), together))
            ]
            # The sums' own float error is charged apart (Query.float_error); a few rows have next to none.
            moved = _length(among[sides], norm) * (1.0 - 1e-11)
            largest = float(np.concatenate([result, *climbed, moved]).max())
            findings.append(Finding(norm, largest, bound, query.bound.attained.get(norm, 1.0)))
    return findings


def _best(result: Array, kind: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices of the four largest distinct values of a kind, since many corners have equal values."""
    _, places = np.unique(np.round(-result[kind] / max(float(result.max()), 1e-300), 9), return_index=True)
    return np.asarray(np.flatnonzero(kind)[places[:4]], dtype=np.int64)


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


def _contributions(query: Query, unit: Array, codes: Codes) -> Array:
    """Return the contributions of rows in any arrangement, along the last axis."""
    shape = unit.shape[:-1]
    block = _block(query, unit.reshape(math.prod(shape), -1), codes.reshape(math.prod(shape), -1))
    return np.asarray(query.contributions(block), dtype=np.float64).reshape(*shape, query.size)


def _length(difference: Array, norm: str) -> Array:
    return np.asarray(np.linalg.norm(difference, ord=2 if norm.endswith("l2") else 1, axis=-1))


def _apart(sides: Array, norm: str) -> Array:
    """Return the length of contributions, or how far two are apart; the last axis but one holds one or both."""
    return _length(sides[..., 0, :] if sides.shape[-2] == 1 else sides[..., 0, :] - sides[..., 1, :], norm)


def _among_others(query: Query, rng: np.random.Generator, pairs: Array, codes: Codes, crowds: int) -> dict[int, Array]:
    """Return how the measured sum moves in small data sets when one row goes (1), and when it is replaced (2)."""

    def total(unit: Array, code: Codes) -> Array:
        return np.asarray(query.sum(_block(query, unit, code)), dtype=np.float64)

    gone, replaced = [], []
    for others in (1, 2, 3, 10) * crowds:
        some = rng.integers(0, len(pairs), others + 1)
        unit, code = np.clip(pairs[some], -4.0, 4.0), codes[some]
        before = total(unit[:, 0], code[:, 0])
        gone.append(before - total(unit[1:, 0], code[1:, 0]))
        unit[0, 0], code[0, 0] = unit[0, 1], code[0, 1]
        replaced.append(before - total(unit[:, 0], code[:, 0]))
    return {1: np.array(gone), 2: np.array(replaced)}


def _climb(query: Query, norm: str, pairs: Array, codes: Codes, steps: int, rng: np.random.Generator) -> Array:
    """Return the distances reached by steepest ascent with numerical gradients, a line search, and changed codes.

    Beside it stand those that are reached from the same points by moves to corners and middles (``_move_to_ends``).
    """

    def at(unit: Array, code: Codes) -> Array:
        return _apart(_contributions(query, unit, np.broadcast_to(code, (*unit.shape[:-1], code.shape[-1]))), norm)

    _, sides, d = pairs.shape
    counts = _counts(query) * sides
    points = np.clip(pairs, -4.0, 4.0)
    values = at(points, codes)
    reached = [values, _move_to_ends(at, points, codes, values)]
    lengths = 2.0 ** -np.arange(-1.0, 18.0)[:, None, None]
    for _ in range(steps):
        before = values
        changed = np.stack([_changed(each.ravel(), counts, rng) for each in codes])
        if changed.size:
            others = changed.reshape(len(codes), -1, *codes.shape[1:])
            unmoved = np.broadcast_to(points[:, None], (*others.shape[:3], d))
            codes, values = _better(others, at(unmoved, others), codes, values)
        if d:
            slopes = _slopes(query, norm, points, codes)
            steepness = np.linalg.norm(slopes, axis=(1, 2), keepdims=True)
            ways = np.divide(slopes, steepness, out=np.zeros_like(slopes), where=steepness > 0.0)
            lines = points[:, None] + lengths * ways[:, None]
            points, values = _better(lines, at(lines, codes[:, None]), points, values)
        reached.append(values)
        going = values > before * (1.0 + GAIN)
        points, codes, values = points[going], codes[going], values[going]
        if not len(values):
            break
    return np.concatenate(reached)


def _move_to_ends(at: Callable[[Array, Codes], Array], points: Array, codes: Codes, values: Array) -> Array:
    """Return the distances reached by moving one coordinate at a time to an end or the middle, whichever gains most.

    Where a distance is convex in each coordinate, as sums of products are, it is largest at a corner of the box. Of two
    rows one is often in the middle.
    """
    _, sides, d = points.shape
    one = np.eye(sides * d).reshape(sides * d, sides, d)
    for _ in range(3 * sides * d):  # none where a query has no numbers
        before = values
        moved = np.concatenate([np.where(one != 0.0, to, points[:, None]) for to in (-1.0, 0.0, 1.0)], axis=1)
        points, values = _better(moved, at(moved, codes[:, None]), points, values)
        if not (values > before * (1.0 + GAIN)).any():
            break
    return values


def _slopes(query: Query, norm: str, points: Array, codes: Codes) -> Array:
    """Return how the distance grows with each coordinate; each side moves while the other stands still."""
    climbs, sides, d = points.shape
    nudges = 1e-5 * np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
    nudged = points[:, :, None, :] + nudges
    code = np.broadcast_to(codes[:, :, None, :], (climbs, sides, len(nudges), codes.shape[-1]))
    each = _contributions(query, nudged, code)
    moved = each[:, :, 1:] if sides == 1 else each[:, :, 1:] - each[:, ::-1, :1]
    distances = _length(moved, norm)
    return distances[..., :d] - distances[..., d:]


def _better(tried: Any, result: Array, now: Any, values: Array) -> tuple[Any, Array]:
    """Return the best that each climb tried, or where it is where nothing is better, with its value."""
    climbs = np.arange(len(tried))
    best = result.argmax(axis=1)
    up = result[climbs, best] > values
    chosen = np.where(up[:, None, None], tried[climbs, best], now)
    return chosen, np.where(up, result[climbs, best], values)


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
