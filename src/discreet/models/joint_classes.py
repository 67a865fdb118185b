"""Classes from one release: counts, first and second moments of all of them, in the coordinates of the unit ball.

Add-remove costs 1 and replace-one √2 or little more, however many classes there are (``class_moments``). The weights
are those that make the Kullback–Leibler error of a Gaussian smallest, (a², b², c²) ∝ (√A, √B, √C) with

    A = ½ + m²/(2s²) + (m⁴ − 2s²m² + ds⁴)/(4s⁴),    B = d/(2s²) + (d + 1)m²/(2s⁴),    C = d(d + 1)/(8s⁴),

for a mean at distance m from the centre and a covariance s²I. Both are guesses: a deviation is half of the half-width
of its column, and the mean that far off the centre in every column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.door import Release
from discreet.em import Step
from discreet.models.class_beliefs import believed
from discreet.models.class_estimates import ClassEstimates
from discreet.models.class_gaussians import ClassGaussians
from discreet.models.method import Method
from discreet.models.own_coordinates import Shape
from discreet.queries.moments.class_moments import ClassMoments
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["JointClasses", "joint_weights"]

DEVIATION = 0.5  # of a half-width


def joint_weights(shape: Shape) -> tuple[float, float, float]:
    """Return a², b², c² of the module; a covariance of fewer numbers has a smaller C.

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
    """One release of moments.

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

    @property
    def shares(self) -> list[float]:
        """All of it at once."""
        return [1.0]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[ClassGaussians, list[Release]]:
        """Measure the moments, and take off what noise has put into them."""
        k, d = self.count, self.shape.dimension
        nowhere = Components(np.full(k, 1.0 / k), np.zeros((k, d)), np.repeat(np.eye(d)[None], k, axis=0))
        query = ClassMoments(space, nowhere, None, joint_weights(self.shape), self.shape.name, self.column)
        release = next(measures)(query)
        found = ClassEstimates.of(release, nowhere, None, self.shape)
        return ClassGaussians.of(believed(found, self.shape), found, self.shape), [release]
