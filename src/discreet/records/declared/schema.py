"""A schema: the columns of a table as they are declared, whose rows they are, and its form in TOML.

The TOML form is a small closed format, read with ``tomllib`` and written here::

    unit = "patient_id"        # optional, with max_rows
    max_rows = 10
    unit_type = "text"         # or "integer"
    order = "admitted"         # optional: the first rows count

    [columns.age]
    low = 17
    high = 90
    missing = "drop"           # or "fill", with fill = 40

    [columns.income]
    low = 1
    high = 1e6
    log = true                 # optional

    [columns.admitted]
    low = 2020-01-01
    high = 2025-12-31

    [columns.sex]
    values = ["female", "male"]
    other = "other"            # optional: the category of every value that is not among them

A key that the format does not have is an error: a misspelt ``mising`` must not be ignored.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.arguments import ArgumentError, format_value, iterable
from discreet.records.declared.ball import Ball
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category, Column, Date, Number, Numeric
from discreet.records.declared.declared_numbers import set_fields
from discreet.records.reading import Reading, Unit, check_no_limit

UNIT = ("unit", "max_rows", "unit_type", "order")
KEYS: dict[type, tuple[str, ...]] = {
    Number: ("low", "high", "log", "missing", "fill"),
    Date: ("low", "high", "missing", "fill"),
    Category: ("values", "other", "missing", "fill"),
}


def read_toml(text: str) -> dict[str, Any]:
    """Return the arguments of a ``Schema``."""
    try:
        result = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the schema is not valid TOML: {error}") from None
    except (ValueError, RecursionError, TypeError):  # a number of thousands of digits, a list of thousands of lists
        raise ValueError("the schema is not valid TOML: expected shorter numbers and flat lists") from None
    _check_keys("the schema", result, (*UNIT, "columns"))
    columns = result.pop("columns", {})
    if not isinstance(columns, dict) or not columns:
        raise ValueError("the schema has no columns: write for example\n\n[columns.age]\nlow = 17\nhigh = 90")
    return {"columns": {name: _column(name, values) for name, values in columns.items()}, **result}


def _column(name: str, values: Any) -> Column:
    if not isinstance(values, dict) or not ({"low", "high", "values"} & set(values)):
        raise ValueError(f"[columns.{_key(name)}]: write low = … and high = …, or values = […]")
    dated = any(isinstance(values.get(end), datetime.date | str) for end in ("low", "high"))
    kind: type[Column] = Category if "values" in values else Date if dated else Number
    _check_keys(f"[columns.{_key(name)}]", values, KEYS[kind])
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"[columns.{_key(name)}]: {error}") from None


def _check_keys(where: str, values: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in values:
        if key not in keys:
            raise ValueError(f"{where}: the key {key!r} is not known; expected " + ", ".join(keys))


def _write_fields(declared: Schema | Column, keys: tuple[str, ...]) -> list[str]:
    """Return the lines for some fields, without those that are not set."""
    values = {key: getattr(declared, key) for key in keys}
    stated = {key: value for key, value in values.items() if value is not None and (key, value) != ("log", False)}
    return [f"{key} = {_value(value)}" for key, value in stated.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{value!r} has half a surrogate pair, which TOML cannot hold") from None
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


WRITE = "for example Schema({'age': Number(0, 120), 'sex': Category(['female', 'male'])})"


@dataclass(frozen=True, init=False)
class Schema:
    """Columns with their bounds and categories, in order, and the privacy unit.

    Everything in a schema is public knowledge, from a code book or the meaning of the columns. Columns of the table
    that the schema does not name are not read.

    Parameters
    ----------
    columns : mapping of str to Number, Date or Category
        The columns to read; kept as a tuple of pairs.
    unit : str or None
        The column that says whose row it is, where one person has several; None when each row stands for itself. It
        is not one of ``columns``.
    max_rows : int or None
        How many rows of one unit count. Which ones follows from that unit's own declared rows, by a public rule
        (``row_choice``): never from the order in which rows arrive, and never from other people.
    unit_type : str or None
        What the unit's column holds: "text" (the default; 7 is read as "7") or "integer" ("007" is 7). Rows whose unit
        is missing, or cannot be read so, are left out.
    order : str or None
        A column of numbers or dates: of each unit the rows that are first in it count ("first visits"), those that lack
        it last. None: no row is preferred.

    Examples
    --------
    >>> from discreet.records import Category, Number
    >>> schema = Schema({"age": Number(17, 90), "sex": Category(["female", "male"])}, unit="person", max_rows=3)
    >>> print(schema.to_toml())
    unit = "person"
    max_rows = 3
    unit_type = "text"
    <BLANKLINE>
    [columns.age]
    low = 17.0
    high = 90.0
    missing = "drop"
    <BLANKLINE>
    [columns.sex]
    values = ["female", "male"]
    missing = "drop"
    <BLANKLINE>
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: tuple[tuple[str, Column], ...]
    unit: str | None
    max_rows: int | None
    unit_type: str | None
    order: str | None

    def __init__(
        self,
        columns: Mapping[str, Column] | Iterable[tuple[str, Column]] | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        unit_type: str | None = None,
        order: str | None = None,
    ) -> None:
        given: Any = columns.items() if isinstance(columns, Mapping) else columns
        if isinstance(given, str) or not iterable(given):
            raise ArgumentError("columns", columns, "a mapping of names to columns", WRITE)
        pairs = tuple(given)
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise ArgumentError("columns", columns, "at least one name with its column", WRITE)
        names: list[str] = []
        for name, column in pairs:
            if not isinstance(name, str) or not name:
                raise ValueError(f"columns: the name {name!r} is not text; write {WRITE}")
            if not isinstance(column, Column):
                raise ArgumentError(f"columns[{name!r}]", column, "a Number, a Date or a Category", WRITE)
            if name in names:
                raise ValueError(f"columns: {name!r} is there twice; expected each name once")
            names.append(name)
        if unit is not None and (not isinstance(unit, str) or not unit):
            raise ArgumentError("unit", unit, "the name of a column", "unit='patient_id'")
        if unit in names:
            raise ValueError(f"unit={format_value(unit)} is also one of the columns: leave it out of them")
        set_fields(self, columns=pairs, unit=unit, max_rows=max_rows, unit_type=unit_type, order=order)
        if unit is None:
            check_no_limit(max_rows=max_rows, unit_type=unit_type, order=order)
        else:
            whose = Unit.declared(unit, max_rows, unit_type, order, self.numbers)
            set_fields(self, max_rows=whose.max_rows, unit_type=whose.unit_type)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in order, the unit left out."""
        return tuple(name for name, _ in self.columns)

    @cached_property
    def numbers(self) -> dict[str, Numeric]:
        """The numeric columns, of numbers and dates, in order."""
        return {name: column for name, column in self.columns if not isinstance(column, Category)}

    @cached_property
    def categories(self) -> dict[str, Category]:
        """The columns of categories, in order."""
        return {name: column for name, column in self.columns if isinstance(column, Category)}

    @cached_property
    def scales(self) -> tuple[str, ...]:
        """For each numeric column "linear", "log" or "date"."""
        return tuple(column.scale for column in self.numbers.values())

    @property
    def space(self) -> Box | Ball | None:
        """Where the values of the numeric columns lie that queries see; None where there are none."""
        return as_reading(self, 1).space

    __iter__ = None  # or Python would ask for the columns 0, 1, …

    def __getitem__(self, name: str) -> Column:
        return dict(self.columns)[name]

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        lines = _write_fields(self, UNIT)
        lines += [""] if lines else []
        for name, column in self.columns:
            lines += [f"[columns.{_key(name)}]", *_write_fields(column, KEYS[type(column)]), ""]
        return "\n".join(lines)

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Return the schema in a TOML file, or in TOML text.

        Parameters
        ----------
        source : str or Path
            A path, or the text itself. A ``str`` with a line break or an equals sign is text.
        """
        if not isinstance(source, str | Path):
            raise ArgumentError("source", source, "a path, or the text of TOML")
        if isinstance(source, str) and ("\n" in source or "=" in source):
            text = source
        else:
            text = Path(source).read_text(encoding="utf-8")
        return cls(**read_toml(text))


def as_reading(schema: Schema, block_rows: int) -> Reading:
    """Return the reading of a schema's columns, in blocks of ``block_rows``; the caller adds the unit."""
    scales, ends = schema.scales, [column.ends for column in schema.numbers.values()]
    bounds = space = Box(*zip(*ends, strict=True)) if ends else None
    if "log" in scales:
        values: Any = [np.log(pair) if scale == "log" else pair for scale, pair in zip(scales, ends, strict=True)]
        space = Box(*np.transpose(values))
    fills = tuple(None if column.fill is None else column.fill_value for column in schema.numbers.values())
    return Reading(tuple(schema.numbers), scales, fills, bounds, space, schema.categories, None, block_rows)
