"""A way to fit a model: how it shares a budget over its steps, and what it does with them.

Between the losses and the run stands the curator: it reserves all losses of a fit at once, at their exact composed
cost, and the run then measures at one after the other.
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

__all__ = ["Method"]

Array = NDArray[np.float64]


class Movable(Protocol):
    """What a method finds: numbers in the coordinates of a unit ball that can be moved into the data's own."""

    def moved(self, offset: Array, scale: Array) -> Self:
        """Return the same in the coordinates offset + scale·y, column by column."""


Found = TypeVar("Found", bound=Movable)


class Method(ABC, Generic[Found]):
    """A way to fit a model, all of whose choices are functions of public numbers."""

    @property
    @abstractmethod
    def shares(self) -> Sequence[float]:
        """The part of the squared budget, Σμ², that each step has; they sum to 1."""

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return the loss of each release, together within the guarantee."""
        relative = [GaussianLoss(math.sqrt(share), guarantee.neighbors) for share in self.shares]
        return calibrate(guarantee, relative).losses

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return what is like the questions to come, one for each loss: what cannot be drawn is refused unpaid."""
        return [Sum(space)] * number

    @abstractmethod
    def run(self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]) -> tuple[Found, list[Release]]:
        """Return what was found in the coordinates of the unit ball, and every release, a measure for each loss."""
