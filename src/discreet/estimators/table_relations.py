"""Columns that follow from others by a declared rule: sums of numbers, and bands of a number.

Such a column is neither counted nor modelled: it costs no budget, and the rule holds in every synthetic row. The text
of a sum is in Python's syntax; none of it is run.
"""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, format_names
from discreet.records.cells import read_date
from discreet.scales import ColumnScale

Array = NDArray[np.float64]

WRITE = "for example relations={'total': 'a + b', 'age_band': ('age', [0, 18, 65, 120])}"
DIGITS = 1e-9  # of a bound, relative: sums of decimals are not exact


class Relation(ABC):
    """A column as a function of others."""

    @property
    @abstractmethod
    def sources(self) -> tuple[str, ...]:
        """The columns that it follows from."""

    @abstractmethod
    def values(self, own: Mapping[str, Array]) -> NDArray[Any]:
        """Return the column, as numbers or codes, from others in their own units, dates as days."""


@dataclass(frozen=True)
class LinearRelation(Relation):
    """A number that is a sum of others, each times a constant, and of a constant."""

    factors: tuple[tuple[str, float], ...]
    constant: float

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the sum."""
        return tuple(name for name, _ in self.factors)

    def values(self, own: Mapping[str, Array]) -> NDArray[Any]:
        """Return the sums."""
        return np.asarray(sum(factor * own[name] for name, factor in self.factors) + self.constant)


@dataclass(frozen=True)
class BandRelation(Relation):
    """Categories that are intervals of a number: each from its edge on, up to the next; the last has its end too."""

    source: str
    edges: tuple[float, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The number."""
        return (self.source,)

    def values(self, own: Mapping[str, Array]) -> NDArray[Any]:
        """Return the codes of the bands."""
        return np.searchsorted(self.edges[1:-1], own[self.source], side="right").astype(np.int64)


def read_relations(
    given: Any, scales: Mapping[str, ColumnScale], whole: Collection[str], categories: Mapping[str, Sequence[Any]]
) -> dict[str, Relation]:
    """Return the relations that were declared, each checked against the declared columns.

    Parameters
    ----------
    given : mapping of str to str, or to a pair of a column and edges
    scales : mapping of str to ColumnScale
        Of each number.
    whole : collection of str
        The numbers that are whole, dates included.
    categories : mapping of str to sequence

    Examples
    --------
    >>> scales = {name: ColumnScale(name, "linear", 0.0, 10.0) for name in "ab"}
    >>> scales["total"] = ColumnScale("total", "linear", 0.0, 30.0)
    >>> read_relations({"total": "a + 2 * b"}, scales, (), {})["total"].values({"a": np.ones(1), "b": np.ones(1)})
    array([3.])
    """
    if not isinstance(given, Mapping):
        raise ArgumentError("relations", given, "a mapping of columns to what they follow from", WRITE)
    result: dict[str, Relation] = {}
    for name, rule in given.items():
        if name in categories:
            result[name] = _read_bands(name, rule, scales, categories[name])
        elif name in scales:
            result[name] = _read_sum(name, rule, scales, whole)
        else:
            raise ArgumentError("relations", name, f"columns of {format_names([*scales, *categories])}", WRITE)
    for name, relation in result.items():
        for source in relation.sources:
            if source in result:
                raise ArgumentError(
                    "relations", given[name], f"columns that follow from no other; write {name!r} without {source!r}"
                )
    return result


def _read_bands(name: str, rule: Any, scales: Mapping[str, ColumnScale], values: Sequence[Any]) -> BandRelation:
    pair = isinstance(rule, Sequence) and not isinstance(rule, str) and len(rule) == 2
    if not pair or rule[0] not in scales or isinstance(rule[1], str) or not isinstance(rule[1], Sequence):
        raise ArgumentError("relations", rule, f"a number of {format_names(scales)} and the edges of its bands", WRITE)
    source, scale = rule[0], scales[rule[0]]
    edges = [_edge(edge, scale.kind) for edge in rule[1]]
    if len(edges) != len(values) + 1 or not all(np.diff(edges) > 0.0) or not np.isfinite(edges).all():
        raise ArgumentError(
            "relations", rule, f"{len(values) + 1} increasing edges for the {len(values)} categories of {name!r}", WRITE
        )
    low, high = scale.own_ends
    if edges[0] > low or edges[-1] < high:
        shown = f"{scale.shown(low)} to {scale.shown(high)}"
        raise ArgumentError("relations", rule, f"edges that hold the bounds of {source!r}, {shown}", WRITE)
    return BandRelation(source, tuple(edges))


def _edge(value: Any, kind: str) -> float:
    if isinstance(value, bool) or (isinstance(value, str) and kind != "date"):
        return math.nan
    try:
        return float(read_date(value)) if kind == "date" else float(value)
    except (TypeError, ValueError):
        return math.nan


def _read_sum(name: str, rule: Any, scales: Mapping[str, ColumnScale], whole: Collection[str]) -> LinearRelation:
    factors: dict[str, float] = {}
    constant = math.nan
    if isinstance(rule, str) and len(rule) <= 2000:
        try:
            factors, constant = _linear(ast.parse(rule.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            constant = math.nan
    factors = {source: factor for source, factor in factors.items() if factor}
    if not factors or not math.isfinite(constant) or not all(map(math.isfinite, factors.values())):
        raise ArgumentError("relations", rule, "a sum of columns, each times a number", WRITE)
    if not set(factors) <= set(scales) - {name}:
        others = [other for other in scales if other != name]
        raise ArgumentError("relations", rule, f"numbers of {format_names(others)}", WRITE)
    days = sum(factor for source, factor in factors.items() if scales[source].kind == "date")
    if days != (scales[name].kind == "date"):
        raise ArgumentError(
            "relations", rule, "a day and a number for a date; the difference of two dates for a number"
        )
    exact = all(source in whole and factor == int(factor) for source, factor in factors.items())
    if name in whole and not (exact and constant == int(constant)):
        raise ArgumentError(
            "relations", rule, f"a sum of whole numbers, since {name!r} is whole; declare them in whole"
        )
    ends = [sorted(factor * end for end in scales[source].own_ends) for source, factor in factors.items()]
    low, high = (constant + math.fsum(end[side] for end in ends) for side in (0, 1))
    slack = DIGITS * max(abs(low), abs(high))
    least, most = scales[name].own_ends
    if low < least - slack or high > most + slack:
        scale = scales[name]
        raise ArgumentError(
            "relations",
            rule,
            f"bounds of {name!r} that hold all of it; declare {scale.shown(low)} to {scale.shown(high)}",
        )
    return LinearRelation(tuple(factors.items()), constant)


def _linear(node: ast.expr) -> tuple[dict[str, float], float]:
    """Return the factor of each column, and the constant, of a sum."""
    if isinstance(node, ast.Name):
        return {node.id: 1.0}, 0.0
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return {}, float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _times(_linear(node.operand), -1.0 if isinstance(node.op, ast.USub) else 1.0)
    if isinstance(node, ast.BinOp):
        left, right = _linear(node.left), _linear(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            right = _times(right, -1.0 if isinstance(node.op, ast.Sub) else 1.0)
            names = {**left[0], **right[0]}
            return {name: left[0].get(name, 0.0) + right[0].get(name, 0.0) for name in names}, left[1] + right[1]
        if isinstance(node.op, ast.Mult) and not (left[0] and right[0]):
            return _times(left, right[1]) if left[0] else _times(right, left[1])
        if isinstance(node.op, ast.Div) and not right[0] and right[1]:
            return _times(left, 1.0 / right[1])
    raise ValueError


def _times(sum_: tuple[dict[str, float], float], factor: float) -> tuple[dict[str, float], float]:
    return {name: factor * value for name, value in sum_[0].items()}, factor * sum_[1]
