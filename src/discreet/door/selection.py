"""Queries that select a candidate by a score instead of releasing numbers.

The scores are a function of an exact sum over rows, which stays on the private side.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.door.queries.histogram import Histogram
from discreet.door.query import Query
from discreet.door.registry import registered
from discreet.guarantees import BoundedRangeLoss, Guarantee, Loss, Neighbors

if TYPE_CHECKING:
    from discreet.door.passages import Setting

__all__ = ["Mode", "Selection"]

Array = NDArray[np.float64]


class Selection(Query):
    """A sum over rows, and scores of candidates that follow from it."""

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return the exponential mechanism's."""
        return BoundedRangeLoss(guarantee.epsilon, guarantee.neighbors)

    @abstractmethod
    def scores(self, values: Array) -> Array:
        """Return a score for each candidate; total: any vector of sums gives finite scores."""

    @abstractmethod
    def spread(self, setting: Setting) -> float:
        """Return sup over neighbours of max_i(s_i − s'_i) − min_i(s_i − s'_i), float error included."""

    @abstractmethod
    def largest_score(self, setting: Setting) -> float:
        """Return a public bound on the size of every score."""


@registered(lambda rng, d, radius: [Mode(categories=d + 1)])
@dataclass(frozen=True)
class Mode(Histogram, Selection):
    """The most frequent category of a column.

    The score of a category is its count. A row that comes or goes moves one count by 1 and the others by 0: spread 1.
    A row that is replaced moves one up and one down: spread 2. A unit of m rows: m times that. Counts below 2⁵³ are
    exact.
    """

    name = "mode"

    def scores(self, values: Array) -> Array:
        """Return the counts."""
        return values

    def spread(self, setting: Setting) -> float:
        """Return m under add-remove, 2m under replace-one."""
        return setting.max_rows * (1.0 if setting.neighbors is Neighbors.ADD_REMOVE else 2.0)

    def largest_score(self, setting: Setting) -> float:
        """Return the bound on the number of rows."""
        return float(setting.rows)
