"""``start_at_peaks``: the components that a mixture of few columns starts with, from one histogram.

In few columns one histogram shows more of clusters than Lloyd steps of the same budget: k-means on its denoised counts
(``histogram_clusters``) sees all clusters at once and needs no start, while a Lloyd step sees what is near the centres
of the one before. In three columns, with up to twelve components, Gaussians are fitted to the noisy counts of smaller
cells instead (``match_gaussians``): those that suit k-means are much wider there than clusters that are far apart.

The grid lies along the principal axes of all rows, whose mean and covariance are known, with columns divided by their
standard deviations; its cells are cubes there. All components start with one covariance, that of the cells within
clusters or that of the Gaussians: with covariances of their own some are too narrow and never recover.

The same histogram may choose the number of components (``_choose_count``). Everything but the release is arithmetic on
public numbers and on what was released.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from discreet.em import Step
from discreet.models.clusters.histogram_clusters import cells_along, denoise_release, grid_size, weighted_kmeans
from discreet.models.mixture.matched_gaussians import match_gaussians, matching_size
from discreet.models.mixture.own_coordinates import Shape
from discreet.models.noisy_sums import clip_eigenvalues, clip_to_ball
from discreet.queries.counts.grids import ProjectedGrid
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["start_at_peaks"]

Array = NDArray[np.float64]

REACH = 2.5  # standard deviations to either side of the mean that the grid covers; what is beyond is in its outer cells
# From so many columns and up to so many components Gaussians are fitted to the counts. Else, and where K is chosen, it
# is k-means
MATCHED, MOST_MATCHED = 3, 12
FINER = 2  # as many cells as k-means has for so many times the clusters
NARROWEST = 0.005  # least eigenvalue of the covariance, in coordinates in which all rows have the covariance I
LEAST_WEIGHT = 0.05  # of a component, relative to 1/K
# K is one of so many numbers, each larger by a factor than the one before, with so many cells for each cluster. A cell
# counts as d/24 of its squared width: less, and clusters in two cells would be two
CANDIDATES, FURTHER, LEAST_CELLS, WITHIN = 7, 1.15, 6, 24.0
CLEAR, UNCLEAR = 0.05, -0.15  # nats above which clusters are clear, and below which rows are none


def start_at_peaks(
    count: int,
    most: int,
    noise: float,
    shape: Shape,
    base: Components,
    rows: float,
    space: Box | Ball,
    rng: np.random.Generator,
    measure: Step,
) -> Components:
    """Return components at the clusters of one histogram.

    Parameters
    ----------
    count : int
        K, if there is no choice.
    most : int
        The largest number of components that may be chosen; 0 if there is no choice.
    noise : float
        The standard deviation of a count of the histogram.
    shape : Shape
        The covariance type that the components shall have.
    base : Components
        The single Gaussian of all rows.
    rows : float
        Their number, about.
    space : Box or Ball
    rng : Generator
        For k-means.
    measure : callable
        Measures the question.
    """
    scales = np.sqrt(np.diag(base.covariances[0]))
    values, vectors = np.linalg.eigh(base.covariances[0] / np.outer(scales, scales))
    axes = vectors.T / scales  # of coordinates u, in which all rows have the covariance diag(values)
    middle, reach = axes @ base.means[0], REACH * np.sqrt(np.maximum(values, NARROWEST))
    matches = base.dimension >= MATCHED and count <= MOST_MATCHED and not most
    size = matching_size(count, rows, noise) if matches else grid_size(FINER * count, rows, noise, base.dimension)
    cells = cells_along(size, reach)
    grid = ProjectedGrid(space, cells, axes, middle, reach)
    release = measure(grid)
    back = scales[:, None] * vectors  # from u to the unit ball
    whiten = base.whitening[0] @ back
    if matches:
        centers, found, width = match_gaussians(release["counts"].reshape(cells), reach, count)
        scatter = width**2 * whiten @ whiten.T
    else:
        counts, points = denoise_release(release, count, rng), grid.centers() - middle
        if most:
            count = _choose_count(points, counts, 2.0 * reach / np.array(cells), count, most, rng)
        centers, labels = weighted_kmeans(points, counts, count, rng)
        found = np.bincount(labels, counts, count).astype(np.float64)
        apart = (points - centers[labels]) @ whiten.T
        scatter = (counts[:, None] * apart).T @ apart / counts.sum()
    within = clip_eigenvalues(scatter, NARROWEST, 1.0)
    covariance = shape.clear_rounding(base.factors[0] @ shape.restrict(within) @ base.factors[0].T)
    weights = np.maximum(found / max(found.sum(), 1.0), LEAST_WEIGHT / count)
    means = clip_to_ball(base.means[0] + centers @ back.T)
    return Components(weights / weights.sum(), means, np.repeat(covariance[None], count, axis=0))


def _choose_count(points: Array, counts: Array, widths: Array, usual: int, most: int, rng: np.random.Generator) -> int:
    """Return the number of clusters where they are clear, from ``usual`` to ``most``.

    With every row known to be of one cluster, K clusters with weights w_k and one covariance W_K have
    ½(ln det W_1 − ln det W_K) − H(w) nats a row more than one Gaussian. Where rows are no clusters that is negative and
    nearly the same for every K: k-means cuts them into pieces with ln det W_K ≈ ln det W_1 − 2 ln K. Then fewer
    components than usual are better: half of them.
    """
    cell = np.diag(len(widths) * widths**2 / WITHIN)  # of rows around the centre of their cell

    def log_volume(centers: Array) -> float:
        apart = points - centers
        return 0.5 * float(np.linalg.slogdet((counts[:, None] * apart).T @ apart / counts.sum() + cell)[1])

    most = max(min(most, len(points) // LEAST_CELLS), usual)
    whole, best, gain = log_volume(counts @ points / counts.sum()), usual, -math.inf
    for count in sorted({round(min(usual * FURTHER**i, most)) for i in range(CANDIDATES)}):
        centers, labels = weighted_kmeans(points, counts, count, rng)
        weights = np.bincount(labels, counts, count) / counts.sum()
        new = whole - log_volume(centers[labels]) - float(entr(weights).sum())
        if new > gain:
            best, gain = count, new
    if gain > CLEAR:
        return best
    return usual if gain > UNCLEAR else (usual + 1) // 2
