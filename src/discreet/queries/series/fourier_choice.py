"""How many Fourier coefficients of a series are worth their noise, chosen by the exponential mechanism.

With τ_k = ‖S − FᵀF·S‖₂ the tail that k coefficients leave out, and n_k² the public energy of their noise, k's score
is −√(τ_k² + n_k²): the error over all steps.

*Spread.* The gradient of √(τ_k² + n_k²) in S is g_k = r_k/√(‖r_k‖² + n_k²), r_k the tail itself, of norm at most 1.
Tails are nested: for k < k' the tail r_k' is a projection of r_k, so ⟨r_k, r_k'⟩ = ‖r_k'‖² ≥ 0, and
‖g_k − g_k'‖² ≤ 1 + 1. So the difference of two scores moves by at most √2·‖S − S'‖₂, where scores that are each
1-Lipschitz would give 2. (Where a tail is zero there is no gradient, but the scores are limits of such ones.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.question import Part, Selection
from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.series_sums import ColumnSums, StepSums
from discreet.records import Block, Box, Records

if TYPE_CHECKING:
    from discreet.queries.bound import Setting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FourierCount(Selection):
    """How many coefficients are worth their noise; see the module.

    Parameters
    ----------
    series : StepSums or ColumnSums
        The series itself.
    candidates : tuple of int
        Each k, rising.
    noise : tuple of float
        The public energy of the noise on so many coefficients.
    """

    series: StepSums | ColumnSums
    candidates: tuple[int, ...]
    noise: tuple[float, ...]

    name = "Fourier coefficients worth keeping"

    @property
    def space(self) -> Box:
        """The series' own."""
        return self.series.space

    @property
    def dimension(self) -> int:
        """The series' own."""
        return self.series.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """The series' own."""
        return self.series.parts

    @property
    def bound(self) -> Bound:
        """The series' own."""
        return self.series.bound

    def contributions(self, block: Block) -> Any:
        """Return the series' own."""
        return self.series.contributions(block)

    def sum(self, block: Block) -> Any:
        """Return the series' own."""
        return self.series.sum(block)

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return the series, which stays on the private side."""
        return self.series.collect(records, setting)

    def accumulation(self, setting: Setting) -> float:
        """Return the series' own."""
        return self.series.accumulation(setting)

    def float_error(self, rows: int, accumulation: float) -> float:
        """Return the series' own; ``spread`` adds that of the scores."""
        return self.series.float_error(rows, accumulation)

    @cached_property
    def _whole(self) -> Fourier:
        count = self.series.operator.count
        return Fourier(count, count)

    def scores(self, values: Array) -> Array:
        """Return −√(τ_k² + n_k²)."""
        energies = self._whole.apply(values) ** 2
        tails = np.append(np.cumsum(energies[::-1])[::-1], 0.0)[list(self.candidates)]
        return np.asarray(-np.sqrt(tails + np.asarray(self.noise)))

    def spread(self, setting: Setting) -> float:
        """Return √2·Δ₂, and four times the float error of a score: two neighbours, two candidates.

        The coefficients err by error·‖S‖₁, a sum of T squares, its root and a sum by (T + 8)·u of the score.
        """
        whole = self._whole
        ends = setting.rows * self.bound.norm("l1") * (1.0 + 1e-6)
        error = whole.error * ends + (whole.count + 8.0) * UNIT_ROUNDOFF * self.largest_score(setting)
        return math.sqrt(2.0) * setting.sensitivity(self.series, "l2") + 4.0 * error

    def largest_score(self, setting: Setting) -> float:
        """Return √(max ‖S‖₂² + max n_k²), and a little more."""
        return math.hypot(setting.rows * self.bound.l2, math.sqrt(max(self.noise))) * (1.0 + 1e-5)
