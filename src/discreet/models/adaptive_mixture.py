"""Adaptive DP-EM: each component is measured in its own coordinates of the step before.

1. A few releases find one Gaussian (``one_gaussian``), and K components start spread over it (``start``). Where the
   budget could not tell the components' means from noise, it all goes here and they are all this one Gaussian.
2. In each step all components' clipped moments are one release (``clipped_moments``). Clipping is undone
   (``clipping``), and what comes out is mapped back and pooled with the steps before: a new estimate weighs t^(−0.6),
   or more where it differs from the pool by more than noise can explain, or less where its noise is much the larger.
3. From the pool to the next step's parameters what noise alone could have done is not believed (``shrinkage``): means
   are drawn to their common centre, a shared covariance to that of phase 1 less the scatter of the means, and each
   covariance to the shared one, its size and its shape apart. Eigenvalues stay above what their noise could hide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.clipping import Clipping
from discreet.models.moment_model import MomentModel
from discreet.models.released import LARGEST, SMALLEST, clipped_spectrum, noise_of, released_rows
from discreet.models.shapes import Shape
from discreet.models.shrinkage import kept
from discreet.models.start import spread_over
from discreet.queries.moments.ball import inside_ball
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.moments.components import Components

__all__ = ["AdaptiveMixture", "Pool"]

Array = NDArray[np.float64]

FORGETTING = 0.6  # a new estimate weighs t to the minus this
LEAST_SHARE = 0.05  # of an equal share of the rows: no component has fewer
LEAST_RATIO, MOST_RATIO = 0.03, 30.0  # what a covariance may do in one step, relative to the step before
POOLING_CAUTION, MEAN_CAUTION, SHAPE_CAUTION = 1.5, 1.5, 1.0
WORTH = 0.1  # nats a dimension that a covariance of its own may bring


@dataclass(frozen=True, eq=False)
class Pool:
    """What the releases so far say, and the parameters that follow.

    Attributes
    ----------
    step : int
        How many releases are in it.
    components : Components
        The parameters through which the next step looks.
    counts, means, covariances : array
        Pooled estimates.
    count_noise : float
        The variance of each pooled count.
    mean_noise, covariance_noise : array of shape (K,)
        Variances of the noise in the coordinates of ``frames``: of a coordinate of the mean, and v of ``shapes``.
    frames : array of shape (K, d, d)
        LLᵀ of the coordinates that the noise is white in.
    """

    step: int
    components: Components
    counts: Array
    count_noise: float
    means: Array
    mean_noise: Array
    covariances: Array
    covariance_noise: Array
    frames: Array

    @classmethod
    def starting(cls, components: Components) -> Pool:
        """Return an empty pool."""
        none = np.zeros(components.count)
        return cls(
            0, components, none, 0.0, components.means, none, components.covariances, none, components.covariances
        )


@dataclass(frozen=True, eq=False)
class _Estimate:
    """What one release says of one component, in the coordinates of the unit ball, and its noise in the component's."""

    mean: Array
    covariance: Array
    mean_noise: float
    covariance_noise: float


@dataclass(frozen=True, eq=False)
class AdaptiveMixture(MomentModel[Pool]):
    """K Gaussians, each in its own coordinates.

    Parameters
    ----------
    count : int
        K.
    base : Components
        The one Gaussian of phase 1.
    clipping : Clipping
        Of the rows in each component's coordinates.
    shape : Shape
    weights : tuple of three floats
        a², b², c² of the statistic.
    steps : int
        How many steps there will be; the last one shrinks fully.
    narrowest : float
        No eigenvalue of a covariance is below, while there are steps to come.
    """

    count: int
    base: Components
    clipping: Clipping
    shape: Shape
    weights: tuple[float, float, float]
    steps: int
    narrowest: float = SMALLEST
    name: str = "adaptive mixture"

    def initialize(self, dimension: int, rng: np.random.Generator) -> Pool:
        """Return components spread over the base."""
        return Pool.starting(spread_over(self.base, self.count, rng))

    def moments(self, params: Pool) -> ClippedMoments:
        """Return the statistic in each component's own coordinates."""
        return ClippedMoments(params.components, self.clipping.radius, self.weights, self.shape.name)

    def maximize(self, params: Pool, release: Release) -> Pool:
        """Return the pool with one more release, and what follows from it."""
        counts, count_noise = self._pooled_counts(params, release)
        rows = self._floored(counts, count_noise, release)
        each = [self._pooled(params, k, estimate) for k, estimate in enumerate(self._estimates(params, release, rows))]
        means, mean_noise, covariances, covariance_noise, frames = (
            np.array(values) for values in zip(*each, strict=True)
        )
        pool = Pool(
            params.step + 1, params.components, counts, count_noise, means, mean_noise, covariances, covariance_noise,
            frames,
        )  # fmt: skip
        return self._shrunk(pool, rows / rows.sum())

    def _gain(self, params: Pool) -> float:
        return float((params.step + 1.0) ** -FORGETTING)

    def _pooled_counts(self, params: Pool, release: Release) -> tuple[Array, float]:
        """Return the pooled counts and their variance; where the number of rows is public, they sum to it."""
        found, k = release["counts"], params.components.count
        if release.size.rows is not None:
            found = found + (release.size.rows - found.sum()) / k
        noise = noise_of(release, "counts") ** 2
        if params.step == 0:
            return found, noise
        moved = float(((found - params.counts) ** 2).sum())
        gain = max(self._gain(params), kept(noise * k, moved, k, 0.0))
        return params.counts + gain * (found - params.counts), (1.0 - gain) ** 2 * params.count_noise + gain**2 * noise

    def _floored(self, counts: Array, count_noise: float, release: Release) -> Array:
        """Return counts that can be divided by: above their noise, and above a twentieth of an equal share."""
        share = LEAST_SHARE * released_rows(release) / len(counts)
        return np.asarray(np.maximum(counts, max(share, 2.0 * math.sqrt(count_noise))))

    def _estimates(self, params: Pool, release: Release, rows: Array) -> Iterator[_Estimate]:
        """Yield what the release says of each component, clipping undone."""
        shape, clipping, components = self.shape, self.clipping, params.components
        firsts = release["first"] / rows[:, None]
        tied = shape.name == "tied"  # one matrix over all rows
        per = rows.sum() if tied else rows
        seconds = shape.matrices(release["second"], components.count) / np.reshape(per, (-1, 1, 1))
        outers = firsts[:, :, None] * firsts[:, None, :]
        if tied:
            outers = np.broadcast_to(np.einsum("k,kij->ij", rows / rows.sum(), outers), outers.shape)
        first_noise, second_noise = noise_of(release, "first"), noise_of(release, "second")
        for k, factor in enumerate(components.factors):
            shift, own, size = clipping.undone(firsts[k], shape.held(seconds[k] - outers[k]))
            shift, beyond = _within(shift, firsts[k], clipping.radius)
            own = shape.held(own + np.outer(beyond, beyond))
            mean_noise = (first_noise * clipping.radius / rows[k] / clipping.beta1(size)) ** 2
            entry = second_noise * clipping.squared / (rows.sum() if tied else rows[k]) / clipping.beta2(size)
            yield _Estimate(
                components.means[k] + factor @ shift, factor @ own @ factor.T, mean_noise, 0.5 * entry * entry
            )

    def _pooled(self, params: Pool, k: int, new: _Estimate) -> tuple[Array, float, Array, float, Array]:
        """Return mean, its noise, covariance, its noise, and the frame of both, with one more estimate."""
        frame = params.components.covariances[k]
        if params.step == 0:
            return new.mean, new.mean_noise, new.covariance, new.covariance_noise, frame
        shape, whiten = self.shape, params.components.whitening[k]
        old_noise = float(params.covariance_noise[k])
        gain = self._gain(params)
        if new.covariance_noise > 4.0 * old_noise:  # by inverse variance
            gain = min(gain, max(old_noise / (old_noise + new.covariance_noise), 0.02))
        moved = whiten @ (new.mean - params.means[k])
        changed = whiten @ (new.covariance - params.covariances[k]) @ whiten.T
        gain = max(
            gain,
            kept(new.mean_noise * shape.dimension, float(moved @ moved), shape.dimension, POOLING_CAUTION),
            kept(new.covariance_noise * shape.energy(), float((changed**2).sum()), shape.numbers, POOLING_CAUTION),
        )
        old_part, new_part = (1.0 - gain) ** 2 * old_noise, gain**2 * new.covariance_noise
        noise = old_part + new_part
        return (
            params.means[k] + gain * (new.mean - params.means[k]),
            (1.0 - gain) ** 2 * float(params.mean_noise[k]) + gain**2 * new.mean_noise,
            params.covariances[k] + gain * (new.covariance - params.covariances[k]),
            noise,
            (old_part * params.frames[k] + new_part * frame) / noise,
        )

    def _shrunk(self, pool: Pool, weights: Array) -> Pool:
        """Return the pool with the parameters that are believed."""
        means, between = self._believed_means(pool, weights)
        shared = self._shared_factor(pool, weights, between)
        covariances = [self._believed_covariance(pool, k, shared) for k in range(len(weights))]
        components = Components(weights, inside_ball(means), np.array(covariances))
        return Pool(**(vars(pool) | {"components": components}))

    def _believed_means(self, pool: Pool, weights: Array) -> tuple[Array, Array]:
        """Return means drawn to their common centre, and their scatter in the coordinates of the base."""
        d, whiten = self.shape.dimension, self.base.whitening[0]
        centre = weights @ pool.means
        deviations = (pool.means - centre) @ whiten.T
        noises = pool.mean_noise * np.array([np.trace(whiten @ frame @ whiten.T) for frame in pool.frames])
        squared = (deviations**2).sum(axis=1)
        shares = np.array([kept(noise, long, d, MEAN_CAUTION) for noise, long in zip(noises, squared, strict=True)])
        believed = shares[:, None] * deviations
        between = np.einsum("k,ki,kj->ij", weights, believed, believed)
        if pool.step < self.steps:
            shares = np.maximum(shares, 0.3)  # while there are steps to come, components stay apart
        return centre + shares[:, None] * (pool.means - centre), between

    def _shared_factor(self, pool: Pool, weights: Array, between: Array) -> Array:
        """Return the Cholesky factor of the covariance that components share, as far as they do."""
        shape, d, whiten = self.shape, self.shape.dimension, self.base.whitening[0]
        noises = pool.covariance_noise * np.array([shape.energy(whiten @ frame @ whiten.T) for frame in pool.frames])
        expected = clipped_spectrum(np.eye(d) - shape.held(between), 0.1, 1.0)
        precision = weights / (WORTH * d + noises / 4.0)
        precision /= precision.sum()
        found = whiten @ np.einsum("k,kij->ij", precision, pool.covariances) @ whiten.T
        noise = float((precision**2 * noises).sum())
        share = kept(noise, float(((found - expected) ** 2).sum()), shape.numbers, SHAPE_CAUTION)
        least = min(max(2.0 * share * math.sqrt(noise * d / shape.energy()), LEAST_RATIO), 0.6)
        shared = clipped_spectrum(expected + share * (found - expected), least, 4.0)
        return np.asarray(self.base.factors[0] @ np.linalg.cholesky(shared))

    def _believed_covariance(self, pool: Pool, k: int, shared: Array) -> Array:
        """Return a component's covariance: the shared one, with what of its own size and shape is not noise."""
        shape, d, eye = self.shape, self.shape.dimension, np.eye(self.shape.dimension)
        if shape.name == "tied":
            return clipped_spectrum(shared @ shared.T, SMALLEST, LARGEST)
        whiten, noise = np.linalg.inv(shared), float(pool.covariance_noise[k])
        frame = whiten @ pool.frames[k] @ whiten.T
        excess = whiten @ pool.covariances[k] @ whiten.T - eye
        size = float(np.trace(excess)) / d
        own_shape = excess - size * eye
        ratio = self.clipping.beta2() / self.clipping.trace_response()
        size_noise = noise * shape.size_energy(frame)
        share = 0.0
        if shape.traceless:
            rest = noise * shape.energy(frame) - d * size_noise
            share = kept(rest, float((own_shape**2).sum()), shape.numbers, SHAPE_CAUTION)
        # The size is one number, known better than the shape: it is never shrunk more
        size_noise *= ratio**2
        wide = max(1.0, float(np.trace(frame)) / d)
        size *= max(share, kept(size_noise, size * size, 1, 0.0) / (1.0 + size_noise / wide**2))
        believed = shared @ ((1.0 + max(size, -0.9)) * eye + share * own_shape) @ shared.T
        # Eigenvalues in the coordinates of the step before, above what the noise of this one could hide
        factor, back = pool.components.factors[k], pool.components.whitening[k]
        least = min(max(share * math.sqrt(noise * d), LEAST_RATIO), 0.7)
        own = clipped_spectrum(back @ believed @ back.T, least, MOST_RATIO)
        narrowest = self.narrowest if pool.step < self.steps else SMALLEST
        found = clipped_spectrum(factor @ own @ factor.T, narrowest, LARGEST)
        return found if shape.name == "full" else np.asarray(np.diag(np.diag(found)))


def _within(shift: Array, first: Array, radius: float) -> tuple[Array, Array]:
    """Return a shift of at most R, and what lies beyond it.

    Near the border of the ball the clipped mean says less and less about the shift; this undoes it as for a point.
    """
    shift = shift / math.sqrt(1.0 - min(float(np.linalg.norm(first)), 0.98) ** 2)
    length = float(np.linalg.norm(shift))
    inside = shift * min(1.0, radius / length) if length > 0.0 else shift
    return inside, shift - inside
