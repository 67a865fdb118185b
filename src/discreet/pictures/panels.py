"""``IntervalPanels``: numbers with limits, a panel for each column, as columns have units of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.pictures.intervals import draw_intervals
from discreet.pictures.labels import number, plain
from discreet.pictures.picture import Array, Facts, Picture, quiet

__all__ = ["IntervalPanels"]

ABREAST = 3  # panels side by side


@dataclass(frozen=True, eq=False)
class IntervalPanels(Picture):
    """A table of numbers with limits: one panel for each column, one line for each row.

    Parameters
    ----------
    values, low, high : array of shape (rows, columns)
    rows, columns : sequence of str
    inner : pair of arrays of that shape, optional
    what, limits : str
        As in ``Intervals``.
    """

    values: Array
    low: Array
    high: Array
    rows: Sequence[str]
    columns: Sequence[str]
    inner: tuple[Array, Array] | None = None
    what: str = "means"
    limits: str = "90 % of the posterior"

    @property
    def title(self) -> str:
        """What they are."""
        return f"The {self.what}"

    @property
    def description(self) -> str:
        """The first row, with its limits."""
        each = [
            f"{name} {number(self.values[0, j])} (from {number(self.low[0, j])} to {number(self.high[0, j])})"
            for j, name in enumerate(self.columns[:4])
        ]
        return (
            f"{len(self.columns)} panels of {len(self.rows)} points each. Of {self.rows[0]}: {', '.join(each)}. Lines "
            f"are {self.limits}."
        )

    @property
    def facts(self) -> Facts:
        """Values and limits, a row for each number."""
        rows = [
            [f"{row}, {column}", *(number(part[i, j], 4) for part in (self.values, self.low, self.high))]
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        ]
        return Facts(["", "value", "from", "to"], rows)

    @property
    def panels(self) -> tuple[int, int]:
        """Three abreast."""
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
            ax.set_yticks(np.arange(len(self.rows)), [plain(row) for row in self.rows])
            ax.set_xlabel(plain(self.columns[j]))
            ax.locator_params(axis="x", nbins=4)
            quiet(ax, grid="x")
            if j % ABREAST:
                ax.tick_params(labelleft=False)
