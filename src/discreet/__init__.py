"""Learning from sensitive continuous data under differential privacy.

>>> import discreet as dp
>>> steps = [dp.GaussianLoss(1.0)] * 10
>>> round(dp.calibrate(dp.Guarantee(epsilon=1.0, delta=1e-6), steps).noise, 3)
13.36
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet import datasets, door, guarantees, ledger, noise, queries, records
from discreet.arguments import ArgumentError
from discreet.door import Curator, PublicSize, Release
from discreet.guarantees import (
    ApproximateLoss,
    BoundedRangeLoss,
    ClassicalGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    Guarantee,
    LaplaceLoss,
    Neighbors,
    PureLoss,
    ZcdpLoss,
    calibrate,
    compose,
)
from discreet.ledger import BudgetExceeded, Ledger
from discreet.queries import Bound, Part
from discreet.queries.counts.count_queries import Histogram, Mode
from discreet.queries.moments.moments import Moments, Sum
from discreet.records import Ball, Box, Category, Date, Number, Schema, Table

if TYPE_CHECKING:
    from discreet import (
        audit,
        database,
        estimators,
        inference,
        mechanisms,
        planning,
        plots,
        report,
        signals,
        statistics,
    )
    from discreet.database.statistical_database import StatisticalDatabase
    from discreet.em import Model
    from discreet.estimators.factor_analysis import FactorAnalysis
    from discreet.estimators.gaussian_classifier import GaussianClassifier
    from discreet.estimators.gaussian_mixture import GaussianMixture
    from discreet.estimators.kmeans import KMeans
    from discreet.estimators.linear_regression import LinearRegression
    from discreet.estimators.linear_svc import LinearSVC
    from discreet.estimators.loading import load_model
    from discreet.estimators.logistic_regression import LogisticRegression
    from discreet.estimators.own_model import fit_model
    from discreet.estimators.pca import PCA
    from discreet.estimators.scoring import private_score
    from discreet.estimators.table_mixture import TableMixture
    from discreet.inference.infer import infer
    from discreet.model_check import WrongBound
    from discreet.planning import compare, explain, plan

__all__ = [
    "PCA",
    "ApproximateLoss",
    "ArgumentError",
    "Ball",
    "Bound",
    "BoundedRangeLoss",
    "Box",
    "BudgetExceeded",
    "Category",
    "ClassicalGaussianLoss",
    "Curator",
    "Date",
    "FactorAnalysis",
    "GaussianClassifier",
    "GaussianLoss",
    "GaussianMixture",
    "GeometricLoss",
    "Guarantee",
    "Histogram",
    "KMeans",
    "LaplaceLoss",
    "Ledger",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Mode",
    "Model",
    "Moments",
    "Neighbors",
    "Number",
    "Part",
    "PublicSize",
    "PureLoss",
    "Release",
    "Schema",
    "StatisticalDatabase",
    "Sum",
    "Table",
    "TableMixture",
    "WrongBound",
    "ZcdpLoss",
    "audit",
    "calibrate",
    "compare",
    "compose",
    "database",
    "datasets",
    "door",
    "estimators",
    "explain",
    "fit_model",
    "guarantees",
    "infer",
    "inference",
    "ledger",
    "load_model",
    "mechanisms",
    "noise",
    "plan",
    "planning",
    "plots",
    "private_score",
    "queries",
    "records",
    "report",
    "signals",
    "statistics",
]

# Estimators bring scikit-learn along, so they are imported when they are first asked for.
_LATER = {
    "FactorAnalysis": "discreet.estimators.factor_analysis",
    "PCA": "discreet.estimators.pca",
    "GaussianClassifier": "discreet.estimators.gaussian_classifier",
    "GaussianMixture": "discreet.estimators.gaussian_mixture",
    "KMeans": "discreet.estimators.kmeans",
    "LinearRegression": "discreet.estimators.linear_regression",
    "LinearSVC": "discreet.estimators.linear_svc",
    "LogisticRegression": "discreet.estimators.logistic_regression",
    "Model": "discreet.em",
    "StatisticalDatabase": "discreet.database.statistical_database",
    "TableMixture": "discreet.estimators.table_mixture",
    "WrongBound": "discreet.model_check",
    "compare": "discreet.planning",
    "explain": "discreet.planning",
    "fit_model": "discreet.estimators.own_model",
    "infer": "discreet.inference.infer",
    "load_model": "discreet.estimators.loading",
    "plan": "discreet.planning",
    "private_score": "discreet.estimators.scoring",
}
_ROOMS_LATER = (
    "audit",
    "database",
    "estimators",
    "inference",
    "mechanisms",
    "plots",
    "planning",
    "report",
    "signals",
    "statistics",
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in _ROOMS_LATER:
        return import_module(f"discreet.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def _version() -> str:
    """Return the version that is installed, as pip knows it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("discreet")
    except PackageNotFoundError:  # the sources lie on the path, and nothing was installed
        return "0+unknown"
