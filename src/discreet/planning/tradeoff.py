"""What an attacker can tell, from the privacy curve: the best test, and the best guess.

Let P and Q be the distributions of the output on two neighbouring data sets, and δ(ε) = sup over events A of P(A) − e^ε
Q(A), for every real ε, a bound in both directions (``discreet.guarantees.loss``). An attacker says "P" where the output
lies in A. False alarms have probability α = Q(A), the right alarm has power β = P(A).

**Power.** β ≤ e^ε α + δ(ε) for each ε, so β ≤ min over ε of that. It is the trade-off function of Dong, Roth and Su
(2022), and where the curve is that of a pair of distributions, the test of Neyman and Pearson attains it. Two cases in
closed form:

- μ-Gaussian: P = N(μ, 1), Q = N(0, 1), the best A is a half-line, β = Φ(Φ⁻¹(α) + μ).
- one point (ε, δ): the curve is that of Kairouz, Oh and Viswanath (2015), δ(e) = δ + (1 − δ)(e^ε − e^e)/(1 + e^ε) for 0
  ≤ e ≤ ε, δ beyond ε, and δ(−e) = 1 − e^(−e)(1 − δ(e)). As a function of t = e^e it is piecewise linear with corners at
  t = e^(±ε) only, so t·α + δ is least at one of these, or at the ends t → 0, which gives 1: β ≤ min(1, e^ε α + δ, 1 −
  e^(−ε)(1 − δ − α)). These are the two sides of the region of Wasserman and Zhou (2010).

**Guess.** "P" has probability p beforehand. Guessing by A is right with probability pβ + (1 − p)(1 − α)
= 1 − p + p(P(A) − e^κ Q(A)), e^κ = (1 − p)/p. Its supremum over A is

    1 − p + p·δ(ln((1 − p)/p)).

At p = ½ that is (1 + δ(0))/2, with one point (ε, δ): δ(0) = δ + (1 − δ)(e^ε − 1)/(e^ε + 1), and so (e^ε + δ)/(1 + e^ε).

**Belief.** Where the likelihood ratio is at most e^t, a prior p grows to at most p/(p + (1 − p)e^(−t)). At δ = 0 it is
at most e^ε, whatever comes out. At δ > 0 it can be larger, with a probability above δ: (ε, δ) does not say that P(ratio
> e^ε) ≤ δ, nor is it true of Gaussian noise. Let A be where the ratio is above e^t, so Q(A) ≤ e^(−t)P(A). For e < t

    P(A) ≤ e^e Q(A) + δ(e) ≤ e^(e−t)P(A) + δ(e),    so    P(A) ≤ δ(e)/(1 − e^(e−t)).

It is at most τ exactly where t ≥ e − ln(1 − δ(e)/τ), for an e with δ(e) < τ. So with

    t(τ) = min over e ≥ 0, δ(e) < τ, of e − ln(1 − δ(e)/τ)

the ratio is above e^t with probability τ at most; under Q with even less, Q(A) ≤ e^(−t)P(A) and t ≥ 0. It is one event
for every prior. It holds for whatever is made of the output as well: that has a curve no higher. (The exact
distribution of the ratio, normal where noise is Gaussian, does not: to merge outputs can move some to a higher ratio.)

Of one point (ε, δ) the best e is ε, t = ε − ln(1 − δ/τ): with x = e^e below e^ε the curve is c − kx, c = δ + (1 −
δ)e^ε/(1 + e^ε), and e^t = τx/(τ − c + kx) does not grow with x as long as τ ≤ c, and c ≥ (1 + δ)/2. No smaller t will
do: an output of probability τ under P and e^(−t)τ under Q, against all else, keeps (ε, δ). By this output P exceeds
e^ε Q by τ − e^(ε−t)τ = δ. By all else Q exceeds e^ε P by 1 − (τ − δ)/x − x(1 − τ), x = e^ε: it is δ at x = 1, concave,
and does not grow for τ ≤ (1 + δ)/2.

At τ = δ there is no such t. ``excluded_probability`` uses τ = 10δ, which gives t = ε + 0.106, where 2δ would give
ε + ln 2; or the middle of δ and 1, where that is less.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.guarantees import Composition, Guarantee, Loss
from discreet.guarantees.composition import Exact
from discreet.guarantees.loss import Losses, as_counts

LOWEST = -50.0  # e^(−50) changes no probability's digits
POINTS, HALVINGS = 80, 40
TENFOLD = 10.0  # of δ


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

    def log_ratio(self, epsilon: float, chance: float) -> float:
        """Return a t such that the likelihood ratio is above e^t with probability ``chance`` at most.

        ``epsilon`` is one ε whose δ(ε) is below ``chance``. Every e gives a valid t, so the search may miss the best.
        """

        def bound(e: float) -> float:
            missed = self.delta(e) / chance
            return e - math.log1p(-missed) if missed < 1.0 else math.inf

        start = bound(epsilon)
        return min(start, _least(bound, np.linspace(0.0, start, POINTS))) if math.isfinite(start) else start


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

    def log_ratio(self, epsilon: float, chance: float) -> float:
        """Return ε − ln(1 − δ/τ), which is the least for every τ below (1 + δ)/2."""
        return self.epsilon - math.log1p(-self.failure / chance)


@dataclass(frozen=True)
class GaussianTradeoff(Tradeoff):
    """The Gaussian mechanism at μ.

    >>> round(GaussianTradeoff(1.0).accuracy(), 4), round(GaussianTradeoff(1.0).power(0.01), 4)
    (0.6915, 0.0924)
    """

    mu: float

    def delta(self, epsilon: float) -> float:
        """Return δ_μ(ε), rounded up."""
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
        return min(1.0, _least(bound, points))  # it is convex in e^ε


def _least(bound: Callable[[float], float], points: NDArray[np.float64]) -> float:
    """Return the least value that a search finds: on a grid, then around the best point of it.

    Where there is one valley the lower of two inner points says where to look.
    """
    values = [bound(float(point)) for point in points]
    best = int(np.argmin(values))
    low, high = float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])
    least = values[best]
    for _ in range(HALVINGS):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        at_left, at_right = bound(left), bound(right)
        least = min(least, at_left, at_right)
        low, high = (low, right) if at_left <= at_right else (left, high)
    return least


def tradeoff_of(guarantee: Guarantee | Losses) -> Tradeoff:
    """Return what a guarantee, a loss or some losses let an attacker tell.

    >>> from discreet.guarantees import GaussianLoss
    >>> round(tradeoff_of([GaussianLoss(0.6), GaussianLoss(0.8)]).mu, 9)
    1.0
    """
    if isinstance(guarantee, Guarantee):
        return PointTradeoff(guarantee.epsilon, guarantee.delta)
    counts = as_counts(guarantee)
    exact = Exact(counts)
    if all(loss.gaussian is not None for loss in counts):
        return GaussianTradeoff(exact.mu)
    return CurveTradeoff(next(iter(counts)) if counts.total() == 1 else exact)


def belief(epsilon: float, prior: float) -> float:
    """Return p/(p + (1 − p)e^(−ε)): what a prior can grow to where the likelihood ratio is at most e^ε.

    >>> round(belief(1.0, 0.01), 4), belief(1000.0, 0.01)
    (0.0267, 1.0)
    """
    return prior / (prior + (1.0 - prior) * math.exp(-epsilon))


def excluded_probability(delta: float) -> float:
    """Return the probability that is left out of what is said of beliefs: 10δ, or the middle of δ and 1; 0 at δ = 0.

    >>> round(excluded_probability(1e-6), 12), excluded_probability(0.5), excluded_probability(0.0)
    (1e-05, 0.75, 0.0)
    """
    return min(TENFOLD * delta, (1.0 + delta) / 2.0) if delta else 0.0
