"""What a query is: a sum over rows of contributions whose norm it can prove.

A query is a small immutable value made from public numbers only (a space, categories, parameters of an earlier
release). It clips by itself, so its bound holds for any row whatever; it keeps nothing of what it has seen.

To write one: subclass ``Query``, give ``name``, ``parts``, ``bound`` and ``contributions``, and register it
(``discreet.door.registry``) with a way to make instances. The worst-neighbour search then runs over it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.door.bound import Bound
from discreet.door.part import Part
from discreet.door.question import Question
from discreet.records import Block, Contributions, Records

if TYPE_CHECKING:
    from discreet.door.passages import Setting

__all__ = ["Query"]

UNIT_ROUNDOFF = 2.0**-53


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
        """Return one row of contributions for each row of the block, shape (n, size). Array-API generic."""

    def sum(self, block: Block) -> Any:
        """Return the sum of the block's contributions, shape (size,). Overridden where it can be had faster."""
        rows = self.contributions(block)
        return array_namespace(rows).sum(rows, axis=0)

    def collect(self, records: Records, setting: Setting) -> NDArray[np.float64]:
        """Return the sum over all rows.

        No sum is larger than the setting's bound. If it were (a file that grew), an error would tell; moving it back
        does not, and a move into a public interval brings no two sums farther apart in any norm.
        """
        most = setting.largest(self)
        each = Contributions(self.contributions, self.bound.l2)
        return np.clip(records.reduce(self.sum, self.size, each), -most, most)

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
