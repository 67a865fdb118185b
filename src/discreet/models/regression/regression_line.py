"""From noisy moments of features and target to a line: ridge, shrinkage, and minimum-norm completion.

**Coordinates.** The frame LLᵀ has the target in its last place, so that z = L⁻¹(y − m) has whitened features z_x, and
in its last place what is left of the target after the frame's own line, t = ℓ·z_x + s·z_t. In coordinates along the
eigenvectors of C_xx, C the released covariance of z, with variances g, the line is a_i = ℓ_i + s·b_i, b_i = c_i/g_i
with c the covariance of z_t and z_x: what the frame's line has missed.

**The noise of b.** Rounds k each had white noise in coordinates of their own: in those of z it is that of L_kEL_kᵀ with
E of variance v_k off the diagonal, so that δC·w has the covariance Σ v_k((wᵀW_k w)W_k + W_k wwᵀW_k), W_k = L_kL_kᵀ. To
first order the noise of b is C_xx⁻¹(δC_xz − δC_xx·b), which is C_xx⁻¹ times the features' part of δC·w at w = (−b, 1).
Write s²n_i for the variance of that part along the direction i. To a prediction the direction adds s²n_i/g_i.

**The noise-aware ridge.** Let each direction explain about ω² of the target's variance: g_i·a_i² has the mean ω². Then
the posterior mean of a_i is a_i·ω²/(ω² + s²n_i/g_i) = a_i·g_i/(g_i + λ_i) with λ_i = s²n_i/ω², a ridge in the
coordinates of the rows' own spread. ω² is what all directions explain together, less what noise explains of it.
Variances g are those that ``spectrum`` believes, and none is below what noise could hide, so that the line is finite
whatever was released. Of a direction whose variance is within the noise (of two equal columns their difference, or a
column that does not vary) nothing is known: the line is completed there, as below.

**The ridge of AdaSSP** (Wang 2018, algorithm 2). In the coordinates of the unit ball (s = 1, ℓ = 0) the line is
(C_xx + λI)⁻¹c with λ = max(0, η − λ₋). With probability 1 − ρ noise has an operator norm below η = √(v·d·ln(2d²/ρ)),
and the smallest eigenvalue before noise is at least λ₋, the one that was released less η, or 0. It is read off the
released matrix, which costs nothing more.

**Minimum-norm completion** of coefficients that are not identified. Predictions do not need them: rows do not vary
along these directions. Among all lines that agree on what was seen, this is the shortest one in the coordinates of the
unit ball. So two equal columns with the same bounds share their coefficient evenly, and a column that does not vary has
none. To leave a direction out in the whitened coordinates would not do: these are stretched most along the very
directions that rows do not have, and a tilt of the frame that is small beside its noise would become a large
coefficient.

On axes i with the weights a_i as far as they were seen, by shares γ_i, let Q be the Gram matrix of the
axes in the unit ball, so that a line α has the squared length αᵀQα there. With S the axes of γ = 1 and F the others,
α_S = a_S, and α_F makes αᵀQα + Σ_F h_i(α_i − a_i)² smallest, h_i = Q_ii·γ_i/(1 − γ_i): from the shortest line at γ = 0
to a_i at γ = 1, without a jump. So α_F = (Q_FF + H)⁻¹(Ha_F − Q_FS·a_S).

Its noise comes beside that of a. Noise δC tilts an axis of F by Σ_S v_j·δC_ij/(g_i − g_j), which to first order moves
α_F by (Q_FF + H)⁻¹ times Σ_S δC_ij·(Qα)_j/(g_j − g_i). And it moves the share of an axis that is partly seen by
δγ, and its weight by about δγ_i·a_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.models.mixture.own_coordinates import Shape
from discreet.models.regression.regression import RegressionMoments
from discreet.models.shrinkage import HIDDEN
from discreet.models.spectral.spectrum import Spectrum

__all__ = ["Completion", "Line", "adaptive_ridge", "noise_aware"]

Array = NDArray[np.float64]

NEARLY = 1.0 - 1e-6  # seen: all of it


@dataclass(frozen=True, eq=False)
class Completion:
    """A line with minimum-norm coefficients where they are not identified.

    Attributes
    ----------
    line : array of shape (d,)
        α.
    response : array of shape (d, d)
        How α follows a.
    seen : array of shape (d,)
        γ.
    within : array of shape (d, d)
        (Q_FF + H)⁻¹, and 0 elsewhere.
    pull : array of shape (d,)
        Qα.
    wavering : array of shape (d,)
        Standard deviations of α by δγ.
    """

    line: Array
    response: Array
    seen: Array
    within: Array
    pull: Array
    wavering: Array

    @classmethod
    def all_seen(cls, line: Array) -> Completion:
        """Return a line of which all is known."""
        d = len(line)
        return cls(line, np.eye(d), np.ones(d), np.zeros((d, d)), np.zeros(d), np.zeros(d))

    @classmethod
    def minimum_norm(cls, known: Array, seen: Array, gram: Array, wavering: Array) -> Completion:
        """Return the line of minimum norm that agrees with what is known of it.

        Parameters
        ----------
        known : array of shape (d,)
            a.
        seen : array of shape (d,)
        gram : array of shape (d, d)
            Q.
        wavering : array of shape (d,)
            Standard deviations of what is seen of the line, by δγ.

        Examples
        --------
        Two equal columns: of their difference, the second axis, nothing is known.

        >>> axes = np.array([[1.0, 1000.0], [0.0, -1000.0]])
        >>> result = Completion.minimum_norm(np.array([3.0, 0.0]), np.array([1.0, 0.0]), axes.T @ axes, np.zeros(2))
        >>> (axes @ result.line).round(6).tolist()
        [1.5, 1.5]
        """
        free = np.flatnonzero(seen < NEARLY)
        if not len(free):
            return cls.all_seen(known)
        d, share = len(known), seen[free]
        sure = np.setdiff1d(np.arange(d), free)
        lengths = np.diag(gram)[free]
        held, response, within = lengths * share / (1.0 - share), np.eye(d), np.zeros((d, d))
        root = np.sqrt(lengths)  # axes of one length make the inverse an exact one
        inner = np.linalg.inv(gram[np.ix_(free, free)] / np.outer(root, root) + np.diag(held / lengths))
        inner /= np.outer(root, root)
        within[np.ix_(free, free)] = inner
        response[np.ix_(free, free)] = inner * held
        response[np.ix_(free, sure)] = -inner @ gram[np.ix_(free, sure)]
        line = response @ known
        return cls(line, response, seen, within, gram @ line, np.where(seen < NEARLY, wavering, 0.0))

    def unseen_noise(self, back: Array, values: Array, entries: Array) -> Array:
        """Return variances of the weights ``back`` @ α by noise in the axes and in what was seen of them.

        Parameters
        ----------
        back : array of shape (d, d)
        values : array of shape (d,)
            g.
        entries : array of shape (d, d)
            Variances of δC.
        """
        sure = self.seen >= NEARLY
        apart = np.maximum(values[None, :] - values[:, None], 0.5 * values[None, :])  # of first order only where far
        tilts = np.divide(self.pull, apart, out=np.zeros_like(entries), where=~sure[:, None] & sure[None, :])
        moved = (back @ self.within) ** 2 @ (entries * tilts**2).sum(axis=1)
        return np.asarray(moved + back**2 @ self.wavering**2)


UNSEEN, SURE = (
    5.0,
    7.5,
)  # standard deviations of noise up to which a variance could be noise alone, and from which it is none
LEAST = 1e-9  # of the frame's own variance
RHO = 0.05
LEAST_FELT = 0.5  # of the noise that the line would have if it were not shrunk
WEAK = 1e-12  # of the target's variance: a direction that explains less explains nothing


@dataclass(frozen=True, eq=False)
class Line:
    """A linear function.

    Attributes
    ----------
    weights : array of shape (d,)
    intercept : float
    noise : array of shape (d,)
        Standard deviations of the weights by noise, to first order.
    ridge : float
    directions : float
        The sum over the directions of the share of the line that was kept: d where noise is small, 0 where there is
        nothing else.
    """

    weights: Array
    intercept: float
    noise: Array
    ridge: float
    directions: float


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Moments in the coordinates of the module.

    Attributes
    ----------
    back : array of shape (d, d)
        A line on z_x in the data's own coordinates.
    units : array of shape (d,)
        What one step in the unit ball is in each feature.
    offset : array of shape (d + 1,)
    own, scale : array of shape (d,), float
        ℓ and s.
    covariance : array of shape (d + 1, d + 1)
    noises, frames : arrays of shape (K,) and (K, d + 1, d + 1)
        v_k and W_k.
    """

    back: Array
    units: Array
    offset: Array
    own: Array
    scale: float
    covariance: Array
    noises: Array
    frames: Array

    @classmethod
    def from_moments(cls, moments: RegressionMoments, target: int, intercept: bool) -> _Whitened:
        order = np.append(np.delete(np.arange(len(moments.mean)), target), target)
        square = np.ix_(order, order)
        mean, frame = moments.mean[order], moments.frames[-1][square]
        factor = np.linalg.cholesky(frame if intercept else frame + np.outer(mean, mean))
        whiten = np.linalg.inv(factor)
        covariance = whiten @ moments.covariance[square] @ whiten.T
        noises, frames = moments.noises, np.array([whiten @ each[square] @ whiten.T for each in moments.frames])
        if not intercept:  # about 0 in the data's own units
            shift, spread = whiten @ mean, moments.mean_noise
            covariance = covariance + np.outer(shift, shift) - spread * np.eye(len(mean))
            more = 2.0 * spread * float(shift @ shift) / len(mean) + spread**2
            noises, frames = np.append(noises, more), np.concatenate([frames, np.eye(len(mean))[None]])
        offset = mean if intercept else np.zeros_like(mean)
        back, own = np.linalg.inv(factor[:-1, :-1]).T, factor[-1, :-1]
        return cls(back, moments.units[order[:-1]], offset, own, float(factor[-1, -1]), covariance, noises, frames)

    def along(self, vectors: Array) -> _Whitened:
        """Return the same in the coordinates of other axes of the features."""
        turn = np.eye(len(self.covariance))
        turn[:-1, :-1] = vectors
        return replace(
            self,
            back=self.back @ vectors,
            own=vectors.T @ self.own,
            covariance=turn.T @ self.covariance @ turn,
            frames=turn.T @ self.frames @ turn,
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
        moved = self.frames @ w
        frames, moves = self.frames[:, :-1, :-1], moved[:, :-1]
        return np.asarray(np.einsum("k,kij->ij", self.noises * (moved @ w), frames) + (moves.T * self.noises) @ moves)

    def line(self, completion: Completion, share: Array, values: Array, ridge: float) -> Line:
        """Return a line of these axes in the data's own coordinates."""
        weights = self.back @ completion.line
        felt = np.maximum(share, LEAST_FELT)  # noise also decides how much is shrunk
        spread = self.back @ completion.response * (self.scale * completion.seen * felt / values)
        squares = np.einsum("ij,jk,ik->i", spread, self.error((completion.line - self.own) / self.scale), spread)
        squares = np.maximum(squares, 0.0) + completion.unseen_noise(self.back, values, self.entries)
        intercept = float(self.offset[-1] - weights @ self.offset[:-1])
        return Line(weights, intercept, np.sqrt(squares), ridge, float(share @ completion.seen))


def _seen(variances: Array, stds: Array) -> tuple[Array, Array]:
    """Return what is seen of directions, from 0 to 1, and its standard deviations by noise in their variances."""
    ramp = np.maximum(stds * (SURE - UNSEEN), LEAST)
    step = np.clip((variances - UNSEEN * stds) / ramp, 0.0, 1.0)
    slope = 6.0 * step * (1.0 - step) / ramp
    return np.asarray(step**2 * (3.0 - 2.0 * step)), np.asarray(slope * math.sqrt(2.0) * stds)


def noise_aware(moments: RegressionMoments, target: int, *, intercept: bool) -> Line:
    """Return the line with the noise-aware ridge."""
    white = _Whitened.from_moments(moments, target, intercept)
    spectrum = Spectrum.from_matrix(white.covariance[:-1, :-1], math.sqrt(white.noise))
    white = white.along(spectrum.vectors)
    d, shrunk, stds = len(white.own), spectrum.shrunk_values, np.sqrt(np.diag(white.entries) / 2.0)
    values = np.maximum(shrunk, np.maximum(HIDDEN * math.sqrt(d) * stds, LEAST))
    seen, doubt = _seen(shrunk, stds)
    missed = seen * white.covariance[:-1, -1] / values
    along, noises = white.own + white.scale * missed, white.scale**2 * np.diag(white.error(missed))
    explained = float(seen @ (values * along**2 - noises / values)) / max(float(seen.sum()), 1.0)
    ridges = noises / max(explained, WEAK * float(white.own @ white.own + white.scale**2))
    share = values / (values + ridges)
    gram = white.back.T @ (white.units[:, None] ** 2 * white.back)
    completion = Completion.minimum_norm(share * along, seen, gram, doubt * share * np.abs(along))
    return white.line(completion, share, values, float(np.median(ridges)))


def adaptive_ridge(moments: RegressionMoments, target: int, *, intercept: bool) -> Line:
    """Return the line of AdaSSP, of moments in the coordinates of the unit ball."""
    white = _Whitened.from_moments(moments, target, intercept)
    values, vectors = np.linalg.eigh(white.covariance[:-1, :-1])
    white, d = white.along(vectors), len(values)
    most = math.sqrt(white.noise * d * math.log(2.0 * d * d / RHO))
    ridge = max(0.0, most - max(float(values[0]) - most, 0.0))
    kept = np.maximum(values + ridge, max(0.01 * most, LEAST))
    result = Completion.all_seen(white.scale * white.covariance[:-1, -1] / kept)
    line = white.line(result, np.ones(d), kept, ridge)
    return replace(line, directions=float((np.clip(values, 0.0, kept) / kept).sum()))
