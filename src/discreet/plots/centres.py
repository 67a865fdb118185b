"""``Centres``: the centres of clusters along two columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.ellipses import group_overlapping, place_labels
from discreet.plots.plot import Array, Facts, Plot, join_names, label_axes, series_colour

FINE = 220  # cells along an axis for the shading by nearest centre


@dataclass(frozen=True, eq=False)
class Centres(Plot):
    """The centres of clusters along two columns.

    Parameters
    ----------
    centres : array of shape (K, 2)
    columns : pair of str
    bounds : array of shape (2, 2)
        The declared (low, high) of both columns.
    regions : bool
        Whether to shade by the nearest centre. This is correct only where the model has no other columns.
    """

    centres: Array
    columns: tuple[str, str]
    bounds: Array
    regions: bool = False

    @property
    def title(self) -> str:
        """The number of centres, and the columns."""
        return f"The {len(self.centres)} centres along {self.columns[0]} and {self.columns[1]}"

    @property
    def description(self) -> str:
        """The locations of the centres."""
        places = [f"{k + 1} at ({', '.join(self._at(centre))})" for k, centre in enumerate(self.centres[:8])]
        return f"Centres of clusters, as ({self.columns[0]}, {self.columns[1]}): {join_names(places)}."

    @property
    def facts(self) -> Facts:
        """The locations of the centres."""
        rows = [[str(k + 1), *self._at(centre, 4)] for k, centre in enumerate(self.centres)]
        return Facts(["centre", *self.columns], rows)

    def _at(self, centre: Array, digits: int = 3) -> list[str]:
        return [self.place(name, value, digits) for name, value in zip(self.columns, centre, strict=True)]

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        margin = 0.04 * (self.bounds[:, 1] - self.bounds[:, 0])
        low = np.minimum(self.bounds[:, 0] - margin, self.centres.min(axis=0))
        high = np.maximum(self.bounds[:, 1] + margin, self.centres.max(axis=0))
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        if self.regions:
            self._shade(ax, low, high)
        for k, (x, y) in enumerate(self.centres):
            ax.plot([x], [y], "o", color=series_colour(k), markersize=9, clip_on=False)
        label_axes(ax, self.columns)
        groups = group_overlapping(ax, self.centres)
        texts = [", ".join(str(k + 1) for k in group) for group in groups]
        place_labels(ax, self.centres[[group[0] for group in groups]], texts)

    def _shade(self, ax: Any, low: Array, high: Array) -> None:
        x, y = (np.linspace(low[j], high[j], FINE) for j in (0, 1))
        grid = np.stack(np.meshgrid(x, y), axis=-1)
        nearest = np.argmin(((grid[:, :, None, :] - self.centres) ** 2).sum(axis=-1), axis=-1)
        for k in range(len(self.centres)):
            inside = (nearest == k).astype(float)
            if inside.any():
                ax.contourf(x, y, inside, levels=[0.5, 1.5], colors=[series_colour(k)], alpha=0.12)
