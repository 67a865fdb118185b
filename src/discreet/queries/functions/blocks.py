"""Sample and aggregate: a function's results on random blocks of rows, and private centres of them, with proofs.

*Proof.* Each row is assigned to one of k blocks, uniformly and independently of all other rows and of its values; rows
of a block keep their order. Couple two neighbours: rows that both have are assigned to the same blocks. Under
add-remove the extra row is assigned to some block, and the other rows are unaffected. Under replace-one the new row
takes the block of the old one. For a unit of m rows, the i-th new row takes the block of the i-th old one (rows without
a partner are assigned to any block), so at most min(m, k) blocks differ, under either relation. f is applied to each
block. Its failures are replaced by the middle of the box, and its results are clipped to the box. So, given the blocks,
at most these min(m, k) results differ, and they lie in the box. This assumes that f keeps no state from one block to
the next, which is not checked.

- *Mean.* In units of the box's widths around its middle the mean moves by at most Δ = min(m, k)/k in each of d
  coordinates: dΔ in L1, √d·Δ in L2. It is the correctly rounded sum over k, so off by less than 2⁻⁵²; that is charged
  for both. Noise on a grid as in ``queries.mechanism.Additive``.
- *Median.* The box is cut into cells. Of the k results let L lie in cells below a cell and U in cells below it or in it
  itself; its score is −max(0, k/2 − U, L − k/2), 0 for the cell of the median. A changed result moves L and U by at
  most 1, all in the same direction, so the score by at most 1 either way; min(m, k) of them in d coordinates, drawn
  independently, have log-ratios whose ranges add up to η·2·min(m, k)·d. Points in the cells as in
  ``score_queries.IntervalChoice``.

So, given the blocks, the two output distributions are within the loss's curve of one another. Hockey-stick divergences,
and the moments behind Rényi's, are jointly convex: averaging both over the same random blocks makes none of them
larger. (That is what a ``Loss`` says; the range itself may grow when the median's distributions are averaged, its
curves do not.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.guarantees import BoundedRangeLoss, Guarantee, Loss
from discreet.noise.draws import ChooseCell, UniformIntegers
from discreet.queries.bound import Setting
from discreet.queries.functions.score_queries import PLACES, exponential_rate, points_in_cells
from discreet.queries.functions.user_functions import Array, RowMechanism, UserFunction
from discreet.queries.mechanism import Plan, additive_noise
from discreet.queries.question import Part, additive_loss


@dataclass(frozen=True, eq=False)
class BlockMechanism(RowMechanism):
    """Base class of the two centres."""

    name = "sample and aggregate"
    function: UserFunction
    blocks: int
    least: int

    def changed(self, setting: Setting) -> int:
        """Return how many blocks one unit can change."""
        return min(setting.max_rows, self.blocks)

    def results(self, values: Array, places: Any) -> Array:
        """Return the function's results on the blocks, given each row's block; shape (blocks, size)."""
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=self.blocks))[:-1]
        parts = np.split(values[order], ends)
        return np.stack(
            [self.function.default if len(part) < self.least else self.function(part.copy()) for part in parts]
        )

    @property
    def random_blocks(self) -> Any:
        """A block for each row, uniform."""
        return ((UniformIntegers(self.blocks), len),)

    def in_units(self, values: Array) -> Array:
        """Return released numbers in the function's units."""
        return values


@dataclass(frozen=True, eq=False)
class BlockMean(BlockMechanism):
    """The mean of the results, with noise on a grid; see the module for the proof."""

    kind = "additive"

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return a Gaussian loss, or a Laplace one at δ = 0."""
        return additive_loss(guarantee)

    def _scale(self) -> tuple[Array, Array]:
        low, high = np.asarray(self.function.box.low), np.asarray(self.function.box.high)
        return np.asarray(self.function.box.center), high - low

    def mean(self, results: Array) -> Array:
        """Return the mean in units of the widths, around the middle: between −1/2 and 1/2."""
        center, width = self._scale()
        scaled = np.clip((results - center) / width, -0.5, 0.5)
        return np.array([math.fsum(column) / self.blocks for column in scaled.T])

    def in_units(self, values: Array) -> Array:
        """Return center + width·value."""
        center, width = self._scale()
        return center + width * values

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the noise on the mean."""
        d = self.function.box.dimension
        moved = self.changed(setting) / self.blocks * (1.0 + 2.0**-50) + 2.0**-51
        noise = additive_noise(loss, "a mean", l2=math.sqrt(d) * moved, l1=d * moved, largest=0.5, size=d)
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"value": Part((d,))},
            draw=noise,
            noise=noise,
            first=self.random_blocks,
            target=lambda rows, places: self.mean(self.results(rows, places)),
        )


@dataclass(frozen=True, eq=False)
class BlockMedian(BlockMechanism):
    """The median of the results, number by number; see the module for the proof."""

    cells: int

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the bounded-range loss."""
        return BoundedRangeLoss(guarantee.epsilon, guarantee.neighbors)

    def scores(self, results: Array) -> Array:
        """Return the score of each cell for each of the numbers, shape (size, cells)."""
        low, high = np.asarray(self.function.box.low), np.asarray(self.function.box.high)
        share = (results - low) / (high - low)
        cell = np.clip(np.floor(share * self.cells), 0, self.cells - 1).astype(np.int64)
        inside = np.stack([np.bincount(column, minlength=self.cells) for column in cell.T])
        upto, half = np.cumsum(inside, axis=1), self.blocks / 2.0
        return np.asarray(-np.maximum(0.0, np.maximum(half - upto, upto - inside - half)))

    def exponents(self, loss: Loss, setting: Setting) -> Callable[[Array], Array]:
        """Return the function from results to the logarithms of the cells' weights, for each of the numbers."""
        d = self.function.box.dimension
        eta = exponential_rate(loss, 2.0 * self.changed(setting) * d, d * self.blocks / 2.0)
        return lambda results: eta * self.scores(results)

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        exponents = self.exponents(loss, setting)
        return Plan(
            loss=loss,
            parts={"value": Part((self.function.box.dimension,))},
            draw=ChooseCell(PLACES),
            first=self.random_blocks,
            target=lambda rows, places: exponents(self.results(rows, places)),
            finish=lambda chosen: points_in_cells(self.function.box, chosen, self.cells),
        )
