"""A block: some rows, ready for a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Block"]


class Block(NamedTuple):
    """Rows that a kernel may see: complete, and inside of the declared space.

    Attributes
    ----------
    x : array of shape (n, d)
        The numeric columns, float64, in the array library of the source (NumPy for tables).
    codes : array of shape (n, k)
        For each column of categories the number of the category, int64, in the same library.
    """

    x: Any
    codes: Any
