"""Counts of the cells of grids: over the declared space, along public directions, and of every column by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer
from discreet.queries.bound import NORMS, Bound
from discreet.queries.counts.count_queries import CellCounts
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block, Box, Space

MOST_CELLS = 2**22


@dataclass(frozen=True, init=False)
class Grid(CellCounts):
    """How many rows lie in each cell of a grid.

    Which cell a row, moved into the space, lies in is decided by elementwise operations alone, so it is a function of
    the row's own bits.

    Parameters
    ----------
    space : Box or Ball
        Rows outside are moved into it. The grid covers the box, or the cube around the ball.
    cells : int, or one a column
        How many intervals each column is cut into.

    Examples
    --------
    >>> Grid(Box([0.0, 0.0], [1.0, 2.0]), 4).parts["counts"].shape
    (4, 4)
    """

    space: Box | Ball
    cells: tuple[int, ...]

    name = "grid"

    def __init__(self, space: Box | Ball, cells: Any) -> None:
        each = [cells] * space.dimension if np.ndim(cells) == 0 else list(cells)
        whole = tuple(integer("cells", number, least=1) for number in each)
        if len(whole) != space.dimension or not 2 <= math.prod(whole) <= MOST_CELLS:
            raise ArgumentError(
                "cells",
                cells,
                f"a number, or one for each of the {space.dimension} columns, and between 2 and {MOST_CELLS} cells in "
                "all",
            )
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "cells", whole)

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a cell, an axis a column."""
        return {"counts": Part(self.cells)}

    @property
    def reach(self) -> float:
        """How far the grid goes from the centre of the unit ball, in each column."""
        return 1.0 if isinstance(self.space, Ball) else 1.0 / math.sqrt(self.dimension)

    def centers(self) -> NDArray[np.float64]:
        """Return the middle of each cell, in the coordinates of the unit ball, in the order of the counts."""
        axes = [self.reach * ((2.0 * np.arange(m) + 1.0) / m - 1.0) for m in self.cells]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        number = xp.zeros((y.shape[0],), dtype=xp.int64, device=device(y))
        for j, m in enumerate(self.cells):
            place = xp.floor((y[:, j] / self.reach + 1.0) * (0.5 * m))
            inside = xp.clip(place, 0.0, float(m - 1))
            number = number * m + xp.astype(inside, xp.int64)
        return number


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProjectedGrid(Grid):
    """How many rows lie in each cell of a grid along public directions.

    For rows of too many columns for a grid over all of them; k-means of earlier versions has releases of it. A row,
    moved into the space, is in one cell, so the bounds are those of every grid, whatever the directions. Which cell it
    is, is decided by elementwise operations alone, column by column and not by a matrix product, so it is a function of
    the row's own bits.

    Parameters
    ----------
    space : Box or Ball
    cells : tuple of q ints
    axes : array of shape (q, d)
        Directions, applied to rows in the unit ball.
    origin, extent : arrays of shape (q,)
        The grid goes from origin − extent to origin + extent; what is outside counts in the cell at the border.
    """

    axes: Array
    origin: Array
    extent: Array

    name = "grid along directions"

    def centers(self) -> Array:
        """Return the middle of each cell along the directions, in the order of the counts."""
        each = zip(self.origin, self.extent, self.cells, strict=True)
        axes = [origin + extent * ((2.0 * np.arange(m) + 1.0) / m - 1.0) for origin, extent, m in each]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def numbers(self, block: Block) -> Any:
        """Return the number of each row's cell."""
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        number = xp.zeros((y.shape[0],), dtype=xp.int64, device=device(y))
        for axis, origin, extent, m in zip(self.axes, self.origin, self.extent, self.cells, strict=True):
            place = xp.zeros((y.shape[0],), dtype=xp.float64, device=device(y))
            for j, share in enumerate(axis):
                place = place + y[:, j] * float(share)
            place = xp.floor(((place - float(origin)) / float(extent) + 1.0) * (0.5 * m))
            number = number * m + xp.astype(xp.clip(place, 0.0, float(m - 1)), xp.int64)
        return number


EVEN, MOST = 64, 128


@dataclass(frozen=True)
class ColumnCells:
    """The cells into which one column of numbers is cut for its histogram.

    A column whose numbers are declared to be whole, and at most ``MOST`` of them, has a cell for each. Any other has
    one for its lower bound itself, ``EVEN`` of equal width, and one for its upper bound, since many rows may sit at a
    bound. Which cell a number is in follows from comparisons with public edges.

    Examples
    --------
    >>> ColumnCells(0.5, 3.0, whole=True).edges.tolist(), ColumnCells(0.0, 1.0).count
    ([1.5, 2.5], 66)
    """

    low: float
    high: float
    whole: bool = False

    @property
    def single(self) -> bool:
        """Whether each whole number has a cell."""
        first, last = math.ceil(self.low), math.floor(self.high)
        return self.whole and first < last < first + MOST

    @property
    def ends(self) -> Array:
        """Of the cells but for those of a bound: one more than there are of them."""
        if self.single:
            return np.arange(math.ceil(self.low), math.floor(self.high) + 2, dtype=np.float64) - 0.5
        return np.asarray(self.low + (self.high - self.low) * (np.arange(EVEN + 1) / EVEN))

    @property
    def edges(self) -> Array:
        """A number is in cell i if it is above i of these."""
        if self.single:
            return self.ends[1:-1]
        below = np.nextafter(self.high, self.low)
        return np.concatenate([[self.low], np.clip(self.ends[1:-1], self.low, below), [below]])

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + 1


@dataclass(frozen=True)
class Marginals(Query):
    """How many rows have each category, in every column of categories, and are in each cell, in every one of numbers.

    A column of numbers has ``cells`` for categories. Which one a number is in follows from comparisons with public
    edges, so from its own bits; whatever is no number is in the first.

    Row l, with a category l_j in each of m columns, contributes (1_{l_j}/√m)_j: norm 1 in L2 and √m in L1. Where a row
    is replaced, each column of several categories moves one count down and another up, and one of a single category
    nothing: with m' of the former √(2m'/m) in L2 and 2m'/√m in L1. All are attained.

    Parameters
    ----------
    categories : tuple of int
        How many categories each of the columns has.
    space : Box or None
        Of the numbers; None to leave them out.
    whole : tuple of bool
        For each column of numbers whether they are declared to be whole.
    """

    categories: tuple[int, ...]
    space: Box | None = None
    whole: tuple[bool, ...] = ()

    name = "marginals"

    def check(self, space: Space | None, categories: Sequence[Sequence[Any]]) -> None:
        """Raise where the columns are others."""
        super().check(space, categories)
        have = tuple(len(values) for values in categories)
        if have != self.categories:
            raise ArgumentError("categories", self.categories, f"{have}, as many as are declared")

    @property
    def parts(self) -> Mapping[str, Part]:
        """``table0``, ``table1`` …, one count a category, and ``cells0`` …, for each column of numbers."""
        weight = 1.0 / math.sqrt(self._columns)
        tables = {f"table{j}": Part((count,), weight) for j, count in enumerate(self.categories)}
        return tables | {f"cells{j}": Part((cells.count,), weight) for j, cells in enumerate(self.cells)}

    @property
    def cells(self) -> tuple[ColumnCells, ...]:
        """Those of each column of numbers."""
        if self.space is None:
            return ()
        return tuple(map(ColumnCells, self.space.low, self.space.high, self.whole))  # type: ignore[arg-type]

    @property
    def dimension(self) -> int:
        """The number of columns of numbers."""
        return 0 if self.space is None else self.space.dimension

    @property
    def _columns(self) -> int:
        return len(self.categories) + self.dimension

    @property
    def bound(self) -> Bound:
        """See the class."""
        m, several = self._columns, sum(count > 1 for count in self.categories) + self.dimension
        if not several:  # every row is the same
            return Bound(l2=1.0, l1=math.sqrt(m), attained={name: 0.0 for name in NORMS if name.startswith("replace")})
        return Bound(
            l2=1.0,
            l1=math.sqrt(m),
            replace_l2=math.sqrt(2.0 * several / m),
            replace_l1=2.0 * several / math.sqrt(m),
        )

    @property
    def roundoff(self) -> float:
        """A root and a division; and the norm over the columns."""
        return (self._columns + 4.0) * 2.0**-53

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows side by side, divided by √m."""
        xp = array_namespace(block.codes)
        hot = [one_hot(block.codes[:, j], count) for j, count in enumerate(self.categories)]
        for j, cells in enumerate(self.cells):
            above = block.x[:, j : j + 1] > xp.asarray(cells.edges, device=device(block.x))[None, :]
            hot.append(one_hot(xp.sum(xp.astype(above, xp.int64), axis=1), cells.count))
        return xp.concat(hot, axis=1) / math.sqrt(self._columns)
