"""Factor analysis of a covariance: x = mean + Wz + noise, z standard normal, the noise independent with variances ψ.

The EM steps of Park, Foulds, Chaudhuri and Welling (2017, section 6) on a covariance S that is public already, so that
any number of them is post-processing:

    M = I + WᵀΨ⁻¹W,  β = M⁻¹WᵀΨ⁻¹,  C = Sβᵀ,  R = E[zzᵀ] = M⁻¹ + βC,  W ← CR⁻¹,  ψ ← diag(S − WCᵀ), with the new W;

and then W ← W·chol(R): the step of Liu, Rubin and Wu (1998), in which the covariance of z is fitted as well and then
absorbed into W. It converges to the same point as EM in a tenth of the steps. ψ has a lower limit, so that the result
is a covariance for any S.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.models.noisy_sums import clip_eigenvalues

__all__ = ["Factors"]

Array = NDArray[np.float64]

STEPS, CLOSE = 1000, 1e-6  # most EM steps, and the change of loadings at which they stop
LEAST = 1e-3  # least share of a column's variance that is its own


@dataclass(frozen=True, eq=False)
class Factors:
    """A Gaussian with covariance WWᵀ + diag(ψ).

    Attributes
    ----------
    mean : array of shape (d,)
    loadings : array of shape (d, k)
        W. Its columns are orthogonal in the metric of 1/ψ, sorted by what they explain, the largest first.
    noise : array of shape (d,)
        ψ.

    Examples
    --------
    >>> covariance = np.array([[5.0, 4.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 1.0]])
    >>> two = Factors.from_covariance(np.zeros(3), covariance, count=1)
    >>> np.abs(two.loadings[:, 0]).round(2).tolist(), two.noise.round(2).tolist()
    ([2.0, 2.0, 0.0], [1.0, 1.0, 1.0])
    """

    mean: Array
    loadings: Array
    noise: Array

    @classmethod
    def from_covariance(cls, mean: Array, covariance: Array, count: int, steps: int = STEPS) -> Factors:
        """Fit k factors to a covariance, by EM from its leading eigenvectors."""
        spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        s = np.clip(
            covariance / np.outer(spread, spread), -1.0, 1.0
        )  # correlations: the scale of columns does not matter
        np.fill_diagonal(s, 1.0)
        loadings, noise = _start(s, count)
        for _ in range(steps):
            loadings, noise, before = *_step(s, loadings, noise), loadings
            if np.abs(loadings - before).max() <= CLOSE:
                break
        loadings, noise = spread[:, None] * loadings, spread**2 * noise
        # The fit is invariant under rotations of z; this one sorts the columns.
        _, _, rotation = np.linalg.svd(loadings / np.sqrt(noise)[:, None], full_matrices=False)
        loadings = loadings @ rotation.T
        largest = np.abs(loadings).argmax(axis=0)
        signs = np.sign(loadings[largest, np.arange(count)])
        return cls(mean, loadings * np.where(signs == 0.0, 1.0, signs), noise)

    @property
    def covariance(self) -> Array:
        """WWᵀ + diag(ψ)."""
        return np.asarray(self.loadings @ self.loadings.T + np.diag(self.noise))

    @cached_property
    def _weighted(self) -> Array:
        """Ψ⁻¹W."""
        return np.asarray(self.loadings / self.noise[:, None])

    @cached_property
    def _inner(self) -> Array:
        """M."""
        return np.asarray(np.eye(self.loadings.shape[1]) + self.loadings.T @ self._weighted)

    @property
    def precision(self) -> Array:
        """The inverse of the covariance, by the formula of Woodbury."""
        correction = self._weighted @ np.linalg.solve(self._inner, self._weighted.T)
        return np.asarray(np.diag(1.0 / self.noise) - correction)

    def latent(self, x: Array) -> Array:
        """Return E[z | x] of each row."""
        return np.asarray(np.linalg.solve(self._inner, self._weighted.T @ (x - self.mean).T).T)

    def log_density(self, x: Array) -> Array:
        """Return the logarithm of the density at each row."""
        centred = x - self.mean
        inner = centred @ self._weighted
        squared = np.einsum("nd,nd->n", centred, centred / self.noise)
        squared -= np.einsum("nk,nk->n", inner, np.linalg.solve(self._inner, inner.T).T)
        size = len(self.noise) * math.log(2.0 * math.pi) + np.log(self.noise).sum() + np.linalg.slogdet(self._inner)[1]
        return np.asarray(-0.5 * (squared + size))

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Return rows drawn from the model."""
        z = rng.standard_normal((size, self.loadings.shape[1]))
        e = rng.standard_normal((size, len(self.noise)))
        return np.asarray(self.mean + z @ self.loadings.T + e * np.sqrt(self.noise))


def _start(s: Array, count: int) -> tuple[Array, Array]:
    """Return loadings and noise from the leading eigenvectors of a correlation."""
    d = len(s)
    if count < d // 20:
        from scipy.sparse.linalg import eigsh

        values, vectors = eigsh(s, k=count, v0=np.ones(d))
    else:
        values, vectors = (part[..., -count:] for part in np.linalg.eigh(s))
    rest = max((d - values.sum()) / max(d - count, 1), LEAST)
    loadings = vectors * np.sqrt(np.maximum(values - rest, 1e-3))
    return loadings, np.maximum(1.0 - (loadings**2).sum(axis=1), 0.05)


def _step(s: Array, loadings: Array, noise: Array) -> tuple[Array, Array]:
    """Return W and ψ after one step; see the module."""
    weighted = loadings / noise[:, None]  # Ψ⁻¹W
    inverse = np.linalg.inv(np.eye(loadings.shape[1]) + loadings.T @ weighted)  # M⁻¹
    c = s @ (weighted @ inverse)  # C = Sβᵀ
    second = inverse + inverse @ (weighted.T @ c)  # R = M⁻¹ + βC
    second = clip_eigenvalues(second, 1e-9, 1e9)  # positive definite, even where S is not
    loadings = np.asarray(np.linalg.solve(second, c.T).T)  # W = CR⁻¹
    noise = np.maximum(np.diag(s) - np.einsum("dk,dk->d", loadings, c), LEAST)
    return np.asarray(loadings @ np.linalg.cholesky(second)), noise
