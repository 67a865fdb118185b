"""Components that are split, and components that move: free of cost, from what is known of the mixture.

EM improves components where they are. It does not move one to a cluster that has none: two that share a cluster stay
there, and one that covers two clusters stays there too. Everything here is arithmetic on public numbers.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.models.mixture.adaptive_model import Pool
from discreet.models.mixture.mixture_reduction import SYNTHETIC, closest_pair, merge_pair
from discreet.models.mixture.own_coordinates import Shape
from discreet.models.noisy_sums import clip_to_ball
from discreet.queries.moments.components import Components

__all__ = ["move_spare", "split_heaviest"]

Array = NDArray[np.float64]

SAME = 0.005  # nats a row that merging two components may lose
LEAST_WEIGHT = 1e-9  # of a component that is about to move
SEEN = 2.0  # standard deviations of its noise that a pooled count must exceed for a component to stay where it is
SPLIT, APART = 0.6, 0.8  # distance of the halves of a component from its mean, in standard deviations; of a wide one


def split_heaviest(components: Components, count: int, base: Components, shape: Shape) -> Components:
    """Return ``count`` components: the one with the largest weight is split in two, again and again.

    Along the direction in which it is widest, in coordinates in which the base has the covariance I. Together both
    halves have the mean of the whole and, as far as the shape allows, its covariance.

    >>> one = Components(np.ones(1), np.zeros((1, 2)), np.diag([1.0, 0.01])[None])
    >>> base = Components(np.ones(1), np.zeros((1, 2)), np.eye(2)[None])
    >>> split_heaviest(one, 2, base, Shape("full", 2)).means.round(2).tolist()
    [[0.6, 0.0], [-0.6, 0.0]]
    """
    weights, means, covariances = list(components.weights), list(components.means), list(components.covariances)
    factor, whiten = base.factors[0], base.whitening[0]
    while len(weights) < count:
        k = int(np.argmax(weights))
        values, vectors = np.linalg.eigh(whiten @ covariances[k] @ whiten.T)
        step = SPLIT * math.sqrt(values[-1]) * (factor @ vectors[:, -1])
        step *= np.sign(step[np.argmax(np.abs(step))])
        covariances[k] = _halve(covariances[k], step, shape)
        weights[k] /= 2.0
        weights.append(weights[k])
        means.append(means[k] - step)
        covariances.append(covariances[k])
        means[k] = means[k] + step
    return Components(np.array(weights), clip_to_ball(np.array(means)), np.array(covariances))


def move_spare(pool: Pool, shape: Shape, rng: np.random.Generator) -> Pool:
    """Return the pool in which components that are not needed have moved to halve wide ones, which start anew.

    *Wide.* A component that has two clusters is wide in the direction from one to the other. Let S be the harmonic mean
    of the covariances, in which wide ones count for little, and λ the largest eigenvalue of S⁻¹C_k. If each cluster has
    the covariance S, two components gain about w_k(½ ln λ − ln 2) nats a row. They start 0.8 standard deviations to
    either side of the mean: a component may also be wide because its rows are.

    *Not needed.* A component whose pooled count is below two standard deviations of its noise; and one of two whose
    merging loses less than 0.005 nats, on synthetic rows, and less than half of what halving another one gains.

    >>> covariances = np.array([1.01, 0.01, 0.01]).reshape(3, 1, 1)
    >>> three = Components(np.array([0.6, 0.3, 0.1]), np.array([[0.0], [0.9], [0.5]]), covariances)
    >>> pool = replace(Pool.empty(three), counts=np.array([600.0, 300.0, 1.0]), count_noise=9.0)
    >>> moved = move_spare(pool, Shape("full", 1), np.random.default_rng(0))
    >>> moved.components.means.round(1).ravel().tolist()
    [-0.8, 0.9, 0.8]
    """
    empty, changed = pool.counts < SEEN * math.sqrt(pool.count_noise), np.zeros(len(pool.counts), dtype=np.bool_)
    if empty.all():
        return pool
    components, spare, used = pool.components, np.flatnonzero(empty).tolist(), np.flatnonzero(~empty)
    roots, shares = components.whitening[used], components.weights[used] / components.weights[used].sum()
    factor = np.linalg.cholesky(np.linalg.inv(np.einsum("k,kji,kjl->il", shares, roots, roots)))  # F with FFᵀ = S
    whiten = np.linalg.inv(factor)
    values, vectors = np.linalg.eigh(whiten @ components.covariances[used] @ whiten.T)  # the last one is λ
    gains = shares * (0.5 * np.log(values[:, -1]) - math.log(2.0))
    wide = [int(i) for i in np.argsort(-gains) if gains[i] > 0.0]
    while len(spare) < len(wide):
        halved = [int(used[i]) for i in wide[: len(spare) + 1]]
        merged = _merge_alike(components, [*spare, *halved], min(SAME, 0.5 * float(gains[wide[len(spare)]])), rng)
        if merged is None:
            break
        components, pair = merged
        spare.append(pair[1])
        changed[list(pair)] = True
        wide = [i for i in wide if used[i] not in pair]
    if not wide or not spare:
        return pool
    weights, means, covariances = (
        part.copy() for part in (components.weights, components.means, components.covariances)
    )
    for moved, i in zip(spare, wide, strict=False):
        k = used[i]
        step = APART * math.sqrt(values[i, -1]) * (factor @ vectors[i, :, -1])
        means[moved], means[k] = means[k] + step, means[k] - step
        covariances[moved] = covariances[k] = _halve(covariances[k], step, shape)
        weights[moved] = weights[k] = weights[k] / 2.0
        changed[[moved, k]] = True
    result = Components(weights / weights.sum(), clip_to_ball(means), covariances)
    return replace(
        pool,
        components=result,
        counts=np.where(changed, result.weights * pool.counts.sum(), pool.counts),
        mean_noise=np.where(changed, np.inf, pool.mean_noise),
        covariance_noise=np.where(changed, np.inf, pool.covariance_noise),
    )


def _merge_alike(
    components: Components, taken: list[int], most: float, rng: np.random.Generator
) -> tuple[Components, tuple[int, int]] | None:
    """Return the mixture with two components merged into the first of them, and which two they are.

    None where that loses more than ``most`` nats a row, or where there are no two but those ``taken``.
    """
    free = [k for k in range(components.count) if k not in taken]
    if len(free) < 2:
        return None
    kept, gone = closest_pair(components, free)
    both = merge_pair(components, kept, gone)
    parts = [part.copy() for part in (components.weights, components.means, components.covariances)]
    for part, value in zip(parts, (both.weights, both.means, both.covariances), strict=True):
        part[kept] = value[0]
    parts[0][gone] = LEAST_WEIGHT
    result = Components(parts[0] / parts[0].sum(), parts[1], parts[2])
    rows, _ = components.sample(SYNTHETIC, rng)
    lost = float((components.log_density(rows) - result.log_density(rows)).mean())
    return (result, (kept, gone)) if lost <= most else None


def _halve(covariance: Array, step: Array, shape: Shape) -> Array:
    """Return the covariance of two halves at ± ``step`` that together have this one, as far as the shape allows."""
    if shape.name == "tied":  # one covariance for all
        return covariance
    own = np.linalg.cholesky(covariance)  # L
    apart = np.linalg.solve(own, step)
    rest = shape.restrict(np.eye(len(step)) - np.outer(apart, apart))  # L⁻¹(C − step·stepᵀ)L⁻ᵀ
    return shape.clear_rounding(own @ rest @ own.T)
