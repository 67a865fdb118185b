"""Noisy rows: every row gets noise of its own, and all of them are released (Sarwate and Chaudhuri 2013, (3) and (4)).

The question and its proof are in ``discreet.queries.functions.input_perturbation``.
"""

from __future__ import annotations

from typing import Any, Unpack

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee, Neighbors
from discreet.noise import Bits
from discreet.queries.functions.input_perturbation import NoisyRows

__all__ = ["input_perturbation"]


@planned
def input_perturbation(
    data: Any, *, epsilon: float, delta: float = 0.0, bits: Bits | None = None, **declared: Unpack[Declarations]
) -> Inquiry[Answer]:
    """Return the rows with noise on each: the numeric columns, in their units, in a random order.

    Each row keeps the promise by itself, so the noise is large: some ‖half-widths‖·√d/ε in every column. Whatever is
    computed from the noisy rows afterwards is free.

    Parameters
    ----------
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        Under replace-one, where every row surely counts and stands for itself.
    epsilon, delta : float
        At δ = 0 the noise of equation 4, idealised (exact Laplace noise where there is one column); above it exact
        Gaussian noise.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Answer
        ``value`` of shape (rows, columns).

    Examples
    --------
    >>> heights = input_perturbation([[150.0], [180.0]] * 5000, bounds=(100, 220), epsilon=1.0)
    >>> heights.value.shape, bool(120 < heights.value.mean() < 210)
    ((10000, 1), True)
    """
    curator = open_rows(data, **declared)
    promise = Guarantee(epsilon, delta, curator.neighbors)
    if curator.neighbors is not Neighbors.REPLACE_ONE:
        raise ArgumentError(
            "neighbors",
            "add-remove",
            "'replace-one', since noisy rows reveal how many there are; for a number that is safe under add-remove, "
            "write output_perturbation or sample_and_aggregate",
        )
    rows = curator.size.rows
    if rows is None:
        raise ArgumentError(
            "data",
            UNSHOWN,
            "rows of which each surely counts and stands for itself, since noisy rows reveal how many count",
            write="missing='fill' for columns with gaps, and one row for each person",
        )
    if rows == 0 or curator.space is None:
        raise ArgumentError("data", UNSHOWN, "at least one row and one numeric column")

    def answer(release: Release) -> Answer:
        return Answer.of(curator.space.from_unit(release["rows"]), curator, promise, [release])

    return Inquiry.of_one(curator, promise, NoisyRows(curator.space, rows), answer, bits=bits)
