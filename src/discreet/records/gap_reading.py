"""A view of records in which a gap is a value: no row is dropped for what it lacks.

Models of tables need to know how often values are missing, and together with what. In this view a column of categories
that would drop rows has one more category, for what is missing. A numeric column that would drop rows has a column of
categories beside it that says whether the number is missing, and its lower bound in the place of the number. Blocks are
complete, so every query's bound holds as it stands. What a row becomes is a function of that row alone.

Columns that fill are filled. Columns of a condition drop rows as they do without this view, since a condition about
what is missing has no answer.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from discreet.records.declared.box import Box
from discreet.records.declared.columns import Category
from discreet.records.generic_arrays import on_device, to_host
from discreet.records.reading import Block, Reading
from discreet.records.row_choice import DeclaredRows

GAP_LABELS = ("", "(gap)", "(no value)")  # the first that is not declared stands for a gap
IS_MISSING = ("no", "yes")


def gap_label(values: tuple[Any, ...]) -> str:
    """Return the category that stands for a gap.

    >>> gap_label(("a", "b")), gap_label(("a", ""))
    ('', '(gap)')
    """
    return next(label for label in (*GAP_LABELS, "(gap)" * (len(values) + 2)) if label not in values)


def gap_column(name: str) -> str:
    """Return the name of the column that says whether a number is missing.

    >>> gap_column("age")
    'age is missing'
    """
    return f"{name} is missing"


class GapReading(Reading):
    """A reading whose blocks have a category for what is missing."""

    by_database = False

    @classmethod
    def from_reading(cls, declared: Reading) -> GapReading:
        """Return the view of all that is declared."""
        return cls(**declared.arguments)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The columns in which a gap is a value."""
        known = frozenset() if self.condition is None else self.condition.columns
        return tuple(name for name in self.required if name not in known)

    @cached_property
    def shown(self) -> Reading:
        """What its blocks look like."""
        numbers = [name for name in self.numbers if name in self.gaps]
        fills = self.fills
        if numbers:
            assert isinstance(self.bounds, Box)
            low: Any = self.bounds.low
            own = zip(self.numbers, self.fills, low, strict=True)
            fills = tuple(least if name in numbers else fill for name, fill, least in own)
        categories = {name: _with_gap(one) if name in self.gaps else one for name, one in self.categories.items()}
        for name in numbers:
            beside = gap_column(name)
            while beside in (*self.numbers, *categories):
                beside = f"{beside}_"
            categories[beside] = Category(IS_MISSING, "fill", IS_MISSING[0])
        return Reading(**self.arguments | {"fills": fills, "categories": categories})

    @np.errstate(all="ignore")
    def block(self, rows: DeclaredRows) -> Block:
        """Return the rows that contribute, with their gaps as values."""
        numbers, codes, keep = rows
        shown = self.shown
        labels = [np.where(codes[:, k] < 0, one.fill_code, codes[:, k]) for k, one in enumerate(self._filled)]
        if any(name in self.gaps for name in self.numbers):
            xp = array_namespace(numbers)
            x = xp.astype(numbers, xp.float64, copy=False)
            missing = to_host(~xp.isfinite(x))
            labels += [missing[:, j].astype(np.int64) for j, name in enumerate(self.numbers) if name in self.gaps]
            fills = tuple(np.nan if fill is None else fill for fill in shown.fills)
            numbers = xp.where(xp.isfinite(x), x, on_device(fills, x))
        result = np.stack(labels, axis=1) if labels else codes
        return shown.block(DeclaredRows(numbers, result, keep))

    @property
    def _filled(self) -> list[Category]:
        return [one for name, one in self.shown.categories.items() if name in self.categories]


def _with_gap(column: Category) -> Category:
    label = gap_label(column.values)
    return Category((*column.values, label), missing="fill", fill=label)
