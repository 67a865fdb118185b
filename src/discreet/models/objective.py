"""Linear classifiers by a private minimum: how the budget, the ridge and the coordinates are chosen.

Every choice is a function of public numbers: ε, δ, the numbers of columns, classes and rows a unit, and that of the
rows where it is public. With noise of deviation σ in each coordinate of the objective and coefficients that are
expected to be of size w in each, the ridge λ = (σ/w)² is the one that errs least; a ridge so small that the
determinants would cost more than a part of ε is raised.

**Coordinates.** Declared bounds are often far wider than the rows, and then every row is short and its slope lost in
noise. Where there are rows enough, a part of the budget finds one Gaussian of all of them (``one_gaussian``), and rows
are seen through it (``features``): all directions have the same spread, and rows farther out than R are moved in. R
grows as noise falls, so that clipping vanishes with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from discreet.door import PublicSize, Question, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import GaussianLoss, Guarantee, Loss, ObjectiveLoss, PureLoss, calibrate
from discreet.guarantees.normal import normal_mu
from discreet.models.adaptive import GUESS
from discreet.models.clipping import Clipping
from discreet.models.features import Features
from discreet.models.linear_scores import LinearScores
from discreet.models.margin_losses import MarginLoss
from discreet.models.margin_minimum import (
    GaussianObjective,
    Minimum,
    MinimumPassage,
    NoisyMinimum,
    PureObjective,
    pushes_of,
)
from discreet.models.method import Method
from discreet.models.one_gaussian import OneGaussian
from discreet.models.shapes import Shape
from discreet.records import Ball, Box

__all__ = ["WAYS", "PrivateMinimum"]

WAYS: dict[str, MinimumPassage] = {
    "objective": GaussianObjective(),
    "objective-2011": PureObjective(),
    "output": NoisyMinimum(),
}

ROUNDS, GROWTH = 4, 1.5  # that find the rows' own coordinates, and how their budgets grow
FIRST = 0.15  # of the budget, for these
ENOUGH = 5.0  # μ·rows/D^1.5 from which on they are worth it
UNCLIPPED = 0.9  # of a Gaussian, at least
SPREAD = 0.02  # of a coefficient's noise that a wider R may make
CONSTANT = 2.0  # of the intercept, in deviations of the rows
EXPECTED = 1.5  # w: of a coefficient, in deviations of the rows
DECLARED, DECLARED_CONSTANT = 6.0, 0.5  # ‖θ‖ and κ in declared coordinates
DETERMINANT = 0.15  # of ε, at most
SOLVER = 0.03  # μ of what covers the solver's error, over that of the rest


@dataclass(frozen=True)
class PrivateMinimum(Method[LinearScores]):
    """Coordinates, where there are rows enough, and a minimum.

    Parameters
    ----------
    way : str
        One of ``WAYS``.
    loss : MarginLoss
    classes : int
    columns : int
    promise : Guarantee
    size : PublicSize
    max_rows : int
        Rows a unit may have.
    intercept : bool
    ridge : float, optional
        λ in the coordinates in which rows have norm at most 1; chosen where it is None.
    own : bool, optional
        Whether rows are seen in their own coordinates; chosen where it is None.
    column : int
        Which of the columns of categories holds the labels.
    """

    way: str
    loss: MarginLoss
    classes: int
    columns: int
    promise: Guarantee
    size: PublicSize
    max_rows: int = 1
    intercept: bool = True
    ridge: float | None = None
    own: bool | None = None
    column: int = 0

    @property
    def _problems(self) -> int:
        return 1 if self.classes == 2 else self.classes

    @property
    def _mu(self) -> float:
        """About μ of the whole fit."""
        return normal_mu(self.promise.epsilon, max(self.promise.delta, 1e-6))

    @property
    def _rows(self) -> float:
        return float(max(self.size.units or GUESS, 1))

    @property
    def _moved(self) -> bool:
        """Whether rows are seen in their own coordinates. The noise of 2011 has no δ for finding them."""
        if self.way == "objective-2011":
            return False
        return self._mu * self._rows >= ENOUGH * (self.columns + 1.0) ** 1.5 if self.own is None else self.own

    @property
    def shares(self) -> Sequence[float]:
        """Growing ones for the coordinates, and the rest for the minimum."""
        if not self._moved:
            return [1.0]
        first = GROWTH ** np.arange(ROUNDS)
        return [*(FIRST * first / first.sum()), 1.0 - FIRST]

    @property
    def _deviation(self) -> float:
        """About σ, of the noise in each coordinate of the objective."""
        pushes = pushes_of(self.promise.neighbors, self.max_rows) * math.sqrt(self._problems)
        if self.way == "objective-2011":
            return pushes * math.sqrt(self._problems * (self.columns + 2.0)) / self.promise.epsilon
        return pushes / (self._mu * math.sqrt(self.shares[-1]))

    @property
    def _radius(self) -> float:
        """R: as wide as noise allows."""
        wide = SPREAD * self._rows / (self._deviation * math.sqrt(self.columns + 1.0))
        return max(Clipping.at_quantile(self.columns, UNCLIPPED).radius, wide)

    @property
    def _constant(self) -> float:
        """κ."""
        if not self.intercept:
            return 0.0
        return CONSTANT / math.hypot(self._radius, CONSTANT) if self._moved else DECLARED_CONSTANT

    @property
    def _ridge(self) -> float:
        """λ; see the module, and for noise on the minimum what makes its own and the ridge's error alike."""
        if self.ridge is not None:
            return self.ridge
        size = self.columns + 1.0
        expected = EXPECTED * math.hypot(self._radius, CONSTANT) if self._moved else DECLARED / math.sqrt(size)
        if self.way == "output":
            curvature = 0.2 * self._rows / size
            return math.sqrt(self._deviation * curvature / expected)
        most = DETERMINANT * self.promise.epsilon / (self._problems * self.max_rows)
        return max((self._deviation / expected) ** 2, self.loss.most_curvature / math.expm1(most))

    def losses(self, promise: Guarantee) -> tuple[Loss, ...]:
        """Return Gaussian losses for the coordinates, and that of the minimum."""
        if self.way == "objective-2011":
            return (PureLoss(promise.epsilon, promise.neighbors),)
        *first, last = (math.sqrt(share) for share in self.shares)
        if self.way == "output":
            return super().losses(promise)
        determinant = self._problems * self.max_rows * math.log1p(self.loss.most_curvature / self._ridge)
        pushes = pushes_of(promise.neighbors, self.max_rows)
        shift = last / (pushes * math.sqrt(self._problems))
        own = ObjectiveLoss(shift, SOLVER * last, determinant, pushes, self._problems, promise.neighbors)
        return _calibrated(promise, tuple(first), own)

    def rehearsal(self, space: Box | Ball, losses: Sequence[Loss]) -> list[tuple[Question, Loss]]:
        """Return the minimum in the declared coordinates, which has as many numbers, and what finds others."""
        first = super().rehearsal(space, losses[:-1]) if len(losses) > 1 else []
        return [*first, (self._minimum(Features(space, self._constant)), losses[-1])]

    def _minimum(self, features: Features) -> Minimum:
        return Minimum(features, self.loss, self._ridge, self.classes, WAYS[self.way], self.column)

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[LinearScores, list[Release]]:
        """Find coordinates, and the minimum in them."""
        features, releases = Features(space, self._constant), list[Release]()
        if self._moved:
            d = self.columns
            wide = Clipping.at_quantile(d, UNCLIPPED)
            one = OneGaussian(Shape("full", d), wide, self.promise.neighbors, self.size.rows is None)
            start = one.initialize(d, rng)
            base, releases = expectation_maximization(one, start, space, islice(measures, ROUNDS))
            features = Features(space, self._constant, base, self._radius)
        release = next(measures)(self._minimum(features))
        return features.scores(release["theta"]), [*releases, release]


@lru_cache(maxsize=64)
def _calibrated(promise: Guarantee, first: tuple[float, ...], own: ObjectiveLoss) -> tuple[Loss, ...]:
    return calibrate(promise, [*(GaussianLoss(mu, promise.neighbors) for mu in first), own]).losses
