"""What an attacker can tell, from the privacy curve: the best test, and the best guess.

Let P and Q be the laws of the output on two neighbouring data sets, and δ(ε) = sup over events A of P(A) − e^ε Q(A),
for every real ε, a bound in both directions (``discreet.guarantees.loss``). An attacker says "P" where the output lies
in A. False alarms have probability α = Q(A), the right alarm has power β = P(A).

**Power.** β ≤ e^ε α + δ(ε) for each ε, so β ≤ min over ε of that. It is the trade-off function of Dong, Roth and Su
(2022), and where the curve is that of a pair of laws, the test of Neyman and Pearson attains it. Two cases in closed
form:

- μ-Gaussian: P = N(μ, 1), Q = N(0, 1), the best A is a half-line, β = Φ(Φ⁻¹(α) + μ).
- one point (ε, δ): the curve is that of Kairouz, Oh and Viswanath (2015), δ(e) = δ + (1 − δ)(e^ε − e^e)/(1 + e^ε) for 0
  ≤ e ≤ ε, δ beyond ε, and δ(−e) = 1 − e^(−e)(1 − δ(e)). As a function of t = e^e it is piecewise linear with corners at
  t = e^(±ε) only, so t·α + δ is least at one of these, or at the ends t → 0, which gives 1: β ≤ min(1, e^ε α + δ, 1 −
  e^(−ε)(1 − δ − α)). These are the two sides of the region of Wasserman and Zhou (2010).

**Guess.** "P" has probability p beforehand. Guessing by A is right with probability pβ + (1 − p)(1 − α)
= 1 − p + p(P(A) − e^κ Q(A)), e^κ = (1 − p)/p. Its supremum over A is

    1 − p + p·δ(ln((1 − p)/p)).

At p = ½ that is (1 + δ(0))/2, with one point (ε, δ): δ(0) = δ + (1 − δ)(e^ε − 1)/(e^ε + 1), and so (e^ε + δ)/(1 + e^ε).

**Belief.** The pair of Kairouz, Oh and Viswanath tells the truth outright with probability δ, and otherwise has a
likelihood ratio of at most e^ε. Every (ε, δ)-private output is a random function of what that pair shows. So somebody
who sees even more than the output believes at most p/(p + (1 − p)e^(−ε)), but for an event of probability δ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from discreet.guarantees import Composition, Guarantee, Loss
from discreet.guarantees.composition import Losses, as_counts
from discreet.guarantees.exact import Exact

__all__ = ["CurveTradeoff", "GaussianTradeoff", "PointTradeoff", "Tradeoff", "belief", "tradeoff_of"]

LOWEST = -50.0  # e^(−50) changes no probability's digits
POINTS, HALVINGS = 80, 40


class Tradeoff(ABC):
    """What is known about a pair of neighbouring outputs."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return δ(ε) for any real ε."""

    @abstractmethod
    def power(self, alarms: float) -> float:
        """Return a bound on the power of every test with this probability of false alarms."""

    def accuracy(self, prior: float = 0.5) -> float:
        """Return a bound on the probability that a guess is right, one answer having this probability beforehand."""
        return min(1.0 - prior + prior * self.delta(math.log1p(-prior) - math.log(prior)), 1.0)


@dataclass(frozen=True)
class PointTradeoff(Tradeoff):
    """One (ε, δ) is known and nothing else.

    >>> one = PointTradeoff(1.0, 0.0)
    >>> round(one.accuracy(), 4), round(one.power(0.01), 4)
    (0.7311, 0.0272)
    """

    epsilon: float
    failure: float

    def delta(self, epsilon: float) -> float:
        """Return the curve of Kairouz, Oh and Viswanath."""
        size = abs(epsilon)
        gap = min(size - self.epsilon, 0.0)
        above = self.failure - (1.0 - self.failure) * math.expm1(gap) / (1.0 + math.exp(-self.epsilon))
        return above if epsilon >= 0.0 else -math.expm1(-size) + math.exp(-size) * above

    def power(self, alarms: float) -> float:
        """Return the border of the region, in closed form."""
        high = math.exp(self.epsilon + math.log(alarms)) if self.epsilon + math.log(alarms) < 0.0 else 1.0
        return min(1.0, high + self.failure, 1.0 - math.exp(-self.epsilon) * max(1.0 - self.failure - alarms, 0.0))


@dataclass(frozen=True)
class GaussianTradeoff(Tradeoff):
    """The Gaussian mechanism at μ, known exactly.

    >>> round(GaussianTradeoff(1.0).accuracy(), 4), round(GaussianTradeoff(1.0).power(0.01), 4)
    (0.6915, 0.0924)
    """

    mu: float

    def delta(self, epsilon: float) -> float:
        """Return δ_μ(ε)."""
        from discreet.guarantees.normal import normal_delta

        return float(normal_delta(self.mu, epsilon))

    def power(self, alarms: float) -> float:
        """Return Φ(Φ⁻¹(α) + μ)."""
        from scipy.special import ndtr, ndtri

        return float(ndtr(ndtri(alarms) + self.mu))


@dataclass(frozen=True, eq=False)
class CurveTradeoff(Tradeoff):
    """The whole curve of one loss, or of a composition."""

    source: Loss | Composition

    def delta(self, epsilon: float) -> float:
        """Return the curve, extended to ε < 0 by its symmetry."""
        if isinstance(self.source, Loss):
            return float(self.source.delta_at(epsilon))
        size = abs(epsilon)
        above = self.source.delta(size)
        return above if epsilon >= 0.0 else -math.expm1(-size) + math.exp(-size) * above

    def power(self, alarms: float) -> float:
        """Return the least e^ε α + δ(ε) that a search finds: a bound, whether or not it is the very least."""
        highest = -math.log(alarms)

        def bound(epsilon: float) -> float:
            return math.exp(epsilon) * alarms + self.delta(epsilon)

        points = np.concatenate([np.linspace(LOWEST, -1.0, POINTS // 4), np.linspace(-0.9, highest, POINTS)])
        values = [bound(point) for point in points]
        best = int(np.argmin(values))
        low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
        least = values[best]
        for _ in range(HALVINGS):  # it is convex in e^ε, so the lower of two inner points says where to look
            left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
            at_left, at_right = bound(left), bound(right)
            least = min(least, at_left, at_right)
            low, high = (low, right) if at_left <= at_right else (left, high)
        return min(1.0, least)


def tradeoff_of(promise: Guarantee | Losses) -> Tradeoff:
    """Return what a guarantee, a loss or some losses let an attacker tell.

    >>> from discreet.guarantees import GaussianLoss
    >>> tradeoff_of([GaussianLoss(0.6), GaussianLoss(0.8)])
    GaussianTradeoff(mu=1.0)
    """
    if isinstance(promise, Guarantee):
        return PointTradeoff(promise.epsilon, promise.delta)
    counts = as_counts(promise)
    exact = Exact(counts)
    if exact.quick:
        return GaussianTradeoff(exact.mu)
    return CurveTradeoff(next(iter(counts)) if counts.total() == 1 else exact)


def belief(epsilon: float, prior: float) -> float:
    """Return p/(p + (1 − p)e^(−ε)): what a prior can grow to where the likelihood ratio is at most e^ε.

    >>> round(belief(1.0, 0.01), 4), belief(1000.0, 0.01)
    (0.0267, 1.0)
    """
    return prior / (prior + (1.0 - prior) * math.exp(-epsilon))
