"""Fewer cases than the full product of several parameters: every two values of two parameters meet in one of them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations, product
from typing import Any

__all__ = ["pairwise"]


def pairwise(*parameters: Collection[Any]) -> list[tuple[Any, ...]]:
    """Return cases in which every value of a parameter meets every value of every other one at least once.

    Each case is the one of the full product that has most pairs that no case before it has had; of equals the first.
    """
    listed = [list(values) for values in parameters]
    every = list(product(*(range(len(values)) for values in listed)))
    pairs = {case: frozenset(combinations(enumerate(case), 2)) for case in every}
    missing = set().union(*pairs.values())
    chosen = []
    while missing:
        case = max(every, key=lambda case: len(pairs[case] & missing))
        missing -= pairs[case]
        chosen.append(tuple(values[i] for values, i in zip(listed, case, strict=True)))
    return chosen
