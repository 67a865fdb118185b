"""``RowDigest``: a keyed fingerprint of a set of rows, whatever order and partitions they come in.

On a cluster rows are computed again for every pass: a lost worker starts anew, a shuffle is repeated. The limit of a
person's rows and every step of a fit must see the same rows, once each. That each partition came once does not show it:
a shuffle that is not deterministic may put a person into two partitions. So each pass adds up a fingerprint of its
rows, and the passes are compared (``partitions``).

A cell is mixed with a word that belongs to its column, the words of a row are added to the hash of its unit and mixed
again, and these hashes of rows are added up modulo 2⁶⁴, twice with different mixing. So the sum is a function of the
multiset of rows. All words follow from a random key of 128 bits that stays on the private side. If the mixing behaves
like a random function, two different multisets have the same sums with a probability of about 2⁻⁶⁴. It guards against
accidents of an engine, and no guarantee rests on it alone. Nothing of it leaves the private side.

As everywhere, −0.0 is 0.0, and all NaN are one (``row_choice``).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.records.generic_arrays import to_host
from discreet.records.row_choice import DeclaredRows, Units

WORD = 2**64 - 1

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class RowDigest:
    """The fingerprint of some rows.

    Attributes
    ----------
    rows : int
        How many they are.
    units : int
        The sum over rows of the hash of their unit; 0 where each row stands for itself.
    cells : tuple of int
        Two sums over rows of the hash of their unit and cells.
    """

    rows: int = 0
    units: int = 0
    cells: tuple[int, int] = (0, 0)

    def __add__(self, other: RowDigest) -> Self:
        both = zip(self.cells, other.cells, strict=True)
        first, second = ((one + more) & WORD for one, more in both)
        return type(self)(self.rows + other.rows, (self.units + other.units) & WORD, (first, second))


@dataclass(frozen=True)
class DigestKey:
    """The key of fingerprints that are to be compared."""

    secret: bytes

    @classmethod
    def draw(cls) -> Self:
        """Return a new key."""
        return cls(os.urandom(16))

    def __repr__(self) -> str:
        return "DigestKey(…)"

    def hash_names(self, names: Iterable[str]) -> Words:
        """Return a hash of each name."""
        hashed = [hashlib.blake2b(name.encode(), digest_size=8, key=self.secret).digest() for name in names]
        return np.frombuffer(b"".join(hashed), dtype=np.uint64)

    def hash_units(self, units: Units, codes: NDArray[np.int64]) -> Words:
        """Return a hash of each row's unit, 0 for a row without one."""
        return np.append(self.hash_names(units.names(range(len(units)))), np.uint64(0))[codes]

    def _words(self, count: int) -> Words:
        """Return so many words that follow from the key."""
        return np.frombuffer(hashlib.shake_256(self.secret).digest(8 * count), dtype=np.uint64)

    def digest(self, rows: DeclaredRows, units: Words | None = None) -> RowDigest:
        """Return the fingerprint of some rows.

        >>> key, rows = DigestKey(bytes(16)), DeclaredRows(np.array([[1.0], [-0.0]]), np.zeros((2, 1), dtype=np.int64))
        >>> halves = [key.digest(rows.span(0, 1)), key.digest(rows.span(1, 2))]
        >>> halves[1] + halves[0] == key.digest(rows), halves[0] == halves[1]
        (True, False)
        """
        from discreet.records.sources.row_hashes import add_rows

        numbers = np.ascontiguousarray(to_host(rows.numbers), dtype=np.float64)
        codes = np.maximum(rows.codes, -1)  # whatever is missing is missing
        who = np.zeros(len(codes), dtype=np.uint64) if units is None else units
        sums, words = np.zeros(3, dtype=np.uint64), self._words(2 + numbers.shape[1] + codes.shape[1])
        add_rows(numbers.view(np.uint64), codes, who, words, sums)
        known, first, second = (int(one) for one in sums)
        return RowDigest(len(codes), known, (first, second))


def watch_rows(
    slabs: Iterable[DeclaredRows], key: DigestKey, units: Words | None, seen: list[RowDigest]
) -> Iterator[DeclaredRows]:
    """Yield rows as they are, and add the fingerprint of each slab to a list."""
    first = 0
    for rows in slabs:
        last = first + len(rows.codes)
        seen.append(key.digest(rows, None if units is None else units[first:last]))
        yield rows
        first = last
