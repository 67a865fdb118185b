"""Sums of costs, right to 2⁻⁵³ of themselves, and ∞ where they are beyond all numbers.

They are not rounded up, so that ten shares of 0.1 are 1: what is lost is far below the slack of a ledger's limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["added"]


def added(values: Iterable[float]) -> float:
    """Return the sum of numbers that are at least 0, rounded once.

    >>> added([0.1] * 10), added([1e308, 1e308])
    (1.0, inf)
    """
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf
