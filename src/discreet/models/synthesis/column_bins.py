"""Bins: the few groups of a column's cells whose pairs are counted, chosen from the column's own histogram.

The noise of a pair table is the same for each of its cells, so a cell must hold many rows. Bins are adjacent cells of a
number. A cell with more than its share of rows is a bin of its own, as a spike is. The others are cut so that half of
the bins follow the rows and half follow their density to the power ⅓, as is best for the squared error of the middle
of a bin (Panter and Dite 1951). Then bins with too few rows are merged with a neighbour. Of a category's values those
with too few rows are one bin together. A gap is a bin of its own if it is more than noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_BINS = 16


def group_numbers(widths: Array, counts: Array, least: float, most: int = MOST_BINS) -> Whole:
    """Return the bin of each cell of a number.

    Parameters
    ----------
    widths, counts : arrays
        Of the cells, in order.
    least : float
        How many rows a bin should have.
    most : int
        The largest number of bins.

    Examples
    --------
    >>> group_numbers(np.ones(6), np.array([10.0, 10, 100, 10, 10, 1]), least=15.0, most=4).tolist()
    [0, 0, 1, 2, 2, 2]
    >>> group_numbers(np.ones(3), np.zeros(3), least=15.0).tolist()
    [0, 0, 0]
    """
    total = float(counts.sum())
    if total <= 0.0:  # no row has the column, as far as is known
        return np.zeros(len(counts), dtype=np.int64)
    heavy = counts > total / most
    number = max(1, min(most - int(heavy.sum()), int(float(counts[~heavy].sum()) / least)))
    shares = np.where(heavy, 0.0, counts / total)
    curved = np.where(heavy, 0.0, (counts / total) ** (1.0 / 3.0) * (widths / widths.sum()) ** (2.0 / 3.0))
    score = 0.5 * shares / max(shares.sum(), 1e-12) + 0.5 * curved / max(curved.sum(), 1e-12)
    middle = np.cumsum(score) - score / 2.0
    label = np.where(heavy, -1 - np.arange(len(counts)), np.minimum((middle * number).astype(np.int64), number - 1))
    groups = np.concatenate([[0], np.cumsum(label[1:] != label[:-1])]).astype(np.int64)
    return _merge(groups, counts, heavy, least)


def _merge(groups: Whole, counts: Array, heavy: NDArray[np.bool_], least: float) -> Whole:
    """Return the bins with those that are too small merged with a neighbour: one that is no spike, else the smaller."""
    while True:
        sizes = np.bincount(groups, counts)
        smallest = int(sizes.argmin())
        if len(sizes) == 1 or sizes[smallest] >= least:
            return groups
        spikes = np.bincount(groups, heavy) > 0
        near = [one for one in (smallest - 1, smallest + 1) if 0 <= one < len(sizes)]
        other = min(near, key=lambda one: (bool(spikes[one]), float(sizes[one])))
        first = min(smallest, other)
        groups = groups - (groups > first)


def group_categories(counts: Array, least: float, most: int, kept: NDArray[np.bool_] | None = None) -> Whole:
    """Return the bin of each category: one of its own, or the last, for all that have too few rows.

    Parameters
    ----------
    counts : array
    least : float
        How many rows a bin should have.
    most : int
        The largest number of bins. Where there are more, the last bin has the categories with the fewest rows.
    kept : array of bool, optional
        Whether a category has a bin of its own in any case; fewer than ``most``.

    Examples
    --------
    >>> group_categories(np.array([50.0, 3.0, 60.0, 4.0]), least=10.0, most=16).tolist()
    [0, 2, 1, 2]
    """
    kept = np.zeros(len(counts), dtype=bool) if kept is None else kept
    own = (counts >= least) | kept
    if len(counts) > most:
        own[np.argsort(-np.where(kept, np.inf, counts), kind="stable")[most - 1 :]] = False
    if (~own).sum() <= 1:
        own[:] = True
    groups = np.full(len(counts), int(own.sum()), dtype=np.int64)
    groups[own] = np.arange(own.sum())
    return groups


def shrink_rare(counts: Array, rare: NDArray[np.bool_], noise: float) -> Array:
    """Return counts of which those of rare categories are shrunk to their mean, by the share of noise in their spread.

    >>> shrink_rare(np.array([90.0, 1.0, -1.0, 3.0]), np.array([False, True, True, True]), 9.0).tolist()
    [90.0, 1.0, 1.0, 1.0]
    """
    if rare.sum() < 2:
        return counts
    some = counts[rare]
    spread = float(((some - some.mean()) ** 2).sum() / (len(some) - 1))
    factor = max(1.0 - noise / spread, 0.0) if spread > 0.0 else 0.0
    result = counts.copy()
    result[rare] = some.mean() + factor * (some - some.mean())
    return result
