"""Private k-means against DPLloyd and scikit-learn: NICV, as ratios to the centres that scikit-learn finds.

NICV is the mean squared distance to the nearest centre, the declared box scaled to [−1, 1]^d. Seeds make the noise
reproducible, so nothing here is private; the data are public.

``--wide ROWS`` is about many columns instead: 100 Gaussian clusters in 40 columns, far apart (centres with a spread of
3.5 standard deviations a column), near (of 1), or with weights from 1 to 20 and different widths. Data sets 10,000 and
up; the constants were chosen on others, whose seeds are below 100.

``DISCREET_DATA=… python benchmarks/bench_kmeans.py [--seeds 5] [--csv FILE] [--png FILE] [--wide 100000]``
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans as Exact

from discreet import Box
from discreet.datasets import fetch_gowalla, fetch_s1
from discreet.estimators.kmeans import KMeans
from discreet.noise import NotPrivateWarning

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
VARIANTS = {
    "adaptive": {},
    "joint": {"method": "joint"},
    "dplloyd linear": {"method": "dplloyd", "composition": "linear"},
    "dplloyd zcdp": {"method": "dplloyd", "composition": "zcdp"},
}
TABLES = {"gowalla": (fetch_gowalla, 5), "s1": (fetch_s1, 15)}


def scaled(dataset) -> np.ndarray:
    """Return the rows with the declared box scaled to [−1, 1]^d."""
    low, high = np.array(dataset.bounds, dtype=float).T
    return (dataset.X - (low + high) / 2.0) / ((high - low) / 2.0)


def nicv(rows: np.ndarray, centers: np.ndarray) -> float:
    nearest = np.full(len(rows), np.inf)
    for center in centers:
        np.minimum(nearest, ((rows - center) ** 2).sum(axis=1), out=nearest)
    return float(nearest.mean())


def measured(seeds: int) -> list[dict]:
    result = []
    for name, (fetch, count) in TABLES.items():
        rows = scaled(fetch())
        exact = nicv(rows, Exact(count, n_init=10, random_state=0).fit(rows).cluster_centers_)
        print(f"\n{name}, {len(rows)} rows, K={count}: NICV of scikit-learn {exact:.5f}; below, NICV as a ratio to it")
        head = "".join(f"{'ε=' + format(epsilon, 'g'):>22}" for epsilon in EPSILONS)
        print(f"{'method':16}{head}{'s a fit':>9}")
        for variant, options in VARIANTS.items():
            line, start = f"{variant:16}", time.perf_counter()
            for epsilon in EPSILONS:
                ratios = []
                for seed in range(200, 200 + seeds):  # the constants were chosen with others
                    model = KMeans(count, epsilon=epsilon, bounds=Box(-1.0, 1.0), random_state=seed, **options)
                    ratios.append(nicv(rows, model.fit(rows).cluster_centers_) / exact)
                    result.append(
                        {"data": name, "method": variant, "epsilon": epsilon, "seed": seed, "nicv": ratios[-1] * exact}
                    )
                line += f"{np.mean(ratios):9.3f} {min(ratios):5.2f}–{max(ratios):5.2f} "
            print(line + f"{(time.perf_counter() - start) / seeds / len(EPSILONS):9.2f}", flush=True)
    return result


def clusters(kind: str, rows: int, seed: int, columns: int = 40, count: int = 100) -> np.ndarray:
    """Return rows of Gaussian clusters."""
    rng = np.random.default_rng(seed)
    weights, widths = np.ones(count), np.ones(count)
    centers = rng.normal(0.0, 1.0 if kind == "near" else 3.5, (count, columns))
    if kind == "uneven":
        weights, widths = np.geomspace(1.0, 20.0, count), np.exp(rng.uniform(-0.5, 0.5, count))
    labels = rng.choice(count, rows, p=weights / weights.sum())
    return centers[labels] + widths[labels, None] * rng.standard_normal((rows, columns))


def wide(rows: int, seeds: int, count: int = 100) -> None:
    print(f"{rows} rows, 40 columns, K={count}: squared distances relative to scikit-learn's with one start")
    print(f"{'clusters':10}{'ε':>6}{'mean':>9}{'worst':>9}{'s a fit':>9}{'scikit-learn':>14}")
    for kind in ("far", "near", "uneven"):
        ratios: dict[float, list[tuple[float, float]]] = {1.0: [], 0.3: []}
        seconds = []
        for seed in range(10_000, 10_000 + seeds):
            table = clusters(kind, rows, seed)
            bound, start = 1.2 * float(np.abs(table).max()), time.process_time()
            exact = -Exact(count, n_init=1, random_state=seed).fit(table).score(table)
            seconds.append(time.process_time() - start)
            for epsilon, found in ratios.items():
                start = time.process_time()
                model = KMeans(count, epsilon=epsilon, bounds=Box(-bound, bound), random_state=seed).fit(table)
                took = time.process_time() - start
                found.append((-model.score(table) / exact, took))
        for epsilon, found in ratios.items():
            mean, took = np.mean(found, axis=0)
            worst = max(found)[0]
            print(f"{kind:10}{epsilon:6g}{mean:9.3f}{worst:9.3f}{took:9.2f}{np.mean(seconds):14.2f}", flush=True)


def drawn(result: list[dict], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(TABLES), figsize=(10, 4))
    for panel, name in zip(panels, TABLES, strict=True):
        for variant in VARIANTS:
            some = [row for row in result if row["data"] == name and row["method"] == variant]
            means = [np.mean([row["nicv"] for row in some if row["epsilon"] == epsilon]) for epsilon in EPSILONS]
            panel.loglog(EPSILONS, means, "o-", label=variant)
        panel.set(title=name, xlabel="ε", ylabel="NICV")
    panels[0].legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--csv")
    parser.add_argument("--png")
    parser.add_argument("--wide", type=int, metavar="ROWS", help="many columns, so many rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    if options.wide:
        wide(options.wide, options.seeds)
        return
    result = measured(options.seeds)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, list(result[0]))
            writer.writeheader()
            writer.writerows(result)
    if options.png:
        drawn(result, options.png)


if __name__ == "__main__":
    main()
