"""Bounds on the error of the Bayes rule for Gaussian classes with known parameters (Bhattacharyya, Chernoff).

With priors P_i and densities p_i the error of the Bayes rule is ∫(Σ_i P_i p_i − max_i P_i p_i). For numbers
q₁ ≥ q₂ ≥ … the sum of all but the largest is at most Σ_{i<j} min(q_i, q_j) = Σ_j (j−1)q_j, so a sum over pairs of
classes bounds the error. For one pair min(q, q') ≤ q^s q'^(1−s) for s in [0, 1], and ∫p_i^s p_j^(1−s) = e^(−k(s)) with

    k(s) = s(1−s)/2·Δᵀ S⁻¹ Δ + ½ log(|S| / (|Σ_i|^(1−s) |Σ_j|^s)),  S = (1−s)Σ_i + sΣ_j,  Δ = μ_i − μ_j,

as p_i^s p_j^(1−s) has the precision sΣ_i⁻¹ + (1−s)Σ_j⁻¹ = Σ_i⁻¹SΣ_j⁻¹. The best s gives
Chernoff's bound. s = ½ gives Bhattacharyya's, √(P_i P_j)·e^(−K) with K = k(½). No bound exceeds 1 − max P, the error of
always naming the largest class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError

__all__ = [
    "bhattacharyya",
    "bhattacharyya_bound",
    "check_parameters",
    "chernoff_bound",
    "factor_covariances",
    "find_minimum",
    "overlap",
]

Array = NDArray[np.float64]


def check_parameters(weights: Any, means: Any, covariances: Any) -> tuple[Array, Array, Array]:
    """Return priors, means and covariances as arrays of shape (K,), (K, d) and (K, d, d), checked."""
    mu, sigma = (np.asarray(values, dtype=np.float64) for values in (means, covariances))
    mu = mu[:, None] if mu.ndim == 1 else mu
    sigma = sigma[:, None, None] if sigma.ndim == 1 else sigma
    classes, d = mu.shape if mu.ndim == 2 else (0, 0)
    priors = np.asarray(weights, dtype=np.float64)
    if classes < 2 or sigma.shape != (classes, d, d) or priors.shape != (classes,):
        raise ArgumentError(
            "weights, means, covariances",
            UNSHOWN,
            f"shapes (K,), (K, d) and (K, d, d), K at least 2, got {priors.shape}, {mu.shape} and {sigma.shape}",
        )
    if not (np.all(priors >= 0.0) and abs(priors.sum() - 1.0) < 1e-6 and np.all(np.isfinite(mu))):
        raise ArgumentError("weights, means", UNSHOWN, "finite means and weights of at least 0 that sum to 1")
    return priors / priors.sum(), mu, sigma


def _factor(matrices: Array) -> Array:
    return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)


def factor_covariances(covariances: Array) -> Array:
    """Return the Cholesky factors of covariances; raise where one is not positive definite."""
    try:
        return _factor(covariances)
    except np.linalg.LinAlgError:
        raise ArgumentError(
            "covariances", UNSHOWN, "positive definite matrices; raise the eigenvalues that noise made too small first"
        ) from None


def _log_det(factor: Array) -> Array:
    return np.asarray(2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1))


def _exponents(s: float, means: Array, covariances: Array) -> Array:
    """Return k(s) for each pair i < j, of arrays of shape (…, K, d) and (…, K, d, d)."""
    i, j = np.triu_indices(means.shape[-2], 1)
    one, other = covariances[..., i, :, :], covariances[..., j, :, :]
    between = _factor((1.0 - s) * one + s * other)
    gap = np.linalg.solve(between, (means[..., i, :] - means[..., j, :])[..., None])[..., 0]
    dets = _log_det(_factor(covariances))
    logs = _log_det(between) - (1.0 - s) * dets[..., i] - s * dets[..., j]
    return np.asarray(0.5 * s * (1.0 - s) * (gap**2).sum(axis=-1) + 0.5 * logs)


def overlap(weights: Array, means: Array, covariances: Array) -> Array:
    """Return the sum over pairs of classes in Bhattacharyya's bound; leading axes are draws."""
    i, j = np.triu_indices(means.shape[-2], 1)
    pairs = np.sqrt(weights[..., i] * weights[..., j]) * np.exp(-_exponents(0.5, means, covariances))
    return np.asarray(pairs.sum(axis=-1))


def bhattacharyya(weights: Array, means: Array, covariances: Array) -> Array:
    """Return Bhattacharyya's bound: the sum over pairs, or 1 − max P where that is less."""
    return np.asarray(np.minimum(overlap(weights, means, covariances), 1.0 - weights.max(axis=-1)))


def bhattacharyya_bound(weights: Any, means: Any, covariances: Any) -> float:
    """Return Bhattacharyya's bound on the error of the Bayes rule for Gaussian classes with these parameters.

    Parameters
    ----------
    weights : array of shape (K,)
        Priors.
    means : array of shape (K, d), or (K,) for one column
    covariances : array of shape (K, d, d), or (K,) for one column

    Examples
    --------
    >>> round(bhattacharyya_bound([0.5, 0.5], [0.0, 3.0], [1.0, 1.0]), 4)
    0.1623
    """
    priors, mu, sigma = check_parameters(weights, means, covariances)
    factor_covariances(sigma)
    return float(bhattacharyya(priors, mu, sigma))


def chernoff_bound(weights: Any, means: Any, covariances: Any) -> float:
    """Return Chernoff's bound, with the best exponent for each pair: never above Bhattacharyya's.

    Parameters
    ----------
    weights, means, covariances
        As in ``bhattacharyya_bound``.

    Examples
    --------
    >>> round(chernoff_bound([0.9, 0.1], [0.0, 3.0], [1.0, 4.0]), 4)
    0.0855
    >>> round(bhattacharyya_bound([0.9, 0.1], [0.0, 3.0], [1.0, 4.0]), 4)
    0.1
    """
    priors, mu, sigma = check_parameters(weights, means, covariances)
    factor_covariances(sigma)
    total = 0.0
    for i, j in zip(*np.triu_indices(len(priors), 1), strict=True):
        if not priors[i] * priors[j]:
            continue
        pair = [int(i), int(j)]

        def log_bound(s: float, pair: list[int] = pair) -> float:
            logs = s * np.log(priors[pair[0]]) + (1.0 - s) * np.log(priors[pair[1]])
            return float(logs - _exponents(s, mu[pair], sigma[pair])[0])

        total += math.exp(min(log_bound(find_minimum(log_bound, 0.0, 1.0)), log_bound(0.5)))  # convex in s
    return min(total, 1.0 - float(priors.max()))


def find_minimum(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the point in [low, high] at which a function with one minimum has it."""
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)
