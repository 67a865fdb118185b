"""Rows of a Dask array or data frame: partial sums on the workers, one small result back (``partitions``).

A pass is one graph: a task for each partition, and a tree that merges what they give, on the workers. Which units have
too many rows, and which of their rows count, is decided once and kept by the workers: no name of a unit leaves them.
Where a worker is lost that kept it, Dask decides again, and the passes are compared as for rows.
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
    GatherRows,
    Guarded,
    PartitionedSource,
    Partitions,
    Seen,
    SumRows,
    UnitCounts,
    choose_among,
    compute_silently,
    join_seen,
    make_blocks,
)
from discreet.records.sources.source import Kernel, Sizes
from discreet.records.sources.whole_sums import WholeSum

FAN_IN = 16
Result = TypeVar("Result")


_compute = partial(compute_silently, "Dask")


def _delay(work: Callable[..., Any]) -> Any:
    return import_optional("dask").delayed(Guarded(work), pure=False, traverse=False)  # Dask does not look into it


def _merge(sums: Sequence[Seen[WholeSum]]) -> Seen[WholeSum]:
    total = deepcopy(sums[0].value)  # a task may be run again with the same arguments
    for other in sums[1:]:
        total.merge(other.value)
    return join_seen(total, sums)


def _add_up(partitions: Partitions, counts: Sequence[dict[str, int]]) -> UnitCounts:
    total: dict[str, int] = {}
    for one in counts:
        for name, rows in one.items():
            total[name] = total.get(name, 0) + rows
    return partitions.add_up_units(total.items())


def _without_rows(seen: Seen[Any]) -> Seen[None]:
    return Seen(None, seen.digest, seen.choices)


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
        self.kind, self.named = "Dask data frame" if names is None else "Dask array", names is None
        if names is None:
            self.backend = "pandas"
            data = data[[name for name in data.columns if str(name) in reading.needed]]
        else:
            data = data.rechunk({1: -1})
        self._parts = list(np.ravel(np.array(data.to_delayed(), dtype=object)))

    def _map(self, work: Callable[..., Any], *given: Any) -> list[Any]:
        task = _delay(work)
        return [task(part, *given) for part in self._parts]

    @property
    def _choice(self) -> tuple[Any, Any]:
        """What is known of the units, and the rows that count of those of too many rows; kept by the workers."""
        return self._cache("choice", self._choose)

    def _choose(self) -> tuple[Any, Any]:
        own = self._partitions
        units = _compute(_delay(partial(_add_up, own))(self._map(own.count)).persist)
        chosen = _compute(_delay(partial(choose_among, self.declared))(self._map(own.read_large_units, units)).persist)
        facts = _delay(_without_rows)(chosen)
        self.compare(_compute(facts.compute), self.declared.names)
        return units, chosen

    def rows(self) -> int:
        """Return how many rows there are, counted on the workers where Dask does not know."""
        if self._names is None:
            rows = int(_compute(lambda: len(self._data)))
        elif np.isnan(self._data.shape[0]):
            rows = int(_compute(_delay(sum)(self._map(len)).compute))
        else:
            rows = int(self._data.shape[0])
        self.compare_facts({"rows": rows})
        return rows

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more; counted on the workers."""
        one, several, more = _compute(_delay(itemgetter(1))(self._choice[0]).compute)
        return one, several, more

    def _consume(self, work: Consume[Result]) -> list[Any]:
        """Return what becomes of each partition, and of the rows that were chosen; still to be computed."""
        own = partial(self._partitions.consume, work)
        if self.reading.unit is None:
            return self._map(own)
        units, chosen = self._choice
        return [*self._map(own, units), _delay(partial(self._partitions.consume_chosen, work))(chosen)]

    def _compare(self, seen: Sequence[Seen[Any]]) -> None:
        """Compare what was seen of each partition, and last of the rows that were chosen, with earlier passes."""
        parts = seen if self.reading.unit is None else seen[:-1]
        self.compare(join_seen(None, parts))
        if len(parts) < len(seen):
            self.compare(seen[-1], self.declared.names)

    def _results(self, work: Consume[Result]) -> Iterator[Result]:
        """Yield what becomes of each partition, one after the other, and then of the rows that were chosen."""
        seen = []
        for part in self._consume(work):
            one = _compute(part.compute)
            seen.append(_without_rows(one))
            yield one.value
        self._compare(seen)

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Partitions come to this process one after the other."""
        for blocks in self._results(make_blocks):
            yield from blocks

    def reduce(self, kernel: Kernel, size: int, norm: float, each: Kernel | None = None) -> NDArray[np.float64]:
        """Return the sum of ``kernel`` over all blocks, computed on the workers in one graph."""
        merge, sums = _delay(_merge), self._consume(SumRows(kernel, size, norm))
        chosen = [] if self.reading.unit is None else [sums.pop()]
        while len(sums) > 1:
            sums = [merge(sums[j : j + FAN_IN]) for j in range(0, len(sums), FAN_IN)]
        results = _compute(lambda: import_optional("dask").compute(*sums, *chosen))
        self._compare(results)
        total = WholeSum(size, norm)
        for one in results:
            total.merge(one.value)
        return total.to_floats()

    def gather(self, kernel: Kernel, width: int) -> NDArray[np.float64]:
        """Return what ``kernel`` makes of each row that contributes; partitions come one after the other."""
        return np.concatenate([np.empty((0, width)), *self._results(GatherRows(kernel, width))])
