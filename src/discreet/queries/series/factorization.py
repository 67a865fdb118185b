"""Factorizations of running sums and other linear answers, which make their noise small.

What is wanted is A·S, for example all running sums. It is written as A = B·C. The mechanism releases C·S with noise,
whose scale follows from the columns of C, and B is applied to what came out, which costs nothing (the matrix mechanism;
Li et al. 2010). The noise of answer t is then that of row t of B: its standard deviation is the scale times ‖B_t‖₂.

For running sums A is the lower triangle of ones, the Toeplitz matrix of 1/(1 − z). Its square root B = C, the Toeplitz
matrix of (1 − z)^(−1/2) = Σ f_k z^k with f_0 = 1 and f_k = f_{k−1}·(1 − 1/(2k)), has ‖f[:T]‖² = ln(T)/π + O(1), so the
largest standard deviation grows as ln(T)/π, where a tree has log₂ T (Fichtenberger, Henzinger and Upadhyay 2023).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer
from discreet.queries.series.operators import (
    MOST_STEPS,
    UP,
    Operator,
    Toeplitz,
    convolution_error,
    convolve,
    upper_norm,
)

Array = NDArray[np.float64]


class Factorization(ABC):
    """A = B·C, with T answers.

    Attributes
    ----------
    operator : Operator
        C: what is released of the series.
    """

    operator: Operator

    @abstractmethod
    def decode(self, released: Array) -> Array:
        """Return B times what was released: the answers, shape (T,)."""

    @property
    @abstractmethod
    def weights(self) -> Array:
        """‖B_t‖₂ for each answer: its standard deviation for noise of standard deviation 1."""

    @property
    @abstractmethod
    def peaks(self) -> Array:
        """max_s |B_ts| for each answer."""

    def errors(self, norm: str = "l2") -> Array:
        """Return the standard deviation of each answer for events of size 1 that come or go, and noise scaled to Δ.

        >>> square_root(1024).errors().max().round(2)
        np.float64(3.27)
        """
        return np.asarray(self.operator.column_norm(norm) * self.weights)


@dataclass(frozen=True, eq=False)
class ToeplitzFactorization(Factorization):
    """Both factors are Toeplitz matrices: C of c and B of b, so A is that of their convolution.

    The standard deviation of answer t is ‖b[:t + 1]‖₂, a running sum of squares.
    """

    operator: Toeplitz
    decoder: Array

    def decode(self, released: Array) -> Array:
        """Return the convolution with b."""
        return convolve(self.decoder, np.asarray(released, dtype=np.float64))

    @cached_property
    def weights(self) -> Array:
        """‖b[:t + 1]‖₂."""
        return np.sqrt(np.cumsum(self.decoder * self.decoder))

    @cached_property
    def peaks(self) -> Array:
        """The largest of |b[:t + 1]|."""
        return np.asarray(np.maximum.accumulate(np.abs(self.decoder)))


def square_root_terms(count: int) -> Array:
    """Return f_0, …, f_{T−1} of (1 − z)^(−1/2).

    >>> square_root_terms(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    k = np.arange(1.0, count)
    return np.concatenate([[1.0], np.cumprod(1.0 - 0.5 / k)])


def square_root(count: int) -> ToeplitzFactorization:
    """Return the running sums as a Toeplitz square root, twice."""
    terms = square_root_terms(integer("steps", count, least=1, most=MOST_STEPS))
    return ToeplitzFactorization(Toeplitz(terms), terms)


def series_quotient(numerator: Array, denominator: Array) -> Array:
    """Return b with b * c = h, as power series of T terms, c_0 ≠ 0: by Newton's iteration g ← g·(2 − c·g) for 1/c.

    >>> series_quotient(np.ones(4), np.array([1.0, -1.0, 0.0, 0.0])).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    count = len(numerator)
    inverse = np.array([1.0 / denominator[0]])
    while len(inverse) < count:
        size = min(2 * len(inverse), count)
        padded = np.concatenate([inverse, np.zeros(size - len(inverse))])
        remainder = -convolve(padded, denominator[:size])
        remainder[0] += 2.0
        inverse = convolve(padded, remainder)
    result = convolve(inverse, numerator)
    return np.asarray(result + convolve(inverse, numerator - convolve(result, denominator)))


MOST_BLOCKS = MOST_STEPS.bit_length() - 1  # of 1, 2, 4, … steps, in as many as there may be
WITHIN, BETWEEN = math.sqrt(2.0 / 3.0), math.sqrt(1.0 / 3.0)  # of the two layers; their squares sum to 1
BETWEEN_NORM = upper_norm(square_root_terms(MOST_BLOCKS), "l2")


@dataclass(frozen=True, eq=False)
class Blocks(Operator):
    """Square roots of blocks of 1, 2, 4, … steps, and the square root of the totals of the blocks that are finished.

    Both layers are divided by their norms, ‖f[:2^i]‖ and ‖f[:22]‖, also where the series ends before: who releases as
    time goes by does not know when it will. An event falls into one block, so its column has a part of norm at most √⅔
    in the first layer and one of at most √⅓ in the second: 1 together. The numbers of the second layer come last.
    """

    count: int

    name = "square roots of doubling blocks"
    nonnegative = True

    def __post_init__(self) -> None:
        integer("count", self.count, least=1, most=MOST_STEPS)

    @cached_property
    def terms(self) -> Array:
        """f, as many as the longest block has steps, or as there may be blocks."""
        return square_root_terms(max(1 << (self.count.bit_length() - 1), MOST_BLOCKS))

    @cached_property
    def blocks(self) -> list[tuple[slice, float]]:
        """Where each block is, and by what its numbers are divided: ‖f[:2^i]‖₂/√⅔, rounded up."""
        squares = np.cumsum(self.terms**2)
        starts = [(1 << i) - 1 for i in range(self.count.bit_length())]
        return [
            (slice(start, min(2 * start + 1, self.count)), math.sqrt(squares[start]) * UP / WITHIN)
            for start in starts
            if start < self.count
        ]

    @property
    def finished(self) -> int:
        """How many blocks the series has as a whole."""
        return (self.count + 1).bit_length() - 1

    @property
    def size(self) -> int:
        """T, and the finished blocks."""
        return self.count + self.finished

    def apply(self, series: Array) -> Array:
        """Return the convolutions of the blocks, and that of their totals."""
        own = np.asarray(series, dtype=np.float64)
        parts = [convolve(self.terms[: len(own[place])], own[place]) / norm for place, norm in self.blocks]
        totals = np.array([own[place].sum() for place, _ in self.blocks[: self.finished]])
        return np.concatenate([*parts, convolve(self.terms[: self.finished], totals) * (BETWEEN / BETWEEN_NORM)])

    def column_norm(self, norm: str) -> float:
        """Return 1 in L2; in L1 at most the largest ‖f[:n]‖₁ over its block's norm, and that of the second layer."""
        if norm == "l2":
            return UP
        first = max(upper_norm(self.terms[: place.stop - place.start], "l1") / own for place, own in self.blocks)
        return first + upper_norm(self.terms[: self.finished], "l1") * BETWEEN / BETWEEN_NORM

    def box_norm(self, norm: str) -> float:
        """Return the norm of O·1, as computed, and what that may err."""
        charged = self.error * self.count * (math.sqrt(self.size) if norm == "l1" else 1.0)
        return upper_norm(self.apply(np.ones(self.count)), norm) + charged

    @cached_property
    def error(self) -> float:
        """The worst of the blocks', a rounding more for the division; and that of the second layer.

        A total of 2^i numbers, summed pairwise, errs by at most 100·u of their sizes, and a column is at most √⅓ long.
        """
        each = [(p.stop - p.start, own) for p, own in self.blocks]
        first = max(1.01 * convolution_error(self.terms[:steps], steps) / own for steps, own in each)
        return first + 1.01 * (convolution_error(self.terms[: self.finished], self.finished) + 100.0 * 2.0**-53)


@dataclass(frozen=True, eq=False)
class DoublingSums(Factorization):
    """Running sums whose length need not be known beforehand, from ``Blocks``.

    Within block i answer j is the sum of the finished blocks, from the second layer, and the first j + 1 steps of its
    own, from the first. At the end of a block it is the sum of the finished ones alone.
    """

    operator: Blocks

    def _spread(self, within: Callable[[slice, float], Array], finished: Array) -> Array:
        """Return what a block has within itself, added to what the finished blocks before it have."""
        parts = []
        for i, (place, norm) in enumerate(self.operator.blocks):
            part = within(place, norm) + (finished[i - 1] if i else 0.0)
            if i < len(finished):
                part[-1] = finished[i]
            parts.append(part)
        return np.concatenate(parts)

    def decode(self, released: Array) -> Array:
        """Return the running sums."""
        own, terms, count = np.asarray(released, dtype=np.float64), self.operator.terms, self.operator.count
        finished = convolve(terms[: self.operator.finished], own[count:]) * (BETWEEN_NORM / BETWEEN)
        return self._spread(lambda place, norm: norm * convolve(terms[: len(own[place])], own[place]), finished)

    @cached_property
    def weights(self) -> Array:
        """The root of the two layers' squares."""
        squares = np.cumsum(self.operator.terms**2)
        finished = squares[: self.operator.finished] * (BETWEEN_NORM / BETWEEN) ** 2
        return np.sqrt(self._spread(lambda place, norm: norm**2 * squares[: place.stop - place.start], finished))

    @cached_property
    def peaks(self) -> Array:
        """The larger of the layers' norms, since f_0 = 1 is the largest of f; the second layer's alone at an end."""
        between = BETWEEN_NORM / BETWEEN
        parts = []
        for i, (place, norm) in enumerate(self.operator.blocks):
            part = np.full(place.stop - place.start, max(norm, between) if i else norm)
            if i < self.operator.finished:
                part[-1] = between
            parts.append(part)
        return np.concatenate(parts)


@dataclass(frozen=True)
class Tree(Operator):
    """Sums of dyadic blocks, from single steps upwards.

    They are those of Dwork, Naor, Pitassi and Rothblum (2010) and of Chan, Shi and Song (2011). Level l has the sums of
    steps [i·2^l, (i + 1)·2^l), as many as lie within the series. A step is in at most one block of each level, and the
    first is in one of each of the ⌊log₂ T⌋ + 1 levels. So that is the largest column's L1 norm, and its root the L2
    norm. A running sum is the sum of one block for every binary digit 1 of its length.

    It is here as a baseline, and for δ = 0: its L1 norm is small, so it takes Laplace noise well.

    >>> Tree(4).apply(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 3.0, 4.0, 3.0, 7.0, 10.0]
    """

    count: int

    name = "binary tree"
    nonnegative = True

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
        return upper_norm(np.concatenate([np.full(self.count >> j, 2.0**j) for j in range(self.levels)]), norm)

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
