"""``check_model``: attack a user's model before it may see data.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``noise``, ``records``,
``queries``, ``door``, ``em``.

The privacy of a user's model depends on its bound. This module searches for a counterexample, on made-up rows and
simulated releases only. It looks for worst neighbours (``discreet.queries.search``) at the initial parameters and at
those that follow from noise of many sizes, and checks the rest of the contract of ``discreet.em.Model``. A model that
it refuses is wrong. A model that passes has no known fault, which is less than a proof; the proof belongs beside the
bound.
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
NOISES = (1e-5, 1e-2, 1.0)  # standard deviations, relative to the largest possible sum
CHANGES = {"l2": "adding a row", "l1": "adding a row", "replace_l2": "replacing a row", "replace_l1": "replacing a row"}


class WrongBound(ValueError):  # noqa: N818  (it names what is wrong, as BudgetExceeded does)
    """A model's bound is wrong: some made-up rows change its sum by more than the bound."""


def check_model(
    model: Model[Any],
    space: Box | Ball,
    *,
    rng: np.random.Generator | None = None,
    steps: int = 3,
    size: PublicSize | None = None,
) -> None:
    """Try to show that a model breaks its contract, and raise if it does. It needs no data and sees none.

    Parameters
    ----------
    model : Model
    space : Box or Ball
        The declared bounds, one for each column (``space.for_columns(d)``).
    rng : Generator, optional
        For the made-up rows and releases; by default with a fixed seed.
    steps : int
        How many steps of each simulated fit are attacked.
    size : PublicSize, optional
        What is public about the number of rows; by default all cases are tried.

    Raises
    ------
    WrongBound
        If rows were found that change the sum by more than ``bound``.
    ValueError
        If anything else is wrong: shapes, numbers that are not finite, a ``sum`` that is not the sum of the
        contributions, a ``maximize`` that fails for some release.

    Examples
    --------
    >>> from discreet import Ball
    >>> from discreet.model_check import check_model
    >>> from discreet.models.mixture.joint_release import JointMixture
    >>> check_model(JointMixture(3), Ball(1.0, center=[0.0, 0.0]))
    """
    if not isinstance(model, Model):
        raise ArgumentError("model", model, "a discreet.Model; see examples/model_skeleton.py")
    if not isinstance(space, Box | Ball) or space.columns is None:
        raise ArgumentError("space", space, "a Box or a Ball with a bound for each column; see for_columns(d)")
    own, space = getattr(model, "space", None), space.for_columns(space.dimension)
    if own is not None and own.for_columns(space.dimension) != space:
        raise ArgumentError("space", space, f"{own!r}, the space of {model.name!r}")
    rng = np.random.default_rng(0) if rng is None else rng
    steps = integer("steps", steps, least=0)
    sizes = (PublicSize(UNITS, True), PublicSize(UNITS, False), PublicSize(None, False)) if size is None else (size,)
    with np.errstate(all="ignore"):  # as at the door; only the results are checked
        start = model.initialize(space.dimension, rng)
        query = ModelQuery(model, start, space)
        _check_finite(model, "initialize", start)
        block = _make_up_rows(query, rng)
        _check_contributions(query, block)
        attack(query, rng, starts=32, steps=10)
        _check_independence(query, block)
        for i, noise in enumerate(NOISES):
            query = ModelQuery(model, start, space)
            for _ in range(steps):
                release = _simulate(
                    query, _scaled_sum(query, block, sizes[i % len(sizes)]), noise, sizes[i % len(sizes)], rng
                )
                query = _check_step(query, release, block)
                attack(query, rng)
        _check_independence(query, block)
        for release in _extreme_releases(query, block, sizes, rng):
            _check_step(query, release, block)


def attack(query: ModelQuery[Any], rng: np.random.Generator, *, starts: int = 12, steps: int = 2) -> None:
    """Search for neighbours that a model's bound does not cover, at given parameters, and raise if there are any.

    Parameters
    ----------
    query : ModelQuery
        Its parameters are public, so the error reveals nothing about rows.
    rng : Generator
    starts, steps : int
        How hard to search; see ``worst_neighbours``.
    """
    with np.errstate(all="ignore"):
        for finding in worst_neighbours(query, rng, starts=starts, steps=steps):
            _compare_with_bound(query, finding.norm, finding.result)
        rows = _rows_at_parameters(query)
        if rows is not None:
            result = np.asarray(query.model.contributions(query.params, rows), dtype=np.float64)
            for norm in NORMS:
                if math.isfinite(query.bound.norm(norm.removeprefix("replace_"))):
                    _compare_with_bound(
                        query, norm, _largest_distance(np.where(np.isfinite(result), result, np.inf), norm)
                    )


def _rows_at_parameters(query: ModelQuery[Any]) -> Block | None:
    """Return rows at the parameters and between them, where a bound that fails only locally is likely to fail."""
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


def _compare_with_bound(query: ModelQuery[Any], norm: str, result: float) -> None:
    """Raise where a distance exceeds the bound and the model's own float error."""
    kind, bound = norm.removeprefix("replace_"), query.bound
    most = bound.replace(kind) if norm.startswith("replace") else bound.norm(kind)
    if not result <= most * (1.0 + 1e-12 + 2.0 * query.roundoff):
        raise WrongBound(
            f"model={query.name!r}: bound.{norm} is {most:.6g}, but {CHANGES[norm]} was found to change the sum by "
            f"{result:.6g}, {result / most:.4g} times as much. Nothing was measured. Clip or scale the result of "
            "`contributions` (and make sure that `sum` does not divide by an exact count), or prove a larger `bound`"
        )


def _make_up_rows(query: ModelQuery[Any], rng: np.random.Generator) -> Block:
    """Return made-up rows: groups, uniform rows, corners, equal columns, and rows far outside of the space."""
    d = query.dimension
    groups = rng.uniform(-1.0, 1.0, (3, d))[rng.integers(0, 3, ROWS)] + 0.1 * rng.standard_normal((ROWS, d))
    spread, corners = rng.uniform(-1.0, 1.0, (ROWS, d)), rng.choice([-1.0, 1.0], (ROWS // 4, d)) * math.sqrt(d)
    far = rng.standard_normal((ROWS // 4, d)) * 10.0 ** rng.uniform(0.0, 100.0, (ROWS // 4, 1))
    equal = np.linspace(-1.0, 1.0, ROWS // 2 + 1)[:, None] * np.ones(d)
    y = np.concatenate([groups / math.sqrt(d), spread / math.sqrt(d), corners, equal / math.sqrt(d), far])
    codes = rng.integers(0, query.model.categories or (1,), (len(y), len(query.model.categories) or 1))
    return Block(np.asarray(query.space.from_unit(y)), codes)


def _check_contributions(query: ModelQuery[Any], block: Block) -> Array:
    """Return the contributions of made-up rows, after checking that they are finite and of the right shape."""
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


def _check_independence(query: ModelQuery[Any], block: Block) -> None:
    """Check that a row's contribution does not depend on other rows, and that ``sum`` is the sum of contributions."""
    rows, most, name = _check_contributions(query, block), query.bound.l2, query.name
    some = np.linspace(0, len(rows) - 1, 12, dtype=np.int64)
    alone = [_check_contributions(query, Block(block.x[i : i + 1], block.codes[i : i + 1])) for i in some]
    back = _check_contributions(query, Block(block.x[::-1].copy(), block.codes[::-1].copy()))[::-1]
    moved = max(_largest_norm(np.concatenate(alone) - rows[some]), _largest_norm(back - rows))
    if moved > 2.0 * query.roundoff * most:
        raise ValueError(
            f"model={name!r}: a row's contribution changes by {moved:.3g} with the rows beside it; `roundoff` allows "
            f"for {2.0 * query.roundoff * most:.3g}. Use nothing of other rows; if only rounding differs, return a "
            "larger `roundoff`"
        )
    total = np.asarray(query.sum(block), dtype=np.float64)
    if total.shape != (query.size,):
        raise ValueError(f"model={name!r}: `sum` gave the shape {total.shape}: expected ({query.size},)")
    off = _largest_norm((total - rows.sum(axis=0))[None])
    if not off <= len(rows) * most * (2.0 * query.roundoff + len(rows) * 2.0**-52):
        raise ValueError(
            f"model={name!r}: `sum` is {off:.3g} away from the sum of `contributions`: expected no more than rounding"
        )


def _largest_distance(rows: Array, norm: str) -> float:
    """Return the largest norm of the contributions, or the largest distance between two of them."""
    if norm == "replace_l2":
        squares = (rows * rows).sum(axis=1)
        return math.sqrt(max(float((squares[:, None] + squares - 2.0 * rows @ rows.T).max()), 0.0))
    differences = rows - np.roll(rows, 1, axis=0) if norm == "replace_l1" else rows
    return float(np.linalg.norm(differences, ord=int(norm[-1]), axis=1).max())


def _largest_norm(differences: Array) -> float:
    return float(np.linalg.norm(differences, axis=1).max())


def _scaled_sum(query: ModelQuery[Any], block: Block, size: PublicSize) -> Array:
    """Return the sum of the made-up rows, scaled to the number of rows of ``size``."""
    return np.asarray(query.sum(block)) * (_units(size) / len(block.x))


def _units(size: PublicSize) -> int:
    return max(size.units or UNITS, 1)


def _simulate(
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


def _extreme_releases(
    query: ModelQuery[Any], block: Block, sizes: tuple[PublicSize, ...], rng: np.random.Generator
) -> Iterator[Release]:
    """Yield extreme releases that noise can produce: zero, the negative of the sum, tiny and huge values."""
    for size in sizes:
        total, most = _scaled_sum(query, block, size), _units(size) * query.bound.l2
        directions = rng.standard_normal((3, *total.shape))
        values = [0.0 * total, -total, *(directions * [[1e-200], [1e3], [1e9]] * most), np.full_like(total, -most)]
        for value in values:
            for noise in (1e-6, 10.0):
                yield _release(query, value, noise * most, size)


def _check_step(query: ModelQuery[Any], release: Release, block: Block) -> ModelQuery[Any]:
    """Return the query at the maximised parameters, after checking ``maximize`` and the bound there."""
    model: Any = query.model
    before = [number.copy() for number in _numbers(query.params)]
    params = _maximize(query, release)
    _check_finite(model, "maximize", params)
    some = Block(block.x[:7], block.codes[:7])
    query.contributions(some)
    query.sum(some)
    again = _maximize(query, release)
    if not _is_same(_numbers(params), _numbers(again)):
        raise ValueError(
            f"model={query.name!r}: `maximize` gave two answers for one release: expected a function of its arguments; "
            "draw random numbers in `initialize`, and store nothing in `contributions`"
        )
    if not _is_same(before, _numbers(query.params)):
        raise ValueError(f"model={query.name!r}: `maximize` changed the parameters it was given: expected new ones")
    following = ModelQuery(model, params, query.space)
    rows = _check_contributions(following, block)
    for norm in NORMS:
        if math.isfinite(following.bound.norm(norm.removeprefix("replace_"))):
            _compare_with_bound(following, norm, _largest_distance(rows, norm))
    return following


def _maximize(query: ModelQuery[Any], release: Release) -> Any:
    try:
        model: Any = query.model
        return model.maximize(query.params, release)
    except Exception as error:
        raise ValueError(
            f"model={query.name!r}: `maximize` raised {type(error).__name__} ({error}) for a release of numbers up to "
            f"{np.abs(release.value).max():.3g}, noise of {release.noise}, {release.size}: expected parameters for any "
            "finite release"
        ) from error


def _check_finite(model: Model[Any], method: str, params: Any) -> None:
    if not all(np.all(np.isfinite(number)) for number in _numbers(params)):
        raise ValueError(f"model={model.name!r}: `{method}` gave parameters that are not finite: {params!r}")


def _is_same(first: list[Array], second: list[Array]) -> bool:
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def _numbers(value: Any, depth: int = 8) -> list[Array]:
    """Return all numeric arrays in a value, at any depth."""
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
