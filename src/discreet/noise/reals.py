"""Uniform real numbers whose bits are drawn as they are needed, and comparisons that are exact.

A uniform real in [0, 1) is an endless string of random bits. ``LazyUniform`` holds the words that have been looked at
so far; a comparison draws more only while it is undecided, so it is decided as if all bits were there. Its other side
may be another lazy uniform, or a real number that can be bounded as narrowly as one likes, such as e^(−x).

The compiled loops of ``samplers`` look at first words only. Whenever those do not decide, they run once more over
``LazyWords``, where each word is the beginning of a real.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from discreet.noise.bits import Bits, Words

Bounds = Callable[[int], tuple[Fraction, Fraction]]
WORD = 64


class LazyUniform:
    """A uniform real in [0, 1), its first word given and the others drawn when needed.

    Parameters
    ----------
    first : int
        The first word.
    more : callable
        Returns a fresh word.
    width : int
        Bits a word; other than 64 in tests only, where ties are to be frequent.
    """

    def __init__(self, first: int, more: Callable[[], int], width: int = WORD) -> None:
        self.words = [first]
        self._more = more
        self._width = width

    def _word(self, place: int) -> int:
        while len(self.words) <= place:
            self.words.append(self._more())
        return self.words[place]

    def __lt__(self, other: LazyUniform) -> bool:
        place = 0
        while self._word(place) == other._word(place):
            place += 1
        return self._word(place) < other._word(place)

    def __rshift__(self, count: np.uint64) -> np.uint64:
        return np.uint64(self.words[0]) >> count

    def __and__(self, mask: np.uint64) -> np.uint64:
        return np.uint64(self.words[0]) & mask

    def below(self, bounds: Bounds) -> bool:
        """Return whether the number is below the real r of which ``bounds(p)`` gives a lower and an upper bound.

        The bounds must close in on r as p grows, and r must not be a dyadic rational unless they coincide.
        """
        value, place = 0, 0
        while True:
            value = (value << self._width) | self._word(place)
            place += 1
            scale = 1 << (place * self._width)
            low, high = bounds(place * self._width + 16)
            if value + 1 <= low * scale:
                return True
            if value >= high * scale:
                return False


class LazyWords:
    """An endless stream of uniform reals, as ``samplers`` read it: their first words are ``words``, then fresh ones.

    What else they need comes from a second stream, so that the first words of the others stay what they are.
    """

    size = math.inf

    def __init__(self, bits: Bits, words: Words) -> None:
        self._bits, self.words, self._more = bits, words, word_stream(bits)

    def __getitem__(self, place: int) -> LazyUniform:
        while place >= len(self.words):
            self.words = np.concatenate([self.words, self._bits.words(64)])
        return LazyUniform(int(self.words[place]), self._more)


def word_stream(bits: Bits) -> Callable[[], int]:
    """Return a function that returns one fresh word at each call."""

    def words() -> Iterator[int]:
        while True:
            yield from bits.words(64).tolist()

    return words().__next__


def exp_minus(x: Fraction, factor: Fraction = Fraction(1)) -> Bounds:
    """Return bounds on factor·e^(−x) for rational x ≥ 0 and factor > 0, to about p bits beyond its leading one.

    ``decimal`` rounds ``exp`` correctly, so the two neighbours of its result enclose the true value; x is rounded
    outwards before. From x = p + 64 on, 0 and 2^(−p−64) are close enough, and no huge exponent is computed.

    >>> low, high = exp_minus(Fraction(1, 2))(64)
    >>> low < high, round(float(low), 12)
    (True, 0.606530659713)
    """

    def bounds(p: int) -> tuple[Fraction, Fraction]:
        if x >= p + 64:
            return Fraction(0), factor * Fraction(1, 1 << (p + 64))
        digits = p // 3 + len(str(int(x))) + 5
        down, up = Context(digits, ROUND_FLOOR), Context(digits, ROUND_CEILING)
        numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
        # copy_negate, because a minus sign would round to the digits of the thread's own context.
        low = down.exp(up.divide(numerator, denominator).copy_negate()).next_minus(down)
        high = up.exp(down.divide(numerator, denominator).copy_negate()).next_plus(up)
        return factor * Fraction(low), factor * Fraction(high)

    return bounds
