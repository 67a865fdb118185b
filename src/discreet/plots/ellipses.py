"""``Ellipses``: Gaussians along two columns, as ellipses of one and two standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import (
    INK,
    MUTED,
    PAPER,
    Array,
    Facts,
    Plot,
    format_name,
    format_number,
    format_percent,
    label_axes,
    matplotlib_part,
    pluralize,
    series_colour,
)

SEEN = 2.4  # standard deviations shown around each centre
SAME = 0.015  # share of an axis: points closer than this share one label
LABELLED = 12  # Gaussians, above which labels are left out, since they would overlap


@dataclass(frozen=True, eq=False)
class Ellipses(Plot):
    """K Gaussians along two columns: ellipses of one and two standard deviations; opacity and line width show weights.

    Parameters
    ----------
    weights : array of shape (K,)
    means : array of shape (K, 2)
    covariances : array of shape (K, 2, 2)
    columns : pair of str
    labels : sequence of str
        The name of each Gaussian.
    bounds : array of shape (2, 2), optional
        The declared (low, high) of both columns; the axes show little beyond them.
    what : str
        What one of the Gaussians is: a component, or a class.
    cut : bool
        Whether ellipses end at the bounds, as clipped rows do.
    """

    weights: Array
    means: Array
    covariances: Array
    columns: tuple[str, str]
    labels: Sequence[str]
    bounds: Array | None = None
    what: str = "component"
    cut: bool = False

    @property
    def title(self) -> str:
        """What the Gaussians are, and the columns."""
        return f"The {pluralize(self.what)} along {self.columns[0]} and {self.columns[1]}"

    @property
    def description(self) -> str:
        """The centres and the standard deviations of the largest Gaussians."""
        order = np.argsort(-self.weights)[:4]
        spreads = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        each = [
            f"{self.what} {self.labels[k]} ({format_percent(self.weights[k])}) around {self.columns[0]} "
            f"{self.place(self.columns[0], self.means[k, 0])} ± {format_number(spreads[k, 0])} and {self.columns[1]} "
            f"{self.place(self.columns[1], self.means[k, 1])} "
            f"± {format_number(spreads[k, 1])}"
            for k in order
        ]
        more = f", the largest of {len(self.weights)}" if len(self.weights) > len(order) else ""
        return f"Ellipses of one and two standard deviations{more}: " + "; ".join(each) + "."

    @property
    def facts(self) -> Facts:
        """Weights, centres, spreads and correlations."""
        first, second = self.columns
        spreads = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        header = [self.what, "weight", f"mean of {first}", f"sd of {first}", f"mean of {second}", f"sd of {second}"]
        rows = [
            [
                str(self.labels[k]),
                format_percent(self.weights[k]),
                self.place(first, self.means[k, 0], 4),
                format_number(spreads[k, 0]),
                self.place(second, self.means[k, 1], 4),
                format_number(spreads[k, 1]),
                format_number(self.covariances[k, 0, 1] / max(spreads[k, 0] * spreads[k, 1], 1e-300), 2),
            ]
            for k in range(len(self.weights))
        ]
        return Facts([*header, "correlation"], rows)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        draw_ellipses(ax, self.weights, self.means, self.covariances, within=self.bounds if self.cut else None)
        for axis, limits in zip("xy", axis_limits(self.means, self.covariances, self.bounds), strict=True):
            ax.set(**{f"{axis}lim": limits})
        label_axes(ax, self.columns)
        if len(self.weights) <= LABELLED:
            groups = group_overlapping(ax, self.means)
            names = [", ".join(format_name(self.labels[k]) for k in group) for group in groups]
            shares = [format_percent(float(self.weights[group].sum()), 2) for group in groups]
            texts = [f"{name} · {share}" for name, share in zip(names, shares, strict=True)]
            place_labels(ax, self.means[[group[0] for group in groups]], texts)


def draw_ellipses(
    ax: Any, weights: Array, means: Array, covariances: Array, *, width: float = 1.0, within: Array | None = None
) -> None:
    """Draw each Gaussian's ellipses of one and two standard deviations, cut off at ``within`` of shape (2, 2)."""
    ellipse = matplotlib_part("patches").Ellipse
    frame = None
    if within is not None:
        (left, right), (low, high) = within
        frame = matplotlib_part("patches").Rectangle((left, low), right - left, high - low, fill=False)
        frame.set(edgecolor=MUTED, linewidth=0.8 * width, linestyle=(0, (4, 3)))
        ax.add_patch(frame)
    share = weights / weights.max()
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        variances, axes = np.linalg.eigh(covariance)
        angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        long, short = 2.0 * np.sqrt(np.maximum(variances[[1, 0]], 0.0))
        for times, strength in ((2.0, 0.5), (1.0, 1.0)):
            one = ellipse(tuple(mean), times * long, times * short, angle=angle, edgecolor="none")
            one.set(facecolor=series_colour(k), alpha=strength * (0.06 + 0.24 * float(share[k])))
            ax.add_patch(one)
            line = ellipse(
                tuple(mean), times * long, times * short, angle=angle, fill=False, edgecolor=series_colour(k)
            )
            line.set(linewidth=width * (0.8 + 1.6 * float(share[k])) * (0.6 + 0.4 * strength))
            ax.add_patch(line)
            if frame is not None:
                for patch in (one, line):  # a path, which clips in addition to the limits of the axes
                    patch.set_clip_path(frame.get_path(), frame.get_transform())
        ax.plot([mean[0]], [mean[1]], "o", markersize=3.5 * width, color=series_colour(k))


def axis_limits(means: Array, covariances: Array, bounds: Array | None, seen: float = SEEN) -> Array:
    """Return the limits of the axes, shape (2, 2): all ellipses, but little beyond the declared bounds."""
    spreads = seen * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    low, high = (means - spreads).min(axis=0), (means + spreads).max(axis=0)
    if bounds is not None:
        margin = 0.04 * (bounds[:, 1] - bounds[:, 0])
        low, high = np.maximum(low, bounds[:, 0] - margin), np.minimum(high, bounds[:, 1] + margin)
    narrow = high - low <= 1e-12 * np.maximum(np.abs(low), np.abs(high))
    return np.stack([low - narrow, high + narrow], axis=1)


def group_overlapping(ax: Any, points: Array) -> list[list[int]]:
    """Return the indices of the points in groups, one group for points that are drawn at almost the same place."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    unit = (points - [x0, y0]) / [x1 - x0, y1 - y0]
    groups: list[list[int]] = []
    for k, point in enumerate(unit):
        near = [group for group in groups if np.abs(unit[group[0]] - point).max() < SAME]
        if near:
            near[0].append(k)
        else:
            groups.append([k])
    return groups


def place_labels(ax: Any, points: Array, texts: Sequence[str]) -> None:
    """Write each text beside its point, moved up where it would overlap another."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    size = ax.get_window_extent().size
    unit = (points - [x0, y0]) / [x1 - x0, y1 - y0]
    line = 15.0 * ax.figure.dpi / 72.0 / size[1]  # the height of a line of text, in parts of the axes
    taken: list[tuple[float, float, float]] = []
    for k in np.argsort(unit[:, 1]):
        x, y = float(unit[k, 0]), float(unit[k, 1])
        wide = (len(texts[k]) + 2) * 5.6 * ax.figure.dpi / 72.0 / size[0]
        left = x if x + wide < 1.0 else x - wide
        while any(abs(y - other) < line and left < end and start < left + wide for start, end, other in taken):
            y += line / 4.0
        taken.append((left, left + wide, y))
        ax.annotate(
            texts[k],
            xy=(x, float(unit[k, 1])),
            xycoords="axes fraction",
            xytext=(left + (0.012 if left == x else -0.0), y),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 1.0},
            arrowprops=None if abs(y - unit[k, 1]) < line else {"arrowstyle": "-", "color": INK, "linewidth": 0.5},
            annotation_clip=False,
        )
