"""The sums of each column under a public operator: what is measured of rows that are persons, in every step perhaps.

A row x in Π[l_t, h_t] contributes O·(x − a), a the middle of the box where the number of rows is public (it is put back
afterwards) and 0 where it is not. So x − a lies in ±M_t, and ‖c‖ ≤ ``O.reach(M)``; two rows differ by at most w_t = h_t
− l_t in each step, so ‖c − c'‖ ≤ ``O.reach(w)``. (x − a is rounded and then moved into ±M_t; rounding keeps the order,
so two of them differ by no more than the rounded h_t − a and l_t − a do, a few u above w_t. ``length`` rounds up by
more.)

*Float error*, as in ``step_sums``: |S̃_t − S_t| ≤ γ·n·M_t in each step, so ‖O(S̃ − S)‖₂ ≤ γ·n·O.reach(M), and ``apply``
errs by at most error·‖S̃‖₁ ≤ error·(1 + γ)·n·ΣM_t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.queries.bound import Bound
from discreet.queries.series.of_series import OfSeries
from discreet.queries.series.operators import Operator, length
from discreet.records import Block, Box, Contributions
from discreet.records.space import on_device

__all__ = ["ColumnSums"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnSums(OfSeries):
    """O·S for persons: each row has a number for every step.

    Parameters
    ----------
    space : Box
        The curator's; as many columns as there are steps.
    operator : Operator
    centred : bool
        Whether rows are taken about the middle of the box.
    """

    space: Box
    operator: Operator
    centred: bool

    def __post_init__(self) -> None:
        if self.operator.count != self.space.dimension:
            raise ArgumentError("operator", UNSHOWN, f"one over {self.space.dimension} steps, one a column")

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        low, high = (np.asarray(end, dtype=np.float64) for end in (self.space.low, self.space.high))
        return low, high

    @cached_property
    def middle(self) -> Array:
        """What is taken off each row, shape (T,)."""
        return np.asarray(self.space.center, dtype=np.float64) if self.centred else np.zeros(self.dimension)

    @cached_property
    def largest(self) -> Array:
        """M: how far from zero each step's number may be, shape (T,)."""
        low, high = self._ends
        return np.maximum(high - self.middle, self.middle - low)

    @cached_property
    def bound(self) -> Bound:
        """See the module."""
        low, high = self._ends
        sizes, widths = self.largest, high - low
        bounds = {norm: self.operator.reach(sizes, norm) for norm in ("l2", "l1")}
        bounds |= {f"replace_{norm}": self.operator.reach(widths, norm) for norm in ("l2", "l1")}
        return Bound(attained=self._attained(bounds), **bounds)  # type: ignore[arg-type]

    def _attained(self, bounds: Mapping[str, float]) -> dict[str, float]:
        """Return how much of each bound the two corners, all low and all high, attain."""
        low, high = (self.operator.apply(end - self.middle) for end in self._ends)
        found = {"l2": (low, high), "l1": (low, high), "replace_l2": (high - low,), "replace_l1": (high - low,)}
        return {
            name: min(max(length(one, name.removeprefix("replace_")) for one in found[name]) / bounds[name], 1.0)
            for name in bounds
        }

    def float_error(self, rows: int, accumulation: float) -> float:
        """See the module."""
        applied = self.operator.error * (1.0 + accumulation) * length(self.largest, "l1")
        return rows * (accumulation * self.operator.reach(self.largest, "l2") + applied)

    def _series(self, block: Block) -> Any:
        """Return each row's own series, in ±M."""
        x = self.space.clip(block.x)
        if not self.centred:
            return x
        xp = array_namespace(x)
        most = on_device(tuple(self.largest.tolist()), x)
        return xp.minimum(xp.maximum(x - on_device(tuple(self.middle.tolist()), x), -most), most)

    @property
    def entries(self) -> Contributions:
        """The row's own series, for a database that sums."""
        return Contributions(self._series, length(self.largest, "l2"))

    def binned(self, block: Block) -> Any:
        """Return the sums of the columns."""
        rows = self._series(block)
        return array_namespace(rows).sum(rows, axis=0)

    def contributions(self, block: Block) -> Any:
        """Return O·(x − a) for each row; of ``size`` numbers each, so for few steps."""
        rows = self._series(block)
        xp = array_namespace(rows)
        return rows @ xp.asarray(self.operator.matrix.T, dtype=rows.dtype, device=device(rows))
