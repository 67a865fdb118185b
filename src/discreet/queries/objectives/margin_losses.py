"""Losses of a margin: how badly a linear score fits a label of −1 or 1.

A row with features u and label y has the margin m = y·⟨θ, u⟩. Its loss ℓ(m) is convex and falls with m, with a slope
between −1 and 0 and a curvature between 0 and c. Everything that is proved of private minima rests on these three
facts; the sign of the slope most of all: a row pushes θ along y·u, never back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.arguments import positive

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores weights·y + intercepts.

    They are what a linear classifier is once it is found.

    Attributes
    ----------
    weights : array of shape (q, d)
        One row for two classes (a score above 0 speaks for the second), else one for each class.
    intercepts : array of shape (q,)
    """

    weights: Array
    intercepts: Array

    def rescale(self, offset: Array, scale: Array) -> LinearScores:
        """Return the same scores in the coordinates offset + scale·y."""
        weights = self.weights / scale
        return LinearScores(weights, self.intercepts - weights @ offset)


FAR = 700.0  # beyond, e^m overflows, and the slope is 0 or −1 in all its digits


class MarginLoss(ABC):
    """A convex, falling loss of a margin with slope in [−1, 0]; array-API generic."""

    @property
    @abstractmethod
    def most_curvature(self) -> float:
        """c: at least sup ℓ''."""

    @abstractmethod
    def value(self, margin: Any) -> Any:
        """Return ℓ(m)."""

    @abstractmethod
    def slope(self, margin: Any) -> Any:
        """Return ℓ'(m), in [−1, 0] in floats too."""

    @abstractmethod
    def curvature(self, margin: Any) -> Any:
        """Return ℓ''(m) (where it jumps, one of its sides), in [0, c]."""


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """ln(1 + e^(−m)): slope −1/(1 + e^m), curvature at most 1/4."""

    @property
    def most_curvature(self) -> float:
        """1/4, at m = 0."""
        return 0.25

    def value(self, margin: Any) -> Any:
        """Return ln(1 + e^(−m)), without overflow."""
        xp = array_namespace(margin)
        return xp.log1p(xp.exp(-xp.abs(margin))) + xp.clip(-margin, 0.0, None)

    def slope(self, margin: Any) -> Any:
        """Return −1/(1 + e^m)."""
        xp = array_namespace(margin)
        return -1.0 / (1.0 + xp.exp(xp.clip(margin, -FAR, FAR)))

    def curvature(self, margin: Any) -> Any:
        """Return the product of the two probabilities."""
        one = -self.slope(margin)
        return one * (1.0 - one)


@dataclass(frozen=True)
class HuberHinge(MarginLoss):
    """The hinge max(0, 1 − m) with its corner rounded: (1 + h − m)²/(4h) where |1 − m| ≤ h (Chapelle 2007).

    Its slope is −1 below 1 − h, 0 above 1 + h and linear in between, so its curvature is at most 1/(2h).

    Parameters
    ----------
    width : float
        h.
    """

    width: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive("width", self.width))

    @property
    def most_curvature(self) -> float:
        """1/(2h)."""
        return 0.5 / self.width

    def value(self, margin: Any) -> Any:
        """Return the rounded hinge."""
        xp = array_namespace(margin)
        short = xp.clip(1.0 + self.width - margin, 0.0, None)
        return xp.where(short < 2.0 * self.width, short * short / (4.0 * self.width), 1.0 - margin)

    def slope(self, margin: Any) -> Any:
        """Return the slope of the rounded hinge."""
        xp = array_namespace(margin)
        return -xp.clip((1.0 + self.width - margin) / (2.0 * self.width), 0.0, 1.0)

    def curvature(self, margin: Any) -> Any:
        """Return 1/(2h) inside of the corner, else 0."""
        xp = array_namespace(margin)
        return xp.where(xp.abs(1.0 - margin) <= self.width, xp.full_like(margin, self.most_curvature), 0.0 * margin)
