"""Gaussian and Laplace noise on a grid: rounded (``GaussianNoise``, ``LaplaceNoise``) or of whole numbers.

The whole-number versions are ``DiscreteGaussianNoise``, and ``GeometricNoise`` for counts. ``grid_noise`` has their
base classes, and what the grid costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.arguments import integer, positive, probability
from discreet.guarantees import GaussianLoss, GeometricLoss, LaplaceLoss, Loss, Neighbors, ZcdpLoss
from discreet.noise.bits import Bits
from discreet.noise.grid_noise import RoundedNoise, StepNoise, fit_grid, round_up
from discreet.noise.integer_draws import Integers, Size, draw_integers

FEW = 6  # terms of a sum of Laplace noise whose partial fractions do not cancel


@dataclass(frozen=True)
class GaussianNoise(RoundedNoise):
    """round(2^m Z)/2^m times the scale, Z standard normal: the Gaussian mechanism, rounded.

    Since rounding the output is post-processing, the accounting of the ideal Gaussian mechanism holds exactly:
    ``GaussianLoss(sensitivity/scale)``. (``discreet.noise.samplers`` has the proof.)

    Parameters
    ----------
    scale : float
        The standard deviation σ.
    fineness : int
        m, from 0 to 52: the grid is σ/2^m.

    Examples
    --------
    >>> noise = GaussianNoise(3.0)
    >>> released = noise.add([10.0, 20.0])
    >>> released.shape, noise.grid == 3.0 / 2**40, round(noise.half_width(0.95), 3)
    ((2,), True, 5.88)
    """

    norm = "l2"
    normal = True
    priced = GaussianLoss

    @classmethod
    def for_query(cls, *, mu: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the noise with which a query costs at most ``GaussianLoss(mu)``, the cost of the grid included.

        The neighbours' statistics are at most Δ + 2·grid·√D apart once they are on the grid, and grid = σ/2^m, so
        σ = Δ/(μ − 2√D/2^m) makes that μσ; it is rounded up (``fit_grid``). The value does not hold ``largest`` and
        ``size``.

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
        >>> noise = GaussianNoise.for_query(mu=0.25, sensitivity=73.0, largest=1e6)
        >>> round(noise.scale, 6), noise.fineness
        (292.0, 40)
        """
        steps = 2.0 * math.sqrt(integer("size", size, least=1, most=2**62))
        return cls(*fit_grid(positive("mu", mu), sensitivity, largest, steps))

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of round(2^m Z)."""
        return draw_integers(size, bits, "NORMAL", self.fineness)

    def least_scale(self, loss: Loss, sensitivity: float) -> float:
        """Return Δ/μ."""
        return math.inf if loss.gaussian is None else sensitivity / loss.gaussian

    @property
    def variance(self) -> float:
        """σ² + grid²/12, rounding being as good as independent of Z unless m is 0 or 1."""
        return self.scale * self.scale + self.grid * self.grid / 12.0

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and half a step."""
        return -self.scale * float(ndtri((1.0 - probability("level", level)) / 2.0)) + self.grid / 2.0

    def _tail(self, sizes: Sequence[float], beyond: float) -> float:
        """Return the tail of a normal variable of variance σ²Σc_i²."""
        return math.erfc(beyond / (self.scale * math.hypot(*sizes) * math.sqrt(2.0)))


@dataclass(frozen=True)
class DiscreteGaussianNoise(StepNoise):
    """P(k) ∝ e^(−k²·grid²/(2·scale²)): the discrete Gaussian of Canonne, Kamath and Steinke (2020).

    An option beside ``GaussianNoise``: it is known to be zCDP, ``ZcdpLoss((sensitivity/scale)²/2)``, and not known to
    meet the Gaussian mechanism's exact curve, so it costs a little more for the same noise.

    Parameters
    ----------
    scale : float
        σ, in the statistic's units.
    step : float
        The grid; see ``StepNoise``.

    Examples
    --------
    >>> DiscreteGaussianNoise(5.0).sample(3).dtype
    dtype('int64')
    """

    norm = "l2"
    normal = True

    def sample(self, size: Size, bits: Bits | None = None) -> Integers:
        """Return draws of the discrete Gaussian."""
        return draw_integers(size, bits, "DISCRETE_GAUSSIAN", self.ratio)

    def loss(self, sensitivity: float, neighbors: Neighbors | str = Neighbors.REPLACE_ONE) -> ZcdpLoss:
        """Return the loss of a statistic whose L2 sensitivity on the grid is Δ: Δ²/(2σ²), rounded up."""
        mu = Fraction(positive("sensitivity", sensitivity)) / Fraction(self.scale)
        return ZcdpLoss(round_up(mu * mu / 2), Neighbors.parse(neighbors))

    @property
    def variance(self) -> float:
        """σ² for σ > 4 steps, where the difference is negligible; summed for smaller σ."""
        sigma = self.ratio
        if sigma > 4.0:
            return self.scale * self.scale
        k = np.arange(1, 200)
        weights = np.exp(-((k / sigma) ** 2) / 2.0)
        return self.step * self.step * float(2.0 * (k**2 * weights).sum() / (1.0 + 2.0 * weights.sum()))

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and a step: the tail from k on is below the normal's from k − 1 on (ibid.)."""
        return -self.scale * float(ndtri((1.0 - probability("level", level)) / 2.0)) + self.step


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
    >>> noise = LaplaceNoise(3.0)
    >>> noise.add([10.0, 20.0]).shape, round(noise.half_width(0.95), 3)
    ((2,), 8.987)
    """

    norm = "l1"
    normal = False
    priced = LaplaceLoss

    @classmethod
    def for_query(cls, *, epsilon: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the noise with which a query costs at most ``LaplaceLoss(epsilon)``, the cost of the grid included.

        As for ``GaussianNoise``, in L1: the statistics are at most Δ + 2·grid·D apart, so b = Δ/(ε − 2D/2^m), rounded
        up. The value does not hold ``largest`` and ``size``.

        Examples
        --------
        >>> noise = LaplaceNoise.for_query(epsilon=0.5, sensitivity=1.0, largest=100.0)
        >>> round(noise.scale, 6), noise.fineness
        (2.0, 40)
        """
        steps = 2.0 * integer("size", size, least=1, most=2**62)
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
        apart, upwards, and many are left to ``_invert_tail``.
        """
        if len(sizes) > FEW:
            return _invert_tail(np.asarray(sizes) * self.scale, beyond)
        scales = [sizes[0] * self.scale]
        for one in sizes[1:]:
            scales.append(max(one * self.scale, 1.01 * scales[-1]))
        total = 0.0
        for one in scales:
            others = math.prod(one * one / (one * one - other * other) for other in scales if other != one)
            total += others * math.exp(-beyond / one)
        return min(max(total, 0.0), 1.0)


def _invert_tail(scales: NDArray[np.float64], beyond: float) -> float:
    """Return P(|S| > beyond) for a sum S of many Laplace variables, or 1e-10 more; by its characteristic function.

    With φ(t) = Π 1/(1 + b_i²t²) and t_k = (k + ½)Δ (Davies 1973),

        P(S < x) = ½ + Σ_k φ(t_k) sin(t_k x)/(π(k + ½)),   off by at most P(|S| > 2π/Δ − x).

    With b the largest scale, E e^(S/2b) ≤ e^(Σb_i²/3b²). So P(|S| > reach + 2bx) ≤ 2e^(−28 − x), which bounds that
    error for Δ as it is chosen, and the tail itself beyond the reach. Terms with φ < 1e-14 are left out. Scales below
    b/1000 are raised to it, so that φ falls soon: the sum of independent symmetric unimodal variables has more in its
    tails where one of them has (Birnbaum 1948).
    """
    largest = float(scales.max())
    scales, times = np.unique(np.maximum(scales, 1e-3 * largest), return_counts=True)
    reach = 2.0 * largest * (28.0 + float(times @ scales**2) / (3.0 * largest**2))
    if beyond >= reach:
        return 2.0 * math.exp((reach - beyond) / (2.0 * largest) - 28.0)
    step, last = 2.0 * math.pi / (beyond + reach), 1.0 / largest
    while float(times @ np.log1p((last * scales) ** 2)) < 32.0:
        last *= 1.5
    k = np.arange(math.ceil(last / step)) + 0.5
    phi = np.exp(-(np.log1p((k[:, None] * step * scales) ** 2) @ times))
    inside = float((phi * np.sin(k * step * beyond) / k).sum()) * 2.0 / math.pi
    return min(max(1.0 - inside, 0.0) + 1e-10, 1.0)


@dataclass(frozen=True)
class GeometricNoise(StepNoise):
    """P(k) ∝ e^(−|k|·grid/scale): discrete Laplace noise, for whole numbers such as counts.

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
        """Return the loss of a statistic whose L1 sensitivity on the grid is ``sensitivity``.

        On the grid it is a whole number of steps, so anything in between counts as the next one.

        Examples
        --------
        A replaced row moves two counts of a histogram by 1 each, so ε = 1 takes a scale of 2:

        >>> GeometricNoise(scale=2.0).loss(sensitivity=2)
        GeometricLoss(epsilon=1.0, steps=2, neighbors=<Neighbors.REPLACE_ONE: 'replace-one'>)
        """
        steps = math.ceil(Fraction(positive("sensitivity", sensitivity)) / Fraction(self.step))
        epsilon = steps * Fraction(self.step) / Fraction(self.scale)
        return GeometricLoss(round_up(epsilon), steps, Neighbors.parse(neighbors))

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
