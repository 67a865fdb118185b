"""The private Gaussian classifier against the published one (Xi, Kantarcioglu and Inan 2011) and against none.

1. Table 1 of the paper: the error of the rule without privacy, from 500 rows.
2. Figures 1 to 5 and the Parkinsons experiment: ε = 0.1 in all, δ = 1e-5 (ours; the published method needs none),
   add-remove, bounds of four standard deviations around the means of both classes, taken from the law. 500 to 32,000
   rows, 5 repeats, 50,000 rows to test.
3. Pima and Adult, the numeric columns within their declared bounds: δ = 1e-6, replace-one, a fifth of the rows to test.

Writes tables (Markdown) and a figure. Seeds are fixed, so that the numbers can be had again.

    python benchmarks/bench_classifier.py                                     all of it
    python benchmarks/bench_classifier.py --out docs/classifier-xi.png        and the figure
    python benchmarks/bench_classifier.py --quick                             one repeat, few rows
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import discreet as dp
from discreet.datasets.truth import Mixture
from discreet.models.components import Components
from discreet.noise import NotPrivateWarning

EPSILON, DELTA = 0.1, 1e-5
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
COLUMNS, SIGMAS = (5, 10, 15, 20), (1, 2, 3, 4, 5)
TABLE1 = {
    5: (0.18, 0.22, 0.20, 0.17, 0.14),
    10: (0.12, 0.19, 0.16, 0.12, 0.09),
    15: (0.10, 0.18, 0.15, 0.09, 0.06),
    20: (0.08, 0.18, 0.14, 0.08, 0.05),
}
WAYS = {"without privacy": None, "adaptive": "adaptive", "joint": "joint", "xi2011": "xi2011"}

Rows = tuple[np.ndarray, np.ndarray]
Draw = Callable[[int, int], Rows]


def pair(n: int, seed: int) -> Rows:
    drawn = dp.datasets.make_xi_pair(n, random_state=seed)
    return drawn.X, drawn.y


def correlated(d: int, sigma: float, n: int, seed: int) -> Rows:
    drawn = dp.datasets.make_xi_correlated(n, d, sigma, random_state=seed)
    return drawn.X, drawn.y


def law_of(X: np.ndarray, y: np.ndarray) -> Mixture:
    """Return shares, means and covariances of the classes, which is the rule without privacy."""
    groups = [X[y == k] for k in range(int(y.max()) + 1)]
    return Mixture(
        np.array([len(rows) for rows in groups]) / len(y),
        np.array([rows.mean(axis=0) for rows in groups]),
        np.array([np.cov(rows.T, bias=True) for rows in groups]),
    )


def drawn_from(law: Mixture, n: int, seed: int) -> Rows:
    return Components(*law).sample(n, np.random.default_rng(seed))


def box_of(law: Mixture) -> dp.Box:
    reach = 4.0 * np.sqrt(law.covariances.diagonal(axis1=1, axis2=2))
    return dp.Box((law.means - reach).min(axis=0), (law.means + reach).max(axis=0))


def plug_in_error(law: Mixture, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(Components(*law).log_joint(X).argmax(axis=1) != y))


def error_of(method: str | None, box: dp.Box, train: Rows, test: Rows, seed: int) -> float:
    if method is None:
        return plug_in_error(law_of(*train), *test)
    model = dp.GaussianClassifier(
        epsilon=EPSILON, delta=DELTA, bounds=box, classes=[0, 1], method=method, neighbors="add-remove",
        random_state=seed,
    )  # fmt: skip
    return 1.0 - model.fit(*train).score(*test)


def table1(repeats: int, tested: int) -> None:
    print("\n### Table 1: without privacy, 500 rows; the paper's in brackets\n")
    print("| columns | " + " | ".join(f"σ={sigma}" for sigma in SIGMAS) + " |")
    print("| --- " * (len(SIGMAS) + 1) + "|")
    worst = 0.0
    for d in COLUMNS:
        cells = []
        for sigma, published in zip(SIGMAS, TABLE1[d], strict=True):
            test = correlated(d, sigma, tested, 10_000)
            errors = []
            for seed in range(repeats):
                law = law_of(*correlated(d, sigma, 500, seed))
                errors.append(plug_in_error(law._replace(weights=np.full(2, 0.5)), *test))
            worst = max(worst, abs(float(np.mean(errors)) - published))
            cells.append(f"{np.mean(errors):.3f} ({published})")
        print(f"| {d} | " + " | ".join(cells) + " |")
    print(f"\nLargest difference: {worst:.3f}.")


def curves(draw: Draw, law: Mixture, repeats: int, sizes: tuple[int, ...], tested: int) -> dict[str, np.ndarray]:
    """Return for each way the errors, of shape (sizes, repeats)."""
    box = box_of(law)
    tests = [draw(tested, 10_000 + seed) for seed in range(repeats)]
    found = {name: np.empty((len(sizes), repeats)) for name in WAYS}
    for i, n in enumerate(sizes):
        for seed in range(repeats):
            train = draw(n, seed)
            for name, method in WAYS.items():
                found[name][i, seed] = error_of(method, box, train, tests[seed], seed)
    return found


def shown(title: str, lines: dict[str, dict[str, np.ndarray]], sizes: tuple[int, ...]) -> None:
    print(f"\n### {title}\n")
    print("| | rows | " + " | ".join(f"{n:,}" for n in sizes) + " |")
    print("| --- " * (len(sizes) + 2) + "|")
    for label, found in lines.items():
        for name, errors in found.items():
            cells = " | ".join(f"{row.mean():.3f} ± {_error(row):.3f}" for row in errors)
            print(f"| {label} | {name} | {cells} |", flush=True)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def real(name: str, X: np.ndarray, y: np.ndarray, bounds: dp.Box, repeats: int, epsilons: tuple[float, ...]) -> None:
    """Print the errors on real rows, for every way and every shape."""
    splits = []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(y))
        splits.append((order[len(y) // 5 :], order[: len(y) // 5]))
    smaller = min(y.mean(), 1.0 - y.mean())
    print(f"\n### {name}: {len(X):,} rows, {X.shape[1]} columns; always the larger class: {smaller:.3f}")
    for other in (QuadraticDiscriminantAnalysis(), LinearDiscriminantAnalysis()):
        errors = np.array([1.0 - other.fit(X[train], y[train]).score(X[test], y[test]) for train, test in splits])
        print(f"\n{type(other).__name__}, not private: {errors.mean():.3f} ± {_error(errors):.3f}")
    print("\n| method | covariances | " + " | ".join(f"ε={epsilon:g}" for epsilon in epsilons) + " |")
    print("| --- " * (len(epsilons) + 2) + "|")
    ways = [(method, shape) for method in ("adaptive", "joint") for shape in ("full", "tied", "diag")]
    for method, shape in [*ways, ("xi2011", "full")]:
        cells = []
        for epsilon in epsilons:
            model = dp.GaussianClassifier(
                epsilon=epsilon, delta=1e-6, bounds=bounds, classes=[0, 1], method=method, covariance_type=shape
            )
            errors = np.array(
                [
                    1.0 - model.set_params(random_state=seed).fit(X[train], y[train]).score(X[test], y[test])
                    for seed, (train, test) in enumerate(splits)
                ]
            )
            cells.append(f"{errors.mean():.3f} ± {_error(errors):.3f}")
        print(f"| {method} | {shape} | " + " | ".join(cells) + " |", flush=True)


def figure(panels: dict[str, dict[str, dict[str, np.ndarray]]], sizes: tuple[int, ...], path: Path) -> None:
    """Draw a panel for each figure of the paper: ours and the published method, a colour for each σ."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    styles = {"without privacy": (":", 0.7), "adaptive": ("-", 1.8), "xi2011": ("--", 1.2)}
    drawing, axes = plt.subplots(2, 3, figsize=(12, 6.6), sharex=True)
    for axis, (title, lines) in zip(axes.flat, panels.items(), strict=True):
        for color, (label, found) in zip(plt.cm.viridis(np.linspace(0, 0.85, len(lines))), lines.items(), strict=True):
            for name, (style, width) in styles.items():
                known = f"{name} {label}".strip() if len(lines) == 1 else label if name == "adaptive" else None
                axis.plot(sizes, found[name].mean(axis=1), style, color=color, linewidth=width, label=known)
        axis.set_title(title, fontsize=10)
        axis.set_xscale("log")
        axis.set_ylim(0.0, 0.58)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    for axis in axes[1]:
        axis.set_xlabel("rows")
    for axis in axes[:, 0]:
        axis.set_ylabel("error on new rows")
    drawing.suptitle("ε = 0.1: adaptive (lines), Xi et al. 2011 (dashes), without privacy (dots)", fontsize=11)
    drawing.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=110)
    print(f"\nwrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repeat, few rows and few settings")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where the figure goes")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    repeats, tested = (1, 5_000) if wanted.quick else (wanted.repeats, 50_000)
    sizes = (4_000, 32_000) if wanted.quick else SIZES
    columns, sigmas = ((5, 20), (1, 3)) if wanted.quick else (COLUMNS, SIGMAS)

    table1(2 if wanted.quick else 20, tested)
    panels: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    law = dp.datasets.make_xi_pair(1).truth
    panels["Figure 1: five columns, diagonal"] = {"": curves(pair, law, repeats, sizes, tested)}
    shown("Figure 1: five columns, diagonal covariances", panels["Figure 1: five columns, diagonal"], sizes)
    for number, d in enumerate(columns, start=2):
        lines = {}
        for sigma in sigmas:
            law = dp.datasets.make_xi_correlated(1, d, sigma).truth
            lines[f"σ={sigma}"] = curves(partial(correlated, d, sigma), law, repeats, sizes, tested)
        panels[f"Figure {number}: {d} columns"] = lines
        shown(f"Figure {number}: {d} columns", lines, sizes)
    patients = dp.datasets.fetch_parkinsons()
    law = law_of(patients.X, patients.y)
    lines = {"": curves(partial(drawn_from, law), law, repeats, sizes, tested)}
    panels["Parkinsons: 22 columns"] = lines
    shown("Parkinsons: rows from the law of the two classes, 22 columns", lines, sizes)
    if wanted.out and not wanted.quick:
        figure(panels, sizes, wanted.out)

    epsilons = (1.0,) if wanted.quick else (0.1, 0.3, 1.0, 3.0)
    for name, table, several in (
        ("Pima", dp.datasets.fetch_pima(), 20),
        ("Adult", dp.datasets.load_adult(), repeats),
    ):
        bounds = dp.Box(*zip(*table.bounds, strict=True))
        real(name, np.asarray(table.X), np.asarray(table.y), bounds, 2 if wanted.quick else several, epsilons)


if __name__ == "__main__":
    main()
