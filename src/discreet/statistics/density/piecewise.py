"""``Piecewise``: a piecewise linear density on an interval, its distribution function and its quantiles.

A histogram has flat pieces; the pieces of a smooth density meet. Within a cell of width b, from height l to height r,
the distribution function grows by b·(l·u + (r − l)·u²/2) up to the share u of the cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Piecewise:
    """A piecewise linear density.

    Parameters
    ----------
    edges : array of shape (m + 1,)
    left, right : arrays of shape (m,)
        The heights at the two ends of each cell, at least 0; some above 0.

    Examples
    --------
    >>> curve = Piecewise(np.array([0.0, 1.0, 3.0]), np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    >>> float(curve.density(0.5)), float(curve.distribution(1.0)), float(curve.quantile(0.25))
    (0.5, 0.5, 0.5)
    """

    edges: Array
    left: Array
    right: Array

    def __post_init__(self) -> None:
        mass = float(np.sum(np.diff(self.edges) * (self.left + self.right) / 2.0))
        for name in ("left", "right"):
            object.__setattr__(self, name, getattr(self, name) / mass)

    @cached_property
    def _below(self) -> Array:
        """The mass below each edge; the last is 1."""
        sums = np.concatenate([[0.0], np.cumsum(np.diff(self.edges) * (self.left + self.right) / 2.0)])
        return np.asarray(sums / sums[-1])

    def _cell(self, points: Array) -> tuple[NDArray[np.intp], Array]:
        cell = np.clip(np.searchsorted(self.edges, points, side="right") - 1, 0, len(self.left) - 1)
        return cell, (points - self.edges[cell]) / (self.edges[cell + 1] - self.edges[cell])

    def density(self, points: ArrayLike) -> Array:
        """Return the density at points; 0 outside the interval and at NaN."""
        x = np.asarray(points, dtype=np.float64)
        cell, share = self._cell(x)
        inside = (x >= self.edges[0]) & (x <= self.edges[-1])
        height = self.left[cell] + (self.right[cell] - self.left[cell]) * np.clip(share, 0.0, 1.0)
        return np.where(inside, height, 0.0)[()]

    def distribution(self, points: ArrayLike) -> Array:
        """Return the mass below points."""
        x = np.clip(np.asarray(points, dtype=np.float64), self.edges[0], self.edges[-1])
        cell, share = self._cell(x)
        u = np.clip(share, 0.0, 1.0)
        grown = (self.edges[cell + 1] - self.edges[cell]) * (
            self.left[cell] * u + (self.right[cell] - self.left[cell]) * u * u / 2.0
        )
        return np.clip(self._below[cell] + grown, 0.0, 1.0)[()]

    def quantile(self, q: ArrayLike) -> Array:
        """Return the points below which the density has the masses ``q``."""
        mass = np.asarray(q, dtype=np.float64)
        cell = np.clip(np.searchsorted(self._below, mass, side="right") - 1, 0, len(self.left) - 1)
        # A mass of 1 belongs to the last cell that has any.
        filled = np.flatnonzero(np.diff(self._below) > 0.0)
        cell = filled[np.clip(np.searchsorted(filled, cell, side="right") - 1, 0, len(filled) - 1)]
        width = self.edges[cell + 1] - self.edges[cell]
        start, slope = self.left[cell], self.right[cell] - self.left[cell]
        rest = np.maximum(mass - self._below[cell], 0.0) / width
        # start·u + slope·u²/2 = rest, solved without cancellation
        root = np.sqrt(np.maximum(start * start + 2.0 * slope * rest, 0.0))
        u = np.clip(2.0 * rest / np.maximum(start + root, 1e-300), 0.0, 1.0)
        return np.asarray(self.edges[cell] + width * u)[()]


def project_to_density(heights: Array, width: float) -> Array:
    """Return the nearest non-negative heights at equally spaced points whose linear interpolation integrates to 1.

    They are max(height − c, 0), with the c that makes the integral 1. This is the projection, in the mean square, onto
    the convex set of such densities. So it is at least as near to any density of the set, and so to the true one, as
    the given heights.

    >>> project_to_density(np.array([2.0, 1.0, -1.0]), 1.0).round(3).tolist()
    [1.333, 0.333, 0.0]
    """
    steps = np.full(len(heights), width)
    steps[[0, -1]] /= 2.0
    low, high = float(heights.min()) - 1.0 / float(steps.sum()), float(heights.max())
    for _ in range(200):
        middle = low / 2.0 + high / 2.0
        more = float(steps @ np.maximum(heights - middle, 0.0)) > 1.0
        low, high = (middle, high) if more else (low, middle)
    return np.asarray(np.maximum(heights - low, 0.0))
