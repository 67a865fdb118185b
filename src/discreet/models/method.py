"""A way to fit a mixture: how it shares a budget over its steps, and what it does with them.

Between the losses and the run stands the curator: it reserves all losses of a fit at once, at their exact composed
cost, and the run then measures at one after the other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import GaussianLoss, Guarantee, Loss, calibrate
from discreet.models.components import Components
from discreet.records import Ball, Box

__all__ = ["Method"]


class Method(ABC):
    """A way to fit K components in d dimensions, all of whose choices are functions of public numbers."""

    @property
    @abstractmethod
    def shares(self) -> Sequence[float]:
        """The part of the squared budget, Σμ², that each step has; they sum to 1."""

    def losses(self, promise: Guarantee) -> tuple[Loss, ...]:
        """Return the loss of each release, together within the promise."""
        relative = [GaussianLoss(math.sqrt(share), promise.neighbors) for share in self.shares]
        return calibrate(promise, relative).losses

    @abstractmethod
    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return components in the coordinates of the unit ball, and every release, from as many measures as losses."""
