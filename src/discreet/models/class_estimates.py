"""From noisy moments of classes to estimates of their counts, means and covariances, with what noise they have.

Nothing here is shrunk or floored but what is divided by; ``class_beliefs`` says what of it to believe. All of it is a
function of releases.

Noise. A release has white noise in each class's own coordinates, L⁻¹(y − m). So an estimate carries the variance of a
coordinate of its mean and v of ``own_coordinates`` for its covariance, both in the coordinates of a *frame* LLᵀ. With
noise of deviation q, s and r on the count, a coordinate f of the first moment and a number of the second one, relative
to the rows, the mean has the variance s² + q²f², and v is r²/2, s⁴ + 2s²f² for the noisy mean that is taken off it,
and what the noisy count scales it by, all to second order and averaged over the coordinates. A class whose count is no
larger than its noise is dominated by noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from discreet.door import Release
from discreet.models.own_coordinates import Clipping, Shape
from discreet.models.released import kept, noise_of
from discreet.queries.moments.components import Components

__all__ = ["ClassEstimates", "positive_part"]

Array = NDArray[np.float64]

CAUTION = 1.5  # standard deviations of noise that two rounds may differ by and still be averaged


def positive_part(counts: Array, noise: float) -> Array:
    """Return the mean of a count that cannot be negative, given one with normal noise of this standard deviation.

    It is c + s·φ(c/s)/Φ(c/s): c itself where noise is small beside it, and near 0 where c is far below 0.

    >>> positive_part(np.array([100.0, 0.0, -30.0]), 10.0).round(2).tolist()
    [100.0, 7.98, 2.83]
    """
    if noise == 0.0:
        return np.maximum(counts, 0.0)
    ratio = counts / noise
    mills = math.sqrt(2.0 / math.pi) / erfcx(-np.minimum(ratio, 30.0) / math.sqrt(2.0))
    return np.asarray(np.maximum(counts + noise * mills, 1e-3 * noise))


@dataclass(frozen=True, eq=False)
class ClassEstimates:
    """What releases say of K classes, in the coordinates of the unit ball.

    Attributes
    ----------
    counts : array of shape (K,)
        With noise; some may be negative.
    count_noise : float
        The variance of each.
    means : array of shape (K, d)
    mean_noise : array of shape (K,)
        The variance of a coordinate, in the coordinates of the frame.
    covariances : array of shape (K, d, d)
    covariance_noise : array of shape (K,)
        v of ``own_coordinates``, in the coordinates of the frame.
    frames : array of shape (K, d, d)
    """

    counts: Array
    count_noise: float
    means: Array
    mean_noise: Array
    covariances: Array
    covariance_noise: Array
    frames: Array

    @classmethod
    def of(cls, release: Release, classes: Components, clipping: Clipping | None, shape: Shape) -> ClassEstimates:
        """Return what one release says, clipping undone.

        Parameters
        ----------
        release : Release
            Of ``ClassMoments``.
        classes : Components
            At which it was measured.
        clipping : Clipping or None
            Of the classes' own coordinates; None where it was measured in those of the unit ball.
        shape : Shape
        """
        (k, d), tied = classes.means.shape, shape.name == "tied"
        counts, count_noise = _summing_up(release), noise_of(release, "counts")
        rows = np.maximum(positive_part(counts, count_noise), max(count_noise, 1.0))
        first_noise, second_noise = noise_of(release, "first"), noise_of(release, "second")
        firsts, per = release["first"] / rows[:, None], np.full(k, rows.sum()) if tied else rows
        seconds = shape.matrices(release["second"], k) / per[:, None, None]
        # A noisy mean times itself is too large by its noise
        outers = firsts[:, :, None] * firsts[:, None, :] - (first_noise / rows)[:, None, None] ** 2 * np.eye(d)
        if tied:
            outers = np.repeat(np.einsum("k,kij->ij", rows / rows.sum(), outers)[None], k, axis=0)
        means, covariances = np.empty((k, d)), np.empty((k, d, d))
        mean_noise, covariance_noise = np.empty(k), np.empty(k)
        frames = np.repeat(np.eye(d)[None], k, axis=0) if clipping is None else classes.covariances
        for each in range(k):
            spread = shape.held(seconds[each] - outers[each])
            first, entry, count = first_noise / rows[each], second_noise / per[each], count_noise / per[each]
            long = float(firsts[each] @ firsts[each])
            mean_noise[each] = first**2 + count**2 * long / d
            products = first**4 + 2.0 * first**2 * max(long / d - first**2, 0.0)
            scaled = count**2 * float((spread**2).sum()) / shape.energy()
            covariance_noise[each] = 0.5 * entry**2 + products + scaled
            if clipping is None:
                means[each], covariances[each] = firsts[each], spread
                continue
            shift, own, size = clipping.undone(firsts[each], spread)
            factor = classes.factors[each]
            means[each] = classes.means[each] + factor @ shift
            covariances[each] = factor @ own @ factor.T
            mean_noise[each] *= clipping.squared / clipping.response(size).beta1 ** 2
            covariance_noise[each] *= (clipping.squared / clipping.response(size).beta2) ** 2
        return cls(counts, count_noise**2, means, mean_noise, covariances, covariance_noise, frames)

    @property
    def rows(self) -> Array:
        """The counts as positive numbers."""
        return positive_part(self.counts, math.sqrt(self.count_noise))

    def pooled(self, new: ClassEstimates, shape: Shape) -> ClassEstimates:
        """Return the average with a later release, by their noise.

        What is new weighs more where both differ by more than noise explains: the earlier one then looked past the
        class, and has lost more to clipping than could be undone.
        """
        gain = self.count_noise / (self.count_noise + new.count_noise)
        parts = [self._pooled_class(new, k, shape) for k in range(len(self.counts))]
        means, mean_noise, covariances, covariance_noise, frames = (
            np.array(values) for values in zip(*parts, strict=True)
        )
        return ClassEstimates(
            self.counts + gain * (new.counts - self.counts), gain * new.count_noise,
            means, mean_noise, covariances, covariance_noise, frames,
        )  # fmt: skip

    def _pooled_class(self, new: ClassEstimates, k: int, shape: Shape) -> tuple[Array, float, Array, float, Array]:
        """Return mean, its noise, covariance, its noise, and the frame of both."""
        d, frame = shape.dimension, new.frames[k]
        whiten = np.linalg.inv(np.linalg.cholesky(frame))
        before = whiten @ self.frames[k] @ whiten.T
        old = float(self.mean_noise[k]) * float(np.trace(before)) / d
        fresh = float(new.mean_noise[k])
        moved = whiten @ (new.means[k] - self.means[k])
        gain = max(old / (old + fresh), kept((old + fresh) * d, float(moved @ moved), d, CAUTION))
        mean, mean_noise = self.means[k] + gain * (new.means[k] - self.means[k]), _mixed(old, fresh, gain)
        old = float(self.covariance_noise[k]) * shape.energy(before) / shape.energy()
        fresh = float(new.covariance_noise[k])
        changed = whiten @ (new.covariances[k] - self.covariances[k]) @ whiten.T
        noise = (old + fresh) * shape.energy()
        gain = max(old / (old + fresh), kept(noise, float((changed**2).sum()), shape.numbers, CAUTION))
        covariance = self.covariances[k] + gain * (new.covariances[k] - self.covariances[k])
        return mean, mean_noise, covariance, _mixed(old, fresh, gain), frame


def _mixed(old: float, new: float, gain: float) -> float:
    return (1.0 - gain) ** 2 * old + gain**2 * new


def _summing_up(release: Release) -> Array:
    """Return the counts; where the number of rows is public, they sum to it."""
    counts = release["counts"]
    if release.size.rows is None:
        return counts
    return np.asarray(counts + (release.size.rows - counts.sum()) / len(counts))
