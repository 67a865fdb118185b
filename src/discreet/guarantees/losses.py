"""Losses of Laplace and geometric noise, and of mechanisms that are known by a definition alone.

**Additive noise.** (The Gaussian losses are in ``normal``.) Each holds for a statistic of a declared sensitivity Δ;
that the statistic has it is proved where the query is.

Why one curve a kind of noise is enough. Write T_Δ for the trade-off curve between the noise and the noise shifted
by Δ. For a log-concave density (or log-concave integers, shifted by integers) the best test is a threshold, so
T_Δ(α) = F(F⁻¹(1 − α) − Δ) and shifts add up: T_{a+b} = T_b ∘ (1 − T_a). Hence
 - two steps of a relation are one at twice the shift (``under``), and nothing is lost;
 - a shift spread over several coordinates by amounts that sum to Δ (L1) can be walked one coordinate at a time, so
   it is dominated by a shift of Δ in one coordinate: the curves below hold for vectors.

**Definitions**: pure, bounded-range, zero-concentrated and approximate privacy. A mechanism that has only been proved
to meet one of these definitions is charged the worst that the definition allows. For each the hockey-stick curve of
that worst case is given in closed form.

**Rényi divergences** are written so that small ε keeps its digits: each is log(1 + excess)/(α − 1) with an excess of
order ε² that is computed without cancellation, or is rounded upwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from discreet.arguments import ArgumentError, integer
from discreet.guarantees.guarantee import Neighbors, double_delta
from discreet.guarantees.loss import Array, EpsilonLoss, Loss
from discreet.guarantees.renyi import renyi_delta

_LARGE = 30.0  # from here on e^-x is lost beside e^x


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

    def _curve(self, epsilon: Array) -> Array:
        """Return 1 − e^((ε' − ε)/2) for 0 ≤ ε' ≤ ε, and 0 above."""
        return -np.expm1(np.minimum(epsilon - self.epsilon, 0.0) / 2.0)

    def renyi(self, order: float) -> float:
        """Return the divergence between Laplace densities at distance ε (Mironov 2017; DP-EM, equation 20).

        The moment (α e^((α−1)ε) + (α−1) e^(−αε))/(2α−1) has no linear term in ε, so it is 1 plus a mean of e^x − 1 − x.
        """
        epsilon = self.epsilon
        up, down = (order - 1.0) * epsilon, -order * epsilon
        if up > _LARGE:
            return min(epsilon, epsilon + math.log(order / (2.0 * order - 1.0)) / (order - 1.0) + 1e-12)
        excess = (order * _exp_remainder(up) + (order - 1.0) * _exp_remainder(down)) / (2.0 * order - 1.0)
        return min(epsilon, math.log1p(excess) / (order - 1.0))


def _exp_remainder(x: float) -> float:
    """Return e^x − 1 − x, all digits kept near zero."""
    if abs(x) < 0.5:
        term, total, k = x * x / 2.0, 0.0, 2
        while abs(term) > 1e-18 * max(total, 1e-300) and k < 40:
            total, k = total + term, k + 1
            term *= x / k
        return total
    return math.expm1(x) - x


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

    def _curve(self, epsilon: Array) -> Array:
        """Return P(Y ≤ y) − e^ε' P(Y ≤ y − steps) at the last y whose loss (steps − 2y)ε/steps exceeds ε'.

        The distribution function is 1 − q^(k+1)/(1+q) for k ≥ 0 and q^(−k)/(1+q) below, q = e^(−ε/steps).
        """
        size = np.minimum(epsilon, self.epsilon)
        rate = self.epsilon / self.steps
        q = math.exp(-rate)
        y = np.clip(np.ceil((self.steps - size / rate) / 2.0) - 1.0, 0.0, None)
        above = -(np.expm1((size - self.epsilon) + rate * y) + q * np.expm1(-rate * y)) / (1.0 + q)
        return np.where(epsilon >= self.epsilon, 0.0, above)

    def renyi(self, order: float) -> float:
        """Return the divergence between two-sided geometrics ``steps`` apart, with ε = steps/scale.

        The loss is ±ε beyond the two modes and falls by 2ε/steps a step between them: three parts, the middle one a
        geometric series. Its float error is charged (a few units in the last place of a sum near 1).
        """
        epsilon, steps = self.epsilon, self.steps
        rate = epsilon / steps
        w = rate * (2.0 * order - 1.0)
        outer = 1.0 + math.exp(-epsilon - 2.0 * (order - 1.0) * epsilon)
        inner = -math.expm1(-rate) * math.exp(-w) * math.expm1(-w * (steps - 1)) / math.expm1(-w) if steps > 1 else 0.0
        log_moment = (order - 1.0) * epsilon + math.log((outer + inner) / (1.0 + math.exp(-rate)))
        log_moment += 1e-15 * (1.0 + order * epsilon)
        return min(epsilon, _pure_renyi(epsilon, order), max(log_moment, 0.0) / (order - 1.0))

    def _double(self) -> Self:
        return replace(self, epsilon=2.0 * self.epsilon, steps=2 * self.steps)


def _pure_curve(pure: float, epsilon: Array) -> Array:
    """Return the curve of randomised response, (e^ε − e^ε')/(1 + e^ε) for 0 ≤ ε' ≤ ε: the worst of pure privacy."""
    return -np.expm1(np.minimum(epsilon - pure, 0.0)) / (1.0 + math.exp(-pure))


def _pure_renyi(epsilon: float, order: float) -> float:
    """Return the divergence of randomised response at ε, the largest that pure ε-privacy allows.

    (e^(αε) + e^((1−α)ε))/(1 + e^ε) = 1 + 2 sinh(αε/2) sinh((α−1)ε/2)/cosh(ε/2).
    """
    a, b = order * epsilon / 2.0, (order - 1.0) * epsilon / 2.0
    if a > _LARGE:
        return min(epsilon, (order * epsilon - math.log1p(math.exp(min(epsilon, 700.0)))) / (order - 1.0) + 1e-12)
    return min(epsilon, math.log1p(2.0 * math.sinh(a) * math.sinh(b) / math.cosh(epsilon / 2.0)) / (order - 1.0))


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

    def _curve(self, epsilon: Array) -> Array:
        """Return the curve of randomised response."""
        return _pure_curve(self.epsilon, epsilon)

    def renyi(self, order: float) -> float:
        """Return the divergence of randomised response."""
        return _pure_renyi(self.epsilon, order)


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

    def _curve(self, epsilon: Array) -> Array:
        """Return the upper envelope of the worst cases' curves; at 0 it is tanh(ε/4)."""
        gap = np.minimum(epsilon - self.epsilon, 0.0) / 2.0
        return np.asarray(np.expm1(gap) ** 2 / -math.expm1(-self.epsilon))

    def renyi(self, order: float) -> float:
        """Return the largest divergence over the worst cases.

        Given the range [t − ε, t] of the log-ratio, a convex function of the ratio is largest where the ratio takes the
        two ends alone. The moment is then x^a (A − Bx)/(e^ε − 1) with x = e^t, a = α − 1, A = e^ε − e^(−aε),
        B = 1 − e^(−aε); the worst x is aA/(αB). The float error is charged; where it would show, αε²/8 (Cesar and
        Rogers 2021) is the better bound.
        """
        epsilon, a = self.epsilon, order - 1.0
        log_a = math.log(-math.expm1(-order * epsilon))
        log_b = math.log(-math.expm1(-a * epsilon))
        log_x = epsilon + math.log(a / order) + log_a - log_b
        log_moment = a * log_x + log_a - math.log(order) - math.log(-math.expm1(-epsilon))
        return min(order * epsilon * epsilon / 8.0, epsilon, max(log_moment, 0.0) / a + 1e-14 * (1.0 + 1.0 / a))

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

    def _curve(self, epsilon: Array) -> Array:
        """Return the least δ over all Rényi orders (``discreet.guarantees.renyi``)."""
        curve = np.vectorize(lambda one: renyi_delta(self.renyi, float(one)), otypes=[np.float64])
        return np.asarray(curve(epsilon))

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

    def _curve(self, epsilon: Array) -> Array:
        """Return δ + (1 − δ) times the curve of randomised response."""
        return self.delta + (1.0 - self.delta) * _pure_curve(self.epsilon, epsilon)

    def renyi(self, order: float) -> float:
        """Return the divergence of randomised response; the δ is the ``failure``."""
        return _pure_renyi(self.epsilon, order)

    @property
    def failure(self) -> float:
        """δ."""
        return self.delta

    def _double(self) -> Self:
        return replace(self, epsilon=2.0 * self.epsilon, delta=double_delta(self.epsilon, self.delta))
