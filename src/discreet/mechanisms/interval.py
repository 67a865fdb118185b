"""The exponential mechanism over an interval: cells of a fine public grid are the candidates.

*Proof.* The score is constant on each cell, its value at the middle. A cell is chosen as in ``exponential``, bounded
range ε. Then a point of the cell is drawn, uniform over 2²⁰ places, by bits that do not depend on the rows: post-
processing. All cells have the same width, so this is the mechanism of density ∝ e^(η·score) for that piecewise constant
score, and it is exact: the place is a whole number, and what floats make of it is post-processing too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.arguments import integer
from discreet.door import Answer, Declarations, open_rows
from discreet.door.part import Part
from discreet.door.passages import Plan, Setting
from discreet.guarantees import Guarantee, Loss
from discreet.mechanisms.exponential import Chosen, scores_of, spread_of
from discreet.mechanisms.own import Array, WholeRows
from discreet.noise import Bits, categorical, uniform_integers
from discreet.records import Box

__all__ = ["exponential_on_interval", "middles", "within"]

PLACES = 2**20  # in a cell
MOST_CELLS = 2**20


def exponential_on_interval(
    score: Callable[[Array, Array], Any],
    data: Any,
    low: float,
    high: float,
    *,
    sensitivity: float,
    epsilon: float,
    cells: int = 1024,
    monotonic: bool = False,
    largest: float | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Answer:
    """Choose a number between two others, the better the likelier.

    Parameters
    ----------
    score : callable
        From rows and an array of points to one number for each point: larger is better. As in ``exponential``.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
    low, high : float
        Between which to choose; public.
    cells : int
        In how many cells of equal width the interval is cut; the score is asked for their middles.
    sensitivity, epsilon, monotonic, largest, bits, declared
        As in ``exponential``.

    Returns
    -------
    Answer
        ``value`` is a float.

    Examples
    --------
    A point that is close to as many rows as possible, as a robust centre. A replaced row moves a count by at most 1:

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(30, 1, 3000)
    >>> def near(rows, points):
    ...     return (abs(rows - points) < 2).sum(axis=0)
    >>> found = exponential_on_interval(near, rows, 0, 100, bounds=(0, 100), sensitivity=1.0, epsilon=1.0, cells=200)
    >>> bool(28 < found.value < 32)
    True
    """
    curator = open_rows(data, **declared)
    promise = Guarantee(epsilon, 0.0, curator.neighbors)
    box = Box(low, high).for_columns(1)
    count = integer("cells", cells, least=1, most=MOST_CELLS)
    own = scores_of(score, middles(box, count)[:, 0], count, sensitivity, largest, curator)
    way = OnInterval(own, spread_of(sensitivity, monotonic, curator), box)
    release = curator.measure(Placed.of(curator, way), promise, bits=bits)
    return Answer.of(float(release["value"][0]), curator, promise, [release])


def middles(box: Box, cells: int) -> Array:
    """Return the middles of the cells of each column's interval, shape (cells, columns)."""
    low, high = np.asarray(box.low), np.asarray(box.high)
    t = ((np.arange(cells) + 0.5) / cells)[:, None]
    return np.asarray(box.clip(low * (1.0 - t) + high * t))


def within(box: Box, chosen: Any, cells: int, bits: Bits | None) -> Array:
    """Return a point of the chosen cell of each column, uniform over its places."""
    low, high = np.asarray(box.low), np.asarray(box.high)
    places = uniform_integers(PLACES, len(low), bits)
    t = (np.asarray(chosen) + (places + 0.5) / PLACES) / cells
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
        exponents = self.exponents(loss, setting)

        def draw(values: Array, bits: Bits | None) -> Array:
            weights = exponents(values)
            return within(self.box, [categorical(weights, bits)], weights.size, bits)

        return Plan(self.kind, loss, None, True, {"value": Part((1,))}, draw)
