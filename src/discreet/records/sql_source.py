"""Rows of a database: streamed in Arrow batches, and summed there where that can be done.

A database gives its rows in whatever order it likes, another one each time. So nothing here goes by places. A question
sees one snapshot of the table, in which it is first found out which units have more than ``max_rows`` rows; the rows of
all others stream by as they are, those of these units are read with all that is declared, and ``row_choice`` says
which of them count. Files have an order, and are read as ``LocalSource`` reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows, Units, choose_rows
from discreet.records.source import Contributions, Kernel, Sizes, add_up, compute, sizes
from discreet.records.sql_sum import summing
from discreet.records.stored_source import Read, SqlEngine, StoredSource, as_frames, texts
from discreet.records.summation import CompensatedSum
from discreet.records.table_source import TableSource, unit_cells
from discreet.sql.traced import NotTraceable

__all__ = ["SqlSource"]

Array = NDArray[np.float64]


class SqlSource(StoredSource):
    """Rows of a table that a database reads.

    Each pass reads the table as it then is, and one pass is about one state of a database. All questions of the library
    are answered in one pass; in a table that changes, two measurements may be of two states.

    Parameters
    ----------
    engine : SqlEngine
    declared : Reading
        Its columns are in the table.
    """

    _engine: SqlEngine

    def __init__(self, engine: SqlEngine, declared: Reading) -> None:
        super().__init__(engine, declared)
        if declared.unit is not None and engine.types[declared.unit.column] == "decimal":
            raise ValueError(
                f"the column {declared.unit.column!r} has the type numeric: expected names of units, as text or "
                "whole numbers, since 7 and 7.00 are one number and two names; make it a bigint or text"
            )

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""
        return super().unit_sizes() if self._engine.ordered else self._sizes

    @cached_property
    def _sizes(self) -> Sizes:
        _, codes = self.count_units()
        return sizes(np.bincount(codes[codes >= 0]), self.declared.max_rows)

    def _marked(self) -> Iterator[DeclaredRows]:
        if self._engine.ordered:
            yield from super()._marked()
        else:
            with self._engine.snapshot() as read:
                yield from self._marked_in(read)

    def _marked_in(self, read: Read) -> Iterator[DeclaredRows]:
        """Yield the rows that count from frames that may come in another order each time."""
        declared, size, engine = self.declared, self.declared.slab_rows, self._engine
        assert declared.unit is not None
        column, units = declared.unit.column, Units(declared.unit.unit_type)
        names = as_frames(read(engine.select((column,), ()), size))
        codes = units.add([unit_cells(frame[column]) for frame in names])
        over = np.bincount(codes[codes >= 0], minlength=len(units)) > declared.max_rows
        wanted = declared if over.any() else self.reading  # rows of whom there are too many are read in full
        columns = tuple(dict.fromkeys((*wanted.names, column)))
        more: list[tuple[NDArray[np.int64], DeclaredRows]] = []
        for frame in as_frames(read(engine.select(columns, declared.numbers), size)):
            codes = units.find(unit_cells(frame[column]))
            many = (codes >= 0) & np.append(over, False)[codes]
            keep, first = (codes >= 0) & ~many, 0
            for rows in TableSource(frame, self.reading).read(self.reading):
                last = first + len(rows.codes)
                yield rows._replace(keep=keep[first:last])
                first = last
            if many.any():
                places = np.flatnonzero(many)
                more.append((codes[places], TableSource(frame, declared).declared_rows(places)))
        if more:
            chosen = self._chosen(units, np.concatenate([whose for whose, _ in more]), [rows for _, rows in more])
            yield self.reading.of_declared(chosen, declared)

    def _chosen(self, units: Units, codes: NDArray[np.int64], rows: list[DeclaredRows]) -> DeclaredRows:
        """Return the rows that count, of units that have too many."""
        named = np.flatnonzero(codes >= 0)
        found = DeclaredRows.joined(rows).take(named)
        kept = choose_rows(codes[named], units.names, found, self.declared.max_rows, self.declared.order)
        return found.take(np.flatnonzero(kept))

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks: by the database where it can, else of the rows it sends.

        Both are within γ·N·B of the exact sum (``summation``, ``sql.text``), so it does not matter which one it was.
        """
        if each is not None:
            try:
                return self._summed(each, size)
            except NotTraceable:
                pass
        return super().reduce(kernel, size)

    def _summed(self, each: Contributions, size: int) -> Array:
        """Return a sum by the database: of the rows of all units within the limit, and of those chosen of others."""
        found = summing(self._engine, self.reading, each, size)
        try:
            with self._engine.snapshot() as read:
                sums = texts(read, found.text)
                chosen = self._of_others(read, found.others)
        except OSError:  # text that is no UTF-8, say: an error would tell of the row, and reading does without
            raise NotTraceable("the database") from None
        total = CompensatedSum(size)  # to which the database's sum is one more block
        total.add(np.array([math.ldexp(1.0, -found.exponent) * int(one) for one in sums]))
        rows = [self.reading.of_declared(chosen, self.declared)]
        total.merge(add_up(compute(self.reading, lambda block: each.rows(block).sum(axis=0), rows, cores=1), size))
        return total.pair[0]

    def _of_others(self, read: Read, where: str | None) -> DeclaredRows:
        """Return the rows that count, of units that have too many; of a file once for all questions."""
        declared, unit = self.declared, self.declared.unit
        if unit is None:
            return declared.no_rows()

        def choose() -> DeclaredRows:
            query = f"{self._engine.select(tuple(dict.fromkeys(declared.needed)), declared.numbers)} {where}"
            frames, units = list(as_frames(read(query, declared.slab_rows))), Units(unit.unit_type)
            codes = units.add([unit_cells(frame[unit.column]) for frame in frames])
            rows = [TableSource(frame, declared).declared_rows(np.arange(len(frame))) for frame in frames]
            return self._chosen(units, codes, [declared.no_rows(), *rows])

        # The state of a database is None: its rows may change.
        return choose() if self.state() is None else self._once("others", choose)
