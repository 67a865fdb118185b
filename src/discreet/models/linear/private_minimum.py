"""``PrivateMinimum``: linear classifiers by objective or output perturbation, with a chosen budget split and ridge.

Every choice is a function of public numbers: ε, δ, the numbers of columns, classes and rows a unit, and that of the
rows where it is public. With noise of standard deviation σ in each coordinate of the objective and coefficients that
are expected to be of size w in each, the ridge λ = (σ/w)² has the least error. A ridge so small that the determinants
would cost more than a given share of ε is raised. Where there are enough rows they are whitened first
(``row_coordinates``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arguments import ArgumentError
from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import GaussianLoss, Guarantee, Loss, ObjectiveLoss, PureLoss, calibrate
from discreet.models.linear.row_coordinates import Coordinates
from discreet.models.method import Method
from discreet.queries.objectives.curvatures import MarginCurvature
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import LinearScores, MarginLoss
from discreet.queries.objectives.minimum import (
    GaussianObjective,
    Minimum,
    MinimumMechanism,
    NoisyMinimum,
    PureObjective,
    count_pushes,
)
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["MECHANISMS", "PrivateMinimum"]

MECHANISMS: dict[str, MinimumMechanism] = {
    "objective": GaussianObjective(),
    "objective-2011": PureObjective(),
    "output": NoisyMinimum(),
}

EXPECTED = 1.0  # w: expected size of a coefficient, in standard deviations of the rows
DETERMINANT, MOST_DETERMINANT = 0.02, 0.9  # share of ε for the determinants: with a chosen ridge, and at most
GENEROUS = 10.0  # ε above which the chosen ridge stays constant: with a smaller one float errors would dominate
SMALLEST = 1e-7  # least pure ε of one minimum; below it the noise has no grid
CURVATURE = 0.25  # share of the squared budget left by the coordinates for the curvature, where it is released
LESS = 0.15  # the ridge where the curvature is released, relative to the usual one, since its effect is removed
INFERRED_DETERMINANT = 0.05  # share of ε for the determinants there
SOLVER = 0.03  # μ that covers the solver's error, relative to the μ of the noise


@dataclass(frozen=True)
class PrivateMinimum(Method[LinearScores]):
    """Coordinates, where there are enough rows, and then a private minimum.

    Parameters
    ----------
    mechanism : str
        One of ``MECHANISMS``.
    loss : MarginLoss
    classes : int
    guarantee : Guarantee
    coordinates : Coordinates
    max_rows : int
        The largest number of rows of a unit.
    ridge : float, optional
        λ in the coordinates in which rows have norm at most 1; chosen where it is None.
    column : int
        Which of the columns of categories holds the labels.
    inference : bool
        Whether the curvature at the minimum is released as well, from which standard errors follow.
    """

    mechanism: str
    loss: MarginLoss
    classes: int
    guarantee: Guarantee
    coordinates: Coordinates
    max_rows: int = 1
    ridge: float | None = None
    column: int = 0
    inference: bool = False

    @property
    def _problems(self) -> int:
        return 1 if self.classes == 2 else self.classes

    @property
    def shares(self) -> Sequence[float]:
        """The shares of the coordinates, the rest for the minimum, and for the curvature where it is released."""
        first = self.coordinates.shares
        left = 1.0 - math.fsum(first)
        return [*first, (1.0 - CURVATURE) * left, CURVATURE * left] if self.inference else [*first, left]

    @property
    def _minimum_share(self) -> float:
        return self.shares[-2 if self.inference else -1]

    @property
    def _std(self) -> float:
        """About σ, of the noise in each coordinate of the objective."""
        pushes = count_pushes(self.guarantee.neighbors, self.max_rows) * math.sqrt(self._problems)
        if self.mechanism == "objective-2011":
            return pushes * math.sqrt(self._problems * (self.coordinates.n_features + 1.0)) / self.guarantee.epsilon
        return pushes / math.sqrt(self.coordinates.budget * self._minimum_share)

    @property
    def _ridge(self) -> float:
        """λ of the module; for output perturbation, the λ at which the errors of noise and ridge are equal."""
        if self.ridge is not None:
            return self.ridge
        variance = self.coordinates.variance
        expected = EXPECTED / math.sqrt(variance)
        if self.mechanism == "output":
            curvature = self.loss.most_curvature * variance * self.coordinates.rows
            return math.sqrt(self._std * curvature / expected)
        return max(
            (self._std / expected) ** 2 * (LESS if self.inference else 1.0),
            self._least_ridge(
                (INFERRED_DETERMINANT if self.inference else DETERMINANT) * min(1.0, GENEROUS / self.guarantee.epsilon)
            ),
        )

    def _least_ridge(self, share: float) -> float:
        """Return the λ at which determinants cost this share of ε."""
        most = share * self.guarantee.epsilon / (self._problems * self.max_rows)
        return self.loss.most_curvature / math.expm1(min(most, 700.0))

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return Gaussian losses for the coordinates, and the loss of the minimum."""
        if self.mechanism == "objective-2011":
            least = SMALLEST * self._problems
            if guarantee.epsilon < least:
                raise ArgumentError("epsilon", guarantee.epsilon, f"at least {least:g} for method='objective-2011'")
            return (PureLoss(guarantee.epsilon, guarantee.neighbors),)
        *first, last = (math.sqrt(share) for share in self.shares[: -1 if self.inference else None])
        if self.mechanism == "output":
            return super().losses(guarantee)
        if self._ridge < self._least_ridge(MOST_DETERMINANT):
            raise ValueError(
                f"C={1.0 / self._ridge:.4g}: expected at most {1.0 / self._least_ridge(MOST_DETERMINANT):.4g} at ε="
                f"{guarantee.epsilon:g}, or None; a smaller ridge leaves nothing of ε for the noise"
            )
        determinant = self._problems * self.max_rows * math.log1p(self.loss.most_curvature / self._ridge)
        pushes = count_pushes(guarantee.neighbors, self.max_rows)
        shift = last / (pushes * math.sqrt(self._problems))
        own = ObjectiveLoss(shift, SOLVER * last, determinant, pushes, self._problems, guarantee.neighbors)
        return _calibrated(guarantee, tuple(first), own, math.sqrt(self.shares[-1]) if self.inference else None)

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return the questions that find coordinates, and the minimum in the declared ones (as many numbers)."""
        declared = Features(space, self.coordinates.constant)
        asked: list[Question] = [self._minimum(declared)]
        if self.inference:
            asked.append(MarginCurvature(declared, np.zeros(declared.size), self.classes, self.column))
        return [*super().questions(space, number - len(asked)), *asked]

    def _minimum(self, features: Features) -> Minimum:
        return Minimum(features, self.loss, self._ridge, self.classes, MECHANISMS[self.mechanism], self.column)

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[LinearScores, list[Release]]:
        """Find coordinates, and then the minimum in them."""
        seen = self.coordinates.find(space, rng, measures)
        release = next(measures)(self._minimum(seen.features))
        releases = [*seen.releases, release]
        if self.inference:
            query = MarginCurvature(seen.features, release["theta"][0], self.classes, self.column)
            releases.append(next(measures)(query))
        return seen.features.scores(release["theta"]), releases


@lru_cache(maxsize=64)
def _calibrated(
    guarantee: Guarantee, first: tuple[float, ...], own: ObjectiveLoss, curvature: float | None
) -> tuple[Loss, ...]:
    after = [] if curvature is None else [GaussianLoss(curvature, guarantee.neighbors)]
    return calibrate(guarantee, [*(GaussianLoss(mu, guarantee.neighbors) for mu in first), own, *after]).losses
