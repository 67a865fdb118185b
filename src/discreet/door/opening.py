"""From what a caller hands over to a curator: rows of any kind with their declarations, or rows that have them already.

- A ``Curator`` has everything, a ledger too; to declare anything again is an error.
- ``Records``, a path, a ``Table``, a Dask collection, or anything with a ``schema``: read as declared, and
  nothing that is raised depends on a row.
- An array or a data frame with ``bounds`` alone: the owner's own path. NaN, infinities and text are an error that names
  the column, outside of the guarantee and meant for whoever may see the rows anyway; so every row counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, TypedDict

import narwhals as nw
import numpy as np
from array_api_compat import is_array_api_obj

from discreet.arguments import shown
from discreet.door.curator import Curator
from discreet.guarantees import Neighbors
from discreet.records import Ball, Box, Number, Records, Schema, Table, as_records, check_finite

__all__ = ["Declarations", "open_rows"]

WRITE = "write for example bounds=(0, 120), bounds={'age': (0, 120)}, or a Schema where there are categories or gaps"


class Declarations(TypedDict, total=False):
    """What is declared of rows that are handed over.

    bounds : (low, high), Box, Ball, or mapping of a column's name to (low, high)
        Where the numbers lie; public, never taken from the rows. With a mapping only these columns are read.
    schema : Schema
        In place of bounds, where there are categories, gaps, or several rows a person.
    neighbors : str
        ``"replace-one"`` (the default; the number of rows is public) or ``"add-remove"``.
    unit, max_rows
        Whose row it is, and how many rows of one unit count, as in ``Curator``.
    """

    bounds: Any
    schema: Schema | None
    neighbors: Neighbors | str | None
    unit: Any
    max_rows: int | None


def open_rows(data: Any, **declared: Any) -> Curator:
    """Return rows behind a door.

    Parameters
    ----------
    data : Curator, Records, array of one or two dimensions, data frame, series, path of Parquet files, Dask collection
    declared
        See ``Declarations``.

    Examples
    --------
    >>> open_rows([20.0, 35.0, 50.0], bounds=(0, 120))
    <Curator of unnamed data, replace-one, Records(numpy array, columns=('x0',), space=Box(low=(0.0,), ...
    """
    unknown = sorted(declared.keys() - Declarations.__annotations__.keys())
    if unknown:
        raise TypeError(
            f"{unknown[0]}: not an argument; what can be declared is {', '.join(Declarations.__annotations__)}"
        )
    given = {name: value for name, value in declared.items() if value is not None}
    relation = given.pop("neighbors", None)
    if isinstance(data, Curator):
        if given:
            raise ValueError(f"{next(iter(given))}: expected None, since the curator has declarations of its own")
        if relation is not None and Neighbors.of(relation) is not data.neighbors:
            raise ValueError(f"neighbors={relation!r}: expected None, or the curator's {data.neighbors}")
        return data
    neighbors = Neighbors.REPLACE_ONE if relation is None else Neighbors.of(relation)
    if isinstance(data, Records):
        if given:
            raise ValueError(f"{next(iter(given))}: expected None, since the Records have declarations of their own")
        return Curator(data, neighbors=neighbors)
    bounds, schema = given.pop("bounds", None), given.pop("schema", None)
    if schema is not None and not isinstance(schema, Schema):
        raise ValueError(
            "schema: expected a Schema; write Schema({'age': Number(0, 120), 'ward': Category(['a', 'b'])})"
        )
    if (bounds is None) == (schema is None):
        found = "bounds, schema: expected one of them, got " + ("none" if bounds is None else "both")
        raise ValueError(f"{found}. Bounds are declared, never taken from the rows: {WRITE}")
    data = _as_table(data)
    if schema is not None:
        return Curator(data, schema=schema, neighbors=neighbors, **given)
    space = _space(bounds)
    stored = isinstance(data, str | os.PathLike | Table) or _is_dask(data)
    if isinstance(space, Schema):
        if stored:
            return Curator(data, schema=space, neighbors=neighbors, **given)
        check_finite(data, list(space.names))
        return Curator(data, schema=_filling(space), neighbors=neighbors, **given)
    if stored:
        return Curator(data, space=space, neighbors=neighbors, **given)
    check_finite(data, None if given.get("unit") is None else _without(data, given["unit"]))
    # Every row is complete, so there is nothing to fill; but thus it is declared that none is dropped.
    return Curator(as_records(data, space=space, missing="fill", **given), neighbors=neighbors)


def _space(bounds: Any) -> Box | Ball | Schema:
    """Return bounds as a space, or as a schema of the columns that they name."""
    if isinstance(bounds, Box | Ball):
        return bounds
    if isinstance(bounds, Mapping):
        if not bounds or not all(_is_pair(pair) or isinstance(pair, Number) for pair in bounds.values()):
            raise ValueError(f"bounds={shown(bounds)}: expected a pair (low, high) for each column; {WRITE}")
        return Schema({name: pair if isinstance(pair, Number) else Number(*pair) for name, pair in bounds.items()})
    if not _is_pair(bounds):
        raise ValueError(
            f"bounds={shown(bounds)}: expected (low, high), a Box, a Ball or a mapping of columns; {WRITE}"
        )
    try:
        return Box(*bounds)
    except ValueError:
        if all(_is_pair(pair) for pair in bounds):
            raise ValueError(
                f"bounds={shown(bounds)}: expected the low ends and then the high ends of all columns; for pairs write "
                f"Box(low={[pair[0] for pair in bounds]}, high={[pair[1] for pair in bounds]})"
            ) from None
        raise


def _is_pair(bounds: Any) -> bool:
    return isinstance(bounds, tuple | list | np.ndarray) and getattr(bounds, "ndim", 1) > 0 and len(bounds) == 2


def _filling(schema: Schema) -> Schema:
    """Return the schema with every number filled: none is missing, but thus it is declared that no row is dropped."""
    columns = {
        name: Number(column.low, column.high, missing="fill", fill=column.low / 2.0 + column.high / 2.0)
        if isinstance(column, Number) and column.fill is None
        else column
        for name, column in schema.columns
    }
    return Schema(columns, schema.unit, schema.max_rows)


def _as_table(data: Any) -> Any:
    """Return one column as a table of one column; anything else as it is."""
    if isinstance(data, list | tuple):
        if data and isinstance(data[0], Mapping):
            raise ValueError("data: expected rows in a table, got a list of dictionaries; write pandas.DataFrame(data)")
        try:
            data = np.asarray(data)
        except ValueError:
            raise ValueError("data: expected numbers, or rows of the same length") from None
    if is_array_api_obj(data):
        return data.reshape(-1, 1) if data.ndim == 1 else data
    if isinstance(data, str | os.PathLike | Table) or _is_dask(data):
        return data
    if data is None or isinstance(data, Mapping | float | int):
        raise ValueError(
            f"data of type {type(data).__name__}: expected rows, as an array, a data frame, a path of Parquet files, a "
            "Dask collection, Records or a Curator; write pandas.DataFrame(data) for a dictionary of columns"
        )
    try:
        series = nw.from_native(data, series_only=True)
    except TypeError:
        return data
    return series.to_frame().to_native()


def _without(data: Any, unit: Any) -> Any:
    """Return the columns but the unit's, for the check; None for all of them."""
    if isinstance(unit, str) and not is_array_api_obj(data):
        return [name for name in map(str, nw.from_native(data, eager_only=True).columns) if name != unit]
    return None


def _is_dask(data: Any) -> bool:
    dask = sys.modules.get("dask")  # whoever has a Dask collection has imported it
    return dask is not None and bool(dask.is_dask_collection(data))
