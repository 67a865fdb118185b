"""Rows of a Dask array or data frame: partial sums on the workers, one small result back.

Each partition is read as an array or a table of its own, in blocks of the same size as everywhere, and gives a
compensated pair; pairs are merged on the workers, sixteen at a time. So the bound of ``summation`` holds, however large
partitions are.

With a privacy unit there is a pass before: every partition counts the rows of its units, and one task turns the counts
into offsets, the rows that a partition's units have in earlier partitions. No name of a unit leaves the workers.

A task of ours that fails hands its error over as a value, by its type's name only: Dask's workers would log the
arguments of a task that raises, and with them rows. The collection's own tasks (a cast, a reader of files) may raise as
well. Of these errors too only the type's name is passed on here, but the workers may still log them, with rows: keep
their logs as you keep the data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.array_source import ArraySource, check_array
from discreet.records.block import Block
from discreet.records.optional import need
from discreet.records.reading import Reading
from discreet.records.source import Contributions, Kernel, LocalSource, Pair
from discreet.records.summation import CompensatedSum
from discreet.records.table_source import TableSource
from discreet.records.units import count_units, offsets

__all__ = ["DaskSource"]

FAN_IN = 16


@dataclass(frozen=True)
class _Failure:
    """The type of an error on a worker."""

    error: str


@dataclass(frozen=True)
class _Task:
    """Something to do with a partition. An object and not an argument, so that Dask does not look into it."""

    reading: Reading
    names: tuple[str, ...] | None  # None for a data frame
    work: Callable[[LocalSource], Any]

    def __call__(self, part: Any, start: Mapping[Hashable, int] | _Failure | None = None) -> Any:
        if isinstance(start, _Failure):
            return start
        try:
            if self.names is None:
                frame = nw.from_native(part, eager_only=True)
                return self.work(TableSource(frame, self.reading, start=start))
            return self.work(ArraySource(check_array(part), self.names, self.reading, start=start))
        except Exception as error:
            return _Failure(type(error).__name__)


@dataclass(frozen=True)
class _Partial:
    kernel: Kernel
    size: int

    def __call__(self, source: LocalSource) -> Pair:
        return source.partial(self.kernel, self.size)

    def merge(self, pairs: Sequence[Any]) -> Any:
        return _unless_failed(pairs, self._merged)

    def _merged(self, pairs: Sequence[Pair]) -> Pair:
        total = CompensatedSum(self.size)
        for pair in pairs:
            total.merge(pair)
        return total.pair


@dataclass(frozen=True)
class _Rows:
    kernel: Kernel
    width: int

    def __call__(self, source: LocalSource) -> NDArray[np.float64]:
        return source.gather(self.kernel, self.width)


def _unless_failed(parts: Sequence[Any], work: Callable[[Sequence[Any]], Any]) -> Any:
    """Return ``work(parts)``, or the first failure among the parts."""
    failures = [part for part in parts if isinstance(part, _Failure)]
    return failures[0] if failures else work(parts)


def _count(source: LocalSource) -> dict[Hashable, int]:
    return count_units(source.unit_cells())


def _rows(source: LocalSource) -> int:
    return source.rows()


def _blocks(source: LocalSource) -> list[Block]:
    return list(source.blocks())


def _offsets(counts: Sequence[Any]) -> Any:
    found = _unless_failed(counts, offsets)
    return ([found] * len(counts), found) if isinstance(found, _Failure) else found


class DaskSource:
    """Rows of a Dask collection.

    Parameters
    ----------
    data : Dask array or data frame
        The rows; partitions in order.
    names : tuple of str or None
        For an array, a name for each of its columns.
    reading : Reading
        Its columns are in the data.
    """

    def __init__(self, data: Any, names: tuple[str, ...] | None, reading: Reading) -> None:
        self.reading = reading
        self._names = names
        self.kind = "Dask data frame" if names is None else "Dask array"
        self._data = data
        if names is None:
            data = data[[name for name in data.columns if str(name) in reading.columns]]
        else:
            data = data.rechunk({1: -1})
        self._parts = list(np.ravel(np.array(data.to_delayed(), dtype=object)))

    def _map(self, work: Callable[[LocalSource], Any], starts: Sequence[Any] | None = None) -> list[Any]:
        task = need("dask").delayed(_Task(self.reading, self._names, work), pure=False, traverse=False)
        if starts is None:
            return [task(part) for part in self._parts]
        return [task(part, start) for part, start in zip(self._parts, starts, strict=True)]

    @cached_property
    def _offsets(self) -> Any:
        # Kept by the workers, for every later pass.
        return _computed(need("dask").delayed(_offsets, pure=False)(self._map(_count)).persist)

    @property
    def _starts(self) -> list[Any] | None:
        if self.reading.unit is None:
            return None
        return [self._offsets[0][j] for j in range(len(self._parts))]

    def rows(self) -> int:
        """Return how many rows there are, counted on the workers where Dask does not know."""
        if self._names is None:
            return int(_computed(lambda: len(self._data)))
        if not np.isnan(self._data.shape[0]):
            return int(self._data.shape[0])
        total = need("dask").delayed(_unless_failed, pure=False)(self._map(_rows), sum)
        return int(_computed(total.compute))

    def units(self) -> int | None:
        """Return how many units there are, counted on the workers."""
        return None if self.reading.unit is None else int(_computed(self._offsets[1].compute))

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Partitions come to this process one after the other."""
        for part in self._map(_blocks, self._starts):
            yield from _computed(part.compute)

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> NDArray[np.float64]:
        """Return the sum of ``kernel`` over all blocks, computed on the workers."""
        partial = _Partial(kernel, size)
        merge = need("dask").delayed(partial.merge, pure=False)
        pairs = self._map(partial, self._starts)
        while len(pairs) != 1:
            pairs = [merge(pairs[j : j + FAN_IN]) for j in range(0, max(len(pairs), 1), FAN_IN)]
        return np.asarray(_computed(pairs[0].compute)[0])

    def gather(self, kernel: Kernel, width: int) -> NDArray[np.float64]:
        """Return what ``kernel`` makes of each row that contributes; partitions come one after the other."""
        parts = self._map(_Rows(kernel, width), self._starts)
        return np.concatenate([np.empty((0, width)), *(_computed(part.compute) for part in parts)])


def _computed(work: Callable[[], Any]) -> Any:
    """Return what Dask computes. Of an error only its type's name is told: text, cause and context may show rows."""
    try:
        found = work()
    except Exception as error:
        found = _Failure(type(error).__name__)
    if isinstance(found, _Failure):  # outside of the except block, or the error would come along as context
        raise RuntimeError(
            f"a {found.error} on a Dask worker; its text is kept back, since it may show rows. To see it, run the same "
            "kernel on a public NumPy array, or compute the collection yourself"
        )
    return found
