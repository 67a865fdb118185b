"""Conservative arithmetic: sums of costs, and root finding for the least sufficient noise or ε.

Sums have a relative error of at most 2⁻⁵³, and are ∞ where they overflow. They are not rounded up, so that ten
shares of 0.1 are 1: what is lost is far below the slack of a ledger's limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_TINY = 5e-324  # keeps the logarithm finite where a curve underflows to zero
_RELATIVE = 1e-13
MOST_STEPS = 2000


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
    if curve(low) <= target:
        return low
    if not curve(high) < target:
        return high

    def excess(x: float) -> float:
        value = curve(x)
        return math.log(max(min(value, 1e300), _TINY)) - math.log(max(target, _TINY))

    x = _find_root(excess, low, high, relative)
    step = max(abs(x) * relative, 1e-300)
    while x < high and not curve(x) <= target:
        x, step = x + step, step * 2.0
    return min(x, high)


def _find_root(function: Callable[[float], float], low: float, high: float, relative: float) -> float:
    """Return about where a function that falls from above 0 to below it is 0, by the method of Chandrupatla (1997).

    Of three points it takes the inverse quadratic through them where that is safe, and the middle elsewhere. It saves
    importing scipy.optimize, which takes longer than most private answers. An end is returned where the function is not
    above 0 at the lower or not below it at the upper one, by rounding alone.
    """
    a, b = low, high
    fa, fb = function(a), function(b)
    if not fa > 0.0 > fb:
        return high if fa > 0.0 else low
    share = 0.5
    for _ in range(MOST_STEPS):
        x = a + share * (b - a)
        fx = function(x)
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        least = (relative * abs(best) + 1e-300) / abs(b - a) if b != a else 1.0
        if fa == 0.0 or least > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        share = 0.5
        if phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = min(max(share, least), 1.0 - least)
    return max(a, b)  # of a curve that jumps or is no number somewhere


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
