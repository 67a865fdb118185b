"""From what a caller hands over to a curator: rows of any kind with their declarations, or rows that have them already.

A ``Curator`` has everything, a ledger too; to declare anything again is an error. All else is
``discreet.records.open_records``, which says what becomes of rows of each kind.
"""

from __future__ import annotations

from typing import Any, TypedDict

from discreet.arguments import ArgumentError
from discreet.door.curator import Curator
from discreet.guarantees import Neighbors
from discreet.records import Bounds, Schema, open_records

__all__ = ["Declarations", "open_rows"]


class Declarations(TypedDict, total=False):
    """What is declared of rows that are handed over.

    bounds : (low, high), list of such pairs, Box, Ball, or mapping of a column's name to a pair or a Number
        Where the numbers lie; public, never taken from the rows. One pair is for all columns, a list has one a column.
        With a mapping only these columns are read.
    classes : mapping of a column's name to a list, or a Category
        Columns of categories beside bounds by name, and which categories there are.
    schema : Schema
        In place of both, where there are gaps to fill, or several rows a person.
    neighbors : str
        ``"replace-one"`` (the default; the number of rows is public) or ``"add-remove"``.
    unit, max_rows, unit_type, order
        Whose row it is, and which rows of one unit count, as in ``Curator``.
    """

    bounds: Bounds | None
    classes: Any
    schema: Schema | None
    neighbors: Neighbors | str | None
    unit: Any
    max_rows: int | None
    unit_type: str | None
    order: str | None


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
        hint = "; for a condition write Curator(data, schema=…).where('age >= 18')" if "where" in unknown else ""
        raise TypeError(
            f"{unknown[0]}: not an argument; what can be declared is {', '.join(Declarations.__annotations__)}{hint}"
        )
    given = {name: value for name, value in declared.items() if value is not None}
    relation = given.pop("neighbors", None)
    if isinstance(data, Curator):
        if given:
            raise ValueError(f"{next(iter(given))}: expected None, since the curator has declarations of its own")
        if relation is not None and Neighbors.of(relation) is not data.neighbors:
            raise ArgumentError("neighbors", relation, f"None, or the curator's {data.neighbors}")
        return data
    neighbors = Neighbors.REPLACE_ONE if relation is None else Neighbors.of(relation)
    return Curator(open_records(data, **given), neighbors=neighbors)
