"""The sums of each step of a series, under a public operator: what is measured of rows that are events.

A row at step t with a value v in [l, h] contributes c = v·O·e_t, and a row outside of the grid nothing.
B = max(|l|, |h|), N = max_t ‖O·e_t‖.

- *One row.* ‖c‖ ≤ B·N, attained at the longest column.
- *Two rows*, v at t and v' at t'. ‖c − c'‖ ≤ ‖c‖ + ‖c'‖ ≤ 2·B·N in every norm. In L2, if no entry of O is negative,
  ⟨O·e_t, O·e_t'⟩ lies in [0, N²]. So where v·v' ≥ 0, ‖c − c'‖² ≤ ‖c‖² + ‖c'‖² ≤ 2·B²·N²; where v·v' < 0 it is at most
  (|v| + |v'|)·N = |v − v'|·N ≤ (h − l)·N. Together: max(√2·B, h − l if l < 0 < h)·N.

*Float error.* With γ that of the summation (``records.summation``), n rows, and S̃ the computed series: in each step
|S̃_t − S_t| ≤ γ·Σ|v_i| over the rows in that step. So ‖S̃ − S‖₁ ≤ γ·n·B and ‖O(S̃ − S)‖₂ ≤ N·γ·n·B. On top ``apply`` errs
by at most error·‖S̃‖₁, and ‖S̃‖₁ ≤ (1 + γ)·n·B. The values themselves are floats within their bounds, so nothing else is
rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.series.column_sums import ColumnSums
from discreet.queries.series.of_series import OfSeries
from discreet.queries.series.operators import Operator
from discreet.records import Block, Box

__all__ = ["ColumnSums", "StepSums", "events_apart"]

Array = NDArray[np.float64]

SMALL = 64  # steps up to which it is computed how much of a bound is attained


def events_apart(low: float, high: float, *, nonnegative: bool) -> float:
    """Return how far apart in L2 the contributions of two events can be, for columns of norm at most 1; see the module.

    >>> events_apart(-1.0, 2.0, nonnegative=True), events_apart(-1.0, 2.0, nonnegative=False)
    (3.0, 4.0)
    """
    most = max(abs(low), abs(high))
    if not nonnegative:
        return 2.0 * most
    return max(math.sqrt(2.0) * most, high - low if low < 0.0 < high else 0.0)


@dataclass(frozen=True)
class StepSums(OfSeries):
    """O·S for events: a row goes into the step of its time, with its value or with 1.

    Parameters
    ----------
    space : Box
        The curator's.
    operator : Operator
        Over T steps.
    time : int
        The column of times.
    value : int or None
        The column of values; None to count.
    start, stop : float
        The grid: T equal steps; ``stop`` itself belongs to the last.
    """

    space: Box
    operator: Operator
    time: int
    value: int | None
    start: float
    stop: float

    def __post_init__(self) -> None:
        for column in (self.time, 0 if self.value is None else self.value):
            integer("column", column, least=0, most=self.dimension - 1)
        if not self.start < self.stop:
            raise ArgumentError(("start", "stop"), (self.start, self.stop), "start < stop")

    @cached_property
    def edges(self) -> Array:
        """Where steps begin, and the end of the last."""
        return np.linspace(self.start, self.stop, self.operator.count + 1)

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Where a row's value lies."""
        if self.value is None:
            return 1.0, 1.0
        low, high = (np.asarray(end, dtype=np.float64).reshape(-1) for end in (self.space.low, self.space.high))
        return float(low[self.value]), float(high[self.value])

    @property
    def largest(self) -> float:
        """B."""
        return max(map(abs, self.limits))

    @cached_property
    def bound(self) -> Bound:
        """See the module."""
        l1, l2 = (self.largest * self.operator.column_norm(norm) for norm in ("l1", "l2"))
        apart = events_apart(*self.limits, nonnegative=self.operator.nonnegative)
        replace_l2 = apart * self.operator.column_norm("l2")
        shares = self._attained({"l2": l2, "l1": l1, "replace_l2": replace_l2, "replace_l1": 2.0 * l1})
        return Bound(l2, l1, replace_l2, 2.0 * l1, shares)

    def _attained(self, bounds: Mapping[str, float]) -> dict[str, float]:
        """Return how much of each bound some rows attain: exactly for few steps, else nothing is claimed.

        Distances are convex in the two values, so they are largest at ends of the interval.
        """
        if max(self.operator.count, self.operator.size) > SMALL:
            return dict.fromkeys(bounds, 0.0)
        outside = [] if self._covers else [np.zeros(self.operator.size)]
        rows = np.array([end * column for end in {*self.limits} for column in self.operator.matrix.T] + outside)
        pairs = rows[:, None, :] - rows[None, :, :]
        found = {"l2": rows, "l1": rows, "replace_l2": pairs, "replace_l1": pairs}
        orders = {name: 1 if name.endswith("l1") else 2 for name in bounds}
        return {
            name: min(float(np.linalg.norm(found[name] / bounds[name], ord=orders[name], axis=-1).max()), 1.0)
            for name in bounds
        }

    @property
    def _covers(self) -> bool:
        """Whether every time that can be lies on the grid."""
        low, high = (np.asarray(end, dtype=np.float64).reshape(-1) for end in (self.space.low, self.space.high))
        return bool(self.start <= low[self.time] and high[self.time] <= self.stop)

    def float_error(self, rows: int, accumulation: float) -> float:
        """See the module."""
        each = self.operator.column_norm("l2") * accumulation + self.operator.error * (1.0 + accumulation)
        return rows * self.largest * each

    def _placed(self, block: Block) -> tuple[Any, Any]:
        """Return the step of each row, T for those outside, and its value."""
        x = self.space.clip(block.x)
        xp = array_namespace(x)
        time = x[:, self.time]
        edges = xp.asarray(self.edges, dtype=time.dtype, device=device(time))
        step = xp.searchsorted(edges, time, side="right") - 1
        count = self.operator.count
        last, none = (xp.full_like(step, number) for number in (count - 1, count))
        step = xp.where(time == self.stop, last, xp.where((step < 0) | (step >= count), none, step))
        return step, xp.ones_like(time) if self.value is None else x[:, self.value]

    def binned(self, block: Block) -> Any:
        """Return the sum of the values in each step, in one pass."""
        step, value = self._placed(block)
        xp = array_namespace(step)
        if not hasattr(xp, "bincount"):  # it is not in the standard, though all that we know of have it
            xp, step, value = np, np.asarray(step), np.asarray(value)
        return xp.bincount(step, weights=value, minlength=self.operator.count + 1)[:-1]

    def contributions(self, block: Block) -> Any:
        """Return v·O·e_t for each row; of ``size`` numbers each, so for few steps."""
        step, value = self._placed(block)
        xp = array_namespace(value)
        columns = np.vstack([self.operator.matrix.T, np.zeros((1, self.operator.size))])
        own = xp.take(xp.asarray(columns, dtype=value.dtype, device=device(value)), step, axis=0)
        return value[:, None] * own
