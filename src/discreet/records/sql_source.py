"""Rows of a table outside of memory: streamed in Arrow batches, and summed in the database where that can be done."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.optional import need
from discreet.records.reading import RawBlock, Reading
from discreet.records.source import Contributions, Kernel
from discreet.records.sql_engine import Engine, SqlEngine
from discreet.records.sql_sum import summing
from discreet.records.table_cells import plain
from discreet.records.table_source import FrameSource, TableSource, check_types
from discreet.records.traced import NotTraceable
from discreet.records.units import Tally, count_units

__all__ = ["SqlSource"]

Array = NDArray[np.float64]


class SqlSource(FrameSource):
    """Rows of a table outside of memory.

    Each pass reads the table as it then is: the rows of a unit are counted in the same pass, and a question that is
    answered in one pass is about one state of the table. All questions of the library are; in a table that changes, two
    measurements may be of two states.

    Parameters
    ----------
    engine : Engine
    reading : Reading
        Its columns are in the table.
    """

    def __init__(self, engine: Engine, reading: Reading) -> None:
        super().__init__(reading)
        self._engine = engine
        self.kind = engine.kind
        try:
            empty = engine.empty(tuple(dict.fromkeys(reading.columns)), reading.numbers)
            check_types(nw.from_native(empty, eager_only=True), reading)
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

    def _frames(self, columns: tuple[str, ...]) -> Iterator[nw.DataFrame[Any]]:
        table = need("pyarrow").Table
        for batch in self._engine.stream(columns, self.reading.numbers, self.reading.slab_rows):
            if batch.num_rows:
                yield nw.from_native(table.from_batches([batch]), eager_only=True)

    def units(self) -> int | None:
        """Return how many units there are."""
        return None if self.reading.unit is None else self._units

    @cached_property
    def _units(self) -> int:
        return len(count_units(self.unit_cells()))

    def _raw(self) -> Iterator[RawBlock]:
        if self.reading.unit is None:
            yield from super()._raw()
            return
        tally, step = Tally(self.reading.max_rows), self.reading.block_rows
        for frame in self._frames(tuple(dict.fromkeys(self.reading.columns))):
            kept = tally.keep(plain(frame[self.reading.unit]))
            first = 0
            for slab in TableSource(frame, self.reading).slabs():
                codes = self.reading.codes(slab)
                for start in range(0, len(codes), step):
                    stop = min(start + step, len(codes))
                    keep = kept[first + start : first + stop]
                    yield RawBlock(slab.numbers[start:stop, :], codes[start:stop], keep)
                first += len(codes)

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
        if not isinstance(self._engine, SqlEngine):
            raise NotTraceable(self.kind)
        found = summing(self._engine, self.reading, each, size)
        try:
            *sums, spelt = self._engine.texts(found.text)
        except OSError:  # text that is no UTF-8, say: an error would tell of the row, and reading does without
            raise NotTraceable("the database") from None
        if spelt != "0":  # the database would take one person for two
            raise NotTraceable("units that spell numbers")
        return np.array([math.ldexp(1.0, -found.exponent) * int(one) for one in sums])
