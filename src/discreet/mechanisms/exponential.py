"""The exponential mechanism for scores of one's own: one of finitely many public candidates (McSherry and Talwar 2007).

The question and its proof are in ``discreet.queries.functions.exponential``. Equation 9 of Sarwate and Chaudhuri (2013)
lacks a sign: here more is better.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.arguments import ArgumentError, iterable, positive
from discreet.door import Answer, Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee, Neighbors
from discreet.mechanisms.own import result_on_made_up_rows
from discreet.noise import Bits
from discreet.queries.functions.exponential import Chosen, Selected
from discreet.queries.functions.own import LARGEST, Array, Own

__all__ = ["Choice", "exponential", "scores_of", "spread_of"]

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
    promise = Guarantee(epsilon, 0.0, curator.neighbors)
    chosen = list(candidates) if iterable(candidates) else []
    if not chosen:
        raise ArgumentError("candidates", candidates, "a list of at least one")
    own = scores_of(
        score, candidates if hasattr(candidates, "__len__") else chosen, len(chosen), sensitivity, largest, curator
    )
    way = Chosen(own, spread_of(sensitivity, monotonic, curator))

    def answer(release: Release) -> Choice:
        index = int(release["selected"][0])
        return Choice.of(chosen[index], curator, promise, [release], index=index)

    return Inquiry.of_one(curator, promise, Selected.of(curator, way), answer, bits=bits)


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
    own = Own.of(lambda rows: score(rows, deepcopy(candidates)), (-size, size), count, -size)
    found = result_on_made_up_rows(own, curator, "score")
    beyond = np.abs(found[np.isfinite(found)]).max(initial=0.0)
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
