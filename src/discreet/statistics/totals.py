"""Private sums of columns, optionally in groups and with weights (``queries.moments.moments``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.queries.moments.moments import Total
from discreet.statistics.groups import By
from discreet.statistics.request import ColumnRequest, Request, statistic, unwrap
from discreet.statistics.statistic import Statistic

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Totals(Statistic):
    """Private sums.

    Attributes
    ----------
    scales : array of shape (columns,)
        The factor by which the noise of the release is multiplied, column by column.
    """

    scales: Array

    _from: ClassVar[str] = "summed over"

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each sum of these rows, clipped to their bounds, that holds it with this probability.

        It accounts for the noise, for the rows that count (``which_rows``). It does not account for rows beyond the
        limit of a unit, for clipping, or for how these people were sampled: of a population, ask for the mean.
        """
        return super().interval(level, of)

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        raise ArgumentError(
            "of",
            "population",
            "of='rows', since a sum grows with the sample",
            write="mean(…, population=True)",
        )

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        half = self._noise.half_width(level) * (self.scales[0] if self.single else self.scales)
        return unwrap(self.value - half), unwrap(self.value + half)


class TotalsRequest(ColumnRequest[Totals]):
    """A request for sums."""

    def __post_init__(self) -> None:
        for scale in self.scales:
            if scale.kind == "log":
                raise ArgumentError(
                    "columns",
                    scale.name,
                    "a column of plain numbers, since a sum of logarithms is not the logarithm of a sum; declare it "
                    f"without log=True, for example Number({scale.own_ends[0]:g}, {scale.own_ends[1]:g}), or ask for "
                    "the mean",
                )
            if scale.kind == "date":
                raise ArgumentError(
                    "columns",
                    scale.name,
                    "a column of numbers, since there is no sum of dates; ask for the mean, or declare a column of "
                    "days as a Number",
                )

    def plan(self) -> Inquiry[Totals]:
        """Return one question for all sums."""
        total = Total(self.box)
        query = self.query(total)
        scales = np.asarray(total.scale) * (1.0 if self.weights is None else self.weights[1])

        def answer(measure: Measure) -> Totals:
            release = measure(query)
            sums = release["total"].reshape(-1, len(scales)) * scales
            return Totals.from_values(sums, self, [release], scales=scales)

        return self.make_inquiry([query], answer, "sum")


@statistic()
def sum(  # noqa: A001  # as in NumPy: it is read statistics.sum
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Totals]:
    """Return private sums of columns. Columns of dates or on a log scale are refused.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``; with weights the sum is Σwx.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Totals

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> hours = np.random.default_rng(0).uniform(0.0, 50.0, 20_000)
    >>> result = statistics.sum(hours, epsilon=1.0, bounds=(0, 100))
    >>> round(result.value / 500_000.0, 1), result.interval(0.95)[0] < result.value
    (1.0, True)
    """
    return TotalsRequest.from_columns(data, columns, epsilon, delta, declared, bits, by, weights)
