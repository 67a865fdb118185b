"""Private k-means: centres from a noisy histogram where there are few columns, else by Lloyd steps and moves.

**Metric.** Distances are Euclidean in the data's own units, up to one factor for all columns. A row y of the unit ball
is v = g∘y there, with g the declared scale over its largest entry. Centres are computed in v. ``cluster_components``
maps them back to the unit ball, as components for ``clipped_moments``.

**Few columns** (``GridKMeans``). One histogram is released with Laplace noise. k-means on its cells
(``histogram_clusters``) is post-processing, and needs no start, which a few noisy Lloyd steps depend on. The noise is
Laplace and not Gaussian: that of a count is 2√2/ε for a replaced row, about half of √2·σ(ε, δ) at δ = 10⁻⁶. So the fit
is (ε, 0)-private. Where a Lloyd step is expected to have much less noise than the extent of a cluster, two follow,
clipped to the extent of each cluster. Each is pooled with the earlier centres by inverse variances.

**More columns** (``RelocatingKMeans``). The releases are: mean and spread of all rows; their covariance, clipped to
that spread; and Lloyd steps that move centres whose count is noise (``lloyd_search``).

Every choice is a function of public numbers and earlier releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Curator, Release
from discreet.em import Step
from discreet.guarantees import GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.models.clusters.histogram_clusters import cells_along, find_clusters, grid_size
from discreet.models.clusters.lloyd_search import SMALLEST_RADIUS, LloydSearch, shrink_vectors, usual_steps
from discreet.models.method import GUESS, Method
from discreet.models.noisy_estimates import Estimate, shrinkage_factor
from discreet.models.noisy_sums import clip_eigenvalues, clip_to_ball, noise_std, positive_counts
from discreet.queries.counts.grids import Grid
from discreet.queries.moments.clipped_moments import COUNTS_AND_SUMS, FULL, ROUND, ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.queries.question import Query, Question
from discreet.records import Ball, Box

__all__ = [
    "GridKMeans",
    "RelocatingKMeans",
    "adaptive_kmeans",
    "clip_to_space",
    "cluster_components",
    "column_scales",
    "half_widths",
]

Array = NDArray[np.float64]

NARROWEST = 1e-6  # least scale of a column relative to the widest one; below it a column does not affect distances


def column_scales(space: Box | Ball) -> Array:
    """Return g: the scale of each column in the data's own units, over that of the widest column."""
    scale = np.asarray(space.scale)
    return np.asarray(np.maximum(scale / scale.max(), NARROWEST))


def half_widths(space: Box | Ball) -> Array:
    """Return the half-width of the space in each column, in v."""
    reach = 1.0 if isinstance(space, Ball) else 1.0 / math.sqrt(space.dimension)
    return reach * column_scales(space)


def clip_to_space(space: Box | Ball, points: Array) -> Array:
    """Return points of v clipped to the space."""
    if isinstance(space, Ball):
        return clip_to_ball(points)
    return np.clip(points, -half_widths(space), half_widths(space))


def cluster_components(space: Box | Ball, counts: Array, centers: Array, radii: Array) -> Components:
    """Return centres in v as components whose own coordinates are (v − centre)/radius, with the distances of v."""
    g = column_scales(space)
    covariances = radii[:, None, None] ** 2 * np.diag(1.0 / g**2)
    return Components(counts / counts.sum(), centers / g, covariances)


FEW = 2  # most columns for ``GridKMeans``


def _counting_grid(space: Box | Ball) -> Grid:
    """Return a grid of two cells, whose counts sum to the number of rows."""
    widths = half_widths(space)
    return Grid(space, 1 + (np.arange(len(widths)) == widths.argmax()))


def _sums(
    space: Box | Ball, components: Components, weights: tuple[float, float, float], shape: str = "spherical"
) -> MomentSums:
    """Return the query of counts, sums and, with a weight, squares of each cluster's rows, clipped to its radius."""
    return MomentSums(ClippedMoments(components, 1.0, weights, shape, hard=True), space, "sums of clusters")


@dataclass(frozen=True)
class GridKMeans(Method[Components]):
    """A histogram, k-means on its cells, and optional Lloyd steps.

    Parameters
    ----------
    count : int
        K.
    noise : float
        The standard deviation of a count that has the whole budget.
    rows : int or None
        The number of rows where it is public. Else a twentieth of the budget counts them.
    steps : int
        The number of Lloyd steps after the histogram. Each has a tenth of the budget, all together at most half.
    """

    count: int
    noise: float
    rows: int | None
    steps: int

    @property
    def shares(self) -> list[float]:
        """Shares of ε for the number of rows, the histogram and the steps."""
        counting = [] if self.rows is not None else [0.05]
        each = min(0.1, 0.5 / self.steps) if self.steps else 0.0
        return [*counting, 1.0 - sum(counting) - self.steps * each, *[each] * self.steps]

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return losses of Laplace noise whose ε sum to the guarantee's."""
        scenario = [LaplaceLoss(share, guarantee.neighbors) for share in self.shares]
        return calibrate(guarantee, scenario, "linear").losses

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the clusters."""
        releases: list[Release] = []
        rows: float | None = self.rows
        if rows is None:
            releases.append(next(measures)(_counting_grid(space)))
            rows = max(float(releases[0]["counts"].sum()), 1.0)
        half = half_widths(space)
        noise = self.noise / self.shares[len(releases)]
        grid = Grid(space, cells_along(grid_size(self.count, rows, noise, space.dimension), half))
        releases.append(next(measures)(grid))
        side = float((2.0 * half / np.array(grid.cells)).max())
        result = find_clusters(grid.centers() * column_scales(space), releases[-1], side, self.count, rng)
        components = cluster_components(space, result.counts, clip_to_space(space, result.centers), result.extents)
        variances = result.variances[:, None]
        for measure in measures:
            releases.append(measure(_sums(space, components, COUNTS_AND_SUMS)))
            components, variances = _pool_lloyd_step(space, components, result.extents, variances, releases[-1])
        return components, releases


def _pool_lloyd_step(
    space: Box | Ball, components: Components, radii: Array, variances: Array, release: Release
) -> tuple[Components, Array]:
    """Return the centres pooled with those of a Lloyd step, and the variance of a coordinate.

    Both estimate the same centres, so that the gain is that of ``noisy_estimates`` for such estimates.
    """
    counts = positive_counts(release)
    centers = components.means * column_scales(space)
    moves = radii[:, None] * clip_to_ball(release["first"] / counts[:, None])
    new = Estimate(centers + moves, ((radii * noise_std(release, "first") / counts) ** 2)[:, None])
    gain = variances / (variances + new.variance)
    centers, variances = Estimate(centers, variances).pool(new, gain)
    return cluster_components(space, counts, clip_to_space(space, centers), radii), variances


@dataclass(frozen=True)
class RelocatingKMeans(Method[Components]):
    """The covariance of all rows, and Lloyd steps that move centres whose count is noise.

    Parameters
    ----------
    count : int
        K.
    noise : float
        The standard deviation of a count that has the whole budget.
    steps : int
        The number of Lloyd steps.
    first : float
        The share of the budget of spread and covariance.
    """

    count: int
    noise: float
    steps: int
    first: float

    @property
    def shares(self) -> list[float]:
        """Shares of Σμ² for spread, covariance and steps; the steps have equal shares."""
        return [0.25 * self.first, 0.75 * self.first, *[(1.0 - self.first) / self.steps] * self.steps]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Return the clusters."""
        releases: list[Release] = []

        def measure(query: Question) -> Release:
            releases.append(next(measures)(query))
            return releases[-1]

        middle, spread = _measure_spread(space, measure)
        rows, middle, covariance = _measure_covariance(space, middle, spread, measure)
        scales = 1.0 / column_scales(space)
        base = Components(np.ones(1), (middle * scales)[None], (covariance * np.outer(scales, scales))[None])
        search = LloydSearch(self.count, self.steps, self.noise / math.sqrt(self.shares[-1]), scales)
        found = search.run(base, rows, space, rng, measure)
        centers = clip_to_space(space, found.centers)
        return cluster_components(space, found.counts, centers, found.spreads), releases


def _moments_around(
    space: Box | Ball, center: Array, radius: float, shape: str, weights: tuple[float, float, float]
) -> Query:
    """Return the moments of all rows in the ball of this radius around a point of v."""
    components = cluster_components(space, np.ones(1), center[None, :], np.full(1, radius))
    return _sums(space, components, weights, shape)


def _measure_spread(space: Box | Ball, measure: Step) -> tuple[Array, float]:
    """Return the mean of all rows, and their root mean squared distance to it, with two standard deviations added."""
    reach = 1.0 if isinstance(space, Ball) else float(np.linalg.norm(half_widths(space)))
    release = measure(_moments_around(space, np.zeros(space.dimension), reach, "spherical", ROUND))
    rows = positive_counts(release)[0]
    mean = shrink_vectors(release["first"][0] / rows, noise_std(release, "first") / rows)
    square = float(release["second"][0]) / rows - float(mean @ mean)
    least = 2.0 * noise_std(release, "second") / rows
    return clip_to_space(space, reach * mean), reach * math.sqrt(min(max(square, 0.0) + least, 1.0))


def _measure_covariance(space: Box | Ball, middle: Array, spread: float, measure: Step) -> tuple[float, Array, Array]:
    """Return the number of rows, their mean and their covariance, with rows clipped to 2.5 times the spread."""
    radius = max(2.5 * spread, SMALLEST_RADIUS)
    release = measure(_moments_around(space, middle, radius, "full", FULL))
    rows = positive_counts(release)[0]
    mean = shrink_vectors(release["first"][0] / rows, noise_std(release, "first") / rows)
    d = len(mean)
    flat = np.eye(d) * (spread / radius) ** 2 / d
    differences = release["second"][0] / rows - np.outer(mean, mean) - flat
    expected = d * (d + 1) / 2.0 * (noise_std(release, "second") / rows) ** 2
    share = shrinkage_factor(expected, float((differences**2).sum()), d * (d + 1) / 2.0, 0.0)
    covariance = clip_eigenvalues(flat + share * differences, 1e-6, 1.0)
    return float(rows), clip_to_space(space, middle + radius * mean), radius**2 * covariance


def adaptive_kmeans(count: int, curator: Curator, guarantee: Guarantee, steps: int | None) -> Method[Components]:
    """Return the method for these public numbers.

    Parameters
    ----------
    count : int
        K.
    curator : Curator
        For what is public: space, size, and the noise that a loss needs. Nothing is spent.
    guarantee : Guarantee
    steps : int or None
        The number of Lloyd steps; None to choose it.
    """
    space, rows = curator.space, curator.size.units

    def noise_at(loss: Loss) -> float:
        distribution = curator.plan(_counting_grid(space), loss).noise
        assert distribution is not None
        return math.sqrt(distribution.variance)

    d = space.dimension
    if d <= FEW:
        noise = noise_at(LaplaceLoss(guarantee.epsilon, guarantee.neighbors))
        if steps is None:
            # A Lloyd step with a tenth of the budget has noise of √d·(1 + √d)·10·s·K/N times a cluster's extent
            coarse = math.inf if rows is None else 10.0 * noise * (d + math.sqrt(d)) * count / max(rows, 1)
            steps = 2 if coarse <= 0.05 else 0
        return GridKMeans(count, noise, rows, steps)
    noise = noise_at(calibrate(guarantee, GaussianLoss(1.0, guarantee.neighbors)).losses[0])
    error = math.sqrt(d) * noise * count / max(GUESS if rows is None else rows, 1)  # of a centre, in a single step
    if steps is None:
        steps = max(min(usual_steps(count), int(5.0 / error ** (1.0 / 3.0))), 4)  # fewer where noise is large
    return RelocatingKMeans(count, noise, max(steps, 1), 0.04 + 0.2 * min(max(error - 0.2, 0.0), 0.8))
