"""How an attacker guesses from an output: a score, larger where the output looks like that of the other data set.

He knows both data sets, the code, and everything that is released; what he does not know is which of the two was used.

- **Known noise.** A release says what was asked (``Release.question``), with the parameters that earlier releases led
  to, and which noise was added. So he computes the sum on both data sets and adds up the log-likelihood ratios of all
  releases. If the stated noise is true this is the best test there is (Neyman and Pearson); if it is not it is still
  a test, and counting tells.
- **Learnt.** Where a mechanism states no noise (a selection, a draw from a density), or a result holds more numbers,
  he learns from runs of his own: the number that tells most, by the frequencies of its values; a projection on which
  the means are far apart; or boosted trees.

Whatever is learnt is tried on runs that it was not learnt from, and the best is kept. No choice here can make a bound
wrong: bounds count guesses on runs that come afterwards.
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
from discreet.queries.naming import as_plain
from discreet.queries.question import Query

Array = NDArray[np.float64]

KNOWN = "known noise"
VALUES, BINS = 24, 12
KEPT = 64  # questions; those of an adaptive mechanism are new in every run
QUADRATIC = 8  # numbers up to which products of two are looked at as well


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
        How far apart the data sets are by known noise, on average; the same for both.
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
    """A way to guess, and what it goes by."""

    name: str
    values: Callable[[Observed], Array]


@dataclass(frozen=True, eq=False)
class Sums:
    """What a question gives on both data sets of a pair; the attacker computes it once for each question."""

    pair: Pair
    _sums_of: dict[str, tuple[Array, Array] | None] = field(default_factory=dict, repr=False)

    def ratio(self, output: Output) -> float:
        """Return the log-likelihood ratio, other over one, of all releases whose noise and question are known."""
        return sum(self._of_release(release) for release in output.releases)

    def strength(self, output: Output) -> float:
        """Return how far apart the two data sets are in units of the stated noise: a μ or an ε, as it were."""
        squares = total = 0.0
        for release in output.releases:
            noise, sums = release.noise, self._sums(release)
            if noise is not None and sums is not None:
                apart = float(noise.distance(sums[1] - sums[0]))
                squares, total = (squares + apart**2, total) if noise.normal else (squares, total + apart)
        return math.sqrt(squares) + total

    def _of_release(self, release: Release) -> float:
        noise, sums = release.noise, self._sums(release)
        return 0.0 if noise is None or sums is None else noise.log_ratio(release.value, *sums)

    def _sums(self, release: Release) -> tuple[Array, Array] | None:
        one, other = as_curator(self.pair.one), as_curator(self.pair.other)
        if release.asked is None or not (isinstance(one, Curator) and isinstance(other, Curator)):
            return None
        key = json.dumps([as_plain(release.asked), dict(release.declared)])
        if key not in self._sums_of:
            if len(self._sums_of) >= KEPT:
                self._sums_of.clear()
            question = release.question
            self._sums_of[key] = None
            if isinstance(question, Query) and question.size == release.value.size:
                first, second = (_sum(question, _view(curator, release.declared)) for curator in (one, other))
                self._sums_of[key] = first, second
        return self._sums_of[key]


def _view(curator: Curator, declared: Mapping[str, Any]) -> Curator:
    """Return a curator of the rows that a release speaks of."""
    own = dict(zip(curator.category_columns, map(list, curator.categories), strict=True))
    asked = dict(zip(declared["category_columns"], declared["categories"], strict=True))
    if any(own.get(name) != list(values) for name, values in asked.items()):  # of how the rows are declared
        return curator.persons() if list(asked) == ["rows"] else curator.states()
    columns = [*declared["columns"], *declared["category_columns"]]
    view = curator.only(columns) if columns else curator.counting()
    return view.where(declared["where"]) if "where" in declared else view


def _sum(question: Query, curator: Curator) -> Array:
    return question.collect(curator._records, curator.setting)


def separation(one: Array, other: Array) -> float:
    """Return the separation of two normal samples, in standard deviations, in which a score wins as often as here.

    >>> rng = np.random.default_rng(0)
    >>> round(separation(rng.normal(0.0, 1.0, 20000), rng.normal(1.0, 1.0, 20000)), 1)
    1.0
    """
    ranked = np.sort(one)
    wins = np.searchsorted(ranked, other, side="left") + np.searchsorted(ranked, other, side="right")
    share = float(wins.mean()) / (2.0 * len(one))
    edge = 0.5 / len(one)
    return float(np.sqrt(2.0) * ndtri(min(max(share, edge), 1.0 - edge)))


def best_score(one: Observed, other: Observed) -> Score:
    """Return the score that tells most, learnt from one half of the runs and tried on the other half."""
    learners = (_learn_scores, _learn_trees)
    tried = [value for learner in learners for value in _try_scores(one, other, learner)]
    return [score for learner in learners for score in learner(one, other)][int(np.argmax(tried))]


def difference(one: Observed, other: Observed) -> float:
    """Return how far apart two data sets are for the best score: to choose between pairs.

    Where the noise is known it is computed, which takes few runs. What is learnt must be better, or add to it.
    """
    noise = 3.0 / math.sqrt(len(one) // 2)
    _, number, *others = (told - noise for told in _try_scores(one, other, _learn_scores))
    return max(*others, math.hypot(one.strength, max(number, 0.0)))


def _try_scores(one: Observed, other: Observed, learner: Callable[[Observed, Observed], list[Score]]) -> list[float]:
    """Return how far each score tells, learnt from one half of the runs and tried on the other half."""
    half = len(one) // 2
    learnt = learner(one[:half], other[:half])
    tried = [separation(score.values(one[half:]), score.values(other[half:])) for score in learnt]
    # Nothing is learnt for known noise, so all runs can try it, and chance alone must not beat it.
    if one.strength > 0.0 and learnt[0].name == KNOWN:
        tried[0] = separation(one.known, other.known) + 3.0 / math.sqrt(half)
    return tried


def _learn_scores(one: Observed, other: Observed) -> list[Score]:
    """Return all scores, learnt from these runs; always the same ones in the same order."""
    number = _one_number(one.numbers, other.numbers)
    numbers = _varying(one, other)
    projection = _projection(_with_products(one, numbers), _with_products(other, numbers))
    return [
        Score(KNOWN, lambda seen: seen.known),
        Score("one number", lambda seen: number(seen.numbers)),
        Score("known noise and one number", lambda seen: seen.known + number(seen.numbers)),
        Score("a projection", lambda seen: projection(_with_products(seen, numbers))),
    ]


def _learn_trees(one: Observed, other: Observed) -> list[Score]:
    """Return the log-odds of boosted trees, which find what is neither a threshold nor a line."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = np.concatenate([_features(one), _features(other)])
    labels = np.repeat([0, 1], [len(one), len(other)])
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_depth=3, learning_rate=0.1, early_stopping=False, random_state=0
    ).fit(rows, labels)
    return [Score("boosted trees", lambda seen: np.asarray(trees.decision_function(_features(seen))))]


def _one_number(one: Array, other: Array) -> Callable[[Array], Array]:
    """Return the log-ratio of the frequencies of the values, or intervals of them, of the number that tells most."""
    tables = [_frequencies(one[:, j], other[:, j]) for j in range(one.shape[1])]
    if not tables:
        return lambda numbers: np.zeros(len(numbers))
    tells = [separation(table(one[:, j]), table(other[:, j])) for j, table in enumerate(tables)]
    best = int(np.argmax(tells))
    return lambda numbers: tables[best](numbers[:, best])


def _frequencies(one: Array, other: Array) -> Callable[[Array], Array]:
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


def _varying(one: Observed, other: Observed) -> NDArray[np.int64]:
    """Return which numbers vary, each once: results often hold a number in several places."""
    both = np.clip(np.concatenate([one.numbers, other.numbers]), -1e60, 1e60)
    spread = both.std(axis=0)
    varying = np.flatnonzero(spread > 0.0)
    scaled = np.abs((both[:, varying] - both[:, varying].mean(axis=0)) / spread[varying]).round(6)
    return np.asarray(varying[np.sort(np.unique(scaled, axis=1, return_index=True)[1])])


def _with_products(seen: Observed, numbers: NDArray[np.int64]) -> Array:
    """Return these numbers, and products of two where they are few."""
    result = np.clip(seen.numbers[:, numbers], -1e60, 1e60)
    if 0 < result.shape[1] <= QUADRATIC:
        rows, columns = np.triu_indices(result.shape[1])
        result = np.hstack([result, result[:, rows] * result[:, columns]])
    return np.hstack([seen.known[:, None], result])


def _projection(one: Array, other: Array) -> Callable[[Array], Array]:
    """Return Fisher's discriminant, of numbers that are first put on one robust scale."""
    both = np.concatenate([one, other])
    centre = np.median(both, axis=0)
    width = np.subtract(*np.quantile(both, [0.75, 0.25], axis=0))
    width = np.where(width > 0.0, width, np.maximum(both.std(axis=0), 1e-300))

    def scaled(numbers: Array) -> Array:
        return np.asarray(np.clip((numbers - centre) / width, -6.0, 6.0))

    first, second = scaled(one), scaled(other)
    spread = np.cov(first, rowvar=False) + np.cov(second, rowvar=False)
    spread = np.atleast_2d(spread) + 0.05 * np.eye(one.shape[1])
    way = np.linalg.solve(spread, second.mean(axis=0) - first.mean(axis=0))
    return lambda numbers: np.asarray(scaled(numbers) @ way)
