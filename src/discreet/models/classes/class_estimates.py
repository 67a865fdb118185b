"""A Gaussian for each class, with what noise its numbers have: what every way to fit a classifier finds.

From noisy moments of classes to estimates of their counts, means and covariances, with what noise they have.

Nothing here is shrunk or floored but what is divided by; ``class_beliefs`` says what of it to believe. All of it is a
function of releases.

Noise. A release has white noise in each class's own coordinates, L⁻¹(y − m). So an estimate carries the variance of a
coordinate of its mean and v of ``own_coordinates`` for its covariance, both in the coordinates of a *frame* LLᵀ. With
noise of deviation q, s and r on the count, a coordinate f of the first moment and a number of the second one, relative
to the rows, the mean has the variance s² + q²f², and v is r²/2, s⁴ + 2s²f² for the noisy mean that is taken off it,
and what the noisy count scales it by, all to second order and averaged over the coordinates. A class whose count is no
larger than its noise is dominated by noise.

What to believe of noisy estimates of classes: priors, means and covariances.

1. The shared covariance W = Σ w_k C_k. In coordinates in which its noise is white, eigenvalues are those that
   ``spectrum`` believes, and none is below what its noise could hide.
2. Means are drawn to their common centre by the share of noise in their deviations from it (``released``), in the
   coordinates of W.
3. A class's covariance is W and what of C_k − W is not noise, in coordinates in which its noise is white. The mean
   eigenvalue of the difference is one number and drawn back by itself. Of its shape nothing is believed where noise
   alone makes one as large; else, with full covariances, what ``spectrum`` believes: eigenvalues within the noise are
   drawn to their mean, and a direction that stands out of it stays. A diagonal is drawn back as means are. Where W is
   small beside the noise, little of the difference is believed.

All of it is total: whatever finite numbers came, priors are positive and sum to 1, means lie in the unit ball and
covariances are positive definite. A class without rows gets a prior near 0, the common centre and W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from discreet.door import Release
from discreet.models.mixture.moment_model import LARGEST, SMALLEST, clipped_spectrum, inside_ball, kept, noise_of
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.clipped_moments import Components

__all__ = ["ClassEstimates", "ClassGaussians", "believed", "positive_part"]

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
    def from_estimates(cls, components: Components, result: ClassEstimates, shape: Shape) -> ClassGaussians:
        """Return the classes with the noise of their estimates.

        Noise G that is white in the coordinates of L, v off the diagonal and 2v on it, is LGLᵀ in those of the unit
        ball: with F = LLᵀ, its entry (i, j) has the variance v(F_ii F_jj + F_ij²). A diagonal has nothing else.
        """
        frames = result.frames
        sizes = np.diagonal(frames, axis1=1, axis2=2)
        squared = result.covariance_noise[:, None, None] * (sizes[:, :, None] * sizes[:, None, :] + frames**2)
        if shape.name == "diag":
            squared = squared * np.eye(shape.dimension)
        means = np.sqrt(result.mean_noise[:, None] * sizes)
        count_noise = np.full(components.count, np.sqrt(result.count_noise))
        return cls(components, result.counts, count_noise, means, np.sqrt(squared))

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


ROUND_CAUTION = 1.5  # standard deviations of noise that two rounds may differ by and still be averaged


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
    def from_release(
        cls, release: Release, classes: Components, clipping: Clipping | None, shape: Shape
    ) -> ClassEstimates:
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
        gain = max(old / (old + fresh), kept((old + fresh) * d, float(moved @ moved), d, ROUND_CAUTION))
        mean, mean_noise = self.means[k] + gain * (new.means[k] - self.means[k]), _mixed(old, fresh, gain)
        old = float(self.covariance_noise[k]) * shape.energy(before) / shape.energy()
        fresh = float(new.covariance_noise[k])
        changed = whiten @ (new.covariances[k] - self.covariances[k]) @ whiten.T
        noise = (old + fresh) * shape.energy()
        gain = max(old / (old + fresh), kept(noise, float((changed**2).sum()), shape.numbers, ROUND_CAUTION))
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


HIDDEN = 0.65  # of how far noise alone spreads eigenvalues: no eigenvalue is below
LEAST_RATIO, MOST_RATIO = 0.02, 50.0  # of a class's covariance to the shared one
MOST_HIDDEN = 0.7
DIFFERENT = 0.3  # squared, of classes, relative to what they share
SHAPE_CAUTION = 1.0  # standard deviations of noise that a difference of shape must exceed


def believed(result: ClassEstimates, shape: Shape) -> Components:
    """Return the classes that follow from estimates with noise."""
    weights = result.rows / result.rows.sum()
    shared = _shared(result, shape, weights)
    factor = np.linalg.cholesky(shared)
    means = _means(result, weights, np.linalg.inv(factor))
    if shape.name == "tied":
        covariances = np.repeat(shared[None], len(weights), axis=0)
    else:
        covariances = np.array([_covariance(result, k, shape, shared) for k in range(len(weights))])
    return Components(weights, inside_ball(means), covariances)


def _shared(result: ClassEstimates, shape: Shape, weights: Array) -> Array:
    """Return W."""
    d, tied = shape.dimension, shape.name == "tied"
    parts = weights / weights.sum() if tied else weights**2 * result.covariance_noise
    frame = np.einsum("k,kij->ij", parts / parts.sum(), result.frames)
    noise = float(result.covariance_noise[0]) if tied else float((weights**2 * result.covariance_noise).sum())
    factor = np.linalg.cholesky(frame)
    whiten = np.linalg.inv(factor)
    raw = whiten @ np.einsum("k,kij->ij", weights, result.covariances) @ whiten.T
    size = max(float(np.trace(raw)) / d, 2.0 * math.sqrt(noise * shape.size_energy()), 1e-9)
    own = _drawn(raw, shape, noise) + (size - float(np.trace(raw)) / d) * np.eye(d)
    least = min(max(HIDDEN * math.sqrt(noise * d), 1e-4 * size), MOST_HIDDEN * size)
    own = clipped_spectrum(own, least, math.inf)
    return _of_shape(clipped_spectrum(factor @ own @ factor.T, SMALLEST, LARGEST), shape)


def _means(result: ClassEstimates, weights: Array, whiten: Array) -> Array:
    """Return the means, drawn to their common centre."""
    d = result.means.shape[1]
    centre = weights @ result.means
    stds = (result.means - centre) @ whiten.T
    noises = result.mean_noise * np.array([np.trace(whiten @ frame @ whiten.T) for frame in result.frames])
    pairs = zip(noises.tolist(), (stds**2).sum(axis=1).tolist(), strict=True)
    shares = np.array([kept(noise, long, d, 0.0) for noise, long in pairs])
    return np.asarray(centre + shares[:, None] * (result.means - centre))


def _covariance(result: ClassEstimates, k: int, shape: Shape, shared: Array) -> Array:
    """Return the covariance of a class."""
    d, noise = shape.dimension, float(result.covariance_noise[k])
    factor = np.linalg.cholesky(result.frames[k])
    whiten = np.linalg.inv(factor)
    difference = _told(whiten @ (result.covariances[k] - shared) @ whiten.T, shape, noise)
    difference = _weighed(difference, whiten @ shared @ whiten.T, noise)
    raw = shared + factor @ difference @ factor.T
    root = np.linalg.cholesky(shared)
    back = np.linalg.inv(root)
    frame = back @ result.frames[k] @ back.T
    hidden = HIDDEN * math.sqrt(noise * shape.energy(frame) / shape.energy() * d)
    own = clipped_spectrum(back @ raw @ back.T, min(max(hidden, LEAST_RATIO), MOST_HIDDEN), MOST_RATIO)
    return _of_shape(clipped_spectrum(root @ own @ root.T, SMALLEST, LARGEST), shape)


def _told(difference: Array, shape: Shape, noise: float) -> Array:
    """Return a difference as far as noise of variance v off the diagonal cannot have made it alone."""
    d = shape.dimension
    size, eye = float(np.trace(difference)) / d, np.eye(d)
    believed_size = size * kept(noise * shape.size_energy(), size * size, 1.0, 0.0)
    rest = difference - size * eye
    energy = noise * (shape.energy() - d * shape.size_energy())
    share = kept(energy, float((rest**2).sum()), shape.numbers, SHAPE_CAUTION) if d > 1 else 0.0
    return believed_size * eye + (_drawn(rest, shape, noise) if share else 0.0)


def _weighed(difference: Array, shared: Array, noise: float) -> Array:
    """Return a difference without what is less than its noise in directions in which W itself is small.

    Along the axes of W, with variances g, an entry has noise of variance v/(g_i g_j) relative to W. It is drawn back as
    the mean of a normal posterior is, if differences relative to W have the variance ``DIFFERENT`` beforehand.
    """
    values, vectors = np.linalg.eigh(shared)
    along = vectors.T @ difference @ vectors
    relative = noise / np.maximum(np.outer(values, values), 1e-300)
    return np.asarray(vectors @ (along * (DIFFERENT / (DIFFERENT + relative))) @ vectors.T)


def _drawn(matrix: Array, shape: Shape, noise: float) -> Array:
    """Return a symmetric matrix without what noise of variance v off the diagonal has put in."""
    d = shape.dimension
    if shape.name == "diag":
        size = float(np.trace(matrix)) / d
        rest = np.diag(matrix) - size
        share = kept(2.0 * noise * (d - 1), float(rest @ rest), d - 1, 0.0) if d > 1 else 0.0
        return np.asarray(np.diag(size + share * rest))
    spectrum = Spectrum.from_matrix(matrix, math.sqrt(noise))
    return spectrum.matrix(spectrum.shrunk)


def _of_shape(covariance: Array, shape: Shape) -> Array:
    """Return a covariance without what rounding has put where the shape has nothing."""
    return np.asarray(np.diag(np.diag(covariance))) if shape.name == "diag" else covariance
