"""Losses of additive noise: Laplace and the two-sided geometric; the Gaussian ones are in ``normal``.

Each holds for a statistic of a declared sensitivity Δ; that the statistic has it is proved where the query is.

Why one curve a kind of noise is enough. Write T_Δ for the trade-off curve between the noise and the noise shifted
by Δ. For a log-concave density (or log-concave integers, shifted by integers) the best test is a threshold, so
T_Δ(α) = F(F⁻¹(1 − α) − Δ) and shifts add up: T_{a+b} = T_b ∘ (1 − T_a). Hence
 - two steps of a relation are one at twice the shift (``under``), and nothing is lost;
 - a shift spread over several coordinates by amounts that sum to Δ (L1) can be walked one coordinate at a time, so
   it is dominated by a shift of Δ in one coordinate: the curves below hold for vectors.

Losses that are known by a number alone: pure, bounded-range, zero-concentrated and approximate privacy.

A mechanism that has only been proved to meet one of these definitions is charged the worst that the definition
allows. For each the hockey-stick curve of that worst case is given in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from discreet.arguments import ArgumentError, integer
from discreet.guarantees.guarantee import Neighbors, twice_delta
from discreet.guarantees.loss import Array, EpsilonLoss, Loss
from discreet.guarantees.normal import reflected
from discreet.guarantees.renyi import bounded_range_renyi, geometric_renyi, laplace_renyi, pure_renyi, renyi_delta


@dataclass(frozen=True)
class LaplaceLoss(EpsilonLoss):
    """The loss of Laplace noise: ε = Δ/b for scale b and L1 sensitivity Δ.

    Parameters
    ----------
    epsilon : float
        Δ/b, above 0.
    neighbors : Neighbors or str

    Examples
    --------
    >>> float(LaplaceLoss(1.0).delta_at(0.5)).__round__(6)
    0.221199
    """

    epsilon: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return 1 − e^((ε' − ε)/2) for 0 ≤ ε' ≤ ε, and 0 above."""
        e = np.asarray(epsilon, dtype=np.float64)
        return reflected(e, -np.expm1(np.minimum(np.abs(e) - self.epsilon, 0.0) / 2.0))

    def renyi(self, order: float) -> float:
        """Return the divergence between Laplace densities at distance ε (DP-EM, equation 20)."""
        return laplace_renyi(self.epsilon, order)


@dataclass(frozen=True)
class GeometricLoss(EpsilonLoss):
    """The loss of two-sided geometric noise, the exact Laplace mechanism on a grid.

    The noise is an integer number of grid steps, P(k) ∝ e^(−|k|·ε/steps), and the L1 sensitivity is ``steps`` of
    them. With one step the loss takes only the values ±ε, as bad as pure privacy allows; with many it comes down to
    the Laplace curve from above.

    Parameters
    ----------
    epsilon : float
        Sensitivity over scale, both in grid steps; above 0.
    steps : int
        The sensitivity in grid steps, at least 1.
    neighbors : Neighbors or str

    Examples
    --------
    >>> one, many, laplace = GeometricLoss(1.0, 1), GeometricLoss(1.0, 1000), LaplaceLoss(1.0)
    >>> [round(float(loss.delta_at(0.5)), 6) for loss in (one, many, laplace)]
    [0.287649, 0.221199, 0.221199]
    """

    epsilon: float
    steps: int = 1
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", integer("steps", self.steps, least=1, most=2**62))
        super().__post_init__()
        if self.epsilon / self.steps < 1e-290:
            raise ArgumentError("epsilon", self.epsilon, f"at least 1e-290 a step, got {self.steps} steps")

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return P(Y ≤ y) − e^ε' P(Y ≤ y − steps) at the last y whose loss (steps − 2y)ε/steps exceeds ε'.

        The distribution function is 1 − q^(k+1)/(1+q) for k ≥ 0 and q^(−k)/(1+q) below, q = e^(−ε/steps).
        """
        e = np.asarray(epsilon, dtype=np.float64)
        size = np.minimum(np.abs(e), self.epsilon)
        rate = self.epsilon / self.steps
        q = math.exp(-rate)
        y = np.clip(np.ceil((self.steps - size / rate) / 2.0) - 1.0, 0.0, None)
        above = -(np.expm1((size - self.epsilon) + rate * y) + q * np.expm1(-rate * y)) / (1.0 + q)
        return reflected(e, np.where(np.abs(e) >= self.epsilon, 0.0, above))

    def renyi(self, order: float) -> float:
        """Return the divergence between the two shifted geometrics, a sum of geometric series."""
        return geometric_renyi(self.epsilon, self.steps, order)

    def _twice(self) -> Self:
        return replace(self, epsilon=2.0 * self.epsilon, steps=2 * self.steps)


def _pure_curve(pure: float, epsilon: float | Array) -> Array:
    """Return the curve of randomised response, (e^ε − e^ε')/(1 + e^ε) for 0 ≤ ε' ≤ ε: the worst of pure privacy."""
    e = np.asarray(epsilon, dtype=np.float64)
    gap = np.minimum(np.abs(e) - pure, 0.0)
    return reflected(e, -np.expm1(gap) / (1.0 + math.exp(-pure)))


@dataclass(frozen=True)
class PureLoss(EpsilonLoss):
    """Pure ε-differential privacy, and nothing more is known.

    The worst case is randomised response (Kairouz, Oh and Viswanath 2015).

    Examples
    --------
    >>> float(PureLoss(1.0).delta_at(0.0)).__round__(6)
    0.462117
    """

    epsilon: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return the curve of randomised response."""
        return _pure_curve(self.epsilon, epsilon)

    def renyi(self, order: float) -> float:
        """Return the divergence of randomised response."""
        return pure_renyi(self.epsilon, order)


@dataclass(frozen=True)
class BoundedRangeLoss(EpsilonLoss):
    """ε-bounded range: over all outputs the log-likelihood ratio spans at most ε, as in the exponential mechanism.

    It implies ε-differential privacy and is a good deal better. The worst cases take two log-ratios, t and t − ε,
    the first with probability (e^ε − e^t)/(e^ε − 1); for each ε' the worst t is (ε + ε')/2, which gives the curve
    (e^(ε/2) − e^(ε'/2))²/(e^ε − 1). Its zCDP is ε²/8 (Cesar and Rogers 2021). Two steps away the ranges add up.

    Examples
    --------
    >>> float(BoundedRangeLoss(1.0).delta_at(0.0)).__round__(6)
    0.244919
    """

    epsilon: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return the upper envelope of the worst cases' curves; at 0 it is tanh(ε/4)."""
        e = np.asarray(epsilon, dtype=np.float64)
        gap = np.minimum(np.abs(e) - self.epsilon, 0.0) / 2.0
        return reflected(e, np.expm1(gap) ** 2 / -math.expm1(-self.epsilon))

    def renyi(self, order: float) -> float:
        """Return the largest divergence over the worst cases."""
        return bounded_range_renyi(self.epsilon, order)

    @property
    def span(self) -> float:
        """ε: half of what a pure loss has."""
        return self.epsilon

    @property
    def zcdp(self) -> float:
        """ε²/8."""
        return self.epsilon * self.epsilon / 8.0


@dataclass(frozen=True)
class ZcdpLoss(Loss):
    """ρ-zero-concentrated privacy: every Rényi divergence of order α is at most αρ.

    Examples
    --------
    >>> round(ZcdpLoss(0.025763).epsilon_at(1e-4), 3)
    0.776
    """

    rho: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    _powers: ClassVar[Mapping[str, int]] = {"rho": 2}  # Bun and Steinke 2016, proposition 1.9

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return the least δ over all Rényi orders (``discreet.guarantees.renyi``)."""
        e = np.asarray(epsilon, dtype=np.float64)
        above = np.vectorize(lambda size: renyi_delta(self.renyi, float(size)), otypes=[np.float64])(np.abs(e))
        return reflected(e, above)

    def renyi(self, order: float) -> float:
        """Return αρ."""
        return order * self.rho

    @property
    def zcdp(self) -> float:
        """ρ."""
        return self.rho


@dataclass(frozen=True)
class ApproximateLoss(EpsilonLoss):
    """(ε, δ)-differential privacy, and nothing more is known.

    The worst case tells everything with probability δ and is randomised response at ε otherwise (Kairouz, Oh and
    Viswanath 2015). More noise lowers ε only: δ is the mechanism's own.

    Examples
    --------
    >>> float(ApproximateLoss(1.0, 1e-6).delta_at(1.0))
    1e-06
    """

    epsilon: float
    delta: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    _probabilities: ClassVar[tuple[str, ...]] = ("delta",)

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return δ + (1 − δ) times the curve of randomised response."""
        e = np.asarray(epsilon, dtype=np.float64)
        above = self.delta + (1.0 - self.delta) * _pure_curve(self.epsilon, np.abs(e))
        return reflected(e, above)

    def renyi(self, order: float) -> float:
        """Return the divergence of randomised response; the δ is the ``failure``."""
        return pure_renyi(self.epsilon, order)

    @property
    def failure(self) -> float:
        """δ."""
        return self.delta

    def _twice(self) -> Self:
        return replace(self, epsilon=2.0 * self.epsilon, delta=twice_delta(self.epsilon, self.delta))
