"""A covariance by SuLQ (Blum, Dwork, McSherry and Nissim 2005), to compare with: every entry is a query of its own.

Rows y in the unit ball contribute the products y_i·y_j, i ≤ j. *Bound.* Their squares sum to (‖y‖⁴ + Σy_i⁴)/2 ≤ 1. For
two rows, with D = yyᵀ − y'y'ᵀ, to (‖D‖² + ΣD_ii²)/2, where ‖D‖² ≤ 2, as ⟨yyᵀ, y'y'ᵀ⟩ ≥ 0, and ΣD_ii² is at most
Σy_i⁴ + Σy'_i⁴ ≤ 2: √2 in all. The noise is copied across the diagonal; the packed matrix of ``Moments`` has half of its
variance there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box

__all__ = ["COUNTED", "Products"]


COUNTED = 0.05  # a²


@dataclass(frozen=True)
class Products(Query):
    """Σ y_i·y_j for i ≤ j, and the number of rows where it is asked for; see the module."""

    space: Box | Ball
    counted: bool
    name = "products"

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def _weights(self) -> tuple[float, float]:
        a2 = COUNTED if self.counted else 0.0
        return math.sqrt(a2), math.sqrt(1.0 - a2)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count and the products."""
        a, c = self._weights
        count = {"count": Part((1,), a)} if a else {}
        return count | {"products": Part((self.dimension * (self.dimension + 1) // 2,), c)}

    @property
    def bound(self) -> Bound:
        """See the module; two rows along different axes attain it, which the search comes near to."""
        _, c = self._weights
        near = 0.9 if self.dimension > 1 else math.sqrt(0.5)
        return Bound(l2=1.0, replace_l2=math.sqrt(2.0) * c, attained={"replace_l2": near})

    def contributions(self, block: Block) -> Any:
        """Return the count and the products."""
        a, c = self._weights
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        i, j = (xp.asarray(part, device=device(y)) for part in np.triu_indices(self.dimension))
        count = [xp.full((y.shape[0], 1), a, dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, c * xp.take(y, i, axis=1) * xp.take(y, j, axis=1)], axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums by one matrix product."""
        a, c = self._weights
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        i, j = (xp.asarray(part, device=device(y)) for part in np.triu_indices(self.dimension))
        gram = xp.take(xp.reshape(xp.matmul(y.T, y), (-1,)), i * self.dimension + j, axis=0)
        count = [xp.full((1,), a * y.shape[0], dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, c * gram], axis=0)
