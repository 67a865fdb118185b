"""The shapes of covariances, as the adaptive method needs them: in a component's own coordinates.

There the covariance of the step before is the identity, and what is measured is how the next one differs from it: in
every entry ("full", and "tied", which is one matrix for all components), in the diagonal ("diag"), or in size alone
("spherical": the covariance keeps its shape and is scaled).

Noise. Let ``v`` be the variance of an off-diagonal entry of the packed release; a diagonal entry then has 2v. Mapped
back by a matrix L with A = LLᵀ the noise has the expected squared Frobenius norm v·(tr(A)² + tr(A²)) if full,
2v·tr(A²) if diag, and 2v·tr(A²)/d² if spherical.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shape"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """A shape of covariances in d dimensions.

    Attributes
    ----------
    name : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``.
    dimension : int
    """

    name: str
    dimension: int

    @property
    def numbers(self) -> int:
        """How many numbers a covariance has."""
        d = self.dimension
        return {"diag": d, "spherical": 1}.get(self.name, d * (d + 1) // 2)

    @property
    def traceless(self) -> int:
        """How many of them do not change the size."""
        return self.numbers - 1

    def energy(self, frame: Array | None = None) -> float:
        """Return the expected squared norm of the noise for v = 1, mapped back by L with LLᵀ = ``frame``."""
        d = self.dimension
        trace, squared = (d, d) if frame is None else (float(np.trace(frame)), float((frame * frame).sum()))
        if self.name == "diag":
            return 2.0 * squared
        if self.name == "spherical":
            return 2.0 * squared / (d * d)
        return trace * trace + squared

    def size_energy(self, frame: Array | None = None) -> float:
        """Return the variance of the noise on the mean diagonal entry, for v = 1, mapped back in the same way."""
        d = self.dimension
        trace, squared = (d, d) if frame is None else (float(np.trace(frame)), float((frame * frame).sum()))
        return 2.0 * (trace / d) ** 2 / (d * d) if self.name == "spherical" else 2.0 * squared / (d * d)

    def matrices(self, second: Array, count: int) -> Array:
        """Return released second moments as full matrices, what is not measured being 0 or the mean."""
        d = self.dimension
        if self.name == "tied":
            return np.repeat(second[None], count, axis=0)
        if self.name == "diag":
            return np.asarray(second[:, :, None] * np.eye(d))
        return np.asarray(second[:, None, None] / d * np.eye(d)) if self.name == "spherical" else second

    def held(self, matrix: Array) -> Array:
        """Return a covariance in own coordinates with only what the shape has."""
        if self.name == "diag":
            return np.asarray(np.diag(np.diag(matrix)))
        if self.name == "spherical":
            return np.asarray(np.eye(self.dimension) * (np.trace(matrix) / self.dimension))
        return matrix
