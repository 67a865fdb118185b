"""Private accuracy, confusion matrices, AUC and R² of fitted classifiers and regressions; ``private_score`` calls them.

Each metric is computed from one release (``queries.models.prediction_queries``), and its interval from the known noise
of that release. An interval is about these rows, clipped to their bounds, and not about how they were sampled.

- *Confusion matrix*: a count for each class and prediction, each ± the half-width of the noise, and at least 0.
- *Accuracy*: the sum of its diagonal over the number of rows. Where that number is private, the interval has each of
  the two sums in an interval of its own, at half of the error probability.
- *AUC*: the probability that a row of the second class has a higher score than one of the first, equal scores counting
  half. With h₀, h₁ the counts in bins it is h₁ᵀA·h₀/(n₁n₀), where A is 1 below the diagonal and ½ on it. Two rows in
  one bin may be in either order, so it is off by at most ½Σh₁h₀/(n₁n₀), the ``grid_error``, which the interval
  includes. The noise enters to first order, a sum of independent draws with known coefficients; the product of two
  noises, whose variance is σ⁴‖A‖²/(n₁n₀)², is added as if it were normal. So the level of the interval is approximate.
- *R²*: 1 − A/B with A = Σ(y − ŷ)² and B = Σ(y − ȳ)², with predictions clipped to the bounds of the target. The interval
  has the shares u for which noise explains A − uB (Fieller 1954): at the true u, A − uB is noise, a sum of independent
  draws with known coefficients. B has the square of one of them too, of which the linear part is taken; the rest is
  bounded. So there is no quotient of noisy numbers, and the level holds up to that bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, iterable, positive, probability
from discreet.door import Curator, Release
from discreet.estimators.base import as_curator
from discreet.estimators.fitted_columns import fitted_bounds, indicated_categories
from discreet.estimators.gaussian_classifier import GaussianClassifier
from discreet.estimators.labelled import LabelledEstimator, TargetedEstimator
from discreet.estimators.linear_regression import LinearRegression
from discreet.guarantees import Guarantee, LaplaceLoss, Loss, Neighbors
from discreet.notebook import format_html
from discreet.queries.models.prediction_queries import Confusion, LinearRule, ResidualSquares, ScoreCells
from discreet.queries.moments.components import Components
from discreet.queries.question import Query, additive_loss
from discreet.records import Ball, Box, Records
from discreet.records.given_data import is_stored
from discreet.records.indicator_reading import indicator_columns
from discreet.statistics.counts import count_interval, round_counts
from discreet.statistics.statistic_plots import interval_text

Array = NDArray[np.float64]

CLASSIFIED = ("accuracy", "confusion", "auc")
METRICS = (*CLASSIFIED, "r2")
FARTHEST = 1e6  # 1 − R² beyond which an interval has no end
GRID = tuple(np.linspace(-8.0, 8.0, 65).tolist())  # edges of log odds, and how far those of linear scores reach


@dataclass(frozen=True)
class PrivateMetric:
    """How well a model predicts private rows, with noise.

    Attributes
    ----------
    metric : str
    value : float or array
        For a confusion matrix the counts, a row for each true class and a column for each predicted one.
    classes : tuple or None
        The labels, in the order of the counts; None for a regression.
    grid_error : float
        For AUC: how far bins may have moved it; 0 for other metrics.
    guarantee : Guarantee or None
        Its guarantee; None where a seed made it void.
    release : Release
    """

    metric: str
    value: Any
    classes: tuple[Any, ...] | None
    grid_error: float
    guarantee: Guarantee | None
    release: Release
    _interval: Callable[[float], tuple[Any, Any]]

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return an interval that holds the metric of these rows with this probability; the noise is accounted for.

        For accuracy with a private number of rows with at least this probability; for AUC and R² with about this
        probability, the ``grid_error`` of AUC included.
        """
        return self._interval(probability("level", level))

    @property
    def which_rows(self) -> str | None:
        """The rows that were used, in words ("at most 4 rows of each patient"); None for all rows."""
        return self.release.which_rows

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each number, with its interval; ``pandas.DataFrame`` accepts the result."""
        low, high = self.interval(level)
        if self.classes is None or not np.ndim(self.value):
            return [{"metric": self.metric, "value": self.value, "low": low, "high": high}]
        places = np.ndindex(*self.value.shape)
        return [
            {
                "class": self.classes[i],
                "predicted": self.classes[j],
                "value": float(self.value[i, j]),
                "low": float(low[i, j]),
                "high": float(high[i, j]),
            }
            for i, j in places
        ]

    def to_frame(self, level: float = 0.95) -> Any:
        """Return ``table(level)`` as a data frame of pandas."""
        return import_module("pandas").DataFrame(self.table(level))

    def __float__(self) -> float:
        if np.ndim(self.value):
            raise TypeError("float: a confusion matrix has several numbers; write table()")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def whole(self) -> Self:
        """Return a confusion matrix as whole counts that are not negative, with whole ends; this costs nothing.

        ``release`` has the counts as they were released. Where many of them are added up, add those.
        """
        noise = self.release.noise
        if not np.ndim(self.value) or noise is None:
            raise TypeError(f"whole: metric={self.metric!r} is no count; it is for metric='confusion'")
        measured = self.release["counts"]
        value = round_counts(measured)
        return replace(
            self, value=value, _interval=lambda level: count_interval(value, measured, noise.half_width(level))
        )

    def _repr_html_(self) -> str:
        """Return it for a notebook: its numbers, what their intervals are about, which rows, and what it cost."""
        about = [] if self.which_rows is None else [f"from {self.which_rows}"]
        return format_html(f"private {self.metric}", self.table(), [*about, interval_text(0.95, "rows"), self._cost])

    @property
    def _cost(self) -> str:
        return str(self.guarantee or "NOT PRIVATE")

    def __repr__(self) -> str:
        rows = self.table()
        if np.ndim(self.value):
            shown = ", ".join(f"{row['class']} as {row['predicted']} {row['value']:.0f}" for row in rows)
        else:
            (row,) = rows
            shown = f"{row['value']:.4g} ({row['low']:.4g} to {row['high']:.4g} at 95 %, noise alone)"
        bins = f" (± {self.grid_error:.2g} by the bins of the score)" if self.grid_error else ""
        about = "" if self.which_rows is None else f", from {self.which_rows}"
        return f"<private {self.metric}: {shown}{bins}{about}: {self._cost}>"


def private_metric(
    model: Any,
    X: Any,
    y: Any,
    metric: str,
    *,
    epsilon: float,
    delta: float,
    neighbors: Neighbors | str | None,
    random_state: Any,
    grid: Sequence[float] | None,
) -> PrivateMetric:
    """Return a metric of a fitted classifier or regression; see ``private_score``."""
    wanted = LinearRegression if metric == "r2" else LabelledEstimator
    if iterable(model) or not isinstance(model, wanted):
        kinds = "LinearRegression" if metric == "r2" else "GaussianClassifier, LogisticRegression or LinearSVC"
        got = "several" if iterable(model) else type(model).__name__
        raise ArgumentError("model", UNSHOWN, f"one fitted {kinds} for metric={metric!r}; got {got}")
    check_is_fitted(model)
    if grid is not None and metric != "auc":
        raise ArgumentError("grid", UNSHOWN, "None, since only metric='auc' has a grid")
    X = as_curator(X)
    shell = clone(model).set_params(
        neighbors=model.releases_[0].neighbors if neighbors is None and not isinstance(X, Curator) else neighbors,
        random_state=random_state,
        **bounds_of(model, X),
    )
    query: Query
    if metric == "r2":
        shell.set_params(target_bounds=_target_bounds_of(model, X))
        curator, target = shell._open_with_target(_features(model, X, y), y)
        _check_columns(model, shell, curator)
        if not isinstance(curator.space, Box):
            raise ArgumentError("bounds", UNSHOWN, "bounds of each column")
        rule = LinearRule(np.asarray(model.coef_)[None, :], np.array([model.intercept_]))
        query, labels = ResidualSquares(curator.space, rule, target, counted=not curator.size.complete), None
    else:
        declared = tuple(model.classes_.tolist())
        shell.set_params(classes=None if isinstance(X, Curator | Records) else list(declared))
        curator, _, labels = shell._open_with_target(_features(model, X, y), y)
        _check_columns(model, shell, curator)
        if {*labels} != {*declared}:
            raise ArgumentError("classes", UNSHOWN, f"those of the model, {declared!r}; the rows have others")
        order = [declared.index(label) for label in labels]
        query = _classified(model, curator.space, metric, order, grid)
    guarantee = Guarantee(positive("epsilon", epsilon), probability("delta", delta), curator.neighbors)
    loss, spent = _smaller_noise(curator, query, guarantee)
    bits, _ = shell._randomness()
    release = curator.stating(spent).measure(query, loss, bits=bits)
    value, error, interval = _ANSWERS[metric](query, release)
    return PrivateMetric(metric, value, labels, error, spent if bits is None else None, release, interval)


def bounds_of(model: Any, X: Any) -> dict[str, Any]:
    """Return the parameters that declare rows which a fitted model is to score; raise where nothing does.

    A curator and records have declarations of their own. Otherwise they are those of the model, also where it was
    fitted to a curator, since they are public. If persons had several rows there, these rows would each count as a
    person, so they need a curator. So they do where the model is of rows that a condition chose: its columns need not
    be among those of the model, and a user may want a score for all rows.
    """
    if isinstance(X, Curator | Records):
        return {"bounds": None}
    if model.bounds is not None:
        return {"bounds": model.bounds}
    declared = model.releases_[0].declared
    target = ", the name of the target's column" if isinstance(model, TargetedEstimator) else ""
    if "where" in declared:
        raise ArgumentError(
            "X",
            UNSHOWN,
            f"a Curator or a StatisticalDatabase, which says what becomes of rows that are not “{declared['where']}”: "
            "the model was fitted to such rows alone",
            write=f"private_score(model, Curator(X, schema=…).where({declared['where']!r}){target}, …), or without "
            "where to score all rows",
        )
    if declared.get("unit") is not None:
        raise ArgumentError(
            "X",
            UNSHOWN,
            "a Curator or a StatisticalDatabase, since the model was fitted to persons who may have several rows, and "
            "these rows do not say whose they are",
            write=f"private_score(model, Curator(X, schema=…){target}, …)",
        )
    return {"bounds": fitted_bounds(model, named=hasattr(X, "columns") or is_stored(X))}


def _target_bounds_of(model: LinearRegression, X: Any) -> tuple[float, float] | None:
    """Return the bounds of the target of such rows."""
    if isinstance(X, Curator | Records) or model.target_bounds is not None:
        return None if isinstance(X, Curator | Records) else model.target_bounds
    scale = model._target_scale
    if scale is None or scale.kind != "linear":
        raise ArgumentError("X", UNSHOWN, "a Curator, since the target of the model is on a log scale, or a date")
    return scale.low, scale.high


def _features(model: Any, X: Any, y: Any) -> Any:
    """Return a curator of the model's columns and the target; other data as it is."""
    names = getattr(model, "feature_names_in_", None)
    if not isinstance(X, Curator) or names is None or not isinstance(y, str):
        return X
    categories = indicated_categories(model)
    added = indicator_columns(categories)
    wanted = [*(str(name) for name in names if name not in added), *categories, y]
    return X.only(wanted) if {*X.columns, *X.category_columns}.issuperset(wanted) else X


def _check_columns(model: Any, shell: Any, curator: Curator) -> None:
    """Raise where the rows do not have the columns of the model, in their order."""
    ours, theirs = (getattr(one, "feature_names_in_", None) for one in (model, shell))
    named = ours is None or theirs is None or list(ours) == list(theirs)
    if model.n_features_in_ != shell.n_features_in_ or not named:
        raise ArgumentError("X", UNSHOWN, f"the {model.n_features_in_} columns of the model, in their order")
    kinds = [one.get("indicators") or {} for one in (model.releases_[0].declared, curator.declared)]
    own, given = ({name: list(one["values"]) for name, one in kind.items()} for kind in kinds)
    if own != given:
        raise ArgumentError("X", UNSHOWN, "the categories of the model, in the order in which they were declared")


def _classified(
    model: Any, space: Any, metric: str, order: list[int], grid: Sequence[float] | None
) -> Confusion | ScoreCells:
    """Return the query of a classifier, its classes in the order of the declared labels."""
    rule: LinearRule | Components
    if isinstance(model, GaussianClassifier):
        own = model._components
        rule = Components(own.weights[order], own.means[order], own.covariances[order])
    else:
        lines, starts = np.asarray(model.coef_), np.asarray(model.intercept_)
        if len(order) == 2:  # one score, of the second class
            lines, starts = np.concatenate([0.0 * lines, lines]), np.concatenate([0.0 * starts, starts])
        rule = LinearRule(lines[order], starts[order])
    if metric != "auc":
        return Confusion(space, rule, len(order))
    if len(order) != 2:
        raise ArgumentError("metric", "auc", "two classes", write="metric='confusion' for more")
    return ScoreCells(space, rule, _default_grid(space, rule) if grid is None else tuple(float(edge) for edge in grid))


def _default_grid(space: Box | Ball, rule: LinearRule | Components) -> tuple[float, ...]:
    """Return public edges: ``GRID``, or as many over the scores that a linear rule can have within the bounds.

    The weights and the bounds are public, so these scores are.
    """
    if not (isinstance(rule, LinearRule) and isinstance(space, Box)):
        return GRID
    (line,), (start,) = np.diff(rule.coefficients, axis=0), np.diff(rule.intercepts)
    ends = np.sort(np.stack([line * np.asarray(space.low), line * np.asarray(space.high)]), axis=0).sum(axis=1) + start
    least, most = np.clip(ends, GRID[0], GRID[-1]).tolist()
    edges = np.linspace(least, most, len(GRID))
    return tuple(edges.tolist()) if np.all(np.diff(edges) > 0.0) else GRID


def _smaller_noise(curator: Curator, query: Query, guarantee: Guarantee) -> tuple[Loss, Guarantee]:
    """Return the loss with the smaller noise, and what it costs; with a ledger δ means Gaussian noise."""
    loss = additive_loss(guarantee)
    if not guarantee.delta or curator.ledger is not None:
        return loss, guarantee
    laplace = LaplaceLoss(guarantee.epsilon, guarantee.neighbors)
    gaussian, other = (curator.plan(query, one).noise for one in (loss, laplace))
    assert gaussian is not None
    assert other is not None
    if other.variance < gaussian.variance:
        return laplace, Guarantee(guarantee.epsilon, 0.0, guarantee.neighbors)
    return loss, guarantee


Answered = tuple[Any, float, Callable[[float], tuple[Any, Any]]]


def _confusion(query: Any, release: Release) -> Answered:
    counts, noise = release["counts"].copy(), release.noise
    assert noise is not None

    return counts, 0.0, lambda level: count_interval(counts, None, noise.half_width(level))


def _accuracy(query: Any, release: Release) -> Answered:
    counts, noise = release["counts"], release.noise
    assert noise is not None
    right, public = float(np.trace(counts)), release.size.rows
    total = float(counts.sum()) if public is None else float(public)
    number = counts.shape[0]

    def interval(level: float) -> tuple[float, float]:
        each = level if public is not None else (1.0 + level) / 2.0
        near = noise.half_width_of_sum([1.0] * number, each)
        off = 0.0 if public is not None else noise.half_width_of_sum([1.0] * number**2, each)
        low, high = max(right - near, 0.0) / max(total + off, 1.0), max(right + near, 0.0) / max(total - off, 1.0)
        return min(low, 1.0), min(high, 1.0)

    return min(max(right / max(total, 1.0), 0.0), 1.0), 0.0, interval


def _auc(query: Any, release: Release) -> Answered:
    first, second = release["counts"]
    noise = release.noise
    assert noise is not None
    bins = len(first)
    sizes = max(float(first.sum()), 1.0), max(float(second.sum()), 1.0)
    pairs = sizes[0] * sizes[1]
    below, above = np.cumsum(first) - 0.5 * first, second.sum() - np.cumsum(second) + 0.5 * second
    raw = float(second @ below) / pairs
    value = min(max(raw, 0.0), 1.0)
    ties = float(np.maximum(first, 0.0) @ np.maximum(second, 0.0)) / pairs
    grid_error = min(0.5 * ties, 0.5)
    slopes = [*(above / pairs - value / sizes[0]), *(below / pairs - value / sizes[1])]
    product = noise.variance * math.sqrt(bins * (bins - 1) / 2.0 + bins / 4.0) / pairs

    def interval(level: float) -> tuple[float, float]:
        if min(sizes) <= noise.half_width_of_sum([1.0] * bins, level):
            return 0.0, 1.0  # there may be no row of a class
        normal = float(ndtri((1.0 + level) / 2.0))
        half = math.hypot(noise.half_width_of_sum(slopes, level), normal * product) + grid_error
        return max(value - half, 0.0), min(value + half, 1.0)

    return value, grid_error, interval


def _r2(query: Any, release: Release) -> Answered:
    noise, parts = release.noise, release.parts
    assert noise is not None
    public = release.size.rows
    names = ["first", "square", "residual"] + (["count"] if query.counted else [])
    released = {name: float(release[name][0]) for name in names}
    rows = released.get("count", float(public or 0))

    def ratio(rows: float, first: float, square: float, residual: float) -> float:
        """Return R² from the number of rows, |Σt|, Σ(2t² − 1) and Σ(2r² − 1); −∞ where nothing varies."""
        rows = max(rows, 1.0)
        total = (square + rows) / 2.0 - first * first / rows
        left = max((residual + rows) / 2.0, 0.0)
        return 1.0 - 4.0 * left / total if total > 0.0 else -math.inf

    def interval(level: float) -> tuple[float, float]:
        half = {name: noise.half_width(level) / parts[name].weight for name in names}
        if rows <= 3.0 * max(half.get("count", 0.0), 1.0):
            return -math.inf, 1.0  # there may be no row
        mean = released["first"] / rows
        left, total = (released["residual"] + rows) / 2.0, (released["square"] + rows) / 2.0 - mean * mean * rows

        def accepts(share: float) -> bool:
            """Return whether noise explains that 4Σr²/2 is not this share of Σ(t − t̄)²."""
            slopes = {"residual": 2.0, "square": -share / 2.0, "first": 2.0 * share * mean}
            slopes["count"] = 2.0 - share / 2.0 - share * mean * mean
            wide = noise.half_width_of_sum([slopes[name] / parts[name].weight for name in names], level)
            return abs(4.0 * left - share * total) <= wide + share * half["first"] ** 2 / rows

        middle = max(4.0 * left / total, 0.0) if total > 0.0 else FARTHEST
        if not accepts(middle):  # both sums are below 0
            return -math.inf, 1.0
        low, high = 1.0 - _last_accepted(middle, FARTHEST, accepts), 1.0 - _last_accepted(middle, 0.0, accepts)
        return min(low, value), max(high, value)

    value = ratio(rows, released["first"], released["square"], released["residual"])
    value = value if math.isfinite(value) else 0.0
    return value, 0.0, interval


def _last_accepted(inside: float, end: float, accepts: Callable[[float], bool]) -> float:
    """Return the last number from an accepted one towards an end that is accepted, by bisection; −∞ or ∞ beyond it."""
    if accepts(end):
        return end if end < FARTHEST else math.inf
    out = end
    for _ in range(45):
        middle = (inside + out) / 2.0
        inside, out = (middle, out) if accepts(middle) else (inside, middle)
    return out


_ANSWERS: dict[str, Callable[[Any, Release], Answered]] = {
    "accuracy": _accuracy,
    "confusion": _confusion,
    "auc": _auc,
    "r2": _r2,
}
