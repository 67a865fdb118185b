"""How raw rows become blocks: fill or drop what is missing, limit the rows of a unit, clip, choose.

A ``Reading`` is made from public declarations alone. It is a small frozen value that travels to Dask's workers. Nothing
here raises, warns or logs for anything in a row: what cannot be read is missing, and the declaration says what
that means. A row becomes the same floats whatever rows stand beside it. A condition looks at one row alone too, so it
leaves neighbours neighbours (``conditions``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.records.ball import Ball
from discreet.records.box import Box
from discreet.records.columns import Columns, without_gaps
from discreet.records.conditions import Condition
from discreet.records.row_choice import DeclaredRows
from discreet.records.schema import Unit
from discreet.records.space import on_device, taken, to_host

__all__ = ["Block", "Reading"]

SLAB_CELLS = 2**19  # cells that a table turns into floats at a time: 4 MiB, or one block if that is more


class Block(NamedTuple):
    """Rows that a kernel may see: complete, and inside of the declared space.

    Attributes
    ----------
    x : array of shape (n, d)
        The numeric columns, float64, in the array library of the source (NumPy for tables).
    codes : array of shape (n, k)
        For each column of categories the number of the category, int64, in the same library.
    """

    x: Any
    codes: Any


@dataclass(frozen=True)
class Reading(Columns):
    """The declarations that turn rows into blocks.

    Attributes
    ----------
    columns : tuple of pairs of a name and a column
        What is read.
    unit : Unit or None
        Whose row it is, and how many rows of one unit contribute; None where the row is the unit.
    block_rows : int
        The largest block.
    ball : Ball or None
        The one bound for all numeric columns together, in the place of one for each.
    condition : Condition or None
        What must hold for a row to contribute. It is judged last, on the filled and clipped cells: a row that lacks a
        value in one of its columns is dropped, or filled, as the column says, and a row counts against the limit of its
        unit whether the condition holds or not.
    """

    unit: Unit | None
    block_rows: int
    ball: Ball | None = None
    condition: Condition | None = None

    by_database: ClassVar[bool] = True  # whether SQL can say what ``block`` does (``sql_sum``)

    @cached_property
    def bounds(self) -> Box | Ball | None:
        """Where the cells of the numeric columns lie; None where there are none."""
        return self.ball or super().bounds

    @property
    def max_rows(self) -> int:
        """How many rows of a unit contribute; 1 where the row is the unit."""
        return 1 if self.unit is None else self.unit.max_rows

    def only(self, names: Collection[str]) -> Reading:
        """Return the reading of some of the columns, as they are declared, so that gaps in others drop no row.

        A ball is one bound for all of its columns: with one, all of them are read. The columns of the condition are
        read too, after those that were named.
        """
        names = names if self.ball is None else {*names, *self.numbers}
        beside = frozenset() if self.condition is None else self.condition.columns.difference(names)
        columns = [pair for wanted in (names, beside) for pair in self.columns if pair[0] in wanted]
        return replace(self, columns=tuple(columns))

    def filled(self) -> Reading:
        """Return the reading in which every gap is filled: no row is dropped."""
        return replace(self, columns=tuple((name, without_gaps(column)) for name, column in self.columns))

    def where(self, condition: Condition) -> Reading:
        """Return the reading of the rows for which a condition holds too, which is over its columns."""
        return replace(self, condition=condition if self.condition is None else self.condition & condition)

    @property
    def needed(self) -> tuple[str, ...]:
        """Every column that is read, the unit's last."""
        return self.names if self.unit is None else (*self.names, self.unit.column)

    @property
    def unit_column(self) -> str:
        """The column that says whose row it is, where there are units."""
        assert self.unit is not None
        return self.unit.column

    @property
    def required(self) -> tuple[str, ...]:
        """The columns in which a gap drops the row."""
        return tuple(name for name, column in (self.numbers | self.categories).items() if column.fill is None)

    @property
    def complete(self) -> bool:
        """Whether every row surely contributes."""
        return self.unit is None and self.condition is None and not self.required

    @property
    def slab_rows(self) -> int:
        """How many rows a source should hand over at a time: some whole blocks."""
        return self.block_rows * max(1, SLAB_CELLS // (self.block_rows * len(self.needed)))

    def codes(self, labels: Iterable[Iterable[Any]], rows: int) -> NDArray[np.int64]:
        """Return the codes of categories in so many rows, −1 for a gap and −2 for what is not declared."""
        found = [category.encode(cells) for category, cells in zip(self.categories.values(), labels, strict=True)]
        return np.stack(found, axis=1) if found else np.empty((rows, 0), dtype=np.int64)

    @property
    def order(self) -> int | None:
        """The place of the numeric column in whose order a unit's rows come first."""
        return None if self.unit is None or self.unit.order is None else [*self.numbers].index(self.unit.order)

    def no_rows(self) -> DeclaredRows:
        """Return no row as it is declared."""
        return DeclaredRows(np.empty((0, len(self.numbers))), np.empty((0, len(self.categories)), dtype=np.int64))

    def of_declared(self, rows: DeclaredRows, declared: Reading) -> DeclaredRows:
        """Return rows that were read as all that is declared, with the columns of this reading."""
        numbers = [[*declared.numbers].index(name) for name in self.numbers]
        labels = [[*declared.categories].index(name) for name in self.categories]
        return DeclaredRows(rows.numbers[:, numbers], rows.codes[:, labels])

    def cut(self, rows: DeclaredRows) -> Iterator[DeclaredRows]:
        """Yield rows in pieces of a block each."""
        numbers, codes, keep = rows
        for start in range(0, len(codes), self.block_rows):
            piece = slice(start, min(start + self.block_rows, len(codes)))
            yield DeclaredRows(numbers[piece, :], codes[piece], None if keep is None else keep[piece])

    @np.errstate(all="ignore")
    def block(self, rows: DeclaredRows) -> Block:
        """Return the rows that contribute, filled and clipped: those for which the condition holds."""
        numbers, codes, keep = rows
        xp = array_namespace(numbers)
        x = xp.astype(numbers, xp.float64, copy=False) + 0.0  # 0.0 for −0.0: rows of one encoding are one row
        if self.categories:
            codes = np.where(codes < 0, [category.fill_code for category in self.categories.values()], codes)
        if "date" in self.scales:
            x = xp.where(on_device(tuple(scale == "date" for scale in self.scales), x) > 0.0, xp.floor(x), x)
        kept: Any = (codes >= 0).all(axis=1) if keep is None else keep & (codes >= 0).all(axis=1)
        finite = xp.isfinite(x)
        if not bool(xp.all(finite)):
            fills = tuple(column.filled_with for column in self.numbers.values())
            x = xp.where(finite, x, on_device(fills, x))
            kept = kept & to_host(~xp.any(xp.isnan(x), axis=1))
        x = x if self.bounds is None else self.bounds.clip(x)
        labels = xp.asarray(codes, device=device(x))
        if self.condition is not None:
            names = tuple(self.numbers), tuple(self.categories)
            kept = kept & to_host(self.condition.holds(x, labels, *names))
        if not kept.all():
            x, labels = (taken(array, np.flatnonzero(kept)) for array in (x, labels))
        return Block(self._values(x) if "log" in self.scales else x, labels)

    def _values(self, x: Any) -> Any:
        """Return clipped cells as the values that queries see, of which some are logarithms."""
        xp = array_namespace(x)
        logs = on_device(tuple(scale == "log" for scale in self.scales), x) > 0.0
        found = xp.where(logs, xp.log(xp.where(logs, x, xp.ones_like(x))), x)
        return found if self.space is None else self.space.clip(found)  # a logarithm may be off by a last digit
