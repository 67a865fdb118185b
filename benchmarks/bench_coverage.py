"""How often intervals hold what they are about, at a nominal 95 %: means, shares, variances, quantiles, coefficients.

    python benchmarks/bench_coverage.py [--populations fresh] [--repeats 2000] [--only mean,quantile] [--json new.json]

Rows are drawn again and again from a known population, and the distribution of a release is simulated: the exact sums
of a sample with draws of the noise, or draws of the exponential mechanism. Intervals are those of the library.
Regressions are fitted with the library itself. A line of the table is a kind of data and a number of rows; it has the
least and the largest coverage over three ε, both relations, and Laplace and Gaussian noise.

The constants of intervals were chosen with the populations ``TUNING``. The populations ``FRESH`` were written down
before anything was measured on them, with other shapes, numbers of rows and ε, and nothing may be chosen by them: they
are the check.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.door.release import PublicSize
from discreet.guarantees.normal import normal_mu
from discreet.noise import GaussianNoise, LaplaceNoise, NoiseDistribution
from discreet.queries.bound import Bound
from discreet.queries.counts.rounded_numbers import RoundedNumbers
from discreet.queries.moments.deviations import DeviationProducts
from discreet.queries.moments.moments import Moments, Squares
from discreet.queries.ranks.column_steps import FINEST
from discreet.records import Block, Box, as_records
from discreet.statistics.comparisons.contrasts import BINARY, Contrast
from discreet.statistics.comparisons.measured import SQUARES, SUM
from discreet.statistics.correlations import Correlation
from discreet.statistics.deviation_matrices import DeviationMatrix
from discreet.statistics.means import COUNTED, SQUARED, SQUARED_COUNTED
from discreet.statistics.population import plausible_variances, population_tail
from discreet.statistics.quantile_spans import REACH, SAMPLING, QuantileSpans
from discreet.statistics.rounding import decimal_steps, find_step, rounding_share

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

LEVEL, DELTA = 0.95, 1e-6
RELATIONS = ("replace-one", "add-remove")
CHUNK = 2**22  # numbers at once
MIXING = np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Populations:
    """Populations with known parameters, and the settings in which intervals are tried.

    Attributes
    ----------
    columns : mapping
        How a column is drawn, and its bounds; for means and variances.
    ranked : mapping
        The same, and the step of its values or None; for quantiles.
    rounded : mapping
        The same for columns of multiples of a step that is not declared.
    shares : tuple of float
        Of a category.
    pairs : mapping
        How two groups are drawn, in [0, 1], and which share of the rows is in the first; for differences.
    joint : mapping
        How two columns are drawn together, and their bounds; for covariances and correlations.
    features, residuals : callables
        How three features and residuals of variance 4 of a linear regression are drawn.
    linear, logistic : tuples of float
        The true coefficients, the intercept last.
    number : tuple
        How a column beside a category is drawn, and its bounds; for regressions.
    wards : tuple of float
        The shares of the category's values, the reference first.
    effects : mapping
        The true coefficients for each kind of regression: of the number, of the further values, and the intercept.
    sizes, fitted : tuples of int
        Numbers of rows; for regressions.
    epsilons : tuple of float
    """

    columns: Mapping[str, tuple[Draw, float, float]]
    ranked: Mapping[str, tuple[Draw, float, float, float | None]]
    rounded: Mapping[str, tuple[Draw, float, float, float]]
    shares: tuple[float, ...]
    pairs: Mapping[str, tuple[Draw, Draw, float]]
    joint: Mapping[str, tuple[Draw, tuple[float, float], tuple[float, float]]]
    features: Callable[[np.random.Generator, int], Array]
    residuals: Draw
    linear: tuple[float, ...]
    logistic: tuple[float, ...]
    number: tuple[Draw, float, float]
    wards: tuple[float, ...]
    effects: Mapping[str, tuple[float, ...]]
    sizes: tuple[int, ...]
    fitted: tuple[int, ...]
    epsilons: tuple[float, ...]

    def settings(self) -> Iterator[tuple[str, float, bool]]:
        """Yield every relation, ε and kind of noise."""
        for relation in RELATIONS:
            for epsilon in self.epsilons:
                for gaussian in (False, True):
                    yield relation, epsilon, gaussian


def _mixture(share: float) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return np.where(rng.random(shape) < share, rng.normal(20.0, 3.0, shape), rng.normal(80.0, 5.0, shape))

    return draw


def _normal(mean: float, std: float) -> Draw:
    return lambda rng, shape: np.clip(rng.normal(mean, std, shape), 0.0, 1.0)


def _binary(share: float) -> Draw:
    return lambda rng, shape: (rng.random(shape) < share).astype(np.float64)


def _jointly(of: Callable[[Array], Array]) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        z = rng.normal(size=(*shape, 2))
        z[..., 1] = 0.5 * z[..., 0] + math.sqrt(0.75) * z[..., 1]
        return of(z)

    return draw


def _rounded(draw: Draw, step: float) -> Draw:
    return lambda rng, shape: step * np.round(draw(rng, shape) / step)


def _scores(*shares: float) -> Draw:
    """Return whole numbers from 1 on with these shares."""
    return lambda rng, shape: 1.0 + np.searchsorted(np.cumsum(shares)[:-1], rng.random(shape), side="right")


def _exposed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return a normal column, and one of zeros and ones that are more frequent where it is large."""
    x = rng.normal(40.0, 10.0, shape)
    return np.stack([x, (rng.random(shape) < 1.0 / (1.0 + np.exp(-(x - 45.0) / 8.0))).astype(np.float64)], axis=-1)


TUNED_COLUMNS: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda rng, shape: rng.normal(40.0, 10.0, shape), 0.0, 120.0),
    "lognormal": (lambda rng, shape: rng.lognormal(3.0, 0.7, shape), 0.0, 200.0),
    "Bernoulli": (_binary(0.3), 0.0, 1.0),
}
TUNING = Populations(
    columns=TUNED_COLUMNS,
    ranked={
        "normal": (*TUNED_COLUMNS["normal"], None),
        "whole numbers, step=1": (lambda rng, shape: np.round(rng.normal(40.0, 10.0, shape)), 0.0, 120.0, 1.0),
        "scores, median at an edge, step=1": (
            lambda rng, shape: np.round(np.clip(rng.normal(6.51, 2.0, shape), 0.0, 10.0)),
            0.0,
            10.0,
            1.0,
        ),
        "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), 0.0, 1000.0, None),
        "Pareto": (lambda rng, shape: 1.0 + rng.pareto(1.5, shape), 1.0, 10_000.0, None),
        "two clusters, 60 to 40": (_mixture(0.6), 0.0, 120.0, None),
        "two clusters, 70 to 30": (_mixture(0.7), 0.0, 120.0, None),
    },
    rounded={
        "ages, whole": (_rounded(TUNED_COLUMNS["normal"][0], 1.0), 0.0, 120.0, 1.0),
        "days, whole": (_rounded(lambda rng, shape: rng.lognormal(1.5, 0.8, shape), 1.0), 0.0, 365.0, 1.0),
        "scores 1 to 5": (_scores(0.05, 0.1, 0.2, 0.4, 0.25), 1.0, 5.0, 1.0),
        "scores 1 to 5, median at an edge": (_scores(0.1, 0.2, 0.2, 0.3, 0.2), 1.0, 5.0, 1.0),
        "prices, to 10": (_rounded(lambda rng, shape: rng.lognormal(5.0, 0.6, shape), 10.0), 0.0, 2000.0, 10.0),
    },
    shares=(0.05, 0.3),
    pairs={
        "normal, a third and the rest": (_normal(0.5, 0.15), _normal(0.45, 0.15), 1.0 / 3.0),
        "shares of 0.3 and 0.4": (_binary(0.3), _binary(0.4), 0.5),
    },
    joint={
        "normal, ρ = 0.5": (_jointly(lambda z: 40.0 + 10.0 * z), (0.0, 80.0), (0.0, 80.0)),
        "lognormal, ρ of logarithms 0.5": (_jointly(lambda z: np.exp(3.0 + 0.5 * z)), (0.0, 100.0), (0.0, 100.0)),
        "normal and Bernoulli": (_exposed, (0.0, 80.0), (0.0, 1.0)),
    },
    features=lambda rng, rows: rng.normal(size=(rows, 3)) @ MIXING,
    residuals=lambda rng, shape: 2.0 * rng.normal(size=shape),
    linear=(3.0, -2.0, 0.5, 5.0),
    logistic=(1.0, -0.7, 0.3, -0.3),
    number=TUNED_COLUMNS["normal"],
    wards=(0.5, 0.3, 0.15, 0.05),
    effects={"linear": (0.1, 1.0, -0.8, 2.0, 5.0), "logistic": (0.04, 0.8, -0.5, -1.0, -1.6)},
    sizes=(200, 2000, 20_000),
    fitted=(2000, 20_000),
    epsilons=(0.3, 1.0, 3.0),
)


def _spikes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return whole numbers from 0 to 30, of which 45 % are 0, 15 % are 7 and 10 % are 14."""
    which = rng.random(shape)
    rest = rng.integers(0, 31, shape).astype(np.float64)
    return np.where(which < 0.45, 0.0, np.where(which < 0.6, 7.0, np.where(which < 0.7, 14.0, rest)))


def _heaped(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return whole ages, every second of them to five years."""
    age = rng.gamma(6.0, 8.0, shape)
    return np.where(rng.random(shape) < 0.5, 5.0 * np.round(age / 5.0), np.round(age))


def _pains(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.55, rng.binomial(10, 0.2, shape), rng.binomial(10, 0.7, shape)).astype(float)


def _lumps(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return numbers in [0, 1] of a narrow lump and of a wide one."""
    return np.where(rng.random(shape) < 0.35, rng.beta(30.0, 90.0, shape), rng.beta(8.0, 3.0, shape))


def _other_features(rng: np.random.Generator, rows: int) -> Array:
    """Return a skewed column, a column of zeros and ones, and a uniform one that depends on it."""
    exposed = (rng.random(rows) < 0.2).astype(np.float64)
    return np.stack([4.0 * rng.beta(1.5, 6.0, rows), exposed, rng.uniform(-2.0, 2.0, rows) + 0.5 * exposed], axis=1)


def _parts(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    whole = 20.0 * rng.weibull(0.8, shape)
    return np.stack([whole, whole * rng.beta(2.0, 3.0, shape)], axis=-1)


def _apart(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    first = rng.random(shape) < 0.35
    x = np.where(first, rng.beta(30.0, 90.0, shape), rng.beta(8.0, 3.0, shape))
    return np.stack([x, np.where(first, 3.0, 1.0) + rng.logistic(0.0, 0.6, shape)], axis=-1)


def _spiked(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    days = _spikes(rng, shape)
    return np.stack([days, 45.0 + 0.8 * days + 6.0 * rng.standard_t(3.0, shape)], axis=-1)


FRESH_COLUMNS: dict[str, tuple[Draw, float, float]] = {
    "Weibull, shape 0.8": (lambda rng, shape: 20.0 * rng.weibull(0.8, shape), 0.0, 150.0),
    "two lumps": (_lumps, 0.0, 1.0),
    "spikes": (_spikes, 0.0, 30.0),
    "Student t, 3 degrees, clipped": (lambda rng, shape: 50.0 + 8.0 * rng.standard_t(3.0, shape), 0.0, 100.0),
    "beta(0.5, 3)": (lambda rng, shape: 10.0 * rng.beta(0.5, 3.0, shape), 0.0, 10.0),
}
FRESH = Populations(
    columns=FRESH_COLUMNS,
    ranked={name: (*column, 1.0 if name == "spikes" else None) for name, column in FRESH_COLUMNS.items()},
    rounded={
        "visits, Poisson": (lambda rng, shape: rng.poisson(3.0, shape).astype(np.float64), 0.0, 50.0, 1.0),
        "ages, half of them to 5": (_heaped, 0.0, 110.0, 1.0),
        "temperatures, to 0.1": (_rounded(lambda rng, shape: rng.logistic(37.2, 0.4, shape), 0.1), 30.0, 45.0, 0.1),
        "pain, 0 to 10, two humps": (_pains, 0.0, 10.0, 1.0),
        "incomes, to 100": (_rounded(lambda rng, shape: rng.lognormal(7.6, 0.5, shape), 100.0), 0.0, 20_000.0, 100.0),
        "spikes": (_spikes, 0.0, 30.0, 1.0),
    },
    shares=(0.1, 0.62),
    pairs={
        "beta(0.5, 3) and beta(0.7, 3), one to four": (
            lambda rng, shape: rng.beta(0.5, 3.0, shape),
            lambda rng, shape: rng.beta(0.7, 3.0, shape),
            0.2,
        ),
        "two lumps and uniform": (_lumps, lambda rng, shape: rng.random(shape), 0.5),
        "shares of 0.1 and 0.18, one to two": (_binary(0.1), _binary(0.18), 1.0 / 3.0),
    },
    joint={
        "Weibull and a noisy part of it": (_parts, (0.0, 150.0), (0.0, 100.0)),
        "two groups, apart in both columns": (_apart, (0.0, 1.0), (-5.0, 10.0)),
        "spikes and Student t": (_spiked, (0.0, 30.0), (0.0, 100.0)),
    },
    features=_other_features,
    residuals=lambda rng, shape: rng.exponential(2.0, shape) - 2.0,
    linear=(1.5, -1.0, 0.7, 2.0),
    logistic=(0.8, -0.9, 0.6, 0.4),
    number=(lambda rng, shape: rng.lognormal(1.5, 0.8, shape), 0.0, 100.0),
    wards=(0.62, 0.3, 0.08),
    effects={"linear": (0.3, -1.5, 2.5, 4.0), "logistic": (-0.06, 0.6, -0.9, 0.4)},
    sizes=(150, 1000, 8000),
    fitted=(1000, 8000),
    epsilons=(0.2, 0.7, 2.0),
)
POPULATIONS = {"tuning": TUNING, "fresh": FRESH}


def samples(draw: Draw, rows: int, repeats: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield samples of the population, of shape (some repeats, rows)."""
    size = max(CHUNK // rows, 1)
    for start in range(0, repeats, size):
        yield draw(rng, (min(size, repeats - start), rows))


def additive(bound: Bound, relation: str, epsilon: float, gaussian: bool) -> NoiseDistribution:
    """Return the noise of a query with this bound."""
    replaced = relation == "replace-one"
    if gaussian:
        return GaussianNoise((bound.replace("l2") if replaced else bound.l2) / normal_mu(epsilon, DELTA))
    return LaplaceNoise((bound.replace("l1") if replaced else bound.norm("l1")) / epsilon)


def cover_means(
    totals: Array, squares: Array, rows: int, mean: float, setting: tuple[str, float, bool], rng: np.random.Generator
) -> float:
    """Return the coverage of population intervals for the mean of numbers in [−1, 1], from sums of y and y²."""
    relation, epsilon, gaussian = setting
    counted = relation == "add-remove"
    shares = (COUNTED, 1.0 - COUNTED, (1.0 - COUNTED) * SQUARED_COUNTED) if counted else (1.0, 1.0, SQUARED)
    query = Squares(Box([-1.0], [1.0]), counted, shares)
    noise, (a, b, c) = additive(query.bound, relation, epsilon, gaussian), query.amplitudes
    return passes(totals, squares, rows, np.full(len(totals), mean), noise, (a, b, c), np.zeros(len(totals)), rng)


def passes(
    totals: Array,
    squares: Array,
    rows: int,
    truth: Array,
    noise: NoiseDistribution,
    weights: tuple[float, float, float],
    extra: Array,
    rng: np.random.Generator,
) -> float:
    """Return how often the true mean passes the test that the interval of a mean inverts, with draws of the noise."""
    a, b, c = weights
    e0, e1, e2 = noise.simulate(rng, (3, len(totals)))
    count = rows + e0 / a if a else np.full(len(totals), float(rows))
    total, square, n = totals + e1 / b, 2.0 * squares - rows + e2 / c, np.maximum(count, 1.0)
    m, t = total / n, square / n
    last = np.abs(t / 2.0 - 2.0 * m * m) / a if a else 0.0
    stds = np.sqrt((0.5 / c) ** 2 + (2.0 * m / b) ** 2 + last**2) * math.sqrt(noise.variance) / n
    plausible = plausible_variances((t + 1.0) / 2.0 - m * m, stds, 1.0 - truth**2, normal=noise.normal)
    plausible = plausible + (n * extra**2)[:, None]
    coefficients = [1.0 / b, float(np.median(truth)) / a] if a else [1.0 / b]
    tails = population_tail(noise, coefficients, np.abs(total - truth * count), n, plausible)
    return float((tails >= 1.0 - LEVEL).mean())


def means(of: Populations, repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of means."""
    for name, (draw, low, high) in of.columns.items():

        def scaled(x: Array, low: float = low, high: float = high) -> Array:
            return (np.clip(x, low, high) - (low + high) / 2.0) / ((high - low) / 2.0)

        mean = float(np.mean([scaled(draw(rng, (2_000_000,))).mean() for _ in range(20)]))
        for rows in of.sizes:
            sums = [(scaled(x).sum(axis=1), (scaled(x) ** 2).sum(axis=1)) for x in samples(draw, rows, repeats, rng)]
            totals, squares = (np.concatenate(part) for part in zip(*sums, strict=True))
            for setting in of.settings():
                yield _cell("mean", name, rows, setting, cover_means(totals, squares, rows, mean, setting, rng))


def variances(of: Populations, repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of variances."""
    for name, (draw, low, high) in of.columns.items():
        width = high - low  # the column is scaled to [s, s + 1]
        many = np.clip(draw(rng, (8_000_000,)), low, high) / width
        mean, truth = float(many.mean()), float(many.var())
        for rows in of.sizes:
            sums = []
            for x in samples(draw, rows, repeats, rng):
                y = np.clip(x, low, high) / width - mean
                sums.append([(y**k).sum(axis=1) for k in (1, 2, 3, 4)])
            powers = np.concatenate(sums, axis=1)
            for setting in of.settings():
                held = cover_variances(powers, rows, (mean, truth, low / width), setting, rng)
                yield _cell("variance", name, rows, setting, held)


def cover_variances(
    powers: Array,
    rows: int,
    truth: tuple[float, float, float],
    setting: tuple[str, float, bool],
    rng: np.random.Generator,
) -> float:
    """Return the coverage of variances, from sums of the first four powers of deviations from the true mean."""
    (relation, epsilon, gaussian), (mean, variance, start) = setting, truth
    counted, (s1, s2, s3, s4) = relation == "add-remove", powers
    budget = normal_mu(epsilon, DELTA) if gaussian else epsilon
    share = min(max(math.sqrt(8.0 / ((1000 if counted else rows) * budget)), 0.15), 0.4)
    a, b = (0.5, math.sqrt(0.75)) if counted else (0.0, 1.0)
    first = Moments(Box([-1.0], [1.0]), (a * a, b * b, 0.0))
    noise = additive(first.bound, relation, share * epsilon, gaussian)
    e0, e1 = noise.simulate(rng, (2, len(s1)))
    count = np.maximum(rows + (e0 / a if counted else 0.0), 1.0)
    m = np.clip((2.0 * (s1 + rows * (mean - start - 0.5)) + e1 / b) / count, -1.0, 1.0)
    v = noise.variance * (1.0 / b**2 + ((m / a) ** 2 if counted else 0.0)) / count**2 / 4.0
    v, center = np.minimum(v, 0.25), start + 0.5 + m / 2.0
    most, d = np.maximum(center - start, start + 1.0 - center) ** 2, center - mean
    u = s2 - 2.0 * d * s1 + rows * d**2
    uu = s4 - 4.0 * d * s3 + 6.0 * d**2 * s2 - 4.0 * d**3 * s1 + rows * d**4
    query = Squares(Box([-1.0], [1.0]), counted, (1.0 / 3.0, 1.0, 1.0 / 16.0) if counted else (1.0, 1.0, 1.0 / 9.0))
    noise = additive(query.bound, relation, (1.0 - share) * epsilon, gaussian)
    target = np.clip(2.0 * (variance + v) / most - 1.0, -1.0, 1.0)
    extra = math.sqrt(2.0 if gaussian else 5.0) * v / most * 2.0
    totals, squares = 2.0 * u / most - rows, 4.0 * uu / most**2 - 4.0 * u / most + rows
    return passes(totals, squares, rows, target, noise, query.amplitudes, extra, rng)


def shares(of: Populations, repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the shares of two categories."""
    for p in of.shares:
        for rows in of.sizes:
            counts = rng.binomial(rows, p, repeats).astype(np.float64)
            for setting in of.settings():
                relation, epsilon, gaussian = setting
                noise = additive(Bound(1.0, 1.0, math.sqrt(2.0), 2.0), relation, epsilon, gaussian)
                e, f = noise.simulate(rng, (2, repeats))
                known = relation == "replace-one"
                number = np.full(repeats, float(rows)) if known else rows + e + f
                coefficients, n = [1.0] if known else [1.0 - p, p], np.maximum(number, 1.0)
                sampling = np.full((repeats, 1), p * (1.0 - p))
                tails = population_tail(noise, coefficients, np.abs(counts + e - p * number), n, sampling)
                yield _cell("share", f"p = {p}", rows, setting, float((tails >= 1.0 - LEVEL).mean()))


@dataclass(frozen=True)
class Simulated:
    """A release that was simulated for many samples at once, as one of many groups."""

    values: Mapping[str, Array]
    parts: Mapping[str, Any]
    noise: NoiseDistribution
    size: PublicSize
    declared: Mapping[str, Any]

    def __getitem__(self, part: str) -> Array:
        return self.values[part]


def matrices(of: Populations, repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the covariance and of the correlation of two columns."""
    for name, (draw, *bounds) in of.joint.items():
        low, high = np.array(bounds).T
        many = np.clip(draw(rng, (4_000_000,)), low, high)
        center, truth = many.mean(axis=0), np.cov(many.T, bias=True)
        for rows in of.sizes:
            powers = []
            for start in range(0, repeats, max(CHUNK // rows, 1)):
                shape = (min(max(CHUNK // rows, 1), repeats - start), rows)
                x, y = np.moveaxis(np.clip(draw(rng, shape), low, high) - center, -1, 0)
                powers.append([[(x**i * y**j).sum(axis=1) for j in range(5)] for i in range(5)])
            sums = np.concatenate(powers, axis=2)  # Σ x^i·y^j about the true means
            for setting in of.settings():
                held = cover_matrices(sums, rows, center, truth, (low, high), setting, rng)
                for kind, share in zip(("covariance", "correlation"), held, strict=True):
                    yield _cell(kind, name, rows, setting, share)


def cover_matrices(
    sums: Array,
    rows: int,
    center: Array,
    truth: Array,
    bounds: tuple[Array, Array],
    setting: tuple[str, float, bool],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the coverage of the covariance and of the correlation, from sums of powers about the true means."""
    (relation, epsilon, gaussian), (low, high) = setting, bounds
    counted, repeats = relation == "add-remove", sums.shape[2]
    budget = normal_mu(epsilon, DELTA) if gaussian else epsilon
    share = min(max(math.sqrt(16.0 / ((1000 if counted else rows) * budget)), 0.15), 0.4)
    box = Box(low, high)
    a, b = (0.5, math.sqrt(0.75)) if counted else (0.0, 1.0)
    noise = additive(Moments(box, (a * a, b * b, 0.0)).bound, relation, share * epsilon, gaussian)
    e = noise.simulate(rng, (3, repeats))
    count = np.maximum(rows + (e[0] / a if counted else np.zeros(repeats)), 1.0)[:, None]
    firsts = np.stack([sums[1, 0], sums[0, 1]], axis=1) + rows * (center - np.asarray(box.center))
    m = np.clip((firsts / np.asarray(box.scale) + e[1:].T / b) / count, -1.0, 1.0)
    centers = np.clip(np.asarray(box.from_unit(m)), low, high)
    own = np.eye(2) / b**2 + (m[:, :, None] * m[:, None, :] / a**2 if counted else 0.0)
    v = noise.variance * own * np.outer(box.scale, box.scale) / (count**2)[:, :, None]
    most = np.outer(high - low, high - low) / 4.0
    v = np.clip(v, -most, most)
    sizes = np.sqrt(np.diagonal(v, axis1=1, axis2=2))
    spread = np.where(np.eye(2) == 1.0, math.sqrt(2.0 if gaussian else 5.0), 1.0)
    reaches, shift = np.maximum(centers - low, high - centers), center - centers
    moved = np.zeros((5, 5, repeats))  # Σ (x − m̂)^i·(y − m̂)^j
    for i, j in np.ndindex(5, 5):
        for k, h in np.ndindex(i + 1, j + 1):
            part = math.comb(i, k) * math.comb(j, h) * shift[:, 0] ** (i - k) * shift[:, 1] ** (j - h)
            moved[i, j] += part * sums[k, h]

    def scaled(*powers: tuple[int, int]) -> Array:
        return np.stack([moved[i, j] / reaches[:, 0] ** i / reaches[:, 1] ** j for i, j in powers], axis=1)

    weights = (2.0 / 3.0, 1.0, 1.0 / 16.0) if counted else (1.0, 1.0, 1.0 / 9.0)
    query = DeviationProducts(box, counted, weights, (tuple(np.asarray(box.center).tolist()),))
    noise = additive(query.bound, relation, (1.0 - share) * epsilon, gaussian)
    exact = {
        "count": np.full((repeats, 1), float(rows)),
        "products": scaled((2, 0), (1, 1), (0, 2)),
        "squares": scaled((4, 0), (2, 2), (0, 4)),
        "cubes": scaled((3, 1), (1, 3)),
    }
    noisy = {
        part: exact[part] + noise.simulate(rng, exact[part].shape) / query.parts[part].weight for part in query.parts
    }
    size = PublicSize(None, False) if counted else PublicSize(rows, True)
    release: Any = Simulated(noisy, query.parts, noise, size, {})
    found = DeviationMatrix(release, reaches, v, spread * sizes[:, :, None] * sizes[:, None, :])
    outer, z, q = (part[:, 0, 1] for part in (found.outer, found.products, found.squares))
    number, kept = (np.broadcast_to(part[:, 0, 0], repeats) for part in found.counts)
    (a, b, c), mu = found.weights, (truth[0, 1] + v[:, 0, 1]) / outer
    stds = np.sqrt(noise.variance * (1.0 / c**2 + (2.0 * z / b) ** 2 + ((q - 2.0 * z * z) / a) ** 2)) / kept
    plausible = plausible_variances(q - z * z, stds, 1.0 - mu**2, normal=noise.normal)
    plausible = plausible + (kept * (found.offset_stds[:, 0, 1] / outer) ** 2)[:, None]
    tails = population_tail(noise, [1.0 / b, float(np.median(mu)) / a], np.abs(z * kept - mu * number), kept, plausible)
    rho, held = truth[0, 1] / math.sqrt(truth[0, 0] * truth[1, 1]), np.ones(repeats, dtype=np.bool_)
    answer = Correlation(
        np.zeros((repeats, 2, 2)),
        None,
        "row",
        (release,),
        ("x", "y"),
        None,
        (),
        False,
        None,
        found.covariances,
        found.errors,
    )  # type: ignore[arg-type]
    clear = ~np.asarray(answer.drowned(LEVEL))[:, 0, 1]
    for place in np.flatnonzero(clear):
        held[place] = found.correlation_tail(place, 0, 1, rho) >= 1.0 - LEVEL
    return float((tails >= 1.0 - LEVEL).mean()), float(held.mean())


def draw_ranks(x: Array, ends: tuple[float, float], aim: float, eta: float, rng: np.random.Generator) -> Array:
    """Return draws of the exponential mechanism around a rank, for sorted rows of distinct numbers."""
    rows = x.shape[1]
    reach = int(40.0 / eta) + 2
    first, last = max(int(aim) - reach, 0), min(int(aim) + reach, rows)
    first, last = min(first, rows), max(last, 0)
    left = np.concatenate([np.full((len(x), 1), ends[0]), x], axis=1)[:, first : last + 1]
    right = np.concatenate([x, np.full((len(x), 1), ends[1])], axis=1)[:, first : last + 1]
    with np.errstate(divide="ignore"):
        weights = np.log(np.maximum(right - left, 0.0)) - eta * np.abs(np.arange(first, last + 1) - aim)
    place = np.argmax(weights + rng.gumbel(size=weights.shape), axis=1)[:, None]
    low, high = (np.take_along_axis(side, place, axis=1)[:, 0] for side in (left, right))
    return np.asarray(low + rng.random(len(x)) * (high - low))


def draw_steps(counts: Array, aim: float, made_up: tuple[float, float], eta: float, rng: np.random.Generator) -> Array:
    """Return draws of the exponential mechanism among steps, from the number of rows at each of them."""
    counts = counts.copy()
    counts[:, 0] += made_up[0]
    counts[:, -1] += made_up[1]
    upto = np.cumsum(counts, axis=1)
    distance = np.maximum(np.maximum(aim + made_up[1] - upto, upto - counts - aim - made_up[1]), 0.0)
    return np.argmax(-eta * distance + rng.gumbel(size=counts.shape), axis=1).astype(np.float64)


def draw_between(
    counts: Array,
    grid: tuple[float, float],
    aim: float,
    made_up: tuple[float, float],
    eta: float,
    rng: np.random.Generator,
) -> Array:
    """Return draws of the exponential mechanism on the fine grid, from the number of rows at each multiple.

    ``grid`` has the first multiple and the step. Draws fall on multiples, each of which is one candidate, or between.
    """
    counts = counts.copy()
    counts[:, 0] += made_up[0]
    counts[:, -1] += made_up[1]
    aim, number, (first, step) = aim + made_up[1], counts.shape[1], grid
    upto = np.cumsum(counts, axis=1)
    at = -eta * np.maximum(np.maximum(aim - upto, upto - counts - aim), 0.0) - math.log(FINEST / (number - 1))
    between = -eta * np.abs(aim - upto[:, :-1])
    weights = np.concatenate([at, between], axis=1)
    place = np.argmax(weights + rng.gumbel(size=weights.shape), axis=1)
    inside = place >= number
    where = np.where(inside, place - number, place)
    return np.asarray(first + step * (where + inside * rng.random(len(counts))))


def quantiles(of: Populations, repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of single quantiles: of the rows, and of the population."""
    columns = {name: (*column, column[-1]) for name, column in of.ranked.items()}
    columns |= {f"{name}, no step": (*column[:3], None, column[3]) for name, column in of.rounded.items()}
    for name, (draw, low, high, step, rounding) in columns.items():
        many = np.sort(np.clip(draw(rng, (8_000_000,)), low, high))
        for rows in of.sizes:
            parts = [np.sort(np.clip(x, low, high), axis=1) for x in samples(draw, rows, repeats, rng)]
            for q in (0.5, 0.9):
                truth = float(many[int(q * len(many))])
                for relation in RELATIONS:
                    for epsilon in of.epsilons:
                        args = (parts, rows, q, (low, high, step), rounding, truth, relation, epsilon, rng)
                        covered, widths = cover_quantiles(*args)
                        for about, share, width in zip(("rows", "the population"), covered, widths, strict=True):
                            cell = _cell(
                                f"quantile of {about}", f"{name}, q = {q}", rows, (relation, epsilon, False), share
                            )
                            yield cell | {"width": round(width, 3)}


def cover_quantiles(
    parts: list[Array],
    rows: int,
    q: float,
    grid: tuple[float, float, float | None],
    rounding: float | None,
    truth: float,
    relation: str,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return both coverages, for rows and for the population, and median widths in standard deviations of the value."""
    (low, high, step), replaced = grid, relation == "replace-one"
    private = not replaced
    spread = 2.0 if replaced else 2.0 * max(q, 1.0 - q)
    count_share = rounding_share(None if private else rows, epsilon, 1) if step is None else 0.0
    eta, end = 0.6 * epsilon / spread, (0.4 - 0.05 * private - count_share) / 2.0 * epsilon / spread
    planned = 1000 if private else rows
    reach = max(REACH * -math.log1p(-LEVEL) / end, SAMPLING * math.sqrt(planned * q * (1.0 - q)))
    drawn: list[list[Array]] = []
    least, most = [], []
    for x in parts:
        if rounding is None:
            aims = ((q * rows, eta), (q * rows - reach, end), (q * rows + reach, end))
            drawn.append([draw_ranks(x, (low, high), aim, rate, rng) for aim, rate in aims])
        else:
            number = round((high - low) / rounding) + 1
            codes = np.round((x - low) / rounding).astype(np.int64) + number * np.arange(len(x))[:, None]
            counts = np.bincount(codes.ravel(), minlength=number * len(x)).reshape(len(x), number).astype(np.float64)
            asked = (((0.0, 0.0), eta), ((reach, 0.0), end), ((0.0, reach), end))
            if step is None:
                points = (low, rounding)
                drawn.append([draw_between(counts, points, q * rows, one, rate, rng) for one, rate in asked])
            else:
                drawn.append([low + step * draw_steps(counts, q * rows, one, rate, rng) for one, rate in asked])
        place = q * rows
        least.append(x[:, math.ceil(place - 1e-9) - 1])
        most.append(x[:, min(math.floor(place + 1e-9), rows - 1)] if abs(place - round(place)) < 1e-9 else least[-1])
    value, below, above = (np.concatenate(part)[:, None] for part in zip(*drawn, strict=True))
    number = float(rows) + (LaplaceNoise(1.0 / (0.05 * epsilon)).simulate(rng, (len(value), 1)) if private else 0.0)
    number = np.broadcast_to(np.round(number), value.shape)  # so that some are equal
    found = (
        find_rounding(parts, (low, high), number[:, 0], count_share * epsilon, replaced, rng) if step is None else None
    )
    lower, upper = np.empty((2, len(value))), np.empty((2, len(value)))
    for one in {None} if found is None else set(found):
        here = slice(None) if found is None else np.array([each == one for each in found])
        spans = QuantileSpans(
            values=value[here],
            below=below[here],
            above=above[here],
            levels=(q,),
            scales=[[(1.0 / eta,)]] * len(value[here]),
            end_scales=np.array([1.0 / end]),
            reaches=np.array([reach]),
            rows=number[here],
            clusters=1,
            grid=grid,
            candidates=FINEST + 1 if step is None else round((high - low) / step) + 1,
            rounding=one,
            exact=not private,
        )
        for place in (0, 1):
            ends = spans.interval(LEVEL, population=bool(place))
            lower[place, here], upper[place, here] = (side[:, 0] for side in ends)
    of_rows = (lower[0] <= np.concatenate(most) + 1e-9) & (np.concatenate(least) - 1e-9 <= upper[0])
    of_population = (lower[1] <= truth + 1e-9) & (truth - 1e-9 <= upper[1])
    first, second = np.median(upper - lower, axis=1) / max(np.std(value), 1e-12)
    return (float(of_rows.mean()), float(of_population.mean())), (float(first), float(second))


def find_rounding(
    parts: list[Array],
    ends: tuple[float, float],
    counted: Array,
    epsilon: float,
    replaced: bool,
    rng: np.random.Generator,
) -> list[float | None]:
    """Return the step that noisy counts of multiples find for each sample."""
    steps = decimal_steps(*ends)
    query = RoundedNumbers(Box([ends[0]], [ends[1]]), 0, ends, steps)
    noise, found = LaplaceNoise((2.0 if replaced else 1.0) / epsilon), []
    for x in parts:
        cells = query.numbers(Block(x.reshape(-1, 1), np.empty((x.size, 0), dtype=np.int64))).reshape(x.shape)
        for row, errors in zip(cells, noise.simulate(rng, (len(x), query.size)), strict=True):
            counts = np.bincount(row, minlength=query.size) + errors
            found.append(find_step(counts, counted[len(found)], steps))
    return found


def differences(of: Populations, repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the difference of two groups, in means or in shares."""
    for name, (first, second, share) in of.pairs.items():
        binary = name.startswith("shares")
        scores, squares = (BINARY, BINARY) if binary else (SUM, SQUARES)
        truth = np.subtract(*(np.mean([draw(rng, (2_000_000,)).mean() for _ in range(20)]) for draw in (first, second)))
        for rows in of.sizes:
            sizes = (round(share * rows), rows - round(share * rows))
            cells = []
            for draw, size in zip((first, second), sizes, strict=True):
                each = [(x.sum(axis=1), (x**2).sum(axis=1)) for x in samples(draw, size, repeats, rng)]
                y, yy = (np.concatenate(part) for part in zip(*each, strict=True))
                cells.append(np.stack([size - y, y] if binary else [size - 2.0 * y + yy, 2.0 * (y - yy), yy], axis=1))
            exact = np.stack(cells, axis=1)
            for setting in of.settings():
                noise = additive(Bound(1.0, 1.0, math.sqrt(2.0), 2.0), *setting)
                noisy, held = exact + noise.simulate(rng, exact.shape), []
                for start in range(0, repeats, 100):
                    one = noisy[start : start + 100]
                    contrast = Contrast(one, np.array([1.0, 0.0]), np.array(scores), np.array(squares), noise)
                    held.append(contrast.exceedance(np.full(len(one), truth)) >= 1.0 - LEVEL)
                yield _cell("difference", name, rows, setting, float(np.concatenate(held).mean()))


def regressions(
    of: Populations, repeats: int, rng: np.random.Generator, kinds: Sequence[str] = ("linear", "logistic")
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each coefficient of linear and logistic regression of numbers, fitted by the library."""
    for kind in kinds:
        truth = np.array(getattr(of, kind))

        def draw(rows: int, truth: Array = truth) -> tuple[Array, Array]:
            X = of.features(rng, rows)
            return X, X @ truth[:-1] + truth[-1]

        columns = {f"x{j}": dp.Number(-8, 8) for j in range(3)}
        for rows in of.fitted:
            yield from cover_coefficients(
                of, truth, kind, draw, columns, ("x0", "x1", "x2", "const"), rows, repeats, rng
            )


def by_ward(
    of: Populations, repeats: int, rng: np.random.Generator, kinds: Sequence[str] = ("linear", "logistic")
) -> Iterator[dict[str, Any]]:
    """Yield the same for a number and a category, whose values are more and less rare."""
    draw_number, low, high = of.number
    columns = {"number": dp.Number(low, high), "ward": dp.Category(range(len(of.wards)))}
    names = ("number beside wards", *(f"ward of {100.0 * share:g} %" for share in of.wards[1:]), "const beside wards")
    for kind in kinds:
        truth = np.array(of.effects[kind])

        def draw(rows: int, truth: Array = truth) -> tuple[Array, Array]:
            number = np.clip(draw_number(rng, (rows,)), low, high)
            ward = rng.choice(len(of.wards), rows, p=of.wards)
            return np.column_stack([number, ward]), truth[0] * number + np.append(0.0, truth[1:-1])[ward] + truth[-1]

        for rows in of.fitted:
            yield from cover_coefficients(of, truth, kind, draw, columns, names, rows, repeats, rng)


def cover_coefficients(
    of: Populations,
    truth: Array,
    kind: str,
    draw: Callable[[int], tuple[Array, Array]],
    columns: Mapping[str, Any],
    names: Sequence[str],
    rows: int,
    repeats: int,
    rng: np.random.Generator,
) -> Iterator[dict[str, Any]]:
    """Yield coverage, how often a coefficient was identified, and the median width where it was, for each of them."""
    warnings.simplefilter("ignore")
    target = dp.Number(-40, 40) if kind == "linear" else dp.Category([0, 1])
    schema = dp.Schema({**columns, "y": target})
    for epsilon in of.epsilons:
        ends = np.empty((repeats, 2, len(truth)))
        for place in range(repeats):
            X, line = draw(rows)
            if kind == "linear":
                y, model = line + of.residuals(rng, (rows,)), dp.LinearRegression(epsilon=epsilon)
            else:
                y = rng.random(rows) < 1.0 / (1.0 + np.exp(-line))
                model = dp.LogisticRegression(epsilon=epsilon, inference=True)
            curator = dp.Curator(as_records(np.column_stack([X, y]), schema=schema))
            ends[place] = model.fit(curator.only([*columns, "y"]), "y").interval(LEVEL)
        held = ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean(axis=0)
        known = np.isfinite(ends).all(axis=1)
        for place, name in enumerate(names):
            cell = _cell(f"{kind} regression", name, rows, ("replace-one", epsilon, True), float(held[place]))
            widths = (ends[:, 1] - ends[:, 0])[known[:, place], place]
            more = {"width": float(f"{np.median(widths):.4g}")} if len(widths) else {}
            yield cell | {"repeats": repeats, "identified": round(float(known[:, place].mean()), 4)} | more


def _cell(kind: str, data: str, rows: int, setting: tuple[str, float, bool], coverage: float) -> dict[str, Any]:
    relation, epsilon, gaussian = setting
    noise = "Gaussian" if gaussian else "Laplace"
    return {
        "kind": kind,
        "data": data,
        "rows": rows,
        "relation": relation,
        "epsilon": epsilon,
        "noise": noise,
        "coverage": round(coverage, 4),
    }


KINDS: dict[str, Callable[[Populations, int, np.random.Generator], Iterator[dict[str, Any]]]] = {
    "mean": means,
    "share": shares,
    "variance": variances,
    "matrix": matrices,
    "quantile": lambda of, repeats, rng: quantiles(replace(of, rounded={}), repeats, rng),
    "rounded": lambda of, repeats, rng: quantiles(replace(of, ranked={}), repeats, rng),
    "difference": differences,
    "linear": partial(regressions, kinds=["linear"]),
    "logistic": partial(regressions, kinds=["logistic"]),
    "linear by ward": partial(by_ward, kinds=["linear"]),
    "logistic by ward": partial(by_ward, kinds=["logistic"]),
}


def show(cells: list[dict[str, Any]]) -> None:
    """Print a table: for each kind, data and number of rows, the least and the largest coverage."""
    print("| interval of | data | n | coverage, % |\n| --- | --- | --- | --- |")
    groups: dict[tuple[Any, ...], list[float]] = {}
    for cell in cells:
        groups.setdefault((cell["kind"], cell["data"], cell["rows"]), []).append(100.0 * cell["coverage"])
    for (kind, data, rows), values in groups.items():
        print(f"| {kind} | {data} | {rows} | {min(values):.1f} to {max(values):.1f} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--populations", choices=[*POPULATIONS], default="tuning")
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    cells: list[dict[str, Any]] = []
    for name in given.only.split(","):
        new = list(KINDS[name](POPULATIONS[given.populations], given.repeats, np.random.default_rng(given.seed)))
        show(new)
        cells += new
    if given.json is not None:
        about = {"populations": given.populations, "repeats": given.repeats, "level": LEVEL}
        given.json.write_text(json.dumps(about | {"cells": cells}, separators=(",", ":")))


if __name__ == "__main__":
    main()
