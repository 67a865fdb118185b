"""Sources of rows, and sums over them: the interface, and the loop over blocks.

**A source** gives its rows again each time it is asked: as blocks, or as the sum of a kernel over them. A kernel runs
under ``numpy.errstate``, so that an overflow in some row makes no warning.

**The loop.** Blocks are small, so a matrix product gains nothing from several threads and loses much to their
synchronisation. The other way round is faster: one thread a core, each with a block of its own, and BLAS on one thread
meanwhile. The result does not depend on the number of threads: the sums of blocks are added as whole numbers
(``whole_sums``, which has the bound on the float error).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from array_api_compat import is_numpy_array
from numpy.typing import NDArray

from discreet.records.generic_arrays import to_host
from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows, UnitCells, Units, select_rows
from discreet.records.sources.whole_sums import sum_vectors
from discreet.threads import count_cores, one_blas_thread

Array = NDArray[np.float64]


def default_block_rows(columns: int) -> int:
    """Return how many rows a block has: enough to be worth a call, few enough for the cache.

    >>> default_block_rows(2), default_block_rows(100), default_block_rows(5000)
    (16384, 5242, 512)
    """
    return min(max(2**19 // max(columns, 1), 512), 2**14)


Kernel: TypeAlias = Callable[[Block], Any]
Sizes: TypeAlias = tuple[int, int, int]
Result = TypeVar("Result")


def count_sizes(rows: NDArray[np.int64], max_rows: int) -> Sizes:
    """Return how many units have one row, from two to ``max_rows`` rows, and more, from the number of rows of each.

    >>> count_sizes(np.array([1, 0, 3, 2, 9]), 3)
    (1, 2, 1)
    """
    one, over = int((rows == 1).sum()), int((rows > max_rows).sum())
    return (one, int((rows > 0).sum()) - one - over, over)


class Source(ABC):
    """Rows that can be read again and again.

    Parameters
    ----------
    declared : Reading
        All that is declared.

    Attributes
    ----------
    kind : str
        What the rows are read from, in words.
    reading : Reading
        What is read: all, until a view reads less.
    per_unit : bool
        Whether they are those of a view, declared by the owner (``Table``).
    backend : str or None
        Of a data frame in memory its library, as narwhals names it.
    named : bool
        Whether its columns have names of their own; those of an array are found by their places.
    """

    kind: str
    per_unit, named = False, True
    backend: str | None = None

    def __init__(self, declared: Reading) -> None:
        self.declared = self.reading = declared
        self._cached: dict[str, tuple[Any, Any]] = {}  # shared by all views of the source

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: nothing that was read."""
        return self.__dict__ | {"_cached": {}}

    def __copy__(self) -> Self:
        """Return a view, which shares what was read."""
        result = type(self).__new__(type(self))
        result.__dict__.update(self.__dict__)
        return result

    def state(self) -> Any:
        """Return a value that changes when the rows change: for files, their sizes and times of writing."""
        return None

    def _cache(self, what: str, decide: Callable[[], Result]) -> Result:
        """Return a result that is computed once for all views of the source, as long as its state is the same."""
        state = self.state()
        if what not in self._cached or self._cached[what][0] != state:
            self._cached[what] = (state, decide())
        result: Result = self._cached[what][1]
        return result

    @abstractmethod
    def rows(self) -> int:
        """Return how many rows there are, whether they contribute or not."""

    @abstractmethod
    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute, in blocks of at most ``reading.block_rows`` raw rows."""

    @abstractmethod
    def reduce(self, kernel: Kernel, size: int, norm: float, each: Kernel | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks; ``each`` is what it sums, of which no row exceeds ``norm``."""

    @abstractmethod
    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order."""


class LocalSource(Source):
    """Rows that this process reads, slab by slab, in the same order each time.

    Which rows of a unit count is decided once, by all that is declared, whatever a view of the source reads later.

    Attributes
    ----------
    counted : tuple or None
        For a partition: the units, and whose each row is; −1 for rows among which others have chosen already.
    """

    counted: tuple[Units, NDArray[np.int64]] | None = None

    @abstractmethod
    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield rows, of the columns of a reading."""

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column, in pieces of any length; nothing where each row stands for itself."""
        return iter(())

    def count_units(self) -> tuple[Units, NDArray[np.int64]]:
        """Return the units, and whose each row is."""
        if self.counted is not None:
            return self.counted
        assert self.declared.unit is not None
        units = Units(self.declared.unit.unit_type)
        return units, units.add(self.unit_cells(self.declared.unit.column))

    def _choose(self) -> tuple[NDArray[np.bool_], Sizes]:
        """Return which rows are within the limit of their unit, one byte a row, and how many rows units have."""
        units, codes = self.count_units()
        most, order = self.declared.max_rows, self.declared.order
        within = select_rows(codes, most, self.declared_rows, units.names, order)
        return within, count_sizes(np.bincount(codes[codes >= 0]), most)

    def declared_rows(self, places: NDArray[np.int64]) -> DeclaredRows:
        """Return all declared columns of some rows, at ascending places."""
        return take_rows(self.read(self.declared), places, self.declared.empty_rows())

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""
        return self._cache("choice", self._choose)[1]

    def read_declared(self) -> Iterator[DeclaredRows]:
        """Yield rows of the columns that are read, with whether they are within the limit of their unit."""
        return self.read(self.reading) if self.reading.unit is None else self._read_limited()

    def _read_limited(self) -> Iterator[DeclaredRows]:
        """Yield rows, with whether they are within the limit of their unit."""
        first, within = 0, self._cache("choice", self._choose)[0]
        for rows in self.read(self.reading):
            keep = np.zeros(len(rows.codes), dtype=np.bool_)  # of a file that grows: none of the new rows
            keep[: max(len(within) - first, 0)] = within[first : first + len(keep)]
            yield rows._replace(keep=keep)
            first += len(keep)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Blocks without any are left out."""
        return (block for block in map(self.reading.block, self.reading.cut(self.read_declared())) if block.x.shape[0])

    def reduce(self, kernel: Kernel, size: int, norm: float, each: Kernel | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks, on all cores: a thread clips and sums its own."""
        return sum_vectors(compute(self.reading, kernel, self.read_declared()), size, norm).to_floats()

    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order, on all cores."""
        return join_rows(compute(self.reading, kernel, self.read_declared()), width)


def take_rows(slabs: Iterable[DeclaredRows], places: NDArray[np.int64], empty: DeclaredRows) -> DeclaredRows:
    """Return the rows at ascending places, below ``empty``, which has none."""
    first, result = 0, [empty]
    for rows in slabs:
        start, stop = np.searchsorted(places, [first, first + len(rows.codes)])
        if start < stop:
            result.append(rows.take(places[start:stop] - first))
        first += len(rows.codes)
    return DeclaredRows.joined(result)


def join_rows(pieces: Iterable[Array], width: int) -> Array:
    """Return what a kernel made of the rows of each block, one below the other."""
    result = [np.empty((0, width))]
    for piece in pieces:
        if piece.shape[1:] != (width,):
            raise ValueError(f"width={width}: expected a kernel that returns that many numbers for each row")
        result.append(piece)
    return np.concatenate(result)


def compute(
    reading: Reading, kernel: Kernel, slabs: Iterable[DeclaredRows], cores: int | None = None
) -> Iterator[Array]:
    """Return what a kernel makes of each block in which a row contributes, in order, without a warning.

    That is on several threads where it pays, unless ``cores`` is 1. Blocks of another library than NumPy are computed
    one after the other: those libraries use all cores themselves.
    """

    def work(rows: DeclaredRows) -> Array | None:
        with np.errstate(all="ignore"):
            block = reading.block(rows)
            return to_host(kernel(block)).astype(np.float64) if block.x.shape[0] else None

    ahead = reading.cut(slabs)
    first = [] if cores == 1 else list(islice(ahead, 4))
    alone = cores == 1 or len(first) < 4 or not is_numpy_array(first[0].numbers)
    result = map(work, chain(first, ahead)) if alone else _run_on_threads(work, chain(first, ahead), cores)
    return (one for one in result if one is not None)


def _run_on_threads(
    work: Callable[[DeclaredRows], Result], blocks: Iterable[DeclaredRows], cores: int | None
) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    cores = cores or count_cores()
    with one_blas_thread(), ThreadPoolExecutor(cores, "discreet") as pool:
        try:
            for block in blocks:
                waiting.append(pool.submit(work, block))
                if len(waiting) > max(cores, 4):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
