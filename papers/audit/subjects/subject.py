"""``Subject``: a release of the library to attack, and the data sets on which it is attacked."""

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
from discreet.records.declared.columns import Column

__all__ = [
    "BOTH",
    "DELTA",
    "ENDED",
    "LABELLED",
    "LINE",
    "MANY",
    "PERSONS",
    "PLANE",
    "POSITIVE",
    "REPLACE",
    "Subject",
    "across",
    "of_schema",
]

DELTA = 1e-5
REPLACE, BOTH = (Neighbors.REPLACE_ONE,), (Neighbors.REPLACE_ONE, Neighbors.ADD_REMOVE)

# Bounds are neither symmetric nor of size 1, so that a wrong centre or scale is detected.
X: Column = Number(0.0, 10.0, missing="fill", fill=5.0)
Y: Column = Number(-3.0, 1.0, missing="fill", fill=-1.0)
LINE = Schema({"x": X})
PLANE = Schema({"x": X, "y": Y})
POSITIVE = Schema({"x": Number(1.0, 1000.0, missing="fill", fill=5.0)})
GROUPS: dict[str, Column] = {"x": X, "y": Y, "g": Category(["a", "b", "c"])}
LABELLED = Schema(GROUPS)
ENDED = Schema({"x": X, "g": Category(["a", "b"]), "end": Category([0, 1])})
VISITS: dict[str, Column] = {"x": Number(0.0, 10.0), "g": Category(["a", "b"])}
PERSONS = Schema(VISITS, unit="person", max_rows=3)
TEN: dict[str, Column] = {f"x{j}": Number(-1.0, 2.0 + j, missing="fill", fill=0.5) for j in range(10)}
MANY = Schema(TEN)


@dataclass(frozen=True, eq=False)
class Subject:
    """A release that is attacked.

    Attributes
    ----------
    name : str
        With its relation where it has two; replace-one where none is named.
    ask : callable
        From a data set and ε to a result.
    pairs : callable
        A context in which the pairs exist.
    claimed : callable, optional
        From ε to the loss, for results that do not state it.
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


def across(schema: Schema, relation: Neighbors) -> tuple[Pair, ...]:
    """Return neighbours in which one row moves from below to above the others, for mechanisms that depend on ranks.

    If the others are one row, or one row and two at the upper end, then the median or the lower quartile moves from one
    side of that row to the other.
    """
    columns = [column for _, column in schema.columns if isinstance(column, Number)]

    def at(share: float) -> list[float]:
        return [column.low + share * (column.high - column.low) for column in columns]

    def opened(rows: list[list[float]]) -> Curator:
        return Curator(np.array(rows), schema=schema, neighbors=relation, at_most=1000)

    others = {
        "an even spread": [at(float(share)) for share in np.linspace(0.05, 0.95, 9)],
        "the median": [at(0.8)],
        "the lower quartile": [at(0.8), at(1.0), at(1.0)],
    }
    if relation is Neighbors.ADD_REMOVE:
        return tuple(
            Pair(f"a row more, above {name}", opened(rest), opened([*rest, at(1.0)])) for name, rest in others.items()
        )
    return tuple(
        Pair(f"across {name}", opened([*rest, at(0.0)]), opened([*rest, at(1.0)])) for name, rest in others.items()
    )
