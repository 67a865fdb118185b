"""Output and input perturbation: noise on a user's statistic, or on every row (Sarwate and Chaudhuri 2013, (3) to (7)).

**Output** (``output_perturbation``): the user states the global sensitivity of the statistic, (5) to (7).

**Input** (``input_perturbation``): every row gets independent noise, and all noisy rows are released, (3) and (4).

The queries and their proofs are in ``discreet.queries.functions.perturbations``. Objective perturbation is in
``discreet.queries.objectives``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.arguments import UNSHOWN, ArgumentError, choice, positive
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.trial import require_public_rows, try_function
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.functions.perturbations import NoisyRows, OutputPerturbation
from discreet.queries.functions.user_functions import Array, UserFunction, WholeRows


@dataclass(frozen=True, eq=False, repr=False)
class NoisyValue(Answer):
    """A statistic with noise.

    Attributes
    ----------
    noise : NoiseDistribution
        The noise on each number.
    """

    noise: NoiseDistribution

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return a confidence interval for each number before noise, at this ``level``.

        The intervals account for the noise alone, not for sampling.
        """
        width = self.noise.half_width(level)
        return self.value - width, self.value + width


@planned
def output_perturbation(
    f: Callable[[Array], Any],
    data: Any,
    *,
    sensitivity: float,
    output: Any,
    epsilon: float,
    delta: float = 0.0,
    norm: str = "l2",
    size: int | None = None,
    default: Any = 0.0,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[NoisyValue]:
    """Release a user's statistic with noise for its stated sensitivity.

    Two assumptions are not checked: that ``sensitivity`` is right, and that f has no side effects. f must not write,
    print or send the rows. If the sensitivity is not known, use ``sample_and_aggregate``, which needs none.

    Parameters
    ----------
    f : callable
        From rows to one number, or to ``size`` numbers. Rows are an array of shape (rows, columns) in the data's units,
        clipped to the declared bounds: the numeric columns, then the code of each category. Where f raises, or returns
        NaN, infinity or another shape, ``default`` is used in its place, and no message reports it.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        The rows.
    sensitivity : float
        The largest change of f, as it is computed and with the default in place of failures, when one row is replaced
        by another, whatever the order of the rows. It must also cover a row that is added or removed: under add-remove,
        where rows may be dropped, and where a unit has several rows. If a unit has up to m rows, it is multiplied by m
        here.
    output : (low, high)
        Results of f are clipped to it; one number each, or ``size`` numbers; public.
    epsilon, delta : float
        With δ > 0 the noise is exact Gaussian noise. With δ = 0 it is exact Laplace noise for one number or in
        ``"l1"``; for a vector in ``"l2"`` it is the noise of equation 7, idealised.
    norm : str
        The norm of the stated sensitivity: ``"l2"`` or ``"l1"``.
    size : int
        How many numbers f returns; None for one.
    default : float or array
        Used in place of failures of f; clipped to ``output``.
    bits : SeededBits
        Seeded random bits, for tests.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    NoisyValue

    Examples
    --------
    A trimmed mean of 1000 numbers in [0, 1]: a replaced row moves the sum of those that stay by at most 1, the number
    of which is 800.

    >>> import numpy as np
    >>> def trimmed(rows):
    ...     return np.sort(rows[:, 0])[100:-100].mean()
    >>> rows = np.random.default_rng(0).beta(2, 2, 1000)
    >>> result = output_perturbation(trimmed, rows, bounds=(0, 1), sensitivity=1 / 800, output=(0, 1), epsilon=1.0)
    >>> bool(0.4 < result.value < 0.6)
    True
    """
    curator = open_rows(data, **declared)
    guarantee = Guarantee(epsilon, delta, curator.neighbors)
    function = try_function(UserFunction.with_output(f, output, size, default), curator)
    way = OutputPerturbation(function, positive("sensitivity", sensitivity), choice("norm", norm, ("l2", "l1")))
    question = WholeRows.for_rows(curator, way)
    loss = way.default_loss(guarantee)

    def answer(release: Release) -> NoisyValue:
        noise = way.noise(loss, curator.setting)
        return NoisyValue.from_releases(
            function.as_output(release["value"]), curator, guarantee, [release], noise=noise
        )

    return Inquiry.of_one(curator, guarantee, question, answer, loss=loss, bits=bits)


@planned
def input_perturbation(
    data: Any, *, epsilon: float, delta: float = 0.0, bits: Bits | None = None, **declared: Unpack[Declarations]
) -> Inquiry[Answer]:
    """Release every row with noise: the numeric columns, in their units, in a random order.

    Each row satisfies the guarantee by itself, so the noise is large: about ‖half-widths‖·√d/ε in every column.
    Anything computed from the noisy rows afterwards is post-processing.

    Parameters
    ----------
    data, bits, declared
        As in ``output_perturbation``. Only under replace-one, without dropped rows and with one row for each unit.
    epsilon, delta : float
        With δ = 0 the noise is that of equation 4, idealised (exact Laplace noise for one column). With δ > 0 it is
        exact Gaussian noise.

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
    guarantee = Guarantee(epsilon, delta, curator.neighbors)
    rows = require_public_rows(
        curator, "noisy rows reveal how many there are", "output_perturbation or sample_and_aggregate"
    )
    if curator.space is None:
        raise ArgumentError("data", UNSHOWN, "at least one numeric column")

    def answer(release: Release) -> Answer:
        return Answer.from_releases(curator.space.from_unit(release["rows"]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, NoisyRows(curator.space, rows), answer, bits=bits)
