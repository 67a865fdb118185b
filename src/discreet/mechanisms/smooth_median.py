"""The median with noise of its smooth sensitivity, through the door.

*Proof.* ``median_sensitivity`` has the smooth sensitivity of the lower median under replace-one with n public;
``smooth_sensitivity`` what a release with it keeps. Values are the column inside of its declared bounds.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Answer, Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee, Neighbors
from discreet.mechanisms.smooth_sensitivity import noise_for, share_for
from discreet.noise import Bits
from discreet.queries.functions.admissible import AdmissibleNoise
from discreet.queries.functions.smooth_median import OneColumn, SmoothMedian
from discreet.records import Ball, Box

__all__ = ["smooth_median"]


@planned
def smooth_median(
    data: Any,
    column: str | int | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: AdmissibleNoise | None = None,
    share: float = 0.5,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Answer]:
    """Return the median with noise of its smooth sensitivity: little where many rows are close to it.

    The median is x_⌈n/2⌉, the lower of the middle two where n is even. An exact draw without a scale to estimate is
    ``exponential_on_interval``; this one is a baseline of the literature.

    Parameters
    ----------
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        Under replace-one, where every row surely counts and stands for itself.
    column : str or int
        Which numeric column; may be left out where there is one.
    epsilon, delta : float
    noise : AdmissibleNoise
        ``StudentNoise(3)`` at δ = 0, ``LaplaceSlide()`` above it, unless another is given.
    share : float
        Of ε for the slide, between 0 and 1: a larger one takes less noise for the same bound, but β falls, and
        the bound grows.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Answer
        ``value`` is a float within the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 20_001)
    >>> bool(15_000 < smooth_median(incomes, bounds=(0, 1e6), epsilon=1.0).value < 30_000)
    True
    """
    curator = open_rows(data, **declared)
    promise = Guarantee(epsilon, delta, curator.neighbors)
    if curator.neighbors is not Neighbors.REPLACE_ONE:
        raise ArgumentError(
            "neighbors",
            "add-remove",
            "'replace-one', since the formula for the smooth sensitivity takes the number of rows as public",
            write="exponential_on_interval or sample_and_aggregate",
        )
    rows = curator.size.rows
    if rows is None or rows == 0:
        raise ArgumentError(
            "data",
            UNSHOWN,
            "at least one row, of which each surely counts and stands for itself, since the formula takes their "
            "number as public",
            write="missing='fill' for columns with gaps, and one row for each person",
        )
    place = _place(curator, column)
    way = SmoothMedian(noise_for(noise, promise), share_for(share), _interval(curator.space, place))

    def answer(release: Release) -> Answer:
        return Answer.of(float(release["value"][0]), curator, promise, [release])

    return Inquiry.of_one(curator, promise, OneColumn(way, len(curator.columns), place), answer, bits=bits)


def _place(curator: Curator, column: str | int | None) -> int:
    """Return the number of a numeric column."""
    names = list(curator.columns)
    if not names:
        raise ArgumentError(
            "data", UNSHOWN, "a numeric column, since categories have no median", write="Number(low, high)"
        )
    if column is None and len(names) == 1:
        return 0
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
        return column
    raise ArgumentError("column", column, f"one of {names}, or its number")


def _interval(space: Box | Ball, place: int) -> Box:
    """Return the bounds of one column."""
    if isinstance(space, Ball):
        center = float(np.broadcast_to(space.center, space.dimension)[place])
        return Box(center - space.radius, center + space.radius).for_columns(1)
    low, high = (np.broadcast_to(bound, space.dimension)[place] for bound in (space.low, space.high))
    return Box(float(low), float(high)).for_columns(1)
