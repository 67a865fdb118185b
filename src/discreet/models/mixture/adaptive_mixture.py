"""Adaptive DP-EM: a mixture of Gaussians in which each component is measured in its own coordinates of the last step.

1. A few releases find one Gaussian (``one_gaussian``), and K components start spread over it. Where the
   budget could not tell the components' means from noise, it all goes here and they are all this one Gaussian.
2. In each step all components' clipped moments are one release (``clipped_moments``). Clipping is undone
   (``own_coordinates``), and what comes out is mapped back and pooled with the steps before (``shrinkage``): a new
   estimate weighs t^(−0.6), or more where it differs from the pool by more than noise can explain, or less where its
   noise is much the larger.
3. The next step's parameters follow from the pool by shrinkage: means are shrunk to their common centre, a shared
   covariance to that of phase 1 less the scatter of the means, and each covariance to the shared one, its size
   and its shape apart. Eigenvalues stay above what their noise could hide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from discreet.door import Release
from discreet.models.mixture.moment_model import MomentModel
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import (
    LARGEST,
    SMALLEST,
    clip_eigenvalues,
    clip_to_ball,
    noise_std,
    released_counts,
    released_rows,
)
from discreet.models.shrinkage import Estimate, forgetting_gain, shrink_means, shrinkage_factor
from discreet.queries.moments.clipped_moments import ClippedMoments, Components

Array = NDArray[np.float64]

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
        The parameters at which the next step measures.
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
    def empty(cls, components: Components) -> Pool:
        """Return an empty pool."""
        none = np.zeros(components.count)
        return cls(
            0, components, none, 0.0, components.means, none, components.covariances, none, components.covariances
        )


def rows_to_divide_by(counts: Array, variance: float, release: Release) -> Array:
    """Return pooled counts, each at least twice its noise and a twentieth of an equal share of all rows."""
    share = LEAST_SHARE * released_rows(release) / len(counts)
    return np.asarray(np.maximum(counts, max(share, 2.0 * math.sqrt(variance))))


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
        return Pool.empty(spread_over(self.base, self.count, rng))

    def moments(self, params: Pool) -> ClippedMoments:
        """Return the statistic in each component's own coordinates."""
        return ClippedMoments(params.components, self.clipping.radius, self.weights, self.shape.name)

    def maximize(self, params: Pool, release: Release) -> Pool:
        """Return the pool with one more release, and what follows from it."""
        gain, k = forgetting_gain(params.step), params.components.count
        new = Estimate(released_counts(release), noise_std(release, "counts") ** 2)
        moved = float(((new.value - params.counts) ** 2).sum())
        fast = max(gain, shrinkage_factor(new.variance * k, moved, k))
        counts, count_noise = Estimate(params.counts, params.count_noise).pool(new, fast)
        rows = rows_to_divide_by(counts, count_noise, release)
        estimates = enumerate(self._estimates(params, release, rows))
        each = [self._pool(params, k, mean, covariance, gain) for k, (mean, covariance) in estimates]
        means, mean_noise, covariances, covariance_noise, frames = map(np.array, zip(*each, strict=True))
        pool = Pool(
            params.step + 1, params.components, counts, count_noise, means, mean_noise, covariances, covariance_noise,
            frames,
        )  # fmt: skip
        weights = rows / rows.sum()
        centres, between = self._shrink_means(pool, weights)
        shared = self._shared_factor(pool, weights, between)
        shrunk = np.array([self._shrink_covariance(pool, k, shared) for k in range(len(weights))])
        return replace(pool, components=Components(weights, clip_to_ball(centres), shrunk))

    def _estimates(self, params: Pool, release: Release, rows: Array) -> Iterator[tuple[Estimate, Estimate]]:
        """Yield mean and covariance of each component as one release has them, in the coordinates of the unit ball.

        Clipping is undone. Variances are those of white noise in the component's own coordinates z = L⁻¹(y − m).
        """
        shape, clipping, components = self.shape, self.clipping, params.components
        firsts = release["first"] / rows[:, None]  # E[c(z)]/R
        tied = shape.name == "tied"  # one matrix over all rows
        per = np.full(len(rows), rows.sum()) if tied else rows
        seconds = shape.matrices(release["second"], components.count) / per[:, None, None]  # E[c(z)c(z)ᵀ]/R²
        outers = firsts[:, :, None] * firsts[:, None, :]
        if tied:
            outers = np.broadcast_to(np.einsum("k,kij->ij", rows / rows.sum(), outers), outers.shape)
        first_noise, second_noise = noise_std(release, "first"), noise_std(release, "second")
        for k, factor in enumerate(components.factors):
            shift, own, size = clipping.undo(firsts[k], shape.restrict(seconds[k] - outers[k]))
            # Near the border of the ball the clipped mean says less and less about the shift: undone as for a point.
            shift = shift / math.sqrt(1.0 - min(float(np.linalg.norm(firsts[k])), 0.98) ** 2)
            inside = clip_to_ball(shift, clipping.radius)
            own = shape.restrict(own + np.outer(shift - inside, shift - inside))
            response = clipping.response(size)
            moved = first_noise * clipping.radius / rows[k] / response.beta1  # σ₁R/(Nβ₁)
            entry = second_noise * clipping.squared / per[k] / response.beta2  # σ₂R²/(Nβ₂)
            yield (
                Estimate(components.means[k] + factor @ inside, moved**2),  # m + L·shift
                Estimate(factor @ own @ factor.T, 0.5 * entry * entry),  # L·C·Lᵀ; v of ``own_coordinates``
            )

    def _pool(
        self, params: Pool, k: int, mean: Estimate, covariance: Estimate, gain: float
    ) -> tuple[Array, float, Array, float, Array]:
        """Return mean, its noise, covariance, its noise, and the frame of both, with one more estimate."""
        frame = params.components.covariances[k]
        if params.step == 0:
            return *mean, *covariance, frame
        shape, d, whiten = self.shape, self.shape.dimension, params.components.whitening[k]
        old_mean = Estimate(params.means[k], float(params.mean_noise[k]))
        old = Estimate(params.covariances[k], float(params.covariance_noise[k]))
        if covariance.variance > 4.0 * old.variance:  # at most g = v/(v + v')
            gain = min(gain, max(old.variance / (old.variance + covariance.variance), 0.02))
        moved = whiten @ (mean.value - old_mean.value)  # L⁻¹(m' − m), whose noise has E‖·‖² = d·v
        changed = whiten @ (covariance.value - old.value) @ whiten.T  # L⁻¹(C' − C)L⁻ᵀ
        spread = covariance.variance * shape.energy()  # E‖·‖² of its noise
        gain = max(
            gain,
            shrinkage_factor(mean.variance * d, float(moved @ moved), d, POOLING_CAUTION),
            shrinkage_factor(spread, float((changed**2).sum()), shape.numbers, POOLING_CAUTION),
        )
        pooled = old.pool(covariance, gain)
        # The frame in which the pooled noise is white: (1 − g)²·v·LLᵀ of before and g²·v'·LLᵀ of now
        old_part, new_part = (1.0 - gain) ** 2 * old.variance, gain**2 * covariance.variance
        pooled_frame = (old_part * params.frames[k] + new_part * frame) / pooled.variance
        return *old_mean.pool(mean, gain), *pooled, pooled_frame

    def _shrink_means(self, pool: Pool, weights: Array) -> tuple[Array, Array]:
        """Return means shrunk to their common centre, and their scatter in the coordinates of the base."""
        centre, differences, factors = shrink_means(
            pool.means, weights, self.base.whitening[0], pool.mean_noise, pool.frames, MEAN_CAUTION
        )
        shrunk = factors[:, None] * differences
        between = np.einsum("k,ki,kj->ij", weights, shrunk, shrunk)  # Σ w_k s_k² u_k u_kᵀ
        if pool.step < self.steps:
            factors = np.maximum(factors, 0.3)  # while there are steps to come, components stay apart
        return centre + factors[:, None] * (pool.means - centre), between

    def _shared_factor(self, pool: Pool, weights: Array, between: Array) -> Array:
        """Return the Cholesky factor of the covariance that components share, as far as they do.

        In the coordinates of the base the covariance of all rows is I, so that within components I − ``between`` is
        expected. The mean of the components' covariances is shrunk to that.
        """
        shape, d, whiten = self.shape, self.shape.dimension, self.base.whitening[0]
        noises = pool.covariance_noise * np.array([shape.energy(whiten @ frame @ whiten.T) for frame in pool.frames])
        expected = clip_eigenvalues(np.eye(d) - shape.restrict(between), 0.1, 1.0)
        precision = weights / (WORTH * d + noises / 4.0)  # p_k: less where noise is more than a covariance is worth
        precision /= precision.sum()
        mean = whiten @ np.einsum("k,kij->ij", precision, pool.covariances) @ whiten.T  # Σ p_k C_k
        noise = float((precision**2 * noises).sum())  # E‖·‖² of its noise, Σ p_k² E‖·‖²_k
        factor = shrinkage_factor(noise, float(((mean - expected) ** 2).sum()), shape.numbers, SHAPE_CAUTION)
        least = min(max(2.0 * factor * math.sqrt(noise * d / shape.energy()), LEAST_RATIO), 0.6)  # 2s√(vd)
        shared = clip_eigenvalues(expected + factor * (mean - expected), least, 4.0)
        return np.asarray(self.base.factors[0] @ np.linalg.cholesky(shared))

    def _shrink_covariance(self, pool: Pool, k: int, shared: Array) -> Array:
        """Return a component's covariance, shrunk to the shared one: its size and its shape each by its own noise."""
        shape, d, eye = self.shape, self.shape.dimension, np.eye(self.shape.dimension)
        if shape.name == "tied":
            return clip_eigenvalues(shared @ shared.T, SMALLEST, LARGEST)
        whiten, noise = np.linalg.inv(shared), float(pool.covariance_noise[k])
        frame = whiten @ pool.frames[k] @ whiten.T
        excess = whiten @ pool.covariances[k] @ whiten.T - eye  # S⁻¹CS⁻ᵀ − I = size·I + a traceless shape
        size = float(np.trace(excess)) / d
        own_shape = excess - size * eye
        response = self.clipping.response()
        size_noise = noise * shape.size_energy(frame)
        factor = 0.0
        if shape.numbers > 1:
            rest = noise * shape.energy(frame) - d * size_noise  # E‖·‖² of the noise of the shape
            factor = shrinkage_factor(rest, float((own_shape**2).sum()), shape.numbers, SHAPE_CAUTION)
        # The size is one number, known better than the shape: it is never shrunk more
        size_noise *= (response.beta2 / response.trace) ** 2
        wide = max(1.0, float(np.trace(frame)) / d)
        size *= max(factor, shrinkage_factor(size_noise, size * size, 1) / (1.0 + size_noise / wide**2))
        shrunk = shared @ ((1.0 + max(size, -0.9)) * eye + factor * own_shape) @ shared.T
        # Eigenvalues in the coordinates of the last step, above what the noise of this one could hide: s√(vd)
        root, back = pool.components.factors[k], pool.components.whitening[k]
        least = min(max(factor * math.sqrt(noise * d), LEAST_RATIO), 0.7)
        own = clip_eigenvalues(back @ shrunk @ back.T, least, MOST_RATIO)
        narrowest = self.narrowest if pool.step < self.steps else SMALLEST
        result = clip_eigenvalues(root @ own @ root.T, narrowest, LARGEST)
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
