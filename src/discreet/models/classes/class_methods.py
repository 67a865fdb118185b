"""Methods that fit Gaussian classes: from one release (``JointClasses``), or in rounds (``AdaptiveClasses``).

**One release** has counts, first and second moments of all classes, in the coordinates of the unit ball.
Add-remove costs 1 and replace-one √2 or little more, however many classes there are (``class_moments``). The weights
are those that minimise the Kullback–Leibler error of a Gaussian, (a², b², c²) ∝ (√A, √B, √C) with

    A = ½ + m²/(2s²) + (m⁴ − 2s²m² + ds⁴)/(4s⁴),    B = d/(2s²) + (d + 1)m²/(2s⁴),    C = d(d + 1)/(8s⁴),

for a mean at distance m from the centre and a covariance s²I. Both are assumptions: standard deviations are half of the
half-width of a column, and the mean is as far from the centre in every column.

**In rounds**, each of which whitens by the previous estimate:

1. Some rounds find one Gaussian of all rows, whatever their class (``one_gaussian``). Its noise is relative to the
   number of all rows. Every class starts from it.
2. In each further round all classes are measured at once (``class_moments``), each whitened by its estimate of the
   round
   before, so that the noise is relative to the spread of the class. Clipping is undone (``class_estimates``), rounds
   are averaged by inverse variances, and differences that noise alone could explain are shrunk.

Every choice is a function of public numbers: ε, δ, the numbers of columns and classes, and that of the rows where it is
public. Labels are known, so nothing must converge: few rounds suffice, and the later ones have more of the budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.classes.class_estimates import ClassEstimates, ClassGaussians, shrink_classes
from discreet.models.method import GUESS, Method, growing_shares
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape, mixture_weights
from discreet.models.noisy_sums import released_rows
from discreet.queries.moments.class_moments import ClassMoments
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["AdaptiveClasses", "JointClasses", "joint_weights"]

DEVIATION = 0.5  # assumed standard deviation of a column, relative to its half-width


def joint_weights(shape: Shape) -> tuple[float, float, float]:
    """Return a², b², c² of the module; C is smaller for a covariance with fewer parameters.

    >>> [round(weight, 2) for weight in joint_weights(Shape("full", 5))]
    [0.05, 0.31, 0.64]
    """
    d = shape.dimension
    s2, m2 = DEVIATION**2 / d, DEVIATION**2
    s4 = s2 * s2
    count = 0.5 + m2 / (2.0 * s2) + (m2 * m2 - 2.0 * s2 * m2 + d * s4) / (4.0 * s4)
    first, second = d / (2.0 * s2) + (d + 1) * m2 / (2.0 * s4), shape.numbers / (4.0 * s4)
    a2, b2, c2 = (math.sqrt(cost) for cost in (count, first, second))
    a2, b2 = a2 / (a2 + b2 + c2), b2 / (a2 + b2 + c2)
    return a2, b2, 1.0 - a2 - b2


@dataclass(frozen=True)
class JointClasses(Method[ClassGaussians]):
    """Gaussian classes from one release of moments.

    Parameters
    ----------
    count : int
        K.
    shape : Shape
    column : int
        Which of the columns of categories holds the labels.
    """

    count: int
    shape: Shape
    column: int = 0

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[ClassGaussians, list[Release]]:
        """Measure the moments, and shrink the estimates."""
        k, d = self.count, self.shape.dimension
        origin = Components(np.full(k, 1.0 / k), np.zeros((k, d)), np.repeat(np.eye(d)[None], k, axis=0))
        query = ClassMoments(space, origin, None, joint_weights(self.shape), self.shape.name, self.column)
        release = next(measures)(query)
        result = ClassEstimates.from_release(release, origin, None, self.shape)
        return ClassGaussians.from_estimates(shrink_classes(result, self.shape), result, self.shape), [release]


FIRST = 0.15  # share of the budget for the Gaussian of all rows
ROUNDS = 4  # releases of that Gaussian
FIRST_MOMENT = 0.2  # approximate b²
UNCLIPPED = 0.9  # least probability that a Gaussian row is not clipped
SPREAD = 0.1  # spread of a covariance's eigenvalues by noise that is accepted in exchange for less clipping
MOST_SQUARED = 1e4  # largest R²/d
SHARED = 0.5  # assumed cost in nats of the covariance of all rows, for the weights


@dataclass(frozen=True)
class AdaptiveClasses(Method[ClassGaussians]):
    """Gaussian classes in rounds: first one Gaussian of all rows, then all classes.

    Parameters
    ----------
    count : int
        K.
    shape : Shape
    neighbors : Neighbors
    size : PublicSize
    budget : float
        μ² of the fit.
    column : int
        Which of the columns of categories holds the labels.
    """

    count: int
    shape: Shape
    neighbors: Neighbors
    size: PublicSize
    budget: float
    column: int = 0

    @classmethod
    def for_data(
        cls, count: int, shape: Shape, guarantee: Guarantee, size: PublicSize, column: int = 0
    ) -> AdaptiveClasses:
        """Return the method for a guarantee."""
        return cls(count, shape, guarantee.neighbors, size, normal_mu(guarantee.epsilon, guarantee.delta) ** 2, column)

    @property
    def _noise(self) -> float:
        """Approximate squared error of a class's mean in its own coordinates, if one release had all of the budget."""
        d, rows = self.shape.dimension, max(self.size.units or GUESS, 1)
        return self.count**2 / (self.budget * rows**2) * d * (d + 2.0) / FIRST_MOMENT

    @property
    def rounds(self) -> int:
        """The number of rounds of the classes: more where there is less noise, since clipping then matters more."""
        return 3 if self._noise > 1e-3 else 4 if self._noise > 1e-5 else 6

    @property
    def shares(self) -> list[float]:
        """Shares that grow from round to round in both phases."""
        return growing_shares(FIRST, ROUNDS) + growing_shares(1.0 - FIRST, self.rounds)

    def clipping(self, rows: float) -> Clipping:
        """Return how rows are clipped in the coordinates of their class: less where there is less noise.

        At radius R noise spreads the eigenvalues of a covariance by about 2√d·R²·K/(μ·rows). R² makes this equal to
        ``SPREAD``, so that clipping vanishes with the noise, and rows that are not Gaussian are hardly changed.
        """
        d = self.shape.dimension
        usual = Clipping.at_quantile(d, UNCLIPPED)
        affordable = SPREAD * math.sqrt(self.budget) * rows / (2.0 * math.sqrt(d) * self.count)
        return Clipping(d, min(max(usual.squared, affordable), MOST_SQUARED * d))

    def weights(self, clipping: Clipping, share: float, rows: float) -> tuple[float, float, float]:
        """Return a², b², c² of a round with this share of the budget, for about so many rows."""
        noise = (self.count / rows) ** 2 / (share * self.budget)
        return mixture_weights(clipping, self.shape, self.neighbors, self.count, noise, SHARED)

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[ClassGaussians, list[Release]]:
        """Find one Gaussian of all rows, start every class from it, and improve the classes."""
        k, shape = self.count, self.shape
        whole = Shape("diag" if shape.name == "diag" else "full", shape.dimension)
        wide = Clipping.at_quantile(shape.dimension, UNCLIPPED)
        one = OneGaussian(whole, wide, self.neighbors, self.size.rows is None)
        start = one.initialize(space.dimension, rng)
        base, releases = expectation_maximization(one, start, space, islice(measures, ROUNDS))
        classes = Components(np.full(k, 1.0 / k), base.means.repeat(k, axis=0), base.covariances.repeat(k, axis=0))
        result: ClassEstimates | None = None
        rows = released_rows(releases[-1])
        clipping = self.clipping(rows)
        for measure, share in zip(measures, self.shares[ROUNDS:], strict=True):
            weights = self.weights(clipping, share, rows)
            query = ClassMoments(space, classes, clipping.radius, weights, shape.name, self.column)
            releases.append(measure(query))
            new = ClassEstimates.from_release(releases[-1], classes, clipping, shape)
            result = new if result is None else result.pool(new, shape)
            classes = shrink_classes(result, shape)
        assert result is not None  # there is a round
        return ClassGaussians.from_estimates(classes, result, shape), releases
