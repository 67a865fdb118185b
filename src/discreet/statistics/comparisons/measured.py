"""What comparisons compare: the mean of a column of numbers or the share of a category, in two of several groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, format_value
from discreet.door import Curator
from discreet.queries.adaptors import OfColumns
from discreet.queries.counts.count_queries import Chosen
from discreet.queries.moments.bernstein import Bernstein
from discreet.queries.question import Query
from discreet.records import Box
from discreet.scales import place_of
from discreet.statistics.comparisons.contrasts import BINARY
from discreet.statistics.request import check_scale

Array = NDArray[np.float64]

SUM, SQUARES = (0.0, 0.5, 1.0), (0.0, 0.0, 1.0)  # Σy and Σy² from the cells of ``Bernstein``


@dataclass(frozen=True)
class Measured:
    """What is measured of each row: cells whose sums give a mean.

    Attributes
    ----------
    name : str
        Of the column, or of its logarithm.
    query : Query
        Without groups.
    scores, squares : tuple of float
        The coefficients of Σy and Σy² in the cells, y in [0, 1].
    low, width : float
        A mean in the measured units is low + width·(mean of y).
    of : object
        The category whose share it is; None for a mean.
    """

    name: str
    query: Query
    scores: tuple[float, ...]
    squares: tuple[float, ...]
    low: float
    width: float
    of: Any = None

    @classmethod
    def from_column(cls, curator: Curator, column: str, of: Any) -> Measured:
        """Return what is measured of a column; raise where ``of`` does not fit it."""
        if column in curator.category_columns:
            place = curator.category_columns.index(column)
            values = curator.categories[place]
            if of is None or not any(_same(of, value) for value in values):
                raise ArgumentError("of", of, f"the category to count, since {column!r} has {_listed(values)}")
            code = next(code for code, value in enumerate(values) if _same(of, value))
            return cls(column, Chosen(len(values), place, code), BINARY, BINARY, 0.0, 1.0, values[code])
        if of is not None:
            raise ArgumentError("of", of, f"nothing, since {column!r} has numbers, whose means are compared")
        place = curator.columns.index(column)
        scale = check_scale(curator, place)
        query = OfColumns(Bernstein(Box([scale.low], [scale.high])), curator.space, (place,))
        return cls(scale.label, query, SUM, SQUARES, scale.low, scale.high - scale.low)


def _same(one: Any, other: Any) -> bool:
    """Return whether a user's value is a category; True is not 1."""
    return (type(one) is type(other) and one == other) or (isinstance(one, str) and one == str(other))


def _listed(values: Sequence[Any]) -> str:
    return "the categories " + ", ".join(map(format_value, values[:12])) + (" …" if len(values) > 12 else "")


def name_between(between: Any, curator: Curator) -> str:
    """Return the name of the column of categories that divides the groups."""
    return curator.category_columns[place_of("between", between, curator.category_columns)]


def compared_cells(compared: tuple[Any, Any]) -> dict[str, Any]:
    """Return the cells of a table that name the two groups."""
    return dict(zip(("group", "other"), compared, strict=True))


def choose_pair(groups: Any, values: Sequence[Any]) -> tuple[int, int]:
    """Return the codes of the two groups to compare; the only two by default."""
    if groups is None and len(values) == 2:
        return 0, 1
    several = list(groups) if isinstance(groups, list | tuple) else []
    codes = [code for one in several for code, value in enumerate(values) if _same(one, value)]
    if len(several) != 2 or len(codes) != 2 or codes[0] == codes[1]:
        shown = groups if isinstance(groups, list | tuple | str | int | float | None) else UNSHOWN
        raise ArgumentError("groups", shown, f"two different ones of {_listed(values)}")
    return codes[0], codes[1]
