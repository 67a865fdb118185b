"""How much of the energy private principal components capture, for every method, and when they see anything at all.

Energy is the variance along the first k axes that were found, relative to that along the best k axes. The rows of each
table were moved so that their mean is the declared centre, since three of the methods know no other. δ = 1e-4,
replace-one. Writes tables (Markdown) and, with ``--out``, a figure.

The last table is about a single spike of variance λ along one of d directions and nothing else: released with noise
of deviation τ in each entry, theory sees it only where λ > τ√d, with cos² = 1 − τ²d/λ² between the axis and the truth.

    python benchmarks/bench_pca.py --seeds 10 --out build/benchmarks
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path

import numpy as np

import discreet as dp
from discreet.models.noisy_sums import noise_std
from discreet.noise import NotPrivateWarning

DELTA = 1e-4
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
METHODS = ("adaptive", "analyze-gauss", "sulq", "exponential", "gibbs")
STRENGTHS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
D, ROWS = 200, 20_000  # of the spikes


def lifesci() -> tuple[np.ndarray, dp.Ball, int]:
    X = dp.datasets.fetch_lifesci().X
    return X - X.mean(axis=0), dp.Ball(16.25), 3


def adult() -> tuple[np.ndarray, dp.Box, int]:
    """Return the numeric columns, each divided by the half of its declared width."""
    table = dp.datasets.load_adult()
    low, high = (np.array(bound) for bound in zip(*table.bounds, strict=True))
    X = (np.asarray(table.X) - low / 2 - high / 2) / (high / 2 - low / 2)
    return X - X.mean(axis=0), dp.Box(-2.0, 2.0), 3


def spikes() -> tuple[np.ndarray, dp.Ball, int]:
    """Return rows in 50 dimensions with three large variances among small ones."""
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.standard_normal((50, 50)))[0]
    X = (rng.standard_normal((20_000, 50)) * np.concatenate([[4.0, 3.0, 2.0], np.full(47, 0.3)])) @ turned.T
    return X, dp.Ball(20.0), 3


def captured(axes: np.ndarray, X: np.ndarray) -> float:
    second = X.T @ X
    best = np.sort(np.linalg.eigvalsh(second))[::-1][: len(axes)].sum()
    return float(np.einsum("kd,de,ke->", axes, second, axes) / best)


def table(name: str, X: np.ndarray, space: dp.Box | dp.Ball, k: int, seeds: int) -> tuple[str, dict[str, np.ndarray]]:
    result = {}
    for method in METHODS:
        result[method] = np.array(
            [
                [captured(fit(X, space, k, method, epsilon, seed).components_, X) for seed in range(seeds)]
                for epsilon in EPSILONS
            ]
        )
    lines = [
        f"### {name}: {X.shape[0]:,} rows, {X.shape[1]} columns, k = {k}",
        "",
        f"| method | {' | '.join(f'ε={epsilon:g}' for epsilon in EPSILONS)} |",
        f"| --- |{' --- |' * len(EPSILONS)}",
    ]
    for method, values in result.items():
        cells = [
            f"{mean:.3f} ± {error:.3f}"
            for mean, error in zip(values.mean(axis=1), values.std(axis=1) / math.sqrt(seeds), strict=True)
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n", result


def fit(X: np.ndarray, space: dp.Box | dp.Ball, k: int, method: str, epsilon: float, seed: int) -> dp.PCA:
    return dp.PCA(k, epsilon=epsilon, delta=DELTA, bounds=space, method=method, random_state=seed).fit(X)


def transition(seeds: int, epsilon: float = 1.0) -> tuple[str, np.ndarray, np.ndarray]:
    """Return cos² between the first axis and a spike, by its strength λ/(τ√d), and what theory says."""
    rng = np.random.default_rng(1)
    axis = np.linalg.qr(rng.standard_normal((D, 1)))[0][:, 0]
    space = dp.Ball(1.0)
    quiet = dp.PCA(
        1, epsilon=epsilon, delta=DELTA, bounds=space, method="analyze-gauss", center="declared", random_state=0
    )
    release = quiet.fit(np.zeros((ROWS, D))).releases_[0]
    edge = noise_std(release, "second") / ROWS / math.sqrt(2.0) * math.sqrt(D)
    result = np.zeros((len(STRENGTHS), seeds))
    for i, strength in enumerate(STRENGTHS):
        X = math.sqrt(strength * edge) * rng.choice([-1.0, 1.0], (ROWS, 1)) * axis
        for seed in range(seeds):
            model = dp.PCA(
                1,
                epsilon=epsilon,
                delta=DELTA,
                bounds=space,
                method="analyze-gauss",
                center="declared",
                random_state=seed,
            ).fit(X)
            result[i, seed] = (model.components_[0] @ axis) ** 2
    theory = np.maximum(0.0, 1.0 - 1.0 / np.array(STRENGTHS) ** 2)
    lines = [
        f"### one spike among {D} directions, {ROWS:,} rows, ε = {epsilon:g}: cos² of the first axis with it",
        "",
        f"| λ/(τ√d) | {' | '.join(f'{strength:g}' for strength in STRENGTHS)} |",
        f"| --- |{' --- |' * len(STRENGTHS)}",
        f"| analyze-gauss | {' | '.join(f'{value:.2f}' for value in result.mean(axis=1))} |",
        f"| theory | {' | '.join(f'{value:.2f}' for value in theory)} |",
    ]
    return "\n".join(lines) + "\n", result, theory


def figure(results: dict[str, dict[str, np.ndarray]], result: np.ndarray, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(1, len(results) + 1, figsize=(4.2 * (len(results) + 1), 3.6), constrained_layout=True)
    for panel, (name, curves) in zip(panels, results.items(), strict=False):
        for method, values in curves.items():
            panel.errorbar(
                EPSILONS, values.mean(axis=1), values.std(axis=1), marker="o", markersize=3, capsize=2, label=method
            )
        panel.set(xscale="log", xlabel="ε", ylabel="energy, relative to the best axes", title=name)
        panel.axhline(1.0, color="grey", linewidth=0.8)
    panels[0].legend(fontsize=8)
    strengths = np.linspace(0.05, max(STRENGTHS), 400)
    panels[-1].plot(strengths, np.maximum(0.0, 1.0 - 1.0 / strengths**2), color="grey", label="theory")
    panels[-1].errorbar(
        STRENGTHS, result.mean(axis=1), result.std(axis=1), fmt="o", markersize=3, capsize=2, label="analyze-gauss"
    )
    panels[-1].set(xlabel="λ / (τ√d)", ylabel="cos² with the spike", title=f"one spike among {D} directions")
    panels[-1].legend(fontsize=8)
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    results = {}
    for name, data in (("lifesci", lifesci), ("adult", adult), ("spikes", spikes)):
        text, results[name] = table(name, *data(), asked.seeds)
        print(text, flush=True)
    text, result, _ = transition(asked.seeds)
    print(text)
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        figure(results, result, asked.out / "pca.png")


if __name__ == "__main__":
    main()
