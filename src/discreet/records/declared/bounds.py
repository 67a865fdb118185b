"""The short forms in which bounds may be written, the same everywhere in the library.

A user may write:

- A ``Box`` or a ``Ball``.
- One pair ``(low, high)``, for all columns.
- A list of pairs, one a column, or a NumPy array of shape (d, 2).
- A mapping of a column's name to a pair, or to its declaration (``Number``, ``Category``). Only these columns are read.

A list of low ends with a list of high ends is none of these, and a pair of lists is refused: for two columns it
would be ambiguous. Write ``Box(low=[0, 40], high=[120, 250])`` instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from discreet.arguments import format_value, iterable
from discreet.records.declared.ball import Ball
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category, Column, Number, fill_gaps
from discreet.records.declared.schema import Schema

Pair: TypeAlias = tuple[float, float]
Bounds: TypeAlias = Box | Ball | Mapping[str, Pair | Column] | Sequence[Pair] | Pair

WRITE = (
    "write for example bounds=(0, 120) for all columns, bounds=[(0, 120), (40, 250)], "
    "bounds={'age': (0, 120), 'pressure': (40, 250)}, bounds=Box(low=[0, 40], high=[120, 250]) or "
    "bounds=Ball(radius=10)"
)
WRITE_NAMED = "write for example bounds={'age': (0, 120)}"


def read_bounds(bounds: Any, classes: Any = None) -> Box | Ball | Schema:
    """Return the space that bounds declare, or the schema where they are by name.

    Parameters
    ----------
    bounds : Box, Ball, pair, list of pairs, or mapping of str to pairs or columns
    classes : mapping of str to list or Category, optional
        Columns of categories beside bounds by name, and which categories there are.

    Examples
    --------
    >>> read_bounds([(0, 120), (40, 250)]) == Box(low=[0, 40], high=[120, 250])
    True
    >>> read_bounds((0, 120))
    Box(low=0.0, high=120.0)
    >>> read_bounds({"age": (0, 120)}, {"ward": ["north", "south"]}).names
    ('age', 'ward')
    """
    if classes is not None or isinstance(bounds, Mapping):
        return _read_schema(bounds, classes)
    if isinstance(bounds, Box | Ball):
        return bounds
    if is_pair(bounds):
        return Box(*bounds)
    if isinstance(bounds, tuple) and len(bounds) == 2 and all(isinstance(one, list | np.ndarray) for one in bounds):
        raise ValueError(  # a pair of lists is ambiguous
            f"bounds={format_value(bounds)}: expected one pair a column, in a list; write for example "
            f"bounds=[(0, 120), (40, 250)]{_suggest_box(bounds)}"
        )
    if isinstance(bounds, list | tuple | np.ndarray) and len(bounds) and all(map(is_pair, bounds)):
        try:
            return Box(*zip(*bounds, strict=True))
        except ValueError as error:
            raise ValueError(f"bounds={format_value(bounds)}: {error}{_suggest_box(bounds)}") from None
    raise ValueError(
        f"bounds={format_value(bounds)}: expected declared bounds, never taken from the rows; "
        f"{WRITE}{_suggest_box(bounds)}"
    )


def space_of(bounds: Any) -> Box | Ball:
    """Return the space of columns of numbers that bounds declare.

    >>> space_of({"age": (0, 120), "pressure": (40, 250)}) == Box([0, 40], [120, 250])
    True
    """
    declared = read_bounds(bounds)
    if not isinstance(declared, Schema):
        return declared
    for name in declared.categories:
        raise ValueError(f"bounds[{name!r}]: expected a column of numbers here, as (low, high) or a Number")
    assert declared.space is not None  # a schema has a column
    return declared.space


def read_pair(argument: str, pair: Any, write: str) -> Number:
    """Return the column of numbers whose bounds are one pair."""
    if not is_pair(pair):
        raise ValueError(f"{argument}={format_value(pair)}: expected (low, high) {write}")
    try:
        return Number(*pair)
    except ValueError as error:
        raise ValueError(f"{argument}={format_value(pair)}: {error}") from None


def is_pair(bounds: Any) -> bool:
    """Return whether bounds are one pair of numbers, and not a pair of lists.

    >>> is_pair((0, 120)), is_pair([(0, 120), (40, 250)])
    (True, False)
    """
    return isinstance(bounds, tuple | list | np.ndarray) and _is_flat(bounds) and len(bounds) == 2


def box_columns(box: Box) -> list[Number]:
    """Return the columns of a box, one Number each."""
    return [Number(*pair) for pair in box.intervals()]


def fill_number_gaps(declared: Schema) -> Schema:
    """Return the schema of rows without gaps: every number is filled, so that it is declared that no row is dropped.

    There is nothing to fill.
    """
    numbers = {name: fill_gaps(column) for name, column in declared.numbers.items()}
    return replace(declared, columns=tuple((dict(declared.columns) | numbers).items()))


def _read_schema(bounds: Any, classes: Any) -> Schema:
    """Return the schema of columns that are declared by name."""
    for argument, given in (("bounds", bounds), ("classes", classes)):
        if given is not None and not isinstance(given, Mapping):
            raise ValueError(
                f"{argument} of type {type(given).__name__}: expected a mapping of columns; {WRITE_NAMED}, "
                "classes={'smoker': [0, 1]}"
            )
    columns: dict[str, Column] = {}
    for name, ends in (bounds or {}).items():
        declared = isinstance(ends, Column)
        columns[name] = ends if declared else read_pair(f"bounds[{name!r}]", ends, f"or a Number; {WRITE_NAMED}")
    for name, values in (classes or {}).items():
        if name in columns:
            raise ValueError(f"classes[{name!r}]: expected a column that is not among the bounds too")
        columns[name] = values if isinstance(values, Category) else Category(values)
    if not columns:
        raise ValueError(
            f"bounds={format_value(bounds)}: expected declared columns, never taken from the rows; {WRITE_NAMED}"
        )
    return Schema(columns)


def _is_flat(bounds: Any) -> bool:
    return iterable(bounds) and not any(map(iterable, bounds))


def _suggest_box(bounds: Any) -> str:
    """Return how to write bounds that look like low ends and high ends; nothing where they do not."""
    if isinstance(bounds, list | tuple | np.ndarray) and len(bounds) == 2 and all(map(_is_flat, bounds)):
        low, high = (list(np.asarray(end).tolist()) for end in bounds)
        if len(low) == len(high):
            return f". For low ends and then high ends write Box(low={low}, high={high})"
    return ""
