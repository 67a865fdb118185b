"""The exponential mechanism for scores of a user: a candidate, or a point of an interval (McSherry and Talwar 2007).

Equation 9 of Sarwate and Chaudhuri (2013) lacks a sign: here more is better.
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
from discreet.queries.functions.user_functions import Array, Own, OwnMechanism
from discreet.queries.mechanism import Plan
from discreet.queries.question import Part
from discreet.records import Box


def rate(loss: Loss, spread: float, largest: float) -> float:
    """Return η, so that η·scores drawn as they are computed have the bounded range of the loss; see ``Chosen``."""
    if not isinstance(loss, BoundedRangeLoss):
        raise ArgumentError("loss", loss, "a BoundedRangeLoss")
    eta = loss.epsilon / (spread + 4.0 * 2.0**-53 * largest) * (1.0 - 2.0**-50)
    if not (eta > 0.0 and math.isfinite(eta * largest)):
        raise ArgumentError("loss", loss, "an ε at which η·score neither overflows nor vanishes")
    return eta


@dataclass(frozen=True, eq=False)
class Chosen(OwnMechanism):
    """One of finitely many candidates, by the exponential mechanism.

    *Proof.* A score that fails counts as −L, all are moved into [−L, L], which brings no two farther apart and keeps
    the way in which they move. (Scores beyond L become equal: a choice between them is blind, but private.) Say that a
    changed row moves every score by at most Δ: then the moves differ from one another by at most 2Δ; by at most Δ where
    all go the same way. Along the m rows of a unit these ranges add up to a spread of 2mΔ (mΔ). Candidate i is drawn
    with probability ∝ e^(η·score_i), exactly, so the log-ratio of the two output distributions has a range of at most
    η·spread: bounded range ε at η = ε/spread. Each exponent is a float product, wrong by at most 2⁻⁵³·η·L; two
    neighbours' over two candidates: 4 times that, which is taken off ε first, as are the roundings of η itself.

    Parameters
    ----------
    own : Own
        The scores.
    spread : float
        By how much the moves of two scores can differ when one row changes.
    """

    name = "exponential mechanism"
    own: Own
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
        eta = rate(loss, self.spread * setting.max_rows, self.own.largest)
        return lambda values: eta * self.own(values)

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


@dataclass(frozen=True, eq=False)
class OnInterval(Chosen):
    """A number in an interval, by the exponential mechanism: a cell, and a point in it.

    Cells of a fine public grid are the candidates.

    *Proof.* The score is constant on each cell, its value at the middle. A cell is chosen as in ``Chosen``, bounded
    range ε. Then a point of the cell is drawn, uniform over 2²⁰ places, by bits that do not depend on the rows:
    post-processing. All cells have the same width, so this is the mechanism of density ∝ e^(η·score) for that piecewise
    constant score, and it is exact: the place is a whole number, and what floats make of it is post-processing too.
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
            finish=lambda chosen: within(self.box, chosen, self.own.box.dimension),
            declared=self.declared,
        )
