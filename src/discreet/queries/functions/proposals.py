"""Propose, test, release (Dwork and Lei 2009): a proposed bound on the local sensitivity is tested before it is used.

b is the proposal. γ(D) = ``distance`` is an integer ≥ 0, at most the number of rows that must change until the local
sensitivity exceeds b, and it differs by at most 1 between neighbours. (A real number is rounded down: if two differ by
at most 1, so do their floors.)

*The test.* γ(D) + G ≥ T, where G is two-sided geometric, P(G = g) ∝ q^|g| with q = e^(−r), r ≤ ε₁, and T ≥ 1 is the
least integer with P(G ≥ T) = q^T/(1 + q) ≤ δ. If the test fails, only this is released. *The release.* Otherwise f(D)
is released with Laplace noise for a sensitivity of b and ε₂. *Proof* of (ε₁ + ε₂, δ), for two neighbours:

- The local sensitivity of one of them is at most b. Then |f(D) − f(D')| ≤ b, and since γ differs by at most 1, the
  test is ε₁-private and the noisy value ε₂-private: together ε₁ + ε₂, and combining both is post-processing.
- It is above b for both. Then γ is 0 for both, so they fail the test with the same probability, and pass it with
  probability at most δ: P(A) ≤ P(A and failed) + δ ≤ P'(A) + δ.

f is first clipped to a declared interval, which increases no local sensitivity. All noise is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError
from discreet.guarantees import ApproximateLoss, Guarantee, Loss
from discreet.noise import GeometricNoise, LaplaceNoise
from discreet.noise.draws import NoDraw
from discreet.queries.bound import Setting
from discreet.queries.functions.user_functions import Array, RowMechanism, UserFunction
from discreet.queries.mechanism import Plan
from discreet.queries.question import Part


@dataclass(frozen=True, eq=False)
class ProposeTestRelease(RowMechanism):
    """The test and the release; see the module for the proof."""

    name = "propose, test, release"
    function: UserFunction
    away: UserFunction
    proposal: float
    share: float

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return (ε, δ) itself."""
        return ApproximateLoss(guarantee.epsilon, guarantee.delta, guarantee.neighbors)

    def distributions(self, loss: Loss) -> tuple[GeometricNoise, int, LaplaceNoise]:
        """Return the noise of the test, the least distance that passes, and the noise of the release."""
        if not isinstance(loss, ApproximateLoss):
            raise ArgumentError("loss", loss, "an ApproximateLoss")
        test, rest = self.share * loss.epsilon, (1.0 - self.share) * loss.epsilon * (1.0 - 1e-15)
        scale = (1.0 / test) * (1.0 + 2.0**-50) if test > 0.0 else math.inf  # so that r = 1/scale ≤ ε₁
        if not 2.0**-8 <= scale <= 2.0**40:
            raise ArgumentError(("epsilon", "share"), (loss.epsilon, self.share), "from 1e-12 to 256 for the test")
        # A little more than r·T = ln(1/δ) − ln(1 + q) asks for, against the roundings of the logarithms.
        least = (-math.log(loss.delta) - math.log1p(math.exp(-1.0 / scale))) * scale
        noise = LaplaceNoise.for_query(epsilon=rest, sensitivity=self.proposal, largest=self.function.largest)
        return GeometricNoise(scale), max(1, math.ceil(least + 1e-9 * abs(least) + 1e-9)), noise

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the test and the draw, for an ``ApproximateLoss``."""
        if setting.max_rows != 1:
            raise ValueError(f"max_rows={setting.max_rows}: expected 1")
        test, least, distribution = self.distributions(loss)

        def released(rows: Array, noise: Any, of_test: Any) -> Array:
            passed = test.steps(np.floor(self.away(rows.copy()))) + of_test >= least
            noisy = (distribution.steps(self.function(rows)) + noise) * distribution.grid
            return np.array([1.0, float(noisy[0])]) if passed[0] else np.zeros(2)

        return Plan(
            loss=loss,
            parts={"passed": Part((1,)), "value": Part((1,))},
            draw=NoDraw(),
            first=((distribution, lambda rows: 1), (test, lambda rows: 1)),
            target=released,
            declared={"distance": "stated by the user", "proposal": self.proposal},
        )
