"""``WholeSum``: sums of vectors as whole numbers on a public grid, whose bits no order and no grouping can change.

A source cuts its rows into blocks, a kernel sums each block in floats, and this module adds up the blocks: on threads,
on workers that may fail and start again, in a database. Whole numbers are added exactly, so the same blocks give the
same bits whoever adds them and in whatever order.

**The grid.** Let B be the public bound on the norm of one row's contribution, and e the whole number with
2^(e−1) ≤ B < 2^e. A block's sum s is rounded to multiples of g = 2^(e−76), coordinate by coordinate, and counted as
q = s/g. A count is held in two 64-bit numbers, q = high·2⁶⁰ + low with 0 ≤ low < 2⁶⁰.

**The float error** has a bound that holds for every order of the rows and every cut into blocks; so it holds for two
neighbours whose rows stand in other blocks. Let n be the largest number of additions, plus one, that a term goes
through in the kernel's sum of a block: no more than the rows of a block, less where the kernel sums in pieces. With
u = 2⁻⁵³, N rows, c_i ∈ R^D the contribution of row i as floats, and ‖c_i‖₂ ≤ B:

    ‖computed − Σ c_i‖₂ ≤ γ·N·B,   γ = ``float_error(n)`` = n·u/(1 − n·u) + 6u.

Proof, coordinate by coordinate (|·| and ≤ are meant so).

1. *A block.* Each addition multiplies by 1 + δ, |δ| ≤ u (Higham, Accuracy and Stability of Numerical Algorithms,
   section 4.2), and no term goes through more than n − 1 of them. So the block's sum s_b is off by at most
   γ_n Σ|c_i|, γ_n = nu/(1 − nu). The n − 1 leaves one rounding free, so the same holds where a contribution is the
   product of two floats, as in a matrix product, with or without fused operations; a product below 2⁻¹⁰²² adds at
   most 2⁻¹⁰⁷⁴.
2. *The grid.* Scaling by a power of two is exact. Rounding moves a coordinate by at most g/2 ≤ 2⁻⁷⁶·B, and one that is
   0 not at all. So a block moves by at most √D·2⁻⁷⁶·B ≤ uB, for D ≤ 2⁴⁶. Blocks without rows are not added, so there
   are no more blocks than rows: uNB in all.
3. *Whole numbers* are added exactly while |high| < 2⁶³. All |q_b| together are at most N·2⁷⁶ and the errors so far, so
   that holds for N < 2⁴⁶.
4. *Back to floats.* q = h·2⁶⁰ + l with −2⁵⁹ ≤ l < 2⁵⁹. Where h ≠ 0, |q| ≥ 2⁵⁹, so |h|·2⁶⁰ ≤ 2|q| and |l| ≤ |q|; where
   h = 0, l = q. Both become floats, are added and scaled: off by at most u(2 + 1)|q| + u(1 + 3u)|q| ≤ 4.1u|q|.
5. *Together*: |q|·g ≤ (1 + γ_n)Σ|c_i| and the grid's uNB, and ‖Σ|c_i|‖₂ ≤ Σ‖c_i‖₂ ≤ N·B. So all of it is at most
   (γ_n + u + 4.2u)·NB in norm. The statement has 6u.

In one coordinate j that is γ_n Σ_i|c_ij| + 2⁻⁷⁶·NB + 4.2u·Σ_i|c_ij|, for queries whose proof goes by coordinates.

**Whole numbers have no error.** Where all c_ij are whole and N·B ≤ 2⁵¹ (``MOST_WHOLE``), computed = Σ c_i. Proof. Let
B ≥ 1, as otherwise all are 0. Every sum of some of the rows is a whole number of at most 2⁵¹ in size, so a float, and
step 1 rounds nothing. As e ≤ 52, 1 is a multiple of g, and of the grid 2^(e−52) of a database (``sql.text``): step 2
rounds nothing. In step 4, with 1/g = 2^t and t ≥ 24, q is 2^t times a number of 52 binary digits. So are h·2⁶⁰ and l:
l is 0 where t ≥ 60, and otherwise a multiple of 2^t below 2⁶⁰. Nothing is rounded. ∎ So the sums of neighbours are as
far apart as the rows of one unit make them, however many rows there are.

The bound asks for kernels that sum in float64, and for B above 2⁻⁹⁰⁰ and N·B below 2¹⁰⁰⁰, so that nothing under- or
overflows. It is about the floats c_i that the kernel has computed; how far these are from the ideal contributions is
for the query to say.

A kernel that breaks its contract (a NaN, an infinity, a sum that no rows within the bound could have) raises nothing,
since an error would tell of a row: what is not finite counts as 0, and what is too large as the largest that fits. The
sum of a block is then wrong by more than one row: contributions must be finite for every row that can be declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer, positive
from discreet.records.generic_arrays import UNIT_ROUNDOFF

Array = NDArray[np.float64]

FRACTION_BITS = 76  # the grid is 2^(e−76)
LOW_BITS = 60
LOW_MASK = 2**LOW_BITS - 1
LARGEST = 2.0**108  # steps of the grid that a block of 2³⁰ rows cannot reach
MOST_WHOLE = 2.0**51


def float_error(depth: int) -> float:
    """Return γ so that ‖computed sum − exact sum of the float contributions‖₂ ≤ γ·N·B.

    Parameters
    ----------
    depth : int
        n: the largest number of additions, plus one, that a term goes through in the sum of a block. The number of rows
        of a block is enough, whatever the kernel does.

    Examples
    --------
    >>> f"{float_error(4096):.3g}"
    '4.55e-13'
    """
    n = integer("depth", depth, least=1, most=2**30)
    block = n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)
    return math.nextafter(math.nextafter(block, 1.0) + 6.0 * UNIT_ROUNDOFF, 1.0)  # rounded up


class WholeSum:
    """A running sum of vectors, as whole numbers.

    Parameters
    ----------
    size : int
        D.
    norm : float
        B: the grid follows from it.

    Examples
    --------
    >>> total = WholeSum(1, norm=1e16)
    >>> for term in (1e16, 1.0, -1e16):
    ...     total.add(np.array([term]))
    >>> total.to_floats().tolist()
    [1.0]
    """

    def __init__(self, size: int, norm: float) -> None:
        self.exponent = FRACTION_BITS - math.frexp(positive("norm", norm))[1]
        self.high, self.low = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)

    def add(self, term: Array) -> None:
        """Add one vector of floats, rounded to the grid."""
        with np.errstate(all="ignore"):
            steps = np.ldexp(term, self.exponent)
            steps = np.clip(np.nan_to_num(steps, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)
            high = np.trunc(steps * 2.0**-LOW_BITS)  # towards 0: the rest is then a float, exactly
            self._carry(high.astype(np.int64), np.rint(steps - high * 2.0**LOW_BITS).astype(np.int64))

    def add_whole(self, terms: Sequence[int], exponent: int) -> None:
        """Add whole numbers of steps of 2^−exponent, which is no finer than the grid."""
        steps = [int(term) << (self.exponent - exponent) for term in terms]
        self._carry(
            np.array([step >> LOW_BITS for step in steps], dtype=np.int64),
            np.array([step & LOW_MASK for step in steps], dtype=np.int64),
        )

    def merge(self, other: WholeSum) -> Self:
        """Add the sum of other blocks on the same grid, and return this one."""
        assert self.exponent == other.exponent
        self._carry(other.high, other.low)
        return self

    def _carry(self, high: NDArray[np.int64], low: NDArray[np.int64]) -> None:
        self.low += low  # each is at most 2⁶⁰ in size, so the sum fits
        self.high += high + (self.low >> LOW_BITS)
        self.low &= LOW_MASK

    def to_floats(self) -> Array:
        """Return the sum as floats."""
        up = self.low >> (LOW_BITS - 1)  # 1 where low is nearer to the next step of high
        high, low = (self.high + up).astype(np.float64), (self.low - (up << LOW_BITS)).astype(np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(np.ldexp(high * 2.0**LOW_BITS + low, -self.exponent))


def sum_vectors(sums: Iterable[Array], size: int, norm: float) -> WholeSum:
    """Return the sum of vectors of a size, each the sum of contributions of a norm."""
    total = WholeSum(size, norm)
    for result in sums:
        if result.shape != (size,):  # the shape that it has may tell how many rows contribute
            raise ValueError(f"size={size}: expected a kernel that gives the shape {(size,)}; write its length")
        total.add(result)
    return total
