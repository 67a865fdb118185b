"""What to believe of noisy estimates of classes: priors, means and covariances.

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

import numpy as np
from numpy.typing import NDArray

from discreet.models.class_estimates import ClassEstimates
from discreet.models.own_coordinates import Shape
from discreet.models.released import LARGEST, SMALLEST, clipped_spectrum, inside_ball, kept
from discreet.models.spectrum import Spectrum
from discreet.queries.moments.components import Components

__all__ = ["believed"]

Array = NDArray[np.float64]

HIDDEN = 0.65  # of how far noise alone spreads eigenvalues: no eigenvalue is below
LEAST_RATIO, MOST_RATIO = 0.02, 50.0  # of a class's covariance to the shared one
MOST_HIDDEN = 0.7
DIFFERENT = 0.3  # squared, of classes, relative to what they share
CAUTION = 1.0  # standard deviations of noise that a difference of shape must exceed


def believed(found: ClassEstimates, shape: Shape) -> Components:
    """Return the classes that follow from estimates with noise."""
    weights = found.rows / found.rows.sum()
    shared = _shared(found, shape, weights)
    factor = np.linalg.cholesky(shared)
    means = _means(found, weights, np.linalg.inv(factor))
    if shape.name == "tied":
        covariances = np.repeat(shared[None], len(weights), axis=0)
    else:
        covariances = np.array([_covariance(found, k, shape, shared) for k in range(len(weights))])
    return Components(weights, inside_ball(means), covariances)


def _shared(found: ClassEstimates, shape: Shape, weights: Array) -> Array:
    """Return W."""
    d, tied = shape.dimension, shape.name == "tied"
    parts = weights / weights.sum() if tied else weights**2 * found.covariance_noise
    frame = np.einsum("k,kij->ij", parts / parts.sum(), found.frames)
    noise = float(found.covariance_noise[0]) if tied else float((weights**2 * found.covariance_noise).sum())
    factor = np.linalg.cholesky(frame)
    whiten = np.linalg.inv(factor)
    raw = whiten @ np.einsum("k,kij->ij", weights, found.covariances) @ whiten.T
    size = max(float(np.trace(raw)) / d, 2.0 * math.sqrt(noise * shape.size_energy()), 1e-9)
    own = _drawn(raw, shape, noise) + (size - float(np.trace(raw)) / d) * np.eye(d)
    least = min(max(HIDDEN * math.sqrt(noise * d), 1e-4 * size), MOST_HIDDEN * size)
    own = clipped_spectrum(own, least, math.inf)
    return _of_shape(clipped_spectrum(factor @ own @ factor.T, SMALLEST, LARGEST), shape)


def _means(found: ClassEstimates, weights: Array, whiten: Array) -> Array:
    """Return the means, drawn to their common centre."""
    d = found.means.shape[1]
    centre = weights @ found.means
    deviations = (found.means - centre) @ whiten.T
    noises = found.mean_noise * np.array([np.trace(whiten @ frame @ whiten.T) for frame in found.frames])
    pairs = zip(noises.tolist(), (deviations**2).sum(axis=1).tolist(), strict=True)
    shares = np.array([kept(noise, long, d, 0.0) for noise, long in pairs])
    return np.asarray(centre + shares[:, None] * (found.means - centre))


def _covariance(found: ClassEstimates, k: int, shape: Shape, shared: Array) -> Array:
    """Return the covariance of a class."""
    d, noise = shape.dimension, float(found.covariance_noise[k])
    factor = np.linalg.cholesky(found.frames[k])
    whiten = np.linalg.inv(factor)
    difference = _told(whiten @ (found.covariances[k] - shared) @ whiten.T, shape, noise)
    difference = _weighed(difference, whiten @ shared @ whiten.T, noise)
    raw = shared + factor @ difference @ factor.T
    root = np.linalg.cholesky(shared)
    back = np.linalg.inv(root)
    frame = back @ found.frames[k] @ back.T
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
    share = kept(energy, float((rest**2).sum()), shape.numbers, CAUTION) if d > 1 else 0.0
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
    spectrum = Spectrum.of(matrix, math.sqrt(noise))
    return spectrum.matrix(spectrum.shrunk)


def _of_shape(covariance: Array, shape: Shape) -> Array:
    """Return a covariance without what rounding has put where the shape has nothing."""
    return np.asarray(np.diag(np.diag(covariance))) if shape.name == "diag" else covariance
