"""Base classes of supervised estimators: they open rows with a target (``TargetedEstimator``) or labels.

The target is given beside the rows, or is the name of one of their columns. Where bounds are by name, only the columns
that they name, and the target, are used.

The possible labels (``LabelledEstimator``) are declared, or stated to be public: that a label occurs may reveal
somebody. A row with another label, or none, is dropped, like a row with a missing category.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from discreet.arguments import UNSHOWN, ArgumentError, Verbatim, format_names, iterable, one_of
from discreet.door import Curator
from discreet.estimators.base import PrivateEstimator, as_curator
from discreet.estimators.fitted_columns import indicated_categories, numeric_columns, select_columns
from discreet.guarantees import Neighbors
from discreet.records import (
    Ball,
    Box,
    Category,
    Date,
    Number,
    Records,
    Schema,
    Space,
    open_records,
    read_bounds,
    space_of,
)
from discreet.records.cells import category_key
from discreet.records.declared.bounds import box_columns
from discreet.records.given_data import column_names, is_numpy, is_stored
from discreet.records.indicator_reading import indicator_columns
from discreet.records.sources.frames import as_frame


class TargetedEstimator(PrivateEstimator):
    """An estimator of a target.

    Attributes
    ----------
    _target_noun : str
        What the target's column holds, for errors.
    _target_column : str
        The name of the target's column where it has none.
    _example_column : str
        An example of such a name, for errors.
    _accepts_balls : bool
        Whether bounds may be a ball. Rows are then read within the box around it, and the query clips them to the ball.
    _takes_categories : bool
        Whether categories may be features: they are read as indicators (``records.indicator_reading``).
    """

    _target_noun: ClassVar[str]
    _target_column: ClassVar[str]
    _example_column: ClassVar[str]
    _accepts_balls: ClassVar[bool] = False
    _takes_categories: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model, at a cost of ``epsilon`` and ``delta``.

        Parameters
        ----------
        X : array, data frame, Curator, StatisticalDatabase, Records, path, Table, or Dask data frame
            All numeric columns but the target's are used. For an array or a data frame see ``discreet.estimators.base``
            for what may be raised; behind a curator no error depends on a row.
        y : array, or str
            The label or the target of each row of an array or a data frame; or the name of the column that holds them.
            Behind a curator labels are a declared category.

        Returns
        -------
        self
        """
        return self._plan_fit(X, y).run()

    @abstractmethod
    def _target(self) -> Number | Category:
        """Return the declared column of the target."""

    @abstractmethod
    def _read_target(self, y: Any) -> tuple[Number | Category, Any, tuple[Any, ...] | None]:
        """Return the declared column of a target that the caller holds, its numbers, and its labels."""

    @abstractmethod
    def _check_target(self, curator: Curator, name: str, labels: tuple[Any, ...] | None) -> Any:
        """Return a curator with the target, checked, and note the other columns as scikit-learn does."""

    def _open_with_target(self, X: Any, y: Any) -> Any:
        """Open rows and target behind a curator, and return the result of ``_check_target``."""
        X, names, labels = as_curator(X), None, None
        if isinstance(X, Curator | Records):
            held, name = X, self._target_name(y)
        elif is_stored(X):
            name = self._target_name(y)
            held = self._open_stored(X, name, self._target())
        else:
            if isinstance(y, str):
                X, y = _take_target(X, y, self._target_noun)
            if y is None:
                raise ValueError(
                    "requires y to be passed, but the target y is None; write fit(X, y) with the "
                    f"{self._target_noun} of each row"
                )
            if self._declared_categories:
                column, values, labels = self._read_target(y)
                held, name = self._join_frame(X, column, values)
            else:
                rows = self._owned_rows(X)
                column, values, labels = self._read_target(y)
                held, name, names = self._join_target(rows, column, values)
        if not isinstance(held, Curator):
            relation = Neighbors.REPLACE_ONE if self.neighbors is None else Neighbors.parse(self.neighbors)
            held = Curator(held, neighbors=relation)
            if isinstance(self.bounds, Mapping) and not isinstance(X, Records):  # which declares what is used
                held = held.only([*held.columns, *held.category_columns])
        result = self._check_target(self._with_indicators(held, name), name, labels)
        if names is not None:
            self.feature_names_in_ = names
        return result

    def _check_fitted(self) -> None:
        """Raise where the columns of indicators are not those of the declared categories."""
        super()._check_fitted()
        categories, required = indicated_categories(self), self.releases_[0].declared.get("required") or ()
        added = indicator_columns(categories)
        as_read = all((name in required) == (one.fill is None) for name, one in categories.items())
        if categories and (not self._takes_categories or not as_read or not {*added} <= {*numeric_columns(self)}):
            raise ArgumentError("indicators", UNSHOWN, "those of the declared categories")

    def _with_indicators(self, curator: Curator, target: str) -> Curator:
        """Return a curator of the features and the target, in which categories that were chosen are indicators.

        Categories that nobody chose are left out. Raise where some were, and the estimator takes none.
        """
        chosen = curator.chosen or ()
        named = [name for name in curator.category_columns if name in chosen and name != target]
        if named and not self._takes_categories:
            numbers = [name for name in (*curator.columns, *curator.category_columns) if name in chosen]
            kept = ", ".join(repr(name) for name in numbers if name not in named)
            raise ArgumentError(
                "X",
                Verbatim(f"columns with {format_names(named)}"),
                "columns of numbers beside the target, and categories are none; declare a column of 0 and 1 for a "
                "category as a Number, or leave it out",
                write=f"only([{kept}])",
            )
        labels = [target] if target in curator.category_columns else []
        wanted = [*curator.columns, *named, *labels]
        return curator.only(wanted).with_indicators(named) if wanted else curator  # which has no such target

    def _target_name(self, y: Any) -> str:
        """Return the name of the target's column, where rows are behind a curator or in a file."""
        if not isinstance(y, str):
            raise ValueError(
                f"y of type {type(y).__name__}: expected the name of the column that holds the {self._target_noun}; "
                f"write fit(rows, {self._example_column!r}) where rows are behind a curator or in a file"
            )
        return y

    def _has_space(self, space: Box | Ball) -> bool:
        """Return whether ``bounds`` declares this space, or a ball of which it is the surrounding box."""
        declared = space_of(self._feature_bounds).for_columns(space.dimension)
        around = isinstance(declared, Ball) and self._accepts_balls and Box.holding(declared) == space
        return around or declared == space

    @property
    def _named_columns(self) -> dict[str, Number | Date | Category]:
        """The columns that bounds declare by name."""
        declared = read_bounds(self.bounds) if isinstance(self.bounds, Mapping) else None
        return dict(declared.columns) if isinstance(declared, Schema) else {}

    @property
    def _declared_categories(self) -> dict[str, Category]:
        """The columns of categories among them, where the estimator takes such; they become indicators."""
        named = self._named_columns.items() if self._takes_categories else ()
        return {name: column for name, column in named if isinstance(column, Category)}

    @property
    def _feature_bounds(self) -> Any:
        """The declared bounds of the features, with indicators between 0 and 1 after the numbers."""
        categories = self._declared_categories
        if not categories:
            return self.bounds
        numbers = {name: column for name, column in self._named_columns.items() if name not in categories}
        return numbers | dict.fromkeys(indicator_columns(categories), (0.0, 1.0))

    def _columns(self, count: int) -> Sequence[Number | Date | Category]:
        """Return the columns as the bounds declare them."""
        space = space_of(self._feature_bounds)
        if isinstance(self.bounds, Mapping):
            return list(self._named_columns.values())
        if isinstance(space, Ball):
            if not self._accepts_balls:
                raise ArgumentError("bounds", self.bounds, "bounds of each column", write="Box(low=…, high=…)")
            space = Box.holding(space.for_columns(count))
        return box_columns(space.for_columns(count))

    def _open_stored(self, X: Any, name: str, target: Number | Category) -> Records:
        """Return records of a file or a Dask collection with the declared bounds and target."""
        names = column_names(X)
        if name not in names:
            raise ArgumentError("y", name, f"the name of the column of {self._target_noun}, {one_of(name, names)}")
        others = list(self.bounds) if isinstance(self.bounds, Mapping) else [one for one in names if one != name]
        columns = dict(zip(others, self._columns(len(others)), strict=True))
        return open_records(X, bounds=columns | {name: target})

    def _join_frame(self, X: Any, target: Number | Category, values: Any) -> tuple[Records, str]:
        """Return records of a data frame of numbers and categories, with the target, and that column's name."""
        frame = as_frame(X)
        if frame is None:
            raise ArgumentError("X", UNSHOWN, f"a data frame, whose columns have names, got {type(X).__name__}")
        check_consistent_length(frame.to_native(), values)
        name = self._target_column
        while name in frame.columns:
            name += "_"
        joined = frame.with_columns(nw.new_series(name, values, backend=frame.implementation)).to_native()
        columns = {**self._named_columns, name: target}
        return open_records(select_columns(joined, list(columns)), bounds=columns), name

    def _join_target(self, rows: Any, target: Number | Category, values: Any) -> tuple[Records, str, Any]:
        """Return records of an array with the target as a last column, that column's name, and the names of the others.

        The rows are checked already, and no number is missing.
        """
        check_consistent_length(rows, values)
        names = getattr(self, "feature_names_in_", None) if is_numpy(rows) else None
        columns = [f"x{j}" for j in range(rows.shape[1])] if names is None else [str(one) for one in names]
        name, xp = self._target_column, array_namespace(rows)
        while name in columns:
            name += "_"
        declared = dict(zip(columns, self._columns(len(columns)), strict=True)) | {name: target}
        column = xp.asarray(values, dtype=rows.dtype, device=device(rows))
        table = xp.concat([rows, column[:, None]], axis=1)
        return open_records(table, bounds=declared, complete=True), name, names

    def _owned_rows(self, X: Any) -> Any:
        """Return the rows as floats, so that a target can be joined to them."""
        self.__dict__.pop("feature_names_in_", None)
        rows = super()._owned_rows(X)
        return rows if is_numpy(rows) else array_namespace(rows).astype(rows, array_namespace(rows).float64)


def _take_target(X: Any, name: str, holds: str) -> tuple[Any, Any]:
    """Return a data frame without the target's column, and the target."""
    frame = as_frame(X)
    if frame is None:
        raise ArgumentError(
            "y",
            name,
            f"{holds}, one a row, for X of type {type(X).__name__}; the name of a column needs a data frame, a "
            "Curator, or a file",
        )
    if name not in frame.columns:
        raise ArgumentError("y", name, f"the name of the column of {holds}, {one_of(name, frame.columns)}")
    return frame.drop(name).to_native(), np.array(frame[name].to_list(), dtype=object)


Codes = NDArray[np.int64]

WRITE = "write for example classes=['benign', 'malignant'], or classes='public' where no label in y is a secret"


class LabelledEstimator(TargetedEstimator):
    """An estimator with ``classes``."""

    _target_noun, _target_column, _example_column = "labels", "label", "diagnosis"

    classes: Sequence[str | int | bool] | str | None
    categories_: dict[str, tuple[Any, ...]]

    def _check_target(
        self, curator: Curator, name: str, labels: tuple[Any, ...] | None
    ) -> tuple[Curator, str, tuple[Any, ...]]:
        """Return a curator whose first column of categories has the labels, that column's name, and the labels."""
        if name not in curator.category_columns:
            raise ArgumentError("y", name, f"a column of categories, {one_of(name, curator.category_columns)}")
        declared = curator.categories[curator.category_columns.index(name)]
        if labels is None and self.classes is not None and self._category().values != declared:
            raise ArgumentError("classes", self.classes, f"None, or the declared values of {name!r}")
        values = declared if labels is None else labels
        if len(values) < 2:
            raise ArgumentError("classes", UNSHOWN, f"at least two, got one class; {WRITE}")
        return self._open(curator), name, values

    def _target(self) -> Category:
        """Return the declared classes as a column."""
        return self._category()

    def _category(self) -> Category:
        """Return the declared classes as a category, checked."""
        if self.classes is None or (isinstance(self.classes, str) and self.classes != "public"):
            raise ArgumentError(
                "classes",
                self.classes,
                f"the possible labels, since those that occur may reveal somebody; {WRITE}",
            )
        if isinstance(self.classes, str) or not iterable(self.classes):
            raise ArgumentError("classes", self.classes, f"a sequence of labels here; {WRITE}")
        try:
            return Category(self.classes)
        except ValueError as error:
            raise ValueError(f"classes={self.classes!r}: {error}") from None

    def _read_target(self, y: Any) -> tuple[Category, Any, tuple[Any, ...]]:
        """Return the declared column of codes, the code of each row, and the labels."""
        if self.classes is None:
            self._category()  # raises
        if getattr(np.asarray(y), "dtype", np.dtype(object)).kind == "c":
            raise ValueError("y holds complex numbers: expected labels")  # scikit-learn's own error would show them
        labels, codes = self._codes(column_or_1d(y, warn=True))
        if len(codes) and codes.max() < 0:  # the caller holds the rows: see ``discreet.estimators.base``
            raise ArgumentError(
                "y",
                UNSHOWN,
                f"at least one declared label ({format_names(labels)}); it has none",
                write="classes as the labels are written in y, or classes='public' where no label is a secret",
            )
        return Category(range(len(labels))), np.where(codes < 0, np.nan, codes), labels

    def _codes(self, y: NDArray[Any]) -> tuple[tuple[Any, ...], Codes]:
        """Return the labels, and the index of each row's label, −1 where it is none of them."""
        if not (isinstance(self.classes, str) and self.classes == "public"):
            category = self._category()
            return category.values, category.encode(y.tolist())
        if y.dtype.kind == "f":
            here = np.isfinite(y)
        else:
            here = np.array([category_key(label) is not None for label in y.tolist()], dtype=bool)
        codes = np.full(len(y), -1, dtype=np.int64)
        labels = y[here]
        if len(labels):
            check_classification_targets(labels)
        try:
            values, codes[here] = np.unique(labels, return_inverse=True)
        except TypeError:
            raise ArgumentError("y", UNSHOWN, "labels of one type, text or numbers, with classes='public'") from None
        if len(values) < 2:
            raise ArgumentError("y", UNSHOWN, f"at least two labels, got {('no', 'one')[len(values)]} class")
        return tuple(values.tolist()), codes

    @property
    def _values(self) -> tuple[Any, ...]:
        (values,) = self.categories_.values()
        return values

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted as in scikit-learn."""
        if not hasattr(self, "categories_"):
            raise AttributeError("classes_: there are none before fit")
        kinds = {type(value) for value in self._values}
        return np.array(self._values, dtype=None if len(kinds) == 1 else object)

    @property
    def _space(self) -> Space:
        """The declared bounds, as in every release."""
        return Space.from_dict(self.releases_[0].declared["space"])

    def _check_fitted(self) -> None:
        """Raise where the attributes do not name one column of labels."""
        super()._check_fitted()
        if len(self.categories_) != 1:
            raise ArgumentError("categories_", UNSHOWN, "one column, that of the labels")


def sort_order(values: Sequence[Any]) -> list[int]:
    """Return the indices that sort the labels; the given order where they cannot be compared."""
    try:
        return sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        return list(range(len(values)))
