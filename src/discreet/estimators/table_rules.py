"""What the owner of a table knows beforehand: combinations that cannot occur.

Rules are public. They are checked against the declarations before anything is spent: rules that forbid every row, or
every row with one of the declared categories, are refused where the declarations alone show it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.records import Condition
from discreet.records.declared.possible_rows import list_values

MOST_ROWS = 10**6  # that are tried


def check_zeros(
    zeros: Sequence[Condition],
    numbers: Mapping[str, tuple[float, float]],
    whole: Sequence[str],
    categories: Mapping[str, Sequence[Any]],
    gaps: Sequence[str],
    derived: Collection[str] = (),
) -> None:
    """Raise where zeros forbid every row, or every row with a declared category.

    A condition compares columns with a few numbers, so it is tried on all combinations of these numbers, of three
    values between each two of them, and of the categories. A column that may be missing is also tried as missing, for
    a category: a condition says nothing of a gap. Where there are too many combinations nothing is refused.

    Parameters
    ----------
    zeros : sequence of Condition
    numbers : mapping of str to (float, float)
        The declared bounds of each number, in its own units.
    whole : sequence of str
        The numbers that are whole.
    categories : mapping of str to sequence
        The declared values.
    gaps : sequence of str
        The columns that may be missing.
    derived : collection of str
        The columns that follow from others. Any values of them are tried; what a rule says of one of their categories
        it says of the others.
    """
    for names, rules in _connected(zeros):
        tried = {name: _values(name, rules, numbers, name in whole) for name in names if name in numbers}
        tried |= {name: np.arange(len(categories[name]), dtype=np.float64) for name in names if name in categories}
        tried = {name: np.append(some, np.nan) if name in gaps else some for name, some in tried.items()}
        if math.prod(map(len, tried.values())) > MOST_ROWS:
            continue
        grid = np.stack([one.ravel() for one in np.meshgrid(*tried.values(), indexing="ij")], axis=1)
        there = ~np.isnan(grid)
        forbidden = np.zeros(len(grid), dtype=bool)
        for rule in rules:
            known = there[:, [names.index(name) for name in rule.columns]].all(axis=1)
            codes = np.nan_to_num(grid).astype(np.int64)
            forbidden |= known & np.asarray(rule.holds(grid, codes, names, names))
        if forbidden[there.all(axis=1)].all():
            raise ArgumentError(
                "zeros", UNSHOWN, f"rules that allow some rows; every possible row meets {_join(rules)}"
            )
        for place, name in enumerate(names):
            for code, value in enumerate(categories.get(name, ()) if name not in derived else ()):
                if forbidden[grid[:, place] == code].all():
                    raise ArgumentError(
                        "zeros",
                        UNSHOWN,
                        f"rules that allow some rows with each category; every row with {name} == {value!r} meets "
                        f"{_join(rules)}: leave that category out of the schema, or change the rule",
                    )


def _join(rules: Sequence[Condition]) -> str:
    return " or ".join(f"({rule})" for rule in rules)


def _values(name: str, rules: Sequence[Condition], numbers: Mapping[str, tuple[float, float]], whole: bool) -> Any:
    """Return the values of a number to try; of a whole number the next whole ones."""
    values = list_values(name, rules, numbers)
    if not whole:
        return values
    values = np.unique([np.floor(values) - 1.0, np.floor(values), np.floor(values) + 1.0])
    low, high = numbers[name]
    return values[(values >= low) & (values <= high)]


def _connected(zeros: Sequence[Condition]) -> list[tuple[list[str], list[Condition]]]:
    """Return the rules in groups that share no column, each with its columns."""
    groups: list[tuple[set[str], list[Condition]]] = []
    for rule in zeros:
        apart = [group for group in groups if not group[0] & rule.columns]
        joined = [group for group in groups if group[0] & rule.columns]
        names = set(rule.columns).union(*(group[0] for group in joined))
        groups = [*apart, (names, [*(one for group in joined for one in group[1]), rule])]
    return [(sorted(names), rules) for names, rules in groups]
