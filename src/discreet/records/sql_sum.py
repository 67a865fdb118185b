"""The SQL that sums a kernel over the rows of a table, as declared; see ``sql.text`` for what it promises.

It is written only where the database reads a cell as ``cells`` does: numbers from columns of numbers and booleans,
dates from dates and timestamps, a category from a column of its own type, a unit from a column of its declared type.
Otherwise rows are read. Where there are units, the sum is over the rows of those that have at most ``max_rows``; the
rows of others, ``Summing.others``, are chosen among elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from discreet.records.cells import DAY, category_key
from discreet.records.columns import Category
from discreet.records.reading import Block, Reading, Unit
from discreet.records.source import Contributions
from discreet.records.space import Box
from discreet.records.stored_source import SqlEngine
from discreet.sql.text import (
    LEAST_BLOCK,
    MOST_NUMBERS,
    Size,
    Writer,
    literal,
    quoted,
    scaling,
    text_literal,
    total,
    whole,
)
from discreet.sql.traced import NotTraceable, Step, Traced, columns

__all__ = ["Summing", "summing"]


class Summing(NamedTuple):
    """A query for sums.

    Attributes
    ----------
    text : str
    exponent : int
        By what power of two the sums grew.
    others : str or None
        What stands behind FROM for the rows that were left out: those of units of more than ``max_rows``; None where
        the row is the unit.
    """

    text: str
    exponent: int
    others: str | None


def summing(engine: SqlEngine, reading: Reading, each: Contributions, size: int) -> Summing:
    """Return the SQL for the sum of contributions over the rows; raise ``NotTraceable`` where it cannot be written."""
    if size > MOST_NUMBERS or reading.block_rows < LEAST_BLOCK or not reading.by_database:
        raise NotTraceable("the size")
    numbers = [f"x{j}" for j in range(len(reading.numbers))]
    labels = [f"k{j}" for j in range(len(reading.categories))]
    x, codes = columns(numbers, _ranges(reading)), columns(labels)
    found = _traced(each, Block(x, codes))
    if found.shape != (1, size):
        raise NotTraceable("the shape")
    writer = Writer(_sizes(reading) if engine.careful else None)
    terms = [_where(cell) for cell in found.cells[0]]
    values = list({id(value): value for value, _ in terms}.values())
    names = {id(value): f"t{j}" for j, value in enumerate(values)}
    exponent = scaling(each.norm)
    test = "TRUE"
    if reading.condition is not None:
        held = reading.condition.holds(x, codes, reading.numbers, tuple(reading.categories))
        test = writer.write([held.cells.reshape(-1)[0]])[0]
    declared = zip(reading.numbers, reading.scales, reading.fills, strict=True)
    cells = [_number(engine, *column) for column in declared]
    cells += [_code(engine, name, column) for name, column in reading.categories.items()]
    own = [quoted(name) for name in (*numbers, *labels)]
    raw = [f"{cell} AS {name}" for cell, name in zip(cells, own, strict=True)]
    kept = [f"{text} AS {quoted(name)}" for text, name in zip(_clipped(reading), numbers, strict=True)]
    within, others = _limited(engine, reading)
    complete = " AND ".join(f"{name} IS NOT NULL" for name in own) or "TRUE"
    shared = writer.name_shared(values)
    rounded = [
        f"{whole(text, exponent)} AS {names[id(value)]}"
        for value, text in zip(values, writer.write(values, each.norm), strict=True)
    ]
    sums = [total(names[id(value)], writer.write(tests)) for value, tests in terms]
    layers = [
        (f"SELECT {', '.join(raw)} FROM {engine.relation} {within}", "read"),
        (f"SELECT {', '.join(kept + own[len(numbers) :])} FROM read WHERE {complete}", "kept"),
        (f"SELECT {', '.join(own + shared)} FROM kept WHERE {test}", "chosen"),
        (f"SELECT {', '.join(own + rounded)} FROM chosen", "terms"),
    ]
    text = ", ".join(f"{name} AS ({query}{engine.fence})" for query, name in layers)
    return Summing(f"WITH {text} SELECT {', '.join(sums)} FROM terms", exponent, others)


def _where(cell: Any) -> tuple[Any, list[Any]]:
    """Return an expression without the factors that are 1 where something holds and else 0, and what must hold.

    So the numbers of all groups are computed once, and each sum takes those of its own group.
    """
    if isinstance(cell, Step) and cell.name == "*":
        for factor, rest in (cell.operands, cell.operands[::-1]):
            if isinstance(factor, Step) and factor.name == "case" and factor.operands[1:] == (1.0, 0.0):
                value, tests = _where(rest)
                return value, [factor.operands[0], *tests]
    return cell, []


def _traced(each: Contributions, block: Block) -> Traced:
    """Return a kernel's numbers. There is no row, so whatever it raises here is about symbols: reading rows decides."""
    try:
        found = each.rows(block)
    except Exception:
        found = None
    if not isinstance(found, Traced):
        raise NotTraceable("the kernel")
    return found


def _clipped(reading: Reading) -> list[str]:
    if not isinstance(reading.bounds, Box):
        return []
    x = columns([f"x{j}" for j in range(len(reading.numbers))])
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


def _number(engine: SqlEngine, name: str, scale: str, fill: float | None) -> str:
    """Return a number, filled; NULL where it is missing and the row is dropped."""
    kind, cell = engine.types[name], quoted(name)
    if (scale == "date") != (kind in ("date", "timestamp")):
        raise NotTraceable(kind)
    if kind in ("date", "timestamp"):
        whole = f"({cell} - DATE '1970-01-01')" if kind == "date" else engine.microseconds.format(cell=cell)
        day = f"FLOOR(CAST({whole} AS FLOAT8) / {literal(1.0 if kind == 'date' else float(DAY))})"
        within = f"{cell} >= DATE '0001-01-01' AND {cell} < DATE '9999-12-31' + 1"
        found = f"CASE WHEN {within} THEN {day} END"
    elif kind == "integer":
        found = f"CAST({cell} AS FLOAT8)"
    elif kind == "boolean":
        found = f"CAST(CAST({cell} AS INTEGER) AS FLOAT8)"
    elif kind == "float":
        number = f"CAST({cell} AS FLOAT8)"
        found = f"CASE WHEN {engine.finite.format(cell=number)} THEN {number} END"
    else:
        raise NotTraceable(kind)
    return found if fill is None else f"COALESCE({found}, {literal(fill)})"


def _code(engine: SqlEngine, name: str, category: Category) -> str:
    """Return a category's number, filled; NULL where it is missing and the row is dropped."""
    kind, cases = engine.types[name], []
    for code, key in enumerate(map(category_key, category.values)):
        if kind == "text":
            if not isinstance(key, str):
                raise NotTraceable("text that spells a number")
            cases.append((f"{engine.exactly(name)} = {text_literal(key)}", code))
        elif kind not in ("integer", "boolean", "float"):
            raise NotTraceable(kind)
        elif isinstance(key, int):  # declared categories are whole numbers or text, and text is no number
            wide = {"boolean": "INTEGER", "float": "FLOAT8"}.get(kind)  # a literal would be rounded to a FLOAT
            cell = quoted(name) if wide is None else f"CAST({quoted(name)} AS {wide})"
            test = f"{cell} = {key}" if kind != "float" else f"{engine.finite.format(cell=cell)} AND {cell} = {key}"
            cases.append((test, code))
    return _chosen(cases, category)


def _chosen(cases: list[tuple[str, int]], category: Category) -> str:
    other = "NULL" if category.fill is None else literal(float(category.fill_code))
    texts = "".join(f" WHEN {test} THEN {literal(float(code))}" for test, code in cases)
    return f"CASE{texts} ELSE {other} END" if texts else f"CAST({other} AS FLOAT8)"


def _limited(engine: SqlEngine, reading: Reading) -> tuple[str, str | None]:
    """Return the rows of units that have no more rows than may count, and the rows of all other units."""
    if reading.unit is None:
        return "", None
    unit = _unit(engine, reading.unit)
    named = f"{unit} IS NOT NULL" + (f" AND {unit} <> ''" if engine.types[reading.unit.column] == "text" else "")
    many, name = (quoted(_unlike(word, engine.types)) for word in ("many", "name"))
    most = (
        f"SELECT {unit} AS {name} FROM {engine.relation} WHERE {named} GROUP BY 1 HAVING COUNT(*) > {reading.max_rows}"
    )
    over = f"EXISTS (SELECT 1 FROM ({most}) AS {many} WHERE {many}.{name} = {unit})"
    return f"WHERE {named} AND NOT {over}", f"WHERE {named} AND {over}"


def _unlike(word: str, names: Iterable[str]) -> str:
    """Return a name that no column has, in whatever case."""
    taken = {name.lower() for name in names}
    while word in taken:
        word += "_"
    return word


def _unit(engine: SqlEngine, unit: Unit) -> str:
    kind = engine.types[unit.column]
    if kind == "integer":
        return quoted(unit.column)
    if kind == "text" and unit.unit_type == "text" and engine.checks_text:
        return engine.exactly(unit.column)
    raise NotTraceable(kind)
