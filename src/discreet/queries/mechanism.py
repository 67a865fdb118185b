"""The base class of mechanisms, and the standard mechanisms for sums and selections, with their proofs.

A mechanism decides from public numbers what to charge and what to draw. It draws nothing itself. It makes a ``Plan``
before anything is spent, and every refusal happens there. The door (``discreet.door.exit``) charges the loss, collects
the input of the mechanism from the rows, and then

1. samples the auxiliary distributions ``first``, which depend on no row (noise inside an objective, random blocks);
2. computes ``target`` from the collected numbers and these samples, deterministically;
3. makes the ``draw`` around the target;
4. applies ``finish`` to the drawn numbers, a function that sees nothing else of the rows.

Each mechanism proves in its docstring that the result of steps 1 to 4 has the loss that it charges.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from discreet.arguments import ArgumentError
from discreet.guarantees import BoundedRangeLoss, LaplaceLoss, Loss, PureLoss
from discreet.noise import EuclideanNoise, GaussianNoise, LaplaceNoise, NoiseDistribution
from discreet.noise.draws import Choose, Distribution
from discreet.noise.grid_noise import Draw
from discreet.queries.bound import Setting
from discreet.queries.question import Part, Query, Question, Selection


def as_is(value: Any) -> Any:
    """Return what was given."""
    return value


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The loss to charge and the draw to make.

    Attributes
    ----------
    loss : Loss
        The loss to charge.
    parts : mapping of str to Part
        The named parts of the released numbers.
    draw : Draw
    kind : str
        The kind of mechanism in the release: ``"additive"``, ``"selection"``, ``"sampled"`` or ``"approximate"``.
    noise : NoiseDistribution or None
        The noise on each released number, where it is that of the draw.
    first : tuple of (Distribution, callable)
        Auxiliary distributions, each with the size of its sample as a function of the collected numbers.
    target : callable
        From the collected numbers and the auxiliary samples to the centre of the draw; private.
    finish : callable
        From the drawn numbers to the released ones.
    declared : mapping
        What the user stated without proof, for example a sensitivity; the release contains it.
    facts : tuple
        The facts of the question at the time of planning (``Question.facts``).
    """

    loss: Loss
    parts: Mapping[str, Part]
    draw: Draw
    kind: str = "sampled"
    noise: NoiseDistribution | None = None
    first: tuple[tuple[Distribution, Callable[[Any], Any]], ...] = ()
    target: Callable[..., Any] = as_is
    finish: Callable[[Any], Any] = as_is
    declared: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[Any, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the draw has its distribution exactly, or only approximately, in floats."""
        return self.draw.exact and all(distribution.exact for distribution, _ in self.first)


class Mechanism(ABC):
    """A mechanism: it plans how a question is released. ``kind`` is its kind in the release."""

    kind: ClassVar[str] = "sampled"

    @abstractmethod
    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the loss to charge and the draw, from public numbers; every refusal is raised here."""


def additive_noise(
    loss: Loss, name: str, *, l2: float, l1: float, largest: float, size: int
) -> GaussianNoise | LaplaceNoise:
    """Return noise on a grid for numbers of these sensitivities.

    It is Gaussian noise in L2 for a Gaussian loss, and Laplace noise in L1 for a ``LaplaceLoss``. ``for_query`` adds
    the effect of the grid to the sensitivity, and sets the scale for the requested loss (``noise.grid_noise``).
    """
    if loss.gaussian is not None:
        return GaussianNoise.for_query(mu=loss.gaussian, sensitivity=l2, largest=largest, size=size)
    if not isinstance(loss, LaplaceLoss):
        raise ArgumentError("loss", loss, f"a GaussianLoss or a LaplaceLoss to measure {name}")
    if math.isinf(l1):
        raise ArgumentError("loss", loss, f"a GaussianLoss; {name} has no bound in L1")
    return LaplaceNoise.for_query(epsilon=loss.epsilon, sensitivity=l1, largest=largest, size=size)


def vector_noise(
    loss: Loss, name: str, *, l2: float, l1: float, largest: float, size: int
) -> GaussianNoise | LaplaceNoise | EuclideanNoise:
    """Return the noise of ``additive_noise``, or for a ``PureLoss`` that of ``Euclidean``, which is idealised."""
    if isinstance(loss, PureLoss):
        return EuclideanNoise.for_query(epsilon=loss.epsilon, sensitivity=l2, largest=largest, size=size)
    return additive_noise(loss, name, l2=l2, l1=l1, largest=largest, size=size)


class Additive(Mechanism):
    """Gaussian or Laplace noise on a grid.

    Proof. The computed sums of two neighbours are at most ``setting.sensitivity`` apart, in the norm that
    ``additive_noise`` covers.
    """

    kind = "additive"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return Gaussian noise in L2 for a Gaussian loss, Laplace noise in L1 for a ``LaplaceLoss``."""
        query = _as_sum(question)
        l2, l1 = setting.sensitivity(query, "l2"), setting.sensitivity(query, "l1")
        noise = additive_noise(loss, query.name, l2=l2, l1=l1, largest=setting.largest(query), size=query.size)
        return Plan(kind=self.kind, loss=loss, parts=query.parts, draw=noise, noise=noise)


class Euclidean(Mechanism):
    """Noise of density ∝ e^(−ε‖z‖₂/Δ₂): pure privacy from an L2 bound (Sarwate and Chaudhuri 2013, equation 7).

    Proof: ``discreet.noise.euclidean``. A vector is put together with floats, so the release is marked idealised.
    """

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``."""
        if not isinstance(loss, PureLoss):
            raise ArgumentError("loss", loss, "a PureLoss")
        query = _as_sum(question)
        noise = EuclideanNoise.for_query(
            epsilon=loss.epsilon,
            sensitivity=setting.sensitivity(query, "l2"),
            largest=setting.largest(query),
            size=query.size,
        )
        return Plan(loss=loss, parts=query.parts, draw=noise)


class Exponential(Mechanism):
    """The exponential mechanism: candidate i with probability ∝ e^(η·score_i), drawn exactly.

    Proof. Between neighbours the scores change by amounts that differ from one another by at most ``spread``, so the
    log-ratio of the two output distributions has a range of at most η·spread: bounded range ε at η = ε/spread. Each
    exponent is a float product with a relative error of at most 2⁻⁵³, so an error of 2⁻⁵³·η·s for scores of size s. For
    two neighbours and two candidates the range grows by 4 times that, which is subtracted from ε first. Of several
    choices the scores are about disjoint rows: a choice whose scores are the same has no such error, and at most two
    choices have others, with scores of size s together.
    """

    kind = "selection"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        query = _as_selection(question)
        if not isinstance(loss, BoundedRangeLoss):
            raise ArgumentError(
                "loss", loss, "a BoundedRangeLoss (exponential mechanism) or a PureLoss (noisy maximum)"
            )
        eta = self.eta(query, loss, setting)
        if not math.isfinite(eta * query.largest_score(setting)):
            raise ArgumentError("loss", loss, "a smaller ε; at this one the scores overflow")
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"selected": Part((query.choices,))},
            draw=Choose(),
            target=lambda values: eta * query.scores(values),
        )

    @staticmethod
    def eta(query: Selection, loss: BoundedRangeLoss, setting: Setting) -> float:
        """Return η."""
        return loss.epsilon / (query.spread(setting) + 4.0 * 2.0**-53 * query.largest_score(setting))


class NoisyMax(Mechanism):
    """Report noisy max: the candidate with the largest score after Laplace noise on each score (the first of equals).

    Proof. Fix the noise of the other candidates. Candidate i is selected if its noise is at least some integer number
    of grid steps. Between neighbours this threshold moves by at most ``spread`` and two steps for the rounding of each
    of the two scores. The tail of the rounded Laplace distribution at whole steps is the Laplace tail half a step
    lower, which changes by a factor of at most e^(move/scale). So scale = move/ε is ε-private.
    """

    kind = "selection"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``."""
        query = _as_selection(question)
        if not isinstance(loss, PureLoss):
            raise ArgumentError("loss", loss, "a PureLoss for a noisy maximum")
        noise = LaplaceNoise.for_query(
            epsilon=loss.epsilon, sensitivity=query.spread(setting), largest=query.largest_score(setting), size=2
        )
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"selected": Part((query.choices,))},
            draw=noise,
            target=query.scores,
            finish=lambda noisy: np.argmax(noisy.reshape(query.choices, -1), axis=1).astype(np.float64),
        )


def _as_sum(question: Question) -> Query:
    if not isinstance(question, Query):
        raise ArgumentError("query", question.name, "a sum over rows; this question has a mechanism of its own")
    return question


def _as_selection(question: Question) -> Selection:
    if not isinstance(question, Selection):
        raise ArgumentError("query", question.name, "one that selects, for example Mode")
    return question


def mechanism_for(question: Question, loss: Any) -> Mechanism:
    """Return the default mechanism for a question and a loss."""
    if question.mechanism is not None:
        return question.mechanism
    if isinstance(question, Selection):
        return NoisyMax() if isinstance(loss, PureLoss) else Exponential()
    return Additive()
