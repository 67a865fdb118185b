"""Predicted errors: the base class of all formulas, and the formulas of counts and histograms.

Each formula has its derivation in its docstring. Errors are root mean squared errors: √E(released − exact)², over the
noise. If the sampling error is part of the target, the exact value is that of the population, with rows drawn
independently. Noise and sampling are independent, so their squared errors add up. The part that no ε removes is the
``floor``. (Errors that are squares already, nats and sin², add up themselves: ``MixtureFormula``, ``AxesFormula``.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.guarantees import Guarantee
from discreet.guarantees.normal import normal_mu
from discreet.queries.adaptors import Grouped, Weighted
from discreet.queries.bound import Bound
from discreet.queries.counts.count_queries import Count, Histogram
from discreet.queries.question import Query


def noise_std(bound: Bound, guarantee: Guarantee, max_rows: int = 1) -> float:
    """Return the standard deviation of the noise on each number of a sum: what the door adds for a whole guarantee.

    Gaussian noise has σ = Δ₂/μ, with the largest μ that keeps (ε, δ). Laplace noise, at δ = 0, has scale Δ₁/ε and so a
    standard deviation of √2·Δ₁/ε. A unit of up to ``max_rows`` rows has so many times the sensitivity of one row. The
    door's own charge for floats and its grid, below a thousandth, is left out.

    >>> round(noise_std(Bound(l2=1.0, l1=1.0), Guarantee(1.0, 1e-5, "add-remove")), 4)
    3.7306
    """
    if guarantee.delta:
        moved = bound.sensitivity("l2", guarantee.neighbors, max_rows=max_rows)
        return moved / normal_mu(guarantee.epsilon, guarantee.delta)
    return math.sqrt(2.0) * bound.sensitivity("l1", guarantee.neighbors, max_rows=max_rows) / guarantee.epsilon


@dataclass(frozen=True, kw_only=True)
class Formula(ABC):
    """The predicted error of one statistic, as a function of the guarantee.

    **Units, groups and weights** change two numbers. A unit of up to m rows moves a sum m times as far as a row does.
    In groups, and with weights, a row's contribution has the bounds that ``Grouped`` and ``Weighted`` prove, and what
    the noise is compared with is the total weight W of the rows in one group, in units of the largest weight: W =
    n·(the group's share)·(mean weight)/(largest weight), in place of n.

    Parameters
    ----------
    n : int
        How many rows there will be: those that count, in all groups together.
    d : int
        How many columns.
    sampling : bool
        Whether the sampling error is part of the error, as if rows were independent.
    max_rows : int
        How many rows of one unit count.
    groups : int
        How many groups there are; 1 for none.
    group_share : float
        The share of the rows that are in the group that the error is about.
    weight : float or None
        The mean weight over the largest one; None without weights.
    in_budget : bool
        Whether a ledger adds it up with other answers, where a δ means Gaussian noise.
    """

    n: int
    d: int = 1
    sampling: bool = False
    max_rows: int = 1
    groups: int = 1
    group_share: float = 1.0
    weight: float | None = None
    in_budget: bool = False

    name: ClassVar[str]
    measure: ClassVar[str]  # of the error, for the words
    needs_delta: ClassVar[bool] = False  # whether it takes δ > 0
    spends_no_delta: ClassVar[bool] = False  # whether it spends no δ

    @property
    def rows(self) -> float:
        """The number of rows in the group."""
        return self.n * self.group_share

    @property
    def total(self) -> float:
        """W, the total weight of the group's rows, in units of the largest weight."""
        return self.rows if self.weight is None else self.rows * self.weight

    def noise_of(self, query: Query, guarantee: Guarantee) -> float:
        """Return the standard deviation of the noise on each number of a query, in groups and with weights."""
        asked = query if self.weight is None else Weighted(query, 0, 1.0)
        asked = asked if self.groups == 1 else Grouped(asked, self.groups, 0)
        return noise_std(asked.bound, guarantee, self.max_rows)

    def chosen(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee, at δ = 0 where Laplace noise is smaller, as ``discreet.statistics`` chooses."""
        if not guarantee.delta or self.needs_delta or self.in_budget:
            return guarantee
        pure = replace(guarantee, delta=0.0)
        return pure if self.noise(pure) < self.noise(guarantee) else guarantee

    @abstractmethod
    def noise(self, guarantee: Guarantee) -> float:
        """Return the error that falls to 0 as ε grows."""

    @property
    def sampling_error(self) -> float:
        """What other rows from the same population would have changed."""
        return 0.0

    @property
    def resolution(self) -> float:
        """What stays as ε grows without limit, on the same rows."""
        return 0.0

    @property
    def floor(self) -> float:
        """What no ε removes."""
        return math.hypot(self.resolution, self.sampling_error if self.sampling else 0.0)

    def count_noise(self, guarantee: Guarantee) -> float:
        """Return the noise on a divisor over that divisor, which the formula takes as small; 0 where there is none."""
        return 0.0

    def error(self, guarantee: Guarantee) -> float:
        """Return the predicted error, with the smaller noise."""
        return math.hypot(self.noise(self.chosen(guarantee)), self.floor)


@dataclass(frozen=True, kw_only=True)
class CountFormula(Formula):
    """The error of a count of rows, in rows.

    A count of rows with some property has rows of 0 or 1, so it moves by 1 under either relation. In groups a replaced
    row moves two counts: 2 in L1, √2 in L2.

    >>> round(CountFormula(n=1000).noise(Guarantee(1.0)), 4)
    1.4142
    """

    name: ClassVar[str] = "count"
    measure: ClassVar[str] = "root mean squared error of the count, in rows"

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of the noise."""
        return self.noise_of(Count(), guarantee)

    @property
    def sampling_error(self) -> float:
        """√n/2, that of a property which half of the rows have; of a group with the share p, √(n·p(1 − p))."""
        share = 0.5 if self.groups == 1 else self.group_share
        return math.sqrt(self.n * share * (1.0 - share))


@dataclass(frozen=True, kw_only=True)
class CellsFormula(Formula):
    """The error of each cell of a histogram, in rows.

    A row is 1 in its cell: norm 1, and a replaced row moves two cells (query ``Histogram``): 2 in L1, √2 in L2.

    >>> round(CellsFormula(n=1000, cells=10).noise(Guarantee(1.0)), 4)
    2.8284
    """

    cells: int = 10

    name: ClassVar[str] = "histogram"
    measure: ClassVar[str] = "root mean squared error of each cell's count, in rows"

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of the noise, the same whatever the number of cells."""
        return self.noise_of(Histogram(self.cells), guarantee)

    @property
    def sampling_error(self) -> float:
        """That of equal cells, √(n·p(1 − p)) with p one over their number."""
        return math.sqrt(self.rows * (self.cells - 1.0)) / self.cells
