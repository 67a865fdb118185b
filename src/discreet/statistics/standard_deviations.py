"""Private standard deviations: the square roots of variances, at the same price."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np

from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import Loss
from discreet.noise import Bits
from discreet.statistics.groups import By
from discreet.statistics.population import check_population
from discreet.statistics.request import ColumnRequest, Request, statistic, unwrap
from discreet.statistics.statistic import Statistic
from discreet.statistics.variances import Covariance, VarianceRequest


@dataclass(frozen=True, eq=False, repr=False)
class StandardDeviation(Statistic):
    """A private standard deviation: of logarithms for a log column, in days for dates.

    Attributes
    ----------
    variance : Covariance
        The variance whose square root it is.
    """

    variance: Covariance

    _kind: ClassVar[str] = "spread"

    @property
    def interval_of(self) -> str:
        """That of the variance."""
        return self.variance.interval_of

    @property
    def _possible(self) -> tuple[Any, Any]:
        """The square roots of what variances can be."""
        return self._roots(self.variance._possible)

    def _are_drowned(self, low: Any, high: Any) -> Any:
        """Return also which are 0, as for variances."""
        return super()._are_drowned(low, high) | (np.asarray(self.value) <= 0.0)

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for each value of these rows: the square roots of the ends of the variance's.

        It holds as often as that of the variance, and accounts for the noise, but not for clipping or for how these
        people were sampled.
        """
        return self._roots(self.variance.interval(level, of="rows"))

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        return self._roots(self.variance.interval(level, of="population"))

    @staticmethod
    def _roots(ends: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = ends
        return unwrap(np.sqrt(low)), unwrap(np.sqrt(high))


@dataclass(frozen=True, kw_only=True)
class StandardDeviationRequest(ColumnRequest[StandardDeviation]):
    """A request for standard deviations: the releases are those of the variances."""

    method: str
    population: bool = False

    def __post_init__(self) -> None:
        _ = self._variance  # which refuses what it cannot measure

    @cached_property
    def _variance(self) -> VarianceRequest:
        return VarianceRequest(**{one.name: getattr(self, one.name) for one in fields(self)})

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Those of the variances."""
        return self._variance.losses

    def plan(self) -> Inquiry[StandardDeviation]:
        """Return the questions of the variances."""
        asked = self._variance.plan()

        def answer(measure: Measure) -> StandardDeviation:
            variance = asked.answer(measure)
            values = np.sqrt(np.asarray(variance.value)).reshape(-1, len(self.places))
            return StandardDeviation.from_values(values, self, list(variance.releases), variance=variance)

        return Inquiry(asked.curator, asked.guarantee, asked.asked, answer, "standard deviation", asked.bits)


@statistic()
def std(
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    method: str = "one-shot",
    population: bool = False,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[StandardDeviation]:
    """Return private standard deviations of columns: the square roots of their variances.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``.
    method : {"one-shot", "adaptive", "direct"}
        As in ``variance``.
    population : bool
        As in ``variance``.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    StandardDeviation

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).normal(40.0, 10.0, 20_000)
    >>> 9.0 < statistics.std(ages, epsilon=1.0, delta=1e-6, bounds=(0, 120)).value < 11.0
    True
    """
    return StandardDeviationRequest.from_columns(
        data,
        columns,
        epsilon,
        delta,
        declared,
        bits,
        by,
        weights,
        method=method,
        population=check_population(population),
    )
