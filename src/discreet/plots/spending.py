"""``SpendingPlot``: the cumulative ε of a ledger's entries, and its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import SERIES, Array, Facts, Plot, annotate, format_name, format_number, style_axes


@dataclass(frozen=True, eq=False)
class SpendingPlot(Plot):
    """The cumulative ε up to each entry of a ledger, and the limit that was in force then.

    Parameters
    ----------
    entries : sequence of str
        The purpose of each entry.
    times : sequence of str
        The time of each entry.
    spent : array of shape (n,)
        The ε of all entries up to each, at ``delta``.
    limits : array of shape (n,)
        The ε of the limit in force; ∞ where there was none.
    delta : float
    name : str
        The name of the data set.
    numbers : sequence of int, optional
        The number of each point's entry among all entries, where some entries have no point of their own. A point then
        names all entries since the previous point.
    """

    entries: Sequence[str]
    times: Sequence[str]
    spent: Array
    limits: Array
    delta: float
    name: str
    numbers: Sequence[int] = ()

    @property
    def _places(self) -> Sequence[int]:
        return self.numbers or range(1, len(self.entries) + 1)

    @property
    def title(self) -> str:
        """The title, with the name of the data set."""
        return f"What was spent of the budget of {self.name}"

    @property
    def description(self) -> str:
        """The final ε and limit."""
        limit = self.limits[-1]
        held = f"of a limit of ε = {format_number(limit, 4)}" if np.isfinite(limit) else "and no limit is set"
        return (
            f"A line that rises with each of {self._places[-1]} entries of the ledger, to ε = "
            f"{format_number(self.spent[-1], 4)} at δ = {self.delta:g}, {held}."
        )

    @property
    def facts(self) -> Facts:
        """All entries."""
        rows = [
            [
                f"{place}: {entry}",
                time,
                format_number(spent, 4),
                format_number(limit, 4) if np.isfinite(limit) else "none",
            ]
            for place, time, entry, spent, limit in zip(
                self._places, self.times, self.entries, self.spent, self.limits, strict=True
            )
        ]
        return Facts(["step", "time", "ε of all up to here", "limit"], rows)

    @property
    def size(self) -> tuple[float, float]:
        """Wide and low."""
        return 7.0, 3.2

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        edges = np.array([0, *self._places]) + 0.5  # each entry has the place around its number
        blue, vermillion = SERIES["blue"], SERIES["vermillion"]
        ax.stairs(self.spent, edges, fill=True, color=blue, alpha=0.18)
        ax.stairs(self.spent, edges, baseline=None, color=blue, linewidth=2.0)
        annotate(
            ax,
            f"spent: ε = {format_number(self.spent[-1], 4)}",
            (edges[-1], float(self.spent[-1])),
            (-4, 5),
            ha="right",
        )
        known = np.isfinite(self.limits)
        if known.any():
            ax.stairs(np.where(known, self.limits, np.nan), edges, baseline=None, color=vermillion, linewidth=1.6)
        if known[-1]:
            annotate(
                ax,
                f"limit: ε = {format_number(self.limits[-1], 4)}",
                (edges[-1], float(self.limits[-1])),
                (-4, 5),
                ha="right",
            )
        top = max(float(self.spent.max()), float(np.max(self.limits, where=np.isfinite(self.limits), initial=0.0)))
        ax.set(xlim=(edges[0], edges[-1]), xlabel="entries of the ledger, numbered as in the table")
        ax.set_ylim(0.0, 1.2 * top if top > 0.0 else 1.0)
        ax.set_ylabel(format_name(f"ε at δ = {self.delta:g}"))
        ax.xaxis.get_major_locator().set_params(integer=True)
        style_axes(ax, grid="y")
