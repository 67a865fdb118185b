"""The exponential mechanism over an interval: cells of a fine public grid are the candidates.

*Proof.* The score is constant on each cell, its value at the middle. A cell is chosen as in ``exponential``, bounded
range ε. Then a point of the cell is drawn, uniform over 2²⁰ places, by bits that do not depend on the rows: post-
processing. All cells have the same width, so this is the mechanism of density ∝ e^(η·score) for that piecewise constant
score, and it is exact: the place is a whole number, and what floats make of it is post-processing too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.guarantees import Loss
from discreet.noise.draws import ChooseCell
from discreet.queries.bound import Setting
from discreet.queries.functions.exponential import Chosen
from discreet.queries.functions.own import Array, WholeRows
from discreet.queries.mechanism import Plan
from discreet.queries.question import Part
from discreet.records import Box

__all__ = ["PLACES", "OnInterval", "Placed", "middles", "within"]


PLACES = 2**20  # in a cell


def middles(box: Box, cells: int) -> Array:
    """Return the middles of the cells of each column's interval, shape (cells, columns)."""
    low, high = np.asarray(box.low), np.asarray(box.high)
    t = ((np.arange(cells) + 0.5) / cells)[:, None]
    return np.asarray(box.clip(low * (1.0 - t) + high * t))


def within(box: Box, chosen: Array, cells: int) -> Array:
    """Return the points of a box that were chosen, each as a cell and a share of it."""
    low, high = np.asarray(box.low), np.asarray(box.high)
    t = chosen / cells
    return np.asarray(box.clip(low * (1.0 - t) + high * t))


class Placed(WholeRows):
    """A number chosen by scores of a user's own."""

    name = "exponential mechanism on an interval"


@dataclass(frozen=True, eq=False)
class OnInterval(Chosen):
    """A cell, and a point in it; see the module for the proof."""

    box: Box
    kind = "sampled"

    def planned(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"value": Part((1,))},
            draw=ChooseCell(PLACES),
            target=self.exponents(loss, setting),
            finish=lambda chosen: within(self.box, chosen, self.own.box.dimension),
            declared=self.declared,
        )
