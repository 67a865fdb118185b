"""From noisy moments of features and target to a line: what of it to believe.

**Coordinates.** The frame LLᵀ has the target in its last place, so that z = L⁻¹(y − m) has whitened features z_x, and
in its last place what is left of the target after the frame's own line, t = ℓ·z_x + s·z_t. The covariance C of z is
released with white noise: variance v off the diagonal. In coordinates along the eigenvectors of C_xx, with variances g,
the line is a_i = ℓ_i + s·b_i, b_i = c_i/g_i with c the covariance of z_t and z_x: what the frame's line has missed.

**The noise of b.** To first order it is C_xx⁻¹(δC_xz − δC_xx·b), and δC·w has the covariance v(‖w‖²I + wwᵀ): so with
w = (−b, 1) that of b is v·C_xx⁻¹(‖w‖²I + bbᵀ)C_xx⁻¹. To a prediction the direction i adds the variance
s²v‖w‖²/g_i, about.

**The noise-aware ridge.** Let each direction explain about ω² of the target's variance: g_i·a_i² has the mean ω². Then
the posterior mean of a_i is a_i·ω²/(ω² + s²v‖w‖²/g_i) = a_i·g_i/(g_i + λ) with λ = s²v‖w‖²/ω², a ridge in the
coordinates of the rows' own spread. ω² is what all directions explain together, less what noise explains of it.
Variances g are those that ``spectrum`` believes, and none is below what noise could hide, so that the line is finite
whatever was released. Of a direction whose variance is within the noise (of two equal columns their difference, or a
column that does not vary) nothing is known, and the line does not go along it: its share falls to 0 with g.

**The ridge of AdaSSP** (Wang 2018, algorithm 2). In the coordinates of the unit ball (s = 1, ℓ = 0) the line is
(C_xx + λI)⁻¹c with λ = max(0, η − λ₋). With probability 1 − ρ noise has an operator norm below η = √(v·d·ln(2d²/ρ)),
and the smallest eigenvalue before noise is at least λ₋, the one that was released less η, or 0. It is read off the
released matrix, which costs nothing more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.regression_moments import RegressionMoments
from discreet.models.spectrum import Spectrum

__all__ = ["Line", "adaptive_ridge", "noise_aware"]

Array = NDArray[np.float64]

HIDDEN = 0.65  # of how far noise alone spreads eigenvalues to either side: none is below
SURE = 3.0  # deviations of noise, beside what it spreads eigenvalues by, above which a variance is surely no noise
LEAST = 1e-9  # of the frame's own variance
RHO = 0.05
WEAK = 1e-12  # of the target's variance: a direction that explains less explains nothing


@dataclass(frozen=True, eq=False)
class Line:
    """A linear function.

    Attributes
    ----------
    weights : array of shape (d,)
    intercept : float
    noise : array of shape (d,)
        Deviations of the weights by noise, to first order.
    ridge : float
    """

    weights: Array
    intercept: float
    noise: Array
    ridge: float


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Moments in the coordinates of the module."""

    factor: Array
    offset: Array
    covariance: Array
    noise: float

    @classmethod
    def of(cls, moments: RegressionMoments, target: int, intercept: bool) -> _Whitened:
        order = np.append(np.delete(np.arange(len(moments.mean)), target), target)
        mean, frame = moments.mean[order], moments.frame[np.ix_(order, order)]
        factor = np.linalg.cholesky(frame if intercept else frame + np.outer(mean, mean))
        whiten = np.linalg.inv(factor)
        own, noise = whiten @ moments.covariance[np.ix_(order, order)] @ whiten.T, moments.covariance_noise
        if not intercept:  # about 0 in the data's own units; the wider frame makes no noise larger
            shift = whiten @ mean
            own = own + np.outer(shift, shift) - moments.mean_noise * np.eye(len(mean))
            noise += 2.0 * moments.mean_noise * float(shift @ shift) / len(mean) + moments.mean_noise**2
        return cls(factor, mean if intercept else np.zeros_like(mean), own, noise)

    def line(self, basis: Array, along: Array, missed: Array, share: Array, values: Array, ridge: float) -> Line:
        """Return the line of the weights along·share on a basis, in the data's own coordinates."""
        scale = float(self.factor[-1, -1])
        back = np.linalg.inv(self.factor[:-1, :-1]).T @ basis
        weights = back @ (share * along)
        spread = back * (scale * share / values)
        squares = (1.0 + missed @ missed) * (spread**2).sum(axis=1) + (spread @ missed) ** 2
        intercept = float(self.offset[-1] - weights @ self.offset[:-1])
        return Line(weights, intercept, np.sqrt(self.noise * squares), ridge)


def noise_aware(moments: RegressionMoments, target: int, *, intercept: bool) -> Line:
    """Return the line with the noise-aware ridge."""
    seen = _Whitened.of(moments, target, intercept)
    d, scale = len(moments.mean) - 1, float(seen.factor[-1, -1])
    spectrum = Spectrum.of(seen.covariance[:-1, :-1], math.sqrt(seen.noise))
    deviation = math.sqrt(seen.noise)
    values = np.maximum(spectrum.shrunk, max(HIDDEN * deviation * math.sqrt(d), LEAST))
    missed = spectrum.vectors.T @ seen.covariance[:-1, -1] / values
    along = spectrum.vectors.T @ seen.factor[-1, :-1] + scale * missed
    noises = scale**2 * seen.noise * (1.0 + float(missed @ missed)) / values
    explained = float((values * along**2 - noises).sum()) / d
    least = WEAK * float((seen.factor[-1] ** 2).sum())
    ridge = float(noises[0] * values[0]) / max(explained, least)
    seen_at_all = np.clip(2.0 * spectrum.shrunk / max(deviation * (math.sqrt(d) + SURE), LEAST) - 1.0, 0.0, 1.0)
    share = seen_at_all * values / (values + ridge)
    return seen.line(spectrum.vectors, along, missed, share, values, ridge)


def adaptive_ridge(moments: RegressionMoments, target: int, *, intercept: bool) -> Line:
    """Return the line of AdaSSP, of moments in the coordinates of the unit ball."""
    seen = _Whitened.of(moments, target, intercept)
    d, scale = len(moments.mean) - 1, float(seen.factor[-1, -1])
    values, vectors = np.linalg.eigh(seen.covariance[:-1, :-1])
    most = math.sqrt(seen.noise * d * math.log(2.0 * d * d / RHO))
    ridge = max(0.0, most - max(float(values[0]) - most, 0.0))
    values = np.maximum(values + ridge, max(0.01 * most, LEAST))
    missed = vectors.T @ seen.covariance[:-1, -1] / values
    return seen.line(vectors, scale * missed, missed, np.ones(d), values, ridge)
