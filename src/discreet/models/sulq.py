"""A covariance by SuLQ (Blum, Dwork, McSherry and Nissim 2005), to compare with: every entry is a query of its own.

Rows y in the unit ball contribute the products y_i·y_j, i ≤ j. *Bound.* Their squares sum to (‖y‖⁴ + Σy_i⁴)/2 ≤ 1. For
two rows, with D = yyᵀ − y'y'ᵀ, to (‖D‖² + ΣD_ii²)/2, where ‖D‖² ≤ 2, as ⟨yyᵀ, y'y'ᵀ⟩ ≥ 0, and ΣD_ii² is at most
Σy_i⁴ + Σy'_i⁴ ≤ 2: √2 in all. The noise is copied across the diagonal; the packed matrix of ``Moments`` has half of its
variance there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.door import PublicSize, Release
from discreet.em import Step
from discreet.models.method import Method
from discreet.models.released import LARGEST, clipped_spectrum, released_rows
from discreet.queries.moments.components import Components
from discreet.queries.moments.products import Products
from discreet.records import Ball, Box

__all__ = ["Sulq"]


@dataclass(frozen=True)
class Sulq(Method[Components]):
    """One release of products; the centre of the space is the mean, and the eigenvalues are left as they come."""

    size: PublicSize

    @property
    def shares(self) -> list[float]:
        """All of it at once."""
        return [1.0]

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Components, list[Release]]:
        """Measure, and make a matrix of it."""
        release = next(measures)(Products(space, self.size.rows is None))
        d, rows = space.dimension, released_rows(release, "count")
        i, j = np.triu_indices(d)
        second = np.zeros((d, d))
        second[i, j] = second[j, i] = release["products"] / rows
        return Components(np.ones(1), np.zeros((1, d)), clipped_spectrum(second, 1e-9, LARGEST)[None]), [release]
