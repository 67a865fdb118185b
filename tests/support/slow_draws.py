"""The samplers of ``discreet.noise.samplers`` written another way: slow and obvious, over uniforms with all their bits.

Each reads the main stream ``word()`` in the same order as the compiled loops, and takes the bits that settle a tie from
a second stream ``more()``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.noise.reals import WORD, LazyUniform, exp_minus

__all__ = ["discrete_gaussian", "laplace", "normal", "two_sided_geometric"]

Stream = Callable[[], int]


def normal(word: Stream, more: Stream, fineness: int, width: int = WORD) -> int:
    """Return round(2^m Z) for Z standard normal and m = ``fineness``, at most ``width`` − 2."""

    def uniform() -> LazyUniform:
        return LazyUniform(word(), more, width)

    def exp_minus_half() -> bool:
        """Bernoulli(e^(−1/2)): the run ½ > u₁ > u₂ > … has an even length."""
        last = uniform()
        if last.words[0] >> (width - 1):
            return True
        length = 1
        while (u := uniform()) < last:
            last, length = u, length + 1
        return length % 2 == 0

    def thinned(k: int, x: LazyUniform) -> bool:
        """Bernoulli(e^(−x(2k+x)/(2k+2))): the run x > u₁ > u₂ > …, each step thinned, has an even length."""
        last, length = x, 0
        while (z := uniform()) < last:
            f = _first_below(2 * k + 2, word, width)
            if not (f < 2 * k or (f == 2 * k and uniform() < x)):
                break
            last, length = z, length + 1
        return length % 2 == 0

    while True:
        k = 0
        while exp_minus_half():  # N1
            k += 1
        if not all(exp_minus_half() for _ in range(k * (k - 1))):  # N2
            continue
        x = uniform()  # N3
        if not all(thinned(k, x) for _ in range(k + 1)):  # N4
            continue
        negative = word() >> (width - 1)  # N5
        value = (k << fineness) + (((x.words[0] >> (width - 1 - fineness)) + 1) >> 1)
        return -value if negative else value


def laplace(word: Stream, more: Stream, fineness: int, width: int = WORD) -> int:
    """Return round(2^m L) for L standard Laplace and m = ``fineness``, at most ``width`` − 2."""
    k = 0
    while True:
        x = last = LazyUniform(word(), more, width)
        length = 1
        while (u := LazyUniform(word(), more, width)) < last:
            last, length = u, length + 1
        if length % 2 == 1:
            break
        k += 1
    negative = word() >> (width - 1)
    value = (k << fineness) + (((x.words[0] >> (width - 1 - fineness)) + 1) >> 1)
    return -value if negative else value


def _first_below(n: int, word: Stream, width: int) -> int:
    """Return a uniform integer in [0, n): the first that fits among a word's chunks of as many bits as n needs."""
    size = (n - 1).bit_length()
    while True:
        rest = word()
        for _ in range(width // size):
            value = rest & ((1 << size) - 1)
            if value < n:
                return value
            rest >>= size


def _below(n: int, word: Stream) -> int:
    """Return a uniform integer in [0, n): leading bits of a word, drawn again while they are too large."""
    while n > 1:
        value = word() >> (WORD - (n - 1).bit_length())
        if value < n:
            return value
    return 0


def _exp_minus_ratio(u: int, n: int, word: Stream) -> bool:
    """Bernoulli(e^(−u/n)), 0 ≤ u ≤ n (Canonne, Kamath and Steinke 2020, algorithm 1).

    Round r goes on with probability u/(n·r), so at least r rounds do with probability (u/n)^r/r!, and the first that
    does not is of an odd number with probability e^(−u/n).
    """
    rounds = 1
    while _below(n, word) < u and _below(rounds, word) == 0:
        rounds += 1
    return rounds % 2 == 1


def two_sided_geometric(word: Stream, n: int, shift: int = 0) -> int:
    """Return X with P(X = k) ∝ e^(−|k|·2^shift/n) (algorithm 2 there)."""
    while True:
        while not _exp_minus_ratio(u := _below(n, word), n, word):
            pass
        v = 0
        while _exp_minus_ratio(1, 1, word):
            v += 1
        value = (u + n * v) >> shift
        negative = word() >> (WORD - 1)
        if not negative:
            return value
        if value:
            return -value


def discrete_gaussian(word: Stream, more: Stream, sigma: float) -> int:
    """Return X with P(X = k) ∝ e^(−k²/(2σ²)) (algorithm 3 there), its coin compared with e^(−z) as a real number."""
    variance = Fraction(sigma) ** 2
    t = int(sigma) + 1
    while True:
        value = two_sided_geometric(word, t)
        z = (abs(value) - variance / t) ** 2 / (2 * variance)
        if LazyUniform(word(), more).below(exp_minus(z)):
            return value
