"""Histograms of single columns by trees: few cells where there are few rows, fine cells where there are many.

A column of numbers has public *units*: its whole numbers, or equal parts of its interval with a unit for each bound
itself, since many rows may sit there. A first release counts some sixteen cells, each of many units. Cells with many
rows are then cut into sixteen, as the released counts say, and the next release counts all cells of the finer
partition. How many releases there are follows from the number of units, so from public numbers. Each is a histogram,
of which a row is in one cell. A column of categories is counted once.

The counts of nested partitions are combined by least squares (Hay et al. 2010, "Boosting the accuracy of
differentially private histograms through consistency"). With own count y_v of noise variance σ², and the estimate z_c
of variance v_c of each child c,

    upwards:    s_v = Σ_c z_c,  w_v = Σ_c v_c,   z_v = (y_v/σ² + s_v/w_v)/(1/σ² + 1/w_v),  v_v = 1/(1/σ² + 1/w_v)
    downwards:  x_c = z_c + (x_v − s_v)·v_c/w_v.

A cell that is not cut is measured again in every later release, as a child of itself, so nothing is paid twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.models.table.column_maps import project_to_simplex

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

FAN = 16  # parts into which a cell is cut
AT_ONCE = 128  # a column of at most so many units is counted at once
EVEN = FAN**3  # units of a column of numbers that are not whole
MOST_UNITS = FAN**5
SURE = 5.0  # a cell is cut if it has so many standard deviations of noise,
TAIL = 1.0  # standard deviations of noise that the cells at an end must have together, or they are empty,
FAR = 6.0  # if they are so many standard deviations of the column from its mean
SHARE = 0.02  # and at least this share of all rows
MOST_ROWS = 1e18


@dataclass(frozen=True)
class NumberUnits:
    """The smallest cells of a column of numbers, from public declarations.

    Attributes
    ----------
    low, high : float
        The declared bounds, as values.
    whole : bool
        Whether the values are whole.

    Examples
    --------
    >>> NumberUnits(0.5, 3.0, True).ends.tolist(), NumberUnits(0, 10**5, True).levels
    ([0.5, 1.5, 2.5, 3.5], 5)
    """

    low: float
    high: float
    whole: bool

    @cached_property
    def ends(self) -> Array:
        """Where each unit begins, and where the last ends."""
        if self.whole:
            first, last = math.ceil(self.low), math.floor(self.high)
            number = last - first + 1
            steps = np.arange(min(number, MOST_UNITS) + 1, dtype=np.float64)
            return np.asarray(first - 0.5 + np.round(steps * (number / (len(steps) - 1))))
        inside = self.low + (self.high - self.low) * (np.arange(1, EVEN) / EVEN)
        above = np.nextafter(self.low, math.inf), np.nextafter(self.high, math.inf)
        ends = np.concatenate([[self.low, above[0]], inside, [self.high, above[1]]])
        return np.asarray(ends[np.concatenate([[True], np.diff(np.maximum.accumulate(ends)) > 0.0])])

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self.ends) - 1

    @property
    def levels(self) -> int:
        """How many releases a tree takes."""
        return 1 if self.count <= AT_ONCE else math.ceil(math.log(self._inner - 0.5, FAN))

    @property
    def _inner(self) -> int:
        """How many units there are, without those of a bound."""
        return self.count if self.whole else self.count - 2

    def first_cuts(self) -> Whole:
        """Return where the cells of the first release begin and end, in units."""
        if self.count <= AT_ONCE:
            return np.arange(self.count + 1)
        if self.whole:
            return _cut(0, self.count)
        return np.concatenate([[0], _cut(1, self.count - 1), [self.count]])

    def edges(self, cuts: Whole) -> tuple[float, ...]:
        """Return the edges between cells, as numbers."""
        return tuple(self.ends[cuts[1:-1]].tolist())


def _cut(start: int, stop: int) -> Whole:
    """Return where ``FAN`` cells of about equal size begin and end.

    >>> _cut(0, 5).tolist(), len(_cut(0, 1000))
    ([0, 1, 2, 3, 4, 5], 17)
    """
    parts = min(FAN, stop - start)
    return np.asarray(start + np.arange(parts + 1) * (stop - start) // parts, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """Counts of nested partitions of one column.

    Attributes
    ----------
    units : NumberUnits
    cuts : array
        The partition to count next, or the last one that was counted: where its cells begin and end, in units.
    gap : bool
        Whether a last cell counts the rows whose value is missing.
    counted : tuple of (cuts, counts)
        What was released.
    noise : float
        The variance of a count.
    """

    units: NumberUnits
    cuts: Whole
    gap: bool = False
    counted: tuple[tuple[Whole, Array], ...] = ()
    noise: float = 0.0

    @property
    def size(self) -> int:
        """How many cells there are to count."""
        return len(self.cuts) - 1 + self.gap

    @classmethod
    def start(cls, units: NumberUnits, *, gap: bool) -> ColumnTree:
        """Return a tree before its first release."""
        return cls(units, units.first_cuts(), gap)

    def add(self, counts: Array, noise: float) -> ColumnTree:
        """Return the tree with the counts of its partition."""
        return replace(self, counted=(*self.counted, (self.cuts, counts)), noise=noise)

    def grow(self, rows: float) -> ColumnTree:
        """Return the tree with its heavy cells cut."""
        least = max(SURE * math.sqrt(self.noise), SHARE * rows)
        heavy = self.estimate()[0] > least
        pieces = [
            _cut(int(start), int(stop)) if split else np.array([start, stop])
            for start, stop, split in zip(self.cuts[:-1], self.cuts[1:], heavy[: len(self.cuts) - 1], strict=True)
        ]
        return replace(self, cuts=np.unique(np.concatenate(pieces)))

    def estimate(self) -> tuple[Array, Array]:
        """Return the counts of the finest partition, and of the gap where there is one, and their variances."""
        *coarser, (cuts, fine) = self.counted
        value, variance = fine, np.full(len(fine), self.noise)
        ups = []
        for above, counts in reversed(coarser):
            parent = np.searchsorted(above, cuts[:-1], side="right") - 1
            parent = np.append(parent, len(above) - 1) if self.gap else parent
            total, spread = np.bincount(parent, value), np.bincount(parent, variance)
            ups.append((parent, value, variance, total, spread))
            variance = 1.0 / (1.0 / self.noise + 1.0 / spread)
            value = variance * (counts / self.noise + total / spread)
            cuts = above
        result, spreads = value, variance
        for parent, value, variance, total, spread in reversed(ups):
            result = value + (result - total)[parent] * variance / spread[parent]
            spreads = variance
        return result, spreads


def total_rows(estimates: list[tuple[Array, Array]], rows: int | None) -> float:
    """Return the number of rows: the public one, or the mean of all columns' sums, by their variances.

    It is at least two standard deviations of its noise and at least 1; more than 10¹⁸ are no rows.
    """
    if rows is not None:
        return float(max(rows, 1))
    sums = np.array([float(np.clip(value, -MOST_ROWS, MOST_ROWS).sum()) for value, _ in estimates])
    weights = np.array([1.0 / float(variance.sum()) for _, variance in estimates])
    mean = float((weights * sums).sum() / weights.sum())
    return min(max(mean, 2.0 / math.sqrt(float(weights.sum())), 1.0), MOST_ROWS)


def to_shares(counts: Array, rows: float) -> Array:
    """Return the probabilities nearest to noisy counts; total for any finite numbers."""
    shifted = np.clip(counts, -MOST_ROWS, MOST_ROWS)
    return project_to_simplex(shifted + (rows - shifted.sum()) / len(shifted), rows, least=0.0)


def find_inside(middles: Array, counts: Array, noise: Array) -> NDArray[np.bool_]:
    """Return the cells of a column without those far out that hold nothing but noise.

    A few rows of noise far out would widen the column, and weaken its correlations. Far is more than ``FAR`` standard
    deviations from the mean, and from an end on all cells are noise as long as the sum of their counts is below
    ``TAIL`` standard deviations of it.

    >>> counts = np.array([300.0, 900.0, 400.0, 4.0, -5.0, 2.0])
    >>> find_inside(np.array([1.0, 2.0, 3.0, 4.0, 10.0, 100.0]), counts, np.full(6, 9.0)).tolist()
    [True, True, True, True, True, False]
    """
    counts, empty = np.clip(counts, -MOST_ROWS, MOST_ROWS), np.zeros(len(counts), dtype=bool)
    for flip in (slice(None), slice(None, None, -1)):
        below = np.cumsum(counts[flip]) < TAIL * np.sqrt(np.cumsum(noise[flip]))
        empty[flip] |= np.logical_and.accumulate(below)
    middles = middles / max(float(np.abs(middles).max()), 1e-300)  # their squares are no infinities
    weights = np.maximum(counts, 0.0)
    if not weights.any():
        return np.ones(len(counts), dtype=bool)
    weights = weights / weights.sum()
    mean = float(weights @ middles)
    spread = math.sqrt(float(weights @ (middles - mean) ** 2))
    return ~(empty & (np.abs(middles - mean) > FAR * spread))
