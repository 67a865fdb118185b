"""The private Gaussian classifier on real rows, against the published one (Xi, Kantarcioglu and Inan 2011) and none.

Pima and Adult, the numeric columns within their declared bounds: δ = 1e-6, replace-one, a fifth of the rows to test.
Prints tables (Markdown); seeds are fixed, so that the numbers are reproducible. The paper's own experiments are in
``python -m papers``: ``xi/table-1``, ``xi/figure-1`` to ``xi/figure-5`` and ``xi/parkinsons``.

    python benchmarks/bench_classifier.py [--quick]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import discreet as dp
from discreet.noise import NotPrivateWarning


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two repeats, one ε")
    parser.add_argument("--repeats", type=int, default=5)
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    epsilons = (1.0,) if wanted.quick else (0.1, 0.3, 1.0, 3.0)
    for name, table, several in (
        ("Pima", dp.datasets.fetch_pima(), 20),
        ("Adult", dp.datasets.load_adult(), wanted.repeats),
    ):
        bounds = dp.Box(*zip(*table.bounds, strict=True))
        real(name, np.asarray(table.X), np.asarray(table.y), bounds, 2 if wanted.quick else several, epsilons)


if __name__ == "__main__":
    main()
