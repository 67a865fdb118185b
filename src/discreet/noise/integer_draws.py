"""Arrays of exact integer draws: fills an array from a compiled sampler of ``samplers``, with fresh bits as needed."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from itertools import count

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer, iterable
from discreet.noise.bits import Bits, as_bits
from discreet.noise.reals import LazyWords

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Size = int | Iterable[int]

_FEW = 32  # calls of so many draws in plain Python; to import numba takes as long as all of them together
_PIECE = 2**17  # words asked for at a time: a megabyte, which stays in the processor's cache


_calls = count()


def _are_few(draws: int) -> bool:
    return draws <= _FEW and "numba" not in sys.modules and next(_calls) < _FEW


def draw_integers(size: Size, bits: Bits | None, name: str, *given: float) -> Integers:
    """Return an array of draws of a compiled sampler. A draw that first words do not decide uses all bits.

    The words of an unfinished draw stay in front of the fresh ones. Dropping a draw because it needs many words would
    be a bias. The first few draws of a process use all bits at once, and are the same function of them (``samplers``).

    Parameters
    ----------
    size : int or tuple of int
    bits : Bits or None
        ``None`` for secure ones.
    name : str
        The name of a sampler in ``samplers``.
    given : numbers
        The arguments of the sampler.
    """
    from discreet.noise import samplers

    bits = as_bits(bits)
    sampler = getattr(samplers, name)
    shape = tuple(integer("size", side, least=0) for side in (size if iterable(size) else (size,)))
    out = np.empty(math.prod(shape), dtype=np.int64)  # one dimension: the compiled loop writes place by place
    words, done, status = np.empty(0, dtype=np.uint64), 0, samplers.SHORT
    few = _are_few(out.size)
    while done < out.size:
        if status == samplers.SHORT:
            words = np.concatenate([words, bits.words(min(_PIECE, 32 * (out.size - done) + 64))])
        if few or status == samplers.TIE:
            lazy = LazyWords(bits, words)
            out[done], used = sampler.settle(lazy, 0, *given)
            words, done, status = lazy.words[used:], done + 1, min(used, samplers.DONE)
        if status == samplers.OVERFLOW:
            raise OverflowError("a draw did not fit 64 bits; nothing was released")
        if not few:
            done, used, status = sampler.fill(words, out, done, *given)
            words = words[used:]
    return out.reshape(shape)
