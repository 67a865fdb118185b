"""How good a synthetic table is, from the releases alone: what to expect of each column and of each pair of columns.

With N rows, y the count of a pair of bins as released and made consistent, v its noise variance and n = o_a·o_b/N the
count under independence. Trends are taken out first: of two numbers N·T·p_a·z_a·p_b·z_b with the scores z and the rank
correlation T (``pair_targets``), and of a number within a category o_b·p_a·z_a·c_b. The rest of the counts varies with
variance t = s²·n², where s² is estimated from the table, and the best estimate of it is w·rest with w = t/(v + t).

- **Association.** Cramér's V of these estimates, trends included: V² = Σ (estimate − n)²/n/(N·(min(k, l) − 1)) for
  k × l bins; of two numbers the rank correlation, where that is larger.
- **Error.** The estimate of a count has an error of variance w·v: for small v it is the noise, for large v the
  structure itself. The expected distance (total variation) is ½·Σ √(2/π)·√(w·v + trends' variance)/N, joined with the
  expected distances of both columns as independent errors are.
- **Seen.** Counts of independent columns vary by noise and by chance, with variance v + n, so T = Σ (y − n)²/(v + n)
  has mean and half variance (k − 1)(l − 1). A pair is seen where T is more than ``SURE`` standard deviations above, or
  the trend of two numbers is more than ``SURE`` of its own, noise and chance again. What is not seen comes out as
  nearly independent.

The distance is between pair tables of bins: it does not hold what bins leave out, nor that a finite number of synthetic
rows varies. Errors of correlations are of ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.models.synthesis.pair_targets import PairTargets
from discreet.notebook import format_html

Array = NDArray[np.float64]

SURE = 4.0  # standard deviations from which a pair is seen
MEAN_SIZE = math.sqrt(2.0 / math.pi)  # of a normal number, in standard deviations
SHOWN = 6  # pairs in the text


class PairQuality(NamedTuple):
    """What to expect of two columns of a synthetic table.

    Attributes
    ----------
    first, second : str
    association : float
        Cramér's V, from 0 to 1.
    error : float
        The expected distance of the pair table: the share of rows in a wrong cell.
    correlation_error : float
        The expected error of the rank correlation of two numbers; NaN for others.
    seen : bool
        Whether the association is more than noise and chance.
    """

    first: str
    second: str
    association: float
    error: float
    correlation_error: float
    seen: bool


@dataclass(frozen=True, eq=False, repr=False)
class TableQuality:
    """What to expect of a synthetic table, from the releases alone.

    Attributes
    ----------
    columns : tuple of str
    associations, pair_errors, correlation_errors : arrays of shape (d, d)
        Of each pair of columns, as in ``PairQuality``; NaN on the diagonal.
    seen : bool array of shape (d, d)
        Whether the association of a pair is more than noise.
    column_errors : array of shape (d,)
        The expected distance of each column's own histogram.
    """

    columns: tuple[str, ...]
    associations: Array
    pair_errors: Array
    correlation_errors: Array
    seen: NDArray[np.bool_]
    column_errors: Array

    def __iter__(self) -> Iterator[PairQuality]:
        """Yield all pairs, the strongest first."""
        pairs = [
            PairQuality(
                self.columns[i],
                self.columns[j],
                float(self.associations[i, j]),
                float(self.pair_errors[i, j]),
                float(self.correlation_errors[i, j]),
                bool(self.seen[i, j]),
            )
            for i, j in combinations(range(len(self.columns)), 2)
        ]
        return iter(sorted(pairs, key=lambda pair: -pair.association))

    def to_frame(self) -> Any:
        """Return all pairs as a pandas frame, the strongest first."""
        return import_module("pandas").DataFrame(list(self), columns=PairQuality._fields)

    def __repr__(self) -> str:
        pairs = list(self)
        if not pairs:
            return f"<one column, expected distance {self.column_errors.mean():.3f}>"
        strong = "; ".join(f"{one.first} and {one.second} {one.association:.2f}" for one in pairs[:SHOWN] if one.seen)
        column, pair = float(self.column_errors.mean()), float(np.mean([one.error for one in pairs]))
        return (
            f"<{len(self.columns)} columns, expected distance of a column {column:.3f} and of a pair {pair:.3f}; "
            f"{sum(one.seen for one in pairs)} of {len(pairs)} pairs are more than noise"
            f"{f', the strongest {strong}' if strong else ''}>"
        )

    def _repr_html_(self) -> str:
        return format_html("Expected quality of synthetic rows", [pair._asdict() for pair in self], [])


def assess_table(names: tuple[str, ...], targets: PairTargets) -> TableQuality:
    """Return the expected quality; see the module.

    Parameters
    ----------
    names : tuple of str
        The columns.
    targets : PairTargets
        Of the model.
    """
    columns, rows, d = targets.columns, targets.columns.rows, len(names)
    associations, errors, correlation_errors = (np.full((d, d), np.nan) for _ in range(3))
    seen, own = np.zeros((d, d), dtype=bool), _column_errors(targets)
    for i, j in combinations(range(d), 2):
        n, y = pair_tables(targets, i, j)
        v, free = float(targets.noise[i, j]), (n.shape[0] - 1) * (n.shape[1] - 1)
        trend, doubt = pair_trends(targets, i, j)
        spread = estimate_spread(n, y - trend, v)
        w = spread * n**2 / (v + spread * n**2)
        estimate = trend + w * (y - n - trend)
        scale = rows * max(min(n.shape) - 1, 1)
        associations[i, j] = min(math.sqrt(float((estimate**2 / n).sum()) / scale), 1.0) if free else 0.0
        inside = 0.5 * MEAN_SIZE * float(np.sqrt(w * v + doubt).sum()) / rows
        errors[i, j] = min(math.hypot(inside, own[i], own[j]), 1.0)
        score = (float(((y - n) ** 2 / (v + n)).sum()) - free) / math.sqrt(2.0 * max(free, 1))
        seen[i, j] = bool(free) and score > SURE
        if columns.ordered[i] > 1 and columns.ordered[j] > 1:
            known, noise = _shrink(float(targets.trends[i, j]), float(targets.trend_noise[i, j]))
            associations[i, j] = min(max(associations[i, j], abs(known)), 1.0)
            correlation_errors[i, j] = MEAN_SIZE * math.sqrt(noise)
            seen[i, j] |= bool(targets.trends[i, j] ** 2 > SURE**2 * (targets.trend_noise[i, j] + 1.0 / rows))
        for values in (associations, errors, correlation_errors, seen):
            values[j, i] = values[i, j]
    return TableQuality(names, associations, errors, correlation_errors, seen, own)


def pair_tables(targets: PairTargets, i: int, j: int) -> tuple[Array, Array]:
    """Return the counts of a pair under independence, and as released."""
    a, b = targets.columns.places(i), targets.columns.places(j)
    return np.outer(targets.one[a], targets.one[b]) / targets.columns.rows, targets.pairs[a, b]


def _shrink(value: float, noise: float) -> tuple[float, float]:
    """Return a noisy number shrunk to 0 by the share of noise in its square, and the variance that is left."""
    kept = max(1.0 - noise / value**2, 0.0) if value else 0.0
    return kept * value, kept * noise


def pair_trends(targets: PairTargets, i: int, j: int) -> tuple[Array, Array]:
    """Return what the trends of a pair add to each count, and the variance of that."""
    columns, rows = targets.columns, targets.columns.rows
    a, b = columns.places(i), columns.places(j)
    n, y = pair_tables(targets, i, j)
    along = [targets.one[place] * targets.scores[place, one] / rows for one, place in ((i, a), (j, b))]  # p·z
    result, doubt = np.zeros(n.shape), np.zeros(n.shape)
    if columns.ordered[i] > 1 and columns.ordered[j] > 1:
        known, noise = _shrink(float(targets.trends[i, j]), float(targets.trend_noise[i, j]))
        shape = rows * np.outer(*along)
        return known * shape, noise * shape**2
    for one, (first, second) in enumerate(((i, j), (j, i))):
        if columns.ordered[first] > 1 and not columns.ordered[second]:
            scores = targets.scores[columns.places(first), first]
            counts = targets.one[columns.places(second)]
            moved = scores @ ((y - n) if one == 0 else (y - n).T) / counts  # c of each category
            doubts = float((scores**2).sum()) * float(targets.noise[i, j]) / counts**2
            spread = max(float((counts * (moved**2 - doubts)).sum()) / rows, 1e-6)
            kept = spread / (spread + doubts)
            shape = np.outer(along[one], counts)
            table, variance = kept * moved * shape, kept * doubts * shape**2
            result, doubt = (table, variance) if one == 0 else (table.T, variance.T)
    return result, doubt


def estimate_spread(n: Array, y: Array, v: float) -> float:
    """Return s² where counts have mean n and variance v + s²·n², by weighted moments; between 1e-6 and 9."""
    result = 1.0
    for _ in range(8):
        u = n**2
        weight = u / (v + result * u) ** 2
        result = float((weight * ((y - n) ** 2 - v)).sum() / (weight * u).sum())
        result = min(max(result, 1e-6), 9.0)
    return result


def _column_errors(targets: PairTargets) -> Array:
    """Return the expected distance of each column's histogram of bins, from its own noise and that of its pairs."""
    columns, d = targets.columns, len(targets.columns.sizes)
    result = np.zeros(d)
    for one in range(d):
        weight = 1.0 / np.maximum(columns.noise[one], 1e-300)
        for other in range(d):
            if other != one:
                weight = weight + 1.0 / (columns.sizes[other] * targets.noise[one, other])
        result[one] = min(0.5 * MEAN_SIZE * float((1.0 / np.sqrt(weight)).sum()) / columns.rows, 1.0)
    return result
