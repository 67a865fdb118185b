"""``Intervals``: numbers with limits, one below the other: coefficients, or what a posterior says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.pictures.labels import number, plain
from discreet.pictures.palette import INK, MUTED, SERIES
from discreet.pictures.picture import Array, Facts, Picture, quiet

__all__ = ["Intervals", "draw_intervals"]


@dataclass(frozen=True, eq=False)
class Intervals(Picture):
    """Numbers as points, and their limits as lines.

    Parameters
    ----------
    values : array of shape (n,)
    labels : sequence of str
    low, high : array of shape (n,), optional
        Limits; none where they are not known.
    inner : pair of arrays of shape (n,), optional
        Limits of a smaller interval, drawn as a thicker line.
    what : str
        What the numbers are: "coefficients", say.
    unit : str
        What the axis says.
    limits : str
        What the lines are: "two standard deviations of the noise", say.
    unknown : str
        What is said where there are no limits.
    zero : bool
        Whether 0 is on the axis wherever the numbers are.
    """

    values: Array
    labels: Sequence[str]
    low: Array | None = None
    high: Array | None = None
    inner: tuple[Array, Array] | None = None
    what: str = "coefficients"
    unit: str = ""
    limits: str = "two standard deviations of the noise"
    unknown: str = "no limits are known"
    zero: bool = False

    @property
    def title(self) -> str:
        """What they are."""
        return f"The {self.what}"

    @property
    def description(self) -> str:
        """The largest of them, with their limits."""
        order = np.argsort(-np.abs(self.values))[:4]
        each = [f"{self.labels[k]} {number(self.values[k])}{self._between(int(k))}" for k in order]
        lines = self.unknown if self.low is None else f"lines are {self.limits}"
        lines = lines[0].upper() + lines[1:]
        return f"Points for {len(self.values)} numbers; the largest are " + ", ".join(each) + f". {lines}."

    def _between(self, k: int) -> str:
        if self.low is None or self.high is None:
            return ""
        return f" (from {number(self.low[k])} to {number(self.high[k])})"

    @property
    def facts(self) -> Facts:
        """Values and limits."""
        rows = [[str(label), number(value, 4)] for label, value in zip(self.labels, self.values, strict=True)]
        if self.low is None or self.high is None:
            return Facts(["", "value"], rows)
        ends = zip(rows, self.low, self.high, strict=True)
        return Facts(["", "value", "from", "to"], [[*row, number(low, 4), number(high, 4)] for row, low, high in ends])

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are numbers."""
        return 7.0, (1.1 if self.low is not None else 1.4) + 0.32 * len(self.values)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        draw_intervals(ax, self.values, self.low, self.high, self.inner, zero=self.zero)
        ax.set_yticks(np.arange(len(self.values)), [plain(label) for label in self.labels])
        ax.set(xlabel=self.unit)
        quiet(ax, grid="x")
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
    """Draw points with their lines, the first one on top; with ``zero`` 0 is on the axis wherever they are."""
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
