"""Noisy rows: every row gets noise of its own, and all of them are released (Sarwate and Chaudhuri 2013, (3) and (4)).

*Proof.* ``to_unit`` maps every row into the unit ball, in floats too, whatever rows stand beside it. Two neighbours
under replace-one have the same rows but for one, whose images are at most 2 apart. The noise of a row is independent of
the others', so the output laws differ in that row alone:

- density ∝ e^(−(ε/2)‖z‖): the log-ratio at any point is at most (ε/2)·2 = ε;
- Gaussian noise on a grid: a shift of at most 2 in L2, and 2·grid·√d for the rounding of both: μ, by ``for_query``.

The rows come out in a random order, uniform over all orders. That is post-processing, and it makes the law a function
of the rows as a set: so the promise holds too where a changed value would have put a row in another place of the file,
as in one that is sorted. (Which noisy row is whose is then open; what is known of a person's place tells nothing.)

There is no version under add-remove: n noisy rows reveal n. So nothing here where rows may be dropped, or where a
person has several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.door import Answer, Declarations, Gathering, Passage, Question, open_rows
from discreet.door.part import Part
from discreet.door.passages import Plan, Setting
from discreet.door.question import additive_loss
from discreet.guarantees import Guarantee, LaplaceLoss, Loss, Neighbors, PureLoss
from discreet.mechanisms.own import Array, refuse_gaps
from discreet.noise import Bits, EuclideanNoise, GaussianNoise, LaplaceNoise, SecureBits
from discreet.records import Ball, Block, Box

__all__ = ["input_perturbation"]

APART = 2.0  # two points of the unit ball


def input_perturbation(
    data: Any, *, epsilon: float, delta: float = 0.0, bits: Bits | None = None, **declared: Unpack[Declarations]
) -> Answer:
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
        raise ValueError(
            "neighbors='add-remove': expected 'replace-one', since noisy rows reveal how many there are; for a number "
            "that is safe under add-remove, write output_perturbation or sample_and_aggregate"
        )
    rows = curator.size.rows
    if rows is None:
        raise ValueError(
            "data: expected rows of which each surely counts and stands for itself, since noisy rows reveal how many "
            "count; write missing='fill' for columns with gaps, and one row for each person"
        )
    if rows == 0 or curator.space is None:
        raise ValueError("data: expected at least one row and one numeric column")
    release = curator.measure(NoisyRows(curator.space, rows), promise, bits=bits)
    return Answer.of(curator.space.from_unit(release["rows"]), curator, promise, [release])


class EachRow(Passage):
    """Independent noise on every row; see the module for the proof."""

    kind = "additive"

    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the noise for a ``PureLoss``, a ``LaplaceLoss`` (in one dimension) or a Gaussian one."""
        if not isinstance(query, NoisyRows):
            raise ValueError(f"query={query.name!r}: expected NoisyRows")
        refuse_gaps(setting, query.name)
        if query.rows != setting.rows:
            raise ValueError(f"rows={query.rows!r}: expected how many there are, {setting.rows}")
        law = self.law(loss, query.dimension)
        shape = (query.rows, query.dimension)

        def draw(values: Array, bits: Bits | None) -> Array:
            noisy = law.add(values, bits)
            return np.asarray(noisy[_order(len(noisy), bits)]).ravel()

        exact = law.exact
        return Plan(
            "additive" if exact else "sampled", loss, law if exact else None, exact, {"rows": Part(shape)}, draw
        )

    def law(self, loss: Loss, dimension: int) -> GaussianNoise | LaplaceNoise | EuclideanNoise:
        """Return the noise on one row."""
        if loss.gaussian is not None:
            return GaussianNoise.for_query(mu=loss.gaussian, sensitivity=APART, largest=1.0, size=dimension)
        if isinstance(loss, LaplaceLoss) and dimension == 1:
            return LaplaceNoise.for_query(epsilon=loss.epsilon, sensitivity=APART, largest=1.0)
        if isinstance(loss, PureLoss):
            return EuclideanNoise.for_query(epsilon=loss.epsilon, sensitivity=APART, largest=1.0, size=dimension)
        raise ValueError(f"loss={loss!r}: expected a PureLoss, or a Gaussian one")


@dataclass(frozen=True)
class NoisyRows(Gathering):
    """All rows, mapped into the unit ball.

    Parameters
    ----------
    space : Box or Ball
    rows : int
        How many there are; public.
    """

    space: Box | Ball
    rows: int
    name = "noisy rows"

    @property
    def passage(self) -> Passage:
        """Noise on each."""
        return EachRow()

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def width(self) -> int:
        """All of them."""
        return self.space.dimension

    def taken(self, block: Block) -> Any:
        """Return the row's image in the unit ball."""
        return self.space.to_unit(block.x)

    def usual_loss(self, guarantee: Guarantee) -> Loss:
        """Return a Gaussian loss, or at δ = 0 a pure one."""
        if guarantee.delta == 0.0 and self.dimension > 1:
            return PureLoss(guarantee.epsilon, guarantee.neighbors)
        return additive_loss(guarantee)


def _order(count: int, bits: Bits | None) -> Any:
    """Return a uniform order: by a random word each, all drawn again while two are equal, which favours no order."""
    source = SecureBits() if bits is None else bits
    while True:
        words = source.words(count)
        order = np.argsort(words, kind="stable")
        if np.all(np.diff(words[order].astype(np.uint64)) != 0):
            return order
