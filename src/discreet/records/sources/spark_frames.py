"""Rows of a Spark data frame: partial sums on the executors, one small result a partition back (``partitions``).

Everything runs in the caller's own session, by ``mapInArrow``: a partition comes to Python as Arrow batches, is read as
a table of its own, and gives one small result with the partition's number. The driver sees to it that no partition is
there twice, compares the fingerprint of the rows with that of earlier passes, and adds up. Noise is drawn after that,
once, in the driver's own process (``door``): nothing here is lazy, so that nothing can be drawn again when Spark
computes something again. No accumulators are used, to which a repeated task adds twice.

To make Arrow batches of rows takes Spark ten times as long as a step of a fit. So from the second pass over the same
columns on, the executors keep the partitions as arrays, in memory or on their disks, until nobody holds the records any
more: pickles of one block each, as an RDD, since Spark hands these to Python as they are. (As cells of a data frame
they would be copied into rows and Arrow batches, at several times the processor time.) A partition that is lost is made
again from the data frame, and the fingerprint tells if it has become another one. Spark Connect has no RDDs: there
every pass reads the data frame.

**A person's rows.** Spark counts the rows of each unit, after a shuffle by name. Keyed hashes of the units that have
more than ``max_rows`` go into the tasks, and the rows of these units come to the driver, which chooses among them
(``row_choice``) and keeps the chosen ones. So its memory must hold the rows of those who have too many; with
``max_rows`` larger there are fewer.

The rows of a partition are held in memory by the Python process that reads it. Partitions of some 10⁵ to 10⁷ cells are
usual; ``frame.repartition(n)`` makes more of them.
"""

from __future__ import annotations

import gc
import pickle
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from inspect import signature
from itertools import chain
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows
from discreet.records.sources.frames import check_types, empty_table, import_optional
from discreet.records.sources.partitions import (
    CHANGED,
    NO_UNITS,
    Consume,
    Failure,
    GatherRows,
    Guarded,
    PartitionedSource,
    Partitions,
    Prepared,
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

Result = TypeVar("Result")
_compute = partial(compute_silently, "Spark")
RESULT = "part int, result binary"
COUNTED = "name string, rows bigint, failed string"


def select_columns(frame: Any, reading: Reading) -> Any:
    """Return the columns that a reading needs, under plain names: Spark would take a dot in a name for a field."""
    column = import_optional("pyspark.sql.functions").col
    quoted = ("`" + name.replace("`", "``") + "`" for name in dict.fromkeys(reading.needed))
    return frame.select(*(column(name).alias(f"c{place}") for place, name in enumerate(quoted)))


def read_batches(batches: Iterable[Any], names: Sequence[str]) -> Any:
    """Return a partition as an Arrow table, with these names for its columns; None for one without rows."""
    held = [batch for batch in batches if batch.num_rows]
    return import_optional("pyarrow").Table.from_batches(held).rename_columns(list(names)) if held else None


def check_columns(frame: Any, reading: Reading) -> None:
    """Check the types of the columns that are read: those in which Spark hands them over as Arrow."""
    to_arrow_type = import_optional("pyspark.sql.pandas.types").to_arrow_type
    types = []
    for name, column in zip(dict.fromkeys(reading.needed), select_columns(frame, reading).schema, strict=True):
        try:
            zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
            types.append((name, to_arrow_type(column.dataType, **zone)))
        except Exception:  # for types that Arrow has not; it is about no row
            raise ValueError(
                f"the column {name!r} has the type {column.dataType.simpleString()}: expected numbers, text or dates; "
                f"write frame.withColumn({name!r}, …) with a cast, or select one of its fields"
            ) from None
    schema = import_optional("pyarrow").schema(types)
    check_types(nw.from_native(empty_table(schema), eager_only=True), reading)


def check_session(frame: Any) -> None:
    """Raise where rows are still to come, or where the executors' Python has another version of this library."""
    if frame.isStreaming:
        raise ValueError("data is a streaming data frame: expected rows that stay; write it to a table and read that")
    session = frame.sparkSession
    own = _own_version()
    if getattr(session, "_discreet_version", None) == own:
        return
    run = _for_each_partition(_own_version, ("id",))
    try:
        (row,) = session.range(1).coalesce(1).mapInArrow(run, RESULT).collect()
        there = pickle.loads(row["result"])
    except Exception as error:
        there = type(error).__name__
    if there != own:
        raise RuntimeError(
            f"the executors' Python does not have discreet {own} (it answers {there!r}): install the same "
            "version there, or name the Python that has it in the variable PYSPARK_PYTHON before the session starts"
        )
    session._discreet_version = own  # once a session


def _has_rdds(session: Any) -> bool:
    return hasattr(session, "sparkContext")  # which Spark Connect has not


def _own_version(table: Any = None) -> str:
    return str(import_module("discreet").__version__)


@cache
def _spare_imports(modules: int) -> None:
    """Take what this process has imported, so many modules, out of its garbage collections. Called as a task starts.

    Spark collects garbage after every task of a process that it uses again, and so looks at every object of every
    module: some 0.05 s for the modules of a fit, as long as the sum over 10⁵ rows. Here that collection is over, and no
    row of this task is read yet, so that all rows are freed as before. What stays is an object of other code that is
    alive now and later becomes part of a cycle that nobody holds.
    """
    gc.freeze()


def _for_each_partition(work: Callable[[Any], Any], names: Sequence[str]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for ``mapInArrow``: it gives what ``work`` makes of a partition, pickled, with its number."""
    guarded = Guarded(work)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        _spare_imports(len(sys.modules))
        pa, table = import_optional("pyarrow"), read_batches(batches, names)
        result = None if table is None else guarded(table)
        row = {"part": [TaskContext.get().partitionId()], "result": [pickle.dumps(result)]}
        yield pa.RecordBatch.from_pydict(row, schema=pa.schema([("part", pa.int32()), ("result", pa.binary())]))

    return run


def _prepare_each_partition(
    work: Callable[[Any], list[Prepared]], names: Sequence[str]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return the same for blocks: each is a row of its own, as text, since Spark makes an RDD of bytes very slowly."""
    guarded = Guarded(work)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        table = read_batches(batches, names)
        result = [] if table is None else guarded(table)
        pa = import_optional("pyarrow")
        for one in [result] if isinstance(result, Failure) else result:
            yield pa.RecordBatch.from_pydict({"block": [b64encode(pickle.dumps(one)).decode()]})

    return run


def _for_each_prepared(work: Callable[[Any], Any]) -> Callable[[int, Iterator[Any]], Iterator[Any]]:
    """Return a function for ``mapPartitionsWithIndex`` over kept blocks: the number, and what ``work`` gives."""
    guarded = Guarded(work)

    def run(number: int, blocks: Iterator[Any]) -> Iterator[Any]:
        _spare_imports(len(sys.modules))
        first = next(blocks, None)
        alone = first is None or isinstance(first, Failure)  # there is no block, or none could be made
        yield number, first if alone else guarded(chain([first], blocks))

    return run


class _Kept:
    """Blocks that the executors keep, until this is gone."""

    def __init__(self, blocks: Any) -> None:
        self.blocks = blocks.persist(import_optional("pyspark").StorageLevel.MEMORY_AND_DISK_DESER)

    def __del__(self) -> None:
        with suppress(Exception):  # the session may have ended
            self.blocks.unpersist()


def _count_units(partitions: Partitions, names: Sequence[str]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for ``mapInArrow``: how many rows each unit has in a partition."""
    guarded = Guarded(partitions.count)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        pa = import_optional("pyarrow")
        table = read_batches(batches, names)
        counts: Any = {} if table is None else guarded(table)
        if isinstance(counts, Failure):
            columns: dict[str, list[Any]] = {"name": [None], "rows": [0], "failed": [counts.error]}
        else:
            columns = {"name": [*counts], "rows": [*counts.values()], "failed": [None] * len(counts)}
        schema = pa.schema([("name", pa.string()), ("rows", pa.int64()), ("failed", pa.string())])
        yield pa.RecordBatch.from_pydict(columns, schema=schema)

    return run


def _add_up_units(partitions: Partitions, table: Any) -> Any:
    """Return what is known of some units, from their names and numbers of rows; a ``Failure`` where a task had one."""
    failed = [error for error in table["failed"].to_pylist() if error is not None]
    if failed:
        return Failure(failed[0])
    return partitions.add_up_units(zip(table["name"].to_pylist(), table["rows"].to_pylist(), strict=True))


class SparkSource(PartitionedSource):
    """Rows of a Spark data frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows, the same ones each time they are computed, in any order.
    reading : Reading
        Its columns are in the data.
    """

    kind, backend = "Spark data frame", "pandas"  # in which a model gives its synthetic rows

    def __init__(self, frame: Any, reading: Reading) -> None:
        super().__init__(reading)
        check_columns(frame, reading)
        check_session(frame)
        self._data = frame

    def _run(self, frame: Any, names: Iterable[str], work: Callable[[Any], Result]) -> list[Result]:
        """Return what becomes of each partition that has a row, read with these names for its columns."""
        tasks = frame.mapInArrow(_for_each_partition(work, tuple(names)), RESULT)
        return self._check(_compute(lambda: [(row["part"], pickle.loads(row["result"])) for row in tasks.collect()]))

    def _check(self, results: list[tuple[int, Any]]) -> list[Any]:
        """Return the results of partitions that have a row, each of which is there once."""
        if len({number for number, _ in results}) < len(results):
            raise RuntimeError(CHANGED)
        return _compute(lambda: [one for _, one in results if one is not None])  # which our own tasks wrote

    @property
    def _choice(self) -> tuple[UnitCounts, Seen[DeclaredRows]]:
        """What is known of the units, and the rows that count of those of too many."""
        return self._cache("choice", self._choose)

    def _choose(self) -> tuple[UnitCounts, Seen[DeclaredRows]]:
        own, names = self._partitions, tuple(dict.fromkeys(self.declared.needed))
        frame = select_columns(self._data, self.declared)
        counts = frame.mapInArrow(_count_units(own, names), COUNTED).groupBy("name", "failed").sum("rows")
        units = NO_UNITS
        for some in self._run(counts, ("name", "failed", "rows"), partial(_add_up_units, own)):
            units = units.joined(some)
        self.compare_facts({"units": units.hashed})
        parts = self._run(frame, names, partial(own.read_large_units, units=units)) if len(units.large) else []
        chosen: Seen[DeclaredRows] = _compute(lambda: choose_among(self.declared, parts))
        if parts:
            self.compare(chosen, self.declared.names)
        return units, chosen

    @property
    def _kept(self) -> _Kept:
        """The partitions as blocks, kept by the executors."""

        def prepare() -> _Kept:
            names = tuple(dict.fromkeys(self.declared.needed))
            units = None if self.declared.unit is None else self._choice[0]
            task = _prepare_each_partition(partial(self._partitions.prepare, units=units), names)
            frame = select_columns(self._data, self.declared).mapInArrow(task, "block string")
            return _Kept(_compute(lambda: frame.rdd.map(lambda row: pickle.loads(b64decode(row["block"])))))

        return self._cache("kept", prepare)

    def rows(self) -> int:
        """Return how many rows there are, counted by Spark."""
        rows = int(_compute(self._data.count))
        self.compare_facts({"rows": rows})
        return rows

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more; counted by Spark."""
        return self._choice[0].sizes

    def _consume(self, work: Consume[Result]) -> Iterator[Result]:
        """Yield what becomes of each partition, and of the rows that were chosen."""
        own = self._partitions
        units, chosen = (None, None) if self.reading.unit is None else self._choice
        results: list[Seen[Result]]
        if self.has_seen(self.reading.names) and _has_rdds(self._data.sparkSession):
            task = _for_each_prepared(partial(own.consume_prepared, work))
            results = self._check(_compute(self._kept.blocks.mapPartitionsWithIndex(task).collect))
        else:
            frame = select_columns(self._data, self.reading)
            results = self._run(frame, dict.fromkeys(self.reading.needed), partial(own.consume, work, units=units))
        self.compare(join_seen(None, results))
        yield from (one.value for one in results)
        if chosen is not None:
            yield _compute(partial(own.consume_chosen, work, chosen)).value

    def blocks(self) -> Iterator[Block]:
        """Yield the rows that contribute, which come to the driver."""
        for blocks in self._consume(make_blocks):
            yield from blocks

    def reduce(self, kernel: Kernel, size: int, norm: float, each: Kernel | None = None) -> NDArray[np.float64]:
        """Return the sum of ``kernel`` over all blocks, computed on the executors."""
        total = WholeSum(size, norm)
        for one in self._consume(SumRows(kernel, size, norm)):
            total.merge(one)
        return total.to_floats()

    def gather(self, kernel: Kernel, width: int) -> NDArray[np.float64]:
        """Return what ``kernel`` makes of each row that contributes."""
        return np.concatenate([np.empty((0, width)), *self._consume(GatherRows(kernel, width))])
