"""Every kind of release at the door, and the queries that come with it."""

from __future__ import annotations

from typing import Any

from discreet.door import Curator
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, LaplaceLoss, PureLoss
from discreet.queries.counts.count_queries import Histogram, Mode
from discreet.queries.counts.grids import Grid
from discreet.queries.mechanism import Euclidean, NoisyMax
from discreet.queries.moments.moments import Moments, Sum
from papers.audit.subjects.subject import BOTH, LABELLED, LINE, MANY, PERSONS, PLANE, Subject, of_schema

__all__ = ["door_releases"]


def _gaussian(curator: Curator, epsilon: float) -> GaussianLoss:
    return GaussianLoss(epsilon / 4.0, curator.neighbors)


def _sum(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Sum(curator.space), _gaussian(curator, epsilon))


def _sum_laplace(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Sum(curator.space), LaplaceLoss(epsilon, curator.neighbors))


def _moments(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Moments(curator.space), _gaussian(curator, epsilon))


def _euclidean(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Sum(curator.space), PureLoss(epsilon, curator.neighbors), mechanism=Euclidean())


def _grid(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Grid(curator.space, 3), LaplaceLoss(epsilon, curator.neighbors))


def _histogram(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Histogram(len(curator.categories[0])), _gaussian(curator, epsilon))


def _mode(curator: Curator, epsilon: float) -> Any:
    return curator.measure(Mode(len(curator.categories[0])), BoundedRangeLoss(epsilon, curator.neighbors))


def _noisy_mode(curator: Curator, epsilon: float) -> Any:
    loss = PureLoss(epsilon, curator.neighbors)
    return curator.measure(Mode(len(curator.categories[0])), loss, mechanism=NoisyMax())


def door_releases() -> list[Subject]:
    """Return the subjects of this module."""
    sums = {"sum, Gaussian noise": _sum, "sum, Laplace noise": _sum_laplace, "sum, Euclidean noise": _euclidean}
    counts = {"histogram": _histogram, "mode, exponential": _mode, "mode, noisy maximum": _noisy_mode}
    return [
        *of_schema("door", sums, LINE, BOTH),
        *of_schema("door", {"moments": _moments, "grid": _grid}, PLANE, BOTH),
        *of_schema("door", counts, LABELLED, BOTH),
        *of_schema("door", {"moments, ten columns": _moments}, MANY, BOTH),
        *of_schema("door", {"sum, persons of three rows": _sum}, PERSONS, BOTH),
    ]
