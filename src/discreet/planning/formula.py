"""Predicted errors: the base class of all formulas, and the formulas of counts and histograms.

Each formula has its derivation in its docstring. Errors are root mean squared errors: √E(released − exact)², over the
noise. If the sampling error is part of the target, the exact value is that of the population, with rows drawn
independently. Noise and sampling are independent, so their squared errors add up. The part that no ε removes is the
``floor``. (Errors that are squares already, nats and sin², add up themselves: ``MixtureFormula``, ``AxesFormula``.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee
from discreet.guarantees.normal import normal_mu
from discreet.queries.bound import Bound
from discreet.queries.counts.count_queries import Histogram


def noise_std(bound: Bound, guarantee: Guarantee) -> float:
    """Return the standard deviation of the noise on each number of a sum: what the door adds for a whole guarantee.

    Gaussian noise has σ = Δ₂/μ, with the largest μ that keeps (ε, δ). Laplace noise, at δ = 0, has scale Δ₁/ε and so a
    standard deviation of √2·Δ₁/ε. The door's own charge for floats and its grid, below a thousandth, is left out.

    >>> round(noise_std(Bound(l2=1.0, l1=1.0), Guarantee(1.0, 1e-5, "add-remove")), 4)
    3.7306
    """
    if guarantee.delta:
        return bound.sensitivity("l2", guarantee.neighbors) / normal_mu(guarantee.epsilon, guarantee.delta)
    return math.sqrt(2.0) * bound.sensitivity("l1", guarantee.neighbors) / guarantee.epsilon


@dataclass(frozen=True, kw_only=True)
class Formula(ABC):
    """The predicted error of one statistic, as a function of the guarantee.

    Parameters
    ----------
    n : int
        How many rows there will be.
    d : int
        How many columns.
    sampling : bool
        Whether the sampling error is part of the error.
    """

    n: int
    d: int = 1
    sampling: bool = False

    name: ClassVar[str]
    measure: ClassVar[str]  # of the error, for the words
    needs_delta: ClassVar[bool] = False  # whether it takes δ > 0
    spends_no_delta: ClassVar[bool] = False  # whether it spends no δ

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
        """Return the predicted error."""
        return math.hypot(self.noise(guarantee), self.floor)


@dataclass(frozen=True, kw_only=True)
class CountFormula(Formula):
    """The error of a count of rows, in rows.

    A count of rows with some property has rows of 0 or 1, so it moves by 1 under either relation.

    >>> round(CountFormula(n=1000).noise(Guarantee(1.0)), 4)
    1.4142
    """

    name: ClassVar[str] = "count"
    measure: ClassVar[str] = "root mean squared error of the count, in rows"

    def noise(self, guarantee: Guarantee) -> float:
        """Return the standard deviation of the noise."""
        return noise_std(Bound(l2=1.0, l1=1.0, replace_l2=1.0, replace_l1=1.0), guarantee)

    @property
    def sampling_error(self) -> float:
        """√n/2, that of a property which half of the rows have; for others it is less."""
        return math.sqrt(self.n) / 2.0


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
        return noise_std(Histogram(self.cells).bound, guarantee)

    @property
    def sampling_error(self) -> float:
        """That of equal cells, √(n·p(1 − p)) with p one over their number."""
        return math.sqrt(self.n * (self.cells - 1.0)) / self.cells
