"""Where rows lie: what every declared space can do, and a box, one interval a column.

A space says where rows may lie. It is declared by whoever knows the meaning of the columns, never taken from the
rows: the least and the largest value of a column are themselves secrets of single rows.

Two promises hold for every row whatever, NaN and infinities included, in floats and not only on paper:

- ``clip(x)`` lies in the space, and ``to_unit(x)`` has Euclidean norm at most 1;
- a row becomes the same floats whatever rows stand beside it: only elementwise operations and sums over columns in
  a fixed order are used. So a neighbour that lacks one row changes no bit of the others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_jax_array
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import ArgumentError, integer, iterable
from discreet.plain import from_plain, register_kind, to_plain

if TYPE_CHECKING:
    from discreet.records.ball import Ball

__all__ = [
    "LARGEST",
    "SMALLEST",
    "UNIT_ROUNDOFF",
    "Box",
    "Space",
    "Vector",
    "as_floats",
    "as_number",
    "check_ends",
    "on_device",
    "set_fields",
    "spread",
    "taken",
    "to_host",
    "vector",
]

Vector = float | tuple[float, ...]

UNIT_ROUNDOFF = 2.0**-53
# Bounds stay away from the ends of the float range, so that no map of a space can overflow or lose digits.
LARGEST, SMALLEST = 1e300, 1e-300
WRITE = "for example Box(low=[0, 40], high=[120, 250])"
NO_NUMBERS = (str, bytes, bool, np.bool_, np.complexfloating, np.ndarray)  # although float() takes them


class Space(ABC):
    """A set that rows are declared to lie in: a ``Box`` or a ``Ball``."""

    if TYPE_CHECKING:  # a ball has it as a field, which an abstract property would hide

        @property
        def center(self) -> Vector:
            """The point that ``to_unit`` maps to zero."""

    _kinds: ClassVar[dict[str, type[Space]]] = {}

    def __init_subclass__(cls) -> None:
        register_kind(Space._kinds, cls)

    @property
    @abstractmethod
    def columns(self) -> int | None:
        """The number of columns, None while every bound is one number for all columns."""

    @abstractmethod
    def for_columns(self, columns: int) -> Self:
        """Return the space with one bound for each of ``columns`` columns; an error where the sizes differ."""

    @abstractmethod
    def clip(self, x: Any) -> Any:
        """Return rows moved into the space, as float64; the columns are the last axis. Array-API generic."""

    @abstractmethod
    def to_unit(self, x: Any) -> Any:
        """Return rows mapped into the unit ball, ‖y‖₂ ≤ 1; rows outside of the space are clipped on the way."""

    @property
    @abstractmethod
    def scale(self) -> tuple[float, ...]:
        """What one step in the unit ball is, column by column: ``from_unit(y)`` is center + scale·y."""

    @property
    @abstractmethod
    def around(self) -> Space:
        """The ball around the space: the same step in every column, where a box has one for each."""

    @property
    def dimension(self) -> int:
        """The number of columns; an error while it is open."""
        if self.columns is None:
            raise ValueError(f"{self!r} stands for any number of columns: write .for_columns(d) first")
        return self.columns

    def from_unit(self, y: Any) -> Any:
        """Return center + scale·y, the inverse of ``to_unit``. Nothing is clipped: y may come with noise."""
        _, y = as_floats(y)
        space = self.for_columns(y.shape[-1])
        return on_device(space.center, y) + y * on_device(space.scale, y)

    def to_dict(self) -> dict[str, Any]:
        """Return the space as plain values, for JSON; ``from_dict`` reads it back.

        >>> from discreet.records import Box
        >>> Box(0, [1, 2]).to_dict()
        {'kind': 'Box', 'low': 0.0, 'high': [1.0, 2.0]}
        """
        return to_plain(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Space:
        """Return the space that ``to_dict`` described."""
        return from_plain(dict(sorted(Space._kinds.items())), values)


def set_fields(frozen: object, **values: Any) -> None:
    """Set the fields of a frozen value, while it is made."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def vector(name: str, value: Any, write: str) -> Vector:
    """Return a declared bound as a float, or as a tuple of floats; an error that says what to write otherwise."""
    if value is None:
        raise ArgumentError(name, None, "declared bounds, never taken from the rows", write)
    single = isinstance(value, str | bytes) or not iterable(value)
    numbers = tuple(map(as_number, (value,) if single else value))
    if not numbers or not all(abs(number) <= LARGEST for number in numbers):  # nor a NaN
        accepted = f"finite numbers of at most {LARGEST:g} in size, one for all columns or one a column"
        raise ArgumentError(name, value, accepted, write)
    return numbers[0] if single else numbers


def as_number(item: Any) -> float:
    """Return a declared number as a float, NaN where it is none."""
    try:
        return math.nan if isinstance(item, NO_NUMBERS) else float(item)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def spread(name: str, value: Vector, columns: int) -> tuple[float, ...]:
    """Return one value a column."""
    if not isinstance(value, tuple):
        return (value,) * integer("columns", columns, least=1, most=2**31)
    if len(value) != columns:
        raise ValueError(f"{name} has {len(value)} values: expected one for all, or one for each of {columns} columns")
    return value


def as_floats(x: Any) -> tuple[Any, Any]:
    """Return the namespace of ``x`` and ``x`` in float64; lists and frames become NumPy arrays."""
    x = x if is_array_api_obj(x) else _as_numbers(x)
    if x.ndim == 0:
        raise ValueError("rows: expected an array whose last axis is the columns, got a single number")
    xp = array_namespace(x)
    return xp, xp.astype(x, xp.float64, copy=False)


def _as_numbers(x: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # whose words may show a row
        raise ValueError(f"rows of type {type(x).__name__}: expected numbers, as an array") from None


def on_device(values: Vector, like: Any) -> Any:
    """Return declared numbers as a float64 array beside ``like``.

    Single numbers too: with a Python number some libraries divide by multiplying with a reciprocal, which rounds twice.
    """
    xp = array_namespace(like)
    return xp.asarray(values, dtype=xp.float64, device=device(like))


def taken(x: Any, places: Any, axis: int = 0) -> Any:
    """Return some rows, or columns, of an array of any library."""
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(np.asarray(places, dtype=np.int64), device=device(x)), axis=axis)


def to_host(x: Any) -> NDArray[Any]:
    """Return an array of any library as a NumPy array."""
    if hasattr(x, "detach"):  # torch
        x = x.detach().cpu()
    elif hasattr(x, "get") and hasattr(x, "__cuda_array_interface__"):  # CuPy
        x = x.get()
    return np.asarray(x)


@lru_cache(maxsize=64)
def _inverse_root(d: int) -> float:
    """Return the largest float s with d·s² ≤ 1, found in exact fractions."""
    s = 1.0 / math.sqrt(d)
    while d * Fraction(s) ** 2 > 1:
        s = math.nextafter(s, 0.0)
    return s


def check_ends(low: float, high: float, write: str) -> None:
    """Raise where two declared ends are no interval."""
    if not low < high:
        raise ValueError(f"low={low!r} is not below high={high!r}: expected low < high; write {write}")
    if high / 2.0 - low / 2.0 < SMALLEST:
        raise ValueError(f"low={low!r}, high={high!r}: expected bounds at least {2 * SMALLEST:g} apart")


@dataclass(frozen=True, init=False)
class Box(Space):
    """Rows between ``low`` and ``high``, column by column.

    Clipping is coordinatewise; a NaN goes to the middle of its column. The map into the unit ball is
    y = (x − center)/(half-width·√d). Its norm is at most 1 in floats: each quotient t is cut to [−1, 1] and multiplied
    by s, the largest float with d·s² ≤ 1, and since rounding is monotone |fl(t·s)| ≤ s, so ‖y‖² ≤ d·s² ≤ 1.

    Parameters
    ----------
    low, high : float or sequence of float
        Declared bounds, one for all columns or one a column.

    Examples
    --------
    >>> box = Box(low=[0, 40], high=[120, 250])
    >>> box.clip([[30.0, 1e308], [-5.0, 60.0]]).tolist()
    [[30.0, 250.0], [0.0, 60.0]]
    >>> box.to_unit([[120.0, 145.0]]).round(4).tolist()
    [[0.7071, 0.0]]
    >>> Box(low=1, high=0)
    Traceback (most recent call last):
        ...
    ValueError: low=1.0 is not below high=0.0: expected low < high; write for example Box(low=[0, 40], high=[120, 250])
    """

    low: Vector
    high: Vector

    def __init__(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> None:
        low, high = vector("low", low, WRITE), vector("high", high, WRITE)
        sizes = {len(bound) for bound in (low, high) if isinstance(bound, tuple)}
        if len(sizes) > 1:
            raise ValueError(f"low and high have {sorted(sizes)} values: expected as many of both; write {WRITE}")
        set_fields(self, low=low, high=high)
        for a, b in self._ends:
            check_ends(a, b, WRITE)

    @property
    def columns(self) -> int | None:
        """The number of columns, None while both bounds are single numbers."""
        return max((len(bound) for bound in (self.low, self.high) if isinstance(bound, tuple)), default=None)

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], ...]:
        """The two ends of each column; of one while their number is open."""
        columns = self.columns or 1
        return tuple(zip(spread("low", self.low, columns), spread("high", self.high, columns), strict=True))

    def intervals(self) -> list[tuple[float, float]]:
        """Return the two ends of each column."""
        return list(self.for_columns(self.dimension)._ends)

    @cached_property
    def center(self) -> Vector:
        """The middle of each interval."""
        middle = tuple(min(max(a / 2.0 + b / 2.0, a), b) for a, b in self._ends)
        return middle[0] if self.columns is None else middle

    @cached_property
    def _half(self) -> tuple[float, ...]:
        """Half the width of each interval."""
        return tuple(b / 2.0 - a / 2.0 for a, b in self._ends)

    def for_columns(self, columns: int) -> Self:
        """Return the box with one interval for each of ``columns`` columns.

        >>> Box(0, [1, 2]).for_columns(2)
        Box(low=(0.0, 0.0), high=(1.0, 2.0))
        """
        low, high = spread("low", self.low, columns), spread("high", self.high, columns)
        return self if low is self.low and high is self.high else type(self)(low, high)

    @classmethod
    def holding(cls, ball: Ball) -> Self:
        """Return the box around a ball, for rows whose columns are declared one by one.

        >>> from discreet.records import Ball
        >>> Box.holding(Ball(2, center=[0, 50]))
        Box(low=(-2.0, 48.0), high=(2.0, 52.0))
        """
        from discreet.records.ball import Ball  # which is a Space too

        if not isinstance(ball, Ball):
            raise ArgumentError("ball", ball, "a Ball", "for example Ball(2, center=[0, 50])")
        center = np.array(ball.for_columns(ball.dimension).center)
        return cls(center - ball.radius, center + ball.radius)

    @cached_property
    def around(self) -> Ball:
        """The smallest ball that holds the box, and a little more, so that it clips none of its rows.

        >>> Box([0, 0], [6, 8]).around.radius
        5.0000000000...
        """
        from discreet.records.ball import Ball

        half = self.for_columns(self.dimension)._half
        return Ball(math.hypot(*half) * (1.0 + 1e-12), self.center)

    @cached_property
    def scale(self) -> tuple[float, ...]:
        """Half-width·√d, column by column."""
        return tuple(half / _inverse_root(self.dimension) for half in self._half)

    @np.errstate(all="ignore")
    def clip(self, x: Any) -> Any:
        """Return rows moved into the box, as float64; a NaN goes to the middle of its column."""
        xp, x = as_floats(x)
        box = self.for_columns(x.shape[-1])
        inside = xp.minimum(xp.maximum(x, on_device(box.low, x)), on_device(box.high, x))
        missing = xp.isnan(x)
        if is_jax_array(x) or bool(xp.any(missing)):  # JAX may be compiling this, and there are no values yet
            return xp.where(missing, on_device(box.center, x), inside)
        return inside

    @np.errstate(all="ignore")
    def to_unit(self, x: Any) -> Any:
        """Return rows mapped into the unit ball."""
        t = self.clip(x)  # ours, so that working in place changes nobody's rows and saves allocations
        box = self.for_columns(t.shape[-1])
        t -= on_device(box.center, t)
        t /= on_device(box._half, t)
        t = array_namespace(t).clip(t, -1.0, 1.0)
        t *= _inverse_root(box.dimension)
        return t
