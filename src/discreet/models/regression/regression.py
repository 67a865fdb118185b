"""Linear regression by releases of moments of features and target together: in rounds, or all at once.

**Noise.** A release has white noise in coordinates L⁻¹(y − m), and an average of releases that of each, by its weight.
So the covariance carries for each round v of ``own_coordinates``, the variance of an entry off the diagonal, in the
coordinates of that round's *frame* LLᵀ. An earlier round was less precise along directions in which rows hardly vary,
and most of the noise along these is its own. The mean carries the variance of a coordinate in those of the last frame.
Nothing here is shrunk or floored but what is divided by: ``regression_line`` says what of it to believe.

**Adaptive.** Features and target are one Gaussian together, found in rounds (``one_gaussian``); each later round
measures their moments in the coordinates of the one before, in which the target is what the line so far leaves of it.
So the noise is relative to the residuals, and to the features' own spread. Rounds are averaged by their noise
(``class_estimates``), and a ridge that knows the noise shrinks the line (``regression_line``).

Clipping in these coordinates would bend the line where rows are no Gaussian's: rows far off count for less, as in a
robust regression. So the later rounds clip less where there is less noise, as ``AdaptiveClasses`` does.

**AdaSSP** (Wang 2018): one release of all moments in the unit ball, with the published ridge. The first moments, for
the intercept, are in it, as is the target's square; the paper spends a third of ε on each of XᵀX, Xᵀy and the smallest
eigenvalue, which here is read off the released matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.classes.class_estimates import ClassEstimates, shrink_classes
from discreet.models.method import Method, growing_shares
from discreet.models.mixture.adaptive import GUESS
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import released_rows
from discreet.models.spectral.one_release import OneRelease
from discreet.records import Ball, Box

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """What releases say of all columns.

    Attributes
    ----------
    mean : array of shape (p,)
    covariance : array of shape (p, p)
    mean_noise : float
        In the coordinates of the last frame.
    noises : array of shape (K,)
        v of each round, by its weight in the covariance.
    frames : array of shape (K, p, p)
        In whose coordinates they are; positive definite.
    units : array of shape (p,)
        What one step in the unit ball is in each column.
    """

    mean: Array
    covariance: Array
    mean_noise: float
    noises: Array
    frames: Array
    units: Array

    @classmethod
    def from_rounds(cls, rounds: Sequence[ClassEstimates], space: Box | Ball) -> RegressionMoments:
        """Return the average of estimates of one class, all rows; their mean lies in the space."""
        result, noises = rounds[0], rounds[0].covariance_noise
        shape = Shape("full", result.means.shape[1])
        for new in rounds[1:]:
            before, result = result, result.pool(new, shape)
            gain = _gain(before.covariances, new.covariances, result.covariances)
            noises = np.append((1.0 - gain) ** 2 * noises, gain**2 * new.covariance_noise)
        mean = np.asarray(space.to_unit(space.from_unit(result.means)))[0]
        frames = np.concatenate([each.frames for each in rounds])
        return cls(mean, result.covariances[0], float(result.mean_noise[0]), noises, frames, np.ones(len(mean)))

    def rescale(self, offset: Array, scale: Array) -> Self:
        """Return the same in the coordinates offset + scale·y, column by column."""
        units = self.units * scale
        grown = np.outer(scale, scale)
        return type(self)(
            offset + scale * self.mean,
            self.covariance * grown,
            self.mean_noise,
            self.noises,
            self.frames * grown,
            units,
        )


def _gain(before: Array, new: Array, after: Array) -> float:
    """Return the weight of what is new in an average."""
    step = new - before
    size = float((step * step).sum())
    return min(max(float((step * (after - before)).sum()) / size, 0.0), 1.0) if size > 0.0 else 0.5


FIRST = 0.15  # of the budget, for the first rounds
ROUNDS = 3  # of these
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
    def for_data(cls, columns: int, guarantee: Guarantee, size: PublicSize) -> AdaptiveMoments:
        """Return the method for a guarantee."""
        return cls(columns, guarantee.neighbors, size, normal_mu(guarantee.epsilon, guarantee.delta) ** 2)

    @property
    def rounds(self) -> int:
        """How many later rounds there are: more where there is less noise, which clipping would then outweigh."""
        d, rows = self.columns, max(self.size.units or GUESS, 1)
        noise = d * (d + 2.0) / (self.budget * rows**2)
        return 3 if noise > 2e-4 else 4 if noise > 2e-6 else 6

    @property
    def shares(self) -> list[float]:
        """Shares that grow from round to round in both phases."""
        return growing_shares(FIRST, ROUNDS) + growing_shares(1.0 - FIRST, self.rounds)

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
        result: list[ClassEstimates] = []
        for measure in measures:
            releases.append(measure(wide.query(gaussian, space)))
            result.append(ClassEstimates.from_all_rows(releases[-1], gaussian, clipping))
            gaussian = shrink_classes(reduce(lambda old, new: old.pool(new, shape), result), shape)
        return RegressionMoments.from_rounds(result, space), releases


@dataclass(frozen=True)
class UnitMoments(Method[RegressionMoments]):
    """One release of moments in the unit ball."""

    size: PublicSize

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[RegressionMoments, list[Release]]:
        """Measure the moments."""
        release = next(measures)(OneRelease(self.size).query(space))
        return RegressionMoments.from_rounds([ClassEstimates.from_all_rows(release)], space), [release]
