"""Smooth sensitivity: noise scaled to a smooth bound on the local sensitivity, rather than to the global sensitivity.

**A user's statistic** (``smooth_sensitivity``). The query and its proof are in
``discreet.queries.functions.smooth_noise``.

**The median** (``smooth_median``). *Proof.* ``queries.functions.median_sensitivity`` derives the smooth sensitivity of
the lower median under replace-one with public n, and ``smooth_noise`` proves the guarantee of a release that uses it.
Values are clipped to the declared bounds of the column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.trial import check_share, require_one_row_per_unit, require_public_rows, try_function
from discreet.noise import Bits
from discreet.queries.adaptors import column_limits
from discreet.queries.functions.admissible_noise import AdmissibleNoise, LaplaceSlide, StudentNoise
from discreet.queries.functions.median_sensitivity import OneColumn, SmoothMedian
from discreet.queries.functions.smooth_noise import SmoothFunction, box_width
from discreet.queries.functions.user_functions import LARGEST, Array, UserFunction, WholeRows
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
    """Release a user's statistic with noise for a smooth bound on its local sensitivity.

    Two assumptions are not checked: that ``s`` is such a bound on every data set, for f as it is computed; and that
    neither function writes, prints or sends the rows.

    Parameters
    ----------
    f : callable
        From rows to one number. Where it fails, ``default`` is used in its place, which ``s`` must allow for.
    s : callable
        From rows and β to S ≥ 0. S is at least the largest change of f when one row changes, and at most e^β times the
        S of any neighbour. A row changes as the neighbour relation says: it is replaced, or added or removed; under
        replace-one it may also be added or removed where rows may be dropped. It must not fail: where it does, S is the
        width of ``output``. If it fails for only one of two neighbours, S changes by more than e^β, and the guarantee
        is broken.
    data, epsilon, delta, bits, declared
        As in ``output_perturbation``, with one row for each unit.
    output : (low, high)
        f, and then the noisy result, are clipped to it; public.
    noise : AdmissibleNoise
        By default ``StudentNoise(3)`` at δ = 0 and ``LaplaceSlide()`` at δ > 0.
    share : float
        The share of ε for the slide, between 0 and 1.
    default : float
        Used in place of failures of f.

    Returns
    -------
    Answer
        ``value`` is a float within ``output``.

    Examples
    --------
    The maximum of 1000 numbers in [0, 1]. After k replaced rows, one more changes it by at most 1 − x_(n−k−1):

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
    require_one_row_per_unit(curator, "s bounds what one row can do")
    function = try_function(UserFunction.scalar(f, output, default), curator)
    width = box_width(function.box)
    if width > LARGEST:
        raise ArgumentError("output", output, f"numbers at most {LARGEST:g} apart", write="for example (0, 100)")
    if not callable(s):
        raise ArgumentError("s", s, "a function of rows and β", write="for example lambda rows, beta: 1.0")
    way = SmoothFunction(choose_noise(noise, guarantee), check_share(share), function.box, function, s)
    try_function(UserFunction.with_output(lambda rows: s(rows, 1.0), (0.0, width), None, width), curator, "s")

    def answer(release: Release) -> Answer:
        return Answer.from_releases(float(release["value"][0]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)


def choose_noise(noise: AdmissibleNoise | None, guarantee: Guarantee) -> AdmissibleNoise:
    """Return the requested noise, or the default; raise where it needs δ > 0 and δ is 0."""
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
    """Release the median with noise for its smooth sensitivity: little noise where many rows are close to the median.

    The median is x_⌈n/2⌉, the lower of the middle two for even n. This is a baseline of the literature.
    ``exponential_on_interval`` draws a median exactly and needs no scale.

    Parameters
    ----------
    data, bits, declared
        As in ``output_perturbation``. Only under replace-one, without dropped rows and with one row for each unit.
    column : str or int
        Which numeric column; may be omitted where there is only one.
    epsilon, delta, noise
        As in ``smooth_sensitivity``.
    share : float
        The share of ε for the slide, between 0 and 1. A larger share needs less noise for the same bound, but lowers β,
        which raises the bound.

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
    require_public_rows(
        curator,
        "the formula for the smooth sensitivity takes the number of rows as public",
        "exponential_on_interval or sample_and_aggregate",
    )
    names = curator.columns
    if not names:
        raise ArgumentError(
            "data", UNSHOWN, "a numeric column, since categories have no median", write="Number(low, high)"
        )
    place = 0 if column is None and len(names) == 1 else place_of("column", column, names)
    interval = Box(*column_limits(curator.space, place)).for_columns(1)
    way = SmoothMedian(choose_noise(noise, guarantee), check_share(share), interval)

    def answer(release: Release) -> Answer:
        return Answer.from_releases(float(release["value"][0]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, OneColumn(way, len(names), place), answer, bits=bits)
