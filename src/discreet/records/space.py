"""What every declared space can do, and how its bounds are read.

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
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, iterable
from discreet.plain import from_plain, to_plain

__all__ = [
    "LARGEST",
    "SMALLEST",
    "UNIT_ROUNDOFF",
    "Space",
    "Vector",
    "as_floats",
    "as_number",
    "on_device",
    "spread",
    "taken",
    "to_host",
    "vector",
]

Vector = float | tuple[float, ...]

UNIT_ROUNDOFF = 2.0**-53
# Bounds stay away from the ends of the float range, so that no map of a space can overflow or lose digits.
LARGEST, SMALLEST = 1e300, 1e-300
NO_NUMBERS = (str, bytes, bool, np.bool_, np.complexfloating, np.ndarray)  # although float() takes them


class Space(ABC):
    """A set that rows are declared to lie in: a ``Box`` or a ``Ball``."""

    if TYPE_CHECKING:  # a ball has it as a field, which an abstract property would hide

        @property
        def center(self) -> Vector:
            """The point that ``to_unit`` maps to zero."""

    _kinds: ClassVar[dict[str, type[Space]]] = {}

    def __init_subclass__(cls) -> None:
        Space._kinds[cls.__name__] = cls

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
        return from_plain(Space._kinds, values)


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
