"""``check_model``: an attack on a model before it may see data.

A model of one's own is trusted with one thing above all: that its bound is true. This room tries to show that it is
not, on made-up rows and simulated releases only. It looks for worst neighbours (``discreet.queries.search``) where the
model starts and where noise of many sizes leads it, and tries the rest of the contract of ``discreet.em.Model``. What
it refuses is wrong. What it lets through has no known fault, which is less than a proof: that stands beside the bound.

It may import ``arguments``, ``guarantees``, ``noise``, ``records``, ``door`` and ``em``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer
from discreet.door import PublicSize, Release
from discreet.em import Model
from discreet.guarantees import GaussianLoss
from discreet.noise import GaussianNoise
from discreet.queries.bound import NORMS, Bound
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.question import Part
from discreet.queries.search import worst_neighbours
from discreet.records import Ball, Block, Box

__all__ = ["WrongBound", "attack", "check_model"]

Array = NDArray[np.float64]

ROWS = 120
UNITS = 1000
NOISES = (1e-5, 1e-2, 1.0)  # of the largest sum that there can be
CHANGES = {"l2": "adding a row", "l1": "adding a row", "replace_l2": "replacing a row", "replace_l1": "replacing a row"}


class WrongBound(ValueError):  # noqa: N818  (it names what is wrong, as BudgetExceeded does)
    """A model's bound does not hold: rows were made up that move its sum further than it says."""


def check_model(
    model: Model[Any],
    space: Box | Ball,
    *,
    rng: np.random.Generator | None = None,
    steps: int = 3,
    size: PublicSize | None = None,
) -> None:
    """Try to show that a model breaks its contract, and raise if it does. No data is needed, and none is seen.

    Parameters
    ----------
    model : Model
    space : Box or Ball
        Where rows are declared to lie, with one bound a column (``space.for_columns(d)``).
    rng : Generator, optional
        For what is made up; by default the same every time.
    steps : int
        How many steps of each simulated fit are attacked.
    size : PublicSize, optional
        What is public about the number of rows; by default all cases are tried.

    Raises
    ------
    WrongBound
        Where rows were found that move the sum further than ``bound`` says.
    ValueError
        Where anything else is wrong: shapes, numbers that are not finite, a ``sum`` that is not the sum of the
        contributions, a ``maximize`` that cannot take every release.

    Examples
    --------
    >>> from discreet import Ball
    >>> from discreet.model_check import check_model
    >>> from discreet.models.mixture.joint import JointMixture
    >>> check_model(JointMixture(3), Ball(1.0, center=[0.0, 0.0]))
    """
    if not isinstance(model, Model):
        raise ArgumentError("model", model, "a discreet.Model; see examples/model_skeleton.py")
    if not isinstance(space, Box | Ball) or space.columns is None:
        raise ArgumentError("space", space, "a Box or a Ball with a bound for each column; see for_columns(d)")
    own, space = getattr(model, "space", None), space.for_columns(space.dimension)
    if own is not None and own.for_columns(space.dimension) != space:
        raise ArgumentError("space", space, f"{own!r}, the one that {model.name!r} was made for")
    rng = np.random.default_rng(0) if rng is None else rng
    steps = integer("steps", steps, least=0)
    sizes = (PublicSize(UNITS, True), PublicSize(UNITS, False), PublicSize(None, False)) if size is None else (size,)
    with np.errstate(all="ignore"):  # as behind the door; what counts is what comes out
        start = model.initialize(space.dimension, rng)
        query = ModelQuery(model, start, space)
        _finite(model, "initialize", start)
        block = _made_up(query, rng)
        _rows(query, block)
        attack(query, rng, starts=32, steps=10)
        _keeps_to_itself(query, block)
        for i, noise in enumerate(NOISES):
            query = ModelQuery(model, start, space)
            for _ in range(steps):
                release = _simulated(
                    query, _total(query, block, sizes[i % len(sizes)]), noise, sizes[i % len(sizes)], rng
                )
                query = _next(query, release, block)
                attack(query, rng)
        _keeps_to_itself(query, block)
        for release in _unlikely(query, block, sizes, rng):
            _next(query, release, block)


def attack(query: ModelQuery[Any], rng: np.random.Generator, *, starts: int = 12, steps: int = 2) -> None:
    """Search for neighbours that a model's bound does not cover, at given parameters, and raise if there are any.

    Parameters
    ----------
    query : ModelQuery
        Its parameters are public, so what is raised here tells of no row.
    rng : Generator
    starts, steps : int
        How hard to search; see ``worst_neighbours``.
    """
    with np.errstate(all="ignore"):
        for finding in worst_neighbours(query, rng, starts=starts, steps=steps):
            _compare(query, finding.norm, finding.result)
        rows = _at_parameters(query)
        if rows is not None:
            result = np.asarray(query.model.contributions(query.params, rows), dtype=np.float64)
            for norm in NORMS:
                if math.isfinite(query.bound.norm(norm.removeprefix("replace_"))):
                    _compare(query, norm, _farthest(np.where(np.isfinite(result), result, np.inf), norm))


def _at_parameters(query: ModelQuery[Any]) -> Block | None:
    """Return rows where the parameters are, and between them: if a bound is wrong in a small place, it is there."""
    d = query.dimension
    places = [number.reshape(-1, d) for number in _numbers(query.params) if number.ndim and number.shape[-1] == d]
    if not places:
        return None
    points = np.concatenate(places)[:50]
    points = np.concatenate([points, -points, (points + np.roll(points, 1, axis=0)) / 2.0])
    lengths = np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    sizes = query.model.categories
    codes = np.random.default_rng(0).integers(0, sizes or (1,), (len(points), len(sizes) or 1))
    return Block(points / lengths, codes if sizes else codes[:, :0])


def _compare(query: ModelQuery[Any], norm: str, result: float) -> None:
    """Raise where more was found than the bound and the model's own float error allow."""
    kind, bound = norm.removeprefix("replace_"), query.bound
    most = bound.replace(kind) if norm.startswith("replace") else bound.norm(kind)
    if not result <= most * (1.0 + 1e-12 + 2.0 * query.roundoff):
        raise WrongBound(
            f"model={query.name!r}: bound.{norm} is {most:.6g}, and {CHANGES[norm]} was found to move the sum by "
            f"{result:.6g}, {result / most:.4g} times as much. Nothing is measured with it. Clip or scale what "
            "`contributions` returns (and see that `sum` divides by nothing exact), or prove a larger `bound`"
        )


def _made_up(query: ModelQuery[Any], rng: np.random.Generator) -> Block:
    """Return rows of the space that nobody has: groups, a spread, corners, equal columns, and far outside."""
    d = query.dimension
    groups = rng.uniform(-1.0, 1.0, (3, d))[rng.integers(0, 3, ROWS)] + 0.1 * rng.standard_normal((ROWS, d))
    spread, corners = rng.uniform(-1.0, 1.0, (ROWS, d)), rng.choice([-1.0, 1.0], (ROWS // 4, d)) * math.sqrt(d)
    far = rng.standard_normal((ROWS // 4, d)) * 10.0 ** rng.uniform(0.0, 100.0, (ROWS // 4, 1))
    equal = np.linspace(-1.0, 1.0, ROWS // 2 + 1)[:, None] * np.ones(d)
    y = np.concatenate([groups / math.sqrt(d), spread / math.sqrt(d), corners, equal / math.sqrt(d), far])
    codes = rng.integers(0, query.model.categories or (1,), (len(y), len(query.model.categories) or 1))
    return Block(np.asarray(query.space.from_unit(y)), codes)


def _rows(query: ModelQuery[Any], block: Block) -> Array:
    """Return the contributions of made-up rows, seen to have the right shape and to be finite."""
    parts, bound, name = query.parts, query.bound, query.name
    if not isinstance(parts, Mapping) or not parts or not all(isinstance(part, Part) for part in parts.values()):
        raise ValueError(f"model={name!r}: parts={parts!r}: expected a mapping of names to Part")
    if not isinstance(bound, Bound):
        raise ValueError(f"model={name!r}: bound={bound!r}: expected a Bound, for example Bound(l2=1.0)")
    try:
        rows = query.contributions(block)
    except Exception as error:
        raise ValueError(
            f"model={name!r}: `contributions` raised {type(error).__name__} ({error}): expected numbers for every row"
        ) from error
    shape, dtype = tuple(getattr(rows, "shape", ())), str(getattr(rows, "dtype", type(rows)))
    if shape != (len(block.x), query.size) or dtype != "float64":
        raise ValueError(
            f"model={name!r}: `contributions` gave {shape} of {dtype} for {len(block.x)} rows: expected "
            f"({len(block.x)}, {query.size}) of float64, as `parts` says"
        )
    result = np.asarray(rows)
    if not np.all(np.isfinite(result)):
        raise ValueError(
            f"model={name!r}: `contributions` are not finite for some rows: expected numbers for every row"
        )
    return result


def _keeps_to_itself(query: ModelQuery[Any], block: Block) -> None:
    """See that a row's contribution is its own, and that the sum is the sum of them."""
    rows, most, name = _rows(query, block), query.bound.l2, query.name
    some = np.linspace(0, len(rows) - 1, 12, dtype=np.int64)
    alone = [_rows(query, Block(block.x[i : i + 1], block.codes[i : i + 1])) for i in some]
    back = _rows(query, Block(block.x[::-1].copy(), block.codes[::-1].copy()))[::-1]
    moved = max(_longest(np.concatenate(alone) - rows[some]), _longest(back - rows))
    if moved > 2.0 * query.roundoff * most:
        raise ValueError(
            f"model={name!r}: a row's contribution changes by {moved:.3g} with the rows beside it; `roundoff` allows "
            f"for {2.0 * query.roundoff * most:.3g}. Take nothing from other rows; if only floats differ, let "
            "`roundoff` say by how much"
        )
    total = np.asarray(query.sum(block), dtype=np.float64)
    if total.shape != (query.size,):
        raise ValueError(f"model={name!r}: `sum` gave the shape {total.shape}: expected ({query.size},)")
    off = _longest((total - rows.sum(axis=0))[None])
    if not off <= len(rows) * most * (2.0 * query.roundoff + len(rows) * 2.0**-52):
        raise ValueError(
            f"model={name!r}: `sum` is {off:.3g} away from the sum of `contributions`: expected no more than rounding"
        )


def _farthest(rows: Array, norm: str) -> float:
    """Return the longest of some contributions, or the largest distance between two of them."""
    if norm == "replace_l2":
        squares = (rows * rows).sum(axis=1)
        return math.sqrt(max(float((squares[:, None] + squares - 2.0 * rows @ rows.T).max()), 0.0))
    differences = rows - np.roll(rows, 1, axis=0) if norm == "replace_l1" else rows
    return float(np.linalg.norm(differences, ord=int(norm[-1]), axis=1).max())


def _longest(differences: Array) -> float:
    return float(np.linalg.norm(differences, axis=1).max())


def _total(query: ModelQuery[Any], block: Block, size: PublicSize) -> Array:
    """Return the sum that as many rows as there are would have, were they like the made-up ones."""
    return np.asarray(query.sum(block)) * (_units(size) / len(block.x))


def _units(size: PublicSize) -> int:
    return max(size.units or UNITS, 1)


def _simulated(
    query: ModelQuery[Any], total: Array, noise: float, size: PublicSize, rng: np.random.Generator
) -> Release:
    """Return a release of a made-up sum, with noise of a size relative to the largest sum."""
    scale = noise * _units(size) * query.bound.l2
    return _release(query, total + scale * rng.standard_normal(total.shape), scale, size)


def _release(query: ModelQuery[Any], value: Array, scale: float, size: PublicSize) -> Release:
    return Release(
        query=query.name,
        value=value,
        parts=query.parts,
        mechanism="additive",
        noise=GaussianNoise(scale),
        exact=True,
        loss=GaussianLoss(1.0),
        size=size,
    )


def _unlikely(
    query: ModelQuery[Any], block: Block, sizes: tuple[PublicSize, ...], rng: np.random.Generator
) -> Iterator[Release]:
    """Yield releases that noise can make: zero, the opposite of what is true, tiny and huge."""
    for size in sizes:
        total, most = _total(query, block, size), _units(size) * query.bound.l2
        directions = rng.standard_normal((3, *total.shape))
        values = [0.0 * total, -total, *(directions * [[1e-200], [1e3], [1e9]] * most), np.full_like(total, -most)]
        for value in values:
            for noise in (1e-6, 10.0):
                yield _release(query, value, noise * most, size)


def _next(query: ModelQuery[Any], release: Release, block: Block) -> ModelQuery[Any]:
    """Return the query at the maximised parameters, after a look at how they were found and where they lead."""
    model: Any = query.model
    before = [number.copy() for number in _numbers(query.params)]
    params = _maximized(query, release)
    _finite(model, "maximize", params)
    some = Block(block.x[:7], block.codes[:7])
    query.contributions(some)
    query.sum(some)
    again = _maximized(query, release)
    if not _same(_numbers(params), _numbers(again)):
        raise ValueError(
            f"model={query.name!r}: `maximize` gave two answers for one release: expected a function of its arguments; "
            "draw random numbers in `initialize`, and keep nothing of what `contributions` saw"
        )
    if not _same(before, _numbers(query.params)):
        raise ValueError(f"model={query.name!r}: `maximize` changed the parameters it was given: expected new ones")
    following = ModelQuery(model, params, query.space)
    rows = _rows(following, block)
    for norm in NORMS:
        if math.isfinite(following.bound.norm(norm.removeprefix("replace_"))):
            _compare(following, norm, _farthest(rows, norm))
    return following


def _maximized(query: ModelQuery[Any], release: Release) -> Any:
    try:
        model: Any = query.model
        return model.maximize(query.params, release)
    except Exception as error:
        raise ValueError(
            f"model={query.name!r}: `maximize` raised {type(error).__name__} ({error}) for a release of numbers up to "
            f"{np.abs(release.value).max():.3g}, noise of {release.noise}, {release.size}: expected parameters for any "
            "finite release"
        ) from error


def _finite(model: Model[Any], method: str, params: Any) -> None:
    if not all(np.all(np.isfinite(number)) for number in _numbers(params)):
        raise ValueError(f"model={model.name!r}: `{method}` gave parameters that are not finite: {params!r}")


def _same(first: list[Array], second: list[Array]) -> bool:
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def _numbers(value: Any, depth: int = 8) -> list[Array]:
    """Return all numbers that a value holds, however it is built."""
    inside: list[Any] = []
    if is_dataclass(value) and not isinstance(value, type):
        inside = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, Mapping):
        inside = list(value.values())
    elif isinstance(value, tuple | list):
        inside = list(value)
    elif hasattr(value, "__array__") or isinstance(value, int | float):
        array = np.asarray(value)
        return [array.astype(np.float64)] if array.dtype.kind in "biuf" else []
    elif hasattr(value, "__dict__") and not callable(value):
        inside = list(vars(value).values())
    return [number for item in inside for number in _numbers(item, depth - 1)] if depth else []
