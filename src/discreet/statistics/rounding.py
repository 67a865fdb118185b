"""To which step the numbers of a column are rounded, from a noisy count of multiples (``RoundedNumbers``).

Values near a quantile say little of that: between two whole numbers every candidate misses the quantile by as many
rows, so draws fall anywhere between them, and three of them look like those of numbers without steps.

**Steps** are 1 and 5 times powers of ten. Of numbers that are rounded to 1 a share of 4/5 is no multiple of 5, and of
those that are rounded to 5 half is no multiple of 10. So each step predicts what share of the rows each cell has, if
last digits are evenly spread; numbers that are not rounded predict that all rows are in the first one.
**The choice** is the step with the smallest sum of absolute deviations from the counts, which under Laplace noise is
the likeliest one, if it is clearly smaller than that of no step (``CLEAR``). Rows at 0 or at a bound are multiples of
many steps, or were clipped: they are counted apart, and if they are nearly all rows, the largest step is chosen.
Where it is unclear, noise decides. Then a step may be found where there is none, which makes an interval wider, or
the other way round: ``rounding_share`` is so large that this is rare. The constants were chosen with the populations
``TUNING`` of ``benchmarks/bench_coverage.py``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FINEST = 1e-6  # the smallest step, relative to the width of the bounds
EVIDENCE = 20.0  # rows times the ε of the counts
LEAST, MOST = 0.01, 0.04  # share of ε
UNKNOWN = 0.03  # the share where the number of rows is not public
CLEAR = 0.7  # by how much a step must predict the counts better, relative to the rows; at most it is 2
ATOMS = 0.75  # share of atoms from which on the largest step is chosen


def decimal_steps(low: float, high: float) -> tuple[float, ...]:
    """Return 1 and 5 times the powers of ten that are not wider than the bounds, from ``FINEST`` of their width on.

    >>> decimal_steps(1.0, 5.0)[-4:], decimal_steps(0.0, 120.0)[-4:]
    ((0.05, 0.1, 0.5, 1.0), (5.0, 10.0, 50.0, 100.0))
    """
    width = high - low
    powers = range(math.floor(math.log10(width * FINEST)), math.ceil(math.log10(width)) + 1)
    every = (float(f"{digit}e{power}") for power in powers for digit in (1, 5))
    return tuple(step for step in every if width * FINEST <= step <= width * (1.0 + 1e-9))


def rounding_share(rows: int | None, epsilon: float, max_rows: int) -> float:
    """Return which share of ε counts multiples, from public numbers.

    >>> [round(rounding_share(rows, 1.0, 1), 3) for rows in (100, 1000, 20_000, None)]
    [0.04, 0.02, 0.01, 0.03]
    """
    if rows is None:
        return UNKNOWN
    return min(max(EVIDENCE * max_rows / (max(rows, 1) * epsilon), LEAST), MOST)


def find_step(counts: Array, rows: float, steps: tuple[float, ...]) -> float | None:
    """Return the step that predicts the counts best; None where it is none of them.

    Parameters
    ----------
    counts : array of shape (len(steps) + 2,)
        Noisy counts of ``RoundedNumbers``.
    rows : float
        The number of rows, public or released.
    steps : tuple of float
        Those of ``decimal_steps``.

    Examples
    --------
    >>> find_step(np.array([3.0, 78.0, 11.0, 8.0, 0.0]), 100, (1.0, 5.0, 10.0))
    1.0
    >>> find_step(np.array([99.0, 2.0, 5.0]), 100, (1.0,)) is None
    True
    """
    cells, atoms = counts[:-1], float(counts[-1])
    if atoms > ATOMS * rows:
        return steps[-1]
    others = min(max(rows - atoms, 0.0), rows)
    deviations = np.abs(cells - others * predicted_shares(steps)).sum(axis=1)
    best = int(np.argmin(deviations[1:]))
    return steps[best] if deviations[0] - deviations[1 + best] > CLEAR * others else None


def predicted_shares(steps: tuple[float, ...]) -> Array:
    """Return which share of rows each cell but that of atoms has, for numbers without steps and for each step."""
    number = len(steps) + 1
    shares = np.zeros((number, number))
    shares[0, 0] = 1.0
    for first in range(1, number):
        left = 1.0
        for cell in range(first, number):
            more = 0.0 if cell == number - 1 else steps[cell - 1] / steps[cell]
            shares[first, cell] = left * (1.0 - more)
            left *= more
    return shares
