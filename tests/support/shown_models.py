"""One small fitted model of each kind, for the tests of pictures and reports. A seeded one would be refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import discreet as dp
from short_fits import shorter_synthesis

ROWS = 4000
BOX = dp.Box([0, 0, 0], [100, 80, 10])
HOSTILE = "<script>alert('x')</script> $a$ & b"

KINDS = (
    "mixture", "tied", "line", "kmeans", "classifier", "logistic", "three", "svc", "regression", "pca", "drawn",
    "factors", "table", "synthesizer",
)  # fmt: skip


def people() -> pd.DataFrame:
    """Return made-up rows: two groups, three columns of numbers, one of categories."""
    rng = np.random.default_rng(0)
    second = rng.random(ROWS) < 0.4
    age = np.where(second, 60.0, 35.0) + 6.0 * rng.normal(size=ROWS)
    hours = np.where(second, 30.0, 42.0) + 5.0 * rng.normal(size=ROWS)
    score = 5.0 + 0.05 * (age - 45.0) + rng.normal(size=ROWS)
    return pd.DataFrame({"age": age, "hours": hours, "score": score, "group": np.where(second, "b", "a")})


def numbers() -> pd.DataFrame:
    return people()[["age", "hours", "score"]]


def target(kind: str) -> Any:
    """Return the labels or the target of a kind, None where it has none."""
    frame = people()
    if kind in ("classifier", "logistic", "svc"):
        return frame["group"].to_numpy()
    if kind == "three":
        return np.digitize(frame["age"], [35.0, 55.0])
    return frame["score"].to_numpy() if kind == "regression" else None


def rows_of(kind: str) -> Any:
    """Return what a kind is fitted to."""
    if kind in ("table", "synthesizer"):
        return people()
    if kind == "line":
        return people()[["age"]]
    return people()[["age", "hours"]] if kind == "regression" else numbers()


@cache
def fitted(kind: str) -> Any:
    """Return a model of a kind, fitted to the rows; always the same, so nobody changes it."""
    schema = dp.Schema(
        {name: dp.Number(0, high) for name, high in (("age", 100), ("hours", 80), ("score", 10))}
        | {"group": dp.Category(["a", "b"])}
    )
    labels = {"classes": ["a", "b"], "bounds": BOX}
    made = {
        "mixture": lambda: dp.GaussianMixture(2, bounds=BOX),
        "tied": lambda: dp.GaussianMixture(2, bounds=BOX, covariance_type="tied", method="joint", n_steps=3),
        "line": lambda: dp.GaussianMixture(2, bounds=dp.Box(0, 100)),
        "kmeans": lambda: dp.KMeans(3, bounds=BOX),
        "classifier": lambda: dp.GaussianClassifier(**labels),
        "logistic": lambda: dp.LogisticRegression(**labels),
        "three": lambda: dp.LogisticRegression(bounds=BOX, classes=[0, 1, 2], method="gradient"),
        "svc": lambda: dp.LinearSVC(**labels),
        "regression": lambda: dp.LinearRegression(bounds=dp.Box([0, 0], [100, 80]), target_bounds=(0, 10)),
        "pca": lambda: dp.PCA(2, bounds=BOX, scale_by_bounds=True),
        "drawn": lambda: dp.PCA(2, bounds=BOX, method="exponential"),
        "factors": lambda: dp.FactorAnalysis(1, bounds=BOX),
        "table": lambda: dp.TableMixture(2, schema=schema),
        "synthesizer": lambda: dp.TableSynthesizer(schema=schema),
    }
    y = target(kind)
    model = made[kind]()
    with shorter_synthesis():
        return model.fit(rows_of(kind)) if y is None else model.fit(rows_of(kind), y)
