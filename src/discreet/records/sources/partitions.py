"""Rows in partitions on several machines: what is done with one partition, and what the passes over all have in common.

Each partition is read as an array or a table of its own, in blocks of the same size as everywhere, and gives a
``WholeSum``. So no order, no retry and no number of workers changes a bit of a sum, and where partitions are whole
blocks it has the bits that it has in one process.

**A person's rows.** With a privacy unit there are two passes before. First the rows of each unit are counted. Then all
rows of the units that have more than ``max_rows`` come together in one place, where ``row_choice`` chooses among them.
A sum is over the chosen rows, and in every partition over the rows of all other units. Nothing depends on a row's
position: rows may come in another order, or in other partitions, each time they are computed.

**One snapshot.** The rows themselves must be the same in every pass. Each pass adds up a fingerprint of the rows that
it read (``row_digest``). Where two passes differ, the data changed or were computed otherwise the second time, and the
fit or the answer ends with ``CHANGED``, which is the same text whatever the rows are. What was spent stays spent.

**Silence.** A task of ours that fails returns the name of its error's type as a value: engines log the errors of their
tasks, and an error's text or its arguments may show rows. The collection's own tasks (a cast, a reader of files) may
raise as well. Of these errors too only the type's name is passed on here, but the workers may still log them, with
rows: protect their logs as you protect the data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows, UnitCells, Units, choose_rows
from discreet.records.sources.arrays import ArraySource, check_array
from discreet.records.sources.frames import TableSource
from discreet.records.sources.row_digest import WORD, DigestKey, RowDigest, Words, watch_rows
from discreet.records.sources.source import (
    Array,
    Kernel,
    LocalSource,
    Sizes,
    Source,
    compute,
    count_sizes,
    join_rows,
    take_rows,
)
from discreet.records.sources.whole_sums import WholeSum, sum_vectors

CHANGED = (
    "the rows were not the same in two passes over the data: a source that changes, or a step that is computed "
    "otherwise when it is repeated (a random sample, a row number without an order, an upsert). Write the table to "
    "files once and read these. What was recorded for the answer stays recorded"
)
Result = TypeVar("Result")
Consume: TypeAlias = Callable[[Reading, Iterator[DeclaredRows]], Result]


@dataclass(frozen=True)
class Failure:
    """The type of an error on a worker."""

    error: str

    def describe(self, engine: str) -> str:
        """Return an error's text for a user, which shows nothing of it."""
        return (
            f"a {self.error} on a {engine} worker; its text is kept back, since it may show rows. To see it, run the "
            "kernel on a public NumPy array, or compute the collection yourself"
        )


@dataclass(frozen=True)
class Guarded:
    """Something to do on a worker. It raises nothing: an error is a value, which later tasks hand on."""

    work: Callable[..., Any]

    def __call__(self, *given: Any) -> Any:
        """Return what becomes of the arguments, or the failure of one that failed."""
        for one in given:
            for part in one if isinstance(one, list) else [one]:
                if isinstance(part, Failure):
                    return part
        try:
            return self.work(*given)
        except Exception as error:
            return Failure(type(error).__name__)


class Seen(NamedTuple, Generic[Result]):
    """What was made of rows, and their fingerprint."""

    value: Result
    digest: RowDigest


@dataclass(frozen=True)
class Partitions:
    """How a partition is read as a source of its own.

    Attributes
    ----------
    declared, reading : Reading
        All that is declared, and what is read.
    names : tuple of str or None
        For arrays a name for each column; None for data frames.
    key : DigestKey
    """

    declared: Reading
    reading: Reading
    names: tuple[str, ...] | None
    key: DigestKey

    def open(self, part: Any, left_out: Collection[str] = ()) -> LocalSource:
        """Return a partition as a source, of which the rows of some units are left out."""
        source: LocalSource
        if isinstance(part, Prepared):
            source = _PreparedRows(part, self.declared)
        elif self.names is None:
            source = TableSource(nw.from_native(part, eager_only=True), self.declared)
        else:
            source = ArraySource(check_array(part), self.names, self.declared)
        source.reading, source.left_out = self.reading, left_out
        return source

    def prepare(self, part: Any) -> Prepared:
        """Return a partition as declared rows in memory, for an engine whose own reading takes longer than a step."""
        source = self.open(part)
        units = None if self.declared.unit is None else source.count_units()
        rows = DeclaredRows.joined([self.declared.empty_rows(), *source.read(self.declared)])
        return Prepared(rows, units, None if units is None else self.key.hash_units(*units))

    def consume(self, work: Consume[Result], part: Any, left_out: Collection[str] = ()) -> Seen[Result]:
        """Return what becomes of the rows of a partition that count, and the fingerprint of all of its rows."""
        source, seen, who = self.open(part, left_out), [RowDigest()], None
        if isinstance(part, Prepared):
            who = part.who
        elif self.reading.unit is not None:
            source.counted = source.count_units()
            who = self.key.hash_units(*source.counted)
        value = work(self.reading, watch_rows(source.read_declared(), self.key, who, seen))
        return Seen(value, sum(seen[1:], seen[0]))

    def consume_chosen(self, work: Consume[Result], rows: DeclaredRows) -> Result:
        """Return what becomes of rows that were chosen already: all of them count."""
        return work(replace(self.reading, unit=None), iter([self.reading.select_columns(rows, self.declared)]))

    def count(self, part: Any) -> dict[str, int]:
        """Return how many rows each unit has in a partition."""
        units, codes = self.open(part).count_units()
        counts = np.bincount(codes[codes >= 0], minlength=len(units)).tolist()
        return dict(zip(units.names(range(len(units))), counts, strict=True))

    def add_up_units(self, counts: Iterable[tuple[str, int]]) -> UnitCounts:
        """Return what is known of units, from how many rows each of them has."""
        names, rows = zip(*counts, strict=True) if (counts := list(counts)) else ((), ())
        most, sizes = self.declared.max_rows, np.array(rows, dtype=np.int64)
        large = frozenset(name for name, number in counts if number > most)
        hashed = int((self.key.hash_names(names) * sizes.astype(np.uint64)).sum(dtype=np.uint64))
        return UnitCounts(large, count_sizes(sizes, most), hashed)

    def read_large_units(self, part: Any, large: Collection[str]) -> Seen[NamedRows]:
        """Return the rows of some units, with their names, and the fingerprint of all rows, of all declared columns."""
        source, seen = self.open(part), [RowDigest()]
        units, codes = source.count_units()
        some = units.find(UnitCells(sorted(large)))
        places = np.flatnonzero(np.isin(codes, some[some >= 0]))
        watched = watch_rows(source.read(self.declared), self.key, self.key.hash_units(units, codes), seen)
        rows = NamedRows(units.names(codes[places]), take_rows(watched, places, self.declared.empty_rows()))
        return Seen(rows, sum(seen[1:], seen[0]))


class Prepared(NamedTuple):
    """A partition as declared rows, with its units and the hash of each row's unit, if there are units."""

    rows: DeclaredRows
    units: tuple[Units, NDArray[np.int64]] | None
    who: Words | None


class _PreparedRows(LocalSource):
    """Rows that were read before."""

    kind = "prepared rows"

    def __init__(self, held: Prepared, declared: Reading) -> None:
        super().__init__(declared)
        self._held, self.counted = held.rows, held.units

    def rows(self) -> int:
        return len(self._held.codes)

    def read(self, reading: Reading) -> Iterator[DeclaredRows]:
        yield reading.select_columns(self._held, self.declared)


class UnitCounts(NamedTuple):
    """What is known of some units: those of too many rows, how many rows units have, and a fingerprint.

    The fingerprint is the sum over rows of the hash of their unit, as in ``RowDigest``.
    """

    large: frozenset[str]
    sizes: Sizes
    hashed: int

    def joined(self, other: UnitCounts) -> UnitCounts:
        """Return the same of other units too."""
        one, several, more = (a + b for a, b in zip(self.sizes, other.sizes, strict=True))
        return UnitCounts(self.large | other.large, (one, several, more), (self.hashed + other.hashed) & WORD)


class NamedRows(NamedTuple):
    """Rows, with the name of each row's unit."""

    names: list[str]
    rows: DeclaredRows


def choose_among(declared: Reading, parts: Sequence[Seen[NamedRows]]) -> Seen[DeclaredRows]:
    """Return the rows that count, of units of more than may count, from all partitions."""
    names = [name for part in parts for name in part.value.names]
    rows = DeclaredRows.joined([declared.empty_rows(), *(part.value.rows for part in parts)])
    units = Units("text")  # a name is text, whatever it was read from
    kept = choose_rows(units.add([UnitCells(names)]), units.names, rows, declared.max_rows, declared.order)
    return Seen(rows.take(np.flatnonzero(kept)), sum((part.digest for part in parts), RowDigest()))


def make_blocks(reading: Reading, slabs: Iterator[DeclaredRows]) -> list[Block]:
    """Return rows as blocks."""
    return [block for block in map(reading.block, reading.cut(slabs)) if block.x.shape[0]]


@dataclass(frozen=True)
class SumRows:
    """Sums a kernel over rows, on one thread."""

    kernel: Kernel
    size: int
    norm: float

    def __call__(self, reading: Reading, slabs: Iterator[DeclaredRows]) -> WholeSum:
        """Return the sum."""
        return sum_vectors(compute(reading, self.kernel, slabs, cores=1), self.size, self.norm)


@dataclass(frozen=True)
class GatherRows:
    """Joins what a kernel makes of each row, on one thread."""

    kernel: Kernel
    width: int

    def __call__(self, reading: Reading, slabs: Iterator[DeclaredRows]) -> Array:
        """Return what was joined."""
        return join_rows(compute(reading, self.kernel, slabs, cores=1), self.width)


class PartitionedSource(Source):
    """Rows in partitions.

    Parameters
    ----------
    declared : Reading
    names : tuple of str or None
        See ``Partitions``.
    """

    def __init__(self, declared: Reading, names: tuple[str, ...] | None = None) -> None:
        super().__init__(declared)
        self._names = names

    @property
    def _partitions(self) -> Partitions:
        return Partitions(self.declared, self.reading, self._names, self._cache("key", DigestKey.draw))

    def compare(self, digest: RowDigest, columns: tuple[str, ...] | None = None) -> None:
        """Raise where a pass saw other rows than the passes before, of whatever columns both read."""
        names = self.reading.names if columns is None else columns
        self.compare_facts({"rows": digest.rows, "units": digest.units, names: digest.cells})

    def has_seen(self, columns: tuple[str, ...]) -> bool:
        """Return whether there was a pass over these columns before."""
        return columns in self._cache("digests", dict)

    def compare_facts(self, seen: dict[Any, Any]) -> None:
        """Raise where something that every pass must see alike is not what it was before."""
        known: dict[Any, Any] = self._cache("digests", dict)
        if any(known.setdefault(what, value) != value for what, value in seen.items()):
            raise RuntimeError(CHANGED)
