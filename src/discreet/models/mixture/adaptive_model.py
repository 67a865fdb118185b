"""Adaptive DP-EM: steps in the coordinates of each component's last estimate, pooled; components that start spread.

1. A few releases find one Gaussian (``one_gaussian``). If the budget could not distinguish the components' means from
   noise, all of it is spent here, and all components are this one Gaussian. Else Lloyd steps look for clusters, and the
   components start there (``cluster_start``) or spread over the Gaussian (``spread_over``).
2. In each step the clipped moments of all components are one release (``clipped_moments``). Clipping is undone
   (``own_coordinates``), and the estimates are mapped back to the unit ball and pooled with those of the earlier steps
   (``noisy_estimates``). The gain of step t is t^(−0.6). It is larger where the new estimate differs from the pool by
   more than noise can explain, and smaller where the noise of the new estimate is much larger than that of the pool.
   Twice on the way components that are not needed move to halve wide ones (``component_moves``).
3. The parameters of the next step follow from the pool by shrinkage. Means are shrunk to their common centre. A shared
   covariance is shrunk to that of phase 1 minus the scatter of the means. Each component's covariance is shrunk to the
   shared one, its size and its shape separately. Eigenvalues stay above what their noise could hide. Where components
   are apart, the shared covariance is a combination of a few known shapes, and later steps are fewer and larger.

In what follows component k has the mean m, the covariance LLᵀ of the last step, and the coordinates z = L⁻¹(y − m), in
which rows are clipped to the radius R: c(z) = z·min(1, R/‖z‖). N is its number of rows. The noise of its covariance
estimate is described by v and a frame A: it is L_A G L_Aᵀ with L_A L_Aᵀ = A and G symmetric with variance v off the
diagonal and 2v on it (``own_coordinates``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.classes.bayes_error import bhattacharyya
from discreet.models.mixture.moment_model import MomentModel
from discreet.models.mixture.own_coordinates import WORTH, Clipping, Shape
from discreet.models.noisy_estimates import Estimate, forgetting_gain, shrink_means, shrinkage_factor
from discreet.models.noisy_sums import (
    LARGEST,
    SMALLEST,
    clip_eigenvalues,
    clip_to_ball,
    noise_std,
    released_counts,
    released_rows,
)
from discreet.queries.moments.clipped_moments import ClippedMoments
from discreet.queries.moments.components import Components

Array = NDArray[np.float64]

LEAST_SHARE = 0.05  # smallest weight of a component, relative to 1/K
LEAST_RATIO, MOST_RATIO = 0.03, 30.0  # limits on a covariance's eigenvalues, relative to the step before
POOLING_CAUTION, MEAN_CAUTION, SHAPE_CAUTION = 1.5, 1.5, 1.0  # of the shrinkage factors, in standard deviations
FAR_NOISIER = 4.0  # ratio v'/v of variances above which the gain is limited to the optimal v/(v + v')
LEAST_GAIN = 0.02  # that limit is never below
LEAST_MEAN_FACTOR = 0.3  # before the last step means are shrunk by no more than this, so that components stay apart
SPREAD_OF_SIZES = 0.01  # variance of the traces of components, relative to their frames, where noise is small
NARROWEST = 0.05  # least eigenvalue of the expected covariance within components, where that of all rows is I
NARROWER, MOST_EDGE = 2.5, 0.9  # of √(vd), by which an eigenvalue is below 1 and not shrunk; never where that is more
MOST_FLOOR, MOST_SHARED = 0.6, 4.0  # largest lower limit and upper limit on eigenvalues of the shared covariance
ANISOTROPY = 0.5  # coordinates in which centres start; 0: whitened ones, 1: the Gaussian's own
TRIES = 3  # k-means runs, of which the best is taken
APART = 0.05  # most that Bhattacharyya's bound may be for components that are apart
FEW = 50  # largest number of components for which several tries pay off; more of them cover the Gaussian anyway


@dataclass(frozen=True, eq=False)
class Pool:
    """Estimates pooled over the releases so far, and the parameters that follow from them.

    Attributes
    ----------
    step : int
        The number of releases in the pool.
    components : Components
        The parameters at which the next step measures.
    counts, means, covariances : array
        Pooled estimates.
    count_noise : float
        The variance of each pooled count.
    mean_noise, covariance_noise : array of shape (K,)
        Variances of the noise in the coordinates of ``frames``: that of each coordinate of the mean, and the v of the
        covariance. Infinite where nothing is known yet.
    frames : array of shape (K, d, d)
        A: the noise is white in the coordinates of its factor.
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

    @property
    def is_apart(self) -> bool:
        """Whether nearly every row is known to be of one component, by Bhattacharyya's bound, as far as noise shows."""
        if len(self.counts) == 1 or not np.isfinite(self.mean_noise).all():  # nothing is known yet of one that moved
            return False
        parts = self.widened.components
        return float(bhattacharyya(parts.weights, parts.means, parts.covariances)) <= APART

    @property
    def widened(self) -> Pool:
        """The pool with each covariance wider by the noise of its mean: rows are so much farther from where it seems.

        A row x of the component has E(x − m̂)(x − m̂)ᵀ = C + v_mean·A.
        """
        wider = self.components.covariances + self.mean_noise[:, None, None] * self.frames
        return replace(self, components=replace(self.components, covariances=wider))


def rows_to_divide_by(counts: Array, variance: float, release: Release) -> Array:
    """Return pooled counts, each at least two standard deviations of its noise and a twentieth of (all rows)/K."""
    share = LEAST_SHARE * released_rows(release) / len(counts)  # 0.05·N/K
    return np.asarray(np.maximum(counts, max(share, 2.0 * math.sqrt(variance))))


@dataclass(frozen=True, eq=False)
class AdaptiveMixture(MomentModel[Pool]):
    """K Gaussians, each measured in its own coordinates.

    Parameters
    ----------
    count : int
        K.
    base : Components
        The single Gaussian of phase 1.
    clipping : Clipping
        How rows are clipped in each component's coordinates.
    shape : Shape
        The covariance type.
    weights : tuple of three floats
        a², b², c² of the statistic.
    steps : int
        The total number of steps; the last one shrinks fully.
    narrowest : float
        Lower limit on the eigenvalues of covariances before the last step.
    apart : bool
        Whether earlier releases have shown already that the components are apart.
    """

    count: int
    base: Components
    clipping: Clipping
    shape: Shape
    weights: tuple[float, float, float]
    steps: int
    narrowest: float = SMALLEST
    apart: bool = False
    name: str = "adaptive mixture"

    def initialize(self, dimension: int, rng: np.random.Generator) -> Pool:
        """Return an empty pool, with components spread over the base."""
        return Pool.empty(spread_over(self.base, self.count, rng))

    def moments(self, params: Pool) -> ClippedMoments:
        """Return the statistic in each component's own coordinates."""
        return ClippedMoments(params.components, self.clipping.radius, self.weights, self.shape.name)

    def maximize(self, params: Pool, release: Release) -> Pool:
        """Return the pool with one more release, and the parameters that follow from it.

        Where the components are apart, more can be said of their covariances: sizes are shrunk to their mean before
        clipping is undone, and the shared covariance to ``_closest_shape``.
        """
        pool = self._with_release(params, release, apart=self.apart)
        return self._with_release(params, release, apart=True) if pool.is_apart and not self.apart else pool

    def _with_release(self, params: Pool, release: Release, *, apart: bool) -> Pool:
        gain, k = forgetting_gain(params.step), params.components.count  # g = t^(−0.6)
        new = Estimate(released_counts(release), noise_std(release, "counts") ** 2)
        squared_change = float(((new.value - params.counts) ** 2).sum())  # ‖n' − n‖², of noise K·v'
        count_gain = max(gain, shrinkage_factor(new.variance * k, squared_change, k))
        counts, count_noise = Estimate(params.counts, params.count_noise).pool(new, count_gain)
        rows = rows_to_divide_by(counts, count_noise, release)
        estimates = enumerate(self._estimates(params, release, rows, apart=apart))
        each = [self._pool(params, k, mean, covariance, gain) for k, (mean, covariance) in estimates]
        means, mean_noise, covariances, covariance_noise, frames = map(np.array, zip(*each, strict=True))
        pool = Pool(
            params.step + 1, params.components, counts, count_noise, means, mean_noise, covariances, covariance_noise,
            frames,
        )  # fmt: skip
        weights = rows / rows.sum()  # w_k
        centres, between = self._shrink_means(pool, weights)
        known, shared = self._shared_factors(pool, weights, between, apart=apart)
        sized = known if apart else shared
        shrunk = np.array([self._shrink_covariance(pool, k, shared, sized) for k in range(len(weights))])
        return replace(pool, components=Components(weights, clip_to_ball(centres), shrunk))

    def _estimates(
        self, params: Pool, release: Release, rows: Array, *, apart: bool
    ) -> Iterator[tuple[Estimate, Estimate]]:
        """Yield the mean and covariance of each component from one release, in the coordinates of the unit ball.

        Clipping is undone. The variances are those of white noise in the component's own coordinates z = L⁻¹(y − m).
        """
        shape, clipping, components = self.shape, self.clipping, params.components
        firsts = release["first"] / rows[:, None]  # E[c(z)]/R
        tied = shape.name == "tied"  # one matrix over all rows
        per = np.full(len(rows), rows.sum()) if tied else rows  # rows that each second moment is over
        seconds = shape.matrices(release["second"], components.count) / per[:, None, None]  # E[c(z)c(z)ᵀ]/R²
        outers = firsts[:, :, None] * firsts[:, None, :]  # E[c(z)]E[c(z)]ᵀ/R²
        if tied:  # Σ w_k E_k[c]E_k[c]ᵀ/R²
            outers = np.broadcast_to(np.einsum("k,kij->ij", rows / rows.sum(), outers), outers.shape)
        first_noise, second_noise = noise_std(release, "first"), noise_std(release, "second")
        hidden = (first_noise / rows) ** 2  # σ₁²/N²: what noise adds to each entry of the diagonal of an outer product
        if not tied:
            outers = outers - hidden[:, None, None] * np.eye(shape.dimension)
        spreads = np.array([shape.restrict(second - outer) for second, outer in zip(seconds, outers, strict=True)])
        if apart:
            spreads = self._shrink_traces(spreads, second_noise / per)
        for k, factor in enumerate(components.factors):
            # h = R·E[c/R]/β₁, C, and its mean diagonal entry s
            shift, own, size = clipping.undo(firsts[k], spreads[k])
            # h/√(1 − ‖E[c]/R‖²): near the border of the ball the clipped mean responds less and less to a shift
            squared = float(firsts[k] @ firsts[k]) - shape.dimension * hidden[k]
            shift = shift / math.sqrt(1.0 - min(max(squared, 0.0), 0.98**2))
            inside = clip_to_ball(shift, clipping.radius)  # a mean moves by R at most in one step …
            own = shape.restrict(own + np.outer(shift - inside, shift - inside))  # … and C covers the rest of the shift
            response = clipping.response(size)
            shift_std = first_noise * clipping.radius / rows[k] / response.beta1  # σ₁R/(Nβ₁)
            entry_std = second_noise * clipping.squared / per[k] / response.beta2  # σ₂R²/(Nβ₂), on the diagonal
            yield (
                Estimate(components.means[k] + factor @ inside, shift_std**2),  # m + Lh
                Estimate(factor @ own @ factor.T, 0.5 * entry_std * entry_std),  # LCLᵀ, v
            )

    def _shrink_traces(self, spreads: Array, noise: Array) -> Array:
        """Return clipped covariances whose traces are shrunk to their mean, and that to what the frames would have.

        Clipping hides how much larger than its frame a component is, so that undoing it makes the noise of a trace
        larger, and never smaller.
        """
        shape, d = self.shape, self.shape.dimension
        eye, expected = np.eye(d), float(self.clipping.response().kappa)  # κ
        traces = np.trace(spreads, axis1=1, axis2=2) * self.clipping.squared / d
        variances = (noise * self.clipping.squared) ** 2 * 0.5 * shape.size_energy()
        precision = 1.0 / (variances + SPREAD_OF_SIZES)
        precision /= precision.sum()
        away = float(precision @ traces) - expected
        mean = expected + away * shrinkage_factor(float(precision**2 @ variances), away * away, 1)
        shrunk = mean + (traces - mean) * shrinkage_factor(variances, (traces - mean) ** 2, 1)
        change = (np.maximum(shrunk, LEAST_RATIO) - traces) / self.clipping.squared
        return np.asarray(spreads + change[:, None, None] * eye)

    def _pool(
        self, params: Pool, k: int, mean: Estimate, covariance: Estimate, gain: float
    ) -> tuple[Array, float, Array, float, Array]:
        """Return mean, its noise, covariance, its noise, and the frame of both, pooled with one more estimate.

        Below, m, C, v and A are those of the pool, and m', C', v' and A' = LLᵀ those of the new estimate.
        """
        frame = params.components.covariances[k]  # A'
        if params.step == 0 or math.isinf(params.covariance_noise[k]):  # nothing is known yet
            return *mean, *covariance, frame
        shape, d, whiten = self.shape, self.shape.dimension, params.components.whitening[k]  # L⁻¹
        old_mean = Estimate(params.means[k], float(params.mean_noise[k]))
        old = Estimate(params.covariances[k], float(params.covariance_noise[k]))
        if covariance.variance > FAR_NOISIER * old.variance:  # g ≤ v/(v + v')
            gain = min(gain, max(old.variance / (old.variance + covariance.variance), LEAST_GAIN))
        mean_change = whiten @ (mean.value - old_mean.value)  # L⁻¹(m' − m); its noise has E‖·‖² = d·v'_mean
        change = whiten @ (covariance.value - old.value) @ whiten.T  # L⁻¹(C' − C)L⁻ᵀ
        energy = covariance.variance * shape.energy()  # E‖·‖² of its noise, v'·(d² + d) if full
        gain = max(  # a change that noise cannot explain raises the gain
            gain,
            shrinkage_factor(mean.variance * d, float(mean_change @ mean_change), d, POOLING_CAUTION),
            shrinkage_factor(energy, float((change**2).sum()), shape.numbers, POOLING_CAUTION),
        )
        pooled = old.pool(covariance, gain)  # C + g(C' − C), of variance (1 − g)²v + g²v'
        # The pooled frame is the average of both, by their shares of the variance: ((1 − g)²v·A + g²v'·A')/variance
        old_part, new_part = (1.0 - gain) ** 2 * old.variance, gain**2 * covariance.variance
        pooled_frame = (old_part * params.frames[k] + new_part * frame) / pooled.variance
        return *old_mean.pool(mean, gain), *pooled, pooled_frame

    def _shrink_means(self, pool: Pool, weights: Array) -> tuple[Array, Array]:
        """Return means shrunk to their common centre, and their scatter in the coordinates of the base.

        Shrinkage is by lengths in the components' own coordinates. With u_k the difference of a mean from the centre in
        those of the base and f_k its shrinkage factor, the scatter is Σ w_k f_k² u_k u_kᵀ.
        """
        own = np.linalg.inv(np.linalg.cholesky(pool.frames))
        centre, factors = shrink_means(pool.means, weights, own, pool.mean_noise, pool.frames, MEAN_CAUTION)
        shrunk = factors[:, None] * ((pool.means - centre) @ self.base.whitening[0].T)
        between = np.einsum("k,ki,kj->ij", weights, shrunk, shrunk)  # Σ w_k f_k² u_k u_kᵀ
        if pool.step < self.steps:
            factors = np.maximum(factors, LEAST_MEAN_FACTOR)
        return centre + factors[:, None] * (pool.means - centre), between  # centre + f_k(m_k − centre)

    def _shared_factors(self, pool: Pool, weights: Array, between: Array, *, apart: bool) -> tuple[Array, Array]:
        """Return F and S, with SSᵀ the covariance that components are shrunk to, and FFᵀ what that one is shrunk to.

        In the coordinates of the base, W(y − m) with W its whitening, the covariance of all rows is I. So the expected
        covariance within components is E = I − ``between``. The weighted mean of the components' covariances is shrunk
        to it, in coordinates in which it is I: where clusters are far apart, noise along the directions in which they
        differ is as small as the clusters are narrow there. How narrow, E does not tell: it is a difference of large
        numbers. So eigenvalues that are below 1 by more than noise explains are not shrunk with the others.
        """
        shape, d = self.shape, self.shape.dimension
        expected = clip_eigenvalues(np.eye(d) - shape.restrict(between), NARROWEST, 1.0)
        factor = self.base.factors[0] @ np.linalg.cholesky(expected)  # F
        precision, noises = self._precision(pool, weights, factor)
        if apart:
            factor = np.asarray(np.linalg.cholesky(self._closest_shape(pool, precision, factor @ factor.T)))
            noises = self._precision(pool, weights, factor)[1]
        whiten = np.linalg.inv(factor)
        mean = whiten @ np.einsum("k,kij->ij", precision, pool.covariances) @ whiten.T  # F⁻¹(Σ p_k C_k)F⁻ᵀ
        away = mean - np.eye(d)
        noise = float((precision**2 * noises).sum())  # E‖·‖² of its noise, Σ p_k² e_k
        spread = math.sqrt(noise * d / shape.energy())  # √(vd): noise spreads eigenvalues by twice that to either side
        values, vectors = np.linalg.eigh(away)
        edge = NARROWER * spread
        narrow = (values < -edge) & (edge < MOST_EDGE) & (shape.numbers > d)
        share = shrinkage_factor(noise, float((values[~narrow] ** 2).sum()), shape.numbers, SHAPE_CAUTION)  # f
        least = np.where(narrow, LEAST_RATIO, min(max(2.0 * share * spread, LEAST_RATIO), MOST_FLOOR))
        kept = np.where(narrow, -np.sqrt(np.maximum(values**2 - edge**2, 0.0)), share * values)
        return factor, np.asarray(factor @ (vectors * np.sqrt(np.clip(1.0 + kept, least, MOST_SHARED))))

    def _precision(self, pool: Pool, weights: Array, factor: Array) -> tuple[Array, Array]:
        """Return p_k, and e_k = E‖·‖² of the noise of F⁻¹C_kF⁻ᵀ, v_k·energy(F⁻¹A_kF⁻ᵀ)."""
        shape, whiten = self.shape, np.linalg.inv(factor)
        noises = pool.covariance_noise * np.array([shape.energy(whiten @ frame @ whiten.T) for frame in pool.frames])
        precision = weights / (WORTH * shape.dimension + noises / 4.0)  # p_k ∝ w_k/(0.1·d + e_k/4)
        return precision / precision.sum(), noises

    def _closest_shape(self, pool: Pool, precision: Array, expected: Array) -> Array:
        """Return the combination of a few known covariances that is closest to the mean of those of the components.

        They are the frame, a round one, the covariance of all rows, its diagonal, and the expected one. Where all
        entries of a covariance are noise, five numbers of it are seen as well as its size. Distances are taken in
        the coordinates of the frame, in which the noise is white, and no coefficient is negative.
        """
        from scipy.optimize import nnls

        d, base = self.shape.dimension, self.base.covariances[0]
        mean = np.einsum("k,kij->ij", precision, pool.covariances)  # Σ p_k C_k
        shares = precision**2 * pool.covariance_noise
        frame = np.einsum("k,kij->ij", shares / shares.sum(), pool.frames)
        factor = np.linalg.cholesky(frame)
        whiten = np.linalg.inv(factor)
        known = [frame, np.eye(d) * np.trace(base) / d, np.diag(np.diag(base)), expected, base]
        columns = np.array([(whiten @ one @ whiten.T).ravel() for one in known])
        columns /= np.linalg.norm(columns, axis=1, keepdims=True)
        parts, _ = nnls(columns.T, (whiten @ mean @ whiten.T).ravel())
        shape = (parts @ columns).reshape(d, d)
        shape += max(LEAST_RATIO - np.trace(shape) / d, 1e-9) * np.eye(d)  # positive definite
        return np.asarray(factor @ shape @ factor.T)

    def _shrink_covariance(self, pool: Pool, k: int, shared: Array, sized: Array) -> Array:
        """Return a component's covariance, shrunk to the shared one, SSᵀ with S = ``shared``.

        In the coordinates of S the difference from the shared covariance is S⁻¹CS⁻ᵀ − I = t·I + T, with a size t and a
        traceless shape T. Each of them is shrunk by its own noise: the result is S((1 + f_t·t)I + f_T·T)Sᵀ.

        S has some of the noise of C: with a share f of it the trace of S⁻¹CS⁻ᵀ is too small by f(1 − f)‖noise‖². So as
        far as the shape is noise, t is tr F⁻¹CF⁻ᵀ/tr F⁻¹SSᵀF⁻ᵀ − 1 with F = ``sized``. Where components are apart, F
        has the shape that S was shrunk to, which has less of that noise; else it is S, since no better shape is known.
        """
        shape, d, eye = self.shape, self.shape.dimension, np.eye(self.shape.dimension)
        if shape.name == "tied":
            return clip_eigenvalues(shared @ shared.T, SMALLEST, LARGEST)
        whiten, noise = np.linalg.inv(shared), float(pool.covariance_noise[k])
        frame = whiten @ pool.frames[k] @ whiten.T  # S⁻¹AS⁻ᵀ
        excess = whiten @ pool.covariances[k] @ whiten.T - eye  # S⁻¹CS⁻ᵀ − I
        size = float(np.trace(excess)) / d  # t
        own_shape = excess - size * eye  # T
        response = self.clipping.response()
        size_noise = noise * shape.size_energy(frame)  # variance of the noise of t
        factor = 0.0  # f_T
        if shape.numbers > 1:
            rest = noise * shape.energy(frame) - d * size_noise  # E‖·‖² of the noise of T: all of it less that of t·I
            factor = shrinkage_factor(rest, float((own_shape**2).sum()), shape.numbers, SHAPE_CAUTION)
        size_noise *= (response.beta2 / response.trace) ** 2  # clipping attenuates t by κ's derivative instead of β₂
        wide = max(1.0, float(np.trace(frame)) / d)
        inverse = np.linalg.inv(sized)  # F⁻¹
        whole = float(((inverse @ shared) ** 2).sum())  # tr F⁻¹SSᵀF⁻ᵀ
        ratio = float(np.trace(inverse @ pool.covariances[k] @ inverse.T)) / whole - 1.0
        seen = shrinkage_factor(size_noise, ratio * ratio, 1) / (1.0 + size_noise / wide**2)
        # f_t: the size is one number, known better than the shape, so it is never shrunk more
        size = factor * size + max(seen - factor, 0.0) * ratio
        shrunk = shared @ ((1.0 + max(size, -0.9)) * eye + factor * own_shape) @ shared.T
        # In the coordinates of the last step eigenvalues stay above what the noise of this one could hide: f_T√(vd)
        root, back = pool.components.factors[k], pool.components.whitening[k]  # L, L⁻¹
        least = min(max(factor * math.sqrt(noise * d), LEAST_RATIO), 0.7)
        own = clip_eigenvalues(back @ shrunk @ back.T, least, MOST_RATIO)
        narrowest = self.narrowest if pool.step < self.steps else SMALLEST
        return shape.clear_rounding(clip_eigenvalues(root @ own @ root.T, narrowest, LARGEST))


def spread_over(gaussian: Components, count: int, rng: np.random.Generator) -> Components:
    """Return ``count`` equal components spread over a Gaussian, to start from without a further look at the rows.

    The centres are those of k-means on draws from that Gaussian. They are computed in coordinates half-way between the
    Gaussian's own and whitened ones: wide directions get more centres than narrow ones, but not all of them.

    >>> one = Components(np.ones(1), np.zeros((1, 2)), np.diag([1.0, 0.01])[None])
    >>> two = spread_over(one, 2, np.random.default_rng(0))
    >>> bool(abs(two.means[0, 0] - two.means[1, 0]) > 1.0), two.covariances.shape
    (True, (2, 2, 2))
    """
    from scipy.cluster.vq import kmeans2

    values, vectors = np.linalg.eigh(gaussian.covariances[0])
    stretch = (values / values[-1]) ** (ANISOTROPY / 2.0)
    draws = rng.standard_normal((max(2000, min(50, 20_000 // count + 5) * count), len(values))) * stretch
    few = count <= FEW
    tries = [
        kmeans2(draws, count, iter=30 if few else 5, minit="++" if few else "points", missing="warn", rng=rng)
        for _ in range(TRIES if few else 1)
    ]
    centres, _ = min(tries, key=lambda result: float(((draws - result[0][result[1]]) ** 2).sum()))
    narrower = max(0.6, 1.0 - 4.0 / len(values))  # the more columns, the less of the covariance the centres explain
    means = gaussian.means[0] + (centres / stretch * np.sqrt(values)) @ vectors.T
    return Components(np.full(count, 1.0 / count), means, np.repeat(narrower * gaussian.covariances, count, axis=0))
