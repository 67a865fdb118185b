"""Warnings where δ is too large for the number of records.

Consider a mechanism that publishes each record as a whole with probability δ, independently, and nothing otherwise. It
satisfies (0, δ): a neighbour changes one record, and the two outputs differ only where that record is published. Over n
records it publishes nδ of them on average. A single record is exposed only with probability δ. But the data set as a
whole is not protected by a δ near 1/n: some record may be published in full, whatever ε is.
"""

from __future__ import annotations

import math

STRONG, MILD = 0.1, 0.01  # expected exposed records above which to warn strongly or mildly
ANY = 1e-3  # a larger δ is too large for any number of records
ROUNDING = 1.0 + 1e-9  # n times MILD/n may come out above MILD


class PlanningWarning(UserWarning):
    """Warns of a guarantee that is weaker than it looks.

    >>> issubclass(PlanningWarning, UserWarning)
    True
    """


def is_too_large(failure: float, n: int | None) -> bool:
    """Return whether this probability of complete failure among n records deserves a warning."""
    return n is not None and n * failure > STRONG * ROUNDING


def delta_caution(failure: float, n: int | None, unit: str) -> str:
    """Describe the problem of this probability of complete failure among n records; empty where it is small.

    >>> delta_caution(1e-9, 1000, "record")
    ''
    >>> print(delta_caution(1e-3, 1000, "record"))
    δ=0.001 is not far below 1/n: ... publishes n times 0.001 = 1 whole records on average; ... at most 1e-05.
    """
    if n is None or n * failure <= MILD * ROUNDING:
        return ""
    number = f"n times {failure:.3g} = {n * failure:.2g}"
    within = f"it allows a mechanism that publishes {number} whole {unit}s on average"
    advice = f"write a δ of at most {_round_down(MILD / n)}."
    if not is_too_large(failure, n):
        return f"δ={failure:.3g} could be smaller for n={n}: {within}; {advice}"
    return f"δ={failure:.3g} is not far below 1/n: {within}; {advice}"


def spending_caution(delta: float, n: int | None, unit: str) -> str:
    """Describe the problem of a δ that is about to be spent; empty where it is not too large.

    The number of records may be private (None). Then only a δ that is too large for any number of records is reported.

    >>> spending_caution(1e-6, 1000, "record"), spending_caution(1e-6, None, "record")
    ('', '')
    >>> print(spending_caution(0.9, None, "record"))
    δ=0.9 is not small: it allows a mechanism that publishes each record whole with that probability; write ... 1e-6.
    """
    if n is not None:
        return delta_caution(delta, n, unit) if is_too_large(delta, n) else ""
    if delta <= ANY * ROUNDING:
        return ""
    within = f"it allows a mechanism that publishes each {unit} whole with that probability"
    return f"δ={delta:.3g} is not small: {within}; write for example 1e-6."


def _round_down(value: float) -> str:
    """Return ``value`` rounded down to two digits, so that following the advice causes no further warning."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step * ROUNDING) * step:.2g}"
