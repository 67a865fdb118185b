"""Rows with a target among their columns: what classifiers and regressions share of opening what a user hands over.

The target is given beside the rows, or is the name of one of their columns. Where bounds are by name, only the columns
that they name, and the target, are used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

from discreet.door import Curator
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.bounds import listed
from discreet.guarantees import Neighbors
from discreet.records import Ball, Box, Number, Records, Table, check_finite
from discreet.records.opening import stored_names

__all__ = ["TargetedEstimator", "apart", "declared_number", "is_stored", "unlike"]


class TargetedEstimator(PrivateEstimator):
    """An estimator of a target.

    Attributes
    ----------
    _holds : str
        What the column of the target holds, for errors; and
    _for_example : str
        the name of such a column.
    _takes_balls : bool
        Whether bounds may be a ball. Its rows are read within the box around it, and it is for the query to clip them.
    """

    _holds: ClassVar[str]
    _for_example: ClassVar[str]
    _takes_balls: ClassVar[bool] = False

    def _name(self, y: Any) -> str:
        """Return the name of the target's column, where rows are behind a curator or in a file."""
        if not isinstance(y, str):
            raise ValueError(
                f"y of type {type(y).__name__}: expected the name of the column that holds the {self._holds}; write "
                f"fit(rows, {self._for_example!r}) where rows are behind a curator or in a file"
            )
        return y

    def _behind(self, held: Curator | Records) -> Curator:
        """Return rows that have their declarations behind a door, under the relation that was asked for."""
        relation = Neighbors.REPLACE_ONE if self.neighbors is None else Neighbors.of(self.neighbors)
        return held if isinstance(held, Curator) else Curator(held, neighbors=relation)

    def _agrees(self, space: Box | Ball) -> bool:
        """Return whether rows are declared as they are here, or are in the box around a ball that clips them."""
        declared = self._declared().for_columns(space.dimension)
        around = isinstance(declared, Ball) and self._takes_balls and Box.holding(declared) == space
        return around or declared == space

    def _numbers(self, count: int, missing: str) -> list[Number]:
        """Return the numeric columns as the bounds declare them."""
        space = self._declared()
        if isinstance(space, Ball):
            if not self._takes_balls:
                raise ValueError(f"bounds={self.bounds!r}: expected bounds of each column; write Box(low=…, high=…)")
            space = Box.holding(space.for_columns(count))
        space = space.for_columns(count)
        pairs = zip(np.asarray(space.low).tolist(), np.asarray(space.high).tolist(), strict=True)
        return [declared_number(low, high, missing) for low, high in pairs]

    def _stored_columns(self, X: Any, name: str) -> dict[str, Number]:
        """Return the numeric columns of a file or of Dask but the target's, with the bounds as declared."""
        names = _stored_names(X)
        if name not in names:
            raise ValueError(f"y={name!r}: expected the name of the column of {self._holds}, one of {listed(names)}")
        others = [column for column in names if column != name]
        if isinstance(self.bounds, Mapping):
            others = list(self.bounds)
        return dict(zip(others, self._numbers(len(others), "drop"), strict=True))

    def _owned_columns(self, rows: Any) -> tuple[dict[str, Number], Any]:
        """Return the numeric columns that their owner has handed over, and their names where they have any."""
        names = getattr(self, "feature_names_in_", None) if is_numpy_array(rows) else None
        columns = [f"x{j}" for j in range(rows.shape[1])] if names is None else [str(name) for name in names]
        # Every row is complete, so no number is filled; but thus it is declared that none drops a row.
        return dict(zip(columns, self._numbers(len(columns), "fill"), strict=True)), names

    def _checked_rows(self, X: Any) -> Any:
        """Return the rows as an array of numbers, and note their columns as scikit-learn does."""
        self.__dict__.pop("feature_names_in_", None)
        if is_array_api_obj(X) and not is_numpy_array(X):
            check_finite(X)
            return array_namespace(X).astype(X, array_namespace(X).float64)
        return self._validated(X)


def declared_number(low: float, high: float, missing: str) -> Number:
    """Return a column of numbers: a row with a gap is dropped, or filled with the middle."""
    if missing == "drop":
        return Number(low, high)
    return Number(low, high, missing="fill", fill=low / 2.0 + high / 2.0)


def unlike(name: str, columns: Iterable[str]) -> str:
    """Return the name, longer where a column has it already."""
    taken = set(columns)
    while name in taken:
        name += "_"
    return name


def apart(X: Any, name: str, holds: str) -> tuple[Any, Any]:
    """Return a data frame without the column of its target, and the target."""
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise ValueError(
            f"y={name!r}: expected {holds}, one a row, for X of type {type(X).__name__}; the name of a column needs a "
            "data frame, a Curator, or a file"
        ) from None
    if name not in frame.columns:
        raise ValueError(f"y={name!r}: expected the name of the column of {holds}, one of {listed(frame.columns)}")
    return frame.drop(name).to_native(), np.array(frame[name].to_list(), dtype=object)


def is_stored(X: Any) -> bool:
    """Return whether rows are read as declared: those of a file, a table or Dask."""
    dask = sys.modules.get("dask")  # whoever has a Dask collection has imported it
    return isinstance(X, str | os.PathLike | Table) or (dask is not None and bool(dask.is_dask_collection(X)))


def _stored_names(X: Any) -> list[str]:
    """Return the columns of a file or of a Dask data frame."""
    if isinstance(X, str | os.PathLike | Table):
        return list(stored_names(X))
    if not hasattr(X, "columns"):
        raise ValueError("X: expected a data frame, whose columns have names; write dask.dataframe.from_dask_array(X)")
    return [str(column) for column in X.columns]
