"""The passages through the door: additive, selection and sampled, each with its proof.

A passage plans first, from public numbers only: the loss that is charged and the law of the noise. Every refusal
comes from there, before anything is spent. Then it draws. A mechanism of one's own is a subclass of ``Passage`` with
its proof in the docstring; what it draws is marked ``sampled``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.door.part import Part
from discreet.door.query import Query
from discreet.door.question import Question
from discreet.door.selection import Selection
from discreet.guarantees import (
    BoundedRangeLoss,
    LaplaceLoss,
    Loss,
    Neighbors,
    PureLoss,
)
from discreet.noise import Bits, EuclideanNoise, GaussianNoise, LaplaceNoise, Law, categorical

__all__ = [
    "Additive",
    "Euclidean",
    "Exponential",
    "NoisyMax",
    "Passage",
    "Plan",
    "Setting",
    "passage_for",
]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What a passage may know of the data: public numbers only.

    Attributes
    ----------
    neighbors : Neighbors
    max_rows : int
        Rows that a unit may have.
    rows : int
        A public bound on the number of rows.
    accumulation : float
        The γ of the source's float summation (``discreet.records``).
    complete : bool
        Whether each row surely counts and stands for itself, so that under replace-one ``rows`` is their number.
    """

    neighbors: Neighbors
    max_rows: int
    rows: int
    accumulation: float
    complete: bool = False

    def sensitivity(self, query: Query, norm: str) -> float:
        """Return how far apart two neighbours' computed sums can be: the ideal distance and both float errors."""
        bound = query.bound.sensitivity(norm, self.neighbors, max_rows=self.max_rows)
        error = query.float_error(self.rows, self.accumulation)
        return bound + 2.0 * error * (math.sqrt(query.size) if norm == "l1" else 1.0)

    def largest(self, query: Query) -> float:
        """Return a bound on the size of every coordinate of the sum."""
        return self.rows * query.bound.l2 * (1.0 + 1e-6)


@dataclass(frozen=True)
class Plan:
    """What will be charged and how it will be drawn."""

    kind: str
    loss: Loss
    law: Law | None
    exact: bool
    parts: Mapping[str, Part]
    draw: Callable[[Any, Bits | None], Array] = field(repr=False)


class Passage(ABC):
    """A way through the door. ``kind`` is what the release says of it."""

    kind: ClassVar[str] = "sampled"

    @abstractmethod
    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return what to charge and how to draw, from public numbers; raise here or not at all."""


class Additive(Passage):
    """Gaussian or Laplace noise on a grid.

    Proof. The computed sums of two neighbours are at most ``setting.sensitivity`` apart; ``for_query`` adds what the
    grid does and sets the scale so that the loss is the one asked for (``discreet.noise.laws``).
    """

    kind = "additive"

    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return Gaussian noise in L2 for a Gaussian loss, Laplace noise in L1 for a ``LaplaceLoss``."""
        query = _as_sum(query)
        largest, size = setting.largest(query), query.size
        if loss.gaussian is not None:
            sensitivity = setting.sensitivity(query, "l2")
            gaussian = GaussianNoise.for_query(mu=loss.gaussian, sensitivity=sensitivity, largest=largest, size=size)
            return Plan(self.kind, loss, gaussian, True, query.parts, gaussian.add)
        if isinstance(loss, LaplaceLoss):
            sensitivity = setting.sensitivity(query, "l1")
            if math.isinf(sensitivity):
                raise ValueError(f"loss={loss!r}: expected a GaussianLoss; {query.name} has no bound in L1")
            laplace = LaplaceNoise.for_query(epsilon=loss.epsilon, sensitivity=sensitivity, largest=largest, size=size)
            return Plan(self.kind, loss, laplace, True, query.parts, laplace.add)
        raise ValueError(f"loss={loss!r}: expected a GaussianLoss or a LaplaceLoss to measure {query.name}")


class Exponential(Passage):
    """The exponential mechanism: candidate i with probability ∝ e^(η·score_i), drawn exactly.

    Proof. Between neighbours the scores move by amounts that differ from one another by at most ``spread``, so the
    log-ratio of the two output laws has a range of at most η·spread: bounded range ε at η = ε/spread. Each exponent is
    a float product, wrong by at most 2⁻⁵³ of its size, 2⁻⁵³·η·s for scores of size s; both neighbours', over two
    candidates: the range grows by 4 times that, which is taken off ε first.
    """

    kind = "selection"

    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        if not isinstance(query, Selection):
            raise ValueError(f"query={query.name!r}: expected one that selects, for example Mode")
        if not isinstance(loss, BoundedRangeLoss):
            raise ValueError(
                f"loss={loss!r}: expected a BoundedRangeLoss (exponential mechanism) or a PureLoss (noisy maximum)"
            )
        spread = query.spread(setting)
        size = query.largest_score(setting)
        eta = loss.epsilon / (spread + 4.0 * 2.0**-53 * size)
        if not math.isfinite(eta * size):
            raise ValueError(f"loss={loss!r}: expected a smaller ε; at this one the scores overflow")

        def draw(values: Array, bits: Bits | None) -> Array:
            return np.array([float(categorical(eta * query.scores(values), bits))])

        return Plan(self.kind, loss, None, True, {"selected": Part((1,))}, draw)


class NoisyMax(Passage):
    """The candidate whose score is largest after Laplace noise on each (the first among equals).

    Proof. Fix the noise of the others. Candidate i wins if its noise is at least some whole number of grid steps, which
    moves between neighbours by at most ``spread`` and two steps for each of the two scores' rounding. The tail of the
    rounded Laplace at whole steps is the Laplace tail half a step lower, which changes by at most e^(move/scale). So
    scale = move/ε is ε-private.
    """

    kind = "selection"

    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``."""
        if not isinstance(query, Selection):
            raise ValueError(f"query={query.name!r}: expected one that selects, for example Mode")
        if not isinstance(loss, PureLoss):
            raise ValueError(f"loss={loss!r}: expected a PureLoss for a noisy maximum")
        law = LaplaceNoise.for_query(
            epsilon=loss.epsilon, sensitivity=query.spread(setting), largest=query.largest_score(setting), size=2
        )

        def draw(values: Array, bits: Bits | None) -> Array:
            steps = law.steps(query.scores(values))
            return np.array([float(np.argmax(steps + law.sample(steps.shape, bits)))])

        return Plan(self.kind, loss, None, True, {"selected": Part((1,))}, draw)


class Euclidean(Passage):
    """Noise of density ∝ e^(−ε‖z‖₂/Δ₂): pure privacy from an L2 bound (Sarwate and Chaudhuri 2013, equation 7).

    Proof: ``discreet.noise.euclidean``. A vector is put together with floats, so the release is marked idealised.
    """

    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``."""
        if not isinstance(loss, PureLoss):
            raise ValueError(f"loss={loss!r}: expected a PureLoss")
        query = _as_sum(query)
        law = EuclideanNoise.for_query(
            epsilon=loss.epsilon,
            sensitivity=setting.sensitivity(query, "l2"),
            largest=setting.largest(query),
            size=query.size,
        )
        return Plan(self.kind, loss, None, False, query.parts, law.add)


def _as_sum(query: Question) -> Query:
    if not isinstance(query, Query):
        raise ValueError(f"query={query.name!r}: expected a sum over rows; this question has a passage of its own")
    return query


def passage_for(query: Question, loss: Any) -> Passage:
    """Return the usual passage for a query and a loss."""
    if query.passage is not None:
        return query.passage
    if isinstance(query, Selection):
        return NoisyMax() if isinstance(loss, PureLoss) else Exponential()
    return Additive()
