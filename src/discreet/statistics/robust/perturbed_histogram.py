"""Minimise a summed loss over a noisy histogram, as if its counts were rows.

In one column the rows of a bin are assumed to be spread evenly over it. For any loss ρ of the difference x − θ, and
bins from a_j to b_j, the derivative of the summed loss is then exactly

    −Σ_j weight_j·(ρ(b_j − θ) − ρ(a_j − θ))/(b_j − a_j).

For non-negative weights and a convex ρ it increases with θ, and bisection finds its zero. A user's own loss is
evaluated at the centres of the bins, as in Lei (2011).

**Number of bins** (``lei_bins``). Over bins of side h in d columns of length 1, the noise on the h^−d counts moves an
average of bounded losses by about h^(−d/2)/(nε), and the width of the bins moves it by about h. The two balance at
h = (1/(nε))^(2/(2+d)). Lei has √log n in place of the 1, for a bound over all θ at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, positive
from discreet.door import Release
from discreet.models.noisy_sums import noise_std
from discreet.models.table.column_maps import project_to_simplex

Array = NDArray[np.float64]
Loss = Callable[[Array, Array], Array]

COUNTS = ("nearest", "truncated")
STARTS = 400


def _huber(t: Array, k: float) -> Array:
    size = np.abs(t)
    return np.where(size <= k, t * t / 2.0, k * size - k * k / 2.0)


def _squared(t: Array, k: float) -> Array:
    return t * t / 2.0


def _absolute(t: Array, k: float) -> Array:
    return np.abs(t)


# ρ(t, k) with t = row − θ; only the Huber loss uses k. Named functions, so that answers can be pickled.
LOSSES: dict[str, Callable[..., Array]] = {"huber": _huber, "squared": _squared, "absolute": _absolute}


def lei_bins(n: int, d: int, epsilon: float) -> int:
    """Return the number of bins for each of ``d`` columns with ``n`` rows; see the module.

    Examples
    --------
    >>> lei_bins(10_000, 1, 1.0), lei_bins(10_000, 1, 0.1), lei_bins(10_000, 2, 1.0)
    (222, 48, 58)
    """
    rows = integer("n", n, least=1)
    power = 2.0 / (2.0 + integer("d", d, least=1))
    side = (math.sqrt(math.log(max(rows, 3))) / (rows * positive("epsilon", epsilon))) ** power
    return int(min(max(math.ceil(1.0 / side), 2), 2**16))


def clean_counts(counts: Array, release: Release, how: str) -> Array:
    """Turn noisy counts into non-negative weights that are not all 0."""
    if how == "truncated":
        kept = np.maximum(counts, 0.0)
        return kept if kept.any() else np.ones_like(kept)
    rows = release.size.rows
    noise = noise_std(release, "counts")
    total = max(float(rows), 1.0) if rows is not None else max(float(counts.sum()), 2.0 * noise, 1.0)
    return total * project_to_simplex(counts.ravel(), total, 0.0).reshape(counts.shape)


def minimize_location(edges: Array, weights: Array, rho: Callable[[Array], Array]) -> Array:
    """Return the θ that minimises Σ_j weight_j·(mean of ρ(x − θ) over bin j), for each row of weights.

    Where a whole interval minimises it, return the centre of that interval.

    >>> weights = np.array([[1.0, 0.0, 1.0], [0.0, 4.0, 4.0]])
    >>> minimize_location(np.array([0.0, 1.0, 2.0, 3.0]), weights, np.abs).round(6).tolist()
    [1.5, 2.0]
    """
    result = []
    for least in (False, True):
        low, high = np.full(len(weights), edges[0]), np.full(len(weights), edges[-1])
        for _ in range(60):
            theta = low / 2.0 + high / 2.0
            pull = (weights * np.diff(rho(edges[None, :] - theta[:, None]), axis=1)).sum(axis=1)
            up = pull > 0.0 if least else pull >= 0.0
            low, high = np.where(up, theta, low), np.where(up, high, theta)
        result.append(low / 2.0 + high / 2.0)
    return np.asarray(result[0] / 2.0 + result[1] / 2.0)


def bin_centres(edges: list[Array]) -> Array:
    """Return the centres of all bins, a row each, in the order of the counts.

    >>> bin_centres([np.array([0.0, 2.0]), np.array([0.0, 2.0, 4.0])]).tolist()
    [[1.0, 1.0], [1.0, 3.0]]
    """
    axes = [(one[:-1] + one[1:]) / 2.0 for one in edges]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def minimize_loss(loss: Loss, points: Array, weights: Array, within: Array, start: Array | None = None) -> Array:
    """Return the θ within bounds, shape (p, 2), that minimises Σ_j weight_j·loss(point_j, θ).

    The search starts from the best of many random points, or from ``start``. For a loss that is not convex it may find
    a local minimum.

    >>> def loss(points, theta): return (points[:, 0] - theta[0]) ** 2
    >>> minimize_loss(loss, np.array([[1.0], [4.0]]), np.array([2.0, 1.0]), np.array([[0.0, 5.0]])).round(4).tolist()
    [2.0]
    """
    from scipy.optimize import minimize

    there = weights > 0.0
    rows, shares = points[there], weights[there] / weights[there].sum()
    low, high = within.T

    def total(unit: Array) -> float:
        value = float(shares @ np.asarray(loss(rows, low + (high - low) * np.clip(unit, 0.0, 1.0)), dtype=np.float64))
        return value if math.isfinite(value) else 1e300

    if start is None:
        tried = np.vstack([np.full(len(low), 0.5), np.random.default_rng(0).random((STARTS, len(low)))])
        order = np.argsort([total(unit) for unit in tried])
        starts = tried[order[:3]]
    else:
        starts = ((start - low) / (high - low))[None, :]
    result: list[Any] = [
        minimize(total, unit, method="Powell", bounds=[(0.0, 1.0)] * len(low), options={"xtol": 1e-7, "ftol": 1e-12})
        for unit in np.clip(starts, 1e-6, 1.0 - 1e-6)
    ]
    best = min(result, key=lambda one: float(one.fun))
    return np.asarray(low + (high - low) * np.clip(np.atleast_1d(best.x), 0.0, 1.0))


def parse_theta_bounds(within: Any) -> Array:
    """Return the bounds of θ as an array of shape (p, 2); raise where they are not pairs (low, high)."""
    try:
        box = np.array(within, dtype=np.float64)
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.ndim != 2 or box.shape[1] != 2 or not np.all(np.isfinite(box)) or not np.all(box[:, 0] < box[:, 1]):
        raise ArgumentError("within", within, "a pair (low, high) for each of θ's numbers", write="[(-5, 5)]")
    return box


def check_loss(loss: Any, points: Array, box: Array) -> None:
    """Call a user's loss once, on public points, so that its errors appear before anything is spent."""
    result = np.asarray(loss(points, box.mean(axis=1)))
    if result.shape != (len(points),) or result.dtype.kind not in "biuf" or not np.all(np.isfinite(result)):
        raise ArgumentError(
            "loss",
            loss,
            "one finite number for each point",
            write="loss(points, theta) with points of shape (m, d) and theta of shape (p,)",
        )


def solve_by_column(rho: Callable[[Array], Array], edges: list[Array], weights: Array, start: Array | None) -> Array:
    """Return the minimiser of a loss of differences, column by column."""
    result = []
    for axis, ends in enumerate(edges):
        others = tuple(place + 1 for place in range(len(edges)) if place != axis)
        result.append(minimize_location(ends, weights.sum(axis=others), rho))
    return np.stack(result, axis=1)


def solve_by_function(loss: Any, points: Array, box: Array, weights: Array, start: Array | None) -> Array:
    """Return the minimiser of a user's loss."""
    return np.stack([minimize_loss(loss, points, one.ravel(), box, start) for one in weights])
