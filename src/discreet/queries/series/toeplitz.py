"""Causal time-invariant operators: lower-triangular Toeplitz matrices, by their first column.

O·S is the convolution of S with the coefficients c, cut off at T. Column t holds c[:T − t], so the first is the
longest: ``column_norm`` is ‖c‖. For z in [−1, 1]^T coordinate t of O·z is at most Σ_{s≤t} |c_s|, all at once for z = 1
if no c is negative: ``box_norm`` is the norm of the running sums of |c|.

*Float error of the convolution.* A fast Fourier transform F̃ of 2^p numbers errs by ‖F̃x − Fx‖₂ ≤ η‖Fx‖₂ with η = p·(√5
+ 2)·u to first order (Percival 2003; Brent, Percival and Zimmermann 2007, for radix 2 and roots of unity right to u;
SciPy's radix-4 passes multiply less). With L = 2^p, ‖Fx‖₂ = √L·‖x‖₂ and ‖Fx‖_∞ ≤ ‖x‖₁. The two transforms put an error
into the product of at most

    ‖(F̃c − Fc)·FS‖₂ + ‖Fc·(F̃S − FS)‖₂ ≤ η√L·(‖c‖₂‖S‖₁ + ‖c‖₁‖S‖₂),

the products add √5·u of the same, the inverse transform η times ‖Fc·FS‖₂ ≤ √L·‖c‖₂‖S‖₁, and 1/√L takes the root away.
As ‖S‖₂ ≤ ‖S‖₁ all is at most (3η + √5·u)·‖c‖₁·‖S‖₁. We charge twice that, which covers second orders and coefficients
that are themselves rounded by some u each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.series.operators import MOST_STEPS, UP, Operator, length

__all__ = ["PrefixSums", "Toeplitz", "convolution_error", "convolve"]

Array = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
ROOT_5 = math.sqrt(5.0)
SHORT = 64  # up to so many coefficients a direct convolution is as fast, and more accurate


def transform_length(count: int) -> int:
    """Return the power of two that a convolution of two series of ``count`` needs."""
    return 1 << (2 * count - 1).bit_length()


def convolve(coefficients: Array, series: Array) -> Array:
    """Return the first T numbers of the convolution of two series of T numbers."""
    count = len(series)
    if len(coefficients) <= SHORT:
        return np.convolve(coefficients, series)[:count]
    size = transform_length(count)
    product = fft.rfft(coefficients[:count], size) * fft.rfft(series, size)
    return np.asarray(fft.irfft(product, size)[:count])


def convolution_error(coefficients: Array, count: int) -> float:
    """Return a bound on ‖computed − exact convolution‖₂ over ‖S‖₁.

    A direct convolution of k coefficients errs by at most (k + 1)·u of the convolution of |c| and |S|, whose norm is at
    most ‖c‖₂‖S‖₁ ≤ ‖c‖₁‖S‖₁; twice that is charged. For the fast one see the module.
    """
    size = length(coefficients, "l1")
    if len(coefficients) <= SHORT:
        return 2.0 * (len(coefficients) + 1) * UNIT_ROUNDOFF * size
    levels = transform_length(count).bit_length() - 1
    return 2.0 * (3.0 * levels * (ROOT_5 + 2.0) + ROOT_5) * UNIT_ROUNDOFF * size


@dataclass(frozen=True, eq=False)
class Toeplitz(Operator):
    """The convolution with public coefficients.

    Parameters
    ----------
    coefficients : array of shape (T,)

    Examples
    --------
    >>> Toeplitz(np.array([1.0, 0.5, 0.25])).apply(np.array([4.0, 0.0, 4.0])).tolist()
    [4.0, 2.0, 5.0]
    """

    coefficients: Array

    name = "convolution"

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.coefficients)
        except ValueError:
            given = np.asarray(None)
        own = np.array(given, dtype=np.float64) if given.dtype.kind in "biuf" else np.full(1, np.nan)
        integer("count", own.size, least=1, most=MOST_STEPS)
        if own.ndim != 1 or not np.isfinite(own).all() or not np.any(own):
            raise ArgumentError("coefficients", UNSHOWN, "one finite number for each step, not all 0")
        own.flags.writeable = False
        object.__setattr__(self, "coefficients", own)

    @property
    def count(self) -> int:  # type: ignore[override]
        """T."""
        return len(self.coefficients)

    @property
    def size(self) -> int:
        """T."""
        return self.count

    def apply(self, series: Array) -> Array:
        """Return the convolution."""
        return convolve(self.coefficients, np.asarray(series, dtype=np.float64))

    def column_norm(self, norm: str) -> float:
        """Return ‖c‖."""
        return length(self.coefficients, norm)

    def box_norm(self, norm: str) -> float:
        """Return the norm of the running sums of |c|."""
        return length(np.cumsum(np.abs(self.coefficients)), norm) * UP

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no coefficient is negative."""
        return bool(np.all(self.coefficients >= 0.0))

    @cached_property
    def error(self) -> float:
        """See the module."""
        return convolution_error(self.coefficients, self.count)


@dataclass(frozen=True)
class PrefixSums(Operator):
    """The running sums themselves, S_1 + … + S_t: what a plain release would put noise on.

    Column t has T − t ones. In a running sum of floats entry t errs by at most t·u·‖S‖₁, so all of them in L2 by at
    most T^1.5·u·‖S‖₁.

    >>> PrefixSums(3).apply(np.ones(3)).tolist()
    [1.0, 2.0, 3.0]
    """

    count: int

    name = "running sums"

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)

    @property
    def size(self) -> int:
        """T."""
        return self.count

    def apply(self, series: Array) -> Array:
        """Return the running sums."""
        return np.cumsum(np.asarray(series, dtype=np.float64))

    def column_norm(self, norm: str) -> float:
        """Return √T or T."""
        return length(np.ones(self.count), norm)

    def box_norm(self, norm: str) -> float:
        """Return ‖(1, 2, …, T)‖."""
        return length(np.arange(1.0, self.count + 1.0), norm)

    @property
    def nonnegative(self) -> bool:
        """True."""
        return True

    @property
    def error(self) -> float:
        """T^1.5·u; see the class."""
        return self.count * math.sqrt(self.count) * UNIT_ROUNDOFF * UP
