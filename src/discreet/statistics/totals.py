"""Totals: sums of columns, in groups and with weights if need be; the query ``door.queries.Total``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.door import Declarations
from discreet.door.queries import Total
from discreet.noise import Bits
from discreet.statistics.asking import Asking
from discreet.statistics.statistic import Statistic, half_width

__all__ = ["Totals", "sum"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Totals(Statistic):
    """Private sums.

    Attributes
    ----------
    scales : array of shape (columns,)
        By what the noise of the release is multiplied, column by column.
    """

    scales: Array

    _from: ClassVar[str] = "summed over"

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return limits that hold the sum of these rows, clipped to their bounds, with this probability, each alone.

        They speak of the noise, and of the rows that count (``which_rows``): not of those beyond the limit of a unit,
        nor of clipping, nor of how these people were sampled.
        """
        half = half_width(self.release.law, [1.0], level) * (self.scales[0] if self.single else self.scales)
        lower, upper = self.value - half, self.value + half
        return (lower, upper) if np.ndim(lower) else (float(lower), float(upper))


def sum(  # noqa: A001  # as in NumPy: it is read statistics.sum
    data: Any,
    columns: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Totals:
    """Return private sums of columns, which are neither dates nor on a log scale.

    Parameters
    ----------
    data, columns, epsilon, delta, by, weights, bits
        As in ``mean``; with weights it is Σwx.
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
    >>> found = statistics.sum(hours, epsilon=1.0, bounds=(0, 100))
    >>> round(found.value / 500_000.0, 1), found.interval(0.95)[0] < found.value
    (1.0, True)
    """
    asking = Asking.of(data, columns, epsilon, delta, declared, by=by, weights=weights, bits=bits)
    for scale in asking.scales:
        if scale.kind == "log":
            raise ValueError(
                f"columns={scale.name!r}: expected a column of plain numbers, since a sum of logarithms is not the "
                f"logarithm of a sum; declare it without log=True, for example Number({scale.own_ends[0]:g}, "
                f"{scale.own_ends[1]:g}), or ask for the mean"
            )
        if scale.kind == "date":
            raise ValueError(
                f"columns={scale.name!r}: expected a column of numbers, since there is no sum of dates; ask for the "
                "mean, or declare a column of days as a Number"
            )
    total = Total(asking.box)
    query = asking.query(total)
    release = asking.reserve("sum", [(query, asking.additive(1.0)[0])])(query)
    most = 1.0 if asking.weights is None else asking.weights[1]
    scales = np.asarray(total.scale) * most
    found = release["total"].reshape(-1, len(scales)) * scales
    return Totals.answered(found, asking, [release], scales=scales)
