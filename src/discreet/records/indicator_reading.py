"""A view of records in which categories are numbers: an indicator column, of 0 and 1, for each declared value but one.

Regressions take numbers. In this view a column of categories gives way to a numeric column for each of its declared
values after the first, the *reference*: it is 1 in rows with that value and 0 in all others. So a row of the reference
has zeros, and every other row a single 1. These columns are declared as numbers between 0 and 1, and blocks lie within
these bounds, so every query's bound holds as it stands. What a row becomes is a function of that row alone. A gap is
treated as the category declares, and conditions are about the category.

**Norm.** About the middle of their bounds, k − 1 such columns have the norm √(k − 1)/2 in every row, that of any other
columns between 0 and 1. About the mean of the k points that occur it is √((k − 1)/k) at most, which is smaller from
k = 5 on. It is not used: after the first round, methods measure rows about their
noisy mean and clip them in coordinates that follow from a noisy covariance, where both are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.records.declared.ball import Ball
from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category
from discreet.records.declared.declared_numbers import set_fields
from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows


def indicator_names(name: str, values: Collection[Any]) -> tuple[str, ...]:
    """Return the names of the columns that stand for a column of categories.

    >>> indicator_names("ward", ["medicine", "surgery", "emergency"])
    ('ward=surgery', 'ward=emergency')
    """
    return tuple(f"{name}={value}" for value in list(values)[1:])


def indicator_columns(categories: Mapping[str, Category]) -> list[str]:
    """Return the names of the columns that stand for several columns of categories."""
    return [one for name, category in categories.items() for one in indicator_names(name, category.values)]


@dataclass(frozen=True)
class IndicatorReading(Reading):
    """A reading whose blocks have indicator columns after the numbers, in the place of some categories.

    Attributes
    ----------
    indicated : tuple of str
        The columns of categories that give way.
    """

    indicated: tuple[str, ...] = ()

    by_database: ClassVar[bool] = False

    @classmethod
    def from_reading(cls, declared: Reading, names: Collection[str]) -> IndicatorReading:
        """Return the view in which these columns of categories are indicators; raise where it cannot be."""
        result = cls(**declared.arguments, indicated=tuple(name for name in declared.categories if name in names))
        if result.indicated and isinstance(declared.bounds, Ball):
            raise ArgumentError("bounds", UNSHOWN, "bounds of each column where there are categories beside them")
        added = indicator_columns(result.given_way)
        known = [*declared.names, *added]
        if len({*known}) < len(known):
            raise ArgumentError("columns", tuple(added), "names that no other column has", write="another name for one")
        return result

    @property
    def given_way(self) -> dict[str, Category]:
        """The columns of categories that give way."""
        return {name: self.categories[name] for name in self.indicated}

    @cached_property
    def shown(self) -> Reading:
        """What its blocks look like."""
        names, fills, ends = [*self.numbers], [*self.fills], []
        for name, category in self.given_way.items():
            several = indicator_names(name, category.values)
            names += several
            # The rows that a gap drops are dropped here too: where nothing fills it, their number is not public.
            fills += [None if category.fill is None else 0.0] * len(several)
            ends += [(0.0, 1.0)] * len(several)
        own = [one.intervals() if isinstance(one, Box) else [] for one in (self.bounds, self.space)]
        bounds, space = (Box(*zip(*several, *ends, strict=True)) if several + ends else None for several in own)
        result = Reading(
            numbers=tuple(names),
            scales=(*self.scales, *["linear"] * len(ends)),
            fills=tuple(fills),
            bounds=bounds,
            space=space,
            categories={name: one for name, one in self.categories.items() if name not in self.indicated},
            unit=self.unit,
            block_rows=self.block_rows,
            condition=self.condition,
            device=self.device,
        )
        set_fields(result, required=self.required, complete=self.complete)  # the same cells drop a row
        return result

    @np.errstate(all="ignore")
    def block(self, rows: DeclaredRows) -> Block:
        """Return the rows that contribute, with indicators after their numbers."""
        x, codes = super().block(rows)
        xp = array_namespace(x)
        parts, kept = [x], []
        for place, (name, category) in enumerate(self.categories.items()):
            if name in self.indicated:
                values = xp.asarray(np.arange(1, len(category.values)), device=device(x))
                parts.append(xp.astype(codes[:, place : place + 1] == values, xp.float64))
            else:
                kept.append(codes[:, place : place + 1])
        return Block(xp.concat(parts, axis=1), xp.concat(kept, axis=1) if kept else codes[:, :0])
