"""The exponential mechanism for scores of one's own (McSherry and Talwar 2007): over candidates, or over an interval.

**Finitely many public candidates** (``exponential``). The question and its proof are in
``queries.functions.score_queries``. Equation 9 of Sarwate and Chaudhuri (2013) lacks a sign: here more is better.

**An interval** (``exponential_on_interval``): cells of a fine public grid are the candidates.

*Proof.* The score is constant on each cell, its value at the middle. A cell is chosen as in ``exponential``, bounded
range ε. Then a point of the cell is drawn, uniform over 2²⁰ places, by bits that do not depend on the rows: post-
processing. All cells have the same width, so this is the mechanism of density ∝ e^(η·score) for that piecewise constant
score, and it is exact: the place is a whole number, and what floats make of it is post-processing too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.arguments import ArgumentError, integer, iterable, positive
from discreet.door import Answer, Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee, Neighbors
from discreet.mechanisms.trial import result_on_made_up_rows
from discreet.noise import Bits
from discreet.queries.functions.score_queries import Chosen, OnInterval, middles
from discreet.queries.functions.user_functions import LARGEST, Array, Own, WholeRows
from discreet.records import Box

SCORES = 2.0**32  # the largest score, in sensitivities, unless another is declared


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Answer):
    """A candidate that was chosen.

    Attributes
    ----------
    index : int
        Its place among the candidates.
    """

    index: int


@planned
def exponential(
    score: Callable[[Array, Any], Any],
    data: Any,
    candidates: Sequence[Any],
    *,
    sensitivity: float,
    epsilon: float,
    monotonic: bool = False,
    largest: float | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Choice]:
    """Choose one of some candidates, the better the likelier.

    What rests on trust: ``sensitivity``, ``monotonic``, and that ``score`` does not write, print or send what it sees.

    Parameters
    ----------
    score : callable
        From rows and the candidates to one number for each: larger is better. Rows as in ``output_perturbation``.
        Where it raises or returns another shape, all candidates are equal; where it returns NaN or infinity, that
        candidate has the worst score there is.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
    candidates : sequence
        Public.
    sensitivity : float
        How far any score can move when one row is replaced by another; when one comes or goes under add-remove, and
        also where rows may be dropped or persons have several. For scores as they are computed, failures included.
    epsilon : float
        A δ would buy next to nothing here.
    monotonic : bool
        Whether a row that comes moves all scores the same way, as with counts: then half the noise is enough. Under
        add-remove only, as a replaced row may move some up and others down.
    largest : float
        Scores are moved into [−largest, largest], so that those beyond are equal; by default 2³² sensitivities. If the
        scores of made-up rows are beyond already, that is an error, or a warning where ``largest`` was given.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Choice

    Examples
    --------
    The threshold above which a tenth of the rows lies. A replaced row moves the count above it by at most 1:

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(0, 100, 2000)
    >>> def score(rows, candidates):
    ...     return -abs((rows > np.array(candidates)).sum(axis=0) - 0.1 * len(rows))
    >>> exponential(score, rows, [70.0, 80.0, 90.0], bounds=(0, 100), sensitivity=1.0, epsilon=1.0).value
    90.0
    """
    curator = open_rows(data, **declared)
    guarantee = Guarantee(epsilon, 0.0, curator.neighbors)
    chosen = list(candidates) if iterable(candidates) else []
    if not chosen:
        raise ArgumentError("candidates", candidates, "a list of at least one")
    own = scores_of(
        score, candidates if hasattr(candidates, "__len__") else chosen, len(chosen), sensitivity, largest, curator
    )
    way = Chosen(own, spread_of(sensitivity, monotonic, curator))

    def answer(release: Release) -> Choice:
        index = int(release["selected"][0])
        return Choice.from_releases(chosen[index], curator, guarantee, [release], index=index)

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)


def scores_of(
    score: Callable[[Array, Any], Any],
    candidates: Any,
    count: int,
    sensitivity: float,
    largest: float | None,
    curator: Curator,
) -> Own:
    """Return the scores of candidates as a function of rows, made total."""
    if not callable(score):
        raise ArgumentError("score", score, "a function of rows and candidates")
    moved = positive("sensitivity", sensitivity)
    if not 1e-300 <= moved <= LARGEST / SCORES:
        raise ArgumentError(
            "sensitivity", sensitivity, f"from 1e-300 to {LARGEST / SCORES:.0e}", write="scores in other units"
        )
    size = SCORES * moved if largest is None else positive("largest", largest)
    if not 1e-300 <= size <= LARGEST:
        raise ArgumentError("largest", largest, f"from 1e-300 to {LARGEST:.0e}", write="scores in other units")
    # A copy each time: what a score writes into a candidate would come out with it.
    own = Own.with_output(lambda rows: score(rows, deepcopy(candidates)), (-size, size), count, -size)
    result = result_on_made_up_rows(own, curator, "score")
    beyond = np.abs(result[np.isfinite(result)]).max(initial=0.0)
    if beyond > size:
        says = (
            f"score: expected scores of at most {size:g} in size, since larger ones are cut to it; on made-up rows one "
            f"is {beyond:g}; write largest=…, what scores can reach, or scores in other units"
        )
        if largest is None:
            raise ValueError(says)
        warnings.warn(says, stacklevel=3)
    return own


def spread_of(sensitivity: float, monotonic: bool, curator: Curator) -> float:
    """Return by how much the moves of two scores can differ when one row changes."""
    if not isinstance(monotonic, bool):
        raise ArgumentError("monotonic", monotonic, "True or False")
    if monotonic and curator.neighbors is not Neighbors.ADD_REMOVE:
        raise ArgumentError(
            "monotonic",
            True,
            "False under replace-one, where a row that goes may lower some scores and the one that comes raise others",
            write="neighbors='add-remove', or leave it out",
        )
    return sensitivity if monotonic else 2.0 * sensitivity


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
    >>> result = exponential_on_interval(near, rows, 0, 100, bounds=(0, 100), sensitivity=1.0, epsilon=1.0, cells=200)
    >>> bool(28 < result.value < 32)
    True
    """
    curator = open_rows(data, **declared)
    guarantee = Guarantee(epsilon, 0.0, curator.neighbors)
    box = Box(low, high).for_columns(1)
    count = integer("cells", cells, least=1, most=MOST_CELLS)
    own = scores_of(score, middles(box, count)[:, 0], count, sensitivity, largest, curator)
    way = OnInterval(own, spread_of(sensitivity, monotonic, curator), box)

    def answer(release: Release) -> Answer:
        return Answer.from_releases(float(release["value"][0]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)
