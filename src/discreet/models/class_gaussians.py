"""A Gaussian for each class, with what noise its numbers have: what every way to fit a classifier finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.models.class_estimates import ClassEstimates
from discreet.models.own_coordinates import Shape
from discreet.queries.moments.components import Components

__all__ = ["ClassGaussians"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassGaussians:
    """K classes.

    Attributes
    ----------
    components : Components
        Priors, means and covariances.
    counts : array of shape (K,)
        The number of rows of each class, as released; some may be negative.
    count_noise : array of shape (K,)
        The standard deviation of the noise on each class's number of rows.
    mean_noise : array of shape (K, d)
        The same of the means; and
    covariance_noise : array of shape (K, d, d)
        of the covariances: of what was released, before anything of it was disbelieved.
    """

    components: Components
    counts: Array
    count_noise: Array
    mean_noise: Array
    covariance_noise: Array

    @classmethod
    def of(cls, components: Components, found: ClassEstimates, shape: Shape) -> ClassGaussians:
        """Return the classes with the noise of their estimates.

        Noise G that is white in the coordinates of L, v off the diagonal and 2v on it, is LGLᵀ in those of the unit
        ball: with F = LLᵀ, its entry (i, j) has the variance v(F_ii F_jj + F_ij²). A diagonal has nothing else.
        """
        frames = found.frames
        sizes = np.diagonal(frames, axis1=1, axis2=2)
        squared = found.covariance_noise[:, None, None] * (sizes[:, :, None] * sizes[:, None, :] + frames**2)
        if shape.name == "diag":
            squared = squared * np.eye(shape.dimension)
        means = np.sqrt(found.mean_noise[:, None] * sizes)
        count_noise = np.full(components.count, np.sqrt(found.count_noise))
        return cls(components, found.counts, count_noise, means, np.sqrt(squared))

    def ordered(self, order: list[int]) -> Self:
        """Return the classes in another order."""
        parts = self.components.weights[order], self.components.means[order], self.components.covariances[order]
        return replace(
            self,
            components=Components(*parts),
            counts=self.counts[order],
            count_noise=self.count_noise[order],
            mean_noise=self.mean_noise[order],
            covariance_noise=self.covariance_noise[order],
        )

    def moved(self, offset: Array, scale: Array) -> Self:
        """Return the same in the coordinates offset + scale·y, column by column."""
        return replace(
            self,
            components=self.components.moved(offset, scale),
            mean_noise=self.mean_noise * scale,
            covariance_noise=self.covariance_noise * np.outer(scale, scale),
        )
