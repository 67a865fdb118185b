"""Three columns at once: coarse tables of triples, and the terms of the model that follow from them.

Pairs cannot show that one column is the exclusive or of two others. So tables of three columns are counted too, with
the bins of each column merged to a few levels, since the noise of a cell is the same however few rows it has.

**Terms.** The model of pairs is joined by τ_t(g_a, g_b, g_c) for a triple t of columns and the levels of their bins.
What the pairs explain is theirs: with the counts M of the model of pairs, the residual y − M is projected on tables
whose sums over each of the three columns are 0. The noise of variance v stays v there, along Π(m − 1) directions. A
triple gets a term only if

    Σ (projected residual)²/(v + chance) > df + ``SURE``·√(2·df),        df = (m_a − 1)(m_b − 1)(m_c − 1),

where chance is the variance of the counts themselves and of the chains that estimate M. τ is shrunk as interactions of
pairs are: y − M = λ·τ with λ = v/(M·s²) and s² from the table's own residual.

All of it is a function of releases, total for any finite numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.synthesis.column_trees import MOST_ROWS
from discreet.models.synthesis.table_quality import estimate_spread

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SURE = 4.0  # standard deviations from which a triple is seen
MOST_TERMS = 60  # of a model
WIDEST = 0.5  # largest change in a step
LARGEST = 8.0  # τ


@dataclass(frozen=True, eq=False)
class TripleTerms:
    """The terms of some triples of columns.

    Attributes
    ----------
    columns : int array of shape (t, 3)
        The triples.
    levels : int array of shape (L,)
        The level of each bin of all columns.
    values : array of shape (t, m, m, m)
        τ; 0 for levels that a column does not have.
    """

    columns: Whole
    levels: Whole
    values: Array

    @classmethod
    def empty(cls, size: int) -> TripleTerms:
        """Return no terms, for so many bins."""
        return cls(np.zeros((0, 3), dtype=np.int64), np.zeros(size, dtype=np.int64), np.zeros((0, 1, 1, 1)))

    def facing(self, columns: int) -> tuple[Whole, Whole, NDArray[np.float32]]:
        """Return the terms as each of so many columns sees them, those of one column after those of another.

        These are where the terms of each column begin, the two other columns of each term, and τ with the column's own
        level last.
        """
        own = [(column, at, t) for t, triple in enumerate(self.columns.tolist()) for at, column in enumerate(triple)]
        m, found = self.values.shape[1], sorted(own)
        others = np.array([np.delete(self.columns[t], at) for _, at, t in found], dtype=np.int64).reshape(-1, 2)
        values = np.array([np.moveaxis(self.values[t], at, 2) for _, at, t in found], dtype=np.float32)
        starts = np.searchsorted([column for column, _, _ in found], np.arange(columns + 1))
        return starts, others, values.reshape(-1, m, m, m)

    def count(self, rows: NDArray[np.int32]) -> Array:
        """Return how many rows are in each cell of each triple."""
        from discreet.models.synthesis.gibbs import count_triples

        result = np.zeros(self.values.shape)
        count_triples(rows, self.levels, self.columns, result)
        return result

    def energies(self, rows: NDArray[np.int32]) -> Array:
        """Return Σ_t τ_t of each row."""
        result, levels = np.zeros(len(rows)), self.levels[rows]
        for (a, b, c), values in zip(self.columns, self.values, strict=True):
            result += values[levels[:, a], levels[:, b], levels[:, c]]
        return result

    def logits(self, rows: NDArray[np.int32], column: int) -> Array:
        """Return for each row what the triples add to each level of a column; shape (n, m)."""
        result, levels = np.zeros((len(rows), self.values.shape[1])), self.levels[rows]
        for triple, values in zip(self.columns.tolist(), self.values, strict=True):
            if column in triple:
                at = triple.index(column)
                first, second = (other for other in triple if other != column)
                result += np.moveaxis(values, at, 2)[levels[:, first], levels[:, second]]
        return result


@dataclass(frozen=True, eq=False)
class TripleTargets:
    """Released tables of triples.

    Attributes
    ----------
    columns : int array of shape (t, 3)
    levels : int array of shape (L,)
        The level of each bin of all columns.
    tables : tuple of arrays
        The counts of each triple.
    noise : float
        The variance of a count.
    """

    columns: Whole
    levels: Whole
    tables: tuple[Array, ...]
    noise: float

    @property
    def most(self) -> int:
        """The largest number of levels."""
        return int(self.levels.max(initial=0)) + 1

    def terms(self, values: Array | None = None) -> TripleTerms:
        """Return terms for all triples, by default of size 0."""
        shape = (len(self.columns), *(self.most,) * 3)
        return TripleTerms(self.columns, self.levels, np.zeros(shape) if values is None else values.reshape(shape))


class TripleSolver:
    """Steps of the terms of triples towards their targets; see the module.

    Parameters
    ----------
    targets : TripleTargets
    counts : array of shape (t, m, m, m)
        Those of the model of pairs.
    chance : float
        How much the variance of one of these is larger than that of rows, relative to the number of rows in a cell.
    sure : float
        Standard deviations from which a triple is seen.
    """

    def __init__(self, targets: TripleTargets, counts: Array, chance: float, sure: float = SURE) -> None:
        tables = [np.clip(table, -MOST_ROWS, MOST_ROWS) for table in targets.tables]
        seen = []
        for place, table in enumerate(tables):
            here = counts[place][tuple(slice(size) for size in table.shape)]
            rest = project(table - here)
            df = float(np.prod(np.array(table.shape) - 1.0))
            square = float((rest**2).sum()) / (targets.noise + (1.0 + chance) * float(here.mean()))
            excess = (square - df) / math.sqrt(2.0 * df)
            if excess > sure:
                seen.append((excess, place))
        best = sorted(place for _, place in sorted(seen, reverse=True)[:MOST_TERMS])
        self.targets = TripleTargets(
            targets.columns[best], targets.levels, tuple(tables[place] for place in best), targets.noise
        )
        self.spreads = []
        for place, table in zip(best, self.targets.tables, strict=True):
            here = np.maximum(counts[place][tuple(slice(size) for size in table.shape)], 0.5)
            self.spreads.append(estimate_spread(here, here + project(table - here), targets.noise))
        self.mean = counts[best]
        self.push = np.zeros(self.mean.shape)  # where τ is drawn to, times λ: to 0, but for draws of a posterior

    def change(self, terms: TripleTerms, counts: Array, least: float, step: float) -> TripleTerms:
        """Return the terms after a step, from the model's counts; ``least`` is what one row of a chain stands for."""
        self.mean = 0.7 * self.mean + 0.3 * counts
        values = terms.values.copy()
        for place, (table, spread) in enumerate(zip(self.targets.tables, self.spreads, strict=True)):
            here = tuple(slice(size) for size in table.shape)
            own, mean = values[place][here], np.maximum(self.mean[place][here], 0.5)
            shrink = self.targets.noise / (mean * spread)
            gap = project(table - counts[place][here]) - shrink * own + self.push[place][here]
            moved = np.clip(step * gap / (mean + shrink + least), -WIDEST, WIDEST)
            values[place][here] = np.clip(project(own + moved), -LARGEST, LARGEST)
        return TripleTerms(terms.columns, terms.levels, values)


def project(table: Array) -> Array:
    """Return the nearest table whose sums over each axis are 0.

    >>> project(np.ones((2, 2, 2)) + np.arange(2)).any()
    np.False_
    """
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def merge_bins(shares: Array, ordered: int, most: int) -> Whole:
    """Return the level of each bin of a column: at most so many.

    Of a number they are adjacent bins of about equal probability, and a gap by itself. Of categories the most frequent
    ones have a level each, and all others one together.

    >>> merge_bins(np.array([0.2, 0.2, 0.3, 0.3]), 4, 2).tolist(), merge_bins(np.array([0.1, 0.6, 0.3]), 0, 2).tolist()
    ([0, 0, 1, 1], [1, 0, 1])
    """
    if ordered:
        inside = shares[:ordered] / max(float(shares[:ordered].sum()), 1e-300)
        middle = np.cumsum(inside) - inside / 2.0
        number = max(most - (len(shares) > ordered), 2)
        level = np.unique(np.minimum((middle * number).astype(np.int64), number - 1), return_inverse=True)[1]
        return np.concatenate([level, np.full(len(shares) - ordered, level.max() + 1)]).astype(np.int64)
    rank = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
    return np.minimum(rank, most - 1)
