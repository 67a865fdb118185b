"""Sources of rows, and sums over them: the interface, the loop over blocks, and a bound on the float error.

**A source** gives its rows again each time it is asked: as blocks, or as the sum of a kernel over them. A kernel runs
under ``numpy.errstate``, so that an overflow in some row makes no warning.

**The loop.** Blocks are small, so a matrix product gains nothing from several threads and loses much to their
synchronisation. The other way round is faster: one thread a core, each with a block of its own, and BLAS on one thread
meanwhile. The result does not depend on the number of threads: sums are added in the order of the blocks.

**The float error** has a bound that holds for every order of the rows. A source cuts its rows into blocks of at most n
rows. A kernel sums the contributions of a block, in whatever order, and this module sums the blocks. With u = 2⁻⁵³,
c_i ∈ R^D the contribution of row i as floats, ‖c_i‖₂ ≤ B, and N rows:

    ‖computed − Σ c_i‖₂ ≤ γ·N·B,   γ = ``float_error(n)`` = n·u/(1 − n·u) + 2u.

Proof, coordinate by coordinate (|·| and ≤ are meant so).

1. *A block.* In a sum of n terms, added in any order, no term goes through more than n − 1 additions, each of which
   multiplies by 1 + δ, |δ| ≤ u (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). So the block's
   sum s_b is off by at most γ_n Σ|c_i|, γ_n = nu/(1 − nu). The n − 1 leaves one rounding free, so the same holds where
   a contribution is the product of two floats, as in a matrix product, with or without fused operations; a product
   below 2⁻¹⁰²² adds at most 2⁻¹⁰⁷⁴.
2. *The blocks.* The running sum is a pair (S, C) with |C| ≤ u|S|. Adding s: t + e = S + s exactly with t = fl(S + s),
   by two-sum (Møller, Knuth), and c = fl(C + e), the compensation of Kahan, Babuška and Neumaier. Then S' + C' = t + c
   exactly, by two-sum again: this carries the compensation into the sum, and |C'| ≤ u|S'|. The one rounding that is
   lost is that of c, at most u|C + e| ≤ u(u|S| + u|t|). With M = Σ_b |s_b|, S and t stay below (1 + 4u)M, so a step
   loses at most 3u²M and K steps 3Ku²M. The result S is off from S + C by at most u|S|. For K ≤ 2⁵⁰ that is
   u(1 + 4u)M + 3Ku²M ≤ 1.4uM in all. (Without the carrying it would grow with K²u²M.)
3. *Together.* M ≤ (1 + γ_n)Σ|c_i|, so the error is at most (γ_n + 1.4u(1 + γ_n))Σ|c_i| ≤ (γ_n + 2u)Σ|c_i| for n ≤ 2⁵⁰.
   And ‖Σ|c_i|‖₂ ≤ Σ‖c_i‖₂ ≤ N·B.

*Partial sums* (Dask): each partition gives its own pair (S_p, C_p), and adding a pair means adding two numbers, which K
counts; M grows by a factor 1 + 4u at most for each level of merging. Partitions are cut into blocks of at most n
rows like everything else, so the bound stays as it is.

The bound asks for kernels that sum in float64, and for N·B below 2¹⁰⁰⁰, so that nothing overflows. It is about the
floats c_i that the kernel has computed; how far these are from the ideal contributions is for the query to say.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from array_api_compat import is_numpy_array
from numpy.typing import NDArray

from discreet.arguments import integer
from discreet.records.generic_arrays import UNIT_ROUNDOFF, to_host
from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows, UnitCells, Units, select_rows

Array = NDArray[np.float64]


def default_block_rows(columns: int) -> int:
    """Return how many rows a block has: enough to be worth a call, few enough for the cache.

    >>> default_block_rows(2), default_block_rows(100), default_block_rows(5000)
    (16384, 5242, 512)
    """
    return min(max(2**19 // max(columns, 1), 512), 2**14)


def float_error(block_rows: int) -> float:
    """Return γ so that ‖computed sum − exact sum of the float contributions‖₂ ≤ γ·N·B.

    A function of the block size alone: no order of rows, number of rows or kind of source changes it.

    >>> f"{float_error(4096):.3g}"
    '4.55e-13'
    """
    n = integer("block_rows", block_rows, least=1, most=2**30)
    block = n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)
    return math.nextafter(math.nextafter(block, 1.0) + 2.0 * UNIT_ROUNDOFF, 1.0)  # rounded up


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return fl(a + b) and what it lacks, exactly."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


class CompensatedSum:
    """A running sum of vectors, as a pair (S, C) of vectors.

    >>> total = CompensatedSum(1)
    >>> for term in (1e16, 1.0, -1e16):
    ...     total.add(np.array([term]))
    >>> total.pair[0].tolist()
    [1.0]
    """

    def __init__(self, size: int) -> None:
        self.pair: tuple[Array, Array] = (np.zeros(size), np.zeros(size))

    def add(self, term: Array) -> None:
        """Add one vector."""
        with np.errstate(all="ignore"):
            total, lost = two_sum(self.pair[0], term)
            self.pair = two_sum(total, self.pair[1] + lost)

    def merge(self, pair: tuple[Array, Array]) -> None:
        """Add the pair of another sum."""
        for term in pair:
            self.add(term)


Kernel: TypeAlias = Callable[[Block], Any]
Pair: TypeAlias = tuple[Array, Array]
Sizes: TypeAlias = tuple[int, int, int]
Result = TypeVar("Result")


def count_sizes(rows: NDArray[np.int64], max_rows: int) -> Sizes:
    """Return how many units have one row, from two to ``max_rows`` rows, and more, from the number of rows of each.

    >>> count_sizes(np.array([1, 0, 3, 2, 9]), 3)
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
    """

    kind: str
    per_unit = False
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
    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks; ``each`` is what it sums."""

    @abstractmethod
    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order."""


class LocalSource(Source):
    """Rows that this process reads, slab by slab, in the same order each time.

    Which rows of a unit count is decided once, by all that is declared, whatever a view of the source reads later.

    Attributes
    ----------
    left_out : collection of str
        For a partition: units whose rows are left out, since others have chosen among them already.
    """

    left_out: Collection[str] = ()

    @abstractmethod
    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        """Yield rows, of the columns of a reading."""

    def unit_cells(self, column: str) -> Iterator[UnitCells]:
        """Yield the unit's column, in pieces of any length; nothing where each row stands for itself."""
        return iter(())

    def count_units(self) -> tuple[Units, NDArray[np.int64]]:
        """Return the units, and whose each row is."""
        assert self.declared.unit is not None
        units = Units(self.declared.unit.unit_type)
        return units, units.add(self.unit_cells(self.declared.unit.column))

    def _choose(self) -> tuple[NDArray[np.bool_], Sizes]:
        """Return which rows are within the limit of their unit, one byte a row, and how many rows units have."""
        units, codes = self.count_units()
        if self.left_out:
            out = units.find(UnitCells(list(self.left_out)))
            codes[np.isin(codes, out[out >= 0])] = -1
        most, order = self.declared.max_rows, self.declared.order
        within = select_rows(codes, most, self.declared_rows, units.names, order)
        return within, count_sizes(np.bincount(codes[codes >= 0]), most)

    def declared_rows(self, places: NDArray[np.int64]) -> DeclaredRows:
        """Return all declared columns of some rows, at ascending places."""
        first, result = 0, [self.declared.empty_rows()]
        for rows in self.read(self.declared):
            start, stop = np.searchsorted(places, [first, first + len(rows.codes)])
            if start < stop:
                result.append(rows.take(places[start:stop] - first))
            first += len(rows.codes)
        return DeclaredRows.joined(result)

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""
        return self._cache("choice", self._choose)[1]

    def _read(self) -> Iterator[DeclaredRows]:
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
        return (block for block in map(self.reading.block, self.reading.cut(self._read())) if block.x.shape[0])

    def partial(self, kernel: Kernel, size: int) -> Pair:
        """Return the sum of ``kernel`` over all blocks, with its compensation, on this thread alone."""
        return sum_vectors(compute(self.reading, kernel, self._read(), cores=1), size)

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks, on all cores: a thread clips and sums its own."""
        return sum_vectors(compute(self.reading, kernel, self._read()), size)[0]

    def gather(self, kernel: Kernel, width: int) -> Array:
        """Return what ``kernel`` makes of each row that contributes, in their order, on all cores."""
        pieces = [np.empty((0, width))]
        for result in compute(self.reading, kernel, self._read()):
            if result.shape[1:] != (width,):
                raise ValueError(f"width={width}: expected a kernel that returns that many numbers for each row")
            pieces.append(result)
        return np.concatenate(pieces)


def sum_vectors(sums: Iterable[Array], size: int) -> Pair:
    """Return the sum of vectors of a size, with its compensation."""
    total = CompensatedSum(size)
    for result in sums:
        if result.shape != (size,):  # the shape that it has may tell how many rows contribute
            raise ValueError(f"size={size}: expected a kernel that gives the shape {(size,)}; write its length")
        total.add(result)
    return total.pair


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
    first = list(islice(ahead, 4))
    cores = cores or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    alone = cores == 1 or len(first) < 4 or not is_numpy_array(first[0].numbers)
    result = map(work, chain(first, ahead)) if alone else _run_on_threads(work, chain(first, ahead), cores)
    return (one for one in result if one is not None)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _run_on_threads(
    work: Callable[[DeclaredRows], Result], blocks: Iterable[DeclaredRows], cores: int
) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(cores, "discreet") as pool:
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
