"""The minimum of a regularised margin loss: objective perturbation, or noise on what comes out.

Three mechanisms, one question; the proof of the first is in ``guarantees.objective_loss``, those of the others here.
All of them use ``solver``, whose result is within r = (τ + …)/λ of the ideal minimum θ*, with τ fixed beforehand from
public numbers; none says how long it took.

**Gaussian noise in the objective** (``GaussianObjective``). The noise b is drawn rounded to a grid g, at most √D·g/2
away from the ideal one, which moves the minimum by at most √D·g/(2λ): this is added to r, so floats are covered too,
and the release is exact. The result is moved into a public box, which brings no two points farther apart, before the
noise that covers r is added on a grid.

**The noise of 2011** (``PureObjective``; Chaudhuri, Monteleoni and Sarwate, with the factor that equation 12 of Sarwate
and Chaudhuri leaves out). Rows of norm 1: b has the density ∝ e^(−ε'‖b‖/Δ), where the gradients of neighbours are at
most Δ apart, Δ = 2m where rows are replaced and m where they come or go. The log-ratio of the densities is at most ε'
from the noise and 2m·ln(1 + c/λ) from the determinants (m·ln(1 + c/λ) would do; theirs is kept). So ε' = ε − 2m·ln(1 +
c/λ); where that is not above 0, λ is raised to c/(e^(ε/(4m)) − 1), which makes it ε/2. Here a share of ε covers r, to
which the grid of b is added as above, by noise of density ∝ e^(−ε''‖z‖/(2r)) on a grid. Vectors are put together
with floats: idealised.

**Noise on the minimum** (``NoisyMinimum``). λ-strong convexity: ‖θ*(D) − θ*(D')‖ ≤ ‖∇J_D'(θ*(D))‖/λ = ‖Σ ∇ℓ over the
rows that differ‖/λ ≤ m/λ where rows come or go and 2m/λ where they are replaced; the two computed ones are 2r farther
apart at most. K problems: √K times that. Gaussian noise on a grid.

In all of them K problems (one class against the others) have r√K together.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, positive
from discreet.guarantees import Guarantee, Loss, Neighbors, ObjectiveLoss, PureLoss
from discreet.noise import EuclideanNoise, GaussianNoise
from discreet.queries.bound import Setting
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.objectives.labelled_rows import FeatureQuestion, Features
from discreet.queries.objectives.margin_losses import MarginLoss
from discreet.queries.objectives.solver import MarginProblem, Sums, longest, tolerance
from discreet.queries.question import Part, Question
from discreet.records import Records

Array = NDArray[np.float64]

FINENESS = 40  # of the grid of b
COARSE = 2.0**-43  # of ‖θ*‖ at most, and √(KD): what the solver may leave, so that the noise over it has a fine grid
SOLVED = 0.01  # of a pure ε, for what the solver leaves


def count_pushes(neighbors: Neighbors, max_rows: int) -> int:
    """Return how many rows of a unit differ between neighbours."""
    return max_rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1)


@dataclass(frozen=True, eq=False)
class Minimum(FeatureQuestion):
    """θ at the minimum, one row of it for two classes, else one for each class against the others.

    Parameters
    ----------
    features : Features
    loss : MarginLoss
    ridge : float
        λ.
    classes : int
        How many labels are declared.
    way : MinimumMechanism
    column : int
        Which of the columns of categories holds them.
    """

    features: Features
    loss: MarginLoss
    ridge: float
    classes: int
    way: MinimumMechanism
    column: int = 0
    name = "minimum"

    def __post_init__(self) -> None:
        positive("ridge", self.ridge)

    @property
    def mechanism(self) -> Mechanism:
        """The way that it was made for."""
        return self.way

    @property
    def problems(self) -> int:
        """K: how many minima there are."""
        return 1 if self.classes == 2 else self.classes

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return none: a minimum's loss depends on its ridge, so it is stated."""
        raise ValueError(
            f"loss={guarantee}: expected the loss itself, since it depends on the ridge; write an ObjectiveLoss"
        )

    def collect(self, records: Records, setting: Setting) -> Sums:
        """Return a way to sum over the rows."""
        return records.reduce

    def problem(self, setting: Setting, positive: int) -> MarginProblem:
        """Return one class against the others."""
        return MarginProblem(
            self.features, self.loss, self.ridge, self.column, positive, setting.rows, setting.accumulation
        )

    def solve(self, sums: Sums, setting: Setting, noise: Array, tau: float) -> Array:
        """Return the minima for these rows of noise, one after the other."""
        result = [
            self.problem(setting, 1 if self.classes == 2 else place).minimum(sums, b, tau)
            for place, b in enumerate(noise)
        ]
        return np.concatenate(result)


class MinimumMechanism(Mechanism):
    """What the three have in common."""

    kind: ClassVar[str] = "sampled"

    @abstractmethod
    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw."""

    def _check_question(self, question: Question) -> Minimum:
        if not isinstance(question, Minimum):
            raise ArgumentError("query", question.name, "a Minimum")
        return question

    def _parts(self, query: Minimum) -> dict[str, Part]:
        return {"theta": Part((query.problems, query.features.size))}


@dataclass(frozen=True)
class GaussianObjective(MinimumMechanism):
    """Gaussian noise in the objective; see the module."""

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for an ``ObjectiveLoss``, which must be the mechanism's own."""
        query = self._check_question(question)
        if not isinstance(loss, ObjectiveLoss):
            raise ArgumentError("loss", loss, "an ObjectiveLoss")
        rows, problems, size = setting.max_rows, query.problems, query.features.size
        determinant = problems * rows * math.log1p(query.loss.most_curvature / query.ridge)
        own = (count_pushes(setting.neighbors, rows), problems)
        if (loss.pushes, loss.problems) != own or loss.determinant < determinant * (1.0 - 1e-12):
            raise ArgumentError(
                "loss",
                loss,
                f"pushes={own[0]}, problems={own[1]} and a determinant of at least {determinant!r}, which are those "
                "of this question",
            )
        distribution = GaussianNoise(1.0 / loss.shift, FINENESS)
        problem = query.problem(setting, 1)
        tau, most = tolerance(problem, distribution.scale), longest(problem, distribution.scale)
        tau = max(tau, COARSE * math.sqrt(problems * size) * most * query.ridge)
        left = math.sqrt(problems) * (tau + math.sqrt(size) * distribution.grid / 2.0) / query.ridge
        cover = GaussianNoise.for_query(mu=loss.solver, sensitivity=2.0 * left, largest=most, size=problems * size)

        def solved(sums: Sums, steps: Any) -> Array:
            noise = np.asarray(distribution.grid * steps, dtype=np.float64)
            return np.clip(query.solve(sums, setting, noise, tau), -most, most)

        return Plan(
            loss=loss,
            parts=self._parts(query),
            draw=cover,
            first=((distribution, lambda sums: (problems, size)),),
            target=solved,
        )


@dataclass(frozen=True)
class PureObjective(MinimumMechanism):
    """The noise of 2011; see the module. The question's ridge is the one asked for, raised where ε needs it."""

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``PureLoss``."""
        query = self._check_question(question)
        if not isinstance(loss, PureLoss):
            raise ArgumentError("loss", loss, "a PureLoss")
        size, share = query.features.size, loss.epsilon / query.problems
        cover_share, spent = SOLVED * share, (1.0 - SOLVED) * share
        ridge = self.ridge(query, spent, setting.max_rows)
        spent -= 2.0 * setting.max_rows * math.log1p(query.loss.most_curvature / ridge)
        distribution = EuclideanNoise(count_pushes(setting.neighbors, setting.max_rows) / spent, size, FINENESS)
        asked = Minimum(query.features, query.loss, ridge, query.classes, self, query.column)
        tail = size + 12.0 * math.sqrt(size) + 70.0  # ‖b‖/scale is above it with a probability below 10⁻²⁹
        problem, std = asked.problem(setting, 1), distribution.scale * tail / (math.sqrt(size) + 12.0)
        tau, most = tolerance(problem, std), longest(problem, std)
        tau = max(tau, COARSE * math.sqrt(query.problems * size) * most * ridge * max(cover_share, 1.0))
        left = (tau + math.sqrt(size) * distribution.grid / 2.0) / ridge
        cover = EuclideanNoise.for_query(epsilon=cover_share, sensitivity=2.0 * left, largest=most, size=size)

        def solved(sums: Sums, steps: Any) -> Array:
            noise = np.asarray(distribution.grid * steps, dtype=np.float64)
            return np.clip(asked.solve(sums, setting, noise, tau), -most, most).reshape(query.problems, size)

        return Plan(
            loss=loss,
            parts=self._parts(query),
            draw=cover,
            first=((distribution, lambda sums: (query.problems, size)),),
            target=solved,
        )

    @staticmethod
    def ridge(query: Minimum, epsilon: float, max_rows: int) -> float:
        """Return λ: as asked for, or where that leaves nothing of ε what leaves half of it for the noise."""
        curvature = query.loss.most_curvature
        if 2.0 * max_rows * math.log1p(curvature / query.ridge) < epsilon:
            return query.ridge
        return curvature / math.expm1(min(epsilon / (4.0 * max_rows), 700.0))


@dataclass(frozen=True)
class NoisyMinimum(MinimumMechanism):
    """Noise on the minimum; see the module."""

    kind = "additive"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a Gaussian loss."""
        query = self._check_question(question)
        if loss.gaussian is None:
            raise ArgumentError("loss", loss, "a GaussianLoss")
        problems, size = query.problems, query.features.size
        problem = query.problem(setting, 1)
        tau, most = tolerance(problem, 0.0), longest(problem, 0.0)
        apart = (count_pushes(setting.neighbors, setting.max_rows) + 2.0 * tau) / query.ridge
        distribution = GaussianNoise.for_query(
            mu=loss.gaussian, sensitivity=math.sqrt(problems) * apart, largest=most, size=problems * size
        )

        def solved(sums: Sums) -> Array:
            return np.clip(query.solve(sums, setting, np.zeros((problems, size)), tau), -most, most)

        return Plan(
            kind=self.kind, loss=loss, parts=self._parts(query), draw=distribution, noise=distribution, target=solved
        )
