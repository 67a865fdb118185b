"""Survival curves and the log-rank test: coverage of intervals, errors beside others, level and power.

Prints tables (Markdown).

    export OMP_NUM_THREADS=1
    python benchmarks/bench_survival.py

``--only`` takes some of the parts, ``--quick`` fewer repeats.

Times have a Weibull distribution on [0, 1] (share that survives: 0.50, 0.90 or 0.05 at 1) and are censored uniformly
on [0, 1.3]. Rows are drawn as counts on the grid, which is all that a release sees, and the library's own decoding is
applied to thousands of simulated releases at once. Relation replace-one; δ = 1e-6 where noise is Gaussian.

- coverage: how often 95 % intervals hold, over 2,000 repeats: of the curve of these rows and of the population's, the
  mean over all edges and the worst edge; and of the restricted mean until 1. One group whose number of rows is public,
  or two groups of n rows each whose numbers are not.
- errors: the root mean square error of S over all edges, against the population's: without noise, of the library, of
  the same with independent counts, and of Gondara and Wang (2020), "Differentially Private Survival Function
  Estimation", MLHC, for δ = 0: Laplace noise of scale 2/ε on the first number at risk and on all events and rows
  censored, numbers at risk from these, Kaplan and Meier's product. It is our reading of their algorithm, for a row that
  is added or removed: for one that is replaced the scale would have to be larger.
- strategies: the error of log S for what may be released of the counts, relative to noise on independent counts.
- test: how often the log-rank test rejects at 5 %, under equal hazards and at a hazard ratio, beside the test without
  noise on the same rows. With 39 simulated tables, of which a 5 % test allows exactly one.
"""

from __future__ import annotations

import argparse
import math
from itertools import product

import numpy as np
from scipy.special import chdtrc

from discreet.guarantees import GaussianLoss, Guarantee, calibrate
from discreet.noise import GaussianNoise, LaplaceNoise
from discreet.queries.series.factorization import Tree, square_root
from discreet.queries.series.operators import Identity, Operator, StepsAndBlocks
from discreet.statistics.survival.life_table import Decoder, LifeTable, make_decreasing
from discreet.statistics.survival.rank_comparison import RankComparison
from discreet.statistics.survival.survival_curves import choose_operator

DELTA = 1e-6
SIZES = ((200, 10), (2000, 20), (20_000, 50))  # rows of a group, and intervals
EPSILONS = (0.3, 1.0, 3.0)
RATES = (0.7, 0.1, 3.0)  # −log S(1)
FINE = 4000


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = f"| {' | '.join(['---'] * len(head))} |"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def cell_shares(intervals: int, rate: float, shape: float = 1.0, censoring: float = 1.0) -> np.ndarray:
    """Return the probabilities of an event in each interval, of censoring in each, and of staying to the end."""
    t = (np.arange(FINE) + 0.5) / FINE
    alive, free = np.exp(-rate * t**shape), np.clip(1.0 - t * censoring / 1.3, 0.0, 1.0)
    place = np.minimum((t * intervals).astype(int), intervals - 1)
    events = np.bincount(place, rate * shape * t ** (shape - 1.0) * alive * free / FINE, intervals)
    censored = np.bincount(place, alive * (free > 0.0) * censoring / 1.3 / FINE, intervals)
    shares = np.concatenate([events, censored, [max(0.0, 1.0 - events.sum() - censored.sum())]])
    return shares / shares.sum()


def true_curve(intervals: int, rate: float, shape: float = 1.0) -> np.ndarray:
    return np.exp(-rate * (np.arange(intervals + 1) / intervals) ** shape)


def draw_counts(rng, rows: int, shares: np.ndarray, repeats: int) -> np.ndarray:
    """Return counts of shape (repeats, 2, K + 1): events, and rows without one."""
    counts, intervals = rng.multinomial(rows, shares, repeats), len(shares) // 2
    result = np.zeros((repeats, 2, intervals + 1))
    result[:, 0, :-1], result[:, 1] = counts[:, :intervals], counts[:, intervals:]
    return result


def noise_for(operator: Operator, epsilon: float, delta: float) -> GaussianNoise | LaplaceNoise:
    """Return the noise under replace-one."""
    if not delta:
        return LaplaceNoise(2.0 * operator.column_norm("l1") / epsilon)
    loss = calibrate(Guarantee(epsilon, delta), GaussianLoss(1.0)).losses[0]
    return GaussianNoise(math.sqrt(2.0) * operator.column_norm("l2") / loss.gaussian)


def release(rng, counts: np.ndarray, operator: Operator, noise, total: int | None) -> LifeTable:
    """Return the life tables of simulated releases, from counts of shape (repeats, groups, 2, K + 1)."""
    exact = counts @ operator.matrix.T
    decoder = Decoder(operator, noise, counts.shape[1], total)
    return LifeTable.from_released(exact + noise.simulate(rng, exact.shape), decoder, exact=False)


def without_noise(counts: np.ndarray) -> LifeTable:
    decoder = Decoder(Identity(counts.shape[-1]), GaussianNoise(1e-9), counts.shape[1])
    return LifeTable(decoder, False, counts[..., 0, :-1], counts[..., 1, :])


def cover(rows: int, intervals: int, epsilon: float, delta: float, rate: float, groups: int, repeats: int, seed: int):
    """Return coverages: of rows (mean, worst edge), of the population, and of restricted means of both."""
    rng = np.random.default_rng(seed)
    operator, edges = choose_operator(intervals, delta), np.linspace(0.0, 1.0, intervals + 1)
    noise, truth = noise_for(operator, epsilon, delta), true_curve(intervals, rate)
    hold: dict[str, list[np.ndarray]] = {"rows": [], "population": [], "mean rows": [], "mean population": []}
    for start in range(0, repeats, 500):
        size = min(500, repeats - start)
        shares = cell_shares(intervals, rate)
        counts = np.stack([draw_counts(rng, rows, shares, size) for _ in range(groups)], axis=1)
        life = release(rng, counts, operator, noise, rows if groups == 1 else None)
        plain = without_noise(counts)
        _, weights = life.area_weights(edges, 1.0)
        wanted = {"rows": plain.survival, "population": np.broadcast_to(truth, plain.survival.shape)}
        for name, curve in wanted.items():
            low, high = life.curve_interval(0.95, population=name == "population")
            hold[name].append(((low <= curve + 1e-9) & (curve <= high + 1e-9))[..., 1:].reshape(-1, intervals))
            low, high = life.area_interval(edges, 1.0, 0.95, population=name == "population")
            area = (weights * curve).sum(axis=-1)
            hold[f"mean {name}"].append(((low <= area) & (area <= high)).ravel())
    rates = {name: np.concatenate(some).mean(axis=0) for name, some in hold.items()}
    return [
        *(number for name in ("rows", "population") for number in (rates[name].mean(), rates[name].min())),
        *(float(rates[f"mean {name}"]) for name in ("rows", "population")),
    ]


def show_coverage(repeats: int) -> None:
    head = ["n", "ε", "δ", "S(1)", "groups", "rows", "worst", "population", "worst", "mean, rows", "mean, population"]
    lines, least = [], 1.0
    cases = product((0.0, DELTA), RATES, SIZES, EPSILONS, (1, 2))
    for seed, (delta, rate, (rows, intervals), epsilon, groups) in enumerate(cases):
        result = cover(rows, intervals, epsilon, delta, rate, groups, repeats, seed)
        least = min(least, *result)
        setting = [f"{rows}", f"{epsilon:g}", f"{delta:g}", f"{math.exp(-rate):.2f}", f"{groups}"]
        lines.append(setting + [f"{100 * one:.1f}" for one in result])
    print(table(head, lines))
    print(f"Least of all: {100 * least:.1f} %\n")


def gondara_wang(rng, counts: np.ndarray, epsilon: float) -> np.ndarray:
    """Return curves as in Gondara and Wang (2020), from counts of shape (repeats, 2, K + 1)."""
    noisy = counts + rng.laplace(scale=2.0 / epsilon, size=counts.shape)
    first = counts.sum(axis=(1, 2)) + rng.laplace(scale=2.0 / epsilon, size=len(counts))
    leaving = noisy.sum(axis=1)[:, :-1]
    at_risk = first[:, None] - np.concatenate([np.zeros((len(counts), 1)), np.cumsum(leaving, axis=1)[:, :-1]], axis=1)
    hazards = np.clip(np.maximum(noisy[:, 0, :-1], 0.0) / np.maximum(at_risk, 1.0), 0.0, 1.0)
    return np.concatenate([np.ones((len(counts), 1)), np.cumprod(1.0 - hazards, axis=1)], axis=1)


def show_errors(repeats: int) -> None:
    head = ["n", "K", "ε", "δ", "without noise", "library", "independent counts", "Gondara and Wang"]
    lines = []
    rng = np.random.default_rng(1)
    for delta, (rows, least), epsilon in product((0.0, DELTA), SIZES, EPSILONS):
        for intervals in (least, 100):
            truth = true_curve(intervals, 0.7)
            counts = draw_counts(rng, rows, cell_shares(intervals, 0.7), repeats)[:, None]
            curves = {"without noise": without_noise(counts).survival[:, 0]}
            for name, operator in (("library", choose_operator(intervals, delta)), ("counts", Identity(intervals + 1))):
                noise = noise_for(operator, epsilon, delta)
                curves[name] = release(rng, counts, operator, noise, None).survival[:, 0]
            if not delta:
                curves["other"] = make_decreasing(gondara_wang(rng, counts[:, 0], epsilon), 0.0, 1.0)
            errors = [f"{np.sqrt(((curve - truth) ** 2).mean()):.4f}" for curve in curves.values()]
            setting = [f"{rows}", f"{intervals}", f"{epsilon:g}", f"{delta:g}"]
            lines.append(setting + errors + ["–"] * (4 - len(errors)))
    print(table(head, lines))


def log_survival_error(operator: Operator, norm: str) -> float:
    """Return the root mean square deviation of log S over all edges, for noise of standard deviation Δ/n."""
    intervals = operator.count - 1
    counts = cell_shares(intervals, 0.7)[None]
    both = np.zeros((1, 1, 2, intervals + 1))
    both[0, 0, 0, :-1], both[0, 0, 1] = counts[0, :intervals], counts[0, intervals:]
    life = LifeTable(Decoder(operator, GaussianNoise(1e-12)), False, 1e6 * both[..., 0, :-1], 1e6 * both[..., 1, :])
    numbers, _ = life.loadings
    return operator.column_norm(norm) * 1e6 * float(np.sqrt((numbers**2).sum(axis=-1).mean()))


def show_strategies() -> None:
    lines = []
    for intervals in (10, 20, 50, 100, 200, 400):
        steps = intervals + 1
        ways = [
            Identity(steps),
            StepsAndBlocks(steps, round(math.sqrt(steps))),
            Tree(steps),
            square_root(steps).operator,
        ]
        first = log_survival_error(ways[0], "l1")
        each = [[f"{log_survival_error(way, norm) / first:.2f}" for way in ways] for norm in ("l1", "l2")]
        lines.append([f"{intervals}", *(f"{one}; {other}" for one, other in zip(*each, strict=True))])
    print(table(["K", "counts", "steps and blocks", "binary tree", "square root"], lines))
    print("Laplace noise; Gaussian noise.\n")


def reject(rows: int, intervals: int, epsilon: float, delta: float, ratio: float, repeats: int, seed: int):
    """Return how often the test rejects, and the one without noise; half of the rows in each of two groups."""
    rng = np.random.default_rng(seed)
    operator = choose_operator(intervals, delta)
    noise, private, plain = noise_for(operator, epsilon, delta), [], []
    shares = [cell_shares(intervals, 0.7 * one) for one in (1.0, ratio)]
    for _ in range(0, repeats, 50):
        counts = np.stack([draw_counts(rng, rows // 2, one, 50) for one in shares], axis=1)
        comparison = RankComparison(release(rng, counts, operator, noise, rows))
        private.append(comparison.p_value(39, rng) <= 0.05)
        plain.append(chdtrc(1.0, RankComparison(without_noise(counts)).statistic) <= 0.05)
    return np.mean(private), np.mean(plain)


def show_test(repeats: int) -> None:
    head = ["n", "ε", "δ", "level", "level without noise", "hazard ratio", "power", "power without noise"]
    lines, most = [], 0.0
    ratios = {200: 2.0, 2000: 1.3, 20_000: 1.1}
    for seed, (delta, (rows, intervals), epsilon) in enumerate(product((0.0, DELTA), SIZES, EPSILONS)):
        level = reject(rows, intervals, epsilon, delta, 1.0, repeats, seed)
        power = reject(rows, intervals, epsilon, delta, ratios[rows], max(repeats // 4, 100), seed)
        most = max(most, level[0])
        numbers = [*(f"{100 * one:.1f}" for one in level), f"{ratios[rows]:g}", *(f"{100 * one:.0f}" for one in power)]
        lines.append([f"{rows}", f"{epsilon:g}", f"{delta:g}", *numbers])
    print(table(head, lines))
    print(f"Largest level: {100 * most:.1f} %\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("strategies", "errors", "coverage", "test")
    parser.add_argument("--only", nargs="*", choices=parts, default=parts)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    repeats = 200 if given.quick else 2000
    shown = {
        "strategies": show_strategies,
        "errors": lambda: show_errors(repeats),
        "coverage": lambda: show_coverage(repeats),
        "test": lambda: show_test(repeats),
    }
    for part in given.only:
        print(f"## {part}\n", flush=True)
        shown[part]()


if __name__ == "__main__":
    main()
