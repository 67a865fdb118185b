"""Rows of a fitted model in their own units, where columns are dates or on a log scale.

Fitted parameters are of the values that were measured: of logarithms, and of days since 1970-01-01. Rows that come in
to be scored and rows that are drawn are as the table has them. All of it follows from what the releases declare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.door import Curator
from discreet.estimators.frames import with_days
from discreet.estimators.portrait_columns import columns_of
from discreet.guarantees import Neighbors
from discreet.records import Records, open_records
from discreet.records.opening import is_stored
from discreet.scales import ColumnScale, as_days, column_scales

__all__ = ["OwnRows", "drawn_columns", "rows_of_values", "scales_of", "values_of_rows"]

Array = NDArray[np.float64]


class OwnRows:
    """An estimator that takes rows in their own units: cells of a log column, and dates."""

    bounds: Any

    @property
    def _declared_scales(self) -> dict[str, str]:
        """The scales of bounds that are declared by name."""
        columns = self.bounds if isinstance(self.bounds, Mapping) else {}
        return {str(name): getattr(column, "scale", "linear") for name, column in columns.items()}

    def _enclosed(self, X: Any, neighbors: Neighbors) -> Curator:
        if {*self._declared_scales.values()} <= {"linear"} or isinstance(X, Records) or is_stored(X):
            curator: Curator = super()._enclosed(X, neighbors)  # type: ignore[misc]
            return curator
        return Curator(open_records(self._owned_rows(X), bounds=self.bounds, complete=True), neighbors=neighbors)

    def _owned_rows(self, X: Any) -> Any:
        """Return the owner's rows as an array of numbers, of dates as days, checked."""
        dated = [name for name, scale in self._declared_scales.items() if scale == "date"]
        return super()._owned_rows(with_days(X, dated))  # type: ignore[misc]

    def _rows(self, X: Any) -> Array:
        """Return rows to predict or to score as values, checked as scikit-learn does."""
        scales = scales_of(self) if hasattr(self, "releases_") else ()
        if all(scale.kind == "linear" for scale in scales):
            rows: Array = super()._rows(X)  # type: ignore[misc]
            return rows
        return values_of_rows(super()._rows(with_days(X, [one.name for one in scales if one.kind == "date"])), scales)  # type: ignore[misc]


def scales_of(model: Any) -> tuple[ColumnScale, ...]:
    """Return the scale of each numeric column of a fitted model."""
    known = column_scales(model.releases_[0].declared)
    names = columns_of(model)
    if all(name in known for name in names):
        return tuple(known[name] for name in names)
    return tuple(known.values())[: len(names)]  # columns that nobody named


def values_of_rows(rows: Array, scales: Sequence[ColumnScale]) -> Array:
    """Return rows in their own units as values; cells of a log column are moved into their bounds, as in a fit."""
    columns = [np.asarray(rows[:, j], dtype=np.float64) for j in range(rows.shape[1])]
    for j, scale in enumerate(scales):
        if scale.kind == "log":
            columns[j] = scale.to_values(np.clip(columns[j], *scale.own_ends))
    return np.stack(columns, axis=1)


def rows_of_values(values: Array, scales: Sequence[ColumnScale]) -> Array:
    """Return values as rows in their own units: exponentials, and whole days since 1970-01-01."""
    columns = [np.asarray(values[:, j]) for j in range(values.shape[1])]
    for j, scale in enumerate(scales):
        if scale.kind == "log":
            columns[j] = scale.to_own(columns[j], inside=False)
        elif scale.kind == "date":
            columns[j] = np.rint(columns[j])
    return np.stack(columns, axis=1)


def drawn_columns(drawn: Mapping[str, Any], scales: Sequence[ColumnScale]) -> Array:
    """Return numeric columns that were drawn, by name and in their own units, as rows of values."""
    found = [as_days(drawn[one.name]) if one.kind == "date" else np.asarray(drawn[one.name], float) for one in scales]
    return values_of_rows(np.stack(found, axis=1), scales)
