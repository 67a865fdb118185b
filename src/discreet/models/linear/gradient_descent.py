"""``NoisyGradient``: linear classifiers by gradient descent over all rows, in which every gradient is a release.

The objective is the mean of the losses and a small ridge. In the rows' own coordinates (``row_coordinates``) its
second derivative is about h = ¼·variance in every direction, and ¼κ² along the constant. Steps have the length 1/h, so
that all directions converge at the same pace. The sensitivity of a gradient at θ = 0 is half of that at a large θ
(``gradients``), and the noise is scaled to that of each.

The budget is shared evenly. With T steps the noise of one is √T times that of all the budget at once, and the average
over the later iterates removes most of it. Gradients are taken ahead of the iterates, with momentum (Nesterov 1983), so
that margins that must grow large do so in few steps. Iterates stay within a ball. Everything is a function of public
numbers and of earlier releases. A release holds its question, and so the θ at which it was taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step
from discreet.models.linear.row_coordinates import Coordinates, FittedCoordinates
from discreet.models.method import Method
from discreet.models.noisy_estimates import shrinkage_factor
from discreet.models.noisy_sums import clip_to_ball, noise_std
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import LinearScores, MarginLoss
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["NoisyGradient"]

Array = NDArray[np.float64]

LARGEST = 30.0  # ‖θ‖ of each problem
RIDGE = 1e-3  # relative to h
LATER = 0.5  # share of the iterates that are averaged, the last ones
STEPS, STEPS_OF_SEVERAL = 0.18, 0.3  # number of steps times the relative noise of θ; for more than two classes
MOST_STEPS = 40
MOMENTUM = 0.8
LEAST_KEPT = 0.1  # least shrinkage factor of weights


def default_steps(coordinates: Coordinates, classes: int) -> int:
    """Return the number of steps that suits the noise: one where it is large, since a gradient is cheapest at θ = 0.

    With all of the budget in one step the noise of θ has the variance D·(4/(μ·rows·variance))². If the features explain
    half of the labels' variance, ‖θ‖² is 2/variance.
    """
    noise = 8.0 * coordinates.n_features / (coordinates.budget * coordinates.rows**2 * coordinates.variance)
    steps = (STEPS if classes == 2 else STEPS_OF_SEVERAL) / math.sqrt(max(noise, 1e-300))
    return int(min(max(steps, 1.0), MOST_STEPS))


@dataclass(frozen=True)
class NoisyGradient(Method[LinearScores]):
    """Descent along noisy gradients.

    Parameters
    ----------
    classes : int
    loss : MarginLoss
        The loss for two classes; with more classes it is the softmax loss.
    coordinates : Coordinates
    steps : int
    column : int
        Which of the columns of categories holds the labels.
    """

    classes: int
    loss: MarginLoss
    coordinates: Coordinates
    steps: int
    column: int = 0

    @classmethod
    def for_data(
        cls, classes: int, loss: MarginLoss, coordinates: Coordinates, column: int = 0, steps: int | None = None
    ) -> NoisyGradient:
        """Return the method with a number of steps that suits the noise, if none is given."""
        return cls(classes, loss, coordinates, steps or default_steps(coordinates, classes), column)

    @property
    def shares(self) -> list[float]:
        """The shares of the coordinates, and equal shares of the rest."""
        first = self.coordinates.shares
        return first + [(1.0 - math.fsum(first)) / self.steps] * self.steps

    @property
    def _problems(self) -> int:
        return 1 if self.classes == 2 else self.classes

    def start(self, features: Features) -> Array:
        """Return θ at which the first gradient is taken."""
        return np.zeros((self._problems, features.size))

    def curvature(self, seen: FittedCoordinates) -> Array:
        """Return the approximate second derivative along each coordinate: its maximum, or that at θ = 0 (softmax)."""
        most = self.loss.most_curvature if self.classes == 2 else max(1.0 / self.classes, 0.25)
        variances = np.full(seen.features.size, seen.variance)
        if seen.features.constant:
            variances[-1] = seen.features.constant**2
        return most * variances

    def descend(self, theta: Array, seen: FittedCoordinates, gradient: Array) -> Array:
        """Return the θ that follows from one and the gradient at it."""
        curvature = self.curvature(seen)
        return clip_to_ball(theta - (gradient / seen.rows / curvature + RIDGE * theta), LARGEST)

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return the questions that find coordinates, and gradients in the declared ones, which are as many numbers."""
        declared = Features(space, self.coordinates.constant)
        query = MarginGradient(declared, self.loss, self.start(declared), self.classes, self.column)
        return [*super().questions(space, number - self.steps), *[query] * self.steps]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[LinearScores, list[Release]]:
        """Find coordinates, descend, and average the later iterates."""
        seen = self.coordinates.find(space, rng, measures)
        releases, before, theta = list(seen.releases), self.start(seen.features), self.start(seen.features)
        path = []
        for measure in measures:
            ahead = clip_to_ball(theta + MOMENTUM * (theta - before), LARGEST)
            releases.append(measure(MarginGradient(seen.features, self.loss, ahead, self.classes, self.column)))
            before, theta = theta, self.descend(ahead, seen, releases[-1]["gradient"])
            path.append(theta)
        result = np.mean(path[int(len(path) * (1.0 - LATER)) :], axis=0)
        return seen.features.scores(self._shrink(result, seen, noise_std(releases[-1], "gradient"))), releases

    def _shrink(self, theta: Array, seen: FittedCoordinates, noise: float) -> Array:
        """Return θ shrunk by the share of noise in it: one factor for the weights, and one for the intercepts."""
        stds = noise / (seen.rows * self.curvature(seen) * math.sqrt(self.steps))
        weights = slice(0, seen.features.space.dimension)
        parts = [weights, slice(weights.stop, None)] if seen.features.constant else [weights]
        shrunk = theta.copy()
        for part in parts:
            squares = len(theta) * float((stds[part] ** 2).sum())
            share = shrinkage_factor(squares, float((theta[:, part] ** 2).sum()), theta[:, part].size, 0.0)
            shrunk[:, part] *= max(share, LEAST_KEPT)
        return shrunk
