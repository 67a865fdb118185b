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

**Pure ε is Gaussian with μ = 2Φ⁻¹(e^ε/(1 + e^ε)), ε-bounded range with that of ε/2.** Let the log-likelihood ratio
of a mechanism lie in [t − s, t] for some pair of neighbours: pure privacy says so with t = ε and s = 2ε, bounded range
with s = ε and a t that may be another for each pair (``Loss.span`` is s). A convex function of a ratio of mean 1 is
largest where the ratio takes the two ends alone, so the worst mechanism says yes or no, yes with probability p or q.
Its trade-off curve between the errors of a test is two line segments that meet at (q, 1 − p). The Gaussian curve
G(α) = Φ(Φ⁻¹(1 − α) − μ) is convex and shares the end points (0, 1) and (1, 0). Where it meets (q, 1 − p) or passes
below, which is μ ≥ Φ⁻¹(p) − Φ⁻¹(q), it lies below both segments: every test does at least as well against it.

Which t needs the largest μ? Let L(x) = ln Φ(x) − ln Φ(−x), x = Φ⁻¹(p) and y = Φ⁻¹(q); then s = L(x) − L(y). Now L'(x) =
h(x) + h(−x), where h = φ/(1 − Φ) is the normal's hazard rate, which is convex (Sampford 1953). So L' is even and grows
with |x|, and of all intervals [y, x] of one length it has the least integral over the one around 0. With the integral s
given, that one is the longest: y = −x, 2L(x) = s, and μ = 2L⁻¹(s/2) = 2Φ⁻¹(e^(s/2)/(1 + e^(s/2))) is enough. ∎

With ε for s/2 and 2Φ(μ/2) − 1 = tanh(ε/2), a small one keeps its digits as 2√2·erf⁻¹(tanh(ε/2)); a large one as
−2Φ⁻¹(1/(1 + e^ε)), from the logarithm of that probability.
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
            mu = mu_of_pure(loss.span / 2.0) if math.isfinite(loss.span) else math.inf
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
