"""Comparisons of groups: the level and the power of the tests, beside the usual tests and published private ones.

Prints tables (Markdown) and, with ``--out``, writes their numbers as JSON.

    export OMP_NUM_THREADS=1
    python benchmarks/bench_comparisons.py --out build/comparisons.json

Releases are simulated: rows are drawn from a population on a grid of 101 values (so that any number of rows takes the
same time), summed exactly, and given the noise of the query. Everything after that is the library's own code. The
relation is replace-one, and the noise Laplace (δ = 0) or Gaussian (δ = 1e-6).

- level: how often a test at 5 % rejects where there is nothing to find. The Monte Carlo error of a rate of 5 % over
  2,000 runs is 0.5 %. All runs share the library's fixed draws, 9,999 of them, which adds 0.2 %; fewer would shift all
  rates of a test together. For tables there are 499.
- coverage: how often intervals of 95 % hold the difference of the rows, and that of the population; and the slope of a
  population with a trend.
- power: how often it finds an effect, beside scipy's test of the rows without privacy and a published private test:
  F₁ of Swanberg et al. (2019) for means, the Mann-Whitney test of Couch et al. (2019) for ranks, and χ² with Laplace
  noise and Monte Carlo of Gaboardi et al. (2016) for tables.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from discreet.guarantees import GaussianLoss, Guarantee, calibrate
from discreet.noise import GaussianNoise, LaplaceNoise, NoiseDistribution
from discreet.statistics.comparisons.associations import CrossTab
from discreet.statistics.comparisons.contrasts import BINARY, DRAWS, Contrast
from discreet.statistics.comparisons.measured import SQUARES, SUM
from discreet.statistics.comparisons.rank_tests import rank_contrast, superiority

SIZES, EPSILONS, DELTA = (50, 500, 50_000), (0.1, 0.3, 1.0, 3.0), 1e-6
GRID = np.linspace(0.0, 1.0, 101)
CELLS = np.stack([(1.0 - GRID) ** 2, 2.0 * GRID * (1.0 - GRID), GRID**2], axis=1)
PAIR, AT_ONCE = np.array([1.0, 0.0]), 100
MONTHS = 24


def noise_at(epsilon: float, delta: float) -> NoiseDistribution:
    """Return the noise of counts under replace-one."""
    if not delta:
        return LaplaceNoise(2.0 / epsilon)
    mu = calibrate(Guarantee(epsilon, delta), GaussianLoss(1.0)).losses[0].mu
    return GaussianNoise(math.sqrt(2.0) / mu)


def population(name: str, shift: float = 0.0) -> np.ndarray:
    """Return the shares of the values of the grid."""
    if name == "skewed":
        weights = np.exp(-GRID / (0.08 * (1.0 + shift)))
    else:
        weights = np.exp(-(((GRID - 0.5 - shift) / 0.15) ** 2) / 2.0)
    return weights / weights.sum()


def split(n: int, share: float) -> tuple[int, int]:
    first = max(round(n * share), 2)
    return first, n - first


class Setting:
    """A test in a setting: how its cells are drawn, and its p-values."""

    def __init__(self, kind: str, share: float = 0.5, effect: float = 0.0) -> None:
        self.kind, self.share, self.effect = kind, share, effect
        self.shares = [population(kind), population(kind, effect)]

    def rows(self, rng: np.random.Generator, n: int, runs: int) -> np.ndarray:
        """Return how many rows of each group have each value, shape (runs, groups, values)."""
        if self.kind == "trend":
            slopes = np.linspace(-0.5, 0.5, MONTHS) * self.effect
            sizes = np.full(MONTHS, n // MONTHS) + (np.arange(MONTHS) < n % MONTHS)
            each = zip(sizes, slopes, strict=True)
            return np.stack([rng.multinomial(size, population("normal", slope), runs) for size, slope in each], axis=1)
        if self.kind == "events":
            rates = np.maximum(1.0 + np.linspace(-1.0, 1.0, MONTHS) * self.effect, 0.0)
            return rng.multinomial(n, rates / rates.sum(), runs)[:, :, None]
        if self.kind == "share":
            shares = [[0.7, 0.3], [0.7 - self.effect, 0.3 + self.effect]]
        elif self.kind.startswith("table"):
            margins = ([0.5, 0.5], [0.6, 0.4]) if self.kind == "table 2×2" else ([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
            cells = np.outer(*margins)
            cells[0, 0] += self.effect
            cells[1, 1] += self.effect
            cells[0, 1] -= self.effect
            cells[1, 0] -= self.effect
            return rng.multinomial(n, cells.ravel(), runs).reshape(runs, *cells.shape)
        else:
            shares = self.shares
        sizes = split(n, self.share)
        return np.stack([rng.multinomial(size, one, runs) for size, one in zip(sizes, shares, strict=True)], axis=1)

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """Return the cells that are released."""
        if self.kind in ("share", "events") or self.kind.startswith("table"):
            return rows.astype(float)
        if self.kind.startswith("ranks"):
            return np.stack([part.sum(axis=-1) for part in np.array_split(rows, 10, axis=-1)], axis=-1).astype(float)
        return rows @ CELLS

    def contrast(self, cells: np.ndarray, noise: NoiseDistribution) -> Contrast:
        """Return the library's test of noisy cells."""
        if self.kind.startswith("ranks"):
            return rank_contrast(cells, noise, 1, DRAWS)
        if self.kind == "events":
            place = np.arange(MONTHS) - (MONTHS - 1) / 2.0
            return Contrast(cells, place, np.ones(1), np.ones(1), noise, 1, np.ones(MONTHS), DRAWS)
        scores, squares = (BINARY, BINARY) if self.kind == "share" else (SUM, SQUARES)
        place = np.arange(MONTHS) - (MONTHS - 1) / 2.0 if self.kind == "trend" else PAIR
        return Contrast(cells, place, np.array(scores), np.array(squares), noise, 1, None, DRAWS)

    def p_values(self, cells: np.ndarray, noise: NoiseDistribution, slope: Any = 0.0, **how: bool) -> np.ndarray:
        """Return the p-values of noisy cells."""
        if self.kind.startswith("table"):
            rows = round(float(self.total))
            return np.array([CrossTab(one, noise, rows, 1, 499).p_value for one in cells])
        slopes = np.broadcast_to(slope, len(cells))
        pieces = [slice(i, i + AT_ONCE) for i in range(0, len(cells), AT_ONCE)]
        return np.concatenate([self.contrast(cells[one], noise).exceedance(slopes[one], **how) for one in pieces])


def release(setting: Setting, n: int, epsilon: float, delta: float, runs: int, seed: int) -> tuple[Any, ...]:
    """Return rows, noisy cells and the noise."""
    rng = np.random.default_rng([seed, n, round(1000 * epsilon), round(1e9 * delta)])
    rows, noise = setting.rows(rng, n, runs), noise_at(epsilon, delta)
    exact = setting.cells(rows)
    setting.total = n
    return rows, exact, exact + noise.simulate(rng, exact.shape), noise


LEVEL = {
    "difference, normal": Setting("normal"),
    "difference, skewed": Setting("skewed"),
    "difference, groups 1:9": Setting("normal", 0.1),
    "difference of shares": Setting("share"),
    "rank test, normal": Setting("ranks normal"),
    "χ², 2×2": Setting("table 2×2"),
    "χ², 3×4": Setting("table 3×4"),
    "trend of means": Setting("trend"),
    "trend of counts": Setting("events"),
}


def levels(runs: int) -> list[dict[str, Any]]:
    """Return the rate of rejections at 5 %, for every test, number of rows and ε."""
    result = []
    for name, setting in LEVEL.items():
        for delta in (0.0, DELTA):
            for n in SIZES:
                for epsilon in EPSILONS:
                    _, _, cells, noise = release(setting, n, epsilon, delta, runs, 1)
                    rate = float((setting.p_values(cells, noise) <= 0.05).mean())
                    result.append(
                        {"test": name, "delta": delta, "n": n, "epsilon": epsilon, "rate": rate, "runs": runs}
                    )
    return result


def coverage(runs: int) -> list[dict[str, Any]]:
    """Return how often intervals of differences of means hold what they are about, where there is a difference."""
    result = []
    for name, setting in {"normal": Setting("normal", 0.3, 0.1), "skewed": Setting("skewed", 0.3, 0.5)}.items():
        true = float(GRID @ (setting.shares[0] - setting.shares[1]))
        for delta in (0.0, DELTA):
            for n in SIZES:
                for epsilon in EPSILONS:
                    _, exact, cells, noise = release(setting, n, epsilon, delta, runs, 2)
                    means = exact @ np.array(SUM) / exact.sum(axis=-1)
                    own = setting.p_values(cells, noise, means[:, 0] - means[:, 1], sampled=False)
                    whole = setting.p_values(cells, noise, true)
                    held = {"rows": float((own >= 0.05).mean()), "whole": float((whole >= 0.05).mean())}
                    result.append({"population": name, "delta": delta, "n": n, "epsilon": epsilon} | held)
    return result


def trend_coverage(runs: int) -> list[dict[str, Any]]:
    """Return how often intervals hold the slope of the population, where there is a trend: of means, and of counts."""
    result = []
    place = np.arange(MONTHS) - (MONTHS - 1) / 2.0
    for name, setting in {"means": Setting("trend", effect=0.2), "counts": Setting("events", effect=0.3)}.items():
        shifts = np.linspace(-0.5, 0.5, MONTHS) * setting.effect
        means = np.array([GRID @ population("normal", shift) for shift in shifts])
        slope = float(place @ means / (place @ place))
        assert np.allclose(means, means.mean() + slope * place, atol=1e-3)  # they are on a line
        for delta in (0.0, DELTA):
            for n in SIZES:
                true = slope if name == "means" else n / MONTHS * 2.0 * setting.effect / (MONTHS - 1)
                for epsilon in EPSILONS:
                    _, _, cells, noise = release(setting, n, epsilon, delta, runs, 3)
                    held = float((setting.p_values(cells, noise, true) >= 0.05).mean())
                    result.append({"trend": name, "delta": delta, "n": n, "epsilon": epsilon, "whole": held})
    return result


# Published private tests; their constants have not been checked against the text of the papers


def swanberg(rows: np.ndarray, epsilon: float, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Return p-values of the F₁ test of Swanberg, Globus-Harris, Griffith, Ritz, Groce and Bray (2019), ρ = 0.7.

    SA = Σ n_j·|ȳ − ȳ_j| and SE = Σ|y − ȳ_j| of values in [0, 1], with sensitivities 4 and 3. The reference is of normal
    values with the standard deviation √(π/2)·SE/(n − 2), in equal groups.
    """
    sizes = rows.sum(axis=-1)
    n, means = int(sizes[0].sum()), rows @ GRID / sizes

    def noisy(between: np.ndarray, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        one, other = rng.laplace(size=(2, *between.shape))
        return between + 4.0 / (0.7 * epsilon) * one, within + 3.0 / (0.3 * epsilon) * other

    whole = (means * sizes).sum(axis=-1, keepdims=True) / n
    between = (sizes * np.abs(whole - means)).sum(axis=-1)
    within = (rows * np.abs(GRID - means[..., None])).sum(axis=(1, 2))
    between, within = noisy(between, within)
    spread = np.maximum(math.sqrt(math.pi / 2.0) * within / (n - 2), 0.0)[:, None]
    half = n / 2.0
    gaps = np.abs(rng.standard_normal((len(rows), draws))) * spread * math.sqrt(2.0 / half)
    errors = rng.standard_normal((len(rows), draws)) * spread * math.sqrt((1.0 - 2.0 / math.pi) * n)
    drawn_between, drawn_within = noisy(half * gaps, spread * math.sqrt(2.0 / math.pi) * (n - 2) + errors)
    drawn = drawn_between / np.where(drawn_within > 0.0, drawn_within, np.inf)
    seen = between / np.where(within > 0.0, within, np.inf)
    return (1.0 + (drawn >= seen[:, None]).sum(axis=1)) / (1.0 + draws)


def couch(rows: np.ndarray, epsilon: float, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Return p-values of the Mann-Whitney test of Couch, Kazan, Shi, Bray and Groce (2019), which needs δ.

    A share of 0.65 of ε finds a size m* that is below that of the smaller group but with probability δ; U, the smaller
    of both sums, has sensitivity n − m*. The reference is of groups of m* and n − m* rows, with U about normal.
    """
    sizes = rows.sum(axis=-1)
    n, smaller = sizes[0].sum(), sizes.min(axis=-1)
    shares = 0.65 * epsilon
    least = smaller + rng.laplace(size=len(rows)) / shares + math.log(2.0 * DELTA) / shares
    least = np.clip(least, 0.0, n / 2.0)
    above = superiority(rows.astype(float)) * sizes.prod(axis=-1)
    u = np.minimum(above, sizes.prod(axis=-1) - above)
    scale = (n - least) / (0.35 * epsilon)
    seen = u + scale * rng.laplace(size=len(rows))
    m = np.maximum(np.rint(least), 0.0)[:, None]
    middle, spread = m * (n - m) / 2.0, np.sqrt(m * (n - m) * (n + 1.0) / 12.0)
    drawn = middle - np.abs(spread * rng.standard_normal((len(rows), draws)))
    drawn = drawn + scale[:, None] * rng.laplace(size=(len(rows), draws))
    return (1.0 + (drawn <= seen[:, None]).sum(axis=1)) / (1.0 + draws)


def gaboardi(rows: np.ndarray, epsilon: float, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Return p-values of the test of independence of Gaboardi, Lim, Rogers and Vadhan (2016): χ² of noisy counts.

    Laplace noise of scale 2/ε, margins fitted to the counts made at least 0, Monte Carlo under these margins, and no
    rejection where a fitted count is below 5.
    """
    n = int(rows[0].sum())

    def test(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept = np.maximum(cells, 1e-9)
        kept = kept / kept.sum(axis=(-2, -1), keepdims=True)
        fitted = n * kept.sum(axis=-1, keepdims=True) * kept.sum(axis=-2, keepdims=True)
        return ((cells - fitted) ** 2 / fitted).sum(axis=(-2, -1)), fitted

    result = []
    for one in rows:
        seen, fitted = test(one + 2.0 / epsilon * rng.laplace(size=one.shape))
        drawn = rng.multinomial(n, (fitted / n).ravel(), draws).reshape(draws, *one.shape)
        drawn = test(drawn + 2.0 / epsilon * rng.laplace(size=drawn.shape))[0]
        result.append(1.0 if fitted.min() < 5.0 else (1.0 + (drawn >= seen).sum()) / (1.0 + draws))
    return np.array(result)


def exact_means(rows: np.ndarray) -> np.ndarray:
    """Return p-values of Welch's test."""
    sizes = rows.sum(axis=-1)
    means = rows @ GRID / sizes
    spreads = np.sqrt((rows @ GRID**2 / sizes - means**2) * sizes / (sizes - 1.0))
    return stats.ttest_ind_from_stats(
        means[:, 0], spreads[:, 0], sizes[:, 0], means[:, 1], spreads[:, 1], sizes[:, 1], equal_var=False
    ).pvalue


def exact_ranks(rows: np.ndarray) -> np.ndarray:
    """Return p-values of the Mann-Whitney test."""
    values = [[np.repeat(GRID, group) for group in one] for one in rows]
    return np.array([stats.mannwhitneyu(*pair).pvalue for pair in values])


def exact_table(rows: np.ndarray) -> np.ndarray:
    """Return p-values of Pearson's test, without a correction for continuity."""
    return np.array([stats.chi2_contingency(one, correction=False).pvalue for one in rows])


POWER: dict[str, tuple[Setting, Callable[..., Any], str, Callable[..., Any], int]] = {
    "difference of means, 0.4 standard deviations": (Setting("normal", effect=0.06), exact_means, "F₁", swanberg, 400),
    "difference of means, n = 4,000, 0.15 of them": (
        Setting("normal", effect=0.0225),
        exact_means,
        "F₁",
        swanberg,
        4_000,
    ),
    "rank test, 0.4 standard deviations": (
        Setting("ranks normal", effect=0.06),
        exact_ranks,
        "Couch et al.",
        couch,
        400,
    ),
    "rank test, n = 4,000, 0.15 of them": (
        Setting("ranks normal", effect=0.0225),
        exact_ranks,
        "Couch et al.",
        couch,
        4_000,
    ),
    "χ², 2×2, V = 0.17": (Setting("table 2×2", effect=0.04), exact_table, "Gaboardi et al.", gaboardi, 500),
    "χ², 3×4, n = 4,000": (Setting("table 3×4", effect=0.02), exact_table, "Gaboardi et al.", gaboardi, 4_000),
}


def powers(runs: int) -> list[dict[str, Any]]:
    """Return the rate of rejections at 5 % where there is an effect."""
    result = []
    for name, (setting, exact, whose, published, n) in POWER.items():
        for epsilon in EPSILONS:
            number = runs // 4 if setting.kind.startswith(("table", "ranks")) else runs
            rows, _, cells, noise = release(setting, n, epsilon, 0.0, number, 3)
            rng = np.random.default_rng(round(1000 * epsilon))
            _, _, gaussian, normal = release(setting, n, epsilon, DELTA, number, 3)
            result.append(
                {
                    "test": name,
                    "n": n,
                    "epsilon": epsilon,
                    "ours": float((setting.p_values(cells, noise) <= 0.05).mean()),
                    "gaussian": float((setting.p_values(gaussian, normal) <= 0.05).mean()),
                    "exact": float((exact(rows) <= 0.05).mean()),
                    "whose": whose,
                    "published": float((published(rows, epsilon, rng, 499) <= 0.05).mean()),
                    "runs": number,
                }
            )
    return result


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = f"| {' | '.join(['---'] * len(head))} |"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def shown(result: dict[str, Any]) -> None:
    """Print the tables."""
    for delta in (0.0, DELTA):
        some = [one for one in result["levels"] if one["delta"] == delta]
        lines = []
        for name in dict.fromkeys(one["test"] for one in some):
            rates = {(one["n"], one["epsilon"]): one["rate"] for one in some if one["test"] == name}
            lines.append([name, *(" ".join(f"{100 * rates[n, e]:.1f}" for e in EPSILONS) for n in SIZES)])
        print(f"\nRejections at 5 %, in %, at ε = {', '.join(f'{e:g}' for e in EPSILONS)}; δ = {delta:g}\n")
        print(table(["test", *(f"n = {n:,}" for n in SIZES)], lines))
    lines = []
    for name in ("normal", "skewed"):
        for delta in (0.0, DELTA):
            some = [one for one in result["coverage"] if one["population"] == name and one["delta"] == delta]
            cells = [
                " ".join(f"{100 * one['rows']:.0f}/{100 * one['whole']:.0f}" for one in some if one["n"] == n)
                for n in SIZES
            ]
            lines.append([f"{name}, δ = {delta:g}", *cells])
    print("\nIntervals of 95 % that hold the difference of the rows / of the population, in %\n")
    print(table(["population", *(f"n = {n:,}" for n in SIZES)], lines))
    lines = []
    for name in ("means", "counts"):
        for delta in (0.0, DELTA):
            some = [one for one in result["trends"] if one["trend"] == name and one["delta"] == delta]
            cells = [" ".join(f"{100 * one['whole']:.1f}" for one in some if one["n"] == n) for n in SIZES]
            lines.append([f"{name}, δ = {delta:g}", *cells])
    print("\nIntervals of 95 % that hold the slope of a population with a trend, in %\n")
    print(table(["trend of", *(f"n = {n:,}" for n in SIZES)], lines))
    lines = []
    for name in dict.fromkeys(one["test"] for one in result["powers"]):
        some = [one for one in result["powers"] if one["test"] == name]
        for key, words in (("ours", "ours, δ = 0"), ("gaussian", "ours, δ = 1e-6"), ("published", some[0]["whose"])):
            lines.append([name if key == "ours" else "", words, *(f"{100 * one[key]:.0f}" for one in some)])
        lines.append(["", "without privacy", *(f"{100 * one['exact']:.0f}" for one in some)])
    print("\nPower at 5 %, in %\n")
    print(table(["effect", "test", *(f"ε = {e:g}" for e in EPSILONS)], lines))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--quick", action="store_true", help="few runs of each")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    runs, started = 400 if given.quick else given.runs, time.perf_counter()
    result = {
        "levels": levels(runs),
        "coverage": coverage(runs),
        "trends": trend_coverage(runs),
        "powers": powers(runs),
    }
    shown(result)
    print(f"{time.perf_counter() - started:.0f} s")
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
