"""How often intervals hold what they are about, at a nominal 95 %: means, shares, variances, quantiles, coefficients.

    python benchmarks/bench_coverage.py [--repeats 2000] [--only mean,quantile] [--json coverage.json]

Rows are drawn again and again from a known population, and the distribution of a release is simulated: the exact sums
of a sample with draws of the noise, or draws of the exponential mechanism. Intervals are those of the library.
Regressions are fitted with the library itself, half (2,000 rows) or a quarter (20,000) as often. A line of the table
is a kind of data and a number of rows; it has the least and the largest coverage over ε = 0.3, 1 and 3, both relations,
and Laplace and Gaussian noise.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.guarantees.normal import normal_mu
from discreet.noise import GaussianNoise, LaplaceNoise, NoiseDistribution
from discreet.queries.bound import Bound
from discreet.queries.moments.moments import Moments, Squares
from discreet.records import Box
from discreet.statistics.means import COUNTED, SQUARED, SQUARED_COUNTED
from discreet.statistics.population import plausible_variances, population_tail
from discreet.statistics.quantile_spans import REACH, SAMPLING, QuantileSpans

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

LEVEL, DELTA = 0.95, 1e-6
SIZES, EPSILONS = (200, 2000, 20_000), (0.3, 1.0, 3.0)
RELATIONS = ("replace-one", "add-remove")
CHUNK = 2**22  # numbers at once

COLUMNS: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda rng, shape: rng.normal(40.0, 10.0, shape), 0.0, 120.0),
    "lognormal": (lambda rng, shape: rng.lognormal(3.0, 0.7, shape), 0.0, 200.0),
    "Bernoulli": (lambda rng, shape: (rng.random(shape) < 0.3).astype(np.float64), 0.0, 1.0),
}


def _mixture(share: float) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return np.where(rng.random(shape) < share, rng.normal(20.0, 3.0, shape), rng.normal(80.0, 5.0, shape))

    return draw


RANKED: dict[str, tuple[Draw, float, float, float | None]] = {
    "normal": (*COLUMNS["normal"], None),
    "whole numbers, step=1": (lambda rng, shape: np.round(rng.normal(40.0, 10.0, shape)), 0.0, 120.0, 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), 0.0, 1000.0, None),
    "Pareto": (lambda rng, shape: 1.0 + rng.pareto(1.5, shape), 1.0, 10_000.0, None),
    "two clusters, 60 to 40": (_mixture(0.6), 0.0, 120.0, None),
    "two clusters, 70 to 30": (_mixture(0.7), 0.0, 120.0, None),
}


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


def settings() -> Iterator[tuple[str, float, bool]]:
    """Yield every relation, ε and kind of noise."""
    for relation in RELATIONS:
        for epsilon in EPSILONS:
            for gaussian in (False, True):
                yield relation, epsilon, gaussian


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


def means(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of means."""
    for name, (draw, low, high) in COLUMNS.items():

        def scaled(x: Array, low: float = low, high: float = high) -> Array:
            return (np.clip(x, low, high) - (low + high) / 2.0) / ((high - low) / 2.0)

        mean = float(np.mean([scaled(draw(rng, (2_000_000,))).mean() for _ in range(20)]))
        for rows in SIZES:
            sums = [(scaled(x).sum(axis=1), (scaled(x) ** 2).sum(axis=1)) for x in samples(draw, rows, repeats, rng)]
            totals, squares = (np.concatenate(part) for part in zip(*sums, strict=True))
            for setting in settings():
                yield _cell("mean", name, rows, setting, cover_means(totals, squares, rows, mean, setting, rng))


def variances(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of variances."""
    for name, (draw, low, high) in COLUMNS.items():
        width = high - low  # the column is scaled to [s, s + 1]
        many = np.clip(draw(rng, (8_000_000,)), low, high) / width
        mean, truth = float(many.mean()), float(many.var())
        for rows in SIZES:
            sums = []
            for x in samples(draw, rows, repeats, rng):
                y = np.clip(x, low, high) / width - mean
                sums.append([(y**k).sum(axis=1) for k in (1, 2, 3, 4)])
            powers = np.concatenate(sums, axis=1)
            for setting in settings():
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


def shares(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the shares of two categories."""
    for p in (0.05, 0.3):
        for rows in SIZES:
            counts = rng.binomial(rows, p, repeats).astype(np.float64)
            for setting in settings():
                relation, epsilon, gaussian = setting
                noise = additive(Bound(1.0, 1.0, math.sqrt(2.0), 2.0), relation, epsilon, gaussian)
                e, f = noise.simulate(rng, (2, repeats))
                known = relation == "replace-one"
                number = np.full(repeats, float(rows)) if known else rows + e + f
                coefficients, n = [1.0] if known else [1.0 - p, p], np.maximum(number, 1.0)
                sampling = np.full((repeats, 1), p * (1.0 - p))
                tails = population_tail(noise, coefficients, np.abs(counts + e - p * number), n, sampling)
                yield _cell("share", f"p = {p}", rows, setting, float((tails >= 1.0 - LEVEL).mean()))


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


def quantiles(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of single quantiles: of the rows, and of the population."""
    for name, (draw, low, high, step) in RANKED.items():
        many = np.sort(np.clip(draw(rng, (8_000_000,)), low, high))
        for rows in SIZES:
            parts = [np.sort(np.clip(x, low, high), axis=1) for x in samples(draw, rows, repeats, rng)]
            for q in (0.5, 0.9):
                truth = float(many[int(q * len(many))])
                for relation in RELATIONS:
                    for epsilon in EPSILONS:
                        args = (parts, rows, q, (low, high, step), truth, relation, epsilon, rng)
                        of_rows, of_population, width = cover_quantiles(*args)
                        setting = (relation, epsilon, False)
                        yield _cell("quantile of rows", f"{name}, q = {q}", rows, setting, of_rows) | {"width": width}
                        yield _cell("quantile of the population", f"{name}, q = {q}", rows, setting, of_population)


def cover_quantiles(
    parts: list[Array],
    rows: int,
    q: float,
    grid: tuple[float, float, float | None],
    truth: float,
    relation: str,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Return the coverage for rows and for the population, and the mean width in standard deviations of the value."""
    (low, high, step), replaced = grid, relation == "replace-one"
    private = not replaced
    spread = 2.0 if replaced else 2.0 * max(q, 1.0 - q)
    eta, end = 0.6 * epsilon / spread, (0.4 - 0.05 * private) / 2.0 * epsilon / spread
    planned = 1000 if private else rows
    reach = max(REACH * -math.log1p(-LEVEL) / end, SAMPLING * math.sqrt(planned * q * (1.0 - q)))
    drawn: list[list[Array]] = []
    least, most = [], []
    for x in parts:
        if step is None:
            aims = ((q * rows, eta), (q * rows - reach, end), (q * rows + reach, end))
            drawn.append([draw_ranks(x, (low, high), aim, rate, rng) for aim, rate in aims])
        else:
            number = round((high - low) / step) + 1
            codes = np.round((x - low) / step).astype(np.int64) + number * np.arange(len(x))[:, None]
            counts = np.bincount(codes.ravel(), minlength=number * len(x)).reshape(len(x), number).astype(np.float64)
            asked = (((0.0, 0.0), eta), ((reach, 0.0), end), ((0.0, reach), end))
            drawn.append([low + step * draw_steps(counts, q * rows, one, rate, rng) for one, rate in asked])
        place = q * rows
        least.append(x[:, math.ceil(place - 1e-9) - 1])
        most.append(x[:, min(math.floor(place + 1e-9), rows - 1)] if abs(place - round(place)) < 1e-9 else least[-1])
    value, below, above = (np.concatenate(part)[:, None] for part in zip(*drawn, strict=True))
    number = float(rows) + (LaplaceNoise(1.0 / (0.05 * epsilon)).simulate(rng, (len(value), 1)) if private else 0.0)
    number = np.round(number)  # so that some are equal
    spans = QuantileSpans(
        values=value,
        below=below,
        above=above,
        levels=(q,),
        scales=[[(1.0 / eta,)]] * len(value),
        end_scales=np.array([1.0 / end]),
        reaches=np.array([reach]),
        rows=np.broadcast_to(number, value.shape),
        clusters=1,
        grid=grid,
    )
    lower, upper = (side[:, 0] for side in spans.interval(LEVEL, population=False))
    of_rows = (lower <= np.concatenate(most)) & (np.concatenate(least) <= upper)
    width = float(np.mean(upper - lower) / max(np.std(value), 1e-12))
    lower, upper = (side[:, 0] for side in spans.interval(LEVEL, population=True))
    return float(of_rows.mean()), float(((lower <= truth) & (truth <= upper)).mean()), width


FITTED = (2000, 20_000)
MIXING = np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])


def regressions(repeats: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each coefficient of linear and logistic regression, fitted by the library."""
    warnings.simplefilter("ignore")
    for kind in ("linear", "logistic"):
        truth = np.array([3.0, -2.0, 0.5, 5.0] if kind == "linear" else [1.0, -0.7, 0.3, -0.3])
        for rows in FITTED:
            for epsilon in EPSILONS:
                held = np.zeros(len(truth))
                number = max(repeats // (2 if rows == FITTED[0] else 4), 1)
                for _ in range(number):
                    X = rng.normal(size=(rows, 3)) @ MIXING
                    line = X @ truth[:-1] + truth[-1]
                    model: Any
                    if kind == "linear":
                        y = line + 2.0 * rng.normal(size=rows)
                        model = dp.LinearRegression(epsilon=epsilon, bounds=dp.Box(-8, 8), target_bounds=(-40, 40))
                    else:
                        y = (rng.random(rows) < 1.0 / (1.0 + np.exp(-line))).astype(np.int64)
                        model = dp.LogisticRegression(
                            epsilon=epsilon, bounds=dp.Box(-8, 8), classes=[0, 1], inference=True
                        )
                    low, high = model.fit(X, y).interval(LEVEL)
                    held += (low <= truth) & (truth <= high)
                for name, share in zip(("x0", "x1", "x2", "const"), held / number, strict=True):
                    cell = _cell(f"{kind} regression", name, rows, ("replace-one", epsilon, True), float(share))
                    yield cell | {"repeats": number}


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


KINDS: dict[str, Callable[[int, np.random.Generator], Iterator[dict[str, Any]]]] = {
    "mean": means,
    "share": shares,
    "variance": variances,
    "quantile": quantiles,
    "regression": regressions,
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
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    cells: list[dict[str, Any]] = []
    for name in given.only.split(","):
        new = list(KINDS[name](given.repeats, np.random.default_rng(given.seed)))
        show(new)
        cells += new
    if given.json is not None:
        given.json.write_text(json.dumps({"repeats": given.repeats, "level": LEVEL, "cells": cells}, indent=1))


if __name__ == "__main__":
    main()
