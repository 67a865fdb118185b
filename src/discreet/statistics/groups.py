"""Groups of rows: every combination of the categories of one or several declared columns.

Groups are declared, never found in the rows: each of them gets an answer, also one that has no rows, and a row whose
category nobody declared is in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

from discreet.arguments import ArgumentError
from discreet.door import Curator
from discreet.queries.adaptors import Grouped
from discreet.queries.question import Query
from discreet.scales import place_of

By = str | int | Sequence[str | int]  # the columns that define groups, as users name them
MOST = 10_000


def ask_groups(groups: Groups | None, query: Query) -> Query:
    """Return a query about all groups at once, or the query itself where there are none."""
    return query if groups is None else groups.ask(query)


def name_groups(by: By | None, curator: Curator, argument: str = "by") -> tuple[str, ...]:
    """Return the names of the columns that define groups; raise where one is not a column of categories."""
    several = [] if by is None else list(by) if isinstance(by, list | tuple) else [by]
    names = [curator.category_columns[place_of(argument, one, curator.category_columns)] for one in several]
    if (by is not None and not names) or len(set(names)) != len(names):
        raise ArgumentError(argument, by, "at least one column of categories, each once")
    return tuple(names)


@dataclass(frozen=True)
class Groups:
    """The groups of a request.

    Attributes
    ----------
    names : tuple of str
        The columns that define them.
    places : tuple of int
        The indices of these columns among the columns of categories.
    categories : tuple of tuples
        The categories of each column.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    categories: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, names: Sequence[str], curator: Curator) -> Self | None:
        """Return the groups that these columns define; None for no columns."""
        if not names:
            return None
        places = tuple(curator.category_columns.index(name) for name in names)
        result = cls(tuple(names), places, tuple(tuple(curator.categories[place]) for place in places))
        if len(result) > MOST:
            raise ArgumentError("by", list(names), f"at most {MOST} combinations of categories, got {len(result)}")
        return result

    def __len__(self) -> int:
        return math.prod(map(len, self.categories))

    @property
    def labels(self) -> tuple[Any, ...]:
        """The label of each group: its category, or a tuple of them where several columns define it."""
        return self.categories[0] if len(self.names) == 1 else tuple(product(*self.categories))

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """The index of each column, and how many categories it has."""
        return tuple((place, len(values)) for place, values in zip(self.places, self.categories, strict=True))

    def ask(self, query: Query) -> Query:
        """Return a query about all groups at once, in the order of ``labels``."""
        for place, size in reversed(self.sizes):
            query = Grouped(query, size, place)
        return query
