"""The SQL that sums a kernel over the rows of a table, as declared; see ``sql_text`` for what it promises.

It is written only where the database reads a cell as ``cells`` does: numbers from columns of numbers and booleans, a
category from a column of its own type, a unit from whole numbers, or from text none of which spells a number (7, "7"
and "007" are one unit, which no database knows). Otherwise rows are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from discreet.records.block import Block
from discreet.records.box import Box
from discreet.records.cells import category_key
from discreet.records.columns import Category
from discreet.records.reading import Reading
from discreet.records.source import Contributions
from discreet.records.sql_engine import Engine
from discreet.records.sql_text import (
    LEAST_BLOCK,
    MOST_NUMBERS,
    Size,
    Writer,
    literal,
    quoted,
    text_literal,
    whole,
)
from discreet.records.traced import NotTraceable, Traced, columns

__all__ = ["Summing", "summing"]

LARGEST = 1.7976931348623157e308
# Whatever spells a number or a truth value, and some text that does not.
SPELT = "^[^0-9A-Za-z]*([0-9][0-9._eE+-]*|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])[^0-9A-Za-z]*$"


class Summing(NamedTuple):
    """A query for sums, the last of which is how many units spell a number, and by what power of two they grew."""

    text: str
    exponent: int


def summing(engine: Engine, reading: Reading, each: Contributions, size: int) -> Summing:
    """Return the SQL for the sum of contributions over the rows; raise ``NotTraceable`` where it cannot be written."""
    if size > MOST_NUMBERS or reading.block_rows < LEAST_BLOCK:
        raise NotTraceable("the size")
    numbers = [f"x{j}" for j in range(len(reading.numbers))]
    labels = [f"k{j}" for j in range(len(reading.labels))]
    x, codes = columns(numbers), columns(labels)
    found = _traced(each, Block(x, codes))
    if found.shape != (1, size):
        raise NotTraceable("the shape")
    writer = Writer(_sizes(reading) if engine.careful else None)
    sums = [whole(text, each.norm) for text in writer.write(list(found.cells[0]), each.norm)]
    test = ""
    if reading.condition is not None:
        held = reading.condition.holds(x, codes, reading.numbers, reading.labels)
        test = f" WHERE {writer.write([held.cells.reshape(-1)[0]])[0]}"
    raw = [f"{_number(engine, reading, j)} AS {quoted(name)}" for j, name in enumerate(numbers)]
    raw += [f"{_code(engine, reading, j)} AS {quoted(name)}" for j, name in enumerate(labels)]
    kept = [f"{text} AS {quoted(name)}" for text, name in zip(_clipped(reading, x), numbers, strict=True)]
    kept += [quoted(name) for name in labels]
    source, within = _ranked(engine, reading)
    complete = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in (*numbers, *labels)) or "TRUE"
    return Summing(
        f"WITH read AS (SELECT {', '.join(raw)} FROM {source} WHERE {within}{engine.fence}), "
        f"kept AS (SELECT {', '.join(kept)} FROM read WHERE {complete}{engine.fence}) "
        f"SELECT {', '.join(text for text, _ in sums)}, {_spelt(engine, reading.unit)} FROM kept{test}",
        sums[0][1],
    )


def _traced(each: Contributions, block: Block) -> Traced:
    """Return a kernel's numbers. There is no row, so whatever it raises here is about symbols: reading rows decides."""
    try:
        found = each.rows(block)
    except Exception:
        found = None
    if not isinstance(found, Traced):
        raise NotTraceable("the kernel")
    return found


def _clipped(reading: Reading, x: Traced) -> list[str]:
    if not reading.numbers:
        return []
    if not isinstance(reading.space, Box):
        raise NotTraceable("a ball")
    return Writer(None).write(list(reading.space.clip(x).cells[0]))


def _sizes(reading: Reading) -> dict[str, Size]:
    sizes = {f"k{j}": Size(float(len(category.values)), 1.0) for j, category in enumerate(reading.categories)}
    if isinstance(reading.space, Box):
        box = reading.space.for_columns(len(reading.numbers))
        ends = zip(_each(box.low), _each(box.high), strict=True)
        sizes |= {f"x{j}": Size(max(abs(low), abs(high))) for j, (low, high) in enumerate(ends)}
    return sizes


def _each(bound: float | tuple[float, ...]) -> Sequence[float]:
    return bound if isinstance(bound, tuple) else (bound,)


def _number(engine: Engine, reading: Reading, place: int) -> str:
    """Return a number, filled; NULL where it is missing and the row is dropped."""
    name, fill = reading.numbers[place], reading.fills[place]
    kind, cell = engine.types[name], quoted(name)
    if kind == "integer":
        found = f"CAST({cell} AS FLOAT8)"
    elif kind == "boolean":
        found = f"CAST(CAST({cell} AS INTEGER) AS FLOAT8)"
    elif kind == "float":
        number = f"CAST({cell} AS FLOAT8)"
        found = f"CASE WHEN {number} BETWEEN {literal(-LARGEST)} AND {literal(LARGEST)} THEN {number} END"
    else:
        raise NotTraceable(kind)
    return found if math.isnan(fill) else f"COALESCE({found}, {literal(fill)})"


def _code(engine: Engine, reading: Reading, place: int) -> str:
    """Return a category's number, filled; NULL where it is missing and the row is dropped."""
    name, category = reading.labels[place], reading.categories[place]
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
            cases.append((f"{cell} = {key}", code))
    return _chosen(cases, category)


def _chosen(cases: list[tuple[str, int]], category: Category) -> str:
    other = "NULL" if category.fill is None else literal(float(category.fill_code))
    texts = "".join(f" WHEN {test} THEN {literal(float(code))}" for test, code in cases)
    return f"CASE{texts} ELSE {other} END" if texts else f"CAST({other} AS FLOAT8)"


def _ranked(engine: Engine, reading: Reading) -> tuple[str, str]:
    """Return what to read from and which of its rows: the first ones of each unit, in the order of the table."""
    if reading.unit is None:
        return engine.relation, "TRUE"
    unit = _unit(engine, reading.unit)
    if engine.position is None:
        raise NotTraceable("the order of rows")
    wanted = {quoted(name) for name in (*reading.numbers, *reading.labels)}
    rank = "rank"
    while any(name.lower() == rank for name in engine.types):
        rank += "_"
    over = f"ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {engine.position}) AS {quoted(rank)}"
    inner = (
        f"SELECT {', '.join(sorted(wanted))}, {over} FROM {engine.relation} WHERE {quoted(reading.unit)} IS NOT NULL"
    )
    return f"({inner}) AS ranked", f"{quoted(rank)} <= {reading.max_rows}"


def _unit(engine: Engine, name: str) -> str:
    kind = engine.types[name]
    if kind == "integer":
        return quoted(name)
    if kind == "text":
        return engine.exactly(name)
    raise NotTraceable(kind)


def _spelt(engine: Engine, unit: str | None) -> str:
    """Return how many units spell a number: of the same rows as the sums, even where a table grows."""
    if unit is None or engine.types[unit] != "text":
        return "'0'"
    test = engine.matches.format(text=engine.exactly(unit), pattern=text_literal(SPELT))
    return f"(SELECT CAST(COUNT(*) AS VARCHAR) FROM {engine.relation} WHERE {test})"
