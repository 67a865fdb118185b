"""What a model from outside may do to real rows: contribute, and no more than it says.

``check_model`` looks for faults on made-up rows; this makes those that it cannot find harmless. Whatever the code of a
model does with a row, a row contributes finite numbers of norm at most B, its own ``bound.l2``:

- contributions that are longer are shortened, and those that are not finite are 0;
- where the code raises, or gives another shape, its rows are tried one by one, and a row for which it does is 0: so no
  error tells of a row, and one row does not take the others with it;
- the sum is taken here, of these contributions; the model's own ``sum`` never sees a row.

*Proof of the norm.* A row longer than B(1 + r), r its float error, is multiplied by B over its length. The length of D
numbers is off by at most (D/2 + 4)u, the product by a few u: every row that is summed is at most B(1 + r + (D + 16)u)
long, and (D + 16)u is added to the float error that is charged. What stays the author's to prove is that a row's
contribution depends on no other row, and ``replace_l2`` where it is below 2B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.door.query import Query
from discreet.door.registry import registered
from discreet.em import ModelQuery
from discreet.models.joint import JointMixture
from discreet.records import Ball, Block
from discreet.records.space import UNIT_ROUNDOFF

__all__ = ["GuardedQuery"]


def _instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    model, space = JointMixture(3), Ball(radius, center=np.zeros(d))
    return [GuardedQuery(model, model.initialize(d, rng), space)]


@registered(_instances)
@dataclass(frozen=True, eq=False)
class GuardedQuery(ModelQuery[Any]):
    """The query of a model that is not the library's own; see the module."""

    @property
    def roundoff(self) -> float:
        """The model's, and what shortening adds."""
        return super().roundoff + (self.size + 16.0) * UNIT_ROUNDOFF

    def contributions(self, block: Block) -> Any:
        """Return what each row contributes: finite, and no longer than the bound."""
        xp = array_namespace(block.x)
        rows = self._tried(block)
        if rows is None:
            single = (Block(block.x[i : i + 1, :], block.codes[i : i + 1, :]) for i in range(block.x.shape[0]))
            each = [self._tried(one) for one in single]
            nothing = xp.zeros((1, self.size), dtype=xp.float64, device=device(block.x))
            rows = xp.concat([nothing if row is None else row for row in each], axis=0)
        finite = xp.all(xp.isfinite(rows), axis=1, keepdims=True)
        rows = xp.where(finite, rows, xp.zeros_like(rows))
        largest = xp.max(xp.abs(rows), axis=1, keepdims=True)
        largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
        direction = rows / largest  # so that no square overflows
        length = xp.sqrt(xp.sum(direction * direction, axis=1, keepdims=True))
        most = self.bound.l2
        too_long = length > most * (1.0 + super().roundoff) / largest
        return xp.where(too_long, direction * (most / xp.where(too_long, length, xp.ones_like(length))), rows)

    def _tried(self, block: Block) -> Any:
        """Return the model's contributions, or None where they cannot be had."""
        try:
            rows = super().contributions(block)
            right = tuple(rows.shape) == (block.x.shape[0], self.size) and str(rows.dtype).endswith("float64")
        except Exception:
            return None
        return rows if right else None

    def sum(self, block: Block) -> Any:
        """Return the sum of these contributions."""
        return Query.sum(self, block)
