"""Privacy filters: how far a history of adaptively chosen losses may grow.

**The setting.** An analyst picks each mechanism, and its loss, after seeing all earlier outputs. Composition theorems
are about losses that were fixed beforehand; here the losses themselves are random. A filter looks at the losses so
far and at the next one (never at the outputs) and admits it or not; it is valid at (ε, δ) if the whole transcript is
(ε, δ)-private whatever the analyst does (Rogers, Roth, Ullman and Vadhan 2016).

Fix two neighbouring data sets and let P and Q be the laws of the transcript on them, X = dP/dQ, γ = e^ε. The promise
is that H = sup_A (P(A) − γQ(A)) ≤ δ, for every such pair in either order. All filters here compare a sum that only
grows, so what they admit they would have admitted step by step, and a history that one has failed stays failed.

A loss may be recorded long before its mechanism runs, and in between others may run. That changes nothing: in the
order in which they run, the losses of those that have run sum to at most those that are recorded.

**Mechanisms that fail.** An (ε_i, δ_i)-private mechanism is a function of one that tells everything with probability
δ_i and is ε_i-randomised response otherwise (Kairouz, Oh and Viswanath 2015); a failure has the same probability on
both data sets. Let P°, Q° be the laws when no mechanism fails and w = Π(1 − δ_i), a function of the transcript. Then
P(A) ≤ E_P°[1_A w] + E_P°[1 − w] and Q(A) ≥ E_Q°[1_A w], so

    H ≤ E_Q°[w(X° − γ)₊] + E_P°[1 − w] ≤ E_Q°[(X° − γ)₊] + E_P°[Σδ_i].

Hence: set aside a share f of δ *beforehand*, let the filter keep the first term within δ − f, and let Σδ_i ≤ f on
every path; then H ≤ δ. That is what ``failures`` is.

The share must not be left to the analyst. Solving for the noise at δ − Σδ_i as failures come in looks the same and
is not a filter: an analyst who sees the first outputs spends a failure where X is far from γ (there noise is worth
nothing to him) and noise where it is near, and collects both terms. With ε = 1, δ = 1e-6 and half of the Gaussian
budget spent before the choice, the transcript is only (1, 1.94e-6)-private; a test computes it. Up to 2δ are lost so.

**The pure filter stands beside the chosen one** and costs no δ, if it admits no failures. Let A be any event. Where
a path of A ends with the chosen filter holding, it held all along, so these paths are an event of the interaction
that is cut where that filter first fails, and that one is (ε, δ)-private. On the other paths of A the pure filter
held to the end, so X ≤ e^Σε_i ≤ γ at each of them. The two parts add up to P(A) − γQ(A) ≤ δ + 0. A second filter that
needs a δ of its own could not be had for nothing.

**Rounding.** Sums are correctly rounded (``math.fsum``), and a bound counts as kept up to a relative ``SLACK`` of
1e-12 in δ (or in ε for the pure filter), so a promise (ε, δ) is at worst (ε, δ(1 + 1e-12)) or (ε(1 + 1e-12), δ). It is
there so that k equal shares of a budget are k shares: with ε ≤ 100 and δ ≥ 1e-300 the relative slope of δ in μ is
below 1500, so the last digits of the shares (a few 1e-16) move δ by less than 1e-12.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from discreet.guarantees import Loss

__all__ = ["SLACK", "Filter", "Largest", "within"]

SLACK = 1e-12
LEAST = 5e-324  # no loss is free: a price that underflows to 0 would be


def _sum(terms: Iterable[float]) -> float:
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.inf


def within(total: float, bound: float) -> bool:
    """Return whether ``total`` is at most ``bound``, up to the slack."""
    return total <= bound * (1.0 + SLACK)


class Largest(NamedTuple):
    """The largest single losses that would still be admitted: a Gaussian μ, a pure ε, a zCDP ρ."""

    mu: float
    epsilon: float
    rho: float


class Filter(ABC):
    """One way of adding up losses, with a bound.

    Parameters
    ----------
    epsilon, delta : float
        What the mechanisms may use as long as none of them fails.
    failures : float
        What their own failure probabilities may sum to.
    """

    name: ClassVar[str]

    def __init__(self, epsilon: float, delta: float, failures: float) -> None:
        self.epsilon, self.delta, self.failures = epsilon, delta, failures

    @abstractmethod
    def price(self, loss: Loss) -> float:
        """Return what one loss adds to the sum, leaving its failure out; ∞ where the filter cannot tell."""

    @abstractmethod
    def keeps(self, total: float) -> bool:
        """Return whether a finite sum keeps (ε, δ)."""

    @abstractmethod
    def capacity(self) -> float:
        """Return about the largest sum that is kept."""

    @abstractmethod
    def largest(self, left: float) -> Largest:
        """Return the largest single losses with a price of at most ``left``."""

    def total(self, spent: Mapping[Loss, int]) -> float:
        """Return the sum of the prices."""
        return _sum(max(self.price(loss), LEAST) * count for loss, count in spent.items())

    def failed(self, spent: Mapping[Loss, int]) -> float:
        """Return the sum of the failure probabilities."""
        return _sum(loss.failure * count for loss, count in spent.items())

    def holds(self, spent: Mapping[Loss, int]) -> bool:
        """Return whether this whole history is within the bound."""
        if not within(self.failed(spent), self.failures):
            return False
        total = self.total(spent)
        return not spent or (math.isfinite(total) and self.keeps(total))

    def left(self, spent: Mapping[Loss, int]) -> Largest:
        """Return the largest single losses that would be admitted after this history."""
        if not self.holds(spent):
            return Largest(0.0, 0.0, 0.0)
        capacity, total = self.capacity(), self.total(spent)
        rest = capacity - total
        return self.largest(rest if rest > SLACK * capacity else 0.0)
