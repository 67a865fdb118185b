"""Eigenvalues of a symmetric matrix released with noise, corrected for it (``Spectrum``), and principal axes.

Let Ã = A + E with E symmetric Gaussian, variance τ² off the diagonal and 2τ² on it: what ``Part(symmetric=True)``
releases, since (G + Gᵀ)σ/2 and a triangle packed with √2 are the same distribution, τ = σ/√2. Noise pushes eigenvalues
apart. To second order the i-th eigenvalue of Ã is λ_i + τ² Σ_{j≠i} 1/(λ_i − λ_j), and the value of A along the i-th
noisy eigenvector, ṽᵀAṽ, is lower than λ̃_i by twice that shift. So, from the noisy eigenvalues,

    λ̂_i = λ̃_i − s_i,    ξ_i = λ̃_i − 2s_i,    s_i = τ² Σ_{j≠i} (λ̃_i − λ̃_j)/((λ̃_i − λ̃_j)² + τ²):

λ̂ estimates the eigenvalue of A, and Σ ξ_i ṽ_iṽ_iᵀ is the matrix with these eigenvectors that is nearest to A (Bun,
Allez, Bouchaud and Potters 2016, whose formula for many columns it is; the τ² below the fraction is their
regularisation). For few large eigenvalues and all others 0 these are the known λ̂ = (λ̃ + √(λ̃² − 4τ²d))/2 and
√(λ̃² − 4τ²d): an eigenvalue below τ√d cannot be detected. Without noise both are λ̃.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.spectral.factors import Factors
from discreet.queries.moments.components import Components

__all__ = ["Principal", "Spectrum"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Principal:
    """Principal axes and the variances along them.

    Attributes
    ----------
    mean : array of shape (d,)
    axes : array of shape (k, d)
        Orthonormal rows.
    variances : array of shape (k,)
    total : float
        The variance along all d directions together, positive.

    Examples
    --------
    >>> one = Principal.from_gaussian(Components(np.ones(1), np.zeros((1, 2)), np.array([[[5.0, 3.0], [3.0, 5.0]]])))
    >>> one.axes.round(2).tolist(), one.variances.round(2).tolist()
    ([[0.71, 0.71], [0.71, -0.71]], [8.0, 2.0])
    """

    mean: Array
    axes: Array
    variances: Array
    total: float

    @classmethod
    def from_gaussian(cls, gaussian: Components) -> Principal:
        """Return all principal axes of a single Gaussian, the largest variance first."""
        values, vectors = np.linalg.eigh(gaussian.covariances[0])
        axes = fix_signs(vectors[:, ::-1].T)
        return cls(gaussian.means[0], axes, values[::-1].copy(), float(values.sum()))

    def first(self, count: int) -> Principal:
        """Return the first ``count`` axes."""
        return Principal(self.mean, self.axes[:count], self.variances[:count], self.total)

    def rescale(self, offset: Array, scale: Array) -> Principal:
        """Return the axes of offset + scale·y. The scale must be equal in all columns, or it would rotate the axes."""
        assert np.all(scale == scale[0])
        step = float(scale[0])
        return Principal(offset + step * self.mean, self.axes, step * step * self.variances, step * step * self.total)

    @property
    def rest(self) -> float:
        """The mean variance along a direction that is not among the axes."""
        k, d = self.axes.shape
        return max(self.total - float(self.variances.sum()), 1e-9 * self.total) / (d - k) if k < d else 0.0

    @property
    def factors(self) -> Factors:
        """The Gaussian with these variances along the axes and the same variance along all others."""
        k, d = self.axes.shape
        noise = self.rest if k < d else float(self.variances.min()) / 2.0
        noise = max(noise, 1e-12 * self.total)
        return Factors(self.mean, self.axes.T * np.sqrt(np.maximum(self.variances - noise, 0.0)), np.full(d, noise))


def fix_signs(axes: Array) -> Array:
    """Return axes with signs such that their largest coordinate is positive."""
    largest = np.abs(axes).argmax(axis=1)
    signs = np.where(axes[np.arange(len(axes)), largest] < 0.0, -1.0, 1.0)
    return np.asarray(axes * signs[:, None])


CELLS = 2**22  # pairs of eigenvalues that are in memory at a time


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and eigenvectors of a noisy matrix, the largest first.

    Attributes
    ----------
    values : array of shape (d,)
        Of the noisy matrix.
    vectors : array of shape (d, d)
        A column each.
    noise : float
        τ.

    Examples
    --------
    >>> Spectrum.from_matrix(np.diag([9.0, 1.0, 0.9]), noise=0.5).estimates.round(2).tolist()
    [8.94, 0.93, 1.03]
    """

    values: Array
    vectors: Array
    noise: float

    @classmethod
    def from_matrix(cls, matrix: Array, noise: float) -> Spectrum:
        """Return the spectrum of a symmetric matrix."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(values[::-1].copy(), vectors[:, ::-1].copy(), noise)

    @property
    def _shifts(self) -> Array:
        """S of the module: by how much noise has pushed the eigenvalues apart."""
        if not self.noise:
            return np.zeros_like(self.values)
        step = max(CELLS // len(self.values), 1)
        shifts = []
        for start in range(0, len(self.values), step):
            apart = self.values[start : start + step, None] / self.noise - self.values[None, :] / self.noise
            shifts.append((apart / (apart * apart + 1.0)).sum(axis=1))
        return np.asarray(self.noise * np.concatenate(shifts))

    @property
    def estimates(self) -> Array:
        """λ̂: estimates of the eigenvalues of the matrix before noise."""
        return np.asarray(self.values - self._shifts)

    @property
    def shrunk_values(self) -> Array:
        """ξ: estimates of ṽᵀAṽ, the value of the matrix before noise along each noisy eigenvector."""
        return np.asarray(self.values - 2.0 * self._shifts)

    def matrix(self, values: Array) -> Array:
        """Return the matrix with these eigenvectors and other eigenvalues."""
        return np.asarray((self.vectors * values) @ self.vectors.T)
