"""Turns raw rows into blocks: fills or drops missing values, applies conditions, clips numbers.

Which rows of a unit count is in ``row_choice``. A ``Reading`` is made from public declarations alone. It is a small
frozen value, which Dask sends to its workers. Nothing here raises, warns or logs for anything in a row: what cannot be
read is missing, and the declaration says whether it is filled or the row is dropped. A row becomes the same floats
whatever rows stand beside it. A condition is a function of one row too, so neighbours stay neighbours (``conditions``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, choice, format_names, format_value, integer
from discreet.cuda_kernels import is_on_cuda
from discreet.records.declared.ball import Ball
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category, fill_gaps
from discreet.records.declared.conditions import Condition
from discreet.records.declared.declared_numbers import set_fields
from discreet.records.device_reading import copy_to_device, read_numbers_on_device
from discreet.records.generic_arrays import on_device, take, to_host
from discreet.records.row_choice import UNIT_TYPES, DeclaredRows

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
class Unit:
    """Whose privacy is protected where a person may have several rows, and which of them count.

    Attributes
    ----------
    column : str
        The column that says whose row it is.
    max_rows : int
        How many rows of one unit count (``row_choice``).
    unit_type : str
        The type of the column, "text" or "integer": equality of units is equality of that type (``row_choice``).
    order : str or None
        A numeric column: the rows that are first in it count. None: any, by a public hash.
    """

    column: str
    max_rows: int
    unit_type: str = "text"
    order: str | None = None

    @classmethod
    def declared(
        cls, column: str, max_rows: Any, unit_type: Any = None, order: Any = None, numbers: Any = None
    ) -> Self:
        """Return the unit that arguments declare.

        Parameters
        ----------
        column, max_rows, unit_type, order
            As in the class; ``unit_type`` is "text" where it is None.
        numbers : iterable of str, optional
            The numeric columns, of which ``order`` must be one.
        """
        if max_rows is None:
            write = "for example max_rows=10 (the noise grows with it)"
            raise ArgumentError("max_rows", None, "how many rows of one unit contribute", write)
        unit_type = "text" if unit_type is None else choice("unit_type", unit_type, UNIT_TYPES)
        if order is not None and numbers is not None and order not in (known := tuple(numbers)):
            numeric = f"a declared column of numbers or dates, one of {format_names(known)}"
            raise ArgumentError("order", order, f"{numeric}; the rows that are first in it count")
        return cls(column, integer("max_rows", max_rows, least=1), unit_type, order)


def check_no_limit(**limit: Any) -> None:
    """Raise if a limit on the rows of a unit is given and no unit is declared."""
    for name, value in limit.items():
        if value is not None:
            raise ValueError(
                f"{name}={format_value(value)} without a unit: write unit='patient_id' too, or leave it out"
            )


@dataclass(frozen=True)
class Reading:
    """The declarations that turn rows into blocks, and what follows from them.

    Attributes
    ----------
    numbers : tuple of str
        The numeric columns that are read, of numbers and dates.
    scales : tuple of str
        For each of them "linear", "log" or "date" (``columns``).
    fills : tuple of float or None
        For each of them what takes the place of a number that is missing; None where the row is dropped.
    bounds : Box, Ball or None
        Where their cells lie; None where there are none. A ball is one bound for all of them together.
    space : Box, Ball or None
        Where the values lie that queries see: logarithms where a column says so, days for dates.
    categories : dict of str to Category
        The columns of categories that are read.
    unit : Unit or None
        Whose row it is, and how many rows of one unit contribute; None where the row is the unit.
    block_rows : int
        The largest block.
    condition : Condition or None
        What must hold for a row to contribute. It is judged last, on the filled and clipped cells: a row that lacks a
        value in one of its columns is dropped, or filled, as the column says, and a row counts against the limit of its
        unit whether the condition holds or not.
    device : str or None
        Where blocks are computed: the name of a device of torch, to which rows are copied; None: where they are.
    names, needed : tuple of str
        Every column that is read, without and with the unit's, which is the last.
    required : tuple of str
        The columns in which a gap drops the row.
    complete : bool
        Whether every row surely contributes.
    max_rows : int
        How many rows of a unit contribute; 1 where the row is the unit.
    slab_rows : int
        How many rows a source should hand over at a time: some whole blocks.
    """

    numbers: tuple[str, ...]
    scales: tuple[str, ...]
    fills: tuple[float | None, ...]
    bounds: Box | Ball | None
    space: Box | Ball | None
    categories: dict[str, Category]
    unit: Unit | None
    block_rows: int
    condition: Condition | None = None
    device: str | None = None

    names: tuple[str, ...] = field(init=False, compare=False)
    needed: tuple[str, ...] = field(init=False, compare=False)
    required: tuple[str, ...] = field(init=False, compare=False)
    complete: bool = field(init=False, compare=False)
    max_rows: int = field(init=False, compare=False)
    slab_rows: int = field(init=False, compare=False)

    by_database: ClassVar[bool] = True  # whether SQL can say what ``block`` does (``sources.databases``)

    def __post_init__(self) -> None:
        names, fills = (*self.numbers, *self.categories), (*self.fills, *(one.fill for one in self.categories.values()))
        needed = names if self.unit is None else (*names, self.unit.column)
        required = tuple(name for name, fill in zip(names, fills, strict=True) if fill is None)
        complete = self.unit is None and self.condition is None and not required
        slab_rows = self.block_rows * max(1, SLAB_CELLS // (self.block_rows * len(needed)))
        set_fields(self, names=names, needed=needed, required=required, complete=complete, slab_rows=slab_rows)
        set_fields(self, max_rows=1 if self.unit is None else self.unit.max_rows)

    @property
    def arguments(self) -> dict[str, Any]:
        """What was declared, to make a view of it."""
        return {one.name: getattr(self, one.name) for one in fields(Reading) if one.init}

    def only(self, names: Collection[str]) -> Self:
        """Return the reading of some of the columns, as they are declared, so that gaps in others drop no row.

        A ball is one bound for all of its columns: with one, all of them are read. The columns of the condition are
        read too, after those that were named.
        """
        names = {*names, *self.numbers} if isinstance(self.bounds, Ball) else names
        beside = frozenset() if self.condition is None else self.condition.columns.difference(names)
        wanted = [name for group in (names, beside) for name in self.names if name in group]
        places = [self.numbers.index(name) for name in wanted if name in self.numbers]
        bounds, space = (_select_box(one, places) if isinstance(one, Box) else one for one in (self.bounds, self.space))
        return replace(
            self,
            numbers=tuple(self.numbers[j] for j in places),
            scales=tuple(self.scales[j] for j in places),
            fills=tuple(self.fills[j] for j in places),
            bounds=bounds,
            space=space,
            categories={name: self.categories[name] for name in wanted if name in self.categories},
        )

    def filled(self) -> Self:
        """Return the reading in which every gap is filled: no row is dropped. It is for counting rows.

        A number is filled with 0, which is then clipped into the space as every number is.
        """
        fills = tuple(0.0 if fill is None else fill for fill in self.fills)
        categories: Any = {name: fill_gaps(category) for name, category in self.categories.items()}
        return replace(self, fills=fills, categories=categories)

    def on_log_scale(self, names: Collection[str]) -> Self:
        """Return the reading in which queries see logarithms of these columns, whose bounds must be above 0."""
        if not isinstance(self.bounds, Box) or not isinstance(self.space, Box):
            return self
        scales = tuple("log" if name in names else scale for name, scale in zip(self.numbers, self.scales, strict=True))
        cells, values = self.bounds.intervals(), self.space.intervals()
        ends: Any = [np.log(cells[j]) if scale == "log" else values[j] for j, scale in enumerate(scales)]
        return replace(self, scales=scales, space=Box(*np.transpose(ends)))

    def where(self, condition: Condition) -> Self:
        """Return the reading of the rows for which a condition holds too, which is over its columns."""
        return replace(self, condition=condition if self.condition is None else self.condition & condition)

    def codes(self, labels: Iterable[Iterable[Any]], rows: int) -> NDArray[np.int64]:
        """Return the codes of the categories of ``rows`` rows: −1 for a gap, −2 for a value that is not declared."""
        result = [category.encode(cells) for category, cells in zip(self.categories.values(), labels, strict=True)]
        return np.stack(result, axis=1) if result else np.empty((rows, 0), dtype=np.int64)

    @property
    def order(self) -> int | None:
        """The place of the numeric column in whose order a unit's rows come first."""
        return None if self.unit is None or self.unit.order is None else self.numbers.index(self.unit.order)

    def empty_rows(self) -> DeclaredRows:
        """Return zero rows with the declared columns."""
        return DeclaredRows(np.empty((0, len(self.numbers))), np.empty((0, len(self.categories)), dtype=np.int64))

    def select_columns(self, rows: DeclaredRows, declared: Reading) -> DeclaredRows:
        """Return the columns of this reading from rows with all declared columns."""
        if self.names == declared.names:
            return rows
        numbers = [declared.numbers.index(name) for name in self.numbers]
        labels = [[*declared.categories].index(name) for name in self.categories]
        cells = take(rows.numbers, numbers, axis=1)  # row by row in memory, as from a table: so sums have the same bits
        return DeclaredRows(cells, rows.codes[:, labels], rows.keep)

    def cut(self, slabs: Iterable[DeclaredRows]) -> Iterator[DeclaredRows]:
        """Yield rows in pieces of a block each, of which only the last is smaller, however slabs come.

        So the same rows in the same order are the same blocks, whatever they are read from.
        """
        rest: DeclaredRows | None = None
        for slab in slabs:
            first = 0
            if rest is not None:
                first = min(self.block_rows - len(rest.codes), len(slab.codes))
                rest = DeclaredRows.joined([rest, slab.span(0, first)])
                if len(rest.codes) < self.block_rows:
                    continue
                yield rest
            rest = None
            for start in range(first, len(slab.codes), self.block_rows):
                piece = slab.span(start, start + self.block_rows)
                if len(piece.codes) < self.block_rows:
                    rest = piece
                else:
                    yield piece
        if rest is not None:
            yield rest

    @np.errstate(all="ignore")
    def block(self, rows: DeclaredRows) -> Block:
        """Return the rows that contribute, filled and clipped: those for which the condition holds."""
        numbers, codes, keep = rows if self.device is None else copy_to_device(rows, self.device)
        if hasattr(numbers, "is_cuda") and keep is None and (read := self._read_on_device(numbers)) is not None:
            return Block(read, read.new_empty(codes.shape).long())
        xp = array_namespace(numbers)
        x = xp.astype(numbers, xp.float64, copy=False)
        if self.categories:
            codes = np.where(codes < 0, [category.fill_code for category in self.categories.values()], codes)
        if "date" in self.scales:
            x = xp.where(on_device(tuple(scale == "date" for scale in self.scales), x) > 0.0, xp.floor(x), x)
        kept: Any = (codes >= 0).all(axis=1) if keep is None else keep & (codes >= 0).all(axis=1)
        if not math.isfinite(float(xp.sum(x))):  # then some cell may not be; a sum needs no memory
            finite = xp.isfinite(x)
            x = xp.where(finite, x, on_device(tuple(math.nan if fill is None else fill for fill in self.fills), x))
            kept = kept & to_host(~xp.any(xp.isnan(x), axis=1))
        if self.bounds is not None:
            x = self.bounds.clip(x)  # a copy of our own
            x += 0.0  # 0.0 for −0.0: rows of one encoding are one row
        labels = xp.asarray(codes, device=device(x))
        if self.condition is not None:
            kept = kept & to_host(self.condition.holds(x, labels, self.numbers, tuple(self.categories)))
        if not kept.all():
            x, labels = (take(array, np.flatnonzero(kept)) for array in (x, labels))
        return Block(self._values(x) if "log" in self.scales else x, labels)

    def _read_on_device(self, numbers: Any) -> Any:
        """Return numbers filled and clipped in one pass, or None where that is for array operations."""
        plain = not self.categories and self.condition is None and {*self.scales} == {"linear"}
        if not is_on_cuda(numbers) or not plain or not isinstance(self.bounds, Box):
            return None
        return read_numbers_on_device(numbers, self.fills, self.bounds)

    def _values(self, x: Any) -> Any:
        """Return clipped cells as the values that queries see: logarithms for columns on a log scale."""
        xp = array_namespace(x)
        logs = on_device(tuple(scale == "log" for scale in self.scales), x) > 0.0
        result = xp.where(logs, xp.log(xp.where(logs, x, xp.ones_like(x))), x)
        return result if self.space is None else self.space.clip(result)  # a logarithm may be off by a last digit


def _select_box(box: Box, places: list[int]) -> Box | None:
    """Return the box of some of the columns; None for none."""
    ends = box.intervals()
    return Box(*zip(*(ends[place] for place in places), strict=True)) if places else None
