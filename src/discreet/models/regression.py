"""Linear regression by releases of moments: in rounds, or all at once.

**Adaptive.** Features and target are one Gaussian together, found in rounds (``one_gaussian``); each later round
measures their moments in the coordinates of the one before, in which the target is what the line so far leaves of it.
So the noise is relative to the residuals, and to the features' own spread. Rounds are averaged by their noise
(``class_estimates``), and a ridge that knows the noise draws the line back (``regression_line``).

Clipping in these coordinates would bend the line where rows are no Gaussian's: rows far off count for less, as in a
robust regression. So the later rounds clip less where there is less noise, as ``adaptive_classes`` does.

**AdaSSP** (Wang 2018): one release of all moments in the unit ball, with the published ridge. The first moments, for
the intercept, are in it, as is the target's square; the paper spends a third of ε on each of XᵀX, Xᵀy and the smallest
eigenvalue, which here is read off the released matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.adaptive import GUESS
from discreet.models.class_beliefs import believed
from discreet.models.class_estimates import ClassEstimates
from discreet.models.method import Method
from discreet.models.one_gaussian import OneGaussian
from discreet.models.one_release import OneRelease
from discreet.models.own_coordinates import Clipping, Shape
from discreet.models.regression_moments import RegressionMoments, estimates_of, pooled
from discreet.models.released import released_rows
from discreet.records import Ball, Box

__all__ = ["AdaptiveMoments", "UnitMoments"]

FIRST = 0.15  # of the budget, for the first rounds
ROUNDS = 3  # of these
GROWTH = 1.5  # of the budget from one round to the next
UNCLIPPED = 0.9  # of a Gaussian, at least
SPREAD = 0.1  # of the eigenvalues of a covariance, that noise may make where less is clipped
ROUGH = 1.0  # the same, in the first rounds
WIDE = 20.0  # R², a column
MOST_SQUARED = 1e4


@dataclass(frozen=True)
class AdaptiveMoments(Method[RegressionMoments]):
    """Rounds of one Gaussian.

    Parameters
    ----------
    columns : int
        Of features and target.
    neighbors : Neighbors
    size : PublicSize
    budget : float
        μ² of the fit.
    """

    columns: int
    neighbors: Neighbors
    size: PublicSize
    budget: float

    @classmethod
    def for_data(cls, columns: int, promise: Guarantee, size: PublicSize) -> AdaptiveMoments:
        """Return the method for a promise."""
        return cls(columns, promise.neighbors, size, normal_mu(promise.epsilon, promise.delta) ** 2)

    @property
    def rounds(self) -> int:
        """How many later rounds there are: more where there is less noise, which clipping would then outweigh."""
        d, rows = self.columns, max(self.size.units or GUESS, 1)
        noise = d * (d + 2.0) / (self.budget * rows**2)
        return 3 if noise > 2e-4 else 4 if noise > 2e-6 else 6

    @property
    def shares(self) -> list[float]:
        """Growing ones in both phases."""
        first, own = GROWTH ** np.arange(ROUNDS), GROWTH ** np.arange(self.rounds)
        shares: list[float] = [*(FIRST * first / first.sum()), *((1.0 - FIRST) * own / own.sum())]
        return shares

    def clipping(self, rows: float, share: float, spread: float) -> Clipping:
        """Return how rounds with a share of the budget clip: as much as makes noise spread eigenvalues by so much.

        At radius R noise spreads them by about 2√p·R²/(μ·rows). Where R² is large already, less noise is worth more
        than fewer clipped rows: half of what could be afforded goes to each, on a logarithmic scale.
        """
        usual = Clipping.at_quantile(self.columns, UNCLIPPED).squared
        affordable = spread * math.sqrt(share * self.budget) * rows / (2.0 * math.sqrt(self.columns))
        if affordable > WIDE * self.columns:
            affordable = math.sqrt(affordable * WIDE * self.columns)
        return Clipping(self.columns, min(max(usual, affordable), MOST_SQUARED * self.columns))

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[RegressionMoments, list[Release]]:
        """Find one Gaussian, and measure moments in its coordinates."""
        shape, counted = Shape("full", self.columns), self.size.rows is None
        rough = self.clipping(float(self.size.units or GUESS), FIRST / ROUNDS, ROUGH)
        one = OneGaussian(shape, Clipping.at_quantile(self.columns, UNCLIPPED), self.neighbors, counted)
        gaussian, releases = one.initialize(self.columns, rng), list[Release]()
        for model, rounds in ((one, 1), (OneGaussian(shape, rough, self.neighbors, counted), ROUNDS - 1)):
            gaussian, more = expectation_maximization(model, gaussian, space, islice(measures, rounds))
            releases += more
        clipping = self.clipping(released_rows(releases[-1]), 1.0, SPREAD)
        wide = OneGaussian(shape, clipping, self.neighbors, counted)
        found: list[ClassEstimates] = []
        for measure in measures:
            releases.append(measure(wide.query(gaussian, space)))
            found.append(estimates_of(releases[-1], gaussian, clipping))
            gaussian = believed(reduce(pooled, found), shape)
        return RegressionMoments.of(found, space), releases


@dataclass(frozen=True)
class UnitMoments(Method[RegressionMoments]):
    """One release of moments in the unit ball."""

    size: PublicSize

    @property
    def shares(self) -> list[float]:
        """All of it at once."""
        return [1.0]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[RegressionMoments, list[Release]]:
        """Measure the moments."""
        release = next(measures)(OneRelease(self.size).query(space))
        return RegressionMoments.of([estimates_of(release, None, None)], space), [release]
