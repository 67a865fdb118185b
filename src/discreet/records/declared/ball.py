"""``Ball``: rows within a declared radius of a centre, and why a clipped row lies in the ball in floats too.

Let u = 2⁻⁵³, L = ⌈log₂ d⌉, a = (L + 16)u. For a row x let z = fl(x − c),
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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, is_jax_array, is_numpy_array
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import ArgumentError
from discreet.records.declared.declared_numbers import LARGEST, SMALLEST, Vector, as_vector, set_fields
from discreet.records.declared.space import Space
from discreet.records.generic_arrays import UNIT_ROUNDOFF, as_floats, on_device

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
        number = as_vector("radius", radius, WRITE_BALL)
        if isinstance(number, tuple) or not SMALLEST <= number <= LARGEST:
            raise ArgumentError("radius", radius, f"a number from {SMALLEST:g} to {LARGEST:g}", WRITE_BALL)
        middle = as_vector("center", 0.0 if center is None else center, WRITE_BALL)
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

    All other rows get the same floats as from x − c.
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
