"""Questions that can be asked of rows: base classes ``Question``, ``Query``, ``Selection`` and ``RowQuery``.

There are two kinds, ``Query`` and ``RowQuery``. A ``Query`` is a sum over rows of contributions with a proved bound on
their norm; most questions are queries. A ``Selection`` is a query whose sum gives scores to candidates. A ``RowQuery``
needs all rows together, in order or in parts: order statistics, or a user's function. Their results stay on the private
side until the door adds noise.

A question is a small immutable value made from public numbers only (a space, categories, parameters of an earlier
release). A query clips each row itself, so its bound holds for any row. It stores nothing about the rows.

To write one, subclass ``Query`` and define ``name``, ``parts``, ``bound`` and ``contributions``. Then add a factory of
instances to ``tests/support/instances.py``, and the worst-neighbour search attacks it.

Where contributions are computed row by row, each is clipped to its bound (``Bound.clip_contributions``), even if the
query's proof is wrong. The author of a query remains responsible for the following: that a row's contribution depends
on no other row and on no state; that an overridden ``sum`` or ``collect`` equals the sum of the contributions; a bound
on differences below 2B; a ``roundoff`` or ``float_error`` below the default; that ``whole_numbers``, where a query
claims them, follow from a row's own bits, and an overridden ``sum`` adds up nothing else; the ``spread`` of a
selection's scores.

The sum has named ``Part``s, which say how consecutive numbers become a count, a vector or a symmetric matrix. A query
weights its parts before they are summed, so that one noise distribution serves all of them. A release shows each part
divided by its weight.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, iterable, positive
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.queries.bound import UNIT_ROUNDOFF, Bound, Setting
from discreet.records import Ball, Block, Box, Records, Space, float_error

if TYPE_CHECKING:
    from discreet.queries.mechanism import Mechanism

Array = NDArray[np.float64]
PIECE = 2**18  # rows that a query sums at a time


def additive_loss(guarantee: Guarantee) -> Loss:
    """Return the loss of additive noise that spends exactly this guarantee: Gaussian, or Laplace at δ = 0."""
    if guarantee.delta:
        return calibrate(guarantee, GaussianLoss(1.0, guarantee.neighbors)).losses[0]
    return LaplaceLoss(guarantee.epsilon, guarantee.neighbors)


def upper_triangle(dimension: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return the packed entries (i, j) of a symmetric matrix, in order, and the factor of each."""
    i, j = np.triu_indices(dimension)
    return i, j, np.where(i == j, 1.0, math.sqrt(2.0))


def upper_triangle_like(rows: Any, dimension: int) -> tuple[Any, Any, Any]:
    """Return ``upper_triangle`` in the array library and on the device of ``rows``."""
    xp = array_namespace(rows)
    return tuple(xp.asarray(part, device=device(rows)) for part in upper_triangle(dimension))


def pack_squares(rows: Any) -> Any:
    """Return yyᵀ of each row y, packed; array-API generic."""
    xp = array_namespace(rows)
    i, j, scale = upper_triangle_like(rows, rows.shape[1])
    return xp.take(rows, i, axis=1) * xp.take(rows, j, axis=1) * scale


def pack_gram(rows: Any) -> Any:
    """Return Σ yyᵀ over the rows y, packed, by one matrix product; array-API generic."""
    xp = array_namespace(rows)
    d = rows.shape[1]
    i, j, scale = upper_triangle_like(rows, d)
    return xp.take(xp.reshape(xp.matmul(rows.T, rows), (-1,)), i * d + j, axis=0) * scale


@dataclass(frozen=True)
class Part:
    """One named part of a sum.

    Parameters
    ----------
    shape : tuple of int
        The shape in which a release shows it.
    weight : float
        The factor that it was multiplied by before the sum.
    symmetric : bool
        Whether the last two axes are symmetric d×d matrices. Only the upper triangle is stored, row by row, with a
        factor of √2 off the diagonal, so that the norm of the packed vector is the Frobenius norm of the matrix.
    """

    shape: tuple[int, ...]
    weight: float = 1.0
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not iterable(self.shape):
            raise ArgumentError("shape", self.shape, "a tuple of whole numbers", write="shape=(3,), for example")
        shape = tuple(integer("shape", axis, least=1) for axis in self.shape)
        if not isinstance(self.symmetric, bool) or (self.symmetric and (len(shape) < 2 or shape[-1] != shape[-2])):
            raise ArgumentError(("shape", "symmetric"), (self.shape, self.symmetric), "square matrices, or False")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "weight", 0.0 if self.weight == 0 else positive("weight", self.weight))

    @property
    def size(self) -> int:
        """How many numbers of the sum belong to it."""
        if not self.symmetric:
            return math.prod(self.shape)
        *several, d, _ = self.shape
        return math.prod(several) * d * (d + 1) // 2

    def unpack(self, values: Array) -> Array:
        """Return the part divided by its weight, in its shape.

        >>> Part((2, 2), weight=2.0, symmetric=True).unpack(np.array([2.0, 2.0 * np.sqrt(2.0), 4.0])).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
        """
        plain = np.asarray(values, dtype=np.float64) / self.weight
        if not self.symmetric:
            return plain.reshape(self.shape)
        i, j, scale = upper_triangle(self.shape[-1])
        matrices = np.zeros(self.shape)
        matrices[..., i, j] = matrices[..., j, i] = plain.reshape(*self.shape[:-2], -1) / scale
        return matrices

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain values."""
        return {"shape": list(self.shape), "weight": self.weight, "symmetric": self.symmetric}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the part that ``to_dict`` described."""
        if not isinstance(values, Mapping) or values.keys() != {"shape", "weight", "symmetric"}:
            raise ArgumentError("part", values, "shape, weight and symmetric, as to_dict writes them")
        if not isinstance(values["shape"], list | tuple):
            raise ArgumentError("shape", values["shape"], "a list of whole numbers")
        return cls(tuple(values["shape"]), values["weight"], values["symmetric"])


class Question(ABC):
    """A question about rows.

    Attributes
    ----------
    name : str
        Its name in the ledger and in releases; public.
    """

    name: ClassVar[str]

    @property
    def mechanism(self) -> Mechanism | None:
        """The mechanism of this question; None for the default (``mechanism_for``)."""
        return None

    @property
    def dimension(self) -> int:
        """How many numeric columns a block must have, 0 if none is used; by default those of its ``space``."""
        own: Space | None = getattr(self, "space", None)
        if own is None:
            raise TypeError(f"{type(self).__name__}: write dimension, how many numeric columns a row must have")
        return own.dimension

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise a ValueError where the question does not fit rows with these declarations; uses public facts only.

        The space of a question must be the curator's, or the ball around it, which clips nothing more, or the ball that
        the curator's box encloses. Two different bounds for the same columns are not allowed.
        """
        own: Space | None = getattr(self, "space", None)
        balls = isinstance(own, Ball) and space is not None and (own == space.around or Box.holding(own) == space)
        if own not in (None, space) and not balls:
            raise ArgumentError("query", self.name, f"the space of the curator, {space!r}; got {own!r}")

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the loss that spends a guarantee on this question: by default that of additive noise."""
        return additive_loss(guarantee)

    def facts(self, setting: Setting) -> tuple[Any, ...]:
        """Return the facts that the noise is derived from; the door compares them before and after rows are read."""
        return ()

    @abstractmethod
    def collect(self, records: Records, setting: Setting) -> Any:
        """Return the private input of the mechanism. It must not raise for anything in a row.

        It is an array, or a function that sums over the rows, for a mechanism that reads them repeatedly.
        """


class RowQuery(Question):
    """A question that needs all rows together. The proof, for any rows, is that of its mechanism."""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers ``take`` returns for each row."""

    @abstractmethod
    def take(self, block: Block) -> Any:
        """Return the numbers of each row, shape (n, width); they depend on that row alone."""

    @abstractmethod
    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the loss that spends a guarantee on this question."""

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return the numbers of each row that contributes, shape (rows, width)."""
        return records.gather(self.take, self.width)


class Query(Question):
    """A sum of clipped contributions."""

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, Part]:
        """The named parts of the sum, in order."""

    @property
    @abstractmethod
    def bound(self) -> Bound:
        """The proved norms of one row's contribution."""

    @abstractmethod
    def contributions(self, block: Block) -> Any:
        """Return one contribution for each row of the block, shape (n, size). Array-API generic."""

    def sum(self, block: Block) -> Any:
        """Return the sum of the block's contributions, each clipped to its bound; shape (size,).

        Overridden where the sum can be computed faster than its terms.
        """
        rows = self.clipped_contributions(block)
        return array_namespace(rows).sum(rows, axis=0)

    def sum_in_pieces(self, block: Block) -> Any:
        """Return the sum of a block of any size, by ``sum`` of at most ``PIECE`` rows at a time.

        Blocks on a GPU have millions of rows. Pieces keep the float error small (``summation_depth``).
        """
        rows = block.x.shape[0]
        pieces = [slice(start, min(start + PIECE, rows)) for start in range(0, max(rows, 1), PIECE)]
        first, *others = (self.sum(Block(block.x[piece, ...], block.codes[piece, ...])) for piece in pieces)
        for other in others:
            first = first + other
        return first

    def clipped_contributions(self, block: Block) -> Any:
        """Return the block's contributions, one per row, as 64-bit floats, each clipped to its bound.

        Where a query claims ``whole_numbers``, a row with others, or with more than its bound, contributes nothing,
        like a dropped row, which every bound covers. So all that is added up is whole, whatever the query computes from
        a row's own bits.
        """
        rows = self.contributions(block)
        xp = array_namespace(rows)
        if tuple(rows.shape) != (block.x.shape[0], self.size) or xp.isdtype(rows.dtype, "complex floating"):
            raise ValueError(
                f"contributions of {self.name!r}: expected {self.size} real numbers for each row; write an array of "
                "shape (rows, size), whatever the rows hold"
            )
        rows = xp.astype(rows, xp.float64, copy=False)
        clipped = self.bound.clip_contributions(rows, self.roundoff)
        if self.whole_numbers and not bool(xp.all(whole := (clipped == rows) & (rows == xp.trunc(rows)))):
            return xp.where(xp.all(whole, axis=1)[:, None], rows, xp.zeros_like(rows))
        return clipped

    def facts(self, setting: Setting) -> tuple[Any, ...]:
        """Return the bound, the roundoff, the size of the sum and its accumulation."""
        return (self.bound, self.roundoff, self.size, self.accumulation(setting))

    def collect(self, records: Records, setting: Setting) -> NDArray[np.float64]:
        """Return the sum over all rows, clipped to its public bound.

        No sum exceeds the setting's bound unless, for example, a file grew. Raising an error for such a sum would
        reveal it. Clipping does not, and clipping to a public interval brings no two sums farther apart in any norm.

        A database computes contributions itself and does not clip them to their bound. So only this library's own
        queries, which the tests attack, are computed in a database; for other queries the rows are read.
        """
        from discreet.queries.question_files import describe  # it imports every query

        most = setting.largest(self)
        each = None if describe(self) is None else self.contributions
        return np.clip(records.reduce(self.sum_in_pieces, self.size, self.bound.l2, each), -most, most)

    @property
    def size(self) -> int:
        """How many numbers the sum has."""
        return sum(part.size for part in self.parts.values())

    @property
    def roundoff(self) -> float:
        """A bound on the float error of one row's contribution in L2, relative to ``bound.l2``.

        Mapping a row into the unit ball and multiplying two of its coordinates takes at most 16 roundings per
        coordinate and a norm of ``dimension`` squares. Queries with more operations override this. Whole numbers that
        follow from the row's own bits have none.
        """
        return 0.0 if self.whole_numbers else (self.dimension + 16.0) * UNIT_ROUNDOFF

    @property
    def whole_numbers(self) -> bool:
        """Whether a row contributes whole numbers, which follow from its own bits alone: counts, for example.

        Their sums are exact in every order, so nothing is charged for floats (``records.sources.whole_sums``).
        """
        return False

    def summation_depth(self, rows: int) -> int:
        """Return the largest number of additions, plus one, of a term in the sum of a block of so many rows.

        In any order that is the number of rows of a piece, and one for each piece; all rows where a query collects in
        another way. It is smaller where ``sum`` itself is known to add up in pieces, and the query is none that a
        database could sum: ``sql.text`` needs that number.
        """
        return min(rows, PIECE + -(-rows // PIECE)) if type(self).collect is Query.collect else rows

    def accumulation(self, setting: Setting) -> float:
        """Return γ of the sum over rows (``records.sources.whole_sums``): 0 where whole numbers are added up."""
        if self.whole_numbers and setting.adds_exactly(self.bound.l2):
            return 0.0
        return float_error(self.summation_depth(setting.block_rows))

    def float_error(self, rows: int, accumulation: float) -> float:
        """Return a bound on ‖computed sum − sum of ideal contributions‖₂ over at most ``rows`` rows.

        Each row is evaluated to within roundoff·B, and summing adds accumulation·rows·B(1 + roundoff).
        """
        return rows * self.bound.l2 * (self.roundoff + accumulation * (1.0 + self.roundoff))


class Selection(Query):
    """A sum over rows that determines scores of candidates.

    There may be several choices at once (``choices``), each among as many candidates: ``scores`` then has an axis of
    choices first, and ``spread`` bounds the sum of the ranges of all choices.
    """

    @property
    def choices(self) -> int:
        """How many candidates are selected, one for each choice."""
        return 1

    def default_loss(self, guarantee: Guarantee) -> Loss:
        """Return the exponential mechanism's."""
        return BoundedRangeLoss(guarantee.epsilon, guarantee.neighbors)

    def facts(self, setting: Setting) -> tuple[Any, ...]:
        """Return the facts of the sum, the spread and the largest score."""
        return (*super().facts(setting), self.spread(setting), self.largest_score(setting))

    @abstractmethod
    def scores(self, values: Array) -> Array:
        """Return a score for each candidate; total: any vector of sums gives finite scores."""

    @abstractmethod
    def spread(self, setting: Setting) -> float:
        """Return sup over neighbours of max_i(s_i − s'_i) − min_i(s_i − s'_i), float error included."""

    @abstractmethod
    def largest_score(self, setting: Setting) -> float:
        """Return a public bound on the absolute value of every score."""
