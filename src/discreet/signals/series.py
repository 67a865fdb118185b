"""Private time series: the rows, the grid of steps and the guarantee, checked before anything is spent.

Rows have one of two layouts.

- *Long*: a row is an event, with a column of times and optionally one of values. S_t is the sum of the values (or the
  number) of the rows whose time falls into step t. A row changes one step: the guarantee for a row is *event-level*.
  With ``unit=`` and ``max_rows=`` it is *user-level*: a person changes up to ``max_rows`` events, at any steps.
- *Wide*: a row is a person, its numeric columns are the steps in order, and S_t is the sum of a column. A row may
  change every step: the guarantee is *user-level*.

A row without a time or a value is dropped or filled, as its column declares. Times are first clipped to their declared
range. Rows outside the grid are ignored. If late or early rows must not fall into the first or the last step, declare
the range of times wider than the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer, positive, probability
from discreet.door import Curator, Release, open_rows
from discreet.door.inquiry import Inquiry
from discreet.guarantees import Guarantee, Loss
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.adaptors import column_limits
from discreet.queries.question import Query, additive_loss
from discreet.queries.series.operators import MOST_STEPS, Identity, Operator
from discreet.queries.series.series_sums import ColumnSums, StepSums
from discreet.records import Box
from discreet.scales import place_of
from discreet.statistics.request import check_scale

Array = NDArray[np.float64]
Result = TypeVar("Result")

SMALLEST = 1e-130  # smallest scale of noise, whose square is still a float, also after filtering


@dataclass(frozen=True)
class Steps:
    """A public grid of ``count`` equal steps of [start, stop); ``stop`` itself belongs to the last step.

    >>> Steps(0.0, 24.0, 4).edges.tolist()
    [0.0, 6.0, 12.0, 18.0, 24.0]
    """

    start: float
    stop: float
    count: int

    def __post_init__(self) -> None:
        count = integer("steps", self.count, least=1, most=MOST_STEPS)
        try:
            start, stop = float(self.start), float(self.stop)
        except (TypeError, ValueError):
            start = stop = np.nan
        if not (max(abs(start), abs(stop)) <= 1e100 and 0.0 < stop - start >= 1e-8 * max(abs(start), abs(stop))):
            raise ArgumentError(
                ("start", "stop"),
                (self.start, self.stop),
                "two numbers of at most 1e100 in size, apart by 1e-8 of their size or more",
                write="for example Steps(0, 24, count=24)",
            )
        for name, value in {"start": start, "stop": stop, "count": count}.items():
            object.__setattr__(self, name, value)

    @property
    def edges(self) -> Array:
        """The starts of the steps, and the end of the last one: shape (count + 1,)."""
        return np.linspace(self.start, self.stop, self.count + 1)

    @property
    def starts(self) -> Array:
        """The starts of the steps."""
        return self.edges[:-1]


@dataclass(frozen=True)
class Series:
    """The rows of a curator, read as a time series.

    Attributes
    ----------
    curator : Curator
        A view of the columns that are needed.
    guarantee : Guarantee
    steps : Steps
    place_time, place_value : int or None
        The indices of the columns of times and values; None for wide rows, and for counts.
    bits : Bits or None

    Examples
    --------
    >>> series = Series.from_rows(
    ...     [[0.5], [1.5], [1.7]], time=0, value=None, steps=4, epsilon=1.0, delta=1e-6, bits=None,
    ...     declared={"bounds": (0, 4)},
    ... )
    >>> series.layout, series.level, series.count, series.largest
    ('long', 'event', 4, 1.0)
    """

    curator: Curator
    guarantee: Guarantee
    steps: Steps
    place_time: int | None
    place_value: int | None
    bits: Bits | None

    @classmethod
    def from_rows(
        cls,
        data: Any,
        *,
        time: str | int | None,
        value: str | int | None,
        steps: int | Steps | None,
        epsilon: float,
        delta: float,
        bits: Bits | None,
        declared: Mapping[str, Any],
    ) -> Series:
        """Open the rows, and check the arguments against the declared columns."""
        budget, failure = positive("epsilon", epsilon), probability("delta", delta)
        if steps is not None and not isinstance(steps, Steps):
            steps = integer("steps", steps, least=1, most=MOST_STEPS)
        curator = open_rows(data, **declared)
        guarantee = Guarantee(budget, failure, curator.neighbors)
        if not isinstance(curator.space, Box):
            raise ArgumentError(
                "bounds", UNSHOWN, "an interval for every column of numbers", write="bounds={'day': (0, 365)}"
            )
        layout = _wide(curator, value, steps) if time is None else _long(curator, time, value, steps)
        view, grid, place_time, place_value = layout
        return cls(view, guarantee, grid, place_time, place_value, bits)

    @property
    def count(self) -> int:
        """The number of steps, T."""
        return self.steps.count

    @property
    def layout(self) -> str:
        """``"long"`` or ``"wide"``."""
        return "wide" if self.place_time is None else "long"

    @property
    def level(self) -> str:
        """``"event"`` where each row is protected by itself and is one event, else ``"user"``."""
        return "event" if self.layout == "long" and self.curator.unit == "row" else "user"

    @cached_property
    def centred(self) -> bool:
        """Whether wide rows are centred at the middle of their bounds, which needs a public number of rows."""
        return self.layout == "wide" and self.curator.size.rows is not None

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The bounds on the value of one event, for long rows: 1 and 1 for a count."""
        return (1.0, 1.0) if self.place_value is None else column_limits(self.curator.space, self.place_value)

    @property
    def nonnegative(self) -> bool:
        """Whether the declared bounds exclude negative values."""
        if self.layout == "long":
            return self.limits[0] >= 0.0
        return bool(np.all(np.asarray(self.curator.space.low) >= 0.0))

    @property
    def largest(self) -> Any:
        """The bound B on the absolute value of one event (long), or of a row in each step, an array (wide)."""
        return max(map(abs, self.limits)) if self.layout == "long" else self._wide_query().largest

    def query(self, operator: Operator) -> StepSums | ColumnSums:
        """Return the query for O·S, where O is the operator and S the series."""
        if operator.count != self.count:
            raise ArgumentError("operator", UNSHOWN, f"one over {self.count} steps, got {operator.count}")
        if self.place_time is None:
            return self._wide_query(operator)
        space = self.curator.space
        return StepSums(space, operator, self.place_time, self.place_value, self.steps.start, self.steps.stop)

    def _wide_query(self, operator: Operator | None = None) -> ColumnSums:
        return ColumnSums(self.curator.space, operator or Identity(self.count), self.centred)

    def loss(self) -> Loss:
        """Return the loss of one release that spends the whole guarantee: Gaussian, or Laplace at δ = 0."""
        return additive_loss(self.guarantee)

    def noise(self, query: Query, loss: Loss) -> NoiseDistribution:
        """Return the noise of a release; raise where floats cannot hold its variance. Nothing is spent."""
        noise = self.curator.plan(query, loss, bits=self.bits).noise
        assert noise is not None  # every sum over rows has additive noise
        if not SMALLEST < noise.scale < 1.0 / SMALLEST:
            raise ArgumentError(
                "bounds, epsilon",
                UNSHOWN,
                f"noise of a scale from {SMALLEST:.0e} to {1.0 / SMALLEST:.0e}, so that floats hold its variance; it "
                f"would be {noise.scale:.1e}. Write the values in another unit",
            )
        return noise

    def make_inquiry(self, query: Query, loss: Loss, answer: Callable[[Release], Result]) -> Inquiry[Result]:
        """Return an inquiry that asks one query and computes the answer from its release."""
        return Inquiry.of_one(self.curator, self.guarantee, query, answer, loss=loss, bits=self.bits)

    def measure(self, operator: Operator) -> Release:
        """Release O·S at the whole guarantee; ``read_totals`` converts the release to totals."""
        return self.curator.measure(self.query(operator), self.loss(), bits=self.bits)

    def read_totals(self, release: Release, operator: Operator) -> Array:
        """Return the released O·S. For n centred wide rows with the middle a, n·O·a is added back."""
        rows = self.curator.size.rows
        if not self.centred or rows is None:
            return np.array(release.value)
        return np.asarray(release.value + operator.apply(rows * self._wide_query().middle))


Layout = tuple[Curator, Steps, int | None, int | None]  # view of the rows, grid, columns of times and values


def _long(curator: Curator, time: Any, value: Any, steps: int | Steps | None) -> Layout:
    """Return the layout of long rows, one for each event."""
    for argument, name in (("time", time), ("value", value)):
        if isinstance(name, str) and name in curator.category_columns:
            raise ArgumentError(
                argument,
                name,
                f"a column of numbers, and this one has categories; declare it as a Number, for example {name!r}: "
                "Number(0, 365), in days since a public date",
            )
    when = curator.columns[place_of("time", time, curator.columns)]
    what = None if value is None else curator.columns[place_of("value", value, curator.columns)]
    if when == what:
        raise ArgumentError("value", value, "another column than that of time; leave it out to count rows")
    if steps is None:
        raise ArgumentError(
            "steps",
            None,
            f"how many steps the declared range of {when!r} is cut into",
            write="for example steps=24, or Steps(0, 24, count=24) for a narrower grid",
        )
    view = curator.only([name for name in (when, what) if name is not None])
    place, where = view.columns.index(when), None if what is None else view.columns.index(what)
    times = check_scale(view, place)
    if where is not None:
        check_scale(view, where)
    grid = steps if isinstance(steps, Steps) else Steps(times.low, times.high, steps)
    if not (times.low <= grid.start and grid.stop <= times.high):
        raise ArgumentError(
            "steps",
            grid,
            f"a grid within the declared range of {when!r}, {times.low!r} to {times.high!r}; a row's time is clipped "
            "into that range, so steps outside of it would be empty",
        )
    return view, grid, place, where


def _wide(curator: Curator, value: Any, steps: int | Steps | None) -> Layout:
    """Return the layout of wide rows, one for each person."""
    if value is not None:
        raise ArgumentError("value", value, "a column of time beside it", write="for example time='day'")
    view = curator.only(curator.columns)
    count = len(view.columns)
    given = steps.count if isinstance(steps, Steps) else steps
    if count < 2 or given not in (None, count):
        raise ArgumentError(
            ("time", "steps"),
            (None, given),
            f"rows of several columns, one a step, and steps=None; there are {count} columns of numbers. For rows "
            f"that are events write time={view.columns[0]!r} and how many steps",
        )
    for place in range(count):
        check_scale(view, place)
    grid = steps if isinstance(steps, Steps) else Steps(0.0, float(count), count)
    return view, grid, None, None
