"""Which rows of a person count: at most m, chosen by what that person's own rows hold.

A person's rows are a multiset of declared rows: each is the tuple of its declared columns, as numbers, before anything
is filled, clipped or left out. Its *encoding* is these numbers as float64, big-endian, first the numeric columns and
then those of categories, each in the order of the declaration: a number itself (0.0 for −0.0), a date as days and parts
of days, a category as its place among the declared ones, and NaN, with the bits 7ff8000000000000, for what is missing
or cannot be read. Equal rows are told apart by k = 0, 1, 2, …
The rows of a person of more than m are put into the order of

    (the declared order column, missing last;  h;  the encoding;  k),     h = the first 8 bytes of
    SHA-256(SHA-256(salt ‖ the person's name) ‖ encoding ‖ k),

and the first m count. The salt is public and always the same.

*Why this is safe.* The chosen rows are a function of that person's multiset and of public values. The order of arrival,
other people, partitions, files and retries do not enter, so with one person added, removed or replaced the rows of all
others that count are the same, and at most m rows come or go, or m go and m come. Where equal rows stand in a source
does not matter either: which of them are taken makes no difference to anything that is computed from declared columns.
(A check of a declaration also tells gaps from what is unreadable; so equal rows are numbered by that.)

*Why a hash of all that.* By the value alone some values would be favoured for everybody; with the person but without k
equal rows would count once. With both the choice is as good as random, and means over the chosen rows are what means
over random rows would be. It is no secret and no subsampling for privacy: no amplification is claimed. That the hash
is SHA-256 matters to nothing but this evenness: ties are broken by the encoding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DeclaredRows", "choose_rows", "rows_that_count"]

SALT = b"discreet: which rows of a person count, 1"
PIECE = 2**16  # rows that are hashed at a time

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


class DeclaredRows(NamedTuple):
    """Rows as they are declared, before anything is filled, clipped or left out.

    Attributes
    ----------
    numbers : array of shape (n, d)
        NaN where a number is missing.
    codes : array of shape (n, k)
        The places of categories, −1 for a gap and −2 for what is not declared: both are missing.
    """

    numbers: Array
    codes: Codes

    @classmethod
    def joined(cls, pieces: Sequence[DeclaredRows]) -> DeclaredRows:
        """Return several one after the other; at least one."""
        return cls(np.concatenate([one.numbers for one in pieces]), np.concatenate([one.codes for one in pieces]))

    def take(self, places: NDArray[np.int64]) -> DeclaredRows:
        """Return some of them."""
        return DeclaredRows(self.numbers[places], self.codes[places])

    def unreadable(self) -> NDArray[np.int64]:
        """Return a number for which missing cells of a row are unreadable and which are gaps.

        Rows of one encoding are one row to everything but a check of the declaration, which tells these apart. So
        copies are numbered in this order, and not in that of arrival.
        """
        cells = np.concatenate([np.isinf(self.numbers), self.codes < -1], axis=1)
        if not cells.any():
            return np.zeros(len(cells), dtype=np.int64)
        return np.asarray(np.unique(cells, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)

    def encode(self) -> NDArray[np.uint8]:
        """Return the encoding of each row, shape (n, 8·(d + k)); see the module."""
        cells = np.concatenate([self.numbers, np.where(self.codes < 0, np.nan, self.codes)], axis=1)
        cells = np.where(np.isfinite(cells), cells + 0.0, np.nan)  # 0.0 for −0.0, and one NaN for all
        return np.ascontiguousarray(cells.astype(">f8")).view(np.uint8)


def rows_that_count(
    unit: Codes, units: int, max_rows: int, read: Callable[[NDArray[np.int64]], DeclaredRows],
    names: Callable[[NDArray[np.int64]], Sequence[str]], order: int | None,
) -> NDArray[np.bool_]:  # fmt: skip
    """Return which rows of a source count.

    Parameters
    ----------
    unit : array of shape (n,)
        Whose row it is, −1 for nobody's.
    units : int
        How many there are.
    max_rows : int
        m.
    read : callable
        From the places of some rows, ascending, to what they hold. Asked only for rows of units that have more than m.
    names : callable
        From the codes of some units to their names.
    order : int or None
        The numeric column that comes first in the order.
    """
    kept = unit >= 0
    over = np.bincount(unit[kept], minlength=units) > max_rows
    if over.any():
        places = np.flatnonzero(kept & over[unit])
        own = (np.cumsum(over) - 1)[unit[places]]  # the place of each row's unit among those that have too many
        kept[places] = choose_rows(own, names(np.flatnonzero(over)), read(places), max_rows, order)
    return kept


def choose_rows(
    unit: Codes, names: Sequence[str], rows: DeclaredRows, max_rows: int, order: int | None
) -> NDArray[np.bool_]:
    """Return which rows count, of all rows of some units.

    Parameters
    ----------
    unit : array of shape (n,)
        The place of each row's unit among
    names : sequence of str
    rows : DeclaredRows
    max_rows : int
    order : int or None
        The numeric column that comes first in the order.

    Examples
    --------
    >>> rows = DeclaredRows(np.array([[1.0], [2.0], [1.0], [5.0]]), np.zeros((4, 0), dtype=np.int64))
    >>> choose_rows(np.array([0, 0, 0, 1]), ["ann", "bob"], rows, max_rows=2, order=None).sum()
    np.int64(3)
    >>> choose_rows(np.array([0, 0, 0, 1]), ["ann", "bob"], rows, max_rows=2, order=0).tolist()
    [True, False, True, True]
    """
    encoded, unreadable = rows.encode(), rows.unreadable()
    persons = np.frombuffer(b"".join(map(_person, names)), dtype=np.uint8).reshape(len(names), 32)
    copy = np.zeros(len(unit), dtype=np.int64)
    hashes = _hashes(persons, unit, encoded, copy)
    found = _sorted((unit, hashes), encoded, unreadable)
    # Copies of one row of a person stand side by side now, and get k = 0, 1, 2, …
    again = np.zeros(len(unit), dtype=np.bool_)
    again[1:] = (unit[found[1:]] == unit[found[:-1]]) & (encoded[found[1:]] == encoded[found[:-1]]).all(axis=1)
    if again.any():
        copy[found] = _places_in_runs(~again)
        more = np.flatnonzero(copy)
        hashes[more] = _hashes(persons, unit[more], encoded[more], copy[more])
    if again.any() or order is not None:
        keys: list[NDArray[Any]] = [unit, hashes]
        if order is not None:
            first = rows.numbers[:, order]
            keys.insert(1, np.where(np.isfinite(first), first, np.inf))
        found = _sorted(tuple(keys), encoded, copy)
    starts = np.ones(len(unit), dtype=np.bool_)
    starts[1:] = unit[found[1:]] != unit[found[:-1]]
    kept = np.zeros(len(unit), dtype=np.bool_)
    kept[found] = _places_in_runs(starts) < max_rows
    return kept


def _person(name: str) -> bytes:
    return hashlib.sha256(SALT + name.encode()).digest()


def _hashes(
    persons: NDArray[np.uint8], unit: Codes, encoded: NDArray[np.uint8], copy: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return h for each row."""
    found = []
    for start in range(0, len(unit), PIECE):
        piece = slice(start, start + PIECE)
        count = copy[piece].astype(">u8").view(np.uint8).reshape(-1, 8)
        messages = np.concatenate([persons[unit[piece]], encoded[piece], count], axis=1)
        width, data, sha = messages.shape[1], messages.tobytes(), hashlib.sha256
        found.append(b"".join([sha(data[at : at + width]).digest()[:8] for at in range(0, len(data), width)]))
    return np.frombuffer(b"".join(found), dtype=">u8").astype(np.uint64)


def _sorted(keys: tuple[NDArray[Any], ...], encoded: NDArray[np.uint8], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order by some keys, the first one first, ties by the encoding, and then by a last key."""
    found = np.lexsort((last, *keys[::-1]) if last.any() else keys[::-1])
    tied = np.ones(max(len(found) - 1, 0), dtype=np.bool_)
    for key in keys:
        tied &= key[found[1:]] == key[found[:-1]]
    tied &= (encoded[found[1:]] != encoded[found[:-1]]).any(axis=1)
    if tied.any():  # two hashes of one person that are equal: hardly ever
        again: list[Any] = [last, *(encoded[:, j] for j in range(encoded.shape[1] - 1, -1, -1)), *keys[::-1]]
        found = np.lexsort(again)
    return found


def _places_in_runs(starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the place of each element in its run, from 0; ``starts`` says where runs start.

    >>> _places_in_runs(np.array([True, False, False, True, True, False])).tolist()
    [0, 1, 2, 0, 0, 1]
    """
    places = np.arange(len(starts))
    return places - np.maximum.accumulate(np.where(starts, places, 0))
