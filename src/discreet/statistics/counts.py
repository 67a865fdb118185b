"""Private counts: of rows, of categories, and of numbers or dates in bins, optionally in groups.

A row adds 1 to exactly one count of a column (``queries.counts``), so any number of counts is one release with noise on
each. Histograms of k columns are one release too: a row adds 1 to one count of each, with norm √k in L2 and k in L1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, probability
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.door.release import describe_count
from discreet.noise import Bits
from discreet.plots import Plot
from discreet.queries.counts.count_queries import Count
from discreet.queries.counts.table_queries import SideBySide
from discreet.queries.question import Query
from discreet.statistics.counted_columns import CountedColumn, bins_of, name_column
from discreet.statistics.groups import By, Groups, name_groups
from discreet.statistics.population import each_interval, largest_clusters, share_interval
from discreet.statistics.request import Request, statistic, unwrap
from discreet.statistics.statistic import TABLE_COLUMNS, Statistic, group_facts
from discreet.statistics.statistic_plots import plot_counts

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Statistic):
    """Private counts.

    Attributes
    ----------
    value : float or array
        The released counts. They are unbiased, so they may be negative and are not whole; ``whole()`` gives the same
        counts as whole numbers that are not. An axis of groups comes first, where there are groups, then one of bins
        or categories.
    labels : tuple or None
        The categories that were counted, or the calendar bins: "2023-01".
    edges : array or None
        The edges of the bins, one more than there are bins, in the data's own units. For dates they are the days since
        1970-01-01 on which bins begin, and the day after the last bin. An edge belongs to the bin above it, as
        ``bin_labels`` says.
    measured : float, array or None
        The released counts, where ``value`` are whole numbers made from them.
    """

    labels: tuple[Any, ...] | None = None
    edges: Array | None = None
    measured: Any = None
    _column: CountedColumn | None = None

    takes_categories: ClassVar[bool] = True

    @property
    def shares(self) -> Array:
        """The counts as shares of their sum, in each group: at least 0, summing to 1."""
        counts = np.maximum(np.atleast_1d(np.asarray(self.value)), 0.0)
        total = counts.sum(axis=-1, keepdims=True)
        return np.asarray(np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1]))

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return an interval for each number of rows that holds it with this probability.

        With ``of="rows"`` it accounts for the noise, for the rows that count (``which_rows``), but not for rows beyond
        the limit of a unit, and always holds ``value``. With ``of="population"`` it is for the number that as many rows
        have on average in the population from which they were sampled: the interval of its share (``share_interval``)
        times their number.
        """
        return super().interval(level, of)

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        low, high = count_interval(self.value, self.measured, self._noise.half_width(level))
        return unwrap(low), unwrap(high)

    def whole(self) -> Self:
        """Return the same counts as whole numbers that are not negative, with whole ends of their intervals.

        This costs nothing. ``measured`` has the counts as released. Where many of them are added up, add those:
        whole numbers that are cut at 0 are too large on average.

        >>> from discreet import statistics
        >>> statistics.histogram([1.0] * 20, epsilon=1.0, bounds=(0, 4), bins=4).whole().value.min() >= 0.0
        np.True_
        """
        measured = self.value if self.measured is None else self.measured
        return replace(self, value=unwrap(round_counts(measured)), measured=measured)

    @property
    def bin_labels(self) -> tuple[str, ...] | None:
        """The bins, in words that say which ends they hold: "[0, 18)", "[18, 65)", "[65, 120]"; None without bins.

        A number below the first edge counts in the first bin, and one above the last edge in the last, so these reach
        to the declared bounds.
        """
        return None if self.edges is None or self._column is None else tuple(self._column.cells)

    def share_interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
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
        clusters = 0 if self._choose_of(of) == "rows" else largest_clusters(self.release.declared)
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

    def _shown_with_rows(self) -> str:
        return "; ".join([describe_count(self._shown(), self.release.declared), *self.notes])

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        axes = super()._axes()
        if self._column is not None:
            return [*axes, (axis_name(self._column.name), self._column.cells)]
        return axes if self.labels is None else [*axes, (self.columns[0], self.labels)]

    def _plot(self, level: float, of: str) -> Plot:
        kinds = {scale.kind for scale in self._scales}
        labels = self.bin_labels if self.labels is None else self.labels
        return plot_counts(self, level, of, labels, self.edges, log="log" in kinds, dated="date" in kinds)


def axis_name(column: str) -> str:
    """Return what a table calls the cells of a column, which must not be called as its numbers are."""
    return f"column {column}" if column in TABLE_COLUMNS else column


@dataclass(frozen=True, eq=False, repr=False)
class Histograms(Counts):
    """Private histograms of several columns, from one release; ``answer["age"]`` is that of one column.

    Attributes
    ----------
    value : array
        The released counts of all columns, one after the other. An axis of groups comes first, where there are groups.
    columns : tuple of str
    """

    _each: tuple[Counts, ...] = ()

    def __getitem__(self, name: str) -> Counts:
        if name not in self.columns:
            raise ArgumentError("name", name, f"one of the columns {', '.join(map(repr, self.columns))}")
        return self._each[self.columns.index(name)]

    @property
    def shares(self) -> Array:
        """The counts as shares of their sum, in each column and group: at least 0, summing to 1."""
        return np.concatenate([one.shares for one in self._each], axis=-1)

    def to_dict(self) -> dict[Any, Any]:
        """Return the dictionary of each column's histogram, by the names of the columns."""
        return {name: one.to_dict() for name, one in zip(self.columns, self._each, strict=True)}

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each number, with its column and its bin or category."""
        rows = []
        for name, one in zip(self.columns, self._each, strict=True):
            for row in one.table(level, of):
                renamed = {"bin" if key == axis_name(name) else key: cell for key, cell in row.items()}
                rows.append({"column": name, **renamed})
        return rows

    def whole(self) -> Self:
        """Return the same counts as whole numbers that are not negative."""
        return replace(super().whole(), _each=tuple(one.whole() for one in self._each))

    def _plot(self, level: float, of: str) -> Plot:
        raise ValueError(f"plot: histograms have an axis each; write answer[{self.columns[0]!r}].plot()")

    def _shown(self) -> str:
        return ", ".join(f"{name}: {one._shown()}" for name, one in zip(self.columns, self._each, strict=True))


def count_interval(value: Any, measured: Any, half: Any) -> tuple[Any, Any]:
    """Return intervals of counts, from the half-width of the noise: at least 0, and always with the value inside.

    Parameters
    ----------
    value : float or array
        The counts that are shown.
    measured : float, array or None
        The counts as released, where those shown are whole; the ends are then whole too, as the true counts are.
    half : float or array
    """
    centre = value if measured is None else measured
    low, high = np.maximum(centre - half, 0.0), np.maximum(centre + half, 0.0)
    if measured is not None:
        low, high = np.ceil(low), np.floor(high)
    return np.minimum(low, value), np.maximum(high, value)


def round_counts(counts: Any) -> Array:
    """Return counts as whole numbers that are not negative.

    >>> round_counts([-3.2, 0.4, 7.6]).tolist()
    [0.0, 0.0, 8.0]
    """
    return np.maximum(np.rint(np.asarray(counts, dtype=np.float64)), 0.0) + 0.0


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


@dataclass(frozen=True, kw_only=True)
class HistogramsRequest(Request[Counts]):
    """A request for the histograms of several columns.

    Attributes
    ----------
    counted : tuple of CountedColumn
    by : tuple of str
        The columns of the groups.
    """

    counted: tuple[CountedColumn, ...]
    by: tuple[str, ...]

    def plan(self) -> Inquiry[Counts]:
        """Return one question for the counts of all columns."""
        groups = Groups.of(self.by, self.curator)
        query: Query = SideBySide(
            tuple(one.count(self.curator) for one in self.counted), tuple(1.0 for _ in self.counted)
        )
        query = query if groups is None else groups.ask(query)

        def answer(measure: Measure) -> Counts:
            release = measure(query)
            lead: tuple[int, ...] = () if groups is None else (len(groups),)
            values = [release[part].reshape(*lead, -1) for part in release.parts]
            facts: dict[str, Any] = {**group_facts(groups), "single": True}

            def one(counted: CountedColumn, value: Array) -> Counts:
                own = {"columns": (counted.name,), "labels": counted.labels, "edges": counted.edges, "_column": counted}
                return Counts.from_releases(value, self.curator, self.guarantee, [release], **facts, **own)

            each = tuple(map(one, self.counted, values))
            return Histograms.from_releases(
                np.concatenate(values, axis=-1),
                self.curator,
                self.guarantee,
                [release],
                **facts,
                columns=tuple(counted.name for counted in self.counted),
                _each=each,
            )

        return self.make_inquiry([query], answer, "histograms")


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
    bins: Any = None,
    by: By | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Counts]:
    """Return the private histogram of a column: how many rows have each category, or a number in each bin.

    Parameters
    ----------
    data, epsilon, delta, by, bits
        As in ``mean``.
    column : str or int, or list of them, optional
        A declared column of categories, numbers or dates. A column of categories is given by name. Of several columns
        the histograms are one release, over the rows that have all of them. Its noise is k times as large at δ = 0,
        and √k times as large with δ > 0, as that of one column.
    bins : int, sequence, str, or mapping of columns to them, optional
        For numbers: the number of bins of equal width between the declared bounds, by default 10, or their edges.
        Numbers beyond the first or the last edge count in the first or the last bin. For a log column bins have equal
        width on the log scale, but for edges that are rounded to three digits; edges are in its own units. For dates
        also "day", "week", "month", "quarter" or "year", which cover each declared day once. Edges may be dates or ISO
        strings; a bin holds the days from its first edge up to, but not including, its last. Bins of categories alone
        are refused.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Counts
        For a list of columns ``Histograms``: ``answer["age"]`` has the counts of one.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(0.0, 100.0, 20_000)
    >>> result = statistics.histogram(ages, epsilon=1.0, bounds=(0, 100), bins=4)
    >>> result.edges.tolist(), bool(abs(result.value - 5000).max() < 400)
    ([0.0, 25.0, 50.0, 75.0, 100.0], True)
    """
    several = list(column) if isinstance(column, list | tuple) else [column]
    curator, guarantee = Request.open(data, [] if column is None else several, epsilon, delta, declared)
    names = [name_column("column", one, curator) for one in several]
    if not names or len(set(names)) != len(names):
        raise ArgumentError("column", column, "at least one column, each once")
    grouping = name_groups(by, curator)
    curator = curator.only([*names, *grouping])
    widths = bins_of(bins, names, curator)
    counted = tuple(CountedColumn.of(name, widths[name], curator) for name in names)
    if isinstance(column, list | tuple):
        return HistogramsRequest(curator=curator, guarantee=guarantee, bits=bits, counted=counted, by=grouping)
    (one,) = counted
    facts = {"columns": (one.name,), "labels": one.labels, "edges": one.edges, "_column": one}
    query = one.count(curator)
    return CountsRequest(curator=curator, guarantee=guarantee, bits=bits, query=query, by=grouping, facts=facts)
