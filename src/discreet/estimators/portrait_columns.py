"""The columns of a fitted estimator: their names, their declared bounds, and which of them a picture is drawn along."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.records import Ball, Space
from discreet.scales import column_scales

__all__ = ["all_declared_bounds", "chosen_columns", "columns_of", "dated_columns", "declared_bounds", "value_labels"]

Array = NDArray[np.float64]


def columns_of(model: Any) -> list[str]:
    """Return the names of an estimator's numeric columns."""
    if hasattr(model, "cells_"):  # a table's
        return list(model._numbers)
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def value_labels(model: Any) -> list[str]:
    """Return what the values of the numeric columns are called: ``log(income)`` for a log column."""
    known = column_scales(model.releases_[0].declared)
    return [known[name].label if name in known else name for name in columns_of(model)]


def dated_columns(model: Any) -> frozenset[str]:
    """Return the names of the columns of dates."""
    known = column_scales(model.releases_[0].declared)
    return frozenset(name for name, scale in known.items() if scale.kind == "date")


def declared_bounds(model: Any) -> Array:
    """Return (low, high) of the values of each numeric column as declared, shape (d, 2)."""
    names, bounds = columns_of(model), all_declared_bounds(model)
    if len(bounds) == len(names):
        return bounds
    everything = list(model.releases_[0].declared["columns"])
    return np.asarray(bounds[[everything.index(name) for name in names]])  # all but a target


def all_declared_bounds(model: Any) -> Array:
    """Return (low, high) of each declared column of numbers, a regression's target among them."""
    declared = model.releases_[0].declared
    space = Space.from_dict(declared["space"]).for_columns(len(declared["columns"]))
    if isinstance(space, Ball):
        return np.asarray(np.asarray(space.center)[:, None] + space.radius * np.array([-1.0, 1.0]))
    return np.stack([np.asarray(space.low), np.asarray(space.high)], axis=1)  # type: ignore[attr-defined]


def chosen_columns(model: Any, columns: Sequence[str | int] | None, most: int, default: Sequence[int]) -> list[int]:
    """Return the places of the columns that were asked for, all of them checked."""
    if columns is None:
        return list(default)
    names, labels = columns_of(model), value_labels(model)
    given = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else [columns]
    places = [names.index(one) if one in names else labels.index(one) if one in labels else one for one in given]
    known = all(isinstance(one, int | np.integer) and 0 <= one < len(names) for one in places)
    if not known or not 2 <= len(set(places)) == len(places) <= most:
        few = "two" if most == 2 else f"two to {most}"
        raise ArgumentError("columns", columns, f"{few} different columns of " + ", ".join(map(repr, names)))
    return [int(one) for one in places]
