"""Rows in partitions on several machines: what is done with one partition, and what the passes over all have in common.

Each partition is read as an array or a table of its own, in blocks of the same size as everywhere, and gives a
``WholeSum``. So no order of partitions, no retry and no number of workers changes a bit of a sum, and where partitions
are whole blocks it has the bits that it has in one process. (Rows in another order within a partition are other blocks:
the sum is then within the float error that is charged.)

**A person's rows.** With a privacy unit there are two passes before. First the rows of each unit are counted. Then all
rows of the units that have more than ``max_rows`` come together in one place, where ``row_choice`` chooses among them.
A sum is over the chosen rows, and in every partition over the rows of all other units. Nothing depends on a row's
position: rows may come in another order, or in other partitions, each time they are computed.

**One snapshot.** The rows themselves must be the same in every pass. Each pass adds up a fingerprint of the rows that
it read (``row_digest``), and says by which counts of units it left out rows and chose among others: an engine may
compute these again too. Where two passes differ, the data changed or were computed otherwise the second time, and the
fit or the answer ends with ``CHANGED``, which is the same text whatever the rows are. What was spent stays spent.

**Silence.** A task of ours that fails returns the name of its error's type as a value: engines log the errors of their
tasks, and an error's text or its arguments may show rows. The collection's own tasks (a cast, a reader of files) may
raise as well. Of these errors too only the type's name is passed on here, but the workers may still log them, with
rows: protect their logs as you protect the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

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
            f"{engine} failed with the error {self.error}; its text is kept back, since it may show rows. To see it, "
            "run the kernel on a public NumPy array, or compute the collection yourself"
        )


@dataclass(frozen=True)
class Guarded:
    """Something to do on a worker. It raises nothing: an error is a value, which later tasks hand on."""

    work: Callable[..., Any]

    def __repr__(self) -> str:
        return "discreet"  # engines name tasks by it, and would take milliseconds to write out the arrays of a query

    def __call__(self, *given: Any) -> Any:
        """Return what becomes of the arguments, or the failure of one that failed."""
        for one in given:
            for part in one if isinstance(one, list) else [one]:
                if isinstance(part, Failure):
                    return part
        try:
            return self.work(*given)
        except BaseException as error:  # engines log what else there is
            return Failure(type(error).__name__)


def compute_silently(engine: str, work: Callable[[], Result]) -> Result:
    """Return what an engine computes. Of an error, raised or handed on, only its type's name comes out."""
    try:
        result: Any = work()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        result = Failure(type(error).__name__)
    for one in result if isinstance(result, tuple | list) else (result,):
        if isinstance(one, Failure):  # outside of the except block, or the error would come along as context
            raise RuntimeError(one.describe(engine))
    return cast("Result", result)


class Seen(NamedTuple, Generic[Result]):
    """What was made of rows, with what tells whether they are the same rows in every pass.

    Attributes
    ----------
    value : object
    digest : RowDigest
        The fingerprint of the rows.
    choices : frozenset of int
        The fingerprints of the counts of units (``UnitCounts.hashed``) by which rows were left out.
    """

    value: Result
    digest: RowDigest
    choices: frozenset[int] = frozenset()


class UnitCounts(NamedTuple):
    """What is known of some units: those of too many rows, how many rows units have, and a fingerprint.

    Attributes
    ----------
    large : array of int
        The keyed hashes of units of more than ``max_rows`` rows. If another unit has the hash of one of them, its rows
        are chosen among too, which changes nothing. So no name of a unit is in a task, or where an engine writes it.
    sizes : tuple of int
        See ``count_sizes``.
    hashed : int
        The sum over rows of the hash of their unit, as in ``RowDigest``.
    """

    large: Words
    sizes: Sizes
    hashed: int

    def joined(self, other: UnitCounts) -> UnitCounts:
        """Return the same of other units too."""
        one, several, more = (a + b for a, b in zip(self.sizes, other.sizes, strict=True))
        large = np.concatenate([self.large, other.large])
        return UnitCounts(large, (one, several, more), (self.hashed + other.hashed) & WORD)


NO_UNITS = UnitCounts(np.empty(0, dtype=np.uint64), (0, 0, 0), 0)


class Prepared(NamedTuple):
    """A block as declared rows, of which those count that ``keep`` says, and the hash of each row's unit."""

    rows: DeclaredRows
    who: Words | None
    choices: frozenset[int]


class NamedRows(NamedTuple):
    """Rows, with the name of each row's unit."""

    names: list[str]
    rows: DeclaredRows


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

    def open(self, part: Any) -> LocalSource:
        """Return a partition as a source."""
        source: LocalSource
        if self.names is None:
            source = TableSource(nw.from_native(part, eager_only=True), self.declared)
        else:
            source = ArraySource(check_array(part), self.names, self.declared)
        source.reading = self.reading
        return source

    def prepare(self, part: Any, units: UnitCounts | None) -> list[Prepared]:
        """Return a partition as declared blocks in memory, for an engine whose own reading takes longer than a step."""
        source, keep, who = self.open(part), None, None
        if units is not None:
            who, codes = self._leave_out(source, units)
            keep = codes >= 0
        first, result = 0, []
        for rows in self.declared.cut(source.read(self.declared)):
            own = slice(first, first := first + len(rows.codes))
            rows = rows._replace(keep=None if keep is None else keep[own])
            result.append(Prepared(rows, None if who is None else who[own], _choices(units)))
        return result

    def _leave_out(self, source: LocalSource, units: UnitCounts) -> tuple[Words, NDArray[np.int64]]:
        """Leave out the rows of units of too many rows; return the hash of each row's unit, and whose it is or −1."""
        known, codes = source.count_units()
        who = self.key.hash_units(known, codes)
        codes = np.where(np.isin(who, units.large), -1, codes)
        source.counted = known, codes
        return who, codes

    def consume(self, work: Consume[Result], part: Any, units: UnitCounts | None = None) -> Seen[Result]:
        """Return what becomes of the rows of a partition that count, and the fingerprint of all of its rows.

        Parameters
        ----------
        work : callable
        part : table or array
        units : UnitCounts or None
            What is known of the units of all partitions; None where each row stands for itself.
        """
        seen, source = [RowDigest()], self.open(part)
        who = None if units is None else self._leave_out(source, units)[0]
        blocks = self.reading.cut(source.read_declared())  # which are hashed and summed while they are in cache
        value = work(self.reading, watch_rows(blocks, self.key, who, seen))
        return Seen(value, sum(seen[1:], seen[0]), _choices(units))

    def consume_prepared(self, work: Consume[Result], blocks: Iterable[Prepared]) -> Seen[Result]:
        """Return the same of a partition that was prepared."""
        seen, choices = [RowDigest()], set[int]()

        def watch() -> Iterator[DeclaredRows]:
            for block in blocks:
                choices.update(block.choices)
                rows = self.reading.select_columns(block.rows, self.declared)
                yield from watch_rows([rows], self.key, block.who, seen)

        value = work(self.reading, watch())
        return Seen(value, sum(seen[1:], seen[0]), frozenset(choices))

    def consume_chosen(self, work: Consume[Result], chosen: Seen[DeclaredRows]) -> Seen[Result]:
        """Return what becomes of rows that were chosen already, all of which count; with what they were chosen from."""
        rows = self.reading.select_columns(chosen.value, self.declared)
        return Seen(work(replace(self.reading, unit=None), iter([rows])), chosen.digest, chosen.choices)

    def count(self, part: Any) -> dict[str, int]:
        """Return how many rows each unit has in a partition."""
        units, codes = self.open(part).count_units()
        counts = np.bincount(codes[codes >= 0], minlength=len(units)).tolist()
        return dict(zip(units.names(range(len(units))), counts, strict=True))

    def add_up_units(self, counts: Iterable[tuple[str, int]]) -> UnitCounts:
        """Return what is known of units, from how many rows each of them has."""
        names, rows = zip(*counts, strict=True) if (counts := list(counts)) else ((), ())
        most, sizes, who = self.declared.max_rows, np.array(rows, dtype=np.int64), self.key.hash_names(names)
        hashed = int((who * sizes.astype(np.uint64)).sum(dtype=np.uint64))
        return UnitCounts(who[sizes > most], count_sizes(sizes, most), hashed)

    def read_large_units(self, part: Any, units: UnitCounts) -> Seen[NamedRows]:
        """Return the rows of units of too many rows, with their names, and the fingerprint of all declared rows."""
        source, seen = self.open(part), [RowDigest()]
        known, codes = source.count_units()
        who = self.key.hash_units(known, codes)
        places = np.flatnonzero((codes >= 0) & np.isin(who, units.large))
        watched = watch_rows(source.read(self.declared), self.key, who, seen)
        rows = NamedRows(known.names(codes[places]), take_rows(watched, places, self.declared.empty_rows()))
        return Seen(rows, sum(seen[1:], seen[0]), _choices(units))


def _choices(units: UnitCounts | None) -> frozenset[int]:
    return frozenset() if units is None else frozenset({units.hashed})


def choose_among(declared: Reading, parts: Sequence[Seen[NamedRows]]) -> Seen[DeclaredRows]:
    """Return the rows that count, of units of more than may count, from all partitions."""
    names = [name for part in parts for name in part.value.names]
    rows = DeclaredRows.joined([declared.empty_rows(), *(part.value.rows for part in parts)])
    units = Units("text")  # a name is text, whatever it was read from
    kept = choose_rows(units.add([UnitCells(names)]), units.names, rows, declared.max_rows, declared.order)
    return join_seen(rows.take(np.flatnonzero(kept)), parts)


def join_seen(value: Result, parts: Iterable[Seen[Any]]) -> Seen[Result]:
    """Return a value that was made of several others, with what is known of the rows of all."""
    parts = list(parts)
    choices = frozenset[int]().union(*(part.choices for part in parts))
    return Seen(value, sum((part.digest for part in parts), RowDigest()), choices)


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

    def compare(self, seen: Seen[Any], columns: tuple[str, ...] | None = None) -> None:
        """Raise where a pass saw other rows than the passes before, of whatever columns both read, or other choices."""
        names, digest = self.reading.names if columns is None else columns, seen.digest
        self.compare_facts({"rows": digest.rows, "units": digest.units, names: digest.cells})
        for choice in seen.choices:
            self.compare_facts({"units": choice})

    def has_seen(self, columns: tuple[str, ...]) -> bool:
        """Return whether there was a pass over these columns before."""
        return columns in self._cache("digests", dict)

    def compare_facts(self, seen: dict[Any, Any]) -> None:
        """Raise where something that every pass must see alike is not what it was before."""
        known: dict[Any, Any] = self._cache("digests", dict)
        if any(known.setdefault(what, value) != value for what, value in seen.items()):
            raise RuntimeError(CHANGED)
