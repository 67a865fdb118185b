"""``SyntheticRows``: synthetic rows along two columns, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.pictures.labels import number, plain
from discreet.pictures.palette import SERIES
from discreet.pictures.picture import Array, Facts, Picture, quiet

__all__ = ["SyntheticRows"]

POINT = 6.0  # square points of ink for a row


@dataclass(frozen=True, eq=False)
class SyntheticRows(Picture):
    """Synthetic rows as points, where no density in closed form is theirs. Rows in one place make a larger point.

    Parameters
    ----------
    rows : array of shape (n, 2)
        Synthetic ones: a picture of private rows would be one of private rows.
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
            f"{name} has mean {self.place(name, column.mean())} and standard deviation {number(column.std())}"
            for name, column in zip(self.columns, self.rows.T, strict=True)
        ]
        return (
            f"Points are synthetic rows, within the declared bounds: {'; '.join(each)}. No density is drawn, since "
            "rows that were moved into bounds or rounded have none in closed form."
        )

    @property
    def facts(self) -> Facts:
        """Means, standard deviations and ends."""
        rows = [
            [
                name,
                self.place(name, column.mean(), 4),
                number(column.std(), 4),
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
        ax.set(xlabel=plain(self.columns[0]), ylabel=plain(self.columns[1]))
        quiet(ax, grid="both")
