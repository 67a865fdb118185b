"""What a source of rows is, and the loop that all sources on one machine share.

A source gives its rows again each time it is asked: blocks, or the sum of a kernel over them. What a kernel does goes
on behind ``numpy.errstate``, so that an overflow in some row makes no warning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.records.block import Block
from discreet.records.parallel import in_order
from discreet.records.reading import RawBlock, Reading, Slab, to_host
from discreet.records.row_choice import DeclaredRows, rows_that_count
from discreet.records.summation import CompensatedSum
from discreet.records.units import UnitCells, Units

__all__ = ["Contributions", "Kernel", "LocalSource", "Pair", "Sizes", "Source", "sizes", "summed"]

Array = NDArray[np.float64]
Kernel: TypeAlias = Callable[[Block], Any]
Pair: TypeAlias = tuple[Array, Array]
Sizes: TypeAlias = tuple[int, int, int]


def sizes(rows: NDArray[np.int64], max_rows: int) -> Sizes:
    """Return how many units have one row, from two to ``max_rows`` rows, and more, from the number of rows of each.

    >>> sizes(np.array([1, 0, 3, 2, 9]), 3)
    (1, 2, 1)
    """
    one, over = int((rows == 1).sum()), int((rows > max_rows).sum())
    return (one, int((rows > 0).sum()) - one - over, over)


class Contributions(NamedTuple):
    """What a kernel sums, row by row, for sources that sum by other means.

    Attributes
    ----------
    rows : callable
        From a block of n rows to an array of shape (n, size).
    norm : float
        A bound on the Euclidean norm of each row of it.
    """

    rows: Kernel
    norm: float


class Source(Protocol):
    """Rows that can be read again and again."""

    kind: str
    declared: Reading
    reading: Reading
    per_unit: bool

    def rows(self) -> int:
        """Return how many rows there are, whether they contribute or not."""

    def unit_sizes(self) -> tuple[int, int, int]:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute, in blocks of at most ``reading.block_rows`` raw rows."""

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks; ``each`` is what it sums."""

    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order."""


class LocalSource(ABC):
    """Rows that this process reads, slab by slab, in the same order each time.

    Which rows of a unit count is decided once, by all that is declared, whatever a view of the source reads later.

    Parameters
    ----------
    declared : Reading
        All that is declared.
    left_out : set of str, optional
        For a partition: units whose rows are left out, since others have chosen among them already.
    """

    kind: str
    per_unit = False

    def __init__(self, declared: Reading, left_out: Collection[str] = ()) -> None:
        self.declared = declared
        self.reading = declared
        self.left_out = left_out
        self._decided: dict[Any, tuple[NDArray[np.bool_], Sizes]] = {}  # one for all views of the source

    @abstractmethod
    def rows(self) -> int:
        """Return how many rows there are."""

    @abstractmethod
    def slabs(self, reading: Reading) -> Iterator[Slab]:
        """Yield raw rows, of the columns of a reading."""

    @abstractmethod
    def unit_cells(self) -> Iterator[UnitCells]:
        """Yield the unit's column, in pieces of any length."""

    @property
    def _kept(self) -> tuple[NDArray[np.bool_], Sizes]:
        """Which rows are within the limit of their unit, one byte a row, and how many rows units have."""
        state = self.state()
        found = self._decided.get(state)
        if found is None:
            found = self._decide()
            self._decided.clear()
            self._decided[state] = found
        return found

    def state(self) -> Any:
        """Return what changes where the rows change: of files, how large they are and when they were written."""
        return None

    def _decide(self) -> tuple[NDArray[np.bool_], Sizes]:
        assert self.declared.unit is not None
        units = Units(self.declared.unit.unit_type)
        codes = units.add(self.unit_cells())
        if self.left_out:
            out = units.find(UnitCells(list(self.left_out)))
            codes[np.isin(codes, out[out >= 0])] = -1
        kept = rows_that_count(
            codes, len(units), self.declared.max_rows, self.declared_rows, units.names, self.declared.order
        )
        return kept, sizes(np.bincount(codes[codes >= 0]), self.declared.max_rows)

    def declared_rows(self, places: NDArray[np.int64]) -> DeclaredRows:
        """Return all declared columns of some rows, at ascending places."""
        first, found = 0, [self.declared.no_rows()]
        for slab in self.slabs(self.declared):
            size = slab.numbers.shape[0]
            start, stop = np.searchsorted(places, [first, first + size])
            if start < stop:
                found.append(self.declared.take(slab, places[start:stop] - first))
            first += size
        return DeclaredRows.joined(found)

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""
        return self._kept[1]

    def _raw(self) -> Iterator[RawBlock]:
        first = 0
        kept = None if self.reading.unit is None else self._kept[0]
        for slab in self.slabs(self.reading):
            keep = None if kept is None else kept[first : first + slab.numbers.shape[0]]
            if keep is not None and len(keep) < slab.numbers.shape[0]:  # a file that grows: none of the new rows
                keep = np.append(keep, np.zeros(slab.numbers.shape[0] - len(keep), dtype=np.bool_))
            yield from self.reading.cut(slab, keep)
            first += slab.numbers.shape[0]

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Blocks without any are left out."""
        return (block for block in map(self.reading.block, self._raw()) if block.x.shape[0])

    def partial(self, kernel: Kernel, size: int) -> Pair:
        """Return the sum of ``kernel`` over all blocks, with its compensation, on this thread alone."""
        return summed(self.reading, kernel, size, self._raw())

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks, on all cores: a thread clips and sums its own."""
        return _total(in_order(_Summed(self.reading, kernel, size), self._raw()), size)[0]

    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order, on all cores."""
        pieces = in_order(_Gathered(self.reading, kernel, width), self._raw())
        return np.concatenate([np.empty((0, width)), *pieces])


def summed(reading: Reading, kernel: Kernel, size: int, blocks: Iterable[RawBlock]) -> Pair:
    """Return the sum of ``kernel`` over some blocks, with its compensation, on this thread alone."""
    return _total(map(_Summed(reading, kernel, size), blocks), size)


def _total(sums: Iterable[Array | None], size: int) -> Pair:
    total = CompensatedSum(size)
    for found in sums:
        if found is not None:
            with np.errstate(all="ignore"):
                total.add(found)
    return total.pair


@dataclass(frozen=True)
class _Summed:
    """A kernel over raw rows, whose result is checked, and which makes no warning; None where no row contributes."""

    reading: Reading
    kernel: Kernel
    size: int

    def __call__(self, raw: RawBlock) -> Array | None:
        with np.errstate(all="ignore"):
            block = self.reading.block(raw)
            if not block.x.shape[0]:
                return None
            found = to_host(self.kernel(block))
            if found.shape != (self.size,):  # the shape that it has may tell how many rows contribute
                raise ValueError(
                    f"size={self.size}: expected a kernel that gives the shape {(self.size,)}; write its length"
                )
            return found.astype(np.float64)


@dataclass(frozen=True)
class _Gathered:
    """A kernel that makes some numbers of each row, without a warning."""

    reading: Reading
    kernel: Kernel
    width: int

    def __call__(self, raw: RawBlock) -> Array:
        with np.errstate(all="ignore"):
            block = self.reading.block(raw)
            found = to_host(self.kernel(block))
            if found.shape[1:] != (self.width,):
                raise ValueError(f"width={self.width}: expected a kernel that makes so many numbers of a row")
            return found.astype(np.float64)
