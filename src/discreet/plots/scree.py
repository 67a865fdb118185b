"""``Scree``: how much of the variance each axis has, and all up to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import INK, SERIES, Array, Facts, Plot, listed, percent, plain, quiet

__all__ = ["Scree"]


@dataclass(frozen=True, eq=False)
class Scree(Plot):
    """Shares of the variance, one bar for each axis, and a line for all up to it.

    Parameters
    ----------
    shares : array of shape (K,)
    labels : sequence of str
    what : str
    """

    shares: Array
    labels: Sequence[str]
    what: str = "share of the variance along each axis"

    @property
    def title(self) -> str:
        """What they are."""
        return f"The {self.what}"

    @property
    def description(self) -> str:
        """The first shares and their sum."""
        each = [f"{label} {percent(share)}" for label, share in zip(self.labels, self.shares[:6], strict=False)]
        return f"Bars for {listed(each)}; all {len(self.shares)} together {percent(float(self.shares.sum()))}."

    @property
    def facts(self) -> Facts:
        """Shares and their sums."""
        sums = np.cumsum(self.shares)
        rows = [
            [str(label), percent(share), percent(total)]
            for label, share, total in zip(self.labels, self.shares, sums, strict=True)
        ]
        return Facts(["", "share", "up to here"], rows)

    @property
    def size(self) -> tuple[float, float]:
        """Wider where there are many."""
        return min(8.6, 3.6 + 0.5 * len(self.shares)), 3.4

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        places, sums = np.arange(len(self.shares)), 100.0 * np.cumsum(self.shares)
        ax.bar(places, 100.0 * self.shares, width=0.6, color=SERIES["blue"], alpha=0.85)
        ax.plot(places, sums, "o-", color=SERIES["vermillion"], markersize=4, linewidth=1.4)
        ax.annotate(
            f"together {percent(sums[-1] / 100.0)}",
            (places[-1], sums[-1]),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color=INK,
        )
        few = -(-len(places) // 10)
        ax.set_xticks(places[::few], [plain(label) for label in self.labels][::few])
        ax.set(ylabel="share of the variance in %", xlim=(-0.6, len(places) - 0.4))
        ax.set_ylim(0.0, 1.16 * float(max(sums[-1], 1e-9)))
        quiet(ax, grid="y")
