"""Filling an array by a compiled sampler, with all bits of the uniforms at hand for what it cannot decide.

The words that a draw did not finish with stay in front of the fresh ones: a draw is never dropped because it needs
many words, which would be a bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, iterable
from discreet.noise.bits import Bits, SecureBits
from discreet.noise.reals import LazyWords

__all__ = ["Integers", "Size", "draw", "source"]

Integers = NDArray[np.int64]
Size = int | Iterable[int]

_PIECE = 2**17  # words asked for at a time: a megabyte, which stays in the processor's cache


def source(bits: Bits | None) -> Bits:
    """Return the bits to draw from: secure ones unless others are given."""
    if bits is None:
        return SecureBits()
    if not isinstance(bits, Bits):
        raise ArgumentError("bits", bits, "None for secure bits, or SeededBits for a test")
    return bits


def draw(size: Size, bits: Bits | None, law: str, *, n: int = 1, shift: int = 0, sigma: float = 1.0) -> Integers:
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
        elif status == kernels.TIE:
            lazy = LazyWords(bits, words)
            out[done], used = kernels.settle(lazy, code, n, shift, sigma)  # type: ignore[no-untyped-call]
            words, done = lazy.words[used:], done + 1
        elif status == kernels.OVERFLOW:
            raise OverflowError("a draw did not fit 64 bits; nothing was released")
    return out.reshape(shape)
