"""Gaussian noise on a grid: the rounded Gaussian, and the discrete Gaussian as an option."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from scipy.special import ndtri

from discreet.arguments import integer, positive, probability
from discreet.guarantees import GaussianLoss, Loss, Neighbors, ZcdpLoss
from discreet.noise.bits import Bits
from discreet.noise.laws import Integers, RoundedNoise, Size, StepNoise, draw_integers, fit_grid, upper

__all__ = ["DiscreteGaussianNoise", "GaussianNoise"]


@dataclass(frozen=True)
class GaussianNoise(RoundedNoise):
    """round(2^m Z)/2^m times the scale, Z standard normal: the Gaussian mechanism, rounded.

    Since rounding the output is post-processing, the accounting of the ideal Gaussian mechanism holds exactly:
    ``GaussianLoss(sensitivity/scale)``. (``discreet.noise.kernels`` has the proof.)

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

    norm = "l2"
    normal = True
    priced = GaussianLoss

    @classmethod
    def for_query(cls, *, mu: float, sensitivity: float, largest: float, size: int = 1) -> Self:
        """Return the law with which a query costs at most ``GaussianLoss(mu)``, the grid's share charged.

        The neighbours' statistics are at most Δ + 2·grid·√D apart once they are on the grid, and grid = σ/2^m, so
        σ = Δ/(μ − 2√D/2^m) makes that μσ; it is rounded up (``fit_grid``). The law does not remember ``largest`` and
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
        >>> law = GaussianNoise.for_query(mu=0.25, sensitivity=73.0, largest=1e6)
        >>> round(law.scale, 6), law.fineness
        (292.0, 40)
        """
        steps = 2.0 * math.sqrt(integer("size", size, least=1))
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
        """Return that of a normal variable of variance σ²Σc_i²."""
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
        """Return what a statistic costs whose L2 sensitivity, once on the grid, is this much: Δ²/(2σ²), rounded up."""
        mu = Fraction(positive("sensitivity", sensitivity)) / Fraction(self.scale)
        return ZcdpLoss(upper(mu * mu / 2), Neighbors.of(neighbors))

    @property
    def variance(self) -> float:
        """Below σ² by less than anybody could measure from σ = 2 steps on; summed below that."""
        sigma = self.ratio
        if sigma > 4.0:
            return self.scale * self.scale
        k = np.arange(1, 200)
        weights = np.exp(-((k / sigma) ** 2) / 2.0)
        return self.step * self.step * float(2.0 * (k**2 * weights).sum() / (1.0 + 2.0 * weights.sum()))

    def half_width(self, level: float) -> float:
        """Return σΦ⁻¹((1 + level)/2) and a step: the tail from k on is below the normal's from k − 1 on (ibid.)."""
        return -self.scale * float(ndtri((1.0 - probability("level", level)) / 2.0)) + self.step
