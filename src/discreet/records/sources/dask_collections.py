"""Rows of a Dask array or data frame: partial sums on the workers, one small result back.

Each partition is read as an array or a table of its own, in blocks of the same size as everywhere, and gives a
compensated pair; pairs are merged on the workers, sixteen at a time. So the bound of ``source`` holds, however large
partitions are.

With a privacy unit there are two passes before. First every partition counts the rows of its units. Then one task gets
all rows of the units that have more than ``max_rows`` in all partitions together, and chooses among them
(``row_choice``). A sum is over the chosen rows, and in every partition over the rows of all other units. Nothing
depends on a row's position: rows may come in another order, or in other partitions, each time they are computed, after
a shuffle or a retry. Only the rows themselves must be the same each time. No name of a unit leaves the workers.

A task of ours that fails returns the name of its error's type as a value: Dask's workers would log the arguments of a
task that raises, and with them rows. The collection's own tasks (a cast, a reader of files) may raise as well. Of these
errors too only the type's name is passed on here, but the workers may still log them, with rows: protect their logs as
you protect the data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows, UnitCells, Units, choose_rows
from discreet.records.sources.arrays import ArraySource, check_array
from discreet.records.sources.frames import TableSource, import_optional
from discreet.records.sources.source import (
    CompensatedSum,
    Contributions,
    Kernel,
    LocalSource,
    Pair,
    Sizes,
    Source,
    count_sizes,
)

FAN_IN = 16


@dataclass(frozen=True)
class _Failure:
    """The type of an error on a worker."""

    error: str


@dataclass(frozen=True)
class _Task:
    """Something to do on a worker. It raises nothing: an error is a value, which later tasks hand on."""

    work: Callable[..., Any]

    def __call__(self, *given: Any) -> Any:
        for one in given:
            for part in one if isinstance(one, list) else [one]:
                if isinstance(part, _Failure):
                    return part
        try:
            return self.work(*given)
        except Exception as error:
            return _Failure(type(error).__name__)


def _delay(work: Callable[..., Any]) -> Any:
    return import_optional("dask").delayed(_Task(work), pure=False, traverse=False)  # Dask does not look into it


@dataclass(frozen=True)
class _PartitionTask:
    """Something to do with a partition, read as a source of its own."""

    declared: Reading
    reading: Reading
    names: tuple[str, ...] | None  # None for a data frame
    work: Callable[[LocalSource], Any]

    def __call__(self, part: Any, left_out: Collection[str] = ()) -> Any:
        source: LocalSource
        reading = self.reading
        if isinstance(part, DeclaredRows):
            source, reading = _ChosenRows(part, self.declared), replace(reading, unit=None)
        elif self.names is None:
            source = TableSource(nw.from_native(part, eager_only=True), self.declared)
        else:
            source = ArraySource(check_array(part), self.names, self.declared)
        source.reading, source.left_out = reading, left_out
        return self.work(source)


class _ChosenRows(LocalSource):
    """Rows that were chosen already: all of them count."""

    kind = "chosen rows"

    def __init__(self, rows: DeclaredRows, declared: Reading) -> None:
        super().__init__(declared)
        self._held = rows

    def rows(self) -> int:
        return len(self._held.codes)

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        yield reading.select_columns(self._held, self.declared)


def _merge(size: int, pairs: Sequence[Pair]) -> Pair:
    total = CompensatedSum(size)
    for pair in pairs:
        total.merge(pair)
    return total.pair


def _blocks(source: LocalSource) -> list[Block]:
    return list(source.blocks())


def _count(source: LocalSource) -> dict[str, int]:
    """Return how many rows each unit has in a partition."""
    units, codes = source.count_units()
    counts = np.bincount(codes[codes >= 0], minlength=len(units)).tolist()
    return dict(zip(units.names(range(len(units))), counts, strict=True))


def _find_large_units(max_rows: int, counts: Sequence[dict[str, int]]) -> tuple[frozenset[str], Sizes]:
    """Return the units that have more rows than may count, and how many rows units have."""
    total: dict[str, int] = {}
    for partition in counts:
        for name, rows in partition.items():
            total[name] = total.get(name, 0) + rows
    over = frozenset(name for name, rows in total.items() if rows > max_rows)
    return over, count_sizes(np.array(list(total.values()), dtype=np.int64), max_rows)


def _read_large_units(source: LocalSource) -> tuple[list[str], DeclaredRows]:
    """Return the rows of the units that a partition leaves out, with their names."""
    units, codes = source.count_units()
    out = units.find(UnitCells(sorted(source.left_out)))
    places = np.flatnonzero(np.isin(codes, out[out >= 0]))
    return units.names(codes[places]), source.declared_rows(places)


def _choose(declared: Reading, parts: Sequence[tuple[list[str], DeclaredRows]]) -> DeclaredRows:
    """Return the rows that count, of units of more than may count."""
    names = [name for part, _ in parts for name in part]
    rows = DeclaredRows.joined([result for _, result in parts])
    units = Units("text")  # a name is text, whatever it was read from
    kept = choose_rows(units.add([UnitCells(names)]), units.names, rows, declared.max_rows, declared.order)
    return rows.take(np.flatnonzero(kept))


class DaskSource(Source):
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
        super().__init__(reading)
        self._names, self._data = names, data
        self.kind = "Dask data frame" if names is None else "Dask array"
        if names is None:
            data = data[[name for name in data.columns if str(name) in reading.needed]]
        else:
            data = data.rechunk({1: -1})
        self._parts = list(np.ravel(np.array(data.to_delayed(), dtype=object)))

    def _task(self, work: Callable[[LocalSource], Any]) -> Any:
        return _delay(_PartitionTask(self.declared, self.reading, self._names, work))

    def _map(self, work: Callable[[LocalSource], Any], left_out: Any = ()) -> list[Any]:
        task = self._task(work)
        return [task(part, left_out) for part in self._parts]

    @property
    def _choice(self) -> tuple[Any, Any, Any]:
        """Units of too many rows, how many rows units have, and the rows that count of the former; on the workers."""
        return self._cache("choice", self._choose)

    def _choose(self) -> tuple[Any, Any, Any]:
        counted = _delay(partial(_find_large_units, self.declared.max_rows))(self._map(_count))
        result = _compute(counted.persist)  # kept by the workers, for every later pass
        many, rows = (_delay(itemgetter(place))(result) for place in (0, 1))
        chosen = _delay(partial(_choose, self.declared))(self._map(_read_large_units, many))
        return many, rows, _compute(chosen.persist)

    def rows(self) -> int:
        """Return how many rows there are, counted on the workers where Dask does not know."""
        if self._names is None:
            return int(_compute(lambda: len(self._data)))
        if not np.isnan(self._data.shape[0]):
            return int(self._data.shape[0])
        return int(_compute(_delay(sum)(self._map(methodcaller("rows"))).compute))

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more; counted on the workers."""
        one, several, more = _compute(self._choice[1].compute)
        return one, several, more

    def _map_all(self, work: Callable[[LocalSource], Any]) -> list[Any]:
        """Return what becomes of each partition, and of the rows that were chosen."""
        if self.reading.unit is None:
            return self._map(work)
        many, _, chosen = self._choice
        return [*self._map(work, many), self._task(work)(chosen)]

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute. Partitions come to this process one after the other."""
        for part in self._map_all(_blocks):
            yield from _compute(part.compute)

    def reduce(self, kernel: Kernel, size: int, each: Contributions | None = None) -> NDArray[np.float64]:
        """Return the sum of ``kernel`` over all blocks, computed on the workers."""
        merge, pairs = _delay(partial(_merge, size)), self._map_all(methodcaller("partial", kernel, size))
        while len(pairs) != 1:
            pairs = [merge(pairs[j : j + FAN_IN]) for j in range(0, max(len(pairs), 1), FAN_IN)]
        return np.asarray(_compute(pairs[0].compute)[0])

    def gather(self, kernel: Kernel, width: int) -> NDArray[np.float64]:
        """Return what ``kernel`` makes of each row that contributes; partitions come one after the other."""
        parts = self._map_all(methodcaller("gather", kernel, width))
        return np.concatenate([np.empty((0, width)), *(_compute(part.compute) for part in parts)])


def _compute(work: Callable[[], Any]) -> Any:
    """Return what Dask computes. Of an error only its type's name is passed on: the rest may show rows."""
    try:
        result = work()
    except Exception as error:
        result = _Failure(type(error).__name__)
    if isinstance(result, _Failure):  # outside of the except block, or the error would come along as context
        raise RuntimeError(
            f"a {result.error} on a Dask worker; its text is kept back, since it may show rows. To see it, run the "
            "kernel on a public NumPy array, or compute the collection yourself"
        )
    return result
