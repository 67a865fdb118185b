"""Noise on a statistic of one's own, whose global sensitivity is stated (Sarwate and Chaudhuri 2013, (5) to (7)).

*Proof.* Let f be the function with its default in place of failures, moved into a declared box: a move into a box
brings no two vectors farther apart, in L1 or L2. Say that f moves by at most Δ when one row changes; m rows of a unit
are m steps, so two neighbours are at most mΔ apart by the triangle inequality. Then

- Gaussian noise on a grid: μ, the rounding of both to the grid charged (``GaussianNoise.for_query``); as ‖v‖₂ ≤ ‖v‖₁, a
  bound in L1 will do;
- Laplace noise on a grid for a bound in L1, or one number: ε in the same way;
- density ∝ e^(−ε‖z‖₂/(mΔ)) (7): the log-ratio at any point is at most ε. In ideal arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.arguments import ArgumentError
from discreet.guarantees import Guarantee, LaplaceLoss, Loss, PureLoss
from discreet.noise import EuclideanNoise, GaussianNoise, LaplaceNoise
from discreet.queries.bound import Setting
from discreet.queries.functions.user_functions import Own, OwnMechanism, WholeRows
from discreet.queries.mechanism import Plan
from discreet.queries.question import Part, additive_loss

__all__ = ["Perturbation", "Perturbed"]


class Perturbation(WholeRows):
    """A statistic of a user's own."""

    name = "output perturbation"


@dataclass(frozen=True, eq=False)
class Perturbed(OwnMechanism):
    """Noise by a stated sensitivity; see the module for the proof."""

    own: Own
    sensitivity: float
    norm: str

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return a Gaussian loss; at δ = 0 a Laplace or a pure one."""
        if guarantee.delta == 0.0 and self.norm == "l2" and self.own.box.dimension > 1:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return additive_loss(guarantee)

    def noise(self, loss: Loss, setting: Setting) -> GaussianNoise | LaplaceNoise | EuclideanNoise:
        """Return the noise."""
        size, moved = self.own.box.dimension, self.sensitivity * setting.max_rows
        largest = self.own.largest
        if loss.gaussian is not None:
            return GaussianNoise.for_query(mu=loss.gaussian, sensitivity=moved, largest=largest, size=size)
        if isinstance(loss, LaplaceLoss) and (self.norm == "l1" or size == 1):
            return LaplaceNoise.for_query(epsilon=loss.epsilon, sensitivity=moved, largest=largest, size=size)
        if isinstance(loss, PureLoss):
            return EuclideanNoise.for_query(epsilon=loss.epsilon, sensitivity=moved, largest=largest, size=size)
        raise ArgumentError("loss", loss, "a PureLoss, a LaplaceLoss for a bound in L1, or a Gaussian one")

    def planned(self, loss: Loss, setting: Setting) -> Plan:
        """Return the noise on what f makes of the rows."""
        noise = self.noise(loss, setting)
        return Plan(
            kind="additive" if noise.exact else "sampled",
            loss=loss,
            parts={"value": Part((self.own.box.dimension,))},
            draw=noise,
            noise=noise if noise.exact else None,
            target=self.own,
            declared={"sensitivity": self.sensitivity, "norm": self.norm},
        )
