"""Losses of additive noise: Laplace and the two-sided geometric; the Gaussian ones are in ``normal``.

Each holds for a statistic of a declared sensitivity Δ; that the statistic has it is proved where the query is.

Why one curve a kind of noise is enough. Write T_Δ for the trade-off curve between the noise and the noise shifted
by Δ. For a log-concave density (or log-concave integers, shifted by integers) the best test is a threshold, so
T_Δ(α) = F(F⁻¹(1 − α) − Δ) and shifts add up: T_{a+b} = T_b ∘ (1 − T_a). Hence
 - two steps of a relation are one at twice the shift (``under``), and nothing is lost;
 - a shift spread over several coordinates by amounts that sum to Δ (L1) can be walked one coordinate at a time, so
   it is dominated by a shift of Δ in one coordinate: the curves below hold for vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from discreet.arguments import ArgumentError, integer
from discreet.guarantees.guarantee import Neighbors
from discreet.guarantees.loss import Array, EpsilonLoss
from discreet.guarantees.normal import reflected
from discreet.guarantees.renyi import geometric_renyi, laplace_renyi

__all__ = ["GeometricLoss", "LaplaceLoss"]


@dataclass(frozen=True)
class LaplaceLoss(EpsilonLoss):
    """The loss of Laplace noise: ε = Δ/b for scale b and L1 sensitivity Δ.

    Parameters
    ----------
    epsilon : float
        Δ/b, above 0.
    neighbors : Neighbors or str

    Examples
    --------
    >>> float(LaplaceLoss(1.0).delta_at(0.5)).__round__(6)
    0.221199
    """

    epsilon: float
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return 1 − e^((ε' − ε)/2) for 0 ≤ ε' ≤ ε, and 0 above."""
        e = np.asarray(epsilon, dtype=np.float64)
        return reflected(e, -np.expm1(np.minimum(np.abs(e) - self.epsilon, 0.0) / 2.0))

    def renyi(self, order: float) -> float:
        """Return the divergence between Laplace densities at distance ε (DP-EM, equation 20)."""
        return laplace_renyi(self.epsilon, order)


@dataclass(frozen=True)
class GeometricLoss(EpsilonLoss):
    """The loss of two-sided geometric noise, the exact Laplace mechanism on a grid.

    The noise is an integer number of grid steps, P(k) ∝ e^(−|k|·ε/steps), and the L1 sensitivity is ``steps`` of
    them. With one step the loss takes only the values ±ε, as bad as pure privacy allows; with many it comes down to
    the Laplace curve from above.

    Parameters
    ----------
    epsilon : float
        Sensitivity over scale, both in grid steps; above 0.
    steps : int
        The sensitivity in grid steps, at least 1.
    neighbors : Neighbors or str

    Examples
    --------
    >>> one, many, laplace = GeometricLoss(1.0, 1), GeometricLoss(1.0, 1000), LaplaceLoss(1.0)
    >>> [round(float(loss.delta_at(0.5)), 6) for loss in (one, many, laplace)]
    [0.287649, 0.221199, 0.221199]
    """

    epsilon: float
    steps: int = 1
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", integer("steps", self.steps, least=1, most=2**62))
        super().__post_init__()
        if self.epsilon / self.steps < 1e-290:
            raise ArgumentError("epsilon", self.epsilon, f"at least 1e-290 a step, got {self.steps} steps")

    def delta_at(self, epsilon: float | Array) -> Array:
        """Return P(Y ≤ y) − e^ε' P(Y ≤ y − steps) at the last y whose loss (steps − 2y)ε/steps exceeds ε'.

        The distribution function is 1 − q^(k+1)/(1+q) for k ≥ 0 and q^(−k)/(1+q) below, q = e^(−ε/steps).
        """
        e = np.asarray(epsilon, dtype=np.float64)
        size = np.minimum(np.abs(e), self.epsilon)
        rate = self.epsilon / self.steps
        q = math.exp(-rate)
        y = np.clip(np.ceil((self.steps - size / rate) / 2.0) - 1.0, 0.0, None)
        above = -(np.expm1((size - self.epsilon) + rate * y) + q * np.expm1(-rate * y)) / (1.0 + q)
        return reflected(e, np.where(np.abs(e) >= self.epsilon, 0.0, above))

    def renyi(self, order: float) -> float:
        """Return the divergence between the two shifted geometrics, a sum of geometric series."""
        return geometric_renyi(self.epsilon, self.steps, order)

    def _twice(self) -> Self:
        return replace(self, epsilon=2.0 * self.epsilon, steps=2 * self.steps)
