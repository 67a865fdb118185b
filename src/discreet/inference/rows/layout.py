"""``Layout``: the columns of a row. Public rows are checked and arranged by these columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.records import Block

Array = NDArray[np.float64]
Rows = dict[str, Any]  # "x" of shape (n, d) and "codes" of shape (n, k), or those of one row


@dataclass(frozen=True)
class Layout:
    """The columns of a row.

    Attributes
    ----------
    columns : tuple of str
        The numeric columns.
    category_columns : tuple of str
        The columns of categories.
    categories : tuple of tuple
        The declared values of each column of categories.
    """

    columns: tuple[str, ...]
    category_columns: tuple[str, ...] = ()
    categories: tuple[tuple[Any, ...], ...] = ()

    def locate(self, name: str) -> tuple[str, Any] | None:
        """Return the part of a row ("x" or "codes") and the index in it of a sample site; None for a parameter."""
        if name in self.columns:
            return "x", self.columns.index(name)
        if name in self.category_columns:
            return "codes", self.category_columns.index(name)
        if name == "row" and self.columns:
            return "x", slice(None)
        return ("codes", 0) if name == "label" and len(self.category_columns) == 1 else None

    def to_block(self, rows: Rows) -> Block:
        """Return rows as a block, as queries read them."""
        return Block(np.asarray(rows["x"], dtype=np.float64), np.asarray(rows["codes"]).astype(np.int64))

    def __str__(self) -> str:
        return ", ".join((*self.columns, *self.category_columns))


def read_public_rows(public: Any, layout: Layout, labels: Sequence[Any] = ()) -> Rows | None:
    """Return public rows in the form that models use.

    Parameters
    ----------
    public : array, data frame, (X, y), or None
        X has the numeric columns, in their order or by their names; y the declared values of one column of categories,
        or of several.
    layout : Layout
    labels : sequence, optional
        The labels of the only column of categories, where the layout has only their indices.
    """
    if public is None:
        return None
    if isinstance(public, tuple) and len(public) != 2:
        raise ArgumentError("public", UNSHOWN, f"rows X, or (X, y), got {len(public)} parts")
    x, y = public if isinstance(public, tuple) else (public, None)
    declared = (tuple(labels),) if labels else layout.categories
    if y is None and declared and hasattr(x, "columns") and set(layout.category_columns) <= set(x.columns):
        y = np.column_stack([np.asarray(x[name], dtype=object) for name in layout.category_columns])
    numbers = read_numeric_rows("public", x, layout.columns)
    return {"x": numbers, "codes": _codes(y, len(numbers), layout, declared)}


def read_numeric_rows(name: str, x: Any, columns: Sequence[str]) -> Array:
    """Return rows as an array of floats. A data frame's columns are found by name, unless the names are x0, x1, ….

    >>> read_numeric_rows("X", [[1, 2], [3, 4]], ("age", "stay")).shape
    (2, 2)
    >>> read_numeric_rows("X", [[1, 2, 3]], ("age", "stay"))
    Traceback (most recent call last):
        ...
    discreet.arguments.ArgumentError: X: expected rows of 2 columns, ['age', 'stay'], got shape (1, 3)
    """
    named = list(columns) != [f"x{j}" for j in range(len(columns))]
    if hasattr(x, "columns") and named:
        missing = [column for column in columns if column not in list(x.columns)]
        if missing:
            raise ArgumentError(name, UNSHOWN, f"the columns {list(columns)}; {missing} are missing")
        x = np.column_stack([np.asarray(x[column]) for column in columns])
    try:
        numbers = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(name, UNSHOWN, f"numbers in the columns {list(columns)} ({error})") from error
    if numbers.ndim == 1 and len(columns) == 1:
        numbers = numbers[:, None]
    if numbers.ndim != 2 or numbers.shape[1] != len(columns):
        raise ArgumentError(
            name, UNSHOWN, f"rows of {len(columns)} columns, {list(columns)}, got shape {numbers.shape}"
        )
    if not np.all(np.isfinite(numbers)):
        raise ArgumentError(name, UNSHOWN, "finite numbers; leave rows with gaps out")
    return numbers


def _codes(y: Any, count: int, layout: Layout, declared: Sequence[Sequence[Any]]) -> np.ndarray[Any, Any]:
    """Return the codes of labels, shape (count, columns of categories)."""
    k = len(declared)
    if y is None:
        if k:
            raise ArgumentError("public", UNSHOWN, f"(X, y) with the values of {list(layout.category_columns)}")
        return np.zeros((count, 0), dtype=np.int64)
    if not k:
        raise ArgumentError("public", UNSHOWN, "rows X alone; the releases have no column of categories")
    given = np.asarray(y)
    given = given[:, None] if given.ndim == 1 else given
    if given.shape != (count, k):
        raise ArgumentError("public", UNSHOWN, f"y with {count} values for each of {list(layout.category_columns)}")
    codes = np.empty((count, k), dtype=np.int64)
    for j, values in enumerate(declared):
        code_of = {value: code for code, value in enumerate(values)}
        column = [code_of.get(value, -1) for value in given[:, j].tolist()]
        if -1 in column:
            raise ArgumentError(
                "public", UNSHOWN, f"values of {layout.category_columns[j]!r} among those that are declared, {values}"
            )
        codes[:, j] = column
    return codes
