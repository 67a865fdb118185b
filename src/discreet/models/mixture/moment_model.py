"""A model whose statistic is ``ClippedMoments``: everything of it but where to start and what follows.

From noisy sums to valid numbers: what every mixture does with a release first.

Everything here is total: whatever finite numbers a release holds, counts come out positive, means inside the unit
ball and covariances positive definite.

How much of a noisy deviation to keep, when the noise is known (James and Stein 1961): a vector x + noise with E‖noise‖²
known is best scaled by 1 − E‖noise‖²/‖x + noise‖², about the true share of x in it. The noise's own length varies, by
√(2/dof) of it for ``dof`` numbers, so with a caution of t standard deviations what could be noise alone is not kept.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Model
from discreet.queries.bound import Bound
from discreet.queries.moments.clipped_moments import ClippedMoments, MomentSums
from discreet.queries.question import Part
from discreet.records import Ball, Block, Box

__all__ = [
    "LARGEST",
    "SMALLEST",
    "MomentModel",
    "clipped_spectrum",
    "inside_ball",
    "kept",
    "noise_of",
    "positive_counts",
    "released_rows",
]

Params = TypeVar("Params")


class MomentModel(Model[Params]):
    """Mixtures, however they are measured."""

    @abstractmethod
    def moments(self, params: Params) -> ClippedMoments:
        """Return the statistic at these parameters; its bound and proof are its own."""

    def query(self, params: Params, space: Box | Ball) -> MomentSums:
        """Return the sums of the statistic: the query that it is, which nothing has to be wrapped around."""
        return MomentSums(self.moments(params), space, self.name)

    def parts(self, params: Params) -> Mapping[str, Part]:
        """Return counts, first and second moments, as far as they have a weight."""
        return self.moments(params).parts

    def bound(self, params: Params) -> Bound:
        """Return the bound of the lemma."""
        return self.moments(params).bound

    def roundoff(self, params: Params, dimension: int) -> float:
        """Return the bound on float error of ``clipped_moments``."""
        return self.moments(params).roundoff

    def contributions(self, params: Params, block: Block) -> Any:
        """Return responsibilities times clipped moments."""
        return self.moments(params).contributions(block.x)

    def sum(self, params: Params, block: Block) -> Any:
        """Return their sum."""
        return self.moments(params).sum(block.x)


Array = NDArray[np.float64]

# What the eigenvalues of a covariance may be, rows being in the unit ball: deviations from a thousandth of it to all.
SMALLEST, LARGEST = 1e-6, 1.0


def noise_of(release: Release, name: str) -> float:
    """Return the standard deviation of the noise on a part, its weight undone."""
    assert release.noise is not None  # additive, as every release of moments
    return float(np.sqrt(release.noise.variance)) / release.parts[name].weight


def released_rows(release: Release, counts: str = "counts") -> float:
    """Return the number of rows that contribute: public, or as released, and at least what its noise could make up."""
    if release.size.rows is not None:
        return float(max(release.size.rows, 1))
    return max(float(release[counts].sum()), 2.0 * noise_of(release, counts), 1.0)


def positive_counts(counts: Array, release: Release, noise: float) -> Array:
    """Return noisy counts as positive numbers that sum to what is known of the number of rows.

    Under replace-one, where every unit is a row that surely counts, the sum is public; else it is that of the counts.
    Each is at least two standard deviations of its noise and at least one row.
    """
    units = release.size.rows
    total = float(counts.sum()) if units is None else float(units)
    total = max(total, 1.0)
    least = min(max(2.0 * noise, 1.0), 0.5 * total / len(counts))
    shifted = counts + (total - counts.sum()) / len(counts)
    floored = np.maximum(shifted, least)
    return np.asarray(floored * (total / floored.sum()))


def clipped_spectrum(matrices: Array, least: float | Array, most: float | Array) -> Array:
    """Return symmetric matrices with their eigenvalues kept between two numbers (or one pair a matrix)."""
    values, vectors = np.linalg.eigh((matrices + np.swapaxes(matrices, -1, -2)) / 2.0)
    least, most = (np.broadcast_to(np.asarray(limit)[..., None], values.shape) for limit in (least, most))
    held = np.clip(values, least, most)
    return np.asarray((vectors * held[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def inside_ball(points: Array, radius: float = 1.0) -> Array:
    """Return points moved radially into the ball around 0."""
    lengths = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))


def kept(noise: float, observed: float, dof: float, caution: float) -> float:
    """Return the share of a deviation to keep.

    Parameters
    ----------
    noise : float
        The expected squared length of the noise.
    observed : float
        The squared length of what was observed.
    dof : float
        Of how many numbers.
    caution : float
        How many standard deviations of the noise's own length to allow for.

    Examples
    --------
    >>> kept(1.0, 4.0, dof=10, caution=0.0), kept(1.0, 0.9, dof=10, caution=0.0)
    (0.75, 0.0)
    """
    threshold = noise * (1.0 + caution * math.sqrt(2.0 / max(dof, 1.0)))
    return max(0.0, 1.0 - threshold / observed) if observed > 0.0 else 0.0
