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
from functools import cached_property, lru_cache
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


Complex = NDArray[np.complex128]

FEW = 2**22  # cosines that the exact L1 norm of a column may take


@lru_cache(maxsize=8)
def _chirp(count: int) -> tuple[Complex, Complex]:
    """Return w_0, …, w_{T−1}, and the transform of w_n for |n| < T."""
    n = np.arange(count)
    w = np.exp(1j * np.pi * ((n * n) % (2 * count)) / count)
    around = np.zeros(transform_length(count), dtype=np.complex128)
    around[:count] = w
    around[len(around) - count + 1 :] = w[:0:-1]
    return w, np.asarray(fft.fft(around))


def _transform(series: Array) -> Complex:
    """Return the discrete Fourier transform of a real series up to the middle frequency."""
    count = len(series)
    half = count // 2 + 1
    if count & (count - 1) == 0:
        return np.asarray(fft.rfft(series))
    w, around = _chirp(count)
    result = fft.ifft(fft.fft(series * w.conj(), len(around)) * around)
    return np.asarray(result[:half] * w[:half].conj())


@dataclass(frozen=True)
class Fourier(Operator):
    """The leading k real Fourier coefficients of T steps.

    **Basis.** The constant 1/√T, then for j = 1, 2, … the pairs √(2/T)·cos(2πjt/T) and √(2/T)·sin(2πjt/T), and for even
    T at last (−1)^t/√T. These T rows are orthonormal. F is the first k of them, with whole pairs.

    **Norms.** For odd k each column has ‖F·e_t‖₂² = 1/T + (k − 1)/2·(2/T)·(cos² + sin²) = k/T, whatever t is; all T
    rows have T/T = 1. A column's L1 norm is at most √k·√(k/T) = k/√T; for short series the largest is computed. Over a
    box: ‖F·x‖₂ ≤ ‖x‖₂, attained by a constant, so ‖h‖₂ for |x_t| ≤ h_t, and at most √k times that in L1.

    **Float error.** For T = 2^p one fast transform, else three of L = 2^p ≥ 2T by Bluestein's chirp w_n = e^(iπn²/T):
    X_j = w̄_j·Σ_t (S_t·w̄_t)·w_{j−t}. As in ``convolution_error``, with η for one transform, W = max|Fw| and a_t =
    S_t·w̄_t, the transforms' errors come to at most η‖w‖₂‖a‖₁ + (2η + √5·u)·W·‖a‖₂ ≤ (η√(2T) + (2η + √5·u)·W)·‖S‖₁.
    Those of w (16u each, as its angle is an exact fraction of a turn) and of two products come to 52u·√T·‖S‖₁, and
    √(2/T) scales it all. Twice that is charged.

    Parameters
    ----------
    count : int
        T.
    kept : int
        k: odd, for whole pairs, or T.

    Examples
    --------
    >>> operator = Fourier(4, 3)
    >>> operator.matrix.round(3).tolist()[0]
    [0.5, 0.5, 0.5, 0.5]
    >>> operator.back(operator.apply(np.ones(4))).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    count: int
    kept: int

    name = "Fourier coefficients"

    def __post_init__(self) -> None:
        T = integer("count", self.count, least=1, most=MOST_STEPS)
        k = integer("coefficients", self.kept, least=1, most=T)
        if k % 2 == 0 and k != T:
            raise ValueError(
                f"coefficients={k}: expected an odd number, a constant and whole pairs of a cosine and a sine, or all "
                f"{T}; write coefficients={k + 1}"
            )

    @property
    def size(self) -> int:
        """How many coefficients."""
        return self.kept

    def apply(self, series: Array) -> Array:
        """Return F·S."""
        result = _transform(np.asarray(series, dtype=np.float64)) / math.sqrt(self.count)
        pairs = math.sqrt(2.0) * result[1 : (self.count + 1) // 2]
        middle = result[self.count // 2 :].real if self.count % 2 == 0 else np.zeros(0)
        both = np.stack([pairs.real, -pairs.imag], axis=1).ravel()
        return np.concatenate([result[:1].real, both, middle])[: self.kept]

    def back(self, coefficients: Array) -> Array:
        """Return Fᵀ·c: the series that has these coefficients, and no others."""
        whole = np.zeros(self.count)
        whole[: self.kept] = coefficients
        pairs = whole[1 : 1 + 2 * ((self.count - 1) // 2)].reshape(-1, 2) / math.sqrt(2.0)
        middle = whole[-1:] if self.count % 2 == 0 else np.zeros(0)
        result = np.concatenate([whole[:1], pairs[:, 0] - 1j * pairs[:, 1], middle]) * math.sqrt(self.count)
        return np.asarray(fft.irfft(result, self.count))

    def column_norm(self, norm: str) -> float:
        """Return √(k/T), or at most k/√T in L1."""
        if norm == "l2":
            return math.sqrt(self.kept / self.count) * UP
        return _column_l1(self.count, self.kept)

    def box_norm(self, norm: str) -> float:
        """Return √T, or √(kT) in L1."""
        return self.reach(np.ones(self.count), norm)

    def reach(self, halves: Array, norm: str) -> float:
        """Return ‖h‖₂, or √k times that in L1."""
        return upper_norm(halves, "l2") * (math.sqrt(self.kept) if norm == "l1" else 1.0)

    @property
    def nonnegative(self) -> bool:
        """Only of the constant."""
        return self.kept == 1

    @property
    def opposed(self) -> float:
        """ρ ≥ 0: no two columns have an inner product below −ρ·k/T."""
        return _opposed(self.count, self.kept)

    @property
    def error(self) -> float:
        """See the class."""
        return _error(self.count)


@lru_cache(maxsize=64)
def _error(count: int) -> float:
    eta = (transform_length(count).bit_length() - 1) * (math.sqrt(5.0) + 2.0) * UNIT_ROUNDOFF
    if count & (count - 1) == 0:
        return 2.0 * math.sqrt(2.0) * (eta + 4.0 * UNIT_ROUNDOFF)
    largest = float(np.abs(_chirp(count)[1]).max()) * 1.01
    transforms = eta * math.sqrt(2.0 * count) + (2.0 * eta + math.sqrt(5.0) * UNIT_ROUNDOFF) * largest
    return 2.0 * math.sqrt(2.0 / count) * (transforms + 52.0 * UNIT_ROUNDOFF * math.sqrt(count))


@lru_cache(maxsize=256)
def _opposed(count: int, kept: int) -> float:
    """Return ρ: ⟨F·e_t, F·e_0⟩ = (FᵀF·e_0)_t, which depends on t − t' alone; 2⁻⁴⁰ is for float error."""
    operator, first = Fourier(count, kept), np.eye(1, count)[0]
    return max(0.0, 2.0**-40 - float(operator.back(operator.apply(first)).min()) * count / kept)


@lru_cache(maxsize=256)
def _column_l1(count: int, kept: int) -> float:
    """Return the largest L1 norm of a column, exactly where it is quick."""
    pairs = (kept - 1) // 2
    if count * pairs > FEW:
        return kept / math.sqrt(count) * UP
    ends = kept - 2 * pairs  # the constant, and the alternating row
    angles = 2.0 * np.pi * (np.outer(np.arange(count), np.arange(1, pairs + 1)) % count) / count
    sizes = (np.abs(np.cos(angles)) + np.abs(np.sin(angles))).sum(axis=1)
    return float(ends + math.sqrt(2.0) * sizes.max()) / math.sqrt(count) * UP
