"""Sums over rows in floats, with a bound on their error that holds for every order of the rows.

A source cuts its rows into blocks of at most n rows. A kernel sums the contributions of a block, in whatever order,
and this module sums the blocks. With u = 2⁻⁵³, c_i ∈ R^D the contribution of row i as floats, ‖c_i‖₂ ≤ B, and N rows:

    ‖computed − Σ c_i‖₂ ≤ γ·N·B,   γ = ``float_error(n)`` = n·u/(1 − n·u) + 2u.

Proof, coordinate by coordinate (|·| and ≤ are meant so).

1. *A block.* In a sum of n terms, added in any order, no term goes through more than n − 1 additions, each of which
   multiplies by 1 + δ, |δ| ≤ u (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). So the block's
   sum s_b is off by at most γ_n Σ|c_i|, γ_n = nu/(1 − nu). The n − 1 leaves one rounding free, so the same holds where
   a contribution is the product of two floats, as in a matrix product, with or without fused operations; a product
   below 2⁻¹⁰²² adds at most 2⁻¹⁰⁷⁴.
2. *The blocks.* The running sum is a pair (S, C) with |C| ≤ u|S|. Adding s: t + e = S + s exactly with t = fl(S + s),
   by two-sum (Møller, Knuth), and c = fl(C + e), the compensation of Kahan, Babuška and Neumaier. Then S' + C' = t + c
   exactly, by two-sum again: this carries the compensation into the sum, and |C'| ≤ u|S'|. The one rounding that is
   lost is that of c, at most u|C + e| ≤ u(u|S| + u|t|). With M = Σ_b |s_b|, S and t stay below (1 + 4u)M, so a step
   loses at most 3u²M and K steps 3Ku²M. The result S is off from S + C by at most u|S|. For K ≤ 2⁵⁰ that is
   u(1 + 4u)M + 3Ku²M ≤ 1.4uM in all. (Without the carrying it would grow with K²u²M.)
3. *Together.* M ≤ (1 + γ_n)Σ|c_i|, so the error is at most (γ_n + 1.4u(1 + γ_n))Σ|c_i| ≤ (γ_n + 2u)Σ|c_i| for n ≤ 2⁵⁰.
   And ‖Σ|c_i|‖₂ ≤ Σ‖c_i‖₂ ≤ N·B.

*Partial sums* (Dask): each partition gives its own pair (S_p, C_p), and adding a pair means adding two numbers, which K
counts; M grows by a factor 1 + 4u at most for each level of merging. Partitions are cut into blocks of at most n
rows like everything else, so the bound stays as it is.

The bound asks for kernels that sum in float64, and for N·B below 2¹⁰⁰⁰, so that nothing overflows. It is about the
floats c_i that the kernel has computed; how far these are from the ideal contributions is for the query to say.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer
from discreet.records.space import UNIT_ROUNDOFF

__all__ = ["CompensatedSum", "float_error", "usual_rows"]

Array = NDArray[np.float64]


def usual_rows(columns: int) -> int:
    """Return how many rows a block has: enough to be worth a call, few enough for the cache.

    >>> usual_rows(2), usual_rows(100), usual_rows(5000)
    (16384, 5242, 512)
    """
    return min(max(2**19 // max(columns, 1), 512), 2**14)


def float_error(block_rows: int) -> float:
    """Return γ so that ‖computed sum − exact sum of the float contributions‖₂ ≤ γ·N·B.

    A function of the block size alone: no order of rows, number of rows or kind of source changes it.

    >>> f"{float_error(4096):.3g}"
    '4.55e-13'
    """
    n = integer("block_rows", block_rows, least=1, most=2**30)
    block = n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)
    return math.nextafter(math.nextafter(block, 1.0) + 2.0 * UNIT_ROUNDOFF, 1.0)  # rounded up


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return fl(a + b) and what it lacks, exactly."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


class CompensatedSum:
    """A running sum of vectors, as a pair (S, C) of vectors.

    >>> total = CompensatedSum(1)
    >>> for term in (1e16, 1.0, -1e16):
    ...     total.add(np.array([term]))
    >>> total.pair[0].tolist()
    [1.0]
    """

    def __init__(self, size: int) -> None:
        self.pair: tuple[Array, Array] = (np.zeros(size), np.zeros(size))

    def add(self, term: Array) -> None:
        """Add one vector."""
        with np.errstate(all="ignore"):
            total, lost = two_sum(self.pair[0], term)
            self.pair = two_sum(total, self.pair[1] + lost)

    def merge(self, pair: tuple[Array, Array]) -> None:
        """Add the pair of another sum."""
        for term in pair:
            self.add(term)
