"""``Method``: an algorithm that fits a model, with the budget share of each of its releases.

The curator stands between ``losses`` and ``run``: it reserves all losses of a fit at once, at their exact composed
cost, and ``run`` then measures once for each of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import GaussianLoss, Guarantee, Loss, calibrate
from discreet.queries.moments.moments import Sum
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["GUESS", "Method", "growing_shares"]

Array = NDArray[np.float64]

GUESS = 10_000  # assumed number of rows where it is not public; only accuracy depends on it
GROWTH = 1.5  # ratio of the budget shares of two consecutive rounds
MOST_GROWING = 30  # rounds whose shares grow; later rounds have equal shares, so that no power overflows


class Rescalable(Protocol):
    """The result of a method: numbers in the coordinates of the unit ball that can be mapped to the data's units."""

    def rescale(self, offset: Array, scale: Array) -> Self:
        """Return the same result in the coordinates offset + scale·y, column by column."""


Result = TypeVar("Result", bound=Rescalable)


class Method(ABC, Generic[Result]):
    """An algorithm that fits a model. All of its choices are functions of public numbers."""

    @property
    def shares(self) -> Sequence[float]:
        """The share of the squared budget, Σμ², of each release; they sum to 1. By default there is one release."""
        return [1.0]

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return the loss of each release; together they keep the guarantee."""
        relative = [GaussianLoss(math.sqrt(share), guarantee.neighbors) for share in self.shares]
        return calibrate(guarantee, relative).losses

    @property
    def earlier(self) -> Self | None:
        """The method as earlier versions planned it, whose files are still read; None where nothing has changed."""
        return None

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return questions like those that ``run`` will ask, one for each loss.

        They are planned before anything is spent, so that noise that cannot be drawn is refused at no cost.
        """
        return [Sum(space)] * number

    @abstractmethod
    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Result, list[Release]]:
        """Return the result in the coordinates of the unit ball, and every release, one for each loss."""


def growing_shares(total: float, rounds: int) -> list[float]:
    """Return budget shares that sum to ``total`` and grow by the factor 1.5 from each round to the next.

    Each round starts from the estimate of the one before, so the later rounds deserve the larger shares.

    >>> [round(share, 3) for share in growing_shares(1.0, 3)]
    [0.211, 0.316, 0.474]
    """
    sizes = GROWTH ** np.minimum(np.arange(rounds), MOST_GROWING)
    shares: list[float] = (total * sizes / sizes.sum()).tolist()
    return shares
