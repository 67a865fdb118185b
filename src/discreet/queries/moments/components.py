"""The parameters of a mixture of Gaussians: weights, means and covariances, with the densities that follow from them.

They are public: they come from releases or from constants, never from rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FARTHEST = 1e300  # largest squared distance in a density


@dataclass(frozen=True, eq=False)
class Components:
    """The parameters of a mixture of K Gaussians in d dimensions.

    Attributes
    ----------
    weights : array of shape (K,)
        Positive, summing to 1.
    means : array of shape (K, d)
    covariances : array of shape (K, d, d)
        Symmetric, positive definite.

    Examples
    --------
    >>> two = Components(np.array([0.5, 0.5]), np.array([[0.0], [4.0]]), np.ones((2, 1, 1)))
    >>> two.log_density(np.array([[0.0], [2.0]])).round(3).tolist()
    [-1.612, -2.919]
    """

    weights: Array
    means: Array
    covariances: Array

    @property
    def count(self) -> int:
        """K."""
        return len(self.weights)

    @property
    def dimension(self) -> int:
        """The number of columns, d."""
        return int(self.means.shape[1])

    @cached_property
    def factors(self) -> Array:
        """The lower Cholesky factors L of the covariances."""
        return np.asarray(np.linalg.cholesky(self.covariances), dtype=np.float64)

    @cached_property
    def whitening(self) -> Array:
        """L⁻¹, lower triangular: a component's own coordinates are z = L⁻¹(x − μ)."""
        return np.asarray(np.tril(np.linalg.inv(self.factors)), dtype=np.float64)

    @cached_property
    def offsets(self) -> Array:
        """L⁻¹μ."""
        return np.asarray(np.einsum("kij,kj->ki", self.whitening, self.means))

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether every covariance is diagonal, with zeros that are exact."""
        return bool(np.count_nonzero(self.whitening) == self.count * self.dimension)

    @cached_property
    def log_constants(self) -> Array:
        """The logarithm of weight·density at the mean, without (2π)^(−d/2)."""
        return np.asarray(np.log(self.weights) - np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1))

    def log_joint(self, x: Array) -> Array:
        """Return ln(weight·density) of each row under each component, shape (n, K)."""
        joint = np.empty((len(x), self.count))
        for k in range(self.count):
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # of rows near the largest float, which are as far from all
                z = (x - self.means[k]) @ self.whitening[k].T
                joint[:, k] = self.log_constants[k] - 0.5 * np.fmin(np.einsum("nd,nd->n", z, z), FARTHEST)
        return joint - 0.5 * self.dimension * math.log(2.0 * math.pi)

    def log_density(self, x: Array) -> Array:
        """Return the logarithm of the mixture's density at each row."""
        joint = self.log_joint(x)
        largest = joint.max(axis=1)
        return np.asarray(largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1)))

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
        """Return rows drawn from the mixture, and the component of each."""
        labels = np.repeat(np.arange(self.count), rng.multinomial(size, self.weights))
        rng.shuffle(labels)
        z = rng.standard_normal((size, self.dimension))
        rows = self.means[labels]
        for k, factor in enumerate(self.factors):
            rows[labels == k] += z[labels == k] @ factor.T
        return rows, labels

    def rescale(self, offset: Array, scale: Array) -> Components:
        """Return the mixture of offset + scale·x, column by column."""
        return Components(
            self.weights, offset + scale * self.means, self.covariances * np.outer(scale, scale)[None, :, :]
        )
