"""Private factor analysis: how much of the loadings' space comes back, and what faces look like at an honest ε.

Synthetic rows with known loadings: the mean squared cosine between the space of the loadings that were found and the
true one, and the mean log-likelihood of fresh rows. δ = 1e-5, replace-one.

Faces (Olivetti, 64 × 64 pixels of eight bits, 400 pictures, declared to be at most half as far from grey as black and
white are): the factors as pictures, at ε = 0.2, 0.3, 1 and 10, and at ε = 0.3 for more people. There are no more
pictures, so each is taken several times: that leaves every moment as it is and makes the noise beside it as small as so
many people would. δ = 1e-4.

    python benchmarks/bench_factor_analysis.py --out build/benchmarks          the table
    python benchmarks/bench_factor_analysis.py --faces --out build/benchmarks  and the faces: some minutes, 2 GB
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import FactorAnalysis as Exact

import discreet as dp
from discreet.models.released import noise_of
from discreet.noise import NotPrivateWarning

EPSILONS = (0.1, 0.3, 1.0, 4.0)
SIZES = [(10, 2, 2_000, 25.0), (10, 2, 20_000, 25.0), (30, 3, 20_000, 40.0), (100, 5, 50_000, 80.0)]
GREY = dp.Ball(0.5 * 127.5 * 64.0, center=127.5)
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
            found = np.zeros((len(EPSILONS), seeds, 2))
            for i, epsilon in enumerate(EPSILONS):
                for seed in range(seeds):
                    model = dp.FactorAnalysis(
                        k, epsilon=epsilon, delta=1e-5, bounds=dp.Ball(radius), method=method, random_state=seed
                    ).fit(X)
                    found[i, seed] = overlap(model.components_.T, loadings), model.score(test)
            curves[d, n][method] = found[:, :, 0]
            cells = [f"{space:.3f}, {score:.2f}" for space, score in found.mean(axis=1)]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        print("\n".join(lines) + "\n", flush=True)
    return curves


def faces(out: Path) -> None:
    """Draw the first four factors for each setting, and print what the noise can hide."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pictures = np.asarray(dp.datasets.fetch_olivetti().X, dtype=np.uint8).reshape(400, -1)
    exact = Exact(4, svd_method="randomized", random_state=0).fit(pictures.astype(np.float64))
    shown = [("without privacy, 400", exact.components_)]
    for epsilon, times in ((0.2, 1), (0.3, 1), (1.0, 1), (10.0, 1), (0.3, 10), (0.3, 25), (0.3, 100)):
        start = time.perf_counter()
        rows = np.repeat(pictures, times, axis=0)
        model = dp.FactorAnalysis(4, epsilon=epsilon, delta=1e-4, bounds=GREY, random_state=0).fit(rows)
        release, d = model.releases_[0], rows.shape[1]
        edge = noise_of(release, "second") / len(rows) / math.sqrt(2.0) * math.sqrt(d)
        unit = (pictures - 127.5) / GREY.radius
        largest = float(np.linalg.norm(unit - unit.mean(axis=0), 2) ** 2 / 400)
        space = overlap(model.components_.T, exact.components_.T)
        print(
            f"ε = {epsilon:g}, {len(rows):,} rows: largest eigenvalue {largest:.4f}, seen above {edge:.4f}, "
            f"overlap with the exact factors {space:.3f}, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        shown.append((f"ε = {epsilon:g}, {len(rows):,}", model.components_))
    fig, panels = plt.subplots(len(shown), 4, figsize=(6.4, 1.75 * len(shown)), constrained_layout=True)
    for line, (name, factors) in zip(panels, shown, strict=True):
        for panel, factor in zip(line, factors, strict=True):
            panel.imshow(factor.reshape(64, 64), cmap="gray")
            panel.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=8)
    fig.savefig(out / "factor-analysis-faces.png", dpi=68)


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
    parser.add_argument("--faces", action="store_true", help="the faces as well")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    asked.out.mkdir(parents=True, exist_ok=True)
    figure(synthetic(asked.seeds), asked.out / "factor-analysis.png")
    if asked.faces:
        faces(asked.out)


if __name__ == "__main__":
    main()
