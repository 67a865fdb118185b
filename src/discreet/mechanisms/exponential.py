"""The exponential mechanism for a user's scores (McSherry and Talwar 2007): over candidates, or over an interval.

**Finitely many public candidates**: ``exponential``. **An interval**: ``exponential_on_interval``, where the candidates
are the cells of a fine public grid. The queries and their proofs are in ``queries.functions.score_queries``.

Equation 9 of Sarwate and Chaudhuri (2013) lacks a sign: here larger scores are better.
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
from discreet.mechanisms.trial import call_on_made_up_rows
from discreet.noise import Bits
from discreet.queries.functions.score_queries import ExponentialChoice, IntervalChoice, cell_middles
from discreet.queries.functions.user_functions import LARGEST, Array, UserFunction, WholeRows
from discreet.records import Box

SCORES = 2.0**32  # the default largest score, in sensitivities


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Answer):
    """The chosen candidate.

    Attributes
    ----------
    index : int
        Its index among the candidates.
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
    """Choose one of several candidates; candidates with higher scores are more likely.

    Three assumptions are not checked: ``sensitivity``, ``monotonic``, and that ``score`` does not write, print or send
    the rows.

    Parameters
    ----------
    score : callable
        From rows and the candidates to one number for each candidate; larger is better. Rows are as in
        ``output_perturbation``. Where it raises or returns another shape, all candidates have equal scores. A score
        that is NaN or infinite counts as the worst possible one.
    data, bits, declared
        As in ``output_perturbation``.
    candidates : sequence
        The candidates; public.
    sensitivity : float
        The largest change of any score when one row is replaced by another. It must also cover a row that is added or
        removed: under add-remove, where rows may be dropped, and where a unit has several rows. It is about scores as
        they are computed, failures included.
    epsilon : float
        The cost. There is no δ, which would hardly improve the result.
    monotonic : bool
        Whether an added row changes all scores in the same direction, as with counts; half the noise is then enough.
        Under add-remove only, since a replaced row may raise some scores and lower others.
    largest : float
        Scores are clipped to [−largest, largest], so that scores outside become equal; by default 2³² sensitivities. It
        is an error if scores of made-up rows are outside, or a warning if ``largest`` was given.

    Returns
    -------
    Choice

    Examples
    --------
    The threshold above which a tenth of the rows lies. A replaced row changes the count above it by at most 1:

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
    function = make_scores(
        score, candidates if hasattr(candidates, "__len__") else chosen, len(chosen), sensitivity, largest, curator
    )
    way = ExponentialChoice(function, compute_spread(sensitivity, monotonic, curator))

    def answer(release: Release) -> Choice:
        index = int(release["selected"][0])
        return Choice.from_releases(chosen[index], curator, guarantee, [release], index=index)

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)


def make_scores(
    score: Callable[[Array, Any], Any],
    candidates: Any,
    count: int,
    sensitivity: float,
    largest: float | None,
    curator: Curator,
) -> UserFunction:
    """Return the scores of the candidates as a function of rows, made total."""
    if not callable(score):
        raise ArgumentError("score", score, "a function of rows and candidates")
    change = positive("sensitivity", sensitivity)
    if not 1e-300 <= change <= LARGEST / SCORES:
        raise ArgumentError(
            "sensitivity", sensitivity, f"from 1e-300 to {LARGEST / SCORES:.0e}", write="scores in other units"
        )
    size = SCORES * change if largest is None else positive("largest", largest)
    if not 1e-300 <= size <= LARGEST:
        raise ArgumentError("largest", largest, f"from 1e-300 to {LARGEST:.0e}", write="scores in other units")
    # The candidates are copied for each call: what a score writes into a candidate would be released with it.
    function = UserFunction.with_output(lambda rows: score(rows, deepcopy(candidates)), (-size, size), count, -size)
    result = call_on_made_up_rows(function, curator, "score")
    beyond = np.abs(result[np.isfinite(result)]).max(initial=0.0)
    if beyond > size:
        says = (
            f"score: expected scores of at most {size:g} in size, since larger ones are clipped to it; on made-up rows "
            f"one is {beyond:g}; write largest=…, the largest possible score, or scores in other units"
        )
        if largest is None:
            raise ValueError(says)
        warnings.warn(says, stacklevel=3)
    return function


def compute_spread(sensitivity: float, monotonic: bool, curator: Curator) -> float:
    """Return the largest difference between the changes of two scores when one row changes."""
    if not isinstance(monotonic, bool):
        raise ArgumentError("monotonic", monotonic, "True or False")
    if monotonic and curator.neighbors is not Neighbors.ADD_REMOVE:
        raise ArgumentError(
            "monotonic",
            True,
            "False under replace-one, where the removed row may lower some scores and the new row raise others",
            write="neighbors='add-remove', or omit monotonic",
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
    """Choose a number in an interval; numbers with higher scores are more likely.

    Parameters
    ----------
    score : callable
        From rows and an array of points to one number for each point; larger is better. As in ``exponential``.
    low, high : float
        The ends of the interval; public.
    cells : int
        The number of cells of equal width in the interval. The score is evaluated at their middles.
    data, sensitivity, epsilon, monotonic, largest, bits, declared
        As in ``exponential``.

    Returns
    -------
    Answer
        ``value`` is a float.

    Examples
    --------
    A point that is close to as many rows as possible, as a robust centre. A replaced row changes a count by at most 1:

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
    function = make_scores(score, cell_middles(box, count)[:, 0], count, sensitivity, largest, curator)
    way = IntervalChoice(function, compute_spread(sensitivity, monotonic, curator), box)

    def answer(release: Release) -> Answer:
        return Answer.from_releases(float(release["value"][0]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)
