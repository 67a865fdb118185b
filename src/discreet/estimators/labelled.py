"""Rows with labels: from what a user hands to a classifier to a curator whose labels are a declared category.

Which labels there can be is declared, or said to be public: that one occurs may tell of somebody. A row with another
label, or none, is dropped, as one with a missing category is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from discreet.door import Curator
from discreet.estimators.base import PrivateEstimator, behind_a_door
from discreet.guarantees import Neighbors
from discreet.records import Ball, Box, Category, Number, Records, Schema, Table, as_records, check_finite
from discreet.records.cells import category_key
from discreet.records.opening import stored_names

__all__ = ["Labelled", "LabelledEstimator", "listed"]

Codes = NDArray[np.int64]

WRITE = "write for example classes=['benign', 'malignant'], or classes='public' where no label in y is a secret"


class Labelled(NamedTuple):
    """Rows behind a door, and their labels.

    Attributes
    ----------
    curator : Curator
        Its first column of categories has the labels.
    name : str
        That column.
    values : tuple
        The labels that its codes stand for.
    """

    curator: Curator
    name: str
    values: tuple[Any, ...]


class LabelledEstimator(PrivateEstimator):
    """An estimator with ``classes``, whose ``bounds`` may be by name."""

    classes: Sequence[str | int | bool] | str | None

    def _labelled(self, X: Any, y: Any) -> Labelled:
        """Return rows behind a door with their labels, and note their columns as scikit-learn does."""
        X = behind_a_door(X)
        if isinstance(X, Curator | Records):
            return self._held(X, self._name(y))
        if isinstance(X, str | os.PathLike | Table) or _is_dask(X):
            return self._held(self._stored(X, self._name(y)), str(y))
        if isinstance(y, str):
            X, y = _apart(X, y)
        records, name, values, names = self._owned(X, y)
        found = self._held(records, name, values)
        if names is not None:
            self.feature_names_in_ = names
        return found

    def _held(self, held: Curator | Records, name: str, values: tuple[Any, ...] | None = None) -> Labelled:
        """Return rows whose column ``name`` has the labels: its declared values, or what its codes stand for."""
        relation = Neighbors.REPLACE_ONE if self.neighbors is None else Neighbors.of(self.neighbors)
        curator = held if isinstance(held, Curator) else Curator(held, neighbors=relation)
        if name not in curator.category_columns:
            raise ValueError(f"y={name!r}: expected a column of categories, one of {listed(curator.category_columns)}")
        declared = curator.categories[curator.category_columns.index(name)]
        if values is None and self.classes is not None and self._category().values != declared:
            raise ValueError(f"classes={self.classes!r}: expected None, or the declared values of {name!r}")
        values = declared if values is None else values
        if len(values) < 2:
            raise ValueError(f"classes: expected at least two, got one class; {WRITE}")
        return Labelled(self._open(curator.only([*curator.columns, name])), name, values)

    def _name(self, y: Any) -> str:
        if not isinstance(y, str):
            raise ValueError(
                f"y of type {type(y).__name__}: expected the name of the column that holds the labels; write "
                "fit(rows, 'diagnosis') where rows are behind a curator or in a file"
            )
        return y

    def _category(self) -> Category:
        """Return the declared classes."""
        if self.classes is None or (isinstance(self.classes, str) and self.classes != "public"):
            raise ValueError(
                f"classes={self.classes!r}: expected the labels that there can be, since which of them occur may tell "
                f"of somebody; {WRITE}"
            )
        if isinstance(self.classes, str) or not isinstance(self.classes, Iterable):
            raise ValueError(f"classes={self.classes!r}: expected a sequence of labels here; {WRITE}")
        try:
            return Category(self.classes)
        except ValueError as error:
            raise ValueError(f"classes={self.classes!r}: {error}") from None

    def _stored(self, X: Any, name: str) -> Records:
        """Return rows of a file or of Dask, with the bounds and the classes as declared."""
        names = _stored_names(X)
        if name not in names:
            raise ValueError(f"y={name!r}: expected the name of the column of labels, one of {listed(names)}")
        others = [column for column in names if column != name]
        if isinstance(self.bounds, Mapping):
            others = list(self.bounds)
        columns: dict[str, Number | Category] = dict(zip(others, self._numbers(len(others), "drop"), strict=True))
        return as_records(X, schema=Schema(columns | {name: self._category()}))

    def _declared(self) -> Box | Ball:
        """Return the bounds; a mapping of columns as the box that it says."""
        if not isinstance(self.bounds, Mapping):
            return super()._declared()
        pairs = list(self.bounds.values())
        if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise ValueError(f"bounds={self.bounds!r}: expected (low, high) for each column; write {{'age': (0, 120)}}")
        return Box(low=[pair[0] for pair in pairs], high=[pair[1] for pair in pairs])

    def _numbers(self, count: int, missing: str) -> list[Number]:
        """Return the numeric columns as the bounds declare them."""
        space = self._declared()
        if not isinstance(space, Box):
            raise ValueError(f"bounds={self.bounds!r}: expected bounds of each column; write Box(low=…, high=…)")
        space = space.for_columns(count)
        pairs = zip(np.asarray(space.low).tolist(), np.asarray(space.high).tolist(), strict=True)
        if missing == "drop":
            return [Number(low, high) for low, high in pairs]
        return [Number(low, high, missing="fill", fill=low / 2.0 + high / 2.0) for low, high in pairs]

    def _owned(self, X: Any, y: Any) -> tuple[Records, str, tuple[Any, ...], Any]:
        """Return rows that their owner has handed over with their labels' codes, what these stand for, and names."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None; write fit(X, y) with a label a row")
        if self.classes is None:
            self._category()  # raises
        rows = self._checked_rows(self._selected(X))
        values, codes = self._codes(column_or_1d(y, warn=True))
        check_consistent_length(rows, codes)
        names = getattr(self, "feature_names_in_", None) if is_numpy_array(rows) else None
        columns = [f"x{j}" for j in range(rows.shape[1])] if names is None else [str(name) for name in names]
        label = "label"
        while label in columns:
            label += "_"
        # Every row is complete, so no number is filled; but thus it is declared that none drops a row.
        declared: dict[str, Number | Category] = dict(zip(columns, self._numbers(len(columns), "fill"), strict=True))
        schema = Schema(declared | {label: Category(range(len(values)))})
        xp = array_namespace(rows)
        column = xp.asarray(np.where(codes < 0, np.nan, codes), dtype=rows.dtype, device=device(rows))
        return as_records(xp.concat([rows, column[:, None]], axis=1), schema=schema), label, values, names

    def _selected(self, X: Any) -> Any:
        """Return the columns of a data frame that have bounds, where these are by name."""
        if not isinstance(self.bounds, Mapping):
            return X
        self._declared()  # raises where they are no bounds
        if not hasattr(X, "columns"):
            raise ValueError(
                "bounds: expected a Box, since the columns of an array have no names; write Box(low, high)"
            )
        frame = nw.from_native(X, eager_only=True)
        missing = [name for name in self.bounds if name not in frame.columns]
        if missing:
            raise ValueError(
                f"bounds: the column {missing[0]!r} is not in the data: expected one of {listed(frame.columns)}"
            )
        return frame.select(list(self.bounds)).to_native()

    def _checked_rows(self, X: Any) -> Any:
        """Return the rows as an array of numbers, and note their columns as scikit-learn does."""
        self.__dict__.pop("feature_names_in_", None)
        if is_array_api_obj(X) and not is_numpy_array(X):
            check_finite(X)
            return array_namespace(X).astype(X, array_namespace(X).float64)
        return self._validated(X)

    def _codes(self, y: NDArray[Any]) -> tuple[tuple[Any, ...], Codes]:
        """Return the labels, and the place of each row's among them, −1 where it has none."""
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
            raise ValueError("y: expected labels of one type, text or numbers, with classes='public'") from None
        if len(values) < 2:
            raise ValueError(f"y: expected at least two labels, got {('no', 'one')[len(values)]} class")
        return tuple(values.tolist()), codes


def _apart(X: Any, name: str) -> tuple[Any, Any]:
    """Return a data frame without its column of labels, and the labels."""
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise ValueError(
            f"y={name!r}: expected a label a row for X of type {type(X).__name__}; the name of a column needs a data "
            "frame, a Curator, or a file"
        ) from None
    if name not in frame.columns:
        raise ValueError(f"y={name!r}: expected the name of the column of labels, one of {listed(frame.columns)}")
    return frame.drop(name).to_native(), np.array(frame[name].to_list(), dtype=object)


def _stored_names(X: Any) -> list[str]:
    """Return the columns of a file or of a Dask data frame."""
    if isinstance(X, str | os.PathLike | Table):
        return list(stored_names(X))
    if not hasattr(X, "columns"):
        raise ValueError("X: expected a data frame, whose columns have names; write dask.dataframe.from_dask_array(X)")
    return [str(column) for column in X.columns]


def _is_dask(data: Any) -> bool:
    dask = sys.modules.get("dask")  # whoever has a Dask collection has imported it
    return dask is not None and bool(dask.is_dask_collection(data))


def listed(names: Iterable[Any]) -> str:
    """Return names or labels for an error."""
    return ", ".join(map(repr, names)) or "which there is none"
