"""A schema: the columns of a table, as they are declared, and whose rows they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet.arguments import choice, integer, iterable, shown
from discreet.records import toml
from discreet.records.box import Box
from discreet.records.columns import Category, Column, Date, Number, Numeric, value_box
from discreet.records.units import UNIT_TYPES

__all__ = ["Schema", "Unit"]

WRITE = "write for example Schema({'age': Number(0, 120), 'sex': Category(['female', 'male'])})"


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
        cls,
        column: str | None,
        max_rows: Any,
        unit_type: Any = None,
        order: Any = None,
        *,
        numbers: Iterable[str] | None = None,
    ) -> Unit | None:
        """Return the unit that arguments declare, None where each row stands for itself.

        Parameters
        ----------
        column, max_rows, unit_type, order
            As in the class; ``unit_type`` is "text" where it is None.
        numbers : iterable of str, optional
            The numeric columns, of which ``order`` must be one.
        """
        if column is None:
            for name, value in (("max_rows", max_rows), ("unit_type", unit_type), ("order", order)):
                if value is not None:
                    raise ValueError(
                        f"{name}={shown(value)} without a unit: write unit='patient_id' too, or leave it out"
                    )
            return None
        if max_rows is None:
            raise ValueError(
                "max_rows=None: expected how many rows of one unit contribute; write for example max_rows=10 (the "
                "noise grows with it)"
            )
        unit_type = "text" if unit_type is None else choice("unit_type", unit_type, UNIT_TYPES)
        if order is not None and numbers is not None and order not in (known := tuple(numbers)):
            raise ValueError(
                f"order={shown(order)}: expected a declared column of numbers or dates, one of "
                f"{', '.join(map(repr, known)) or 'which there is none'}; the rows that are first in it count"
            )
        return cls(column, integer("max_rows", max_rows, least=1), unit_type, order)


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
            raise ValueError(f"columns={shown(columns)}: expected a mapping of names to columns; {WRITE}")
        pairs = tuple(given)
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise ValueError(f"columns={shown(columns)}: expected at least one name with its column; {WRITE}")
        seen: set[str] = set()
        for name, column in pairs:
            if not isinstance(name, str) or not name:
                raise ValueError(f"columns: the name {name!r} is not text; {WRITE}")
            if not isinstance(column, Number | Date | Category):
                raise ValueError(f"columns[{name!r}]={column!r}: expected a Number, a Date or a Category; {WRITE}")
            if name in seen:
                raise ValueError(f"columns: {name!r} is there twice; expected each name once")
            seen.add(name)
        if unit is not None and (not isinstance(unit, str) or not unit):
            raise ValueError(f"unit={shown(unit)}: expected the name of a column; write unit='patient_id'")
        if unit in seen:
            raise ValueError(f"unit={shown(unit)} is also one of the columns: leave it out of them")
        object.__setattr__(self, "columns", pairs)
        whose = Unit.declared(unit, max_rows, unit_type, order, numbers=self.numbers)
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "max_rows", None if whose is None else whose.max_rows)
        object.__setattr__(self, "unit_type", None if whose is None else whose.unit_type)
        object.__setattr__(self, "order", order)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, in order, the unit left out."""
        return tuple(name for name, _ in self.columns)

    @property
    def numbers(self) -> dict[str, Numeric]:
        """The numeric columns, of numbers and dates, in order."""
        return {name: column for name, column in self.columns if not isinstance(column, Category)}

    @property
    def categories(self) -> dict[str, Category]:
        """The columns of categories, in order."""
        return {name: column for name, column in self.columns if isinstance(column, Category)}

    @property
    def bounds(self) -> Box | None:
        """The box in which the cells of the numeric columns lie; None where there are none."""
        ends = [column.ends for column in self.numbers.values()]
        return Box([low for low, _ in ends], [high for _, high in ends]) if ends else None

    @property
    def space(self) -> Box | None:
        """The box of the values that queries see: logarithms where a column says so, days for dates."""
        scales = [column.scale for column in self.numbers.values()]
        return None if self.bounds is None else value_box(self.bounds, scales)

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
