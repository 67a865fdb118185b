"""A schema: the columns of a table, as they are declared, and whose rows they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet.arguments import integer, iterable, shown
from discreet.records import toml
from discreet.records.box import Box
from discreet.records.columns import Category, Column, Number

__all__ = ["Schema", "checked_unit"]

WRITE = "write for example Schema({'age': Number(0, 120), 'sex': Category(['female', 'male'])})"


@dataclass(frozen=True, init=False)
class Schema:
    """Columns with their bounds and categories, in order, and the privacy unit.

    Everything in a schema is public knowledge, from a code book or the meaning of the columns. Columns of the table
    that the schema does not name are not read.

    Parameters
    ----------
    columns : mapping of str to Number or Category
        The columns to read; kept as a tuple of pairs.
    unit : str or None
        The column that says whose row it is, where one person has several; None when each row stands for itself. It
        is not one of ``columns``.
    max_rows : int or None
        How many rows of one unit contribute: the first ones in the order of the source.

    Examples
    --------
    >>> schema = Schema({"age": Number(17, 90), "sex": Category(["female", "male"])}, unit="person", max_rows=3)
    >>> print(schema.to_toml())
    unit = "person"
    max_rows = 3
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

    def __init__(
        self,
        columns: Mapping[str, Column] | Iterable[tuple[str, Column]] | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
    ) -> None:
        given: Any = columns.items() if isinstance(columns, Mapping) else columns
        if isinstance(given, str) or not iterable(given):
            raise ValueError(f"columns={shown(columns)}: expected a mapping of names to columns; {WRITE}")
        pairs = tuple(given)
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise ValueError(f"columns={shown(columns)}: expected at least one name with its column; {WRITE}")
        seen: set[str] = set()
        for name, column in pairs:
            if not isinstance(name, str) or not name:
                raise ValueError(f"columns: the name {name!r} is not text; {WRITE}")
            if not isinstance(column, Number | Category):
                raise ValueError(f"columns[{name!r}]={column!r}: expected a Number or a Category; {WRITE}")
            if name in seen:
                raise ValueError(f"columns: {name!r} is there twice; expected each name once")
            seen.add(name)
        if unit is not None and (not isinstance(unit, str) or not unit):
            raise ValueError(f"unit={shown(unit)}: expected the name of a column; write unit='patient_id'")
        if unit in seen:
            raise ValueError(f"unit={shown(unit)} is also one of the columns: leave it out of them")
        object.__setattr__(self, "columns", pairs)
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "max_rows", checked_unit(unit, max_rows))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, in order, the unit left out."""
        return tuple(name for name, _ in self.columns)

    @property
    def numbers(self) -> dict[str, Number]:
        """The numeric columns, in order."""
        return {name: column for name, column in self.columns if isinstance(column, Number)}

    @property
    def categories(self) -> dict[str, Category]:
        """The columns of categories, in order."""
        return {name: column for name, column in self.columns if isinstance(column, Category)}

    @property
    def space(self) -> Box | None:
        """The box of the numeric columns; None where there are none."""
        numbers = self.numbers.values()
        return Box([c.low for c in numbers], [c.high for c in numbers]) if numbers else None

    def __getitem__(self, name: str) -> Column:
        for found, column in self.columns:
            if found == name:
                return column
        raise KeyError(name)

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        return toml.write(self.unit, self.max_rows, self.columns)

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


def checked_unit(unit: object, max_rows: Any) -> int | None:
    """Return ``max_rows`` if it goes with ``unit``: both or neither."""
    if unit is None:
        if max_rows is not None:
            raise ValueError(f"max_rows={shown(max_rows)} without a unit: write unit='patient_id' too, or leave it out")
        return None
    if max_rows is None:
        raise ValueError(
            "max_rows=None: expected how many rows of one unit contribute; write for example max_rows=10 (the noise "
            "grows with it)"
        )
    return integer("max_rows", max_rows, least=1)
