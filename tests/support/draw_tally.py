"""What is counted of a stream of draws, block by block, and how likely it is under their distribution.

Each count looks for one kind of defect and gives one p-value; none keeps the draws, so there may be 10⁸ of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from goodness import binomial_p, chi_square_p

__all__ = ["Cells", "LowBits", "Pairs", "Scale", "Signs", "Tail"]

Array = np.ndarray


@dataclass
class Cells:
    """How often each cell occurs, by chi-square: the shape of the distribution."""

    cell: Callable[[Array], Array]
    noise: Array
    counts: Array = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(len(self.noise), dtype=np.int64)

    def add(self, draws: Array) -> None:
        self.counts += np.bincount(self.cell(draws), minlength=len(self.noise))

    def p(self) -> float:
        return chi_square_p(self.counts, self.noise)


@dataclass
class Pairs:
    """How often each pair of coarse cells follows one another: serial independence. Pairs do not overlap."""

    cell: Callable[[Array], Array]
    noise: Array
    groups: int = 8

    def __post_init__(self) -> None:
        middles = np.cumsum(self.noise) - self.noise / 2.0
        self.of_cell = np.minimum((middles * self.groups).astype(np.int64), self.groups - 1)
        self.counts = np.zeros(self.groups**2, dtype=np.int64)

    def add(self, draws: Array) -> None:
        group = self.of_cell[self.cell(draws[: len(draws) // 2 * 2])]
        self.counts += np.bincount(group[::2] * self.groups + group[1::2], minlength=self.groups**2)

    def p(self) -> float:
        each = np.bincount(self.of_cell, weights=self.noise, minlength=self.groups)
        there = np.outer(each, each).ravel() > 0.0
        return chi_square_p(self.counts[there], np.outer(each, each).ravel()[there])


@dataclass
class Tail:
    """How many draws lie beyond an end."""

    beyond: Callable[[Array], Array]
    probability: float
    hits: int = 0
    seen: int = 0

    def add(self, draws: Array) -> None:
        self.hits += int(self.beyond(draws).sum())
        self.seen += len(draws)

    def p(self) -> float:
        return binomial_p(self.hits, self.seen, self.probability)


@dataclass
class Signs:
    """How many of those that are not zero are positive."""

    positive: int = 0
    seen: int = 0

    def add(self, draws: Array) -> None:
        self.positive += int((draws > 0).sum())
        self.seen += int(np.count_nonzero(draws))

    def p(self) -> float:
        return binomial_p(self.positive, self.seen, 0.5)


@dataclass
class LowBits:
    """The eight lowest bits of draws that are fine beside their scale: uniform, and so each by itself."""

    def __post_init__(self) -> None:
        self.counts = np.zeros(256, dtype=np.int64)

    def add(self, draws: Array) -> None:
        self.counts += np.bincount(draws & 255, minlength=256)

    def p(self) -> float:
        return chi_square_p(self.counts, np.full(256, 1.0 / 256.0))


@dataclass
class Scale:
    """The mean of the score for the scale, against its own: the sharpest test for noise a little too wide or narrow.

    A scale that is off by a share s moves it by s·√(n·information) standard deviations; the information is 2 for a
    Gaussian (the score is z²) and 1 for a Laplace (|z|).
    """

    score: Callable[[Array], Array]
    mean: float
    variance: float
    total: float = 0.0
    seen: int = 0

    def add(self, draws: Array) -> None:
        self.total += float(self.score(draws).sum())
        self.seen += len(draws)

    def stds(self) -> float:
        return (self.total - self.mean * self.seen) / (self.variance * self.seen) ** 0.5

    def p(self) -> float:
        return float(2.0 * ndtr(-abs(self.stds())))


def power(stds: float, false_alarm: float) -> float:
    """Return how likely a test finds what moves it by so many standard deviations."""
    return float(ndtr(stds - chi2.isf(false_alarm, 1) ** 0.5))
