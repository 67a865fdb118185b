"""Private proportions: the share of rows that meet a condition, or have some categories of a column.

Numerator and denominator are one release: how many rows meet the condition, Y, and how many do not, Z (the query
``ConditionCounts``). Where the number of rows n is public, Y alone is released and divided by n.

**Intervals.** With released Ỹ and Z̃ and the true share p, (1 − p)·Ỹ − p·Z̃ is noise of a known distribution, with the
coefficients 1 − p and −p. The interval consists of all p in [0, 1] for which

    P(|noise| ≥ |(1 − p)·Ỹ − p·Z̃|) ≥ 1 − level.

It holds the share with probability ``level`` (Fieller 1954), however few rows there are. For the population the
sampling error is added to the noise; nothing further is released (``population``, "A share").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, format_names, iterable, one_of
from discreet.door import Curator, Declarations
from discreet.door.inquiry import Inquiry, Measure
from discreet.noise import Bits
from discreet.queries.adaptors import Weighted
from discreet.queries.counts.condition_counts import ConditionCounts
from discreet.queries.question import Query
from discreet.records import Condition
from discreet.records.cells import category_key
from discreet.records.declared.conditions import And, Membership, Not, NumberComparison, quote_name
from discreet.scales import place_of
from discreet.statistics.groups import By, Groups, name_groups
from discreet.statistics.population import largest_clusters, share_interval
from discreet.statistics.request import Request, check_weights, statistic, unwrap
from discreet.statistics.statistic import Statistic, group_facts

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Proportion(Statistic):
    """A private proportion, from 0 to 1.

    Attributes
    ----------
    condition : str
        What the rows meet that it is the share of.
    """

    condition: str

    _possible: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @property
    def _asked_columns(self) -> set[str]:
        """The columns of the condition, which are all that were read."""
        return {*(self.release.declared.get("columns") or ())}

    def _rows_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for each share of these rows that holds it with this probability.

        It accounts for the noise, for the rows that count (``which_rows``), but not for how these people were sampled.
        """
        return self._each_interval(level, clusters=0)

    def _population_interval(self, level: float) -> tuple[Any, Any]:
        """Return an interval for each share of the population from which these rows were sampled."""
        return self._each_interval(level, largest_clusters(self.release.declared))

    def _each_interval(self, level: float, clusters: int) -> tuple[Any, Any]:
        counts = self.release["counts"].reshape(np.size(self.value), -1)
        rows = float(max(self.release.size.rows or 0, 1)) if counts.shape[1] == 1 else None
        ends = [share_interval(self._noise, met, 0, rows, clusters, level) for met in counts]
        low, high = np.array(ends).T
        return (low, high) if self.groups is not None else (unwrap(low[0]), unwrap(high[0]))


@dataclass(frozen=True, kw_only=True)
class ProportionRequest(Request[Proportion]):
    """A request for the share of rows that meet a condition.

    Attributes
    ----------
    condition : Condition
    groups : Groups or None
    weights : (int, float) or None
        The index of the column of weights, and the largest weight.
    """

    condition: Condition
    groups: Groups | None
    weights: tuple[int, float] | None

    def plan(self) -> Inquiry[Proportion]:
        """Return one question for all shares."""
        curator = self.curator
        public = curator.size.rows is not None and self.groups is None and self.weights is None
        condition = _on_values(self.condition, dict(zip(curator.columns, curator.scales, strict=True)))
        sizes = tuple(len(values) for values in curator.categories)
        query: Query = ConditionCounts(condition, curator.columns, curator.category_columns, sizes, not public)
        if self.weights is not None:
            query = Weighted(query, *self.weights)
        query = query if self.groups is None else self.groups.ask(query)

        def answer(measure: Measure) -> Proportion:
            release = measure(query)
            counts = release["counts"].reshape(1 if self.groups is None else len(self.groups), -1)
            rows = float(max(curator.size.rows or 0, 1)) if public else np.maximum(counts.sum(axis=1), 1.0)
            shares = np.clip(counts[:, 0] / rows, 0.0, 1.0)
            return Proportion.from_releases(
                shares if self.groups is not None else float(shares[0]),
                curator,
                self.guarantee,
                [release],
                columns=(str(self.condition),),
                **group_facts(self.groups),
                single=True,
                condition=str(self.condition),
            )

        return self.make_inquiry([query], answer)


def _on_values(condition: Condition, scales: Mapping[str, str]) -> Condition:
    """Return a condition about cells as one about the values that queries see: logarithms for log columns."""
    if isinstance(condition, And | Not):  # an Or too
        return replace(condition, parts=tuple(_on_values(part, scales) for part in condition.parts))
    if not isinstance(condition, NumberComparison) or "log" not in {scales.get(name) for name in condition.columns}:
        return condition
    if isinstance(condition.other, str):
        if scales[condition.other] != scales[condition.column]:
            raise ArgumentError("column", str(condition), "columns of one scale to compare, not a log one with another")
        return condition
    other = condition.other
    return replace(condition, other=math.log(other) if other > 0.0 else -1e300)  # below every logarithm


def _condition_of(curator: Curator, column: Any, of: Any) -> Condition:
    """Return what a column, some of its categories, or a text says as a condition."""
    if not isinstance(column, str):
        known = format_names((*curator.columns, *curator.category_columns))
        raise ArgumentError("column", UNSHOWN, f"a condition as text, or the name of a column, one of {known}")
    if column in curator.category_columns:
        values = curator.categories[curator.category_columns.index(column)]
        return _membership(column, values, of)
    scales = dict(zip(curator.columns, curator.scales, strict=True))
    if of is not None:
        raise ArgumentError("of", of, f"None, since {column!r} is not a column of categories; write a condition")
    if column not in curator.columns:
        if not any(symbol in column for symbol in "<>=") and " in " not in column:
            names = (*curator.columns, *curator.category_columns)
            more = f"a condition, or a declared column, {one_of(column, names)}"
            raise ArgumentError("column", column, more)
        categories = dict(zip(curator.category_columns, curator.categories, strict=True))
        return Condition.parse(column, scales, categories)
    place = curator.columns.index(column)
    low, high = np.asarray(curator.space.low)[place], np.asarray(curator.space.high)[place]
    if scales[column] != "linear" or (low, high) != (0.0, 1.0):
        write = f"for example '{quote_name(column)} >= 1'"
        raise ArgumentError("column", column, "a column of 0 and 1, one of categories, or a condition", write=write)
    return NumberComparison(column, "==", 1.0)


def _membership(column: str, values: tuple[Any, ...], of: Any) -> Condition:
    """Return the condition that a column has one of some categories; by default True or 1."""
    keys = [category_key(value) for value in values]
    if of is None:
        chosen = [key for key in (category_key(True), category_key(1)) if key in keys][:1]
        if not chosen:
            raise ArgumentError("of", None, f"a category of {column!r}, or some, of {format_names(values)}")
    else:
        several = list(of) if iterable(of) and not isinstance(of, str) else [of]
        chosen = [category_key(one) for one in several]
        if not chosen or not {*chosen} <= {*keys}:
            raise ArgumentError("of", of, f"a category of {column!r}, or some, of {format_names(values)}")
    codes = tuple(code for code, key in enumerate(keys) if key in chosen)
    return Membership(column, codes, tuple(values[code] for code in codes), within=True)


@statistic()
def proportion(
    data: Any,
    column: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    of: Any = None,
    by: By | None = None,
    weights: str | int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Proportion]:
    """Return the private share of rows that meet a condition, or have some categories of a column.

    Parameters
    ----------
    data, epsilon, delta, by, weights, bits
        As in ``mean``.
    column : str
        A column of categories, a column of numbers that is declared from 0 to 1 and holds 0 and 1, or a condition as
        text: ``"age >= 65 and smoker == 'yes'"`` (``discreet.records.Condition``). It is the share among the rows that
        have all columns of the condition.
    of : category or list of them, optional
        Of a column of categories: the share of rows with one of these. By default True, or 1.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Proportion

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from discreet import Category, Number, Schema, statistics
    >>> people = pd.DataFrame({"age": np.arange(10_000) % 100, "smoker": ["yes", "no", "no", "no"] * 2500})
    >>> schema = Schema({"age": Number(0, 120), "smoker": Category(["no", "yes"])})
    >>> smokers = statistics.proportion(people, "smoker", of="yes", epsilon=1.0, schema=schema)
    >>> old = statistics.proportion(people, "age >= 65", epsilon=1.0, schema=schema)
    >>> round(smokers.value, 2), round(old.value, 2)
    (0.25, 0.35)
    """
    curator, guarantee = Request.open(data, [], epsilon, delta, declared)
    condition = _condition_of(curator, column, of)
    weighed = None if weights is None else curator.columns[place_of("weights", weights, curator.columns)]
    grouping = name_groups(by, curator)
    curator = curator.only([name for name in (*condition.columns, weighed, *grouping) if name is not None])
    return ProportionRequest(
        curator=curator,
        guarantee=guarantee,
        bits=bits,
        condition=condition,
        groups=Groups.of(grouping, curator),
        weights=None if weighed is None else check_weights(curator, weighed),
    )
