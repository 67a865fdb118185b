"""Rows of a Dask array or data frame: partial sums on the workers, one small result back (``partitions``).

A pass is one graph: a task for each partition, and a tree that merges what they give, on the workers. Which units have
too many rows, and which of their rows count, is decided once and kept by the workers: no name of a unit leaves them.
The caller's own scheduler or client runs everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.records.reading import Block, Reading
from discreet.records.sources.frames import import_optional
from discreet.records.sources.partitions import (
    Consume,
    Failure,
    GatherRows,
    Guarded,
    PartitionedSource,
    Partitions,
    Seen,
    SumRows,
    UnitCounts,
    choose_among,
    make_blocks,
)
from discreet.records.sources.source import Kernel, Sizes
from discreet.records.sources.whole_sums import WholeSum

FAN_IN = 16
Result = TypeVar("Result")


def _delay(work: Callable[..., Any]) -> Any:
    return import_optional("dask").delayed(Guarded(work), pure=False, traverse=False)  # Dask does not look into it


def _merge(sums: Sequence[Seen[WholeSum]]) -> Seen[WholeSum]:
    first, *others = sums
    total, digest = deepcopy(first.value), first.digest  # a task may be run again with the same arguments
    for other in others:
        total, digest = total.merge(other.value), digest + other.digest
    return Seen(total, digest)


def _add_up(partitions: Partitions, counts: Sequence[dict[str, int]]) -> UnitCounts:
    total: dict[str, int] = {}
    for one in counts:
        for name, rows in one.items():
            total[name] = total.get(name, 0) + rows
    return partitions.add_up_units(total.items())


class DaskSource(PartitionedSource):
    """Rows of a Dask collection.

    Parameters
    ----------
    data : Dask array or data frame
        The rows, the same ones each time they are computed, in any order.
    names : tuple of str or None
        For an array, a name for each of its columns.
    reading : Reading
        Its columns are in the data.
    """

    def __init__(self, data: Any, names: tuple[str, ...] | None, reading: Reading) -> None:
        super().__init__(reading, names)
        self._data = data
        self.kind = "Dask data frame" if names is None else "Dask array"
        if names is None:
            data = data[[name for name in data.columns if str(name) in reading.needed]]
        else:
            data = data.rechunk({1: -1})
        self._parts = list(np.ravel(np.array(data.to_delayed(), dtype=object)))

    def _map(self, work: Callable[..., Any], *given: Any) -> list[Any]:
        task = _delay(work)
        return [task(part, *given) for part in self._parts]

    @property
    def _choice(self) -> tuple[Any, Any, Any]:
        """Units of too many rows, how many rows units have, and the rows that count of the former; on the workers."""
        return self._cache("choice", self._choose)

    def _choose(self) -> tuple[Any, Any, Any]:
        own = self._partitions
        counted = _compute(_delay(partial(_add_up, own))(self._map(own.count)).persist)  # kept for every later pass
        large, sizes, hashed = (_delay(itemgetter(place))(counted) for place in range(3))
        chosen = _compute(_delay(partial(choose_among, self.declared))(self._map(own.read_large_units, large)).persist)
        rows, digest = (_delay(itemgetter(place))(chosen) for place in range(2))
        units, digest = _compute(lambda: import_optional("dask").compute(hashed, digest))
        self.compare_facts({"units": units})
        self.compare(digest, self.declared.names)
        return large, sizes, rows

    def rows(self) -> int:
        """Return how many rows there are, counted on the workers where Dask does not know."""
        if self._names is None:
            return int(_compute(lambda: len(self._data)))
        if not np.isnan(self._data.shape[0]):
            return int(self._data.shape[0])
        return int(_compute(_delay(sum)(self._map(len)).compute))

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more; counted on the workers."""
        one, several, more = _compute(self._choice[1].compute)
        return one, several, more

    def _consume(self, work: Consume[Result]) -> tuple[list[Any], list[Any]]:
        """Return what becomes of each partition, and of the rows that were chosen; still to be computed."""
        own = partial(self._partitions.consume, work)
        if self.reading.unit is None:
            return self._map(own), []
        large, _, chosen = self._choice
        return self._map(own, large), [_delay(partial(self._partitions.consume_chosen, work))(chosen)]

    def _results(self, work: Consume[Result]) -> Iterator[Result]:
        """Yield what becomes of each partition, one after the other, and then of the rows that were chosen."""
        parts, chosen = self._consume(work)
        digests = []
        for part in parts:
            seen = _compute(part.compute)
            digests.append(seen.digest)
            yield seen.value
        for rows in chosen:
            yield _compute(rows.compute)
        if digests:
            self.compare(sum(digests[1:], digests[0]))

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Partitions come to this process one after the other."""
        for blocks in self._results(make_blocks):
            yield from blocks

    def reduce(self, kernel: Kernel, size: int, norm: float, each: Kernel | None = None) -> NDArray[np.float64]:
        """Return the sum of ``kernel`` over all blocks, computed on the workers in one graph."""
        merge, (sums, chosen) = _delay(_merge), self._consume(SumRows(kernel, size, norm))
        while len(sums) > 1:
            sums = [merge(sums[j : j + FAN_IN]) for j in range(0, len(sums), FAN_IN)]
        total, results = WholeSum(size, norm), _compute(lambda: import_optional("dask").compute(*sums, *chosen))
        for one in results[: len(sums)]:
            self.compare(one.digest)
            total.merge(one.value)
        for one in results[len(sums) :]:
            total.merge(one)
        return total.to_floats()

    def gather(self, kernel: Kernel, width: int) -> NDArray[np.float64]:
        """Return what ``kernel`` makes of each row that contributes; partitions come one after the other."""
        return np.concatenate([np.empty((0, width)), *self._results(GatherRows(kernel, width))])


def _compute(work: Callable[[], Any]) -> Any:
    """Return what Dask computes. Of an error only its type's name is passed on: the rest may show rows."""
    try:
        result = work()
    except Exception as error:
        result = Failure(type(error).__name__)
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, Failure):  # outside of the except block, or the error would come along as context
            raise RuntimeError(one.describe("Dask"))
    return result
