"""An audit in one run: many canaries at once, each included or not by a coin (Steinke, Nasr and Jagielski 2023).

A fit that takes minutes cannot be run ten thousand times. But one fit to data with m canaries is m experiments that
share their noise. What m guesses prove together is in ``confidence``: less than m independent runs would, at the cost
of one fit.

Canaries are random corners of the declared bounds. With coins z = ±1, a matrix C whose rows are the contributions of
the canaries, and noise of standard deviation σ, a release is Cᵀ(1 + z)/2 plus noise. So the attacker estimates all
coins at once by the linear estimator of least mean squared error,

    ẑ = ½·(I + ¼·Σ C·Cᵀ/σ²)⁻¹ · Σ C·(release − Cᵀ1/2)/σ²,

with sums over all releases, each with the contributions at the parameters of its query. The attacker guesses "in" where
ẑ is largest and "out" where it is smallest, and abstains from the rest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer, positive, probability
from discreet.audit.confidence import one_run_epsilon
from discreet.door import Curator, Release
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.labelled import TargetedEstimator
from discreet.guarantees import Guarantee, Neighbors
from discreet.queries.question import Query
from discreet.records import Ball, Box, Category, Schema, read_bounds, space_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OneRun:
    """The result of an audit in one run.

    Attributes
    ----------
    name : str
    guarantee : Guarantee
        The claimed guarantee, under add-remove.
    canaries, guesses, right : int
        The number of canaries, of guessed coins, and of right guesses.
    confidence : float
    seconds : float
    """

    name: str
    guarantee: Guarantee
    canaries: int
    guesses: int
    right: int
    confidence: float
    seconds: float

    @property
    def epsilon(self) -> float:
        """A lower bound on ε at the claim's δ."""
        return one_run_epsilon(self.guarantee.delta, self.canaries, self.guesses, self.right, self.confidence)

    @property
    def holds(self) -> bool:
        """Whether the claim is not refuted. False is a proof, at the stated confidence, that the claim is wrong."""
        return self.epsilon <= self.guarantee.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        return {
            "name": self.name,
            "epsilon_claimed": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "epsilon": self.epsilon,
            "holds": self.holds,
            "confidence": self.confidence,
            "canaries": self.canaries,
            "guesses": self.guesses,
            "right": self.right,
            "seconds": round(self.seconds, 2),
        }

    def __repr__(self) -> str:
        verdict = "is not refuted" if self.holds else "IS REFUTED"
        return (
            f"<one run of {self.name}: the claim {self.guarantee} {verdict}. ε ≥ {self.epsilon:.3g}, with "
            f"{self.confidence:.5g} confidence ({self.right:,} of {self.guesses:,} guesses right, {self.canaries:,} "
            "canaries)>"
        )


def one_run(
    estimator: PrivateEstimator, *, canaries: int = 1000, share: float = 0.1, confidence: float = 0.99
) -> OneRun:
    """Fit an estimator once to canaries, and return a lower bound on its ε from the number that an attacker detects.

    Parameters
    ----------
    estimator : estimator
        With bounds, ``neighbors="add-remove"``, and releases with Gaussian noise: a mixture, k-means, factor analysis,
        PCA. It is cloned. Canaries are easier to detect in many columns: the bound is best for about fifty.
    canaries : int
    share : float
        The share of the canaries whose coins are guessed; the attacker abstains from the others.
    confidence : float
        The confidence of the bound.

    Examples
    --------
    >>> import discreet as dp
    >>> model = dp.GaussianMixture(2, bounds=[(0, 1)] * 20, epsilon=8.0, neighbors="add-remove", n_steps=1)
    >>> dp.audit.one_run(model, canaries=200, confidence=1 - 1e-9).holds
    True
    """
    from sklearn.base import clone

    count = integer("canaries", canaries, least=10, most=20_000)
    share = positive("share", share)
    if share > 1.0:
        raise ArgumentError("share", share, "a share of the canaries, at most 1")
    if not probability("confidence", confidence):
        raise ArgumentError("confidence", confidence, "a probability in (0, 1), for example 0.99")
    if not isinstance(estimator, PrivateEstimator) or isinstance(estimator, TargetedEstimator):
        raise ValueError(
            f"estimator of type {type(estimator).__name__}: expected a mixture, k-means, factor analysis or PCA"
        )
    if estimator.neighbors is None or Neighbors.parse(estimator.neighbors) is not Neighbors.ADD_REMOVE:
        raise ArgumentError("neighbors", estimator.neighbors, "'add-remove', since canaries are put in or left out")
    if estimator.random_state is not None:
        raise ArgumentError("random_state", estimator.random_state, "None; noise from a seed does not protect")
    started = time.perf_counter()
    rng = np.random.default_rng()
    rows, declared = _draw_canaries(estimator, count, rng)
    inside = rng.random(count) < 0.5
    everyone, some = (
        Curator(chosen, **declared, neighbors=Neighbors.ADD_REMOVE, at_most=count) for chosen in (rows, rows[inside])
    )
    fitted = clone(estimator).fit(some)
    if fitted.guarantee_ is None:
        raise ArgumentError("estimator", UNSHOWN, "one with a guarantee; its guarantee_ is None")
    scores = _estimate_coins(fitted.releases_, everyone)
    guesses = min(max(2 * math.ceil(share * count / 2.0), 2), count - count % 2)
    order = np.argsort(scores)
    right = int(np.sum(~inside[order[: guesses // 2]]) + np.sum(inside[order[-(guesses // 2) :]]))
    return OneRun(estimator._label, fitted.guarantee_, count, guesses, right, confidence, time.perf_counter() - started)


def _draw_canaries(
    estimator: PrivateEstimator, count: int, rng: np.random.Generator
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return random corners of what an estimator declares, and the declaration."""
    schema = getattr(estimator, "schema", None)
    if isinstance(schema, Schema):
        rows = np.empty((count, len(schema.columns)), dtype=object)
        for place, (_, column) in enumerate(schema.columns):
            ends = column.values if isinstance(column, Category) else (column.low, column.high)
            rows[:, place] = [ends[code] for code in rng.integers(len(ends), size=count)]
        return rows, {"schema": Schema(dict(schema.columns))}
    if estimator.bounds is None:
        raise ArgumentError("bounds", None, "declared bounds, to make canaries within them")
    declared = read_bounds(estimator.bounds)
    if isinstance(declared, Schema):
        return _draw_corners(space_of(estimator.bounds), count, rng), {"schema": declared}
    space = declared.for_columns(2) if declared.columns is None else declared
    return _draw_corners(space, count, rng), {"space": space}


def _draw_corners(space: Box | Ball, count: int, rng: np.random.Generator) -> Array:
    """Return random corners, of the box or of the cube in a ball."""
    signs = rng.choice([-1.0, 1.0], (count, space.dimension))
    scale = np.asarray(space.scale)
    reach = scale / math.sqrt(space.dimension) if isinstance(space, Ball) else scale
    return np.asarray(np.asarray(space.center) + signs * reach)


def _estimate_coins(releases: Sequence[Release], everyone: Curator) -> Array:
    """Return the estimate of every coin, from all releases whose query and Gaussian noise are known."""
    rows = everyone._records.rows
    precision, evidence = np.eye(rows), np.zeros(rows)
    for release in releases:
        question, noise = release.question, release.noise
        if isinstance(question, Query) and noise is not None and noise.normal:
            blocks = [np.asarray(question.contributions(block)) for block in everyone._records.blocks()]
            each = np.concatenate(blocks) / noise.scale  # in the order of the canaries; ``gather`` sorts
            precision += each @ each.T / 4.0
            evidence += each @ (release.value / noise.scale - each.sum(axis=0) / 2.0)
    return np.asarray(np.linalg.solve(precision, evidence) / 2.0)
