"""Counts of rows: all of them, those of each category, and those between declared edges."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.guarantees import Neighbors
from discreet.queries.bound import Bound, Setting
from discreet.queries.question import Part, Query, Selection
from discreet.records import Ball, Block, Box, Space


class CellCounts(Query):
    """How many rows are in each cell.

    c(x) is 1 at the row's cell and 0 elsewhere: norm 1 in L1 and L2. A replaced row moves one count down and another
    up: 2 in L1, √2 in L2. All are attained where there are two cells. A query of this family says which cell a row is
    in, from the row's own bits alone: by comparisons and elementwise operations.
    """

    whole_numbers = True

    @abstractmethod
    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell, from 0 to ``size`` − 1."""

    @cached_property
    def bound(self) -> Bound:
        """1 in both norms; √2 and 2 when a row is replaced."""
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows."""
        number = self.numbers(block)
        xp = array_namespace(number)
        cells = xp.arange(self.size, dtype=number.dtype, device=device(number))
        return xp.astype(number[:, None] == cells[None, :], xp.float64)

    def sum(self, block: Block) -> Any:
        """Return the counts, without a row for each row: by counting, or by sorting where a library cannot count."""
        number = self.numbers(block)
        if is_numpy_array(number):
            inside = number[(number >= 0) & (number < self.size)]  # as everywhere, a cell that is none counts nothing
            return np.bincount(inside, minlength=self.size).astype(np.float64)
        xp = array_namespace(number)
        ends = xp.arange(self.size + 1, dtype=number.dtype, device=device(number))
        return xp.astype(xp.diff(xp.searchsorted(xp.sort(number), ends)), xp.float64)


@dataclass(frozen=True)
class Count(Query):
    """How many rows contribute.

    A row that comes or goes moves it by 1; a replaced one may have been dropped.
    """

    name = "count"
    dimension = 0
    whole_numbers = True

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The count."""
        return {"count": Part((1,))}

    @cached_property
    def bound(self) -> Bound:
        """1; two rows that both contribute are not apart at all."""
        return Bound(l2=1.0, l1=1.0, replace_l2=1.0, replace_l1=1.0, attained={"replace_l2": 0.0, "replace_l1": 0.0})

    def contributions(self, block: Block) -> Any:
        """Return ones."""
        xp = array_namespace(block.x)
        return xp.ones((block.x.shape[0], 1), dtype=xp.float64, device=device(block.x))


@dataclass(frozen=True)
class Histogram(CellCounts):
    """How many rows have each declared category.

    Parameters
    ----------
    categories : int
        How many categories the column has.
    column : int
        Which of the category columns, counted from 0.
    """

    categories: int
    column: int = 0

    name = "histogram"
    dimension = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", integer("categories", self.categories, least=2))
        object.__setattr__(self, "column", integer("column", self.column, least=0))

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of categories."""
        have = [len(values) for values in categories]
        if self.column >= len(have) or have[self.column] != self.categories:
            raise ValueError(
                f"categories={self.categories}, column={self.column}: expected a column of categories, counted from 0, "
                f"and as many categories as it has; they have {have}"
            )

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """One count a category."""
        return {"counts": Part((self.categories,))}

    def numbers(self, block: Block) -> Any:
        """Return the codes."""
        return block.codes[:, self.column]

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows, as a database can compute them."""
        xp = array_namespace(block.codes)
        code = block.codes[:, self.column : self.column + 1]
        labels = xp.asarray([list(range(self.categories))], dtype=code.dtype, device=device(code))
        return xp.astype(code == labels, xp.float64)


@dataclass(frozen=True)
class Chosen(CellCounts):
    """How many rows do not have one category of a column, and how many have it.

    Parameters
    ----------
    categories : int
        How many categories the column has.
    column : int
        Which of the category columns, counted from 0.
    code : int
        Which of the categories, counted from 0.
    """

    categories: int
    column: int
    code: int

    name = "chosen"
    dimension = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", integer("categories", self.categories, least=2))
        object.__setattr__(self, "column", integer("column", self.column, least=0))
        object.__setattr__(self, "code", integer("code", self.code, least=0, most=self.categories - 1))

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the column is not there, or has another number of categories."""
        have = [len(values) for values in categories]
        if self.column >= len(have) or have[self.column] != self.categories:
            raise ArgumentError(("categories", "column"), (self.categories, self.column), f"those of columns of {have}")

    @property
    def parts(self) -> Mapping[str, Part]:
        """Two counts."""
        return {"counts": Part((2,))}

    def numbers(self, block: Block) -> Any:
        """Return 1 for rows of the category, 0 for others."""
        code = block.codes[:, self.column]
        xp = array_namespace(code)
        return xp.astype(code == self.code, xp.int64)


Array = NDArray[np.float64]


class MostFrequentCategory(Selection):
    """The most frequent category of a column, of all rows or of each group of them; the scores are counts.

    A row that comes or goes moves one count by 1 and the others by 0: spread 1. A row that is replaced moves one up and
    one down: spread 2. A unit of m rows: m times that. Counts are exact (``records.sources.whole_sums``).

    In groups each choice is about the rows of one group. The log-ratio of all choices together is the sum of theirs, so
    its range is the sum of their ranges. A row is in one group: if it comes or goes, the range of that group is 1. If
    it is replaced within its group, that range is 2; if it changes its group, two groups have a range of 1 each.
    """

    def spread(self, setting: Setting) -> float:
        """Return m under add-remove, 2m under replace-one."""
        return setting.max_rows * (1.0 if setting.neighbors is Neighbors.ADD_REMOVE else 2.0)

    def largest_score(self, setting: Setting) -> float:
        """Return the bound on the number of rows."""
        return float(setting.rows)


@dataclass(frozen=True)
class Mode(Histogram, MostFrequentCategory):
    """The most frequent category of a column (``MostFrequentCategory`` has the proof)."""

    name = "mode"

    def scores(self, values: Array) -> Array:
        """Return the counts."""
        return values


@dataclass(frozen=True)
class GroupModes(CellCounts, MostFrequentCategory):
    """The most frequent category of a column in every group (``MostFrequentCategory`` has the proof).

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns of categories has.
    column : int
        Which of them is asked about.
    by : tuple of int
        Those that define the groups, which are numbered like the digits of a number, the first column being the
        highest digit.
    """

    categories: tuple[int, ...]
    column: int
    by: tuple[int, ...]

    name = "modes of groups"
    dimension = 0

    def __post_init__(self) -> None:
        sizes = tuple(integer("categories", size, least=1) for size in self.categories)
        places = [integer("column, by", one, least=0, most=len(sizes) - 1) for one in (self.column, *self.by)]
        if len({*places}) != len(places) or len(places) < 2:
            raise ArgumentError("by", self.by, f"other columns than {self.column}, each once")
        object.__setattr__(self, "categories", sizes)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns have other numbers of categories."""
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ArgumentError("categories", self.categories, f"as many as each column has, {have}")

    @property
    def choices(self) -> int:
        """The number of groups."""
        return math.prod(self.categories[place] for place in self.by)

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a category, in every group."""
        return {"counts": Part((self.choices, self.categories[self.column]))}

    def numbers(self, block: Block) -> Any:
        """Return the code of the category, after the number of the group."""
        number, *others = (block.codes[:, place] for place in (*self.by, self.column))
        for code, place in zip(others, (*self.by, self.column)[1:], strict=True):
            number = number * self.categories[place] + code
        return number

    def scores(self, values: Array) -> Array:
        """Return the counts, with an axis of groups first."""
        return values.reshape(self.choices, -1)


MOST = 2**22


@dataclass(frozen=True)
class Bins(CellCounts):
    """How many rows have the number of a column between two edges; an edge belongs to the bin above it.

    Which bin a number is in is decided by comparisons alone.

    Parameters
    ----------
    space : Box or Ball
    column : int
    inner : tuple of float
        The edges between bins, in increasing order. The first bin has all below, the last all above.
    """

    space: Box | Ball
    column: int
    inner: tuple[float, ...]

    name = "bins"

    def __post_init__(self) -> None:
        integer("column", self.column, least=0, most=self.space.dimension - 1)
        edges = np.asarray(self.inner, dtype=np.float64)
        if (
            edges.ndim != 1
            or not 1 <= edges.size < MOST
            or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all())
        ):
            raise ArgumentError("inner", UNSHOWN, f"from 1 to {MOST - 1} finite edges, in increasing order")

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """One count a bin."""
        return {"counts": Part((len(self.inner) + 1,))}

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's bin."""
        x = self.space.clip(block.x)[:, self.column]
        xp = array_namespace(x)
        return xp.searchsorted(xp.asarray(self.inner, dtype=x.dtype, device=device(x)), x, side="right")


@dataclass(frozen=True)
class Margins(Query):
    """How many rows have each category of each column.

    c(x) has, for each of k columns, a 1 at the row's category and 0 elsewhere: k ones, so norm k in L1 and √k in L2. A
    replaced row moves, in each column, one count down and another up: 2k in L1, √(2k) in L2. All are attained.

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns of categories has.
    """

    categories: tuple[int, ...]

    name = "margins"
    dimension = 0
    whole_numbers = True

    def __post_init__(self) -> None:
        sizes = tuple(integer("categories", size, least=2) for size in self.categories)
        if not sizes:
            raise ArgumentError("categories", (), "the number of categories of at least one column")
        object.__setattr__(self, "categories", sizes)

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns have other numbers of categories."""
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ValueError(f"categories={self.categories}: expected as many as each column has, {have}")

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """One part a column, one count a category."""
        return {f"column{place}": Part((size,)) for place, size in enumerate(self.categories)}

    @cached_property
    def bound(self) -> Bound:
        """√k and k for k columns; √(2k) and 2k when a row is replaced."""
        k = float(len(self.categories))
        return Bound(l2=_root(k), l1=k, replace_l2=_root(2.0 * k), replace_l1=2.0 * k)

    def contributions(self, block: Block) -> Any:
        """Return a one for each column."""
        xp = array_namespace(block.codes)
        ones = []
        for place, size in enumerate(self.categories):
            code = block.codes[:, place : place + 1]
            labels = xp.asarray([list(range(size))], dtype=code.dtype, device=device(code))
            ones.append(xp.astype(code == labels, xp.float64))
        return xp.concat(ones, axis=1)


def _root(number: float) -> float:
    """Return a square root that is rounded up."""
    root = math.sqrt(number)
    return root if root * root == number else math.nextafter(root, math.inf)
