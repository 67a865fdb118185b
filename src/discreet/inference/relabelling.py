"""One order of a mixture's components for all draws.

A mixture is the same whatever its components are called, so a chain may call them otherwise than another, or change
its mind. Each draw's components are put into the order in which they are nearest to those of a reference, in the sum
of Bhattacharyya distances

    ⅛ Δᵀ S⁻¹ Δ + ½ ln(|S|/√(|Σ₁||Σ₂|)),    S = (Σ₁ + Σ₂)/2,    Δ = μ₁ − μ₂,

which are the same in all coordinates. The reference is a fit's at first, and then the mean of the draws in the order
that was found (Stephens 2000, with another distance).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

__all__ = ["orders", "relabelled"]

Array = NDArray[np.float64]

PASSES = 2


def orders(means: Array, covariances: Array, to_means: Array, to_covariances: Array) -> NDArray[np.int64]:
    """Return for each draw which of its components takes each place of a reference.

    Parameters
    ----------
    means : array of shape (draws, K, d)
    covariances : array of shape (draws, K, d, d)
    to_means : array of shape (K, d)
    to_covariances : array of shape (K, d, d)

    Returns
    -------
    array of shape (draws, K)

    Examples
    --------
    >>> places = np.array([[0.0], [5.0]])
    >>> orders(places[None, ::-1], np.ones((1, 2, 1, 1)), places, np.ones((2, 1, 1))).tolist()
    [[1, 0]]
    """
    count = len(to_means)
    costs = np.empty((len(means), count, count))  # place, component
    sizes, to_sizes = np.linalg.slogdet(covariances)[1], np.linalg.slogdet(to_covariances)[1]
    for place in range(count):
        both = (covariances + to_covariances[place]) / 2.0
        away = means - to_means[place]
        far = (away * np.linalg.solve(both, away[..., None])[..., 0]).sum(axis=-1)
        unlike = np.linalg.slogdet(both)[1] - (sizes + to_sizes[place]) / 2.0
        costs[:, place] = far / 8.0 + unlike / 2.0
    return np.array([linear_sum_assignment(cost)[1] for cost in costs])


def relabelled(
    weights: Array, means: Array, covariances: Array, to_means: Array, to_covariances: Array
) -> tuple[Array, Array, Array]:
    """Return draws with their components in the order of a reference.

    Parameters
    ----------
    weights, means, covariances : array
        Of shapes (chains, draws, K), (chains, draws, K, d) and (chains, draws, K, d, d).
    to_means, to_covariances : array
        Of shapes (K, d) and (K, d, d).
    """
    chains, draws, count = weights.shape
    flat = [part.reshape(chains * draws, *part.shape[2:]) for part in (weights, means, covariances)]
    if count > 1:
        each = np.arange(chains * draws)[:, None]
        for _ in range(PASSES):
            order = orders(flat[1], flat[2], to_means, to_covariances)
            flat = [part[each, order] for part in flat]
            to_means, to_covariances = flat[1].mean(axis=0), flat[2].mean(axis=0)
    found = [part.reshape(chains, draws, *part.shape[1:]) for part in flat]
    return found[0], found[1], found[2]
