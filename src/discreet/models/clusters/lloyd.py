"""``DPLloyd`` (Su et al. 2016), for comparison: Lloyd's algorithm on noisy counts and sums, from a packed start.

In the coordinates of the unit ball, y = u/√d with u in [−1, 1]^d, one row has (a, b·y) of L1 norm a + b√d, which is
d + 1 where count and coordinates weigh the same, and twice that for a replaced row (``clipped_moments``). With Gaussian
noise and weights for L2 it is ``method="joint"`` of ``KMeans``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step
from discreet.guarantees import GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.models.clusters.private_kmeans import clip_to_space, cluster_components, column_scales, half_widths
from discreet.models.method import Method
from discreet.models.mixture.joint_release import JointMixture
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["DPLloyd", "lloyd_steps", "lloyd_weights", "packed_start"]

Array = NDArray[np.float64]


def packed_start(count: int, space: Box | Ball, rng: np.random.Generator) -> Array:
    """Return centres in v that are about as far apart as possible (sphere packing, Su et al. 2016)."""
    half = half_widths(space)

    def throw_darts(distance: float) -> Array | None:
        """Return K random points that are this far apart; None where they do not fit."""
        border = np.maximum(half - distance / 2.0, 0.0)
        darts = clip_to_space(space, rng.uniform(-border, border, (50 * count, len(half))))
        result: list[int] = []
        free = np.ones(len(darts), dtype=bool)
        while free.any() and len(result) < count:
            result.append(int(free.argmax()))
            free &= ((darts - darts[result[-1]]) ** 2).sum(axis=1) >= distance**2
        return darts[result] if len(result) == count else None

    best = clip_to_space(space, rng.uniform(-half, half, (count, len(half))))
    low, high = 0.0, 2.0 * float(np.linalg.norm(half))
    for _ in range(12):
        centers = throw_darts((low + high) / 2.0)
        if centers is None:
            high = (low + high) / 2.0
        else:
            best, low = centers, (low + high) / 2.0
    return best


def lloyd_weights(dimension: int) -> tuple[float, float, float]:
    """Return a², b², 0 with count and coordinates in the ratio of Su et al. 2016, ∛(4d·0.225²) : 1 in [−1, 1]^d."""
    ratio = (4.0 * dimension * 0.225**2) ** (1.0 / 3.0)
    a2 = ratio**2 / (ratio**2 + dimension)  # b·y = (b/√d)·u
    return a2, 1.0 - a2, 0.0


def lloyd_steps(count: int, dimension: int, rows: int | None, epsilon: float) -> int:
    """Return the number of iterations of Su et al. 2016, ε/ε_m between 2 and 7; 5 without a public number of rows."""
    if rows is None:
        return 5
    ratio = (4.0 * dimension * 0.225**2) ** (1.0 / 3.0)
    least = math.sqrt(500.0 * count**3 / max(rows, 1) ** 2 * (dimension + ratio) ** 3)
    return int(min(max(epsilon / least, 2.0), 7.0))


@dataclass(frozen=True)
class DPLloyd(Method[Components]):
    """Lloyd's iterations on noisy counts and sums, from a start that does not depend on the rows.

    Parameters
    ----------
    count, steps : int
    weights : tuple of three floats
        a², b² and 0 of the statistic.
    composition : str
        ``"linear"``: Laplace noise, ε shared equally. ``"zcdp"``: Gaussian noise, calibrated by zCDP. ``"exact"``:
        Gaussian noise, composed exactly.
    """

    count: int
    steps: int
    weights: tuple[float, float, float]
    composition: str

    @property
    def shares(self) -> list[float]:
        """Equal shares."""
        return [1.0 / self.steps] * self.steps

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return the same loss for each step."""
        kind = LaplaceLoss if self.composition == "linear" else GaussianLoss
        return calibrate(guarantee, [kind(1.0, guarantee.neighbors)] * self.steps, self.composition).losses

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Run the iterations; centres outside of the space are clipped to it."""
        model = JointMixture(self.count, "spherical", True, weights=self.weights, name="k-means")
        even, g = np.ones(self.count), column_scales(space)
        components = cluster_components(space, even, packed_start(self.count, space, rng), even)
        releases = []
        for measure in measures:
            releases.append(measure(model.query(components, space)))
            result = model.maximize(components, releases[-1])
            components = cluster_components(space, result.weights, clip_to_space(space, result.means * g), even)
        return components, releases
