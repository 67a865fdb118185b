"""Laplace noise on a grid: the rounded Laplace for real numbers, the two-sided geometric for counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from discreet.arguments import integer, positive, probability
from discreet.guarantees import GeometricLoss, LaplaceLoss, Loss, Neighbors
from discreet.noise.bits import Bits
from discreet.noise.laws import Integers, RoundedNoise, Size, StepNoise, draw_integers, fit_grid, upper

__all__ = ["GeometricNoise", "LaplaceNoise"]


@dataclass(frozen=True)
class LaplaceNoise(RoundedNoise):
    """round(2^m L)/2^m times the scale, L standard Laplace: the Laplace mechanism, rounded.

    Since rounding the output is post-processing, the curve of the ideal Laplace mechanism holds exactly. (The two-sided
    geometric on the same grid is ε-private too, but its curve lies a little above.)

    Parameters
    ----------
    scale : float
        b, in the statistic's units.
    fineness : int
        m, from 0 to 52: the grid is b/2^m.

    Examples
    --------
    >>> law = LaplaceNoise(3.0)
    >>> law.add([10.0, 20.0]).shape, round(law.half_width(0.95), 3)
    ((2,), 8.987)
    """

    norm = "l1"
    normal = False
    priced = LaplaceLoss

    @classmethod
    def for_query(cls, *, epsilon: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the law with which a query costs at most ``LaplaceLoss(epsilon)``, the grid's share charged.

        As for ``GaussianNoise``, in L1: the statistics are at most Δ + 2·grid·D apart, so b = Δ/(ε − 2D/2^m), rounded
        up. The law does not remember ``largest`` and ``size``.

        Examples
        --------
        >>> law = LaplaceNoise.for_query(epsilon=0.5, sensitivity=1.0, largest=100.0)
        >>> round(law.scale, 6), law.fineness
        (2.0, 40)
        """
        steps = 2.0 * integer("size", size, least=1)
        return cls(*fit_grid(positive("epsilon", epsilon), sensitivity, largest, steps))

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of round(2^m L)."""
        return draw_integers(size, bits, "LAPLACE", self.fineness)

    def least_scale(self, loss: Loss, sensitivity: float) -> float:
        """Return Δ/ε."""
        return sensitivity / loss.epsilon if isinstance(loss, LaplaceLoss) else math.inf

    @property
    def variance(self) -> float:
        """2b² + grid²/12, or a little less on a coarse grid."""
        return 2.0 * self.scale * self.scale + self.grid * self.grid / 12.0

    def half_width(self, level: float) -> float:
        """Return −b·ln(1 − level) and half a step."""
        return -self.scale * math.log1p(-probability("level", level)) + self.grid / 2.0

    def _tail(self, sizes: Sequence[float], beyond: float) -> float:
        """Return Σ_i A_i e^(−beyond/b_i), b_i = c_i·b and A_i the product over j ≠ i of b_i²/(b_i² − b_j²).

        By partial fractions of the characteristic functions 1/(1 + b_i²t²). Scales that are equal are taken a little
        apart, upwards.
        """
        scales = [sizes[0] * self.scale]
        for one in sizes[1:]:
            scales.append(max(one * self.scale, 1.01 * scales[-1]))
        total = 0.0
        for one in scales:
            others = math.prod(one * one / (one * one - other * other) for other in scales if other != one)
            total += others * math.exp(-beyond / one)
        return min(max(total, 0.0), 1.0)


@dataclass(frozen=True)
class GeometricNoise(StepNoise):
    """P(k) ∝ e^(−|k|·grid/scale): the Laplace mechanism for whole numbers, such as counts.

    What it is added to is rounded to the grid first. Whole numbers on a grid of 1, such as counts, stay as they are;
    the sensitivity of anything else grows by 2·grid a coordinate.

    Parameters
    ----------
    scale : float
        b of the Laplace distribution, in the statistic's units.
    step : float
        The grid; see ``StepNoise``.

    Examples
    --------
    >>> counts = GeometricNoise(scale=2.0).add([100, 0, 7])
    >>> bool((counts == counts.round()).all())
    True
    """

    norm = "l1"
    normal = False

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of the two-sided geometric."""
        n, denominator = self.ratio.as_integer_ratio()
        return draw_integers(size, bits, "TWO_SIDED_GEOMETRIC", n, denominator.bit_length() - 1)

    def loss(self, sensitivity: float, neighbors: Neighbors | str = Neighbors.REPLACE_ONE) -> GeometricLoss:
        """Return what a statistic costs whose L1 sensitivity, once it is on the grid, is this much.

        On the grid it is a whole number of steps, so anything in between counts as the next one.

        Examples
        --------
        A replaced row moves two counts of a histogram by 1 each, so ε = 1 takes a scale of 2:

        >>> GeometricNoise(scale=2.0).loss(sensitivity=2)
        GeometricLoss(epsilon=1.0, steps=2, neighbors=<Neighbors.REPLACE_ONE: 'replace-one'>)
        """
        steps = math.ceil(Fraction(positive("sensitivity", sensitivity)) / Fraction(self.step))
        epsilon = steps * Fraction(self.step) / Fraction(self.scale)
        return GeometricLoss(upper(epsilon), steps, Neighbors.of(neighbors))

    @property
    def variance(self) -> float:
        """2q/(1 − q)² steps squared, q = e^(−grid/scale)."""
        rate = self.step / self.scale
        return 2.0 * math.exp(-rate) * (self.step / math.expm1(-rate)) ** 2

    def half_width(self, level: float) -> float:
        """Return the least number of steps k with 2q^(k+1)/(1 + q) ≤ 1 − level, times the step."""
        rate = self.step / self.scale
        tail = (1.0 - probability("level", level)) * (1.0 + math.exp(-rate)) / 2.0
        return self.step * max(0, math.ceil(-math.log(tail) / rate) - 1)
