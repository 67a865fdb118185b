"""Histograms of columns: probabilities from a release, and quantile mapping of synthetic numbers to a histogram.

Gaussians are smooth, and columns of numbers often are not: most people have no capital gains, and work 40 hours. So a
column x drawn from the mixture, with distribution function F, becomes G⁻¹(F(x)). It keeps its ranks, and with them most
of its dependence on other columns, and gets the distribution G. The probability that G has in each of its ``cells`` is
the mixture's (conditional on the bounds) where the released one differs from it by no more than noise explains, and the
released one otherwise. Within a cell G has the shape of the mixture. Everything is a function of releases.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.door import Release
from discreet.models.noisy_sums import noise_std
from discreet.queries.counts.grids import EVEN, ColumnCells, Marginals
from discreet.queries.moments.components import Components
from discreet.queries.moments.mixed_moments import LEAST

__all__ = ["correct_cells", "estimate_probabilities", "match_histogram", "project_to_simplex"]

Array = NDArray[np.float64]

SIGNIFICANT = 3.5  # standard deviations of noise; among some hundred cells hardly one exceeds it by chance
FINE = 16  # points of the quantile map a cell


def _distribution(components: Components, column: int, points: Array) -> Array:
    """Return F, the distribution function of a column of the mixture, at these points."""
    stds = np.sqrt(components.covariances[:, column, column])
    z = (points[:, None] - components.means[:, column]) / stds
    return np.asarray(np.clip(ndtr(z) @ components.weights, 0.0, 1.0))


def correct_cells(components: Components, column: int, cells: ColumnCells, result: Array, noise: float) -> Array:
    """Return the probabilities of the cells: the released ones where they differ significantly, else the mixture's.

    Parameters
    ----------
    components : Components
    column : int
    cells : ColumnCells
        Of that column, in the units of the components.
    result : array
        The released probabilities.
    noise : float
        The variance of the noise on one of them.
    """
    own = np.diff(_distribution(components, column, cells.ends))
    own = own / own.sum() if own.sum() > 1e-9 else np.full(len(own), 1.0 / len(own))
    if not cells.single:  # a Gaussian's tail beyond a bound does not mean that rows are at the bound
        own = np.concatenate([[0.0], own, [0.0]])
    significant = np.abs(result - own) > SIGNIFICANT * math.sqrt(noise)
    shares = np.where(significant, np.maximum(result, 0.0), 0.0)
    left = max(1.0 - float(shares.sum()), 0.0)
    others = np.where(significant, 0.0, own)
    if others.sum() > 0.0:
        shares += others * (left / others.sum())
    return np.asarray(shares / shares.sum() if shares.sum() > 0.0 else own)


def match_histogram(components: Components, column: int, cells: ColumnCells, shares: Array, x: Array) -> Array:
    """Return G⁻¹(F(x)), within the bounds; ``shares`` are the probabilities of the cells under G."""
    u = _distribution(components, column, x)
    if cells.single:
        place = np.searchsorted(np.cumsum(shares)[:-1], u)
        return np.asarray(math.ceil(cells.low) + place, dtype=np.float64)
    grid = np.linspace(cells.low, cells.high, EVEN * FINE + 1)
    own = _distribution(components, column, grid)
    starts, sizes = own[:-1:FINE], np.diff(own[::FINE])
    within = (own[:-1].reshape(EVEN, FINE) - starts[:, None]) / np.maximum(sizes, 1e-300)[:, None]
    within = np.where(sizes[:, None] > 1e-9, within, np.arange(FINE) / FINE)  # uniform where the mixture has no mass
    before = shares[0] + np.concatenate([[0.0], np.cumsum(shares[1:-1])[:-1]])
    target = np.append((before[:, None] + shares[1:-1, None] * within).ravel(), 1.0 - shares[-1])
    inside = np.interp(u, np.maximum.accumulate(target), grid)
    at_low, at_high = u <= shares[0], u >= 1.0 - shares[-1]
    result = np.where(at_low, cells.low, np.where(at_high, cells.high, inside))
    return np.asarray(np.rint(result).clip(math.ceil(cells.low), math.floor(cells.high)) if cells.whole else result)


def estimate_probabilities(query: Marginals, release: Release) -> tuple[tuple[Array, ...], tuple[float, ...]]:
    """Return the probabilities of each column, categories first, and the variance of the noise of one probability."""
    tables = [release[f"table{j}"] for j in range(len(query.categories))]
    tables += [release[f"cells{j}"] for j in range(query.dimension)]
    units = release.size.rows
    noise = noise_std(release, "table0")
    # Every row is in every table, so that each sum estimates the same number
    rows = float(np.mean([table.sum() for table in tables])) if units is None else float(units)
    rows = max(rows, 2.0 * noise, 1.0)
    result = tuple(project_to_simplex(table + (rows - table.sum()) / len(table), rows) for table in tables)
    return result, ((noise / rows) ** 2,) * len(result)


def project_to_simplex(counts: Array, total: float, least: float = LEAST) -> Array:
    """Return the probabilities nearest to counts/total, each at least ``least``; total for any finite numbers.

    The Euclidean projection onto the simplex (Held, Wolfe and Crowder 1974), along the last axis.

    >>> project_to_simplex(np.array([60.0, 50.0, -10.0]), 100.0, least=0.0).round(2).tolist()
    [0.55, 0.45, 0.0]
    """
    size = counts.shape[-1]
    free = 1.0 - size * least
    shares = np.clip(counts / total, -1e6, 1e6) - least
    ordered = -np.sort(-shares, axis=-1)
    excess = (np.cumsum(ordered, axis=-1) - free) / np.arange(1, size + 1)
    inside = np.maximum((ordered > excess).sum(axis=-1, keepdims=True) - 1, 0)
    result = np.maximum(shares - np.take_along_axis(excess, inside, axis=-1), 0.0)
    result = result * (free / result.sum(axis=-1, keepdims=True)) + least
    return np.asarray(np.clip(result, least, 1.0))
