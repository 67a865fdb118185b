"""``Coordinates``: those in which linear classifiers are fitted, of the unit ball or whitened by a private covariance.

In whitened coordinates every direction has the same variance, so the noise is the same share of each, and a gradient
has the right length in each. They are found in some rounds of one Gaussian (``one_gaussian``), whatever the labels,
with a small share of the budget. Where these rounds would find nothing but noise they are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step, expectation_maximization
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.normal import normal_mu
from discreet.models.method import GUESS, growing_shares
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import released_rows
from discreet.queries.counts.count_queries import Count
from discreet.queries.objectives.labelled_rows import Features
from discreet.records import Ball, Box

__all__ = ["CONSTANT", "Coordinates", "FittedCoordinates"]

CONSTANT = 0.35  # κ, where there is an intercept
PART = 0.15  # share of the squared budget for the rounds
COUNTED = 0.02  # share for the number of rows, where it is not known otherwise
ROUNDS = 3
LEVEL = 0.9  # least probability that a Gaussian row is not clipped
LEAST_CLIPPED = 1e-3  # least probability that it is
TAIL = 15.0  # between these two the probability of being clipped is (15·d/(μ·rows))^1.5
WORTHWHILE = 0.17  # largest squared error of eigenvalues a column, by the noise of all rounds, for them to pay off


@dataclass(frozen=True, eq=False)
class FittedCoordinates:
    """Coordinates that were found.

    Attributes
    ----------
    features : Features
    rows : float
        The approximate number of rows.
    variance : float
        The approximate variance of a coordinate of the features.
    releases : list of Release
    """

    features: Features
    rows: float
    variance: float
    releases: list[Release]


@dataclass(frozen=True)
class Coordinates:
    """How coordinates are chosen and found.

    Parameters
    ----------
    dimension : int
        d.
    constant : float
        κ of ``Features``: ``CONSTANT`` where there is an intercept, else 0.
    neighbors : Neighbors
    size : PublicSize
    budget : float
        μ² of the whole fit.
    own : bool, optional
        Whether whitened coordinates are found; by default where that is worthwhile.
    counted : bool
        Whether rows are counted where their number is not known otherwise.
    weighted : bool
        Whether far rows count for less instead of being moved (``Features``).
    """

    dimension: int
    constant: float
    neighbors: Neighbors
    size: PublicSize
    budget: float
    own: bool | None = None
    counted: bool = True
    weighted: bool = False

    @classmethod
    def for_data(
        cls,
        dimension: int,
        constant: float,
        guarantee: Guarantee,
        size: PublicSize,
        own: bool | None = None,
        counted: bool = True,
        weighted: bool = False,
    ) -> Coordinates:
        """Return the coordinates for a guarantee."""
        budget = normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        return cls(dimension, constant, guarantee.neighbors, size, budget, own, counted, weighted)

    @property
    def rows(self) -> int:
        """The number of rows, or a guess where it is not public."""
        return max(self.size.units or GUESS, 1)

    @property
    def n_features(self) -> int:
        """D: the number of features, the constant included."""
        return self.dimension + (self.constant > 0.0)

    @property
    def variance(self) -> float:
        """The approximate variance of a coordinate of the features."""
        share, d = 1.0 - self.constant**2, self.dimension
        if not self.is_adapted:
            return share / (4.0 * d)  # assuming standard deviations of half of the half-width of a column
        return share * float(self.clipping.response().kappa) / self.clipping.squared

    @property
    def is_adapted(self) -> bool:
        """Whether whitened coordinates are found: as requested, or where the rounds would find more than noise.

        At radius² d + 2 noise spreads eigenvalues by about 2√d(d + 2)/(μ·rows).
        """
        if self.own is not None:
            return self.own
        d, rows = self.dimension, self.rows
        return 4.0 * d * (d + 2.0) ** 2 / (PART * self.budget * rows * rows) < WORTHWHILE * d

    @property
    def shares(self) -> list[float]:
        """The share of the squared budget of each release that finds coordinates."""
        if self.is_adapted:
            return growing_shares(PART, ROUNDS)
        return [COUNTED] if self.size.rows is None and self.counted else []

    @property
    def clipping(self) -> Clipping:
        """How rows are clipped in whitened coordinates: less where there is less noise."""
        tail = (TAIL * self.dimension / (math.sqrt(self.budget) * self.rows)) ** 1.5
        return Clipping.at_quantile(self.dimension, 1.0 - min(max(tail, LEAST_CLIPPED), 1.0 - LEVEL))

    def find(self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]) -> FittedCoordinates:
        """Return the coordinates, from one release for each of ``shares``."""
        d = self.dimension
        if self.is_adapted:
            one = OneGaussian(Shape("full", d), self.clipping, self.neighbors, self.size.rows is None)
            start = one.initialize(d, rng)
            gaussian, releases = expectation_maximization(one, start, space, islice(measures, ROUNDS))
            features = Features(space, self.constant, gaussian, self.clipping.radius, self.weighted)
            return FittedCoordinates(features, released_rows(releases[-1]), self.variance, releases)
        releases = [measure(Count()) for measure in islice(measures, len(self.shares))]
        rows = released_rows(releases[0], "count") if releases else float(self.rows)
        return FittedCoordinates(Features(space, self.constant), rows, self.variance, releases)
