"""``Box``: rows between declared bounds, one interval a column, and the map from a box into the unit ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, is_jax_array, is_numpy_array
from numpy.typing import ArrayLike

from discreet.arguments import ArgumentError
from discreet.records.declared.ball import Ball
from discreet.records.declared.declared_numbers import Vector, as_vector, broadcast, check_interval, set_fields
from discreet.records.declared.space import Space
from discreet.records.generic_arrays import as_floats, on_device

WRITE_BOX = "for example Box(low=[0, 40], high=[120, 250])"


@lru_cache(maxsize=64)
def _inverse_root(d: int) -> float:
    """Return the largest float s with d·s² ≤ 1, found in exact fractions."""
    s = 1.0 / math.sqrt(d)
    while d * Fraction(s) ** 2 > 1:
        s = math.nextafter(s, 0.0)
    return s


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
        low, high = as_vector("low", low, WRITE_BOX), as_vector("high", high, WRITE_BOX)
        set_fields(self, low=low, high=high)
        for a, b in self._ends:  # raises where there are not as many of both
            check_interval(a, b, WRITE_BOX)

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], ...]:
        """The two ends of each column; of one while their number is open."""
        columns = self.columns or 1
        return tuple(zip(broadcast("low", self.low, columns), broadcast("high", self.high, columns), strict=True))

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

    @property
    def unit_map(self) -> tuple[Vector, ...]:
        """What ``to_unit`` computes with: the ends, the centre and the half-width of each column, and s."""
        box = self.for_columns(self.dimension)
        return box.low, box.high, box.center, box._half, _inverse_root(self.dimension)

    @np.errstate(all="ignore")
    def clip(self, x: Any) -> Any:
        """Return rows moved into the box, as float64; a NaN goes to the middle of its column."""
        xp, x = as_floats(x)
        box = self.for_columns(x.shape[-1])
        inside = xp.maximum(x, on_device(box.low, x))
        if is_numpy_array(x):  # in place: new memory takes as long as the comparison
            np.minimum(inside, on_device(box.high, x), out=inside)
            if not math.isnan(inside.sum()):
                return inside
        else:
            inside = xp.minimum(inside, on_device(box.high, x))
        missing = xp.isnan(x)
        if is_jax_array(x) or bool(xp.any(missing)):  # JAX may be compiling this, and there are no values yet
            return xp.where(missing, on_device(box.center, x), inside)
        return inside

    @np.errstate(all="ignore")
    def to_unit(self, x: Any) -> Any:
        """Return rows mapped into the unit ball."""
        t = self.clip(x)  # a copy of our own: working in place saves allocations and changes no rows of the caller
        box = self.for_columns(t.shape[-1])
        t -= on_device(box.center, t)
        t /= on_device(box._half, t)
        t = np.clip(t, -1.0, 1.0, out=t) if is_numpy_array(t) else array_namespace(t).clip(t, -1.0, 1.0)
        t *= _inverse_root(box.dimension)
        return t
