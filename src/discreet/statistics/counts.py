"""Private counts: of rows, of categories, and of numbers or dates in bins, optionally in groups.

A row adds 1 to exactly one count (``queries.counts``), so any number of counts is one release with noise on each.
Bins of dates may follow the calendar: the days, weeks, months or years between two declared days.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice, integer, probability
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.door.release import describe_count
from discreet.noise import Bits
from discreet.queries.adaptors import Grouped
from discreet.queries.counts.count_queries import Bins, Count
from discreet.queries.question import Query
from discreet.records.cells import format_day
from discreet.scales import ColumnScale, as_days, place_of
from discreet.statistics.groups import By, Groups, name_groups
from discreet.statistics.population import each_interval, largest_clusters, share_interval
from discreet.statistics.request import Request, check_scale, statistic, unwrap
from discreet.statistics.statistic import OF, Statistic, group_facts

Array = NDArray[np.float64]

CALENDAR = ("day", "week", "month", "year")
NUMPY_UNIT = {"month": "M", "year": "Y"}
THURSDAY = 3  # 1970-01-01 was one, counted from Monday
MOST = 2**20  # bins


def calendar_bins(bins: str, low: float, high: float) -> tuple[tuple[str, ...], Array]:
    """Return the label of each bin, and the days on which bins begin, followed by the day after the last bin.

    The declared days may cut the first and the last bin. Every day from ``low`` to ``high`` is in exactly one bin.

    Parameters
    ----------
    bins : str
        One of ``CALENDAR``. Weeks are those of ISO 8601, which begin on a Monday.
    low, high : float
        The first and the last day, as whole days since 1970-01-01.

    Examples
    --------
    >>> labels, edges = calendar_bins("month", 18276.0, 18350.0)
    >>> labels, [format_day(edge) for edge in edges]
    (('2020-01', '2020-02', '2020-03'), ['2020-01-15', '2020-02-01', '2020-03-01', '2020-03-30'])
    """
    first, last = int(low), int(high)
    if bins in NUMPY_UNIT:
        unit = f"M8[{NUMPY_UNIT[bins]}]"
        ends = np.array([first, last], dtype=np.int64).astype("M8[D]").astype(unit).astype(np.int64)
        starts = np.arange(ends[0], ends[1] + 1).astype(unit).astype("M8[D]").astype(np.int64)
    else:
        step = 7 if bins == "week" else 1
        begin = first - (first + THURSDAY) % 7 if bins == "week" else first
        if (last - begin) // step >= MOST:
            raise ArgumentError("bins", bins, f"at most {MOST} bins between the declared days", write="'month'")
        starts = np.arange(begin, last + 1, step)
    if len(starts) < 2:
        raise ArgumentError(
            "bins",
            bins,
            f"at least two of them between the declared days, {format_day(first)} and {format_day(last)}",
            write="bins='day'",
        )
    labels = tuple(_bin_label(bins, int(start)) for start in starts)
    return labels, np.array([first, *starts[1:].tolist(), last + 1], dtype=np.float64)


def _bin_label(bins: str, start: int) -> str:
    """Return the label of a bin: 2023, 2023-01, 2023-W05 or 2023-01-31."""
    if bins == "week":
        # A week has the year of its Thursday, and a first week may begin before the year 1.
        year, week, _ = datetime.date.fromisoformat(format_day(start + THURSDAY)).isocalendar()
        return f"{year:04d}-W{week:02d}"
    return format_day(start)[: {"year": 4, "month": 7, "day": 10}[bins]]


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Statistic):
    """Private counts.

    Attributes
    ----------
    value : float or array
        The released counts. They are unbiased, so they may be negative and are not whole. An axis of groups comes
        first, where there are groups, then one of bins or categories.
    labels : tuple or None
        The categories that were counted, or the calendar bins: "2023-01".
    edges : array or None
        The edges of the bins, one more than there are bins, in the data's own units. For dates they are the days since
        1970-01-01 on which bins begin, and the day after the last bin.
    """

    labels: tuple[Any, ...] | None = None
    edges: Array | None = None

    @property
    def shares(self) -> Array:
        """The counts as shares of their sum, in each group: at least 0, summing to 1."""
        counts = np.maximum(np.atleast_1d(np.asarray(self.value)), 0.0)
        total = counts.sum(axis=-1, keepdims=True)
        return np.asarray(np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1]))

    def interval(self, level: float = 0.95, of: str = "rows") -> tuple[Any, Any]:
        """Return an interval for each number of rows that holds it with this probability.

        With ``of="rows"`` it accounts for the noise, for the rows that count (``which_rows``), but not for rows beyond
        the limit of a unit. With ``of="population"`` it is for the number that as many rows have on average in the
        population from which they were sampled: the interval of its share (``share_interval``) times their number.
        """
        return super().interval(level, of)

    def share_interval(self, level: float = 0.95, of: str = "rows") -> tuple[Any, Any]:
        """Return an interval for each share: of these rows, or of the population from which they were sampled.

        Shares are those of the categories or bins, within each group where there are groups; for numbers of rows by
        group, those of the groups.

        >>> from discreet import statistics
        >>> counts = statistics.histogram([0.2] * 300 + [0.8] * 700, bins=2, epsilon=1.0, bounds=(0, 1))
        >>> low, high = counts.share_interval(0.95, of="population")
        >>> bool(low[0] < 0.3 < high[0])
        True
        """
        probability("level", level)
        clusters = 0 if choice("of", of, OF) == "rows" else largest_clusters(self.release.declared)
        counts, noise = np.asarray(self.value), self._noise
        if counts.ndim == 0:
            raise ArgumentError(
                "of",
                of,
                "shares of several counts, and this is one number of rows",
                write="histogram(…) or count(…, by=…)",
            )
        rows = self.release.size.rows if counts.ndim == 1 else None

        def interval(place: tuple[int, ...]) -> tuple[float, float]:
            return share_interval(noise, counts[place[:-1]], place[-1], rows, clusters, level)

        return each_interval(counts, interval)

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        if np.ndim(self.value) == 0:
            raise ArgumentError(
                "of",
                "population",
                "of='rows', since a number of rows is not sampled; ask for shares",
                write="histogram(…) or count(…, by=…)",
            )
        counts = np.asarray(self.value)
        rows = self.release.size.rows if counts.ndim == 1 else None
        total = np.maximum(counts.sum(axis=-1, keepdims=True) if rows is None else float(rows), 0.0)
        low, high = self.share_interval(level, "population")
        return total * low, total * high

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        half = self._noise.half_width(level)
        return unwrap(np.maximum(self.value - half, 0.0)), unwrap(np.maximum(self.value + half, 0.0))

    def _shown_with_rows(self) -> str:
        return describe_count(self._shown(), self.release.declared)

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        axes = super()._axes()
        if self.labels is not None:
            return [*axes, (self.columns[0], self.labels)]
        if self.edges is not None:
            dated = any(scale.kind == "date" for scale in self._scales)
            edges = [format_day(edge) if dated else edge for edge in self.edges.tolist()]
            return [*axes, (self.columns[0], list(pairwise(edges)))]
        return axes


@dataclass(frozen=True, kw_only=True)
class CountsRequest(Request[Counts]):
    """A request for counts.

    Attributes
    ----------
    query : Query
        The count over all rows.
    by : tuple of str
        The columns of the groups.
    facts : mapping
        Further fields of the answer.
    """

    query: Query
    by: tuple[str, ...]
    facts: Mapping[str, Any]

    def plan(self) -> Inquiry[Counts]:
        """Return one question for all counts, in groups where ``by`` is given."""
        groups = Groups.of(self.by, self.curator)
        query = self.query if groups is None else groups.ask(self.query)

        def answer(measure: Measure) -> Counts:
            release = measure(query)
            shape: tuple[int, ...] = () if groups is None else (len(groups),)
            shape += () if isinstance(self.query, Count) else (self.query.size,)
            value = release.value.reshape(shape).copy() if shape else release.value.item()
            return Counts.from_releases(
                value, self.curator, self.guarantee, [release], **group_facts(groups), single=True, **self.facts
            )

        return self.make_inquiry([query], answer)


@statistic()
def count(
    data: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Counts]:
    """Return the private number of rows, or of the rows of each group.

    A row counts if it is within the limit of its person and the condition of the view holds. A gap drops a row only if
    it is in a column of that condition, or in the column of the groups.

    Parameters
    ----------
    data, epsilon, delta, by, bits
        As in ``mean``.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Counts

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> result = statistics.count(np.zeros(1000), epsilon=1.0, bounds=(0, 1), neighbors="add-remove")
    >>> 950 < result.value < 1050
    True
    """
    curator, guarantee = Request.open(data, [], epsilon, delta, declared)
    grouping = name_groups(by, curator)
    if not grouping:
        curator = curator.counting()
        if curator.size.rows is not None:
            raise ValueError(
                f"by=None: the number of rows, {curator.size.rows}, is public under {curator.neighbors} where none can "
                "be missing; count groups, or declare neighbors='add-remove'"
            )
    else:
        curator = curator.only(grouping)
    facts = {"columns": ("rows",)}
    return CountsRequest(curator=curator, guarantee=guarantee, bits=bits, query=Count(), by=grouping, facts=facts)


@statistic()
def histogram(
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    bins: Any = 10,
    by: By | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Counts]:
    """Return the private histogram of a column: how many rows have each category, or a number in each bin.

    Parameters
    ----------
    data, epsilon, delta, by, bits
        As in ``mean``.
    column : str or int, optional
        A declared column of categories, numbers or dates. A column of categories is given by name.
    bins : int, sequence, or str
        For numbers: the number of bins of equal width between the declared bounds, or their edges. Numbers beyond the
        first or the last edge count in the first or the last bin. For a log column bins have equal width on the log
        scale, and edges are in its own units. For dates also "day", "week", "month" or "year", which cover each
        declared day once. Edges may be dates or ISO strings; a bin holds the days from its first edge up to, but not
        including, its last.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Counts

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> result = statistics.histogram(ages, epsilon=1.0, bounds=(0, 100), bins=4)
    >>> result.edges.tolist(), bool(abs(result.value - 5000).max() < 400)
    ([0.0, 25.0, 50.0, 75.0, 100.0], True)
    """
    curator, guarantee = Request.open(data, [] if column is None else [column], epsilon, delta, declared)
    named = curator.columns + curator.category_columns
    if column is None:
        if len(named) != 1:
            raise ArgumentError("column", None, f"one of {', '.join(map(repr, named))}")
        column = named[0]
    if isinstance(column, str) and column not in named:
        raise ArgumentError("column", column, f"a declared column, one of {', '.join(map(repr, named))}")
    if not (isinstance(column, str) and column in curator.category_columns):
        column = curator.columns[place_of("column", column, curator.columns)]
    grouping = name_groups(by, curator)
    curator = curator.only([column, *grouping])
    query: Query
    labels: tuple[Any, ...] | None
    edges: Array | None
    if column in curator.category_columns:
        place = curator.category_columns.index(column)
        labels, edges, query = curator.categories[place], None, Grouped(Count(), len(curator.categories[place]), place)
    else:
        place = curator.columns.index(column)
        labels, edges, ends = _bin_edges(bins, check_scale(curator, place))
        query = Bins(curator.space, place, tuple(ends[1:-1].tolist()))
    facts = {"columns": (str(column),), "labels": labels, "edges": edges}
    return CountsRequest(curator=curator, guarantee=guarantee, bits=bits, query=query, by=grouping, facts=facts)


def _bin_edges(bins: Any, scale: ColumnScale) -> tuple[tuple[str, ...] | None, Array, Array]:
    """Return labels (or None), edges in the column's own units, and the same edges on the measured scale."""
    if isinstance(bins, str):
        if scale.kind != "date":
            raise ArgumentError(
                "bins",
                bins,
                f"a whole number, at least 2, or edges, since {scale.name!r} has numbers; 'month' and the like are "
                "for columns that are declared as dates",
            )
        labels, days = calendar_bins(choice("bins", bins, CALENDAR), scale.low, scale.high)
        return labels, days, days
    if np.ndim(bins) == 0:
        count = integer("bins", bins, least=2, most=MOST)
        if scale.kind == "date":
            return None, *(_equal_days(count, scale),) * 2
        values = np.linspace(scale.low, scale.high, count + 1)
        return None, scale.to_own(values), values
    try:
        own = as_days(bins) if scale.kind == "date" else np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        own = np.empty(0)
    values = scale.to_values(own)
    rising = np.isfinite(values).all() and (np.diff(values) > 0.0).all()
    if own.ndim != 1 or not 3 <= len(own) <= MOST + 1 or not rising:
        kinds = {"date": ", each a day", "log": " and above 0"}
        raise ArgumentError(
            "bins", bins, "a whole number, at least 2, or three edges or more, in order" + kinds.get(scale.kind, "")
        )
    return None, own, values


def _equal_days(count: int, scale: ColumnScale) -> Array:
    """Return the first days of ``count`` bins whose lengths differ by at most a day, and the day after the last bin."""
    number = int(scale.high - scale.low) + 1
    if count > number:
        raise ValueError(f"bins={count}: expected at most {number}, the number of declared days")
    return np.asarray(scale.low + np.ceil(np.arange(count + 1.0) * number / count))
