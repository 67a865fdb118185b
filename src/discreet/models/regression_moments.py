"""A mean and a covariance of features and target together, as releases tell them, with what noise they have.

Noise. A release has white noise in coordinates L⁻¹(y − m), and an average of releases that of each, by its weight. So
the covariance carries for each round v of ``own_coordinates``, the variance of an entry off the diagonal, in the
coordinates of that round's *frame* LLᵀ. An earlier round looked less closely at directions in which rows hardly vary,
and most of the noise along these is its own. The mean carries the variance of a coordinate in those of the last frame.
Nothing here is shrunk or floored but what is divided by: ``regression_line`` says what of it to believe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.class_estimates import ClassEstimates
from discreet.models.own_coordinates import Clipping, Shape
from discreet.models.released import inside_ball, noise_of, released_rows
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["RegressionMoments", "estimates_of", "pooled"]

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
    def of(cls, rounds: Sequence[ClassEstimates], space: Box | Ball) -> RegressionMoments:
        """Return the average of estimates of one class, all rows; their mean lies in the space."""
        found, noises = rounds[0], rounds[0].covariance_noise
        for new in rounds[1:]:
            before, found = found, pooled(found, new)
            gain = _gain(before.covariances, new.covariances, found.covariances)
            noises = np.append((1.0 - gain) ** 2 * noises, gain**2 * new.covariance_noise)
        mean = np.asarray(space.to_unit(space.from_unit(found.means)))[0]
        frames = np.concatenate([each.frames for each in rounds])
        return cls(mean, found.covariances[0], float(found.mean_noise[0]), noises, frames, np.ones(len(mean)))

    def moved(self, offset: Array, scale: Array) -> Self:
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


def pooled(found: ClassEstimates, new: ClassEstimates) -> ClassEstimates:
    """Return the average of one class's estimates with those of a later release."""
    return found.pooled(new, Shape("full", found.means.shape[1]))


def _gain(before: Array, new: Array, after: Array) -> float:
    """Return the weight of what is new in an average."""
    step = new - before
    size = float((step * step).sum())
    return min(max(float((step * (after - before)).sum()) / size, 0.0), 1.0) if size > 0.0 else 0.5


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
        mean_noise *= clipping.squared / clipping.response(size).beta1 ** 2
        covariance_noise *= (clipping.squared / clipping.response(size).beta2) ** 2
    return ClassEstimates(
        np.array([rows]), max(count_noise, 1.0) ** 2, mean[None], np.array([mean_noise]), covariance[None],
        np.array([covariance_noise]), frame[None],
    )  # fmt: skip
