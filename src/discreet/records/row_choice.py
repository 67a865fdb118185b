"""Chooses the rows of each person that count: at most m, as a function of that person's own rows alone.

**Who is a person.** The unit's column has a declared type, "text" or "integer", and two rows are of one unit where
their cells are equal as that type (``cells.unit_name``). Other cells do not matter. A row whose unit is missing, or
cannot be read as the declared type, is always left out: it belongs to nobody who could be protected, and as one unit
such rows would tie people together. Names of different people must differ. Two people who share one are protected as
one.

**Which rows count.** A person's rows are a multiset of declared rows: each is the tuple of its declared columns, as
numbers, before anything is filled, clipped or left out. Its *encoding* is these numbers as float64, big-endian, first
the numeric columns and then those of categories, each in the order of the declaration: a number itself (0.0 for −0.0),
a date as days and parts of days, a category as its place among the declared ones, and NaN, with the bits
7ff8000000000000, for what is missing or cannot be read. Equal rows are told apart by k = 0, 1, 2, … The rows of a
person of more than m are put into the order of

    (the declared order column, missing last;  h;  the encoding;  k),     h = the first 8 bytes of
    SHA-256(SHA-256(salt ‖ the person's name) ‖ encoding ‖ k),

and the first m count. The salt is public and always the same.

**Why this is safe.** The chosen rows are a function of that person's multiset and of public values. They do not depend
on the order of arrival, other people, partitions, files or retries. So with one person added, removed or replaced the
rows of all others that count are the same, and at most m rows come or go, or m go and m come. Where equal rows stand in
a source does not matter either: which of them are taken makes no difference to anything that is computed from declared
columns. (A check of a declaration also tells gaps from what is unreadable; so equal rows are numbered by that.)

**Why the hash covers all of that.** A hash of the values alone would prefer the same values for everybody. With the
person but without k, equal rows would share one hash, and mostly be chosen or left out together. With both the choice
is as good as random, and means over the chosen rows are close to means over random rows. The choice is no secret and no
subsampling for privacy: no amplification is claimed. SHA-256 matters for this evenness only: ties are broken by the
encoding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.records.cells import unit_name
from discreet.records.generic_arrays import take, to_host

SALT = b"discreet: which rows of a person count, 1"
Codes = NDArray[np.int64]
Names = Callable[[Codes], Sequence[str]]  # from the codes of units to their names
UNIT_TYPES = ("text", "integer")


class UnitCells(NamedTuple):
    """Cells of a unit's column.

    Attributes
    ----------
    cells : array of whole numbers, or list
    missing : array of bool, or None
        Which of the whole numbers are missing; None if none is. In a list, a missing cell is one that cannot be read.
    among : list or None
        Where a column holds each value once and then places: the values, of which ``cells`` are the places.
    """

    cells: NDArray[Any] | list[Any]
    missing: NDArray[np.bool_] | None = None
    among: list[Any] | None = None

    def is_missing(self) -> NDArray[np.bool_]:
        """Return which of the cells are missing."""
        return np.zeros(len(self.cells), dtype=np.bool_) if self.missing is None else self.missing

    def as_list(self) -> list[Any]:
        """Return Python values; None for a missing cell."""
        if isinstance(self.cells, list):
            return self.cells
        cells = zip(self.cells.tolist(), self.is_missing().tolist(), strict=True)
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
        """Return the codes of all rows of a column, −1 for a row without a unit. Called once."""
        listed = [*pieces]
        if all(isinstance(piece.cells, np.ndarray) and piece.among is None for piece in listed):
            cells = np.concatenate([np.zeros(0, dtype=np.uint8), *(piece.cells for piece in listed)])
            if cells.dtype.kind in "iu":  # signed and unsigned 64 bits together are floats
                there = ~np.concatenate([np.zeros(0, dtype=np.bool_), *(piece.is_missing() for piece in listed)])
                codes = np.full(len(cells), -1, dtype=np.int64)
                codes[there] = self._code_integers(cells[there])
                return codes
        return np.concatenate([self._code_names(piece, grow=True) for piece in listed])

    def _code_integers(self, cells: NDArray[Any]) -> Codes:
        """Return codes of whole numbers: their places among the sorted ones."""
        cells = cells if cells.dtype.itemsize == 8 else cells.astype(np.int64)
        if len(cells) and int(cells.max()) - int(cells.min()) < 4 * len(cells):  # a table of places, without sorting
            low = cells.min()
            offsets = (cells - low).astype(np.int64)
            there = np.bincount(offsets) > 0
            self._whole = (np.flatnonzero(there).astype(cells.dtype) + low).astype(cells.dtype)
            return np.asarray((np.cumsum(there) - 1)[offsets])
        self._whole, codes = np.unique(cells, return_inverse=True)
        return np.asarray(codes, dtype=np.int64).reshape(-1)

    def _code_names(self, piece: UnitCells, *, grow: bool) -> Codes:
        if piece.among is not None:
            own = np.append(self._code_names(UnitCells(piece.among), grow=grow), -1)
            return own[np.where(piece.is_missing(), len(own) - 1, np.asarray(piece.cells, dtype=np.int64))]
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
        """Return the codes of some rows of the same column, −1 for a row whose unit was not added."""
        if self._whole is None:
            return self._code_names(piece, grow=False)
        whole, cells = self._whole, piece.cells
        alike = isinstance(cells, np.ndarray) and piece.among is None and cells.dtype.kind == whole.dtype.kind
        if alike and len(whole):
            places = np.minimum(np.searchsorted(whole, cells), len(whole) - 1)
            return np.where((whole[places] == cells) & ~piece.is_missing(), places, -1)
        self._codes = self._codes or {str(one): code for code, one in enumerate(whole.tolist())}
        return self._code_names(piece, grow=False)

    def names(self, codes: Iterable[int]) -> list[str]:
        """Return the names of some units."""
        if self._whole is not None:
            return [str(one) for one in self._whole[np.asarray(list(codes), dtype=np.int64)].tolist()]
        listed = list(self._codes)
        return [listed[code] for code in codes]

    def __len__(self) -> int:
        return len(self._codes) if self._whole is None else len(self._whole)


class DeclaredRows(NamedTuple):
    """Rows as they are declared, before anything is filled, clipped or left out.

    Attributes
    ----------
    numbers : array of shape (n, d)
        NaN where a number is missing.
    codes : array of shape (n, k)
        The places of categories, −1 for a gap and −2 for what is not declared: both are missing.
    keep : array of shape (n,) or None
        Which rows are within the limit of their unit; None for all.
    """

    numbers: Any
    codes: Codes
    keep: NDArray[np.bool_] | None = None

    @classmethod
    def joined(cls, pieces: Sequence[DeclaredRows]) -> DeclaredRows:
        """Return several pieces, at least one, as one."""
        numbers = array_namespace(pieces[0].numbers).concat([one.numbers for one in pieces], axis=0)
        keep = None
        if any(one.keep is not None for one in pieces):
            keep = np.concatenate(
                [np.ones(len(one.codes), np.bool_) if one.keep is None else one.keep for one in pieces]
            )
        return cls(numbers, np.concatenate([one.codes for one in pieces]), keep)

    def span(self, start: int, stop: int) -> DeclaredRows:
        """Return some consecutive rows, as far as there are any."""
        piece = slice(start, min(stop, len(self.codes)))
        return DeclaredRows(self.numbers[piece, :], self.codes[piece], None if self.keep is None else self.keep[piece])

    def take(self, places: NDArray[np.int64]) -> DeclaredRows:
        """Return the rows at ``places``, as NumPy arrays."""
        return DeclaredRows(to_host(take(self.numbers, places)).astype(np.float64), self.codes[places])

    def code_unreadable(self) -> NDArray[np.int64]:
        """Return a code for each row that says which of its missing cells are unreadable and which are gaps.

        Rows of one encoding are one row to everything but a check of the declaration, which tells these apart. So
        copies are numbered in this order, and not in that of arrival.
        """
        cells = np.concatenate([np.isinf(self.numbers), self.codes < -1], axis=1)
        if not cells.any():
            return np.zeros(len(cells), dtype=np.int64)
        return np.asarray(np.unique(cells, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)

    def encode(self) -> NDArray[np.bytes_]:
        """Return the encoding of each row, 8·(d + k) bytes; see the module."""
        cells = np.concatenate([self.numbers, np.where(self.codes < 0, np.nan, self.codes)], axis=1)
        cells = np.where(np.isfinite(cells), cells + 0.0, np.nan)  # 0.0 for −0.0, and one NaN for all
        return np.ascontiguousarray(cells.astype(">f8")).view(f"S{8 * cells.shape[1]}")[:, 0]


def select_rows(
    unit: Codes, max_rows: int, read: Callable[[Codes], DeclaredRows], names: Names, order: int | None
) -> NDArray[np.bool_]:
    """Return which rows of a source count.

    Parameters
    ----------
    unit : array of shape (n,)
        The code of each row's unit; −1 for none.
    max_rows : int
        m.
    read : callable
        From the places of some rows, ascending, to what they hold. Asked only for rows of units that have more than m.
    names, order
        As in ``choose_rows``.
    """
    kept = unit >= 0
    over = np.bincount(unit[kept]) > max_rows
    if over.any():
        places = np.flatnonzero(kept & over[unit])
        kept[places] = choose_rows(unit[places], names, read(places), max_rows, order)
    return kept


def choose_rows(unit: Codes, names: Names, rows: DeclaredRows, max_rows: int, order: int | None) -> NDArray[np.bool_]:
    """Return which rows count, of all rows of some units.

    Parameters
    ----------
    unit : array of shape (n,)
        Whose row it is.
    names : callable
        From the codes of some units to their names.
    rows : DeclaredRows
    max_rows : int
    order : int or None
        The numeric column that comes first in the order.

    Examples
    --------
    >>> rows = DeclaredRows(np.array([[1.0], [2.0], [1.0], [5.0]]), np.zeros((4, 0), dtype=np.int64))
    >>> choose_rows(np.array([0, 0, 0, 1]), lambda codes: ["ann", "bob"], rows, max_rows=2, order=None).sum()
    np.int64(3)
    >>> choose_rows(np.array([0, 0, 0, 1]), lambda codes: ["ann", "bob"], rows, max_rows=2, order=0).tolist()
    [True, False, True, True]
    """
    encoded, copy = rows.encode(), np.zeros(len(unit), dtype=np.int64)
    alike = np.lexsort((rows.code_unreadable(), encoded, unit))  # copies of one row of a person stand side by side
    copy[alike] = _places_in_runs(alike, unit, encoded)
    keys = [copy, encoded, _hashes(names, unit, encoded, copy), unit]
    if order is not None:
        first = rows.numbers[:, order]
        keys.insert(3, np.where(np.isfinite(first), first, np.inf))
    result, kept = np.lexsort(keys), np.zeros(len(unit), dtype=np.bool_)
    kept[result] = _places_in_runs(result, unit) < max_rows
    return kept


def _hashes(names: Names, unit: Codes, encoded: NDArray[np.bytes_], copy: Codes) -> NDArray[np.uint64]:
    """Return h for each row."""
    whose, own = np.unique(unit, return_inverse=True)
    persons = [hashlib.sha256(SALT + name.encode()).digest() for name in names(whose)]
    width, cells, copies = encoded.dtype.itemsize, encoded.tobytes(), copy.astype(">u8").tobytes()
    result = [
        hashlib.sha256(persons[one] + cells[at * width : (at + 1) * width] + copies[8 * at : 8 * at + 8]).digest()[:8]
        for at, one in enumerate(own.reshape(-1).tolist())
    ]
    return np.frombuffer(b"".join(result), dtype=">u8").astype(np.uint64)


def _places_in_runs(order: Codes, *keys: NDArray[Any]) -> Codes:
    """Return the place of each row in its run, from 0, where rows of equal keys stand side by side in an order.

    >>> _places_in_runs(np.array([1, 0, 2, 3]), np.array([7, 7, 7, 8])).tolist()
    [0, 1, 2, 0]
    """
    places, starts = np.arange(len(order)), np.zeros(len(order), dtype=np.bool_)
    for key in keys:
        starts[1:] |= key[order[1:]] != key[order[:-1]]
    return places - np.maximum.accumulate(np.where(starts, places, 0))
