"""How quantiles and their limits are drawn, level by level and group by group; see ``quantiles``.

**Limits.** Once a value v is drawn, a limit is looked for at v less (or more) a distance that shrinks by a factor from
step to step: some sixty candidates, however wide the bounds are. Rows go to the step below them for a lower limit and
to the one above for an upper one, so that a limit for them is one for the rows themselves; and rows are made up at the
far end, as many as the level asks for (``mechanisms.order``).

Quantiles: the exponential mechanism on a fine grid (``mechanisms.order``, where the proofs are).

**Limits.** Part of ε draws a lower and an upper limit for each quantile (``quantile_drawing``). They hold whatever the
rows are, and are wide for that. Without them no number is known that says how far off a quantile is: that depends on
how dense the rows are there, which is private.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, iterable, probability
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import BoundedRangeLoss, Loss, PureLoss
from discreet.noise import Bits
from discreet.queries.ranks.quantile_queries import (
    MOST_FLIPS,
    TIE_BITS,
    GridSteps,
    Quantiles,
    RankTarget,
    Scale,
    quantile_levels,
)
from discreet.statistics.request import ColumnRequest, Request, statistic
from discreet.statistics.statistic import Statistic

__all__ = ["AboutQuantiles", "Quantile", "interquartile_range", "median", "quantile", "quantiles"]

Array = NDArray[np.float64]
Result = TypeVar("Result", covariant=True)

LIMITS = 0.4  # of ε, for the limits
RATIO, STEPS = 1.5, 55  # of the distances of a limit's candidates from the value: down to 2⁻³¹ of the bounds


@dataclass(frozen=True, kw_only=True)
class AboutQuantiles(ColumnRequest[Result]):
    """A request for quantiles of a column in every group, or for what follows from them.

    Attributes
    ----------
    levels : tuple of float
        Which, as they were asked for.
    step : float or None
    interval : float or None
    """

    levels: tuple[float, ...]
    step: float | None
    interval: float | None

    argument: ClassVar[str] = "column"
    one: ClassVar[bool] = True
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        (scale,) = self.scales
        if scale.kind == "log" and self.step is not None:
            raise ArgumentError(
                "step",
                self.step,
                f"None for {scale.name!r}, which is on a log scale; round the answer, or declare the column without "
                "log=True",
            )
        if scale.kind == "date" and self.step is None:
            object.__setattr__(self, "step", 1.0)
        if self.interval is not None and probability("interval", self.interval) == 0.0:
            raise ArgumentError("interval", self.interval, "a level in (0, 1), or None for no limits")

    @property
    def each(self) -> float | None:
        """The level of the limits of each quantile."""
        return self.interval

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Of each level of the tree, and of two limits for each quantile."""
        number, epsilon = len(self._tree), self.guarantee.epsilon * (1.0 if self.interval is None else 1.0 - LIMITS)
        kind = PureLoss if number > 1 or self._flips else BoundedRangeLoss
        drawn = (kind(epsilon / number, self.guarantee.neighbors),) * number
        return drawn if self.interval is None else (*drawn, *self.drawn(LIMITS, 2 * len(self.levels)))

    def plan(self) -> Inquiry[Result]:
        """Return questions that are like those to come."""
        several, scale = len(self._tree) > 1, self._scale
        targets = [RankTarget(0.5, group, 0, self._last) for group in range(self._groups)]
        questions = [self._question(scale, targets, break_ties=several)] * len(self._tree)
        rows = {} if self.each is None else self._made_up(self.each)

        def answer(measure: Measure) -> Result:
            result, releases = self._draw(measure)
            if not rows:
                return self.answer(result, None, releases)
            lower, upper, outer = self._draw_limits(measure, result, rows)
            return self.answer(result, (lower, upper), [*outer, *releases])  # the value is read from the last one

        questions += [self._limit(q, GridSteps((0.0, 1.0), up), 1.0) for q, up in rows]
        return self.asks(questions, answer, "quantiles")

    @abstractmethod
    def answer(self, result: Array, limits: tuple[Array, Array] | None, releases: list[Release]) -> Result:
        """Return the answer, from arrays with an axis of groups and one of levels, in order."""

    def shown(self, values: Array) -> Any:
        """Return values that have an axis of groups, without it where there are none."""
        kept = values if self.groups is not None else values[0]
        return kept if np.ndim(kept) else float(kept)

    @property
    def facts(self) -> dict[str, Any]:
        """What every answer says."""
        return {"groups": self.groups, "single": True, "levels": self.levels, "level": self.interval}

    @cached_property
    def wanted(self) -> list[float]:
        """The levels in order."""
        return sorted(self.levels)

    @cached_property
    def _tree(self) -> list[list[tuple[int, int, int]]]:
        return list(quantile_levels(len(self.levels)))

    @property
    def _scale(self) -> Scale:
        """The candidates for values."""
        return Scale(*self.limits[0], self.step)

    @property
    def _last(self) -> int:
        """The last of them, in units of the candidates, or of what breaks their ties."""
        return ((self._scale.count + 1) << TIE_BITS) - 1 if len(self._tree) > 1 else self._scale.count

    @property
    def _groups(self) -> int:
        return 1 if self.groups is None else len(self.groups)

    @property
    def _flips(self) -> bool:
        """Whether one quantile is drawn from few candidates."""
        return len(self.levels) == 1 and self._scale.count < MOST_FLIPS and 0.0 < self.levels[0] < 1.0

    def _question(
        self, scale: Scale | GridSteps, targets: Sequence[RankTarget], *, break_ties: bool = False
    ) -> Quantiles:
        flips, (place,) = isinstance(scale, Scale) and self._flips, self.places
        return Quantiles(self.curator.space, place, scale, tuple(targets), self.by, self.weights, break_ties, flips)

    def _draw(self, measure: Measure) -> tuple[Array, list[Release]]:
        """Return the quantiles, groups by levels, and the releases."""
        scale, last, several = self._scale, self._last, len(self._tree) > 1
        # With the ends of the scale at both sides; in units of the candidates.
        places = np.full((self._groups, len(self.levels) + 2), -1, dtype=np.int64)
        places[:, -1] = last
        levels = [0.0, *self.wanted, 1.0]
        releases = []
        for nodes in self._tree:
            asked, targets = [], []
            for group in range(self._groups):
                for place, left, right in nodes:
                    first, final = int(places[group, left + 1]) + 1, int(places[group, right + 1])
                    if first > final:  # nothing is between its neighbours
                        places[group, place + 1] = final
                        continue
                    span = levels[right + 1] - levels[left + 1]
                    q = (levels[place + 1] - levels[left + 1]) / span if span > 0.0 else 0.5
                    asked.append((group, place))
                    targets.append(RankTarget(q, group, first, final))
            # A level that has none left was paid for, and the schedule asks for something.
            targets = targets or [RankTarget(0.5, 0, last, last)]
            releases.append(measure(self._question(scale, targets, break_ties=several)))
            for (group, place), (whole, below) in zip(asked, releases[-1]["numbers"], strict=False):
                places[group, place + 1] = (int(whole) << TIE_BITS) + int(below) if several else int(whole)
        steps = places[:, 1:-1] >> (TIE_BITS if several else 0)
        return np.vectorize(scale.value, otypes=[np.float64])(steps), releases

    def _limit(self, q: float, steps: GridSteps, rows: float) -> Quantiles:
        """Return the question for a limit of a quantile in every group, with so many rows made up."""
        made_up = {"above" if steps.up else "below": rows}
        return self._question(steps, [RankTarget(q, group, 0, steps.count, **made_up) for group in range(self._groups)])

    def _steps(self, values: Array, *, up: bool) -> GridSteps:
        """Return steps away from the values that were drawn for the groups, each half as far again as the one before.

        A limit is found to within that factor of its distance, whatever the bounds are.
        """
        ((low, high),) = self.limits
        away = (high - low) * RATIO ** -np.arange(float(STEPS))
        spread = np.concatenate([values, *(values + (away[:, None] if up else -away[:, None]))])
        if self.step is not None:
            spread = low + self.step * (np.ceil if up else np.floor)((spread - low) / self.step - 1e-9)
        result = np.unique(np.clip(spread, low, high))
        if len(result) == 1:  # at an end of the bounds already: the other end makes it two
            result = np.array([low, high])
        return GridSteps(tuple(result.tolist()), up)

    def _made_up(self, level: float) -> dict[tuple[float, bool], float]:
        """Return how many rows to make up for each limit; what cannot be drawn is refused here."""
        loss, setting = self.drawn(LIMITS, 2 * len(self.levels))[0], self.curator.setting
        most = self._groups * (STEPS + 1)
        result = {}
        for q in self.wanted:
            for up in (False, True):
                steps = GridSteps(tuple(np.arange(float(max(most, 2)))), up)
                one = self._limit(q, steps, 1.0)
                eta = one.way.eta(one, loss, setting)
                result[q, up] = math.log(2.0 * most / (1.0 - level)) / eta
                if one.way.eta(self._limit(q, steps, result[q, up]), loss, setting) < eta * (1.0 - 1e-6):
                    spent = self.guarantee.epsilon
                    raise ArgumentError("epsilon", spent, "a larger one for limits, or interval=None")
        return result

    def _draw_limits(
        self, measure: Measure, result: Array, rows: Mapping[tuple[float, bool], float]
    ) -> tuple[Array, Array, list[Release]]:
        """Return the limits, groups by levels, with the values between them, and the releases."""
        ends, releases = {False: result.copy(), True: result.copy()}, []
        for (q, up), made_up in rows.items():
            place = self.wanted.index(q)
            steps = self._steps(result[:, place], up=up)
            releases.append(measure(self._limit(q, steps, made_up)))
            values = np.array([steps.value(float(number)) for number in releases[-1]["numbers"][:, 0]])
            ends[up][:, place] = np.maximum(values, result[:, place]) if up else np.minimum(values, result[:, place])
        return ends[False], ends[True], releases


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

    def answer(self, result: Array, limits: tuple[Array, Array] | None, releases: list[Release]) -> Quantile:
        """Return the quantiles in the column's own units."""
        (scale,) = self.scales
        order = [self.wanted.index(level) for level in self.levels]

        def shown(values: Array) -> Any:
            own = scale.to_own(values)
            return self.shown(own[:, order] if self.several else own[:, 0])

        ends = None if limits is None else (shown(limits[0]), shown(limits[1]))
        facts = self.facts | {"columns": self.names, "limits": ends}
        return Quantile.from_releases(shown(result), self.curator, self.guarantee, releases, **facts)


class QuantileRangeRequest(AboutQuantiles[QuantileRange]):
    """A request for how far two quantiles are apart."""

    @property
    def each(self) -> float | None:
        """The level of the limits of each quantile, of two that both must hold."""
        return None if self.interval is None else (1.0 + self.interval) / 2.0

    def answer(self, result: Array, limits: tuple[Array, Array] | None, releases: list[Release]) -> QuantileRange:
        """Return the distance, on the scale that the column is measured on."""

        def distance(upper: Array, lower: Array) -> Any:
            return self.shown(np.maximum(upper[:, 1] - lower[:, 0], 0.0))

        ends = None if limits is None else (distance(*limits), distance(*limits[::-1]))
        facts = self.facts | {"columns": tuple(scale.label for scale in self.scales), "limits": ends}
        return QuantileRange.from_releases(distance(result, result), self.curator, self.guarantee, releases, **facts)


def _levels(name: str, levels: Any) -> tuple[float, ...]:
    """Return the levels as they came, checked."""
    one = "one number from 0 to 1; write for example 0.9, or quantiles(…) for several"
    several = "numbers from 0 to 1, each once; write for example [0.25, 0.5, 0.75], or quantile(…) for one"
    accepted = f"{name}: expected {one if name == 'q' else several}"
    numbers: list[Any] = list(levels) if iterable(levels) and not isinstance(levels, str) else []
    real = [isinstance(number, Real) and not isinstance(number, bool | np.bool_) for number in numbers]
    if not numbers or not all(real) or not all(0.0 <= number <= 1.0 for number in numbers):
        raise ValueError(accepted)
    result = tuple(float(number) for number in numbers)
    if len(set(result)) != len(result):
        raise ValueError(accepted)
    return result


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
    >>> result = statistics.quantiles(ages, [0.25, 0.5, 0.75], epsilon=1.0, bounds=(0, 120), step=1)
    >>> bool(abs(result.value - [25, 50, 75]).max() < 5)
    True
    """
    if isinstance(levels, str):
        raise ArgumentError("levels", levels, "numbers from 0 to 1; they come before the column")
    asked: dict[str, Any] = {"levels": _levels("levels", levels), "step": step, "interval": interval, "several": True}
    return QuantileRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **asked)


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
    return QuantileRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **asked)


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
    >>> result = statistics.median(ages, epsilon=1.0, bounds=(0, 120))
    >>> abs(result.value - 50.0) < 3.0, result.interval()[0] <= 51.0
    (True, True)
    """
    asked: dict[str, Any] = {"levels": (0.5,), "step": step, "interval": interval, "several": False}
    return QuantileRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **asked)


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
    return QuantileRangeRequest.from_columns(
        data, column, epsilon, delta, declared, bits, by, weights, levels=(0.25, 0.75), step=step, interval=interval
    )
