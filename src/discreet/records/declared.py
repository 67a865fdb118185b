"""What an analyst declares about data, checked as far as it can be without looking at the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import choice, integer, shown
from discreet.records.ball import Ball
from discreet.records.box import Box
from discreet.records.columns import MISSING
from discreet.records.reading import Reading
from discreet.records.schema import Schema, Unit
from discreet.records.summation import usual_rows
from discreet.records.table_source import unique_names

__all__ = ["Declared"]


@dataclass(frozen=True)
class Declared:
    """The arguments of ``as_records``, checked; ``unit`` is a name, the number of a column, or the units themselves."""

    space: Box | Ball | None
    schema: Schema | None
    unit: Any
    limit: Mapping[str, Any]
    missing: str
    block_rows: int | None

    @classmethod
    def of(
        cls, space: Any, schema: Any, unit: Any, limit: Mapping[str, Any], missing: str, block_rows: int | None
    ) -> Declared:
        """Check the arguments against each other; ``limit`` has ``max_rows``, ``unit_type`` and ``order``."""
        if (space is None) == (schema is None):
            found = "neither space nor schema" if space is None else "both space and schema"
            raise ValueError(
                f"{found}: expected exactly one. Bounds are declared, never taken from the data: write for example "
                "space=Box(low=[0, 40], high=[120, 250]) or schema=Schema({'age': Number(0, 120)})"
            )
        if space is not None and not isinstance(space, Box | Ball):
            raise ValueError(f"space={shown(space)}: expected a Box or a Ball; write for example space=Box(0, 1)")
        if schema is not None and not isinstance(schema, Schema):
            raise ValueError(f"schema={shown(schema)}: expected a Schema; write Schema.from_toml(path) for a file")
        choice("missing", missing, MISSING)
        if schema is not None:
            if missing != "drop":
                raise ValueError(
                    f"missing={shown(missing)}: with a schema it is said for each column; "
                    "write for example Number(0, 120, missing='fill', fill=40)"
                )
            unit, limit = _merged(schema, unit, limit)
        Unit.declared(None if unit is None else "unit", **limit)
        step = None if block_rows is None else integer("block_rows", block_rows, least=1, most=2**30)
        return cls(space, schema, unit, limit, missing, step)

    def table(self, names: Sequence[str]) -> Reading:
        """Return the reading of a table whose columns have ``names``."""
        if self.unit is not None and not isinstance(self.unit, str):
            raise ValueError("unit: expected the name of a column of the table; write for example unit='patient_id'")
        reading = self._reading(names, self.unit)
        for name in reading.columns:
            if name not in names:
                known = ", ".join(map(repr, names))
                raise ValueError(f"the column {name!r} is not in the data: expected one of {known}")
        return reading

    def array(self, width: int) -> tuple[tuple[str, ...], Reading]:
        """Return names for the columns of an array, and its reading. Units that come beside it are called "unit".

        An array's columns are found by these names, so none may be there twice, the unit's included.
        """
        names = [f"x{j}" for j in range(width)]
        if isinstance(self.unit, str):
            raise ValueError(
                f"unit={shown(self.unit)}: an array has no names; "
                "write the number of its column, as unit=0, or an array of units, one a row"
            )
        place = None
        if self.unit is not None and not self.beside:
            place = integer("unit", self.unit, least=0, most=width - 1)
        if self.schema is not None:
            read = [j for j in range(width) if j != place]
            if len(read) != len(self.schema.names):
                raise ValueError(
                    f"data has {len(read)} columns to read, the schema {len(self.schema.names)}: "
                    "expected as many, in the same order"
                )
            for j, name in zip(read, self.schema.names, strict=True):
                names[j] = name
        unit = "unit" if self.beside else None if place is None else names[place]
        read_names = [name for j, name in enumerate(names) if j != place]
        while unit in read_names:
            unit = f"{unit}_"
        if place is not None and unit is not None:
            names[place] = unit
        unique_names([*names, unit] if self.beside else names)
        return tuple(names), self._reading(read_names, unit)

    @property
    def beside(self) -> bool:
        """Whether the units come as an array of their own."""
        several = hasattr(self.unit, "__len__") or hasattr(self.unit, "shape")
        return several and not isinstance(self.unit, str) and getattr(self.unit, "ndim", 1) > 0

    def _reading(self, names: Sequence[str], unit: str | None) -> Reading:
        if self.schema is not None:
            step = self.block_rows or usual_rows(len(self.schema.names))
            whose = Unit.declared(unit, **self.limit, numbers=self.schema.numbers)
            return Reading.of_schema(self.schema, whose, step)
        assert self.space is not None
        chosen = [name for name in names if name != unit]
        if not chosen:
            raise ValueError("data has no column beside the unit's: expected at least one")
        step = self.block_rows or usual_rows(len(chosen))
        whose = Unit.declared(unit, **self.limit, numbers=chosen)
        return Reading.of_space(self.space, chosen, self.missing, whose, step)


def _merged(schema: Schema, unit: Any, limit: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the unit and what limits its rows, from the schema and from arguments that must not contradict it."""
    if isinstance(unit, str):  # by number or by array it is for data without names, and overrides the schema's name
        _agreed("unit", unit, schema.unit)
    merged = {}
    for name, given in limit.items():
        stated = getattr(schema, name)
        if given is not None:
            _agreed(name, given, stated)
        merged[name] = stated if given is None else given
    return schema.unit if unit is None else unit, merged


def _agreed(name: str, given: Any, stated: Any) -> None:
    given = given.item() if isinstance(given, np.generic) else given
    if stated is not None and given != stated:
        raise ValueError(f"{name}={given!r}, and the schema has {stated!r}: expected one of them, or the same twice")
