"""Rows of a file of text, whose cells are parsed once.

A fit reads its rows dozens of times, and to parse text takes longer than all else. So each column is parsed when it is
first read, and kept as long as the file does not change: in memory, and beyond 256 MiB in temporary files without a
name, which no other user can open and which are gone with the process. The rows are those that streaming would give.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.reading import Reading
from discreet.records.row_choice import DeclaredRows
from discreet.records.sources.frames import TableSource
from discreet.records.sources.stored import StoredSource

IN_MEMORY = 2**28  # bytes of columns that are kept in memory; further ones are in temporary files


class TextSource(StoredSource):
    """Rows of a file whose cells are text."""

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield rows of the columns that are kept; of frames, one at a time, where they cannot be."""
        kept = self._keep(reading)
        return super().read(reading) if kept is None else kept.read(reading)

    def _keep(self, reading: Reading) -> KeptColumns | None:
        """Return parsed columns, those of a reading among them; None where there is no place, or the file changes."""
        state = self.state()
        kept = self._cache("columns", lambda: KeptColumns(self.rows()))
        if names := [name for name in reading.names if name not in kept.columns]:
            missing = self.declared.only(names)
            if not kept.add(missing, self._frames(missing.names)):
                return None
        return kept if self.state() == state is not None else None  # no columns of two states of a file


class KeptColumns:
    """Columns of numbers, and codes of categories, each parsed once.

    Parameters
    ----------
    rows : int
        How many rows there are. Of a file that grows meanwhile none of the new ones are kept.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.columns: dict[str, NDArray[Any]] = {}

    def add(self, reading: Reading, frames: Iterable[nw.DataFrame[Any]]) -> bool:
        """Parse and keep the columns of a reading; False where there is no place for them."""
        names = [name for name in reading.names if name not in self.columns]
        try:
            result = {
                name: _allocate(
                    self._rows,
                    np.int64 if name in reading.categories else np.float64,
                    in_memory=8 * self._rows * (len(self.columns) + j) <= IN_MEMORY,
                )
                for j, name in enumerate(names, 1)
            }
        except OSError:  # the disk is full, or there are no temporary files
            return False
        first = 0
        for frame in frames:
            for numbers, codes, _ in TableSource(frame, reading).read(reading):
                last = min(first + len(codes), self._rows)
                parsed = zip(reading.names, [*numbers.T, *codes.T], strict=True)
                for name, cells in parsed:
                    if name in result:
                        result[name][first:last] = cells[: last - first]
                first = last
        self._rows = first  # fewer, where the file was cut meanwhile
        self.columns |= result
        return True

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield the columns of a reading, some rows at a time."""
        for start in range(0, self._rows, reading.slab_rows):
            piece = slice(start, min(start + reading.slab_rows, self._rows))
            numbers = np.empty((piece.stop - start, len(reading.numbers)))
            codes = np.empty((piece.stop - start, len(reading.categories)), dtype=np.int64)
            for j, name in enumerate(reading.numbers):
                numbers[:, j] = self.columns[name][piece]
            for j, name in enumerate(reading.categories):
                codes[:, j] = self.columns[name][piece]
            yield DeclaredRows(numbers, codes)


def _allocate(rows: int, kind: Any, *, in_memory: bool) -> NDArray[Any]:
    """Return an array of so many numbers of 8 bytes, in memory or in a temporary file; an OSError where none fits."""
    if in_memory:
        return np.empty(rows, dtype=kind)
    with tempfile.TemporaryFile() as file:  # has no name; the mapping keeps it as long as it is needed
        if not hasattr(os, "posix_fallocate"):
            raise OSError  # a page that cannot be written later would end the process
        os.posix_fallocate(file.fileno(), 0, rows * 8)
        return np.memmap(file, dtype=kind, mode="r+", shape=(rows,))
