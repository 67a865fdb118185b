"""Subjects: the general mechanisms of ``discreet.mechanisms``, around user functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import mechanisms as me
from papers.audit.subjects.subject import DELTA, LINE, Subject, across, of_schema

__all__ = ["mechanisms"]

Ask = Callable[[Any, float], Any]
LOW, HIGH = 0.0, 10.0


def _mean(rows: Any) -> Any:
    return rows.mean()


def _largest(rows: Any) -> Any:
    return rows.max()


def _bound_of_largest(rows: Any, beta: float) -> Any:
    x = np.concatenate([[HIGH], np.sort(rows[:, 0])[::-1], [LOW]])
    return np.max(np.exp(-beta * np.arange(len(x) - 2)) * (HIGH - x[2:]))


def _votes(rows: Any, candidates: Any) -> Any:
    return [np.sum(np.abs(rows - candidate) <= 2.5) for candidate in candidates]


def _near(rows: Any, points: Any) -> Any:
    return -np.abs(np.sum(rows[:, :1] < points, axis=0) - len(rows) / 2.0)


def _fits(rows: Any, candidates: Any) -> Any:
    return -np.abs(rows[:, :1] - np.asarray(candidates)) / 10.0


def _factored(curator: Any, epsilon: float) -> Any:
    return me.FactoredExponential(_fits, [0.0, 5.0, 10.0], low=-1.0, high=0.0).draw(curator, epsilon=epsilon)


def _tested(curator: Any, epsilon: float) -> Any:
    away = me.median_distance(5.0, LOW, HIGH)
    return me.propose_test_release(
        away.statistic, away, curator, proposal=5.0, output=(LOW, HIGH), epsilon=epsilon, delta=DELTA
    )


def _output(curator: Any, epsilon: float, delta: float = 0.0) -> Any:
    width = (HIGH - LOW) / curator.setting.rows
    return me.output_perturbation(_mean, curator, sensitivity=width, output=(LOW, HIGH), epsilon=epsilon, delta=delta)


ASKED: dict[str, Ask] = {
    "input perturbation": lambda c, e: me.input_perturbation(c, epsilon=e),
    "input perturbation, Gaussian": lambda c, e: me.input_perturbation(c, epsilon=e, delta=DELTA),
    "output perturbation": _output,
    "output perturbation, Gaussian": lambda c, e: _output(c, e, DELTA),
    "exponential": lambda c, e: me.exponential(_votes, c, [0.0, 5.0, 10.0], sensitivity=1.0, epsilon=e),
    "exponential on an interval": lambda c, e: me.exponential_on_interval(
        _near, c, LOW, HIGH, sensitivity=1.0, epsilon=e, cells=64
    ),
    "factored exponential": _factored,
    "sample and aggregate": lambda c, e: me.sample_and_aggregate(_mean, c, output=(LOW, HIGH), epsilon=e, blocks=5),
    "sample and aggregate, median": lambda c, e: me.sample_and_aggregate(
        _mean, c, output=(LOW, HIGH), epsilon=e, blocks=5, aggregate="median"
    ),
    "smooth sensitivity, Cauchy": lambda c, e: me.smooth_sensitivity(
        _largest, _bound_of_largest, c, output=(LOW, HIGH), epsilon=e, noise=me.CauchyNoise(2)
    ),
    "smooth sensitivity, Student": lambda c, e: me.smooth_sensitivity(
        _largest, _bound_of_largest, c, output=(LOW, HIGH), epsilon=e, noise=me.StudentNoise(3)
    ),
    "smooth sensitivity, Laplace": lambda c, e: me.smooth_sensitivity(
        _largest, _bound_of_largest, c, output=(LOW, HIGH), epsilon=e, delta=DELTA, noise=me.LaplaceSlide()
    ),
    "smooth sensitivity, Gaussian": lambda c, e: me.smooth_sensitivity(
        _largest, _bound_of_largest, c, output=(LOW, HIGH), epsilon=e, delta=DELTA, noise=me.GaussianSlide()
    ),
    "smooth median": lambda c, e: me.smooth_median(c, "x", epsilon=e),
    "propose, test, release": _tested,
}


def mechanisms() -> list[Subject]:
    """Return the subjects of this module."""
    return of_schema("mechanisms", ASKED, LINE, also=across)
