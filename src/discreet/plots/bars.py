"""Bars: ``Shares`` of a whole, ``Scree`` for variances along axes, ``NoiseShares`` for noise relative to size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import (
    INK,
    MUTED,
    PAPER,
    SERIES,
    Array,
    Facts,
    Plot,
    annotate,
    format_name,
    format_number,
    format_percent,
    join_names,
    series_colour,
    style_axes,
)


@dataclass(frozen=True, eq=False)
class Shares(Plot):
    """Shares of a whole as bars, with a line of two standard deviations of the noise where it is known.

    Parameters
    ----------
    shares : array of shape (K,)
    labels : sequence of str
    noise : array of shape (K,), optional
        Standard deviations.
    what : str
        What the shares are, for example "weights of the components".
    """

    shares: Array
    labels: Sequence[str]
    noise: Array | None = None
    what: str = "weights of the components"

    @property
    def description(self) -> str:
        """The largest and the smallest, and their noise."""
        most, least = int(np.argmax(self.shares)), int(np.argmin(self.shares))
        text = (
            f"Bars for {len(self.shares)} shares, from {format_percent(self.shares[least])} ({self.labels[least]}) to "
            f"{format_percent(self.shares[most])} ({self.labels[most]})."
        )
        if self.noise is None:
            return text
        most_noise = format_percent(2.0 * float(self.noise.max()), 2)
        return f"{text} Two standard deviations of the noise are at most {most_noise}."

    @property
    def facts(self) -> Facts:
        """Shares and noise."""
        noise = ["unknown"] * len(self.shares) if self.noise is None else [format_percent(one, 2) for one in self.noise]
        rows = [
            [str(label), format_percent(share), sd]
            for label, share, sd in zip(self.labels, self.shares, noise, strict=True)
        ]
        return Facts(["", "share", "standard deviation of the noise"], rows)

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are bars."""
        return 7.0, 1.1 + 0.34 * len(self.shares)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        places = np.arange(len(self.shares))
        colours = [series_colour(k) for k in range(len(places))]
        ax.barh(places, 100.0 * self.shares, height=0.62, color=colours, alpha=0.85)
        reach = self.shares if self.noise is None else self.shares + 2.0 * self.noise
        if self.noise is not None:
            ax.errorbar(
                100.0 * self.shares, places, xerr=200.0 * self.noise, fmt="none", ecolor=INK, elinewidth=1.2, capsize=3
            )
        for place, share, end in zip(places, self.shares, reach, strict=True):
            annotate(ax, format_percent(share), (100.0 * end, place), (6, 0), va="center")
        ax.set(yticks=places, yticklabels=[format_name(label) for label in self.labels], xlabel="share in %")
        ax.set_xlim(0.0, 100.0 * float(reach.max()) * 1.14)
        ax.invert_yaxis()
        style_axes(ax, grid="x")
        ax.tick_params(axis="x", labelcolor=MUTED)


@dataclass(frozen=True, eq=False)
class Scree(Plot):
    """Shares of the variance, one bar for each axis, and a line for the cumulative share.

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
    def description(self) -> str:
        """The first shares and their sum."""
        each = [f"{label} {format_percent(share)}" for label, share in zip(self.labels, self.shares[:6], strict=False)]
        return (
            f"Bars for {join_names(each)}; all {len(self.shares)} together {format_percent(float(self.shares.sum()))}."
        )

    @property
    def facts(self) -> Facts:
        """Shares and their sums."""
        sums = np.cumsum(self.shares)
        rows = [
            [str(label), format_percent(share), format_percent(total)]
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
        annotate(ax, f"together {format_percent(sums[-1] / 100.0)}", (places[-1], sums[-1]), (0, 7), ha="center")
        few = -(-len(places) // 10)
        ax.set_xticks(places[::few], [format_name(label) for label in self.labels][::few])
        ax.set(ylabel="share of the variance in %", xlim=(-0.6, len(places) - 0.4))
        ax.set_ylim(0.0, 1.16 * float(max(sums[-1], 1e-9)))
        style_axes(ax, grid="y")


@dataclass(frozen=True, eq=False)
class NoiseShares(Plot):
    """The noise in each statistic relative to its size, on a logarithmic axis.

    Parameters
    ----------
    labels : sequence of str
        What each statistic is.
    noise, values : array of shape (n,)
        The standard deviation of the noise, and the root mean square of the released numbers, noise included.
    distributions : sequence of str
        The kind of noise.
    """

    labels: Sequence[str]
    noise: Array
    values: Array
    distributions: Sequence[str]

    @property
    def shares(self) -> Array:
        """The noise relative to the numbers; 1 where there is nothing but noise."""
        return np.asarray(self.noise / np.maximum(self.values, 1e-300))

    @property
    def title(self) -> str:
        """The title of the plot."""
        return "The noise in each statistic, relative to its size"

    @property
    def description(self) -> str:
        """The least and the most noisy."""
        order = np.argsort(self.shares)
        ends = [
            f"{self.labels[k]} {format_percent(self.shares[k])}" for k in dict.fromkeys([int(order[0]), int(order[-1])])
        ]
        return (
            f"Bars for {len(self.labels)} released statistics: the standard deviation of the noise as a share of the "
            f"released numbers. From the least to the most noisy: {join_names(ends)}."
        )

    @property
    def facts(self) -> Facts:
        """Distributions, standard deviations and sizes."""
        rows = [
            [str(label), distribution, format_number(noise), format_number(value), format_percent(share)]
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
            around = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}
            annotate(ax, format_percent(share / 100.0, 2), (share, place), (6, 0), va="center", bbox=around)
        ax.set(yticks=places, yticklabels=[format_name(label) for label in self.labels])
        ax.set(xlabel="noise as a share of the released numbers, in %")
        ax.set_xlim(least, max(400.0, 4.0 * float(shares.max())))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
        ax.invert_yaxis()
        style_axes(ax, grid="x")
