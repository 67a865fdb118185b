"""The privacy unit: at most m rows of one unit contribute, the first m in the order of the source.

The rule looks at that unit's rows alone: which of them are kept does not depend on anybody else's rows, whatever they
hold and wherever they stand. So with one unit taken away or replaced, the rows of all others that contribute are the
same ones, and at most m rows come or go: the sensitivity is that of m rows.

Rows are counted before anything else is looked at: a row that is dropped for a missing value has used up its place.
A row whose unit is missing (null, NaN, NaT) belongs to nobody that could be protected, and is left out entirely.

A unit is what its name says when it comes here, compared by ``cells.unit_key``: two people with one key are protected
as one. Names should be whole numbers or text. Where a column of whole numbers has gaps, pandas makes floats of it, and
beyond 2⁵³ that makes one unit of several people, for a single row whose name is missing: write
``astype("Int64")`` or read the column as text, never as float.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.records.cells import unit_key

__all__ = ["Tally", "count_units", "offsets"]

Counts = Mapping[Hashable, int]


class Tally:
    """Counts of the rows of each unit so far.

    Parameters
    ----------
    max_rows : int
        How many rows of a unit are kept.
    start : mapping or None
        The rows of each unit in what came before (an earlier partition).

    Examples
    --------
    >>> tally = Tally(max_rows=2)
    >>> tally.keep(["ann", "bob", "ann", None, "ann"]).tolist()
    [True, True, True, False, False]
    >>> tally.keep(["bob", "bob"]).tolist()
    [True, False]
    """

    def __init__(self, max_rows: int, start: Counts | None = None) -> None:
        self._max_rows = max_rows
        self._seen: dict[Hashable, int] = {}
        self._start: Counts = start or {}

    @property
    def counts(self) -> dict[Hashable, int]:
        """The rows of each unit, those before ``start`` left out."""
        return self._seen

    def keep(self, cells: Iterable[Any]) -> NDArray[np.bool_]:
        """Return which of the next rows are kept."""
        seen, start, most = self._seen, self._start, self._max_rows
        kept = []
        for cell in cells:
            unit = cell if type(cell) is int else unit_key(cell)
            if unit is None:
                kept.append(False)
                continue
            before = seen.get(unit, 0)
            seen[unit] = before + 1
            kept.append(before + start.get(unit, 0) < most)
        return np.array(kept, dtype=np.bool_)


def count_units(columns: Iterable[Iterable[Any]]) -> dict[Hashable, int]:
    """Return how many rows each unit has in a partition."""
    tally = Tally(1)
    for cells in columns:
        tally.keep(cells)
    return tally.counts


def offsets(counts: Sequence[Counts]) -> tuple[list[dict[Hashable, int]], int]:
    """Return, for each partition, the rows that its units have in earlier ones; and the number of units in all.

    >>> offsets([{"ann": 2, "bob": 1}, {"ann": 1}, {"ann": 4, "eve": 1}])
    ([{}, {'ann': 2}, {'ann': 3}], 3)
    """
    total: dict[Hashable, int] = {}
    before = []
    for partition in counts:
        before.append({unit: total[unit] for unit in partition if unit in total})
        for unit, rows in partition.items():
            total[unit] = total.get(unit, 0) + rows
    return before, len(total)
