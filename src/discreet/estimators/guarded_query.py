"""What a model from outside may do to real rows: contribute, and no more than it says.

``check_model`` looks for faults on made-up rows; this makes those that it cannot find harmless. Whatever the code of a
model does with a row, a row contributes finite numbers of norm at most B, its own ``bound.l2``:

- its contributions are taken through ``discreet.records.guard``, so what is looked at are plain numbers, and nothing
  that the code raises, warns of or returns tells of a row;
- contributions that are longer are shortened, and those that are not finite, or masked, are 0;
- where the code fails, or gives another shape or another type than float64, its rows are tried in halves, down to one,
  and a row for which it does is 0: so one row does not take the others with it;
- the sum is taken here, of these contributions; the model's own ``sum`` never sees a row;
- ``parts``, ``bound`` and ``roundoff`` are asked once, before a row is read: what is enforced is what was charged.

Contributions come to the host and are shortened there, whatever library the rows are of.

*Proof of the norm.* A row longer than B(1 + r), r its float error, is multiplied by B over its length. The length of D
numbers is off by at most (D/2 + 4)u, the product by a few u: every row that is summed is at most B(1 + r + (D + 16)u)
long, and (D + 16)u is added to the float error that is charged. What stays the author's to prove is that a row's
contribution depends on no other row, and ``replace_l2`` where it is below 2B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.door.bound import Bound
from discreet.door.part import Part
from discreet.door.query import Query
from discreet.door.registry import registered
from discreet.em import ModelQuery
from discreet.models.joint import JointMixture
from discreet.records import Ball, Block
from discreet.records.guard import NotNumbers, attempt_rows
from discreet.records.space import UNIT_ROUNDOFF

__all__ = ["GuardedQuery"]

Array = NDArray[np.float64]


def _instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    model, space = JointMixture(3), Ball(radius, center=np.zeros(d))
    return [GuardedQuery(model, model.initialize(d, rng), space)]


@registered(_instances)
@dataclass(frozen=True, eq=False)
class GuardedQuery(ModelQuery[Any]):
    """The query of a model that is not the library's own; see the module."""

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The model's."""
        return dict(super().parts)

    @cached_property
    def bound(self) -> Bound:
        """The model's."""
        return super().bound

    @cached_property
    def _own_roundoff(self) -> float:
        return super().roundoff

    @property
    def roundoff(self) -> float:
        """The model's, and what shortening adds."""
        return self._own_roundoff + (self.size + 16.0) * UNIT_ROUNDOFF

    def contributions(self, block: Block) -> Array:
        """Return what each row contributes: finite, and no longer than the bound."""
        rows = attempt_rows(partial(self._asked, block), block.x.shape[0], self.size, 0.0)
        rows = np.where(np.all(np.isfinite(rows), axis=1, keepdims=True), rows, 0.0)
        largest = np.max(np.abs(rows), axis=1, keepdims=True, initial=0.0)
        largest = np.where(largest > 0.0, largest, 1.0)
        direction = rows / largest  # so that no square overflows
        length = np.sqrt(np.sum(direction * direction, axis=1, keepdims=True))
        most = self.bound.l2
        with np.errstate(over="ignore"):
            too_long = length > most * (1.0 + self._own_roundoff) / largest
        return np.where(too_long, direction * (most / np.where(too_long, length, 1.0)), rows)

    def _asked(self, block: Block, some: slice) -> Any:
        """Return the model's contributions of some rows, which are copied: it may write into them."""
        xp = array_namespace(block.x)
        rows = super().contributions(Block(*(xp.asarray(part[some, :], copy=True) for part in block)))
        if not str(rows.dtype).endswith("float64"):  # its float error is charged for no other
            raise NotNumbers(f"values of type {rows.dtype}")
        return rows

    def sum(self, block: Block) -> Array:
        """Return the sum of these contributions."""
        return np.asarray(Query.sum(self, block))
