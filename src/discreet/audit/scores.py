"""Scores by which an attacker guesses: the larger, the more an output looks like that of the other data set.

The attacker knows both data sets, the code, and everything that is released, but not which of the two was used.

- **Known noise.** A release states its question (``Release.question``), with the parameters that earlier releases led
  to, and its noise. So the attacker computes the sum on both data sets and adds up the log-likelihood ratios of all
  releases. If the stated noise is true this is the most powerful test (Neyman and Pearson). If it is not, it is still a
  test, whose errors are counted.
- **Learnt.** Where a mechanism states no noise (a selection, a draw from a density), or a result holds more numbers,
  the attacker learns from separate runs: the most informative number, by the frequencies of its values; a projection
  that separates the means; or boosted trees.

Learnt scores are compared on runs that they were not learnt from, and the best is used. No choice here can make a bound
wrong: bounds count guesses on later runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.audit.output import Output
from discreet.audit.pairs import Pair
from discreet.door import Curator, Release
from discreet.estimators.base import as_curator
from discreet.queries.question import Query
from discreet.queries.question_files import as_plain

Array = NDArray[np.float64]

KNOWN = "known noise"
VALUES, BINS = 24, 12
MAX_CACHED = 64  # questions; those of an adaptive mechanism are new in every run
MAX_QUADRATIC = 8  # numbers of which products are used as well


@dataclass(frozen=True, eq=False)
class Observed:
    """Outputs of some runs on one data set.

    Attributes
    ----------
    known : array of shape (runs,)
        The log-likelihood ratio by known noise; 0 where there is none.
    numbers : array of shape (runs, p)
        Everything else.
    strength : float
        The distance of the data sets in units of known noise, on average; the same for both.
    """

    known: Array
    numbers: Array
    strength: float = 0.0

    def __getitem__(self, runs: slice) -> Observed:
        return Observed(self.known[runs], self.numbers[runs], self.strength)

    def __len__(self) -> int:
        return len(self.known)


@dataclass(frozen=True, eq=False)
class Score:
    """A score, and its name."""

    name: str
    values: Callable[[Observed], Array]


@dataclass(frozen=True, eq=False)
class Sums:
    """The exact sums of questions on both data sets of a pair, each computed once."""

    pair: Pair
    _sums_of: dict[str, tuple[Array, Array] | None] = field(default_factory=dict, repr=False)

    def ratio(self, output: Output) -> float:
        """Return the log-likelihood ratio, other over one, of all releases whose noise and question are known."""
        return sum(self._log_ratio(release) for release in output.releases)

    def strength(self, output: Output) -> float:
        """Return the distance of the two data sets in units of the stated noise: the sum of a μ and an ε."""
        squares = total = 0.0
        for release in output.releases:
            noise, sums = release.noise, self._sums(release)
            if noise is not None and sums is not None:
                apart = float(noise.distance(sums[1] - sums[0]))
                squares, total = (squares + apart**2, total) if noise.normal else (squares, total + apart)
        return math.sqrt(squares) + total

    def _log_ratio(self, release: Release) -> float:
        noise, sums = release.noise, self._sums(release)
        return 0.0 if noise is None or sums is None else noise.log_ratio(release.value, *sums)

    def _sums(self, release: Release) -> tuple[Array, Array] | None:
        one, other = as_curator(self.pair.one), as_curator(self.pair.other)
        if release.asked is None or not (isinstance(one, Curator) and isinstance(other, Curator)):
            return None
        key = json.dumps([as_plain(release.asked), dict(release.declared)])
        if key not in self._sums_of:
            if len(self._sums_of) >= MAX_CACHED:
                self._sums_of.clear()
            question = release.question
            self._sums_of[key] = None
            if isinstance(question, Query) and question.size == release.value.size:
                first, second = (_sum(question, _view(curator, release.declared)) for curator in (one, other))
                self._sums_of[key] = first, second
        return self._sums_of[key]


def _view(curator: Curator, declared: Mapping[str, Any]) -> Curator:
    """Return a curator of the rows and columns that a release is about."""
    if "gaps" in declared:
        chosen = curator.where(declared["where"]) if "where" in declared else curator
        return chosen.with_gaps()
    own = dict(zip(curator.category_columns, map(list, curator.categories), strict=True))
    asked = dict(zip(declared["category_columns"], declared["categories"], strict=True))
    if any(own.get(name) != list(values) for name, values in asked.items()):  # of how the rows are declared
        return curator.persons() if list(asked) == ["rows"] else curator.states()
    indicated = declared.get("indicators", {})
    numbers = [name for name in declared["columns"] if name in curator.columns]
    columns = [*numbers, *indicated, *declared["category_columns"]]
    view = curator.only(columns) if columns else curator.counting()
    view = view.where(declared["where"]) if "where" in declared else view
    return view.with_indicators([*indicated]) if indicated else view


def _sum(question: Query, curator: Curator) -> Array:
    return question.collect(curator._records, curator.setting)


def separation(one: Array, other: Array) -> float:
    """Return d′: the distance of two unit normals, in standard deviations, with the same area under the ROC curve.

    >>> rng = np.random.default_rng(0)
    >>> round(separation(rng.normal(0.0, 1.0, 20000), rng.normal(1.0, 1.0, 20000)), 1)
    1.0
    """
    ranked = np.sort(one)
    wins = np.searchsorted(ranked, other, side="left") + np.searchsorted(ranked, other, side="right")
    share = float(wins.mean()) / (2.0 * len(one))
    edge = 0.5 / len(one)
    return float(np.sqrt(2.0) * ndtri(min(max(share, edge), 1.0 - edge)))


def learn_best_score(one: Observed, other: Observed) -> Score:
    """Return the score that separates the data sets best, learnt on one half of the runs and tried on the other."""
    learners = (_learn_scores, _learn_trees)
    tried = [value for learner in learners for value in _try_scores(one, other, learner)]
    return [score for learner in learners for score in learner(one, other)][int(np.argmax(tried))]


def estimate_difference(one: Observed, other: Observed) -> float:
    """Return the separation of two data sets by the best score, to choose between pairs.

    With known noise it is computed, which takes few runs. A learnt score must be better, or add to it.
    """
    noise = 3.0 / math.sqrt(len(one) // 2)
    _, number, *others = (separated - noise for separated in _try_scores(one, other, _learn_scores))
    return max(*others, math.hypot(one.strength, max(number, 0.0)))


def _try_scores(one: Observed, other: Observed, learner: Callable[[Observed, Observed], list[Score]]) -> list[float]:
    """Return the separation by each score, learnt on one half of the runs and tried on the other."""
    half = len(one) // 2
    learnt = learner(one[:half], other[:half])
    tried = [separation(score.values(one[half:]), score.values(other[half:])) for score in learnt]
    # Known noise needs no learning, so all runs are used, with an allowance for the chance of the learnt scores.
    if one.strength > 0.0 and learnt[0].name == KNOWN:
        tried[0] = separation(one.known, other.known) + 3.0 / math.sqrt(half)
    return tried


def _learn_scores(one: Observed, other: Observed) -> list[Score]:
    """Return all scores but the trees, learnt on these runs, in a fixed order."""
    number = _learn_one_number(one.numbers, other.numbers)
    numbers = _find_varying(one, other)
    projection = _learn_projection(_append_products(one, numbers), _append_products(other, numbers))
    return [
        Score(KNOWN, lambda seen: seen.known),
        Score("one number", lambda seen: number(seen.numbers)),
        Score("known noise and one number", lambda seen: seen.known + number(seen.numbers)),
        Score("a projection", lambda seen: projection(_append_products(seen, numbers))),
    ]


def _learn_trees(one: Observed, other: Observed) -> list[Score]:
    """Return the log-odds of boosted trees, for differences that are neither a threshold nor linear."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = np.concatenate([_features(one), _features(other)])
    labels = np.repeat([0, 1], [len(one), len(other)])
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_depth=3, learning_rate=0.1, early_stopping=False, random_state=0
    ).fit(rows, labels)
    return [Score("boosted trees", lambda seen: np.asarray(trees.decision_function(_features(seen))))]


def _learn_one_number(one: Array, other: Array) -> Callable[[Array], Array]:
    """Return the log-ratio of the frequencies of values, or of bins, of the number that separates best."""
    tables = [_learn_frequencies(one[:, j], other[:, j]) for j in range(one.shape[1])]
    if not tables:
        return lambda numbers: np.zeros(len(numbers))
    tells = [separation(table(one[:, j]), table(other[:, j])) for j, table in enumerate(tables)]
    best = int(np.argmax(tells))
    return lambda numbers: tables[best](numbers[:, best])


def _learn_frequencies(one: Array, other: Array) -> Callable[[Array], Array]:
    both = np.concatenate([one, other])
    values = np.unique(both)
    if len(values) <= VALUES:
        edges = (values[1:] + values[:-1]) / 2.0
    else:
        edges = np.unique(np.quantile(both, np.arange(1, BINS) / BINS))
    size = len(edges) + 1
    counts = [np.bincount(np.searchsorted(edges, side), minlength=size) + 0.5 for side in (one, other)]
    ratio = np.log(counts[1] / counts[1].sum()) - np.log(counts[0] / counts[0].sum())
    return lambda numbers: np.asarray(ratio[np.searchsorted(edges, numbers)])


def _features(seen: Observed) -> Array:
    return np.hstack([seen.known[:, None], np.clip(seen.numbers, -1e60, 1e60)])


def _find_varying(one: Observed, other: Observed) -> NDArray[np.int64]:
    """Return the indices of numbers that vary, without duplicates: results often hold a number in several places."""
    both = np.clip(np.concatenate([one.numbers, other.numbers]), -1e60, 1e60)
    spread = both.std(axis=0)
    varying = np.flatnonzero(spread > 0.0)
    scaled = np.abs((both[:, varying] - both[:, varying].mean(axis=0)) / spread[varying]).round(6)
    return np.asarray(varying[np.sort(np.unique(scaled, axis=1, return_index=True)[1])])


def _append_products(seen: Observed, numbers: NDArray[np.int64]) -> Array:
    """Return these numbers, and the products of every two if they are few."""
    result = np.clip(seen.numbers[:, numbers], -1e60, 1e60)
    if 0 < result.shape[1] <= MAX_QUADRATIC:
        rows, columns = np.triu_indices(result.shape[1])
        result = np.hstack([result, result[:, rows] * result[:, columns]])
    return np.hstack([seen.known[:, None], result])


def _learn_projection(one: Array, other: Array) -> Callable[[Array], Array]:
    """Return Fisher's linear discriminant, of robustly scaled numbers."""
    both = np.concatenate([one, other])
    centre = np.median(both, axis=0)
    width = np.subtract(*np.quantile(both, [0.75, 0.25], axis=0))
    width = np.where(width > 0.0, width, np.maximum(both.std(axis=0), 1e-300))

    def scaled(numbers: Array) -> Array:
        return np.asarray(np.clip((numbers - centre) / width, -6.0, 6.0))

    first, second = scaled(one), scaled(other)
    spread = np.cov(first, rowvar=False) + np.cov(second, rowvar=False)
    spread = np.atleast_2d(spread) + 0.05 * np.eye(one.shape[1])
    direction = np.linalg.solve(spread, second.mean(axis=0) - first.mean(axis=0))
    return lambda numbers: np.asarray(scaled(numbers) @ direction)
