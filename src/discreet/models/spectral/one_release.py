"""Methods that find a mean and a covariance from one release of moments (``OneRelease``, ``Sulq``).

**One release.** Rows y in the unit ball contribute (a, b·y, c·yyᵀ): the query ``Moments``, with its bound and proof.
Every entry has the same noise, and ``spectrum`` corrects the eigenvalues for it. It works for any number of columns.
With d columns the second moment has the share c² of the budget, the first b² = c²/√d and the count a² = c²/(2d). These
about minimise the error of the covariance where the mean is half-way to the sphere, and a² and b² are negligible where
there are many columns. The first moment is left out where the centre of the space serves as the mean, the count where
it is public.

**SuLQ** (Blum, Dwork, McSherry and Nissim 2005), for comparison: every entry is a query of its own. Rows y in the unit
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
from discreet.models.noisy_estimates import shrinkage_factor
from discreet.models.noisy_sums import LARGEST, clip_eigenvalues, clip_to_ball, noise_std, released_rows
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.components import Components
from discreet.queries.moments.moments import Moments, Products
from discreet.records import Ball, Box

__all__ = ["OneRelease", "Sulq"]

Array = NDArray[np.float64]

LEAST = 1e-3  # least eigenvalue relative to the mean one
HIDDEN = 0.3  # least eigenvalue relative to τ√d, half of what noise alone spreads them by to either side


@dataclass(frozen=True)
class OneRelease(Method[Components]):
    """A mean and a covariance from one release of moments, with corrected eigenvalues.

    Parameters
    ----------
    size : PublicSize
        Rows are counted where their number is not public.
    centered : bool
        Whether the mean is measured; else it is the centre of the space.
    nearest : bool
        If True, the eigenvalues are those of the matrix nearest to the one before noise (ξ of ``spectrum``); if False,
        estimates of the eigenvalues of that matrix (λ̂).
    """

    size: PublicSize
    centered: bool = True
    nearest: bool = True

    def query(self, space: Box | Ball) -> Moments:
        """Return the query of the moments."""
        d, counted = space.dimension, self.size.rows is None
        weights = np.array([0.5 / d if counted else 0.0, 1.0 / math.sqrt(d) if self.centered else 0.0, 1.0])
        a2, b2, c2 = (weights / weights.sum()).tolist()
        return Moments(space, (a2, b2, c2))

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Measure the moments, and correct the mean and the eigenvalues for noise."""
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
        # The mean eigenvalue, above two standard deviations of its noise
        size = min(max(float(values.mean()), 2.0 * spectrum.noise / math.sqrt(d), 1e-9), LARGEST)
        least = min(max(HIDDEN * spectrum.noise * math.sqrt(d), LEAST * size), size / 2.0)
        values = np.clip(values, least, LARGEST)
        # The variances of rows in the unit ball sum to at most 1
        covariance = spectrum.matrix(values / max(1.0, float(values.sum())))
        return Components(np.ones(1), mean[None], covariance[None]), [release]


@dataclass(frozen=True)
class Sulq(Method[Components]):
    """One release of products; the centre of the space is the mean, and eigenvalues are not corrected for noise."""

    size: PublicSize

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Measure the products, and return the matrix that they make."""
        release = next(measures)(Products(space, self.size.rows is None))
        d, rows = space.dimension, released_rows(release, "count")
        i, j = np.triu_indices(d)
        second = np.zeros((d, d))
        second[i, j] = second[j, i] = release["products"] / rows
        return Components(np.ones(1), np.zeros((1, d)), clip_eigenvalues(second, 1e-9, LARGEST)[None]), [release]
