"""``LloydSearch``: finds clusters by noisy Lloyd steps that move centres without rows, for k-means and for mixtures.

From mean and covariance of all rows, which are known, centres are spread over a Gaussian. In each step a release has
the number of rows nearest to each centre, and their sums and squared distances relative to the last centre, clipped to
a radius. That is so much less than covariances that a small part of a budget finds clusters, also in many columns.

- There are as many centres as noise permits, up to 1.5·K. After a step a centre whose count is noise moves to a cluster
  with a large sum of squared distances, which is halved, if that sum is more than the move can cost: the rows that the
  centre may have, times the squared distance to the nearest other one.
- After 0.7 of the steps k-means on the centres leaves K of them.
- With much noise the radius of a cluster is its spread, and no spread is estimated as more than 0.84 of the radius: the
  moves of a centre, and with them their noise, become smaller from step to step.
- Where a single step with all of the budget would show noise alone, centres start together.

Distances are Euclidean in coordinates v, in which one step is ``scales`` of the unit ball, column by column. Everything
but the releases is arithmetic on public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step
from discreet.models.clusters.histogram_clusters import weighted_kmeans
from discreet.models.mixture.adaptive_model import spread_over
from discreet.models.noisy_estimates import shrinkage_factor
from discreet.models.noisy_sums import clip_to_ball, noise_std, positive_counts
from discreet.queries.moments.clipped_moments import LLOYD, ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["SMALLEST_RADIUS", "LloydSearch", "MovingCenters", "relative_noise", "shrink_vectors", "usual_steps"]

Array = NDArray[np.float64]

SMALLEST_RADIUS = 1e-4  # to which rows of a cluster are clipped, in the unit ball
MOVING = 0.7  # share of the steps in which centres move
MOST_CENTRES, ENOUGH = 1.5, 0.2  # centres a cluster at first; more than one where the noise of a centre is below 0.2
LEAST_WITHIN = 0.2  # least share of all squared distances that is within clusters at the start
SEEN = 2.0  # standard deviations of its noise that a count must exceed for the centre to stay
SQUARES = 0.02, 0.7  # limits on the mean square of clipped rows, relative to the squared radius


def usual_steps(count: int) -> int:
    """Return the number of steps that suits so many clusters: with more of them more centres must move."""
    return int(4.0 + 1.5 * math.log2(count))


def relative_noise(noise: float, dimension: int) -> float:
    """Return the noise of a centre in a step, relative to the radius of its cluster, times the rows of the cluster.

    Parameters
    ----------
    noise : float
        The standard deviation of a count that has the whole budget of the step.
    dimension : int
    """
    return math.sqrt(dimension / LLOYD[1]) * noise


@dataclass(frozen=True, eq=False)
class LloydSearch:
    """Lloyd steps with moves.

    Parameters
    ----------
    count : int
        K.
    steps : int
    noise : float
        The standard deviation of a count that has the whole budget of one step.
    scales : array of shape (d,)
        What one step in v is in the unit ball.
    """

    count: int
    steps: int
    noise: float
    scales: Array

    @property
    def center_noise(self) -> float:
        """See ``relative_noise``."""
        return relative_noise(self.noise, len(self.scales))

    def run(
        self, base: Components, rows: float, space: Box | Ball, rng: np.random.Generator, measure: Step
    ) -> MovingCenters:
        """Return the centres after all steps.

        Parameters
        ----------
        base : Components
            A Gaussian with mean and covariance of all rows, in the unit ball.
        rows : float
            Their number, about.
        space : Box or Ball
        rng : Generator
        measure : callable
            Measures the question of a step.
        """
        error = self.center_noise * self.count / rows
        number = int(min(max(ENOUGH / error, 1.0), MOST_CENTRES) * self.count)
        closer = (1.0 + error**2 / self.steps) ** 2
        covariance = base.covariances[0] / np.outer(self.scales, self.scales)
        found = MovingCenters.spread_over(base.means[0] / self.scales, covariance / closer, rows, number, rng)
        moving = round(MOVING * self.steps)
        for step in range(1, self.steps + 1):
            radii = found.radii(self.center_noise)
            start = found.components(self.scales, radii)
            release = measure(
                MomentSums(ClippedMoments(start, 1.0, LLOYD, "spherical", hard=True), space, "search for clusters")
            )
            found, weak = _read_step(start.means / self.scales, radii, release)
            if step < moving:
                found.relocate(np.flatnonzero(weak), noise_std(release, "counts"), rng)
            elif len(found.counts) > self.count:
                found = found.merge(self.count, rng)
        return found


@dataclass(eq=False)
class MovingCenters:
    """Clusters between two steps.

    Attributes
    ----------
    counts : array of shape (M,)
    centers : array of shape (M, d)
        In v.
    spreads : array of shape (M,)
        Root mean squared distance of the rows to their centre, or less; see the module.
    """

    counts: Array
    centers: Array
    spreads: Array

    @classmethod
    def spread_over(
        cls, middle: Array, covariance: Array, rows: float, number: int, rng: np.random.Generator
    ) -> MovingCenters:
        """Return clusters of as many rows each, spread over a Gaussian."""
        centers = spread_over(Components(np.ones(1), middle[None], covariance[None]), number, rng).means
        total, between = float(np.trace(covariance)), float(((centers - centers.mean(axis=0)) ** 2).sum(axis=1).mean())
        within = max(total - between, LEAST_WITHIN * total)
        return cls(np.full(number, rows / number), centers, np.full(number, math.sqrt(within)))

    def radii(self, noise: float) -> Array:
        """Return the radii at which noise moves a centre by 0.05 of a spread, between 1 and 5 spreads."""
        return np.asarray(np.maximum(self.spreads * np.clip(0.05 * self.counts / noise, 1.0, 5.0), SMALLEST_RADIUS))

    def components(self, scales: Array, radii: Array) -> Components:
        """Return the clusters as components in the unit ball, whose own coordinates are (v − centre)/radius."""
        covariances = radii[:, None, None] ** 2 * np.diag(scales**2)
        return Components(self.counts / self.counts.sum(), clip_to_ball(self.centers * scales), covariances)

    def relocate(self, weak: NDArray[np.intp], noise: float, rng: np.random.Generator) -> None:
        """Move centres, in place, each to halve one of the clusters with the largest sums of squares.

        Parameters
        ----------
        weak : array of int
            The centres that may be moved.
        noise : float
            The standard deviation of a count: a weak cluster may have so many rows more.
        rng : Generator
        """
        from scipy.spatial import cKDTree

        squares = self.counts * self.spreads**2
        usual, movable = float(np.median(squares)), set(weak.tolist())
        widest = [k for k in np.argsort(-squares) if k not in movable and squares[k] > usual]
        distances, _ = cKDTree(self.centers).query(self.centers, k=2)  # each is the nearest to itself
        costs = (self.counts + noise) * distances[:, -1] ** 2
        for moved, wide in zip(weak, widest, strict=False):
            if costs[moved] > squares[wide]:
                continue
            direction = rng.standard_normal(self.centers.shape[1])
            half = 0.5 * self.spreads[wide] / np.linalg.norm(direction) * direction
            self.centers[moved], self.centers[wide] = self.centers[wide] + half, self.centers[wide] - half
            self.counts[moved] = self.counts[wide] = self.counts[wide] / 2.0
            self.spreads[moved] = self.spreads[wide]

    def merge(self, number: int, rng: np.random.Generator) -> MovingCenters:
        """Return fewer clusters, by k-means on the centres."""
        centers, labels = weighted_kmeans(self.centers, self.counts, number, rng)
        counts = np.maximum(np.bincount(labels, self.counts, number), 1.0)
        squared = self.spreads**2 + ((self.centers - centers[labels]) ** 2).sum(axis=1)
        return MovingCenters(counts, centers, np.sqrt(np.bincount(labels, self.counts * squared, number) / counts))


def _read_step(centers: Array, radii: Array, release: Release) -> tuple[MovingCenters, NDArray[np.bool_]]:
    """Return the clusters after a step, and which of them may have no rows. Moves that are noise are shrunk."""
    counts = positive_counts(release)
    means, noise = release["first"] / counts[:, None], noise_std(release, "first") / counts[:, None]
    moves = shrink_vectors(means, noise)
    squares = release["second"] / counts - (moves**2).sum(axis=1) + noise_std(release, "second") / counts
    spreads = radii * np.sqrt(np.clip(squares, *SQUARES))
    weak = release["counts"] < SEEN * noise_std(release, "counts")
    return MovingCenters(counts, centers + radii[:, None] * moves, spreads), weak


def shrink_vectors(values: Array, noise: float | Array) -> Array:
    """Return noisy vectors in the unit ball, each shrunk by the share of noise in its squared length."""
    d = values.shape[-1]
    factors = shrinkage_factor(d * noise**2, (values**2).sum(axis=-1, keepdims=True), d)
    return clip_to_ball(values * factors)
