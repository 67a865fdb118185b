"""When a δ is too large for the number of records, and the warning that says so.

A mechanism that looks at each record by itself and publishes it whole with probability δ, else nothing of it, keeps
(0, δ): a neighbour changes one record, and the two outputs differ only where that one is published. Over n records it
publishes nδ of them on average. A single record is exposed with probability δ and not otherwise. It is all of them
together that a δ near 1/n does not protect: some record or other may come out whole, whatever ε is.
"""

from __future__ import annotations

import math

STRONG, MILD = 0.1, 0.01  # of a record, on average
ANY = 1e-3  # a δ above it is too large for any number of records
ROUNDING = 1.0 + 1e-9  # n times MILD/n may come out above MILD


class PlanningWarning(UserWarning):
    """A guarantee that reads better than it is.

    >>> issubclass(PlanningWarning, UserWarning)
    True
    """


def is_too_large(failure: float, n: int | None) -> bool:
    """Return whether a probability of outright failure among n records is worth a warning, not a word only."""
    return n is not None and n * failure > STRONG * ROUNDING


def delta_caution(failure: float, n: int | None, unit: str) -> str:
    """Return what is wrong with a probability of outright failure among n records; nothing where it is small.

    >>> delta_caution(1e-9, 1000, "record")
    ''
    >>> print(delta_caution(1e-3, 1000, "record"))
    δ=0.001 is not far below 1/n: ... publishes n times 0.001 = 1 whole records on average; ... at most 1e-05.
    """
    if n is None or n * failure <= MILD * ROUNDING:
        return ""
    number = f"n times {failure:.3g} = {n * failure:.2g}"
    within = f"it allows a mechanism that publishes {number} whole {unit}s on average"
    advice = f"write a δ of at most {_rounded_down(MILD / n)}."
    if not is_too_large(failure, n):
        return f"δ={failure:.3g} could be smaller for n={n}: {within}; {advice}"
    return f"δ={failure:.3g} is not far below 1/n: {within}; {advice}"


def spending_caution(delta: float, n: int | None, unit: str) -> str:
    """Return what to say of a δ to somebody who is about to spend it; nothing where it is not too large.

    How many records there are may be private. Then a δ is too large that is so for any number worth protecting.

    >>> spending_caution(1e-6, 1000, "record"), spending_caution(1e-6, None, "record")
    ('', '')
    >>> print(spending_caution(0.9, None, "record"))
    δ=0.9 is not small: it allows a mechanism that publishes each record whole with that probability; write 1e-6, say.
    """
    if n is not None:
        return delta_caution(delta, n, unit) if is_too_large(delta, n) else ""
    if delta <= ANY * ROUNDING:
        return ""
    within = f"it allows a mechanism that publishes each {unit} whole with that probability"
    return f"δ={delta:.3g} is not small: {within}; write 1e-6, say."


def _rounded_down(value: float) -> str:
    """Return a number of two digits that is not above ``value``: who takes the advice must not be cautioned again."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step * ROUNDING) * step:.2g}"
