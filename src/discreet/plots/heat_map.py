"""``HeatMap``: a small table of numbers (loadings, probabilities) as coloured cells with the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import (
    INK,
    SERIES,
    Array,
    Facts,
    Plot,
    format_name,
    format_number,
    join_names,
    matplotlib_part,
    style_axes,
)

WRITTEN = 16  # rows or columns, up to which the numbers are written into the cells


@dataclass(frozen=True, eq=False)
class HeatMap(Plot):
    """Numbers in rows and columns: blue above 0, vermillion below, more opaque for larger absolute values.

    Parameters
    ----------
    values : array of shape (rows, columns)
    rows, columns : sequence of str
    what : str
        What the numbers are, for example "loadings of the factors".
    """

    values: Array
    rows: Sequence[str]
    columns: Sequence[str]
    what: str

    @property
    def description(self) -> str:
        """The largest number of each column."""
        largest = np.argmax(np.abs(self.values), axis=0)
        each = [
            f"{name}: {self.rows[place]} ({format_number(self.values[place, j])})"
            for j, (name, place) in enumerate(zip(self.columns, largest.tolist(), strict=True))
        ]
        return f"A table of {len(self.rows)} rows. The largest number of each column is that of {join_names(each[:8])}."

    @property
    def facts(self) -> Facts:
        """All numbers of the plot."""
        rows = [
            [str(name), *(format_number(value) for value in line)]
            for name, line in zip(self.rows, self.values, strict=True)
        ]
        return Facts(["", *map(str, self.columns)], rows)

    @property
    def size(self) -> tuple[float, float]:
        """As large as there are cells."""
        return min(8.6, 2.4 + 0.95 * len(self.columns)), min(9.0, 0.9 + 0.36 * len(self.rows))

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        rectangle = matplotlib_part("patches").Rectangle
        largest = float(np.abs(self.values).max()) or 1.0
        written = max(self.values.shape) <= WRITTEN
        for i, line in enumerate(self.values):
            for j, value in enumerate(line):
                colour = SERIES["blue" if value >= 0.0 else "vermillion"]
                # at most half opaque, so that ink is readable on it
                ax.add_patch(
                    rectangle((j - 0.48, i - 0.46), 0.96, 0.92, facecolor=colour, alpha=0.5 * abs(value) / largest)
                )
                if written:
                    ax.text(j, i, format_number(value, 2), ha="center", va="center", fontsize=9, color=INK)
        names = [format_name(name) for name in self.columns]
        ax.set(xlim=(-0.6, len(names) - 0.4), ylim=(len(self.rows) - 0.4, -0.6))
        ax.set_xticks(range(len(names)), names, rotation=0 if max(map(len, names)) < 14 or len(names) < 4 else 30)
        ax.set_yticks(range(len(self.rows)), [format_name(name) for name in self.rows])
        style_axes(ax)
        ax.xaxis.tick_top()
        for side in ("left", "bottom", "top"):
            ax.spines[side].set_visible(False)
        ax.tick_params(length=0)
