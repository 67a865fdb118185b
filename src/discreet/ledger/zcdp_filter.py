"""The zCDP filter: Σρ ≤ ρ_max, where ρ_max-zCDP promises (ε, δ).

**It is valid when the ρ_i are chosen adaptively** (Feldman and Zrnic 2021, for one Rényi order; zCDP has them all).
Fix an order α > 1. Given the past, the next mechanism's likelihood ratio R has E_Q[R^α] ≤ e^(α(α−1)ρ_i), where ρ_i is
known once the past is. So with S the sum of the ρ_i so far, X^α·e^(−α(α−1)S) is a supermartingale under Q that starts
at 1. On every path S ≤ ρ_max in the end, hence E_Q[X^α] ≤ e^(α(α−1)ρ_max): the Rényi divergence of order α of the
whole transcript is at most αρ_max. This holds for every α, so the transcript is ρ_max-zCDP, and the conversion to
(ε, δ) may then use the best order (Canonne, Kamath and Steinke 2020; ``discreet.guarantees.renyi``). ∎
"""

from __future__ import annotations

import math

from discreet.guarantees import Loss, ZcdpLoss
from discreet.guarantees.search import least_on_half_line
from discreet.ledger.filters import Filter, Largest, within

__all__ = ["ZcdpFilter"]


class ZcdpFilter(Filter):
    """Σρ ≤ ρ_max; see the module. Every loss has a price."""

    name = "zcdp"

    def price(self, loss: Loss) -> float:
        """Return ρ."""
        return loss.zcdp

    def _delta(self, rho: float) -> float:
        return float(ZcdpLoss(rho).delta_at(self.epsilon))

    def keeps(self, total: float) -> bool:
        """Compare in δ."""
        return self.delta > 0.0 and within(self._delta(total), self.delta)

    def capacity(self) -> float:
        """Return ρ_max; 0 at δ = 0."""
        if self.delta <= 0.0:
            return 0.0
        return 1.0 / least_on_half_line(lambda inverse: self._delta(1.0 / inverse), self.delta, 1.0)

    def largest(self, left: float) -> Largest:
        """Return √(2·left) as μ and as ε, since ρ is half the square of either."""
        root = math.sqrt(2.0 * left)
        return Largest(root, root, left)
