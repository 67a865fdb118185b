"""Smooth sensitivity: noise that fits how far a statistic can move near these rows, and not near the worst ones.

**A statistic of one's own** (``smooth_sensitivity``). The question and its proof are in
``discreet.queries.functions.smooth_noise``.

**The median** (``smooth_median``). *Proof.* ``queries.functions.median_sensitivity`` has the smooth sensitivity of the
lower median under replace-one with n public; ``smooth_noise`` what a release with it keeps. Values are the column
inside of its declared bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee, Neighbors
from discreet.mechanisms.trial import checked_share_of_epsilon, tried
from discreet.noise import Bits
from discreet.queries.adapted import limits_of
from discreet.queries.functions.admissible_noise import AdmissibleNoise, LaplaceSlide, StudentNoise
from discreet.queries.functions.median_sensitivity import OneColumn, SmoothMedian
from discreet.queries.functions.smooth_noise import SmoothOwn, width_of
from discreet.queries.functions.user_functions import LARGEST, Array, Own, WholeRows
from discreet.records import Box
from discreet.scales import place_of


@planned
def smooth_sensitivity(
    f: Callable[[Array], Any],
    s: Callable[[Array, float], Any],
    data: Any,
    *,
    output: Any,
    epsilon: float,
    delta: float = 0.0,
    noise: AdmissibleNoise | None = None,
    share: float = 0.5,
    default: Any = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Answer]:
    """Return a statistic of one's own with noise of a smooth bound on its local sensitivity.

    What rests on trust: that ``s`` is such a bound, wherever it is asked, for f as it is computed; and that neither
    function writes, prints or sends what it sees.

    Parameters
    ----------
    f : callable
        From rows to one number. Where it fails, ``default`` takes its place, which ``s`` must allow for.
    s : callable
        From rows and β to S ≥ 0: at least as much as f can move when one row changes, and at most e^β times what it is
        for a neighbour. A row is replaced by another, or comes or goes, as the relation says; under replace-one it
        may come or go too where rows may be dropped. It must not fail: where it does, S is the width of ``output``, and
        if it does so for one of two neighbours only, that is a step of more than e^β and the guarantee is broken.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        With one row for each unit.
    output : (low, high)
        What f, and then the result, is moved into; public.
    epsilon, delta : float
    noise : AdmissibleNoise
        ``StudentNoise(3)`` at δ = 0, ``LaplaceSlide()`` above it, unless another is given.
    share : float
        Of ε for the slide, between 0 and 1.
    default : float
        What stands for failures of f.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Answer
        ``value`` is a float within ``output``.

    Examples
    --------
    The largest of 1000 numbers in [0, 1]. After k replaced rows one more moves it by at most 1 − x_(n−k−1):

    >>> import numpy as np
    >>> def bound(rows, beta):
    ...     x = np.concatenate([[1.0], np.sort(rows[:, 0])[::-1], [0.0]])
    ...     k = np.arange(len(x) - 2)
    ...     return np.max(np.exp(-beta * k) * (1.0 - x[2:]))
    >>> rows = np.random.default_rng(0).uniform(0, 1, 1000)
    >>> result = smooth_sensitivity(lambda rows: rows.max(), bound, rows, bounds=(0, 1), output=(0, 1), epsilon=8.0)
    >>> 0.0 <= result.value <= 1.0
    True
    """
    curator = open_rows(data, **declared)
    guarantee = Guarantee(epsilon, delta, curator.neighbors)
    if curator.setting.max_rows != 1:
        raise ValueError(
            f"max_rows={curator.setting.max_rows}: expected 1, since s bounds what one row can do; write "
            "sample_and_aggregate"
        )
    own = tried(Own.one(f, output, default), curator)
    width = width_of(own.box)
    if width > LARGEST:
        raise ArgumentError("output", output, f"numbers at most {LARGEST:g} apart", write="for example (0, 100)")
    if not callable(s):
        raise ArgumentError("s", s, "a function of rows and β", write="for example lambda rows, beta: 1.0")
    way = SmoothOwn(noise_for(noise, guarantee), checked_share_of_epsilon(share), own.box, own, s)
    tried(Own.with_output(lambda rows: s(rows, 1.0), (0.0, width), None, width), curator, "s")

    def answer(release: Release) -> Answer:
        return Answer.from_releases(float(release["value"][0]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)


def noise_for(noise: AdmissibleNoise | None, guarantee: Guarantee) -> AdmissibleNoise:
    """Return the noise that was asked for, or the default one; an error where it needs a δ and there is none."""
    chosen = (LaplaceSlide() if guarantee.delta else StudentNoise()) if noise is None else noise
    if not isinstance(chosen, AdmissibleNoise) or not (chosen.pure or guarantee.delta):
        raise ArgumentError(
            "noise", noise, "StudentNoise or CauchyNoise, or with delta > 0 LaplaceSlide or GaussianSlide"
        )
    return chosen


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
    guarantee = Guarantee(epsilon, delta, curator.neighbors)
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
    names = curator.columns
    if not names:
        raise ArgumentError(
            "data", UNSHOWN, "a numeric column, since categories have no median", write="Number(low, high)"
        )
    place = 0 if column is None and len(names) == 1 else place_of("column", column, names)
    interval = Box(*limits_of(curator.space, place)).for_columns(1)
    way = SmoothMedian(noise_for(noise, guarantee), checked_share_of_epsilon(share), interval)

    def answer(release: Release) -> Answer:
        return Answer.from_releases(float(release["value"][0]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, OneColumn(way, len(names), place), answer, bits=bits)
