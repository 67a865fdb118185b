"""Private k-means against DPLloyd and scikit-learn: NICV, as ratios to the centres that scikit-learn finds.

NICV is the mean squared distance to the nearest centre, the declared box scaled to [−1, 1]^d. Seeds make the noise
reproducible, so nothing here is private; the data are public.

``DISCREET_DATA=… python benchmarks/bench_kmeans.py [--seeds 5] [--csv FILE] [--png FILE]``
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
    options = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
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
