"""How many rows lie in each bin of some columns, as a query.

c(x) is 1 at the bin that the row's chosen columns lie in and 0 elsewhere: norm 1 in L1 and in L2. A replaced row moves
one count down and another up: 2 in L1, √2 in L2. All are attained, since there are two bins or more. Which bin a row
lies in follows from elementwise operations, so from the row's own bits, and counts below 2⁵³ are exact.

The query looks at the chosen columns alone, so its noise does not grow with the others. Each is moved into its own
interval, whatever the row was; a row that a curator hands over has been moved into the whole space before that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import integer
from discreet.door import Bound, Curator, Query
from discreet.door.part import Part
from discreet.door.registry import registered
from discreet.records import Ball, Block, Box

__all__ = ["MOST_BINS", "Bins", "chosen_column", "chosen_columns", "column_interval", "column_share", "known_rows"]

Array = NDArray[np.float64]

MOST_BINS = 2**20
GUESSED_ROWS = 1000


def chosen_column(curator: Curator, column: str | int | None) -> int:
    """Return the number of the chosen numeric column; by public facts, before anything is spent.

    >>> from discreet.door import open_rows
    >>> curator = open_rows([[1.0, 2.0]], bounds=(0, 10))
    >>> chosen_column(curator, "x1"), chosen_column(curator, 0)
    (1, 0)
    """
    names = curator.columns
    if not names:
        raise ValueError("data: expected a numeric column; none is declared")
    if column is None:
        if len(names) > 1:
            raise ValueError(
                f"column=None: expected one of {names}, since there are several; write column={names[0]!r}"
            )
        return 0
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"column={column!r}: expected one of {names}")
        return names.index(column)
    return integer("column", column, least=0, most=len(names) - 1)


def chosen_columns(curator: Curator, column: Any) -> tuple[int, ...]:
    """Return the numbers of the chosen columns, for a name, a number, or a list of them."""
    if not isinstance(column, list | tuple):
        return (chosen_column(curator, column),)
    numbers = tuple(chosen_column(curator, one) for one in column)
    if not numbers or len(set(numbers)) < len(numbers) or None in column:
        raise ValueError(f"column={column!r}: expected different names or numbers of columns")
    return numbers


def column_interval(space: Box | Ball, column: int) -> tuple[float, float]:
    """Return where a column of the space can lie: the sides of a box, centre ± radius for a ball.

    >>> column_interval(Box([0, 40], [120, 250]), 1), column_interval(Ball(2.0, center=[1.0]), 0)
    ((40.0, 250.0), (-1.0, 3.0))
    """
    center = float(np.asarray(space.center).reshape(-1)[column])
    if isinstance(space, Ball):
        return center - space.radius, center + space.radius
    low, high = (np.asarray(end).reshape(-1) for end in (space.low, space.high))
    return float(low[column]), float(high[column])


@np.errstate(all="ignore")
def column_share(space: Box | Ball, x: Any, column: int) -> Any:
    """Return where in its interval each row's column lies, from 0 at the low end to 1 at the high end.

    In [0, 1] for any row whatever; a NaN is in the middle. Elementwise and array-API generic.
    """
    low, high = column_interval(space, column)
    half = high / 2.0 - low / 2.0
    xp = array_namespace(x)
    y = (xp.astype(x[:, column], xp.float64) - (low / 2.0 + high / 2.0)) / half
    return xp.clip(0.5 * xp.where(xp.isnan(y), xp.zeros_like(y), y) + 0.5, 0.0, 1.0)


def known_rows(curator: Curator, rows: int | None) -> int:
    """Return a public number of rows to plan with: the true one, the caller's guess, or a thousand."""
    if rows is not None:
        return integer("rows", rows, least=1)
    return max(GUESSED_ROWS if curator.size.units is None else curator.size.units, 1)


def _instances(rng: np.random.Generator, d: int, radius: float) -> list[Any]:
    low = rng.normal(size=d) * radius
    spaces: list[Box | Ball] = [Box(low, low + radius * 10.0 ** rng.uniform(-2.0, 2.0, d)), Ball(radius, center=low)]
    one = [Bins(space, (int(rng.integers(d)),), (bins,)) for space in spaces for bins in (2, 5)]
    return one + ([Bins(spaces[0], (d - 1, 0), (2, 3))] if d > 1 else [])


@registered(_instances)
@dataclass(frozen=True)
class Bins(Query):
    """How many rows lie in each bin of the chosen columns.

    Parameters
    ----------
    space : Box or Ball
        That of all columns.
    columns : tuple of int
        Which of them are counted.
    bins : tuple of int
        How many equal bins each of those is cut into.

    Examples
    --------
    >>> query = Bins(Box([0.0, 0.0], [1.0, 8.0]), (1,), (4,))
    >>> query.edges(0).tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """

    space: Box | Ball
    columns: tuple[int, ...]
    bins: tuple[int, ...]

    name = "bins"

    def __post_init__(self) -> None:
        columns = tuple(integer("columns", column, least=0, most=self.dimension - 1) for column in self.columns)
        bins = tuple(integer("bins", number, least=1) for number in self.bins)
        if len(bins) != len(columns) or not 2 <= math.prod(bins) <= MOST_BINS:
            raise ValueError(
                f"bins={self.bins!r}: expected a number for each of {len(columns)} columns, and 2 to {MOST_BINS} in all"
            )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "bins", bins)

    @property
    def dimension(self) -> int:
        """The number of columns of the space."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """One count a bin, an axis a column."""
        return {"counts": Part(self.bins)}

    @property
    def bound(self) -> Bound:
        """1 in both norms; √2 and 2 when a row is replaced."""
        return Bound(l2=1.0, l1=1.0, replace_l2=math.sqrt(2.0), replace_l1=2.0)

    @property
    def roundoff(self) -> float:
        """Counts below 2⁵³ are exact."""
        return 0.0

    def edges(self, axis: int) -> Array:
        """Return the ends of the bins of one of the chosen columns, in its own units."""
        return np.linspace(*column_interval(self.space, self.columns[axis]), self.bins[axis] + 1)

    def _numbers(self, block: Block) -> Any:
        """Return the number of each row's bin."""
        xp = array_namespace(block.x)
        number = xp.zeros((block.x.shape[0],), dtype=xp.int64, device=device(block.x))
        for column, m in zip(self.columns, self.bins, strict=True):
            place = xp.floor(column_share(self.space, block.x, column) * float(m))
            number = number * m + xp.astype(xp.clip(place, 0.0, float(m - 1)), xp.int64)
        return number

    def contributions(self, block: Block) -> Any:
        """Return one-hot rows."""
        number = self._numbers(block)
        xp = array_namespace(number)
        all_bins = xp.arange(self.size, dtype=number.dtype, device=device(number))
        return xp.astype(number[:, None] == all_bins[None, :], xp.float64)

    def sum(self, block: Block) -> Any:
        """Return the counts, without a row for each row: how many bin numbers are below the next one's."""
        number = self._numbers(block)
        xp = array_namespace(number)
        ends = xp.arange(self.size + 1, dtype=number.dtype, device=device(number))
        below = xp.searchsorted(xp.sort(number), ends)
        return xp.astype(below[1:] - below[:-1], xp.float64)
