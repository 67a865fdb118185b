"""Compiled loops that turn random words into exact integer noise. ``filling`` calls them.

Every sampler is a function ``draw(words, i, …) -> (value, next i, status)`` of a stream of uniform 64-bit words from
place i on, and uses integers only (the one float, in the discrete Gaussian, is a filter; see there). The status says

- ``DONE``: ``value`` is the draw, and the next one begins at the returned place;
- ``SHORT``: the words ran out in the middle. The draw must be made again from the same place with more words behind
  them. Dropping the words instead would favour draws that need few, which is a bias;
- ``TIE``: first words did not decide a comparison (probability about 2⁻⁶⁰ a draw). The draw must be made again from the
  same place by the slow form of ``reference``, which reads the same words and decides as if it had all bits;
- ``OVERFLOW``: the value does not fit; nothing is wrapped.

So a draw is the same function of the bits whichever form made it, and the two are tested against each other word for
word. Mixing signed and unsigned words would make floats of both: everything unsigned is wrapped in ``uint64``.
"""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit, uint64

DONE, SHORT, TIE, OVERFLOW = 0, 1, 2, 3
NORMAL, LAPLACE, TWO_SIDED_GEOMETRIC, ONE_SIDED_GEOMETRIC, UNIFORM, DISCRETE_GAUSSIAN = 0, 1, 2, 3, 4, 5

_HALF = np.uint64(1 << 63)
_ONE = np.uint64(1)


@njit(cache=True, inline="always")
def _exp_minus_half(words, i):
    """Bernoulli(e^(−1/2)): the length of the run ½ > u₁ > u₂ > … is even. Returns (success, next i, status)."""
    if i >= words.size:
        return False, i, SHORT
    last = words[i]
    i += 1
    if last >= _HALF:
        return True, i, DONE
    even = False
    while True:
        if i >= words.size:
            return False, i, SHORT
        word = words[i]
        i += 1
        if word == last:
            return False, i, TIE
        if word > last:
            return even, i, DONE
        last = word
        even = not even


@njit(cache=True, inline="always")
def _rounded(k, x, fineness):
    """Return round(2^m (k + x)): m + 1 bits of the fraction, the last one carried up."""
    return (k << fineness) + np.int64(((x >> uint64(63 - fineness)) + _ONE) >> _ONE)


@njit(cache=True)
def _draw_normal(words, i, fineness):
    """round(2^m Z) for Z standard normal and m = ``fineness`` (Karney 2016, algorithm N; see ``reference``)."""
    while True:
        # N1: k with probability proportional to e^(−k/2).
        k = 0
        while True:
            success, i, status = _exp_minus_half(words, i)
            if status != DONE:
                return 0, i, status
            if not success:
                break
            k += 1
        # N2: keep it with probability e^(−k(k−1)/2).
        keep = True
        for _ in range(k * (k - 1)):
            keep, i, status = _exp_minus_half(words, i)
            if status != DONE:
                return 0, i, status
            if not keep:
                break
        if not keep:
            continue
        # N3: a fraction x.
        if i >= words.size:
            return 0, i, SHORT
        x = words[i]
        i += 1
        # N4: keep it if k + 1 times Bernoulli(e^(−x(2k+x)/(2k+2))) succeeds.
        outcomes = uint64(2 * k + 2)
        go_on = uint64(2 * k)
        width = 1
        while (1 << width) < 2 * k + 2:
            width += 1
        chunks = 64 // width
        mask = uint64((1 << width) - 1)
        for _ in range(k + 1):
            y = x
            even = True
            while True:
                if i >= words.size:
                    return 0, i, SHORT
                z = words[i]
                i += 1
                if z == y:
                    return 0, i, TIE
                if z > y:
                    break
                # f uniform over 2k + 2 values: the first of a word's chunks that is one of them.
                f = outcomes
                while f >= outcomes:
                    if i >= words.size:
                        return 0, i, SHORT
                    rest = words[i]
                    i += 1
                    for _ in range(chunks):
                        f = rest & mask
                        if f < outcomes:
                            break
                        rest >>= uint64(width)
                if f > go_on:
                    break
                if f == go_on:
                    if i >= words.size:
                        return 0, i, SHORT
                    u = words[i]
                    i += 1
                    if u == x:
                        return 0, i, TIE
                    if u > x:
                        break
                y = z
                even = not even
            keep = even
            if not keep:
                break
        if not keep:
            continue
        # N5: a sign, and the rounding.
        if i >= words.size:
            return 0, i, SHORT
        negative = words[i] >= _HALF
        i += 1
        if k >= 1 << (62 - fineness):
            return 0, i, OVERFLOW
        value = _rounded(k, x, fineness)
        return (-value if negative else value), i, DONE


@njit(cache=True)
def _draw_laplace(words, i, fineness):
    """round(2^m L) for L standard Laplace and m = ``fineness`` (von Neumann 1951; see ``reference``)."""
    k = 0
    while True:
        if i >= words.size:
            return 0, i, SHORT
        x = words[i]
        i += 1
        last = x
        odd = True
        while True:
            if i >= words.size:
                return 0, i, SHORT
            word = words[i]
            i += 1
            if word == last:
                return 0, i, TIE
            if word > last:
                break
            last = word
            odd = not odd
        if odd:
            break
        k += 1
    if i >= words.size:
        return 0, i, SHORT
    negative = words[i] >= _HALF
    i += 1
    if k >= 1 << (62 - fineness):
        return 0, i, OVERFLOW
    value = _rounded(k, x, fineness)
    return (-value if negative else value), i, DONE


@njit(cache=True, inline="always")
def _below(words, i, n):
    """Return a uniform integer in [0, n), 1 ≤ n < 2⁶³: leading bits, drawn again while they are too large."""
    if n == 1:
        return 0, i, DONE
    shift = 64
    top = n - 1
    while top > 0:
        top >>= 1
        shift -= 1
    while True:
        if i >= words.size:
            return 0, i, SHORT
        value = np.int64(words[i] >> uint64(shift))
        i += 1
        if value < n:
            return value, i, DONE


@njit(cache=True)
def _exp_minus_ratio(words, i, u, n):
    """Bernoulli(e^(−u/n)), 0 ≤ u ≤ n (Canonne, Kamath, Steinke 2020, algorithm 1): integers only, no ties.

    The rounds go on with probability (u/n)/round; it is a success if an odd number of rounds was begun.
    """
    rounds = 1
    while True:
        value, i, status = _below(words, i, n)
        if status != DONE:
            return False, i, status
        if value >= u:
            break
        value, i, status = _below(words, i, rounds)
        if status != DONE:
            return False, i, status
        if value > 0:
            break
        rounds += 1
    return rounds % 2 == 1, i, DONE


@njit(cache=True)
def _draw_one_sided(words, i, n, shift):
    """Return X with P(X = k) ∝ e^(−k·2^shift/n), k ≥ 0: floor((u + n·v)/2^shift), P(u) ∝ e^(−u/n), P(v) ∝ e^(−v)."""
    while True:
        u, i, status = _below(words, i, n)
        if status != DONE:
            return 0, i, status
        success, i, status = _exp_minus_ratio(words, i, u, n)
        if status != DONE:
            return 0, i, status
        if success:
            break
    v = 0
    while True:
        success, i, status = _exp_minus_ratio(words, i, 1, 1)
        if status != DONE:
            return 0, i, status
        if not success:
            break
        v += 1
        if v >= (1 << 62) // n:
            return 0, i, OVERFLOW
    return (u + n * v) >> shift, i, DONE


@njit(cache=True)
def _draw_two_sided(words, i, n, shift):
    """Return X with P(X = k) ∝ e^(−|k|·2^shift/n): a sign, and no second zero (algorithm 2 there)."""
    while True:
        value, i, status = _draw_one_sided(words, i, n, shift)
        if status != DONE:
            return 0, i, status
        if i >= words.size:
            return 0, i, SHORT
        negative = words[i] >= _HALF
        i += 1
        if not negative:
            return value, i, DONE
        if value > 0:
            return -value, i, DONE


@njit(cache=True)
def _draw_discrete_gaussian(words, i, sigma):
    """Return X with P(X = k) ∝ e^(−k²/(2σ²)) (algorithm 3 there).

    A two-sided geometric of scale t = ⌊σ⌋ + 1 is kept with probability e^(−z), z = (|X| − σ²/t)²/(2σ²).

    The one float: that probability, in units of 2⁻⁶⁴, is compared with a word. Where it is at least one unit, z is at
    most 45, |X| at most 11σ, and z is wrong by less than 2⁻⁴⁴ (a few roundings of 2⁻⁵³, relative to |X|/σ): the
    probability is wrong by a share below 2⁻⁴³. A word within a share of 2⁻³⁶ of it, or within 4096 units (the word
    itself is rounded by up to 1024), is a ``TIE`` and goes to exact arithmetic; else the comparison is right.
    """
    t = np.int64(sigma) + 1
    while True:
        value, i, status = _draw_two_sided(words, i, t, 0)
        if status != DONE:
            return 0, i, status
        if i >= words.size:
            return 0, i, SHORT
        word = np.float64(words[i])
        i += 1
        gap = (abs(value) - sigma * sigma / t) / sigma
        chance = exp(-0.5 * gap * gap) * 18446744073709551616.0
        margin = chance * 1.5e-11 + 4096.0
        if word + margin < chance:
            return value, i, DONE
        if word - margin <= chance:
            return 0, i, TIE


@njit(cache=True, nogil=True)
def fill(words, out, done, law, n, shift, sigma):
    """Fill ``out`` from place ``done`` on by the draws of ``law``; return (done, words used, status).

    ``n`` is the fineness of a normal or a Laplace, the scale of a geometric in units of 2^−shift, or the end of a
    uniform; ``sigma`` is that of a discrete Gaussian.
    """
    used = 0
    while done < out.size:
        if law == NORMAL:
            value, i, status = _draw_normal(words, used, n)
        elif law == LAPLACE:
            value, i, status = _draw_laplace(words, used, n)
        elif law == TWO_SIDED_GEOMETRIC:
            value, i, status = _draw_two_sided(words, used, n, shift)
        elif law == ONE_SIDED_GEOMETRIC:
            value, i, status = _draw_one_sided(words, used, n, shift)
        elif law == UNIFORM:
            value, i, status = _below(words, used, n)
        else:
            value, i, status = _draw_discrete_gaussian(words, used, sigma)
        if status != DONE:
            return done, used, status
        out[done] = value
        used = i
        done += 1
    return done, used, DONE
