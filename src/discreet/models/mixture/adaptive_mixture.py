"""Adaptive DP-EM: each component is measured in its own coordinates of the step before.

1. A few releases find one Gaussian (``one_gaussian``), and K components start spread over it. Where the
   budget could not tell the components' means from noise, it all goes here and they are all this one Gaussian.
2. In each step all components' clipped moments are one release (``clipped_moments``). Clipping is undone
   (``own_coordinates``), and what comes out is mapped back and pooled with the steps before: a new estimate weighs
   t^(−0.6), or more where it differs from the pool by more than noise can explain, or less where its noise is much the
   larger.
3. From the pool to the next step's parameters what noise alone could have done is not believed (``released.kept``):
   means are drawn to their common centre, a shared covariance to that of phase 1 less the scatter of the means, and
   each covariance to the shared one, its size and its shape apart. Eigenvalues stay above what their noise could hide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from discreet.door import Release
from discreet.models.mixture.moment_model import (
    LARGEST,
    SMALLEST,
    MomentModel,
    clipped_spectrum,
    inside_ball,
    kept,
    noise_of,
    released_rows,
)
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.queries.moments.clipped_moments import ClippedMoments, Components

__all__ = ["AdaptiveMixture", "Pool", "spread_over"]

Array = NDArray[np.float64]

FORGETTING = 0.6  # a new estimate weighs t to the minus this
LEAST_SHARE = 0.05  # of an equal share of the rows: no component has fewer
LEAST_RATIO, MOST_RATIO = 0.03, 30.0  # what a covariance may do in one step, relative to the step before
POOLING_CAUTION, MEAN_CAUTION, SHAPE_CAUTION = 1.5, 1.5, 1.0
WORTH = 0.1  # nats a dimension that a covariance of its own may bring
ANISOTROPY = 0.5  # of where centres start; 0: whitened coordinates, 1: the Gaussian's own
TRIES = 3
FEW = 50  # components for which it pays to look for a good spread; many cover the Gaussian anyway


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
        Variances of the noise in the coordinates of ``frames``: of a coordinate of the mean, and of the covariance, v
        of ``own_coordinates``.
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
        gain = float((params.step + 1.0) ** -FORGETTING)
        counts, count_noise = self._pooled_counts(params, release, gain)
        # Rows that can be divided by: above their noise, and above a twentieth of an equal share
        share = LEAST_SHARE * released_rows(release) / len(counts)
        rows = np.asarray(np.maximum(counts, max(share, 2.0 * math.sqrt(count_noise))))
        estimates = enumerate(self._estimates(params, release, rows))
        each = [self._pooled(params, k, estimate, gain) for k, estimate in estimates]
        means, mean_noise, covariances, covariance_noise, frames = map(np.array, zip(*each, strict=True))
        pool = Pool(
            params.step + 1, params.components, counts, count_noise, means, mean_noise, covariances, covariance_noise,
            frames,
        )  # fmt: skip
        weights = rows / rows.sum()
        centres, between = self._believed_means(pool, weights)
        shared = self._shared_factor(pool, weights, between)
        believed = np.array([self._believed_covariance(pool, k, shared) for k in range(len(weights))])
        return replace(pool, components=Components(weights, inside_ball(centres), believed))

    def _pooled_counts(self, params: Pool, release: Release, gain: float) -> tuple[Array, float]:
        """Return the pooled counts and their variance; where the number of rows is public, they sum to it."""
        result, k = release["counts"], params.components.count
        if release.size.rows is not None:
            result = result + (release.size.rows - result.sum()) / k
        noise = noise_of(release, "counts") ** 2
        if params.step == 0:
            return result, noise
        moved = float(((result - params.counts) ** 2).sum())
        gain = max(gain, kept(noise * k, moved, k, 0.0))
        return params.counts + gain * (result - params.counts), (1.0 - gain) ** 2 * params.count_noise + gain**2 * noise

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
            # Near the border of the ball the clipped mean says less and less about the shift: undone as for a point.
            shift = shift / math.sqrt(1.0 - min(float(np.linalg.norm(firsts[k])), 0.98) ** 2)
            inside = shift * min(1.0, clipping.radius / max(float(np.linalg.norm(shift)), 1e-300))
            own, shift = shape.held(own + np.outer(shift - inside, shift - inside)), inside
            response = clipping.response(size)
            mean_noise = (first_noise * clipping.radius / rows[k] / response.beta1) ** 2
            entry = second_noise * clipping.squared / (rows.sum() if tied else rows[k]) / response.beta2
            yield _Estimate(
                components.means[k] + factor @ shift, factor @ own @ factor.T, mean_noise, 0.5 * entry * entry
            )

    def _pooled(self, params: Pool, k: int, new: _Estimate, gain: float) -> tuple[Array, float, Array, float, Array]:
        """Return mean, its noise, covariance, its noise, and the frame of both, with one more estimate."""
        frame = params.components.covariances[k]
        if params.step == 0:
            return new.mean, new.mean_noise, new.covariance, new.covariance_noise, frame
        shape, whiten = self.shape, params.components.whitening[k]
        old_noise = float(params.covariance_noise[k])
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

    def _believed_means(self, pool: Pool, weights: Array) -> tuple[Array, Array]:
        """Return means drawn to their common centre, and their scatter in the coordinates of the base."""
        d, whiten = self.shape.dimension, self.base.whitening[0]
        centre = weights @ pool.means
        stds = (pool.means - centre) @ whiten.T
        noises = pool.mean_noise * np.array([np.trace(whiten @ frame @ whiten.T) for frame in pool.frames])
        squared = (stds**2).sum(axis=1)
        shares = np.array([kept(noise, long, d, MEAN_CAUTION) for noise, long in zip(noises, squared, strict=True)])
        believed = shares[:, None] * stds
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
        result = whiten @ np.einsum("k,kij->ij", precision, pool.covariances) @ whiten.T
        noise = float((precision**2 * noises).sum())
        share = kept(noise, float(((result - expected) ** 2).sum()), shape.numbers, SHAPE_CAUTION)
        least = min(max(2.0 * share * math.sqrt(noise * d / shape.energy()), LEAST_RATIO), 0.6)
        shared = clipped_spectrum(expected + share * (result - expected), least, 4.0)
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
        response = self.clipping.response()
        size_noise = noise * shape.size_energy(frame)
        share = 0.0
        if shape.numbers > 1:
            rest = noise * shape.energy(frame) - d * size_noise
            share = kept(rest, float((own_shape**2).sum()), shape.numbers, SHAPE_CAUTION)
        # The size is one number, known better than the shape: it is never shrunk more
        size_noise *= (response.beta2 / response.trace) ** 2
        wide = max(1.0, float(np.trace(frame)) / d)
        size *= max(share, kept(size_noise, size * size, 1, 0.0) / (1.0 + size_noise / wide**2))
        believed = shared @ ((1.0 + max(size, -0.9)) * eye + share * own_shape) @ shared.T
        # Eigenvalues in the coordinates of the step before, above what the noise of this one could hide
        factor, back = pool.components.factors[k], pool.components.whitening[k]
        least = min(max(share * math.sqrt(noise * d), LEAST_RATIO), 0.7)
        own = clipped_spectrum(back @ believed @ back.T, least, MOST_RATIO)
        narrowest = self.narrowest if pool.step < self.steps else SMALLEST
        result = clipped_spectrum(factor @ own @ factor.T, narrowest, LARGEST)
        return result if shape.name == "full" else np.asarray(np.diag(np.diag(result)))


def spread_over(gaussian: Components, count: int, rng: np.random.Generator) -> Components:
    """Return ``count`` equal components spread over a Gaussian, to start from without a further look at the rows.

    The centres are those of k-means on draws from that Gaussian, computed in coordinates between its own and whitened
    ones: wide directions get more centres than narrow ones, but not all of them.

    >>> one = Components(np.ones(1), np.zeros((1, 2)), np.diag([1.0, 0.01])[None])
    >>> two = spread_over(one, 2, np.random.default_rng(0))
    >>> bool(abs(two.means[0, 0] - two.means[1, 0]) > 1.0), two.covariances.shape
    (True, (2, 2, 2))
    """
    values, vectors = np.linalg.eigh(gaussian.covariances[0])
    stretch = (values / values[-1]) ** (ANISOTROPY / 2.0)
    draws = rng.standard_normal((max(2000, min(50, 20_000 // count + 5) * count), len(values))) * stretch
    few = count <= FEW
    tries = [
        kmeans2(draws, count, iter=30 if few else 5, minit="++" if few else "points", missing="warn", rng=rng)
        for _ in range(TRIES if few else 1)
    ]
    centres, _ = min(tries, key=lambda result: float(((draws - result[0][result[1]]) ** 2).sum()))
    narrower = max(0.6, 1.0 - 4.0 / len(values))  # the means take up less of the spread where there is more of it
    means = gaussian.means[0] + (centres / stretch * np.sqrt(values)) @ vectors.T
    return Components(np.full(count, 1.0 / count), means, np.repeat(narrower * gaussian.covariances, count, axis=0))
