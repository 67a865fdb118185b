"""Calls of public names, made from their signatures: sensible arguments by name, and hostile ones in their place."""

from __future__ import annotations

import dis
import inspect
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import discreet as dp
from discreet.guarantees import Loss
from discreet.ledger import LedgerError
from discreet.noise import Bits, NoiseDistribution
from effort import LONG
from hostile import Boom, Value, hostile

__all__ = ["ALLOWED", "Argument", "Attempt", "World", "attempts", "methods", "parameters", "public_names", "quiet"]

# What a call may raise, whatever it is given. Beside these: a TypeError that this library or scikit-learn raises on
# purpose, or that Python raises because the arguments do not fit the signature.
ALLOWED = (
    ValueError,  # every wrong argument; NotFittedError is one
    dp.BudgetExceeded,  # by its documentation, where a limit is reached
    LedgerError,  # a ledger that cannot be read or written
    OSError,  # a path that leads nowhere
    ModuleNotFoundError,  # an extra that is not installed
    Boom,  # the caller's own object raised it
)
# Documented for these alone: a statistic that does not fit on the grid, when nothing was released.
OVERFLOWS = {"add", "steps"}

MODULES = [dp, dp.statistics, dp.mechanisms, dp.signals, dp.database, dp.planning, dp.noise, dp.guarantees]
MODULES += [dp.inference] if LONG else []  # it brings JAX along, which takes seconds
CONVENTIONS = ("expected str, bytes or os.PathLike object", "object is not callable")  # Python's own words
DIGITS = "set_int_max_str_digits"  # Python's advice to whoever writes out a number of thousands of digits
SECONDS = 30.0  # in which a call of this size must end

# Values that the library returns: nobody makes them by hand, so they are attacked as it made them.
RETURNED = {
    "FactoredChoice", "PersonCounts", "SchemaCheck", "Calibration", "Choice", "Comparison", "Counts", "Covariance",
    "Density", "Explanation", "FilteredSignal", "Influence", "EpsilonPlan", "MEstimate", "Mean", "Posterior",
    "Priced", "Pricing", "Quantile", "Reply", "Series", "Signal", "Statistic", "Totals", "Verdict", "SampledSignal",
    "FourierSignal", "NoisyValue", "Aggregated", "Aggregate", "Drafting", "Answer", "Association", "Correlation",
    "Crosstab", "Difference", "Extreme", "GeometricMean", "Histograms", "LogRank", "MeanCrosstab", "MostFrequent",
    "PrivateMetric", "Proportion", "RankTest", "RestrictedMean", "StandardDeviation", "Survival", "TablePosterior",
    "Trend",
}  # fmt: skip
# What only the library's own rooms call: a question on the private side, scikit-learn's routing.
INNER = {
    "contributions", "sum", "collect", "check", "float_error", "take", "scores", "spread", "largest_score", "words",
    "encode", "get_metadata_routing", "set_score_request", "set_output", "maximize", "facts", "clip_contributions",
    "clipped_contributions", "warn", "as_plot", "query", "release", "read_totals", "noise", "draw", "rates", "renyi",
    "delta_at", "with_gaussian", "apply", "back", "box_norm", "column_norm", "reach", "next_interval", "log_density",
    "distance", "log_ratio", "half_width_of_sum", "least_scale", "simulate", "tail",
    "from_values", "from_series", "from_releases", "from_rows",
}  # fmt: skip


@cache
def public_names() -> dict[str, Any]:
    """Return what can be called of every public name: functions, classes that are made by hand, and class methods."""
    result: dict[str, Any] = {}
    for module in MODULES:
        for name in module.__all__:
            if name in ("infer", "inference") and not LONG:
                continue
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) or value in result.values():
                continue
            if isinstance(value, type) and issubclass(value, BaseException | Enum):
                continue
            place = f"{module.__name__}.{name}"
            if not inspect.isclass(value):
                result[place] = value
                continue
            if not inspect.isabstract(value) and name not in RETURNED:
                result[place] = value
            for method in dir(value):
                raw = inspect.getattr_static(value, method)
                if isinstance(raw, classmethod | staticmethod) and method[0] != "_" and method not in INNER:
                    result[f"{place}.{method}"] = getattr(value, method)
    return result


ROWS = np.random.default_rng(0).uniform([20.0, 10.0], [80.0, 60.0], (60, 2))
BOX = dp.Box([0, 0], [100, 80])
SCHEMA = dp.Schema({"age": dp.Number(0, 100), "hours": dp.Number(0, 80), "ward": dp.Category(["a", "b"])})
TABLE = np.column_stack([ROWS, np.arange(60) % 2])


def frame() -> Any:
    import pandas as pd

    return pd.DataFrame({"age": ROWS[:, 0], "hours": ROWS[:, 1], "ward": np.where(np.arange(60) % 2, "a", "b")})


class World:
    """A folder with a ledger, and rows behind it: what calls may spend from."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.ledger = folder, dp.Ledger(folder / "w.ledger")
        self.curator = dp.Curator(
            frame(), schema=SCHEMA, name="rows", ledger=self.ledger, budget=dp.Guarantee(1e6, 1e-6)
        )

    def entries(self) -> list[Any]:
        return [entry.hash for entry in self.ledger.history()]


def _mean(rows: Any) -> Any:
    return rows[:, 0].mean() if len(rows) else 0.0


# By the name of a parameter, in this order of profiles: rows as an array with declared bounds, or a curator.
ARRAY, CURATOR = "array", "curator"
SENSIBLE: dict[str, Callable[[World, str], Any]] = {
    "data": lambda world, profile: world.curator if profile == CURATOR else frame()[["age", "hours"]],
    "records": lambda world, profile: ROWS,
    "X": lambda world, profile: world.curator.only(["age", "hours"]) if profile == CURATOR else ROWS,
    "y": lambda world, profile: np.arange(60) % 2,
    "epsilon": lambda world, profile: 1.0,
    "delta": lambda world, profile: 1e-6,
    "bounds": lambda world, profile: None if profile == CURATOR else BOX,
    "low": lambda world, profile: 0.0,
    "high": lambda world, profile: 100,
    "space": lambda world, profile: BOX,
    "classes": lambda world, profile: [0, 1],
    "target_bounds": lambda world, profile: (0.0, 1.0),
    "column": lambda world, profile: "age",
    "columns": lambda world, profile: "age",
    "q": lambda world, profile: 0.5,
    "levels": lambda world, profile: [0.25, 0.75],
    "losses": lambda world, profile: [dp.GaussianLoss(0.1), dp.LaplaceLoss(0.1)],
    "loss": lambda world, profile: dp.GaussianLoss(0.1),
    "guarantee": lambda world, profile: dp.Guarantee(1.0, 1e-6),
    "mu": lambda world, profile: 0.5,
    "rho": lambda world, profile: 0.1,
    "scale": lambda world, profile: 2.0,
    "size": lambda world, profile: 3,
    "steps": lambda world, profile: 5,
    "scenario": lambda world, profile: "GGG",
    "components": lambda world, profile: 2,
    "n_components": lambda world, profile: 2,
    "n_clusters": lambda world, profile: 2,
    "n_steps": lambda world, profile: 3,
    "max_iter": lambda world, profile: 3,
    "sensitivity": lambda world, profile: 1.0,
    "largest": lambda world, profile: 10.0,
    "f": lambda world, profile: _mean,
    "s": lambda world, profile: lambda rows, beta: 1.0,
    "score": lambda world, profile: lambda rows, candidate: -abs(len(rows) - np.asarray(candidate)),
    "distance": lambda world, profile: lambda rows: 3,
    "output": lambda world, profile: (0.0, 100.0),
    "proposal": lambda world, profile: 1.0,
    "candidates": lambda world, profile: [1.0, 2.0],
    "seed": lambda world, profile: 3,
    "dimension": lambda world, profile: 2,
    "x": lambda world, profile: 0.5,
    "matrix": lambda world, profile: np.eye(2),
    "sweeps": lambda world, profile: 2,
    "scores": lambda world, profile: [0.0, 1.0],
    "what": lambda world, profile: "mean",
    "n": lambda world, profile: 100,
    "target": lambda world, profile: 0.1,
    "url": lambda world, profile: world.folder / "other.ledger",
    "path": lambda world, profile: None,
    "units": lambda world, profile: 60,
    "complete": lambda world, profile: True,
    "categories": lambda world, profile: 2,
    "values": lambda world, profile: ["a", "b"],
    "freedom": lambda world, profile: 3.0,
    "beta": lambda world, profile: 0.5,
    "count": lambda world, profile: 4,
    "kept": lambda world, profile: 3,
    "places": lambda world, profile: (0, 2),
    "coefficients": lambda world, profile: np.array([1.0, 0.5]),
    "start": lambda world, profile: 0.0,
    "stop": lambda world, profile: 100.0,
    "time": lambda world, profile: "age",
    "b": lambda world, profile: [1.0],
    "transition": lambda world, profile: np.eye(1),
    "observation": lambda world, profile: np.eye(1),
    "process": lambda world, profile: np.eye(1),
    "measurement": lambda world, profile: 1.0,
    "horizon": lambda world, profile: 4,
    "model": lambda world, profile: fitted("GaussianMixture"),
    "k": lambda world, profile: 1,
    "dataset": lambda world, profile: "rows",
    "query": lambda world, profile: "audit",
    "question": lambda world, profile: dp.Sum(BOX),
    "questions": lambda world, profile: dp.database.Draft("mean", {"columns": "age"}),
    "condition": lambda world, profile: "age > 30",
    "reason": lambda world, profile: "agreed",
    "source": lambda world, profile: SCHEMA.to_toml(),
    "text": lambda world, profile: released().to_json(),
    "level": lambda world, profile: 0.9,
    "factor": lambda world, profile: 2.0,
    "order": lambda world, profile: 2.0,
    "neighbors": lambda world, profile: "replace-one",
    "statistic": lambda world, profile: "mean",
    "arguments": lambda world, profile: {"columns": "age"},
    "location": lambda world, profile: world.folder / "none.parquet",
    "shift": lambda world, profile: 0.1,
    "solver": lambda world, profile: 0.1,
    "determinant": lambda world, profile: 0.1,
    "weights": lambda world, profile: None,
    "points": lambda world, profile: ROWS[:5],
    "words": lambda world, profile: "a question",
    "name": lambda world, profile: "rows",
    "ask": lambda world, profile: lambda one: one.measure(dp.Sum(one.space), dp.GaussianLoss(0.5)),
    "releases": lambda world, profile: fitted("GaussianMixture"),
    "center": lambda world, profile: None,
}
# Where a name means something else.
ALSO: dict[str, dict[str, Callable[[World, str], Any]]] = {
    **{room: {"classes": lambda world, profile: None} for room in ("statistics", "mechanisms", "signals")},  # declared
    "Bound": {
        "l2": lambda world, profile: 1.0,
        "center": lambda world, profile: None,
        "radius": lambda world, profile: None,
    },
    "Part": {"shape": lambda world, profile: (2,), "weight": lambda world, profile: 0.5},
    "Ball": {"center": lambda world, profile: None, "radius": lambda world, profile: 10.0},
    "count": {"by": lambda world, profile: "ward" if profile == CURATOR else None},
    "chi_square": {"column": lambda world, profile: "age", "by": lambda world, profile: "ward"},
    "crosstab": {
        "rows": lambda world, profile: "ward",
        "columns": lambda world, profile: "age",
        "values": lambda world, profile: None,
    },
    "difference": {"between": lambda world, profile: "ward", "groups": lambda world, profile: None},
    "geometric_mean": {"bounds": lambda world, profile: (1, 100)},
    "log_rank": {
        "time": lambda world, profile: "age",
        "event": lambda world, profile: "ward",
        "between": lambda world, profile: "ward",
        "occurred": lambda world, profile: "a",
    },
    "mode": {"column": lambda world, profile: "ward"},
    "proportion": {"column": lambda world, profile: "age > 50"},
    "rank_test": {"between": lambda world, profile: "ward"},
    "survival": {
        "time": lambda world, profile: "age",
        "event": lambda world, profile: "ward",
        "occurred": lambda world, profile: "a",
    },
    "trend": {"over": lambda world, profile: "hours", "column": lambda world, profile: "age"},
    "Date": {"low": lambda world, profile: "2020-01-01", "high": lambda world, profile: "2025-12-31"},
    "explain": {"delta": lambda world, profile: None},
    "holding": {"ball": lambda world, profile: dp.Ball(1.0, [0.0, 0.0])},
    "huber_location": {"scale": lambda world, profile: 10.0},
    "influence": {
        "estimator": lambda world, profile: "mean",
        "rows": lambda world, profile: ROWS[:, 0],
        "scale": lambda world, profile: 0.1,
        "bounds": lambda world, profile: (0, 100),
    },
    "lti_filter": {"b": lambda world, profile: [1.0]},
    "lei_bins": {"d": lambda world, profile: 1},
    "m_estimate": {"k": lambda world, profile: 10.0},
    "FactorAnalysis": {"n_components": lambda world, profile: 1, "center": lambda world, profile: "private"},
    "TableMixture": {"schema": lambda world, profile: SCHEMA},
    "TableSynthesizer": {"schema": lambda world, profile: SCHEMA, "zeros": lambda world, profile: ()},
    "Moments": {"weights": lambda world, profile: (0.4, 0.3, 0.3)},
    "Histogram": {"column": lambda world, profile: 0},
    "Mode": {"column": lambda world, profile: 0},
    "Schema": {"columns": lambda world, profile: {"age": dp.Number(0, 1)}},
    "Curator": {"space": lambda world, profile: BOX, "name": lambda world, profile: None},
    "StatisticalDatabase": {
        "data": lambda world, profile: frame(),
        "bounds": lambda world, profile: {"age": (0, 100), "hours": (0, 80)},
        "classes": lambda world, profile: None,
        "budget": lambda world, profile: dp.Guarantee(1.0, 1e-6),
        "ledger": lambda world, profile: world.ledger,
        "name": lambda world, profile: "base",
    },
    "Stream": {"bounds": lambda world, profile: (0, 1), "name": lambda world, profile: None},
    "iqr_distance": {"column": lambda world, profile: 0},
    "median_distance": {"column": lambda world, profile: 0},
    "running_sum": {"value": lambda world, profile: "hours"},
    "smooth_sensitivity_of_median": {"values": lambda world, profile: ROWS[:, 0]},
    "Controller": {"target": lambda world, profile: 0.1},
    "measure": {"query": lambda world, profile: dp.Sum(BOX)},
    "plan": {"query": lambda world, profile: dp.Sum(BOX)},
    "default_loss": {"guarantee": lambda world, profile: dp.Guarantee(1.0, 1e-6)},
    "only": {"columns": lambda world, profile: ["age"]},
    "add": {"values": lambda world, profile: [1.0, 2.0]},
    "steps": {"values": lambda world, profile: [1.0, 2.0]},
    "from_dict": {"values": lambda world, profile: dp.GaussianLoss(1.0).to_dict()},
    "private_score": {"X": lambda world, profile: ROWS},
    "fit_model": {"model": lambda world, profile: None},
    "infer": {"model": lambda world, profile: None},
    "combine": {"fits": lambda world, profile: [(np.ones(2), np.ones(2))] * 5},
    "for_columns": {"columns": lambda world, profile: 2},
    "next_interval": {},
    "clip": {"x": lambda world, profile: ROWS},
    "to_unit": {"x": lambda world, profile: ROWS},
    "from_unit": {"y": lambda world, profile: ROWS},
    "kalman": {"model": lambda world, profile: None},
    "fast": {"process": lambda world, profile: None},
    "apply": {"x": lambda world, profile: np.ones(4)},
}
DECLARED = ("bounds", "classes", "schema", "neighbors", "unit", "max_rows")  # what ``**declared`` takes


@cache
def fitted(kind: str) -> Any:
    """Return a small fitted estimator, without a ledger; nobody changes it."""
    made: dict[str, Callable[[], Any]] = {
        "GaussianMixture": lambda: dp.GaussianMixture(2, bounds=BOX, n_steps=3).fit(ROWS),
        "KMeans": lambda: dp.KMeans(2, bounds=BOX, n_steps=2).fit(ROWS),
        "PCA": lambda: dp.PCA(1, bounds=BOX).fit(ROWS),
        "FactorAnalysis": lambda: dp.FactorAnalysis(1, bounds=BOX).fit(ROWS),
        "GaussianClassifier": lambda: dp.GaussianClassifier(bounds=BOX, classes=[0, 1]).fit(ROWS, np.arange(60) % 2),
        "LogisticRegression": lambda: dp.LogisticRegression(bounds=BOX, classes=[0, 1]).fit(ROWS, np.arange(60) % 2),
        "LinearSVC": lambda: dp.LinearSVC(bounds=BOX, classes=[0, 1]).fit(ROWS, np.arange(60) % 2),
        "LinearRegression": lambda: dp.LinearRegression(bounds=BOX, target_bounds=(0, 1)).fit(ROWS, np.arange(60) % 2),
        "TableMixture": lambda: dp.TableMixture(2, schema=SCHEMA, n_steps=2).fit(frame()),
        "TableSynthesizer": lambda: dp.TableSynthesizer(schema=SCHEMA).fit(frame()),
    }
    with quiet():
        return made[kind]()


KINDS = (
    "GaussianMixture", "KMeans", "PCA", "FactorAnalysis", "GaussianClassifier", "LogisticRegression", "LinearSVC",
    "LinearRegression", "TableMixture", "TableSynthesizer",
)  # fmt: skip
UNFITTED: dict[str, Callable[[], Any]] = {
    "GaussianMixture": lambda: dp.GaussianMixture(2, bounds=BOX, n_steps=3),
    "KMeans": lambda: dp.KMeans(2, bounds=BOX, n_steps=2),
    "PCA": lambda: dp.PCA(1, bounds=BOX),
    "FactorAnalysis": lambda: dp.FactorAnalysis(1, bounds=BOX),
    "GaussianClassifier": lambda: dp.GaussianClassifier(classes=[0, 1], bounds=BOX),
    "LogisticRegression": lambda: dp.LogisticRegression(classes=[0, 1], bounds=BOX),
    "LinearSVC": lambda: dp.LinearSVC(classes=[0, 1], bounds=BOX),
    "LinearRegression": lambda: dp.LinearRegression(target_bounds=(0, 1), bounds=BOX),
    "TableMixture": lambda: dp.TableMixture(2, schema=SCHEMA, n_steps=2),
    "TableSynthesizer": lambda: dp.TableSynthesizer(schema=SCHEMA),
}


@cache
def released() -> Any:
    return dp.Curator(ROWS, space=BOX).measure(dp.Sum(BOX), dp.GaussianLoss(0.5))


@cache
def answers() -> dict[str, Any]:
    """Return what the statistics, signals and mechanisms return."""
    stats, signals, rows = dp.statistics, dp.signals, frame()[["age", "hours"]]
    told = {"epsilon": 1.0, "bounds": BOX}
    over_time = told | {"delta": 1e-6, "time": "age", "value": "hours", "steps": 8}
    return {
        "Mean": stats.mean(rows, **told),
        "Counts": stats.histogram(rows, "age", bins=3, **told),
        "Quantile": stats.median(rows, "age", **told),
        "Covariance": stats.covariance(rows, **told),
        "Totals": stats.sum(rows, **told),
        "Density": stats.density(rows, "age", **told),
        "MEstimate": stats.m_estimate(rows, "age", k=10.0, **told),
        "Signal": signals.running_sum(rows, **over_time),
        "FilteredSignal": signals.kalman(rows, **over_time),
        "FourierSignal": signals.fourier(rows, **over_time),
        "SampledSignal": signals.fast(rows, **over_time),
    }


def subjects(world: World) -> dict[str, Callable[[], Any]]:
    """Return objects whose methods are public, each with a way to have one."""
    losses: list[Loss] = [
        dp.GaussianLoss(0.5), dp.LaplaceLoss(0.5), dp.GeometricLoss(0.5, 3), dp.PureLoss(0.5), dp.BoundedRangeLoss(0.5),
        dp.ZcdpLoss(0.1), dp.ApproximateLoss(0.5, 1e-6), dp.ClassicalGaussianLoss(0.5, 1e-6),
        dp.guarantees.ObjectiveLoss(0.1, 0.1, 0.1),
    ]  # fmt: skip
    distributions: list[NoiseDistribution] = [
        dp.noise.GaussianNoise(1.0), dp.noise.LaplaceNoise(1.0), dp.noise.GeometricNoise(3.0),
        dp.noise.DiscreteGaussianNoise(3.0), dp.noise.EuclideanNoise(1.0, 2),
    ]  # fmt: skip
    result: dict[str, Callable[[], Any]] = {
        type(one).__name__: lambda one=one: one for one in [*losses, *distributions]
    }
    for method in ("linear", "advanced", "zcdp", "moments", "exact"):
        result[f"Composition {method}"] = lambda method=method: dp.compose(losses[:5], method)
    for kind in KINDS:
        result[f"fitted {kind}"] = lambda kind=kind: deepcopy(fitted(kind))
        result[f"unfitted {kind}"] = UNFITTED[kind]
    for kind, answer in answers().items():
        if answer is not None:
            result[kind] = lambda answer=answer: answer
    return result | {
        "Curator": lambda: world.curator,
        "Curator of numbers": lambda: world.curator.only(["age", "hours"]),
        "Ledger": lambda: world.ledger,
        "Release": released,
        "Box": lambda: BOX,
        "Ball": lambda: dp.Ball(1.0, [0.0, 0.0]),
        "Guarantee": lambda: dp.Guarantee(1.0, 1e-6),
        "Schema": lambda: SCHEMA,
        "Plan": lambda: dp.plan("mean", 100, target=0.1),
        "Comparison": lambda: dp.compare(losses, 1e-6),
        "StatisticalDatabase": lambda: dp.StatisticalDatabase(
            frame(), schema=SCHEMA, budget=dp.Guarantee(1e6, 1e-6), ledger=world.ledger, name="base"
        ),
        "Drafting": lambda: (
            dp.StatisticalDatabase(
                frame(), schema=SCHEMA, budget=dp.Guarantee(1e6, 1e-6), ledger=world.ledger, name="base"
            ).draft
        ),
        "Stream": lambda: dp.signals.Stream(bounds=(0, 1), horizon=4, epsilon=1.0),
        "Controller": dp.signals.Controller,
        "PrefixSums": lambda: dp.signals.PrefixSums(4),
        "Fourier": lambda: dp.signals.Fourier(4, 3),
    }


@dataclass(frozen=True)
class Argument:
    """What is handed over for a parameter: what is sensible, or a hostile value."""

    name: str
    value: Value | None

    def given(self, world: World, target: str, profile: str, usual: Any) -> Any:
        if self.value is not None:
            return self.value.make()
        return sensible(world, target, profile, self.name, usual)

    def __repr__(self) -> str:
        return f"{self.name}={'…' if self.value is None else self.value!r}"


def sensible(world: World, target: str, profile: str, name: str, usual: Any) -> Any:
    also = ALSO.get(target.rpartition(".")[2], {}) | ALSO.get(target.rpartition(".")[0].rpartition(".")[2], {})
    make = also.get(name) or (SENSIBLE.get(name) if usual is inspect.Parameter.empty or name in FORCED else None)
    if make is not None:
        return make(world, profile)
    return None if usual is inspect.Parameter.empty else usual


FORCED = {
    "steps",
    "low",
    "high",
    "values",
    "bounds",
    "column",
    "classes",
    "target_bounds",
    "n_components",
    "n_clusters",
    "n_steps",
    "max_iter",
    "delta",
    "time",
}


@dataclass(frozen=True)
class Attempt:
    """One call: of a public name, or of a method of an object, with these arguments."""

    target: str
    method: str | None
    profile: str
    arguments: tuple[Argument, ...]

    def called(self, world: World, call: Any) -> Any:
        """Make the call."""
        usual = {name: parameter.default for name, parameter in parameters(call).items()}
        place = self.target if self.method is None else self.method
        given = {one.name: one.given(world, place, self.profile, usual.get(one.name)) for one in self.arguments}
        return call(**given)

    def callable(self, world: World) -> Any:
        """Return what is called; an object is made first, which may set a limit."""
        if self.method is None:
            return public_names()[self.target]
        return getattr(subjects(world)[self.target](), self.method)

    def ended(self, world: World) -> tuple[str, str | None]:
        """Return how the call ended, and what is wrong with that: None where nothing is."""
        with quiet():
            call = self.callable(world)
        before = world.entries()
        try:
            with limited(SECONDS), quiet():
                look_at(self.called(world, call))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            kind = type(error).__name__
            if not self._may_raise(error):
                return kind, f"{kind}: {error}"
            return kind, "a refused call was charged" if world.entries() != before else None
        return "fine", None

    def _may_raise(self, error: BaseException) -> bool:
        if isinstance(error, TypeError):
            return meant(error) or does_not_fit(error)
        if isinstance(error, OverflowError):
            return self.method in OVERFLOWS and "nothing was released" in str(error)
        if isinstance(error, RecursionError) or DIGITS in str(error):
            return meant(error)  # scikit-learn's, which shows a parameter whatever it is
        return isinstance(error, ALLOWED)

    def __repr__(self) -> str:
        name = self.target if self.method is None else f"<{self.target}>.{self.method}"
        return f"{name}[{self.profile}]({', '.join(map(repr, self.arguments))})"


def look_at(result: Any) -> None:
    """Read what an object says of itself."""
    if isinstance(result, Bits | BaseEstimator) or not type(result).__module__.startswith("discreet."):
        return  # an estimator takes its parameters as they come, and shows them as scikit-learn does
    repr(result), str(result)
    for name in dir(type(result)):
        if name[0] != "_" and isinstance(inspect.getattr_static(type(result), name), property):
            getattr(result, name)


def parameters(call: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a call; those of ``**declared`` one by one."""
    result: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(call).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            if name == "declared":
                usual = {one: inspect.Parameter(one, parameter.KEYWORD_ONLY, default=None) for one in DECLARED}
                result |= {one: each for one, each in usual.items() if one not in result}
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            result[name] = parameter
    return result


def meant(error: BaseException) -> bool:
    """Return whether a ``raise`` of this library or of scikit-learn is where an error came from."""
    trace = error.__traceback__
    modules = []
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__")))
        raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
        trace = trace.tb_next
    if any(module.startswith("sklearn.") for module in modules):
        return True  # its checks of rows: text for numbers is a TypeError there
    return raised and modules[-1].startswith("discreet.")


def does_not_fit(error: BaseException) -> bool:
    """Return whether Python refused the call itself."""
    trace = error.__traceback__
    frames = 0
    while trace is not None:
        frames, trace = frames + 1, trace.tb_next
    return (frames <= 4 and "argument" in str(error)) or any(words in str(error) for words in CONVENTIONS)


class Hang(BaseException):
    """A call that did not end."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what runs for longer, where signals can reach it."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Hang(f"not ended after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def quiet() -> Iterator[None]:
    """Make errors of arithmetic's warnings; the library's own, and those of others about odd types, are no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "More than 20 figures", RuntimeWarning)
        yield


@st.composite
def attempts(draw: Callable[[st.SearchStrategy[Any]], Any], targets: dict[str, list[str | None]]) -> Attempt:
    """Return a call of one of the targets, with none to three hostile arguments.

    Parameters
    ----------
    draw
        Hypothesis's.
    targets : dict
        Names, or labels of objects with their methods.
    """
    target = draw(st.sampled_from(sorted(targets)))
    method = draw(st.sampled_from(targets[target]))
    profile = draw(st.sampled_from([ARRAY, CURATOR]))
    known = parameters_of(target, method)
    bad = draw(st.lists(st.sampled_from(sorted(known)), max_size=3, unique=True)) if known else []
    return Attempt(
        target, method, profile, tuple(Argument(name, draw(hostile()) if name in bad else None) for name in known)
    )


@cache
def parameters_of(target: str, method: str | None) -> tuple[str, ...]:
    return tuple(parameters(public_names()[target] if method is None else SIGNATURES[target, method]))


SIGNATURES: dict[tuple[str, str], Any] = {}


def methods(world: World) -> dict[str, list[str | None]]:
    """Return the public methods of every object, and note how they are called."""
    result: dict[str, list[str | None]] = {}
    for label, make in subjects(world).items():
        one = make()
        for name in dir(type(one)):
            raw = inspect.getattr_static(type(one), name)
            if name[0] != "_" and name not in INNER and callable(getattr(type(one), name)) and callable(raw):
                SIGNATURES[label, name] = getattr(one, name)
                result.setdefault(label, []).append(name)
    return result
