"""What a subject of the suite is: something that the library does, and the data sets on which it is attacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.pairs import Pair, neighbours
from discreet.door import Curator
from discreet.guarantees import Loss, Neighbors
from discreet.records import Category, Number, Schema
from discreet.records.columns import Column

__all__ = ["BOTH", "DELTA", "LABELLED", "LINE", "MANY", "PERSONS", "PLANE", "REPLACE", "Subject", "middle", "of_schema"]

DELTA = 1e-5
REPLACE, BOTH = (Neighbors.REPLACE_ONE,), (Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE)

# Bounds are not symmetric, nor of size 1: a wrong centre or scale would not show otherwise.
X: Column = Number(0.0, 10.0, missing="fill", fill=5.0)
Y: Column = Number(-3.0, 1.0, missing="fill", fill=-1.0)
LINE = Schema({"x": X})
PLANE = Schema({"x": X, "y": Y})
GROUPS: dict[str, Column] = {"x": X, "y": Y, "g": Category(["a", "b", "c"])}
LABELLED = Schema(GROUPS)
VISITS: dict[str, Column] = {"x": Number(0.0, 10.0), "g": Category(["a", "b"])}
PERSONS = Schema(VISITS, unit="person", max_rows=3)
TEN: dict[str, Column] = {f"x{j}": Number(-1.0, 2.0 + j, missing="fill", fill=0.5) for j in range(10)}
MANY = Schema(TEN)


@dataclass(frozen=True, eq=False)
class Subject:
    """Something that is attacked.

    Attributes
    ----------
    name : str
        With its relation where it has two; replace-one where none is named.
    ask : callable
        From a data set and ε to a result.
    pairs : callable
        A context in which the pairs exist.
    claimed : callable, optional
        From ε to the loss, for results that do not say it.
    """

    name: str
    ask: Callable[[Any, float], Any]
    pairs: Callable[[], Any]
    claimed: Callable[[float], Loss] | None = None


def of_schema(
    group: str,
    asked: Mapping[str, Callable[[Any, float], Any]],
    schema: Schema,
    relations: tuple[Neighbors, ...] = REPLACE,
    also: Callable[[Schema, Neighbors], tuple[Pair, ...]] = lambda schema, relation: (),
) -> list[Subject]:
    """Return subjects that are asked of curators of a schema, under each relation."""

    def opened(relation: Neighbors) -> Callable[[], Any]:
        @contextmanager
        def pairs() -> Iterator[tuple[Pair, ...]]:
            yield (*also(schema, relation), *neighbours(schema, relation))

        return pairs

    return [
        Subject(f"{group}: {name}{'' if relations == REPLACE else f', {relation}'}", ask, opened(relation))
        for name, ask in asked.items()
        for relation in relations
    ]


def middle(schema: Schema, relation: Neighbors) -> tuple[Pair, ...]:
    """Return neighbours whose rows are spread evenly, so that the one that changes moves every rank: for quantiles."""
    spread = np.linspace(0.05, 0.95, 9)
    columns = [column for _, column in schema.columns if isinstance(column, Number)]
    rest = [[column.low + share * (column.high - column.low) for column in columns] for share in spread]
    low, high = [column.low for column in columns], [column.high for column in columns]

    def opened(rows: list[list[float]]) -> Curator:
        return Curator(np.array(rows), schema=schema, neighbors=relation, at_most=1000)

    if relation is Neighbors.ADD_REMOVE:
        return (Pair("a row more, at the upper end of an even spread", opened(rest), opened([*rest, high])),)
    return (Pair("from one end of an even spread to the other", opened([*rest, low]), opened([*rest, high])),)
