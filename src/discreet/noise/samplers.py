"""Compiled samplers, with proofs: loops that draw exact noise in whole steps of the grid from random words.

Laplace, Gaussian and their discrete forms. ``integer_draws.draw_integers`` calls them.

Every sampler is a function ``draw(words, i, …) -> (value, next i)`` of a stream of uniform 64-bit words from place i
on, and uses integers only (the one float, in the discrete Gaussian, is a filter; see there). A place below 0 says that
there is no draw, and why:

- ``SHORT``: the words ran out in the middle. The draw must be made again from the same place with more words behind
  them. Dropping the words instead would favour draws that need few, which is a bias;
- ``TIE``: first words did not decide a comparison (probability about 2⁻⁶⁰ a draw). The draw must be made again from the
  same place with all bits of the uniforms at hand (``Sampler.settle``);
- ``OVERFLOW``: the value does not fit; nothing is wrapped.

Such a place is passed on by whatever is called with it: ``_word`` gives the largest word and the place as it is, and
that word is below no bound, so that the runs end; the other loops look at the place.

**One function of the bits.** A word is the beginning of a uniform real. Compiled, the samplers see first words alone
and stop at a tie; called from Python they run as they stand over ``LazyUniform``s, which have all bits and never tie.
So a draw is the same function of the bits in both, and the tests hold it against samplers that are written another way.
Mixing signed and unsigned words would make floats of both: everything unsigned is wrapped in ``uint64``.

Why ``_draw_normal`` is exact (Karney, "Sampling exactly from the normal distribution", 2016). The density of |Z| at
k + x is proportional to e^(−(k+x)²/2) = e^(−k²/2)·e^(−x(2k+x)/2). Steps N1 and N2 give k with probability proportional
to e^(−k/2)·e^(−k(k−1)/2) = e^(−k²/2); N3 and N4 keep a uniform x with probability (e^(−x(2k+x)/(2k+2)))^(k+1) =
e^(−x(2k+x)/2). Every coin is tossed by comparing uniforms (von Neumann 1951): the chance that a run y > u₁ > u₂ > … has
a length of at least n is yⁿ/n!, so it is even with probability e^(−y); thinning each comparison with probability
(2k+x)/(2k+2) turns that, at y = x, into e^(−x(2k+x)/(2k+2)). No float occurs.

Why its rounding is exact. With f on the grid of step g = σ/2^m, f + g·round(2^m Z) is the grid point nearest to
f + σZ: a function of the Gaussian mechanism's ideal output, so it is exactly as private, μ = Δ/σ. Rounding 2^m x takes
m + 1 bits of x and carries the last one up: floor((floor(2^(m+1) x) + 1)/2) = floor(2^m x + ½). Cutting after m bits
instead would put both sides' first atoms on zero, which gets twice its mass, and is no rounding of σZ.

``_draw_laplace`` is rounded in the same way, so it is exactly as private as the Laplace mechanism. Its size is an
exponential deviate k + x (von Neumann 1951): the run x > u₁ > u₂ > …, x itself counted, has an odd length with
probability e^(−x); it is drawn again, and k goes up by one, with the remaining probability 1/e.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp
from typing import Any

import numpy as np
from numpy import uint64

from discreet.noise.reals import exp_minus

DONE, SHORT, TIE, OVERFLOW = 0, -1, -2, -3

_INLINED: list[Callable[..., Any]] = []


def inlined(function):
    """Have a function compiled where compiled code calls it; elsewhere it is plain Python."""
    _INLINED.append(function)
    return function


_LAST = np.uint64(63)
_MOST = np.uint64(2**64 - 1)
_ONE = np.uint64(1)


@inlined
def _word(words, i):
    """Return the word at a place, and the next place; where there is none, the largest word."""
    if i < 0:
        return _MOST, i
    if i >= words.size:
        return _MOST, SHORT
    return words[i], i + 1


@inlined
def _compare(words, i, bound):
    """Return a fresh uniform, whether it is below ``bound``, and the next place."""
    word, i = _word(words, i)
    if word == bound and i >= 0:  # never of two ``LazyUniform``s
        i = TIE
    return word, word < bound, i


@inlined
def _odd_run(words, i, last):
    """Return whether the run ``last`` > u₁ > u₂ > … has an odd number of u's."""
    odd = False
    word, below, i = _compare(words, i, last)
    while below:
        odd = not odd
        word, below, i = _compare(words, i, word)
    return odd, i


@inlined
def _exp_minus_half(words, i):
    """Bernoulli(e^(−1/2)): the length of the run ½ > u₁ > u₂ > … is even."""
    word, i = _word(words, i)
    if word >> _LAST:
        return i >= 0, i
    return _odd_run(words, i, word)


@inlined
def _first_below(words, i, n):
    """Return a uniform integer in [0, n): the first that fits among a word's chunks of as many bits as n needs."""
    width = 1
    while (1 << width) < n:
        width += 1
    mask = uint64((1 << width) - 1)
    while True:
        rest, i = _word(words, i)
        for _ in range(64 // width):
            value = np.int64(rest & mask)
            if value < n or i < 0:
                return value, i
            rest = rest >> uint64(width)


@inlined
def _flip_thinned_run(words, i, k, x):
    """Bernoulli(e^(−x(2k+x)/(2k+2))): the run x > u₁ > u₂ > …, each step thinned, has an even length."""
    even = True
    word, below, i = _compare(words, i, x)
    while below:
        f, i = _first_below(words, i, 2 * k + 2)
        if f == 2 * k:
            _, below, i = _compare(words, i, x)
        if f > 2 * k or not below:
            break
        even = not even
        word, below, i = _compare(words, i, word)
    return even, i


@inlined
def _round_and_sign(words, i, k, x, fineness):
    """Return ±round(2^m (k + x)): m + 1 bits of the fraction, the last one carried up, and a sign."""
    sign, i = _word(words, i)
    if k >= 1 << (62 - fineness):
        return 0, i if i < 0 else OVERFLOW
    value = (k << fineness) + np.int64(((x >> uint64(63 - fineness)) + _ONE) >> _ONE)
    return (-value if sign >> _LAST else value), i


@inlined
def _draw_normal(words, i, fineness):
    """round(2^m Z) for Z standard normal and m = ``fineness`` (Karney 2016, algorithm N)."""
    while i >= 0:
        # N1: k with probability proportional to e^(−k/2).
        k, success = -1, True
        while success:
            k += 1
            success, i = _exp_minus_half(words, i)
        # N2: keep it with probability e^(−k(k−1)/2).
        for _ in range(k * (k - 1)):
            keep, i = _exp_minus_half(words, i)
            if not keep:
                break
        else:
            # N3: a fraction x.
            x, i = _word(words, i)
            # N4: keep it if k + 1 times Bernoulli(e^(−x(2k+x)/(2k+2))) succeeds.
            for _ in range(k + 1):
                keep, i = _flip_thinned_run(words, i, k, x)
                if not keep:
                    break
            else:
                # N5: a sign, and the rounding.
                return _round_and_sign(words, i, k, x, fineness)
    return 0, i


@inlined
def _draw_laplace(words, i, fineness):
    """round(2^m L) for L standard Laplace and m = ``fineness`` (von Neumann 1951)."""
    k, again = -1, True
    while again:
        k += 1
        x, i = _word(words, i)
        again, i = _odd_run(words, i, x)
    return _round_and_sign(words, i, k, x, fineness)


@inlined
def _below(words, i, n):
    """Return a uniform integer in [0, n), 1 ≤ n < 2⁶³: leading bits, drawn again while they are too large."""
    if n == 1:
        return 0, i
    shift = 64
    top = n - 1
    while top > 0:
        top >>= 1
        shift -= 1
    while True:
        word, i = _word(words, i)
        value = np.int64(word >> uint64(shift))
        if value < n or i < 0:
            return value, i


@inlined
def _exp_minus_ratio(words, i, u, n):
    """Bernoulli(e^(−u/n)), 0 ≤ u ≤ n (Canonne, Kamath, Steinke 2020, algorithm 1): integers only, no ties.

    Round r goes on with probability u/(n·r), so at least r rounds do with probability (u/n)^r/r!, and the first that
    does not is of an odd number with probability e^(−u/n).
    """
    rounds = 1
    while i >= 0:
        value, i = _below(words, i, n)
        if value >= u:
            break
        value, i = _below(words, i, rounds)
        if value > 0:
            break
        rounds += 1
    return i >= 0 and rounds % 2 == 1, i


@inlined
def _draw_one_sided(words, i, n, shift):
    """Return X with P(X = k) ∝ e^(−k·2^shift/n), k ≥ 0: floor((u + n·v)/2^shift), P(u) ∝ e^(−u/n), P(v) ∝ e^(−v)."""
    u, success = 0, False
    while i >= 0 and not success:
        u, i = _below(words, i, n)
        success, i = _exp_minus_ratio(words, i, u, n)
    v = 0
    success, i = _exp_minus_ratio(words, i, 1, 1)
    while success:
        v += 1
        if v >= (1 << 62) // n:
            return 0, OVERFLOW
        success, i = _exp_minus_ratio(words, i, 1, 1)
    return (u + n * v) >> shift, i


@inlined
def _draw_two_sided(words, i, n, shift):
    """Return X with P(X = k) ∝ e^(−|k|·2^shift/n): a sign, and no second zero (algorithm 2 there)."""
    while True:
        value, i = _draw_one_sided(words, i, n, shift)
        sign, i = _word(words, i)
        if not sign >> _LAST:
            return value, i
        if value > 0 or i < 0:
            return -value, i


@inlined
def _draw_discrete_gaussian(words, i, sigma):
    """Return X with P(X = k) ∝ e^(−k²/(2σ²)) (algorithm 3 there).

    A two-sided geometric of scale t = ⌊σ⌋ + 1 is kept with probability e^(−z), z = (|X| − σ²/t)²/(2σ²).

    The one float: that probability, in units of 2⁻⁶⁴, is compared with a word. Where it is at least one unit, z is at
    most 45, |X| at most 11σ, and z is wrong by less than 2⁻⁴⁴ (a few roundings of 2⁻⁵³, relative to |X|/σ): the
    probability is wrong by a share below 2⁻⁴³. A word within a share of 2⁻³⁶ of it, or within 4096 units (the word
    itself is rounded by up to 1024), is a ``TIE`` and goes to exact arithmetic; else the comparison is right.
    """
    t = np.int64(sigma) + 1
    while i >= 0:
        value, i = _draw_two_sided(words, i, t, 0)
        word, i = _word(words, i)
        gap = (abs(value) - sigma * sigma / t) / sigma
        chance = exp(-0.5 * gap * gap) * 18446744073709551616.0
        margin = chance * 1.5e-11 + 4096.0
        if i >= 0 and np.float64(word) - margin <= chance:
            return value, i if np.float64(word) + margin < chance else TIE
    return 0, i


def _settle_discrete_gaussian(words, i, sigma):
    """Return what ``_draw_discrete_gaussian`` does, with fractions in the place of its float."""
    t, variance = int(sigma) + 1, Fraction(sigma) ** 2
    while True:
        value, i = _draw_two_sided(words, i, t, 0)
        word, i = _word(words, i)
        z = (abs(int(value)) - variance / t) ** 2 / (2 * variance)
        if word.below(exp_minus(z)):
            return value, i


@lru_cache(maxsize=1)
def _register_inlined():
    from numba.extending import register_jitable

    for function in _INLINED:
        register_jitable(forceinline=True)(function)


@dataclass(frozen=True)
class Sampler:
    """A sampler: in plain Python, and its compiled loop.

    Attributes
    ----------
    draw : callable
        Makes one draw.
    exact : callable or None
        Makes the same draw of ``LazyUniform``s, where that is another function.
    """

    draw: Any
    exact: Any = None

    @property
    def settle(self):
        """Returns a draw and the place behind it, of ``LazyUniform``s."""
        return self.exact or self.draw

    @cached_property
    def fill(self):
        """Fills ``out`` from place ``done`` on; returns (done, words used, status). numba is imported only for it."""
        from numba import njit

        _register_inlined()
        draw = self.draw

        @njit(cache=True, nogil=True)
        def fill(words, out, done, *given):
            used = 0
            while done < out.size:
                value, i = draw(words, used, *given)
                if i < 0:
                    return done, used, i
                out[done] = value
                used = i
                done += 1
            return done, used, DONE

        return fill


# What is given to each: the fineness of a normal or a Laplace; the scale of a geometric in units of 2^−shift, and the
# shift; the end of a uniform; the scale of a discrete Gaussian.
NORMAL, LAPLACE = Sampler(_draw_normal), Sampler(_draw_laplace)
TWO_SIDED_GEOMETRIC, ONE_SIDED_GEOMETRIC = Sampler(_draw_two_sided), Sampler(_draw_one_sided)
UNIFORM = Sampler(_below)
DISCRETE_GAUSSIAN = Sampler(_draw_discrete_gaussian, _settle_discrete_gaussian)
