"""How two numbers are tied: the scores of bins in which their relation is linear, and the pair tables that follow.

A bin of a number has two scores, both with mean 0 and variance 1 under the column's histogram:

- its *normal* score: a bin from probability u to v has (φ(Φ⁻¹(u)) − φ(Φ⁻¹(v)))/(v − u), the mean of a normal variable
  between these quantiles. Numbers with normal scores of correlation r are a Gaussian copula;
- its *value*: the mean of the numbers in it, at most ``FARTHEST`` standard deviations from the mean. If y = a + b·x +
  normal noise, ln p(x, y) has no other joint term than B·x·y, however x is distributed.

The model ties numbers by exp(B·s_a·s_b). A table of two numbers with given histograms, given scores s and a given rank
correlation is p_a·q_b·exp(B·s_a·s_b + f_a + g_b). Of the numbers with a strong rank correlation each has the scores
that fit the released tables better, by Σ (released − table)². All of it is a function of releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from discreet.models.synthesis.pair_targets import PairTargets

Array = NDArray[np.float64]

STRONG = 0.5  # rank correlation from which values are tried
DEGREES = 3  # of the polynomials of ranks
MOST_CURVED = 4.0  # standard deviations of such a polynomial in a bin, or it is left out: it would be of few rows
FARTHEST = 5.0  # standard deviations
LARGEST = 40.0  # B
QUANTILES = 8  # of a bin
ROUNDS, HALVINGS = 12, 12
NORMAL, VALUE = 0, 1


@dataclass(frozen=True, eq=False)
class NumberLinks:
    """In which scores numbers are tied.

    Attributes
    ----------
    scores : array of shape (L, d)
        Of the bins of each number in its own column, 0 elsewhere.
    by_value : tuple of int
        The columns whose scores are values.
    tables : array of shape (L, L)
        The number of rows in each pair of bins that follows from scores, rank correlations and histograms; columns
        that are no numbers are independent, and so is a gap.
    correlations : array of shape (k, k)
        Those of the k numbers in these scores, without the rounding to bins.
    curves : array of shape (L, e)
        Further scores of numbers: polynomials of the ranks, from the second degree on, orthogonal to the scores above
        and to one another, with variance 1.
    owners : int array of shape (e,)
        The column that each of these belongs to.
    """

    scores: Array
    by_value: tuple[int, ...]
    tables: Array
    correlations: Array
    curves: Array
    owners: NDArray[np.int64]


def link_numbers(targets: PairTargets) -> NumberLinks:
    """Return in which scores numbers are tied; see the module."""
    columns, numbers = targets.columns, targets.columns.numbers
    own = {column: targets.ordered(column) for column in numbers}
    scores = {
        column: (normal_scores(share), value_scores(columns.values[column], share))
        for column, (_, share) in own.items()
    }
    tables = np.outer(targets.one, targets.one) / columns.rows
    correlations = targets.normal_correlations.copy()
    strong: dict[tuple[int, int], dict[tuple[int, int], Array]] = {}
    ties: dict[tuple[int, int], dict[tuple[int, int], float]] = {}
    for k, m in combinations(range(len(numbers)), 2):
        i, j = numbers[k], numbers[m]
        (a, p), (b, q) = own[i], own[j]
        there = float(targets.one[a].sum() * targets.one[b].sum()) / columns.rows
        tables[a, b] = there * normal_table(p, q, float(targets.normal_correlations[k, m]))
        if abs(targets.correlations[k, m]) > STRONG:
            ranks = targets.scores[a, i], targets.scores[b, j]
            goal = float(targets.trends[i, j]) * columns.rows / there
            found, ties[i, j] = {(NORMAL, NORMAL): tables[a, b].copy()}, {}
            for first, second in ((NORMAL, VALUE), (VALUE, NORMAL), (VALUE, VALUE)):
                table, ties[i, j][first, second] = tied_table(p, q, scores[i][first], scores[j][second], ranks, goal)
                found[first, second] = there * table
            strong[i, j] = found
    kinds = _choose_kinds(targets, strong)
    for (i, j), found in strong.items():
        tables[own[i][0], own[j][0]] = found[kinds[i], kinds[j]]
        tie = ties[i, j].get((kinds[i], kinds[j]))
        if tie:  # of normal numbers B = r/(1 − r²)
            k, m = numbers.index(i), numbers.index(j)
            correlations[k, m] = correlations[m, k] = (math.sqrt(1.0 + 4.0 * tie**2) - 1.0) / (2.0 * tie)
    for i, j in combinations(numbers, 2):
        tables[own[j][0], own[i][0]] = tables[own[i][0], own[j][0]].T
    result = np.zeros((len(targets.one), len(columns.sizes)))
    for column in numbers:
        result[own[column][0], column] = scores[column][kinds.get(column, NORMAL)] / math.sqrt(
            max(float(targets.shares[own[column][0]].sum()), 1e-12)
        )
    by_value = tuple(column for column, kind in kinds.items() if kind == VALUE)
    return NumberLinks(result, by_value, tables, correlations, *_curve_scores(targets, result))


def _curve_scores(targets: PairTargets, scores: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return polynomials of the ranks of each number, and whose they are."""
    found: list[Array] = []
    owners: list[int] = []
    for column in targets.columns.numbers:
        places, _ = targets.ordered(column)
        share, rank = targets.shares[places], targets.scores[places, column]
        basis = [np.ones_like(share) / math.sqrt(float(share.sum())), scores[places, column]]
        for degree in range(2, min(DEGREES, len(share) - 1) + 1):
            left = rank**degree / max(float(np.abs(rank).max()), 1e-9) ** degree
            for _ in range(2):  # once more for the roundings
                for one in basis:
                    left = left - float(share @ (one * left)) * one
            spread = math.sqrt(float(share @ left**2))
            if spread > 1e-3 and np.abs(left).max() < MOST_CURVED * spread:
                basis.append(left / spread)
                found.append(np.zeros(len(scores)))
                found[-1][places] = basis[-1]
                owners.append(column)
    return np.array(found).reshape(-1, len(scores)).T, np.array(owners, dtype=np.int64)


def _choose_kinds(targets: PairTargets, strong: dict[tuple[int, int], dict[tuple[int, int], Array]]) -> dict[int, int]:
    """Return for each number of a strong pair the kind of its scores, changed one at a time as long as that helps."""
    misfit = {}
    for (i, j), found in strong.items():
        released = targets.pairs[targets.ordered(i)[0], targets.ordered(j)[0]]
        misfit[i, j] = {
            kinds: float(((released - table) ** 2).sum()) / float(targets.noise[i, j]) for kinds, table in found.items()
        }
    result = dict.fromkeys(sorted({column for pair in strong for column in pair}), NORMAL)

    def total(kinds: dict[int, int]) -> float:
        return sum(each[kinds[i], kinds[j]] for (i, j), each in misfit.items())

    for _ in range(3):
        for size in (1, 2):  # both of a pair may have to change
            for some in combinations(result, 1) if size == 1 else list(strong):
                other = result | {column: VALUE - result[column] for column in some}
                if total(other) < total(result):
                    result = other
    return result


def normal_scores(share: Array) -> Array:
    """Return the normal score of each bin.

    >>> normal_scores(np.array([0.5, 0.5])).tolist()
    [-1.0, 1.0]
    """
    ends = np.cumsum(share)[:-1] / share.sum()
    density = np.exp(-0.5 * ndtri(ends) ** 2)
    return _standardize(-np.diff(np.concatenate([[0.0], density, [0.0]])) / share, share)


def value_scores(values: Array, share: Array) -> Array:
    """Return the standardised value of each bin, at most ``FARTHEST`` from the mean.

    >>> value_scores(np.array([1.0, 3.0]), np.array([0.5, 0.5])).tolist()
    [-1.0, 1.0]
    """
    return _standardize(np.clip(_standardize(values, share), -FARTHEST, FARTHEST), share)


def _standardize(scores: Array, share: Array) -> Array:
    scores = scores - (share * scores).sum() / share.sum()
    spread = math.sqrt(float((share * scores**2).sum() / share.sum()))
    return scores / spread if spread > 1e-9 else np.zeros_like(scores)


def normal_table(p: Array, q: Array, r: float) -> Array:
    """Return the probabilities of pairs of bins of two numbers whose normal scores have the correlation r.

    The score of the second given z of the first is normal with mean r·z and variance 1 − r². A bin of the first is
    represented by a few of its quantiles.

    >>> normal_table(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 0.0).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
    z = ndtri((np.cumsum(p) - p)[:, None] + p[:, None] * steps)  # shape (bins, quantiles)
    edges = ndtri(np.concatenate([[0.0], np.cumsum(q)[:-1], [1.0]]))
    below = ndtr((edges - r * z[..., None]) / math.sqrt(max(1.0 - r**2, 1e-9)))
    return np.asarray(p[:, None] * np.diff(below, axis=2).mean(axis=1))


def tied_table(p: Array, q: Array, s: Array, t: Array, ranks: tuple[Array, Array], goal: float) -> tuple[Array, float]:
    """Return p_a·q_b·exp(B·s_a·t_b + f_a + g_b) with margins p and q and Σ ranks_a·ranks_b = goal, and B, by halving.

    >>> half = np.array([0.5, 0.5])
    >>> score = np.array([-1.0, 1.0])
    >>> table, tie = tied_table(half, half, score, score, (score, score), 0.8)
    >>> table.round(2).tolist(), round(tie, 1)
    ([[0.45, 0.05], [0.05, 0.45]], 1.1)
    """
    low, high = (0.0, LARGEST) if goal > 0.0 else (-LARGEST, 0.0)
    f, g, table, middle = np.log(p), np.log(q), np.outer(p, q), 0.0
    for step in range(HALVINGS):
        # the first guess is that of normal scores, r/(1 − r²)
        middle = goal / max(1.0 - goal**2, 0.02) if step == 0 else (low + high) / 2.0
        middle = min(max(middle, low), high)
        tie = middle * np.outer(s, t)
        f, g = np.log(p) - 0.5 * middle * s**2, np.log(q) - 0.5 * middle * t**2
        for _ in range(ROUNDS):
            f = np.log(p) - np.logaddexp.reduce(tie + g, axis=1)
            g = np.log(q) - np.logaddexp.reduce(tie + f[:, None], axis=0)
        table = np.exp(np.minimum(tie + f[:, None] + g, 0.0))
        if float(ranks[0] @ table @ ranks[1]) < goal:
            low = middle
        else:
            high = middle
    return np.asarray(table / table.sum()), middle
