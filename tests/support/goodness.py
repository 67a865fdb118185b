"""Tests of a sample against a distribution, with the probability of a false alarm."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, binomtest, chi2


def chi_square_p(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the p-value of observed counts; cells of few expected counts are pooled into one."""
    expected = counts.sum() * probabilities
    few = expected < 20.0
    if few.any():
        counts = np.append(counts[~few], counts[few].sum())
        expected = np.append(expected[~few], expected[few].sum())
        if expected[-1] < 20.0:
            counts, expected = counts[:-1], expected[:-1]
    assert len(counts) > 1, "too few draws to test anything"
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))


def binomial_p(successes: int, trials: int, probability: float) -> float:
    """Return the two-sided p-value of a number of successes."""
    return float(binomtest(int(successes), int(trials), probability).pvalue)


def least_successes(trials: int, probability: float) -> int:
    """Return a number of successes that at least this probability falls short of less than once in 1e9 times."""
    return int(binom.ppf(1e-9, trials, probability))


def most_successes(trials: int, probability: float) -> int:
    """Return a number of successes that at most this probability exceeds less than once in 1e9 times."""
    return int(binom.isf(1e-9, trials, probability))


def often(outcomes: Iterable[ArrayLike], trials: int, least: int) -> bool:
    """Return whether so many trials have at least this number of successes, each of several kinds where there are some.

    The answer is that of all trials. They end as soon as no later one can change it: of 40 trials that succeed half of
    the time, 3 successes are there after about 6.

    >>> often((n % 2 == 0 for n in range(40)), 40, 3), often((n % 2 == 0 for n in range(40)), 40, 21)
    (True, False)
    """
    successes = np.zeros((), dtype=int)
    for left, outcome in zip(reversed(range(trials)), islice(outcomes, trials), strict=True):
        successes = successes + np.asarray(outcome, dtype=int)
        if successes.min() >= least:
            return True
        if successes.min() + left < least:
            return False
    return least <= 0


def counts_between(sample: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return how often each integer from low to high occurs; what lies beyond counts at the ends."""
    return np.bincount(np.clip(sample, low, high) - low, minlength=high - low + 1)
