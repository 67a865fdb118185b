"""Exact noise at 10⁸ draws: shape, tails, symmetry, low bits, independence and scale, and small defects caught.

In ``make test`` there are fewer draws of the same: ``test_noise_distributions.py`` has the usual scales. Every p-value
here is held against ``FALSE_ALARM``, with fixed seeds but for one distribution, which takes the operating system's bits
in the audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from conftest import FALSE_ALARM
from discreet.noise import (
    DiscreteGaussianNoise,
    GaussianNoise,
    GeometricNoise,
    LaplaceNoise,
    SecureBits,
    bernoulli_exp,
    categorical,
    geometric,
    uniform_integers,
)
from draw_tally import Cells, LowBits, Pairs, Scale, Signs, Tail, power
from effort import LONG, measured, size
from goodness import binomial_p, chi_square_p

MANY = size(100_000, 100_000_000)
BLOCK = 2**20
CELLS = 1024


@dataclass(frozen=True)
class Drawn:
    """A distribution: how it is drawn, and everything that is counted of its draws."""

    draw: Callable
    counts: Callable[[], dict]


def laplace_below(x):
    """Return the distribution function of the standard Laplace."""
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0.0, half, 1.0 - half)


def even_cells(below, unit, draws):
    """Return the cells of equal probability in which draws lie, of a distribution that is fine beside its scale."""
    return np.minimum((below(draws * unit) * CELLS).astype(np.int64), CELLS - 1)


def fine(noise, below, tail, score, information):
    unit = noise.grid / noise.scale
    cell, even = partial(even_cells, below, unit), np.full(CELLS, 1.0 / CELLS)

    def counts():
        return {
            "cells": Cells(cell, even),
            "pairs": Pairs(cell, even),
            **{
                f"tail {end:g}": Tail(lambda draws, end=end: np.abs(draws) > end / unit, tail(end))
                for end in (2.0, 4.0, 5.0)
            },
            "signs": Signs(),
            "low bits": LowBits(),
            "scale": Scale(lambda draws: score(draws * unit), 1.0, 2.0 if information == 2 else 1.0),
        }

    return Drawn(noise.sample, counts)


def coarse(draw, low, weights, ends=()):
    """Return a distribution on few whole numbers from ``low`` on; what lies beyond counts at the ends."""
    noise = np.asarray(weights, dtype=np.float64)
    noise = noise / noise.sum()
    numbers = low + np.arange(len(noise))
    symmetric = low < 0

    def cell(draws):
        return np.clip(draws - low, 0, len(noise) - 1)

    def counts():
        mean = float((np.abs(numbers) * noise).sum())
        variance = float((numbers.astype(float) ** 2 * noise).sum()) - mean**2
        result = {
            "cells": Cells(cell, noise),
            "pairs": Pairs(cell, noise, 4),
            "scale": Scale(lambda draws: np.abs(draws), mean, variance),
        }
        for end in ends:
            result[f"tail {end}"] = Tail(lambda draws, end=end: np.abs(draws) > end, noise[np.abs(numbers) > end].sum())
        return result | ({"signs": Signs()} if symmetric else {})

    return Drawn(draw, counts)


def rounded(noise, below):
    reach = 40 * 2**noise.fineness
    edges = (np.arange(-reach, reach) + 0.5) / 2.0**noise.fineness
    upper = -np.diff(below(-edges[edges > 0]))  # differences of small numbers: those of the lower half
    inside = np.concatenate([upper[::-1], [1.0 - 2.0 * below(-edges[edges > 0][0])], upper])
    end = below(-edges[-1:])[0]
    return coarse(noise.sample, -reach, [end, *inside, end], ends=(4 * 2**noise.fineness,))


def two_sided(scale):
    q, reach = math.exp(-1.0 / scale), math.ceil(40 * scale) + 3
    return coarse(GeometricNoise(scale).sample, -reach, q ** np.abs(np.arange(-reach, reach + 1.0)), (int(8 * scale),))


def one_sided(scale):
    q, reach = math.exp(-1.0 / scale), math.ceil(40 * scale) + 3
    return coarse(partial(geometric, scale), 0, q ** np.arange(reach + 1.0), ends=(int(10 * scale),))


def discrete_gaussian(sigma):
    reach = math.ceil(9 * sigma) + 2
    weights = np.exp(-((np.arange(-reach, reach + 1.0) / sigma) ** 2) / 2.0)
    return coarse(DiscreteGaussianNoise(sigma).sample, -reach, weights, ends=(math.ceil(4 * sigma),))


def uniform(high):
    """Whole numbers in cells of as equal a number as there can be: the first that is not in cell c is ⌈(c+1)h/m⌉."""
    many = min(high, 768)
    ends = [-(-place * high // many) for place in range(many + 1)]

    def cell(draws):
        return np.searchsorted(np.array(ends[1:], dtype=np.int64), draws, side="right")

    noise = np.array([(b - a) / high for a, b in pairwise(ends)])
    return Drawn(
        partial(uniform_integers, high),
        lambda: {"cells": Cells(cell, noise), "pairs": Pairs(cell, noise, min(8, many))},
    )


GAUSSIAN = fine(GaussianNoise(3.7), ndtr, lambda end: 2.0 * ndtr(-end), np.square, 2)
LAPLACE = fine(LaplaceNoise(0.3), laplace_below, lambda end: math.exp(-end), np.abs, 1)
DISTRIBUTIONS = {
    "Gaussian, 2⁻⁴⁰": GAUSSIAN,
    "Gaussian, the finest grid": fine(GaussianNoise(1e-9, 52), ndtr, lambda end: 2.0 * ndtr(-end), np.square, 2),
    "Gaussian on a coarse grid": rounded(GaussianNoise(5.0, 2), ndtr),
    "Laplace, 2⁻⁴⁰": LAPLACE,
    "Laplace on a coarse grid": rounded(LaplaceNoise(5.0, 1), laplace_below),
    "two-sided geometric, scale 0.3": two_sided(0.3),
    "two-sided geometric, scale 61.03125": two_sided(61.03125),
    "one-sided geometric, scale 33.3": one_sided(33.3),
    "coin of probability e^(−1/0.7)": one_sided(0.7),
    "discrete Gaussian, σ = 0.5": discrete_gaussian(0.5),
    "discrete Gaussian, σ = 77.7": discrete_gaussian(77.7),
    "uniform below 6": uniform(6),
    "uniform below 1000003": uniform(1_000_003),
    "uniform below 3·2⁶⁰": uniform(3 * 2**60),
}


def tallied(drawn, many, bits, counts):
    """Add blocks of draws to all counts, each changed in the way that it is given for."""
    left = many
    while left:
        block = drawn.draw(min(BLOCK, left), bits)
        left -= len(block)
        for count, change in counts:
            count.add(block if change is None else change(block))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_is_what_it_names(name, seeded):
    drawn = DISTRIBUTIONS[name]
    counts = drawn.counts()
    own = LONG and drawn is GAUSSIAN
    tallied(drawn, MANY, SecureBits() if own else seeded(1100), [(count, None) for count in counts.values()])
    result = {kind: count.p() for kind, count in counts.items()}
    measured(f"laws-{list(DISTRIBUTIONS).index(name):02}", law=name, draws=MANY, p_values=result)
    assert min(result.values()) > FALSE_ALARM, result


def off(share, draws):
    """Return draws of a distribution whose scale is off by a share."""
    return np.rint(draws * (1.0 + share)).astype(np.int64)


def leaning(share, draws):
    """Return draws of which a share of the negative ones has become positive."""
    changed = draws.copy()
    some = changed[:: round(1.0 / share)]
    np.abs(some, out=some)
    return changed


def sticky(share, draws):
    """Return draws of which a share repeats the one before."""
    changed = draws.copy()
    step = 2 * round(0.5 / share)
    changed[1::step] = changed[::step][: len(changed[1::step])]
    return changed


@pytest.mark.parametrize(
    ("drawn", "information", "many", "end"),
    [(GAUSSIAN, 2, 2 * MANY, size(3.5, 5.0)), (LAPLACE, 1, 4 * MANY, size(8.0, 15.0))],
    ids=["Gaussian", "Laplace"],
)
def test_small_defects_are_caught(drawn, information, many, end, seeded):
    """Scale wrong by 0.05 %, a tail that is cut off, a bit that is missing, a sign that leans, draws that repeat.

    The shares are such that each moves its test by ten standard deviations or more: in the audit 0.05 % for the scale,
    0.1 % of the signs, one draw in two or three thousand that repeats. 6.1 are needed for a false alarm of 10⁻⁹, so
    each is found with probability 0.9999.
    """
    unit = 2.0**-40
    wide = 10.0 / math.sqrt(information * many)
    lean = 20.0 / math.sqrt(many)
    repeat = math.sqrt(40.0 / many)
    tail = {"Gaussian": 2.0 * ndtr(-end), "Laplace": math.exp(-end)}["Gaussian" if information == 2 else "Laplace"]
    fresh = drawn.counts
    counts = {
        "scale": (fresh()["scale"], partial(off, wide)),
        "tail": (Tail(lambda draws: np.abs(draws) * unit > end, tail), lambda x: x[np.abs(x) * unit <= end]),
        "bit": (fresh()["low bits"], lambda draws: draws & ~1),
        "sign": (fresh()["signs"], partial(leaning, lean)),
        "repeats": (fresh()["pairs"], partial(sticky, repeat)),
        "none": (fresh()["scale"], None),
    }
    tallied(drawn, many, seeded(1101), counts.values())
    result = {kind: count.p() for kind, (count, _) in counts.items()}
    expected = many * tail
    measured(
        f"laws-defects-{information}",
        draws=many,
        scale_off=wide,
        tail_beyond=end,
        tail_expected=expected,
        sign_off=lean,
        repeats=repeat,
        power=power(10.0, FALSE_ALARM),
        p_values=result,
    )
    assert result.pop("none") > FALSE_ALARM
    assert max(result.values()) < FALSE_ALARM, result


@pytest.mark.parametrize("x", [1e-3, 0.7, 3.0])
def test_coins_decided_bit_by_bit(x, seeded):
    """They are tossed one at a time, so there are fewer; the compiled ones stand above, as geometric distributions."""
    many, bits = size(1_000, 300_000), seeded(1102)
    heads = sum(bernoulli_exp(x, bits) for _ in range(many))
    measured(f"laws-coin-{x}", tosses=many, p=binomial_p(heads, many, math.exp(-x)))
    assert binomial_p(heads, many, math.exp(-x)) > FALSE_ALARM


@pytest.mark.parametrize("counts", [None, [1, 10**6, 3, 2**61, 1]], ids=["one each", "counts"])
def test_categories(counts, seeded):
    scores = np.array([0.3, -12.0, -0.7, -42.0, 0.30000000000000004])
    weights = np.exp(scores - scores.max()) * (1.0 if counts is None else np.array(counts, dtype=np.float64))
    many, bits = size(500, 200_000), seeded(1103)
    drawn = np.bincount([categorical(scores, bits, counts) for _ in range(many)], minlength=5)
    result = chi_square_p(drawn, weights / weights.sum())
    measured(f"laws-categories-{'each' if counts is None else 'counts'}", draws=many, p=result)
    assert result > FALSE_ALARM
