"""Propose, test, release: a proposed bound on the local sensitivity is tested privately before it is used.

The query and its proof are in ``discreet.queries.functions.proposals``. A distance is proved for one statistic. If the
distance has it as ``distance.statistic``, that function is released: an f that is given as well must agree with it on
made-up rows, and is not used otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.arguments import ArgumentError, format_value, positive
from discreet.door import Answer, Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.trial import check_share, make_up_rows, require_one_row_per_unit, try_function
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.functions.proposals import ProposeTestRelease
from discreet.queries.functions.user_functions import Array, UserFunction, WholeRows

FARTHEST = 2.0**50
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 99, 100)  # of made-up rows, on which two functions are compared


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Answer):
    """The result of the test, and the noisy statistic if the test passed.

    Attributes
    ----------
    passed : bool
        Whether the test passed; public, like the value. If False, ``value`` is None.
    noise : NoiseDistribution
        The noise on the value.
    """

    passed: bool
    noise: NoiseDistribution

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval for the statistic before noise; raise where the test did not pass."""
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
    """Release a statistic with noise for a proposed sensitivity, if a private test finds the proposal large enough.

    The test asks whether the rows are far from every data set on which the proposal is too small. Two assumptions are
    not checked: that ``distance`` is right, and that neither function writes, prints or sends the rows. For the median
    and the interquartile range, ``median_distance`` and ``iqr_distance`` come with proofs.

    Parameters
    ----------
    f : callable or None
        From rows to one number. Where it fails, ``default`` is used in its place, which ``distance`` must allow for.
        None if the distance has its own statistic, ``distance.statistic``; a different f is then an error. (The median
        of ``median_distance`` is x_⌈n/2⌉, which differs from ``np.median`` for an even number of rows.)
    distance : callable
        From rows to a number: at most how many rows must change until one more row can change f by more than
        ``proposal``; 0 where one row already can. It changes by at most 1 when one row changes. Rows change as the
        neighbour relation says: one is replaced, or added or removed (it may also be removed under replace-one, where
        rows may be dropped). Where it fails, it counts as 0.
    data, output, bits, declared
        As in ``output_perturbation``, with one row for each unit.
    proposal : float
        The proposed sensitivity, b; public, not chosen by looking at the rows.
    epsilon, delta : float
        The whole cost; δ above 0. The test passes at distances from about ln(1/(2δ))/(share·ε).
    share : float
        The share of ε for the test, between 0 and 1.
    default : float
        Used in place of failures of f.

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
    require_one_row_per_unit(curator, "distances count rows")
    bound = positive("proposal", proposal)
    _check_distance(distance, bound, curator)
    function = try_function(_statistic_of(f, distance, output, default, curator), curator)
    away = UserFunction.with_output(lambda rows: min(float(distance(rows)), FARTHEST), (0.0, FARTHEST), None, 0.0)
    part = check_share(share)
    way = ProposeTestRelease(function, try_function(away, curator, "distance"), bound, part)
    loss = way.default_loss(guarantee)

    def answer(release: Release) -> Verdict:
        passed = bool(release["passed"][0])
        value = float(release["value"][0]) if passed else None
        return Verdict.from_releases(
            value, curator, guarantee, [release], passed=passed, noise=way.distributions(loss)[2]
        )

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, loss=loss, bits=bits)


def _check_distance(distance: Any, proposal: float, curator: Curator) -> None:
    """Raise where the distance declares another neighbour relation or another proposal."""
    if not callable(distance):
        raise ArgumentError("distance", distance, "a function of rows", write="for example median_distance(…)")
    relation = getattr(distance, "neighbors", None)
    if relation is not None and (relation is not curator.neighbors or curator.size.rows is None):
        raise ArgumentError(
            "distance", distance, f"a data set under {relation} in which every row counts and is a unit of its own"
        )
    if hasattr(distance, "proposal") and positive("distance.proposal", distance.proposal) > proposal:
        raise ArgumentError("proposal", proposal, f"at least the distance's own, {distance.proposal!r}")


def _statistic_of(f: Any, distance: Any, output: Any, default: Any, curator: Curator) -> UserFunction:
    """Return the statistic of the distance, made total: ``distance.statistic`` where it has one, otherwise f."""
    statistic = getattr(distance, "statistic", None)
    if not callable(statistic):
        if f is None:
            raise ArgumentError(
                "f",
                None,
                f"a function of rows, since distance={format_value(distance)} has no statistic of its own",
                write="f, or for example median_distance(…)",
            )
        return UserFunction.scalar(f, output, default)
    expected = UserFunction.scalar(statistic, output, default)
    if f is None:
        return expected
    given = try_function(UserFunction.scalar(f, output, default), curator)
    for count in COUNTS:
        rows = make_up_rows(curator, count)
        if given(rows.copy()) != expected(rows.copy()):
            raise ArgumentError(
                "f",
                f,
                f"the statistic of the distance, distance.statistic; on {count} made-up rows the two differ",
                write="None for f",
            )
    return expected
