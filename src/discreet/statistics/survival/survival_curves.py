"""Private survival curves: Kaplan–Meier curves and restricted mean survival times, by group, from one release.

A row adds 1 to one cell: the interval of its time, event or no event, its group. So the bound is that of counts
(``queries.series.event_sums`` has the proof), and everything after the release is post-processing (``life_table``).

**What is released.** Numbers at risk and survival are running sums of these counts over the intervals, in which
independent noise adds up. With Gaussian noise (δ > 0) the counts are released under a square root of the running sums,
whose noise grows as the logarithm of the number of intervals. At δ = 0 that root has too large an L1 norm: the counts
themselves are released up to ``FEW`` intervals, and above that also the sums of blocks of them. Which is smaller was
computed for the error of log S, which is a public function of the grid (benchmarks/bench_survival.py).

**The grid.** Intervals are (e_k, e_(k+1)]: an event at an edge has happened there, as in Kaplan and Meier's curve.
Times within an interval are not known better. With ``method="actuarial"`` whoever is censored within an interval counts
as at risk for half of it. Where hazard and censoring are constant within an interval, an expansion shows that its q is
too small by about q·c·(2q + c)/12, c the share censored in it. In K intervals the error of log S is then of order 1/K²:
1e-4 in 50 intervals in which two thirds have the event and two thirds would be censored. With ``method="exact"`` all
times lie at upper edges (whole months, and edges at whole months), and S is Kaplan and Meier's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, axes, choice, format_value, integer, iterable
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.queries.series.event_sums import EventSums
from discreet.queries.series.factorization import square_root
from discreet.queries.series.operators import Identity, Operator, StepsAndBlocks
from discreet.scales import ColumnScale, place_of
from discreet.statistics.groups import By, Groups, name_groups
from discreet.statistics.request import Request, check_scale, noise_variance, planning_rows, statistic, unwrap
from discreet.statistics.statistic import MOST_NAMED, OF, TABLE_COLUMNS, Statistic, group_facts
from discreet.statistics.statistic_plots import interval_text, label_text
from discreet.statistics.survival.life_table import Decoder, LifeTable

Array = NDArray[np.float64]

METHODS = ("actuarial", "exact")
FEW = 40  # intervals up to which the counts themselves are released at δ = 0
FEWEST, DEFAULT, MOST = 10, 50, 500  # intervals


def choose_operator(intervals: int, delta: float) -> Operator:
    """Return what is released of each series, by a public rule; see the module.

    >>> [choose_operator(intervals, delta).name for intervals, delta in ((20, 0.0), (100, 0.0), (20, 1e-6))]
    ['every step', 'steps and blocks', 'convolution']
    """
    steps = intervals + 1
    if delta:
        return square_root(steps).operator
    return Identity(steps) if intervals <= FEW else StepsAndBlocks(steps, round(math.sqrt(steps)))


@dataclass(frozen=True, eq=False)
class RestrictedMean:
    """The mean survival time up to a limit: the area under the curve.

    Attributes
    ----------
    value : float or array
        One for each group. It is the area under the product of the intervals' estimates, before that is made monotone,
        which is less biased.
    until : float
        The limit.
    """

    value: Any
    until: float
    _ends: Any

    def interval(self, level: float = 0.95, of: str = "rows") -> tuple[Any, Any]:
        """Return an interval for each mean; ``of`` is as in ``Survival.interval``."""
        low, high = self._ends(level, choice("of", of, OF))
        return low, high

    def __repr__(self) -> str:
        ends = zip(*(np.atleast_1d(one).tolist() for one in (self.value, *self.interval())), strict=True)
        shown = ", ".join(f"{value:.6g} in [{low:.6g}, {high:.6g}]" for value, low, high in ends)
        return f"<restricted mean until {self.until:.6g}: {shown}; {interval_text(0.95, 'rows')}>"


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Statistic):
    """Private survival curves.

    Attributes
    ----------
    value : array
        The share that survives each edge, from 1 on, decreasing. An axis of groups comes first, where there are groups.
    edges : array
        The edges of the grid, in the units of the time column.
    """

    edges: Array
    _life: LifeTable

    def _of_groups(self, values: Array) -> Any:
        return unwrap(values if self.groups is not None else values[0])

    speaks_of_population: ClassVar[bool] = True
    _possible: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def at_risk(self) -> Any:
        """The released numbers at risk at the edges, in the shape of ``value``: at least 0 and decreasing."""
        return self._of_groups(self._life.at_risk)

    @property
    def known_until(self) -> Any:
        """For each group the last edge up to which enough rows are at risk; beyond it the curve is held constant."""
        return self._of_groups(self.edges[self._life.known.sum(axis=-1)])

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for the share that survives each edge, each by itself.

        Parameters
        ----------
        level : float
        of : str
            "rows": for the curve that these rows have on this grid without noise. "population": for the curve of the
            population that the rows are an independent sample of (Greenwood's variance, and the noise). Where a person
            has several rows, these are not independent, and the interval is too narrow. Neither accounts for the grid.
        """
        return super().interval(level, of)

    def _find_interval(self, level: float, of: str) -> tuple[Any, Any]:
        low, high = self._life.curve_interval(level, population=of == "population")
        return self._of_groups(low), self._of_groups(high)

    @property
    def median(self) -> Any:
        """The time that half of a group survive, on a line between edges unless times lie there; ∞ if not reached."""
        return self._of_groups(self._crossing(self._life.survival))

    def median_interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return the times at which the interval of the curve holds one half (Brookmeyer and Crowley 1982).

        Its upper end is ∞ where the upper end of the curve's interval does not fall to one half.
        """
        low, high = self._life.curve_interval(level, population=self._choose_of(of) == "population")
        return self._of_groups(self._crossing(low)), self._of_groups(self._crossing(high))

    def _crossing(self, curves: Array) -> Array:
        """Return where each decreasing curve reaches one half, shape (groups,)."""
        times = np.full(curves.shape[:-1], np.inf)
        for place in np.ndindex(times.shape):
            curve = curves[place]
            below = np.flatnonzero(curve <= 0.5)
            if below.size:
                k = int(below[0])
                rest = curve[k - 1] - curve[k] if k else 0.0
                share = (curve[k - 1] - 0.5) / rest if k and not self._life.exact and rest > 0.0 else 1.0
                times[place] = self.edges[k] if not k else self.edges[k - 1] + share * np.diff(self.edges)[k - 1]
        return times

    def restricted_mean(self, until: float | None = None) -> RestrictedMean:
        """Return the mean survival time up to a limit, by default the last edge: the area under the curve.

        Where the curve is not known up to the limit, the interval goes down to an area of 0 there.
        """
        limit = check_limit(until, self.edges)

        def ends(level: float, of: str) -> tuple[Any, Any]:
            low, high = self._life.area_interval(self.edges, limit, level, population=of == "population")
            return self._of_groups(low), self._of_groups(high)

        return RestrictedMean(self._of_groups(self._life.areas(self.edges, limit).value), limit, ends)

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        name = self.columns[0]
        taken = name in TABLE_COLUMNS | {"group", "at_risk", *self.by}
        return [*super()._axes(), (f"time {name}" if taken else name, self.edges.tolist())]

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each edge of each group: time, number at risk, share that survives, and its interval."""
        rows = super().table(level, of)
        low, high = self._life.curve_interval(level, population=self._choose_of(of) == "population")
        numbers = zip(rows, *(part.ravel().tolist() for part in (self._life.at_risk, low, high)), strict=True)
        ends, about = ("value", "low", "high", "drowned"), self._about_cells(of)
        return [
            {name: cell for name, cell in row.items() if name not in ends and name not in about}
            | {"at_risk": left, "value": row["value"], "low": least, "high": most, "drowned": row["drowned"]}
            | about
            for row, left, least, most in numbers
        ]

    def _shown(self) -> str:
        low, high = (np.atleast_2d(end)[:, -1].tolist() for end in self.interval(self._level))
        ends = zip(self._life.survival[:, -1].tolist(), low, high, strict=True)
        shown = [f"{one:.3g} in [{least:.3g}, {most:.3g}]" for one, least, most in ends]
        if self.groups is not None:
            shown = [f"{label_text(label)} {one}" for label, one in zip(self.groups, shown, strict=True)]
        about = interval_text(self._level, self.interval_of)
        return f"survival of {self.columns[0]} at {self.edges[-1]:.6g}: {', '.join(shown)}; {about}"

    def _are_drowned(self, low: Any, high: Any) -> Any:
        """Return for each edge whether noise has drowned the curve there.

        That is where too few rows are at risk for the noise, so that the curve is held constant and its interval goes
        down to 0 (``known_until``), or where the interval has all shares from 0 to 1.
        """
        lost = np.atleast_2d(super()._are_drowned(low, high))
        lost[:, 1:] |= ~self._life.known
        return lost.reshape(np.shape(self.value))

    def _describe_drowned(self) -> tuple[str, ...]:
        """Return for which groups, and from which time on, noise has drowned the curve."""
        lost = np.atleast_2d(self.drowned(self._level))
        groups = [""] if self.groups is None else [f"{label_text(label)} " for label in self.groups]
        firsts = [
            len(one) - int(np.argmin(np.append(one[::-1], False))) for one in lost
        ]  # up to the end, from there on
        times = [
            f"{name}from {self.edges[k]:.6g} on" for name, k in zip(groups, firsts, strict=True) if k < len(self.edges)
        ]
        more = f" and {len(times) - MOST_NAMED} more" if len(times) > MOST_NAMED else ""
        return (f"drowned by noise: {', '.join(times[:MOST_NAMED])}{more}",) if times else ()

    def plot(self, *, level: float | None = None, ax: Any = None, of: str | None = None) -> Any:
        """Draw the curves as steps with bands, and the numbers at risk below the axis; return the axes.

        The bands are about the population where ``of`` is not given, as is usual for survival curves, and the title
        says what they are about. There are no marks where rows are censored: single times are not released. Needs
        matplotlib.
        """
        about, level = choice("of", "population" if of is None else of, OF), self._level if level is None else level
        low, high = self._life.curve_interval(level, population=about == "population")
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6.4, 4.2 + 0.22 * len(low)), layout="constrained").subplots()
        axes(ax)
        labels = [""] if self.groups is None else [str(one).replace("$", r"\$") for one in self.groups]
        for g, label in enumerate(labels):
            (line,) = ax.step(self.edges, self._life.survival[g], where="post", color=f"C{g}", label=label or None)
            ax.fill_between(self.edges, low[g], high[g], step="post", alpha=0.2, color=line.get_color(), linewidth=0)
        ax.set(xlim=(self.edges[0], self.edges[-1]), ylim=(0.0, 1.02), ylabel="share that survives")
        ax.set_title(interval_text(level, about), fontsize="small")
        if self.groups is not None:
            ax.legend(frameon=False, loc="best")
        ticks = [tick for tick in ax.get_xticks() if self.edges[0] <= tick <= self.edges[-1]]
        ax.set_xticks(ticks)
        nearest = [int(np.abs(self.edges - tick).argmin()) for tick in ticks]
        below = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "fontsize": 8, "va": "center"}
        ax.annotate("at risk", (self.edges[0], 0.0), (-34, -44), ha="right", **below)
        for g, label in enumerate(labels):
            height = -44 - 12 * (g + bool(label))
            ax.annotate(label, (self.edges[0], 0.0), (-34, height), ha="right", color=f"C{g}", **below)
            for tick, k in zip(ticks, nearest, strict=True):
                ax.annotate(f"{self._life.at_risk[g, k]:.0f}", (tick, 0.0), (0, height), ha="center", **below)
        ax.set_xlabel(str(self.columns[0]).replace("$", r"\$"))
        return ax


def check_limit(until: float | None, edges: Array) -> float:
    """Return the limit of a restricted mean; raise where it is not within the grid."""
    if until is None:
        return float(edges[-1])
    if isinstance(until, bool) or not isinstance(until, int | float | np.number) or not edges[0] < until <= edges[-1]:
        raise ArgumentError("until", until, f"a time above {edges[0]:.6g} and at most {edges[-1]:.6g}, the last edge")
    return float(until)


@dataclass(frozen=True, kw_only=True)
class EventRequest(Request[Any]):
    """The common part of requests for survival curves and comparisons of them.

    Attributes
    ----------
    scale : ColumnScale
        Of the times.
    time, event : int
        The indices of the two columns.
    occurred : tuple of bool
        For each category of ``event``, whether it is an event.
    groups : Groups or None
    grid : int, sequence, or None
    method : str
    rows : int or None
        A guess, for the default grid.
    """

    scale: ColumnScale
    time: int
    event: int
    occurred: tuple[bool, ...]
    groups: Groups | None
    grid: Any
    method: str
    rows: int | None

    grouped_by: ClassVar[str] = "by"  # the argument that defines the groups

    def plan_with_less_noise(self) -> Inquiry[Any]:
        """Return the plan itself: what is released, under which operator, follows from δ."""
        return self.plan()

    def __post_init__(self) -> None:
        choice("method", self.method, METHODS)

    @classmethod
    def from_columns(
        cls,
        data: Any,
        time: Any,
        event: Any,
        by: Any,
        occurred: Any,
        epsilon: float,
        delta: float,
        declared: Any,
        **more: Any,
    ) -> Any:
        """Make a request from the arguments of a statistic; raise where they do not fit the declared columns."""
        curator, guarantee = cls.open(data, [time] if isinstance(time, str) else [], epsilon, delta, declared)
        if curator.space is None:
            raise ArgumentError("time", time, "a column of numbers; the schema declares none")
        named = curator.columns[place_of("time", time, curator.columns)]
        happened = _event_column(event, curator.columns, curator.category_columns)
        grouping = name_groups(by, curator, cls.grouped_by)
        if happened in grouping:
            raise ArgumentError(cls.grouped_by, by, f"other columns than {happened!r}, the column of the event")
        curator = curator.only([named, happened, *grouping])
        place, which = curator.columns.index(named), curator.category_columns.index(happened)
        scale = check_scale(curator, place)
        if scale.kind == "date" or scale.own_ends[0] < 0.0:
            raise ArgumentError(
                "time", named, "a column of times from 0 on, such as days since admission, not of dates"
            )
        return cls(
            curator=curator,
            guarantee=guarantee,
            scale=scale,
            time=place,
            event=which,
            occurred=_which_occurred(occurred, curator.categories[which], happened),
            groups=Groups.of(grouping, curator),
            **more,
        )

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """The edges in the column's own units, and on the measured scale."""
        if self.grid is None or np.ndim(self.grid) == 0:
            count = self._default_count if self.grid is None else integer("grid", self.grid, least=1, most=MOST)
            values = np.linspace(self.scale.low, self.scale.high, count + 1)
            return self.scale.to_own(values), values
        try:
            own = np.asarray(self.grid, dtype=np.float64)
        except (TypeError, ValueError):
            own = np.empty(0)
        values = self.scale.to_values(own)
        least, most = self.scale.own_ends
        if (
            own.ndim != 1
            or not 2 <= len(own) <= MOST + 1
            or not np.isfinite(values).all()
            or not (np.diff(values) > 0.0).all()
            or not least <= own[0] < own[-1] <= most
        ):
            raise ArgumentError(
                "grid",
                self.grid,
                f"at most {MOST} intervals, or edges in order, from {least:.6g} or more to at most {most:.6g}",
            )
        return own, values

    @cached_property
    def _default_count(self) -> int:
        """The default number of intervals, from public numbers.

        At δ > 0 it hardly matters. At δ = 0 the noise in log S is about σ·√K/n beside a sampling error of about 0.8/√n:
        K is chosen so that it is at most half of that, from ``FEWEST`` to ``DEFAULT``.
        """
        if self.guarantee.delta:
            return DEFAULT
        each = planning_rows(self.curator, self.rows) / (1 if self.groups is None else len(self.groups))
        values = np.linspace(self.scale.low, self.scale.high, FEWEST + 1)
        variance = noise_variance(self.curator, self._query(values), self.losses[0])
        return int(np.clip(each / (6.0 * variance), FEWEST, DEFAULT))

    def _query(self, values: Array) -> EventSums:
        by = () if self.groups is None else self.groups.sizes
        operator = choose_operator(len(values) - 1, self.guarantee.delta)
        ends = tuple(values[1:].tolist())
        return EventSums(self.curator.space, operator, self.time, ends, self.event, self.occurred, by)

    def read_life_table(self, release: Release, query: EventSums) -> LifeTable:
        """Return the life tables of a release."""
        assert release.noise is not None  # additive
        count = 1 if self.groups is None else len(self.groups)
        decoder = Decoder(query.operator, release.noise, count, self.curator.size.rows)
        return LifeTable.from_released(release["series"], decoder, exact=self.method == "exact")


class SurvivalRequest(EventRequest):
    """A request for survival curves."""

    def plan(self) -> Inquiry[Survival]:
        """Return one question for all curves."""
        own, values = self.edges
        query = self._query(values)

        def answer(measure: Measure) -> Survival:
            release = measure(query)
            life = self.read_life_table(release, query)
            value = (life.survival if self.groups is not None else life.survival[0]).copy()
            facts = {"columns": (self.scale.name,), **group_facts(self.groups), "single": True}
            return Survival.from_releases(
                value, self.curator, self.guarantee, [release], **facts, edges=own, _life=life
            )

        return self.make_inquiry([query], answer)


def _event_column(event: Any, numbers: Sequence[str], categories: Sequence[str]) -> str:
    """Return the name of the column that says whether there was an event."""
    if isinstance(event, str) and event in numbers:
        raise ArgumentError("event", event, "a column of categories", write="Category([0, 1]) for it in the schema")
    if isinstance(event, str) and event in categories:
        return event
    if isinstance(event, int | np.integer) and not isinstance(event, bool) and 0 <= event < len(categories):
        return categories[int(event)]
    raise ArgumentError("event", event, f"a declared column of categories, one of {', '.join(map(repr, categories))}")


def _which_occurred(occurred: Any, values: Sequence[Any], name: str) -> tuple[bool, ...]:
    """Return for each category of the event's column whether it is an event."""
    if occurred is None:
        if set(values) != {0, 1}:
            has = ", ".join(map(format_value, values))
            raise ArgumentError("occurred", None, f"which of the categories of {name!r} are events; they are {has}")
        return tuple(value == 1 for value in values)
    several = [occurred] if isinstance(occurred, str) or not iterable(occurred) else list(occurred)
    result = tuple(value in several for value in values)
    if not all(one in values for one in several) or not any(result) or all(result):
        has = ", ".join(map(format_value, values))
        raise ArgumentError("occurred", occurred, f"some of the categories of {name!r}, not all: {has}")
    return result


@statistic(time="age", event="died")
def survival(
    data: Any,
    time: Any,
    event: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    occurred: Any = None,
    grid: Any = None,
    method: str = "actuarial",
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Survival]:
    """Return private survival curves (Kaplan–Meier), of all rows or of each group.

    Parameters
    ----------
    data, epsilon, delta, by, bits
        As in ``mean``. With δ > 0 a fine grid costs little; see the module.
    time : str or int
        A declared column of times from 0 on, until the event or until a row is censored. A time at the declared upper
        bound counts as survival to the end, whatever its event, since it may have been clipped.
    event : str or int
        A declared column of categories, which says how the time ended.
    occurred : value, or sequence of values
        Which of these categories are events, for example "died"; by default 1 where they are 0 and 1. Rows with any
        other category are censored at their time.
    grid : int or sequence, optional
        The number of equal intervals between the declared bounds of ``time``, or edges. By default 50, or fewer where
        rows are few for the noise. Rows after the last edge are at risk up to it.
    method : str
        "actuarial": times are anywhere in their interval. "exact": they are at its upper edge, such as whole months
        with an edge at each; the curve is then Kaplan and Meier's but for the noise.
    rows : int, optional
        A public guess of the number of rows, for the default grid; by default their number where it is public.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.
        Where a person has several rows, each row that counts is a survival time of its own.

    Returns
    -------
    Survival

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Number, Schema, statistics
    >>> rng = np.random.default_rng(0)
    >>> lived, followed = rng.exponential(40.0, 20_000), rng.uniform(0.0, 60.0, 20_000)
    >>> clinic = pd.DataFrame({"months": np.minimum(lived, followed), "died": (lived <= followed).astype(int)})
    >>> schema = Schema({"months": Number(0, 60), "died": Category([0, 1])})
    >>> result = statistics.survival(clinic, "months", "died", epsilon=1.0, schema=schema)
    >>> bool(abs(result.median - 40.0 * np.log(2.0)) < 3.0), bool(abs(result.restricted_mean(24).value - 18.0) < 0.5)
    (True, True)
    """
    result: Request[Survival] = SurvivalRequest.from_columns(
        data, time, event, by, occurred, epsilon, delta, declared, grid=grid, method=method, rows=rows, bits=bits
    )
    return result
