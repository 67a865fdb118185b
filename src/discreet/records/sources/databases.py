"""Rows of a table in a database: reading, the limit of a person's rows and clipping as SQL; streamed, or summed there.

**The sum in SQL.** ``write_sum`` writes the sum of a kernel over the declared rows; ``sql.text`` has the guarantee. It
is written only where the database reads a cell as ``cells`` does: numbers from columns of numbers and booleans,
dates from dates and timestamps, a category from a column of its own type, a unit from a column of its declared type.
Otherwise rows are read. Where there are units, the sum is over the rows of those that have at most ``max_rows``. The
rows of the other units, ``Summing.others``, are read, and ``row_choice`` chooses among them.

**Rows without an order.** A database may give its rows in another order each time, so nothing here depends on a row's
position. A query sees one snapshot of the table. It first finds the units with more than ``max_rows`` rows. The rows of
all other units are streamed as they are. Those of these units are read with all declared columns, and ``row_choice``
says which of them count. Files have an order, and are read as in ``LocalSource``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.records.cells import DAY, GAPS, WHITE, category_key
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category
from discreet.records.reading import Block, Reading, Unit
from discreet.records.row_choice import DeclaredRows, Units, choose_rows
from discreet.records.sources.frames import TableSource, unit_cells
from discreet.records.sources.source import Kernel, Sizes, compute, count_sizes
from discreet.records.sources.stored import Read, SqlEngine, StoredSource, as_frames, read_texts
from discreet.records.sources.whole_sums import sum_vectors
from discreet.sql.text import (
    LEAST_BLOCK,
    MOST_NUMBERS,
    Size,
    Writer,
    find_exponent,
    quote_identifier,
    write_float,
    write_text,
    write_total,
    write_whole,
)
from discreet.sql.traced import NotTraceable, Step, Traced, make_row


class SumQuery(NamedTuple):
    """A query for sums.

    Attributes
    ----------
    text : str
    exponent : int
        By what power of two the sums grew.
    others : str or None
        The WHERE clause for the rows that are left out: those of units of more than ``max_rows``; None where the row is
        the unit.
    """

    text: str
    exponent: int
    others: str | None


def write_sum(engine: SqlEngine, reading: Reading, each: Kernel, size: int, norm: float) -> SumQuery:
    """Return the SQL for the sum of contributions over the rows; raise ``NotTraceable`` where it cannot be written."""
    if size > MOST_NUMBERS or reading.block_rows < LEAST_BLOCK or not reading.by_database:
        raise NotTraceable("the size")
    numbers = [f"x{j}" for j in range(len(reading.numbers))]
    labels = [f"k{j}" for j in range(len(reading.categories))]
    x, codes = make_row(numbers, _ranges(reading)), make_row(labels)
    result = _trace(each, Block(x, codes))
    if result.shape != (1, size):
        raise NotTraceable("the shape")
    writer = Writer(_sizes(reading) if engine.careful else None)
    terms = [_split_conditions(cell) for cell in result.cells[0]]
    values = list({id(value): value for value, _ in terms}.values())
    names = {id(value): f"t{j}" for j, value in enumerate(values)}
    exponent = find_exponent(norm)
    test = "TRUE"
    if reading.condition is not None:
        held = reading.condition.holds(x, codes, reading.numbers, tuple(reading.categories))
        test = writer.write([held.cells.reshape(-1)[0]])[0]
    declared = zip(reading.numbers, reading.scales, reading.fills, strict=True)
    cells = [_write_number(engine, *column) for column in declared]
    cells += [_write_code(engine, name, column) for name, column in reading.categories.items()]
    own = [quote_identifier(name) for name in (*numbers, *labels)]
    raw = [f"{cell} AS {name}" for cell, name in zip(cells, own, strict=True)]
    kept = [f"{text} AS {quote_identifier(name)}" for text, name in zip(_write_clipping(reading), numbers, strict=True)]
    within, others = _write_unit_limit(engine, reading)
    complete = " AND ".join(f"{name} IS NOT NULL" for name in own) or "TRUE"
    shared = writer.name_shared(values)
    rounded = [
        f"{write_whole(text, exponent)} AS {names[id(value)]}"
        for value, text in zip(values, writer.write(values, norm), strict=True)
    ]
    sums = [write_total(names[id(value)], writer.write(tests)) for value, tests in terms]
    layers = [
        (f"SELECT {', '.join(raw)} FROM {engine.relation} {within}", "read"),
        (f"SELECT {', '.join(kept + own[len(numbers) :])} FROM read WHERE {complete}", "kept"),
        (f"SELECT {', '.join(own + shared)} FROM kept WHERE {test}", "chosen"),
        (f"SELECT {', '.join(own + rounded)} FROM chosen", "terms"),
    ]
    text = ", ".join(f"{name} AS ({query}{engine.fence})" for query, name in layers)
    return SumQuery(f"WITH {text} SELECT {', '.join(sums)} FROM terms", exponent, others)


def _split_conditions(cell: Any) -> tuple[Any, list[Any]]:
    """Return an expression without the factors that are 1 where something holds and else 0, and what must hold.

    So the numbers of all groups are computed once, and each sum takes those of its own group.
    """
    if isinstance(cell, Step) and cell.name == "*":
        for factor, rest in (cell.operands, cell.operands[::-1]):
            if isinstance(factor, Step) and factor.name == "case" and factor.operands[1:] == (1.0, 0.0):
                value, tests = _split_conditions(rest)
                return value, [factor.operands[0], *tests]
    return cell, []


def _trace(each: Kernel, block: Block) -> Traced:
    """Return a kernel's numbers as expressions; an error here is about symbols, not rows, and then rows are read."""
    try:
        result = each(block)
    except Exception:
        result = None
    if not isinstance(result, Traced):
        raise NotTraceable("the kernel")
    return result


def _write_clipping(reading: Reading) -> list[str]:
    if not isinstance(reading.bounds, Box):
        return []
    x = make_row([f"x{j}" for j in range(len(reading.numbers))])
    return Writer(None).write(list(reading.bounds.clip(x).cells[0]))


def _ranges(reading: Reading) -> list[tuple[float, float]]:
    """Return where the numbers lie once they are clipped."""
    if not reading.numbers:
        return []
    if not isinstance(reading.bounds, Box):
        raise NotTraceable("a ball")
    if "log" in reading.scales:
        raise NotTraceable("a logarithm")  # which every database rounds in its own way
    return reading.bounds.intervals()


def _sizes(reading: Reading) -> dict[str, Size]:
    sizes = {f"k{j}": Size(float(len(category.values)), 1.0) for j, category in enumerate(reading.categories.values())}
    ends = enumerate(_ranges(reading))
    return sizes | {f"x{j}": Size(max(abs(low), abs(high))) for j, (low, high) in ends}


def _write_number(engine: SqlEngine, name: str, scale: str, fill: float | None) -> str:
    """Return a number, filled; NULL where it is missing and the row is dropped."""
    kind, cell = engine.types[name], quote_identifier(name)
    if (scale == "date") != (kind in ("date", "timestamp")):
        raise NotTraceable(kind)
    if kind in ("date", "timestamp"):
        whole = f"({cell} - DATE '1970-01-01')" if kind == "date" else engine.microseconds.format(cell=cell)
        day = f"FLOOR(CAST({whole} AS FLOAT8) / {write_float(1.0 if kind == 'date' else float(DAY))})"
        within = f"{cell} >= DATE '0001-01-01' AND {cell} < DATE '9999-12-31' + 1"
        result = f"CASE WHEN {within} THEN {day} END"
    elif kind == "integer":
        result = f"CAST({cell} AS FLOAT8)"
    elif kind == "boolean":
        result = f"CAST(CAST({cell} AS INTEGER) AS FLOAT8)"
    elif kind == "float":
        number = f"CAST({cell} AS FLOAT8)"
        result = f"CASE WHEN {engine.finite.format(cell=number)} THEN {number} END"
    else:
        raise NotTraceable(kind)
    return result if fill is None else f"COALESCE({result}, {write_float(fill)})"


def _write_code(engine: SqlEngine, name: str, category: Category) -> str:
    """Return a category's number, filled; NULL where it is missing and the row is dropped."""
    kind, cases = engine.types[name], []
    for code, key in enumerate(map(category_key, category.values)):
        if kind == "text":
            if not isinstance(key, str):
                raise NotTraceable("text that spells a number")
            cases.append((f"{engine.exactly(name)} = {write_text(key)}", code))
        elif kind not in ("integer", "boolean", "float"):
            raise NotTraceable(kind)
        elif isinstance(key, int):  # declared categories are whole numbers or text, and text is no number
            wide = {"boolean": "INTEGER", "float": "FLOAT8"}.get(kind)  # a literal would be rounded to a FLOAT
            cell = quote_identifier(name) if wide is None else f"CAST({quote_identifier(name)} AS {wide})"
            test = f"{cell} = {key}" if kind != "float" else f"{engine.finite.format(cell=cell)} AND {cell} = {key}"
            cases.append((test, code))
    gap = other = "NULL" if category.fill is None else write_float(float(category.fill_code))
    branches = "".join(f" WHEN {test} THEN {write_float(float(code))}" for test, code in cases)
    if category.other is not None:
        branches += f" WHEN {_write_gap(engine, name)} THEN {gap}"
        other = write_float(float(category.other_code))
    return f"CASE{branches} ELSE {other} END" if branches else f"CAST({other} AS FLOAT8)"


def _write_gap(engine: SqlEngine, name: str) -> str:
    """Return whether a cell of a column of categories holds nothing, as ``cells.is_gap`` says it."""
    kind, cell = engine.types[name], quote_identifier(name)
    if kind == "float":
        return f"{cell} IS NULL OR CAST({cell} AS FLOAT8) = CAST('NaN' AS FLOAT8)"
    if kind != "text":
        return f"{cell} IS NULL"
    if not engine.checks_text:
        raise NotTraceable("text that may be no UTF-8")
    stripped = f"TRIM(BOTH {write_text(WHITE)} FROM {engine.exactly(name)})"
    return f"{cell} IS NULL OR {stripped} IN ({', '.join(map(write_text, sorted(GAPS)))})"


def _write_unit_limit(engine: SqlEngine, reading: Reading) -> tuple[str, str | None]:
    """Return the rows of units that have no more rows than may count, and the rows of all other units."""
    if reading.unit is None:
        return "", None
    unit = _write_unit(engine, reading.unit)
    named = f"{unit} IS NOT NULL" + (f" AND {unit} <> ''" if engine.types[reading.unit.column] == "text" else "")
    many, name = (quote_identifier(_unused_name(word, engine.types)) for word in ("many", "name"))
    most = (
        f"SELECT {unit} AS {name} FROM {engine.relation} WHERE {named} GROUP BY 1 HAVING COUNT(*) > {reading.max_rows}"
    )
    over = f"EXISTS (SELECT 1 FROM ({most}) AS {many} WHERE {many}.{name} = {unit})"
    return f"WHERE {named} AND NOT {over}", f"WHERE {named} AND {over}"


def _unused_name(word: str, names: Iterable[str]) -> str:
    """Return a name that no column has, in whatever case."""
    taken = {name.lower() for name in names}
    while word in taken:
        word += "_"
    return word


def _write_unit(engine: SqlEngine, unit: Unit) -> str:
    kind = engine.types[unit.column]
    if kind == "integer":
        return quote_identifier(unit.column)
    if kind == "text" and unit.unit_type == "text" and engine.checks_text:
        return engine.exactly(unit.column)
    raise NotTraceable(kind)


Array = NDArray[np.float64]


class SqlSource(StoredSource):
    """Rows of a table that a database reads.

    Each pass reads one state of the database. All queries of the library take one pass. In a table that changes, two
    measurements may be of two states.

    Parameters
    ----------
    engine : SqlEngine
    declared : Reading
        Its columns are in the table.
    """

    _engine: SqlEngine

    def __init__(self, engine: SqlEngine, declared: Reading) -> None:
        super().__init__(engine, declared)
        if declared.unit is not None and engine.types[declared.unit.column] == "decimal":
            raise ValueError(
                f"the column {declared.unit.column!r} has the type numeric: expected names of units, as text or "
                "whole numbers, since 7 and 7.00 are one number and two names; make it a bigint or text"
            )

    def unit_sizes(self) -> Sizes:
        """Return how many units have one row, from two to ``max_rows`` rows, and more."""
        return super().unit_sizes() if self._engine.ordered else self._cache("sizes", self._count_sizes)

    def _count_sizes(self) -> Sizes:
        _, codes = self.count_units()
        return count_sizes(np.bincount(codes[codes >= 0]), self.declared.max_rows)

    def _read_limited(self) -> Iterator[DeclaredRows]:
        if self._engine.ordered:
            yield from super()._read_limited()
        else:
            with self._engine.snapshot() as read:
                yield from self._read_unordered(read)

    def _read_unordered(self, read: Read) -> Iterator[DeclaredRows]:
        """Yield the rows that count from frames that may come in another order each time."""
        declared, size, engine = self.declared, self.declared.slab_rows, self._engine
        assert declared.unit is not None
        column, units = declared.unit.column, Units(declared.unit.unit_type)
        names = as_frames(read(engine.select((column,), ()), size))
        codes = units.add([unit_cells(frame[column]) for frame in names])
        over = np.bincount(codes[codes >= 0], minlength=len(units)) > declared.max_rows
        wanted = declared if over.any() else self.reading  # units with too many rows are read in full
        columns = tuple(dict.fromkeys((*wanted.names, column)))
        more: list[tuple[NDArray[np.int64], DeclaredRows]] = []
        for frame in as_frames(read(engine.select(columns, declared.numbers), size)):
            codes = units.find(unit_cells(frame[column]))
            many = (codes >= 0) & np.append(over, False)[codes]
            keep, first = (codes >= 0) & ~many, 0
            for rows in TableSource(frame, self.reading).read(self.reading):
                last = first + len(rows.codes)
                yield rows._replace(keep=keep[first:last])
                first = last
            if many.any():
                places = np.flatnonzero(many)
                more.append((codes[places], TableSource(frame, declared).declared_rows(places)))
        if more:
            chosen = self._choose_among(units, np.concatenate([whose for whose, _ in more]), [rows for _, rows in more])
            yield self.reading.select_columns(chosen, declared)

    def _choose_among(self, units: Units, codes: NDArray[np.int64], rows: list[DeclaredRows]) -> DeclaredRows:
        """Return the rows that count, of units that have too many."""
        named = np.flatnonzero(codes >= 0)
        result = DeclaredRows.joined(rows).take(named)
        kept = choose_rows(codes[named], units.names, result, self.declared.max_rows, self.declared.order)
        return result.take(np.flatnonzero(kept))

    def reduce(self, kernel: Kernel, size: int, norm: float, each: Kernel | None = None) -> Array:
        """Return the sum of ``kernel`` over all blocks: by the database where it can, else of the rows it sends.

        Both are within γ·N·B of the exact sum (``whole_sums``, ``sql.text``), so it does not matter which one it was.
        """
        if each is not None:
            try:
                return self._sum_by_database(each, size, norm)
            except NotTraceable:
                pass
        return super().reduce(kernel, size, norm)

    def _sum_by_database(self, each: Kernel, size: int, norm: float) -> Array:
        """Return a sum by the database: of the rows of all units within the limit, and of those chosen of others."""
        result = write_sum(self._engine, self.reading, each, size, norm)
        try:
            with self._engine.snapshot() as read:
                sums = read_texts(read, result.text)
                chosen = self._read_others(read, result.others)
        except OSError:  # text that is no UTF-8, say: an error would tell of the row, and reading does without
            raise NotTraceable("the database") from None
        rows = [self.reading.select_columns(chosen, self.declared)]
        total = sum_vectors(compute(self.reading, lambda block: each(block).sum(axis=0), rows, cores=1), size, norm)
        total.add_whole([int(one) for one in sums], result.exponent)
        return total.to_floats()

    def _read_others(self, read: Read, where: str | None) -> DeclaredRows:
        """Return the rows that count, of units that have too many; of a file once for all questions."""
        declared, unit = self.declared, self.declared.unit
        if unit is None:
            return declared.empty_rows()

        def choose() -> DeclaredRows:
            query = f"{self._engine.select(tuple(dict.fromkeys(declared.needed)), declared.numbers)} {where}"
            frames, units = list(as_frames(read(query, declared.slab_rows))), Units(unit.unit_type)
            codes = units.add([unit_cells(frame[unit.column]) for frame in frames])
            rows = [TableSource(frame, declared).declared_rows(np.arange(len(frame))) for frame in frames]
            return self._choose_among(units, codes, [declared.empty_rows(), *rows])

        # The state of a database is None: its rows may change.
        return choose() if self.state() is None else self._cache("others", choose)
