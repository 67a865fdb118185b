"""Private linear regression, ours and another library's, against least squares without privacy.

R² on a fifth of the rows that no fit has seen, the mean over splits and its standard error. Replace-one.

- Adult: years of education, and hours a week, from the five other numeric columns, in their declared bounds.
- Life Sciences: its first column from the nine others, each within ±16.25.
- Simulated: 10 correlated features and noise as large as the signal, 10,000 rows, features within ±8, target ±25.

Ours: ``adaptive`` and ``adassp`` (Wang 2018), δ = 1e-6. diffprivlib's LinearRegression (Zhang et al. 2012) has δ = 0;
it is given the same bounds, and rows moved into them, and runs in an environment of its own:

    python3.11 -m venv build/diffprivlib && build/diffprivlib/bin/pip install diffprivlib==0.6.6 scikit-learn==1.8.0
    python benchmarks/bench_regression.py --other build/diffprivlib/bin/python
    python benchmarks/bench_regression.py --quick
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

EPSILONS = (0.1, 0.3, 1.0, 3.0)
DELTA = 1e-6


class Task(NamedTuple):
    """Features, target, and where both are declared to lie."""

    X: np.ndarray
    y: np.ndarray
    bounds: np.ndarray
    target: tuple[float, float]


def column(X: np.ndarray, bounds: np.ndarray, place: int) -> Task:
    """Return the task to find one column from the others."""
    others = np.delete(np.arange(X.shape[1]), place)
    return Task(X[:, others], X[:, place], bounds[others], tuple(bounds[place].tolist()))


def tasks(quick: bool) -> dict[str, Task]:
    import discreet as dp

    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((10, 10)) / np.sqrt(10) + np.eye(10) / 2
    X = rng.standard_normal((10_000, 10)) @ mixing
    signal = X @ rng.standard_normal(10)
    y = signal + signal.std() * rng.standard_normal(len(X))
    result = {"Simulated, 10 features": Task(X, y, np.array([(-8.0, 8.0)] * 10), (-25.0, 25.0))}
    adult = dp.datasets.load_adult()
    rows, bounds, names = np.asarray(adult.X, dtype=float), np.array(adult.bounds, dtype=float), list(adult.columns)
    for title, word in (("Adult, education", "education"), ("Adult, hours a week", "hours")):
        result[title] = column(rows, bounds, next(i for i, name in enumerate(names) if word in name))
    if not quick:
        life = dp.datasets.fetch_lifesci()
        result["Life Sciences, first column"] = column(np.asarray(life.X), np.array([(-16.25, 16.25)] * 10), 0)
    return result


def r_squared(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(1.0 - np.mean((predicted - y) ** 2) / np.var(y))


def splits(task: Task, repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the places of rows to fit, and of rows to test."""
    result = []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(task.y))
        result.append((order[len(order) // 5 :], order[: len(order) // 5]))
    return result


def ours(task: Task, method: str, epsilon: float, repeats: int) -> np.ndarray:
    import discreet as dp

    bounds = dp.Box(task.bounds[:, 0], task.bounds[:, 1])
    scores = []
    for seed, (train, test) in enumerate(splits(task, repeats)):
        model = dp.LinearRegression(
            epsilon=epsilon, delta=DELTA, bounds=bounds, target_bounds=task.target, method=method, random_state=seed
        ).fit(task.X[train], task.y[train])
        scores.append(r_squared(model.predict(task.X[test]), task.y[test]))
    return np.array(scores)


def without(task: Task, repeats: int) -> np.ndarray:
    from sklearn.linear_model import LinearRegression

    return np.array(
        [
            r_squared(LinearRegression().fit(task.X[train], task.y[train]).predict(task.X[test]), task.y[test])
            for train, test in splits(task, repeats)
        ]
    )


def other(path: Path, out: Path, repeats: int) -> None:
    """Run in the other library's environment: the task in a file, scores of shape (ε, repeats) to another."""
    from diffprivlib.models import LinearRegression

    stored = np.load(path)
    task = Task(stored["X"], stored["y"], stored["bounds"], tuple(stored["target"]))
    X, y = np.clip(task.X, *task.bounds.T), np.clip(task.y, *task.target)
    scores = np.empty((len(EPSILONS), repeats))
    for i, epsilon in enumerate(EPSILONS):
        for seed, (train, test) in enumerate(splits(task, repeats)):
            model = LinearRegression(epsilon=epsilon, bounds_X=tuple(task.bounds.T), bounds_y=task.target)
            model.fit(X[train], y[train])
            scores[i, seed] = r_squared(model.predict(task.X[test]), task.y[test])
    np.save(out, scores)


def others(task: Task, python: Path, repeats: int) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "task.npz", Path(folder) / "scores.npy"
        np.savez(path, **task._asdict())
        serve = [str(python), __file__, "--serve", str(path), str(out), "--repeats", str(repeats)]
        subprocess.run(serve, check=True)
        return np.asarray(np.load(out))


def cell(scores: np.ndarray) -> str:
    error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
    return f"{scores.mean():.3f} ± {error:.3f}" if abs(scores.mean()) < 100.0 else f"{scores.mean():.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two repeats, and no table that must be fetched")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--other", type=Path, help="a Python that has diffprivlib")
    parser.add_argument("--serve", type=Path, nargs=2, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    if wanted.serve:
        other(*wanted.serve, wanted.repeats)
        return
    repeats = 2 if wanted.quick else wanted.repeats
    for title, task in tasks(wanted.quick).items():
        print(f"\n### {title}: {len(task.y):,} rows; without privacy {cell(without(task, repeats))}\n")
        print("| method | " + " | ".join(f"ε={epsilon:g}" for epsilon in EPSILONS) + " |")
        print("| --- " * (len(EPSILONS) + 1) + "|")
        for method in ("adaptive", "adassp"):
            cells = [cell(ours(task, method, epsilon, repeats)) for epsilon in EPSILONS]
            print(f"| {method} | " + " | ".join(cells) + " |", flush=True)
        if wanted.other:
            cells = [cell(scores) for scores in others(task, wanted.other, repeats)]
            print("| diffprivlib | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
