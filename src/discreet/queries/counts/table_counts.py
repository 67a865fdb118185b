"""Counts of many tables at once: the cells of columns, of pairs of columns, or of any tuples, in one release.

**Cells.** Each column of a table has a few public cells. A number is in the cell between two of its edges
(``NumberCells``), a category in the cell of its group (``CategoryCells``). Both follow from comparisons of the row's
own bits with public numbers, so a row is in exactly one cell of every column, whatever it holds.

**The statistic.** A *table* is a tuple of columns. Its cells are all combinations of the cells of its columns, and a
row is in exactly one of them. A row x contributes the indicators of its cells in all k tables,

    c(x) = (1{cell of table t} )_{t = 1 … k},

which is k ones among zeros.

**The norms.** ‖c(x)‖₂ = √k and ‖c(x)‖₁ = k for every row. If a row is replaced, a table in which both rows are in the
same cell does not move, and any other moves one count down and another up: 2 in the square of L2, and 2 in L1. A table
with a single cell never moves. So with k' tables of several cells

    ‖c(x) − c(x')‖₂ ≤ √(2k'),        ‖c(x) − c(x')‖₁ ≤ 2k'.

Both are attained: take two rows that differ in every column that has several cells; then they differ in every table
that has several. No smaller constant holds, for any choice of tables. All d(d − 1)/2 pairs of d columns thus have √(d(d
− 1)/2) in L2, and √(d(d − 1)) where a row is replaced.

**Floats.** Contributions are zeros and ones: sums of whole numbers are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.queries.bound import Bound
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.question import Part, Query
from discreet.records import Block, Box, Space

MOST_CELLS = 2**26  # of all tables of a release


@dataclass(frozen=True)
class NumberCells:
    """The cells of a column of numbers.

    Parameters
    ----------
    column : int
        Which of the numeric columns.
    edges : tuple of float
        The edges between cells, in increasing order; an edge belongs to the cell above it.
    gap : int or None
        A column of categories with two values, the second of which says that the number is missing. Such a row is in a
        last cell of its own. None where no number is missing.

    Examples
    --------
    >>> cells = NumberCells(0, (1.0, 2.0))
    >>> cells.count, cells.numbers(Block(np.array([[0.5], [1.0], [9.0]]), np.empty((3, 0)))).tolist()
    (3, [0, 1, 2])
    """

    column: int
    edges: tuple[float, ...]
    gap: int | None = None

    def __post_init__(self) -> None:
        integer("column", self.column, least=0)
        if self.gap is not None:
            integer("gap", self.gap, least=0)
        edges = np.asarray(self.edges, dtype=np.float64)
        if edges.ndim != 1 or not np.isfinite(edges).all() or not (np.diff(edges) > 0.0).all():
            raise ArgumentError("edges", UNSHOWN, "finite edges in increasing order")

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + 1 + (self.gap is not None)

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        x = block.x[:, self.column]
        xp = array_namespace(x)
        edges = xp.asarray(np.asarray(self.edges, dtype=np.float64), device=device(x))
        cell = xp.astype(xp.searchsorted(edges, x, side="right"), xp.int64)
        if self.gap is None:
            return cell
        missing = xp.asarray(block.codes[:, self.gap] == 1, device=device(x))
        return xp.where(missing, xp.full_like(cell, self.count - 1), cell)


@dataclass(frozen=True)
class CategoryCells:
    """The cells of a column of categories.

    Parameters
    ----------
    column : int
        Which of the columns of categories.
    groups : tuple of int
        The cell of each category, from 0 on.

    Examples
    --------
    >>> cells = CategoryCells(0, (0, 1, 1))
    >>> cells.count, cells.numbers(Block(np.empty((3, 0)), np.array([[2], [0], [1]]))).tolist()
    (2, [1, 0, 1])
    """

    column: int
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        integer("column", self.column, least=0)
        if not self.groups or {*self.groups} != {*range(max(self.groups) + 1)}:
            raise ArgumentError("groups", UNSHOWN, "a cell for each category, numbered from 0 on without gaps")

    @property
    def count(self) -> int:
        """How many cells there are."""
        return max(self.groups) + 1

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        codes = block.codes[:, self.column]
        xp = array_namespace(codes)
        groups = xp.asarray(np.asarray(self.groups, dtype=np.int64), device=device(codes))
        return xp.take(groups, xp.clip(codes, 0, len(self.groups) - 1), axis=0)


Cells = NumberCells | CategoryCells


@dataclass(frozen=True)
class CellQuery(Query):
    """A query that sees only which cell of each column a row is in; its sums are of whole numbers.

    Parameters
    ----------
    space : Box or None
        Of the numbers; None where there are none.
    categories : tuple of int
        How many categories each of the columns of categories has.
    columns : tuple of NumberCells or CategoryCells
    """

    space: Box | None
    categories: tuple[int, ...]
    columns: tuple[Cells, ...]

    whole_numbers = True

    @property
    def dimension(self) -> int:
        """The number of columns of numbers."""
        return 0 if self.space is None else self.space.dimension

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns are others than those that are declared."""
        have = tuple(len(values) for values in categories)
        if self.space is not None and self.space != space:
            raise ArgumentError("space", self.space, f"the space of the curator, {space!r}")
        if have != tuple(self.categories):
            raise ArgumentError("categories", tuple(self.categories), f"{have}, as many as are declared")
        for cells in self.columns:
            if isinstance(cells, CategoryCells):
                fits = cells.column < len(have) and len(cells.groups) == have[cells.column]
            else:
                fits = self.space is not None and cells.column < self.space.dimension
                fits = fits and (cells.gap is None or (cells.gap < len(have) and have[cells.gap] == 2))
            if not fits:
                raise ArgumentError("columns", UNSHOWN, "cells of declared columns, with a group for each category")


@dataclass(frozen=True)
class TableCounts(CellQuery):
    """How many rows are in each cell of several tables; see the module.

    Parameters
    ----------
    space : Box or None
        Of the numbers; None where there are none.
    categories : tuple of int
        How many categories each of the columns of categories has.
    columns : tuple of NumberCells or CategoryCells
    tables : tuple of tuples of int
        Each a few different columns, by their places among ``columns``.

    Examples
    --------
    >>> columns = (CategoryCells(0, (0, 1)), CategoryCells(1, (0, 1, 2)))
    >>> both = TableCounts(None, (2, 3), columns, ((0,), (0, 1)))
    >>> both.size, both.bound.l1, both.sum(Block(np.empty((1, 0)), np.array([[1, 2]]))).tolist()
    (8, 2.0, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    """

    tables: tuple[tuple[int, ...], ...]

    name = "counts of tables"

    def __post_init__(self) -> None:
        places = range(len(self.columns))
        valid = all(table and len({*table}) == len(table) and {*table} <= {*places} for table in self.tables)
        if not self.tables or not valid:
            raise ArgumentError("tables", UNSHOWN, "at least one table, of different columns that are there")
        if self.size > MOST_CELLS:
            raise ArgumentError("tables", UNSHOWN, f"at most {MOST_CELLS} cells in all, got {self.size}")

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        counts = [cells.count for cells in self.columns]
        return tuple(tuple(counts[place] for place in table) for table in self.tables)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each table begins in the sum, and where the last ends."""
        return np.cumsum([0, *map(math.prod, self.shapes)], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many cells there are in all."""
        return int(self.starts[-1])

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """All counts, one table after the other (``split``)."""
        return {"counts": Part((self.size,))}

    def split(self, counts: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the counts of each table, in its shape."""
        pieces = zip(self.starts[:-1], self.starts[1:], self.shapes, strict=True)
        return [counts[start:stop].reshape(shape) for start, stop, shape in pieces]

    @cached_property
    def bound(self) -> Bound:
        """See the module; rounded up."""
        k, several = len(self.tables), sum(math.prod(shape) > 1 for shape in self.shapes)
        if not several:  # every row is the same
            return Bound(root(k), float(k), attained={"replace_l2": 0.0, "replace_l1": 0.0})
        return Bound(root(k), float(k), root(2 * several), 2.0 * several)

    def numbers(self, block: Block) -> list[Any]:
        """Return for each table the number of each row's cell in it."""
        cells = [one.numbers(block) for one in self.columns]
        result = []
        for table, shape in zip(self.tables, self.shapes, strict=True):
            number = cells[table[0]]
            for place, count in zip(table[1:], shape[1:], strict=True):
                number = number * count + cells[place]
            result.append(number)
        return result

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows side by side."""
        hot = [
            one_hot(number, math.prod(shape)) for number, shape in zip(self.numbers(block), self.shapes, strict=True)
        ]
        return array_namespace(hot[0]).concat(hot, axis=1)

    def sum(self, block: Block) -> Any:
        """Return the counts, without a row for each row: by counting, or by sorting where a library cannot count."""
        if is_numpy_array(block.codes) and is_numpy_array(block.x):
            sums = [
                np.bincount(number, minlength=math.prod(shape))
                for number, shape in zip(self.numbers(block), self.shapes, strict=True)
            ]
            return np.concatenate(sums).astype(np.float64)
        sums = []
        for number, shape in zip(self.numbers(block), self.shapes, strict=True):
            xp = array_namespace(number)
            ends = xp.arange(math.prod(shape) + 1, dtype=number.dtype, device=device(number))
            sums.append(xp.astype(xp.diff(xp.searchsorted(xp.sort(number), ends)), xp.float64))
        return xp.concat(sums, axis=0)


def root(number: int) -> float:
    """Return the square root of a whole number, rounded up.

    >>> root(9), root(2) ** 2 >= 2.0
    (3.0, True)
    """
    whole = math.isqrt(number)
    return float(whole) if whole * whole == number else math.nextafter(math.sqrt(number), math.inf)
