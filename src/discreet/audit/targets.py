"""Prepare the subject of an attack: an estimator with neighbours for its declarations, or a function with pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.audit.pairs import Pair, neighbours, neighbours_in_ball
from discreet.door import Curator
from discreet.estimators.base import PrivateEstimator, as_curator
from discreet.estimators.fitted_columns import declared_column
from discreet.estimators.labelled import LabelledEstimator, TargetedEstimator
from discreet.estimators.linear_regression import LinearRegression
from discreet.guarantees import Neighbors
from discreet.records import Ball, Box, Category, Schema, Space, space_of
from discreet.records.declared.bounds import box_columns, fill_number_gaps
from discreet.records.declared.columns import Column
from discreet.scales import column_scales

LABEL, TARGET = "label", "target"
COLUMNS = 2  # if the bounds fit any number of columns


def prepare_attack(
    subject: Any, pairs: Pair | Sequence[Pair] | None, target: str | None, *, spends: bool = False
) -> tuple[Callable[[Any], Any], tuple[Pair, ...], str]:
    """Return a function of a data set, the pairs of data sets, and a name."""
    given = None if pairs is None else (pairs,) if isinstance(pairs, Pair) else pairs
    if given is not None:
        given = tuple(given) if isinstance(given, list | tuple) else ()
    if given is not None and (not given or not all(isinstance(pair, Pair) for pair in given)):
        raise ArgumentError("pairs", pairs, "a discreet.audit.Pair, or several")
    if not spends and any(_has_ledger(side) for pair in given or () for side in (pair.one, pair.other)):
        raise ArgumentError(
            "pairs",
            UNSHOWN,
            "data without a ledger, since an attack asks thousands of times; or spends=True to spend their budget",
        )
    if isinstance(subject, PrivateEstimator):
        if given is None and target is not None:
            raise ArgumentError("target", target, "None where the pairs are made here, with their target")
        return _prepare_estimator(subject, given, target)
    if not callable(subject) or isinstance(subject, type):
        raise ValueError(f"subject of type {type(subject).__name__}: expected an estimator of discreet, or a function")
    if given is None:
        raise ArgumentError(
            "pairs",
            None,
            "neighbouring data sets for a function",
            write="for example neighbours(Schema({'age': Number(0, 120)})), or Pair('one row changed', rows, changed)",
        )
    if target is not None:
        raise ArgumentError("target", target, "None with a function, which knows its own")
    return subject, given, str(getattr(subject, "__name__", type(subject).__name__))


def _has_ledger(data: Any) -> bool:
    """Return whether data, or a part of them, have a ledger that would record the runs."""
    held = as_curator(data)
    if isinstance(held, Curator):
        return held.ledger is not None
    parts = held.values() if isinstance(held, Mapping) else held if isinstance(held, list | tuple) else ()
    return any(_has_ledger(part) for part in parts if not isinstance(part, int | float))


def _prepare_estimator(
    estimator: PrivateEstimator, given: tuple[Pair, ...] | None, target: str | None
) -> tuple[Callable[[Any], Any], tuple[Pair, ...], str]:
    from sklearn.base import clone

    if estimator.random_state is not None:
        raise ArgumentError("random_state", estimator.random_state, "None; noise from a seed does not protect")
    if given is None:
        given, target = _extreme_pairs(estimator)

    if target is None and isinstance(estimator, TargetedEstimator):
        raise ArgumentError("target", None, "the name of the target's column, with pairs of your own")

    def ask(data: Any) -> Any:
        fresh = clone(estimator)
        return fresh.fit(data) if target is None else fresh.fit(data, target)

    return ask, given, estimator._label


def _extreme_pairs(estimator: PrivateEstimator) -> tuple[tuple[Pair, ...], str | None]:
    """Return neighbours within the bounds of an estimator, and the name of the target's column."""
    if getattr(estimator, "releases_", ()):
        return _pairs_as_fitted(estimator)
    relation = Neighbors.REPLACE_ONE if estimator.neighbors is None else Neighbors.parse(estimator.neighbors)
    schema = getattr(estimator, "schema", None)
    if isinstance(schema, Schema):
        return neighbours(schema, relation), None
    if estimator.bounds is None:
        raise ArgumentError("pairs", None, "neighbouring data sets, or an estimator with bounds to make some from")
    space = space_of(estimator.bounds)
    space = space.for_columns(COLUMNS) if space.columns is None else space
    names = list(estimator.bounds) if isinstance(estimator.bounds, Mapping) else []
    columns: dict[str, Column] = {}
    target = None
    if isinstance(estimator, LabelledEstimator):
        target, columns[LABEL] = LABEL, estimator._category()
    elif isinstance(estimator, LinearRegression):
        target, columns[TARGET] = TARGET, estimator._target()
    if isinstance(space, Ball) and target is None:
        return neighbours_in_ball(space, relation), None
    # Gaps are filled, as for rows that their owner hands over.
    return neighbours(fill_number_gaps(Schema(_numbers(space, names) | columns)), relation), target


def _pairs_as_fitted(estimator: PrivateEstimator) -> tuple[tuple[Pair, ...], str | None]:
    """Return the same from the declarations of the rows that an estimator was fitted to."""
    release = estimator.releases_[0]
    declared = release.declared
    space: Any = Space.from_dict(declared["space"])
    if isinstance(space, Ball):
        return neighbours_in_ball(space, release.neighbors, declared["max_rows"] if declared["unit"] else None), None
    columns: dict[str, Column] = {name: declared_column(scale) for name, scale in column_scales(declared).items()}
    columns |= {
        name: Category(values)
        for name, values in zip(declared["category_columns"], declared["categories"], strict=True)
    }
    schema = Schema(columns, unit=declared["unit"], max_rows=declared["max_rows"] if declared["unit"] else None)
    schema = fill_number_gaps(schema) if release.size.complete else schema
    target = None
    if isinstance(estimator, LabelledEstimator):
        (target,) = estimator.categories_
    elif isinstance(estimator, LinearRegression):
        names = getattr(estimator, "feature_names_in_", declared["columns"][:-1])
        (target,) = (name for name in declared["columns"] if name not in names)
    return neighbours(schema, release.neighbors), target


def _numbers(space: Box | Ball, names: Sequence[str]) -> dict[str, Column]:
    """Return numeric columns within a box, or within the box around a ball."""
    box = Box.holding(space) if isinstance(space, Ball) else space
    return dict(zip(names or [f"x{j}" for j in range(box.dimension)], box_columns(box), strict=True))
