"""``Shares``: parts of a whole, with what noise could have done to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import INK, MUTED, Array, Facts, Plot, percent, plain, quiet, series

__all__ = ["Shares"]


@dataclass(frozen=True, eq=False)
class Shares(Plot):
    """Parts of a whole as bars; two standard deviations of the noise in each as a line, where they are known.

    Parameters
    ----------
    shares : array of shape (K,)
    labels : sequence of str
    noise : array of shape (K,), optional
        Standard deviations.
    what : str
        What they are shares of: "weights of the components", say.
    """

    shares: Array
    labels: Sequence[str]
    noise: Array | None = None
    what: str = "weights of the components"

    @property
    def title(self) -> str:
        """What they are."""
        return f"The {self.what}"

    @property
    def description(self) -> str:
        """The largest and the smallest, and their noise."""
        most, least = int(np.argmax(self.shares)), int(np.argmin(self.shares))
        text = (
            f"Bars for {len(self.shares)} shares, from {percent(self.shares[least])} ({self.labels[least]}) to "
            f"{percent(self.shares[most])} ({self.labels[most]})."
        )
        if self.noise is None:
            return text
        return f"{text} Two standard deviations of the noise are at most {percent(2.0 * float(self.noise.max()), 2)}."

    @property
    def facts(self) -> Facts:
        """Shares and noise."""
        noise = ["unknown"] * len(self.shares) if self.noise is None else [percent(one, 2) for one in self.noise]
        rows = [
            [str(label), percent(share), sd] for label, share, sd in zip(self.labels, self.shares, noise, strict=True)
        ]
        return Facts(["", "share", "standard deviation of the noise"], rows)

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are bars."""
        return 7.0, 1.1 + 0.34 * len(self.shares)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        places = np.arange(len(self.shares))
        colours = [series(k) for k in range(len(places))]
        ax.barh(places, 100.0 * self.shares, height=0.62, color=colours, alpha=0.85)
        reach = self.shares if self.noise is None else self.shares + 2.0 * self.noise
        if self.noise is not None:
            ax.errorbar(
                100.0 * self.shares, places, xerr=200.0 * self.noise, fmt="none", ecolor=INK, elinewidth=1.2, capsize=3
            )
        for place, share, end in zip(places, self.shares, reach, strict=True):
            ax.annotate(
                percent(share),
                (100.0 * end, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=INK,
            )
        ax.set(yticks=places, yticklabels=[plain(label) for label in self.labels], xlabel="share in %")
        ax.set_xlim(0.0, 100.0 * float(reach.max()) * 1.14)
        ax.invert_yaxis()
        quiet(ax, grid="x")
        ax.tick_params(axis="x", labelcolor=MUTED)
