"""Rows with labels: from what a user hands to a classifier to a curator whose labels are a declared category.

Which labels there can be is declared, or said to be public: that one occurs may tell of somebody. A row with another
label, or none, is dropped, as one with a missing category is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from discreet.arguments import UNSHOWN, ArgumentError, iterable, listed
from discreet.door import Curator
from discreet.estimators.base import behind_a_door
from discreet.estimators.targeted import TargetedEstimator, apart
from discreet.records import Category, Records, Space
from discreet.records.cells import category_key
from discreet.records.opening import is_stored

__all__ = ["Labelled", "LabelledEstimator", "sorted_places"]

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


class LabelledEstimator(TargetedEstimator):
    """An estimator with ``classes``."""

    _holds, _for_example = "labels", "diagnosis"

    classes: Sequence[str | int | bool] | str | None
    categories_: dict[str, tuple[Any, ...]]

    def _labelled(self, X: Any, y: Any) -> Labelled:
        """Return rows behind a door with their labels, and note their columns as scikit-learn does."""
        X = behind_a_door(X)
        if isinstance(X, Curator | Records):
            return self._held(X, self._name(y))
        if is_stored(X):
            return self._held(self._stored(X, self._name(y), self._category()), str(y))
        if isinstance(y, str):
            X, y = apart(X, y, self._holds)
        rows, values, codes = self._coded(X, y)
        labels = np.where(codes < 0, np.nan, codes)
        records, name, names = self._owned(rows, "label", Category(range(len(values))), labels)
        found = self._held(records, name, values)
        if names is not None:
            self.feature_names_in_ = names
        return found

    def _held(self, held: Curator | Records, name: str, values: tuple[Any, ...] | None = None) -> Labelled:
        """Return rows whose column ``name`` has the labels: its declared values, or what its codes stand for."""
        curator = self._behind(held)
        if name not in curator.category_columns:
            raise ArgumentError("y", name, f"a column of categories, one of {listed(curator.category_columns)}")
        declared = curator.categories[curator.category_columns.index(name)]
        if values is None and self.classes is not None and self._category().values != declared:
            raise ArgumentError("classes", self.classes, f"None, or the declared values of {name!r}")
        values = declared if values is None else values
        if len(values) < 2:
            raise ArgumentError("classes", UNSHOWN, f"at least two, got one class; {WRITE}")
        return Labelled(self._open(curator.only([*curator.columns, name])), name, values)

    def _category(self) -> Category:
        """Return the declared classes."""
        if self.classes is None or (isinstance(self.classes, str) and self.classes != "public"):
            raise ArgumentError(
                "classes",
                self.classes,
                f"the labels that there can be, since which of them occur may tell of somebody; {WRITE}",
            )
        if isinstance(self.classes, str) or not iterable(self.classes):
            raise ArgumentError("classes", self.classes, f"a sequence of labels here; {WRITE}")
        try:
            return Category(self.classes)
        except ValueError as error:
            raise ValueError(f"classes={self.classes!r}: {error}") from None

    def _coded(self, X: Any, y: Any) -> tuple[Any, tuple[Any, ...], Codes]:
        """Return rows that their owner has handed over, the labels there are, and the place of each row's."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None; write fit(X, y) with a label a row")
        if self.classes is None:
            self._category()  # raises
        rows = self._owned_rows(X)
        if getattr(np.asarray(y), "dtype", np.dtype(object)).kind == "c":
            raise ValueError("y holds complex numbers: expected labels")  # scikit-learn's own error would show them
        values, codes = self._codes(column_or_1d(y, warn=True))
        check_consistent_length(rows, codes)
        if len(codes) and codes.max() < 0:  # the owner's own path: see ``discreet.estimators.base``
            raise ArgumentError(
                "y",
                UNSHOWN,
                f"labels of which some are declared, {listed(values)}, and none is",
                write="classes as the labels are written in y, or classes='public' where no label is a secret",
            )
        return rows, values, codes

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
        """The labels, sorted, as scikit-learn's are."""
        if not hasattr(self, "categories_"):
            raise AttributeError("classes_: there are none before fit")
        kinds = {type(value) for value in self._values}
        return np.array(self._values, dtype=None if len(kinds) == 1 else object)

    @property
    def _space(self) -> Space:
        """The declared bounds, which every release names."""
        return Space.from_dict(self.releases_[0].declared["space"])

    def _check_fitted(self) -> None:
        """Raise where a file names no column of labels."""
        super()._check_fitted()
        if len(self.categories_) != 1:
            raise ArgumentError("categories_", UNSHOWN, "one column, that of the labels")


def sorted_places(values: Sequence[Any]) -> list[int]:
    """Return the places of labels in their order; as they are where they have none."""
    try:
        return sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        return list(range(len(values)))
