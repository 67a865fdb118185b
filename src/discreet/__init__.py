"""Learning from sensitive data under differential privacy.

>>> import discreet as dp
>>> steps = [dp.GaussianLoss(1.0)] * 10
>>> round(dp.calibrate(dp.Guarantee(epsilon=1.0, delta=1e-6), steps).noise, 3)
13.36
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import (
        audit,
        database,
        datasets,
        door,
        estimators,
        guarantees,
        inference,
        ledger,
        mechanisms,
        noise,
        planning,
        plots,
        queries,
        records,
        report,
        signals,
        statistics,
    )
    from discreet.arguments import ArgumentError
    from discreet.database.statistical_database import StatisticalDatabase
    from discreet.door import Curator, PublicSize, Release
    from discreet.em import Model
    from discreet.estimators.combined_fits import combine
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
    from discreet.estimators.table_synthesizer import TableSynthesizer
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
    from discreet.inference.infer import infer
    from discreet.ledger import BudgetExceeded, Ledger
    from discreet.model_check import WrongBound
    from discreet.planning import compare, explain, plan
    from discreet.queries import Bound, Part
    from discreet.queries.counts.count_queries import Histogram, Mode
    from discreet.queries.moments.moments import Moments, Sum
    from discreet.records import Ball, Box, Category, Date, Number, Schema, Table

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
    "TableSynthesizer",
    "WrongBound",
    "ZcdpLoss",
    "audit",
    "calibrate",
    "combine",
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

# Everything is imported when it is first asked for: whoever only counts does not wait for scikit-learn.
_MODULES = {
    "discreet.arguments": "ArgumentError",
    "discreet.database.statistical_database": "StatisticalDatabase",
    "discreet.door": "Curator PublicSize Release",
    "discreet.em": "Model",
    "discreet.estimators.combined_fits": "combine",
    "discreet.estimators.factor_analysis": "FactorAnalysis",
    "discreet.estimators.gaussian_classifier": "GaussianClassifier",
    "discreet.estimators.gaussian_mixture": "GaussianMixture",
    "discreet.estimators.kmeans": "KMeans",
    "discreet.estimators.linear_regression": "LinearRegression",
    "discreet.estimators.linear_svc": "LinearSVC",
    "discreet.estimators.loading": "load_model",
    "discreet.estimators.logistic_regression": "LogisticRegression",
    "discreet.estimators.own_model": "fit_model",
    "discreet.estimators.pca": "PCA",
    "discreet.estimators.scoring": "private_score",
    "discreet.estimators.table_mixture": "TableMixture",
    "discreet.estimators.table_synthesizer": "TableSynthesizer",
    "discreet.guarantees": "ApproximateLoss BoundedRangeLoss ClassicalGaussianLoss GaussianLoss GeometricLoss "
    "Guarantee LaplaceLoss Neighbors PureLoss ZcdpLoss calibrate compose",
    "discreet.inference.infer": "infer",
    "discreet.ledger": "BudgetExceeded Ledger",
    "discreet.model_check": "WrongBound",
    "discreet.planning": "compare explain plan",
    "discreet.queries": "Bound Part",
    "discreet.queries.counts.count_queries": "Histogram Mode",
    "discreet.queries.moments.moments": "Moments Sum",
    "discreet.records": "Ball Box Category Date Number Schema Table",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    if name in __all__:
        return import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def _version() -> str:
    """Return the version that is installed, as pip knows it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("discreet")
    except PackageNotFoundError:  # the sources lie on the path, and nothing was installed
        return "0+unknown"
