"""How near private mixtures come to the non-private one on other rows and with other steps than the DP-EM paper has.

Mean test log-likelihood against ε, as a table (Markdown) and a figure. Rows are scaled as the papers do: by the
declared radius, so that the unit ball is the scale of the scores. δ = 1e-4, replace-one, folds of a tenth. The paper's
figures, by every composition, are in ``python -m papers dp-em/figure-2`` and ``dp-em/figure-3``.

    python benchmarks/bench_dpem.py --data lifesci adult --folds 10 --out build/benchmarks
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture as Exact

import discreet as dp
from discreet.guarantees.caution import WeakGuaranteeWarning
from discreet.noise import NotPrivateWarning

DELTA = 1e-4
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0)
METHODS: dict[str, dict[str, object]] = {
    "adaptive": {},
    "adaptive, half the steps": {"steps": 0.5},
    "adaptive, half as many again": {"steps": 1.5},
    "joint": {"method": "joint"},
    "paper, GGG, zCDP": {"method": "paper", "composition": "zcdp"},
}


def lifesci() -> tuple[np.ndarray, dp.Ball, int]:
    return dp.datasets.fetch_lifesci().X, dp.Ball(16.25), 3


def adult() -> tuple[np.ndarray, dp.Box, int]:
    table = dp.datasets.load_adult()
    low, high = zip(*table.bounds, strict=True)
    return np.asarray(table.X, dtype=np.float64), dp.Box(low, high), 4


DATA: dict[str, Callable[[], tuple[np.ndarray, dp.Box | dp.Ball, int]]] = {
    "lifesci": lifesci,
    "adult": adult,
}


def folds(X: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    parts = np.array_split(np.random.default_rng(0).permutation(len(X)), 10)
    for part in parts[:count]:
        kept = np.ones(len(X), dtype=bool)
        kept[part] = False
        yield X[kept], X[part]


def fit(train: np.ndarray, space: dp.Box | dp.Ball, k: int, epsilon: float, seed: int, how: dict[str, object]):
    """Return the fitted mixture. A seed makes the table reproducible; it is not private, and these rows are public."""
    settings = dict(how)
    factor = settings.pop("steps", None)

    def model(**more: object) -> dp.GaussianMixture:
        return dp.GaussianMixture(
            k, epsilon=epsilon, delta=DELTA, bounds=space, random_state=seed, **(settings | more)
        ).fit(train)

    if factor is None:
        return model()
    from discreet.models.mixture.adaptive_method import Adaptive

    guarantee = dp.Guarantee(epsilon, DELTA)
    usual = Adaptive.for_data(
        k, space.for_columns(train.shape[1]), guarantee, dp.PublicSize(len(train), True)
    ).default_steps()
    return model(n_steps=max(1, round(usual * float(factor))))


def scores(name: str, methods: dict[str, dict[str, object]], count: int, epsilons: tuple[float, ...]):
    """Return the non-private score, and the mean and standard error of each method at each ε."""
    X, space, k = DATA[name]()
    scale = float(np.log(np.asarray(space.for_columns(X.shape[1]).scale)).sum())
    unit = np.asarray(space.for_columns(X.shape[1]).scale)
    exact, result = [], {method: np.full((len(epsilons), count), math.nan) for method in methods}
    for i, (train, test) in enumerate(folds(X, count)):
        best = Exact(k, reg_covar=1e-6, random_state=0, max_iter=200).fit(train / unit)
        exact.append(best.score(test / unit))
        for method, how in methods.items():
            for j, epsilon in enumerate(epsilons):
                try:
                    result[method][j, i] = fit(train, space, k, epsilon, i, how).score(test) + scale
                except ValueError:  # a composition that no noise can satisfy at this δ
                    continue
        print(f"{name}: fold {i + 1} of {count}", flush=True)
    return float(np.mean(exact)), result


def reaching(curve: np.ndarray, epsilons: tuple[float, ...], score: float) -> str:
    """Return the ε at which a curve reaches a score, between the measured ones on a logarithmic scale."""
    for j, value in enumerate(curve):
        if value >= score:
            if j == 0:
                return f"< {epsilons[0]:g}"
            share = (score - curve[j - 1]) / (value - curve[j - 1])
            return f"{math.exp(math.log(epsilons[j - 1]) * (1 - share) + math.log(epsilons[j]) * share):.2g}"
    return "–"


def table(name: str, exact: float, result: dict[str, np.ndarray], epsilons: tuple[float, ...]) -> str:
    means = {method: np.nanmean(values, axis=1) for method, values in result.items()}
    goal = means.get("paper, GGG, zCDP", np.full(len(epsilons), math.nan))[-1]
    lines = [
        f"### {name}: non-private {exact:.2f}",
        "",
        f"| method | {' | '.join(f'ε={epsilon:g}' for epsilon in epsilons)} | ε for the paper's score at 4 |",
        f"| --- |{' --- |' * (len(epsilons) + 1)}",
    ]
    for method, values in result.items():
        errors = np.nanstd(values, axis=1) / np.sqrt(np.maximum((~np.isnan(values)).sum(axis=1), 1))
        cells = [
            "–" if math.isnan(mean) else f"{mean:.2f} ± {error:.2f}"
            for mean, error in zip(means[method], errors, strict=True)
        ]
        lines.append(f"| {method} | {' | '.join(cells)} | {reaching(means[method], epsilons, goal)} |")
    return "\n".join(lines) + "\n"


def figure(results: dict[str, tuple[float, dict[str, np.ndarray]]], epsilons: tuple[float, ...], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = plt.subplots(1, len(results), figsize=(5.2 * len(results), 4.2), squeeze=False, layout="constrained")
    for axis, (name, (exact, result)) in zip(panels[1][0], results.items(), strict=True):
        for method, values in result.items():
            if "steps" not in METHODS[method]:
                style = "-o" if method == "adaptive" else "--"
                axis.plot(epsilons, np.nanmean(values, axis=1), style, label=method, markersize=4)
        axis.axhline(exact, color="black", linewidth=0.8, label="non-private")
        best = max(np.nanmax(np.nanmean(values, axis=1)) for values in result.values())
        axis.set_ylim(best - 12.0, exact + 0.8)
        axis.set(xscale="log", xlabel="ε", title=name, ylabel="mean test log-likelihood")
    panels[1][0][0].legend(fontsize=7)
    panels[0].savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["lifesci"], choices=list(DATA))
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--out", type=Path, help="a folder for the table and the figure")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    warnings.simplefilter("ignore", WeakGuaranteeWarning)  # δ is the published one
    warnings.simplefilter("ignore", RuntimeWarning)  # means of methods that found nothing
    chosen, epsilons = {name: METHODS[name] for name in asked.methods}, tuple(asked.epsilons)
    results = {name: scores(name, chosen, asked.folds, epsilons) for name in asked.data}
    text = "\n".join(table(name, *result, epsilons) for name, result in results.items())
    print(text)
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "dpem.md").write_text(text, encoding="utf-8")
        figure(results, epsilons, asked.out / "dpem.png")


if __name__ == "__main__":
    main()
