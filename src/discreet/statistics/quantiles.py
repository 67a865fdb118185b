"""Quantiles: the exponential mechanism on a fine grid (``mechanisms.order``, where the proofs are).

**Limits.** Part of ε draws a lower and an upper limit for each quantile (``quantile_drawing``). They hold whatever the
rows are, and are wide for that. Without them no number is known that says how far off a quantile is: that depends on
how dense the rows are there, which is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, iterable, probability
from discreet.door import Declarations, Release
from discreet.noise import Bits
from discreet.statistics.quantile_drawing import AboutQuantiles
from discreet.statistics.request import Request, statistic
from discreet.statistics.statistic import Statistic

__all__ = ["Quantile", "interquartile_range", "median", "quantile", "quantiles"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Quantile(Statistic):
    """A private quantile, or several.

    Attributes
    ----------
    value : float or array
        In the data's own units; of dates whole days since 1970-01-01. An axis of groups first, where there are groups,
        then one of ``levels``, where there are several.
    levels : tuple of float
        Which quantiles they are.
    limits : (array, array) or None
        What ``interval`` returns, where limits were drawn.
    level : float or None
        The probability with which they hold.
    """

    levels: tuple[float, ...]
    limits: tuple[Any, Any] | None
    level: float | None

    _kind: ClassVar[str] = "location"

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each number: its labels, its value and, where limits were drawn, these."""
        if self.limits is not None:
            return super().table(level)
        free = replace(self, limits=(self.value, self.value), level=0.95).table(level=0.0)
        return [{name: cell for name, cell in row.items() if name not in ("low", "high")} for row in free]

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return limits that hold the quantile of these rows with at least this probability, each by itself.

        They were drawn together with the value, for one level: at lower ones they are the same. They speak of the
        noise: not of how these people were sampled.
        """
        if self.limits is None or self.level is None:
            raise ValueError("interval=None: no limits were drawn; write for example median(…, interval=0.95)")
        if probability("level", level) > self.level:
            drawn = f"expected at most {self.level}, for which the limits were drawn"
            raise ValueError(f"level={level!r}: {drawn}; ask again with interval={level!r}")
        return self.limits

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        several = np.ndim(self.value) > (self.groups is not None)
        return super()._axes() + ([("level", self.levels)] if several else [])


class QuantileRange(Quantile):
    """The private distance between two quantiles: of logarithms for a log column, in days for dates."""

    _kind: ClassVar[str] = "spread"


@dataclass(frozen=True, kw_only=True)
class QuantileRequest(AboutQuantiles[Quantile]):
    """A request for quantiles of a column.

    Attributes
    ----------
    several : bool
        Whether the answer has an axis of levels.
    """

    several: bool

    def answer(self, found: Array, limits: tuple[Array, Array] | None, releases: list[Release]) -> Quantile:
        """Return the quantiles in the column's own units."""
        (scale,) = self.scales
        order = [self.wanted.index(level) for level in self.levels]

        def shown(values: Array) -> Any:
            own = scale.to_own(values)
            return self.shown(own[:, order] if self.several else own[:, 0])

        ends = None if limits is None else (shown(limits[0]), shown(limits[1]))
        facts = self.facts | {"columns": self.names, "limits": ends}
        return Quantile.of(shown(found), self.curator, self.guarantee, releases, **facts)


class QuantileRangeRequest(AboutQuantiles[QuantileRange]):
    """A request for how far two quantiles are apart."""

    @property
    def each(self) -> float | None:
        """The level of the limits of each quantile, of two that both must hold."""
        return None if self.interval is None else (1.0 + self.interval) / 2.0

    def answer(self, found: Array, limits: tuple[Array, Array] | None, releases: list[Release]) -> QuantileRange:
        """Return the distance, on the scale that the column is measured on."""

        def distance(upper: Array, lower: Array) -> Any:
            return self.shown(np.maximum(upper[:, 1] - lower[:, 0], 0.0))

        ends = None if limits is None else (distance(*limits), distance(*limits[::-1]))
        facts = self.facts | {"columns": tuple(scale.label for scale in self.scales), "limits": ends}
        return QuantileRange.of(distance(found, found), self.curator, self.guarantee, releases, **facts)


def _levels(name: str, levels: Any) -> tuple[float, ...]:
    """Return the levels as they came, checked."""
    one = "one number from 0 to 1; write for example 0.9, or quantiles(…) for several"
    several = "numbers from 0 to 1, each once; write for example [0.25, 0.5, 0.75], or quantile(…) for one"
    accepted = f"{name}: expected {one if name == 'q' else several}"
    numbers: list[Any] = list(levels) if iterable(levels) and not isinstance(levels, str) else []
    real = [isinstance(number, Real) and not isinstance(number, bool | np.bool_) for number in numbers]
    if not numbers or not all(real) or not all(0.0 <= number <= 1.0 for number in numbers):
        raise ValueError(accepted)
    found = tuple(float(number) for number in numbers)
    if len(set(found)) != len(found):
        raise ValueError(accepted)
    return found


@statistic(levels=[0.25, 0.5])
def quantiles(
    data: Any,
    levels: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Quantile]:
    """Return private quantiles of a column, several at once.

    Those in the middle are drawn first and part the rows for the others, so that k quantiles cost as much as some
    log₂ k of them (Kaplan, Schnapp and Stemmer 2022). They come out in order.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``. δ does not help much here; 0 is fine.
    levels : sequence of float
        Which quantiles, from 0 to 1. At the ends themselves whatever lies beyond all rows is as good as they are, so
        ask for 0.01 and 0.99 rather than for 0 and 1.
    column : str or int, optional
        Which column, where there are several.
    by : str, optional
        A declared column of categories: quantiles of each of its groups, at the cost of one (under replace-one of up
        to two, for a row may change its group).
    weights : str or int, optional
        A declared column of weights from 0 on.
    step : float, optional
        Where the values have steps of their own (1 for whole numbers): only such values are drawn. Dates have steps of
        one day, and a log column takes none.
    interval : float or None
        The level of the limits that ``.interval()`` returns. They take two fifths of ε, shared by all; with None the
        quantiles have all of it.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Quantile

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> found = statistics.quantiles(ages, [0.25, 0.5, 0.75], epsilon=1.0, bounds=(0, 120), step=1)
    >>> bool(abs(found.value - [25, 50, 75]).max() < 5)
    True
    """
    if isinstance(levels, str):
        raise ArgumentError("levels", levels, "numbers from 0 to 1; they come before the column")
    asked: dict[str, Any] = {"levels": _levels("levels", levels), "step": step, "interval": interval, "several": True}
    return QuantileRequest.of(data, column, epsilon, delta, declared, bits, by, weights, **asked)


@statistic(q=0.9)
def quantile(
    data: Any,
    q: float,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Quantile]:
    """Return the private q-quantile of a column; see ``quantiles`` for the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> abs(statistics.quantile(ages, 0.9, epsilon=1.0, bounds=(0, 120)).value - 90.0) < 3.0
    True
    """
    asked: dict[str, Any] = {"levels": _levels("q", [q]), "step": step, "interval": interval, "several": False}
    return QuantileRequest.of(data, column, epsilon, delta, declared, bits, by, weights, **asked)


@statistic()
def median(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Quantile]:
    """Return the private median of a column; see ``quantiles`` for the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> found = statistics.median(ages, epsilon=1.0, bounds=(0, 120))
    >>> abs(found.value - 50.0) < 3.0, found.interval()[0] <= 51.0
    (True, True)
    """
    asked: dict[str, Any] = {"levels": (0.5,), "step": step, "interval": interval, "several": False}
    return QuantileRequest.of(data, column, epsilon, delta, declared, bits, by, weights, **asked)


@statistic()
def interquartile_range(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: str | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[QuantileRange]:
    """Return the private distance between the quartiles of a column; see ``quantiles`` for the arguments.

    Of a log column it is that of the logarithms, and the answer names it so; of dates it is in days. Limits come from
    those of the quartiles, so they hold at least as often as they say.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> abs(statistics.interquartile_range(ages, epsilon=1.0, bounds=(0, 120)).value - 50.0) < 5.0
    True
    """
    return QuantileRangeRequest.of(
        data, column, epsilon, delta, declared, bits, by, weights, levels=(0.25, 0.75), step=step, interval=interval
    )
