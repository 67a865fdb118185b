"""A mean and a covariance from one release of moments, for any number of columns (``OneRelease``, ``Sulq``).

**One release.** Rows y in the unit ball contribute (a, b·y, c·yyᵀ): the query ``Moments``, with its bound and proof.
What comes out is noisy by the same amount in every entry, and ``spectrum`` says what of it to believe. With d columns
the second moment has a share c² of the budget, the first b² = c²/√d and the count a² = c²/(2d): about what makes the
error of the covariance smallest where the mean is half-way to the sphere, and next to nothing where there are many
columns. The first moment is left out where the centre of the space serves as the mean, the count where it is public.

**SuLQ** (Blum, Dwork, McSherry and Nissim 2005), to compare with: every entry is a query of its own. Rows y in the unit
ball contribute the products y_i·y_j, i ≤ j. *Bound.* Their squares sum to (‖y‖⁴ + Σy_i⁴)/2 ≤ 1. For two rows, with D =
yyᵀ − y'y'ᵀ, to (‖D‖² + ΣD_ii²)/2, where ‖D‖² ≤ 2, as ⟨yyᵀ, y'y'ᵀ⟩ ≥ 0, and ΣD_ii² is at most Σy_i⁴ + Σy'_i⁴ ≤ 2: √2 in
all. The noise is copied across the diagonal; the packed matrix of ``Moments`` has half of its variance there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import PublicSize, Release
from discreet.em import Step
from discreet.models.method import Method
from discreet.models.noisy_sums import LARGEST, clip_eigenvalues, clip_to_ball, noise_std, released_rows
from discreet.models.shrinkage import shrinkage_factor
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.clipped_moments import Components
from discreet.queries.moments.moments import Moments, Products
from discreet.records import Ball, Box

__all__ = ["OneRelease", "Sulq"]

Array = NDArray[np.float64]

LEAST = 1e-3  # of the mean eigenvalue
HIDDEN = 0.3  # of how far noise alone spreads eigenvalues: below, they could be anything


@dataclass(frozen=True)
class OneRelease(Method[Components]):
    """One release of moments.

    Parameters
    ----------
    size : PublicSize
        Rows are counted where it does not tell how many there are.
    centered : bool
        Whether the mean is measured; else it is the centre of the space.
    nearest : bool
        Whether the eigenvalues are those of the matrix that is nearest to the one before noise (ξ of ``spectrum``), or
        estimates of its eigenvalues (λ̂).
    """

    size: PublicSize
    centered: bool = True
    nearest: bool = True

    def query(self, space: Box | Ball) -> Moments:
        """Return what is measured."""
        d, counted = space.dimension, self.size.rows is None
        weights = np.array([0.5 / d if counted else 0.0, 1.0 / math.sqrt(d) if self.centered else 0.0, 1.0])
        a2, b2, c2 = (weights / weights.sum()).tolist()
        return Moments(space, (a2, b2, c2))

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Measure the moments, and take off what noise has put into them."""
        release = next(measures)(self.query(space))
        d, rows = space.dimension, released_rows(release, "count")
        second, noise = release["second"] / rows, noise_std(release, "second") / rows
        mean = np.zeros(d)
        if self.centered:
            mean, spread = release["first"] / rows, (noise_std(release, "first") / rows) ** 2
            mean = clip_to_ball(mean * shrinkage_factor(d * spread, float(mean @ mean), d, 0.0))
            second -= np.outer(mean, mean)
        spectrum = Spectrum.from_matrix(second, noise / math.sqrt(2.0))
        values = spectrum.shrunk_values if self.nearest else spectrum.estimates
        size = min(max(float(values.mean()), 2.0 * spectrum.noise / math.sqrt(d), 1e-9), LARGEST)  # above its own noise
        least = min(max(HIDDEN * spectrum.noise * math.sqrt(d), LEAST * size), size / 2.0)
        values = np.clip(values, least, LARGEST)
        covariance = spectrum.matrix(values / max(1.0, float(values.sum())))  # rows in a unit ball vary by 1 at most
        return Components(np.ones(1), mean[None], covariance[None]), [release]


@dataclass(frozen=True)
class Sulq(Method[Components]):
    """One release of products; the centre of the space is the mean, and the eigenvalues are left as they come."""

    size: PublicSize

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Measure, and make a matrix of it."""
        release = next(measures)(Products(space, self.size.rows is None))
        d, rows = space.dimension, released_rows(release, "count")
        i, j = np.triu_indices(d)
        second = np.zeros((d, d))
        second[i, j] = second[j, i] = release["products"] / rows
        return Components(np.ones(1), np.zeros((1, d)), clip_eigenvalues(second, 1e-9, LARGEST)[None]), [release]
