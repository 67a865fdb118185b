"""Linear regression from noisy moments of features and target: ridge, shrinkage, and minimum-norm completion.

**Coordinates.** The frame LLᵀ has the target in its last place, so that z = L⁻¹(y − m) has whitened features z_x, and
in its last place the residual of the target from the frame's own line: the target is t = ℓ·z_x + s·z_t. In coordinates
along the eigenvectors of C_xx, C the released covariance of z, with variances g, the line is a_i = ℓ_i + s·b_i, b_i =
c_i/g_i with c the covariance of z_t and z_x. b is the correction to the frame's line.

**The noise of b.** Each round k had white noise in coordinates of its own. In those of z it is L_kEL_kᵀ with E of
variance v_k off the diagonal, so that δC·w has the covariance Σ v_k((wᵀW_k w)W_k + W_k wwᵀW_k), W_k = L_kL_kᵀ. To
first order the noise of b is C_xx⁻¹(δC_xz − δC_xx·b), which is C_xx⁻¹ times the features' part of δC·w at w = (−b, 1).
Let s²n_i be the variance of that part along the direction i. The direction adds s²n_i/g_i to the variance of a
prediction.

**The noise-aware ridge.** Suppose that each direction explains about ω² of the target's variance: g_i·a_i² has the mean
ω². Then
the posterior mean of a_i is a_i·ω²/(ω² + s²n_i/g_i) = a_i·g_i/(g_i + λ_i) with λ_i = s²n_i/ω², a ridge in the
coordinates of the rows' own spread. ω² is estimated as the mean over the directions of what they explain, less
what noise explains. Variances g are corrected by ``spectrum`` and kept above what noise could hide, so that the line is
finite whatever was released. The coefficient along a direction whose variance is within the noise (the difference of
two equal columns, or a column that does not vary) is not identified: the line is completed there, as below.

**The ridge of AdaSSP** (Wang 2018, algorithm 2). In the coordinates of the unit ball (s = 1, ℓ = 0) the line is
(C_xx + λI)⁻¹c with λ = max(0, η − λ₋). With probability 1 − ρ noise has an operator norm below η = √(v·d·ln(2d²/ρ)),
and the smallest eigenvalue before noise is at least λ₋, the one that was released less η, or 0. It is read from the
released matrix, at no further cost.

**Minimum-norm completion** of coefficients that are not identified. Predictions do not depend on them, since rows do
not vary along these directions. Among all lines that agree on the identified directions, the completed line is the
shortest one in the coordinates of the unit ball. So two equal columns with the same bounds share their coefficient
evenly, and a column that does not vary has the coefficient 0. Setting a coefficient to 0 in the whitened coordinates
would be wrong: these are stretched most along the very directions in which rows do not vary, so that a tilt of the
frame within its noise would become a large coefficient.

On axes i with weights a_i, identified to the shares γ_i in [0, 1], let Q be the Gram matrix of the axes in the unit
ball, so that a line α has the squared length αᵀQα there. With S the axes of γ = 1 and F the others,
α_S = a_S, and α_F makes αᵀQα + Σ_F h_i(α_i − a_i)² smallest, h_i = Q_ii·γ_i/(1 − γ_i): from the shortest line at γ = 0
to a_i at γ = 1, without a jump. So α_F = (Q_FF + H)⁻¹(Ha_F − Q_FS·a_S).

Its noise adds to that of a. Noise δC tilts an axis of F by Σ_S v_j·δC_ij/(g_i − g_j), which to first order moves
α_F by (Q_FF + H)⁻¹ times Σ_S δC_ij·(Qα)_j/(g_j − g_i). And it changes the share of an axis that is partly
identified by δγ_i, and its weight by about δγ_i·a_i.

**Inference** is about the coefficients of the population, so it neither shrinks nor completes. An axis counts where its
variance stands out of the noise (γ > 0), without a ridge and without the factor γ. Of an axis with γ = 0 the releases
say nothing: every coefficient in which it has a part is not identified, and its standard error is infinite. Noise tilts
such an axis by Σ_S v_j·δC_ij/(g_i − g_j), so a coefficient whose part in it is within ``TILTED`` standard deviations of
that counts as having none: a column that is independent of two equal ones keeps its interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.models.mixture.own_coordinates import Shape
from discreet.models.noisy_estimates import HIDDEN
from discreet.models.regression.regression import RegressionMoments
from discreet.models.spectral.spectrum import Spectrum

__all__ = ["Completion", "Line", "fit_adassp", "fit_noise_aware"]

Array = NDArray[np.float64]

IDENTIFIED = 1.0 - 1e-6  # share γ from which on an axis counts as identified


@dataclass(frozen=True, eq=False)
class Completion:
    """A line with minimum-norm coefficients where they are not identified.

    Attributes
    ----------
    line : array of shape (d,)
        α.
    response : array of shape (d, d)
        The derivative of α by a.
    identified : array of shape (d,)
        γ.
    within : array of shape (d, d)
        (Q_FF + H)⁻¹, and 0 elsewhere.
    pull : array of shape (d,)
        Qα.
    share_noise : array of shape (d,)
        Standard deviations of α caused by δγ.
    """

    line: Array
    response: Array
    identified: Array
    within: Array
    pull: Array
    share_noise: Array

    @classmethod
    def of_identified(cls, line: Array) -> Completion:
        """Return a line all of whose coefficients are identified."""
        d = len(line)
        return cls(line, np.eye(d), np.ones(d), np.zeros((d, d)), np.zeros(d), np.zeros(d))

    @classmethod
    def minimum_norm(cls, known: Array, identified: Array, gram: Array, share_noise: Array) -> Completion:
        """Return the line of minimum norm that agrees with the identified coefficients.

        Parameters
        ----------
        known : array of shape (d,)
            a.
        identified : array of shape (d,)
            γ.
        gram : array of shape (d, d)
            Q.
        share_noise : array of shape (d,)
            Standard deviations of the known coefficients caused by δγ.

        Examples
        --------
        Two equal columns: the coefficient of their difference, the second axis, is not identified.

        >>> axes = np.array([[1.0, 1000.0], [0.0, -1000.0]])
        >>> result = Completion.minimum_norm(np.array([3.0, 0.0]), np.array([1.0, 0.0]), axes.T @ axes, np.zeros(2))
        >>> (axes @ result.line).round(6).tolist()
        [1.5, 1.5]
        """
        free = np.flatnonzero(identified < IDENTIFIED)  # F
        if not len(free):
            return cls.of_identified(known)
        d, share = len(known), identified[free]
        sure = np.setdiff1d(np.arange(d), free)  # S
        lengths = np.diag(gram)[free]
        held, response, within = lengths * share / (1.0 - share), np.eye(d), np.zeros((d, d))  # H, …
        root = np.sqrt(lengths)  # axes are scaled to unit length, so that the inverse is accurate
        inner = np.linalg.inv(gram[np.ix_(free, free)] / np.outer(root, root) + np.diag(held / lengths))
        inner /= np.outer(root, root)  # (Q_FF + H)⁻¹
        within[np.ix_(free, free)] = inner
        response[np.ix_(free, free)] = inner * held
        response[np.ix_(free, sure)] = -inner @ gram[np.ix_(free, sure)]
        line = response @ known
        return cls(line, response, identified, within, gram @ line, np.where(identified < IDENTIFIED, share_noise, 0.0))

    def completion_variances(self, back: Array, values: Array, entries: Array) -> Array:
        """Return the variances of the weights ``back`` @ α that noise in the axes and in their shares γ causes.

        Parameters
        ----------
        back : array of shape (d, d)
        values : array of shape (d,)
            g.
        entries : array of shape (d, d)
            Variances of δC.
        """
        sure = self.identified >= IDENTIFIED
        # g_j − g_i; the first-order formula holds where it is large, so it is kept above g_j/2
        apart = np.maximum(values[None, :] - values[:, None], 0.5 * values[None, :])
        tilts = np.divide(self.pull, apart, out=np.zeros_like(entries), where=~sure[:, None] & sure[None, :])
        by_tilts = (back @ self.within) ** 2 @ (entries * tilts**2).sum(axis=1)
        return np.asarray(by_tilts + back**2 @ self.share_noise**2)


# Variance of a direction, in standard deviations of its noise: below the first γ is 0, above the second γ is 1
NOISE_ALONE, SIGNAL = 5.0, 7.5
LEAST = 1e-9  # least variance of a direction, relative to the frame's
RHO = 0.05  # ρ of AdaSSP
TILTED = 3.0  # standard deviations of noise within which a coefficient has no part in an axis
LEAST_FELT = 0.5  # noise of a coefficient, relative to that without shrinkage, at least
WEAK = 1e-12  # least share of the target's variance that a direction is assumed to explain


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted linear function.

    Attributes
    ----------
    weights : array of shape (d,)
    intercept : float
    noise : array of shape (d,)
        Standard deviations of the weights caused by noise, to first order.
    ridge : float
    directions : float
        The effective number of directions: the sum of their shrinkage factors times γ. d where noise is small, 0 where
        there is nothing but noise.
    unshrunk : array of shape (d + 1,)
        The weights and, in the last place, the intercept, before shrinkage: what intervals are centred at.
    noise_covariance : array of shape (d + 1, d + 1)
        Of ``unshrunk``, caused by noise.
    sampling_covariance : array of shape (d + 1, d + 1)
        The same, caused by sampling, times the number of rows: as for least squares with a constant residual variance.
    identified : array of shape (d + 1,)
        Of each number in ``unshrunk``, whether the releases say anything about it.
    """

    weights: Array
    intercept: float
    noise: Array
    ridge: float
    directions: float
    unshrunk: Array
    noise_covariance: Array
    sampling_covariance: Array
    identified: NDArray[np.bool_]


def without_part(back: Array, identified: NDArray[np.bool_], values: Array, entries: Array) -> NDArray[np.bool_]:
    """Return which coefficients have no part in the axes that are not identified, but for the tilt by noise.

    Parameters
    ----------
    back : array of shape (coefficients, d)
        The part of each axis in each coefficient.
    identified : array of shape (d,)
    values : array of shape (d,)
        The variance, or curvature, along each axis.
    entries : array of shape (d, d)
        The variances of the noise of the matrix whose eigenvectors the axes are.

    Examples
    --------
    >>> without_part(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([True, False]), np.array([9.0, 0.0]), np.ones((2, 2)))
    array([ True, False])
    """
    free, sure = np.flatnonzero(~identified), np.flatnonzero(identified)
    apart = np.maximum(values[sure][None, :] - values[free][:, None], 0.5 * values[sure][None, :])
    tilts = entries[np.ix_(free, sure)] / apart**2
    parts = back[:, free] ** 2 > TILTED**2 * (back[:, sure] ** 2 @ tilts.T)
    return np.asarray(~parts.any(axis=1))


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Moments in the whitened coordinates of the module.

    Attributes
    ----------
    back : array of shape (d, d)
        Maps a line on z_x to the data's own coordinates.
    units : array of shape (d,)
        The length of a unit step of the unit ball in each feature.
    offset : array of shape (d + 1,)
    own, scale : array of shape (d,), float
        ℓ and s.
    covariance : array of shape (d + 1, d + 1)
    noises, frames : arrays of shape (K,) and (K, d + 1, d + 1)
        v_k and W_k.
    mean_covariance : array of shape (d + 1, d + 1)
        The noise of the mean; 0 without an intercept, where moments are about 0.
    """

    back: Array
    units: Array
    offset: Array
    own: Array
    scale: float
    covariance: Array
    noises: Array
    frames: Array
    mean_covariance: Array

    @classmethod
    def from_moments(cls, moments: RegressionMoments, target: int, intercept: bool) -> _Whitened:
        order = np.append(np.delete(np.arange(len(moments.mean)), target), target)
        square = np.ix_(order, order)
        mean, frame = moments.mean[order], moments.frames[-1][square]
        factor = np.linalg.cholesky(frame if intercept else frame + np.outer(mean, mean))
        whiten = np.linalg.inv(factor)
        covariance = whiten @ moments.covariance[square] @ whiten.T
        noises, frames = moments.noises, np.array([whiten @ each[square] @ whiten.T for each in moments.frames])
        if not intercept:  # moments about 0 in the data's own units
            shift, spread = whiten @ mean, moments.mean_noise
            covariance = covariance + np.outer(shift, shift) - spread * np.eye(len(mean))
            more = 2.0 * spread * float(shift @ shift) / len(mean) + spread**2
            noises, frames = np.append(noises, more), np.concatenate([frames, np.eye(len(mean))[None]])
        offset = mean if intercept else np.zeros_like(mean)
        back, own = np.linalg.inv(factor[:-1, :-1]).T, factor[-1, :-1]
        spread = np.einsum("k,kij->ij", moments.mean_noises * intercept, frames[: len(moments.mean_noises)])
        units = moments.units[order[:-1]]
        return cls(back, units, offset, own, float(factor[-1, -1]), covariance, noises, frames, spread)

    def rotate(self, vectors: Array) -> _Whitened:
        """Return the moments with the features along other orthonormal axes."""
        turn = np.eye(len(self.covariance))
        turn[:-1, :-1] = vectors
        return replace(
            self,
            back=self.back @ vectors,
            own=vectors.T @ self.own,
            covariance=turn.T @ self.covariance @ turn,
            frames=turn.T @ self.frames @ turn,
            mean_covariance=turn.T @ self.mean_covariance @ turn,
        )

    @property
    def noise(self) -> float:
        """The variance of an entry off the diagonal of C, averaged over all directions."""
        shape = Shape("full", len(self.covariance))
        energies = np.array([shape.energy(frame) for frame in self.frames])
        return float(self.noises @ energies) / shape.energy()

    @property
    def entries(self) -> Array:
        """The variance of each entry of C_xx."""
        frames = self.frames[:, :-1, :-1]
        sizes = np.diagonal(frames, axis1=1, axis2=2)
        return np.asarray(np.einsum("k,kij->ij", self.noises, sizes[:, :, None] * sizes[:, None, :] + frames**2))

    def error(self, missed: Array) -> Array:
        """Return the covariance of the features' part of δC·w at w = (−b, 1)."""
        w = np.append(-missed, 1.0)
        products = self.frames @ w  # W_k w
        frames, parts = self.frames[:, :-1, :-1], products[:, :-1]
        # Σ v_k((wᵀW_k w)W_k + W_k wwᵀW_k)
        return np.asarray(
            np.einsum("k,kij->ij", self.noises * (products @ w), frames) + (parts.T * self.noises) @ parts
        )

    def line(self, completion: Completion, share: Array, values: Array, ridge: float) -> Line:
        """Return a line on these axes in the data's own coordinates, with its noise."""
        weights = self.back @ completion.line
        felt = np.maximum(share, LEAST_FELT)  # the shrinkage factor has noise itself
        spread = self.back @ completion.response * (self.scale * completion.identified * felt / values)
        missed = (completion.line - self.own) / self.scale  # b
        noise = spread @ self.error(missed) @ spread.T
        squares = np.maximum(np.diag(noise), 0.0) + completion.completion_variances(self.back, values, self.entries)
        noise[np.diag_indices(len(noise))] = squares
        w = np.append(-missed, 1.0)
        residual = max(float(w @ self.covariance @ w), LEAST)  # of z_t, relative to s²
        sampling = residual * (spread * values) @ spread.T
        intercept = float(self.offset[-1] - weights @ self.offset[:-1])
        own = self.scale**2 * np.array([w @ self.mean_covariance @ w, residual if self.offset.any() else 0.0])
        covariances = [
            _with_intercept(one, self.offset[:-1], more) for one, more in zip((noise, sampling), own, strict=True)
        ]
        directions = float(share @ completion.identified)
        estimate, known = np.append(weights, intercept), self.determined(completion.identified, values)
        noises, sampled = covariances
        return Line(weights, intercept, np.sqrt(squares), ridge, directions, estimate, noises, sampled, known)

    def determined(self, identified: Array, values: Array) -> NDArray[np.bool_]:
        """Return which coefficients, and in the last place whether the intercept, have no part in an axis of γ = 0."""
        known = without_part(self.back, identified > 0.0, values, self.entries)
        return np.append(known, not np.any(~known & (self.offset[:-1] != 0.0)))

    def plain_line(self, variances: Array, stds: Array) -> Line:
        """Return the line for inference: without ridge, from the axes whose variance stands out of the noise.

        Parameters
        ----------
        variances, stds : arrays of shape (d,)
            g, and the standard deviations of its noise over √2.
        """
        sure = np.where(_identify(variances, stds)[0] > 0.0, 1.0, 0.0)
        values = np.maximum(variances, np.maximum(HIDDEN * math.sqrt(len(stds)) * stds, LEAST))
        along = self.own + self.scale * sure * self.covariance[:-1, -1] / values
        gram = self.back.T @ (self.units[:, None] ** 2 * self.back)
        completion = Completion.minimum_norm(along, sure, gram, np.zeros(len(stds)))
        return self.line(completion, np.ones(len(stds)), values, 0.0)

    def with_inference(self, line: Line, variances: Array, stds: Array) -> Line:
        """Return a line with the inference of the plain one."""
        plain = self.plain_line(variances, stds)
        return replace(
            line,
            unshrunk=plain.unshrunk,
            noise_covariance=plain.noise_covariance,
            sampling_covariance=plain.sampling_covariance,
            identified=plain.identified,
        )


def _with_intercept(covariance: Array, offset: Array, own: float) -> Array:
    """Return the covariance of weights w and of the intercept t̄ − w·x̄, where t̄ − w·x̄ has a variance of its own.

    At a given line the mean residual is independent of the error of w, so the intercept has own + x̄ᵀCov(w)x̄.
    """
    crossed = -covariance @ offset
    return np.block([[covariance, crossed[:, None]], [crossed[None, :], np.array([[own - offset @ crossed]])]])


def _identify(variances: Array, stds: Array) -> tuple[Array, Array]:
    """Return γ of each direction, a smooth step of its variance, and the standard deviation of its noise."""
    ramp = np.maximum(stds * (SIGNAL - NOISE_ALONE), LEAST)
    step = np.clip((variances - NOISE_ALONE * stds) / ramp, 0.0, 1.0)
    slope = 6.0 * step * (1.0 - step) / ramp  # derivative of 3·step² − 2·step³
    return np.asarray(step**2 * (3.0 - 2.0 * step)), np.asarray(slope * math.sqrt(2.0) * stds)


def fit_noise_aware(moments: RegressionMoments, target: int, *, intercept: bool) -> Line:
    """Return the line with the noise-aware ridge."""
    white = _Whitened.from_moments(moments, target, intercept)
    spectrum = Spectrum.from_matrix(white.covariance[:-1, :-1], math.sqrt(white.noise))
    white = white.rotate(spectrum.vectors)
    d, shrunk, stds = len(white.own), spectrum.shrunk_values, np.sqrt(np.diag(white.entries) / 2.0)
    values = np.maximum(shrunk, np.maximum(HIDDEN * math.sqrt(d) * stds, LEAST))
    identified, share_stds = _identify(shrunk, stds)  # γ
    missed = identified * white.covariance[:-1, -1] / values
    along, noises = white.own + white.scale * missed, white.scale**2 * np.diag(white.error(missed))  # a, s²n
    total = float(identified @ (values * along**2 - noises / values))
    explained = total / max(float(identified.sum()), 1.0)  # ω²
    ridges = noises / max(explained, WEAK * float(white.own @ white.own + white.scale**2))
    share = values / (values + ridges)  # g/(g + λ)
    gram = white.back.T @ (white.units[:, None] ** 2 * white.back)
    completion = Completion.minimum_norm(share * along, identified, gram, share_stds * share * np.abs(along))
    return white.with_inference(white.line(completion, share, values, float(np.median(ridges))), shrunk, stds)


def fit_adassp(moments: RegressionMoments, target: int, *, intercept: bool) -> Line:
    """Return the line of AdaSSP, of moments in the coordinates of the unit ball."""
    white = _Whitened.from_moments(moments, target, intercept)
    values, vectors = np.linalg.eigh(white.covariance[:-1, :-1])
    white, d = white.rotate(vectors), len(values)
    most = math.sqrt(white.noise * d * math.log(2.0 * d * d / RHO))  # η
    ridge = max(0.0, most - max(float(values[0]) - most, 0.0))
    kept = np.maximum(values + ridge, max(0.01 * most, LEAST))
    result = Completion.of_identified(white.scale * white.covariance[:-1, -1] / kept)
    line = white.line(result, np.ones(d), kept, ridge)
    line = replace(line, directions=float((np.clip(values, 0.0, kept) / kept).sum()))
    return white.with_inference(line, values, np.sqrt(np.diag(white.entries) / 2.0))
