"""The registry of queries: each with a way to make random and extreme instances of itself, for the search.

``@registered(make)`` stands on every query class. ``make(rng, d, radius)`` returns instances in d dimensions whose
space has about this radius, with public parameters drawn at random, extreme ones among them. A test goes through all
subclasses of ``Query`` in the library and fails if one is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from discreet.door.query import Query

__all__ = ["QUERIES", "registered"]

Maker = Callable[[np.random.Generator, int, float], Sequence[Any]]
QUERIES: dict[type[Any], Maker] = {}

T = TypeVar("T", bound="type[Query]")


def registered(make: Maker) -> Callable[[T], T]:
    """Return a class decorator that puts a query into the registry."""

    def register(query: T) -> T:
        QUERIES[query] = make
        return query

    return register
