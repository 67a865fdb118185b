"""The hashes of ``row_digest`` in a compiled loop: what rows are mixed to."""

from __future__ import annotations

import numpy as np
from numba import njit

NEGATIVE_ZERO, EXPONENT = np.uint64(2**63), np.uint64(0x7FF0_0000_0000_0000)


@njit(nogil=True, cache=True)
def _mix(word):
    """Return a word with its bits mixed: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(nogil=True, cache=True)
def add_rows(bits, codes, who, words, sums):
    """Add to three sums the hashes of the units of rows, and twice those of the rows.

    Parameters
    ----------
    bits : array of shape (n, d)
        The cells as words.
    codes : array of shape (n, k)
    who : array of shape (n,)
        The hashes of the rows' units.
    words : array of shape (2 + d + k,)
        Words of the key: two for rows, and one for each column.
    sums : array of shape (3,)
    """
    known, first, second = sums[0], sums[1], sums[2]
    d = bits.shape[1]
    for r in range(len(codes)):
        known += who[r]
        row = who[r]
        for j in range(d):
            cell = bits[r, j]
            if cell == NEGATIVE_ZERO:
                cell = np.uint64(0)
            elif cell & EXPONENT == EXPONENT:  # a NaN or an infinity
                cell = EXPONENT
            row += _mix(cell ^ words[2 + j])
        for j in range(codes.shape[1]):
            row += _mix(np.uint64(codes[r, j]) ^ words[2 + d + j])
        row = _mix(row ^ words[0])
        first += row
        second += _mix(row ^ words[1])
    sums[0], sums[1], sums[2] = known, first, second
