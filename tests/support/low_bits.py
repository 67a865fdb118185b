"""Attacks on the low bits of released numbers: what an attacker sees who does not look at how large they are.

Mironov (2012) told neighbours apart by which floats a naive sum of a value and noise can be; Haney, Desfontaines,
Hartman, Shrestha and Hay (2022) by how many bits of it are in use. An attack here is a function from numbers to marks.
It learns from one half of the releases of two neighbours which marks are the likelier under which of them, and guesses
for the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import beta

__all__ = ["MARKS", "beats", "best_guess", "guessed", "image_marks", "on_grid", "step_marks", "within_cells"]

Array = np.ndarray
Marks = Callable[[Array], Array]


def _parts(values: Array) -> tuple[Array, Array]:
    """Return whole mantissas of 53 bits, and exponents."""
    fractions, exponents = np.frexp(values)
    return np.abs(fractions * 2.0**53).astype(np.int64), exponents.astype(np.int64)


def _zeros(whole: Array) -> Array:
    """Return how many of the lowest bits are zero."""
    lowest = whole & -whole
    return np.where(whole == 0, 53, np.log2(np.maximum(lowest, 1)).astype(np.int64))


def trailing(values: Array) -> Array:
    """Return how many bits at the end of the mantissa are not in use."""
    return _zeros(_parts(values)[0])


def low_byte(values: Array) -> Array:
    """Return the last eight bits of the mantissa."""
    return _parts(values)[0] & 255


def precision(values: Array) -> Array:
    """Return the largest power of two that a number is a multiple of."""
    whole, exponents = _parts(values)
    return np.where(whole == 0, 2000, exponents + _zeros(whole))


def precision_and_size(values: Array) -> Array:
    """Return the exponent and the unused bits together."""
    return np.clip(_parts(values)[1], -200, 200) * 64 + trailing(values)


# Marks of the float alone. How large a number is shows in some of them, so neighbours can be guessed as well as the
# promise allows.
MARKS: dict[str, Marks] = {
    "trailing zeros": trailing,
    "low byte": low_byte,
    "precision": precision,
    "precision and size": precision_and_size,
}


def nearest_steps(values: Array, grid: float) -> tuple[Array, Array]:
    """Return the nearest number of steps, and whether a number is exactly what that many steps of the grid are."""
    steps = np.rint(values / grid)
    result = np.zeros(values.shape, dtype=np.bool_)
    for nearby in (0.0, 1.0, -1.0):
        result |= (steps + nearby) * grid == values
    return steps.astype(np.int64), result


def on_grid(values: Array, grid: float) -> bool:
    """Return whether all numbers are steps of the grid."""
    return bool(nearest_steps(values, grid)[1].all())


def step_marks(grid: float, bits: int) -> dict[str, Marks]:
    """Return marks of which nothing is left of a value that was put on the grid: these must be chance."""
    return {
        "on the grid": lambda values: nearest_steps(values, grid)[1],
        "parity of steps": lambda values: nearest_steps(values, grid)[0] & 1,
        "low bits of steps": lambda values: nearest_steps(values, grid)[0] & (2**bits - 1),
    }


def image_marks(value: float, other: float, scale: float) -> Marks:
    """Return Mironov's mark: whether a number can be one of two values plus −scale·ln(j·2⁻⁵²) with a sign."""

    def possible(number: float, start: float) -> bool:
        about = math.exp(-abs(number - start) / scale) * 2.0**52
        for j in range(max(int(about) - 2, 1), int(about) + 4):
            noise = scale * math.log(j * 2.0**-52)
            if number in (start + noise, start - noise):
                return True
        return False

    def marks(values: Array) -> Array:
        return np.array([2 * possible(one, value) + possible(one, other) for one in values.tolist()])

    return marks


def within_cells(values: Array, low: float, high: float, cells: int, places: int) -> bool:
    """Return whether all numbers are places of the cells that an interval is cut into."""
    near = np.rint((values - low) / (high - low) * cells * places - 0.5)
    result = np.zeros(values.shape, dtype=np.bool_)
    for nearby in (0.0, 1.0, -1.0):
        cell, place = np.divmod(near + nearby, places)
        t = (cell + (place + 0.5) / places) / cells
        result |= low * (1.0 - t) + high * t == values
    return bool(result.all())


def guessed(one: Array, other: Array, marks: Marks) -> tuple[int, int]:
    """Return how many of the second halves were guessed, and of how many, having learnt from the first halves."""
    both = [marks(values) for values in (one, other)]
    known, place = np.unique(np.concatenate(both), return_inverse=True)
    places = np.split(place, [len(one)])
    learnt = [np.bincount(part[: len(part) // 2], minlength=len(known)) for part in places]
    likelier = learnt[1] > learnt[0]
    hits = [likelier[part[len(part) // 2 :]] == side for side, part in enumerate(places)]
    return int(sum(part.sum() for part in hits)), sum(map(len, hits))


def beats(hits: int, trials: int, chance: float, level: float) -> bool:
    """Return whether guessing is better than ``chance`` by the lower limit of Clopper and Pearson at 1 − level."""
    return hits > 0 and float(beta.ppf(level, hits, trials - hits + 1)) > chance


def best_guess(one: Array, other: Array, marks: dict[str, Marks]) -> tuple[str, int, int]:
    """Return the mark that guessed best, how often, and of how many."""
    result = {name: guessed(one, other, each) for name, each in marks.items()}
    name = max(result, key=lambda each: result[each][0])
    return name, *result[name]
