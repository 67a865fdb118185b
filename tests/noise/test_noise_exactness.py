"""The compiled loops and the slow form are one function of the bits, however these arrive and whatever ties."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

import slow_draws as reference
from conftest import FALSE_ALARM
from discreet.noise import (
    Bits,
    DiscreteGaussianNoise,
    GaussianNoise,
    GeometricNoise,
    LaplaceNoise,
    integer_draws,
    samplers,
)
from discreet.noise.reals import LazyUniform, LazyWords, exp_minus
from effort import size
from goodness import chi_square_p, counts_between


class Undecided(Exception):  # noqa: N818 - a signal between the stream and the test
    pass


def stream_of(words):
    source = map(int, words)

    def word():
        try:
            return next(source)
        except StopIteration:
            raise Undecided("short") from None

    return word


def pieces(bits):
    """Yield words that are drawn when they are asked for, as few need many. They end, so that a loop would show."""
    for _ in range(64):
        yield from bits.words(64)


def no_more():
    raise Undecided("tie")


def outcome(slow, words):
    """Return the status that the compiled form should have, and the value."""
    try:
        return samplers.DONE, slow(stream_of(words), no_more)
    except Undecided as reason:
        return {"tie": samplers.TIE, "short": samplers.SHORT}[str(reason)], None


TWINS = {
    "normal 40": (samplers.NORMAL, (40,), lambda word, more: reference.normal(word, more, 40)),
    "normal 3": (samplers.NORMAL, (3,), lambda word, more: reference.normal(word, more, 3)),
    "laplace 40": (samplers.LAPLACE, (40,), lambda word, more: reference.laplace(word, more, 40)),
    "geometric": (
        samplers.TWO_SIDED_GEOMETRIC,
        (5, 3),
        lambda word, more: reference.two_sided_geometric(word, 5, 3),
    ),
    "geometric 2^53": (
        samplers.TWO_SIDED_GEOMETRIC,
        (2**53 - 1, 60),
        lambda word, more: reference.two_sided_geometric(word, 2**53 - 1, 60),
    ),
    "discrete": (
        samplers.DISCRETE_GAUSSIAN,
        (3.7,),
        lambda word, more: reference.discrete_gaussian(word, more, 3.7),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_compiled_and_slow_form_agree_word_for_word(name, seeded):
    noise, parameters, slow = TWINS[name]
    many = size(1500, 3000)
    words = seeded(20).words(20 * many)
    out = np.empty(many, dtype=np.int64)
    done, _, status = noise.fill(words, out, 0, *parameters)
    assert (done, status) == (many, samplers.DONE)
    word = stream_of(words)
    assert [slow(word, no_more) for _ in range(many)] == out.tolist()


@pytest.mark.parametrize("name", ["normal 40", "normal 3", "laplace 40"])
@pytest.mark.parametrize("alphabet", [3, 5, 40])
def test_the_compiled_form_stops_exactly_where_first_words_do_not_decide(name, alphabet, seeded):
    """Words from a small alphabet tie often; the slow form then asks for more bits, and only then."""
    noise, parameters, slow = TWINS[name]
    letters = seeded(21).words(alphabet)
    seen = set()
    for words in letters[seeded(22).words(40 * 2000) % np.uint64(alphabet)].reshape(2000, 40):
        out = np.empty(1, dtype=np.int64)
        _, _, status = noise.fill(words, out, 0, *parameters)
        slowly = outcome(slow, words)
        assert (status, out[0]) == slowly if status == samplers.DONE else status == slowly[0]
        seen.add(status)
    assert {samplers.DONE, samplers.TIE} <= seen


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("alphabet", [3, 5, 40])
def test_what_first_words_do_not_decide_is_settled_as_by_the_slow_form(name, alphabet, seeded):
    """The same first words and the same further bits give the same value, and leave the same words unread."""
    noise, parameters, slow = TWINS[name]
    letters, many = seeded(31).words(alphabet), size(350, 2000)
    statuses = []
    for seed, words in enumerate(letters[seeded(32).words(40 * many) % np.uint64(alphabet)].reshape(many, 40)):
        statuses.append(noise.fill(words, np.empty(1, dtype=np.int64), 0, *parameters)[2])
        if statuses[-1] == samplers.SHORT:
            continue
        lazy = LazyWords(seeded(seed), words)
        value, used = noise.settle(lazy, 0, *parameters)
        if used <= len(words):  # else the two streams were drawn from in turn
            first, more = stream_of(words), stream_of(pieces(seeded(seed)))
            assert value == slow(first, more)
            assert [first() for _ in words[used:]] == words[used:].tolist()
    if name.startswith(("normal", "laplace")):
        assert statuses.count(samplers.TIE) > many // 35


@pytest.mark.parametrize(
    "noise", [GaussianNoise(1.5), LaplaceNoise(0.7), GeometricNoise(3.0), DiscreteGaussianNoise(2.5)]
)
def test_a_few_draws_in_plain_python_are_those_of_the_compiled_loop(noise, seeded, monkeypatch):
    values = np.zeros(20)
    for seed in range(size(20, 100)):
        drawn = []
        for few in (False, True):
            monkeypatch.setattr(integer_draws, "_are_few", lambda draws, few=few: few)
            drawn.append(noise.add(values, bits=seeded(seed)).tolist())
        assert drawn[0] == drawn[1]


def test_a_few_draws_do_not_import_numba():
    code = "import sys, discreet.noise as n; n.GaussianNoise(1.0).add([0.0] * 3); print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_an_overflow_of_a_draw_that_was_settled_is_an_error(monkeypatch, seeded):
    monkeypatch.setattr(integer_draws, "_are_few", lambda draws: True)
    monkeypatch.setattr(samplers, "NORMAL", samplers.Sampler(lambda words, i, fineness: (0, samplers.OVERFLOW)))
    with pytest.raises(OverflowError):
        integer_draws.draw_integers(1, seeded(0), "NORMAL", 40)


@pytest.mark.parametrize("width", [4, 6])
def test_ties_are_settled_without_bias(width, seeded):
    """With words of 4 bits most draws tie; the distribution must still be the normal one."""
    words = seeded(23).words(size(600_000, 2_000_000)) >> np.uint64(64 - width)
    word, more = stream_of(words), stream_of(seeded(24).words(size(300_000, 1_000_000)) >> np.uint64(64 - width))
    sample = np.array([reference.normal(word, more, 2, width) for _ in range(size(15_000, 50_000))])
    edges = (np.arange(-14, 14) + 0.5) / 4.0
    noise = np.diff(np.concatenate([[0.0], ndtr(edges), [1.0]]))
    assert chi_square_p(counts_between(sample, -14, 14), noise) > FALSE_ALARM


def test_ties_of_a_laplace_are_settled_without_bias(seeded):
    words = seeded(29).words(size(300_000, 1_000_000)) >> np.uint64(60)
    word, more = stream_of(words), stream_of(seeded(30).words(size(300_000, 1_000_000)) >> np.uint64(60))
    sample = np.array([reference.laplace(word, more, 2, 4) for _ in range(size(15_000, 50_000))])
    edges = (np.arange(-30, 30) + 0.5) / 4.0
    below = np.where(edges < 0, 0.5 * np.exp(-np.abs(edges)), 1.0 - 0.5 * np.exp(-np.abs(edges)))
    noise = np.diff(np.concatenate([[0.0], below, [1.0]]))
    assert chi_square_p(counts_between(sample, -30, 30), noise) > FALSE_ALARM


class Prepared(Bits):
    """Words that a test prepared, then those of a seed."""

    private = False

    def __init__(self, words, then):
        self._words, self._then = np.array(words, dtype=np.uint64), then

    def words(self, count):
        first, self._words = self._words[:count], self._words[count:]
        return np.concatenate([first, self._then.words(count - first.size)])


def test_a_tie_in_the_compiled_loop_is_handed_to_the_slow_form(seeded):
    """The words up to the tie are read again by the slow form, and drawing goes on behind them."""
    low = 1 << 62
    ties = [low, low]  # the first coin: ½ > u₁ = u₂
    out = GaussianNoise(1.0).sample(1000, Prepared(ties, seeded(25)))
    status = samplers.NORMAL.fill(np.array(ties, dtype=np.uint64), np.empty(1, dtype=np.int64), 0, 40)[2]
    assert status == samplers.TIE
    assert len(np.unique(out)) == 1000
    assert np.abs(out * 2.0**-40).max() < 6.0


@pytest.mark.parametrize("offset", [-(10**12), -2000, 0, 2000, 10**12])
def test_the_float_filter_of_the_discrete_gaussian_leaves_what_is_close_to_exact_arithmetic(offset, seeded):
    """σ = ½: t = 1, a word ≥ ½ gives |X| = 0, the sign, then a word against e^(−1/8)."""
    with mpmath.workdps(40):
        threshold = int(mpmath.exp(mpmath.mpf(-1) / 8) * 2**64)
    words = [1 << 63, 0, threshold + offset]
    status = samplers.DISCRETE_GAUSSIAN.fill(np.array(words, dtype=np.uint64), np.empty(1, dtype=np.int64), 0, 0.5)[2]
    if abs(offset) <= 2000:
        assert status == samplers.TIE
    else:
        assert status == (samplers.DONE if offset < 0 else samplers.SHORT)
    first = DiscreteGaussianNoise(0.5).sample(1, Prepared(words, seeded(26)))[0]
    if offset < 0:
        assert first == 0


@pytest.mark.parametrize(
    "noise",
    [GaussianNoise(1.0), LaplaceNoise(1.0), GeometricNoise(7.3), DiscreteGaussianNoise(2.3)],
    ids=lambda noise: type(noise).__name__,
)
def test_it_does_not_matter_in_what_pieces_the_words_arrive(noise, seeded, monkeypatch):
    """A draw that runs out of words is finished with the next ones, not dropped: dropping would be a bias."""
    many = size(700, 2000)
    whole = noise.sample(many, seeded(27))
    monkeypatch.setattr("discreet.noise.integer_draws._PIECE", 7)
    np.testing.assert_array_equal(noise.sample(many, seeded(27)), whole)


def test_overflow_is_refused_and_not_wrapped(seeded):
    """Words that make k = 1 where only k = 0 fits, and words that make the coins of a geometric succeed for ever."""
    out = np.empty(1, dtype=np.int64)
    one_and_a_bit = np.array([2**64 - 1, 1, 2, 0, 5, 5, 0], dtype=np.uint64)
    assert samplers.NORMAL.fill(one_and_a_bit, out, 0, 61)[2] == samplers.DONE
    assert out[0] == 2**61
    assert samplers.NORMAL.fill(one_and_a_bit, out, 0, 62)[2] == samplers.OVERFLOW
    endless = [0, 0] + [0, 1 << 62] * 20_000
    with pytest.raises(OverflowError, match="nothing was released"):
        GeometricNoise(2.0**48).sample(1, Prepared(endless, seeded(28)))


def test_exponentials_are_enclosed():
    with mpmath.workdps(80):
        for x in [
            Fraction(0),
            Fraction(1, 10**30),
            Fraction(1, 3),
            Fraction(7, 2),
            Fraction(10**4),
            Fraction(2) ** 1000,
        ]:
            truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            last = None
            for p in [20, 64, 200]:
                low, high = exp_minus(x)(p)
                assert low <= high
                assert mpmath.mpf(low.numerator) / low.denominator <= truth * (1 + mpmath.mpf(10) ** -70)
                assert mpmath.mpf(high.numerator) / high.denominator >= truth * (1 - mpmath.mpf(10) ** -70)
                gap = high - low
                assert last is None or gap < last
                last = gap


def test_a_uniform_is_compared_with_a_real_bit_by_bit():
    """The first word equals that of e^(−1) and the next ones decide."""
    with mpmath.workdps(60):
        digits = int(mpmath.exp(-1) * mpmath.mpf(2) ** 128)
    first, second = digits >> 64, digits & (2**64 - 1)
    for step, below in [(-1, True), (1, False)]:
        assert LazyUniform(first, stream_of([second + step])).below(exp_minus(Fraction(1))) is below
    assert LazyUniform(first - 1, no_more).below(exp_minus(Fraction(1)))
    assert not LazyUniform(first + 1, no_more).below(exp_minus(Fraction(1)))
    assert math.isclose(first / 2**64, math.exp(-1))
