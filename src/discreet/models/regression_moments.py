"""A mean and a covariance of features and target together, as releases tell them, with what noise they have.

Noise. A release has white noise in coordinates L⁻¹(y − m). So the covariance carries v of ``shapes``, the variance of
an entry off the diagonal, and the mean the variance of a coordinate, both in the coordinates of the *frame* LLᵀ.
Nothing here is shrunk or floored but what is divided by: ``regression_line`` says what of it to believe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.class_estimates import ClassEstimates
from discreet.models.clipping import Clipping
from discreet.models.components import Components
from discreet.models.released import inside_ball, noise_of, released_rows
from discreet.models.shapes import Shape
from discreet.records import Ball, Box

__all__ = ["RegressionMoments", "estimates_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """What releases say of all columns.

    Attributes
    ----------
    mean : array of shape (p,)
    covariance : array of shape (p, p)
    mean_noise, covariance_noise : float
        In the coordinates of the frame.
    frame : array of shape (p, p)
        Positive definite.
    """

    mean: Array
    covariance: Array
    mean_noise: float
    covariance_noise: float
    frame: Array

    @classmethod
    def of(cls, found: ClassEstimates, space: Box | Ball) -> RegressionMoments:
        """Return estimates of one class, all rows; their mean lies in the space."""
        mean = np.asarray(space.to_unit(space.from_unit(found.means)))[0]
        noises = float(found.mean_noise[0]), float(found.covariance_noise[0])
        return cls(mean, found.covariances[0], *noises, found.frames[0])

    def moved(self, offset: Array, scale: Array) -> Self:
        """Return the same in the coordinates offset + scale·y, column by column."""
        grown = np.outer(scale, scale)
        return type(self)(
            offset + scale * self.mean,
            self.covariance * grown,
            self.mean_noise,
            self.covariance_noise,
            self.frame * grown,
        )


def estimates_of(release: Release, gaussian: Components | None, clipping: Clipping | None) -> ClassEstimates:
    """Return what a release of moments of all rows says, clipping undone.

    Parameters
    ----------
    release : Release
        Of ``OneGaussian`` or of ``Moments``.
    gaussian : Components or None
        In whose coordinates it was measured, clipped so; None for those of the unit ball.
    clipping : Clipping or None
    """
    counts = next((name for name in ("counts", "count") if name in release.parts), None)
    rows = released_rows(release, counts or "counts")
    count_noise = 0.0 if counts is None or release.size.rows is not None else noise_of(release, counts)
    d = release.parts["second"].shape[-1]
    first, second = inside_ball(release["first"].reshape(d) / rows), release["second"].reshape(d, d) / rows
    moved, entry, count = noise_of(release, "first") / rows, noise_of(release, "second") / rows, count_noise / rows
    # A noisy mean times itself is too large by its noise
    spread = second - np.outer(first, first) + moved**2 * np.eye(d)
    long = float(first @ first)
    mean_noise = moved**2 + count**2 * long / d
    products = moved**4 + 2.0 * moved**2 * max(long / d - moved**2, 0.0)
    covariance_noise = 0.5 * entry**2 + products + count**2 * float((spread**2).sum()) / Shape("full", d).energy()
    mean, covariance, frame = first, spread, np.eye(d)
    if gaussian is not None and clipping is not None:
        shift, own, size = clipping.undone(first, spread)
        factor, frame = gaussian.factors[0], gaussian.covariances[0]
        mean, covariance = gaussian.means[0] + factor @ shift, factor @ own @ factor.T
        mean_noise *= clipping.squared / clipping.beta1(size) ** 2
        covariance_noise *= (clipping.squared / clipping.beta2(size)) ** 2
    return ClassEstimates(
        np.array([rows]), max(count_noise, 1.0) ** 2, mean[None], np.array([mean_noise]), covariance[None],
        np.array([covariance_noise]), frame[None],
    )  # fmt: skip
