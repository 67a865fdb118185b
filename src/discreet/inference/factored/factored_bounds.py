"""The likelihood of draws of the factored exponential mechanism: a lower bound, an upper bound, and an approximation.

n rows are independent, and row x is one of K public points with probabilities p_k(θ): all possible values, or points
with weights that approximate an integral over rows. A draw z of a mechanism with scores s(z, x) has probability
softmax(η Σ_i s(·, x_i))_z given the rows; its likelihood is the mean of this over rows. Draws from one data set are
independent given the rows, but not given θ: their likelihood is the mean of the product, not the product of the means.
(Equation 4 of Williams and McSherry 2010 multiplies the means; the 90 % intervals from twenty draws at η = 0.5 from 100
throws of a coin then hold the truth in only 54 % of cases.)

*Lower bound* (5a). 1/x is convex, so E[1/Y] ≥ 1/E[Y], Y = Π_j Σ_z' exp(η_j Σ_i (s(z'_j, x_i) − s(z_j, x_i))). Its mean
is a sum over all combinations of z' of the n-th power of a mean over one row.

*Upper bound* (5b). With one distribution q_j over candidates for each draw, the rows factor as well; ``factored_tilt``
has the proof and the best q. Any q gives a bound.

*Normal likelihood*. For every a,

    p(z) = E over counts N ~ multinomial(n, p) of Π_j softmax(η_j Σ_k N_k s(·, x_k))_(z_j)
         = (Σ_k p_k e^(a_k))^n · E over N ~ multinomial(n, r) of e^(−N·a) Π_j softmax(η_j Σ_k N_k s(·, x_k))_(z_j),

with r ∝ p·e^a. With the a of the best upper bound the integrand has its maximum at n·r. There the counts are
approximated as normal, and drawn from fixed standard normals, so that the result is smooth in θ. It serves any number
of draws. It is accurate from about ten rows on, if no single row dominates: Σ_j η_j·(the range of its scores) up to
about ten, beyond which it matters that counts are integers. (Points of small n·r_k are fine where they are many: only
their sum must be normal.)

All of it is in logarithms. Arrays may be NumPy's or JAX's (float64). Under JAX, a is held fixed under differentiation:
at the best q the derivative of F in q is zero, and the normal likelihood holds for every a.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_jax_array
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.inference.factored.factored_tilt import (
    NEWTON_STEPS,
    ObservedDraws,
    log_mean,
    log_sum,
    log_upper_bound_at,
    optimize_q,
    stop_gradient,
    tilt_exponents,
    tilt_weights,
)

__all__ = [
    "log_exact_likelihood",
    "log_lower_bound",
    "log_normal_likelihood",
    "log_upper_bound",
    "standard_normals",
]

Array = NDArray[np.float64]

MAX_COMBINATIONS = 100_000
MAX_NUMBERS = 2**24  # held in memory at once


def log_lower_bound(observed: Sequence[ObservedDraws], weights: Any, rows: int) -> Any:
    """Return the logarithm of the lower bound on the likelihood.

    Parameters
    ----------
    observed : sequence of ObservedDraws
    weights : array of shape (..., points)
        p(θ): the probability of each point; they sum to 1. One row for each θ.
    rows : int
        n.

    Examples
    --------
    >>> import numpy as np
    >>> coin = ObservedDraws(np.log([[0.7, 0.3], [0.3, 0.7]]), 0.5, (1,))
    >>> weights = np.array([[0.5, 0.5], [0.2, 0.8]])
    >>> [np.round(f([coin], weights, 20), 4).tolist() for f in (log_lower_bound, log_exact_likelihood, log_upper_bound)]
    [[-1.9047, -0.0234], [-0.6931, -0.0194], [-0.4528, -0.0061]]
    """
    combinations = math.prod(one.scores.shape[1] ** one.draws for one in observed)
    if combinations > MAX_COMBINATIONS:
        raise ArgumentError(
            "observed",
            UNSHOWN,
            f"at most {MAX_COMBINATIONS} combinations of candidates for the lower bound, got {combinations}",
            write="likelihood='normal' or 'upper'",
        )
    exponents = np.zeros((len(observed[0].scores), 1))
    for one in observed:
        scores = np.asarray(one.scores)
        for index in one.indices:
            shifted = one.rate * (scores - scores[:, [index]])
            exponents = (exponents[:, :, None] + shifted[:, None, :]).reshape(len(scores), -1)
    powers = rows * _log_means(weights, exponents)
    return -log_sum(powers)


def log_upper_bound(observed: Sequence[ObservedDraws], weights: Any, rows: int, *, steps: int = NEWTON_STEPS) -> Any:
    """Return the logarithm of the upper bound on the likelihood, at the best q that some steps find."""
    q = optimize_q(observed, stop_gradient(weights), rows, steps)
    return log_upper_bound_at(observed, weights, rows, q)


def log_normal_likelihood(observed: Sequence[ObservedDraws], weights: Any, rows: int, normals: Any) -> Any:
    """Return the logarithm of the normal likelihood: counts are normal around those that explain the draws best.

    Parameters
    ----------
    observed, weights, rows
        As in ``log_lower_bound``.
    normals : array of shape (draws, points)
        ``standard_normals``: the same for all θ.
    """
    if not is_jax_array(weights) and weights.ndim > 1:
        flat = weights.reshape(-1, weights.shape[-1])
        step = max(MAX_NUMBERS // (normals.size + normals.shape[0] * max(one.scores.shape[1] for one in observed)), 1)
        result = [_compute_normal(observed, flat[i : i + step], rows, normals) for i in range(0, len(flat), step)]
        return np.concatenate(result).reshape(weights.shape[:-1])
    return _compute_normal(observed, weights, rows, normals)


def _compute_normal(observed: Sequence[ObservedDraws], weights: Any, rows: int, normals: Any) -> Any:
    xp = array_namespace(weights)
    log_q = optimize_q(observed, stop_gradient(weights), rows, NEWTON_STEPS)
    a = stop_gradient(tilt_exponents(observed, log_q))
    r = tilt_weights(weights, a)
    drawn, log_ratio = _draw_normals(observed, stop_gradient(r), [xp.exp(one) for one in log_q], rows, normals)
    root = xp.sqrt(xp.where(r > 0.0, r, 1e-300))[..., None, :]  # its slope at 0 is infinite
    moves = math.sqrt(rows) * root * (drawn - xp.sum(drawn * root, axis=-1)[..., None] * root)
    counts = rows * r[..., None, :] + moves
    log_density = log_ratio - xp.sum(counts * a[..., None, :], axis=-1)
    for one in observed:
        sums = one.rate * (counts @ one.scores)
        log_density = log_density + one.rate * (counts @ one.drawn_scores) - one.draws * log_sum(sums)
    return rows * log_mean(weights, a) + log_sum(log_density) - math.log(len(normals))


def _draw_normals(observed: Sequence[ObservedDraws], r: Any, q: list[Any], rows: int, normals: Any) -> tuple[Any, Any]:
    """Return normals for importance sampling, half of them narrowed to where the integrand is large, and log-weights.

    Around its maximum −log of the integrand is ½ξᵀ(I + GGᵀ)ξ, G = √n·(η_j (√r s_j − its part along √r) Cov(q_j)^½)_j.
    One half of the draws is N(0, I), the other N(0, (I + GGᵀ)⁻¹). All are weighted as draws of the mixture of both, so
    no weight is above 2.
    """
    xp = array_namespace(r)
    root = xp.sqrt(r)[..., None]
    sides = []
    for one, chances in zip(observed, q, strict=True):
        scores = one.scores - (chances @ one.scores.T)[..., None]
        scores = root * (scores - xp.sum(r[..., None] * scores, axis=-2)[..., None, :])
        sides.append(math.sqrt(rows * one.draws) * one.rate * scores * xp.sqrt(chances)[..., None, :])
    u, s, _ = xp.linalg.svd(xp.concat(sides, axis=-1), full_matrices=False)
    narrow = (1.0 - 1.0 / xp.sqrt(1.0 + s * s))[..., None, :]
    wide = xp.broadcast_to(normals[::2], (*r.shape[:-1], *normals[::2].shape))
    some = xp.broadcast_to(normals[1::2], wide.shape)
    drawn = xp.concat([wide, some - ((some @ u) * narrow) @ xp.swapaxes(u, -1, -2)], axis=-2)
    beyond = xp.sum(((drawn @ u) * s[..., None, :]) ** 2, axis=-1)
    log_narrow = 0.5 * (xp.sum(xp.log1p(s * s), axis=-1)[..., None] - beyond)
    return drawn, math.log(2.0) - xp.logaddexp(log_narrow, xp.zeros_like(log_narrow))


def standard_normals(points: int, draws: int = 256, seed: int = 0) -> Array:
    """Return standard normals for ``log_normal_likelihood``, in pairs of opposite sign."""
    quarter = np.random.default_rng(seed).standard_normal(((integer("draws", draws, least=4) + 3) // 4, 2, points))
    return np.concatenate([quarter.reshape(-1, points), -quarter.reshape(-1, points)])


def log_exact_likelihood(observed: Sequence[ObservedDraws], weights: Array, rows: int) -> Array:
    """Return the logarithm of the exact likelihood, by enumerating all counts: for few rows and points."""
    points = len(observed[0].scores)
    if math.comb(rows + points - 1, points - 1) > MAX_COMBINATIONS:
        raise ValueError(
            f"rows={rows}: expected at most {MAX_COMBINATIONS} ways to share rows among {points} points; write "
            "likelihood='normal'"
        )
    bars = np.array(list(itertools.combinations(range(rows + points - 1), points - 1)), dtype=np.int64)
    edges = np.pad(bars.reshape(-1, points - 1), ((0, 0), (1, 1)), constant_values=((0, 0), (-1, rows + points - 1)))
    counts = np.diff(edges, axis=1) - 1.0
    logs = gammaln(rows + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    for one in observed:
        logs = logs + one.rate * (counts @ one.drawn_scores) - one.draws * log_sum(one.rate * (counts @ one.scores))
    p = np.asarray(weights, dtype=np.float64)
    return np.asarray(log_sum(logs + xlogy(counts, p[..., None, :]).sum(axis=-1)))


def _log_means(weights: Any, exponents: Array) -> Any:
    """Return log Σ_k p_k e^(exponent_k) for each column; accurate where the exponents are small."""
    xp = array_namespace(weights)
    if np.abs(exponents).max() < 4.0:
        return xp.log1p(weights @ np.expm1(exponents))
    return xp.log(weights @ np.exp(exponents))
