"""Mixtures for the audit in one run: many columns, so that many canaries have room beside each other."""

from __future__ import annotations

from typing import Any

from discreet.estimators.base import PrivateEstimator
from discreet.estimators.gaussian_mixture import GaussianMixture
from discreet.estimators.kmeans import KMeans
from discreet.estimators.table_mixture import TableMixture
from discreet.records import Category, Number, Schema
from discreet.records.declared.columns import Column

__all__ = ["mixtures"]

EPSILON, COLUMNS = 10.0, 40
DELTA = 1e-10  # the proof charges 2δ for every canary, which must stay below what the confidence leaves


def mixtures() -> dict[str, PrivateEstimator]:
    """Return all of them by name."""
    shared: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "neighbors": "add-remove"}
    bounds = [(-1.0, 3.0)] * COLUMNS
    columns: dict[str, Column] = {f"x{j}": Number(-1.0, 3.0) for j in range(10)}
    columns |= {f"g{j}": Category(["a", "b", "c"]) for j in range(10)}
    return {
        "GaussianMixture, adaptive": GaussianMixture(2, bounds=bounds, n_steps=2, **shared),
        "GaussianMixture, joint": GaussianMixture(2, bounds=bounds, method="joint", n_steps=2, **shared),
        "GaussianMixture, diagonal": GaussianMixture(2, bounds=bounds, covariance_type="diag", n_steps=2, **shared),
        "KMeans, adaptive": KMeans(2, bounds=bounds, **shared),
        "TableMixture": TableMixture(2, schema=Schema(columns), **shared),
    }
