"""Numbers with intervals: ``Intervals``, ``Coefficients`` of a linear score, ``IntervalPanels`` for several columns.

``plot_draws`` makes them from draws of a posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError
from discreet.plots.plot import INK, MUTED, SERIES, Array, Facts, Plot, format_name, format_number, style_axes

NO_NOISE = "no interval: the noise of this method does not split by coefficient"
ABREAST = 3  # panels side by side
MOST_DRAWN = 200  # numbers in one plot
INNER = 0.5  # the level of the thicker line


@dataclass(frozen=True, eq=False)
class Intervals(Plot):
    """Numbers as points, and their intervals as lines.

    Parameters
    ----------
    values : array of shape (n,)
    labels : sequence of str
    low, high : array of shape (n,), optional
        The ends of the intervals; None where they are unknown.
    inner : pair of arrays of shape (n,), optional
        A smaller interval, drawn as a thicker line.
    what : str
        What the numbers are, for example "coefficients".
    unit : str
        The label of the axis.
    interval : str
        What the lines are, for example "two standard deviations of the noise".
    unknown : str
        The text that is shown where there are no intervals.
    zero : bool
        Whether the axis always includes 0.
    """

    values: Array
    labels: Sequence[str]
    low: Array | None = None
    high: Array | None = None
    inner: tuple[Array, Array] | None = None
    what: str = "coefficients"
    unit: str = ""
    interval: str = "two standard deviations of the noise"
    unknown: str = "no intervals are known"
    zero: bool = False

    @property
    def description(self) -> str:
        """The largest of them, with their intervals."""
        order = np.argsort(-np.abs(self.values))[:4]
        each = [f"{self.labels[k]} {self.place(self.unit, self.values[k])}{self._between(int(k))}" for k in order]
        lines = self.unknown if self.low is None else f"lines are {self.interval}"
        lines = lines[0].upper() + lines[1:]
        return f"Points for {len(self.values)} numbers; the largest are " + ", ".join(each) + f". {lines}."

    def _between(self, k: int) -> str:
        if self.low is None or self.high is None:
            return ""
        return f" (from {self.place(self.unit, self.low[k])} to {self.place(self.unit, self.high[k])})"

    @property
    def facts(self) -> Facts:
        """Values and intervals."""
        unit = self.unit
        rows = [[str(label), self.place(unit, value, 4)] for label, value in zip(self.labels, self.values, strict=True)]
        if self.low is None or self.high is None:
            return Facts(["", "value"], rows)
        ends = zip(rows, self.low, self.high, strict=True)
        return Facts(
            ["", "value", "from", "to"],
            [[*row, self.place(unit, low, 4), self.place(unit, high, 4)] for row, low, high in ends],
        )

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are numbers."""
        return 7.0, (1.1 if self.low is not None else 1.4) + 0.32 * len(self.values)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        draw_intervals(ax, self.values, self.low, self.high, self.inner, zero=self.zero)
        ax.set_yticks(np.arange(len(self.values)), [format_name(label) for label in self.labels])
        ax.set(xlabel=self.unit)
        style_axes(ax, grid="x")
        if self.low is None:
            ax.set_title(self.unknown, fontsize=9, color=MUTED, loc="left")


def draw_intervals(
    ax: Any,
    values: Array,
    low: Array | None,
    high: Array | None,
    inner: tuple[Array, Array] | None,
    *,
    zero: bool = False,
) -> None:
    """Draw points with their lines, the first one on top; with ``zero`` the axis includes 0."""
    places, blue = np.arange(len(values)), SERIES["blue"]
    ends = [values] if low is None or high is None else [values, low, high]
    if zero or min(map(np.min, ends)) <= 0.0 <= max(map(np.max, ends)):
        ax.axvline(0.0, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
    if low is not None and high is not None:
        ax.hlines(places, low, high, color=blue, linewidth=1.6)
    if inner is not None:
        ax.hlines(places, *inner, color=blue, linewidth=4.5)
    ax.plot(values, places, "o", color=INK if inner is not None else blue, markersize=5)
    if zero:
        ax.update_datalim([(0.0, 0.0)], updatey=False)
        ax.autoscale_view(scaley=False)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.locator_params(axis="x", nbins=6)


@dataclass(frozen=True, eq=False)
class Coefficients(Intervals):
    """The coefficients of a linear score, each times the width of its column's declared bounds.

    So each number is the change of the score from one end of the bounds to the other, and columns of different units
    can be compared.

    Parameters
    ----------
    values, low, high : array of shape (d,)
        As in ``Intervals``, multiplied by the widths.
    own : array of shape (d,)
        The coefficients in the data's own units, for the table.
    widths : array of shape (d,)
    """

    own: Array = field(default_factory=lambda: np.zeros(0))
    widths: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_bounds(
        cls, own: Array, widths: Array, columns: Sequence[str], noise: Array | None, moves: str, what: str
    ) -> Coefficients:
        """Return the plot of coefficients; ``noise`` has the standard deviations of their noise, where known."""
        low, high = (None, None) if noise is None else ((own - 2.0 * noise) * widths, (own + 2.0 * noise) * widths)
        return cls(
            own * widths,
            columns,
            low,
            high,
            what=what,
            unknown=NO_NOISE,
            zero=True,
            unit=f"change of {moves} from the low to the high end of the declared bounds",
            own=own,
            widths=widths,
        )

    @property
    def facts(self) -> Facts:
        """The coefficients in the data's own units as well."""
        wide = super().facts
        rows = [
            [first, format_number(own, 4), format_number(width, 4), *rest]
            for (first, *rest), own, width in zip(wide.rows, self.own, self.widths, strict=True)
        ]
        return Facts(["column", "coefficient", "width of the bounds", "both multiplied", *wide.header[2:]], rows)


@dataclass(frozen=True, eq=False)
class IntervalPanels(Plot):
    """A table of numbers with intervals: one panel for each column, one line for each row.

    Parameters
    ----------
    values, low, high : array of shape (rows, columns)
    rows, columns : sequence of str
    inner : pair of arrays of that shape, optional
    what, interval : str
        As in ``Intervals``.
    """

    values: Array
    low: Array
    high: Array
    rows: Sequence[str]
    columns: Sequence[str]
    inner: tuple[Array, Array] | None = None
    what: str = "means"
    interval: str = "90 % of the posterior"

    @property
    def description(self) -> str:
        """The first row, with its intervals."""
        each = [
            f"{name} {self.place(name, self.values[0, j])} "
            f"(from {self.place(name, self.low[0, j])} to {self.place(name, self.high[0, j])})"
            for j, name in enumerate(self.columns[:4])
        ]
        return (
            f"{len(self.columns)} panels of {len(self.rows)} points each. Of {self.rows[0]}: {', '.join(each)}. Lines "
            f"are {self.interval}."
        )

    @property
    def facts(self) -> Facts:
        """Values and intervals, a row for each number."""
        rows = [
            [f"{row}, {column}", *(self.place(column, part[i, j], 4) for part in (self.values, self.low, self.high))]
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        ]
        return Facts(["", "value", "from", "to"], rows)

    @property
    def panels(self) -> tuple[int, int]:
        """Three panels side by side."""
        return -(-len(self.columns) // ABREAST), min(ABREAST, len(self.columns))

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are panels and lines in them."""
        return (8.6 if self.panels[1] == ABREAST else 7.0), self.panels[0] * (0.9 + 0.26 * len(self.rows))

    def _fill(self, panels: Any) -> None:
        for j, ax in enumerate(panels.flat):
            if j >= len(self.columns):
                ax.set_axis_off()
                continue
            inner = None if self.inner is None else (self.inner[0][:, j], self.inner[1][:, j])
            draw_intervals(ax, self.values[:, j], self.low[:, j], self.high[:, j], inner)
            ax.set_yticks(np.arange(len(self.rows)), [format_name(row) for row in self.rows])
            ax.set_xlabel(format_name(self.columns[j]))
            ax.locator_params(axis="x", nbins=4)
            style_axes(ax, grid="x")
            if j % ABREAST:
                ax.tick_params(labelleft=False)


def plot_draws(name: str, draws: Array, names: Sequence[Sequence[Any]], level: float) -> Plot:
    """Return a plot of posterior intervals of a quantity, one for each of its numbers.

    Columns have units of their own, so each place along the last axis has its own panel. For square matrices over the
    same columns the plot shows the square roots of the diagonals: standard deviations, if they are covariances.

    Parameters
    ----------
    name : str
        The name of the quantity.
    draws : array of shape (draws, …)
    names : sequence of sequences
        The labels along each further axis.
    level : float
        The level of the thin line.
    """
    if draws.ndim >= 3 and list(names[-1]) == list(names[-2]):
        draws, names = np.sqrt(np.abs(np.diagonal(draws, axis1=-2, axis2=-1))), names[:-1]
        name = f"square roots of the diagonal of {name}"
    if draws[0].size > MOST_DRAWN:
        raise ArgumentError("name", name, f"a quantity of at most {MOST_DRAWN} numbers; this one has {draws[0].size}")
    quantiles = [(1.0 - level) / 2.0, (1.0 - INNER) / 2.0, (1.0 + INNER) / 2.0, (1.0 + level) / 2.0]
    low, inner_low, inner_high, high = np.quantile(draws, quantiles, axis=0)
    what = f"posterior of {name}"
    interval = f"{100.0 * level:g} % of the posterior, thick ones {100.0 * INNER:g} %"
    mean = draws.mean(axis=0)
    if draws.ndim <= 2:
        labels = [name] if draws.ndim == 1 else [str(one) for one in names[0]]
        parts = [np.atleast_1d(part) for part in (mean, low, high, inner_low, inner_high)]
        return Intervals(parts[0], labels, parts[1], parts[2], (parts[3], parts[4]), what, name, interval)
    rows = [", ".join(map(str, place)) for place in product(*names[:-1])]
    shape = (len(rows), draws.shape[-1])
    parts = [part.reshape(shape) for part in (mean, low, high, inner_low, inner_high)]
    columns = [str(one) for one in names[-1]]
    return IntervalPanels(parts[0], parts[1], parts[2], rows, columns, (parts[3], parts[4]), what, interval)
