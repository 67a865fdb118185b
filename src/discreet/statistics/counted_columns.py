"""Columns whose cells are counted: the categories of one, or the bins of numbers or dates.

Bins of dates may follow the calendar: the days, weeks, months, quarters or years between two declared days. All follows
from public declarations.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, Verbatim, choice, integer, one_of
from discreet.door import Curator
from discreet.queries.adaptors import Grouped
from discreet.queries.counts.count_queries import Bins, Count
from discreet.queries.counts.table_queries import Binned
from discreet.queries.question import Query
from discreet.records.cells import format_day
from discreet.scales import ColumnScale, as_days, place_of
from discreet.statistics.request import check_scale

Array = NDArray[np.float64]

CALENDAR = ("day", "week", "month", "quarter", "year")
MONTHS = {"month": 1, "quarter": 3, "year": 12}
THURSDAY = 3  # 1970-01-01 was one, counted from Monday
MOST = 2**20  # bins
DEFAULT = 10  # bins of equal width


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
    if bins in MONTHS:
        ends = np.array([first, last], dtype=np.int64).astype("M8[D]").astype("M8[M]").astype(np.int64) // MONTHS[bins]
        starts = (np.arange(ends[0], ends[1] + 1) * MONTHS[bins]).astype("M8[M]").astype("M8[D]").astype(np.int64)
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
    """Return the label of a bin: 2023, 2023-Q1, 2023-01, 2023-W05 or 2023-01-31."""
    if bins == "week":
        # A week has the year of its Thursday, and a first week may begin before the year 1.
        year, week, _ = datetime.date.fromisoformat(format_day(start + THURSDAY)).isocalendar()
        return f"{year:04d}-W{week:02d}"
    day = format_day(start)
    return (
        f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}"
        if bins == "quarter"
        else day[: {"year": 4, "month": 7, "day": 10}[bins]]
    )


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """A column, and the cells that its values are counted in.

    Attributes
    ----------
    name : str
    labels : tuple or None
        The categories, or the calendar bins.
    edges : array or None
        The edges of the bins, one more than there are bins, in the data's own units.
    inner : tuple of float or None
        The edges between bins on the measured scale; None for categories.
    place : int
        The index of the column among those of categories, or among those of numbers.
    scale : ColumnScale or None
        That of a column of numbers or dates.
    """

    name: str
    labels: tuple[Any, ...] | None
    edges: Array | None
    inner: tuple[float, ...] | None
    place: int
    scale: ColumnScale | None

    @classmethod
    def of(cls, name: str, bins: Any, curator: Curator) -> Self:
        """Return a declared column with these bins, which categories do not use."""
        if name in curator.category_columns:
            place = curator.category_columns.index(name)
            return cls(name, tuple(curator.categories[place]), None, None, place, None)
        place = curator.columns.index(name)
        scale = check_scale(curator, place)
        labels, edges, ends = bin_edges(bins, scale)
        return cls(name, labels, edges, tuple(ends[1:-1].tolist()), place, scale)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def cells(self) -> Sequence[Any]:
        """What each cell is called: its category, its calendar bin, or the ends that it holds: "[0, 18)", "[65, 120]".

        A number below the first edge counts in the first bin, and one above the last edge in the last, so these reach
        to the declared bounds.
        """
        if self.labels is not None:
            return self.labels
        assert self.edges is not None  # there are labels or edges
        assert self.scale is not None
        low, high = self.scale.own_ends
        edges, dated = self.edges.tolist(), self.scale.kind == "date"
        ends = [min(edges[0], low), *edges[1:-1], max(edges[-1], high)]
        words = [format_day(end) if dated else f"{end:.12g}" for end in ends]
        words = words if len({*words}) == len(words) else [repr(end) for end in ends]
        closed = edges[-1] <= high  # otherwise it is the day after the last one, or beyond all numbers
        last = f"[{words[-2]}, {words[-1]}{']' if closed or not dated else ')'}"
        return (*(f"[{first}, {second})" for first, second in pairwise(words[:-1])), last)

    @property
    def binning(self) -> str | None:
        """How numbers or dates were binned, as in "age in 3 bins from [0, 18) to [65, 120]"; None for categories."""
        if self.edges is None:
            return None
        cells = self.cells
        return f"{self.name} in {len(cells)} bins from {cells[0]} to {cells[-1]}"

    def count(self, curator: Curator) -> Query:
        """Return the query that counts rows in each cell."""
        if self.inner is None:
            return Grouped(Count(), len(self), self.place)
        return Bins(curator.space, self.place, self.inner)

    def ask(self, query: Query, curator: Curator) -> Query:
        """Return a query that is asked in each cell."""
        if self.inner is None:
            return Grouped(query, len(self), self.place)
        return Binned(query, curator.space, self.place, self.inner)


def name_column(argument: str, column: Any, curator: Curator) -> str:
    """Return the name of a declared column, which is given by its name, or by its number among those of numbers.

    None is the only column, where there is one.
    """
    named = curator.columns + curator.category_columns
    if column is None:
        if len(named) != 1:
            raise ArgumentError(argument, None, f"one of {', '.join(map(repr, named))}")
        return named[0]
    if isinstance(column, str):
        if column not in named:
            raise ArgumentError(argument, column, f"a declared column, {one_of(column, named)}")
        return column
    if isinstance(column, list | tuple):
        raise ArgumentError(argument, Verbatim("several"), "one column", write="count(by=[…]) for tables of any number")
    return curator.columns[place_of(argument, column, curator.columns)]


def bins_of(bins: Any, names: Sequence[str], curator: Curator) -> dict[str, Any]:
    """Return the bins of each column: the same for all, or as a mapping gives them, ``DEFAULT`` where it does not.

    Categories have no bins: raise where bins are given for them alone.
    """
    given = dict(bins) if isinstance(bins, Mapping) else dict.fromkeys(names, bins)
    for name in given:
        if name not in names:
            raise ArgumentError("bins", given, f"bins of {', '.join(map(repr, names))} and no other column")
    asked = [name for name in given if given[name] is not None]
    categories = [name for name in asked if name in curator.category_columns]
    if categories and (isinstance(bins, Mapping) or categories == asked):
        shown = ", ".join(map(repr, categories))
        raise ArgumentError("bins", bins, f"None for {shown}: categories are counted one by one, and have no bins")
    return {name: DEFAULT if given.get(name) is None else given[name] for name in names}


def bin_edges(bins: Any, scale: ColumnScale) -> tuple[tuple[str, ...] | None, Array, Array]:
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
        return None, *(_round_edges(values, scale) if scale.kind == "log" else (scale.to_own(values), values))
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


def _round_edges(values: Array, scale: ColumnScale) -> tuple[Array, Array]:
    """Return edges on a log scale, those between bins rounded to three digits so that labels are short and exact.

    They stay as they are where that would make two of them equal.
    """
    own = scale.to_own(values)
    rounded = np.array([own[0], *(float(f"{edge:.3g}") for edge in own[1:-1].tolist()), own[-1]])
    if (np.diff(rounded) <= 0.0).any():
        return own, values
    return rounded, np.array([values[0], *scale.to_values(rounded)[1:-1], values[-1]])


def _equal_days(count: int, scale: ColumnScale) -> Array:
    """Return the first days of ``count`` bins whose lengths differ by at most a day, and the day after the last bin."""
    number = int(scale.high - scale.low) + 1
    if count > number:
        raise ValueError(f"bins={count}: expected at most {number}, the number of declared days")
    return np.asarray(scale.low + np.ceil(np.arange(count + 1.0) * number / count))
