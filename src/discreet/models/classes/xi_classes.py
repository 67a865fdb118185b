"""``XiClasses``: Gaussian classes as published by Xi, Kantarcioglu and Inan (2011), with Laplace noise on every number.

It is kept for comparison. Counts, sums and the scatter about the exact mean, of rows scaled to [0, 1], have a third of
ε each. All classes are measured at once: under add-remove a row is in one class only (parallel composition), under
replace-one a changed label touches two. The mean is a sum over a noisy count, as in the paper. The counts are private
here, unlike the paper's, and so is everything that its truncation took from the rows.

The paper's repair of a noisy covariance: eigenvalues that are not positive become the smallest positive one. Where
none is positive it says nothing; such a class gets the covariance of rows that are uniform in the bounds, I/12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import Guarantee, LaplaceLoss, Loss
from discreet.models.classes.class_estimates import ClassGaussians
from discreet.models.method import Method
from discreet.queries.counts.count_queries import Histogram
from discreet.queries.moments.class_moments import ClassSums
from discreet.queries.moments.components import Components
from discreet.queries.moments.scatter import Scatter
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["XiClasses", "repair_covariance"]

Array = NDArray[np.float64]

UNIFORM = 1.0 / 12.0  # variance of the uniform distribution on [0, 1]


def repair_covariance(matrix: Array) -> Array:
    """Return a symmetric matrix made positive definite as in the paper.

    >>> repair_covariance(np.diag([3.0, -1.0, 2.0])).tolist()
    [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    """
    values, vectors = np.linalg.eigh(matrix)
    positive = values[values > 1e-9 * np.abs(values).max(initial=0.0)]
    if not len(positive):
        return np.eye(len(matrix)) * UNIFORM
    least = max(float(positive.min()), 1e-12)
    return np.asarray((vectors * np.where(values < least, least, values)) @ vectors.T)


@dataclass(frozen=True)
class XiClasses(Method[ClassGaussians]):
    """The published algorithm.

    Parameters
    ----------
    classes : int
        How many labels are declared.
    column : int
        Which of the columns of categories holds them.
    """

    classes: int
    column: int = 0

    @property
    def shares(self) -> list[float]:
        """Of ε."""
        return [1.0 / 3.0] * 3

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return pure losses, a third of ε each; δ is not spent."""
        return tuple(LaplaceLoss(guarantee.epsilon * share, guarantee.neighbors) for share in self.shares)

    def _questions(self, space: Box | Ball) -> tuple[Question, Question, Question]:
        assert isinstance(space, Box)  # as every schema has
        scatter = Scatter(space, tuple(range(space.dimension)), (self.column, self.classes))
        return Histogram(self.classes, self.column), ClassSums(space, self.classes, self.column), scatter

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return what will be measured."""
        return self._questions(space)

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[ClassGaussians, list[Release]]:
        """Measure counts, sums and scatters, and repair the covariances."""
        questions = zip(measures, self._questions(space), strict=True)
        counted, summed, scattered = (measure(question) for measure, question in questions)
        d, k = space.dimension, self.classes
        rows = np.maximum(counted["counts"], 1.0)
        means = np.clip(summed["sums"] / rows[:, None], 0.0, 1.0)
        i, j = np.triu_indices(d)
        covariances = np.zeros((k, d, d))
        covariances[:, i, j] = covariances[:, j, i] = scattered["upper"] / rows[:, None]
        covariances = np.array([repair_covariance(covariance) for covariance in covariances])
        noises = []
        for release in (counted, summed, scattered):
            assert release.noise is not None
            noises.append(math.sqrt(release.noise.variance))
        result = ClassGaussians(
            Components(rows / rows.sum(), means, covariances),
            counted["counts"],
            np.full(k, noises[0]),
            np.repeat(noises[1] / rows[:, None], d, axis=1),
            np.ones((k, d, d)) * (noises[2] / rows[:, None, None]),
        )
        # From [0, 1] to the unit ball, where a half-width is 1/√d
        root = math.sqrt(d)
        return result.rescale(np.full(d, -1.0 / root), np.full(d, 2.0 / root)), [counted, summed, scattered]
