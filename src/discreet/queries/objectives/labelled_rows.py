"""Labelled rows: what questions about them have in common, and the features that linear scores are made of.

A column of as many categories as there are classes holds the labels.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, positive
from discreet.queries.bound import UNIT_ROUNDOFF
from discreet.queries.moments.components import Components
from discreet.queries.objectives.margin_losses import LinearScores
from discreet.queries.question import Question
from discreet.records import Ball, Block, Box, Space


class LabelledQuestion(Question):
    """A question about rows and their labels.

    Attributes
    ----------
    column : int
        Which of the columns of categories holds the labels, counted from 0.
    """

    column: int

    @property
    @abstractmethod
    def labels(self) -> int:
        """How many labels are declared."""

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column of them has, as far as the question looks at them."""
        return (1,) * self.column + (self.labels,)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of labels."""
        super().check(space, categories)
        have = [len(values) for values in categories]
        if self.column >= len(have) or have[self.column] != self.labels:
            raise ValueError(
                f"column={self.column}: expected a column of {self.labels} categories, the classes; they have {have}"
            )


class FeatureQuestion(LabelledQuestion):
    """A question about features and labels."""

    features: Features
    classes: int

    @property
    def labels(self) -> int:
        """The classes."""
        return self.classes

    @property
    def space(self) -> Box | Ball:
        """The curator's, or the ball in it."""
        return self.features.space


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Features:
    """Rows as vectors u of norm at most 1, with a constant for the intercept among their coordinates.

    A row y of the unit ball is seen as it is, or through a Gaussian that earlier releases found: z = P(y − m), moved
    into the ball of radius R and divided by R. With a constant κ

        u = (√(1 − κ²)·z, κ),    ‖u‖² ≤ (1 − κ²) + κ² = 1,

    so the intercept κθ_D is a coefficient like any other: the ridge holds it, and noise covers it. Without one u = z.

    **Weights.** A row that is moved is not the row that its label came with, so coefficients of rows that follow the
    model are biased. With ``weighted`` it stays where it is and counts for less instead: its loss has the weight
    w = 1/max(1, ‖u‖²). With ũ = √w·u and t = 1/√w ≥ 1 that is ℓ_t(m) = ℓ(tm)/t² of the margin m of ũ, ‖ũ‖ ≤ 1: convex,
    with a slope between −1/t and 0 and a curvature between 0 and c, like ℓ. So what is proved of minima holds. And w
    depends on the features alone, so the gradient at the true θ has the mean 0 given them: nothing is biased (the
    estimators of Mallows; Künsch, Stefanski and Carroll 1989).

    **Floats.** y is what ``to_unit`` makes of a row by itself, a float vector of norm at most 1, and is taken as it is.
    y − m and the product with P are off by at most e = (d + 3)u·‖P‖_F(1 + ‖m‖) in norm, with u = 2⁻⁵³. Moving into the
    ball is 1-Lipschitz; dividing by R makes e/R; the root, the division and the last product add (d/2 + 8)u. The norm
    itself is at most 1 + (d/2 + 8)u; what is charged for float error covers it. With weights u is off by max(1, ‖u‖)
    times that, so ũ by as much as before. So is wu, which is u moved towards 0 by a 1-Lipschitz map; the square, the
    division and the product add (D/2 + 6)u.

    Parameters
    ----------
    space : Box or Ball
        The curator's.
    constant : float
        κ, from 0 (no intercept) to below 1.
    gaussian : Components, optional
        One Gaussian in the unit ball: whose coordinates are used.
    radius : float
        R in these.
    weighted : bool
        Whether rows farther out than R count for less, instead of being moved.
    """

    space: Box | Ball
    constant: float = 0.5
    gaussian: Components | None = None
    radius: float = 1.0
    weighted: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.constant < 1.0:
            raise ArgumentError("constant", self.constant, "a number from 0 (no intercept) to below 1")
        positive("radius", self.radius)

    @property
    def size(self) -> int:
        """D, the number of coordinates."""
        return self.space.dimension + (self.constant > 0.0)

    @property
    def farthest(self) -> float:
        """A bound on ‖u‖: 1 where rows are moved."""
        if not self.weighted or self.gaussian is None:
            return 1.0
        whiten, mean = self.gaussian.whitening[0], self.gaussian.means[0]
        reach = float(np.linalg.norm(whiten, 2)) * (1.0 + float(np.linalg.norm(mean))) / self.radius
        return max(1.0, reach + self.constant) * (1.0 + 1e-9)

    @property
    def roundoff(self) -> float:
        """A bound on the float error of u in norm; see the class."""
        d = self.space.dimension
        seen = 0.0
        if self.gaussian is not None:
            whiten, mean = self.gaussian.whitening[0], self.gaussian.means[0]
            seen = (d + 3.0) * float(np.linalg.norm(whiten)) * (1.0 + float(np.linalg.norm(mean))) / self.radius
        return (seen + (0.5 + self.weighted) * d + 24.0) * UNIT_ROUNDOFF

    @cached_property
    def _share(self) -> float:
        return math.sqrt(1.0 - self.constant * self.constant)

    def weigh_rows(self, block: Block) -> tuple[Any, Any]:
        """Return the features of a block's rows, shape (n, D), and the weights of their losses. Array-API generic."""
        u = self.map_rows(block)
        xp = array_namespace(u)
        squares = xp.sum(u * u, axis=1)
        return u, 1.0 / xp.clip(squares, 1.0, None) if self.weighted else xp.ones_like(squares)

    def map_rows(self, block: Block) -> Any:
        """Return the features of a block's rows, shape (n, D). Array-API generic."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        if self.gaussian is not None:
            mean, whiten = (
                xp.asarray(part[0], dtype=y.dtype, device=device(y))
                for part in (self.gaussian.means, self.gaussian.whitening)
            )
            z = xp.matmul(y - mean[None, :], whiten.T)
            squared = xp.clip(xp.sum(z * z, axis=1), self.radius**2, None)
            y = z / (self.radius if self.weighted else xp.sqrt(squared)[:, None])
        if not self.constant:
            return y
        return xp.concat([self._share * y, xp.full_like(y[:, :1], self.constant)], axis=1)

    def scores(self, theta: Array) -> LinearScores:
        """Return ⟨θ, u⟩, a row of θ each, as a function of rows in the unit ball; none is moved into the ball of R."""
        theta = np.atleast_2d(theta)
        if not self.constant:
            weights, intercepts = theta, np.zeros(len(theta))
        else:
            weights, intercepts = self._share * theta[:, :-1], self.constant * theta[:, -1]
        if self.gaussian is not None:
            weights = weights @ self.gaussian.whitening[0] / self.radius
            intercepts = intercepts - weights @ self.gaussian.means[0]
        return LinearScores(np.asarray(weights), np.asarray(intercepts))
