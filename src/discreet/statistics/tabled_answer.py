"""``TabledAnswer``: an answer that is a table of numbers with intervals, and so a data frame in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from discreet.door import Answer


class TabledAnswer(Answer):
    """An answer with a table."""

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each number, with its interval; ``pandas.DataFrame`` accepts the result."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of ``table()``, so that ``pandas.DataFrame(answer)`` is a frame of them."""
        return iter(self.table())

    def to_frame(self, level: float = 0.95) -> Any:
        """Return ``table(level)`` as a data frame of pandas, with a row for each number."""
        return as_frame(self.table(level))

    def _about_rows(self) -> dict[str, str]:
        """Return the last cell of each row: which rows the numbers are about, where it is not all of them."""
        return {} if self.which_rows is None else {"which_rows": self.which_rows}


def as_frame(rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows of a table as a data frame of pandas."""
    try:
        pandas = import_module("pandas")
    except ImportError as missing:
        raise ImportError("to_frame needs pandas: pip install pandas; table() has the same rows") from missing
    return pandas.DataFrame(rows)
