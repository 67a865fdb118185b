"""Whom an attack asks: an estimator with rows that its declarations allow, or a function with pairs of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.audit.pairs import Pair, in_a_ball, neighbours
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.bounds import space_of
from discreet.estimators.labelled import LabelledEstimator
from discreet.estimators.linear_regression import LinearRegression
from discreet.estimators.targeted import declared_number
from discreet.guarantees import Neighbors
from discreet.records import Ball, Box, Category, Number, Schema

__all__ = ["asked_of"]

LABEL, TARGET = "label", "target"
COLUMNS = 2  # where bounds are the same for any number of columns


def asked_of(
    subject: Any, pairs: Pair | Sequence[Pair] | None, target: str | None
) -> tuple[Callable[[Any], Any], tuple[Pair, ...], str]:
    """Return what to call with a data set, the pairs, and a name."""
    given = None if pairs is None else (pairs,) if isinstance(pairs, Pair) else tuple(pairs)
    if given is not None and (not given or not all(isinstance(pair, Pair) for pair in given)):
        raise ValueError(f"pairs={pairs!r}: expected a discreet.audit.Pair, or several")
    if isinstance(subject, PrivateEstimator):
        return _of_estimator(subject, given, target)
    if not callable(subject):
        raise ValueError(f"subject of type {type(subject).__name__}: expected an estimator of discreet, or a function")
    if given is None:
        raise ValueError(
            "pairs=None: expected neighbouring data sets for a function; write for example "
            "neighbours(Schema({'age': Number(0, 120)})), or Pair('one row more', rows[:-1], rows)"
        )
    if target is not None:
        raise ValueError(f"target={target!r}: expected None with a function, which knows its own")
    return subject, given, str(getattr(subject, "__name__", type(subject).__name__))


def _of_estimator(
    estimator: PrivateEstimator, given: tuple[Pair, ...] | None, target: str | None
) -> tuple[Callable[[Any], Any], tuple[Pair, ...], str]:
    from sklearn.base import clone

    if estimator.random_state is not None:
        raise ValueError(f"random_state={estimator.random_state!r}: expected None; noise from a seed is no noise")
    if given is None:
        given, target = _extreme(estimator)

    def ask(data: Any) -> Any:
        fresh = clone(estimator)
        return fresh.fit(data) if target is None else fresh.fit(data, target)

    return ask, given, estimator._label


def _extreme(estimator: PrivateEstimator) -> tuple[tuple[Pair, ...], str | None]:
    """Return neighbours within what an estimator declares, and the name of the target's column."""
    relation = Neighbors.REPLACE_ONE if estimator.neighbors is None else Neighbors.of(estimator.neighbors)
    schema = getattr(estimator, "schema", None)
    if isinstance(schema, Schema):
        return neighbours(schema, relation), None
    if estimator.bounds is None:
        raise ValueError("pairs=None: expected neighbouring data sets, or an estimator with bounds to make some from")
    space = space_of(estimator.bounds)
    labelled, regression = isinstance(estimator, LabelledEstimator), isinstance(estimator, LinearRegression)
    if isinstance(space, Ball):
        ball = space.for_columns(COLUMNS) if space.columns is None else space
        if not (labelled or regression):
            return in_a_ball(ball, relation), None
        space = Box.holding(ball)
    box = space.for_columns(COLUMNS) if space.columns is None else space
    names = list(estimator.bounds) if isinstance(estimator.bounds, dict) else [f"x{j}" for j in range(box.dimension)]
    columns: dict[str, Number | Category] = {
        name: declared_number(low, high, "fill")  # as for rows that their owner hands over
        for name, low, high in zip(names, np.asarray(box.low).tolist(), np.asarray(box.high).tolist(), strict=True)
    }
    if labelled:
        return neighbours(Schema(columns | {LABEL: estimator._category()}), relation), LABEL
    if regression:
        return neighbours(Schema(columns | {TARGET: Number(*estimator.target_bounds)}), relation), TARGET
    return neighbours(Schema(columns), relation), None
