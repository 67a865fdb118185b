"""What a source of rows is, and the loop that all sources on one machine share.

A source gives its rows again each time it is asked, in the same order: blocks, or the sum of a kernel over them. What a
kernel does goes on behind ``numpy.errstate``, so that an overflow in some row makes no warning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.records.block import Block
from discreet.records.parallel import in_order
from discreet.records.reading import RawBlock, Reading, Slab, to_host
from discreet.records.summation import CompensatedSum
from discreet.records.units import Tally

__all__ = ["Contributions", "Kernel", "LocalSource", "Pair", "Source"]

Array = NDArray[np.float64]
Kernel: TypeAlias = Callable[[Block], Any]
Pair: TypeAlias = tuple[Array, Array]


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
    reading: Reading

    def rows(self) -> int:
        """Return how many rows there are, whether they contribute or not."""

    def units(self) -> int | None:
        """Return how many units there are, None where the row is the unit."""

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute, in blocks of at most ``reading.block_rows`` raw rows."""

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks; ``each`` is what it sums."""

    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order."""


class LocalSource(ABC):
    """Rows that this process reads, slab by slab.

    Parameters
    ----------
    reading : Reading
        What is declared.
    start : mapping or None
        For a partition: the rows that its units have in earlier partitions.
    """

    kind: str

    def __init__(self, reading: Reading, start: Mapping[Hashable, int] | None = None) -> None:
        self.reading = reading
        self._start = start

    @abstractmethod
    def rows(self) -> int:
        """Return how many rows there are."""

    @abstractmethod
    def slabs(self) -> Iterator[Slab]:
        """Yield raw rows."""

    @abstractmethod
    def unit_cells(self) -> Iterator[Iterable[Any]]:
        """Yield the unit's column, in pieces of any length."""

    @cached_property
    def _kept(self) -> tuple[NDArray[np.bool_], int]:
        # One pass over the unit's column, once. The list is as long as the data, one byte a row.
        tally = Tally(self.reading.max_rows, self._start)
        pieces = [tally.keep(cells) for cells in self.unit_cells()]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *pieces]), len(tally.counts)

    def units(self) -> int | None:
        """Return how many units there are."""
        return None if self.reading.unit is None else self._kept[1]

    def _raw(self) -> Iterator[RawBlock]:
        step, first = self.reading.block_rows, 0
        kept = None if self.reading.unit is None else self._kept[0]
        for slab in self.slabs():
            codes = self.reading.codes(slab)
            for start in range(0, len(codes), step):
                stop = min(start + step, len(codes))
                keep = None if kept is None else kept[first + start : first + stop]
                yield RawBlock(slab.numbers[start:stop, :], codes[start:stop], keep)
            first += len(codes)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Blocks without any are left out."""
        return (block for block in map(self.reading.block, self._raw()) if block.x.shape[0])

    def partial(self, kernel: Kernel, size: int) -> Pair:
        """Return the sum of ``kernel`` over all blocks, with its compensation, on this thread alone."""
        return self._total(map(_Summed(self.reading, kernel, size), self._raw()), size)

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks, on all cores: a thread clips and sums its own."""
        return self._total(in_order(_Summed(self.reading, kernel, size), self._raw()), size)[0]

    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order, on all cores."""
        pieces = in_order(_Gathered(self.reading, kernel, width), self._raw())
        return np.concatenate([np.empty((0, width)), *pieces])

    @staticmethod
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
