"""``start_at_clusters``: the components that a mixture starts with, at clusters that Lloyd steps have found.

EM with K components finds the clusters only if it starts with a component near each: two that share a cluster stay
there, and another one stays between two clusters. So ``Adaptive.search`` looks for clusters first (``LloydSearch``);
here its centres become components.

All components start with one covariance: that of all rows, which is known, without the scatter of the centres. A start
with one of them too wide ends with two clusters in it. If the components overlap, with means shrunk for their noise,
they are merged until they do not (``mixture_reduction``). Everything is arithmetic on public numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.models.clusters.lloyd_search import LloydSearch, MovingCenters
from discreet.models.mixture.mixture_reduction import SYNTHETIC, most_likely_reductions
from discreet.models.mixture.own_coordinates import Shape
from discreet.models.noisy_estimates import shrink_means
from discreet.models.noisy_sums import clip_eigenvalues, clip_to_ball
from discreet.queries.moments.components import Components

__all__ = ["start_at_clusters"]

Array = NDArray[np.float64]

CAUTION = 1.5  # standard deviations of noise to allow for where centres are shrunk
NARROWEST = 0.02  # least eigenvalue of the covariance, in coordinates in which all rows have the covariance I
CLEAR = 0.9  # least mean probability of a row's own component; below it there are no clusters to start from


def start_at_clusters(
    found: MovingCenters, search: LloydSearch, base: Components, shape: Shape, least: int, rng: np.random.Generator
) -> Components:
    """Return as many components as are clear, or the base where they are fewer than ``least``.

    Parameters
    ----------
    found : MovingCenters
    search : LloydSearch
        That found them.
    base : Components
        The single Gaussian of all rows.
    shape : Shape
        The covariance type that the components shall have.
    least : int
    rng : Generator
        For synthetic rows.
    """
    d = base.dimension
    start = found.components(search.scales, found.spreads)
    errors = (search.center_noise * found.radii(search.center_noise) / found.counts) ** 2 / d  # of a coordinate, in v
    frames = np.broadcast_to(np.diag(search.scales**2), (start.count, d, d))
    centre, factors = shrink_means(start.means, start.weights, np.diag(1.0 / search.scales), errors, frames, CAUTION)
    shrunk = factors[:, None] * ((start.means - centre) @ base.whitening[0].T)  # in the coordinates of the base
    within = clip_eigenvalues(np.eye(d) - (start.weights[:, None] * shrunk).T @ shrunk, NARROWEST, 1.0)
    shared = base.factors[0] @ within @ base.factors[0].T
    start = replace(start, covariances=np.repeat(shared[None], start.count, axis=0))
    certain = replace(start, means=clip_to_ball(centre + shrunk @ base.factors[0].T))
    rows, _ = certain.sample(SYNTHETIC, rng)
    pairs = zip(*(most_likely_reductions(each, rows, start.count) for each in (start, certain)), strict=True)
    for result, sure in pairs:
        if result.count < least:
            break
        if softmax(_with_one_covariance(sure, base, shape).log_joint(rows), axis=1).max(axis=1).mean() >= CLEAR:
            return _with_one_covariance(result, base, shape)
    return base


def _with_one_covariance(components: Components, base: Components, shape: Shape) -> Components:
    """Return the components with the mean of their covariances, of the shape."""
    factor, whiten = base.factors[0], base.whitening[0]
    shared = whiten @ np.einsum("k,kij->ij", components.weights, components.covariances) @ whiten.T
    covariance = shape.clear_rounding(factor @ shape.restrict(shared) @ factor.T)
    return replace(components, covariances=np.repeat(covariance[None], components.count, axis=0))
