"""Intervals for the population that the rows were sampled from: noise and sampling error together.

**A mean.** Rows y have the population mean μ and variance σ². Let S̃ be the released sum and Ñ the number of rows,
public or released. Then S̃ − μÑ is the sum of noise of a known distribution, as for the mean of the rows (``means``),
and of Σ(y − μ), which is about normal with variance n·σ². The interval consists of all μ for which

    P(|noise + √(nσ²)·Z| ≥ |S̃ − μÑ|) ≥ 1 − level.

**The variance σ²** is released as well, with noise. That noise matters where rows are few. So the probability is
averaged over what the noise leaves plausible of σ², all values above 0 being equally likely beforehand. Values beyond
the largest variance that rows between the bounds can have, (μ − low)(high − μ) (Bhatia and Davis 2000), count as that
one. Where the noise is small, this is the released σ².

**A share** p of the rows in a cell has the variance p(1 − p), so nothing further is released (the score interval of
Wilson 1927, with noise).

**Rows of one person are dependent.** Let a person have k ≤ m rows, with deviations z. Then (Σz)² ≤ k·Σz² ≤ m·Σz², so
m·nσ² bounds the variance of the sum over all rows, whatever the dependence is. Sums over rows allow nothing better, so
this bound is used. The intervals are then too wide, by up to √m.

**Weights** w in [0, 1], relative to the largest: the variance of Σw(y − μ) is Σw²(y − μ)² ≤ Σw(y − μ)², and this bound
is used. It is attained where all weights are equal to the largest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from discreet.arguments import ArgumentError
from discreet.guarantees.arithmetic import find_least
from discreet.models.normal_tails import noise_normal_tail
from discreet.noise import NoiseDistribution

Array = NDArray[np.float64]

FEW = 3  # numbers of equal noise, above which their sum counts as normal
POINTS = 24  # values of σ² over which a probability is averaged


def plausible_variances(measured: ArrayLike, std: ArrayLike, most: ArrayLike, *, normal: bool) -> Array:
    """Return values of σ² that stand for what noise leaves plausible, along a new last axis, equally likely each.

    Parameters
    ----------
    measured, std, most : array_like
        The released σ², the standard deviation of its noise, and the largest possible σ².
    normal : bool
        Whether the noise is normal; else it has the tails of Laplace noise.

    Examples
    --------
    >>> plausible_variances(4.0, 1e-9, 25.0, normal=True).round(6).min()
    np.float64(4.0)
    >>> bool(plausible_variances(-1.0, 1.0, 25.0, normal=True).min() > 0.0)
    True
    """
    middle, width, top = (np.asarray(one, dtype=np.float64)[..., None] for one in (measured, std, most))
    width = np.maximum(width, 1e-12 * np.maximum(top, 1e-300))
    middle = np.clip(middle, -6.0 * width, top + 6.0 * width)  # farther away the noise is not resolved by floats
    cdf, inverse = (ndtr, ndtri) if normal else (_laplace_cdf, _laplace_quantile)
    low = cdf(-middle / width)
    shares = (np.arange(POINTS) + 0.5) / POINTS
    values = middle + width * inverse(np.clip(low + shares * (1.0 - low), 1e-300, 1.0 - 1e-16))
    return np.clip(values, 0.0, top)


def _laplace_cdf(x: Array) -> Array:
    """Return the distribution function of Laplace noise of variance 1."""
    size = np.exp(-math.sqrt(2.0) * np.abs(x)) / 2.0
    return np.where(x < 0.0, size, 1.0 - size)


def _laplace_quantile(p: Array) -> Array:
    """Return the quantiles of Laplace noise of variance 1."""
    tail = np.minimum(p, 1.0 - p)
    return np.sign(p - 0.5) * -np.log(2.0 * tail) / math.sqrt(2.0)


def population_tail(
    noise: NoiseDistribution, coefficients: Sequence[float], distance: ArrayLike, rows: ArrayLike, variances: ArrayLike
) -> Array:
    """Return P(|noise + √(nσ²)·Z| > distance), averaged over the last axis of the variances σ².

    Parameters
    ----------
    noise : NoiseDistribution
    coefficients : sequence of float
        Those of the noise.
    distance, rows : array_like
        |S̃ − μÑ| and n.
    variances : array_like
        σ², times the largest number of rows of a person, with one axis more.
    """
    count = np.maximum(np.asarray(rows, dtype=np.float64), 0.0)[..., None]
    sampling = np.sqrt(count * np.asarray(variances))
    return np.asarray(noise_normal_tail(noise, coefficients, sampling, np.asarray(distance)[..., None]).mean(axis=-1))


def find_boundary(start: float, end: float, tail: Callable[[float], float], least: float) -> float:
    """Return the point between start and end from which on ``tail`` is not above ``least``; the end where it is above.

    >>> round(find_boundary(0.0, 2.0, lambda x: 4.0 - x * x, 2.0), 12)
    1.414213562373
    """
    if tail(end) >= least:
        return end
    return start + (end - start) * find_least(lambda share: tail(start + share * (end - start)), least, 0.0, 1.0)


def mean_interval(
    noise: NoiseDistribution,
    weights: tuple[float, float],
    total: float,
    count: float,
    variance: tuple[float, float],
    clusters: float,
    level: float,
    extra: float = 0.0,
) -> tuple[float, float]:
    """Return the interval for a population mean of rows between −1 and 1.

    Parameters
    ----------
    noise : NoiseDistribution
    weights : (float, float)
        a and b: those of the count (∞ where it is public) and of the sum.
    total, count : float
        S̃ and Ñ.
    variance : (float, float)
        The released variance, and the standard deviation of its noise.
    clusters : float
        The largest number of rows of a person; 0 for the mean of the rows themselves.
    level : float
    extra : float
        The standard deviation of a further error of the mean, taken as normal.

    Examples
    --------
    >>> from discreet.noise import GaussianNoise
    >>> low, high = mean_interval(GaussianNoise(3.0), (math.inf, 1.0), 0.0, 100.0, (0.16, 0.0), 1.0, 0.95)
    >>> round(low, 3), round(high, 3)
    (-0.098, 0.098)
    """
    a, b = weights
    rows = max(count, 1.0)
    start = float(np.clip(total / rows, -1.0, 1.0))

    def tail(mu: float) -> float:
        plausible = clusters * plausible_variances(*variance, 1.0 - mu**2, normal=noise.normal) + rows * extra**2
        distance = abs(total - mu * count)
        return float(population_tail(noise, [1.0 / b, mu / a], distance, rows, plausible))

    return find_boundary(start, -1.0, tail, 1.0 - level), find_boundary(start, 1.0, tail, 1.0 - level)


def share_interval(
    noise: NoiseDistribution,
    counts: Array,
    place: int,
    rows: float | None,
    clusters: float,
    level: float,
) -> tuple[float, float]:
    """Return the interval for the share of a cell, of rows or (where ``clusters`` is above 0) of the population.

    Parameters
    ----------
    noise : NoiseDistribution
    counts : array
        The released counts of all cells.
    place : int
        Which of them.
    rows : float or None
        The number of rows, where it is public.
    clusters : float
        The largest number of rows of a person; 0 for the share of the rows themselves.
    level : float

    Examples
    --------
    >>> from discreet.noise import LaplaceNoise
    >>> low, high = share_interval(LaplaceNoise(1.0), np.array([30.0, 70.0]), 0, 100.0, 1.0, 0.95)
    >>> round(low, 2), round(high, 2)
    (0.21, 0.4)
    """
    one, number = float(counts[place]), float(counts.sum()) if rows is None else float(rows)
    total = max(number, 1.0)
    others = 0 if rows is not None else len(counts) - 1
    start = min(max(one / total, 0.0), 1.0)

    def tail(p: float) -> float:
        coefficients, sampling = [1.0] if rows is not None else [1.0 - p], clusters * p * (1.0 - p)
        if others <= FEW:
            coefficients += [p] * others
        else:  # a sum of many draws is about normal
            sampling += others * p * p * noise.variance / total
        return float(population_tail(noise, coefficients, abs(one - p * number), total, [sampling]))

    return find_boundary(start, 0.0, tail, 1.0 - level), find_boundary(start, 1.0, tail, 1.0 - level)


def check_population(population: Any) -> bool:
    """Return whether intervals about the population are wanted; raise where it is not a bool."""
    if not isinstance(population, bool):
        raise ArgumentError("population", population, "True or False")
    return population


def largest_clusters(declared: Mapping[str, Any]) -> int:
    """Return the largest number of rows of a person, from the declarations of a release."""
    return int(declared.get("max_rows") or 1)


def each_interval(values: Array, interval: Callable[[tuple[int, ...]], tuple[float, float]]) -> tuple[Any, Any]:
    """Return both ends of an interval for each number of an array, from its place."""
    low, high = np.empty(values.shape), np.empty(values.shape)
    for place in np.ndindex(values.shape):
        low[place], high[place] = interval(place)
    return low, high
