"""Subjects: every estimator with each of its methods, a custom model, the private score; and mixtures for one run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from discreet.estimators.base import PrivateEstimator
from discreet.estimators.factor_analysis import FactorAnalysis
from discreet.estimators.gaussian_classifier import GaussianClassifier
from discreet.estimators.gaussian_mixture import GaussianMixture
from discreet.estimators.kmeans import KMeans
from discreet.estimators.linear_regression import LinearRegression
from discreet.estimators.linear_svc import LinearSVC
from discreet.estimators.logistic_regression import LogisticRegression
from discreet.estimators.own_model import fit_model
from discreet.estimators.pca import PCA
from discreet.estimators.scoring import private_score
from discreet.estimators.table_mixture import TableMixture
from discreet.estimators.table_synthesizer import TableSynthesizer
from discreet.models.mixture.joint_release import JointMixture
from discreet.records import Category, Number, Schema
from discreet.records.declared.columns import Column
from papers.audit.subjects.subject import BOTH, DELTA, LABELLED, MANY, PLANE, Subject, of_schema

__all__ = ["estimators", "mixtures"]

Ask = Callable[[Any, float], Any]
TWO_CLASSES = Schema({**dict(PLANE.columns), "g": Category(["a", "b"])})
OF_THREE = Schema({"x": PLANE.numbers["x"], "g": Category(["a", "b", "c"]), "end": Category(["no", "yes"])})
# With a strong penalty the minimum depends most on a row, relative to its charged sensitivity.
STRONG = {"objective": {"C": 1e-3}, "output": {"C": 1e-3}}


def _fits(kind: Any, *arguments: Any, target: str | None = None, **parameters: Any) -> Ask:
    """Return a function that fits an estimator to a curator at an ε."""

    def ask(curator: Any, epsilon: float) -> Any:
        model = kind(*arguments, epsilon=epsilon, delta=DELTA, **parameters)
        return model.fit(curator) if target is None else model.fit(curator, target)

    return ask


def _own(curator: Any, epsilon: float) -> Any:
    return fit_model(JointMixture(2), curator, epsilon=epsilon, delta=DELTA, n_steps=1)


@cache
def _scored() -> Any:
    """Return a model to score with, the same throughout a process: fitted to synthetic rows around the centre."""
    rows = np.random.default_rng(0).normal([5.0, -1.0], [0.5, 0.2], (500, 2))
    return GaussianMixture(2, bounds=[column.ends for column in PLANE.numbers.values()], epsilon=10.0, delta=DELTA).fit(
        rows
    )


@cache
def _predicts(metric: str) -> Any:
    """Return a model whose predictions are scored, the same throughout a process: fitted to synthetic rows."""
    rng = np.random.default_rng(0)
    bounds = [column.ends for column in PLANE.numbers.values()]
    rows = rng.normal([5.0, -1.0], [0.5, 0.2], (500, 2))
    if metric == "r2":
        return LinearRegression(epsilon=10.0, bounds=bounds[:1], target_bounds=bounds[1]).fit(rows[:, :1], rows[:, 1])
    labels = np.where(rows[:, 0] > 5.0, "a", "b")
    return LogisticRegression(epsilon=10.0, bounds=bounds, classes=["a", "b"]).fit(rows, labels)


def _metric(metric: str, target: str) -> Ask:
    """Return a function that measures how well a public model predicts a curator's rows."""
    return lambda curator, epsilon: private_score(_predicts(metric), curator, target, metric=metric, epsilon=epsilon)


METRICS: dict[str, Ask] = {f"private {metric}": _metric(metric, "g") for metric in ("accuracy", "confusion", "auc")}
MIXTURES: dict[str, Ask] = {
    "GaussianMixture, adaptive": _fits(GaussianMixture, 2, n_steps=3),
    "GaussianMixture, joint": _fits(GaussianMixture, 2, method="joint", n_steps=3),
    "KMeans, adaptive": _fits(KMeans, 2),
}
OF_ROWS: dict[str, Ask] = {
    "GaussianMixture, one component": _fits(GaussianMixture, 1),
    "GaussianMixture, diagonal": _fits(GaussianMixture, 2, covariance_type="diag", n_steps=3),
    "GaussianMixture, tied": _fits(GaussianMixture, 2, covariance_type="tied", method="joint", n_steps=3),
    "GaussianMixture, paper": _fits(GaussianMixture, 2, method="paper", n_steps=2),
    "KMeans, joint": _fits(KMeans, 2, method="joint"),
    "KMeans, dplloyd": _fits(KMeans, 2, method="dplloyd"),
    "FactorAnalysis, adaptive": _fits(FactorAnalysis, 1, method="adaptive"),
    "FactorAnalysis, one release": _fits(FactorAnalysis, 1, method="one-release"),
    "PCA, adaptive": _fits(PCA, 1, method="adaptive"),
    "PCA, analyze-gauss": _fits(PCA, 1, method="analyze-gauss"),
    "PCA, sulq": _fits(PCA, 1, method="sulq"),
    "PCA, exponential": _fits(PCA, 1, method="exponential"),
    "LinearRegression, adaptive": _fits(LinearRegression, target="y"),
    "LinearRegression, adassp": _fits(LinearRegression, target="y", method="adassp"),
    "a model of one's own": _own,
    "private score": lambda c, e: private_score(_scored(), c, epsilon=e),
    "private R²": _metric("r2", "y"),
}
CLASSIFIERS: dict[str, Ask] = {
    f"{kind.__name__}, {method}": _fits(kind, target="g", method=method, **STRONG.get(method, {}))
    for kind, methods in (
        (GaussianClassifier, ("adaptive", "joint", "xi2011")),
        (LogisticRegression, LogisticRegression._methods),
        (LinearSVC, LinearSVC._methods),
    )
    for method in methods
}


def _with_categories(kind: Any, target: str, **parameters: Any) -> Ask:
    """Return a function that fits a regression in which categories are features."""
    fit = _fits(kind, target=target, **parameters)
    return lambda curator, epsilon: fit(curator.only(["x", "g", "end"]), epsilon)


OF_CATEGORIES: dict[str, Ask] = {
    "LinearRegression, categories": _with_categories(LinearRegression, "x"),
    "LogisticRegression, categories": _with_categories(LogisticRegression, "end", **STRONG["objective"]),
    "LogisticRegression, inference, categories": _with_categories(
        LogisticRegression, "end", inference=True, coordinates="private", **STRONG["objective"]
    ),
    "LinearSVC, categories": _with_categories(LinearSVC, "end", **STRONG["objective"]),
}


def estimators() -> list[Subject]:
    """Return the subjects of this module."""
    return [
        *of_schema("estimators", MIXTURES, PLANE, BOTH),
        *of_schema("estimators", OF_ROWS, PLANE),
        *of_schema("estimators", {"GaussianMixture, ten columns": _fits(GaussianMixture, 2, n_steps=2)}, MANY),
        *of_schema("estimators", CLASSIFIERS | METRICS, TWO_CLASSES),
        *of_schema("estimators", OF_CATEGORIES, OF_THREE, BOTH),
        *of_schema("estimators", {"TableMixture": _fits(TableMixture, 2)}, LABELLED),
        *of_schema("estimators", {"TableSynthesizer": _fits(TableSynthesizer)}, LABELLED),
    ]


def mixtures() -> dict[str, PrivateEstimator]:
    """Return mixtures for the audit in one run: of many columns, so that many canaries have room."""
    # The proof charges 2δ for every canary, which must stay below what the confidence leaves.
    shared: dict[str, Any] = {"epsilon": 10.0, "delta": 1e-10, "neighbors": "add-remove"}
    bounds = [(-1.0, 3.0)] * 40
    columns: dict[str, Column] = {f"x{j}": Number(-1.0, 3.0) for j in range(10)}
    columns |= {f"g{j}": Category(["a", "b", "c"]) for j in range(10)}
    return {
        "GaussianMixture, adaptive": GaussianMixture(2, bounds=bounds, n_steps=2, **shared),
        "GaussianMixture, joint": GaussianMixture(2, bounds=bounds, method="joint", n_steps=2, **shared),
        "GaussianMixture, diagonal": GaussianMixture(2, bounds=bounds, covariance_type="diag", n_steps=2, **shared),
        "KMeans, adaptive": KMeans(2, bounds=bounds, **shared),
        "TableMixture": TableMixture(2, schema=Schema(columns), **shared),
    }
