"""``Paper``: DP-EM as published (Park et al. 2017), with 2K + 1 releases a step: weights, each mean, each covariance.

It is kept for comparison. Denominators are private here: sums are released, and noisy sums are divided by noisy counts.
(The paper's equations 16 and 19 and its code use the exact count N_k, which is itself a secret.) Rows are scaled by a
public radius and clipped, the start does not depend on the rows, and the number of steps is fixed.

Sensitivities, with γ on the simplex and ‖y‖ ≤ 1: counts jointly √2 in L2 and 2 in L1; each γ_k·y 2 and 2√d; each
γ_k·yyᵀ √2 in Frobenius norm, under replace-one; 1, √d and 1 under add-remove (``clipped_moments``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import Guarantee, Loss, calibrate
from discreet.models.method import Method
from discreet.models.mixture.joint_release import Prior, components_from_moments, spread_components
from discreet.models.noisy_sums import noise_std, positive_counts
from discreet.planning.comparison import dpem_losses
from discreet.queries.moments.clipped_moments import COUNTS, FIRST, SECOND, ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["Paper"]


@dataclass(frozen=True)
class Paper(Method[Components]):
    """The published DP-EM algorithm.

    Parameters
    ----------
    count : int
        K.
    steps : int
    mechanisms : str
        ``"GGG"``: Gaussian noise throughout; ``"LLG"``: Laplace for the counts and the means.
    composition : str
        How the noise is calibrated: ``"linear"``, ``"advanced"``, ``"zcdp"``, ``"moments"`` or ``"exact"``.
    prior : Prior or None
    """

    count: int
    steps: int
    mechanisms: str
    composition: str
    prior: Prior | None

    @property
    def shares(self) -> list[float]:
        """Equal shares for all releases."""
        releases = self.steps * (2 * self.count + 1)
        return [1.0 / releases] * releases

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return the losses of each step: counts, means, covariances. The δ_i of a mechanism is δ/(10·J(2K+1))."""
        releases = self.steps * (2 * self.count + 1)
        scenario = dpem_losses(
            self.mechanisms,
            steps=self.steps,
            components=self.count,
            epsilon=0.1,
            delta=guarantee.delta / (10.0 * releases),
            neighbors=guarantee.neighbors,
        )
        losses = calibrate(guarantee, scenario, self.composition).losses
        first, last = losses[0], losses[-1]  # for counts and means, and for covariances
        return ((first,) * (self.count + 1) + (last,) * self.count) * self.steps

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the last parameters and all releases; one E-step serves the 2K + 1 releases of a step."""
        params = spread_components(self.count, space.dimension, rng)
        releases: list[Release] = []

        def release_moments(weights: tuple[float, float, float], only: int | None) -> Release:
            moments = ClippedMoments(params, None, weights, only=only)
            query = MomentSums(moments, space, "one parameter of a mixture")
            releases.append(next(measures)(query))
            return releases[-1]

        each = range(self.count)
        for _ in range(self.steps):
            counts = release_moments(COUNTS, None)
            first = np.concatenate([release_moments(FIRST, k)["first"] for k in each])
            squares = [release_moments(SECOND, k) for k in each]
            second, noise = np.concatenate([square["second"] for square in squares]), noise_std(squares[0], "second")
            rows = positive_counts(counts)
            params = components_from_moments(rows, first, second, noise, "full", self.prior)
        return params, releases
