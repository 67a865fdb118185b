"""Conservative arithmetic: sums of costs, and root finding for the least sufficient noise or ε.

Sums have a relative error of at most 2⁻⁵³, and are ∞ where they overflow. They are not rounded up, so that ten
shares of 0.1 are 1: what is lost is far below the slack of a ledger's limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_TINY = 5e-324  # keeps the logarithm finite where a curve underflows to zero
_RELATIVE = 1e-13


def add_up(values: Iterable[float]) -> float:
    """Return the sum of numbers that are at least 0, rounded once.

    >>> add_up([0.1] * 10), add_up([1e308, 1e308])
    (1.0, inf)
    """
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def find_least(
    curve: Callable[[float], float], target: float, low: float, high: float, relative: float = _RELATIVE
) -> float:
    """Return about the smallest x in [low, high] where the non-increasing ``curve`` is at most ``target`` > 0.

    ``curve(x) <= target`` was checked at the result. It must hold at ``high``, which is returned where it fails by
    rounding alone. Values are compared on a logarithmic scale, since privacy curves fall by hundreds of orders of
    magnitude.
    """
    from scipy.optimize import brentq

    if curve(low) <= target:
        return low
    if not curve(high) < target:
        return high

    def excess(x: float) -> float:
        value = curve(x)
        return math.log(max(min(value, 1e300), _TINY)) - math.log(max(target, _TINY))

    x = float(brentq(excess, low, high, xtol=1e-300, rtol=relative))
    step = max(abs(x) * relative, 1e-300)
    while curve(x) > target:
        x, step = x + step, step * 2.0
    return min(x, high)


def find_least_positive(
    curve: Callable[[float], float], target: float, start: float, relative: float = _RELATIVE
) -> float:
    """Return about the smallest x > 0 with ``curve(x) <= target``, without a bracket; ∞ where there is none.

    The bracket grows from ``start`` by doubling, and shrinks by halving where ``start`` is already enough.
    """
    high = min(start, 1e300)
    while not curve(high) <= target:
        high *= 2.0
        if high > 1e300:
            return math.inf
    low = high / 2.0
    while curve(low) <= target:
        high, low = low, low / 2.0
        if low < 1e-300:
            return high
    return find_least(curve, target, low, high, relative)
