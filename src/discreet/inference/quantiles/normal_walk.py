"""Chains that move around a normal approximation of their target, and leave the target itself invariant.

Coordinates have the prior N(0, I), nearly, and some functions of them, the residuals, were measured with errors of
variance 1. So the target is nearly N(m, S), which Gauss and Newton's method finds. A chain at z proposes

    z' = m + √(1 − β²)·(z − m) + β·ξ,   ξ ~ N(0, S)

(the preconditioned Crank-Nicolson proposal; Cotter, Roberts, Stuart and White 2013). That is reversible for N(m, S), so
it is accepted with probability min(1, w(z')/w(z)), where w is the target's density over that of N(m, S). A β of 1 jumps
anywhere, a small one follows a bent target; each proposal draws its own. Directions of which only the prior is known
cost nothing, whatever their number. In the warm-up m and S move to the moments of all chains, and then stand still.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST = 0.1  # β
ROUNDS = 3  # of the warm-up; m and S move after each
ALIKE = 8  # points of the chains that are worth one independent draw, when their moments are taken
STEP, MOST_STEPS, NEAR = 1e-4, 30, 1e-3  # of differences, and of Gauss and Newton's method
HALVES = (1.0, 0.5, 0.25, 0.1)  # of a step, of which the best is taken


def approximate(residuals: Callable[[Array], Array], size: int) -> tuple[Array, Array]:
    """Return m and S, where residuals are N(0, I) given coordinates, which are N(0, I) themselves.

    Parameters
    ----------
    residuals : callable
        From points of shape (n, size) to residuals of shape (n, count).
    size : int

    Examples
    --------
    >>> mean, covariance = approximate(lambda points: 3.0 * points[:, :1] - 5.0, 2)
    >>> mean.round(3).tolist(), covariance.round(3).tolist()
    ([1.5, 0.0], [[0.1, 0.0], [0.0, 1.0]])
    """
    point = np.zeros(size)
    for _ in range(MOST_STEPS):
        both = residuals(np.vstack([point, point + STEP * np.eye(size)]))
        jacobian = (both[1:] - both[0]).T / STEP
        precision = np.eye(size) + jacobian.T @ jacobian
        step = np.linalg.solve(precision, jacobian.T @ (jacobian @ point - both[0])) - point
        tried = point + np.outer(HALVES, step)
        best = np.square(residuals(tried)).sum(axis=1) + np.square(tried).sum(axis=1)
        point = tried[np.argmin(best)]
        if np.abs(step).max() < NEAR:
            break
    return point, np.asarray(np.linalg.inv(precision))


def walk(
    log_density: Callable[[Array], Array],
    mean: Array,
    covariance: Array,
    chains: int,
    warmup: int,
    kept: int,
    apart: int,
    rng: np.random.Generator,
) -> Array:
    """Return draws of shape (chains, kept, size): every ``apart`` steps one, after a warm-up.

    Parameters
    ----------
    log_density : callable
        From points of shape (n, size) to n numbers.
    mean, covariance : array
        m and S, about.
    chains, warmup, kept, apart : int
    rng : Generator
    """
    size, root = mean.size, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    away = rng.normal(size=(chains, size))  # of points from m, in standard deviations
    points = mean + away @ root.T
    heights = _weigh(log_density, points, away)
    moves = np.linspace(0, warmup, ROUNDS + 1).astype(int)[1:].tolist()
    seen: list[Array] = []
    result: list[Array] = []
    for step in range(warmup + kept * apart):
        if step in moves:
            mean, root = _follow(mean, root, np.concatenate(seen[len(seen) // 2 :]))
            away, seen = np.asarray(np.linalg.solve(root, (points - mean).T).T, dtype=np.float64), []
            heights = _weigh(log_density, points, away)
        scale = SMALLEST ** rng.random((chains, 1))
        proposed = np.sqrt(1.0 - scale**2) * away + scale * rng.normal(size=(chains, size))
        height = _weigh(log_density, mean + proposed @ root.T, proposed)
        taken = np.log(rng.random(chains)) < height - heights
        away[taken], heights[taken] = proposed[taken], height[taken]
        points = mean + away @ root.T
        if step < warmup:
            seen.append(points)
        elif (step - warmup) % apart == apart - 1:
            result.append(points)
    return np.stack(result, axis=1)


def _weigh(log_density: Callable[[Array], Array], points: Array, away: Array) -> Array:
    """Return ln w."""
    return np.asarray(log_density(points) + 0.5 * np.square(away).sum(axis=1))


def _follow(mean: Array, root: Array, points: Array) -> tuple[Array, Array]:
    """Return the moments of the points, as far as there are enough of them, else those of before."""
    trust = len(points) / ALIKE / (len(points) / ALIKE + mean.size)
    covariance = (1.0 - trust) * root @ root.T + trust * np.cov(points.T)
    moved = (1.0 - trust) * mean + trust * points.mean(axis=0)
    return moved, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
