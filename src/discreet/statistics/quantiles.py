"""Private quantiles and their intervals. ``quantile_draws`` draws them, on a fine grid.

**Intervals.** Part of ε draws two further values for each quantile. Without them its error is unknown: it depends on
the density of the rows there, which is private.

- *Approximate* ones (``interval_kind="approximate"``) assume that rows are about evenly spread around the quantile;
  ``quantile_spans`` derives them. The two values are quantiles some rows below and above. Where no step was declared,
  a count of multiples says whether numbers are rounded (``rounding``).
- *Worst-case* ones (``"worst-case"``) hold whatever the rows are, and so they are wide. Given a drawn value v, the
  candidates for an end are v minus (or plus) distances that shrink geometrically: about sixty candidates, however wide
  the bounds are. For a lower end each row is rounded down to a candidate, for an upper end up; so an end for the
  rounded rows is also one for the rows themselves. Artificial rows are added at the far end, their number chosen so
  that the interval holds with the requested level.
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

from discreet.arguments import UNSHOWN, ArgumentError, choice, iterable, probability
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.guarantees import BoundedRangeLoss, LaplaceLoss, Loss, PureLoss
from discreet.noise import Bits
from discreet.queries.counts.count_queries import Count
from discreet.queries.counts.rounded_numbers import RoundedNumbers
from discreet.queries.question import Question
from discreet.queries.ranks.column_steps import GridSteps, Scale
from discreet.queries.ranks.quantile_queries import Quantiles
from discreet.statistics.groups import By
from discreet.statistics.quantile_answers import Quantile, QuantileRange
from discreet.statistics.quantile_draws import QuantileDraws
from discreet.statistics.quantile_spans import REACH, SAMPLING, QuantileSpans
from discreet.statistics.request import ColumnRequest, Request, planning_rows, statistic, unwrap
from discreet.statistics.rounding import decimal_steps, find_step, rounding_share
from discreet.statistics.statistic import group_facts

Array = NDArray[np.float64]
Result = TypeVar("Result", covariant=True)

INTERVALS = 0.4  # share of ε for the ends of the intervals
COUNTED = 0.05  # share of ε for the number of rows, where it is needed and not public
KINDS = ("approximate", "worst-case")  # of intervals
RATIO, STEPS = 1.5, 55  # ratio and number of the distances of an end's candidates: down to 2⁻³¹ of the bounds


@dataclass(frozen=True, kw_only=True)
class AnyQuantileRequest(ColumnRequest[Result]):
    """The common part of requests for quantiles of a column in every group, or for statistics computed from them.

    Attributes
    ----------
    levels : tuple of float
        The levels of the quantiles, in the order in which they were requested.
    step : float or None
        The step of which all values are multiples, from the lower bound on; None for a fine grid.
    interval : float or None
        The level of the intervals; None for no intervals.
    interval_kind : str
    """

    levels: tuple[float, ...]
    step: float | None
    interval: float | None
    interval_kind: str = "approximate"

    kind: ClassVar[type[Any]]  # the class of the answers
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
            raise ArgumentError("interval", self.interval, "a level in (0, 1), or None for no interval")
        choice("interval_kind", self.interval_kind, KINDS)

    @property
    def interval_level(self) -> float | None:
        """The level of the interval of each quantile."""
        return self.interval

    @abstractmethod
    def read(self, values: Array, others: Array) -> Array:
        """Compute the answer from quantiles of shape (groups, sorted levels).

        ``others`` are the quantiles at the opposite ends of the intervals, where ``values`` are ends.
        """

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of the levels of the tree, and of two ends for each quantile."""
        number, share = len(self.draws.tree), 1.0 if self.interval is None else 1.0 - INTERVALS
        kind = PureLoss if number > 1 or self.draws.flips else BoundedRangeLoss
        values = (kind(share * self.guarantee.epsilon / number, self.guarantee.neighbors),) * number
        if self.interval is None:
            return values
        counted = (share for share in (self._rounding_share, self._count_share) if share)
        counts = (LaplaceLoss(share * self.guarantee.epsilon, self.guarantee.neighbors) for share in counted)
        return (*values, *(self._end_loss,) * (2 * len(self.levels)), *counts)

    @property
    def _approximate(self) -> bool:
        """Whether there are approximate intervals."""
        return self.interval is not None and self.interval_kind == "approximate"

    @property
    def _count_share(self) -> float:
        """The share of ε for the number of rows, where it is needed and not public."""
        return COUNTED if self._approximate and self.rows is None else 0.0

    @property
    def _rounding_share(self) -> float:
        """The share of ε for the count of multiples, where no step was declared."""
        if not self._approximate or self.step is not None:
            return 0.0
        size, setting = self.curator.size.rows, self.curator.setting
        return rounding_share(size, self.guarantee.epsilon, setting.max_rows)

    @property
    def _multiples(self) -> RoundedNumbers:
        """The count of multiples, over all groups together."""
        (scale,), (place,) = self.scales, self.places
        ends, steps = (scale.low, scale.high), decimal_steps(*scale.own_ends)
        return RoundedNumbers(self.curator.space, place, ends, steps, scale.kind == "log")

    def plan(self) -> Inquiry[Result]:
        """Return questions of the same form as those that will be asked, which depend on earlier releases."""
        draws = self.draws
        questions = [draws.form] * len(draws.tree)
        worst = self.interval_kind == "worst-case"
        rows = {} if self.interval_level is None else self._made_up_rows(self.interval_level, worst=worst)
        count = Count() if self.groups is None else self.groups.ask(Count())
        counts = ([self._multiples] if self._rounding_share else []) + ([count] if self._count_share else [])

        def answer(measure: Measure) -> Result:
            drawn: list[tuple[Quantiles, Release, float]] = []

            def draw(question: Question) -> Release:
                release = measure(question)
                assert isinstance(question, Quantiles)
                assert isinstance(release.loss, PureLoss | BoundedRangeLoss)
                drawn.append((question, release, question.way.eta(question, release.loss, self.curator.setting)))
                return release

            values, scales, releases = draws.draw(draw, self.losses, self.curator.setting)
            ends, spans = None, None
            if rows:
                lower, upper, outer = self._draw_ends(draw, values, rows, worst=worst)
                if worst:
                    ends = self._unwrap(self.read(lower, upper)), self._unwrap(self.read(upper, lower))
                else:
                    counted = [measure(one) for one in counts]
                    spans = self._make_spans(values, (lower, upper), scales, rows, counted)
                    outer = [*outer, *counted]
                releases = [*outer, *releases]  # the value is read from the last one
            result: Result = self.kind.from_releases(
                self._unwrap(self.read(values, values)),
                self.curator,
                self.guarantee,
                releases,
                columns=tuple(one.label if self.kind._kind == "spread" else one.name for one in self.scales),
                **group_facts(self.groups),
                single=True,
                levels=self.levels,
                ends=ends,
                level=self.interval,
                _spans=spans,
                _several=getattr(self, "several", False),
                _draws=tuple(drawn),
            )
            if spans is None:
                return result
            level = self.interval
            return replace(result, ends=result._spanned(spans, level, population=False))  # type: ignore[type-var,attr-defined]

        if worst:
            questions += [draws.end(q, GridSteps((0.0, 1.0), up), up, 1.0) for q, up in rows]
        else:
            questions += [draws.end(q, draws.scale, up, made_up) for (q, up), made_up in rows.items()]
        return self.make_inquiry([*questions, *counts], answer, "quantiles")

    def _make_spans(
        self,
        values: Array,
        ends: tuple[Array, Array],
        scales: list[list[tuple[float, ...]]],
        rows: Mapping[tuple[float, bool], float],
        counted: Sequence[Release],
    ) -> QuantileSpans:
        """Return what approximate intervals are made of."""
        number = np.asarray(counted[-1]["count"].reshape(-1, 1) if self._count_share else self.rows, dtype=np.float64)
        multiples = (counted[0]["counts"], float(number.sum()), self._multiples.steps) if self._rounding_share else None
        loss, setting, levels = self._end_loss, self.curator.setting, tuple(self.sorted_levels)
        draws = self.draws
        asked = [draws.end(q, draws.scale, True, rows[q, True]) for q in levels]
        return QuantileSpans(
            values=values,
            below=ends[0],
            above=ends[1],
            levels=levels,
            scales=scales,
            end_scales=np.array([1.0 / one.way.eta(one, loss, setting) for one in asked]),
            reaches=np.array([rows[q, True] for q in levels]),
            rows=np.broadcast_to(number, (draws.number, 1)),
            clusters=setting.max_rows,
            grid=(self.scales[0].low, self.scales[0].high, self.step),
            candidates=draws.last + 1,
            rounding=None if multiples is None else find_step(*multiples),
            log=self.scales[0].kind == "log",
            exact=self.rows is not None,
        )

    @property
    def _end_loss(self) -> BoundedRangeLoss:
        """The loss of an end."""
        share = INTERVALS - self._count_share - self._rounding_share
        return self.selection_losses(share, 2 * len(self.levels))[0]

    def _unwrap(self, values: Array) -> Any:
        """Drop the axis of groups where there are no groups."""
        return unwrap(values if self.groups is not None else values[0])

    @property
    def sorted_levels(self) -> list[float]:
        """The levels in ascending order."""
        return sorted(self.levels)

    @property
    def draws(self) -> QuantileDraws:
        """How its quantiles are drawn."""
        (scale,), (place,) = self.scales, self.places
        candidates = Scale(scale.low, scale.high, self.step)
        return QuantileDraws(
            self.curator.space, place, candidates, tuple(self.sorted_levels), self.groups, self.weights
        )

    def _steps(self, values: Array, *, up: bool) -> GridSteps:
        """Return candidates at geometrically shrinking distances from the values drawn for the groups.

        So an end is found up to a factor of ``RATIO`` in its distance, however wide the bounds are.
        """
        low, high = self.scales[0].low, self.scales[0].high
        away = (high - low) * RATIO ** -np.arange(float(STEPS))
        spread = np.concatenate([values, *(values + (away[:, None] if up else -away[:, None]))])
        if self.step is not None:
            spread = low + self.step * (np.ceil if up else np.floor)((spread - low) / self.step - 1e-9)
        result = np.unique(np.clip(spread, low, high))
        if len(result) == 1:  # the value is at an end of the bounds; two candidates are needed
            result = np.array([low, high])
        return GridSteps(tuple(result.tolist()), up)

    def _made_up_rows(self, level: float, *, worst: bool) -> dict[tuple[float, bool], float]:
        """Return the number of artificial rows for each end of an interval; raise where ε is too small to draw one.

        For worst-case intervals it makes the chance of a wrong end small enough. For approximate ones it is h of
        ``quantile_spans``.
        """
        loss, setting, draws = self._end_loss, self.curator.setting, self.draws
        most = draws.number * (STEPS + 1)
        rows = planning_rows(self.curator, None) * setting.max_rows / draws.number
        result = {}
        for q in self.sorted_levels:
            for up in (False, True):
                steps = GridSteps(tuple(np.arange(float(max(most, 2)))), up) if worst else draws.scale
                one = draws.end(q, steps, up, 1.0)
                eta = one.way.eta(one, loss, setting)
                if worst:
                    result[q, up] = math.log(2.0 * most / (1.0 - level)) / eta
                else:
                    sampled = SAMPLING * math.sqrt(setting.max_rows * rows * q * (1.0 - q))
                    result[q, up] = max(REACH * -math.log1p(-level) / eta, sampled)
                if one.way.eta(draws.end(q, steps, up, result[q, up]), loss, setting) < eta * (1.0 - 1e-6):
                    spent = self.guarantee.epsilon
                    raise ArgumentError("epsilon", spent, "a larger one for an interval, or interval=None")
        return result

    def _draw_ends(
        self, measure: Measure, result: Array, rows: Mapping[tuple[float, bool], float], *, worst: bool
    ) -> tuple[Array, Array, list[Release]]:
        """Draw both ends of the intervals, of shape (groups, sorted levels), and return them with the releases.

        Those of worst-case intervals are moved so that each interval contains its value.
        """
        draws, ends, releases = self.draws, {False: result.copy(), True: result.copy()}, []
        for (q, up), made_up in rows.items():
            place = self.sorted_levels.index(q)
            steps = self._steps(result[:, place], up=up) if worst else draws.scale
            releases.append(measure(draws.end(q, steps, up, made_up)))
            values = np.array([steps.value(float(number)) for number in releases[-1]["numbers"][:, 0]])
            if not worst:
                ends[up][:, place] = values
                continue
            ends[up][:, place] = np.maximum(values, result[:, place]) if up else np.minimum(values, result[:, place])
        return ends[False], ends[True], releases


@dataclass(frozen=True, kw_only=True)
class QuantileRequest(AnyQuantileRequest[Quantile]):
    """A request for quantiles of a column.

    Attributes
    ----------
    several : bool
        Whether the answer has an axis of levels.
    """

    several: bool

    kind: ClassVar[type[Any]] = Quantile

    def read(self, values: Array, others: Array) -> Array:
        """Return the quantiles in the column's own units, in the order in which they were requested."""
        own = self.scales[0].to_own(values)
        return own[:, [self.sorted_levels.index(level) for level in self.levels]] if self.several else own[:, 0]


class QuantileRangeRequest(AnyQuantileRequest[QuantileRange]):
    """A request for the distance between two quantiles."""

    kind: ClassVar[type[Any]] = QuantileRange

    @property
    def interval_level(self) -> float | None:
        """The level of the interval of each quantile, by the union bound, since both intervals must hold."""
        return None if self.interval is None else (1.0 + self.interval) / 2.0

    def read(self, values: Array, others: Array) -> Array:
        """Return the distance, on the scale on which the column is measured."""
        return np.maximum(values[:, 1] - others[:, 0], 0.0)


def _check_levels(name: str, levels: Any) -> tuple[float, ...]:
    """Return the levels as floats, in their given order; raise where they are not distinct numbers from 0 to 1."""
    one = "one number from 0 to 1", "for example 0.9, or quantiles(…) for several"
    several = "numbers from 0 to 1, each once", "for example [0.25, 0.5, 0.75], or quantile(…) for one"
    refusal = ArgumentError(name, UNSHOWN, *(one if name == "q" else several))
    numbers: list[Any] = list(levels) if iterable(levels) and not isinstance(levels, str) else []
    real = [isinstance(number, Real) and not isinstance(number, bool | np.bool_) for number in numbers]
    if not numbers or not all(real) or not all(0.0 <= number <= 1.0 for number in numbers):
        raise refusal
    result = tuple(float(number) for number in numbers)
    if len(set(result)) != len(result):
        raise refusal
    return result


@statistic(levels=[0.25, 0.5])
def quantiles(
    data: Any,
    levels: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    interval_kind: str = "approximate",
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Quantile]:
    """Return several private quantiles of a column.

    The middle ones are drawn first and split the rows for the others, so that k quantiles cost about as much as log₂ k
    separate ones (Kaplan, Schnapp and Stemmer 2022). Higher levels never have smaller values.

    Parameters
    ----------
    data, epsilon, delta, bits
        As in ``mean``. A δ above 0 helps little here.
    levels : sequence of float
        The levels of the quantiles, from 0 to 1. At 0 and 1 every value beyond the outermost row has the same score as
        that row, so ask for 0.01 and 0.99 instead.
    column : str or int, optional
        Which column, where there are several.
    by : str or list of str, optional
        Declared columns of categories: quantiles for each combination of their categories, at the cost of one group
        (under replace-one of up to two, since a replaced row may change its group).
    weights : str or int, optional
        A declared column of non-negative weights.
    step : float, optional
        The step of the values, for example 1 for whole numbers: only multiples are drawn. Dates have a step of one day.
        A log column takes none.
    interval : float or None
        The level of the intervals that ``.interval()`` returns. They share two fifths of ε. With None the quantiles use
        all of it, and there are no intervals.
    interval_kind : {"approximate", "worst-case"}
        ``"approximate"``: intervals that hold with about their level where rows are about evenly spread around the
        quantile, or are rounded to a declared ``step`` or to 1 or 5 times a power of ten. ``"worst-case"``: intervals
        that hold with at least their level whatever the rows are, and are far wider. Out of their two fifths of ε,
        the approximate ones count the rows where their number is private (a twentieth), and multiples where no step
        is declared (up to a twenty-fifth).
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
        raise ArgumentError("levels", levels, "numbers from 0 to 1", write="levels=[0.25, 0.5, 0.75], for example")
    options: dict[str, Any] = {
        "levels": _check_levels("levels", levels),
        "step": step,
        "interval": interval,
        "several": True,
        "interval_kind": interval_kind,
    }
    return QuantileRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **options)


@statistic(q=0.9)
def quantile(
    data: Any,
    q: float,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    interval_kind: str = "approximate",
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
    options: dict[str, Any] = {"levels": _check_levels("q", [q]), "step": step, "interval": interval, "several": False}
    options["interval_kind"] = interval_kind
    return QuantileRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **options)


@statistic()
def median(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    interval_kind: str = "approximate",
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
    options: dict[str, Any] = {"levels": (0.5,), "step": step, "interval": interval, "several": False}
    options["interval_kind"] = interval_kind
    return QuantileRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **options)


@statistic()
def interquartile_range(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    interval_kind: str = "approximate",
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[QuantileRange]:
    """Return the private interquartile range of a column; see ``quantiles`` for the arguments.

    For a log column it is the range of the logarithms, and the answer says so; for dates it is in days. Its interval
    is computed from those of the quartiles, so it holds with at least its level.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> abs(statistics.interquartile_range(ages, epsilon=1.0, bounds=(0, 120)).value - 50.0) < 5.0
    True
    """
    options: dict[str, Any] = {"levels": (0.25, 0.75), "step": step, "interval": interval}
    options["interval_kind"] = interval_kind
    return QuantileRangeRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **options)
