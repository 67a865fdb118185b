"""Sums of a series under a public operator, where rows are events (``StepSums``) or persons (``ColumnSums``).

What a row contributes is linear in its own series, so the rows are summed into S first and the operator is applied
once. All of the private side is then one pass that adds numbers into T bins.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.operators import Operator, upper_norm
from discreet.records import Block, Box, Records
from discreet.records.generic_arrays import on_device, to_host

if TYPE_CHECKING:
    from discreet.queries.bound import Setting

Array = NDArray[np.float64]


class SeriesQuery(Query):
    """A sum over rows of O times their own series."""

    space: Box
    operator: Operator

    @property
    def name(self) -> str:  # type: ignore[override]
        """With the operator's name, for the ledger."""
        return f"series, {self.operator.name}"

    @property
    def parts(self) -> Mapping[str, Part]:
        """O·S."""
        return {"series": Part((self.operator.size,))}

    @abstractmethod
    def bin_rows(self, block: Block) -> Any:
        """Return the block's own series S, shape (T,)."""

    @property
    @abstractmethod
    def entry_norm(self) -> float:
        """A bound on the Euclidean norm of a row's own series."""

    @property
    def entries(self) -> Callable[[Block], Any] | None:
        """The series of each row by itself, for a database that sums; None where it cannot."""
        return None

    def sum(self, block: Block) -> Any:
        """Return O·S of the block."""
        return self.operator.apply(to_host(self.bin_rows(block)))

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return O·S over all rows; see ``Query.collect`` for the last step."""
        most = setting.largest(self)
        series = records.reduce(self.bin_rows, self.operator.count, self.entry_norm, self.entries)
        return np.clip(self.operator.apply(series), -most, most)


SMALL = 64  # steps up to which it is computed how much of a bound is attained


def event_distance(low: float, high: float, *, nonnegative: bool) -> float:
    """Return how far apart in L2 the contributions of two events can be, for columns of norm at most 1.

    >>> event_distance(-1.0, 2.0, nonnegative=True), event_distance(-1.0, 2.0, nonnegative=False)
    (3.0, 4.0)
    """
    most = max(abs(low), abs(high))
    if not nonnegative:
        return 2.0 * most
    return max(math.sqrt(2.0) * most, high - low if low < 0.0 < high else 0.0)


@dataclass(frozen=True)
class StepSums(SeriesQuery):
    """O·S for events: a row goes into the step of its time, with its value or with 1.

    A row at step t with a value v in [l, h] contributes c = v·O·e_t, and a row outside of the grid nothing. B =
    max(|l|, |h|), N = max_t ‖O·e_t‖.

    - *One row.* ‖c‖ ≤ B·N, attained at the longest column.
    - *Two rows*, v at t and v' at t'. ‖c − c'‖ ≤ ‖c‖ + ‖c'‖ ≤ 2·B·N in every norm. In L2, if no entry of O is negative,
      ⟨O·e_t, O·e_t'⟩ lies in [0, N²]. So where v·v' ≥ 0, ‖c − c'‖² ≤ ‖c‖² + ‖c'‖² ≤ 2·B²·N²; where v·v' < 0 it is at
      most (|v| + |v'|)·N = |v − v'|·N ≤ (h − l)·N. Together: max(√2·B, h − l if l < 0 < h)·N.

    *Float error.* With γ that of ``records.sources.whole_sums``, n rows, and S̃ the computed series: ‖S̃ − S‖₁ ≤ γ·n·B
    (a block of m rows has at most m steps that are not 0, so the grid costs m·2⁻⁷⁶·B, whatever T is). So
    ‖O(S̃ − S)‖₂ ≤ N·γ·n·B. On top ``apply`` errs
    by at most error·‖S̃‖₁, and ‖S̃‖₁ ≤ (1 + γ)·n·B. The values themselves are floats within their bounds, so nothing
    else is rounded. Where rows are counted, S is whole and γ = 0.

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
        """See the class."""
        l1, l2 = (self.largest * self.operator.column_norm(norm) for norm in ("l1", "l2"))
        apart = event_distance(*self.limits, nonnegative=self.operator.nonnegative)
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
        result = {"l2": rows, "l1": rows, "replace_l2": pairs, "replace_l1": pairs}
        orders = {name: 1 if name.endswith("l1") else 2 for name in bounds}
        return {
            name: min(float(np.linalg.norm(result[name] / bounds[name], ord=orders[name], axis=-1).max()), 1.0)
            for name in bounds
        }

    @property
    def _covers(self) -> bool:
        """Whether every time that can be lies on the grid."""
        low, high = (np.asarray(end, dtype=np.float64).reshape(-1) for end in (self.space.low, self.space.high))
        return bool(self.start <= low[self.time] and high[self.time] <= self.stop)

    def accumulation(self, setting: Setting) -> float:
        """Return γ: 0 where rows are counted."""
        exact = self.value is None and setting.adds_exactly(1.0)
        return 0.0 if exact else super().accumulation(setting)

    def float_error(self, rows: int, accumulation: float) -> float:
        """See the class."""
        each = self.operator.column_norm("l2") * accumulation + self.operator.error * (1.0 + accumulation)
        return rows * self.largest * each

    def _place_rows(self, block: Block) -> tuple[Any, Any]:
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

    @property
    def entry_norm(self) -> float:
        """B."""
        return self.largest

    def bin_rows(self, block: Block) -> Any:
        """Return the sum of the values in each step, in one pass."""
        step, value = self._place_rows(block)
        xp = array_namespace(step)
        if not hasattr(xp, "bincount"):  # it is not in the standard, though all that we know of have it
            xp, step, value = np, np.asarray(step), np.asarray(value)
        return xp.bincount(step, weights=value, minlength=self.operator.count + 1)[:-1]

    def contributions(self, block: Block) -> Any:
        """Return v·O·e_t for each row; of ``size`` numbers each, so for few steps."""
        step, value = self._place_rows(block)
        xp = array_namespace(value)
        columns = np.vstack([self.operator.matrix.T, np.zeros((1, self.operator.size))])
        own = xp.take(xp.asarray(columns, dtype=value.dtype, device=device(value)), step, axis=0)
        return value[:, None] * own


@dataclass(frozen=True)
class ColumnSums(SeriesQuery):
    """O·S for persons: each row has a number for every step.

    A row x in Π[l_t, h_t] contributes O·(x − a), a the middle of the box where the number of rows is public (it is put
    back afterwards) and 0 where it is not. So x − a lies in ±M_t, and ‖c‖ ≤ ``O.reach(M)``; two rows differ by at most
    w_t = h_t − l_t in each step, so ‖c − c'‖ ≤ ``O.reach(w)``. (x − a is rounded and then moved into ±M_t; rounding
    keeps the order, so two of them differ by no more than the rounded h_t − a and l_t − a do, a few u above w_t.
    ``upper_norm`` rounds up by more.)

    *Float error*, as in ``StepSums``, but for the grid of the sum, which is the same in all steps, however small M_t
    is: |S̃_t − S_t| ≤ γ·n·M_t + 2⁻⁵²·n·‖M‖₂ in each step (that of a database is the coarsest, ``sql.text``). So
    ‖O(S̃ − S)‖₂ ≤ γ·n·O.reach(M) + 2⁻⁵²·n·‖M‖₂·T·max_t ‖O·e_t‖₂, and ``apply`` errs by at most
    error·‖S̃‖₁ ≤ error·(1 + γ)·n·ΣM_t.

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
        """See the class."""
        low, high = self._ends
        sizes, widths = self.largest, high - low
        bounds = {norm: self.operator.reach(sizes, norm) for norm in ("l2", "l1")}
        bounds |= {f"replace_{norm}": self.operator.reach(widths, norm) for norm in ("l2", "l1")}
        return Bound(attained=self._attained(bounds), **bounds)  # type: ignore[arg-type]

    def _attained(self, bounds: Mapping[str, float]) -> dict[str, float]:
        """Return how much of each bound the two corners, all low and all high, attain."""
        low, high = (self.operator.apply(end - self.middle) for end in self._ends)
        result = {"l2": (low, high), "l1": (low, high), "replace_l2": (high - low,), "replace_l1": (high - low,)}
        return {
            name: min(max(upper_norm(one, name.removeprefix("replace_")) for one in result[name]) / bounds[name], 1.0)
            for name in bounds
        }

    def float_error(self, rows: int, accumulation: float) -> float:
        """See the class."""
        applied = self.operator.error * (1.0 + accumulation) * upper_norm(self.largest, "l1")
        grid = 2.0**-52 * self.entry_norm * self.operator.count * self.operator.column_norm("l2")
        return rows * (accumulation * self.operator.reach(self.largest, "l2") + grid + applied)

    def _series(self, block: Block) -> Any:
        """Return each row's own series, in ±M."""
        x = self.space.clip(block.x)
        if not self.centred:
            return x
        xp = array_namespace(x)
        most = on_device(tuple(self.largest.tolist()), x)
        return xp.minimum(xp.maximum(x - on_device(tuple(self.middle.tolist()), x), -most), most)

    @property
    def entry_norm(self) -> float:
        """‖M‖."""
        return upper_norm(self.largest, "l2")

    @property
    def entries(self) -> Callable[[Block], Any]:
        """The row's own series, for a database that sums."""
        return self._series

    def bin_rows(self, block: Block) -> Any:
        """Return the sums of the columns."""
        rows = self._series(block)
        return array_namespace(rows).sum(rows, axis=0)

    def contributions(self, block: Block) -> Any:
        """Return O·(x − a) for each row; of ``size`` numbers each, so for few steps."""
        rows = self._series(block)
        xp = array_namespace(rows)
        return rows @ xp.asarray(self.operator.matrix.T, dtype=rows.dtype, device=device(rows))


@dataclass(frozen=True)
class WaveSums(StepSums):
    """F·S for events, with a tighter bound on replaced rows than ``StepSums`` has. The operator is a ``Fourier``.

    Rows v at t and v' at t' contribute v·F·e_t and v'·F·e_t'. With N² = k/T the squared norm of every column and
    ⟨F·e_t, F·e_t'⟩ ≥ −ρ·N², where ρ ≥ 0 follows from the Dirichlet kernel (``Fourier.opposed``):

        ‖v·F·e_t − v'·F·e_t'‖² = (v² + v'²)·N² − 2vv'·⟨F·e_t, F·e_t'⟩.

    If v·v' ≥ 0 it is at most 2(1 + ρ)·B²·N². If v·v' < 0 it is at most (|v| + |v'|)²·N² = (v − v')²·N² ≤ (h − l)²·N².
    So the two are at most max(√(2(1 + ρ))·B, h − l if l < 0 < h)·N apart. For all T coefficients ρ = 0. The kernel's
    minimum is near −0.22·N² where T is large against k, which makes it about 1.56·B·N; ρ = 1 would be 2·B·N.
    """

    @cached_property
    def bound(self) -> Bound:
        """See the class."""
        assert isinstance(self.operator, Fourier)
        low, high = self.limits
        l1, l2 = (self.largest * self.operator.column_norm(norm) for norm in ("l1", "l2"))
        apart = (high - low) / self.largest if low < 0.0 < high else 0.0
        replace_l2 = min(2.0, max(math.sqrt(2.0 * (1.0 + self.operator.opposed)), apart)) * l2
        shares = self._attained({"l2": l2, "l1": l1, "replace_l2": replace_l2, "replace_l1": 2.0 * l1})
        return Bound(l2, l1, replace_l2, 2.0 * l1, shares)
