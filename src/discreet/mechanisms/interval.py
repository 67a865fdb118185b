"""The exponential mechanism over an interval: cells of a fine public grid are the candidates.

*Proof.* The score is constant on each cell, its value at the middle. A cell is chosen as in ``exponential``, bounded
range ε. Then a point of the cell is drawn, uniform over 2²⁰ places, by bits that do not depend on the rows: post-
processing. All cells have the same width, so this is the mechanism of density ∝ e^(η·score) for that piecewise constant
score, and it is exact: the place is a whole number, and what floats make of it is post-processing too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from discreet.arguments import integer
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.exponential import scores_of, spread_of
from discreet.noise import Bits
from discreet.queries.functions.interval import OnInterval, Placed, middles
from discreet.queries.functions.own import Array
from discreet.records import Box

__all__ = ["exponential_on_interval"]

MOST_CELLS = 2**20


@planned
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
) -> Inquiry[Answer]:
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

    def answer(release: Release) -> Answer:
        return Answer.of(float(release["value"][0]), curator, promise, [release])

    return Inquiry.of_one(curator, promise, Placed.of(curator, way), answer, bits=bits)
