"""A catalogue for attacks: everything that can be asked of rows, each as a function of a curator.

Every estimator by each of its methods, every statistic, mechanism, signal and question of a database, about one small
made-up table. ``ask(curator)`` returns what a user would get; it works under both relations, for rows of any kind.
``test_poison.py`` sees that nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

import discreet as dp
from discreet import mechanisms, signals, statistics
from discreet.door import Curator
from discreet.models.noisy_sums import clip_to_ball, noise_std
from discreet.queries.bound import Bound
from discreet.queries.question import Part

__all__ = [
    "COLUMNS", "DATABASE", "ESTIMATORS", "EVERYTHING", "FILLED", "MECHANISMS", "OF_ALL_ROWS", "OPEN_ENDED", "SCHEMA",
    "SIGNALS", "STATISTICS", "Ask", "made_up",
]  # fmt: skip

Ask = Callable[[Curator], Any]

COLUMNS: dict[str, Any] = {
    "a": dp.Number(0, 100),
    "b": dp.Number(-50, 50),
    "w": dp.Number(0, 2),
    "t": dp.Number(0, 16),
    "p": dp.Number(0.5, 40),
    "g": dp.Category(["u", "v", "w"]),
    "s": dp.Category(["no", "yes"]),
}
SCHEMA = dp.Schema(COLUMNS)
FILLED = dp.Schema(
    {
        name: dp.Category(column.values, missing="fill", fill=column.values[0])
        if isinstance(column, dp.Category)
        else dp.Number(column.low, column.high, missing="fill", fill=column.low)
        for name, column in COLUMNS.items()
    }
)
PAIR = ["a", "b"]


def made_up(rows: int = 80, seed: int = 0) -> dict[str, list[Any]]:
    """Return a table of two groups, complete, with a column that says whose row it is."""
    rng = np.random.default_rng(seed)
    second = rng.random(rows) < 0.4
    a = np.where(second, 62.0, 35.0) + 6.0 * rng.normal(size=rows)
    b = 0.4 * (a - 45.0) + 5.0 * rng.normal(size=rows)
    return {
        "a": a.clip(0, 100).tolist(),
        "b": b.clip(-50, 50).tolist(),
        "w": rng.uniform(0.1, 1.9, rows).tolist(),
        "t": rng.uniform(0.0, 16.0, rows).tolist(),
        "g": np.array(["u", "v", "w"])[rng.integers(0, 3, rows)].tolist(),
        "s": np.where(second, "yes", "no").tolist(),
        "person": np.arange(rows).tolist(),
        "p": rng.uniform(0.5, 40.0, rows).tolist(),
    }


def _of(estimator: Any, columns: list[str], target: str | None = None) -> Ask:
    """Return a fit of an estimator, which is made anew each time, to some of the columns."""

    def ask(curator: Curator) -> Any:
        held = curator.only(columns if target is None else [*columns, target])
        return estimator().fit(held) if target is None else estimator().fit(held, target)

    return ask


class Mean(dp.Model[np.ndarray]):
    """A model of one's own: a row y of the unit ball contributes (1, y)/√2."""

    name = "mean"

    def initialize(self, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """Start at the centre."""
        return np.zeros(dimension)

    def parts(self, params: np.ndarray) -> Mapping[str, Part]:
        """Name a count and a sum."""
        return {"counts": Part((1,), np.sqrt(0.5)), "first": Part(params.shape, np.sqrt(0.5))}

    def bound(self, params: np.ndarray) -> Bound:
        """Return the norm of a row, and that of the difference of two, in which counts cancel."""
        return Bound(l2=1.0, replace_l2=np.sqrt(2.0))

    def contributions(self, params: np.ndarray, block: Any) -> Any:
        """Put the parts side by side."""
        xp = array_namespace(block.x)
        ones = xp.ones((block.x.shape[0], 1), dtype=xp.float64, device=device(block.x))
        return xp.concat([ones, block.x], axis=1) * np.sqrt(0.5)

    def maximize(self, params: np.ndarray, release: dp.Release) -> np.ndarray:
        """Divide two noisy sums."""
        return clip_to_ball(
            release["first"] / max(float(release["counts"][0]), 2.0 * noise_std(release, "counts"), 1.0)
        )


def _mixtures() -> dict[str, Ask]:
    made: dict[str, dict[str, Any]] = {
        "adaptive": {},
        "adaptive, tied": {"covariance_type": "tied"},
        "adaptive, map": {"estimate": "map"},
        "joint": {"method": "joint", "n_steps": 3},
        "joint, diagonal": {"method": "joint", "n_steps": 2, "covariance_type": "diag"},
        "joint, spherical": {"method": "joint", "n_steps": 2, "covariance_type": "spherical"},
        "paper": {"method": "paper", "n_steps": 2},
        "paper, LLG": {"method": "paper", "n_steps": 2, "mechanisms": "LLG", "composition": "advanced"},
    }
    return {
        f"GaussianMixture: {name}": _of(lambda how=how: dp.GaussianMixture(2, **how), PAIR)  # type: ignore[misc]
        for name, how in made.items()
    }


def _several(kind: Any, given: dict[str, dict[str, Any]], columns: list[str], target: str | None = None) -> dict:
    return {
        f"{kind.__name__}: {name}": _of(lambda how=how: kind(**how), columns, target)  # type: ignore[misc]
        for name, how in given.items()
    }


def _scored(curator: Curator) -> Any:
    rows = np.random.default_rng(5).uniform(10.0, 40.0, (60, 2))  # of others, who are no secret
    model = dp.GaussianMixture(1, bounds=dp.Box([0, -50], [100, 50]), method="joint", n_steps=1).fit(rows)
    return dp.private_score(model, curator.only(PAIR), epsilon=1.0)


def _measured(metric: str) -> Ask:
    """Return a metric of a model that was fitted to the rows of others."""

    def ask(curator: Curator) -> Any:
        others = made_up(60, seed=5)
        rows, own = np.array([others["a"], others["b"]]).T, {"epsilon": 50.0, "bounds": dp.Box([0, -50], [100, 50])}
        if metric == "r2":
            line = dp.LinearRegression(epsilon=50.0, bounds=dp.Box([0], [100]), target_bounds=(-50, 50))
            line.fit(rows[:, :1], rows[:, 1])
            return dp.private_score(line, curator.only(PAIR), "b", metric=metric, epsilon=1.0)
        labels = np.array(others["g" if metric == "confusion" else "s"])
        classes = ["u", "v", "w"] if metric == "confusion" else ["no", "yes"]
        kind = dp.GaussianClassifier if metric == "confusion" else dp.LogisticRegression
        model = kind(classes=classes, **own).fit(rows, labels)
        name = "g" if metric == "confusion" else "s"
        return dp.private_score(model, curator.only([*PAIR, name]), name, metric=metric, epsilon=1.0)

    return ask


def _own(curator: Curator) -> Any:
    return dp.fit_model(Mean(), curator.only(PAIR), epsilon=1.0, delta=1e-6, n_steps=2)


def _methods(*names: str, **more: Any) -> dict[str, dict[str, Any]]:
    return {name: {"method": name, **more} for name in names}


ESTIMATORS: dict[str, Ask] = {
    **_mixtures(),
    **_several(
        dp.KMeans,
        {
            **_methods("adaptive", "joint", n_clusters=2, n_steps=3),
            "dplloyd": {"n_clusters": 2, "method": "dplloyd", "n_steps": 2},
            "dplloyd, linear": {"n_clusters": 2, "method": "dplloyd", "n_steps": 2, "composition": "linear"},
        },
        PAIR,
    ),
    **_several(
        dp.PCA,
        {
            **_methods("auto", "adaptive", "analyze-gauss", "sulq", "exponential", n_components=1),
            "declared centre": {"n_components": 1, "center": "declared", "scale_by_bounds": True},
        },
        PAIR,
    ),
    **_several(dp.FactorAnalysis, _methods("auto", "adaptive", "one-release"), ["a", "b", "w"]),
    **_several(dp.GaussianClassifier, _methods("adaptive", "joint", "xi2011"), PAIR, "g"),
    **_several(
        dp.LogisticRegression, _methods("objective", "objective-2011", "output", "functional", "gradient"), PAIR, "s"
    ),
    **_several(dp.LogisticRegression, {"inference": {"inference": True}}, PAIR, "s"),
    **_several(dp.LogisticRegression, {"three classes": {"method": "gradient", "max_iter": 3}}, PAIR, "g"),
    **_several(dp.LinearSVC, _methods("objective", "objective-2011", "output"), PAIR, "s"),
    **_several(dp.LinearRegression, _methods("adaptive", "adassp"), ["a", "w"], "b"),
    **_several(dp.TableMixture, {"two": {"n_components": 2, "n_steps": 3}}, ["a", "b", "g", "s"]),
    **_several(dp.TableSynthesizer, {"pairs": {}}, ["a", "b", "g", "s"]),
    "fit_model": _own,
    "private_score": _scored,
    **{f"private_score, {metric}": _measured(metric) for metric in ("accuracy", "confusion", "auc", "r2")},
}

# Without a proof, so that a ledger refuses it.
OPEN_ENDED: dict[str, Ask] = {"PCA: gibbs": _of(lambda: dp.PCA(1, method="gibbs"), PAIR)}


def _statistics() -> dict[str, Ask]:
    pure, approximate = {"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}
    return {
        # Of all rows where their number is private; where it is public, of groups
        "count": lambda c: statistics.count(c, by="g" if c.neighbors is dp.Neighbors.REPLACE_ONE else None, **pure),
        "count by": lambda c: statistics.count(c, by="g", **approximate),
        "sum": lambda c: statistics.sum(c, PAIR, by="g", weights="w", **pure),
        "mean": lambda c: statistics.mean(c, PAIR, **approximate),
        "mean by": lambda c: statistics.mean(c, PAIR, by="g", weights="w", **approximate),
        "mean, loose": lambda c: statistics.mean(c, "a", loose=True, **pure),
        "trimmed_mean": lambda c: statistics.trimmed_mean(c, "a", **pure),
        "variance": lambda c: statistics.variance(c, PAIR, by="g", **pure),
        "variance, adaptive": lambda c: statistics.variance(c, PAIR, method="adaptive", **approximate),
        "covariance": lambda c: statistics.covariance(c, PAIR, weights="w", **approximate),
        "covariance, adaptive": lambda c: statistics.covariance(c, PAIR, method="adaptive", **approximate),
        "std": lambda c: statistics.std(c, PAIR, by="g", weights="w", **approximate),
        "std, adaptive": lambda c: statistics.std(c, PAIR, method="adaptive", **approximate),
        "correlation": lambda c: statistics.correlation(c, PAIR, **pure),
        "correlation by": lambda c: statistics.correlation(c, PAIR, by="g", weights="w", **approximate),
        "correlation, adaptive": lambda c: statistics.correlation(c, PAIR, method="adaptive", **approximate),
        "geometric_mean": lambda c: statistics.geometric_mean(c, "p", **pure),
        "proportion": lambda c: statistics.proportion(c, "s", of="yes", **pure),
        "proportion by": lambda c: statistics.proportion(c, "a > 30 or g == 'v'", by="s", weights="w", **approximate),
        "mode": lambda c: statistics.mode(c, "g", **pure),
        "mode by": lambda c: statistics.mode(c, "g", by="s", **pure),
        "min": lambda c: statistics.min(c, "a", **pure),
        "max": lambda c: statistics.max(c, "b", by="g", step=0.5, rows=80, **pure),
        "median": lambda c: statistics.median(c, "a", step=0.5, **pure),
        "quantile": lambda c: statistics.quantile(c, 1.0, "b", **pure),
        "quantiles": lambda c: statistics.quantiles(c, [0.25, 0.5, 0.9], "a", by="g", step=0.5, **pure),
        "quantile, weighted": lambda c: statistics.quantile(c, 0.8, "a", weights="w", **pure),
        "interquartile_range": lambda c: statistics.interquartile_range(c, "a", **pure),
        "histogram": lambda c: statistics.histogram(c, "a", by="g", **pure),
        "histograms": lambda c: statistics.histogram(c, ["a", "s"], by="g", bins=4, **approximate),
        "crosstab": lambda c: statistics.crosstab(c, "g", "s", **pure),
        "crosstab, Gaussian": lambda c: statistics.crosstab(c, "g", "a", bins=3, by="s", **approximate),
        "crosstab, means": lambda c: statistics.crosstab(c, "g", "a", "b", bins=3, **pure),
        "survival": lambda c: statistics.survival(c, "t", "s", occurred="yes", by="g", **pure),
        "survival, fine": lambda c: statistics.survival(c, "t", "s", occurred="yes", grid=60, **pure),
        "survival, square root": lambda c: statistics.survival(c, "t", "s", occurred="yes", **approximate),
        "log_rank": lambda c: statistics.log_rank(c, "t", "s", "g", occurred="yes", until=8.0, **pure),
        "density": lambda c: statistics.density(c, "a", **approximate),
        "density, functional": lambda c: statistics.density(c, "a", method="functional", **approximate),
        "density, histogram": lambda c: statistics.density(c, "a", method="histogram", rows=80, **pure),
        "m_estimate": lambda c: statistics.m_estimate(c, "a", k=10.0, rows=80, **pure),
        "m_estimate, absolute": lambda c: statistics.m_estimate(c, PAIR, loss="absolute", rows=80, **approximate),
        "difference": lambda c: statistics.difference(c, "a", between="s", **pure),
        "difference of shares": lambda c: statistics.difference(
            c, "s", between="g", groups=["u", "w"], of="no", **pure
        ),
        "rank_test": lambda c: statistics.rank_test(c, "a", between="s", **approximate),
        "chi_square": lambda c: statistics.chi_square(c, "s", by="g", **pure),
        "trend": lambda c: statistics.trend(c, "a", over="t", bins=4, **approximate),
        "trend of counts": lambda c: statistics.trend(c, over="t", **pure),
        "check_schema": lambda c: statistics.check_schema(c, **approximate),
        "huber_location": lambda c: statistics.huber_location(c, "a", scale=10.0, rows=80, **pure),
    }


STATISTICS = _statistics()


def _closeness(rows: Any, candidates: Any) -> Any:
    return -np.abs(rows[:, :1] - np.asarray(candidates)).sum(axis=0) / 100.0


def _row_scores(rows: Any, candidates: Any) -> Any:
    return np.tanh((rows[:, :1] - np.asarray(candidates)) / 50.0)


def _mean_of(rows: Any) -> Any:
    return float(np.mean(rows[:, 0])) if len(rows) else 0.0


def _mechanisms() -> dict[str, Ask]:
    one = {"epsilon": 1.0}
    return {
        "exponential": lambda c: mechanisms.exponential(
            _closeness, c.only(["a"]), [10, 40, 70], sensitivity=1.0, largest=1000.0, **one
        ),
        "exponential_on_interval": lambda c: mechanisms.exponential_on_interval(
            _closeness, c.only(["a"]), 0, 100, sensitivity=1.0, cells=64, largest=1000.0, **one
        ),
        "FactoredExponential": lambda c: mechanisms.FactoredExponential(_row_scores, [10.0, 50.0, 90.0]).draw(
            c.only(["a"]), **one
        ),
        "output_perturbation": lambda c: mechanisms.output_perturbation(
            _mean_of, c.only(["a"]), sensitivity=100.0, output=(0, 100), **one
        ),
        "sample_and_aggregate": lambda c: mechanisms.sample_and_aggregate(
            _mean_of, c.only(["a"]), output=(0, 100), blocks=8, **one
        ),
        "sample_and_aggregate, median": lambda c: mechanisms.sample_and_aggregate(
            _mean_of, c.only(["a"]), output=(0, 100), blocks=8, aggregate="median", **one
        ),
        "smooth_sensitivity": lambda c: mechanisms.smooth_sensitivity(
            _mean_of, lambda rows, beta: 100.0, c.only(["a"]), output=(0, 100), **one
        ),
    }


MECHANISMS = _mechanisms()


def _proposed(make: Any) -> Ask:
    return lambda c: mechanisms.propose_test_release(
        None, make(5.0, 0, 100), c.only(["a"]), proposal=5.0, output=(0, 100), epsilon=1.0, delta=1e-6
    )


# What refuses rows of which some may not count: for ``FILLED``, under replace-one.
OF_ALL_ROWS: dict[str, Ask] = {
    "input_perturbation": lambda c: mechanisms.input_perturbation(c.only(PAIR), epsilon=1.0),
    "smooth_median": lambda c: mechanisms.smooth_median(c, "a", epsilon=1.0),
    "variance, direct": lambda c: statistics.variance(c, "a", method="direct", epsilon=1.0),
    "propose_test_release": _proposed(mechanisms.median_distance),
    "propose_test_release, spread": _proposed(mechanisms.iqr_distance),
}


def _signals() -> dict[str, Ask]:
    both, one = {"time": "t", "value": "a", "steps": 16}, {"epsilon": 1.0, "delta": 1e-6}
    return {
        "running_sum": lambda c: signals.running_sum(c, **both, **one),
        "running_sum, counts": lambda c: signals.running_sum(c, time="t", steps=16, method="tree", **one),
        "running_sum, doubling": lambda c: signals.running_sum(c, **both, method="doubling", monotone=True, **one),
        "lti_filter": lambda c: signals.lti_filter(c, [0.1], [1.0, -0.9], **both, **one),
        "fourier": lambda c: signals.fourier(c, **both, **one),
        "fourier, few": lambda c: signals.fourier(c, **both, coefficients=3, **one),
        "fast": lambda c: signals.fast(c, **both, **one),
        "kalman": lambda c: signals.kalman(c, **both, model="local level", **one),
        "kalman, output": lambda c: signals.kalman(
            c, **both, method="output", model=signals.StateSpace([[0.9]], [1.0], [[4.0]], 9.0), **one
        ),
    }


SIGNALS = _signals()

# Of a ``StatisticalDatabase``.
DATABASE: dict[str, Callable[[Any], Any]] = {
    "count": lambda db: db.count(where="a > 30 and g != 'u'"),
    "sum": lambda db: db.sum("a", by="g"),
    "mean": lambda db: db.mean(["a", "b"], where="s == 'yes'"),
    "trimmed_mean": lambda db: db.trimmed_mean("a"),
    "variance": lambda db: db.variance("a", by="s"),
    "covariance": lambda db: db.covariance(["a", "b"]),
    "median": lambda db: db.median("b", weights="w"),
    "quantile": lambda db: db.quantile("a", 0.9),
    "quantiles": lambda db: db.quantiles("a", [0.1, 0.9], by="g", step=0.5),
    "interquartile_range": lambda db: db.interquartile_range("a"),
    "histogram": lambda db: db.histogram("a", by="g"),
    "crosstab": lambda db: db.crosstab("g", "a", bins={"a": [0, 30, 60, 100]}, where="b > 0"),
    "std": lambda db: db.std("a", by="s"),
    "correlation": lambda db: db.correlation(["a", "b"], where="s == 'yes'"),
    "geometric_mean": lambda db: db.geometric_mean("p", by="g"),
    "proportion": lambda db: db.proportion("a > 30 and g != 'u'", by="s"),
    "mode": lambda db: db.mode("g", where="a > 30"),
    "min": lambda db: db.min("a", step=0.5),
    "max": lambda db: db.max("b", by="g", interval=None),
    "survival": lambda db: db.survival("t", "s", occurred="yes", by="g"),
    "log_rank": lambda db: db.log_rank("t", "s", "g", occurred="yes", groups=["u", "v"]),
    "difference": lambda db: db.difference("a", between="s", where="b > 0"),
    "rank_test": lambda db: db.rank_test("a", between="s", bins=4),
    "chi_square": lambda db: db.chi_square("s", by="g"),
    "trend": lambda db: db.trend("a", over="t", bins=4),
    "check_schema": lambda db: db.check_schema(),
}

EVERYTHING: dict[str, Ask] = {
    f"{room}: {name}": ask
    for room, asks in (
        ("estimators", ESTIMATORS), ("statistics", STATISTICS), ("mechanisms", MECHANISMS), ("signals", SIGNALS),
    )
    for name, ask in asks.items()
}  # fmt: skip
