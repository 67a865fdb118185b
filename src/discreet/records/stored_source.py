"""Rows of a table outside of memory, streamed in Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import narwhals as nw

from discreet.records.optional import need
from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows
from discreet.records.source import LocalSource
from discreet.records.sql_engine import Engine
from discreet.records.table_cells import unit_cells
from discreet.records.table_source import TableSource, check_types
from discreet.records.units import UnitCells

__all__ = ["StoredSource", "as_frames"]


class StoredSource(LocalSource):
    """Rows that an engine streams, in the same order each time.

    Parameters
    ----------
    engine : Engine
    declared : Reading
        Its columns are in the table.
    """

    def __init__(self, engine: Engine, declared: Reading) -> None:
        super().__init__(declared)
        self._engine = engine
        self.kind, self.per_unit = engine.kind, engine.view  # opened on the owner's word
        try:
            for empty in engine.empty(tuple(dict.fromkeys(declared.needed)), tuple(declared.numbers)):
                check_types(nw.from_native(empty, eager_only=True), declared)
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
        return as_frames(self._engine.stream(columns, self.declared.numbers, self.declared.slab_rows))

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield frames, one at a time."""
        for frame in self._frames(reading.names):
            yield from TableSource(frame, reading).read(reading)

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column, frame by frame."""
        return (unit_cells(frame[column]) for frame in self._frames((column,)))


def as_frames(batches: Iterable[Any]) -> Iterator[nw.DataFrame[Any]]:
    """Yield Arrow batches as data frames, without empty ones."""
    table = need("pyarrow").Table
    return (nw.from_native(table.from_batches([batch]), eager_only=True) for batch in batches if batch.num_rows)
