"""``Dataset``: rows with labels, and what is publicly known about them.

A :class:`Dataset` is immutable: its arrays are read-only copies. Its bounds come from a code book, from the physical
meaning of a column or from the distribution of a generator, never from the rows, so that they may be declared to a
private method as they are. Nothing here prints a value: the representation and the error messages have only names,
shapes and types.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.datasets.truth import Plane, TrueMixture

__all__ = ["XY", "Bounds", "Dataset", "FloatArray", "IntArray", "as_requested"]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Bounds: TypeAlias = tuple[tuple[float, float], ...]
XY: TypeAlias = tuple[FloatArray, IntArray]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows with their labels, names, public bounds, licence and citation.

    Parameters
    ----------
    name : str
        A short name.
    X : array of shape (n_samples, n_features)
        The rows; kept as a read-only C-contiguous float64 copy.
    y : array of shape (n_samples,) or None
        Whole-number labels, or ``None`` where the rows have none.
    columns : tuple of str
        One name for each column of ``X``.
    bounds : tuple of (low, high) or None
        The publicly known range of each column; ``None`` where no public range is known.
        Rows are not clipped to it.
    licence : str
        The terms under which the rows may be used.
    citation : str
        What to cite.
    unit : array of shape (n_samples,) or None
        The number of the person (or the device, …) that each row belongs to, for person-level privacy. ``None`` if
        each row is a unit of its own.
    truth : Plane, TrueMixture or None
        The distribution of the rows, where they were generated.

    Examples
    --------
    >>> from discreet.datasets import Dataset
    >>> walks = Dataset("walks", [[1.0, 0.5], [2.0, 0.7]], [0, 1], ("hours", "speed"), None, "CC0", "own diary")
    >>> walks
    Dataset(name='walks', shape=(2, 2), licence='CC0')
    >>> len(walks), walks.X.flags.writeable
    (2, False)
    """

    name: str
    X: FloatArray
    y: IntArray | None
    columns: tuple[str, ...]
    bounds: Bounds | None
    licence: str
    citation: str
    unit: IntArray | None = None
    truth: Plane | TrueMixture | None = None

    def __post_init__(self) -> None:
        X = _numbers("X", self.X)
        if X.ndim != 2:
            raise ValueError(f"X has shape {X.shape}: expected two dimensions, rows and columns")
        columns = tuple(self.columns)
        if len(columns) != X.shape[1]:
            raise ValueError(f"columns has {len(columns)} names: expected {X.shape[1]}, one for each column of X")
        self._set("X", X)
        self._set("y", _whole("y", self.y, len(X)))
        self._set("columns", columns)
        self._set("bounds", _pairs(self.bounds, len(columns)))
        self._set("unit", _whole("unit", self.unit, len(X)))
        if self.truth is not None:
            self._set("truth", type(self.truth)(*(_numbers("truth", part) for part in self.truth)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the dataclass is frozen

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        return f"Dataset(name={self.name!r}, shape={self.X.shape}, licence={self.licence!r})"

    def __reduce__(self) -> tuple[type[Dataset], tuple[Any, ...]]:
        # Copies and pickles are built anew, so that their arrays are read-only as well.
        return Dataset, tuple(getattr(self, field.name) for field in fields(self))


def as_requested(dataset: Dataset, return_X_y: bool) -> Dataset | XY:
    """Return a labelled dataset, or the pair of its rows and labels (scikit-learn's ``return_X_y``).

    >>> from discreet.datasets import Dataset
    >>> walks = Dataset("walks", [[1.0], [2.0]], [0, 1], ("hours",), None, "CC0", "own diary")
    >>> X, y = as_requested(walks, return_X_y=True)
    >>> X.shape, y.shape
    ((2, 1), (2,))
    """
    if not isinstance(return_X_y, bool):
        raise ArgumentError("return_X_y", return_X_y, "True or False")
    if not return_X_y:
        return dataset
    assert dataset.y is not None, "only tables with labels take return_X_y"
    return dataset.X, dataset.y


def _freeze(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _numbers(name: str, value: Any) -> FloatArray:
    """Return a read-only float64 copy; an error does not show the entries."""
    try:
        return _freeze(np.array(value, dtype=np.float64, order="C"))
    except (TypeError, ValueError):
        raise ArgumentError(name, UNSHOWN, "a rectangular array of numbers") from None


def _whole(name: str, value: Any, rows: int) -> IntArray | None:
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "biu" or array.shape != (rows,):
        raise ValueError(
            f"{name} has type {array.dtype} and shape {array.shape}: expected whole numbers of shape ({rows},)"
        )
    return _freeze(np.array(array, dtype=np.int64))


def _pairs(bounds: Any, count: int) -> Bounds | None:
    if bounds is None:
        return None
    accepted = f"None or {count} pairs (low, high) with low < high, one for each column"
    try:
        pairs = tuple((float(low), float(high)) for low, high in bounds)
    except (TypeError, ValueError):
        raise ArgumentError("bounds", bounds, accepted) from None
    if len(pairs) != count or not all(-math.inf < low < high < math.inf for low, high in pairs):
        raise ArgumentError("bounds", bounds, accepted)
    return pairs
