"""How raw rows become blocks: fill or drop what is missing, limit the rows of a unit, clip, choose.

A ``Reading`` is made from public declarations alone. It is a small frozen value that travels to Dask's workers. Nothing
here raises, warns or logs for anything in a row: what cannot be read is missing, and the declaration says what
that means. A row becomes the same floats whatever rows stand beside it. A condition looks at one row alone too, so it
leaves neighbours neighbours (``conditions``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.records.ball import Ball
from discreet.records.block import Block
from discreet.records.box import Box
from discreet.records.columns import Category, value_box
from discreet.records.conditions import Condition
from discreet.records.row_choice import DeclaredRows
from discreet.records.schema import Schema, Unit
from discreet.records.space import on_device

__all__ = ["RawBlock", "Reading", "Slab"]

SLAB_CELLS = 2**19  # cells that a table turns into floats at a time: 4 MiB, or one block if that is more


class Slab(NamedTuple):
    """Raw rows, column by column, as a source hands them over.

    Attributes
    ----------
    numbers : array of shape (n, d)
        NaN where a cell holds no number, or no date.
    labels : sequence of k columns
        The cells of the columns of categories.
    """

    numbers: Any
    labels: Sequence[Any]


class RawBlock(NamedTuple):
    """Raw rows of one block.

    Attributes
    ----------
    numbers : array of shape (n, d)
        NaN where a cell holds no number.
    codes : array of shape (n, k)
        Of the categories, below 0 where one is missing.
    keep : array of shape (n,) or None
        Which rows are within the limit of their unit; None for all.
    """

    numbers: Any
    codes: NDArray[np.int64]
    keep: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Reading:
    """The declarations that turn rows into blocks.

    Attributes
    ----------
    numbers : tuple of str
        The numeric columns.
    bounds : Box, Ball or None
        Where their cells lie, with one bound a column; None where there are no numeric columns.
    fills : tuple of float
        For each numeric column the cell to fill, NaN where a missing one drops the row.
    scales : tuple of str
        For each numeric column "linear", "log" or "date" (``columns``).
    labels : tuple of str
        The columns of categories.
    categories : tuple of Category
        What they hold.
    unit : Unit or None
        Whose row it is, and how many rows of one unit contribute; None where the row is the unit.
    block_rows : int
        The largest block.
    condition : Condition or None
        What must hold for a row to contribute. It is judged last, on the filled and clipped cells: a row that lacks a
        value in one of its columns is dropped, or filled, as the column says, and a row counts against the limit of its
        unit whether the condition holds or not.
    """

    numbers: tuple[str, ...]
    bounds: Box | Ball | None
    fills: tuple[float, ...]
    scales: tuple[str, ...]
    labels: tuple[str, ...]
    categories: tuple[Category, ...]
    unit: Unit | None
    block_rows: int
    condition: Condition | None = None

    by_database: ClassVar[bool] = True  # whether SQL can say what ``block`` does (``sql_sum``)

    @classmethod
    def of_schema(cls, schema: Schema, unit: Unit | None, block_rows: int) -> Reading:
        """Return the reading of a schema's columns."""
        numbers, categories = schema.numbers, schema.categories
        fills = tuple(column.filled_with for column in numbers.values())
        scales, bounds = tuple(column.scale for column in numbers.values()), schema.bounds
        labels, kinds = tuple(categories), tuple(categories.values())
        return cls(tuple(numbers), bounds, fills, scales, labels, kinds, unit, block_rows)

    @classmethod
    def of_space(
        cls, space: Box | Ball, names: Sequence[str], missing: str, unit: Unit | None, block_rows: int
    ) -> Reading:
        """Return the reading of numeric columns in a space; missing values are filled with its centre."""
        space = space.for_columns(len(names))
        center = space.center
        fills = center if missing == "fill" and isinstance(center, tuple) else (math.nan,) * len(names)
        return cls(tuple(names), space, fills, ("linear",) * len(names), (), (), unit, block_rows)

    @cached_property
    def space(self) -> Box | Ball | None:
        """Where the values lie that queries see."""
        return value_box(self.bounds, self.scales) if isinstance(self.bounds, Box) else self.bounds

    @property
    def max_rows(self) -> int:
        """How many rows of a unit contribute; 1 where the row is the unit."""
        return 1 if self.unit is None else self.unit.max_rows

    def only(self, names: Collection[str]) -> Reading:
        """Return the reading of some of the columns, as they are declared, so that gaps in others drop no row.

        A ball is one bound for all of its columns: with one, all of them are read. The columns of the condition are
        read too, after those that were named.
        """
        if isinstance(self.bounds, Ball):
            names = {*names, *self.numbers}
        beside = frozenset() if self.condition is None else self.condition.columns.difference(names)

        def places(known: Sequence[str]) -> list[int]:
            return [at for wanted in (names, beside) for at, name in enumerate(known) if name in wanted]

        kept, labels = places(self.numbers), places(self.labels)
        bounds = self.bounds
        if isinstance(bounds, Box):
            low, high = (np.asarray(end)[kept] for end in (bounds.low, bounds.high))
            bounds = Box(low, high) if kept else None
        return replace(
            self,
            numbers=tuple(self.numbers[place] for place in kept),
            bounds=bounds,
            fills=tuple(self.fills[place] for place in kept),
            scales=tuple(self.scales[place] for place in kept),
            labels=tuple(self.labels[place] for place in labels),
            categories=tuple(self.categories[place] for place in labels),
        )

    def filled(self) -> Reading:
        """Return the reading in which every gap is filled, with the centre or the first category: no row is dropped."""
        centers = () if self.bounds is None else self.bounds.for_columns(len(self.numbers)).center
        fills = tuple(np.where(np.isnan(self.fills), centers, self.fills).tolist()) if self.fills else ()
        categories = tuple(
            Category(one.values, missing="fill", fill=one.values[0]) if one.fill is None else one
            for one in self.categories
        )
        return replace(self, fills=fills, categories=categories)

    def where(self, condition: Condition) -> Reading:
        """Return the reading of the rows for which a condition holds too, which is over its columns."""
        return replace(self, condition=condition if self.condition is None else self.condition & condition)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, the unit's last."""
        return self.numbers + self.labels + (() if self.unit is None else (self.unit.column,))

    @property
    def required(self) -> tuple[str, ...]:
        """The columns in which a gap drops the row."""
        numbers = (name for name, fill in zip(self.numbers, self.fills, strict=True) if math.isnan(fill))
        labels = (name for name, column in zip(self.labels, self.categories, strict=True) if column.fill is None)
        return (*numbers, *labels)

    @property
    def complete(self) -> bool:
        """Whether every row surely contributes."""
        return self.unit is None and self.condition is None and not self.required

    @property
    def slab_rows(self) -> int:
        """How many rows a source should hand over at a time: some whole blocks."""
        return self.block_rows * max(1, SLAB_CELLS // (self.block_rows * len(self.columns)))

    def codes(self, slab: Slab) -> NDArray[np.int64]:
        """Return the categories' codes, −1 for a gap and −2 for what is not declared."""
        codes = np.empty((slab.numbers.shape[0], len(self.categories)), dtype=np.int64)
        for j, (category, cells) in enumerate(zip(self.categories, slab.labels, strict=True)):
            codes[:, j] = category.encode(cells)
        return codes

    @property
    def order(self) -> int | None:
        """The place of the numeric column in whose order a unit's rows come first."""
        return None if self.unit is None or self.unit.order is None else self.numbers.index(self.unit.order)

    def no_rows(self) -> DeclaredRows:
        """Return no row as it is declared."""
        return DeclaredRows(np.empty((0, len(self.numbers))), np.empty((0, len(self.labels)), dtype=np.int64))

    def take(self, slab: Slab, places: NDArray[np.int64]) -> DeclaredRows:
        """Return some rows of a slab as they are declared."""
        xp = array_namespace(slab.numbers)
        chosen = xp.take(slab.numbers, xp.asarray(places, device=device(slab.numbers)), axis=0)
        numbers = to_host(chosen).astype(np.float64)
        labels = [[cells[place] for place in places.tolist()] for cells in slab.labels]
        return DeclaredRows(numbers, self.codes(Slab(numbers, labels)))

    def cut(self, slab: Slab, keep: NDArray[np.bool_] | None) -> Iterator[RawBlock]:
        """Yield the rows of a slab in blocks; ``keep`` begins with its rows."""
        return self._cut(RawBlock(slab.numbers, self.codes(slab), keep))

    def cut_declared(self, rows: DeclaredRows, declared: Reading) -> Iterator[RawBlock]:
        """Yield rows that were read as all that is declared, in blocks of the columns of this reading."""
        numbers = [declared.numbers.index(name) for name in self.numbers]
        labels = [declared.labels.index(name) for name in self.labels]
        return self._cut(RawBlock(rows.numbers[:, numbers], rows.codes[:, labels], None))

    def _cut(self, raw: RawBlock) -> Iterator[RawBlock]:
        numbers, codes, keep = raw
        for start in range(0, len(codes), self.block_rows):
            stop = min(start + self.block_rows, len(codes))
            yield RawBlock(numbers[start:stop, :], codes[start:stop], None if keep is None else keep[start:stop])

    @np.errstate(all="ignore")
    def block(self, raw: RawBlock) -> Block:
        """Return the rows that contribute, filled and clipped: those for which the condition holds."""
        numbers, codes, keep = raw
        xp = array_namespace(numbers)
        x = xp.astype(numbers, xp.float64, copy=False) + 0.0  # 0.0 for −0.0: rows of one encoding are one row
        if self.categories:
            codes = np.where(codes < 0, [category.fill_code for category in self.categories], codes)
        if "date" in self.scales:
            x = xp.where(on_device(tuple(scale == "date" for scale in self.scales), x) > 0.0, xp.floor(x), x)
        finite = xp.isfinite(x)
        kept = (codes >= 0).all(axis=1) if keep is None else keep & (codes >= 0).all(axis=1)
        if not bool(xp.all(finite)):
            fills = on_device(self.fills, x)
            x = xp.where(finite, x, fills)
            whole = ~xp.any(xp.isnan(x), axis=1)
            if not bool(xp.all(whole)):
                kept = kept & to_host(whole)
        labels = xp.asarray(codes, device=device(x))
        if not kept.all():
            rows = xp.asarray(np.flatnonzero(kept), device=device(x))
            x, labels = xp.take(x, rows, axis=0), xp.take(labels, rows, axis=0)
        x = x if self.bounds is None else self.bounds.clip(x)
        if self.condition is not None:
            held = to_host(self.condition.holds(x, labels, self.numbers, self.labels))
            rows = xp.asarray(np.flatnonzero(held), device=device(x))
            x, labels = xp.take(x, rows, axis=0), xp.take(labels, rows, axis=0)
        return Block(self._values(x), labels)

    def _values(self, x: Any) -> Any:
        """Return clipped cells as the values that queries see."""
        if "log" not in self.scales:
            return x
        xp = array_namespace(x)
        logs = on_device(tuple(scale == "log" for scale in self.scales), x) > 0.0
        found = xp.where(logs, xp.log(xp.where(logs, x, xp.ones_like(x))), x)
        return found if self.space is None else self.space.clip(found)  # a logarithm may be off by a last digit


def to_host(x: Any) -> NDArray[Any]:
    """Return an array of any library as a NumPy array."""
    if hasattr(x, "detach"):  # torch
        x = x.detach().cpu()
    elif hasattr(x, "get") and hasattr(x, "__cuda_array_interface__"):  # CuPy
        x = x.get()
    return np.asarray(x)
