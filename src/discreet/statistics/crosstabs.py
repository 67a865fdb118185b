"""Private cross-tabulations: counts, or means, in every combination of the cells of two columns.

**Counts.** A row adds 1 to one cell of the table, so all cells are one release. With Gaussian noise (δ > 0) the row and
column totals are measured beside the cells, with a sixth of the squared budget. In L2 that pays: of 20 × 20 cells each
has 6 % more noise, and totals have 37 % less than sums of cells measured alone. In L1 it does not: with a fifth of the
budget for the totals, they have more noise than such sums. So Laplace noise is on the cells alone.

What was measured is combined into one unbiased table, ``measured``, and that into the table that is shown: no count is
negative, and margins are sums of cells (``consistent_tables``). Where the number of rows is public it is the total.

**Means.** Counts and sums of a column are one release in all cells, as in ``mean``. In units of the bounds a sum is at
most as large as its count, x. So the sum of a cell is cut to [−x, x], the mean of a cell is its sum over its count, and
that of a margin the sum over the count of its cells.

**Intervals** are about the noise of what was measured, as ``means`` derives those of means. Where the shown number is
outside, since it was made to fit the others, the interval is widened to it. So it holds the true number with at least
its level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, probability
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure
from discreet.door.release import describe_count
from discreet.noise import Bits
from discreet.queries.adaptors import OfColumns
from discreet.queries.counts.count_queries import Count
from discreet.queries.counts.table_queries import SideBySide
from discreet.queries.moments.moments import Moments
from discreet.queries.question import Query
from discreet.records import Box
from discreet.scales import ColumnScale, place_of
from discreet.statistics.consistent_tables import estimate_table, noise_variances, project_table
from discreet.statistics.counted_columns import CountedColumn, bins_of, name_column
from discreet.statistics.counts import axis_name
from discreet.statistics.groups import MOST, By, Groups, name_groups
from discreet.statistics.mean_answers import ratio_interval
from discreet.statistics.means import COUNTED
from discreet.statistics.request import Request, check_scale, statistic, unwrap
from discreet.statistics.statistic import Statistic, group_facts

Array = NDArray[np.float64]
Precisions = tuple[float, float, float]

# Squared weights of cells, row and column totals: 5 : ½ : ½ but for 0.3 %, with whole roots, so that sums are exact.
MEASURED = (361.0, 36.0, 36.0)
MARGINS = ("rows", "columns", "total")


def _margins_of(tables: Array) -> dict[str, Array]:
    """Return the sums of tables of shape (groups, rows, columns)."""
    return {"rows": tables.sum(axis=2), "columns": tables.sum(axis=1), "total": tables.sum(axis=(1, 2))}


def _round_cells(table: Array) -> Array:
    """Return whole numbers whose sum is the rounded sum of a table (the method of largest remainders).

    >>> _round_cells(np.array([[0.6, 1.6], [2.4, 0.0]])).tolist()
    [[1.0, 2.0], [2.0, 0.0]]
    """
    down = np.floor(table)
    missing = round(float(table.sum())) - int(down.sum())
    order = np.argsort(-(table - down), axis=None, kind="stable")
    down.ravel()[order[:missing]] += 1.0
    return down


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(Statistic):
    """A private table of counts, in every combination of the cells of two columns.

    Attributes
    ----------
    value : array of shape (rows, columns)
        The counts: not negative, and such that all margins add up. An axis of groups comes first, where there are any.
    measured : array
        The same before that: unbiased counts, which may be negative, from all that was released.
    margins : dict
        ``"rows"``, ``"columns"`` and ``"total"``: the sums of the counts.
    axes : dict of str to tuple
        The names of the two columns, rows first, and the labels of their cells, for a plot.
    """

    measured: Any
    _counted: tuple[CountedColumn, CountedColumn]
    _precisions: Precisions
    _total: float | None  # where it is public

    takes_categories: ClassVar[bool] = True

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The names of the two columns, rows first, and the labels of their cells."""
        return {one.name: tuple(one.cells) for one in self._counted}

    @property
    def _asked_columns(self) -> set[str]:
        return super()._asked_columns | {*self.axes}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know: also how numbers and dates were binned."""
        return (*super().notes, *(words for one in self._counted if (words := one.binning) is not None))

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The labels of rows and columns."""
        return tuple(self.axes.values())

    @property
    def margins(self) -> dict[str, Any]:
        """The sums of the counts over columns ("rows"), over rows ("columns"), and over both ("total")."""
        return {name: self._ungrouped(values) for name, values in self._margins().items()}

    def whole(self) -> Self:
        """Return the same table with whole numbers, whose margins are whole and add up; it costs nothing.

        The sum of all cells is rounded, and the cells are rounded down, but for those that are nearest to the next
        number: as many as that sum needs.

        >>> from discreet import Category, Schema, statistics
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"ward": ["a", "b"] * 50, "sex": ["f", "f", "m", "m"] * 25})
        >>> schema = Schema({"ward": Category(["a", "b"]), "sex": Category(["f", "m"])})
        >>> result = statistics.crosstab(rows, "ward", "sex", epsilon=1.0, schema=schema).whole()
        >>> bool((result.value == result.value.round()).all()), bool(result.margins["total"] == result.value.sum())
        (True, True)
        """
        tables = self._tables(self.value)
        return replace(self, value=np.stack([_round_cells(table) for table in tables]).reshape(np.shape(self.value)))

    def _tables(self, values: Any) -> Array:
        """Return values with an axis of groups."""
        return np.asarray(values).reshape(-1, *(len(one) for one in self._counted))

    def _ungrouped(self, values: Array) -> Any:
        """Return values without their axis of groups, if there are no groups."""
        return unwrap(values if self.groups is not None else values[0])

    def _margins(self) -> dict[str, Array]:
        result = _margins_of(self._tables(self.value))
        return result if self._total is None else {**result, "total": np.full(1, self._total)}

    def _half_widths(self, level: float) -> dict[str, float]:
        """Return the half-width of the noise of a cell and of each margin of ``measured``."""
        shape, known, noise = (len(self._counted[0]), len(self._counted[1])), self._total is not None, self._noise
        if noise.normal:
            variances = noise_variances(shape, self._precisions, known=known)
            widths = [noise.half_width_of_sum([math.sqrt(variance)], level) for variance in variances]
        else:
            weight, cells = 1.0 / math.sqrt(self._precisions[0]), math.prod(shape)
            widths = []
            for part in (1, shape[1], shape[0], cells):  # cells that are summed, less their share of all noise
                share = part / cells if known else 0.0
                coefficients = [weight * (1.0 - share)] * part + [weight * share] * (cells - part)
                widths.append(noise.half_width_of_sum(coefficients, level))
        return dict(zip(("cells", *MARGINS), widths, strict=True))

    def _ends(self, level: float) -> Iterator[tuple[str, Array, Array]]:
        """Yield the intervals of cells and margins, with an axis of groups."""
        widths = self._half_widths(level)
        shown = {"cells": self._tables(self.value), **self._margins()}
        measured = {"cells": self._tables(self.measured), **_margins_of(self._tables(self.measured))}
        for name, value in shown.items():
            low, high = (np.maximum(measured[name] + sign * widths[name], 0.0) for sign in (-1.0, 1.0))
            exact = name == "total" and self._total is not None
            yield name, value if exact else np.minimum(low, value), value if exact else np.maximum(high, value)

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for the number of each cell that holds it with this probability, or a greater one.

        It is about the noise of what was measured, and holds the shown value. It accounts for the rows that count
        (``which_rows``), but not for rows beyond the limit of a unit.
        """
        _, low, high = next(self._ends(level))
        return self._ungrouped(low), self._ungrouped(high)

    def margin_intervals(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Return an interval for each of the ``margins``, as ``interval`` does for cells."""
        ends = list(self._ends(level))[1:]
        return {name: (self._ungrouped(low), self._ungrouped(high)) for name, low, high in ends}

    def table(self, level: float = 0.95, of: str | None = None, *, margins: bool = False) -> list[dict[str, Any]]:
        """Return a row for each number, with its labels, value and interval; ``pandas.DataFrame`` accepts the result.

        Parameters
        ----------
        level, of : float, str
            As in ``interval``.
        margins : bool
            Whether rows for the margins follow those of the cells. The label of what was summed over is then None.
        """
        rows = super().table(level, of)
        if not margins:
            return rows
        ends, names = {name: (low, high) for name, low, high in self._ends(level)}, [name for name, _ in self._axes()]
        about, possible = self._about_cells(of), self._possible
        first, second = (list(one.cells) for one in self._counted)
        over: dict[str, list[tuple[Any, Any]]] = {
            "rows": [(label, None) for label in first],
            "columns": [(None, label) for label in second],
            "total": [(None, None)],
        }
        for place, group in enumerate([None] if self.groups is None else self.groups):
            whose = {} if self.groups is None else self._group_cells(group)
            for name, labels in over.items():
                values, low, high = (np.atleast_1d(one[place]).tolist() for one in (self._margins()[name], *ends[name]))
                for pair, *numbers in zip(labels, values, low, high, strict=True):
                    named = dict(zip(names[-2:], pair, strict=True))
                    shown = [self._show_number(number, {}) for number in numbers]
                    cells = dict(zip(("value", "low", "high"), shown, strict=True))
                    if possible is not None:
                        cells["drowned"] = numbers[1] <= possible[0] and numbers[2] >= possible[1]
                    rows.append(whose | named | self._extra_cells({}) | cells | about)
        return rows

    def _show_cells(self, row: dict[str, Any]) -> dict[str, Any]:
        return {name: "total" if cell is None else cell for name, cell in row.items()}

    def _shown_with_rows(self) -> str:
        return "; ".join([describe_count(self._shown(), self.release.declared), *self.notes])

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        axes: list[tuple[str, Sequence[Any]]] = [] if self.groups is None else [("group", self.groups)]
        return [*axes, *((axis_name(one.name), one.cells) for one in self._counted)]


@dataclass(frozen=True, eq=False, repr=False)
class MeanCrosstab(Crosstab):
    """A private table of means of a column, in every combination of the cells of two others.

    Attributes
    ----------
    value : array of shape (rows, columns)
        The means, in the column's own units: geometric means of a log column, days since 1970-01-01 for dates.
    counts : array
        How many rows each cell has: not negative, and adding up. The margins of the means are weighted by them.
    measured : array
        The counts before that, unbiased.
    measured_sums : array
        The sums of the column in each cell, unbiased, on the scale on which it was measured.
    """

    counts: Any
    measured_sums: Any
    _unit_sums: Array  # in units of the bounds, of shape (groups, rows, columns), as they were released
    _cut_sums: Array  # the same, cut to the counts
    _scale: ColumnScale

    _kind: ClassVar[str] = "location"

    def whole(self) -> Self:
        """Raise: means are not counts."""
        raise TypeError("whole: expected counts, and this table has means; write crosstab without values")

    def _margins(self) -> dict[str, Array]:
        sums, counts = _margins_of(self._cut_sums), _margins_of(self._tables(self.counts))
        return {name: _means(sums[name], counts[name], self._scale) for name in MARGINS}

    def _ends(self, level: float) -> Iterator[tuple[str, Array, Array]]:
        probability("level", level)
        parts, noise = self.release.parts, self._noise
        weights, counts = (parts["count"].weight, parts["first"].weight), self._tables(self.measured)
        height, width = len(self._counted[0]), len(self._counted[1])
        sums = {"cells": self._unit_sums, **_margins_of(self._unit_sums)}
        rows = {"cells": counts, **_margins_of(counts)}
        terms = {"cells": 1, "rows": width, "columns": height, "total": height * width}
        for name, value in {"cells": self._tables(self.value), **self._margins()}.items():
            ends = np.empty((2, *value.shape))
            for place in np.ndindex(value.shape):
                pair = float(sums[name][place]), float(rows[name][place])
                ends[(slice(None), *place)] = ratio_interval(noise, weights, *pair, level, terms=terms[name])
            low, high = (_own_units(np.clip(end, -1.0, 1.0), self._scale) for end in ends)
            yield name, np.minimum(low, value), np.maximum(high, value)

    @property
    def _possible(self) -> tuple[float, float]:
        """The bounds of the column."""
        return self._scale.own_ends

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for each mean of these rows, clipped to the bounds, as ``Mean.interval`` does."""
        return super()._rows_interval(level)

    def _shown_with_rows(self) -> str:
        return Statistic._shown_with_rows(self)

    def _extra_cells(self, labels: dict[str, Any]) -> dict[str, Any]:
        return {"statistic": "geometric mean"} if self._scale.kind == "log" else {}


def _own_units(values: Array, scale: ColumnScale) -> Array:
    """Return numbers of the unit ball in the column's own units."""
    box = Box([scale.low], [scale.high])
    measured = np.clip(np.asarray(box.from_unit(values.reshape(-1, 1))), scale.low, scale.high)
    return scale.to_own(measured.reshape(values.shape))


def _means(sums: Array, counts: Array, scale: ColumnScale) -> Array:
    """Return sums over counts, in the column's own units: the middle of the bounds where there is nothing."""
    return _own_units(np.clip(sums / np.where(counts > 0.0, counts, 1.0), -1.0, 1.0), scale)


@dataclass(frozen=True, kw_only=True)
class CrosstabRequest(Request[Crosstab]):
    """A request for a table.

    Attributes
    ----------
    counted : (CountedColumn, CountedColumn)
        The rows and the columns of the table.
    values : (int, ColumnScale) or None
        The index and the scale of the column whose means are asked for.
    groups : Groups or None
    """

    counted: tuple[CountedColumn, CountedColumn]
    values: tuple[int, ColumnScale] | None
    groups: Groups | None

    def __post_init__(self) -> None:
        cells = math.prod(map(len, self.counted)) * (1 if self.groups is None else len(self.groups))
        if cells > MOST:
            raise ArgumentError(
                ("rows", "columns"), tuple(one.name for one in self.counted), f"at most {MOST} cells, got {cells}"
            )

    def _ask(self, query: Query) -> Query:
        """Return a query that is asked in every cell of every group."""
        for one in reversed(self.counted):
            query = one.ask(query, self.curator)
        return query if self.groups is None else self.groups.ask(query)

    def _facts(self) -> dict[str, Any]:
        """Return what every answer says about its cells and groups."""
        total = self.curator.size.rows if self.groups is None else None
        public = None if total is None else float(total)
        return {**group_facts(self.groups), "single": True, "_counted": self.counted, "_total": public}

    def plan(self) -> Inquiry[Crosstab]:
        """Return one question for all cells."""
        return self._plan_counts() if self.values is None else self._plan_means(*self.values)

    def _plan_counts(self) -> Inquiry[Crosstab]:
        """Return the question for the cells, and for the margins too where the noise is Gaussian."""
        query, precisions = self._ask(Count()), (1.0, 0.0, 0.0)
        if self.guarantee.delta:
            precisions = MEASURED
            sides = tuple(one.ask(Count(), self.curator) for one in self.counted)
            if self.groups is not None:
                sides = tuple(map(self.groups.ask, sides))
            query = SideBySide((query, *sides), tuple(map(math.sqrt, precisions)))

        def answer(measure: Measure) -> Crosstab:
            release = measure(query)
            height, width = map(len, self.counted)
            first, *others = (release[part] for part in release.parts)
            cells = first.reshape(-1, height, width)
            beside = others or [cells.sum(axis=2), cells.sum(axis=1)]
            rows, columns = beside[0].reshape(-1, height), beside[1].reshape(-1, width)
            facts = self._facts()
            return self._finish(Crosstab, cells, rows, columns, precisions, release, facts)

        return self.make_inquiry([query], answer, "crosstab")

    def _finish(
        self,
        kind: type[Crosstab],
        cells: Array,
        rows: Array,
        columns: Array,
        precisions: Precisions,
        release: Release,
        facts: dict[str, Any],
    ) -> Crosstab:
        """Return the table of counts that follows from noisy cells and margins, of shape (groups, …)."""
        total = facts["_total"]
        measured = np.stack(
            [estimate_table(*each, precisions, total) for each in zip(cells, rows, columns, strict=True)]
        )
        tables = np.stack([project_table(one, total) for one in measured])
        names = tuple(one.name for one in self.counted)
        return kind.from_releases(
            tables if self.groups is not None else tables[0],
            self.curator,
            self.guarantee,
            [release],
            columns=names,
            measured=measured if self.groups is not None else measured[0],
            _precisions=precisions,
            **facts,
        )

    def _plan_means(self, place: int, scale: ColumnScale) -> Inquiry[Crosstab]:
        """Return the question for the counts and sums of all cells."""
        box = Box([scale.low], [scale.high])
        moments = Moments(box, (COUNTED, 1.0 - COUNTED, 0.0))
        query = self._ask(OfColumns(moments, self.curator.space, (place,)))
        precisions = (COUNTED, 0.0, 0.0)

        def answer(measure: Measure) -> Crosstab:
            release = measure(query)
            shape = (-1, *map(len, self.counted))
            counts, sums = (release[part].reshape(shape) for part in ("count", "first"))
            facts = self._facts()
            table = self._finish(Crosstab, counts, counts.sum(axis=2), counts.sum(axis=1), precisions, release, facts)
            shown = table._tables(table.value)
            cut = np.clip(sums, -shown, shown)
            middle, half = (scale.low + scale.high) / 2.0, (scale.high - scale.low) / 2.0
            own = middle * counts + half * sums
            return MeanCrosstab.from_releases(
                table._ungrouped(_means(cut, shown, scale)),
                self.curator,
                self.guarantee,
                [release],
                columns=(scale.name,),
                measured=table.measured,
                counts=table.value,
                measured_sums=table._ungrouped(own),
                _precisions=precisions,
                _unit_sums=sums,
                _cut_sums=cut,
                _scale=scale,
                **facts,
            )

        return self.make_inquiry([query], answer, "crosstab")


@statistic(rows="bmi")
def crosstab(
    data: Any,
    rows: str | int,
    columns: str | int,
    values: str | int | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    bins: Any = None,
    by: By | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Crosstab]:
    """Return a private cross-tabulation of two columns: counts, or means of a third column, in every combination.

    It is one release. Margins (row, column and grand totals) are part of it, and add up. No count is negative.

    Parameters
    ----------
    data, epsilon, delta, by, bits
        As in ``mean``. With δ > 0 margins are more accurate: they are measured beside the cells.
    rows, columns : str or int
        Declared columns of categories, numbers or dates, for the rows and the columns of the table.
    values : str or int, optional
        A declared column of numbers or dates, whose mean is given for each cell in place of the number of its rows.
    bins : int, sequence, str, or mapping of columns to them
        Of numbers and dates, as in ``histogram``.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Crosstab
        With ``values`` a ``MeanCrosstab``.

    Examples
    --------
    >>> import pandas as pd
    >>> from discreet import statistics
    >>> people = pd.DataFrame({"ward": ["a", "a", "b", "b"] * 500, "sex": ["f", "m", "f", "f"] * 500})
    >>> both = {"ward": ["a", "b"], "sex": ["f", "m"]}
    >>> result = statistics.crosstab(people, "ward", "sex", epsilon=1.0, classes=both, neighbors="add-remove")
    >>> bool((abs(result.value - [[500, 500], [1000, 0]]) < 40).all()), bool(result.value.min() >= 0.0)
    (True, True)
    >>> bool(abs(result.margins["rows"].sum() - result.margins["total"]) < 1e-6)
    True
    """
    named = [one for one in (rows, columns, values) if one is not None]
    curator, guarantee = Request.open(data, named, epsilon, delta, declared)
    pair = [name_column("rows", rows, curator), name_column("columns", columns, curator)]
    grouping = name_groups(by, curator)
    if len({*pair, *grouping}) < 2 + len(grouping):
        raise ArgumentError(("rows", "columns", "by"), (rows, columns, by), "different columns")
    asked = None
    if values is not None:
        if isinstance(values, str) and values in curator.category_columns:
            raise ArgumentError("values", values, "a column of numbers, and this one has categories; leave it out")
        asked = curator.columns[place_of("values", values, curator.columns)]
    curator = curator.only([*pair, *grouping, *([] if asked is None else [asked])])
    widths = bins_of(bins, pair, curator)
    first, second = (CountedColumn.of(name, widths[name], curator) for name in pair)
    place = None if asked is None else curator.columns.index(asked)
    return CrosstabRequest(
        curator=curator,
        guarantee=guarantee,
        bits=bits,
        counted=(first, second),
        values=None if place is None else (place, check_scale(curator, place)),
        groups=Groups.of(grouping, curator),
    )
