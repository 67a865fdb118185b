"""The exponential mechanism for a user's scores, with proof: a candidate, or a point of an interval.

The mechanism is that of McSherry and Talwar (2007). Equation 9 of Sarwate and Chaudhuri (2013) lacks a sign: here
larger scores are better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError
from discreet.guarantees import BoundedRangeLoss, Guarantee, Loss
from discreet.noise.draws import Choose, ChooseCell
from discreet.queries.bound import Setting
from discreet.queries.functions.user_functions import Array, RowMechanism, UserFunction
from discreet.queries.mechanism import Plan
from discreet.queries.question import Part
from discreet.records import Box


def exponential_rate(loss: Loss, spread: float, largest: float) -> float:
    """Return η such that a draw by η·scores has the bounded range of the loss; see ``ExponentialChoice``."""
    if not isinstance(loss, BoundedRangeLoss):
        raise ArgumentError("loss", loss, "a BoundedRangeLoss")
    eta = loss.epsilon / (spread + 4.0 * 2.0**-53 * largest) * (1.0 - 2.0**-50)
    if not (eta > 0.0 and math.isfinite(eta * largest)):
        raise ArgumentError("loss", loss, "an ε at which η·score neither overflows nor vanishes")
    return eta


@dataclass(frozen=True, eq=False)
class ExponentialChoice(RowMechanism):
    """A choice among finitely many candidates by the exponential mechanism.

    *Proof.* A score that fails counts as −L, and all scores are clipped to [−L, L], which brings no two farther apart
    and keeps the direction in which they change. (Scores beyond L become equal: a choice between them is uniform, but
    private.) Suppose that a changed row changes every score by at most Δ. Then the changes differ from one another by
    at most 2Δ, or by at most Δ if all have the same direction. Over the m rows of a unit these ranges add up to a
    spread of 2mΔ (mΔ). Candidate i is drawn with probability ∝ e^(η·score_i), exactly, so the log-ratio of the two
    output distributions has a range of at most η·spread: bounded range ε at η = ε/spread. Each exponent is a float
    product with an error of at most 2⁻⁵³·η·L. For two neighbours and two candidates this is 4 times as much, which is
    subtracted from ε first, as are the roundings of η itself.

    Parameters
    ----------
    function : UserFunction
        The scores.
    spread : float
        The largest difference between the changes of two scores when one row changes.
    """

    name = "exponential mechanism"
    function: UserFunction
    spread: float
    kind = "selection"

    @property
    def declared(self) -> dict[str, Any]:
        """What the user stated of the scores."""
        return {"spread": self.spread}

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the bounded-range loss."""
        return BoundedRangeLoss(guarantee.epsilon, guarantee.neighbors)

    def exponents(self, loss: Loss, setting: Setting) -> Callable[[Array], Array]:
        """Return the function from rows to the logarithms of the candidates' weights."""
        eta = exponential_rate(loss, self.spread * setting.max_rows, self.function.largest)
        return lambda values: eta * self.function(values)

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"selected": Part((1,))},
            draw=Choose(),
            target=self.exponents(loss, setting),
            declared=self.declared,
        )


PLACES = 2**20  # how many points a cell has


def cell_middles(box: Box, cells: int) -> Array:
    """Return the middles of the cells of each column's interval, shape (cells, columns)."""
    low, high = np.asarray(box.low), np.asarray(box.high)
    t = ((np.arange(cells) + 0.5) / cells)[:, None]
    return np.asarray(box.clip(low * (1.0 - t) + high * t))


def points_in_cells(box: Box, chosen: Array, cells: int) -> Array:
    """Return the chosen points of a box, each given as the number of a cell and a fraction of it."""
    low, high = np.asarray(box.low), np.asarray(box.high)
    t = chosen / cells
    return np.asarray(box.clip(low * (1.0 - t) + high * t))


@dataclass(frozen=True, eq=False)
class IntervalChoice(ExponentialChoice):
    """A choice of a number in an interval by the exponential mechanism: a cell, and a point in it.

    The candidates are the cells of a fine public grid.

    *Proof.* The score is constant on each cell, with its value at the middle. A cell is chosen as in
    ``ExponentialChoice``, with bounded range ε. Then a point of the cell is drawn, uniform over 2²⁰ places, by bits
    that do not depend on the rows, which is post-processing. All cells have the same width, so this is the mechanism of
    density ∝ e^(η·score) for that piecewise constant score. It is exact: the place is an integer, and its conversion to
    a float is post-processing too.
    """

    name = "exponential mechanism on an interval"
    box: Box
    kind = "sampled"

    def plan_rows(self, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"value": Part((1,))},
            draw=ChooseCell(PLACES),
            target=self.exponents(loss, setting),
            finish=lambda chosen: points_in_cells(self.box, chosen, self.function.box.dimension),
            declared=self.declared,
        )
