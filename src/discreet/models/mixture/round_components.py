"""``RoundComponents``: whether clusters are apart, where covariances are noise but centres and sizes can be seen.

After Lloyd steps one release measures counts, means and one size for each cluster. All clusters share one shape,
half-way between round in the unit ball and round in the columns' standard deviations.

*Apart.* If each row is known to be of one component, a mixture with weights w_k and covariances C_k has ½(ln det C −
Σ w_k ln det C_k) − H(w) nats a row more than one Gaussian with covariance C, both with the right sizes. On rows of one
Gaussian that is negative. Clusters are apart if it is more than what else could be had: 0.1 nats a dimension for
correlations, and 0.003 a pair of columns for what the rest of the budget would show of C; and more than if all sizes
were larger by 1.5 standard deviations of their noise. Their counts must be seen, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.em import Step
from discreet.guarantees import Neighbors
from discreet.models.clusters.lloyd_search import LloydSearch, MovingCenters
from discreet.models.mixture.adaptive_model import AdaptiveMixture, Pool
from discreet.models.mixture.own_coordinates import WORTH, Clipping, Shape, mixture_weights
from discreet.models.noisy_sums import clip_to_ball
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["RoundComponents"]

REACH = 2.5  # R²/d: a size is often larger than it seems, and clipping hides how much
LEAST_WITHIN = 0.005  # least share of all squared distances that is within clusters
SEEN, MOST = 3.0, 0.75  # standard deviations of its noise that a count must exceed; the share of counts that must
CAUTION = 1.5  # standard deviations of the noise of sizes to allow for
LATER = 0.003  # nats a pair of columns that one Gaussian may gain with the rest of the budget
UNKNOWN = 100.0  # nats that a shared covariance costs of which nothing is known


@dataclass(frozen=True, eq=False)
class RoundComponents:
    """Components of one shape, before their sizes are measured.

    Attributes
    ----------
    start : Components
        At the centres, with the size that the covariance of all rows leaves for them.
    base : Components
        The Gaussian of all rows.
    noise : float
        The squared scale of the noise of the release for Δ = 1, relative to the rows of one component.
    """

    start: Components
    base: Components
    noise: float

    @classmethod
    def at_centers(cls, centers: MovingCenters, search: LloydSearch, base: Components, noise: float) -> RoundComponents:
        """Return components at the centres of a search."""
        d, weights = base.dimension, centers.counts / centers.counts.sum()
        errors = (search.center_noise * centers.radii(search.center_noise) / centers.counts) ** 2
        apart = ((centers.centers - weights @ centers.centers) ** 2).sum(axis=1) - errors
        spread = max(float(weights @ centers.spreads**2), LEAST_WITHIN * d)  # too small: Lloyd steps clip to it
        within = math.sqrt(spread * max(d - float(weights @ apart), spread))  # and this too large: the base is
        within = min(within + float(weights @ np.minimum(errors, 2.0 * d)), d)  # around centres that are wrong
        flat, round_ = np.diag(search.scales**2) / d, np.eye(d) / (1.0 / search.scales**2).sum()
        covariance = 0.5 * within * (flat + round_)
        means = clip_to_ball(centers.centers * search.scales)
        return cls(Components(weights, means, np.repeat(covariance[None], len(weights), axis=0)), base, noise)

    def find(self, measure: Step, neighbors: Neighbors, space: Box | Ball) -> Components | None:
        """Return the components with their sizes where clusters are apart, else None; see the module."""
        count, d, first = self.start.count, self.start.dimension, self.start.covariances[0]
        shape, clipping = Shape("spherical", d), Clipping(d, REACH * d)
        weights = mixture_weights(clipping, shape, neighbors, count, self.noise, UNKNOWN)
        scales = 1.0 / np.sqrt(np.diag(self.base.covariances[0]))
        whole = d / float((np.diag(first) * scales**2).sum())
        base = Components(np.ones(1), self.base.means, first[None] * whole)
        model = AdaptiveMixture(count, base, clipping, shape, weights, 2, apart=True)
        pool = model.maximize(Pool.empty(self.start), measure(model.query(Pool.empty(self.start), space)))
        found = pool.components
        volumes = np.linalg.slogdet(found.covariances)[1]
        entropy = -float(found.weights @ np.log(found.weights))
        gain = 0.5 * (float(np.linalg.slogdet(self.base.covariances)[1][0]) - float(found.weights @ volumes)) - entropy
        sizes = np.trace(found.covariances, axis1=1, axis2=2)
        noises = pool.covariance_noise * np.array([shape.size_energy(frame) for frame in pool.frames])
        relative = math.sqrt(float(found.weights**2 @ (noises * (d / sizes) ** 2)))
        gain -= WORTH * d + LATER * d * d + 0.5 * d * math.log1p(CAUTION * relative)
        seen = float((pool.counts > SEEN * math.sqrt(pool.count_noise)).mean())
        return pool.widened.components if gain > 0.0 and seen >= MOST else None
