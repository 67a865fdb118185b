"""Who is a person: the names of units as numbers, so that rows can be counted.

The unit's column has a declared type, "text" or "integer", and two rows are of one unit where their cells are equal as
that type (``cells.unit_name``). What other cells hold decides nothing. A row whose unit is missing, or cannot be read
as the declared type, belongs to nobody that could be protected, and is left out, always: as one unit such rows would
tie people together.

Names of different people must differ. Two people who share one are protected as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.records.cells import unit_name

__all__ = ["UNIT_TYPES", "UnitCells", "Units"]

UNIT_TYPES = ("text", "integer")
Codes = NDArray[np.int64]


class UnitCells(NamedTuple):
    """Cells of a unit's column.

    Attributes
    ----------
    cells : array of whole numbers, or list
    missing : array of bool, or None
        Which of the whole numbers are none; None for no one. In a list what is missing cannot be read.
    among : list or None
        Where a column holds each value once and then places: the values, of which ``cells`` are the places.
    """

    cells: NDArray[Any] | list[Any]
    missing: NDArray[np.bool_] | None = None
    among: list[Any] | None = None

    def gone(self) -> NDArray[np.bool_]:
        """Return which of the cells are missing."""
        return np.zeros(len(self.cells), dtype=np.bool_) if self.missing is None else self.missing

    def as_list(self) -> list[Any]:
        """Return Python's values, None where one is missing."""
        if isinstance(self.cells, list):
            return self.cells
        cells = zip(self.cells.tolist(), self.gone().tolist(), strict=True)
        return [None if gone else cell for cell, gone in cells]


class Units:
    """The units of a column: each has a number, its code.

    Parameters
    ----------
    kind : str
        The declared type.

    Examples
    --------
    >>> units = Units("text")
    >>> units.add([UnitCells(["ann", "bob", None, "ann"]), UnitCells(np.array([7, 8]))]).tolist()
    [0, 1, -1, 0, 2, 3]
    >>> units.names([0, 2])
    ['ann', '7']
    >>> units.find(UnitCells(["bob", "eve", "7"])).tolist()
    [1, -1, 2]
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._codes: dict[str, int] = {}
        self._whole: NDArray[Any] | None = None  # in place of names, where all of a column are whole numbers: sorted

    def add(self, pieces: Iterable[UnitCells]) -> Codes:
        """Return the codes of all rows of a column, −1 where a row is nobody's. Once for each ``Units``."""
        listed = [*pieces]
        if all(isinstance(piece.cells, np.ndarray) and piece.among is None for piece in listed):
            cells = np.concatenate([np.zeros(0, dtype=np.uint8), *(piece.cells for piece in listed)])
            if cells.dtype.kind in "iu":  # signed and unsigned 64 bits together are floats
                return self._numbered(cells, [piece.gone() for piece in listed])
        return np.concatenate([self._named(piece, grow=True) for piece in listed])

    def _numbered(self, cells: NDArray[Any], gone: list[NDArray[np.bool_]]) -> Codes:
        """Return codes of whole numbers: their places among the sorted ones."""
        codes, there = np.full(len(cells), -1, dtype=np.int64), ~np.concatenate([np.zeros(0, dtype=np.bool_), *gone])
        if there.all():
            return self._placed(cells)
        codes[there] = self._placed(cells[there])
        return codes

    def _placed(self, cells: NDArray[Any]) -> Codes:
        cells = cells if cells.dtype.itemsize == 8 else cells.astype(np.int64)
        if len(cells) and int(cells.max()) - int(cells.min()) < 4 * len(cells):  # a table of places, without sorting
            low = cells.min()
            offsets = (cells - low).astype(np.int64)
            there = np.bincount(offsets) > 0
            self._whole = (np.flatnonzero(there).astype(cells.dtype) + low).astype(cells.dtype)
            return np.asarray((np.cumsum(there) - 1)[offsets])
        self._whole, codes = np.unique(cells, return_inverse=True)
        return np.asarray(codes, dtype=np.int64).reshape(-1)

    def _named(self, piece: UnitCells, *, grow: bool) -> Codes:
        if piece.among is not None:
            own = np.append(self._named(UnitCells(piece.among), grow=grow), -1)
            return own[np.where(piece.gone(), len(own) - 1, np.asarray(piece.cells, dtype=np.int64))]
        cells = piece.as_list()
        known, kind = self._codes, self._kind
        names: Iterable[str | None]
        if {str, type(None)}.issuperset(map(type, cells)):
            # Equal text has one name, so each text is read once. Other values may be equal and have different names.
            # Plain text is its own name, which saves reading it.
            if kind == "text" and all(map(str.isascii, filter(None, cells))):
                names = (cell or None for cell in cells)
            else:
                read = {cell: unit_name(cell, kind) for cell in set(cells)}
                names = map(read.__getitem__, cells)
        else:
            names = (unit_name(cell, kind) for cell in cells)
        if grow:
            return np.array(
                [-1 if name is None else known.setdefault(name, len(known)) for name in names], dtype=np.int64
            )
        return np.array([-1 if name is None else known.get(name, -1) for name in names], dtype=np.int64)

    def find(self, piece: UnitCells) -> Codes:
        """Return the codes of some rows of the same column, −1 where a row is nobody's that was added."""
        if self._whole is None:
            return self._named(piece, grow=False)
        whole, cells = self._whole, piece.cells
        alike = isinstance(cells, np.ndarray) and piece.among is None and cells.dtype.kind == whole.dtype.kind
        if alike and len(whole):
            places = np.minimum(np.searchsorted(whole, cells), len(whole) - 1)
            return np.where((whole[places] == cells) & ~piece.gone(), places, -1)
        self._codes = self._codes or {str(one): code for code, one in enumerate(whole.tolist())}
        return self._named(piece, grow=False)

    def names(self, codes: Iterable[int]) -> list[str]:
        """Return the names of some units."""
        if self._whole is not None:
            return [str(one) for one in self._whole[np.asarray(list(codes), dtype=np.int64)].tolist()]
        listed = list(self._codes)
        return [listed[code] for code in codes]

    def __len__(self) -> int:
        return len(self._codes) if self._whole is None else len(self._whole)
