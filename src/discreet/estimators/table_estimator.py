"""``TableEstimator``: base class of models of tables with numbers and categories; it opens and reads such tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, format_names
from discreet.door import Curator, Release
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.fitted_columns import rows_to_values
from discreet.guarantees import Neighbors
from discreet.records import Box, Category, Date, Number, Records, Schema, Space, open_records
from discreet.records.cells import read_date, read_numbers
from discreet.records.given_data import is_array
from discreet.records.sources.frames import as_frame, to_floats, to_python_values
from discreet.scales import ColumnScale, column_scales

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_CATEGORIES = 10_000
WRITE = "write for example Schema({'age': Number(0, 120), 'sex': Category(['female', 'male'])})"


class TableEstimator(PrivateEstimator):
    """An estimator with ``schema`` and ``whole``, whose rows have numbers and categories."""

    bounds = None  # the schema or the curator has the bounds of every column
    schema: Schema | None
    whole: Collection[str]
    columns_: tuple[str, ...]
    categories_: dict[str, tuple[Any, ...]]

    def _open(self, X: Any) -> Curator:
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise ArgumentError("schema", self.schema, f"a Schema, or None with a Curator; {WRITE}")
        curator = super()._open(X)
        declared = curator.declared
        if any(len(values) > MOST_CATEGORIES for values in curator.categories):
            raise ArgumentError("X", UNSHOWN, f"at most {MOST_CATEGORIES} categories in a column; more are declared")
        if self.schema is not None:
            own, values = self.schema, tuple(one.values for one in self.schema.categories.values())
            mine = (own.space, own.scales, tuple(own.numbers), tuple(own.categories), values)
            theirs = (curator.space, curator.scales, curator.columns, tuple(declared["category_columns"]))
            if mine != (*theirs, curator.categories):
                raise ArgumentError(
                    "schema", UNSHOWN, "None, or the columns, bounds and categories that the curator has"
                )
        return curator

    def _make_curator(self, X: Any, neighbors: Neighbors) -> Curator:
        if isinstance(X, Records):
            return Curator(X, neighbors=neighbors)
        if self.schema is None:
            raise ArgumentError("schema", None, f"the declared columns, never taken from the rows; {WRITE}")
        if is_array(X):
            raise ValueError(
                f"X of type {type(X).__qualname__}: expected a data frame in memory, whose columns have names; "
                "write X.toPandas() for Spark, X.compute() for Dask"
            )
        return Curator(open_records(X, schema=self.schema), neighbors=neighbors)

    def _whole(self, curator: Any) -> tuple[bool, ...]:
        """Return for each column of numbers whether its values are whole."""
        names = curator.columns
        if isinstance(self.whole, str) or not set(self.whole) <= set(names):
            raise ArgumentError("whole", self.whole, f"names of columns of numbers, of {format_names(names)}")
        scales = column_scales(curator.declared)
        for name in self.whole:
            low, high = scales[name].own_ends
            if math.ceil(low) > math.floor(high):
                raise ArgumentError("whole", self.whole, f"a whole number within the bounds of {name!r}")
        return tuple(self._has_whole_values(scales[name]) for name in names)

    def _has_whole_values(self, scale: ColumnScale) -> bool:
        """Return whether the values of a column are whole; logarithms of whole numbers are not."""
        return scale.kind == "date" or (scale.name in self.whole and scale.kind == "linear")

    @property
    def _numbers(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return tuple(name for name in self.columns_ if name not in self.categories_)

    @property
    def _space(self) -> Box:
        """The declared bounds, which every release names."""
        space = Space.from_dict(self.releases_[0].declared["space"])
        if not isinstance(space, Box):
            raise ArgumentError("releases_", UNSHOWN, "the bounds of a Box")
        return space

    @property
    def _scales(self) -> tuple[ColumnScale, ...]:
        """The scale of each column of numbers."""
        known = column_scales(self.releases_[0].declared)
        return tuple(known[name] for name in self._numbers)

    def _own_numbers(self, scale: ColumnScale, values: Array) -> NDArray[Any]:
        """Return values of a column of numbers as a table holds them: dates, whole numbers, or floats."""
        column = scale.as_rows(values)
        if scale.name not in self.whole or scale.kind == "date":
            return column
        low, high = scale.own_ends
        return np.asarray(np.rint(column).clip(math.ceil(low), math.floor(high)).astype(np.int64))

    def _read(self, X: Any, gaps: Collection[str] = ()) -> tuple[Array, Codes]:
        """Return rows as numbers and codes of categories.

        A missing value is an error, unless the schema fills it, or the column is one of ``gaps``: then NaN, or −1.
        """
        columns = read_columns(X, self.columns_)
        declared = {} if self.schema is None else dict(self.schema.columns)
        numbers, codes = [], []
        for name, scale in zip(self._numbers, self._scales, strict=True):
            given = np.asarray(_to_numbers(columns[name], scale.kind), dtype=np.float64)
            column = declared.get(name)
            fill = column.fill_value if isinstance(column, Number | Date) else math.nan
            given = np.where(np.isfinite(given), given, fill)
            _check_complete(name, np.isfinite(given) | (name in gaps))
            numbers.append(np.floor(given) if scale.kind == "date" else given)
        for name, values in self.categories_.items():
            category = declared.get(name)
            category = category if isinstance(category, Category) else Category(values)
            result = category.encode(_to_cells(columns[name]))
            codes.append(np.where(result < 0, category.fill_code, result))
            _check_complete(name, (codes[-1] >= 0) | (name in gaps))
        n = len((numbers or codes)[0])
        x = np.stack(numbers, axis=1) if numbers else np.empty((n, 0))
        labels = np.stack(codes, axis=1) if codes else np.empty((n, 0), dtype=np.int64)
        return rows_to_values(x, self._scales), labels


def _units_of(release: Release) -> str:
    """Return what a public number counts: rows, or units of several rows."""
    unit = release.declared.get("unit_name") or release.declared.get("unit")
    return "rows" if not unit else f"units ({unit}) of up to {release.declared['max_rows']} rows each"


def warn_of_dropped_rows(release: Release, total: float, noise: float) -> None:
    """Warn where a released count shows that most rows were dropped. It is public, so this reveals nothing more.

    Parameters
    ----------
    release : Release
    total, noise : float
        The released number of rows, and the standard deviation of its noise.
    """
    units = release.size.units
    if units is not None and total < units / 2.0 - 6.0 * noise:
        warnings.warn(
            f"about {max(total, 0.0):.0f} rows contributed, of {units} {_units_of(release)} (by a released count): a "
            "row with a value that is not as declared is dropped; statistics.check_schema finds the column; "
            "compare the schema with the spelling in the data, or let it fill",
            UserWarning,
            stacklevel=6,
        )


def read_columns(X: Any, names: Collection[str]) -> Mapping[str, Any]:
    """Return the named columns of a data frame, or of a mapping of names to arrays."""
    columns: dict[str, Any] = {}
    if isinstance(X, Mapping):
        columns = {name: np.asarray(X[name]) for name in names if name in X}
        if len({column.shape for column in columns.values()}) > 1:
            raise ArgumentError("X", UNSHOWN, "columns of one length")
    else:
        frame = as_frame(X)
        if frame is None:
            raise ValueError(
                f"X of type {type(X).__qualname__}: expected a pandas, Polars or Arrow table, or a mapping of names to "
                "arrays"
            )
        columns = {str(series.name): series for series in frame.iter_columns()}
    for name in names:
        if name not in columns:
            raise ValueError(f"X: the column {name!r} is not there; expected {format_names(names)}")
    return columns


def _to_numbers(column: Any, kind: str) -> NDArray[Any]:
    """Return a column as numbers, of dates as days; NaN where a cell is neither."""
    if isinstance(column, nw.Series):
        return to_floats(column, kind)
    return np.array([read_date(cell) for cell in column]) if kind == "date" else read_numbers(column.tolist())


def _to_cells(column: Any) -> list[Any]:
    return to_python_values(column) if isinstance(column, nw.Series) else list(column.tolist())


def _check_complete(name: str, there: NDArray[np.bool_]) -> None:
    if not there.all():
        raise ValueError(
            f"X: the column {name!r} holds values that are missing, or not as declared: expected complete rows, or a "
            "schema that fills them"
        )
