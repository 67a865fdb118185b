"""Propose, test, release: a proposed bound on the local sensitivity is tested privately before it is used.

The question and its proof are in ``discreet.queries.functions.proposals``. A distance is proved for one
function. Where it says for which (``distance.statistic``), that very function is what is released: an f that is given
as well must agree with it on made-up rows, and is not used beyond that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.arguments import ArgumentError, format_value, positive
from discreet.door import Answer, Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.trial import checked_share_of_epsilon, made_up, tried
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.functions.proposals import ProposedTest
from discreet.queries.functions.user_functions import Array, Own, WholeRows

FARTHEST = 2.0**50
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 99, 100)  # of made-up rows, on which two functions are compared


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Answer):
    """A statistic that passed a test, or the fact that it did not.

    Attributes
    ----------
    passed : bool
        Public, like the value; where it is False, ``value`` is None.
    noise : NoiseDistribution
        On the value.
    """

    passed: bool
    noise: NoiseDistribution

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the statistic with probability ``level``; an error where none came out."""
        if not self.passed:
            raise ArgumentError("value", None, "a statistic that passed the test")
        width = self.noise.half_width(level)
        return self.value - width, self.value + width


@planned
def propose_test_release(
    f: Callable[[Array], Any] | None,
    distance: Callable[[Array], Any],
    data: Any,
    *,
    proposal: float,
    output: Any,
    epsilon: float,
    delta: float,
    share: float = 0.5,
    default: Any = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Verdict]:
    """Return a statistic with noise for a proposed sensitivity, if the rows are far from any for which it is too small.

    What rests on trust: ``distance``, and that neither function writes, prints or sends what it sees. For the
    median and the interquartile range there are ``median_distance`` and ``iqr_distance``, with proofs.

    Parameters
    ----------
    f : callable or None
        From rows to one number. Where it fails, ``default`` takes its place, which ``distance`` must allow for. None
        for the one that the distance is about, where it has it as ``distance.statistic``; another one is then an error.
        (The median of ``median_distance`` is x_⌈n/2⌉; ``np.median`` is another where the number of rows is even.)
    distance : callable
        From rows to a number: at most how many rows must change until one more can move f by more than ``proposal``, 0
        where one already can; it changes by at most 1 when one row does. Rows change as the relation says: one is
        replaced, or comes or goes (it may go under replace-one too, where rows may be dropped). Where it fails, it
        counts as 0.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        With one row for each unit.
    proposal : float
        b; public, not chosen by looking at the rows.
    output : (low, high)
        What f is moved into; public.
    epsilon, delta : float
        In all; δ above 0. The test passes from a distance of about ln(1/(2δ))/(share·ε) on.
    share : float
        Of ε for the test, between 0 and 1.
    default : float
        What stands for failures of f.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.mechanisms import median_distance
    >>> rows = np.random.default_rng(0).normal(50, 5, 5001)
    >>> away = median_distance(0.5, 0, 100)
    >>> result = propose_test_release(
    ...     None, away, rows, proposal=0.5, output=(0, 100), bounds=(0, 100), epsilon=2.0, delta=1e-6
    ... )
    >>> result.passed, bool(30 < result.value < 70)
    (True, True)
    """
    curator = open_rows(data, **declared)
    guarantee = Guarantee(epsilon, delta, curator.neighbors)
    if guarantee.delta == 0.0:
        raise ArgumentError("delta", delta, "above 0, since the test may pass by chance", write="delta=1e-6")
    if curator.setting.max_rows != 1:
        raise ValueError(
            f"max_rows={curator.setting.max_rows}: expected 1, since distances count rows; write sample_and_aggregate"
        )
    bound = positive("proposal", proposal)
    _check_distance(distance, bound, curator)
    own = tried(_statistic_of(f, distance, output, default, curator), curator)
    away = Own.with_output(lambda rows: min(float(distance(rows)), FARTHEST), (0.0, FARTHEST), None, 0.0)
    part = checked_share_of_epsilon(share)
    way = ProposedTest(own, tried(away, curator, "distance"), bound, part)
    loss = way.default_loss(guarantee)

    def answer(release: Release) -> Verdict:
        passed = bool(release["passed"][0])
        value = float(release["value"][0]) if passed else None
        return Verdict.from_releases(
            value, curator, guarantee, [release], passed=passed, noise=way.distributions(loss)[2]
        )

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, loss=loss, bits=bits)


def _check_distance(distance: Any, proposal: float, curator: Curator) -> None:
    """Refuse a distance that says of itself that it is for another relation or another proposal."""
    if not callable(distance):
        raise ArgumentError("distance", distance, "a function of rows", write="for example median_distance(…)")
    relation = getattr(distance, "neighbors", None)
    if relation is not None and (relation is not curator.neighbors or curator.size.rows is None):
        raise ArgumentError(
            "distance", distance, f"rows under {relation}, of which each surely counts and stands for itself"
        )
    if hasattr(distance, "proposal") and positive("distance.proposal", distance.proposal) > proposal:
        raise ArgumentError("proposal", proposal, f"at least the distance's own, {distance.proposal!r}")


def _statistic_of(f: Any, distance: Any, output: Any, default: Any, curator: Curator) -> Own:
    """Return the function that the distance is about, made total: its own where it names one, otherwise f."""
    statistic = getattr(distance, "statistic", None)
    if not callable(statistic):
        if f is None:
            raise ArgumentError(
                "f",
                None,
                f"a function of rows, since distance={format_value(distance)} does not say what it is about",
                write="f, or for example median_distance(…)",
            )
        return Own.one(f, output, default)
    meant = Own.one(statistic, output, default)
    if f is None:
        return meant
    given = tried(Own.one(f, output, default), curator)
    for count in COUNTS:
        rows = made_up(curator, count)
        if given(rows.copy()) != meant(rows.copy()):
            raise ArgumentError(
                "f",
                f,
                f"the function that the distance is about, distance.statistic; on {count} made-up rows the two differ",
                write="None for f",
            )
    return meant
