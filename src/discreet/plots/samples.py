"""Synthetic rows along two columns: ``SyntheticRows`` alone, and ``SampleOverDensity`` over the model's density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.ellipses import axis_limits
from discreet.plots.plot import SERIES, Array, Facts, Plot, format_number, label_axes

POINT = 6.0  # size of the point of a row, in square typographic points
FINE = 90  # cells along an axis
SEEN = 2.9  # standard deviations shown around each centre: a little more than 95 % of rows
HELD = (0.5, 0.8, 0.95)  # shares of the rows inside the contour lines


@dataclass(frozen=True, eq=False)
class SyntheticRows(Plot):
    """Synthetic rows as points, where their density has no closed form. Identical rows make a larger point.

    Parameters
    ----------
    rows : array of shape (n, 2)
        Synthetic ones: a plot of private rows would show private rows.
    columns : pair of str
    bounds : array of shape (2, 2)
        The declared (low, high) of both columns.
    """

    rows: Array
    columns: tuple[str, str]
    bounds: Array

    @property
    def title(self) -> str:
        """How many rows, and along which columns."""
        return f"{len(self.rows)} synthetic rows along {self.columns[0]} and {self.columns[1]}"

    @property
    def description(self) -> str:
        """Means and spreads, and why there are no lines."""
        each = [
            f"{name} has mean {self.place(name, column.mean())} and standard deviation {format_number(column.std())}"
            for name, column in zip(self.columns, self.rows.T, strict=True)
        ]
        return (
            f"Points are synthetic rows, within the declared bounds: {'; '.join(each)}. No density is drawn, since "
            "that of clipped or rounded rows has no closed form."
        )

    @property
    def facts(self) -> Facts:
        """Means, standard deviations and ends."""
        rows = [
            [
                name,
                self.place(name, column.mean(), 4),
                format_number(column.std(), 4),
                self.place(name, column.min(), 4),
                self.place(name, column.max(), 4),
            ]
            for name, column in zip(self.columns, self.rows.T, strict=True)
        ]
        return Facts(["column", "mean", "standard deviation", "least", "most"], rows)

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        places, counts = np.unique(self.rows, axis=0, return_counts=True)
        ax.scatter(*places.T, s=POINT * counts, color=SERIES["sky"], alpha=0.6, linewidths=0)
        margin = 0.04 * (self.bounds[:, 1] - self.bounds[:, 0])
        low = np.maximum(self.rows.min(axis=0) - margin, self.bounds[:, 0] - margin)
        high = np.minimum(self.rows.max(axis=0) + margin, self.bounds[:, 1] + margin)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        label_axes(ax, self.columns)


@dataclass(frozen=True, eq=False)
class SampleOverDensity(Plot):
    """Synthetic rows as points, and lines around 50, 80 and 95 % of a mixture of Gaussians, along two columns.

    Parameters
    ----------
    rows : array of shape (n, 2)
        Synthetic ones: a plot of private rows would show private rows.
    weights : array of shape (K,)
    means : array of shape (K, 2)
    covariances : array of shape (K, 2, 2)
    columns : pair of str
    bounds : array of shape (2, 2), optional
    """

    rows: Array
    weights: Array
    means: Array
    covariances: Array
    columns: tuple[str, str]
    bounds: Array | None = None

    @property
    def title(self) -> str:
        """How many rows, and along which columns."""
        return f"{len(self.rows)} synthetic rows over the model's density, {self.columns[0]} and {self.columns[1]}"

    @property
    def description(self) -> str:
        """Means and spreads of the synthetic rows and of the model."""
        mean, spread = self._model()
        return (
            f"Points are synthetic rows, lines hold 50, 80 and 95 % of them. Of {self.columns[0]} the rows have mean "
            f"{self.place(self.columns[0], self.rows[:, 0].mean())} and standard deviation "
            f"{format_number(self.rows[:, 0].std())}, the density {self.place(self.columns[0], mean[0])} and "
            f"{format_number(spread[0])}; of {self.columns[1]} the rows have "
            f"{self.place(self.columns[1], self.rows[:, 1].mean())} and {format_number(self.rows[:, 1].std())}, "
            f"the density {self.place(self.columns[1], mean[1])} and {format_number(spread[1])}."
        )

    @property
    def facts(self) -> Facts:
        """Means and standard deviations of both."""
        mean, spread = self._model()
        rows = [
            [
                name,
                self.place(name, r.mean(), 4),
                self.place(name, mean[j], 4),
                format_number(r.std(), 4),
                format_number(spread[j], 4),
            ]
            for j, (name, r) in enumerate(zip(self.columns, self.rows.T, strict=True))
        ]
        return Facts(["column", "mean of the rows", "of the density", "sd of the rows", "of the density"], rows)

    def _model(self) -> tuple[Array, Array]:
        """Return mean and standard deviation of the mixture along each column."""
        mean = self.weights @ self.means
        variances = np.diagonal(self.covariances, axis1=1, axis2=2) + (self.means - mean) ** 2
        return mean, np.sqrt(self.weights @ variances)

    def _density(self, points: Array) -> Array:
        """Return the mixture's density at points of shape (…, 2)."""
        total = np.zeros(points.shape[:-1])
        for weight, mean, covariance in zip(self.weights, self.means, self.covariances, strict=True):
            away = points - mean
            squares = np.einsum("...i,ij,...j->...", away, np.linalg.inv(covariance), away)
            total += weight * np.exp(-0.5 * squares) / (2.0 * np.pi * np.sqrt(np.linalg.det(covariance)))
        return total

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        limits = axis_limits(self.means, self.covariances, self.bounds, SEEN)
        x, y = (np.linspace(limits[j, 0], limits[j, 1], FINE) for j in (0, 1))
        grid = self._density(np.stack(np.meshgrid(x, y), axis=-1))
        # Lines around a share of the rows: quantiles of the density at rows that follow it.
        levels = np.unique(np.quantile(self._density(self.rows), [1.0 - share for share in HELD]))
        levels = levels[(levels > grid.min()) & (levels < grid.max())]
        ax.plot(*self.rows.T, "o", color=SERIES["sky"], markersize=2.6, alpha=0.55, markeredgewidth=0)
        if len(levels):
            ax.contour(x, y, grid, levels=levels, colors=[SERIES["vermillion"]], linewidths=1.3)
        ax.set(xlim=limits[0], ylim=limits[1])
        label_axes(ax, self.columns)
