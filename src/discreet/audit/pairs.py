"""Make neighbouring data sets on which a mechanism is likely to leak most: small, extreme, and of many kinds.

One row is added or replaced, or all rows of a person. The row is at opposite corners of the declared bounds, or far
outside of them (a correct mechanism clips), or changes in one column or one category, or has a missing value. The other
rows are none, one row in the middle (which the changed row crosses, so that ranks change), copies of the first row, or
rows spread over the bounds. No pair is the worst for every mechanism, so an attack tries all of them before it chooses.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import choice
from discreet.door import Curator
from discreet.guarantees import Neighbors
from discreet.records import Ball, Category, Date, Schema
from discreet.records.declared.columns import Numeric

FAR = 1e308
LIKE, SPREAD = 5, 16  # rows beside the one that changes
Row = list[Any]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets.

    Attributes
    ----------
    name : str
        A description of their difference.
    one, other : Curator, or any argument of the attacked function
    """

    name: str
    one: Any
    other: Any


def neighbours(schema: Schema, relation: Neighbors | str = Neighbors.REPLACE_ONE) -> tuple[Pair, ...]:
    """Return pairs of curators with neighbouring rows that are extreme for this schema.

    Examples
    --------
    >>> from discreet import Number, Schema
    >>> len(neighbours(Schema({"age": Number(0, 120)}), "add-remove"))
    16
    """
    if not isinstance(schema, Schema):
        raise ValueError(
            f"schema of type {type(schema).__name__}: expected a Schema; write Schema({{'age': Number(0, 120)}})"
        )
    relation = Neighbors(choice("relation", str(relation), tuple(map(str, Neighbors))))
    columns = Schema(dict(schema.columns))

    def open_units(units: Sequence[Row]) -> Curator:
        several = schema.max_rows or 1
        values = np.empty((len(units) * several, len(schema.columns)), dtype=object)
        for place in range(len(values)):
            values[place] = units[place // several]
        return _open_units(values, several, schema.max_rows, relation, schema=columns)

    return _pairs(_kinds(schema), _middle(schema), _spread(schema), relation, open_units)


def neighbours_in_ball(space: Ball, relation: Neighbors, max_rows: int | None = None) -> tuple[Pair, ...]:
    """Return pairs of curators with neighbouring rows in a ball; rows of persons if ``max_rows`` is given."""
    center, direction = np.asarray(space.center), np.ones(space.dimension) / np.sqrt(space.dimension)
    high, low = (center + sign * space.radius * direction for sign in (1.0, -1.0))
    kinds = {
        "opposite ends": (low.tolist(), high.tolist()),
        "from the centre": (center.tolist(), high.tolist()),
        "far outside": ([-FAR] * len(center), [FAR] * len(center)),
    }
    spread = np.random.default_rng(0).uniform(-1.0, 1.0, (SPREAD, len(center))) * space.radius + center

    def open_units(units: Sequence[Row]) -> Curator:
        several = max_rows or 1
        values = np.repeat(np.array(units, dtype=np.float64).reshape(-1, len(center)), several, axis=0)
        return _open_units(values, several, max_rows, relation, space=space)

    return _pairs(kinds, center.tolist(), spread.tolist(), relation, open_units)


def _open_units(
    values: NDArray[Any], several: int, max_rows: int | None, relation: Neighbors, **declared: Any
) -> Curator:
    """Return a curator of persons with ``several`` rows each, or of single rows where ``max_rows`` is None."""
    ids = None if max_rows is None else np.repeat(np.arange(len(values) // several), several)
    return Curator(values, unit=ids, max_rows=max_rows, neighbors=relation, at_most=(SPREAD + 2) * several, **declared)


def _pairs(
    kinds: Mapping[str, tuple[Row, Row]],
    middle: Row,
    spread: list[Row],
    relation: Neighbors,
    open_units: Callable[[list[Row]], Any],
) -> tuple[Pair, ...]:
    result = []
    for kind, (first, second) in kinds.items():
        beside = {
            "alone": [],
            f"beside {LIKE} like the first": [first] * LIKE,
            f"among {len(spread)} others": spread,
            "beside one in the middle": [middle],
        }
        for where, rest in beside.items():
            if relation is Neighbors.ADD_REMOVE:
                result.append(Pair(f"a row more, {kind}, {where}", open_units(rest), open_units([*rest, second])))
            else:
                result.append(Pair(f"{kind}, {where}", open_units([*rest, first]), open_units([*rest, second])))
    return tuple(result)


def _row(schema: Schema, number: Callable[[Numeric], Any], category: int) -> Row:
    return [column.values[category] if isinstance(column, Category) else number(column) for _, column in schema.columns]


def _at(column: Numeric, share: float) -> Any:
    """Return the value at a share of the way from the lower to the upper bound, on the scale that is measured."""
    if isinstance(column, Date):
        return column.low + datetime.timedelta(days=round(share * (column.high - column.low).days))
    if column.log:
        between = math.exp((1.0 - share) * math.log(column.low) + share * math.log(column.high))
        return min(max(between, column.low), column.high)
    return (1.0 - share) * column.low + share * column.high


def _far(column: Numeric, up: bool) -> Any:
    """Return a value far outside of the bounds."""
    if isinstance(column, Date):
        return datetime.date.max if up else datetime.date.min
    return FAR if up else -FAR


def _middle(schema: Schema) -> Row:
    return _row(schema, lambda column: _at(column, 0.5), -1)


def _kinds(schema: Schema) -> dict[str, tuple[Row, Row]]:
    """Return two rows for each kind of extreme difference."""
    high, low = _row(schema, lambda column: column.high, -1), _row(schema, lambda column: column.low, 0)
    result = {"opposite corners": (low, high)}
    if schema.numbers:
        places = [place for place, (_, column) in enumerate(schema.columns) if not isinstance(column, Category)]
        below, above = (partial(_far, up=up) for up in (False, True))
        result["far outside"] = (_row(schema, below, 0), _row(schema, above, -1))
        result["from the centre"] = (_middle(schema), high)
        result["a gap"] = ([None if k == places[0] else value for k, value in enumerate(high)], high)
        if len(places) > 1:
            result["one column apart"] = ([low[k] if k == places[-1] else value for k, value in enumerate(high)], high)
    if schema.categories:
        result["other categories"] = (_row(schema, lambda column: column.high, 0), high)
        result["no category"] = (
            [None if isinstance(column, Category) else column.high for _, column in schema.columns], high,
        )  # fmt: skip
    return result


def _spread(schema: Schema) -> list[Row]:
    rng = np.random.default_rng(0)
    return [
        [
            column.values[int(rng.integers(len(column.values)))] if isinstance(column, Category) else
            _at(column, float(rng.random())) for _, column in schema.columns
        ]
        for _ in range(SPREAD)
    ]  # fmt: skip
