"""Principal directions by the exponential mechanism: rows choose a direction, with the energy along it as its score.

**One direction.** With A = Σ wwᵀ over the rows, w = Bᵀy in a public basis B of the directions that are still open, the
score of a unit vector v is vᵀAv, and v is drawn with density ∝ e^(η·vᵀAv) (Chaudhuri, Sarwate, Sinha 2013): a Bingham
distribution, drawn exactly in ideal arithmetic (``noise.bingham``). *Proof.* ‖w‖ ≤ s = ‖B‖₂, so a row that comes or
goes moves every score by some (vᵀw)² in [0, s²], and a replaced one by a difference of two such numbers, in [−s², s²].
The log-ratio of the two densities has a range of at most η times that of the move, so η = ε/range is bounded range
ε. The computed sums are each off by at most E in Frobenius norm, and so in every score: the range grows by 4E.

**Several directions.** The next one is drawn in the complement of those before it, from rows that are measured again in
a basis of it. Each draw is a mechanism of its own at public parameters, and they compose. A frame as a whole by the
matrix Bingham distribution would cost ε once, but nobody can draw it exactly; ``Frame`` has Hoff's Gibbs sampler, and
what comes out of it says that it is approximate.

**How much lies along them** (``Energies``). With orthonormal v_j a row has ((v_jᵀy)²)_j and the rest ‖y‖² − Σ(v_jᵀy)²,
all of them ≥ 0 with sum ‖y‖² ≤ 1. A vector of such numbers has norm at most 1 in L1 and so in L2, and two of them are
at most 2 and √2 apart. With a count of weight a² and the energies at b² = 1 − a²: ‖c‖² ≤ a² + b² = 1, and the count
cancels where a row is replaced: √2·b, but never below the norm of a row that may go missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.guarantees import BoundedRangeLoss, Loss, Neighbors
from discreet.noise.draws import ChooseDirection, ChooseFrame
from discreet.noise.grid_noise import Draw
from discreet.queries.bound import UNIT_ROUNDOFF, Bound, Setting
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Part, Query, Question, pack_gram, pack_squares
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]


LARGEST = 1e300


SWEEPS = 20  # of the Gibbs sampler


COUNTED = 0.2  # a²


class OneDirection(Mechanism):
    """A direction of the rows' scatter, by the exponential mechanism; see the module for the proof."""

    kind = "sampled"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        if not isinstance(question, DirectionScatter) or not isinstance(loss, BoundedRangeLoss):
            raise ArgumentError(("query", "loss"), (question.name, loss), "a DirectionScatter and a BoundedRangeLoss")
        query = question
        squared = query.bound.l2
        spread = setting.max_rows * squared * (2.0 if setting.neighbors is Neighbors.REPLACE_ONE else 1.0)
        eta = loss.epsilon / (spread + 4.0 * query.float_error(setting.rows, setting.accumulation))

        if not eta * setting.largest(query) < LARGEST:
            raise ArgumentError("loss", loss, "a smaller ε; at this one the scores overflow")

        return Plan(
            kind=self.kind,
            loss=loss,
            parts=self._parts(query),
            draw=self._draw,
            target=lambda values: eta * query.parts["scatter"].unpack(values),
        )

    def _parts(self, query: DirectionScatter) -> Mapping[str, Part]:
        return {"direction": Part((query.basis.shape[1],))}

    @property
    def _draw(self) -> Draw:
        return ChooseDirection()


@dataclass(frozen=True)
class Frame(OneDirection):
    """Some orthonormal directions at once, by a Gibbs sampler: no guarantee follows from a chain that was stopped."""

    count: int
    kind = "approximate"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        if isinstance(question, DirectionScatter) and self.count > question.basis.shape[1]:
            raise ArgumentError("count", self.count, f"at most {question.basis.shape[1]} directions")
        return super().plan(question, loss, setting)

    def _parts(self, query: DirectionScatter) -> Mapping[str, Part]:
        return {"frame": Part((query.basis.shape[1], self.count))}

    @property
    def _draw(self) -> Draw:
        return ChooseFrame(self.count, SWEEPS)


@dataclass(frozen=True, eq=False)
class DirectionScatter(Query):
    """Σ wwᵀ, w = Bᵀy with y in the unit ball and a public orthonormal basis B: ‖wwᵀ‖ ≤ s², and √2·s² apart.

    A and A' of norm s² with ⟨A, A'⟩ = (wᵀw')² ≥ 0 are at most √2·s² apart. s is the largest singular value of B as it
    is in floats, within 10⁻¹² of 1.
    """

    space: Box | Ball
    basis: Array
    way: Mechanism = field(default_factory=OneDirection)
    name = "scatter"

    @property
    def mechanism(self) -> Mechanism:
        """A direction, or a frame."""
        return self.way

    @property
    def parts(self) -> Mapping[str, Part]:
        """The scatter matrix."""
        q = self.basis.shape[1]
        return {"scatter": Part((q, q), symmetric=True)}

    @property
    def bound(self) -> Bound:
        """See the class; on a line two of them are at most s² apart."""
        squared = float(np.linalg.norm(self.basis, 2)) ** 2 * (1.0 + 1e-13)
        attained = {"replace_l2": 1.0 if self.basis.shape[1] > 1 else math.sqrt(0.5)}
        return Bound(l2=squared, replace_l2=math.sqrt(2.0) * squared, attained=attained)

    @property
    def roundoff(self) -> float:
        """A product of d terms for each of q coordinates of w, twice, and one product of two."""
        return (2.0 * self.dimension + 32.0) * math.sqrt(self.basis.shape[1]) * UNIT_ROUNDOFF

    def _map_rows(self, block: Block) -> Any:
        """Return w = Bᵀy of each row."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        return xp.matmul(y, xp.asarray(self.basis, device=device(y)))

    def contributions(self, block: Block) -> Any:
        """Return wwᵀ, packed."""
        return pack_squares(self._map_rows(block))

    def sum(self, block: Block) -> Any:
        """Return the sum by one matrix product."""
        return pack_gram(self._map_rows(block))


@dataclass(frozen=True, eq=False)
class Energies(Query):
    """Σ of the energies along public orthonormal axes, and of the rest; see the module."""

    space: Box | Ball
    axes: Array
    counted: bool
    name = "energies"

    def __post_init__(self) -> None:
        if np.abs(self.axes @ self.axes.T - np.eye(len(self.axes))).max() > 1e-12:
            raise ArgumentError("axes", UNSHOWN, "orthonormal rows")

    @property
    def _weights(self) -> tuple[float, float]:
        a2 = COUNTED if self.counted else 0.0
        return math.sqrt(a2), math.sqrt(1.0 - a2)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count, where it is asked for, the energies along the axes, and the rest."""
        a, b = self._weights
        count = {"count": Part((1,), a)} if a else {}
        return count | {"along": Part((len(self.axes),), b), "rest": Part((1,), b)}

    @property
    def bound(self) -> Bound:
        """See the module; two rows along different axes attain it, which the search comes near to."""
        a, b = self._weights
        near = 0.5  # one of the two axes is found
        return Bound(
            l2=1.0,
            l1=a + b,
            replace_l2=max(math.sqrt(2.0) * b, 1.0),
            replace_l1=max(2.0 * b, a + b),
            attained={"l2": near, "l1": near, "replace_l2": near, "replace_l1": near},
        )

    @property
    def roundoff(self) -> float:
        """Products of d terms, squared, for each axis, and axes that are orthonormal to 10⁻¹²."""
        return (2.0 * self.dimension + 32.0) * (len(self.axes) + 1.0) * UNIT_ROUNDOFF + 1e-12

    def contributions(self, block: Block) -> Any:
        """Return the count, the energies and the rest."""
        a, b = self._weights
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        along = xp.matmul(y, xp.asarray(self.axes.T, device=device(y))) ** 2
        whole = xp.sum(y * y, axis=1, keepdims=True)
        rest = xp.clip(whole - xp.sum(along, axis=1, keepdims=True), 0.0, None)
        count = [xp.full((y.shape[0], 1), a, dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, b * along, b * rest], axis=1)
