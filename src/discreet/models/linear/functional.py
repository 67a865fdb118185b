"""``Functional``: logistic regression from one release of the moments of its second-order loss (Zhang et al. 2012).

The moments and their bound are in ``discreet.queries.moments.coded_moments``. Minimisation is post-processing.

**Weights.** θ = 2M⁻¹A has the noise 2M⁻¹(δA − δM·θ/2): of variance σ²/b² in each coordinate of A, and
σ²‖θ‖²/(8c²) for M. So b² : c² = 1 : ‖θ‖/√8, for the ‖θ‖ that explains ``EXPLAINED`` of the labels' variance.

**Shrinkage** is as in ``regression_line``: variances are corrected by ``spectrum`` and kept above what noise could
hide, and the ridge λ assumes that every direction explains as much as all do on average, less what noise explains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.em import Step
from discreet.models.linear.row_coordinates import Coordinates
from discreet.models.method import Method
from discreet.models.noisy_estimates import HIDDEN
from discreet.models.noisy_sums import noise_std
from discreet.models.spectral.spectrum import Spectrum
from discreet.queries.moments.coded_moments import CodedMoments
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import LinearScores
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["Functional"]

Array = NDArray[np.float64]

EXPLAINED = 0.5  # assumed share of the labels' variance that the features explain
WEAK = 1e-9  # least variance that a direction is assumed to explain


@dataclass(frozen=True)
class Functional(Method[LinearScores]):
    """One release of moments by label, in coordinates that were found before.

    Parameters
    ----------
    classes : int
    coordinates : Coordinates
    column : int
        Which of the columns of categories holds the labels.
    """

    classes: int
    coordinates: Coordinates
    column: int = 0

    @property
    def shares(self) -> list[float]:
        """The shares of the coordinates, and the rest."""
        first = self.coordinates.shares
        return [*first, 1.0 - math.fsum(first)]

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return the questions that find coordinates, and moments in the declared ones, which are as many numbers."""
        declared = Features(space, self.coordinates.constant)
        return [*super().questions(space, number - 1), CodedMoments(declared, 0.5, self.classes, self.column)]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[LinearScores, list[Release]]:
        """Find coordinates, measure, and minimise."""
        seen = self.coordinates.find(space, rng, measures)
        size = 2.0 * math.sqrt(EXPLAINED / seen.variance)
        query = CodedMoments(seen.features, 1.0 / (1.0 + size / math.sqrt(8.0)), self.classes, self.column)
        release = next(measures)(query)
        return seen.features.scores(coded_minimum(release, seen.rows)), [*seen.releases, release]


def coded_minimum(release: Release, rows: float) -> Array:
    """Return the minimum of each problem, of shape (q, D), from a release of ``CodedMoments``; total."""
    first, count = release["first"] / rows, len(release["first"])
    first_noise = (noise_std(release, "first") / rows) ** 2
    if count > 1:  # one class against the rest: y = 2·1{l = k} − 1
        first = 2.0 * first - first.sum(axis=0)
        first_noise *= count
    noise = 0.5 * (noise_std(release, "second") / rows) ** 2
    spectrum = Spectrum.from_matrix(release["second"] / rows, math.sqrt(noise))
    values = np.maximum(spectrum.shrunk_values, HIDDEN * math.sqrt(noise * len(spectrum.values)))
    along = 2.0 * (first @ spectrum.vectors) / values  # θ = 2M⁻¹A along the eigenvectors of M
    result = np.empty_like(along)
    for k, each in enumerate(along):
        variance = 4.0 * first_noise + noise * float(each @ each)  # of 2(δA − δM·θ/2) along a direction
        explained = float((values * each**2 - variance / values).mean())
        result[k] = each * values / (values + variance / max(explained, WEAK))
    return np.asarray(result @ spectrum.vectors.T)
