"""Noisy rows: every row gets noise of its own, and all of them are released (Sarwate and Chaudhuri 2013, (3) and (4)).

*Proof.* ``to_unit`` maps every row into the unit ball, in floats too, whatever rows stand beside it. Two neighbours
under replace-one have the same rows but for one, whose images are at most 2 apart. The noise of a row is independent of
the others', so the output laws differ in that row alone:

- density ∝ e^(−(ε/2)‖z‖): the log-ratio at any point is at most (ε/2)·2 = ε;
- Gaussian noise on a grid: a shift of at most 2 in L2, and 2·grid·√d for the rounding of both: μ, by ``for_query``.

The rows come out in a random order, uniform over all orders. That is post-processing, and it makes the law a function
of the rows as a set: so the promise holds too where a changed value would have put a row in another place of the file,
as in one that is sorted. (Which noisy row is whose is then open; what is known of a person's place tells nothing.)

There is no version under add-remove: n noisy rows reveal n. So nothing here where rows may be dropped, or where a
person has several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.arguments import ArgumentError
from discreet.guarantees import Guarantee, LaplaceLoss, Loss, PureLoss
from discreet.noise import EuclideanNoise, GaussianNoise, LaplaceNoise
from discreet.noise.draws import RandomOrder
from discreet.queries.bound import Setting
from discreet.queries.functions.user_functions import refuse_gaps
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Part, Question, RowQuery, additive_loss
from discreet.records import Ball, Block, Box

__all__ = ["APART", "EachRow", "NoisyRows"]


APART = 2.0  # two points of the unit ball


class EachRow(Mechanism):
    """Independent noise on every row; see the module for the proof."""

    kind = "additive"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the noise for a ``PureLoss``, a ``LaplaceLoss`` (in one dimension) or a Gaussian one."""
        if not isinstance(question, NoisyRows):
            raise ArgumentError("query", question.name, "NoisyRows")
        refuse_gaps(setting, question.name)
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
        if loss.gaussian is not None:
            return GaussianNoise.for_query(mu=loss.gaussian, sensitivity=APART, largest=1.0, size=dimension)
        if isinstance(loss, LaplaceLoss) and dimension == 1:
            return LaplaceNoise.for_query(epsilon=loss.epsilon, sensitivity=APART, largest=1.0)
        if isinstance(loss, PureLoss):
            return EuclideanNoise.for_query(epsilon=loss.epsilon, sensitivity=APART, largest=1.0, size=dimension)
        raise ArgumentError("loss", loss, "a PureLoss, or a Gaussian one")


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

    @property
    def mechanism(self) -> Mechanism:
        """Noise on each."""
        return EachRow()

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def width(self) -> int:
        """All of them."""
        return self.space.dimension

    def taken(self, block: Block) -> Any:
        """Return the row's image in the unit ball."""
        return self.space.to_unit(block.x)

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return a Gaussian loss, or at δ = 0 a pure one."""
        if guarantee.delta == 0.0 and self.dimension > 1:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return additive_loss(guarantee)
