"""Comparison of synthetic rows with the real ones, pair by pair and by a classifier. It is NOT private.

Real and synthetic rows are put into the same cells: a number into ten that hold equal shares of the synthetic rows, a
category and a gap into its own. The distance of a pair of columns is the total variation of its two tables. A
classifier of the target is trained on synthetic rows and on real ones, and predicts real rows that neither of them saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plots import Facts, HeatMap, Plot
from discreet.plots.plot import format_number, format_percent

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

ROWS = 20_000  # most synthetic rows, and most real ones for a classifier
BINS = 10
PAIRS = 12  # that are listed
MOST_LEVELS = 200  # of a category of a classifier
HEAD = ("", "this model (private)", "from the rows (NOT private)")


def compare_rows(model: Any, X: Any) -> tuple[Facts, list[Plot]]:
    """Return what pairs of columns and a classifier say of synthetic and of real rows.

    Parameters
    ----------
    model : TableSynthesizer
        Fitted.
    X : data frame, or mapping of names to arrays
        The real rows.
    """
    real = _columns(model, X)
    drawn = _columns(model, model.sample(max(min(len(real[0]), ROWS), 1000), random_state=0))
    labels = [name in model.categories_ for name in model.columns_]
    cells = [_to_cells(*each) for each in zip(labels, drawn, real, strict=True)]
    pairs = list(combinations(range(len(cells)), 2))
    found = {pair: [_joint(cells[pair[0]], cells[pair[1]], side) for side in (0, 1)] for pair in pairs}
    ties = {pair: [cramers_v(table) for table in both] for pair, both in found.items()}
    apart = {pair: 0.5 * float(np.abs(both[0] - both[1]).sum()) for pair, both in found.items()}
    rows = [("distance of pairs of columns, mean", format_number(float(np.mean(list(apart.values()))), 3), "0")]
    names = model.columns_
    for i, j in sorted(pairs, key=lambda pair: -ties[pair][1])[:PAIRS]:
        ours, theirs = (format_number(one, 3) for one in ties[i, j])
        rows.append((f"{names[i]} and {names[j]}: Cramér's V", ours, theirs))
    rows += _compare_classifiers(model, drawn, real)
    plots: list[Plot] = []
    if 2 <= len(names) <= PAIRS:
        grid = np.zeros((len(names), len(names)))
        for (i, j), both in ties.items():
            grid[i, j] = grid[j, i] = both[1]
        plots.append(HeatMap(grid, names, names, "association of each pair of columns in the real rows (not private)"))
    return Facts(list(HEAD), rows), plots


def _columns(model: Any, X: Any) -> list[Array]:
    """Return every column as numbers, categories as codes, and NaN for a gap."""
    numbers, codes = model._read(X, model.releases_[0].declared.get("gaps", []))
    by_name = {name: numbers[:, j] for j, name in enumerate(model._numbers)}
    by_name |= {name: np.where(codes[:, j] < 0, np.nan, codes[:, j]) for j, name in enumerate(model.categories_)}
    return [np.asarray(by_name[name], dtype=np.float64) for name in model.columns_]


def _to_cells(is_category: bool, drawn: Array, real: Array) -> tuple[Whole, Whole, int]:
    """Return the cells of both columns and how many there are, a gap's last."""
    if is_category:
        known = np.concatenate([drawn[~np.isnan(drawn)], real[~np.isnan(real)], [0.0]])
        count, both = int(known.max()) + 1, [np.nan_to_num(one).astype(np.int64) for one in (drawn, real)]
    else:
        there = drawn[~np.isnan(drawn)]
        edges = np.unique(np.quantile(there, np.arange(1, BINS) / BINS)) if len(there) else np.empty(0)
        count, both = len(edges) + 1, [np.searchsorted(edges, one, side="right") for one in (drawn, real)]
    cells = [np.where(np.isnan(one), count, cell) for one, cell in zip((drawn, real), both, strict=True)]
    return cells[0], cells[1], count + 1


def _joint(one: tuple[Whole, Whole, int], other: tuple[Whole, Whole, int], side: int) -> Array:
    """Return the shares of the pairs of two columns."""
    counts = np.bincount(one[side] * other[2] + other[side], minlength=one[2] * other[2])
    return np.asarray(counts.reshape(one[2], other[2]) / max(counts.sum(), 1))


def cramers_v(shares: Array) -> float:
    """Return Cramér's V of a table of shares, 0 where a column is constant.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]])), cramers_v(np.array([[0.5, 0.5]]))
    (1.0, 0.0)
    """
    one, other = shares.sum(axis=1), shares.sum(axis=0)
    expected = np.outer(one, other)
    least = min(int((one > 0.0).sum()), int((other > 0.0).sum())) - 1
    if least < 1:
        return 0.0
    square = np.divide((shares - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0.0)
    return float(np.sqrt(square.sum() / least))


def _compare_classifiers(model: Any, drawn: Sequence[Array], real: Sequence[Array]) -> list[tuple[str, str, str]]:
    """Return how often a classifier predicts the target of real rows that it did not see; none without a category."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    target = getattr(model, "target", None) or next(reversed(model.categories_), None)
    if target not in model.categories_ or len(model.columns_) < 2:
        return []
    at = model.columns_.index(target)
    rest = [place for place in range(len(real)) if place != at]
    order = np.random.default_rng(0).permutation(len(real[0]))[:ROWS]
    learn, test = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
    few = [
        name in model.categories_ and len(model.categories_[name]) <= MOST_LEVELS
        for name in (model.columns_[place] for place in rest)
    ]

    def score(columns: Sequence[Array], rows: Whole) -> float:
        known = rows[~np.isnan(columns[at][rows])]
        x, y = np.stack([columns[place][known] for place in rest], axis=1), columns[at][known]
        held = test[~np.isnan(real[at][test])]
        if len(set(y.tolist())) < 2 or not len(held):
            return float("nan")
        fitted = HistGradientBoostingClassifier(categorical_features=few, random_state=0).fit(x, y)
        return float(fitted.score(np.stack([real[place][held] for place in rest], axis=1), real[at][held]))

    scores = score(drawn, np.arange(len(drawn[0]))), score(real, learn)
    name = f"real rows whose {target} a classifier predicts that was trained on these"
    shown = [format_percent(one, 3) if np.isfinite(one) else "too few rows" for one in scores]
    return [(name, shown[0], shown[1])]
