"""Principal axes: orthonormal directions with the variance along each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.factors import Factors
from discreet.queries.moments.components import Components

__all__ = ["Principal"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Principal:
    """Some principal axes.

    Attributes
    ----------
    mean : array of shape (d,)
    axes : array of shape (k, d)
        Orthonormal rows.
    variances : array of shape (k,)
    total : float
        The variance along all d directions together, positive.

    Examples
    --------
    >>> one = Principal.of(Components(np.ones(1), np.zeros((1, 2)), np.array([[[5.0, 3.0], [3.0, 5.0]]])))
    >>> one.axes.round(2).tolist(), one.variances.round(2).tolist()
    ([[0.71, 0.71], [0.71, -0.71]], [8.0, 2.0])
    """

    mean: Array
    axes: Array
    variances: Array
    total: float

    @classmethod
    def of(cls, gaussian: Components) -> Principal:
        """Return all principal axes of a single Gaussian, the largest variance first."""
        values, vectors = np.linalg.eigh(gaussian.covariances[0])
        axes = signed(vectors[:, ::-1].T)
        return cls(gaussian.means[0], axes, values[::-1].copy(), float(values.sum()))

    def first(self, count: int) -> Principal:
        """Return the first of the axes."""
        return Principal(self.mean, self.axes[:count], self.variances[:count], self.total)

    def moved(self, offset: Array, scale: Array) -> Principal:
        """Return the axes of offset + scale·y. The scale is the same in every column: another would turn them."""
        assert np.all(scale == scale[0])
        step = float(scale[0])
        return Principal(offset + step * self.mean, self.axes, step * step * self.variances, step * step * self.total)

    @property
    def rest(self) -> float:
        """The mean variance along a direction that is not among the axes."""
        k, d = self.axes.shape
        return max(self.total - float(self.variances.sum()), 1e-9 * self.total) / (d - k) if k < d else 0.0

    @property
    def factors(self) -> Factors:
        """The Gaussian with these variances along the axes and the same variance along all others."""
        k, d = self.axes.shape
        noise = self.rest if k < d else float(self.variances.min()) / 2.0
        noise = max(noise, 1e-12 * self.total)
        return Factors(self.mean, self.axes.T * np.sqrt(np.maximum(self.variances - noise, 0.0)), np.full(d, noise))


def signed(axes: Array) -> Array:
    """Return axes with their largest coordinate positive: a direction and its opposite are the same axis."""
    largest = np.abs(axes).argmax(axis=1)
    signs = np.where(axes[np.arange(len(axes)), largest] < 0.0, -1.0, 1.0)
    return np.asarray(axes * signs[:, None])
