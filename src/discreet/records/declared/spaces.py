"""Declared spaces that rows are clipped into: ``Box``, one interval a column, and ``Ball``, a radius around a centre.

A space is declared by whoever knows the meaning of the columns, never taken from the rows: the least and the largest
value of a column are themselves secrets of single rows.

Two guarantees hold for every row, NaN and infinities included, in floats and not only on paper:

- ``clip(x)`` lies in the space, and ``to_unit(x)`` has Euclidean norm at most 1;
- a row becomes the same floats whatever rows stand beside it: only elementwise operations and sums over columns in
  a fixed order are used. So a neighbour that lacks one row changes no bit of the others.

**Why a clipped row lies in the box.** ``Box`` has the proof.

**Why a clipped row lies in the ball.** Let u = 2⁻⁵³, L = ⌈log₂ d⌉, a = (L + 16)u. For a row x let z = fl(x − c),
m the largest |z_i|, w = fl(z/m), and q the square root of the sum of w_i², the columns added in pairs (L levels). Each
coordinate of z is off by a factor 1 ± u, of w by another, each square by another, the sum by L; the root halves all
that and adds one: m·q is ‖x − c‖ times 1 ± (L/2 + 5)u. No step overflows (1 ≤ q ≤ √d), and what underflows is below
10⁻³²³ against a radius of at least 10⁻³⁰⁰. (torch's square root on the CPU can be off by one rounding more; there is
room for it.)

- A row stays as it is where m ≤ fl(r_in/q), r_in = r(1 − a). Then ‖x − c‖ ≤ r_in(1 + (L/2 + 7)u) ≤ r.
- Any other row becomes c + y, y = w·(t/q) with t = r(1 − 3a) − 2u(‖c‖ + r). Then ‖y‖ ≤ t(1 + a), adding c rounds by at
  most u(‖c‖ + ‖y‖) in norm, and so it comes within r(1 − 2a) of c: inside, and so far inside that a second clipping
  leaves it as it is.

Most rows are far inside, which a cheaper test shows. Where the plain sum of the squares of z, in any order, is at most
r²(1 − 10⁻⁶), the first case holds: the sum's relative error is below (d + 3)u, and squares that underflow do not matter
for a radius of 10⁻¹⁰⁰ or more. Only the other rows take the steps above. Which test a row takes changes none of its
bits.

A row inside of the ball that is closer than (L + 16)u·r to the sphere moves by some 10⁻¹⁵(‖c‖ + r). That is the price
of a bound that holds in floats.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_jax_array, is_numpy_array
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import ArgumentError, integer, iterable
from discreet.plain import from_plain, register_kind, to_plain

Vector = float | tuple[float, ...]

UNIT_ROUNDOFF = 2.0**-53
# Bounds stay away from the ends of the float range, so that no map of a space can overflow or lose digits.
LARGEST, SMALLEST = 1e300, 1e-300
WRITE_BOX = "for example Box(low=[0, 40], high=[120, 250])"
NO_NUMBERS = (str, bytes, bool, np.bool_, np.complexfloating, np.ndarray)  # although float() takes them


@dataclass(frozen=True)
class Space(ABC):
    """A set that rows are declared to lie in: a ``Box`` or a ``Ball``.

    A bound may be one number for all columns. While all bounds are, the number of columns is open.
    """

    if TYPE_CHECKING:  # a ball has it as a field, which an abstract property would hide

        @property
        def center(self) -> Vector:
            """The point that ``to_unit`` maps to zero."""

    _kinds: ClassVar[dict[str, type[Space]]] = {}
    _by_column: ClassVar[tuple[str, ...]]  # the fields that hold one number, or one a column

    def __init_subclass__(cls) -> None:
        register_kind(Space._kinds, cls)

    @property
    def columns(self) -> int | None:
        """The number of columns, None while it is open."""
        bounds = (getattr(self, name) for name in self._by_column)
        return max((len(bound) for bound in bounds if isinstance(bound, tuple)), default=None)

    def for_columns(self, columns: int) -> Self:
        """Return the space with one bound for each of ``columns`` columns; an error where the sizes differ.

        >>> from discreet.records import Ball, Box
        >>> Box(0, [1, 2]).for_columns(2)
        Box(low=(0.0, 0.0), high=(1.0, 2.0))
        >>> Ball(2, center=1).for_columns(3)
        Ball(radius=2.0, center=(1.0, 1.0, 1.0))
        """
        bounds = {name: getattr(self, name) for name in self._by_column}
        spread = {name: spread_over(name, bound, columns) for name, bound in bounds.items()}
        return self if all(spread[name] is bounds[name] for name in bounds) else replace(self, **spread)

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


def spread_over(name: str, value: Vector, columns: int) -> tuple[float, ...]:
    """Return one value a column."""
    if not isinstance(value, tuple):
        return (value,) * integer("columns", columns, least=1, most=2**31)
    if len(value) != columns:
        raise ValueError(f"{name} has {len(value)} values: expected one for all, or one for each of {columns} columns")
    return value


def as_floats(x: Any) -> tuple[Any, Any]:
    """Return the namespace of ``x`` and ``x`` in float64; lists and frames become NumPy arrays."""
    x = x if is_array_api_obj(x) else _convert_to_floats(x)
    if x.ndim == 0:
        raise ValueError("rows: expected an array whose last axis is the columns, got a single number")
    xp = array_namespace(x)
    return xp, xp.astype(x, xp.float64, copy=False)


def _convert_to_floats(x: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # whose text may show a row
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
    _by_column = ("low", "high")

    def __init__(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> None:
        low, high = vector("low", low, WRITE_BOX), vector("high", high, WRITE_BOX)
        set_fields(self, low=low, high=high)
        for a, b in self._ends:  # raises where there are not as many of both
            check_ends(a, b, WRITE_BOX)

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], ...]:
        """The two ends of each column; of one while their number is open."""
        columns = self.columns or 1
        return tuple(zip(spread_over("low", self.low, columns), spread_over("high", self.high, columns), strict=True))

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

    @classmethod
    def holding(cls, ball: Ball) -> Self:
        """Return the box around a ball, for rows whose columns are declared one by one.

        >>> from discreet.records import Ball
        >>> Box.holding(Ball(2, center=[0, 50]))
        Box(low=(-2.0, 48.0), high=(2.0, 52.0))
        """
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


Array = NDArray[np.float64]

WRITE_BALL = "for example Ball(radius=10) or Ball(radius=10, center=[0, 50])"

# Rows beyond this are divided by 4 before the centre is taken off, so that the difference cannot overflow. They are
# outside of every ball that can be declared.
HUGE = 2.0**1000
GREATEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, init=False)
class Ball(Space):
    """Rows within ``radius`` of ``center``.

    Rows outside are moved radially onto the ball: their direction from the centre stays. A NaN coordinate counts as
    the centre's; where coordinates are infinite, the row points along those alone.

    Parameters
    ----------
    radius : float
        Declared; above 0.
    center : float, sequence of float or None
        One number for all columns or one a column; None for the origin.

    Examples
    --------
    >>> ball = Ball(radius=5)
    >>> ball.clip([[3.0, 1.0], [1e308, 1e308]]).round(4).tolist()
    [[3.0, 1.0], [3.5355, 3.5355]]
    >>> ball.to_unit([[3.0, 1.0]]).tolist()
    [[0.6, 0.2]]
    >>> Ball(radius=0)
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: radius=0: expected a number from 1e-300 to 1e+300; write for example ...
    """

    radius: float
    center: Vector
    _by_column = ("center",)

    def __init__(self, radius: float | None = None, center: ArrayLike | None = None) -> None:
        number = vector("radius", radius, WRITE_BALL)
        if isinstance(number, tuple) or not SMALLEST <= number <= LARGEST:
            raise ArgumentError("radius", radius, f"a number from {SMALLEST:g} to {LARGEST:g}", WRITE_BALL)
        middle = vector("center", 0.0 if center is None else center, WRITE_BALL)
        set_fields(self, radius=number, center=middle)
        if self.columns is not None and not self._target > number / 2.0:
            raise ValueError(
                f"radius={number!r}: expected a radius that floats can tell apart from the center's rounding, at least "
                f"{16 * UNIT_ROUNDOFF * self._reach:.2g} here"
            )

    @property
    def scale(self) -> tuple[float, ...]:
        """The radius, for every column."""
        return (self.radius,) * self.dimension

    @property
    def around(self) -> Self:
        """The ball itself."""
        return self

    @property
    def _margin(self) -> float:  # a of the module's docstring
        return (math.ceil(math.log2(self.dimension)) + 16) * UNIT_ROUNDOFF

    @property
    def _reach(self) -> float:  # ‖c‖ + r; coordinates are at most 1e300, hypot does not overflow below 1e16 of them
        return math.hypot(*self.center) + self.radius  # type: ignore[misc]

    @property
    def _target(self) -> float:  # t of the module's docstring
        return self.radius * (1.0 - 3.0 * self._margin) - 2.0 * UNIT_ROUNDOFF * self._reach

    @np.errstate(all="ignore")
    def clip(self, x: Any) -> Any:
        """Return rows moved radially into the ball, as float64."""
        _, x = as_floats(x)
        ball = self.for_columns(x.shape[-1])
        if is_numpy_array(x):
            clipped = x.copy()  # a block is never a view of somebody's data, and nobody can change it meanwhile
            far_inside, _ = ball._far_inside(clipped)
            if not far_inside.all():
                clipped[~far_inside] = ball._clip(clipped[~far_inside])
            return clipped
        return ball._clip(x)

    def _clip(self, x: Any) -> Any:
        xp = array_namespace(x)
        polar = self._polar(x)
        outside = polar.direction
        outside *= on_device(self._target, x) / polar.norm
        outside += on_device(self.center, x)
        kept = xp.where(xp.isnan(x), on_device(self.center, x), x)
        return xp.where(polar.inside, kept, outside)

    @np.errstate(all="ignore")
    def to_unit(self, x: Any) -> Any:
        """Return rows mapped into the unit ball."""
        _, x = as_floats(x)
        ball = self.for_columns(x.shape[-1])
        if is_numpy_array(x):
            far_inside, z = ball._far_inside(x)
            z /= ball.radius
            if not far_inside.all():
                z[~far_inside] = ball._to_unit(x[~far_inside])
            return z
        return ball._to_unit(x)

    def _to_unit(self, x: Any) -> Any:
        polar = self._polar(x)
        outside, inside = polar.direction, polar.difference  # both ours: worked on in place
        outside *= on_device(1.0 - 3.0 * self._margin, x) / polar.norm
        inside /= on_device(self.radius, x)
        return array_namespace(x).where(polar.inside, inside, outside)

    def _far_inside(self, x: Array) -> tuple[NDArray[np.bool_], Array]:
        """Return which rows are surely left as they are, and x − c; see the module's docstring."""
        z = x - on_device(self.center, x)
        if not 1e-100 <= self.radius <= 1e100:
            return np.zeros(x.shape[:-1], dtype=np.bool_), z
        return np.einsum("...d,...d->...", z, z) <= self.radius**2 * (1.0 - 1e-6), z

    def _polar(self, x: Any) -> _Polar:
        """Return z, w, q and whether the row is left as it is; see the module's docstring."""
        xp = array_namespace(x)
        center = on_device(self.center, x)
        if not is_jax_array(x) and bool(xp.all(xp.abs(x) <= HUGE)):  # JAX may be compiling this, without values
            z, huge = x - center, None
        else:
            z, huge = _extreme_difference(x, center)
        largest = _fold(xp.maximum, xp.abs(z))
        zero = largest == 0.0
        w = z / xp.where(zero, xp.ones_like(largest), largest)
        norm = xp.sqrt(_fold(xp.add, w * w))
        norm = xp.where(zero, xp.ones_like(norm), norm)
        inside = largest <= on_device(self.radius * (1.0 - self._margin), x) / norm
        return _Polar(z, w, norm, inside if huge is None else inside & ~huge)


def _extreme_difference(x: Any, center: Any) -> tuple[Any, Any]:
    """Return x − c where x may be NaN, infinite or beyond ``HUGE``, and which rows are; those come divided by 4.

    A row that is none of this gets the same floats as from x − c.
    """
    xp = array_namespace(x)
    zero = xp.zeros_like(x)
    infinite = xp.isinf(x)
    # An infinite coordinate outweighs every finite one.
    along = xp.where(infinite, xp.sign(x) * GREATEST, zero)
    x = xp.where(xp.any(infinite, axis=-1, keepdims=True), along, x)
    missing = xp.isnan(x)
    huge = xp.max(xp.where(missing, zero, xp.abs(x)), axis=-1, keepdims=True) > HUGE
    z = xp.where(huge, x * 0.25 - center * 0.25, x - center)
    return xp.where(missing, zero, z), huge


class _Polar(NamedTuple):
    difference: Any
    direction: Any
    norm: Any
    inside: Any


def _fold(pair: Callable[[Any, Any], Any], x: Any) -> Any:
    """Return sums or maxima over the last axis, kept as a column, taking columns in pairs.

    The order is ours and not the backend's, so that a row's sum does not depend on the rows around it, and its error is
    at most ⌈log₂ d⌉ roundings.
    """
    while (width := x.shape[-1]) > 1:
        half = width // 2
        pairs = pair(x[..., :half], x[..., half : 2 * half])
        if width % 2:  # the odd column waits for the next level, so the depth stays ⌈log₂ d⌉
            pairs = array_namespace(x).concat([pairs, x[..., 2 * half :]], axis=-1)
        x = pairs
    return x
