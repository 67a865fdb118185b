"""Whether a row can meet a condition at all, by what is declared: bounds and categories, and never a row.

Comparisons with numbers depend only on the order of a value among these numbers. So a condition on one column is tried
at every such place within the bounds (``list_values``). It can hold if it does at one of them. A conjunction is tried
column by column. What compares several columns otherwise counts as possible, so a condition that is refused is one that
no declared row meets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, Verbatim
from discreet.records.cells import format_day
from discreet.records.declared.conditions import (
    And,
    Condition,
    NumberComparison,
    Or,
    join_conditions,
    shorten,
)

Ends = Mapping[str, tuple[float, float]]


def check_possible(condition: Condition, ends: Ends, sizes: Mapping[str, int]) -> None:
    """Raise where no declared row can meet a condition.

    Parameters
    ----------
    condition : Condition
    ends : mapping of str to (float, float)
        The bounds of numeric columns, in the units of the condition.
    sizes : mapping of str to int
        How many categories each column of categories has.

    Examples
    --------
    >>> old = Condition.parse("age > 200", ["age"], {})
    >>> check_possible(old, {"age": (0.0, 105.0)}, {})
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: where='age > 200': expected a condition that a declared row can meet; 'age' is ...
    """
    if _can_hold(condition, ends, sizes):
        return
    dated = {part.column for part in list_comparisons(condition) if part.dated}
    declared = []
    for name in sorted(condition.columns & ends.keys()):
        low, high = (format_day(end) if name in dated else f"{end:g}" for end in ends[name])
        declared.append(f"{name!r} is declared from {low} to {high}")
    reason = ", ".join(declared) or "it contradicts itself"
    raise ArgumentError(
        "where", Verbatim(shorten(str(condition))), f"a condition that a declared row can meet; {reason}"
    )


def _can_hold(condition: Condition, ends: Ends, sizes: Mapping[str, int]) -> bool:
    if not condition.columns <= ends.keys() | sizes.keys():
        return True
    if len(condition.columns) == 1:
        (column,) = condition.columns
        x, codes = np.empty((1, 0)), np.empty((1, 0), dtype=np.int64)
        if column in ends:
            x = list_values(column, [condition], ends)[:, None]
        else:
            codes = np.arange(sizes[column])[:, None]
        return bool(np.any(condition.holds(x, codes, [column], [column])))
    if isinstance(condition, Or):
        return any(_can_hold(part, ends, sizes) for part in condition.parts)
    if isinstance(condition, And):
        by_columns = defaultdict[frozenset[str], list[Condition]](list)
        for part in condition.parts:
            by_columns[part.columns].append(part)
        return all(
            _can_hold(join_conditions(And, parts) if len(columns) == 1 else part, ends, sizes)
            for columns, parts in by_columns.items()
            for part in parts
        )
    return True


def list_values(name: str, conditions: Sequence[Condition], ends: Ends) -> NDArray[np.float64]:
    """Return values of a number within its bounds, such that each way in which conditions may compare it is tried.

    These are its bounds, the numbers in the conditions, and three values between each two of these. Where a condition
    compares two columns, the bounds of all its columns count too.

    >>> some = [Condition.parse("age > 4", ["age"], {})]
    >>> list_values("age", some, {"age": (0.0, 8.0)}).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    found = [one.other for condition in conditions for one in list_comparisons(condition)]
    columns = {name}.union(*(condition.columns for condition in conditions if any(isinstance(x, str) for x in found)))
    numbers = [end for other in columns & ends.keys() for end in ends[other]]
    points = np.unique([*numbers, *(other for other in found if not isinstance(other, str))])
    values = np.concatenate([points, *((1 - u) * points[:-1] + u * points[1:] for u in (0.25, 0.5, 0.75))])
    low, high = ends[name]
    return np.unique(values[(values >= low) & (values <= high)])


def list_comparisons(condition: Condition) -> list[NumberComparison]:
    """Return all comparisons of numbers in a condition."""
    own = [condition] if isinstance(condition, NumberComparison) else []
    return own + [one for part in condition.parts for one in list_comparisons(part)]
