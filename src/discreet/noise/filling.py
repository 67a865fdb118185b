"""Filling an array by a compiled sampler, with the slow form at hand for what it cannot decide.

The words that a draw did not finish with stay in front of the fresh ones: a draw is never dropped because it needs
many words, which would be a bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer, iterable, shown
from discreet.noise.bits import Bits, SecureBits, Words

__all__ = ["Integers", "Size", "WordStream", "draw", "source"]

Integers = NDArray[np.int64]
Size = int | Iterable[int]
Slow = Callable[[Callable[[], int], Callable[[], int]], int]

_PIECE = 2**17  # words asked for at a time: a megabyte, which stays in the processor's cache


class WordStream:
    """Words one at a time: those in hand first, then fresh ones, as many as are asked for."""

    def __init__(self, bits: Bits, in_hand: Words | None = None) -> None:
        self._bits = bits
        self._words = np.empty(0, dtype=np.uint64) if in_hand is None else in_hand
        self._place = 0

    def __call__(self) -> int:
        """Return the next word."""
        if self._place == self._words.size:
            self._words, self._place = self._bits.words(64), 0
        self._place += 1
        return int(self._words[self._place - 1])

    def rest(self) -> Words:
        """Return the words in hand that were not read."""
        return self._words[self._place :]


def source(bits: Bits | None) -> Bits:
    """Return the bits to draw from: secure ones unless others are given."""
    if bits is None:
        return SecureBits()
    if not isinstance(bits, Bits):
        raise ValueError(f"bits={shown(bits)}: expected None for secure bits, or SeededBits for a test")
    return bits


def draw(
    size: Size, bits: Bits | None, law: str, *, n: int = 1, shift: int = 0, sigma: float = 1.0, slow: Slow | None = None
) -> Integers:
    """Return an array of draws.

    Parameters
    ----------
    size : int or tuple of int
    bits : Bits or None
        ``None`` for secure ones.
    law : str
        The name of a law in ``kernels``.
    n, shift, sigma
        Its parameters; see ``kernels.fill``.
    slow : callable
        ``slow(word, more) -> int``, its twin in ``reference``, for a draw that the compiled loop leaves undecided.
    """
    from discreet.noise import kernels

    bits = source(bits)
    code = getattr(kernels, law)
    shape = tuple(integer("size", side, least=0) for side in (size if iterable(size) else (size,)))
    out = np.empty(math.prod(shape), dtype=np.int64)  # one dimension: the compiled loop writes place by place
    words = np.empty(0, dtype=np.uint64)
    done = 0
    while done < out.size:
        done, used, status = kernels.fill(words, out, done, code, n, shift, sigma)
        words = words[used:]
        if status == kernels.SHORT:
            words = np.concatenate([words, bits.words(min(_PIECE, 32 * (out.size - done) + 64))])
        elif status == kernels.TIE and slow is not None:
            stream = WordStream(bits, words)
            out[done] = slow(stream, WordStream(bits))
            words, done = stream.rest(), done + 1
        elif status == kernels.OVERFLOW:
            raise OverflowError("a draw did not fit 64 bits; nothing was released")
    return out.reshape(shape)
