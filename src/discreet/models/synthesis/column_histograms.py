"""The released histograms of all columns of a table, and the bins that follow from them.

A number's histogram is a tree (``column_trees``), with a release for each of its levels: after each, cells that hold
more rows are cut further. Categories take one release. Bins are chosen so that one has ``LEAST_ROWS`` standard
deviations of a pair count; values that cannot be told from noise get no rows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.noisy_sums import noise_std
from discreet.models.synthesis.column_bins import group_categories, group_numbers, shrink_rare
from discreet.models.synthesis.column_trees import ColumnTree, NumberUnits, find_inside, to_shares, total_rows
from discreet.queries.counts.table_counts import CategoryCells, Cells, NumberCells

__all__ = ["ColumnHistogram", "DeclaredColumn", "TableHistograms", "columns_at_levels"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

LEAST_ROWS = 3.0  # of a bin, in standard deviations of a pair count
EXACT = 1e-6  # variance of a count that is known
SEEN = 4.0  # standard deviations that the count of gaps must have, or there are none


@dataclass(frozen=True)
class DeclaredColumn:
    """A column of the table, from public declarations.

    Attributes
    ----------
    place : int
        Among the numbers, or among the columns of categories.
    units : NumberUnits or None
        Of a number; None for categories.
    count : int
        How many categories there are, a gap's included; 0 for numbers.
    gap : int or None
        Of a number the column of categories that says whether it is missing; of categories the code of a gap. None
        where nothing is missing.
    """

    place: int
    units: NumberUnits | None = None
    count: int = 0
    gap: int | None = None

    @property
    def levels(self) -> int:
        """How many releases its histogram takes."""
        return 1 if self.units is None else self.units.levels


@dataclass(frozen=True, eq=False)
class ColumnHistogram:
    """The released histogram of a column, and its bins.

    Attributes
    ----------
    column : DeclaredColumn
    cuts : array
        Of a number where its cells begin and end, in units.
    shares : array
        The probability of each cell or category, a gap's last.
    groups : array of int
        The bin of each of them.
    noise : array
        The variance of the number of rows in each bin.
    """

    column: DeclaredColumn
    cuts: Whole
    shares: Array
    groups: Whole
    noise: Array

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return int(self.groups.max()) + 1

    @property
    def ordered(self) -> int:
        """How many bins are those of numbers, without a gap's."""
        if self.column.units is None:
            return 0
        return int(self.groups[: len(self.cuts) - 1].max()) + 1

    @property
    def values(self) -> Array:
        """The mean value of each bin of a number, without a gap's."""
        if self.column.units is None:
            return np.zeros(0)
        ends, inside = self.column.units.ends[self.cuts], len(self.cuts) - 1
        weights = self.shares[:inside] + 1e-12 / inside
        groups, middles = self.groups[:inside], (ends[:-1] + ends[1:]) / 2.0
        return np.asarray(np.bincount(groups, weights * middles) / np.bincount(groups, weights))

    @property
    def has_gaps(self) -> bool:
        """Whether more values are missing than noise explains."""
        at = -1 if self.column.units is not None else self.column.gap
        return self.column.gap is not None and bool(self.shares[at] > 0.0)

    @property
    def cells(self) -> Cells:
        """The bins as cells of a query."""
        if self.column.units is None:
            return CategoryCells(self.column.place, tuple(self.groups.tolist()))
        inside = len(self.cuts) - 1
        first = np.flatnonzero(np.diff(self.groups[:inside])) + 1
        edges = tuple(self.column.units.ends[self.cuts[first]].tolist())
        return NumberCells(self.column.place, edges, self.column.gap if self.has_gaps else None)


@dataclass(frozen=True)
class TableHistograms:
    """What released histograms say of the columns of a table.

    Parameters
    ----------
    columns : tuple of DeclaredColumn
    pair_noise : float
        The standard deviation of a pair count, for which bins are made.
    most : int
        How many bins a column has at most.
    apart : tuple of frozenset of int
        The categories of each column that have bins of their own.
    known : tuple of (int, tuple of float)
        Columns of categories whose shares are known, and these (``TableSynthesis``).
    """

    columns: tuple[DeclaredColumn, ...]
    pair_noise: float
    most: int
    apart: tuple[frozenset[int], ...]
    known: tuple[tuple[int, tuple[float, ...]], ...] = ()

    @cached_property
    def levels(self) -> list[list[int]]:
        """The columns that each release counts."""
        return columns_at_levels(self.columns)

    def next_cells(self, releases: Sequence[Release]) -> tuple[Cells, ...]:
        """Return the cells to count after these releases."""
        trees = self._trees(releases)
        return tuple(_tree_cells(self.columns[place], trees[place]) for place in self.levels[len(releases)])

    def rows(self, releases: Sequence[Release]) -> float:
        """Return how many rows there are, as released."""
        return total_rows([tree.estimate() for tree in self._trees(releases)], releases[0].size.rows)

    def _trees(self, releases: Sequence[Release]) -> list[ColumnTree]:
        """Return the trees of all columns after these releases, cut for the next one.

        Those of the last releases are kept, since most that follows from releases asks for them.
        """
        releases = releases[: len(self.levels)]
        kept: Any = self.__dict__.get("_kept")
        if kept is None or len(kept[0]) != len(releases) or any(map(operator.is_not, kept[0], releases)):
            kept = self.__dict__["_kept"] = (tuple(releases), self._grow_trees(releases))
        found: list[ColumnTree] = kept[1]
        return found

    def _grow_trees(self, releases: Sequence[Release]) -> list[ColumnTree]:
        trees = [_start_tree(column) for column in self.columns]
        for level, (release, active) in enumerate(zip(releases, self.levels, strict=False)):
            noise = noise_std(release, "counts") ** 2
            ends = np.cumsum([trees[place].size for place in active])[:-1]
            for place, counts in zip(active, np.split(release["counts"], ends), strict=True):
                trees[place] = trees[place].add(counts, noise)
            rows = total_rows([tree.estimate() for tree in trees], release.size.rows)
            for place in active:
                if self.columns[place].levels > level + 1:
                    trees[place] = trees[place].grow(rows)
        return trees

    def _recounted_trees(self, releases: Sequence[Release], others: Sequence[Release]) -> list[ColumnTree]:
        """Return the trees of these releases with the counts of others."""
        trees = self._trees(releases)
        counted: list[list[tuple[Whole, Array]]] = [[] for _ in trees]
        for level, (other, active) in enumerate(zip(others, self.levels, strict=False)):
            ends = np.cumsum([len(trees[place].counted[level][1]) for place in active])[:-1]
            for place, counts in zip(active, np.split(other["counts"], ends), strict=True):
                counted[place].append((trees[place].counted[level][0], counts))
        return [replace(tree, counted=tuple(own)) for tree, own in zip(trees, counted, strict=True)]

    def estimate(
        self,
        releases: Sequence[Release],
        others: Sequence[Release] | None = None,
        bins: Sequence[ColumnHistogram] | None = None,
    ) -> list[ColumnHistogram]:
        """Return the histogram and the bins of each column, from the releases of a fit, of which these are the first.

        ``others`` are releases of the same questions, whose counts are read in the ``bins`` of these.
        """
        rows = self.rows(releases)
        trees = self._trees(releases) if others is None else self._recounted_trees(releases, others)
        return [
            self._histogram(place, tree, rows, None if bins is None else bins[place])
            for place, tree in enumerate(trees)
        ]

    def _histogram(self, place: int, tree: ColumnTree, rows: float, bins: ColumnHistogram | None) -> ColumnHistogram:
        column, known = self.columns[place], dict(self.known).get(place)
        counts, noise = tree.estimate()
        if known is not None:
            counts, noise = _fill_known(np.array(known), counts, noise, column.gap, rows)
        present = np.ones(len(counts), dtype=bool)  # all but a gap's that is not more than noise
        if column.gap is not None:
            at = len(counts) - 1 if column.units is not None else column.gap
            present[at] = counts[at] > SEEN * math.sqrt(noise[at]) if bins is None else bins.has_gaps
        shares, groups = np.zeros(len(counts)), np.zeros(len(counts), dtype=np.int64)
        shares[present] = to_shares(counts[present], rows)
        least = max(LEAST_ROWS * self.pair_noise, 1.0)
        if column.units is None:
            rare = shares * rows < least
            apart = np.isin(np.arange(len(counts)), list(self.apart[place]))
            groups[present] = group_categories(shares[present] * rows, least, self.most, apart[present])
            rare &= present & np.array(known is None)
            shares[present] = to_shares(shrink_rare(counts, rare, float(noise[0]))[present], rows)
        else:
            inside, ends = len(tree.cuts) - 1, column.units.ends[tree.cuts]
            groups[:inside] = group_numbers(np.diff(ends), shares[:inside] * rows, least)
            groups[inside:] = np.where(present[inside:], groups.max() + 1, 0)
            present[:inside] = find_inside((ends[:-1] + ends[1:]) / 2.0, counts[:inside], noise[:inside])
            shares[:] = 0.0
            shares[present] = to_shares(counts[present], rows)
        groups = groups if bins is None else bins.groups
        return ColumnHistogram(column, tree.cuts, shares, groups, np.bincount(groups, noise).astype(np.float64))


def columns_at_levels(columns: Sequence[DeclaredColumn]) -> list[list[int]]:
    """Return the columns that each release of histograms counts: all, then those whose trees have more levels."""
    levels = range(max(column.levels for column in columns))
    return [[place for place, column in enumerate(columns) if column.levels > level] for level in levels]


def _fill_known(shares: Array, counts: Array, noise: Array, gap: int | None, rows: float) -> tuple[Array, Array]:
    """Return the counts of categories whose shares are known, and their variances.

    Only the number of gaps is as it was released, and all other rows have the known shares. The variances are very
    small, the gaps' too, so that pair tables move none of them.
    """
    result, missing = np.zeros(len(counts)), 0.0
    if gap is not None and counts[gap] > SEEN * math.sqrt(noise[gap]):
        missing = result[gap] = min(float(counts[gap]), rows)
    result[np.arange(len(counts)) != gap] = shares * (rows - missing)
    return result, np.full(len(counts), EXACT)


def _start_tree(column: DeclaredColumn) -> ColumnTree:
    """Return the tree before any release: every category at once, however many; of numbers a few cells."""
    if column.units is None:
        return ColumnTree(NumberUnits(0.0, float(column.count - 1), True), np.arange(column.count + 1))
    return ColumnTree.start(column.units, gap=column.gap is not None)


def _tree_cells(column: DeclaredColumn, tree: ColumnTree) -> Cells:
    """Return the cells of a column's next histogram."""
    if column.units is None:
        return CategoryCells(column.place, tuple(range(column.count)))
    return NumberCells(column.place, column.units.edges(tree.cuts), column.gap)
