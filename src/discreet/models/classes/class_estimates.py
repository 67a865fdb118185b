"""Gaussian classes from noisy moments: estimates with their noise, and shrinkage of these estimates.

**Estimates** (``ClassEstimates``) follow from releases. Only what they are divided by is floored; nothing is shrunk. A
release has white noise in each class's own coordinates, L⁻¹(y − m). So an estimate carries the variance of a coordinate
of its mean, and v of ``own_coordinates`` for its covariance, both in the coordinates of a *frame* LLᵀ. Let q, s and r
be the standard deviations of the noise on the count, on a coordinate f of the first moment and on a number of the
second moment, relative to the rows. To second order and averaged over the coordinates,

    variance of a coordinate of the mean = s² + q²f²,    v = r²/2 + (s⁴ + 2s²f²) + q²‖C‖²/E,

where the second term of v comes from the product of the noisy mean that is subtracted, and the third from the noisy
count that scales the covariance C; E is the energy of ``Shape``. A class whose count does not exceed its noise is
dominated by noise.

**Shrinkage** (``shrink_classes``). Priors, means and covariances follow from the estimates:

1. The shared covariance W = Σ w_k C_k. In coordinates in which its noise is white its eigenvalues are corrected by
   ``spectrum``, and none is below what its noise could hide.
2. Means are shrunk to their common centre by the share of noise in their differences from it, in the coordinates of W.
3. The covariance of a class is W plus the shrunk difference C_k − W, in coordinates in which its noise is white. The
   mean eigenvalue of the difference is one number and is shrunk by itself. The traceless rest is set to 0 where noise
   alone would make one as large. Otherwise, with full covariances, ``spectrum`` corrects it: eigenvalues within the
   noise are moved to their mean, and directions that stand out of the noise are kept. A diagonal is shrunk as means
   are. Where W is small compared with the noise, the difference is shrunk strongly.

All of it is total: for any finite release the priors are positive and sum to 1, means lie in the unit ball and
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
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_estimates import HIDDEN, Estimate, shrink_means, shrinkage_factor
from discreet.models.noisy_sums import (
    LARGEST,
    SMALLEST,
    clip_eigenvalues,
    clip_to_ball,
    noise_std,
    released_counts,
    released_rows,
)
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.components import Components

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassGaussians:
    """K Gaussian classes, with the noise of their parameters.

    Attributes
    ----------
    components : Components
        Priors, means and covariances.
    counts : array of shape (K,)
        The number of rows of each class, as released; some may be negative.
    count_noise : array of shape (K,)
        The standard deviation of the noise on each class's number of rows.
    mean_noise : array of shape (K, d)
        The standard deviation of the noise on the means, before shrinkage.
    covariance_noise : array of shape (K, d, d)
        The standard deviation of the noise on the covariances, before shrinkage.
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
        ball: with F = LLᵀ, its entry (i, j) has the variance v(F_ii F_jj + F_ij²). Diagonal covariances have no others.
        """
        frames = result.frames
        sizes = np.diagonal(frames, axis1=1, axis2=2)
        squared = result.covariance_noise[:, None, None] * (sizes[:, :, None] * sizes[:, None, :] + frames**2)
        if shape.name == "diag":
            squared = squared * np.eye(shape.dimension)
        means = np.sqrt(result.mean_noise[:, None] * sizes)
        count_noise = np.full(components.count, np.sqrt(result.count_noise))
        return cls(components, result.counts, count_noise, means, np.sqrt(squared))

    def reorder(self, order: list[int]) -> Self:
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

    def rescale(self, offset: Array, scale: Array) -> Self:
        """Return the same in the coordinates offset + scale·y, column by column."""
        return replace(
            self,
            components=self.components.rescale(offset, scale),
            mean_noise=self.mean_noise * scale,
            covariance_noise=self.covariance_noise * np.outer(scale, scale),
        )


ROUND_CAUTION = 1.5  # standard deviations of noise by which two rounds may differ and still be averaged


def positive_part(counts: Array, noise: float) -> Array:
    """Return the posterior mean of a nonnegative count, given a count c with normal noise of standard deviation s.

    With a flat prior on [0, ∞) it is c + s·φ(c/s)/Φ(c/s): about c where the noise is small, and near 0 where c is far
    below 0.

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
    """Estimates of K classes from releases, with their noise, in the coordinates of the unit ball.

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
        """Return the estimates of one release, with clipping undone.

        Parameters
        ----------
        release : Release
            Of ``ClassMoments``.
        classes : Components
            The classes at which it was measured.
        clipping : Clipping or None
            In the classes' own coordinates; None where the release is in those of the unit ball.
        shape : Shape
        """
        (k, d), tied = classes.means.shape, shape.name == "tied"
        counts, count_noise = released_counts(release), noise_std(release, "counts")
        rows = np.maximum(positive_part(counts, count_noise), max(count_noise, 1.0))
        first_noise, second_noise = noise_std(release, "first"), noise_std(release, "second")
        firsts, per = release["first"] / rows[:, None], np.full(k, rows.sum()) if tied else rows
        seconds = shape.matrices(release["second"], k) / per[:, None, None]
        # E[(f + e)(f + e)ᵀ] = ffᵀ + s²I: the square of a noisy mean is too large by its variance
        outers = firsts[:, :, None] * firsts[:, None, :] - (first_noise / rows)[:, None, None] ** 2 * np.eye(d)
        if tied:
            outers = np.repeat(np.einsum("k,kij->ij", rows / rows.sum(), outers)[None], k, axis=0)
        each = []
        for j in range(k):
            noises = (count_noise / per[j], first_noise / rows[j], second_noise / per[j])
            gaussian = None if clipping is None else (classes.means[j], classes.factors[j])
            spread = shape.restrict(seconds[j] - outers[j])
            each.append(_estimate(firsts[j], spread, noises, gaussian, clipping, shape))
        frames = np.repeat(np.eye(d)[None], k, axis=0) if clipping is None else classes.covariances
        return cls(counts, count_noise**2, *_stack(each), frames)

    @classmethod
    def from_all_rows(
        cls, release: Release, gaussian: Components | None = None, clipping: Clipping | None = None
    ) -> ClassEstimates:
        """Return the estimates of a release of moments of all rows, as one class, with clipping undone.

        Parameters
        ----------
        release : Release
            Of ``OneGaussian`` or of ``Moments``.
        gaussian, clipping : Components and Clipping, or None
            The coordinates and the clipping of the release; None for the unit ball, without clipping.
        """
        counts = next((name for name in ("counts", "count") if name in release.parts), None)
        rows = released_rows(release, counts or "counts")
        count_noise = 0.0 if counts is None or release.size.rows is not None else noise_std(release, counts)
        d = release.parts["second"].shape[-1]
        first, second = clip_to_ball(release["first"].reshape(d) / rows), release["second"].reshape(d, d) / rows
        noises = (count_noise / rows, noise_std(release, "first") / rows, noise_std(release, "second") / rows)
        # E[(f + e)(f + e)ᵀ] = ffᵀ + s²I: the square of a noisy mean is too large by its variance
        spread = second - np.outer(first, first) + noises[1] ** 2 * np.eye(d)
        own = None if gaussian is None else (gaussian.means[0], gaussian.factors[0])
        estimate = _estimate(first, spread, noises, own, clipping, Shape("full", d))
        frames = np.eye(d)[None] if gaussian is None else gaussian.covariances
        return cls(np.array([rows]), max(count_noise, 1.0) ** 2, *_stack([estimate]), frames)

    @property
    def rows(self) -> Array:
        """The counts as positive numbers."""
        return positive_part(self.counts, math.sqrt(self.count_noise))

    def pool(self, new: ClassEstimates, shape: Shape) -> ClassEstimates:
        """Return the average with a later release, by inverse variances.

        The new release has a larger gain where both differ by more than noise explains: then the earlier release was
        clipped around a place away from the class, and has lost more to clipping than could be undone.
        """
        gain = self.count_noise / (self.count_noise + new.count_noise)  # v/(v + v')
        counts = self.counts + gain * (new.counts - self.counts)
        each = [self._pool_class(new, k, shape) for k in range(len(counts))]
        return ClassEstimates(counts, gain * new.count_noise, *_stack(each), new.frames)

    def _pool_class(self, new: ClassEstimates, k: int, shape: Shape) -> tuple[Array, float, Array, float]:
        """Return mean, its noise, covariance and its noise, in the coordinates of the new frame."""
        d = shape.dimension
        whiten = np.linalg.inv(np.linalg.cholesky(new.frames[k]))
        before = whiten @ self.frames[k] @ whiten.T  # L⁻¹AL⁻ᵀ, the old frame in the new coordinates
        old = Estimate(self.means[k], float(self.mean_noise[k]) * float(np.trace(before)) / d)
        mean = Estimate(new.means[k], float(new.mean_noise[k]))
        mean_change = whiten @ (mean.value - old.value)  # L⁻¹(m' − m)
        pooled = _pool_by_noise(old, mean, float(mean_change @ mean_change), d, d)
        energy = shape.energy()
        old = Estimate(self.covariances[k], float(self.covariance_noise[k]) * shape.energy(before) / energy)
        covariance = Estimate(new.covariances[k], float(new.covariance_noise[k]))
        change = whiten @ (covariance.value - old.value) @ whiten.T  # L⁻¹(C' − C)L⁻ᵀ
        return *pooled, *_pool_by_noise(old, covariance, float((change**2).sum()), energy, shape.numbers)


def _stack(each: list[tuple[Array, float, Array, float]]) -> tuple[Array, Array, Array, Array]:
    means, mean_noise, covariances, covariance_noise = map(np.array, zip(*each, strict=True))
    return means, mean_noise, covariances, covariance_noise


def _pool_by_noise(old: Estimate, new: Estimate, squared: float, energy: float, dof: int) -> Estimate:
    """Return the average of two estimates.

    Their difference has the squared length ``squared``; its noise has the expected one (v + v')·energy. The gain is
    v/(v + v'), or the shrinkage factor of the difference where that is larger.
    """
    both = old.variance + new.variance
    gain = max(old.variance / both, shrinkage_factor(both * energy, squared, dof, ROUND_CAUTION))
    return old.pool(new, gain)


def _estimate(
    first: Array,
    spread: Array,
    noises: tuple[float, float, float],
    gaussian: tuple[Array, Array] | None,
    clipping: Clipping | None,
    shape: Shape,
) -> tuple[Array, float, Array, float]:
    """Return mean, its noise, covariance and its noise from moments over the rows; see the module.

    Parameters
    ----------
    first, spread : arrays of shape (d,) and (d, d)
        The clipped mean and covariance.
    noises : tuple of float
        q, s and r.
    gaussian : pair of arrays, or None
        m and L of the coordinates in which rows were clipped; None where they were not.
    clipping : Clipping or None
    shape : Shape
    """
    q, s, r = noises
    d, squared = shape.dimension, float(first @ first)
    mean_noise = s**2 + q**2 * squared / d  # s² + q²f²
    products = s**4 + 2.0 * s**2 * max(squared / d - s**2, 0.0)  # s⁴ + 2s²f², f² less its own noise
    scaled = q**2 * float((spread**2).sum()) / shape.energy()  # q²‖C‖²/E
    covariance_noise = 0.5 * r**2 + products + scaled  # v
    if gaussian is None or clipping is None:
        return first, mean_noise, spread, covariance_noise
    (mean, factor), (shift, own, size) = gaussian, clipping.undo(first, spread)
    response = clipping.response(size)
    return (
        mean + factor @ shift,
        mean_noise * (clipping.squared / response.beta1**2),
        factor @ own @ factor.T,
        covariance_noise * (clipping.squared / response.beta2) ** 2,
    )


LEAST_RATIO, MOST_RATIO = 0.02, 50.0  # limits on the eigenvalues of a class's covariance, relative to the shared one
MOST_HIDDEN = 0.7  # largest lower limit on eigenvalues, relative to the mean one
DIFFERENT = 0.3  # prior variance of the entries of C_k − W, relative to W
SHAPE_CAUTION = 1.0  # standard deviations of noise that a difference of shape must exceed


def shrink_classes(result: ClassEstimates, shape: Shape) -> Components:
    """Return priors, means and covariances by shrinkage of noisy estimates; see the module."""
    weights = result.rows / result.rows.sum()
    shared = _shared_covariance(result, shape, weights)
    whitening = np.linalg.inv(np.linalg.cholesky(shared))
    centre, factors = shrink_means(result.means, weights, whitening, result.mean_noise, result.frames, 0.0)
    means = centre + factors[:, None] * (result.means - centre)
    if shape.name == "tied":
        covariances = np.repeat(shared[None], len(weights), axis=0)
    else:
        covariances = np.array([_class_covariance(result, k, shape, shared) for k in range(len(weights))])
    return Components(weights, clip_to_ball(means), covariances)


def _shared_covariance(result: ClassEstimates, shape: Shape, weights: Array) -> Array:
    """Return W, the shared covariance."""
    d, tied = shape.dimension, shape.name == "tied"
    parts = weights / weights.sum() if tied else weights**2 * result.covariance_noise
    frame = np.einsum("k,kij->ij", parts / parts.sum(), result.frames)
    noise = float(result.covariance_noise[0]) if tied else float((weights**2 * result.covariance_noise).sum())
    factor = np.linalg.cholesky(frame)
    whiten = np.linalg.inv(factor)
    raw = whiten @ np.einsum("k,kij->ij", weights, result.covariances) @ whiten.T
    size = max(float(np.trace(raw)) / d, 2.0 * math.sqrt(noise * shape.size_energy()), 1e-9)
    own = _correct_eigenvalues(raw, shape, noise) + (size - float(np.trace(raw)) / d) * np.eye(d)
    least = min(max(HIDDEN * math.sqrt(noise * d), 1e-4 * size), MOST_HIDDEN * size)
    own = clip_eigenvalues(own, least, math.inf)
    return shape.clear_rounding(clip_eigenvalues(factor @ own @ factor.T, SMALLEST, LARGEST))


def _class_covariance(result: ClassEstimates, k: int, shape: Shape, shared: Array) -> Array:
    """Return the covariance of class k: W and the shrunk difference from it."""
    d, noise = shape.dimension, float(result.covariance_noise[k])
    factor = np.linalg.cholesky(result.frames[k])
    whiten = np.linalg.inv(factor)
    difference = _shrink_difference(whiten @ (result.covariances[k] - shared) @ whiten.T, shape, noise)
    difference = _shrink_where_small(difference, whiten @ shared @ whiten.T, noise)
    raw = shared + factor @ difference @ factor.T
    root = np.linalg.cholesky(shared)
    back = np.linalg.inv(root)
    frame = back @ result.frames[k] @ back.T
    hidden = HIDDEN * math.sqrt(noise * shape.energy(frame) / shape.energy() * d)
    own = clip_eigenvalues(back @ raw @ back.T, min(max(hidden, LEAST_RATIO), MOST_HIDDEN), MOST_RATIO)
    return shape.clear_rounding(clip_eigenvalues(root @ own @ root.T, SMALLEST, LARGEST))


def _shrink_difference(difference: Array, shape: Shape, noise: float) -> Array:
    """Return a difference of covariances, shrunk for noise of variance v off the diagonal."""
    d = shape.dimension
    size, eye = float(np.trace(difference)) / d, np.eye(d)
    shrunk_size = size * shrinkage_factor(noise * shape.size_energy(), size * size, 1.0)
    rest = difference - size * eye
    energy = noise * (shape.energy() - d * shape.size_energy())
    share = shrinkage_factor(energy, float((rest**2).sum()), shape.numbers, SHAPE_CAUTION) if d > 1 else 0.0
    return np.asarray(shrunk_size * eye + (_correct_eigenvalues(rest, shape, noise) if share else 0.0))


def _shrink_where_small(difference: Array, shared: Array, noise: float) -> Array:
    """Return a difference, shrunk in the directions in which W itself is small compared with the noise.

    Along the axes of W, with variances g, the noise of an entry has the variance n = v/(g_i g_j) relative to W. The
    entry is replaced by its posterior mean, entry·D/(D + n), under a normal prior of variance D = ``DIFFERENT``.
    """
    values, vectors = np.linalg.eigh(shared)
    along = vectors.T @ difference @ vectors
    relative = noise / np.maximum(np.outer(values, values), 1e-300)
    return np.asarray(vectors @ (along * (DIFFERENT / (DIFFERENT + relative))) @ vectors.T)


def _correct_eigenvalues(matrix: Array, shape: Shape, noise: float) -> Array:
    """Return a symmetric matrix with its eigenvalues corrected for noise of variance v off the diagonal."""
    d = shape.dimension
    if shape.name == "diag":
        size = float(np.trace(matrix)) / d
        rest = np.diag(matrix) - size
        share = shrinkage_factor(2.0 * noise * (d - 1), float(rest @ rest), d - 1) if d > 1 else 0.0
        return np.asarray(np.diag(size + share * rest))
    spectrum = Spectrum.from_matrix(matrix, math.sqrt(noise))
    return spectrum.matrix(spectrum.shrunk_values)
