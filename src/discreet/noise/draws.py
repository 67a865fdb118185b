"""Draws other than noise on a grid: a weighted choice, a random direction, or none.

A mechanism names its draw, noise (``grid_noise``) or one of these, with public numbers. The door passes it a target
that was computed from rows, and random bits. Nothing else in the library combines rows and random bits. (The auxiliary
draws of a ``Plan`` see no row.)

A ``Distribution`` is anything that can be sampled: noise on a grid, whole numbers, random words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from discreet.noise.bingham import bingham, gibbs_bingham
from discreet.noise.bits import Bits, as_bits
from discreet.noise.discrete import bernoulli_exp, categorical, uniform_integers
from discreet.noise.grid_noise import Draw
from discreet.noise.integer_draws import Array, Size


class Distribution(Protocol):
    """Anything that can be sampled. ``exact`` says whether samples are exact, or up to float error."""

    @property
    def exact(self) -> bool:
        """Whether samples are exact."""

    def sample(self, size: Any, bits: Bits | None = None) -> Any:
        """Return samples."""


@dataclass(frozen=True)
class UniformIntegers:
    """Uniform over 0, …, high − 1."""

    high: int
    exact: ClassVar[bool] = True

    def sample(self, size: Size, bits: Bits | None = None) -> Any:
        """Return whole numbers."""
        return uniform_integers(self.high, size, bits)


@dataclass(frozen=True)
class RandomBits:
    """Whole numbers of ``count`` random bits."""

    count: int
    exact: ClassVar[bool] = True

    def sample(self, size: int, bits: Bits | None = None) -> Any:
        """Return whole numbers."""
        words = as_bits(bits).words(size)
        return (words >> np.uint64(64 - self.count)).astype(np.int64)


class RandomOrder:
    """A uniform order of some rows: by a random word each, all drawn again while two are equal, which favours none."""

    exact: ClassVar[bool] = True

    def sample(self, size: int, bits: Bits | None = None) -> Any:
        """Return the places of the rows."""
        bits = as_bits(bits)
        while True:
            words = bits.words(size)
            order = np.argsort(words, kind="stable")
            if np.all(np.diff(words[order]) != 0):
                return order


class Choose(Draw):
    """For each row of weights an index, with probability proportional to e^weight."""

    def draw(self, target: Array, bits: Bits | None) -> Array:
        """Return the indexes."""
        return np.array([float(categorical(weights, bits)) for weights in np.atleast_2d(target)])


@dataclass(frozen=True)
class ChooseCell(Draw):
    """As ``Choose``, and then a position inside of the chosen cell: uniform over ``places`` midpoints."""

    places: int

    def draw(self, target: Array, bits: Bits | None) -> Array:
        """Return index + place, the place between 0 and 1."""
        chosen = Choose().draw(target, bits)
        return chosen + (uniform_integers(self.places, len(chosen), bits) + 0.5) / self.places


class Runs(NamedTuple):
    """Whole numbers as candidates, in runs of one weight.

    Attributes
    ----------
    starts, counts : arrays of int
        Where each run begins, and how many numbers it has.
    weights : array
        The logarithm of the weight of each number in it.
    bundles : list of bool
        Whether the numbers of a run differ in weight: ``weights`` then has the largest of them.
    weight : callable
        The logarithm of the weight of a number in a bundle.
    """

    starts: Any
    counts: Any
    weights: Array
    bundles: Sequence[bool]
    weight: Callable[[int], float]


class _ChooseNumbers(Draw):
    """A candidate for each set of runs."""

    def draw(self, target: Sequence[Runs], bits: Bits | None) -> Any:
        """Return the candidates, as whole numbers: some are beyond 2⁵³."""
        return np.array([self._one(runs, bits) for runs in target], dtype=np.int64)

    @abstractmethod
    def _one(self, runs: Runs, bits: Bits | None) -> int:
        """Return a candidate."""


class ChooseInRuns(_ChooseNumbers):
    """For each set of runs a candidate, with probability proportional to e^weight.

    A number of a bundle is proposed with the largest weight in it and kept with probability e^(its own − the largest),
    which makes up for that: the distribution is exact.
    """

    def _one(self, runs: Runs, bits: Bits | None) -> int:
        while True:
            index = categorical(runs.weights, bits, runs.counts)
            number = int(runs.starts[index]) + int(uniform_integers(int(runs.counts[index]), 1, bits)[0])
            if not runs.bundles[index]:
                return number
            if bernoulli_exp(Fraction(float(runs.weights[index])) - Fraction(runs.weight(number)), bits):
                return number


class PermuteAndFlip(_ChooseNumbers):
    """For each set of runs, without bundles, a candidate by permute-and-flip (McKenna and Sheldon 2020).

    The candidates come in a random order, and each is kept with probability e^(its weight − the largest).
    """

    def _one(self, runs: Runs, bits: Bits | None) -> int:
        each, best = np.repeat(runs.weights, runs.counts), float(runs.weights.max())
        left = list(range(len(each)))
        while True:
            place = left.pop(int(uniform_integers(len(left), 1, bits)[0]))
            if bernoulli_exp(Fraction(best) - Fraction(float(each[place])), bits):
                return int(runs.starts[0]) + place


class ChooseDirection(Draw):
    """A direction v with density ∝ exp(vᵀMv)."""

    exact = False

    def draw(self, target: Array, bits: Bits | None) -> Array:
        """Return the direction."""
        return bingham(target, bits)


@dataclass(frozen=True)
class ChooseFrame(Draw):
    """Some orthonormal directions with density near ∝ exp(tr VᵀMV), by a finite Markov chain, without a proof."""

    count: int
    sweeps: int
    exact = False

    def draw(self, target: Array, bits: Bits | None) -> Array:
        """Return the frame, in a row."""
        return np.asarray(gibbs_bingham(target, self.count, self.sweeps, bits).ravel())


class NoDraw(Draw):
    """Nothing more is drawn: the auxiliary draws have made the numbers private."""

    def draw(self, target: Array, bits: Bits | None) -> Array:
        """Return the numbers."""
        return np.asarray(target, dtype=np.float64).ravel()
