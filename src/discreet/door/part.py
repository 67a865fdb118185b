"""The named parts of a released sum: how numbers in a row become a count, a vector or a symmetric matrix.

A query weights its parts before they are summed, so that one noise serves them all. A part knows its weight, and a
release shows it with the weight undone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Part"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One part of a sum.

    Parameters
    ----------
    shape : tuple of int
        The shape in which it is shown.
    weight : float
        What it was multiplied with before the sum.
    symmetric : bool
        A d×d matrix of which the upper triangle is kept, row by row, with √2 off the diagonal: so the length of the
        packed vector is the matrix's Frobenius norm.
    """

    shape: tuple[int, ...]
    weight: float = 1.0
    symmetric: bool = False

    @property
    def size(self) -> int:
        """How many numbers of the sum it takes."""
        return self.shape[0] * (self.shape[0] + 1) // 2 if self.symmetric else math.prod(self.shape)

    def shown(self, values: Array) -> Array:
        """Return the part with its weight undone, in its shape.

        >>> Part((2, 2), weight=2.0, symmetric=True).shown(np.array([2.0, 2.0 * np.sqrt(2.0), 4.0])).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
        """
        plain = np.asarray(values, dtype=np.float64) / self.weight
        if not self.symmetric:
            return plain.reshape(self.shape)
        i, j = np.triu_indices(self.shape[0])
        matrix = np.zeros(self.shape)
        matrix[i, j] = matrix[j, i] = plain / np.where(i == j, 1.0, math.sqrt(2.0))
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain values."""
        return {"shape": list(self.shape), "weight": self.weight, "symmetric": self.symmetric}
