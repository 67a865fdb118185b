"""Sums of columns in their own units, about zero: what a total is.

With columns in [l_j, h_j] and M_j = max(|l_j|, |h_j|) a row contributes (x_j/(M_j·√d))_j.

*Bounds.* Each |x_j| ≤ M_j, so ‖c‖₂ ≤ 1 and ‖c‖₁ ≤ √d, attained where every |x_j| = M_j. Two rows are apart by at most
w_j = (h_j − l_j)/M_j in each, so by √(Σw_j²/d) in L2 and Σw_j/√d in L1, attained at two opposite corners.
(Theorem 3.2 of Xi, Kantarcioglu and Inan 2011, for columns in [0, 1]: d in L1 for Σx, the same as n times the mean's.)

``Sum`` is about the middle of the bounds instead: better where the number of rows is public or wanted as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Block, Box
from discreet.records.space import on_device

__all__ = ["Total"]


@dataclass(frozen=True)
class Total(Query):
    """Σx, each column over its largest size and √d."""

    space: Box

    name = "total"

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        return np.asarray(self.space.low, dtype=np.float64), np.asarray(self.space.high, dtype=np.float64)

    @cached_property
    def scale(self) -> tuple[float, ...]:
        """M_j·√d: what a step of the released numbers is in the columns' units."""
        low, high = self._ends
        sizes: list[float] = (np.maximum(np.abs(low), np.abs(high)) * math.sqrt(self.dimension)).tolist()
        return tuple(sizes)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The sums."""
        return {"total": Part((self.dimension,))}

    @property
    def bound(self) -> Bound:
        """See the module."""
        low, high = self._ends
        widths = (high - low) / np.asarray(self.scale)
        l1, l2 = float(widths.sum()), float(np.sqrt((widths**2).sum()))
        return Bound(l2=1.0, l1=math.sqrt(self.dimension), replace_l2=l2, replace_l1=l1)

    def contributions(self, block: Block) -> Any:
        """Return x/(M·√d)."""
        x = self.space.clip(block.x)
        sizes = on_device(self.scale, x)
        return array_namespace(x).clip(x / sizes, -1.0, 1.0)
