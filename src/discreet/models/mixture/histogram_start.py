"""``start_at_peaks``: the components that a mixture of few columns starts with, from one histogram.

In few columns one histogram shows more of clusters than Lloyd steps of the same budget: k-means on its denoised counts
(``histogram_clusters``) sees all clusters at once and needs no start, while a Lloyd step sees what is near the centres
of the one before. The grid lies along the principal axes of all rows, whose mean and covariance are known, with columns
divided by their standard deviations; its cells are cubes there. All components start with one covariance, that of the
cells within clusters: with covariances of their own some are too narrow and never recover.

Everything but the release is arithmetic on public numbers.
"""

from __future__ import annotations

import numpy as np

from discreet.em import Step
from discreet.models.clusters.histogram_clusters import cells_along, denoise_release, grid_size, weighted_kmeans
from discreet.models.mixture.own_coordinates import Shape
from discreet.models.noisy_sums import clip_eigenvalues, clip_to_ball
from discreet.queries.counts.grids import ProjectedGrid
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["start_at_peaks"]

REACH = 2.5  # standard deviations to either side of the mean that the grid covers; what is beyond is in its outer cells
FINER = 2  # as many cells as k-means has for so many times the clusters
NARROWEST = 0.005  # least eigenvalue of the covariance, in coordinates in which all rows have the covariance I
LEAST_WEIGHT = 0.05  # of a component, relative to 1/K


def start_at_peaks(
    count: int,
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
        K.
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
    cells = cells_along(grid_size(FINER * count, rows, noise, base.dimension), reach)
    grid = ProjectedGrid(space, cells, axes, middle, reach)
    counts = denoise_release(measure(grid), count, rng)
    points = grid.centers() - middle
    centers, labels = weighted_kmeans(points, counts, count, rng)
    back = scales[:, None] * vectors  # from u to the unit ball
    apart = (points - centers[labels]) @ (base.whitening[0] @ back).T
    within = clip_eigenvalues((counts[:, None] * apart).T @ apart / counts.sum(), NARROWEST, 1.0)
    covariance = shape.clear_rounding(base.factors[0] @ shape.restrict(within) @ base.factors[0].T)
    weights = np.maximum(np.bincount(labels, counts, count) / counts.sum(), LEAST_WEIGHT / count)
    means = clip_to_ball(base.means[0] + centers @ back.T)
    return Components(weights / weights.sum(), means, np.repeat(covariance[None], count, axis=0))
