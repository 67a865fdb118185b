"""Rows with a target among their columns: what classifiers and regressions share of opening what a user hands over.

The target is given beside the rows, or is the name of one of their columns. Where bounds are by name, only the columns
that they name, and the target, are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import ArgumentError, listed
from discreet.door import Curator
from discreet.estimators.base import PrivateEstimator
from discreet.guarantees import Neighbors
from discreet.records import Ball, Box, Category, Date, Number, Records, Schema, open_records, read_bounds
from discreet.records.bounds import box_columns
from discreet.records.opening import column_names, is_numpy
from discreet.records.table_source import as_frame

__all__ = ["TargetedEstimator", "apart", "unlike"]


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

    def _numbers(self, count: int) -> Sequence[Number | Date]:
        """Return the numeric columns as the bounds declare them."""
        space = self._declared()
        if isinstance(self.bounds, Mapping):
            declared = read_bounds(self.bounds)
            assert isinstance(declared, Schema)
            return list(declared.numbers.values())
        if isinstance(space, Ball):
            if not self._takes_balls:
                raise ArgumentError("bounds", self.bounds, "bounds of each column", write="Box(low=…, high=…)")
            space = Box.holding(space.for_columns(count))
        return box_columns(space.for_columns(count))

    def _stored(self, X: Any, name: str, target: Number | Category) -> Records:
        """Return rows of a file or of Dask with the bounds as declared, and their target."""
        names = column_names(X)
        if name not in names:
            raise ArgumentError("y", name, f"the name of the column of {self._holds}, one of {listed(names)}")
        others = list(self.bounds) if isinstance(self.bounds, Mapping) else [one for one in names if one != name]
        columns = dict(zip(others, self._numbers(len(others)), strict=True))
        return open_records(X, bounds=columns | {name: target})

    def _owned(self, rows: Any, name: str, target: Number | Category, values: Any) -> tuple[Records, str, Any]:
        """Return rows of an array that their owner has handed over, their target beside them; its name, and theirs.

        They are checked, and no number is missing.
        """
        names = getattr(self, "feature_names_in_", None) if is_numpy(rows) else None
        columns = [f"x{j}" for j in range(rows.shape[1])] if names is None else [str(one) for one in names]
        name, xp = unlike(name, columns), array_namespace(rows)
        declared = dict(zip(columns, self._numbers(len(columns)), strict=True)) | {name: target}
        column = xp.asarray(values, dtype=rows.dtype, device=device(rows))
        table = xp.concat([rows, column[:, None]], axis=1)
        return open_records(table, bounds=declared, complete=True), name, names

    def _owned_rows(self, X: Any) -> Any:
        """Return the rows as floats, so that a target can stand beside them."""
        self.__dict__.pop("feature_names_in_", None)
        rows = super()._owned_rows(X)
        return rows if is_numpy(rows) else array_namespace(rows).astype(rows, array_namespace(rows).float64)


def unlike(name: str, columns: Iterable[str]) -> str:
    """Return the name, longer where a column has it already."""
    taken = set(columns)
    while name in taken:
        name += "_"
    return name


def apart(X: Any, name: str, holds: str) -> tuple[Any, Any]:
    """Return a data frame without the column of its target, and the target."""
    frame = as_frame(X)
    if frame is None:
        raise ArgumentError(
            "y",
            name,
            f"{holds}, one a row, for X of type {type(X).__name__}; the name of a column needs a data frame, a "
            "Curator, or a file",
        )
    if name not in frame.columns:
        raise ArgumentError("y", name, f"the name of the column of {holds}, one of {listed(frame.columns)}")
    return frame.drop(name).to_native(), np.array(frame[name].to_list(), dtype=object)
