"""The Gaussian filter: Σμ² ≤ μ_max², where μ_max is the largest μ with δ_μ(ε) ≤ δ.

**It is valid when the μ_i are chosen adaptively** (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023; the
proof here is our own and short). Let Z be standard normal and

    F(b, x) = E[(x·e^(√b Z − b/2) − γ)₊],    so that    F(μ², 1) = δ_μ(ε),

because e^(μZ − μ²/2) is the likelihood ratio of N(μ, 1) to N(0, 1) under the latter. F is convex in x, it grows with
b (Jensen), and E[F(b, x·e^(√c Z − c/2))] = F(b + c, x) since independent normals add up.

*Claim.* After a history with likelihood ratio x and with b of the bound not yet spent, E_Q[(X − γ)₊ | history] ≤
F(b, x), for any number n of further mechanisms. For n = 0 the left side is (x − γ)₊ = F(0, x) ≤ F(b, x). Otherwise
the analyst picks the next loss, c = μ² ≤ b, knowing the history. Its mechanism has a likelihood ratio R, and
E_Q[(R − t)₊] ≤ E[(e^(μZ − μ²/2) − t)₊] for every t: that is what being μ-Gaussian private means. A convex f with
f(0) = 0 is f'(0)·r plus a mixture of hinges (r − t)₊ and both ratios have mean 1 (the Gaussian curve tends to 0, so P
has no part outside Q's support), so the same holds for f in the hinge's place. With the claim for n − 1,

    E_Q[(X − γ)₊ | history] ≤ E_Q[F(b − c, x·R)] ≤ E[F(b − c, x·e^(√c Z − c/2))] = F(b, x).

At the start x = 1 and b = μ_max², hence H ≤ δ_μ_max(ε) ≤ δ. Exchanging P and Q changes nothing. ∎

**Pure ε is Gaussian with μ = 2Φ⁻¹(e^ε/(1 + e^ε)).** A pure mechanism is a function of ε-randomised response, whose
trade-off curve between the errors of a test is two line segments that meet at (p, p), p = 1/(1 + e^ε). The Gaussian
curve G(α) = Φ(Φ⁻¹(1 − α) − μ) is convex and shares the end points (0, 1) and (1, 0). It passes through (p, p) where
μ = 2Φ⁻¹(1 − p), and then lies below both segments. So every test does at least as well against the Gaussian. With 2(1 −
p) − 1 = tanh(ε/2), small ε keeps its digits as 2√2·erf⁻¹(tanh(ε/2)); large ε as −2Φ⁻¹(p) from the logarithm of p.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import erfinv, log_expit, log_ndtr, ndtri_exp

from discreet.guarantees import Loss
from discreet.guarantees.normal import normal_delta, normal_mu
from discreet.ledger.filters import Filter, Largest, within

__all__ = ["GaussianFilter", "mu_of_pure", "pure_of_mu"]


@lru_cache(maxsize=4096)
def mu_of_pure(epsilon: float) -> float:
    """Return the μ of the Gaussian mechanism that is no more private than any ε-private one.

    >>> round(mu_of_pure(1.0), 6), round(mu_of_pure(1e-9) / 1e-9, 6)
    (1.232035, 1.253314)
    """
    if epsilon < 1.0:
        return 2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0)))
    return -2.0 * float(ndtri_exp(log_expit(-epsilon)))


def pure_of_mu(mu: float) -> float:
    """Return the ε of which ``mu_of_pure`` is μ: ln Φ(μ/2) − ln Φ(−μ/2).

    >>> round(pure_of_mu(mu_of_pure(2.5)), 9)
    2.5
    """
    if mu < 1.0:  # Φ(μ/2) − Φ(−μ/2) = tanh(ε/2), all digits kept
        return 2.0 * math.atanh(math.erf(mu / (2.0 * math.sqrt(2.0))))
    return float(log_ndtr(mu / 2.0) - log_ndtr(-mu / 2.0))


class GaussianFilter(Filter):
    """Σμ² ≤ μ_max²; see the module. A loss that is known by its zCDP alone has no price."""

    name = "gaussian"

    def price(self, loss: Loss) -> float:
        """Return μ², of the Gaussian that the mechanism is, or of one that is known to be no more private."""
        mu = loss.dominating
        if mu is None:
            mu = mu_of_pure(loss.pure) if math.isfinite(loss.pure) else math.inf
        return mu * mu

    def keeps(self, total: float) -> bool:
        """Compare in δ, as a calibration to (ε, δ) does, so that what it gives fits to the last digit."""
        return self.delta > 0.0 and within(float(normal_delta(math.sqrt(total), self.epsilon)), self.delta)

    def capacity(self) -> float:
        """Return μ_max²."""
        return normal_mu(self.epsilon, self.delta) ** 2

    def largest(self, left: float) -> Largest:
        """Return √left as μ, and the pure ε that it dominates."""
        mu = math.sqrt(left)
        return Largest(mu, pure_of_mu(mu), 0.0)
