"""``TrendLines``: released numbers of bins as points, and the line of a trend with its band, a panel for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import INK, SERIES, Array, Facts, Plot, format_name, format_number, style_axes

ABREAST = 3  # panels side by side


@dataclass(frozen=True, eq=False)
class TrendLines(Plot):
    """Points over bins, a line through them, and the lines of all slopes within an interval as a band.

    Parameters
    ----------
    points, line, low, high : array of shape (groups, bins)
        The released numbers, the line, and the edges of the band; these are not finite where every slope is possible.
    labels : sequence of str
        Of the bins.
    edges : array of shape (bins + 1,)
    groups : sequence of str
        The title of each panel; one empty text where there are no groups.
    column, unit : str
        The labels of the axes.
    slopes : sequence of str
        The slope of each group in words.
    what, interval : str
        As in ``Intervals``.
    """

    points: Array
    line: Array
    low: Array
    high: Array
    labels: Sequence[str]
    edges: Array
    groups: Sequence[str]
    column: str
    unit: str
    slopes: Sequence[str]
    what: str = "trend"
    interval: str = "95 % intervals of the noise"

    @property
    def description(self) -> str:
        """The slope of each group, and the ends of its line."""
        each = []
        for place, (group, slope) in enumerate(zip(self.groups, self.slopes, strict=True)):
            first, last = (format_number(self.line[place, end]) for end in (0, -1))
            each.append(f"{f'{group}: ' if group else ''}{slope}, from {first} to {last}")
        return (
            f"Points for {self.points.shape[1]} bins of {self.column} and a line through them; {'; '.join(each[:8])}. "
            f"Bands have the lines of all slopes in the {self.interval}."
        )

    @property
    def facts(self) -> Facts:
        """The point, the line and the band of each bin."""
        rows = []
        for i, group in enumerate(self.groups):
            for j, label in enumerate(self.labels):
                numbers = [format_number(part[i, j], 4) for part in (self.points, self.line, self.low, self.high)]
                rows.append([f"{group}, {label}" if group else str(label), *numbers])
        return Facts(["", "value", "line", "from", "to"], rows)

    @property
    def panels(self) -> tuple[int, int]:
        """Three panels side by side."""
        return -(-len(self.groups) // ABREAST), min(len(self.groups), ABREAST)

    @property
    def size(self) -> tuple[float, float]:
        """As a usual plot, for each row of panels."""
        down, across = self.panels
        return (7.0 if across == 1 else 9.0), 3.4 * down

    def _fill(self, panels: Any) -> None:
        middles, blue = (self.edges[:-1] + self.edges[1:]) / 2.0, SERIES["blue"]
        for place, ax in enumerate(panels.flat):
            if place >= len(self.groups):
                ax.set_axis_off()
                continue
            if np.isfinite([self.low[place], self.high[place]]).all():
                ax.fill_between(middles, self.low[place], self.high[place], color=blue, alpha=0.2, linewidth=0)
            ax.plot(middles, self.line[place], color=blue, linewidth=1.6)
            ax.plot(middles, self.points[place], "o", color=INK, markersize=4)
            ax.set(
                xlabel=format_name(self.column), ylabel=format_name(self.unit), title=format_name(self.groups[place])
            )
            style_axes(ax, grid="y")
