"""Counts of events and of rows without one, by time and group, under a public operator: what survival curves need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.queries.series.operators import Operator, upper_norm
from discreet.records import Ball, Block, Box, Records
from discreet.records.generic_arrays import to_host

if TYPE_CHECKING:
    from discreet.queries.bound import Setting

Array = NDArray[np.float64]
MOST_NUMBERS = 2**22


@dataclass(frozen=True)
class EventSums(Query):
    """O·x for two series x in each group: rows with an event, and rows without one, by the interval of their time.

    A row with time t is in interval k if e_k < t ≤ e_(k+1), in the first if t ≤ e_1, and after the last edge e_K, as a
    row without an event, if t > e_K or t is not below the declared upper bound. (A time at that bound may have been
    clipped, so that its event came later.) So a row adds 1 to one step of one series, and contributes a column O·e_k in
    the place of its group and series, 0 elsewhere. With N = max_k ‖O·e_k‖, and no entry of O negative:

    - *One row.* ‖c‖ ≤ N in either norm.
    - *Two rows.* In L1 at most 2N. In L2 their inner product is 0 in different places, and at least 0 in one place. So
      ‖c − c'‖² ≤ ‖c‖² + ‖c'‖² ≤ 2N².

    Both are attained where the first column is a longest one, by two rows of the first interval, one with an event. For
    the identity these are the bounds of counts: 1, and 2 or √2.

    *Float error.* As in ``StepSums``, where rows are counted: error·n for ``apply``, since the counts are exact and, of
    all series together, at most n.

    Parameters
    ----------
    space : Box or Ball
        The curator's.
    operator : Operator
        Over K + 1 steps, without negative entries.
    time : int
        The column of times.
    ends : tuple of float
        e_1, …, e_K, in increasing order.
    event : int
        Which of the columns of categories says whether there was an event.
    occurred : tuple of bool
        For each of its categories, whether it is an event.
    by : tuple of (int, int)
        The columns of categories that define groups, each with the number of its categories.
    """

    space: Box | Ball
    operator: Operator
    time: int
    ends: tuple[float, ...]
    event: int
    occurred: tuple[bool, ...]
    by: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        integer("time", self.time, least=0, most=self.space.dimension - 1)
        integer("event", self.event, least=0)
        object.__setattr__(self, "by", tuple((int(place), int(size)) for place, size in self.by))
        edges = np.asarray(self.ends, dtype=np.float64)
        rising = edges.ndim == 1 and edges.size > 0 and np.isfinite(edges).all() and bool((np.diff(edges) > 0.0).all())
        if not rising or self.operator.count != edges.size + 1 or not self.operator.nonnegative:
            raise ArgumentError(
                "ends", UNSHOWN, "finite edges in increasing order, one fewer than steps of an operator"
            )
        if not (any(self.occurred) and not all(self.occurred)):
            raise ArgumentError("occurred", self.occurred, "at least one category that is an event and one that is not")
        if self.blocks * max(self.operator.size, self.operator.count) > MOST_NUMBERS:
            raise ArgumentError("by", self.by, f"at most {MOST_NUMBERS} numbers in all")

    @property
    def name(self) -> str:  # type: ignore[override]
        """With the operator's name, for the ledger."""
        return f"events, {self.operator.name}"

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column of them has, as far as the query looks at them."""
        sizes = {self.event: len(self.occurred), **dict(self.by)}
        return tuple(sizes.get(place, 1) for place in range(max(sizes) + 1))

    def check(self, space: Any, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where a column is not there, or has another number of categories."""
        super().check(space, categories)
        have = [len(values) for values in categories]
        for place, size in ((self.event, len(self.occurred)), *self.by):
            if place >= len(have) or have[place] != size:
                raise ArgumentError(("event", "by"), (self.event, self.by), f"columns of categories; they have {have}")

    @property
    def blocks(self) -> int:
        """How many series there are: two in each group."""
        return 2 * math.prod(size for _, size in self.by)

    @property
    def parts(self) -> Mapping[str, Part]:
        """O·x, an axis for groups, one for events and rows without one, and one of the operator's."""
        return {"series": Part((self.blocks // 2, 2, self.operator.size))}

    @cached_property
    def bound(self) -> Bound:
        """See the class."""
        l1, l2 = (self.operator.column_norm(norm) for norm in ("l1", "l2"))
        first = self.operator.apply(np.eye(1, self.operator.count)[0])
        shares = {norm: upper_norm(first, norm) / most for norm, most in (("l1", l1), ("l2", l2))}
        attained = {f"{ahead}{norm}": min(share, 1.0) for norm, share in shares.items() for ahead in ("", "replace_")}
        return Bound(l2, l1, math.sqrt(2.0) * l2, 2.0 * l1, attained)

    def accumulation(self, setting: Setting) -> float:
        """Return γ: 0, as rows are counted."""
        return 0.0 if setting.adds_exactly(1.0) else super().accumulation(setting)

    def float_error(self, rows: int, accumulation: float) -> float:
        """See the class."""
        return rows * (self.operator.column_norm("l2") * accumulation + self.operator.error * (1.0 + accumulation))

    def places(self, block: Block) -> tuple[Any, Any]:
        """Return for each row the number of its series, and its step; by comparisons alone."""
        x = self.space.clip(block.x)[:, self.time]
        xp = array_namespace(x)
        edges = xp.asarray(self.ends, dtype=x.dtype, device=device(x))
        step = xp.searchsorted(edges, x, side="left")
        after = xp.full_like(step, len(self.ends))
        step = xp.where(x >= self._upper, after, step)
        group = xp.zeros_like(step)
        for place, size in self.by:
            group = group * size + xp.astype(xp.clip(block.codes[:, place], 0, size - 1), group.dtype)
        code = block.codes[:, self.event]
        happened = xp.zeros_like(code, dtype=xp.bool)
        for value, event in enumerate(self.occurred):
            if event:
                happened = happened | (code == value)
        series = xp.where(happened & (step < len(self.ends)), xp.zeros_like(step), xp.ones_like(step))
        return 2 * group + series, step

    @property
    def _upper(self) -> float:
        """The declared upper bound of the times."""
        if isinstance(self.space, Ball):
            return float(np.asarray(self.space.center).reshape(-1)[self.time]) + self.space.radius
        return float(np.asarray(self.space.high).reshape(-1)[self.time])

    def contributions(self, block: Block) -> Any:
        """Return O·e_k in the place of the row's series."""
        series, step = self.places(block)
        xp = array_namespace(series)
        columns = xp.asarray(self.operator.matrix.T, dtype=xp.float64, device=device(series))
        own = xp.take(columns, step, axis=0)
        numbers = xp.arange(self.blocks, dtype=series.dtype, device=device(series))
        here = xp.astype(series[:, None] == numbers[None, :], xp.float64)
        return xp.reshape(here[:, :, None] * own[:, None, :], (series.shape[0], self.size))

    def count_rows(self, block: Block) -> Any:
        """Return the counts of all series, one after the other, shape (series · (K + 1),)."""
        series, step = self.places(block)
        xp = array_namespace(series)
        cells = series * self.operator.count + step
        if not hasattr(xp, "bincount"):  # it is not in the standard, though all that we know of have it
            xp, cells = np, np.asarray(cells)
        return xp.astype(xp.bincount(cells, minlength=self.blocks * self.operator.count), xp.float64)

    def sum(self, block: Block) -> Any:
        """Return O·x of each series of the block."""
        return self._apply(to_host(self.count_rows(block)))

    def _apply(self, counts: Array) -> Array:
        each = np.asarray(counts, dtype=np.float64).reshape(self.blocks, self.operator.count)
        return np.concatenate([self.operator.apply(series) for series in each])

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return O·x over all rows; see ``Query.collect`` for the last step."""
        most = setting.largest(self)
        counts = records.reduce(self.count_rows, self.blocks * self.operator.count, 1.0, None)
        return np.clip(self._apply(counts), -most, most)
