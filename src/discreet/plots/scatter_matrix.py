"""``GaussianPairs``: Gaussians along every pair of some columns, and along each column by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.ellipses import axis_limits, draw_ellipses
from discreet.plots.plot import (
    Array,
    Facts,
    Plot,
    format_name,
    format_number,
    format_percent,
    join_names,
    pluralize,
    series_colour,
    style_axes,
)

MOST_PAIRED = 5  # columns


@dataclass(frozen=True, eq=False)
class GaussianPairs(Plot):
    """K Gaussians along every pair of up to five columns, and along each column by itself on the diagonal.

    Parameters
    ----------
    weights : array of shape (K,)
    means : array of shape (K, d)
    covariances : array of shape (K, d, d)
    columns : sequence of str
    labels : sequence of str
    bounds : array of shape (d, 2), optional
    what : str
    cut : bool
        Whether everything ends at the bounds, as clipped rows do.
    """

    weights: Array
    means: Array
    covariances: Array
    columns: Sequence[str]
    labels: Sequence[str]
    bounds: Array | None = None
    what: str = "component"
    cut: bool = False

    @property
    def title(self) -> str:
        """What the Gaussians are, and the number of columns."""
        if len(self.columns) == 1:
            return f"The {pluralize(self.what)} along {self.columns[0]}"
        return f"The {pluralize(self.what)} along every pair of {len(self.columns)} columns"

    @property
    def description(self) -> str:
        """The strongest correlations of the whole mixture."""
        if len(self.columns) == 1:
            each = [
                f"{self.what} {label} ({format_percent(weight)}) around {self.place(self.columns[0], mean[0])} "
                f"± {format_number(np.sqrt(covariance[0, 0]))}"
                for label, weight, mean, covariance in zip(
                    self.labels, self.weights, self.means, self.covariances, strict=True
                )
            ]
            return f"Densities along {self.columns[0]}: {join_names(each[:6])}."
        mean = self.weights @ self.means
        away = self.means - mean
        within = np.einsum("k,kij->ij", self.weights, self.covariances)
        total = within + np.einsum("k,ki,kj->ij", self.weights, away, away)
        spread = np.sqrt(np.diagonal(total))
        correlation = total / np.outer(spread, spread)
        i, j = np.triu_indices(len(self.columns), 1)
        order = np.argsort(-np.abs(correlation[i, j]))[:3]
        pairs = [
            f"{self.columns[i[p]]} and {self.columns[j[p]]} {format_number(correlation[i[p], j[p]], 2)}"
            for p in order.tolist()
        ]
        return (
            f"A grid of {len(self.columns)} by {len(self.columns)} panels: ellipses of one and two standard deviations "
            f"below the diagonal, densities on it. The strongest correlations of the whole are {join_names(pairs)}."
        )

    @property
    def facts(self) -> Facts:
        """The centres, one row for each Gaussian."""
        rows = [
            [
                str(label),
                format_percent(weight),
                *(self.place(name, value, 4) for name, value in zip(self.columns, mean, strict=True)),
            ]
            for label, weight, mean in zip(self.labels, self.weights, self.means, strict=True)
        ]
        return Facts([self.what, "weight", *(f"mean of {name}" for name in self.columns)], rows)

    @property
    def size(self) -> tuple[float, float]:
        """As wide as two columns of text at most."""
        side = {1: 6.0, 2: 6.0, 3: 7.2}.get(len(self.columns), 8.6)
        return side, (0.55 if len(self.columns) == 1 else 0.86) * side

    @property
    def panels(self) -> tuple[int, int]:
        """One for each pair."""
        return len(self.columns), len(self.columns)

    def _fill(self, panels: Any) -> None:
        last = len(self.columns) - 1
        for i in range(len(self.columns)):
            for j in range(len(self.columns)):
                ax = panels[i, j]
                if j > i:
                    ax.set_axis_off()
                    continue
                (self._density if i == j else self._ellipses)(ax, i, j)
                style_axes(ax)
                ax.locator_params(nbins=4)
                ax.tick_params(labelsize=8)
                ax.set(xlabel=format_name(self.columns[j]) if i == last else "")
                if j == 0:
                    ax.set_ylabel(format_name(self.columns[i]))
                if i < last:
                    ax.tick_params(labelbottom=False)
                if j > 0 or i == 0:
                    ax.tick_params(labelleft=False)

    def _limits(self, j: int) -> Array:
        part = np.array([j, j])
        bounds = None if self.bounds is None else self.bounds[part]
        limits: Array = axis_limits(self.means[:, part], self.covariances[:, part][:, :, part], bounds)[0]
        return limits

    def _ellipses(self, ax: Any, i: int, j: int) -> None:
        part = np.array([j, i])
        within = self.bounds[part] if self.cut and self.bounds is not None else None
        seen = (self.weights, self.means[:, part], self.covariances[:, part][:, :, part])
        draw_ellipses(ax, *seen, width=0.7, within=within)
        ax.set(xlim=self._limits(j), ylim=self._limits(i))

    def _density(self, ax: Any, i: int, _: int) -> None:
        low, high = self._limits(i)
        if self.cut and self.bounds is not None:
            low, high = np.clip([low, high], *self.bounds[i])
        x = np.linspace(low, high, 200)
        total = np.zeros_like(x)
        for k, weight in enumerate(self.weights):
            spread = np.sqrt(self.covariances[k, i, i])
            height = weight * np.exp(-0.5 * ((x - self.means[k, i]) / spread) ** 2) / spread
            ax.plot(x, height, color=series_colour(k), linewidth=1.0)
            total += height
        ax.fill_between(x, total, color=series_colour(0), alpha=0.08, linewidth=0)
        ax.set(xlim=self._limits(i), yticks=[])
        ax.set_ylim(0.0, float(total.max()) * 1.1)
