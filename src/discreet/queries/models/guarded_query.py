"""What a model from outside may do to real rows: contribute, and no more than it says.

``check_model`` looks for faults on made-up rows; this makes those that it cannot find harmless. Whatever the code of a
model does with a row, a row contributes finite numbers of norm at most B, its own ``bound.l2``:

- its contributions are taken through ``queries.functions.guard``, so what is looked at are plain numbers, and nothing
  that the code raises, warns of or returns tells of a row;
- each is held to its bound (``Bound.hold``), and those that are not finite, or masked, are 0;
- where the code fails, or gives another shape or another type than float64, its rows are tried in halves, down to one,
  and a row for which it does is 0: so one row does not take the others with it;
- the sum is taken here, of these contributions; the model's own ``sum`` never sees a row;
- ``parts``, ``bound`` and ``roundoff`` are asked once, before a row is read: what is enforced is what was charged.

Contributions come to the host and are shortened there, whatever library the rows are of. What stays the author's to
prove is that a row's contribution depends on no other row, and ``replace_l2`` where it is below 2B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.queries.bound import Bound
from discreet.queries.functions.guard import NotNumbers, attempt_rows
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.question import Part, Query
from discreet.records import Block

__all__ = ["GuardedQuery"]

Array = NDArray[np.float64]


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
    def roundoff(self) -> float:
        """The model's."""
        return super().roundoff

    def contributions(self, block: Block) -> Array:
        """Return what each row contributes: finite, and no longer than the bound."""
        rows = attempt_rows(partial(self._asked, block), block.x.shape[0], self.size, 0.0)
        return np.asarray(self.bound.hold(rows, self.roundoff))

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
