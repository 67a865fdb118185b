"""What an analyst declares about data, checked as far as it can be without looking at the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, listed, meant
from discreet.records.ball import Ball
from discreet.records.box import Box
from discreet.records.columns import MISSING, Columns, Number
from discreet.records.reading import Reading
from discreet.records.schema import Schema, Unit, check_no_limit
from discreet.records.space import LARGEST, spread
from discreet.records.summation import usual_rows

__all__ = ["Declared"]

WRITE = (
    "Bounds are declared, never taken from the data: write for example space=Box(low=[0, 40], high=[120, 250]) or "
    "schema=Schema({'age': Number(0, 120)})"
)
WRITE_FILL = "for example Number(0, 120, missing='fill', fill=40)"


class Declared:
    """The arguments of ``as_records``, checked against each other.

    Parameters
    ----------
    space, schema, missing, block_rows
        As there.
    unit : str, int, array or None
        The name or the number of a column, or the units themselves.
    limit : mapping
        ``max_rows``, ``unit_type`` and ``order``.
    """

    def __init__(
        self, space: Any, schema: Any, unit: Any, limit: Mapping[str, Any], missing: str, block_rows: int | None
    ) -> None:
        if (space is None) == (schema is None):
            found = "neither space nor schema" if space is None else "both space and schema"
            raise ValueError(f"{found}: expected exactly one. {WRITE}")
        if not isinstance(space, Box | Ball | None):
            raise ArgumentError("space", space, "a Box or a Ball", "for example space=Box(0, 1)")
        if not isinstance(schema, Schema | None):
            raise ArgumentError("schema", schema, "a Schema", "Schema.from_toml(path) for a file")
        choice("missing", missing, MISSING)
        if schema is not None:
            if missing != "drop":
                raise ArgumentError("missing", missing, "it for each column of a schema", WRITE_FILL)
            unit, limit = _merged(schema, unit, limit)
        if unit is None:
            check_no_limit(**limit)
        self._space, self._schema, self._limit, self._missing = space, schema, limit, missing
        self._block_rows = None if block_rows is None else integer("block_rows", block_rows, least=1, most=2**30)
        several = hasattr(unit, "__len__") or hasattr(unit, "shape")
        self.unit = unit
        self.beside = several and not isinstance(unit, str) and getattr(unit, "ndim", 1) > 0  # in an array of its own

    def table(self, names: Sequence[str]) -> Reading:
        """Return the reading of a table whose columns have ``names``."""
        if not isinstance(self.unit, str | None):
            raise ArgumentError("unit", UNSHOWN, "the name of a column of the table", "for example unit='patient_id'")
        reading = self._reading(names, self.unit)
        for name in reading.needed:
            if name not in names:
                expected = f"expected one of {listed(names)}{meant(name, names)}"
                raise ValueError(f"the column {name!r} is not in the data: {expected}")
        return reading

    def array(self, width: int) -> tuple[tuple[str, ...], Reading]:
        """Return names for the columns of an array, and its reading. Units that come beside it are called "unit".

        An array's columns are found by these names, so none is there twice, the unit's included.
        """
        if isinstance(self.unit, str):
            write = "the number of its column, as unit=0, or an array of units, one a row"
            raise ArgumentError("unit", self.unit, "no name, since an array has none", write)
        place = None if self.unit is None or self.beside else integer("unit", self.unit, least=0, most=width - 1)
        read = [f"x{j}" for j in range(width) if j != place]
        names = read if self._schema is None else list(self._schema.names)
        if len(read) != len(names):
            raise ValueError(
                f"data has {len(read)} columns to read, the schema {len(names)}: expected as many, in the same order"
            )
        unit = None if self.unit is None else "unit" if self.beside else f"x{place}"
        while unit in names:
            unit = f"{unit}_"
        every = names if unit is None or place is None else [*names[:place], unit, *names[place:]]
        return tuple(every), self._reading(names, unit)

    def _reading(self, names: Sequence[str], unit: str | None) -> Reading:
        ball, columns = None, () if self._schema is None else self._schema.columns
        if self._space is not None:
            columns = _columns_in(self._space, [name for name in names if name != unit], self._missing)
            ball = self._space.for_columns(len(columns)) if isinstance(self._space, Ball) else None
        whose = None if unit is None else Unit.declared(unit, **self._limit, numbers=Columns(columns).numbers)
        return Reading(columns, whose, self._block_rows or usual_rows(len(columns)), ball)


def _columns_in(space: Box | Ball, names: Sequence[str], missing: str) -> tuple[tuple[str, Number], ...]:
    """Return the columns of rows in a space; its centre is filled."""
    if not names:
        raise ValueError("data has no column beside the unit's: expected at least one")
    width = len(names)  # a ball bounds all columns together, and none alone
    pairs = [(-LARGEST, LARGEST)] * width if isinstance(space, Ball) else space.intervals(width)
    fills = spread("center", space.center, width) if missing == "fill" else (None,) * width
    columns = [Number(*pair, missing, fill) for pair, fill in zip(pairs, fills, strict=True)]
    return tuple(zip(names, columns, strict=True))


def _merged(schema: Schema, unit: Any, limit: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the unit and what limits its rows, from the schema and from arguments that must not contradict it."""
    # By number or by array a unit is for data without names, and comes before the schema's name.
    for name, value in {**limit, "unit": unit if isinstance(unit, str) else None}.items():
        given, stated = value.item() if isinstance(value, np.generic) else value, getattr(schema, name)
        if given is not None and stated is not None and given != stated:
            raise ValueError(f"{name}={given!r}, and the schema has {stated!r}: expected one of them, or both the same")
    merged = {name: getattr(schema, name) if value is None else value for name, value in limit.items()}
    return schema.unit if unit is None else unit, merged
