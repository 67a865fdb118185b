"""Linear scores: what a linear classifier is once it is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearScores"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores weights·y + intercepts.

    Attributes
    ----------
    weights : array of shape (q, d)
        One row for two classes (a score above 0 speaks for the second), else one for each class.
    intercepts : array of shape (q,)
    """

    weights: Array
    intercepts: Array

    def moved(self, offset: Array, scale: Array) -> LinearScores:
        """Return the same scores in the coordinates offset + scale·y."""
        weights = self.weights / scale
        return LinearScores(weights, self.intercepts - weights @ offset)
