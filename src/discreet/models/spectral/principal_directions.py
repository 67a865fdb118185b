"""``Directions``: principal directions by the exponential mechanism, with the energy along a direction as its score.

The scores, the energies and their proofs are in ``queries.moments.principal_direction``. The next direction is drawn in
the orthogonal complement of those before it, from rows that are measured again in a basis of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.door import PublicSize, Release
from discreet.em import Step
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, Guarantee, Loss, calibrate
from discreet.models.method import Method
from discreet.models.noisy_sums import released_rows
from discreet.models.spectral.spectrum import Principal, fix_signs
from discreet.queries.moments.principal_direction import DirectionScatter, Energies, Frame, OneDirection
from discreet.queries.question import Question
from discreet.records import Ball, Box

__all__ = ["Directions"]

Array = NDArray[np.float64]

MEASURED = 0.1  # share of the budget for the energy along the directions


@dataclass(frozen=True)
class Directions(Method[Principal]):
    """Directions drawn one after the other, or all at once as a frame, and then the energy along each.

    Parameters
    ----------
    count : int
        k.
    size : PublicSize
    frame : bool
        Whether they are drawn all at once, approximately.
    """

    count: int
    size: PublicSize
    frame: bool = False

    @property
    def shares(self) -> list[float]:
        """Equal shares for the draws, and the share of the energies."""
        draws = 1 if self.frame else self.count
        return [(1.0 - MEASURED) / draws] * draws + [MEASURED]

    def losses(self, guarantee: Guarantee) -> tuple[Loss, ...]:
        """Return bounded-range losses, ρ = ε²/8, and a Gaussian one, ρ = μ²/2, in these shares."""
        return _losses(tuple(self.shares), guarantee)

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return the questions of the draws and of the energies."""
        every = np.eye(space.dimension)
        return [*[self._scatter(space, every)] * (number - 1), self._energies(space, every[: self.count])]

    def _scatter(self, space: Box | Ball, basis: Array) -> DirectionScatter:
        return DirectionScatter(space, basis, Frame(self.count) if self.frame else OneDirection())

    def _energies(self, space: Box | Ball, axes: Array) -> Energies:
        return Energies(space, axes, self.size.rows is None)

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[Principal, list[Release]]:
        """Draw directions, measure the energies, and sort the axes by them."""
        d = space.dimension
        releases: list[Release] = []
        if self.frame:
            releases.append(next(measures)(self._scatter(space, np.eye(d))))
            axes = releases[-1]["frame"].T
        else:
            axes = np.zeros((0, d))
            for _ in range(self.count):
                basis = np.linalg.svd(axes)[2][len(axes) :].T if len(axes) else np.eye(d)
                releases.append(next(measures)(self._scatter(space, basis)))
                axes = np.vstack([axes, basis @ releases[-1]["direction"]])
        axes = np.linalg.qr(axes.T)[0].T  # orthonormal up to rounding
        release = next(measures)(self._energies(space, axes))
        rows = released_rows(release, "count")
        along, rest = np.clip(release["along"] / rows, 1e-12, 1.0), max(float(release["rest"][0]) / rows, 0.0)
        order = np.argsort(-along)
        result = Principal(np.zeros(d), fix_signs(axes[order]), along[order], float(along.sum()) + rest)
        return result, [*releases, release]


@lru_cache(maxsize=64)  # it takes a second or more, and a fit is often repeated
def _losses(shares: tuple[float, ...], guarantee: Guarantee) -> tuple[Loss, ...]:
    *draws, last = shares
    relative: list[Loss] = [BoundedRangeLoss(math.sqrt(8.0 * share), guarantee.neighbors) for share in draws]
    return calibrate(guarantee, [*relative, GaussianLoss(math.sqrt(2.0 * last), guarantee.neighbors)]).losses
