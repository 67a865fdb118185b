"""What a ``TableSynthesizer`` is told before it sees a row: columns, gaps, zeros, relations, known shares, target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.arguments import ArgumentError, format_names, iterable, nonnegative
from discreet.door import Curator
from discreet.estimators.persistence import PublicRows
from discreet.estimators.table_relations import Relation, read_relations
from discreet.estimators.table_rules import check_zeros
from discreet.models.synthesis.column_histograms import DeclaredColumn
from discreet.models.synthesis.column_trees import NumberUnits
from discreet.records import Condition, Schema
from discreet.records.cells import category_key
from discreet.records.declared.conditions import And, Membership
from discreet.scales import ColumnScale, column_scales

WRITE = "for example zeros=[{'ward': 'maternity', 'sex': 'male'}] or zeros=[\"ward == 'maternity' and age < 10\"]"
WRITE_KNOWN = "for example known={'sex': {'F': 0.51, 'M': 0.49}}"


@dataclass(frozen=True, eq=False)
class TableDeclaration:
    """The parameters of a ``TableSynthesizer`` beside the declared columns; each is checked when it is asked for.

    Attributes
    ----------
    rows : Curator or PublicRows
        Whose declarations count.
    is_whole : sequence of bool
        For each column of numbers whether its values are whole.
    schema, target, given_zeros, given_relations, given_known
        As the estimator was given them.
    """

    rows: Curator | PublicRows
    is_whole: Sequence[bool]
    schema: Schema | None
    target: str | None
    given_zeros: Any
    given_relations: Any
    given_known: Any

    @cached_property
    def gaps(self) -> Sequence[str]:
        """The columns that may be missing."""
        return tuple(self.rows.declared.get("gaps", ()))

    @cached_property
    def scales(self) -> Mapping[str, ColumnScale]:
        """The scale of each column of numbers."""
        return column_scales(self.rows.declared)

    @cached_property
    def whole(self) -> list[str]:
        """The columns of whole numbers."""
        return [name for name, one in zip(self.rows.columns, self.is_whole, strict=True) if one]

    @cached_property
    def categories(self) -> dict[str, tuple[Any, ...]]:
        """The declared categories of each column, without what stands for gaps."""
        rows = self.rows
        own = len(rows.category_columns) - sum(name in self.gaps for name in rows.columns)
        pairs = zip(rows.category_columns[:own], rows.categories[:own], strict=True)
        return {name: tuple(values[:-1] if name in self.gaps else values) for name, values in pairs}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order."""
        return (*self.rows.columns, *self.categories) if self.schema is None else self.schema.names

    @cached_property
    def relations(self) -> dict[str, Relation]:
        """The columns that follow from others."""
        given = {} if self.given_relations is None else self.given_relations
        return read_relations(given, self.scales, self.whole, self.categories)

    @cached_property
    def modelled(self) -> tuple[str, ...]:
        """The columns that follow from no other, in order."""
        return tuple(name for name in self.columns if name not in self.relations)

    @cached_property
    def modelled_columns(self) -> tuple[DeclaredColumn, ...]:
        """The same, as the method knows them."""
        rows, result = self.rows, []
        beside = iter(range(len(self.categories), len(rows.category_columns)))
        missing = {name: next(beside) for name in rows.columns if name in self.gaps}
        for name in self.modelled:
            if name in self.categories:
                place, count = list(self.categories).index(name), len(self.categories[name])
                gap = count if name in self.gaps else None
                result.append(DeclaredColumn(place, count=count + (gap is not None), gap=gap))
            else:
                units = NumberUnits(self.scales[name].low, self.scales[name].high, name in self.whole)
                result.append(DeclaredColumn(rows.columns.index(name), units=units, gap=missing.get(name)))
        return tuple(result)

    @cached_property
    def target_place(self) -> int | None:
        """The place of the target among the columns that are modelled."""
        if self.target is not None and self.target not in self.modelled:
            raise ArgumentError("target", self.target, f"None, or a column of {format_names(self.modelled)}")
        return None if self.target is None else self.modelled.index(self.target)

    @cached_property
    def known_shares(self) -> tuple[tuple[int, tuple[float, ...]], ...]:
        """The columns whose shares are known, each with the shares of its categories in order."""
        given = {} if self.given_known is None else self.given_known
        if not isinstance(given, Mapping) or not all(isinstance(shares, Mapping) for shares in given.values()):
            raise ArgumentError("known", given, "a mapping of columns to the shares of their categories", WRITE_KNOWN)
        result = []
        for name, shares in given.items():
            if name not in self.modelled or name not in self.categories:
                some = [column for column in self.modelled if column in self.categories]
                raise ArgumentError("known", name, f"a column of categories, of {format_names(some)}", WRITE_KNOWN)
            declared = self.categories[name]
            written = {"true": True, "false": False} if set(declared) == {True, False} else {}  # by a file
            by_key = {category_key(written.get(value, value)): share for value, share in shares.items()}
            if by_key.keys() != set(map(category_key, declared)):
                raise ArgumentError("known", shares, f"a share for each of {format_names(declared)}", WRITE_KNOWN)
            values = tuple(nonnegative("known", by_key[category_key(value)]) for value in declared)
            if abs(math.fsum(values) - 1.0) > 1e-6:
                raise ArgumentError("known", shares, f"shares of {name!r} that sum to 1", WRITE_KNOWN)
            result.append((self.modelled.index(name), values))
        return tuple(result)

    @cached_property
    def zeros(self) -> list[Condition]:
        """What cannot occur, as conditions."""
        if isinstance(self.given_zeros, str | Mapping) or not iterable(self.given_zeros):
            raise ArgumentError("zeros", self.given_zeros, "a list of what cannot occur", WRITE)
        numbers = {name: scale.kind for name, scale in self.scales.items()}
        result = []
        for one in self.given_zeros:
            text: Any = one
            if isinstance(one, Mapping):
                if not one or not set(one) <= set(self.categories):
                    raise ArgumentError("zeros", one, f"categories of {format_names(self.categories)}", WRITE)
                several = {name: value if isinstance(value, list) else [value] for name, value in one.items()}
                text = " and ".join(f"`{name.replace('`', '``')}` in {values!r}" for name, values in several.items())
            if not isinstance(text, str):
                raise ArgumentError("zeros", one, "a mapping of columns to categories, or a condition", WRITE)
            try:
                result.append(Condition.parse(text, numbers, self.categories))
            except ValueError as error:  # it speaks of a condition
                raise ValueError(f"zeros: {error}") from None
        return result

    @cached_property
    def forbidden_pairs(self) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
        """The pairs of categories, each as its column and its code, that a condition alone forbids."""
        result: list[tuple[tuple[int, int], tuple[int, int]]] = []
        for one in self.zeros:
            if not one.columns <= set(self.modelled):
                continue
            parts = one.parts if type(one) is And else ()
            members = [part for part in parts if isinstance(part, Membership) and part.within]
            if len(members) != 2 or len(parts) != 2 or members[0].column == members[1].column:
                continue
            first, second = members
            i, j = self.modelled.index(first.column), self.modelled.index(second.column)
            result += [((i, a), (j, b)) for a in first.codes for b in second.codes]
        return tuple(result)

    def check_zeros(self) -> None:
        """Raise where the declarations show that zeros forbid everything, or everything with a category."""
        numbers = {name: scale.own_ends for name, scale in self.scales.items()}
        check_zeros(self.zeros, numbers, self.whole, self.categories, self.gaps, self.relations)
