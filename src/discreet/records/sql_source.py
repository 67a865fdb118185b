"""Rows of a table outside of memory: streamed in Arrow batches, and summed in the database where that can be done.

A database gives its rows in whatever order it likes, another one each time. So nothing here goes by places. A question
sees one snapshot of the table, in which it is first found out which units have more than ``max_rows`` rows; the rows of
all others stream by as they are, those of these units are read with all that is declared, and ``row_choice`` says
which of them count. Files have an order, and are read as ``LocalSource`` reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.optional import need
from discreet.records.reading import RawBlock, Reading
from discreet.records.row_choice import DeclaredRows, choose_rows
from discreet.records.source import Contributions, Kernel, Sizes, sizes, summed
from discreet.records.sql_engine import Engine, Snapshot, SqlEngine
from discreet.records.sql_sum import summing
from discreet.records.summation import CompensatedSum
from discreet.records.table_cells import unit_cells
from discreet.records.table_source import FrameSource, TableSource, check_types
from discreet.records.traced import NotTraceable
from discreet.records.units import Units

__all__ = ["SqlSource"]

Array = NDArray[np.float64]
Frames = Callable[[tuple[str, ...]], Iterator[nw.DataFrame[Any]]]


class SqlSource(FrameSource):
    """Rows of a table outside of memory.

    Each pass reads the table as it then is, and one pass is about one state of a database. All questions of the library
    are answered in one pass; in a table that changes, two measurements may be of two states.

    Parameters
    ----------
    engine : Engine
    declared : Reading
        Its columns are in the table.
    """

    def __init__(self, engine: Engine, declared: Reading) -> None:
        super().__init__(declared)
        self._engine = engine
        self._others: dict[Any, DeclaredRows] = {}  # one for all views
        self.kind = engine.kind
        self.per_unit = isinstance(engine, SqlEngine) and engine.view  # opened on the owner's word
        try:
            empty = engine.empty(tuple(dict.fromkeys(declared.columns)), declared.numbers)
            check_types(nw.from_native(empty, eager_only=True), declared)
            if declared.unit is not None and engine.types[declared.unit.column] == "decimal":
                raise ValueError(
                    f"the column {declared.unit.column!r} has the type numeric: expected names of units, as text or "
                    "whole numbers, since 7 and 7.00 are one number and two names; make it a bigint or text"
                )
        except NotImplementedError:  # of Arrow, for unions and the like
            raise ValueError(
                "a declared column has a type that cannot be read: expected numbers or text; cast it in a view"
            ) from None

    @cached_property
    def _count(self) -> int:
        return self._engine.rows()

    def rows(self) -> int:
        """Return how many rows the table has."""
        return self._count

    def state(self) -> Any:
        """Return what changes where a file is written anew."""
        return self._engine.state()

    def _frames(self, columns: tuple[str, ...]) -> Iterator[nw.DataFrame[Any]]:
        return _as_frames(self._engine.stream(columns, self.declared.numbers, self.declared.slab_rows))

    def _frames_in(self, state: Snapshot) -> Frames:
        engine, numbers, size = self._engine, self.declared.numbers, self.declared.slab_rows
        assert isinstance(engine, SqlEngine)
        return lambda columns: _as_frames(state.batches(engine.select(columns, numbers), size))

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""
        return super().unit_sizes() if self._engine.ordered else self._sizes

    @cached_property
    def _sizes(self) -> Sizes:
        assert self.declared.unit is not None
        codes = Units(self.declared.unit.unit_type).add(self.unit_cells())
        return sizes(np.bincount(codes[codes >= 0]), self.declared.max_rows)

    def _raw(self) -> Iterator[RawBlock]:
        if self.reading.unit is None or self._engine.ordered:
            yield from super()._raw()
            return
        assert isinstance(self._engine, SqlEngine)
        with self._engine.snapshot() as state:
            yield from self._raw_of_units(self._frames_in(state), self.reading.unit.column)

    def _raw_of_units(self, frames: Frames, column: str) -> Iterator[RawBlock]:
        """Yield the rows that count from frames that may come in another order each time."""
        assert self.declared.unit is not None
        units = Units(self.declared.unit.unit_type)
        codes = units.add([unit_cells(frame[column]) for frame in frames((column,))])
        over = np.bincount(codes[codes >= 0], minlength=len(units)) > self.declared.max_rows
        read = self.declared if over.any() else self.reading  # rows of whom there are too many are read in full
        more: list[tuple[NDArray[np.int64], DeclaredRows]] = []
        for frame in frames(tuple(dict.fromkeys((*read.numbers, *read.labels, column)))):
            codes = units.find(unit_cells(frame[column]))
            many = (codes >= 0) & np.append(over, False)[codes]
            table, keep, first = TableSource(frame, self.reading), (codes >= 0) & ~many, 0
            for slab in table.slabs(self.reading):
                yield from self.reading.cut(slab, keep[first:])
                first += slab.numbers.shape[0]
            if many.any():
                places = np.flatnonzero(many)
                more.append((codes[places], TableSource(frame, self.declared).declared_rows(places)))
        if more:
            chosen = self._chosen(units, np.concatenate([whose for whose, _ in more]), [rows for _, rows in more])
            yield from self.reading.cut_declared(chosen, self.declared)

    def _chosen(self, units: Units, codes: NDArray[np.int64], rows: list[DeclaredRows]) -> DeclaredRows:
        """Return the rows that count, of units that have too many."""
        named = np.flatnonzero(codes >= 0)
        found, (whose, own) = DeclaredRows.joined(rows).take(named), np.unique(codes[named], return_inverse=True)
        kept = choose_rows(own.reshape(-1), units.names(whose), found, self.declared.max_rows, self.declared.order)
        return found.take(np.flatnonzero(kept))

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks: by the database where it can, else of the rows it sends.

        Both are within γ·N·B of the exact sum (``summation``, ``sql_text``), so it does not matter which one it was.
        """
        if each is not None:
            try:
                return self._summed(each, size)
            except NotTraceable:
                pass
        return super().reduce(kernel, size)

    def _summed(self, each: Contributions, size: int) -> Array:
        """Return a sum by the database: of the rows of all units within the limit, and of those chosen of others."""
        if not isinstance(self._engine, SqlEngine):
            raise NotTraceable(self.kind)
        found = summing(self._engine, self.reading, each, size)
        try:
            with self._engine.snapshot() as state:
                sums = state.texts(found.text)
                chosen = self.declared.no_rows() if found.others is None else self._of_others(state, found.others)
        except OSError:  # text that is no UTF-8, say: an error would tell of the row, and reading does without
            raise NotTraceable("the database") from None
        total = CompensatedSum(size)  # to which the database's sum is one more block
        total.add(np.array([math.ldexp(1.0, -found.exponent) * int(one) for one in sums]))
        blocks = self.reading.cut_declared(chosen, self.declared)
        total.merge(summed(self.reading, lambda block: each.rows(block).sum(axis=0), size, blocks))
        return total.pair[0]

    def _of_others(self, state: Snapshot, where: str) -> DeclaredRows:
        """Return the rows that count, of units that have too many; of a file once for all questions."""
        if not self._engine.ordered:
            return self._read_others(state, where)
        written = self.state()
        found = self._others.get(written)
        if found is None:
            found = self._read_others(state, where)
            self._others.clear()
            self._others[written] = found
        return found

    def _read_others(self, state: Snapshot, where: str) -> DeclaredRows:
        assert isinstance(self._engine, SqlEngine)
        assert self.declared.unit is not None
        column = self.declared.unit.column
        query = f"{self._engine.select(tuple(dict.fromkeys(self.declared.columns)), self.declared.numbers)} {where}"
        frames = list(_as_frames(state.batches(query, self.declared.slab_rows)))
        units = Units(self.declared.unit.unit_type)
        codes = units.add([unit_cells(frame[column]) for frame in frames])
        tables = [TableSource(frame, self.declared) for frame in frames]
        rows = [table.declared_rows(np.arange(table.rows())) for table in tables]
        return self._chosen(units, codes, [self.declared.no_rows(), *rows])


def _as_frames(batches: Iterator[Any]) -> Iterator[nw.DataFrame[Any]]:
    table = need("pyarrow").Table
    for batch in batches:
        if batch.num_rows:
            yield nw.from_native(table.from_batches([batch]), eager_only=True)
