"""A schema: the columns of a table, as they are declared, and whose rows they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet.arguments import ArgumentError, choice, integer, iterable, listed, shown
from discreet.records import toml
from discreet.records.columns import Column, Columns, set_fields
from discreet.records.units import UNIT_TYPES

__all__ = ["Schema", "Unit", "check_no_limit"]

WRITE = "for example Schema({'age': Number(0, 120), 'sex': Category(['female', 'male'])})"


@dataclass(frozen=True)
class Unit:
    """Whose privacy is protected where a person may have several rows, and which of them count.

    Attributes
    ----------
    column : str
        The column that says whose row it is.
    max_rows : int
        How many rows of one unit count (``row_choice``).
    unit_type : str
        The type of the column, "text" or "integer": equality of units is equality of that type (``units``).
    order : str or None
        A numeric column: the rows that are first in it count. None: any, by a public hash.
    """

    column: str
    max_rows: int
    unit_type: str = "text"
    order: str | None = None

    @classmethod
    def declared(
        cls, column: str, max_rows: Any, unit_type: Any = None, order: Any = None, numbers: Any = None
    ) -> Self:
        """Return the unit that arguments declare.

        Parameters
        ----------
        column, max_rows, unit_type, order
            As in the class; ``unit_type`` is "text" where it is None.
        numbers : iterable of str, optional
            The numeric columns, of which ``order`` must be one.
        """
        if max_rows is None:
            write = "for example max_rows=10 (the noise grows with it)"
            raise ArgumentError("max_rows", None, "how many rows of one unit contribute", write)
        unit_type = "text" if unit_type is None else choice("unit_type", unit_type, UNIT_TYPES)
        if order is not None and numbers is not None and order not in (known := tuple(numbers)):
            numeric = f"a declared column of numbers or dates, one of {listed(known)}"
            raise ArgumentError("order", order, f"{numeric}; the rows that are first in it count")
        return cls(column, integer("max_rows", max_rows, least=1), unit_type, order)


def check_no_limit(**limit: Any) -> None:
    """Raise where something limits the rows of a unit, and there is none."""
    for name, value in limit.items():
        if value is not None:
            write = "unit='patient_id' too, or leave it out"
            raise ValueError(f"{name}={shown(value)} without a unit: write {write}")


@dataclass(frozen=True, init=False)
class Schema(Columns):
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
