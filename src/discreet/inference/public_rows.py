"""Public rows beside the private releases: checked, and put into the columns of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.inference.row_model import Layout, Rows

__all__ = ["public_rows"]


def public_rows(public: Any, layout: Layout) -> Rows | None:
    """Return public rows as the model has them.

    Parameters
    ----------
    public : array, data frame, (X, y), or None
        X by the numeric columns, in their order or by their names; y the declared values of a column of categories,
        or several columns of them.
    layout : Layout
    """
    if public is None:
        return None
    x, labels = public if isinstance(public, tuple) else (public, None)
    if hasattr(x, "columns"):
        missing = [name for name in layout.columns if name not in list(x.columns)]
        if missing:
            raise ValueError(f"public: expected the columns {list(layout.columns)}; {missing} are missing")
        x = np.column_stack([np.asarray(x[name], dtype=np.float64) for name in layout.columns])
    numbers = np.asarray(x, dtype=np.float64)
    if numbers.ndim == 1 and len(layout.columns) == 1:
        numbers = numbers[:, None]
    if numbers.ndim != 2 or numbers.shape[1] != len(layout.columns):
        raise ValueError(f"public: expected rows of {len(layout.columns)} columns, {list(layout.columns)}")
    if not np.all(np.isfinite(numbers)):
        raise ValueError("public: expected finite numbers; leave rows with gaps out")
    return {"x": numbers, "codes": _codes(labels, len(numbers), layout)}


def _codes(labels: Any, count: int, layout: Layout) -> np.ndarray[Any, Any]:
    k = len(layout.categories)
    if labels is None:
        if k:
            raise ValueError(f"public: expected (X, y) with the values of {list(layout.category_columns)}")
        return np.zeros((count, 0), dtype=np.int64)
    given = np.asarray(labels)
    given = given[:, None] if given.ndim == 1 else given
    if given.shape != (count, k):
        raise ValueError(f"public: expected y with {count} values for each of {list(layout.category_columns)}")
    codes = np.empty((count, k), dtype=np.int64)
    for j, values in enumerate(layout.categories):
        places = {value: at for at, value in enumerate(values)}
        found = [places.get(value, -1) for value in given[:, j].tolist()]
        if -1 in found:
            raise ValueError(
                f"public: expected values of {layout.category_columns[j]!r} among those that are declared, {values}"
            )
        codes[:, j] = found
    return codes
