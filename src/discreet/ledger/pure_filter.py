"""The pure filter: Σε_i ≤ ε.

**It is valid when the ε_i are chosen adaptively**, path by path: the likelihood ratio of a transcript is the product of
the mechanisms' ratios, each at most e^ε_i given the past, so X ≤ e^Σε_i ≤ γ everywhere and E_Q[(X − γ)₊] = 0. No δ is
used. Where it is the chosen filter, δ is there for the mechanisms' own failures: Σδ_i ≤ δ. Where it stands beside
another, it has no share of δ and admits no failures (``filters`` says why it is free then). ∎
"""

from __future__ import annotations

from discreet.guarantees import Loss
from discreet.ledger.filters import Filter, Largest, within

__all__ = ["PureFilter"]


class PureFilter(Filter):
    """Σε ≤ ε; see the module. A Gaussian or zCDP loss has no price."""

    name = "pure"

    def price(self, loss: Loss) -> float:
        """Return the pure ε."""
        return loss.pure

    def keeps(self, total: float) -> bool:
        """Compare in ε."""
        return within(total, self.epsilon)

    def capacity(self) -> float:
        """Return ε."""
        return self.epsilon

    def largest(self, left: float) -> Largest:
        """Return what is left as ε."""
        return Largest(0.0, left, 0.0)
