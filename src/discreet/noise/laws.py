"""Noise laws: immutable values that say what the noise is, draw it, and put it on a statistic.

A law is what a release carries with it, so that whoever reads the release knows the distribution of its error.
All but ``EuclideanNoise`` are exact: an integer number of steps of a grid, drawn without a float. On the grid

    released value = grid · (round(value/grid) + integer noise).

What the grid costs. Rounding moves each coordinate by at most half a step, the division value/grid by at most half a
step more as long as it stays within 2⁵² steps. So the statistics of two neighbours come at most 2·grid a coordinate
further apart: 2·grid·√D in L2 and 2·grid·D in L1 over D coordinates, to be added to the sensitivity. At a grid of
σ/2⁴⁰ that is 6e-9 of σ for ten million coordinates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, ndtri

from discreet.arguments import integer, positive, probability
from discreet.noise import reference
from discreet.noise.bits import Bits, SecureBits
from discreet.noise.filling import Integers, Size, draw

__all__ = ["DiscreteGaussianNoise", "EuclideanNoise", "GaussianNoise", "GeometricNoise", "GridNoise"]

Array = NDArray[np.float64]

LARGEST = 2.0**52  # steps that a statistic may be from zero: so far floats hold every integer and every half
FINEST = 40  # binary digits of a standard deviation that the grid has, unless the statistic is too large for it


def finest(scale: float, largest: float) -> int:
    """Return how many times ``scale`` may be halved so that ``largest`` is still within 2⁵² steps, at most 40."""
    fits = math.floor(math.log2(LARGEST) - math.log2(max(largest / scale, 1.0)))
    if fits < 8:
        raise ValueError(
            f"largest={largest!r}: a statistic of this size and noise of scale {scale!r} do not fit one grid; "
            "expected tighter bounds on the rows, or more noise"
        )
    return min(FINEST, fits)


class GridNoise(ABC):
    """Integer noise on a grid."""

    scale: float
    exact = True

    @property
    @abstractmethod
    def grid(self) -> float:
        """The step of the grid, in the statistic's units."""

    @abstractmethod
    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws, as whole numbers of grid steps."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of one coordinate's noise, in the statistic's units."""

    @abstractmethod
    def half_width(self, level: float) -> float:
        """Return h so that the noise lies in [−h, h] with probability ``level`` or a little more."""

    def steps(self, values: ArrayLike) -> Integers:
        """Return the statistic on the grid; its size must be within 2⁵² steps, which a public bound has to ensure."""
        ratio = np.rint(np.asarray(values, dtype=np.float64) / self.grid)
        if not np.all(np.abs(ratio) <= LARGEST):
            raise OverflowError("the statistic is beyond 2**52 grid steps; nothing was released")
        return ratio.astype(np.int64)

    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return ``values`` put on the grid, with noise."""
        steps = self.steps(values)
        noisy = steps + self.sample(steps.shape, bits)  # at most 2⁵² and 2⁶²: cannot wrap
        return np.asarray(noisy * self.grid, dtype=np.float64)


@dataclass(frozen=True)
class GaussianNoise(GridNoise):
    """round(2^m Z)/2^m times the scale, Z standard normal: the Gaussian mechanism, rounded.

    Since rounding the output is post-processing, the accounting of the ideal Gaussian mechanism holds exactly:
    ``GaussianLoss(sensitivity/scale)``. (``discreet.noise.reference`` has the proof.)

    Parameters
    ----------
    scale : float
        The standard deviation σ.
    fineness : int
        m, from 0 to 52: the grid is σ/2^m.

    Examples
    --------
    >>> law = GaussianNoise(3.0)
    >>> released = law.add([10.0, 20.0])
    >>> released.shape, law.grid == 3.0 / 2**40, round(law.half_width(0.95), 3)
    ((2,), True, 5.88)
    """

    scale: float
    fineness: int = FINEST

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "fineness", integer("fineness", self.fineness, least=0, most=52))
        _check_grid(self.grid)

    @classmethod
    def for_query(cls, *, mu: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the law with which a query costs exactly ``GaussianLoss(mu)``, the grid's share charged.

        The neighbours' statistics are at most Δ + 2·grid·√D apart once they are on the grid, and grid = σ/2^m, so
        σ = Δ/(μ − 2√D/2^m) makes that μσ.

        Parameters
        ----------
        mu : float
            The loss to keep.
        sensitivity : float
            Δ: how far apart, in L2, two neighbours' statistics are as floats; float error included.
        largest : float
            A public bound on the size of every coordinate.
        size : int
            D, the number of coordinates.

        Examples
        --------
        >>> law = GaussianNoise.for_query(mu=0.25, sensitivity=73.0, largest=1e6)
        >>> round(law.scale, 6), law.fineness
        (292.0, 40)
        """
        mu, sensitivity = positive("mu", mu), positive("sensitivity", sensitivity)
        m = finest(sensitivity / mu, positive("largest", largest))
        share = 2.0 * math.sqrt(integer("size", size, least=1)) * 2.0**-m
        return cls(sensitivity / _left(mu, share), m)

    @property
    def grid(self) -> float:
        """σ/2^m."""
        return math.ldexp(self.scale, -self.fineness)

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of round(2^m Z)."""
        m = self.fineness
        return draw(size, bits, "NORMAL", n=m, slow=lambda word, more: reference.normal(word, more, m))

    @property
    def variance(self) -> float:
        """σ² + grid²/12, rounding being as good as independent of Z unless m is 0 or 1."""
        return self.scale**2 + self.grid**2 / 12.0

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and half a step."""
        return self.scale * float(ndtri((1.0 + probability("level", level)) / 2.0)) + self.grid / 2.0


@dataclass(frozen=True)
class GeometricNoise(GridNoise):
    """P(k) ∝ e^(−|k|·grid/scale): the Laplace mechanism on a grid.

    A sensitivity of so many steps costs ``GeometricLoss(steps·grid/scale, steps)``.

    Parameters
    ----------
    scale : float
        b of the Laplace distribution, in the statistic's units.
    step : float
        The grid. 1 for counts; ``for_query`` chooses it for real numbers. scale/step must be a
        float, exactly, between 2⁻⁸ and 2⁴⁸, so that the law is the one that it says.

    Examples
    --------
    >>> counts = GeometricNoise(scale=2.0).add([100, 0, 7])
    >>> bool((counts == counts.round()).all())
    True
    """

    scale: float
    step: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "step", positive("step", self.step))
        _check_grid(self.step)
        _ratio(self.scale, self.step)

    @classmethod
    def for_query(cls, *, epsilon: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the law with which a query of real numbers is ε-private, the grid's share charged.

        As for ``GaussianNoise``, in L1: b = Δ/(ε − 2D/2^m), and the grid is b/2^m. The sensitivity is then at most
        ⌈ε·2^m⌉ grid steps, which is what ``GeometricLoss`` asks for.

        Examples
        --------
        >>> law = GeometricNoise.for_query(epsilon=0.5, sensitivity=1.0, largest=100.0)
        >>> round(law.scale, 6), law.scale / law.grid == 2.0**40
        (2.0, True)
        """
        epsilon, sensitivity = positive("epsilon", epsilon), positive("sensitivity", sensitivity)
        m = finest(sensitivity / epsilon, positive("largest", largest))
        share = 2.0 * integer("size", size, least=1) * 2.0**-m
        scale = sensitivity / _left(epsilon, share)
        return cls(scale, math.ldexp(scale, -m))

    @property
    def grid(self) -> float:
        """The step."""
        return self.step

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of the two-sided geometric."""
        n, denominator = _ratio(self.scale, self.step).as_integer_ratio()
        return draw(size, bits, "TWO_SIDED_GEOMETRIC", n=n, shift=denominator.bit_length() - 1)

    @property
    def _rate(self) -> float:
        return self.step / self.scale

    @property
    def variance(self) -> float:
        """2q/(1 − q)² steps squared, q = e^(−grid/scale)."""
        return 2.0 * math.exp(-self._rate) * (self.step / math.expm1(-self._rate)) ** 2

    def half_width(self, level: float) -> float:
        """Return the least number of steps k with 2q^(k+1)/(1 + q) ≤ 1 − level, times the step."""
        tail = (1.0 - probability("level", level)) * (1.0 + math.exp(-self._rate)) / 2.0
        return self.step * max(0, math.ceil(-math.log(tail) / self._rate) - 1)


@dataclass(frozen=True)
class DiscreteGaussianNoise(GridNoise):
    """P(k) ∝ e^(−k²·grid²/(2·scale²)): the discrete Gaussian of Canonne, Kamath and Steinke (2020).

    An option beside ``GaussianNoise``: it is known to be zCDP, ``ZcdpLoss((sensitivity/scale)²/2)``, and not known to
    meet the Gaussian mechanism's exact curve, so it costs a little more for the same noise.

    Parameters
    ----------
    scale : float
        σ, in the statistic's units.
    step : float
        The grid; 1 for counts. scale/step as in ``GeometricNoise``.

    Examples
    --------
    >>> DiscreteGaussianNoise(5.0).sample(3).dtype
    dtype('int64')
    """

    scale: float
    step: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "step", positive("step", self.step))
        _check_grid(self.step)
        _ratio(self.scale, self.step)

    @property
    def grid(self) -> float:
        """The step."""
        return self.step

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of the discrete Gaussian."""
        sigma = _ratio(self.scale, self.step)
        return draw(
            size,
            bits,
            "DISCRETE_GAUSSIAN",
            sigma=sigma,
            slow=lambda word, more: reference.discrete_gaussian(word, more, sigma),
        )

    @property
    def variance(self) -> float:
        """Below σ² by less than anybody could measure from σ = 2 steps on; summed below that."""
        sigma = self.scale / self.step
        if sigma > 4.0:
            return self.scale**2
        k = np.arange(1, 200)
        weights = np.exp(-((k / sigma) ** 2) / 2.0)
        return self.step**2 * float(2.0 * (k**2 * weights).sum() / (1.0 + 2.0 * weights.sum()))

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and a step: the tail from k on is below the normal's from k − 1 on (ibid.)."""
        return self.scale * float(ndtri((1.0 + probability("level", level)) / 2.0)) + self.step


@dataclass(frozen=True)
class EuclideanNoise:
    """Density ∝ e^(−‖z‖/scale) over vectors: equation 7 of Sarwate and Chaudhuri (2013).

    With scale = Δ/ε for L2 sensitivity Δ it is purely ε-private, ``PureLoss(ε)``, in ideal arithmetic. Drawn here with
    floats (a gamma radius and a uniform direction), so ``exact`` is False: the low bits of a float may tell more
    than the density does (Mironov 2012). A baseline to compare with; for a release take ``GaussianNoise``.

    Parameters
    ----------
    scale : float
    dimension : int

    Examples
    --------
    >>> EuclideanNoise(1.0, dimension=3).add([0.0, 0.0, 0.0]).shape
    (3,)
    """

    scale: float
    dimension: int
    exact = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "dimension", integer("dimension", self.dimension, least=1))

    def sample(self, count: int, bits: Bits | None = None) -> Array:
        """Return ``count`` vectors of noise, a row each."""
        bits = SecureBits() if bits is None else bits
        normal = GaussianNoise(1.0).sample((count, self.dimension), bits)
        direction = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        uniform = ((bits.words(count) >> np.uint64(11)) + 0.5) * 2.0**-53
        noise: Array = self.scale * gammaincinv(self.dimension, uniform)[:, None] * direction
        return noise

    def add(self, values: ArrayLike, bits: Bits | None = None) -> Array:
        """Return the vector ``values`` with noise."""
        vector = np.asarray(values, dtype=np.float64)
        if vector.shape != (self.dimension,):
            raise ValueError(f"values: expected a vector of length {self.dimension}, got shape {vector.shape}")
        noisy: Array = vector + self.sample(1, bits)[0]
        return noisy

    @property
    def variance(self) -> float:
        """(d + 1)·scale² a coordinate, the mean of ‖z‖² being d(d + 1)·scale²."""
        return (self.dimension + 1.0) * self.scale**2


def _left(budget: float, share: float) -> float:
    """Return what the grid leaves of μ or ε."""
    if not share < 0.01 * budget:
        raise ValueError(
            "largest: the grid that holds a statistic of this size would cost more than a hundredth of the budget; "
            "expected tighter bounds on the rows, or a larger budget"
        )
    return budget - share


def _check_grid(grid: float) -> None:
    if not 1e-290 < grid < 1e290:
        raise ValueError(f"scale: the grid would be {grid!r}; expected a scale between about 1e-270 and 1e280")


def _ratio(scale: float, step: float) -> float:
    """Return scale/step, which must be exact."""
    ratio = scale / step
    if not 2.0**-8 <= ratio <= 2.0**48 or Fraction(ratio) * Fraction(step) != Fraction(scale):
        raise ValueError(
            f"step={step!r}: expected one of which scale={scale!r} is a multiple, from 2**-8 to 2**48, that a float "
            "holds exactly; take a power of two"
        )
    return ratio
