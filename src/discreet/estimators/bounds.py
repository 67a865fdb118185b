"""Bounds as people write them: a space, a pair for all columns, a pair for each, or pairs by the columns' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw

from discreet.arguments import shown
from discreet.records import Ball, Box

__all__ = ["Bounds", "listed", "selected", "space_of"]

Pair: TypeAlias = tuple[float, float]
Bounds: TypeAlias = Box | Ball | Mapping[str, Pair] | Sequence[Pair] | Pair


def space_of(bounds: Any) -> Box | Ball:
    """Return the space that bounds declare.

    >>> space_of({"age": (17, 90), "hours": (1, 99)}) == space_of([(17, 90), (1, 99)]) == Box([17, 1], [90, 99])
    True
    >>> space_of((0, 120))
    Box(low=0.0, high=120.0)
    """
    if isinstance(bounds, Box | Ball):
        return bounds
    pairs: Any = list(bounds.values()) if isinstance(bounds, Mapping) else bounds
    if _is_pair(pairs) and not any(map(_is_pair, pairs)):
        return Box(*pairs)
    if isinstance(pairs, list | tuple) and pairs and all(map(_is_pair, pairs)):
        return Box(low=[pair[0] for pair in pairs], high=[pair[1] for pair in pairs])
    raise ValueError(
        f"bounds={shown(bounds)}: expected declared bounds, never taken from the rows; write for example "
        "bounds={'age': (0, 120), 'pressure': (40, 250)}, bounds=[(0, 120), (40, 250)], "
        "bounds=Box(low=[0, 40], high=[120, 250]) or bounds=Ball(radius=10)"
    )


def selected(X: Any, bounds: Any) -> Any:
    """Return the columns of a data frame that have bounds, where these are by name; else all of it."""
    if not isinstance(bounds, Mapping):
        return X
    space_of(bounds)  # raises where they are no bounds
    if not hasattr(X, "columns"):
        raise ValueError(
            "bounds: expected bounds without names, since the columns of an array have no names; write "
            f"bounds={[tuple(pair) for pair in bounds.values()]}"
        )
    frame = nw.from_native(X, eager_only=True)
    for name in bounds:
        if name not in frame.columns:
            raise ValueError(f"bounds: the column {name!r} is not in the data: expected one of {listed(frame.columns)}")
    return frame.select(list(bounds)).to_native()


def listed(names: Iterable[Any]) -> str:
    """Return names or labels for an error."""
    return ", ".join(map(repr, names)) or "which there is none"


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2
