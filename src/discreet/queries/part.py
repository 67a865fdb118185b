"""The named parts of a released sum: how numbers in a row become a count, a vector or a symmetric matrix.

A query weights its parts before they are summed, so that one noise serves them all. A part knows its weight, and a
release shows it with the weight undone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, positive

__all__ = ["Part", "packed_scale"]

Array = NDArray[np.float64]


def packed_scale(i: Any, j: Any) -> Array:
    """Return by what the entries (i, j) of a symmetric matrix are multiplied when its upper triangle is packed."""
    return np.where(i == j, 1.0, math.sqrt(2.0))


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
        The last two axes are d×d matrices of which the upper triangle is kept, row by row, with √2 off the diagonal: so
        the length of a packed vector is its matrix's Frobenius norm.
    """

    shape: tuple[int, ...]
    weight: float = 1.0
    symmetric: bool = False

    def __post_init__(self) -> None:
        shape = tuple(integer("shape", axis, least=1) for axis in self.shape)
        if not isinstance(self.symmetric, bool) or (self.symmetric and (len(shape) < 2 or shape[-1] != shape[-2])):
            raise ArgumentError(("shape", "symmetric"), (self.shape, self.symmetric), "square matrices, or False")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "weight", 0.0 if self.weight == 0 else positive("weight", self.weight))

    @property
    def size(self) -> int:
        """How many numbers of the sum it takes."""
        if not self.symmetric:
            return math.prod(self.shape)
        *several, d, _ = self.shape
        return math.prod(several) * d * (d + 1) // 2

    def shown(self, values: Array) -> Array:
        """Return the part with its weight undone, in its shape.

        >>> Part((2, 2), weight=2.0, symmetric=True).shown(np.array([2.0, 2.0 * np.sqrt(2.0), 4.0])).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
        """
        plain = np.asarray(values, dtype=np.float64) / self.weight
        if not self.symmetric:
            return plain.reshape(self.shape)
        i, j = np.triu_indices(self.shape[-1])
        matrices = np.zeros(self.shape)
        matrices[..., i, j] = matrices[..., j, i] = plain.reshape(*self.shape[:-2], -1) / packed_scale(i, j)
        return matrices

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain values."""
        return {"shape": list(self.shape), "weight": self.weight, "symmetric": self.symmetric}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the part that ``to_dict`` described."""
        if not isinstance(values, Mapping) or values.keys() != {"shape", "weight", "symmetric"}:
            raise ArgumentError("part", values, "shape, weight and symmetric, as to_dict writes them")
        if not isinstance(values["shape"], list | tuple):
            raise ArgumentError("shape", values["shape"], "a list of whole numbers")
        return cls(tuple(values["shape"]), values["weight"], values["symmetric"])
