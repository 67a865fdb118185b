"""Exact draws that are no noise: whole numbers, coins of probability e^(−x), and categories weighted by e^score.

All are integer arithmetic or comparisons with reals bounded as narrowly as it takes (``reals``); a float is used only
to propose, never to decide. Where their arguments come from rows, the caller has to make them valid first: an error
here tells that they were not.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import UNSHOWN, ArgumentError, as_numbers, integer, nonnegative, positive
from discreet.noise.bits import Bits, as_bits
from discreet.noise.integer_draws import Integers, Size, draw_integers
from discreet.noise.reals import LazyUniform, exp_minus, word_stream


def uniform_integers(high: int, size: Size, bits: Bits | None = None) -> Integers:
    """Return integers uniform over 0, …, high − 1.

    Leading bits of a word are drawn again while they are too large, so no value is favoured.

    >>> bool((uniform_integers(6, 1000) < 6).all())
    True
    """
    return draw_integers(size, bits, "UNIFORM", integer("high", high, least=1, most=2**62))


def bernoulli_exp(x: float | Fraction, bits: Bits | None = None) -> bool:
    """Return True with probability exactly e^(−x), x ≥ 0.

    A uniform real is compared with e^(−x), bit by bit until it is decided.

    >>> bernoulli_exp(0)
    True
    """
    exponent = x if isinstance(x, Fraction) else Fraction(nonnegative("x", x))
    if exponent < 0:
        raise ArgumentError("x", x, "a finite number, at least 0")
    if exponent == 0:
        return True
    stream = word_stream(as_bits(bits))
    return LazyUniform(stream(), stream).below(exp_minus(exponent))


def geometric(scale: float, size: Size, bits: Bits | None = None) -> Integers:
    """Return whole numbers k ≥ 0 with P(k) ∝ e^(−k/scale).

    ``scale`` is taken as the number that its float is, exactly; from 2⁻⁸ to 2⁴⁸.

    >>> bool((geometric(3.5, 100) >= 0).all())
    True
    """
    ratio = positive("scale", scale)
    if not 2.0**-8 <= ratio <= 2.0**48:
        raise ArgumentError("scale", scale, "from 2**-8 to 2**48")
    n, denominator = ratio.as_integer_ratio()
    return draw_integers(size, bits, "ONE_SIDED_GEOMETRIC", n, denominator.bit_length() - 1)


def categorical(scores: ArrayLike, bits: Bits | None = None, counts: ArrayLike | None = None) -> int:
    """Return an index i with probability exactly proportional to count_i·e^(score_i), whatever the range of the scores.

    This is the exponential mechanism's draw; ``counts`` says how many candidates share a score, one each by default. A
    score of −∞ or a count of 0 has probability zero; NaN and +∞ have no meaning and are refused, as are no scores at
    all, so what may come from rows must be made finite before.

    How: let B be the largest score and M ≥ 0 the largest (score_i − B) + ln count_i, in floats. Each weight w_i =
    2^s·count_i·e^(score_i − B − M) is bounded above by an integer W_i = ⌊w_i(1 + 2⁻⁴⁰)⌋ + 1, computed in floats. Their
    error is far below that margin: for w_i ≥ 1 scores differ by at most 43 + 43 + 43, and a logarithm is at most 43, so
    rounding them moves w_i by a share of 2⁻⁴⁴. An index is proposed with probability W_i/ΣW in integer arithmetic and
    kept with probability w_i/W_i, by comparing a uniform real with that number bit by bit. The first that is kept has
    the right distribution, exactly. Nearly every proposal is kept: the excess of ΣW over Σw is below n + 2⁻⁴⁰Σw, and s
    makes n small beside 2^s, which Σw is not below by more than rounding.

    Parameters
    ----------
    scores : array-like of shape (n,)
    bits : Bits or None
    counts : array-like of n whole numbers, at least 0 and at most 2⁶², or None

    Examples
    --------
    >>> categorical([-1e308, 0.0, -float("inf"), -1e5])
    1
    >>> categorical([0.0, 0.0], counts=[0, 10])
    1
    """
    values = as_numbers(scores)
    if values.ndim != 1 or values.size == 0:
        raise ArgumentError("scores", UNSHOWN, f"one dimension and at least one score, got shape {values.shape}")
    many = np.ones(values.shape, dtype=np.int64) if counts is None else np.asarray(counts)
    if many.shape != values.shape or many.dtype.kind not in "iu" or many.min() < 0 or many.max() > 2**62:
        raise ArgumentError("counts", UNSHOWN, "a whole number from 0 to 2**62 for each score")
    base = float(np.where(many > 0, values, -np.inf).max())
    if np.isnan(values).any() or not np.isfinite(base):
        raise ArgumentError("scores", UNSHOWN, "numbers below +∞, at least one of them finite and with a count")
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        weighed = (values - base) + np.log(many)
    best = float(weighed.max())
    s = 61 - values.size.bit_length()
    with np.errstate(under="ignore", over="ignore"):
        ceiling = np.floor(np.exp(weighed - best) * (2.0**s * (1.0 + 2.0**-40))).astype(np.int64) + 1
    ceiling[np.isneginf(values) | (many == 0)] = 0
    cumulative = np.cumsum(ceiling)
    stream = word_stream(as_bits(bits))
    while True:
        place = uniform_integers(int(cumulative[-1]), 1, bits)[0]
        index = int(np.searchsorted(cumulative, place, side="right"))
        exponent = Fraction(best) + (Fraction(base) - Fraction(float(values[index])))
        kept = exp_minus(exponent, Fraction(int(many[index]) << s, int(ceiling[index])))
        if LazyUniform(stream(), stream).below(kept):
            return index
