"""Locations of weighted rows: what an estimator makes of a distribution, for ``robustness``.

Plain functions of rows and weights, both of one dimension; exact, and so not private.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "weighted_huber",
    "weighted_mean",
    "weighted_median",
    "weighted_trimmed_mean",
]

Array = NDArray[np.float64]
Estimator = Callable[[Array, Array], float]


def weighted_mean(rows: Array, weights: Array) -> float:
    """Return the mean.

    >>> weighted_mean(np.array([0.0, 4.0]), np.array([3.0, 1.0]))
    1.0
    """
    return float(weights @ rows / weights.sum())


def weighted_median(rows: Array, weights: Array) -> float:
    """Return the point with half of the weight below it, the middle where there are many.

    >>> weighted_median(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4))
    2.5
    """
    order = np.argsort(rows, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    first = min(int(np.searchsorted(below, 0.5 - 1e-12)), len(rows) - 1)
    second = min(int(np.searchsorted(below, 0.5 + 1e-12)), len(rows) - 1)
    return float(rows[order[first]] / 2.0 + rows[order[second]] / 2.0)


def weighted_trimmed_mean(rows: Array, weights: Array, trim: float = 0.1) -> float:
    """Return the mean of what is left when a share ``trim`` of the weight is cut off at both ends.

    >>> weighted_trimmed_mean(np.array([-99.0, 1.0, 2.0, 3.0, 99.0]), np.ones(5), trim=0.2)
    2.0
    """
    order = np.argsort(rows, kind="stable")
    shares = np.concatenate([[0.0], np.cumsum(weights[order]) / weights.sum()])
    kept = np.diff(np.clip(shares, trim, 1.0 - trim))
    return float(kept @ rows[order] / kept.sum())


def weighted_huber(rows: Array, weights: Array, k: float | None = None) -> float:
    """Return the Huber location; k is 1.345 normal deviations by default, judged from the median deviation.

    >>> round(weighted_huber(np.array([1.0, 2.0, 3.0, 1000.0]), np.ones(4), k=1.0), 3)
    2.5
    """
    middle = weighted_median(rows, weights)
    width = 1.345 * 1.4826 * weighted_median(np.abs(rows - middle), weights) if k is None else k
    if width <= 0.0:
        return middle
    low, high = float(rows.min()), float(rows.max())
    for _ in range(80):
        theta = low / 2.0 + high / 2.0
        up = float(weights @ np.clip(rows - theta, -width, width)) > 0.0
        low, high = (theta, high) if up else (low, theta)
    return low / 2.0 + high / 2.0


ESTIMATORS: dict[str, Estimator] = {
    "mean": weighted_mean,
    "median": weighted_median,
    "trimmed": weighted_trimmed_mean,
    "huber": weighted_huber,
}
