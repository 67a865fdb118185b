"""The leading Fourier coefficients of a series as an ``Operator``, with the proofs of its norms and its float error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from discreet.arguments import integer
from discreet.queries.bound import UNIT_ROUNDOFF
from discreet.queries.series.operators import MOST_STEPS, ROOT_5, UP, Array, Operator, transform_length, upper_norm

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
    eta = (transform_length(count).bit_length() - 1) * (ROOT_5 + 2.0) * UNIT_ROUNDOFF
    if count & (count - 1) == 0:
        return 2.0 * math.sqrt(2.0) * (eta + 4.0 * UNIT_ROUNDOFF)
    largest = float(np.abs(_chirp(count)[1]).max()) * 1.01
    transforms = eta * math.sqrt(2.0 * count) + (2.0 * eta + ROOT_5 * UNIT_ROUNDOFF) * largest
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
