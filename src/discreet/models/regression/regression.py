"""Methods that measure the moments of features and target for linear regression: in rounds, or in one release.

**Noise.** A release has white noise in coordinates L⁻¹(y − m). The noise of an average of releases is that of each of
them, by its weight. So the covariance carries one v of ``own_coordinates`` for each round, the variance of an entry off
the diagonal, in the coordinates of that round's *frame* LLᵀ. An earlier round was less precise along directions in
which rows hardly vary, and most of the noise along these comes from it. The mean carries the variance of a coordinate
in the coordinates of the last frame. Only what moments are divided by is floored here; shrinkage is in
``regression_line``.

**Adaptive.** Features and target together are one Gaussian, found in rounds (``one_gaussian``). Each later round
measures their moments in the coordinates of the one before, in which the target is the residual of the line so far. So
the noise is relative to the residuals, and to the features' own spread. Rounds are averaged by inverse variances
(``class_estimates``), and a noise-aware ridge shrinks the line (``regression_line``).

Clipping in these coordinates would bias the line where rows are not Gaussian: outlying rows count for less, as in a
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
from discreet.models.method import GUESS, Method, growing_shares
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import released_rows
from discreet.models.spectral.one_release import OneRelease
from discreet.records import Ball, Box

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """Moments of all columns from releases, with their noise.

    Attributes
    ----------
    mean : array of shape (p,)
    covariance : array of shape (p, p)
    mean_noise : float
        The variance of a coordinate, in the coordinates of the last frame.
    noises, mean_noises : arrays of shape (K,)
        v of each round, times the square of its weight in the covariance; and the variance of a coordinate of its mean,
        times the square of its weight in the mean.
    frames : array of shape (K, p, p)
        The coordinates of these variances; positive definite.
    units : array of shape (p,)
        The length of a unit step of the unit ball in each column.
    """

    mean: Array
    covariance: Array
    mean_noise: float
    noises: Array
    mean_noises: Array
    frames: Array
    units: Array

    @classmethod
    def from_rounds(cls, rounds: Sequence[ClassEstimates], space: Box | Ball) -> RegressionMoments:
        """Return the average of estimates of one class of all rows; the mean is clipped to the space."""
        result, noises, mean_noises = rounds[0], rounds[0].covariance_noise, rounds[0].mean_noise
        shape = Shape("full", result.means.shape[1])
        for new in rounds[1:]:
            before, result = result, result.pool(new, shape)
            gain = _gain(before.covariances, new.covariances, result.covariances)
            noises = np.append((1.0 - gain) ** 2 * noises, gain**2 * new.covariance_noise)
            gain = _gain(before.means, new.means, result.means)
            mean_noises = np.append((1.0 - gain) ** 2 * mean_noises, gain**2 * new.mean_noise)
        mean = np.asarray(space.to_unit(space.from_unit(result.means)))[0]
        frames = np.concatenate([each.frames for each in rounds])
        spread = float(result.mean_noise[0])
        return cls(mean, result.covariances[0], spread, noises, mean_noises, frames, np.ones(len(mean)))

    def rescale(self, offset: Array, scale: Array) -> Self:
        """Return the same in the coordinates offset + scale·y, column by column."""
        units = self.units * scale
        products = np.outer(scale, scale)
        return type(self)(
            offset + scale * self.mean,
            self.covariance * products,
            self.mean_noise,
            self.noises,
            self.mean_noises,
            self.frames * products,
            units,
        )


def _gain(before: Array, new: Array, after: Array) -> float:
    """Return the gain g of an average after = before + g·(new − before), by least squares."""
    step = new - before
    size = float((step * step).sum())
    return min(max(float((step * (after - before)).sum()) / size, 0.0), 1.0) if size > 0.0 else 0.5


FIRST = 0.15  # share of the budget for the first rounds
ROUNDS = 3  # the number of first rounds
UNCLIPPED = 0.9  # least probability that a Gaussian row is not clipped
SPREAD = 0.1  # spread of a covariance's eigenvalues by noise that is accepted in exchange for less clipping
ROUGH = 1.0  # the same in the first rounds
WIDE = 20.0  # R² a column above which half of what could be afforded goes to less noise
MOST_SQUARED = 1e4  # largest R² a column


@dataclass(frozen=True)
class AdaptiveMoments(Method[RegressionMoments]):
    """Moments in rounds, each whitened by the previous estimate.

    Parameters
    ----------
    columns : int
        The number of features and target together.
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
        """The number of later rounds: more where there is less noise, since clipping then matters more."""
        d, rows = self.columns, max(self.size.units or GUESS, 1)
        noise = d * (d + 2.0) / (self.budget * rows**2)
        return 3 if noise > 2e-4 else 4 if noise > 2e-6 else 6

    @property
    def shares(self) -> list[float]:
        """Shares that grow from round to round in both phases."""
        return growing_shares(FIRST, ROUNDS) + growing_shares(1.0 - FIRST, self.rounds)

    def clipping(self, rows: float, share: float, spread: float) -> Clipping:
        """Return the clipping at which noise spreads eigenvalues by ``spread``, for rounds with a share of the budget.

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
        first_clipping = self.clipping(float(self.size.units or GUESS), FIRST / ROUNDS, ROUGH)
        one = OneGaussian(shape, Clipping.at_quantile(self.columns, UNCLIPPED), self.neighbors, counted)
        gaussian, releases = one.initialize(self.columns, rng), list[Release]()
        for model, rounds in ((one, 1), (OneGaussian(shape, first_clipping, self.neighbors, counted), ROUNDS - 1)):
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
