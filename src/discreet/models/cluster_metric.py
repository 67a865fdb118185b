"""The metric of k-means: distances are Euclidean in the data's own units, up to one factor for all columns.

A row y of the unit ball is v = g∘y there, with g the declared scale over its largest entry. Centres are computed in v,
and ``clusters`` takes them back to the unit ball, as components for ``clipped_moments``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.models.released import inside_ball
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["clusters", "column_scales", "half_widths", "inside_space"]

Array = NDArray[np.float64]

NARROWEST = 1e-6  # of the widest column: below it a column has no say in a distance


def column_scales(space: Box | Ball) -> Array:
    """Return g: what one step in the unit ball is in the data's own units, over the widest column's."""
    scale = np.asarray(space.scale)
    return np.asarray(np.maximum(scale / scale.max(), NARROWEST))


def half_widths(space: Box | Ball) -> Array:
    """Return how far the space goes from its centre in each column, in v."""
    reach = 1.0 if isinstance(space, Ball) else 1.0 / math.sqrt(space.dimension)
    return reach * column_scales(space)


def inside_space(space: Box | Ball, points: Array) -> Array:
    """Return points of v moved into the space."""
    if isinstance(space, Ball):
        return inside_ball(points)
    return np.clip(points, -half_widths(space), half_widths(space))


def clusters(space: Box | Ball, counts: Array, centers: Array, radii: Array) -> Components:
    """Return centres in v as components whose own coordinates are (v − centre)/radius; nearest is nearest in v."""
    g = column_scales(space)
    covariances = radii[:, None, None] ** 2 * np.diag(1.0 / g**2)
    return Components(counts / counts.sum(), centers / g, covariances)
