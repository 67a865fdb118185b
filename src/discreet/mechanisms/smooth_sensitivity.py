"""Smooth sensitivity: noise that fits how far a statistic can move near these rows, and not near the worst ones.

The question and its proof are in ``discreet.queries.functions.smooth_sensitivity``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from discreet.arguments import ArgumentError, probability
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.own import tried
from discreet.noise import Bits
from discreet.queries.functions.admissible import AdmissibleNoise, StudentNoise
from discreet.queries.functions.admissible_delta import LaplaceSlide
from discreet.queries.functions.own import LARGEST, Array, Own
from discreet.queries.functions.smooth_sensitivity import Smoothed, SmoothOwn, width_of

__all__ = ["noise_for", "share_for", "smooth_sensitivity"]


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
        if it does so for one of two neighbours only, that is a step of more than e^β and the promise is broken.
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
    >>> found = smooth_sensitivity(lambda rows: rows.max(), bound, rows, bounds=(0, 1), output=(0, 1), epsilon=8.0)
    >>> 0.0 <= found.value <= 1.0
    True
    """
    curator = open_rows(data, **declared)
    promise = Guarantee(epsilon, delta, curator.neighbors)
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
    way = SmoothOwn(noise_for(noise, promise), share_for(share), own.box, own, s)
    tried(Own.of(lambda rows: s(rows, 1.0), (0.0, width), None, width), curator, "s")

    def answer(release: Release) -> Answer:
        return Answer.of(float(release["value"][0]), curator, promise, [release])

    return Inquiry.of_one(curator, promise, Smoothed.of(curator, way), answer, bits=bits)


def noise_for(noise: AdmissibleNoise | None, promise: Guarantee) -> AdmissibleNoise:
    """Return the noise that was asked for, or the usual one; an error where it needs a δ and there is none."""
    chosen = (LaplaceSlide() if promise.delta else StudentNoise()) if noise is None else noise
    if not isinstance(chosen, AdmissibleNoise) or not (chosen.pure or promise.delta):
        raise ArgumentError(
            "noise", noise, "StudentNoise or CauchyNoise, or with delta > 0 LaplaceSlide or GaussianSlide"
        )
    return chosen


def share_for(share: float) -> float:
    """Return a share of ε, strictly between 0 and 1."""
    if probability("share", share, accepted="a number in (0, 1)") == 0.0:
        raise ArgumentError("share", share, "a number in (0, 1)")
    return float(share)
