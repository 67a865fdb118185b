"""From draws of a quantity to the picture of its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.arguments import ArgumentError
from discreet.pictures.intervals import Intervals
from discreet.pictures.panels import IntervalPanels
from discreet.pictures.picture import Array, Picture

__all__ = ["MOST_DRAWN", "picture_of_draws"]

MOST_DRAWN = 200  # numbers in one picture
INNER = 0.5  # what the thicker line holds


def picture_of_draws(name: str, draws: Array, names: Sequence[Sequence[Any]], level: float) -> Picture:
    """Return intervals of a quantity, one for each of its numbers.

    Columns have units of their own, so the last axis is a panel each. Of matrices over the same columns the picture has
    the square roots of the diagonals: standard deviations, where they are covariances.

    Parameters
    ----------
    name : str
        What the quantity is called.
    draws : array of shape (draws, …)
    names : sequence of sequences
        For each further axis what the places along it are called.
    level : float
        What the thin line holds.
    """
    if draws.ndim >= 3 and list(names[-1]) == list(names[-2]):
        draws, names = np.sqrt(np.abs(np.diagonal(draws, axis1=-2, axis2=-1))), names[:-1]
        name = f"square roots of the diagonal of {name}"
    if draws[0].size > MOST_DRAWN:
        raise ArgumentError("name", name, f"a quantity of at most {MOST_DRAWN} numbers; this one has {draws[0].size}")
    quantiles = [(1.0 - level) / 2.0, (1.0 - INNER) / 2.0, (1.0 + INNER) / 2.0, (1.0 + level) / 2.0]
    low, inner_low, inner_high, high = np.quantile(draws, quantiles, axis=0)
    what = f"posterior of {name}"
    limits = f"{100.0 * level:g} % of the posterior, thick ones {100.0 * INNER:g} %"
    mean = draws.mean(axis=0)
    if draws.ndim <= 2:
        labels = [name] if draws.ndim == 1 else [str(one) for one in names[0]]
        parts = [np.atleast_1d(part) for part in (mean, low, high, inner_low, inner_high)]
        return Intervals(parts[0], labels, parts[1], parts[2], (parts[3], parts[4]), what, name, limits)
    rows = [", ".join(map(str, place)) for place in _places(names[:-1])]
    shape = (len(rows), draws.shape[-1])
    parts = [part.reshape(shape) for part in (mean, low, high, inner_low, inner_high)]
    columns = [str(one) for one in names[-1]]
    return IntervalPanels(parts[0], parts[1], parts[2], rows, columns, (parts[3], parts[4]), what, limits)


def _places(names: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    places: list[tuple[Any, ...]] = [()]
    for axis in names:
        places = [(*before, one) for before in places for one in axis]
    return places
