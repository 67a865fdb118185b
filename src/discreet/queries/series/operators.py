"""Operators: public linear maps of a series, with the norms that a sensitivity needs.

A series S has T steps. What is released of it is O·S with noise, O a public matrix of ``size`` × T, which is never
formed. One event of value v at step t adds v·O·e_t, so its norm is |v| times that of a column; one person who is in
every step adds O·x for an x in a box. An operator knows both, and how far its own floats are from the exact product.

To write one: subclass ``Operator``, give ``name``, ``size``, ``count``, ``apply``, ``column_norm``, ``box_norm``,
``nonnegative`` and ``error``, each with its proof. The tests hold them against the matrix for small T.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.bound import UNIT_ROUNDOFF

Array = NDArray[np.float64]

MOST_STEPS = 2**22
UP = 1.0 + 2.0**-40  # more than the float error of a norm of MOST_STEPS squares, summed pairwise


def upper_norm(values: Array, norm: str) -> float:
    """Return the L1 or L2 norm, rounded up.

    NumPy sums pairwise: 4·10⁶ terms pass through fewer than 200 roundings each, and the root, the squares and the
    entries themselves add a few. 2⁻⁴⁰ is forty times as much.

    >>> upper_norm(np.array([3.0, -4.0]), "l1") > 7.0, upper_norm(np.array([3.0, -4.0]), "l2") > 5.0
    (True, True)
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = sizes / largest
    total = float(scaled.sum()) if norm == "l1" else float(np.sqrt((scaled * scaled).sum()))
    return largest * total * UP


class Operator(ABC):
    """A public linear map of T steps to ``size`` numbers. Its subclasses are frozen dataclasses of public numbers.

    Attributes
    ----------
    name : str
        For the ledger and the release.
    count : int
        T.
    """

    name: ClassVar[str]
    count: int

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers O·S has."""

    @abstractmethod
    def apply(self, series: Array) -> Array:
        """Return O·S for S of shape (T,), in near-linear time; total: it raises for no finite series."""

    @abstractmethod
    def column_norm(self, norm: str) -> float:
        """Return at least max_t ‖O·e_t‖ in "l1" or "l2"."""

    @abstractmethod
    def box_norm(self, norm: str) -> float:
        """Return at least sup ‖O·z‖ over all z in [−1, 1]^T."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether no entry of O is negative."""

    @property
    @abstractmethod
    def error(self) -> float:
        """A bound on ‖computed O·S − O·S‖₂ over ‖S‖₁, for what ``apply`` does."""

    def reach(self, halves: Array, norm: str) -> float:
        """Return at least sup ‖O·x‖ over all x with |x_t| ≤ h_t.

        If no entry is negative, |O·x| ≤ O·|x| ≤ O·h in each coordinate, so it is ‖O·h‖, attained at x = h. Computing it
        errs by at most error·‖h‖₁ in L2, so by √size times that in L1. Else it is at most max h times ``box_norm``.
        """
        sizes = np.asarray(halves, dtype=np.float64)
        most = float(sizes.max())
        if not self.nonnegative or bool(np.all(sizes == most)):
            return most * self.box_norm(norm)
        charged = self.error * upper_norm(sizes, "l1") * (np.sqrt(self.size) if norm == "l1" else 1.0)
        return upper_norm(self.apply(sizes), norm) + float(charged)

    @cached_property
    def matrix(self) -> Array:
        """O itself, shape (size, T): for the search of worst neighbours and for tests, where T is small."""
        return np.stack([self.apply(one) for one in np.eye(self.count)], axis=1)


@dataclass(frozen=True)
class Identity(Operator):
    """The series itself. Every column has norm 1; z itself has norm √T, or T in L1; nothing is rounded.

    >>> Identity(4).column_norm("l2"), Identity(4).apply(np.arange(4.0)).tolist()
    (1.0, [0.0, 1.0, 2.0, 3.0])
    """

    count: int

    name = "every step"
    nonnegative = True
    error = 0.0  # nothing is computed

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)

    @property
    def size(self) -> int:
        """T."""
        return self.count

    def apply(self, series: Array) -> Array:
        """Return S."""
        return np.asarray(series, dtype=np.float64)

    def column_norm(self, norm: str) -> float:
        """Return 1."""
        return 1.0

    def box_norm(self, norm: str) -> float:
        """Return √T or T."""
        return float(self.count) if norm == "l1" else upper_norm(np.ones(self.count), "l2")

    def reach(self, halves: Array, norm: str) -> float:
        """Return ‖h‖, which x = h attains."""
        return upper_norm(halves, norm)


@dataclass(frozen=True)
class Picked(Operator):
    """Some steps of the series, each once, in the order given.

    >>> Picked(4, (3, 1)).apply(np.arange(4.0)).tolist()
    [3.0, 1.0]
    """

    count: int
    places: tuple[int, ...]

    name = "some steps"
    nonnegative = True
    error = 0.0  # nothing is computed

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)
        try:
            given = tuple(self.places)
        except TypeError:
            given = ()
        places = tuple(integer("places", place, least=0, most=self.count - 1) for place in given)
        if not places or len(set(places)) < len(places):
            raise ArgumentError("places", UNSHOWN, f"at least one step, each once, from 0 to {self.count - 1}")
        object.__setattr__(self, "places", places)

    @property
    def size(self) -> int:
        """How many steps were picked."""
        return len(self.places)

    def apply(self, series: Array) -> Array:
        """Return the picked steps."""
        return np.asarray(series, dtype=np.float64)[list(self.places)]

    def column_norm(self, norm: str) -> float:
        """Return 1: a step goes into one place, or none."""
        return 1.0

    def box_norm(self, norm: str) -> float:
        """Return √size or size."""
        return float(self.size) if norm == "l1" else upper_norm(np.ones(self.size), "l2")


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

    *By fast transforms.* A fast Fourier transform F̃ of 2^p numbers errs by ‖F̃x − Fx‖₂ ≤ η‖Fx‖₂ with η = p·(√5 + 2)·u
    to first order (Percival 2003; Brent, Percival and Zimmermann 2007, for radix 2 and roots of unity right to u;
    SciPy's radix-4 passes multiply less). With L = 2^p, ‖Fx‖₂ = √L·‖x‖₂ and ‖Fx‖_∞ ≤ ‖x‖₁. The two transforms put an
    error into the product of at most

        ‖(F̃c − Fc)·FS‖₂ + ‖Fc·(F̃S − FS)‖₂ ≤ η√L·(‖c‖₂‖S‖₁ + ‖c‖₁‖S‖₂),

    the products add √5·u of the same, the inverse transform η times ‖Fc·FS‖₂ ≤ √L·‖c‖₂‖S‖₁, and 1/√L takes the root
    away. As ‖S‖₂ ≤ ‖S‖₁ all is at most (3η + √5·u)·‖c‖₁·‖S‖₁. We charge twice that, which covers second orders and
    coefficients that are themselves rounded by some u each.

    *Directly.* A convolution of k coefficients errs by at most (k + 1)·u of the convolution of |c| and |S|, whose norm
    is at most ‖c‖₂‖S‖₁ ≤ ‖c‖₁‖S‖₁; twice that is charged.
    """
    size = upper_norm(coefficients, "l1")
    if len(coefficients) <= SHORT:
        return 2.0 * (len(coefficients) + 1) * UNIT_ROUNDOFF * size
    levels = transform_length(count).bit_length() - 1
    return 2.0 * (3.0 * levels * (ROOT_5 + 2.0) + ROOT_5) * UNIT_ROUNDOFF * size


@dataclass(frozen=True, eq=False)
class Toeplitz(Operator):
    """The convolution with public coefficients: a causal time-invariant operator, by its first column.

    O·S is the convolution of S with the coefficients c, cut off at T. Column t holds c[:T − t], so the first is the
    longest: ``column_norm`` is ‖c‖. For z in [−1, 1]^T coordinate t of O·z is at most Σ_{s≤t} |c_s|, all at once for z
    = 1 if no c is negative: ``box_norm`` is the norm of the running sums of |c|.

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
        return upper_norm(self.coefficients, norm)

    def box_norm(self, norm: str) -> float:
        """Return the norm of the running sums of |c|."""
        return upper_norm(np.cumsum(np.abs(self.coefficients)), norm) * UP

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no coefficient is negative."""
        return bool(np.all(self.coefficients >= 0.0))

    @cached_property
    def error(self) -> float:
        """That of ``convolution_error``."""
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
    nonnegative = True

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
        return upper_norm(np.ones(self.count), norm)

    def box_norm(self, norm: str) -> float:
        """Return ‖(1, 2, …, T)‖."""
        return upper_norm(np.arange(1.0, self.count + 1.0), norm)

    @property
    def error(self) -> float:
        """T^1.5·u; see the class."""
        return self.count * math.sqrt(self.count) * UNIT_ROUNDOFF * UP


@dataclass(frozen=True)
class StepsAndBlocks(Operator):
    """Every step, and the sums of blocks of ``width`` steps: a tree of two levels.

    A step is in one block, so every column has two ones: norm 2 in L1, √2 in L2. A block sums at most ``width``
    numbers, each within (width − 1)·u of its share, so all of them together err by at most width·u·‖S‖₁. For running
    sums under Laplace noise it is better than single steps from some tens of steps on, with blocks of about √T
    (Qardaji, Yang and Li 2013).

    >>> StepsAndBlocks(5, 2).apply(np.arange(5.0)).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 1.0, 5.0, 4.0]
    """

    count: int
    width: int

    name = "steps and blocks"
    nonnegative = True

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)
        integer("width", self.width, least=1, most=self.count)

    @property
    def size(self) -> int:
        """T, and the number of blocks; the last one may be shorter."""
        return self.count + -(-self.count // self.width)

    def apply(self, series: Array) -> Array:
        """Return the steps and the sums of the blocks."""
        own = np.asarray(series, dtype=np.float64)
        return np.concatenate([own, np.add.reduceat(own, np.arange(0, self.count, self.width))])

    def column_norm(self, norm: str) -> float:
        """Return 2 or √2."""
        return 2.0 if norm == "l1" else math.sqrt(2.0) * UP

    def box_norm(self, norm: str) -> float:
        """Return the norm of the blocks' lengths and of ones."""
        return upper_norm(self.apply(np.ones(self.count)), norm)

    @property
    def error(self) -> float:
        """width·u; see the class."""
        return self.width * UNIT_ROUNDOFF * UP
