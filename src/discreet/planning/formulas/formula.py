"""What every predicted error has in common.

Errors are root mean squares: √E(released − exact)², over the noise. Where the sampling error is part of the target the
exact one is the population's, rows being drawn independently, and as noise and sampling are independent their squares
add up. What no ε removes is the ``floor``. (Nats, which are squares already, add up themselves: see ``mixtures``.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from discreet.guarantees import Guarantee
from discreet.guarantees.normal import normal_mu
from discreet.queries.bound import Bound

__all__ = ["Formula", "noise_deviation"]


def noise_deviation(bound: Bound, promise: Guarantee) -> float:
    """Return the standard deviation of the noise on each number of a sum: what the door adds for a whole promise.

    Gaussian noise has σ = Δ₂/μ, with the largest μ that keeps (ε, δ). Laplace noise, at δ = 0, has scale Δ₁/ε and so a
    standard deviation of √2·Δ₁/ε. The door's own charge for floats and its grid, below a thousandth, is left out.

    >>> round(noise_deviation(Bound(l2=1.0, l1=1.0), Guarantee(1.0, 1e-5, "add-remove")), 4)
    3.7306
    """
    if promise.delta:
        return bound.sensitivity("l2", promise.neighbors) / normal_mu(promise.epsilon, promise.delta)
    return math.sqrt(2.0) * bound.sensitivity("l1", promise.neighbors) / promise.epsilon


@dataclass(frozen=True, kw_only=True)
class Formula(ABC):
    """The predicted error of one statistic, as a function of the promise.

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
    gaussian: ClassVar[bool] = False  # whether it takes δ > 0
    drawn: ClassVar[bool] = False  # whether it spends no δ

    @abstractmethod
    def noise(self, promise: Guarantee) -> float:
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

    def strain(self, promise: Guarantee) -> float:
        """Return the noise on a divisor over that divisor, which the formula takes as small; 0 where there is none."""
        return 0.0

    def error(self, promise: Guarantee) -> float:
        """Return the predicted error."""
        return math.hypot(self.noise(promise), self.floor)
