"""Buffered linear Toeplitz (BLT) factors of running sums: near the optimal square root, with a few numbers of memory.

The square root (1 − z)^(−1/2) needs all of the past at each step. Instead take the rational

    c(z) = Π_j (1 − θ̂_j z)/(1 − θ_j z) = 1 + Σ_j ω_j z/(1 − θ_j z),   c_n = Σ_j ω_j θ_j^(n−1),

which k buffers compute: each is multiplied by θ_j and gets the new number. Its inverse is of the same kind, with θ and
θ̂ exchanged, and so running sums are decoded with k buffers as well: b(z) = 1/((1 − z)·c(z)), whose coefficients are
b_n = β_0 + Σ_j β_j θ̂_j^n. (Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024; the parametrisation by both kinds
of poles is McMahan, Xu and Zhang's, 2024.)

If 1 > θ_1 > θ̂_1 > θ_2 > … > θ̂_k ≥ 0, all ω_j and all β_j are positive:
ω_j = Π_i (θ_j − θ̂_i)/Π_{i≠j} (θ_j − θ_i), and of its factors as many are negative above as below; the inverse's ω̂_j are
negative for the same reason, β_j = −ω̂_j/(1 − θ̂_j), and β_0 = 1/c(1) = Π (1 − θ_j)/(1 − θ̂_j). So no sum below cancels.
And c_1 = Σ(θ_j − θ̂_j) < θ_1 < 1, from where on c falls: no c_n is above c_0 = 1, and none is negative.

The poles are chosen to make ‖c[:T]‖·‖b[:T]‖ small, the largest standard deviation over T steps; both norms are
geometric sums over pairs of poles. This uses T alone. The sensitivity is that of the c that was found, whatever it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.arguments import integer
from discreet.queries.series.factorization import (
    BETWEEN,
    BETWEEN_NORM,
    MOST_BLOCKS,
    ToeplitzFactorization,
    square_root_terms,
)
from discreet.queries.series.operators import MOST_STEPS, Toeplitz

Array = NDArray[np.float64]


def _weights(gaps: Array, other: Array) -> Array:
    """Return ω_j for poles 1 − gaps and zeros 1 − other: Π_i (o_i − g_j)/Π_{i≠j} (g_i − g_j)."""
    above = other[None, :] - gaps[:, None]
    below = gaps[None, :] - gaps[:, None]
    np.fill_diagonal(below, 1.0)
    return np.asarray(np.prod(above / below, axis=1))


def _square_norm(weights: Array, gaps: Array, count: int) -> float:
    """Return Σ_{n<count} (Σ_j w_j (1 − g_j)^n)², for gaps in [0, 1]."""
    logs = np.log1p(-np.minimum(gaps, 1.0 - 1e-16))
    pairs = gaps[:, None] + gaps[None, :] - gaps[:, None] * gaps[None, :]
    powers = -np.expm1(count * (logs[:, None] + logs[None, :]))
    sums = np.where(pairs > 0.0, powers / np.where(pairs > 0.0, pairs, 1.0), float(count))
    return float(weights @ sums @ weights)


@dataclass(frozen=True)
class Buffered:
    """A rational factor for T steps, by its gaps 1 − θ_j and 1 − θ̂_j, which keep their digits where θ is close to 1."""

    count: int
    gaps: tuple[float, ...]
    zeros: tuple[float, ...]

    @cached_property
    def poles(self) -> Array:
        """θ, by which the buffers of C are multiplied."""
        return 1.0 - np.array(self.gaps)

    @cached_property
    def weights(self) -> Array:
        """ω, with which the buffers of C are read."""
        return _weights(np.array(self.gaps), np.array(self.zeros))

    @cached_property
    def inverse_poles(self) -> Array:
        """θ̂, for the buffers of C⁻¹."""
        return 1.0 - np.array(self.zeros)

    @cached_property
    def inverse_weights(self) -> Array:
        """ω̂, with which the buffers of C⁻¹ are read."""
        return _weights(np.array(self.zeros), np.array(self.gaps))

    @cached_property
    def terms(self) -> Array:
        """c[:T], computed from θ and ω as they are."""
        n = np.arange(self.count - 1.0)
        tail = sum((w * t**n for w, t in zip(self.weights, self.poles, strict=True)), np.zeros(self.count - 1))
        return np.concatenate([[1.0], tail])

    @cached_property
    def decoder(self) -> Array:
        """b[:T]."""
        n = np.arange(float(self.count))
        level, sizes = self._levels
        terms = (w * t**n for w, t in zip(sizes, self.inverse_poles, strict=True))
        return np.asarray(sum(terms, np.full(self.count, level)))

    @cached_property
    def _levels(self) -> tuple[float, Array]:
        gaps, zeros = np.array(self.gaps), np.array(self.zeros)
        return float(np.prod(gaps / zeros)), -self.inverse_weights / zeros

    @cached_property
    def norm(self) -> float:
        """‖c[:T]‖₂, rounded up: the sensitivity for events of size 1.

        The closed form has k² positive terms, each right to some hundreds of u (where a power θ^T matters, T·|ln θ| is
        small). It has 1 − gap for θ, which is rounded: so a term of c is off by at most T·u ≤ 2⁻³¹ of it. 2⁻³⁰ is
        charged.
        """
        return math.sqrt(1.0 + _square_norm(self.weights, np.array(self.gaps), self.count - 1)) * (1.0 + 2.0**-30)

    def decoder_norm(self, count: int) -> float:
        """Return ‖b[:count]‖₂, the standard deviation of a running sum of so many steps for noise of scale 1."""
        level, sizes = self._levels
        zeros = np.concatenate([[0.0], np.array(self.zeros)])
        return math.sqrt(_square_norm(np.concatenate([[level], sizes]), zeros, count))


def default_buffers(count: int) -> int:
    """Return how many buffers are used: 2 for short series, up to 6 for a million steps."""
    return min(2 + max(count.bit_length() - 4, 0) // 4, 6)


@lru_cache(maxsize=128)
def fit_factor(count: int, buffers: int | None = None) -> Buffered:
    """Return the factor for T steps: poles that make the largest standard deviation small, from T alone.

    The gaps start evenly spread on a log scale from 1 to 1/T, poles and zeros in turn; L-BFGS moves the logs of their
    ratios, so their order stays.

    Examples
    --------
    >>> result = fit_factor(1000, 4)
    >>> round(result.norm * result.decoder_norm(1000), 1)
    3.3
    """
    count = integer("steps", count, least=1, most=MOST_STEPS)
    k = integer("buffers", default_buffers(count) if buffers is None else buffers, least=1, most=10)
    if count == 1:
        return Buffered(1, (0.5,), (0.75,))
    least = 0.3 / count

    def made(logs: Array) -> Buffered:
        ends = np.exp(-np.cumsum(np.exp(np.clip(logs, -12.0, 5.0))))[::-1]  # increasing, below 1
        return Buffered(count, tuple(ends[0::2].tolist()), tuple(ends[1::2].tolist()))

    def cost(logs: Array) -> float:
        one = made(logs)
        return math.log(one.norm) + math.log(one.decoder_norm(count))

    start = np.full(2 * k, math.log(-math.log(least) / (2 * k)))
    result = minimize(cost, start, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-10})
    return made(result.x if cost(result.x) < cost(start) else start)


def factorize_buffered(count: int, buffers: int | None = None) -> ToeplitzFactorization:
    """Return the running sums by the factor for T steps."""
    own = fit_factor(count, buffers)
    return ToeplitzFactorization(Toeplitz(own.terms), own.decoder)


class BufferedRun:
    """One factor at work, step by step: private buffers in, public buffers out.

    Parameters
    ----------
    factor : Buffered
    scale : float
        What its numbers are divided by before they are released.
    """

    def __init__(self, factor: Buffered, scale: float = 1.0) -> None:
        self.factor, self.scale, self.done = factor, scale, 0
        self.value = 0.0
        self._private = np.zeros(len(factor.gaps))
        self._public = np.zeros(len(factor.gaps))
        self._sum = 0.0

    def encode(self, number: float) -> float:
        """Take in the sum of the next step, and return what is to be released with noise; private."""
        coded = (number + float(self.factor.weights @ self._private)) / self.scale
        self._private = self.factor.poles * self._private + number
        self._sum += number
        return coded

    @property
    def exact(self) -> float:
        """The sum of all steps; private."""
        return self._sum

    def decode(self, released: float) -> float:
        """Take in what was released, and return the running sum."""
        noisy = released * self.scale
        self.value += noisy + float(self.factor.inverse_weights @ self._public)
        self._public = self.factor.inverse_poles * self._public + noisy
        self.done += 1
        return self.value

    @property
    def finished(self) -> bool:
        """Whether its factor has no more steps."""
        return self.done == self.factor.count

    @property
    def variance(self) -> float:
        """That of the running sum, for noise of variance 1."""
        return (self.scale * self.factor.decoder_norm(self.done)) ** 2 if self.done else 0.0


class BufferedTotals:
    """The second layer of ``factorization.Blocks`` at work: the totals of finished blocks, of which there are few."""

    def __init__(self) -> None:
        self._private: list[float] = []
        self._public: list[float] = []
        self._terms = square_root_terms(MOST_BLOCKS)

    def encode(self, total: float) -> float:
        """Take in the sum of a block, and return what is to be released with noise; private."""
        self._private.append(total)
        return float(self._terms[: len(self._private)] @ np.array(self._private[::-1])) * (BETWEEN / BETWEEN_NORM)

    def decode(self, released: float) -> float:
        """Take in what was released, and return the sum of all finished blocks."""
        self._public.append(released)
        return float(self._terms[: len(self._public)] @ np.array(self._public[::-1])) * (BETWEEN_NORM / BETWEEN)

    @property
    def variance(self) -> float:
        """That of the sum of all finished blocks, for noise of variance 1."""
        own = self._terms[: len(self._public)]
        return float(own @ own) * (BETWEEN_NORM / BETWEEN) ** 2
