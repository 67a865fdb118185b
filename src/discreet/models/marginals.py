"""From a release of all columns' histograms to probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.door import Release
from discreet.models.released import noise_of
from discreet.queries.counts.marginals import Marginals
from discreet.queries.moments.mixed_moments import LEAST

__all__ = ["on_simplex", "probabilities"]

Array = NDArray[np.float64]


def probabilities(query: Marginals, release: Release) -> tuple[tuple[Array, ...], tuple[float, ...]]:
    """Return the probabilities of each column, categories before numbers, and the variance of the noise on one."""
    tables = [release[f"table{j}"] for j in range(len(query.categories))]
    tables += [release[f"cells{j}"] for j in range(query.dimension)]
    units = release.size.rows
    noise = noise_of(release, "table0")
    # Every row is in every table, so their sums are so many looks at one number.
    rows = float(np.mean([table.sum() for table in tables])) if units is None else float(units)
    rows = max(rows, 2.0 * noise, 1.0)
    found = tuple(on_simplex(table + (rows - table.sum()) / len(table), rows) for table in tables)
    return found, ((noise / rows) ** 2,) * len(found)


def on_simplex(counts: Array, total: float, least: float = LEAST) -> Array:
    """Return the probabilities nearest to counts/total, each at least ``least``; for whatever numbers there are.

    The Euclidean projection onto the simplex (Held, Wolfe and Crowder 1974), along the last axis.

    >>> on_simplex(np.array([60.0, 50.0, -10.0]), 100.0, least=0.0).round(2).tolist()
    [0.55, 0.45, 0.0]
    """
    size = counts.shape[-1]
    free = 1.0 - size * least
    shares = np.clip(counts / total, -1e6, 1e6) - least
    ordered = -np.sort(-shares, axis=-1)
    excess = (np.cumsum(ordered, axis=-1) - free) / np.arange(1, size + 1)
    inside = np.maximum((ordered > excess).sum(axis=-1, keepdims=True) - 1, 0)
    found = np.maximum(shares - np.take_along_axis(excess, inside, axis=-1), 0.0)
    found = found * (free / found.sum(axis=-1, keepdims=True)) + least
    return np.asarray(np.clip(found, least, 1.0))
