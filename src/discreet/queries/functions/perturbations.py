"""Output and input perturbation, with proofs: noise on a function of rows, or on each row (Sarwate, Chaudhuri 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.arguments import ArgumentError
from discreet.guarantees import Guarantee, Loss, PureLoss
from discreet.noise import EuclideanNoise, GaussianNoise, LaplaceNoise
from discreet.noise.draws import RandomOrder
from discreet.queries.bound import Setting
from discreet.queries.functions.user_functions import RowMechanism, UserFunction, require_public_count
from discreet.queries.mechanism import Mechanism, Plan, vector_noise
from discreet.queries.question import Part, Question, RowQuery, additive_loss
from discreet.records import Ball, Block, Box

APART = 2.0  # the largest distance of two points of the unit ball


@dataclass(frozen=True, eq=False)
class OutputPerturbation(RowMechanism):
    """Noise on a function of rows, for a sensitivity that its user states (equations 5 to 7).

    *Proof.* Let f be the function with its default in place of failures, clipped to a declared box. Clipping to a box
    brings no two vectors farther apart, in L1 or L2. Suppose that f changes by at most Δ when one row changes. The m
    rows of a unit are m steps, so two neighbours are at most mΔ apart by the triangle inequality. Then

    - Gaussian noise on a grid: μ, the rounding of both to the grid charged (``GaussianNoise.for_query``); as ‖v‖₂ ≤
      ‖v‖₁, a bound in L1 will do;
    - Laplace noise on a grid for a bound in L1, or one number: ε in the same way;
    - density ∝ e^(−ε‖z‖₂/(mΔ)) (7): the log-ratio at any point is at most ε. In ideal arithmetic.
    """

    name = "output perturbation"
    function: UserFunction
    sensitivity: float
    norm: str

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return a Gaussian loss; at δ = 0 a Laplace or a pure one."""
        if guarantee.delta == 0.0 and self.norm == "l2" and self.function.box.dimension > 1:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return additive_loss(guarantee)

    def noise(self, loss: Loss, setting: Setting) -> GaussianNoise | LaplaceNoise | EuclideanNoise:
        """Return the noise."""
        size, moved = self.function.box.dimension, self.sensitivity * setting.max_rows
        l1 = moved if self.norm == "l1" or size == 1 else math.inf
        return vector_noise(loss, self.name, l2=moved, l1=l1, largest=self.function.largest, size=size)

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the noise on what f makes of the rows."""
        noise = self.noise(loss, setting)
        return Plan(
            kind="additive" if noise.exact else "sampled",
            loss=loss,
            parts={"value": Part((self.function.box.dimension,))},
            draw=noise,
            noise=noise if noise.exact else None,
            target=self.function,
            declared={"sensitivity": self.sensitivity, "norm": self.norm},
        )


class RowNoise(Mechanism):
    """Independent noise on every row (equations 3 and 4).

    *Proof.* ``to_unit`` maps every row into the unit ball, in floats too, whatever rows stand beside it. Two neighbours
    under replace-one have the same rows but for one, whose images are at most 2 apart. The noise of a row is
    independent of the others', so the output distributions differ in that row alone:

    - density ∝ e^(−(ε/2)‖z‖): the log-ratio at any point is at most (ε/2)·2 = ε;
    - Gaussian noise on a grid: a shift of at most 2 in L2, and 2·grid·√d for the rounding of both: μ, by ``for_query``.

    The rows are released in a random order, uniform over all orders. That is post-processing, and it makes the
    distribution a function of the multiset of rows. So the guarantee also holds where a changed value would move a row
    to another place of the file, for example of a sorted one. (The order does not reveal which noisy row belongs to
    whom.)

    There is no version under add-remove, since n noisy rows reveal n. So it is refused where rows may be dropped, or
    where a person has several.
    """

    kind = "additive"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the noise for a ``PureLoss``, a ``LaplaceLoss`` (in one dimension) or a Gaussian one."""
        if not isinstance(question, NoisyRows):
            raise ArgumentError("query", question.name, "NoisyRows")
        require_public_count(setting, question.name)
        if question.rows != setting.rows:
            raise ArgumentError("rows", question.rows, f"how many there are, {setting.rows}")
        noise = self.noise(loss, question.dimension)
        shape = (question.rows, question.dimension)
        return Plan(
            kind="additive" if noise.exact else "sampled",
            loss=loss,
            parts={"rows": Part(shape)},
            draw=noise,
            noise=noise if noise.exact else None,
            first=((RandomOrder(), len),),
            target=lambda rows, order: rows[order],
        )

    def noise(self, loss: Loss, dimension: int) -> GaussianNoise | LaplaceNoise | EuclideanNoise:
        """Return the noise on one row."""
        l1 = APART if dimension == 1 else math.inf
        return vector_noise(loss, NoisyRows.name, l2=APART, l1=l1, largest=1.0, size=dimension)


@dataclass(frozen=True)
class NoisyRows(RowQuery):
    """All rows, mapped into the unit ball.

    Parameters
    ----------
    space : Box or Ball
    rows : int
        How many there are; public.
    """

    space: Box | Ball
    rows: int
    name = "noisy rows"
    mechanism = RowNoise()

    @property
    def width(self) -> int:
        """All of them."""
        return self.space.dimension

    def take(self, block: Block) -> Any:
        """Return the row's image in the unit ball."""
        return self.space.to_unit(block.x)

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return a Gaussian loss, or at δ = 0 a pure one."""
        if guarantee.delta == 0.0 and self.dimension > 1:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return additive_loss(guarantee)
