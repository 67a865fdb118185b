"""Columns of a fitted estimator: names, declared bounds, and conversion between rows and the model's values.

A model's *values* are the numbers that were measured: logarithms for log columns, and days since 1970-01-01 for dates.
Rows that are scored or sampled are in the units of the table. The scales follow from what the releases declare. Helpers
for data frames in memory are here as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, Verbatim, format_names
from discreet.records import Ball, Box, Category, Date, Number, Space
from discreet.records.cells import format_day
from discreet.records.indicator_reading import indicator_columns, indicator_names
from discreet.records.sources.frames import as_frame, to_floats
from discreet.scales import ColumnScale, as_days, column_scales

Array = NDArray[np.float64]


def numeric_columns(model: Any) -> list[str]:
    """Return the names of an estimator's numeric columns."""
    if hasattr(model, "columns_"):  # of a table, numbers beside categories
        return list(model._numbers)
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def has_names(curator: Any, columns: Sequence[str]) -> bool:
    """Return whether columns have names in the data or a schema, and are not numbered as those of an array are."""
    return curator.named or not all(re.fullmatch(r"x\d+", name) for name in columns)


def value_labels(model: Any) -> list[str]:
    """Return the labels of the values of the numeric columns: ``log(income)`` for a log column."""
    known = column_scales(model.releases_[0].declared)
    return [known[name].label if name in known else name for name in numeric_columns(model)]


def date_columns(model: Any) -> frozenset[str]:
    """Return the names of the columns of dates."""
    known = column_scales(model.releases_[0].declared)
    return frozenset(name for name, scale in known.items() if scale.kind == "date")


def declared_bounds(model: Any) -> Array:
    """Return (low, high) of the values of each numeric column as declared, shape (d, 2)."""
    names, bounds = numeric_columns(model), all_declared_bounds(model)
    if len(bounds) == len(names):
        return bounds
    everything = list(model.releases_[0].declared["columns"])
    return np.asarray(bounds[[everything.index(name) for name in names]])  # all but the target


def all_declared_bounds(model: Any) -> Array:
    """Return (low, high) of each declared column of numbers, the target of a regression included."""
    declared = model.releases_[0].declared
    space = Space.from_dict(declared["space"]).for_columns(len(declared["columns"]))
    if isinstance(space, Ball):
        return np.asarray(np.asarray(space.center)[:, None] + space.radius * np.array([-1.0, 1.0]))
    return np.stack([np.asarray(space.low), np.asarray(space.high)], axis=1)  # type: ignore[attr-defined]


def choose_columns(model: Any, columns: Sequence[str | int] | None, most: int, default: Sequence[int]) -> list[int]:
    """Return the indices of the requested columns, checked."""
    if columns is None:
        return list(default)
    names, labels = numeric_columns(model), value_labels(model)
    given = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else [columns]
    places = [names.index(one) if one in names else labels.index(one) if one in labels else one for one in given]
    known = all(isinstance(one, int | np.integer) and 0 <= one < len(names) for one in places)
    if not known or not 2 <= len(set(places)) == len(places) <= most:
        few = "two" if most == 2 else f"two to {most}"
        raise ArgumentError("columns", columns, f"{few} different columns of " + ", ".join(map(repr, names)))
    return [int(one) for one in places]


def numeric_scales(model: Any) -> tuple[ColumnScale, ...]:
    """Return the scale of each numeric column of a fitted model."""
    known = column_scales(model.releases_[0].declared)
    names = numeric_columns(model)
    if all(name in known for name in names):
        return tuple(known[name] for name in names)
    return tuple(known.values())[: len(names)]  # columns without names


def rows_to_values(rows: Array, scales: Sequence[ColumnScale]) -> Array:
    """Return rows in their own units as values; cells of a log column are clipped to their bounds, as in a fit."""
    if all(scale.kind != "log" for scale in scales):
        return np.asarray(rows, dtype=np.float64)
    columns = [np.asarray(rows[:, j], dtype=np.float64) for j in range(rows.shape[1])]
    for j, scale in enumerate(scales):
        if scale.kind == "log":
            columns[j] = scale.to_values(np.clip(columns[j], *scale.own_ends))
    return np.stack(columns, axis=1)


def values_to_rows(values: Array, scales: Sequence[ColumnScale]) -> Array:
    """Return values as rows in their own units: exponentials, and whole days since 1970-01-01."""
    columns = [np.asarray(values[:, j]) for j in range(values.shape[1])]
    for j, scale in enumerate(scales):
        if scale.kind == "log":
            columns[j] = scale.to_own(columns[j], inside=False)
        elif scale.kind == "date":
            columns[j] = np.rint(columns[j])
    return np.stack(columns, axis=1)


def columns_to_values(drawn: Mapping[str, Any], scales: Sequence[ColumnScale]) -> Array:
    """Return sampled numeric columns, by name and in their own units, as rows of values."""
    result = [as_days(drawn[one.name]) if one.kind == "date" else np.asarray(drawn[one.name], float) for one in scales]
    return rows_to_values(np.stack(result, axis=1), scales)


def frame_backend(data: Any) -> str | None:
    """Return the library of a data frame whose columns have names; None for anything else.

    >>> import pandas as pd
    >>> frame_backend(pd.DataFrame({"age": [30.0]})), frame_backend([[30.0]])
    ('pandas', None)
    """
    frame = as_frame(data)
    named = frame is not None and all(isinstance(name, str) for name in frame.columns)
    return frame.implementation.name.lower() if frame is not None and named else None


def to_frame(columns: Mapping[str, Any], backend: Any) -> Any:
    """Return columns as a data frame of a library.

    >>> to_frame({"age": [30.0, 41.0]}, "polars").columns
    ['age']
    """
    return nw.from_dict(dict(columns), backend=backend).to_native()


def select_columns(data: Any, names: Sequence[str]) -> Any:
    """Return some columns of a data frame in memory; raise where one is missing."""
    frame = as_frame(data)
    if frame is None:
        raise ValueError(
            f"X of type {type(data).__name__}: expected a data frame in memory, whose columns have names; "
            "write X.toPandas() for Spark, X.compute() for Dask"
        )
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"bounds: the column {name!r} is not in the data: expected one of {format_names(frame.columns)}"
            )
    return frame.select(list(names)).to_native()


def dates_to_days(data: Any, dated: Sequence[str]) -> Any:
    """Return a data frame with days since 1970-01-01 in the place of dates; anything else as it is."""
    frame = as_frame(data) if dated else None
    there = [] if frame is None else [name for name in dated if name in frame.columns]
    if frame is None or not there:
        return data
    backend = frame.implementation
    days = [nw.new_series(name, to_floats(frame[name], "date"), nw.Float64, backend=backend) for name in there]
    kept = frame.with_columns(*days).to_native()
    if hasattr(kept, "index") and hasattr(data, "index"):
        kept.index = data.index
    return kept


def fitted_bounds(model: Any, *, named: bool) -> Any:
    """Return the bounds of the features as they were declared for a fit; by name where rows have names.

    They are public, so other rows can be read in the same way.
    """
    declared = model.releases_[0].declared
    space, scales = Space.from_dict(declared["space"]), numeric_scales(model)
    if isinstance(space, Ball) and len(declared["columns"]) == model.n_features_in_:
        return space
    categories = indicated_categories(model)
    added = indicator_columns(categories)
    if not named and not categories and all(scale.kind == "linear" for scale in scales):
        return Box([scale.low for scale in scales], [scale.high for scale in scales])
    return {scale.name: declared_column(scale) for scale in scales if scale.name not in added} | categories


def declared_column(scale: ColumnScale) -> Number | Date:
    """Return a column as it was declared.

    >>> column = declared_column(ColumnScale("income", "log", 0.0, float(np.log(1e6))))
    >>> column.low, round(column.high), column.log
    (1.0, 1000000, True)
    """
    low, high = scale.own_ends
    if scale.kind == "date":
        return Date(format_day(low), format_day(high))
    return Number(low, high, log=scale.kind == "log")


def indicated_categories(model: Any) -> dict[str, Category]:
    """Return the columns of categories that a fitted regression reads as indicators; the first value has no column."""
    declared = model.releases_[0].declared.get("indicators") or {}
    return {str(name): Category(**one) for name, one in declared.items()}


def categories_to_indicators(data: Any, categories: Mapping[str, Category], names: Sequence[str]) -> Any:
    """Return a data frame of these columns, with indicators in the place of categories; anything else as it is.

    It is for rows that a caller holds: an error may depend on them.
    """
    frame = as_frame(data) if categories else None
    if frame is None or not all(name in frame.columns for name in categories):
        return data
    added = []
    for name, category in categories.items():
        codes = category.encode(frame[name].to_list())
        codes = np.where(codes < 0, category.fill_code, codes)
        if (codes < 0).any():
            raise ArgumentError(
                "X", Verbatim(f"the column {name!r}"), f"declared values, {format_names(category.values)}, in every row"
            )
        for place, column in enumerate(indicator_names(name, category.values), start=1):
            cells = (codes == place).astype(np.float64)
            added.append(nw.new_series(column, cells, nw.Float64, backend=frame.implementation))
    index = getattr(data, "index", None)
    kept = select_columns(frame.drop(list(categories)).with_columns(*added).to_native(), list(names))
    if index is not None and hasattr(kept, "index"):
        kept.index = index
    return kept
