"""Noise laws: immutable values that say what the noise is, draw it, and put it on a statistic.

A law is what a release carries with it, so that whoever reads the release knows the distribution of its error.
Each is an integer number of steps of a grid, drawn without a float by all but ``EuclideanNoise``. On the grid

    released value = grid · (round(value/grid) + integer noise).

What the grid costs. Rounding moves each coordinate by at most half a step, the division value/grid by at most half a
step more as long as it stays within 2⁵² steps. So the statistics of two neighbours come at most 2·grid a coordinate
further apart: 2·grid·√D in L2 and 2·grid·D in L1 over D coordinates, to be added to the sensitivity. At a grid of
σ/2⁴⁰ that is 6e-9 of σ for ten million coordinates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import isabstract
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import integer, positive
from discreet.noise.bits import Bits
from discreet.noise.filling import Integers, Size
from discreet.plain import from_plain, to_plain

__all__ = [
    "FINEST",
    "Array",
    "GridNoise",
    "Law",
    "RoundedNoise",
    "as_numbers",
    "check_grid",
    "exact_ratio",
    "finest",
    "scale_for",
    "upper",
]

Array = NDArray[np.float64]

LARGEST = 2.0**52  # steps that a statistic may be from zero: so far floats hold every integer and every half
FINEST = 40  # binary digits of a standard deviation that the grid has, unless the statistic is too large for it


class Law(ABC):
    """The distribution of noise. Its subclasses are frozen dataclasses.

    Attributes
    ----------
    scale : float
        In the statistic's units.
    exact : bool
        Whether draws have the law exactly, or only as nearly as floats do.
    """

    scale: float
    exact: ClassVar[bool]

    _kinds: ClassVar[dict[str, type[Law]]] = {}

    def __init_subclass__(cls) -> None:
        Law._kinds[cls.__name__] = cls

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of one coordinate's noise, in the statistic's units."""

    @abstractmethod
    def half_width(self, level: float) -> float:
        """Return h so that one coordinate's noise lies in [−h, h] with probability ``level`` or a little more."""

    @abstractmethod
    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return ``values`` with noise."""

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain values, for JSON; ``from_dict`` reads it back.

        >>> from discreet.noise import GaussianNoise
        >>> GaussianNoise(2.0).to_dict()
        {'kind': 'GaussianNoise', 'scale': 2.0, 'fineness': 40}
        """
        return to_plain(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Law:
        """Return the law that ``to_dict`` described."""
        return from_plain({name: kind for name, kind in Law._kinds.items() if not isabstract(kind)}, values)


class GridNoise(Law):
    """Integer noise on a grid."""

    exact = True

    @property
    @abstractmethod
    def grid(self) -> float:
        """The step of the grid, in the statistic's units."""

    @abstractmethod
    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws, as whole numbers of grid steps."""

    def steps(self, values: ArrayLike) -> Integers:
        """Return the statistic rounded to the grid, as whole numbers of steps.

        It must be finite and within 2⁵² steps, which the caller's clipping and a public bound have to ensure: an error
        here depends on the data.
        """
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            ratio = np.rint(as_numbers(values) / self.grid)
        if not np.all(np.abs(ratio) <= LARGEST):
            raise OverflowError("values: expected finite numbers within 2**52 grid steps; nothing was released")
        return ratio.astype(np.int64)

    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return ``values`` put on the grid, with noise."""
        steps = self.steps(values)
        noisy = steps + self.sample(steps.shape, bits)  # at most 2⁵² and 2⁶²: cannot wrap
        return np.asarray(noisy * self.grid, dtype=np.float64)


@dataclass(frozen=True)
class RoundedNoise(GridNoise):
    """Noise of a continuous law, rounded to a grid of the scale over a power of two.

    Rounding the output is post-processing, so what is known of the continuous mechanism holds exactly.

    Parameters
    ----------
    scale : float
    fineness : int
        m, from 0 to 52: the grid is scale/2^m.
    """

    scale: float
    fineness: int = FINEST

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "fineness", integer("fineness", self.fineness, least=0, most=52))
        check_grid(self.grid)

    @property
    def grid(self) -> float:
        """The scale over 2^m."""
        return math.ldexp(self.scale, -self.fineness)


def as_numbers(values: ArrayLike) -> Array:
    """Return an array of floats; text and objects are refused, not converted."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"values: expected numbers, got an array of {array.dtype}")
    return array.astype(np.float64)


def finest(scale: float, largest: float) -> int:
    """Return how many times ``scale`` may be halved so that ``largest`` is still within 2⁵² steps, at most 40."""
    if scale > 1e290:
        raise ValueError(f"noise of scale {scale!r} would overflow; expected a larger ε, or tighter bounds on the rows")
    fits = FINEST
    while fits >= 8 and largest > math.ldexp(scale, 52 - fits):  # exact: no rounding could let one step too many in
        fits -= 1
    if fits < 8 or not scale > 0.0:
        raise ValueError(
            f"largest={largest!r}: a statistic of this size and noise of scale {scale!r} do not fit one grid; "
            "expected tighter bounds on the rows, or more noise"
        )
    return fits


def scale_for(sensitivity: float, budget: float, share: float) -> float:
    """Return a scale with sensitivity + share·scale ≤ budget·scale: sensitivity/(budget − share), rounded up.

    The share of a step loses 2·2⁻⁵³ of itself and is at most a hundredth of the budget, the difference and the quotient
    lose 2⁻⁵³ of themselves: together less than 2.1·2⁻⁵³. 4·2⁻⁵³ are added, of which the product may lose one.
    """
    if not share < 0.01 * budget:
        raise ValueError(
            "largest: the grid that holds a statistic of this size would cost more than a hundredth of the budget; "
            "expected tighter bounds on the rows, or a larger budget"
        )
    return sensitivity / (budget - share) * (1.0 + 2.0**-51)


def upper(number: Fraction) -> float:
    """Return the smallest float that is not below a number."""
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def check_grid(grid: float) -> None:
    """Refuse a grid at the edge of what floats hold."""
    if not 1e-290 < grid < 1e290:
        raise ValueError(f"scale: the grid would be {grid!r}; expected a scale between about 1e-270 and 1e280")


def exact_ratio(scale: float, step: float) -> float:
    """Return scale/step, which must be exact."""
    ratio = scale / step
    if not 2.0**-8 <= ratio <= 2.0**48 or Fraction(ratio) * Fraction(step) != Fraction(scale):
        raise ValueError(
            f"scale={scale!r}, step={step!r}: expected a scale of 2**-8 to 2**48 steps, their ratio exactly a float; "
            "take a step that is a power of two"
        )
    return ratio
