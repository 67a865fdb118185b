"""What a query is: a sum over rows of contributions whose norm it can prove.

A query is a small immutable value made from public numbers only (a space, categories, parameters of an earlier
release). It clips by itself, so its bound holds for any row whatever; it keeps nothing of what it has seen.

To write one: subclass ``Query``, give ``name``, ``parts``, ``bound`` and ``contributions``, and register it
(``discreet.door.registry``) with a way to make instances. The worst-neighbour search then runs over it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from array_api_compat import array_namespace

from discreet.door.bound import Bound
from discreet.door.part import Part
from discreet.records import Ball, Block, Space

if TYPE_CHECKING:
    from discreet.door.passages import Passage

__all__ = ["Query"]

UNIT_ROUNDOFF = 2.0**-53


class Query(ABC):
    """A sum of clipped contributions.

    Attributes
    ----------
    name : str
        For the ledger and the release; public.
    """

    name: ClassVar[str]

    @property
    def passage(self) -> Passage | None:
        """The way through the door that it is made for; None for the usual one."""
        return None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many numeric columns a block must have."""

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise a ValueError where the query does not fit rows of these declarations; by public facts only.

        A query that has a space of its own must have the curator's, or the ball around it, which clips nothing more:
        two bounds for one thing are one too many.
        """
        own: Space | None = getattr(self, "space", None)
        if own not in (None, space) and not (isinstance(own, Ball) and space is not None and own == space.around):
            raise ValueError(f"query={self.name!r}: expected the space of the curator, {space!r}; got {own!r}")

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
        """Return one row of contributions for each row of the block, shape (n, size). Array-API generic."""

    def sum(self, block: Block) -> Any:
        """Return the sum of the block's contributions, shape (size,). Overridden where it can be had faster."""
        rows = self.contributions(block)
        return array_namespace(rows).sum(rows, axis=0)

    @property
    def size(self) -> int:
        """How many numbers the sum has."""
        return sum(part.size for part in self.parts.values())

    @property
    def roundoff(self) -> float:
        """A bound on the float error of one row's contribution in L2, relative to ``bound.l2``.

        Mapping a row into the unit ball and multiplying two of its coordinates takes at most 16 roundings a
        coordinate and a norm of ``dimension`` squares; queries that do more say so.
        """
        return (self.dimension + 16.0) * UNIT_ROUNDOFF

    def float_error(self, rows: int, accumulation: float) -> float:
        """Return a bound on ‖computed sum − sum of ideal contributions‖₂ over at most ``rows`` rows.

        Each row is evaluated to within roundoff·B, and summing adds accumulation·rows·B(1 + roundoff).
        """
        return rows * self.bound.l2 * (self.roundoff + accumulation * (1.0 + self.roundoff))
