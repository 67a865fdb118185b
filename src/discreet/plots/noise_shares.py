"""``NoiseShares``: how large the noise is beside what it was put on, one bar for each statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import INK, MUTED, PAPER, SERIES, Array, Facts, Plot, listed, number, percent, plain, quiet

__all__ = ["NoiseShares"]


@dataclass(frozen=True, eq=False)
class NoiseShares(Plot):
    """The noise in each statistic relative to its size, on a logarithmic axis.

    Parameters
    ----------
    labels : sequence of str
        What each statistic is.
    noise, values : array of shape (n,)
        The standard deviation of the noise, and the root mean square of the released numbers, noise included.
    laws : sequence of str
        What kind of noise it is.
    """

    labels: Sequence[str]
    noise: Array
    values: Array
    distributions: Sequence[str]

    @property
    def shares(self) -> Array:
        """Noise relative to size; 1 where there is nothing but noise."""
        return np.asarray(self.noise / np.maximum(self.values, 1e-300))

    @property
    def title(self) -> str:
        """What it is."""
        return "The noise in each statistic, relative to its size"

    @property
    def description(self) -> str:
        """The least and the most noisy."""
        order = np.argsort(self.shares)
        ends = [f"{self.labels[k]} {percent(self.shares[k])}" for k in dict.fromkeys([int(order[0]), int(order[-1])])]
        return (
            f"Bars for {len(self.labels)} released statistics: the standard deviation of the noise as a share of the "
            f"released numbers. From the least to the most noisy: {listed(ends)}."
        )

    @property
    def facts(self) -> Facts:
        """Laws, deviations and sizes."""
        rows = [
            [str(label), distribution, number(noise), number(value), percent(share)]
            for label, distribution, noise, value, share in zip(
                self.labels, self.distributions, self.noise, self.values, self.shares, strict=True
            )
        ]
        return Facts(["statistic", "noise", "standard deviation", "size of the numbers", "share"], rows)

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are bars."""
        return 7.0, 1.1 + 0.34 * len(self.labels)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        places, shares = np.arange(len(self.labels)), 100.0 * self.shares
        least = 10.0 ** np.floor(np.log10(max(float(shares.min()), 1e-12)) - 0.3)
        ax.set_xscale("log")
        ax.barh(places, shares - least, left=least, height=0.6, color=SERIES["blue"], alpha=0.85)
        ax.axvline(100.0, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
        for place, share in zip(places, shares, strict=True):
            ax.annotate(
                percent(share / 100.0, 2),
                (share, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=INK,
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.0},
            )
        ax.set(yticks=places, yticklabels=[plain(label) for label in self.labels])
        ax.set(xlabel="noise as a share of the released numbers, in %")
        ax.set_xlim(least, max(400.0, 4.0 * float(shares.max())))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
        ax.invert_yaxis()
        quiet(ax, grid="x")
