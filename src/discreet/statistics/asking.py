"""What is asked, of whom, and for how much: the part that all statistics have in common.

Everything is checked here against what is declared, before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import iterable, positive, probability
from discreet.door import Curator, Query, Question, Release
from discreet.door.queries import Grouped, OfColumns, Weighted
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.noise import Bits
from discreet.records import Box
from discreet.records.own_units import ColumnScale, column_scales
from discreet.statistics.columns import check_limits, limits_of, opened, place_of

__all__ = ["Asking", "shaped"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asking:
    """Rows behind a door, the columns that are asked about, and the promise.

    Attributes
    ----------
    curator : Curator
    promise : Guarantee
    places : tuple of int
        The numeric columns.
    single : bool
        Whether one column was named, or there is only one: the answer is a number.
    by : int or None
        The column of categories that groups are of.
    weights : (int, float) or None
        The column of weights, and the largest of them.
    bits : Bits or None
    """

    curator: Curator
    promise: Guarantee
    places: tuple[int, ...]
    single: bool
    by: int | None
    weights: tuple[int, float] | None
    bits: Bits | None

    @classmethod
    def of(
        cls,
        data: Any,
        columns: Any,
        epsilon: float,
        delta: float,
        declared: Any,
        *,
        by: str | None = None,
        weights: str | int | None = None,
        bits: Bits | None = None,
    ) -> Asking:
        """Check the arguments of a statistic against each other."""
        budget, failure = positive("epsilon", epsilon), probability("delta", delta)
        given = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, list | tuple) else []
        curator = opened(data, declared, given)
        promise = Guarantee(budget, failure, curator.neighbors)
        if curator.space is None:
            raise ValueError("columns: expected at least one column of numbers; the schema declares none")
        weighed = None if weights is None else curator.columns[place_of("weights", weights, curator.columns)]
        if columns is None:
            named = [name for name in curator.columns if name != weighed]
            single = len(named) == 1
        else:
            single = isinstance(columns, str) or not iterable(columns)
            several = [columns] if single else list(columns)
            for name in several:
                if isinstance(name, str) and name in curator.category_columns:
                    raise ValueError(
                        f"columns={name!r}: expected a column of numbers, and this one has categories; write histogram "
                        f"to count them, by={name!r} for groups, or declare it as a Number"
                    )
            named = [curator.columns[place_of("columns", name, curator.columns)] for name in several]
        if not named or len(set(named)) != len(named):
            raise ValueError(f"columns={columns!r}: expected at least one column, each once")
        group = None if by is None else curator.category_columns[place_of("by", by, curator.category_columns)]
        curator = curator.only([name for name in (*named, weighed, group) if name is not None])
        places = tuple(curator.columns.index(name) for name in named)
        for place in places:
            check_limits(curator, place)
        most = None if weighed is None else cls._weights(curator, weighed)
        grouping = None if group is None else curator.category_columns.index(group)
        return cls(curator, promise, places, single, grouping, most, bits)

    @staticmethod
    def _weights(curator: Curator, name: str) -> tuple[int, float]:
        place = curator.columns.index(name)
        if curator.scales[place] != "linear":
            raise ValueError(
                f"weights={name!r}: expected a column of plain numbers, and this one has "
                f"{'dates' if curator.scales[place] == 'date' else 'a log scale'}; declare it as Number(0, most)"
            )
        low, high = limits_of(curator.space, place)
        if low < 0.0 or high <= 0.0:
            raise ValueError(f"weights={name!r}: expected a column declared from 0, or more, to a largest weight")
        return place, high

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.curator.columns[place] for place in self.places)

    @property
    def scales(self) -> tuple[ColumnScale, ...]:
        """How the values of the columns are to be read."""
        known = column_scales(self.curator.declared)
        return tuple(known[name] for name in self.names)

    @property
    def groups(self) -> tuple[Any, ...] | None:
        """The labels of the groups; None where there are none."""
        return None if self.by is None else self.curator.categories[self.by]

    @property
    def box(self) -> Box:
        """The declared bounds of the columns."""
        low, high = zip(*(limits_of(self.curator.space, place) for place in self.places), strict=True)
        return Box(low, high)

    @property
    def rows(self) -> int | None:
        """How many rows count, where that is public and the rows have neither weights nor groups."""
        return self.curator.size.rows if self.by is None and self.weights is None else None

    def query(self, query: Query, places: Sequence[int] | None = None) -> Query:
        """Return a query over the columns as one over the rows, with weights and groups."""
        asked: Query = OfColumns(query, self.curator.space, tuple(self.places if places is None else places))
        if self.weights is not None:
            asked = Weighted(asked, *self.weights)
        return asked if self.groups is None or self.by is None else Grouped(asked, len(self.groups), self.by)

    def part(self, share: float) -> Guarantee:
        """Return a part of the promise: so much of ε, and all of δ, which only one part may use."""
        return Guarantee(share * self.promise.epsilon, self.promise.delta, self.promise.neighbors)

    def additive(self, share: float, number: int = 1) -> tuple[Loss, ...]:
        """Return equal losses for sums, together at a share of the promise: Laplace at δ = 0, else Gaussian."""
        promise = self.part(share)
        if not promise.delta:
            return (LaplaceLoss(promise.epsilon / number, promise.neighbors),) * number
        return calibrate(promise, [GaussianLoss(1.0, promise.neighbors)] * number).losses

    def drawn(self, share: float, number: int = 1) -> tuple[BoundedRangeLoss, ...]:
        """Return equal losses for exponential mechanisms, together at a share of ε."""
        return (BoundedRangeLoss(share * self.promise.epsilon / number, self.promise.neighbors),) * number

    def reserve(self, name: str, plan: Sequence[tuple[Question, Loss]]) -> Callable[[Question], Release]:
        """Pay for measurements that are like these at once, and return a way to make them one after the other.

        What cannot be drawn is refused before anything is spent.
        """
        for question, loss in plan:
            self.curator.plan(question, loss, bits=self.bits)
        schedule = self.curator.reserve([loss for _, loss in plan], query=name)
        return lambda question: schedule.measure(question, bits=self.bits)


def shaped(values: Array, *, grouped: bool, single: bool) -> Any:
    """Return values of shape (groups, columns) in the shape of an answer."""
    shown = values if grouped else values[0]
    shown = shown[..., 0] if single else shown
    return float(shown) if shown.ndim == 0 else shown
