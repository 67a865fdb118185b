"""Perturbation: noise on a statistic of one's own, or on every row (Sarwate and Chaudhuri 2013, (3) to (7)).

**Output** (``output_perturbation``): the global sensitivity of the statistic is stated, (5) to (7). The question and
its proof are in ``discreet.queries.functions.perturbations``.

**Input** (``input_perturbation``): every row gets noise of its own, and all of them are released, (3) and (4). The
question and its proof are in ``discreet.queries.functions.perturbations``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, positive
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee, Neighbors
from discreet.mechanisms.trial import tried
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.functions.perturbations import NoisyRows, Perturbed
from discreet.queries.functions.user_functions import Array, Own, WholeRows


@dataclass(frozen=True, eq=False, repr=False)
class NoisyValue(Answer):
    """A statistic with noise on it.

    Attributes
    ----------
    noise : NoiseDistribution
        On each number.
    """

    noise: NoiseDistribution

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return intervals, one for each number.

        Each holds its number before noise with probability ``level``. They are about the noise alone.
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
    """Return a statistic of one's own with as much noise as its stated sensitivity takes.

    Everything rests on ``sensitivity``, which nobody checks, and on f having no side effects: it must not write, print
    or send what it sees. Where no such number is known, ``sample_and_aggregate`` needs none.

    Parameters
    ----------
    f : callable
        From rows to one number, or ``size`` of them. Rows are an array of shape (rows, columns) in the data's units,
        inside of the declared bounds; numeric columns, then the number of each category. Where f raises, or
        returns NaN or infinity or another shape, ``default`` takes its place and no message tells.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
    sensitivity : float
        How far f, as it is computed and with the default in place of failures, can move when one row is replaced by
        another; when one comes or goes under add-remove, and also where rows may be dropped or persons have several. In
        whatever order the rows come. Where a unit has up to m rows it is multiplied by m here.
    output : (low, high)
        What f is moved into, a number each or ``size`` of them; public.
    epsilon, delta : float
        Above δ = 0 exact Gaussian noise; at δ = 0 exact Laplace noise for one number or in ``"l1"``, and for a vector
        in ``"l2"`` the noise of equation 7, idealised.
    norm : str
        ``"l2"`` or ``"l1"``: in which the sensitivity is stated.
    size : int
        How many numbers f returns; None for one.
    default : float or array
        What stands for failures, moved into ``output``.
    bits : SeededBits
        For a test.
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
    own = tried(Own.with_output(f, output, None if size is None else integer("size", size, least=1), default), curator)
    way = Perturbed(own, positive("sensitivity", sensitivity), choice("norm", norm, ("l2", "l1")))
    question = WholeRows.for_rows(curator, way)
    loss = way.default_loss(guarantee)

    def answer(release: Release) -> NoisyValue:
        noise = way.noise(loss, curator.setting)
        return NoisyValue.from_releases(own.shown(release["value"]), curator, guarantee, [release], noise=noise)

    return Inquiry.of_one(curator, guarantee, question, answer, loss=loss, bits=bits)


@planned
def input_perturbation(
    data: Any, *, epsilon: float, delta: float = 0.0, bits: Bits | None = None, **declared: Unpack[Declarations]
) -> Inquiry[Answer]:
    """Return the rows with noise on each: the numeric columns, in their units, in a random order.

    Each row keeps the guarantee by itself, so the noise is large: some ‖half-widths‖·√d/ε in every column. Whatever is
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
    guarantee = Guarantee(epsilon, delta, curator.neighbors)
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
        return Answer.from_releases(curator.space.from_unit(release["rows"]), curator, guarantee, [release])

    return Inquiry.of_one(curator, guarantee, NoisyRows(curator.space, rows), answer, bits=bits)
