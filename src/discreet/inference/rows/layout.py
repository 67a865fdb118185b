"""Which columns a row has, as a model and as the door see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.records import Block

__all__ = ["Layout", "Rows"]

Rows = dict[str, Any]  # "x" of shape (n, d) and "codes" of shape (n, k), or those of one row


@dataclass(frozen=True)
class Layout:
    """Which columns a row has.

    Attributes
    ----------
    columns : tuple of str
        The numeric ones.
    category_columns : tuple of str
    categories : tuple of tuple
        The declared values of each of them.
    """

    columns: tuple[str, ...]
    category_columns: tuple[str, ...] = ()
    categories: tuple[tuple[Any, ...], ...] = ()

    def place(self, name: str) -> tuple[str, Any] | None:
        """Return where a sample site stands in a row; None for a parameter."""
        if name in self.columns:
            return "x", self.columns.index(name)
        if name in self.category_columns:
            return "codes", self.category_columns.index(name)
        if name == "row" and self.columns:
            return "x", slice(None)
        return ("codes", 0) if name == "label" and len(self.category_columns) == 1 else None

    def block(self, rows: Rows) -> Block:
        """Return rows as the door sees them."""
        return Block(np.asarray(rows["x"], dtype=np.float64), np.asarray(rows["codes"]).astype(np.int64))

    def __str__(self) -> str:
        return ", ".join((*self.columns, *self.category_columns))
