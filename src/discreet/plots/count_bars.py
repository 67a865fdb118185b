"""``CountBars``: counts of bins or categories as bars with intervals, in a panel for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import INK, SERIES, Array, Facts, Plot, format_name, format_number, style_axes

ABREAST = 3  # panels side by side


@dataclass(frozen=True, eq=False)
class CountBars(Plot):
    """Counts as bars, and their intervals as lines.

    Parameters
    ----------
    values, low, high : array of shape (groups, n)
    labels : sequence of str
        What each bar counts.
    groups : sequence of str
        The title of each panel; one empty text where there are no groups.
    column : str
        The label of the axis of the bins or categories.
    edges : array of shape (n + 1,), optional
        The edges of bins: the bars then stand along a numeric axis.
    log : bool
        Whether that axis is logarithmic.
    what, interval : str
        As in ``Intervals``.
    """

    values: Array
    low: Array
    high: Array
    labels: Sequence[str]
    groups: Sequence[str]
    column: str
    edges: Array | None = None
    log: bool = False
    what: str = "counts"
    interval: str = "95 % intervals of the noise"

    @property
    def description(self) -> str:
        """The largest count of each group, with its interval."""
        each = []
        for group, line, low, high in zip(self.groups, self.values, self.low, self.high, strict=True):
            most = int(np.argmax(line))
            ends = f"from {format_number(low[most])} to {format_number(high[most])}"
            among = f"{group}: " if group else ""
            each.append(f"{among}{self.labels[most]} {format_number(line[most])} ({ends})")
        return (
            f"Bars for {self.values.size} counts; the largest are " + ", ".join(each[:8]) + f". Lines: {self.interval}."
        )

    @property
    def facts(self) -> Facts:
        """All counts and intervals."""
        rows = []
        for i, group in enumerate(self.groups):
            for j, label in enumerate(self.labels):
                numbers = [format_number(part[i, j], 4) for part in (self.values, self.low, self.high)]
                rows.append([f"{group}, {label}" if group else str(label), *numbers])
        return Facts(["", "value", "from", "to"], rows)

    @property
    def panels(self) -> tuple[int, int]:
        """Three panels side by side."""
        return -(-len(self.groups) // ABREAST), min(len(self.groups), ABREAST)

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are categories, or as a usual histogram."""
        down, across = self.panels
        high = 3.4 if self.edges is not None else 0.9 + 0.32 * len(self.labels)
        return (7.0 if across == 1 else 9.0), high * down

    def _fill(self, panels: Any) -> None:
        for place, ax in enumerate(panels.flat):
            if place >= len(self.groups):
                ax.set_axis_off()
                continue
            (self._fill_bins if self.edges is not None else self._fill_categories)(ax, place)
            if self.groups[place]:
                ax.set_title(format_name(self.groups[place]))

    def _fill_bins(self, ax: Any, place: int) -> None:
        assert self.edges is not None
        if self.log:
            ax.set_xscale("log")
        left, right = self.edges[:-1], self.edges[1:]
        middle = np.sqrt(left * right) if self.log else (left + right) / 2.0
        ax.bar(
            left, self.values[place], width=right - left, align="edge", color=SERIES["blue"], alpha=0.6, edgecolor=INK,
            linewidth=0.5,
        )  # fmt: skip
        ax.vlines(middle, self.low[place], self.high[place], color=INK, linewidth=1.2)
        ax.set(xlabel=format_name(self.column), ylabel="count")
        style_axes(ax, grid="y")

    def _fill_categories(self, ax: Any, place: int) -> None:
        places = np.arange(len(self.labels))
        ax.barh(places, self.values[place], height=0.62, color=SERIES["blue"], alpha=0.6)
        ax.hlines(places, self.low[place], self.high[place], color=INK, linewidth=1.2)
        ax.set_yticks(places, [format_name(label) for label in self.labels])
        ax.set(xlabel="count", ylabel=format_name(self.column))
        ax.invert_yaxis()
        style_axes(ax, grid="x")
