"""What can be asked of rows: something small and public that says what it looks at and how it comes out.

There are two kinds. A ``Query`` is a sum over rows of contributions whose norm it can prove; nearly all is one. A
``Gathering`` needs the rows side by side, in order or in parts: order statistics, or a function that a user brings.
Both stay on the private side until a passage draws from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.guarantees import GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.records import Ball, Block, Box, Records, Space

if TYPE_CHECKING:
    from discreet.door.passages import Passage, Setting

__all__ = ["Gathering", "Question", "additive_loss"]

Array = NDArray[np.float64]


def additive_loss(guarantee: Guarantee) -> Loss:
    """Return the loss of additive noise that spends a guarantee: Gaussian, or Laplace at δ = 0."""
    if guarantee.delta:
        return calibrate(guarantee, GaussianLoss(1.0, guarantee.neighbors)).losses[0]
    return LaplaceLoss(guarantee.epsilon, guarantee.neighbors)


class Question(ABC):
    """Something to ask of rows.

    Attributes
    ----------
    name : str
        For the ledger and the release; public.
    """

    name: ClassVar[str]

    @property
    def passage(self) -> Passage | None:
        """The way through the door that it is made for; None for the usual one."""
        return None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many numeric columns a block must have; 0 where none is looked at."""

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise a ValueError where the question does not fit rows of these declarations; by public facts only.

        A question that has a space of its own must have the curator's, or the ball around it, which clips nothing more,
        or the ball that the curator's box is drawn around: two bounds for one thing are one too many.
        """
        own: Space | None = getattr(self, "space", None)
        balls = isinstance(own, Ball) and space is not None and (own == space.around or Box.holding(own) == space)
        if own not in (None, space) and not balls:
            raise ValueError(f"query={self.name!r}: expected the space of the curator, {space!r}; got {own!r}")

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the loss that spends a guarantee on this question: by default that of additive noise."""
        return additive_loss(guarantee)

    @abstractmethod
    def collect(self, records: Records, setting: Setting) -> Any:
        """Return what the passage draws from; private. It must not raise for anything in a row.

        An array, or, for a passage that must look at rows again and again once it has drawn noise, a way to sum.
        """


class Gathering(Question):
    """A question that needs the rows side by side. Its passage has the proof, for any rows whatever."""

    @property
    @abstractmethod
    def passage(self) -> Passage:
        """The way through the door."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers it takes from each row."""

    @abstractmethod
    def taken(self, block: Block) -> Any:
        """Return what is taken of each row, shape (n, width); of a row alone, whatever stands beside it."""

    @abstractmethod
    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the loss that spends a guarantee on this question."""

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return what is taken of each row that contributes, shape (rows, width)."""
        return records.gather(self.taken, self.width)
