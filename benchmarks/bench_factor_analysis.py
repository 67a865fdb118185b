"""Private factor analysis: how much of the loadings' space comes back.

Synthetic rows with known loadings: the mean squared cosine between the space of the loadings that were found and the
true one, and the mean log-likelihood of fresh rows. δ = 1e-5, replace-one. Faces are in ``python -m papers
dp-em/figure-5``.

    python benchmarks/bench_factor_analysis.py --out build/benchmarks
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import FactorAnalysis as Exact

import discreet as dp
from discreet.noise import NotPrivateWarning

EPSILONS = (0.1, 0.3, 1.0, 4.0)
SIZES = [(10, 2, 2_000, 25.0), (10, 2, 20_000, 25.0), (30, 3, 20_000, 40.0), (100, 5, 50_000, 80.0)]
METHODS = ("adaptive", "one-release", "auto")


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the mean squared cosine between the spaces of two matrices' columns."""
    a, b = np.linalg.qr(one)[0], np.linalg.qr(other)[0]
    return float(np.linalg.norm(a.T @ b) ** 2) / a.shape[1]


def synthetic(seeds: int) -> dict[tuple[int, int], dict[str, np.ndarray]]:
    """Print a table for each size, and return the overlaps."""
    curves = {}
    for d, k, n, radius in SIZES:
        rng = np.random.default_rng(0)
        loadings, noise = rng.standard_normal((d, k)), rng.uniform(0.2, 2.0, d)

        def drawn(count: int, loadings=loadings, noise=noise, rng=rng, d=d, k=k) -> np.ndarray:
            z, e = rng.standard_normal((count, k)), rng.standard_normal((count, d))
            return z @ loadings.T + e * np.sqrt(noise)

        X, test = drawn(n), drawn(5_000)
        exact = Exact(k).fit(X)
        lines = [
            f"### {d} columns, {k} factors, {n:,} rows, radius {radius:g}: without privacy "
            f"{overlap(exact.components_.T, loadings):.3f}, {exact.score(test):.2f}",
            "",
            f"| method | {' | '.join(f'ε={epsilon:g}' for epsilon in EPSILONS)} |",
            f"| --- |{' --- |' * len(EPSILONS)}",
        ]
        curves[d, n] = {}
        for method in METHODS:
            result = np.zeros((len(EPSILONS), seeds, 2))
            for i, epsilon in enumerate(EPSILONS):
                for seed in range(seeds):
                    model = dp.FactorAnalysis(
                        k, epsilon=epsilon, delta=1e-5, bounds=dp.Ball(radius), method=method, random_state=seed
                    ).fit(X)
                    result[i, seed] = overlap(model.components_.T, loadings), model.score(test)
            curves[d, n][method] = result[:, :, 0]
            cells = [f"{space:.3f}, {score:.2f}" for space, score in result.mean(axis=1)]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        print("\n".join(lines) + "\n", flush=True)
    return curves


def figure(curves: dict[tuple[int, int], dict[str, np.ndarray]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(1, len(curves), figsize=(3.6 * len(curves), 3.2), constrained_layout=True, sharey=True)
    for panel, ((d, n), methods) in zip(panels, curves.items(), strict=True):
        for method, values in methods.items():
            panel.errorbar(EPSILONS, values.mean(axis=1), values.std(axis=1), marker="o", markersize=3, label=method)
        panel.set(xscale="log", xlabel="ε", title=f"{d} columns, {n:,} rows")
    panels[0].set_ylabel("overlap with the true loadings")
    panels[0].legend(fontsize=8)
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    asked.out.mkdir(parents=True, exist_ok=True)
    figure(synthetic(asked.seeds), asked.out / "factor-analysis.png")


if __name__ == "__main__":
    main()
