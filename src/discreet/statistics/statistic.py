"""``Statistic``: the result of a private statistic, with its value, its intervals and its releases.

**Scales.** A log column is measured as logarithms, and a column of dates as days since 1970-01-01
(``records.declared.columns``). A location (a mean, a quantile) is returned in the column's own units. For dates
``value`` and ``interval`` are numbers of days, while ``repr``, ``to_dict`` and ``table`` show dates. A spread (a
variance, a range) stays on the scale on which it was measured: logarithms, which its column's name then says, or days.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice, probability
from discreet.door import Answer, Release
from discreet.guarantees import Loss
from discreet.noise import NoiseDistribution
from discreet.notebook import format_cell, format_html
from discreet.plots import Plot
from discreet.scales import ColumnScale, column_scales
from discreet.statistics.groups import Groups
from discreet.statistics.request import ColumnRequest, reshape_values, unwrap
from discreet.statistics.statistic_plots import interval_text, label_text, plot_numbers
from discreet.statistics.tabled_answer import as_frame

Array = NDArray[np.float64]

# The columns of a table beside those of groups
TABLE_COLUMNS = {"column", "level", "statistic", "value", "low", "high", "which_rows", "with", "drowned", "interval_of"}
TABLE_COLUMNS |= {"group", "other", "per", "p_value"}  # of comparisons
UNSHOWN = ("which_rows", "drowned", "interval_of")  # cells that a notebook does not repeat in each row, but its notes
OF = ("rows", "population")  # what an interval is about
MOST_NAMED = 3  # numbers that a note names
MOST_SHOWN = 24  # numbers that a repr shows with the labels of their groups


@dataclass(frozen=True, eq=False, repr=False)
class Statistic(Answer):
    """The result of a private statistic.

    Attributes
    ----------
    value : float or array
        In the data's own units (days since 1970-01-01 for a column of dates): a number for one column, or an axis of
        columns for several. With groups, an axis of groups comes first.
    columns : tuple of str
        The names of the columns. For a spread of logarithms a name is like ``log(income)``.
    groups : tuple or None
        The labels of the groups, in the order of ``value``: categories, or tuples of them where several columns define
        the groups.
    by : tuple of str
        The columns that define the groups; empty where there are none.
    release : Release
        The release from which the value was computed. ``releases`` has all releases of the statistic.
    guarantee : Guarantee or None
        What it cost; None where the noise came from a seed, which voids the guarantee.
    single : bool
        Whether ``value`` has no axis of columns.
    """

    columns: tuple[str, ...]
    groups: tuple[Any, ...] | None
    by: tuple[str, ...]
    single: bool

    takes_categories: ClassVar[bool] = False  # whether its column may be one of categories
    speaks_of_population: ClassVar[bool] = False  # whether every answer has intervals about the population
    _kind: ClassVar[str] = "amount"  # or "location" or "spread": decides how the scale of a column is applied

    @property
    def _noise(self) -> NoiseDistribution:
        """The noise of the release."""
        assert self.release.noise is not None  # additive, where intervals are about noise alone
        return self.release.noise

    @classmethod
    def from_values(cls, values: Array, request: ColumnRequest[Any], releases: list[Release], **more: Any) -> Self:
        """Return the answer to a request, from values of shape (groups, columns)."""
        names = tuple(scale.name for scale in request.scales)
        if cls._kind == "location":
            values = to_own_units(values, request.scales)
        elif cls._kind == "spread":
            names = tuple(scale.label for scale in request.scales)
        value = reshape_values(values, grouped=request.groups is not None, single=request.single)
        facts = {"columns": names, **group_facts(request.groups), "single": request.single} | more
        return cls.from_releases(value, request.curator, request.guarantee, releases, **facts)

    @classmethod
    def _describe(cls, statistic: str, columns: Sequence[str], logs: Sequence[str]) -> str:
        """Describe the question. ``logs`` are those of its columns that are on a log scale."""
        spread = cls._kind == "spread"
        names = [f"log({name})" if spread and name in logs else name for name in columns]
        return f"{statistic} of {', '.join(names)}" if names else statistic

    @property
    def _scales(self) -> tuple[ColumnScale, ...]:
        """The scale of each column; empty for a number of rows."""
        known = column_scales(self.release.declared)
        named = {scale.label: scale for scale in known.values()} | known
        return tuple(named[name] for name in self.columns if name in named)

    def _scale_of(self, labels: dict[str, Any]) -> ColumnScale | None:
        """Return the scale by which the number with these labels is shown; None where it is shown as a number."""
        if self._kind != "location" or not self._scales:
            return None
        return next((one for one in self._scales if one.name == labels.get("column")), self._scales[0])

    def _show_number(self, number: float, labels: dict[str, Any]) -> Any:
        scale = self._scale_of(labels)
        return number if scale is None else scale.shown(number)

    def _shaped(self, values: Array) -> Any:
        return reshape_values(values, grouped=self.groups is not None, single=self.single)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the value must know, each a sentence from public numbers; empty for most answers.

        Where noise has drowned numbers, it names them with their intervals. Where the column that chooses the rows of a
        person is asked about, it says so.
        """
        return (*self._describe_drowned(), *self._describe_order())

    @property
    def _asked_columns(self) -> set[str]:
        """The columns that the numbers are about."""
        return {*self.columns, *(scale.name for scale in self._scales), *self.by}

    def _describe_order(self) -> tuple[str, ...]:
        """Return a note where what is asked about also decides which rows of a person count."""
        declared = self.release.declared
        order, most = declared.get("order"), declared.get("max_rows") or 1
        if not order or order not in self._asked_columns:
            return ()
        first = "first row" if most == 1 else f"first {most} rows"
        unit = declared.get("unit_name") or declared.get("unit")
        return (
            f"{order} also chooses the rows that count, the {first} of each {unit}: later ones are missing, so that "
            "numbers about it are not those of all rows",
        )

    def _describe_drowned(self) -> tuple[str, ...]:
        """Return a note that names numbers that noise has drowned, with their intervals."""
        if self._possible is None:
            return ()
        ends, axes = self.interval(self._level), self._axes()
        lost = np.asarray(self._are_drowned(*ends))
        matrix = bool(axes) and axes[-1][0] == "with"  # symmetric: each pair is named once
        places = [place for place in map(tuple, np.argwhere(lost).tolist()) if not matrix or place[-2] <= place[-1]]
        if not places:
            return ()
        low, high = (np.broadcast_to(end, lost.shape) for end in ends)
        several = [
            self._describe_interval(place, float(low[place]), float(high[place])) for place in places[:MOST_NAMED]
        ]
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        return (f"drowned by noise: {', '.join(several)}{more}",)

    @property
    def _possible(self) -> tuple[Any, Any] | None:
        """The least and the greatest number that the declarations allow; None where they allow any."""
        if self._kind != "location" or not self._scales:
            return None
        least, most = np.array([scale.own_ends for scale in self._scales]).T
        return (float(least[0]), float(most[0])) if self.single else (least, most)

    def drowned(self, level: float = 0.95, of: str | None = None) -> Any:
        """Return for each number of ``value`` whether noise has drowned it: its interval covers all possible values.

        ``level`` and ``of`` are those of ``interval``. What may be follows from the declarations: a mean or a quantile
        lies within the bounds of its column, a share within [0, 1], a variance below a quarter of the squared width of
        the bounds. Numbers of rows and sums have no such limits, and are never called drowned. A variance or a standard
        deviation of 0 is always called drowned: noise took it away, which does not mean that rows are equal.
        """
        if self._possible is None:
            return np.zeros(np.shape(self.value), dtype=np.bool_)
        return self._are_drowned(*self.interval(level, of))

    def _are_drowned(self, low: Any, high: Any) -> Any:
        """Return for each interval whether it has all that is possible."""
        lost = np.zeros(np.shape(self.value), dtype=np.bool_)
        if self._possible is None:
            return lost
        least, most = self._possible
        return lost | ((low <= least) & (high >= most) & (np.asarray(least) < most))

    def _describe_interval(self, place: tuple[int, ...], low: float, high: float) -> str:
        """Return the name of a number, and its interval: "age of north in [0, 120]"."""
        labels = {name: several[one] for (name, several), one in zip(self._axes(), place, strict=True)}
        ends = (format_cell(self._show_number(end, labels)) for end in (low, high))
        column, other = labels.pop("column", self.columns[0]), labels.pop("with", None)
        pair = f"{column}" if other is None else f"{column} with {other}"
        return f"{' of '.join([pair, *map(label_text, labels.values())])} in [{', '.join(ends)}]"

    def _shown_with_rows(self) -> str:
        return "; ".join([super()._shown_with_rows(), *self.notes])

    def _repr_html_(self) -> str:
        """Return the answer for a notebook: its numbers, which rows they are about, notes, and what they cost."""
        about = [] if self.which_rows is None else [f"{self._from} {self.which_rows}"]
        rows = self._notebook_rows()
        return format_html("" if rows else self._shown(), rows, [*about, *self._describe_intervals(rows), self._cost])

    def _describe_intervals(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return what stands below the rows of a table: what its intervals are about, if it has any, and the notes."""
        about = [interval_text(self._level, self.interval_of)] if rows and "to" in rows[0] else []
        return [*about, *self.notes]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The privacy loss of each release."""
        return tuple(release.loss for release in self.releases)

    @property
    def interval_of(self) -> str:
        """What the intervals are about where nothing else is asked: "population" if the question was, else "rows".

        Tests are about the population, and so are their intervals.
        """
        return "rows"

    def _choose_of(self, of: str | None) -> str:
        """Return what an interval is about, ``interval_of`` where it is not given; raise where it is something else."""
        return self.interval_of if of is None else choice("of", of, OF)

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return the ends of an interval that holds the value with this probability, for each number of ``value``.

        Parameters
        ----------
        level : float
        of : {"rows", "population"}, optional
            By default ``interval_of``: ``"population"`` where the question was asked with ``population=True``, and for
            answers with a p-value.
            ``"rows"``: for the value that these rows (``which_rows``) would give without noise. It accounts for the
            noise, but not for clipping or for how the rows were sampled. ``"population"``: for the value in the
            population, where the rows are a random sample of it. It accounts for noise and sampling. Where the releases
            do not allow it, the error says what to ask for.
        """
        low, high = self._find_interval(probability("level", level), self._choose_of(of))
        if self._possible is None:
            return low, high
        # The truth is possible, so an interval that holds it still does when it is cut to what is.
        return unwrap(np.clip(low, *self._possible)), unwrap(np.clip(high, *self._possible))

    def _find_interval(self, level: float, of: str) -> tuple[Any, Any]:
        """Return the interval for the rows or the population, before it is cut to what is possible."""
        return self._rows_interval(level) if of == "rows" else self._population_interval(level)

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Return the interval for the rows; the level is checked."""
        raise NotImplementedError

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        """Return the interval for the population; the level is checked. Raise where the releases do not allow it."""
        raise ArgumentError(
            "of", "population", "of='rows': the releases do not say how this value varies from sample to sample"
        )

    def _axes(self) -> list[tuple[str, Sequence[Any]]]:
        """Return the name and the labels of each axis of ``value``."""
        axes: list[tuple[str, Sequence[Any]]] = [] if self.groups is None else [("group", self.groups)]
        return axes if self.single else [*axes, ("column", self.columns)]

    def to_dict(self) -> dict[Any, Any]:
        """Return the values as nested dictionaries, keyed by the labels of their axes; a single number by its column.

        The dictionary has the numbers alone. ``which_rows`` says which rows they are about, and ``table`` repeats it.
        A location in a column of dates is an ISO date, "2023-01-31".

        >>> from discreet import statistics
        >>> list(statistics.mean([[0.5, 0.25]] * 1000, epsilon=1.0, bounds=(0, 1)).to_dict())
        ['x0', 'x1']
        """

        def labelled(values: Array, axes: Sequence[tuple[str, Sequence[Any]]], labels: dict[str, Any]) -> Any:
            if not axes:
                return self._show_number(values.item(), labels)
            name, several = axes[0]
            parts = zip(several, values, strict=True)
            return {label: labelled(np.asarray(one), axes[1:], labels | {name: label}) for label, one in parts}

        result = labelled(np.asarray(self.value), self._axes(), {})
        return result if isinstance(result, dict) else {self.columns[0]: result}

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each number, with its labels, value and interval; ``pandas.DataFrame`` accepts the result.

        ``level`` and ``of`` are those of ``interval``. Where the intervals are about the population, or could be, each
        row has ``interval_of``. Where the declarations say what is possible, it has ``drowned``: whether the interval
        has all of that. Where the numbers are not about all rows, it has ``which_rows``: "at most 4 rows of each
        patient".
        Locations in a column of dates are ISO dates. For a log column a row also says what its number is: a geometric
        mean, or a statistic of the logarithms.

        >>> from discreet import statistics
        >>> row, = statistics.mean([0.5] * 1000, epsilon=1.0, bounds=(0, 1)).table()
        >>> list(row)
        ['value', 'low', 'high', 'drowned']
        """
        value, axes = np.asarray(self.value), self._axes()
        low, high = (np.broadcast_to(end, value.shape) for end in self.interval(level, of))
        about, lost = self._about_cells(of), self._are_drowned(low, high)
        rows = []
        for place in np.ndindex(value.shape):
            labels = {name: several[one] for (name, several), one in zip(axes, place, strict=True)}
            shown = self._group_cells(labels.pop("group")) if "group" in labels else {}
            numbers = {"value": value[place].item(), "low": low[place].item(), "high": high[place].item()}
            ends = {name: self._show_number(number, labels) for name, number in numbers.items()}
            drowned = {} if self._possible is None else {"drowned": bool(lost[place])}
            rows.append(shown | labels | self._extra_cells(labels) | ends | drowned | about)
        return rows

    def _about_cells(self, of: str | None) -> dict[str, Any]:
        """Return the last cells of a row of the table: what its interval and its numbers are about.

        Where an answer has intervals about the rows and about the population, each row says which of them it has.
        """
        about = self._choose_of(of)
        said = {"interval_of": about} if about == "population" or self.speaks_of_population else {}
        return said | ({} if self.which_rows is None else {"which_rows": self.which_rows})

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of ``table()``, so that ``pandas.DataFrame(answer)`` is a frame of them."""
        return iter(self.table(self._level))

    def to_frame(self, level: float = 0.95, of: str | None = None) -> Any:
        """Return ``table(level, of)`` as a data frame of pandas, with a row for each number.

        >>> from discreet import statistics
        >>> statistics.mean([[0.5, 0.25]] * 1000, epsilon=1.0, bounds=(0, 1)).to_frame().shape
        (2, 5)
        """
        return as_frame(self.table(level, of))

    def plot(self, *, level: float | None = None, ax: Any = None, of: str | None = None) -> Any:
        """Plot the values with their intervals and return the axes. Needs matplotlib.

        Counts are bars, other values are points; several columns, or the bins of several groups, have a panel each.

        Parameters
        ----------
        level : float, optional
            The level of the intervals; by default 0.95, or that with which intervals of quantiles were drawn.
        ax : matplotlib axes, optional
            By default those of a new figure.
        of : {"rows", "population"}, optional
            What the intervals are about, as in ``interval``. The plot says it.
        """
        return self._plot(self._level if level is None else level, self._choose_of(of)).draw(ax)

    def _plot(self, level: float, of: str) -> Plot:
        return plot_numbers(self, level, of)

    @property
    def _axis_label(self) -> str:
        """The label of the axis of a plot."""
        return ", ".join(self.columns)

    @property
    def _level(self) -> float:
        """The level of the intervals that are shown, where none is given."""
        return 0.95

    def _notebook_rows(self) -> list[dict[str, Any]]:
        names = {"low": f"from ({self._level:g})", "high": "to"}
        rows = self.table(self._level)
        alone = {} if "column" in rows[0] or not self.single else {"": ", ".join(self.columns)}
        return [
            alone | {names.get(name, name): cell for name, cell in self._show_cells(row).items() if name not in UNSHOWN}
            for row in rows
        ]

    def _show_cells(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row of the table as it is shown to a reader; ``table`` itself has numbers."""
        return row

    def _group_cells(self, label: Any) -> dict[str, Any]:
        """Return the cells of a row of the table that say which group it is about, one for each column of groups."""
        several = (label,) if len(self.by) == 1 else label
        names = [f"group {name}" if name in TABLE_COLUMNS else name for name in self.by]
        return dict(zip(names, several, strict=True))

    def _extra_cells(self, labels: dict[str, Any]) -> dict[str, Any]:
        """Return further cells for a row of the table: the column's name where the number is about its logarithms."""
        if self._kind == "spread" and self.single and any(scale.kind == "log" for scale in self._scales):
            return {"column": self.columns[0]}
        return {}

    def _shown(self) -> str:
        """Return the value; a single number with its interval, and what that is about."""
        return f"{self._shown_value()}{self._shown_interval()}"

    def _shown_interval(self) -> str:
        if np.ndim(self.value) != 0:
            return ""
        low, high = (format_cell(self._show_number(float(end), {})) for end in self.interval(self._level))
        about = "noise alone" if self.interval_of == "rows" else "of the population"
        return f" ({low} to {high} at {100.0 * self._level:g} %, {about})"

    def _shown_value(self) -> str:
        scales, kinds = self._scales, {scale.kind for scale in self._scales}
        if self._kind == "location" and not kinds <= {"linear"}:
            values = self.to_dict()
            shown = _round_values(values[scales[0].name] if set(values) == {scales[0].name} else values)
            return shown if isinstance(shown, str) else str(shown)
        labels = [self.groups, getattr(self, "labels", None), getattr(self, "bin_labels", None)]
        labelled = any(one is not None for one in labels) and np.ndim(self.value) > 0 and np.size(self.value) > 0
        shown = _show_first(self.to_dict(), MOST_SHOWN) if labelled else super()._shown()
        if self._kind == "amount" or kinds <= {"linear"}:
            return shown
        if len(scales) == 1 and kinds == {"date"}:
            return f"{shown} {self._days}"
        return f"{shown} of {', '.join(self.columns)}" if "log" in kinds else shown

    _days: ClassVar[str] = "days"


def group_facts(groups: Groups | None) -> dict[str, Any]:
    """Return what an answer says about its groups."""
    return {"groups": None, "by": ()} if groups is None else {"groups": groups.labels, "by": groups.names}


def to_own_units(values: Array, scales: Sequence[ColumnScale]) -> Array:
    """Convert values, whose last axis is the columns, to the columns' own units."""
    return np.stack([scale.to_own(values[..., j]) for j, scale in enumerate(scales)], axis=-1)


def _show_first(values: dict[Any, Any], most: int) -> str:
    """Return the first numbers of a result of ``to_dict``, with their labels, and how many more there are.

    >>> _show_first({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 4.0}}, 3)
    "{'a': {'x': 1.0, 'y': 2.0}, 'b': {'x': 3.0}} and 1 more"
    """

    def take(part: Any, left: int) -> tuple[Any, int, int]:
        """Return what is shown of a part, how many numbers that is, and how many there are."""
        if not isinstance(part, dict):
            return part, min(left, 1), 1
        shown, used, every = {}, 0, 0
        for label, one in part.items():
            kept, here, there = take(one, left - used)
            used, every = used + here, every + there
            if here:
                shown[label] = kept
        return shown, used, every

    shown, used, every = take(_round_values(values), most)
    return f"{shown} and {every - used} more" if every > used else str(shown)


def _round_values(values: Any) -> Any:
    """Round the numbers in the result of ``to_dict``, for a ``repr``."""
    if isinstance(values, dict):
        return {label: _round_values(one) for label, one in values.items()}
    return float(f"{values:.6g}") if isinstance(values, float) else values
