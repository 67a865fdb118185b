"""The binary tree: sums of dyadic blocks of steps (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011).

Level l has the sums of steps [i·2^l, (i + 1)·2^l), as many as lie within the series. A step is in at most one block of
each level, and the first is in one of each of the ⌊log₂ T⌋ + 1 levels. So that is the largest column's L1 norm, and its
root the L2 norm. A running sum is the sum of one block for every binary digit 1 of its length.

It is here as a baseline, and for δ = 0: its L1 norm is small, so it takes Laplace noise well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer
from discreet.queries.series.factorization import Factorization
from discreet.queries.series.operators import MOST_STEPS, UP, Operator, length

__all__ = ["Tree", "TreeSums"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tree(Operator):
    """Sums of dyadic blocks, from single steps upwards.

    >>> Tree(4).apply(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 3.0, 4.0, 3.0, 7.0, 10.0]
    """

    count: int

    name = "binary tree"

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)

    @property
    def levels(self) -> int:
        """⌊log₂ T⌋ + 1."""
        return self.count.bit_length()

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each level starts among the released numbers."""
        return tuple(int(start) for start in np.cumsum([0, *(self.count >> level for level in range(self.levels))]))

    @property
    def size(self) -> int:
        """How many blocks there are."""
        return self.starts[-1]

    def apply(self, series: Array) -> Array:
        """Return the sums, each level from the one below it."""
        levels = [np.asarray(series, dtype=np.float64)]
        for level in range(1, self.levels):
            blocks = self.count >> level
            levels.append(levels[-1][: 2 * blocks].reshape(blocks, 2).sum(axis=1))
        return np.concatenate(levels)

    def column_norm(self, norm: str) -> float:
        """Return the number of levels, or its root."""
        return float(self.levels) if norm == "l1" else math.sqrt(self.levels) * UP

    def box_norm(self, norm: str) -> float:
        """Return the norm of the blocks' lengths."""
        return length(np.concatenate([np.full(self.count >> j, 2.0**j) for j in range(self.levels)]), norm)

    @property
    def nonnegative(self) -> bool:
        """True."""
        return True

    @property
    def error(self) -> float:
        """A block of level l took l additions, so level l errs by at most l·u·‖S‖₁ in L1: levels²/2·u in all."""
        return 0.5 * self.levels**2 * 2.0**-53 * UP


@dataclass(frozen=True, eq=False)
class TreeSums(Factorization):
    """Running sums from a tree."""

    operator: Tree

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.arange(1, self.operator.count + 1, dtype=np.int64)

    def decode(self, released: Array) -> Array:
        """Return for each running sum the blocks of its binary digits, added."""
        own = np.asarray(released, dtype=np.float64)
        sums = np.zeros(self.operator.count)
        for level, start in enumerate(self.operator.starts[:-1]):
            block = self._lengths >> level
            here = (block & 1).astype(np.bool_)
            sums[here] += own[start + block[here] - 1]
        return sums

    @cached_property
    def weights(self) -> Array:
        """The root of the number of binary digits 1."""
        return np.sqrt(np.bitwise_count(self._lengths).astype(np.float64))

    @cached_property
    def peaks(self) -> Array:
        """1."""
        return np.ones(self.operator.count)
