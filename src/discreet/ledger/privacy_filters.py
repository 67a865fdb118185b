"""Privacy filters: rules that admit a loss or not, valid for analysts who choose each loss after seeing outputs.

A data set's limit (``dataset_limits``) admits a spend while one of its filters holds for the whole history with it.

**Why filters.** An analyst picks each mechanism, and its loss, after seeing all earlier outputs. Composition theorems
are about losses that were fixed beforehand; here the losses themselves are random. A filter looks at the losses so
far and at the next one (never at the outputs) and admits it or not; it is valid at (ε, δ) if the whole transcript is
(ε, δ)-private whatever the analyst does (Rogers, Roth, Ullman and Vadhan 2016).

Fix two neighbouring data sets and let P and Q be the distributions of the transcript on them, X = dP/dQ, γ = e^ε. The
guarantee is that H = sup_A (P(A) − γQ(A)) ≤ δ, for every such pair in either order. All filters here compare a sum that
only grows, so what they admit they would have admitted step by step, and a history that one has failed stays failed.

A loss may be recorded long before its mechanism runs, and in between others may run. That changes nothing: in the
order in which they run, the losses of those that have run sum to at most those that are recorded.

**Mechanisms that fail.** An (ε_i, δ_i)-private mechanism is a function of one that tells everything with probability
δ_i and is ε_i-randomised response otherwise (Kairouz, Oh and Viswanath 2015); a failure has the same probability on
both data sets. Let P°, Q° be the distributions when no mechanism fails and w = Π(1 − δ_i), a function of the
transcript. Then P(A) ≤ E_P°[1_A w] + E_P°[1 − w] and Q(A) ≥ E_Q°[1_A w], so

    H ≤ E_Q°[w(X° − γ)₊] + E_P°[1 − w] ≤ E_Q°[(X° − γ)₊] + E_P°[Σδ_i].

Hence: set aside a share f of δ *beforehand*, let the filter keep the first term within δ − f, and let Σδ_i ≤ f on
every path; then H ≤ δ. That is what ``failures`` is.

The share must not be left to the analyst. Solving for the noise at δ − Σδ_i as failures come in looks the same and
is not a filter: an analyst who sees the first outputs spends a failure where X is far from γ (there noise gains
him nothing) and noise where it is near, and collects both terms. With ε = 1, δ = 1e-6 and half of the Gaussian
budget spent before the choice, the transcript is only (1, 1.94e-6)-private; a test computes it. Up to 2δ are lost so.

**The pure filter stands beside the chosen one** and costs no δ, if it admits no failures. Let A be any event. Where
a path of A ends with the chosen filter holding, it held all along, so these paths are an event of the interaction
that is cut where that filter first fails, and that one is (ε, δ)-private. On the other paths of A the pure filter
held to the end, so X ≤ e^Σε_i ≤ γ at each of them. The two parts add up to P(A) − γQ(A) ≤ δ + 0. A second filter that
needs a δ of its own would not be free.

**Rounding.** Sums are correctly rounded (``math.fsum``), and a bound counts as kept up to a relative ``SLACK`` of 1e-12
in δ (or in ε for the pure filter), so a guarantee (ε, δ) is at worst (ε, δ(1 + 1e-12)) or (ε(1 + 1e-12), δ). It is
there so that k equal shares of a budget are k shares: with ε ≤ 100 and δ ≥ 1e-300 the relative slope of δ in μ is below
1500, so the last digits of the shares (a few 1e-16) move δ by less than 1e-12.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from scipy.special import erfinv, log_expit, log_ndtr, ndtri_exp

from discreet.guarantees import Loss, ZcdpLoss
from discreet.guarantees.arithmetic import add_up, find_least_positive
from discreet.guarantees.normal import normal_delta, normal_mu

SLACK = 1e-12
LEAST = 5e-324  # no loss is free: a price that underflows to 0 would be


def is_within(total: float, bound: float) -> bool:
    """Return whether ``total`` is at most ``bound``, up to the slack."""
    return total <= bound * (1.0 + SLACK)


class Largest(NamedTuple):
    """The largest single losses that would still be admitted: a Gaussian μ, a pure ε, a zCDP ρ."""

    mu: float
    epsilon: float
    rho: float


@dataclass(frozen=True)
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

    epsilon: float
    delta: float
    failures: float

    @abstractmethod
    def price(self, loss: Loss) -> float:
        """Return what one loss adds to the sum, leaving its failure out; ∞ if the filter has no bound for it."""

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
        return add_up(max(self.price(loss), LEAST) * count for loss, count in spent.items())

    def total_failure(self, spent: Mapping[Loss, int]) -> float:
        """Return the sum of the failure probabilities."""
        return add_up(loss.failure * count for loss, count in spent.items())

    def holds(self, spent: Mapping[Loss, int]) -> bool:
        """Return whether this whole history is within the bound."""
        if not is_within(self.total_failure(spent), self.failures):
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


@lru_cache(maxsize=4096)
def pure_to_mu(epsilon: float) -> float:
    """Return the μ of the Gaussian mechanism that is no more private than any ε-private one.

    >>> round(pure_to_mu(1.0), 6), round(pure_to_mu(1e-9) / 1e-9, 6)
    (1.232035, 1.253314)
    """
    if epsilon < 1.0:
        return 2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0)))
    return -2.0 * float(ndtri_exp(log_expit(-epsilon)))


def mu_to_pure(mu: float) -> float:
    """Return the ε of which ``pure_to_mu`` is μ: ln Φ(μ/2) − ln Φ(−μ/2).

    >>> round(mu_to_pure(pure_to_mu(2.5)), 9)
    2.5
    """
    if mu < 1.0:  # Φ(μ/2) − Φ(−μ/2) = tanh(ε/2), all digits kept
        return 2.0 * math.atanh(math.erf(mu / (2.0 * math.sqrt(2.0))))
    return float(log_ndtr(mu / 2.0) - log_ndtr(-mu / 2.0))


class GaussianFilter(Filter):
    """Σμ² ≤ μ_max², where μ_max is the largest μ with δ_μ(ε) ≤ δ. A loss that is known by its zCDP alone has no price.

    **It is valid when the μ_i are chosen adaptively** (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023; the
    proof here is our own and short). Let Z be standard normal and

        F(b, x) = E[(x·e^(√b Z − b/2) − γ)₊],    so that    F(μ², 1) = δ_μ(ε),

    because e^(μZ − μ²/2) is the likelihood ratio of N(μ, 1) to N(0, 1) under the latter. F is convex in x, it grows
    with b (Jensen), and E[F(b, x·e^(√c Z − c/2))] = F(b + c, x) since independent normals add up.

    *Claim.* After a history with likelihood ratio x and with b of the bound not yet spent, E_Q[(X − γ)₊ | history] ≤
    F(b, x), for any number n of further mechanisms. For n = 0 the left side is (x − γ)₊ = F(0, x) ≤ F(b, x). Otherwise
    the analyst picks the next loss, c = μ² ≤ b, knowing the history. Its mechanism has a likelihood ratio R, and
    E_Q[(R − t)₊] ≤ E[(e^(μZ − μ²/2) − t)₊] for every t: that is what being μ-Gaussian private means. A convex f with
    f(0) = 0 is f'(0)·r plus a mixture of hinges (r − t)₊ and both ratios have mean 1 (the Gaussian curve tends to 0, so
    P has no part outside Q's support), so the same holds for f in the hinge's place. With the claim for n − 1,

        E_Q[(X − γ)₊ | history] ≤ E_Q[F(b − c, x·R)] ≤ E[F(b − c, x·e^(√c Z − c/2))] = F(b, x).

    At the start x = 1 and b = μ_max², hence H ≤ δ_μ_max(ε) ≤ δ. Exchanging P and Q changes nothing. ∎

    **Pure ε is Gaussian with μ = 2Φ⁻¹(e^ε/(1 + e^ε)), ε-bounded range with that of ε/2.** Let the log-likelihood ratio
    of a mechanism lie in [t − s, t] for some pair of neighbours: pure privacy says so with t = ε and s = 2ε, bounded
    range with s = ε and a t that may be another for each pair (``Loss.span`` is s). A convex function of a ratio of
    mean 1 is largest where the ratio takes the two ends alone, so the worst mechanism says yes or no, yes with
    probability p or q. Its trade-off curve between the errors of a test is two line segments that meet at (q, 1 − p).
    The Gaussian curve G(α) = Φ(Φ⁻¹(1 − α) − μ) is convex and shares the end points (0, 1) and (1, 0). Where it meets
    (q, 1 − p) or passes below, which is μ ≥ Φ⁻¹(p) − Φ⁻¹(q), it lies below both segments: every test does at least as
    well against it.

    Which t needs the largest μ? Let L(x) = ln Φ(x) − ln Φ(−x), x = Φ⁻¹(p) and y = Φ⁻¹(q); then s = L(x) − L(y). Now
    L'(x) = h(x) + h(−x), where h = φ/(1 − Φ) is the normal's hazard rate, which is convex (Sampford 1953). So L' is
    even and grows with |x|, and of all intervals [y, x] of one length it has the least integral over the one around 0.
    With the integral s given, that one is the longest: y = −x, 2L(x) = s, and μ = 2L⁻¹(s/2) = 2Φ⁻¹(e^(s/2)/(1 +
    e^(s/2))) is enough. ∎

    With ε for s/2 and 2Φ(μ/2) − 1 = tanh(ε/2), a small one keeps its digits as 2√2·erf⁻¹(tanh(ε/2)); a large one as
    −2Φ⁻¹(1/(1 + e^ε)), from the logarithm of that probability.
    """

    name = "gaussian"

    def price(self, loss: Loss) -> float:
        """Return μ², of the Gaussian that the mechanism is, or of one that is known to be no more private."""
        mu = loss.dominating
        if mu is None:
            mu = pure_to_mu(loss.span / 2.0) if math.isfinite(loss.span) else math.inf
        return mu * mu

    def keeps(self, total: float) -> bool:
        """Compare in δ, as a calibration to (ε, δ) does, so that what it gives fits to the last digit."""
        return self.delta > 0.0 and is_within(float(normal_delta(math.sqrt(total), self.epsilon)), self.delta)

    def capacity(self) -> float:
        """Return μ_max²."""
        return normal_mu(self.epsilon, self.delta) ** 2

    def largest(self, left: float) -> Largest:
        """Return √left as μ, and the pure ε that it dominates."""
        mu = math.sqrt(left)
        return Largest(mu, mu_to_pure(mu), 0.0)


class ZcdpFilter(Filter):
    """Σρ ≤ ρ_max, where ρ_max-zCDP implies (ε, δ). Every loss has a price.

    **It is valid when the ρ_i are chosen adaptively** (Feldman and Zrnic 2021, for one Rényi order; zCDP has them all).
    Fix an order α > 1. Given the past, the next mechanism's likelihood ratio R has E_Q[R^α] ≤ e^(α(α−1)ρ_i), where ρ_i
    is known once the past is. So with S the sum of the ρ_i so far, X^α·e^(−α(α−1)S) is a supermartingale under Q that
    starts at 1. On every path S ≤ ρ_max in the end, hence E_Q[X^α] ≤ e^(α(α−1)ρ_max): the Rényi divergence of order α
    of the whole transcript is at most αρ_max. This holds for every α, so the transcript is ρ_max-zCDP, and the
    conversion to (ε, δ) may then use the best order (Canonne, Kamath and Steinke 2020; ``discreet.guarantees.renyi``).
    ∎
    """

    name = "zcdp"

    def price(self, loss: Loss) -> float:
        """Return ρ."""
        return loss.zcdp

    def _delta(self, rho: float) -> float:
        return float(ZcdpLoss(rho).delta_at(self.epsilon))

    def keeps(self, total: float) -> bool:
        """Compare in δ."""
        return self.delta > 0.0 and is_within(self._delta(total), self.delta)

    def capacity(self) -> float:
        """Return ρ_max; 0 at δ = 0."""
        if self.delta <= 0.0:
            return 0.0
        return 1.0 / find_least_positive(lambda inverse: self._delta(1.0 / inverse), self.delta, 1.0)

    def largest(self, left: float) -> Largest:
        """Return √(2·left) as μ and as ε, since ρ is half the square of either."""
        root = math.sqrt(2.0 * left)
        return Largest(root, root, left)


class PureFilter(Filter):
    """Σε_i ≤ ε. A Gaussian or zCDP loss has no price.

    **It is valid when the ε_i are chosen adaptively**, path by path: the likelihood ratio of a transcript is the
    product of the mechanisms' ratios, each at most e^ε_i given the past, so X ≤ e^Σε_i ≤ γ everywhere and E_Q[(X − γ)₊]
    = 0. No δ is used. Where it is the chosen filter, δ is there for the mechanisms' own failures: Σδ_i ≤ δ. Where it
    stands beside another, it has no share of δ and admits no failures (the module says why it is free then). ∎
    """

    name = "pure"

    def price(self, loss: Loss) -> float:
        """Return the pure ε."""
        return loss.pure

    def keeps(self, total: float) -> bool:
        """Compare in ε."""
        return is_within(total, self.epsilon)

    def capacity(self) -> float:
        """Return ε."""
        return self.epsilon

    def largest(self, left: float) -> Largest:
        """Return what is left as ε."""
        return Largest(0.0, left, 0.0)


FILTERS: dict[str, type[Filter]] = {cls.name: cls for cls in (GaussianFilter, ZcdpFilter, PureFilter)}
