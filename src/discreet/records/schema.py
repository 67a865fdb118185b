"""A schema: the columns of a table, as they are declared, and whose rows they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.arguments import ArgumentError, iterable, shown
from discreet.records import toml
from discreet.records.ball import Ball
from discreet.records.columns import Category, Column, Numeric
from discreet.records.reading import Reading, Unit, check_no_limit
from discreet.records.space import Box, set_fields

__all__ = ["Schema", "as_reading"]

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
            raise ValueError(f"unit={shown(unit)} is also one of the columns: leave it out of them")
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

    def __getitem__(self, name: str) -> Column:
        for found, column in self.columns:
            if found == name:
                return column
        raise KeyError(name)

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        whose = {name: getattr(self, name) for name in ("unit", "max_rows", "unit_type", "order")}
        return toml.write(whose, self.columns)

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Return the schema in a TOML file, or in TOML text.

        Parameters
        ----------
        source : str or Path
            A path, or the text itself. A ``str`` with a line break or an equals sign is text.
        """
        if isinstance(source, str) and ("\n" in source or "=" in source):
            text = source
        else:
            text = Path(source).read_text(encoding="utf-8")
        return cls(**toml.read(text))


def as_reading(schema: Schema, block_rows: int) -> Reading:
    """Return how rows of a schema's columns are read, in blocks of so many; whose they are is for the caller to say."""
    scales, ends = schema.scales, [column.ends for column in schema.numbers.values()]
    bounds = space = Box(*zip(*ends, strict=True)) if ends else None
    if "log" in scales:
        values: Any = [np.log(pair) if scale == "log" else pair for scale, pair in zip(scales, ends, strict=True)]
        space = Box(*np.transpose(values))
    fills = tuple(None if column.fill is None else column.filled_with for column in schema.numbers.values())
    return Reading(tuple(schema.numbers), scales, fills, bounds, space, schema.categories, None, block_rows)
