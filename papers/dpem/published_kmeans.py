"""k-means as the DP-EM paper has it: centres with Laplace noise, composed by zCDP.

Equation 16 divides exact sums by exact counts and puts noise on the quotient, of a scale that follows from a noisy
count. The counts tell of the rows too; so ``PublishedKMeans`` releases sums and counts, both noisy, and divides.
``as_published`` is what the paper's code does instead: it is not private, and shows where the paper's picture is from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.door import Curator, Release
from discreet.em import Step
from discreet.guarantees import Guarantee, LaplaceLoss, Loss, calibrate
from discreet.models.clusters.lloyd import packed_start
from discreet.models.clusters.private_kmeans import clip_to_space, cluster_components, column_scales
from discreet.models.method import Method
from discreet.models.noisy_sums import positive_counts
from discreet.queries.moments.clipped_moments import COUNTS, FIRST, ClippedMoments, MomentSums
from discreet.queries.moments.components import Components
from discreet.records import Ball, Box

__all__ = ["PublishedKMeans", "as_published"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Centres(Method[Components]):
    """Steps of two releases each: the counts of all clusters, and their sums."""

    count: int
    steps: int

    @property
    def shares(self) -> list[float]:
        """Every release the same."""
        return [0.5 / self.steps] * (2 * self.steps)

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return pure losses, together within the guarantee by zCDP."""
        return calibrate(guarantee, [LaplaceLoss(1.0, guarantee.neighbors)] * (2 * self.steps), "zcdp").losses

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Run the loop; centres outside of the space are moved into it."""
        even, g = np.ones(self.count), column_scales(space)
        components = cluster_components(space, even, packed_start(self.count, space, rng), even)
        releases: list[Release] = []
        for measure in measures:
            for weights, ask in ((COUNTS, measure), (FIRST, next(measures))):
                moments = ClippedMoments(components, None, weights, "spherical", hard=True)
                releases.append(ask(MomentSums(moments, space, "k-means")))
            counted, summed = releases[-2:]
            counts = positive_counts(counted)
            centers = clip_to_space(space, summed["first"] / counts[:, None] * g)
            components = cluster_components(space, counts, centers, even)
        return components, releases


class PublishedKMeans(dp.KMeans):
    """The paper's k-means with noisy counts; its parameters are those of ``KMeans``, and ``n_steps`` is needed."""

    def _choose_method(self, curator: Curator) -> Method[Components]:
        assert self.n_steps is not None
        return _Centres(self.n_clusters, self.n_steps)


def as_published(rows: Array, count: int, steps: int, guarantee: Guarantee, seed: int) -> Array:
    """Return centres of rows in [−1, 1]^d as the paper's code finds them, which is not private.

    Noisy sums are divided by exact counts, and a cluster that nobody is in starts again at one of the rows.
    """
    rng = np.random.default_rng(seed)
    d = rows.shape[1]
    loss = calibrate(guarantee, [LaplaceLoss(1.0)] * steps, "zcdp").losses[0]
    assert isinstance(loss, LaplaceLoss)
    centers = packed_start(count, Box(-1.0, 1.0).for_columns(d), rng) * math.sqrt(d)
    for _ in range(steps):
        distances = np.stack([((rows - center) ** 2).sum(axis=1) for center in centers])
        nearest = distances.argmin(axis=0)
        counts = np.bincount(nearest, minlength=count)[:, None]
        sums = np.stack([np.bincount(nearest, rows[:, j], count) for j in range(d)], axis=1)
        noise = rng.laplace(0.0, 2.0 * d / loss.epsilon, sums.shape)  # Δ of a sum in L1, rows in [−1, 1]^d
        moved = np.clip((sums + noise) / np.maximum(counts, 1), -1.0, 1.0)
        centers = np.where(counts > 0, moved, rows[rng.integers(len(rows), size=count)])
    return np.asarray(centers)
