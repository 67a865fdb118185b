"""``private_score``: the mean log-likelihood, or another metric, of private rows, with a guarantee of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from discreet.arguments import UNSHOWN, ArgumentError, choice, iterable, positive, probability
from discreet.door import Curator, Release
from discreet.estimators.base import PrivateEstimator, as_curator
from discreet.estimators.prediction_metrics import METRICS, PrivateMetric, bounds_of, private_metric
from discreet.guarantees import GaussianLoss, Guarantee, LaplaceLoss, Loss, Neighbors, calibrate
from discreet.models.mixture.selection import mean_scores
from discreet.queries.models.log_likelihood import LogLikelihood
from discreet.statistics.statistic_plots import interval_text

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class PrivateScore:
    """A private mean log-likelihood. ``float(score)`` and ``f"{score:.2f}"`` are those of a single model.

    Attributes
    ----------
    value : float, or array for several models
        In the data's own units.
    noise : float or array
        The standard deviation of its noise.
    guarantee : Guarantee or None
        Its guarantee; None where a seed made it void.
    release : Release
    """

    value: Any
    noise: Any
    guarantee: Guarantee | None
    release: Release

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return a confidence interval of the clipped score of these rows, for the noise alone."""
        assert self.release.noise is not None
        half = self.noise * self.release.noise.half_width(level) / np.sqrt(self.release.noise.variance)
        return self.value - half, self.value + half

    @property
    def which_rows(self) -> str | None:
        """The rows that were used, in words ("at most 4 rows of each patient"); None for all rows."""
        return self.release.which_rows

    @property
    def best(self) -> int:
        """The index of the model with the highest score."""
        return int(np.argmax(self.value))

    def __float__(self) -> float:
        if np.ndim(self.value):
            raise TypeError("float: several models have a score each; write value, or best for the highest one")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __repr__(self) -> str:
        ends = zip(*(np.atleast_1d(one).tolist() for one in (self.value, *self.interval())), strict=True)
        shown = ", ".join(f"{value:.6g} ({low:.6g} to {high:.6g})" for value, low, high in ends)
        rows = "" if self.which_rows is None else f", from {self.which_rows}"
        cost = self.guarantee or "NOT PRIVATE"
        return f"<private log-likelihood: {shown}; {interval_text(0.95, 'rows')}{rows}: {cost}>"


def private_score(
    model: PrivateEstimator | Sequence[PrivateEstimator],
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    metric: str | None = None,
    grid: Sequence[float] | None = None,
    neighbors: Neighbors | str | None = None,
    random_state: Any = None,
) -> PrivateScore | PrivateMetric:
    """Return the mean log-likelihood of rows under fitted models, or how well a model predicts them, with noise.

    The result can be published, unlike that of ``score``, which has no noise. The log-density of a row is clipped to an
    interval that follows from the model, so that the sum has a known sensitivity. Other metrics are computed from
    counts, or from sums within declared bounds (``discreet.estimators.prediction_metrics``).

    Parameters
    ----------
    model : GaussianMixture, FactorAnalysis or PCA, or several; a classifier or LinearRegression
        Fitted. The scores of several models are one release, by which to choose between them. Score rows other than
        those that the model was fitted to.
    X : Curator, Records, array, data frame, path or Dask collection
        As in ``fit``. The model's bounds are used where X has none of its own. Where it was fitted to persons with
        several rows each, or to rows that a condition chose, X must be a curator or a database, which says whose rows
        they are, and which of them count.
    y : array, or str
        With ``metric``: the labels or the target, as in ``fit``.
    epsilon, delta : float
        The guarantee. Laplace noise at δ = 0 (default), else Gaussian. With ``metric`` and δ, the smaller of the two,
        and Gaussian where a ledger records it.
    metric : str, optional
        ``"accuracy"``, ``"confusion"`` or ``"auc"`` (for two classes) of a ``GaussianClassifier``,
        ``LogisticRegression`` or ``LinearSVC``; ``"r2"`` of a ``LinearRegression``, of a log column on its log scale.
        By default the mean log-likelihood.
    grid : sequence of float, optional
        For AUC: public edges of the bins of the score, ``decision_function``. By default 65 edges from −8 to 8; of a
        linear model with bounds for each column over the scores that are possible, where these reach less far.
    neighbors : str, optional
        As in ``fit``.
    random_state : int, optional
        **Not private**; for tests.

    Returns
    -------
    PrivateScore, or PrivateMetric with ``metric``

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rows = np.random.default_rng(0).normal(size=(4000, 2))
    >>> model = dp.GaussianMixture(1, epsilon=1.0, bounds=dp.Ball(6.0)).fit(rows[:2000])
    >>> score = dp.private_score(model, rows[2000:], epsilon=0.5)
    >>> abs(score.value - model.score(rows[2000:])) < 0.2
    True

    A classifier, on rows that it has not seen:

    >>> label = (rows.sum(axis=1) > 0).astype(int)
    >>> linear = dp.LogisticRegression(epsilon=1.0, bounds=(-4, 4), classes=[0, 1]).fit(rows[:2000], label[:2000])
    >>> result = dp.private_score(linear, rows[2000:], label[2000:], metric="accuracy", epsilon=0.5)
    >>> low, high = result.interval(0.95)
    >>> bool(0.8 < low <= result.value <= high <= 1.0)
    True
    """
    if metric is not None:
        choice("metric", metric, METRICS)
        return private_metric(
            model,
            X,
            y,
            metric,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            random_state=random_state,
            grid=grid,
        )
    if y is not None or grid is not None:
        raise ArgumentError("y, grid", UNSHOWN, f"None without metric; write metric='{METRICS[0]}', for example")
    several = iterable(model)
    models: list[Any] = list(model) if iterable(model) else [model]
    if not models or not all(hasattr(type(one), "_components") for one in models):
        result = ", ".join(type(one).__name__ for one in models) or "none"
        raise ArgumentError(
            "model",
            UNSHOWN,
            f"a fitted GaussianMixture, FactorAnalysis or PCA, or several; got {result}",
            write=f"metric=…, one of {', '.join(map(repr, METRICS))}, for a classifier or a regression",
        )
    mixtures = [one._density if hasattr(one, "_density") else one._components for one in models]
    first, X = models[0], as_curator(X)
    bounds = [bounds_of(one, X) for one in models]
    shell = clone(first).set_params(
        neighbors=first.releases_[0].neighbors if neighbors is None and not isinstance(X, Curator) else neighbors,
        random_state=random_state,
        **bounds[0],
    )
    curator = shell._open(X)
    if any(mixture.dimension != curator.space.dimension for mixture in mixtures):
        raise ArgumentError("model", UNSHOWN, f"models of {curator.space.dimension} columns, as X has")
    guarantee = Guarantee(positive("epsilon", epsilon), probability("delta", delta), curator.neighbors)
    relative: Loss = (
        GaussianLoss(1.0, guarantee.neighbors) if guarantee.delta else LaplaceLoss(1.0, guarantee.neighbors)
    )
    bits, _ = shell._randomness()
    query = LogLikelihood(mixtures, curator.space, counted=not curator.size.complete)
    release = curator.stating(guarantee).measure(query, calibrate(guarantee, relative).losses[0], bits=bits)
    value, noise = mean_scores(query, release)
    kept = guarantee if bits is None else None
    if not several:
        return PrivateScore(float(value[0]), float(noise[0]), kept, release)
    return PrivateScore(value, noise, kept, release)
