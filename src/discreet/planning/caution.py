"""The one warning of this room, and when a δ is too large for the number of records.

A mechanism that looks at each record by itself and publishes it whole with probability δ, else nothing of it, keeps
(0, δ): a neighbour changes one record, and the two outputs differ only where that one is published. Over n records it
publishes nδ of them on average. So a δ near 1/n promises no single record anything, whatever ε is.
"""

from __future__ import annotations

__all__ = ["MILD", "STRONG", "PlanningWarning", "delta_caution", "too_large"]

STRONG, MILD = 0.1, 0.01  # of a record, on average


class PlanningWarning(UserWarning):
    """A promise that reads better than it is.

    >>> issubclass(PlanningWarning, UserWarning)
    True
    """


def too_large(failure: float, n: int | None) -> bool:
    """Return whether a probability of outright failure among n records is worth a warning, not a word only."""
    return n is not None and n * failure > STRONG


def delta_caution(failure: float, n: int | None, unit: str) -> str:
    """Return what is wrong with a probability of outright failure among n records; nothing where it is small.

    >>> delta_caution(1e-9, 1000, "record")
    ''
    >>> print(delta_caution(1e-3, 1000, "record"))
    δ=0.001 is not far below 1/n: ... publishes 1 whole records on average; write a δ of at most 1e-05.
    """
    if n is None or n * failure <= MILD:
        return ""
    within = f"it allows a mechanism that publishes {n * failure:.2g} whole {unit}s on average"
    advice = f"write a δ of at most {MILD / n:.2g}."
    if not too_large(failure, n):
        return f"δ={failure:.3g} could be smaller for n={n}: {within}; {advice}"
    return f"δ={failure:.3g} is not far below 1/n: {within}; {advice}"
