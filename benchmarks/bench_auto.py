"""``GaussianMixture("auto")`` beside fixed numbers of components: mean log-likelihood of other rows, over ε.

Tables of two kinds. "choosing": made by generators, on which the constants of the number of components were chosen
(one Gaussian, clusters, skewed columns). "figure": six tables of other origin. While the constants were
chosen, scores of lifesci, Adult, S1 and Pima were seen as well; those of Gowalla and the stroke stand-in were not.
δ = 1e-6, replace-one, a fifth of the rows held out, as many splits as there are seeds. Scores are relative to the
declared scale, as in bench_dpem.py.

    python benchmarks/bench_auto.py --tables figure --seeds 3 --out build/benchmarks
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import discreet as dp
from discreet.noise import NotPrivateWarning

EPSILONS = (0.3, 1.0, 3.0)
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
MOST_ROWS = 100_000
Table = tuple[np.ndarray, dp.Box | dp.Ball]


def declared(dataset: dp.datasets.Dataset) -> Table:
    """Return rows and their declared bounds."""
    low, high = np.array(dataset.bounds, dtype=float).T
    rows = np.asarray(dataset.X, dtype=float)
    if len(rows) > MOST_ROWS:
        rows = rows[np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]]
    return rows, dp.Box(low, high)


def lifesci() -> Table:
    return dp.datasets.fetch_lifesci().X, dp.Ball(16.25)


def clusters(count: int, columns: int, rows: int, spread: float) -> Table:
    """Return rows of clusters with covariances of their own."""
    rng = np.random.default_rng(100)
    centres = rng.normal(0.0, spread, (count, columns))
    turns = np.linalg.qr(rng.standard_normal((count, columns, columns)))[0]
    factors = turns * np.exp(rng.uniform(-0.7, 0.7, (count, 1, columns)))
    labels = rng.integers(0, count, rows)
    table = centres[labels] + np.einsum("nij,nj->ni", factors[labels], rng.standard_normal((rows, columns)))
    bound = 1.2 * float(np.abs(table).max())
    return table, dp.Box(-bound, bound).for_columns(columns)


def skewed(columns: int = 4, rows: int = 30_000) -> Table:
    """Return up to four columns that are no mixture of Gaussians."""
    rng = np.random.default_rng(7)
    z = rng.standard_normal((30_000, 4))
    z[:, 1] += 0.7 * z[:, 0]
    waiting = rng.gamma(2.0, 1.0, len(z)) + 0.3 * z[:, 0]
    table = np.column_stack([np.exp(z[:, 0]), z[:, 1], waiting, np.abs(z[:, 3])])
    return table[:rows, :columns], dp.Box([0, -6, -3, 0][:columns], [30, 6, 20, 6][:columns])


def stroke() -> Table:
    table = dp.datasets.make_stroke(20_000, n_features=12, random_state=0)
    bound = 1.2 * float(np.abs(table.X).max())
    return np.asarray(table.X, dtype=float), dp.Box(-bound, bound).for_columns(12)


TABLES: dict[str, dict[str, Callable[[], Table]]] = {
    "choosing": {
        "one Gaussian": lambda: clusters(1, 8, 10_000, 0.0),
        "four clusters": lambda: clusters(4, 5, 20_000, 3.5),
        "twelve clusters": lambda: clusters(12, 3, 50_000, 5.0),
        "skewed": skewed,
        "15 in 2 columns": lambda: clusters(15, 2, 5_000, 8.0),
        "30 in 2 columns": lambda: clusters(30, 2, 10_000, 12.0),
        "15 in 2 columns, 50,000": lambda: clusters(15, 2, 50_000, 8.0),
        "30 in 2 columns, 50,000": lambda: clusters(30, 2, 50_000, 12.0),
        "8 in 3 columns": lambda: clusters(8, 3, 5_000, 6.0),
        "8 in 3 columns, 20,000": lambda: clusters(8, 3, 20_000, 6.0),
        "6 touching in 2 columns": lambda: clusters(6, 2, 5_000, 2.0),
        "one Gaussian in 2 columns": lambda: clusters(1, 2, 5_000, 0.0),
        "skewed, 2 columns": lambda: skewed(2, 5_000),
        "skewed, 3 columns": lambda: skewed(3, 10_000),
    },
    "figure": {
        "lifesci": lifesci,
        "Adult": lambda: declared(dp.datasets.load_adult()),
        "S1": lambda: declared(dp.datasets.fetch_s1()),
        "Gowalla": lambda: declared(dp.datasets.fetch_gowalla()),
        "Pima": lambda: declared(dp.datasets.fetch_pima()),
        "stroke": stroke,
    },
}


def score(table: Table, count: int | str, epsilon: float, seed: int) -> tuple[float, int]:
    """Return the score on other rows, and the number of components. The seed makes the noise known; rows are public."""
    rows, space = table
    order = np.random.default_rng(seed).permutation(len(rows))
    held = len(rows) // 5
    model = dp.GaussianMixture(count, epsilon=epsilon, bounds=space, random_state=seed).fit(rows[order[held:]])
    scale = float(np.log(np.asarray(space.for_columns(rows.shape[1]).scale)).sum())
    return model.score(rows[order[:held]]) + scale, model.n_components_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", choices=list(TABLES), default="figure")
    parser.add_argument("--only", nargs="*", help="some of the tables")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a folder for the table")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    lines = ["| table | ε | auto | components | best fixed | its K | auto less best | s a fit |", "|" + " --- |" * 8]
    print("\n".join(lines), flush=True)
    for name, make in TABLES[asked.tables].items():
        if asked.only and name not in asked.only:
            continue
        table = make()
        for epsilon in EPSILONS:
            start = time.process_time()
            auto = [score(table, "auto", epsilon, seed) for seed in range(asked.seeds)]
            took = (time.process_time() - start) / asked.seeds
            fixed = {k: [score(table, k, epsilon, seed)[0] for seed in range(asked.seeds)] for k in COUNTS}
            best = max(fixed, key=lambda k: float(np.mean(fixed[k])))
            values = [found for found, _ in auto]
            numbers = sorted({count for _, count in auto})
            away = np.array(values) - fixed[best]
            cells = [
                name, f"{epsilon:g}", f"{np.mean(values):.3f}", ", ".join(map(str, numbers)),
                f"{np.mean(fixed[best]):.3f}", str(best),
                f"{away.mean():+.3f} ± {away.std() / np.sqrt(len(away)):.3f}", f"{took:.1f}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / f"auto-{asked.tables}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
