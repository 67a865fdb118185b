"""The coordinates in which linear classifiers are found: the unit ball's, or the rows' own.

In the rows' own coordinates every direction has the same variance. So noise is the same share of each, and a gradient
has the right length in each of them. They are found in some rounds of one Gaussian (``one_gaussian``), whatever the
labels, with a small part of the budget; where even all of it would find nothing but noise they are left out.
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
from discreet.models.method import growing_shares
from discreet.models.mixture.adaptive import GUESS
from discreet.models.mixture.one_gaussian import OneGaussian
from discreet.models.mixture.own_coordinates import Clipping, Shape
from discreet.models.noisy_sums import released_rows
from discreet.queries.counts.count_queries import Count
from discreet.queries.objectives.labelled_rows import Features
from discreet.records import Ball, Box

__all__ = ["CONSTANT", "Coordinates", "FittedCoordinates"]

CONSTANT = 0.35  # κ, where there is an intercept
PART = 0.15  # of the squared budget
COUNTED = 0.02  # of it, for the number of rows, where nothing else tells
ROUNDS = 3
LEVEL = 0.9  # of a Gaussian that is not clipped, at least
LEAST_CLIPPED = 1e-3
TAIL = 15.0  # columns over μ·rows, times this, to the power of 1.5, is the share that is clipped in between
WORTHWHILE = 0.17  # squared error of eigenvalues by the noise of all rounds, a column


@dataclass(frozen=True, eq=False)
class FittedCoordinates:
    """Features, about how many rows there are, and about the variance of a feature's coordinate."""

    features: Features
    rows: float
    variance: float
    releases: list[Release]


@dataclass(frozen=True)
class Coordinates:
    """How coordinates are found.

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
        Whether the rows' own are found; by default where that is worthwhile.
    counted : bool
        Whether rows are counted where nothing else tells their number.
    """

    dimension: int
    constant: float
    neighbors: Neighbors
    size: PublicSize
    budget: float
    own: bool | None = None
    counted: bool = True

    @classmethod
    def for_data(
        cls,
        dimension: int,
        constant: float,
        guarantee: Guarantee,
        size: PublicSize,
        own: bool | None = None,
        counted: bool = True,
    ) -> Coordinates:
        """Return the coordinates for a guarantee."""
        budget = normal_mu(guarantee.epsilon, guarantee.delta) ** 2
        return cls(dimension, constant, guarantee.neighbors, size, budget, own, counted)

    @property
    def rows(self) -> int:
        """How many rows there are, or a guess."""
        return max(self.size.units or GUESS, 1)

    @property
    def n_features(self) -> int:
        """D."""
        return self.dimension + (self.constant > 0.0)

    @property
    def variance(self) -> float:
        """About the variance of a feature's coordinate."""
        share, d = 1.0 - self.constant**2, self.dimension
        if not self.is_adapted:
            return share / (4.0 * d)  # a standard deviation is half of the half-width of its column
        return share * float(self.clipping.response().kappa) / self.clipping.squared

    @property
    def is_adapted(self) -> bool:
        """Whether the rows' own are found: as asked for, or where rounds find more than noise.

        At radius² d + 2 noise spreads eigenvalues by about 2√d(d + 2)/(μ·rows).
        """
        if self.own is not None:
            return self.own
        d, rows = self.dimension, self.rows
        return 4.0 * d * (d + 2.0) ** 2 / (PART * self.budget * rows * rows) < WORTHWHILE * d

    @property
    def shares(self) -> list[float]:
        """The part of the squared budget that each of the first releases has; the rest is left to others."""
        if self.is_adapted:
            return growing_shares(PART, ROUNDS)
        return [COUNTED] if self.size.rows is None and self.counted else []

    @property
    def clipping(self) -> Clipping:
        """How rows are clipped in their own coordinates: less where there is less noise."""
        tail = (TAIL * self.dimension / (math.sqrt(self.budget) * self.rows)) ** 1.5
        return Clipping.at_quantile(self.dimension, 1.0 - min(max(tail, LEAST_CLIPPED), 1.0 - LEVEL))

    def find(self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]) -> FittedCoordinates:
        """Return the features, from as many releases as there are shares."""
        d = self.dimension
        if self.is_adapted:
            one = OneGaussian(Shape("full", d), self.clipping, self.neighbors, self.size.rows is None)
            start = one.initialize(d, rng)
            gaussian, releases = expectation_maximization(one, start, space, islice(measures, ROUNDS))
            features = Features(space, self.constant, gaussian, self.clipping.radius)
            return FittedCoordinates(features, released_rows(releases[-1]), self.variance, releases)
        releases = [measure(Count()) for measure in islice(measures, len(self.shares))]
        rows = released_rows(releases[0], "count") if releases else float(self.rows)
        return FittedCoordinates(Features(space, self.constant), rows, self.variance, releases)
