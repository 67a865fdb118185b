"""What pair tables should be: released counts, made consistent with one another and with the columns' histograms.

With N rows, bins of all columns side by side, σ² the noise variance of a pair count and m_j the number of bins of
column j, every pair table of column j has row sums that estimate the column's histogram, with variance m·σ². They are
combined with the histogram itself by inverse variances. Each table is then shifted, by least squares, so that its
margins are these, and along the trend so that it agrees with the released products of scores.

**Trends.** z is the score of a bin of a number: its rank, with mean 0 and variance 1 under the column's histogram. The
trend of two numbers is T = Σ_ab z_a·z_b·n_ab/N, their rank correlation. The table has T + noise of variance
σ²·Σz_a²·Σz_b²/N². The products of scores say it with far less noise, since their sum does not add up the noise of all
cells. Adding (T' − T)·N·p_a·z_a·p_b·z_b to the table makes its trend T' and changes no margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.models.synthesis.column_trees import MOST_ROWS, to_shares
from discreet.models.synthesis.number_links import NumberLinks, link_numbers

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

LEAST = 0.5  # rows that every bin has
LEAST_EIGENVALUE = 0.02  # of the numbers' correlations
PROJECTIONS = 50


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """The bins of all columns side by side, and their histograms.

    Attributes
    ----------
    rows : float
        N.
    counts : tuple of arrays
        For each column the estimated number of rows in each bin.
    noise : tuple of arrays
        The variances of these.
    ordered : tuple of int
        For each column how many of its bins are in order: those of a number, without a gap's, which is the last; 0 for
        categories.
    values : tuple of arrays
        For each number the mean value in each of these bins, in increasing order; nothing for categories.
    scored : BinnedColumns or None
        The columns by whose ranks products were counted; None for these.
    """

    rows: float
    counts: tuple[Array, ...]
    noise: tuple[Array, ...]
    ordered: tuple[int, ...]
    values: tuple[Array, ...]
    scored: BinnedColumns | None = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each column has."""
        return tuple(map(len, self.counts))

    @cached_property
    def starts(self) -> Whole:
        """Where the bins of each column begin, and where the last end."""
        return np.cumsum([0, *self.sizes], dtype=np.int64)

    def places(self, column: int) -> slice:
        """Return the bins of a column."""
        return slice(int(self.starts[column]), int(self.starts[column + 1]))

    @property
    def numbers(self) -> list[int]:
        """The columns whose bins are in order."""
        return [column for column, ordered in enumerate(self.ordered) if ordered]

    def ranks(self, column: int) -> Array:
        """Return the score of each bin of a number, from −1 to 1: its rank, with mean 0; 0 for a gap."""
        if self.scored is not None:
            return self.scored.ranks(column)
        counts = self.counts[column][: self.ordered[column]]
        share = np.maximum(counts, 0.0) + 1e-9 * self.rows
        share = share / share.sum()
        rank = np.cumsum(share) - share / 2.0
        rank = rank - (share * rank).sum()
        most = float(np.abs(rank).max())
        rank = rank / most if most > 0.0 else np.ones_like(rank)
        return np.concatenate([rank, np.zeros(len(self.counts[column]) - len(rank))])


@dataclass(frozen=True, eq=False)
class PairTargets:
    """Consistent targets of a pairwise model.

    Attributes
    ----------
    columns : BinnedColumns
    one : array of shape (L,)
        The number of rows in each bin.
    pairs : array of shape (L, L)
        The number of rows in each pair of bins; 0 within a column.
    noise : array of shape (d, d)
        The variance of a count of each pair table.
    scores : array of shape (L, d)
        z of the bins of each number in its own column, 0 elsewhere.
    trends, trend_noise : arrays of shape (d, d)
        T of each pair of numbers, and its variance.
    target : int or None
        The column whose pairs matter most.
    mixed : bool
        Whether priors are mixtures (``pairwise_fit``); in files of earlier versions they are not.
    """

    columns: BinnedColumns
    one: Array
    pairs: Array
    noise: Array
    scores: Array
    trends: Array
    trend_noise: Array
    target: int | None = None
    mixed: bool = False

    @property
    def shares(self) -> Array:
        """The probability of each bin."""
        return self.one / self.columns.rows

    @cached_property
    def correlations(self) -> Array:
        """The rank correlations of the numbers among rows in which both are there."""
        numbers = self.columns.numbers
        return _among_present(self.columns, self.one, self.trends)[np.ix_(numbers, numbers)]

    @cached_property
    def normal_correlations(self) -> Array:
        """The correlations of normal scores with the numbers' rank correlations, 2·sin(πρ/6) (Pearson 1907)."""
        return np.asarray(2.0 * np.sin(np.pi / 6.0 * self.correlations))

    @cached_property
    def links(self) -> NumberLinks:
        """In which scores numbers are tied, and what follows for their tables."""
        return link_numbers(self)

    def ordered(self, column: int) -> tuple[slice, Array]:
        """Return the places of the bins of a number without a gap's, and their shares."""
        first = int(self.columns.starts[column])
        places = slice(first, first + self.columns.ordered[column])
        return places, self.one[places] / self.one[places].sum()


def standard_scores(columns: BinnedColumns, one: Array) -> Array:
    """Return z of each bin of a number, in the column of that number; shape (L, d)."""
    result = np.zeros((len(one), len(columns.sizes)))
    for column in columns.numbers:
        first, ordered = int(columns.starts[column]), columns.ordered[column]
        share = one[first : first + ordered] / columns.rows
        rank = columns.ranks(column)[:ordered]
        rank = rank - (share * rank).sum() / share.sum()
        spread = float((share * rank**2).sum())
        if spread > 1e-12:
            result[first : first + ordered, column] = rank / np.sqrt(spread)
    return result


def add_coarse(table: Array, noise: float, levels: tuple[Whole, Whole], coarse: Array, known: float) -> float:
    """Move a released table so that its sums over levels agree with another release of these sums.

    A block of k cells has the sum s of variance k·σ²; with another estimate c of variance w the best one is s + (c −
    s)·k·σ²/(k·σ² + w), and each cell of the block moves by a k-th of the difference.

    Parameters
    ----------
    table : array, changed
    noise : float
        The variance σ² of a count.
    levels : pair of int arrays
        The level of each row and of each column of the table.
    coarse : array
        The other estimate of the sums.
    known : float
        Its variance.

    Returns
    -------
    float
        The mean variance of a count afterwards.
    """
    rows, columns = (np.eye(int(one.max()) + 1)[one] for one in levels)
    cells = np.outer(rows.sum(axis=0), columns.sum(axis=0))
    weight = cells * noise / (cells * noise + known)
    table += rows @ (weight * (coarse - rows.T @ table @ columns) / cells) @ columns.T
    return noise * float(1.0 - weight.sum() / cells.sum())


def make_targets(
    columns: BinnedColumns,
    tables: dict[tuple[int, int], Array],
    noise: Array,
    products: Array | None,
    spread: float,
    target: int | None = None,
    *,
    mixed: bool = False,
) -> PairTargets:
    """Return consistent targets.

    Parameters
    ----------
    columns : BinnedColumns
    tables : dict of (int, int) to array
        The released counts of each pair of columns i < j.
    noise : array of shape (d, d)
        Their variances, one for each table.
    products : array of shape (d, d) or None
        Σ over rows of the product of the ranks of two numbers; None where none was released.
    spread : float
        The variance of one of these.
    target : int, optional
        The column whose pairs matter most.
    mixed : bool
        Whether priors are mixtures.
    """
    d, rows = len(columns.sizes), columns.rows
    size = int(columns.starts[-1])
    pairs = np.zeros((size, size))
    for (i, j), table in tables.items():
        pairs[columns.places(i), columns.places(j)] = np.clip(table, -MOST_ROWS, MOST_ROWS)
        pairs[columns.places(j), columns.places(i)] = pairs[columns.places(i), columns.places(j)].T
    # y/v + Σ_j (row sums)/(m_j·σ²), over 1/v + Σ_j 1/(m_j·σ²)
    own = np.concatenate(columns.noise)
    value, weight = np.concatenate(columns.counts) / own, 1.0 / own
    for i, j in combinations(range(d), 2):
        for one, other in ((i, j), (j, i)):
            inverse = 1.0 / (columns.sizes[other] * noise[i, j])
            value[columns.places(one)] += inverse * pairs[columns.places(one), columns.places(other)].sum(axis=1)
            weight[columns.places(one)] += inverse
    one_way = value / weight
    for column in range(d):
        here = columns.places(column)
        one_way[here] = np.maximum(to_shares(one_way[here], rows) * rows, LEAST)
        one_way[here] *= rows / one_way[here].sum()
    for i, j in combinations(range(d), 2):
        a, b = columns.places(i), columns.places(j)
        table = pairs[a, b]
        left = (one_way[a] - table.sum(axis=1)) / table.shape[1]
        right = (one_way[b] - table.sum(axis=0)) / table.shape[0]
        pairs[a, b] = table + left[:, None] + right[None, :] - left.sum() / table.shape[0]
        pairs[b, a] = pairs[a, b].T
    scores = standard_scores(columns, one_way)
    squares = (scores**2).sum(axis=0)
    trends, trend_noise = scores.T @ pairs @ scores / rows, np.outer(squares, squares) * noise / rows**2
    if products is not None:
        trends, trend_noise = _combine_trends(columns, one_way, trends, trend_noise, products, spread)
    trends = _make_possible(columns, one_way, trends)
    weighted = scores * (one_way / rows)[:, None]
    pairs += rows * weighted @ (trends - scores.T @ pairs @ scores / rows) @ weighted.T
    for column in range(d):
        pairs[columns.places(column), columns.places(column)] = 0.0
    return PairTargets(columns, one_way, pairs, noise, scores, trends, trend_noise, target, mixed)


def _combine_trends(
    columns: BinnedColumns, one_way: Array, trends: Array, noise: Array, products: Array, spread: float
) -> tuple[Array, Array]:
    """Return trends from tables and from products of ranks, by inverse variances, and their variances."""
    rows, d = columns.rows, len(columns.sizes)
    mean, deviation = np.zeros(d), np.zeros(d)
    for column in columns.numbers:
        share, rank = one_way[columns.places(column)] / rows, columns.ranks(column)
        mean[column] = (share * rank).sum()
        deviation[column] = np.sqrt(max(float((share * rank**2).sum()) - mean[column] ** 2, 1e-12))
    scale = np.outer(deviation, deviation)
    known = (scale > 1e-9) & (noise > 0.0)
    with np.errstate(all="ignore"):
        direct = np.clip((products / rows - np.outer(mean, mean)) / scale, -1.0, 1.0)
        direct_noise = spread / (rows * scale) ** 2
        weight = np.where(known, noise / (noise + direct_noise), 0.0)
    result = np.where(known, weight * np.nan_to_num(direct) + (1.0 - weight) * trends, trends)
    return result, np.where(known, noise * (1.0 - weight), noise)


def _among_present(columns: BinnedColumns, one: Array, trends: Array) -> Array:
    """Return the rank correlations of numbers among rows in which both are there, with ones on the diagonal.

    T counts a gap as a score of 0. With q_i the share of rows whose number i is there, and gaps in two columns
    independent, the correlation among the others is T/√(q_i·q_j).
    """
    there = np.sqrt(_present(columns, one))
    result = np.clip((trends + trends.T) / 2.0 / np.outer(there, there), -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)


def _present(columns: BinnedColumns, one: Array) -> Array:
    """Return the share of rows in which each number is there; 1 for categories."""
    result = np.ones(len(columns.sizes))
    for column in columns.numbers:
        first = int(columns.starts[column])
        result[column] = one[first : first + columns.ordered[column]].sum() / columns.rows
    return result


def _make_possible(columns: BinnedColumns, one: Array, trends: Array) -> Array:
    """Return the trends of numbers nearest to given ones that normal scores can have: noise may leave none that do."""
    numbers = np.ix_(columns.numbers, columns.numbers)
    normal = 2.0 * np.sin(np.pi / 6.0 * _among_present(columns, one, trends)[numbers])
    ranks = 6.0 / np.pi * np.arcsin(nearest_correlations(normal) / 2.0)
    there = np.sqrt(_present(columns, one)[columns.numbers])
    result = np.zeros_like(trends)
    result[numbers] = np.where(np.eye(len(ranks)), 0.0, ranks * np.outer(there, there))
    return result


def nearest_correlations(matrix: Array) -> Array:
    """Return the correlation matrix nearest to a symmetric one, with no eigenvalue near 0 (Higham 2002).

    >>> nearest_correlations(np.array([[1.0, 0.5], [0.5, 1.0]])).round(6).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    result, moved = matrix.copy(), np.zeros_like(matrix)
    for _ in range(PROJECTIONS):
        values, vectors = np.linalg.eigh(result - moved)
        if values.min(initial=1.0) >= LEAST_EIGENVALUE and not moved.any():
            break
        inside = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
        moved = inside - (result - moved)
        result = inside.copy()
        np.fill_diagonal(result, 1.0)
    values, vectors = np.linalg.eigh(result)
    result = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(result))
    return np.asarray(result / np.outer(scale, scale))
