"""Private linear classifiers: every method of ours against each other, diffprivlib, and none.

SYNTH, CM1 and CM2 (Williams and McSherry's sets, generated anew for each repeat), Pima and Adult (six numeric columns;
a fifth of the rows to test, another split for each repeat). δ = 1e-6, replace-one; ``objective-2011`` and diffprivlib
need no δ. Bounds are those of the code books and of the laws. diffprivlib runs in an environment of its own
(``other_linear.py``), with its default C = 1 and with the C out of 0.01, 0.1, 1, 10, 100 that has the least error on
the test rows, which could not be known in practice.

Writes a table (Markdown) of the share of test rows that are wrong, mean ± standard error, and a figure.

    python benchmarks/bench_linear.py                                      all of it
    python benchmarks/bench_linear.py --out docs/linear-classifiers.png     and the figure
    python benchmarks/bench_linear.py --quick                              two repeats
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import discreet as dp

DELTA = 1e-6
EPSILONS = (0.1, 0.3, 1.0, 3.0)
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
OTHER = Path("build/diffprivlib16/bin/python")

WAYS: dict[str, Callable[..., object]] = {
    "`LogisticRegression()`": dp.LogisticRegression,
    "`method='objective-2011'`": partial(dp.LogisticRegression, method="objective-2011"),
    "`method='output'`": partial(dp.LogisticRegression, method="output"),
    "`method='functional'`": partial(dp.LogisticRegression, method="functional"),
    "`method='gradient'`": partial(dp.LogisticRegression, method="gradient"),
    "`LinearSVC()`": dp.LinearSVC,
    "`GaussianClassifier(covariance_type='tied')`": partial(dp.GaussianClassifier, covariance_type="tied"),
}

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def split(name: str, seed: int) -> Split:
    """Return rows, labels, test rows, their labels, and the public bounds."""
    rng = np.random.default_rng(seed)
    if name in ("synth", "cm1", "cm2"):
        make = getattr(dp.datasets, f"make_{name}")
        data = make(random_state=seed)
    else:
        data = dp.datasets.load_adult() if name == "adult" else dp.datasets.fetch_pima()
    labels = (np.asarray(data.y) == np.max(data.y)).astype(np.int64)
    order, tested = rng.permutation(len(data.X)), len(data.X) // 5
    test, train = order[:tested], order[tested:]
    low, high = (np.array(end) for end in zip(*data.bounds, strict=True))
    return data.X[train], labels[train], data.X[test], labels[test], low, high


def ours(rows: Split, way: Callable[..., object], epsilon: float) -> float:
    X, y, test, truth, low, high = rows
    model = way(epsilon=epsilon, delta=DELTA, bounds=dp.Box(low, high), classes=[0, 1])
    return 1.0 - model.fit(X, y).score(test, truth)  # type: ignore[attr-defined]


def without(rows: Split) -> float:
    X, y, test, truth, low, high = rows
    unit = [(2.0 * (some - low) / (high - low) - 1.0) for some in (X, test)]
    return 1.0 - LogisticRegression(C=1e3, max_iter=10_000).fit(unit[0], y).score(unit[1], truth)


def theirs(splits: dict[str, list[Split]], repeats: int) -> dict[tuple[str, float], dict[str, list[float]]]:
    """Return the errors of diffprivlib for each set and ε, by C; empty where its environment is not there."""
    if not OTHER.exists():
        print(f"({OTHER} is not there: see benchmarks/other_linear.py)")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        jobs, keys = [], []
        for name, several in splits.items():
            for place, rows in enumerate(several):
                names = ("X", "y", "test_X", "test_y")
                files = {part: str(Path(folder) / f"{name}-{place}-{part}.npy") for part in names}
                for part, values in zip(names, rows, strict=False):
                    np.save(files[part], values)
                for epsilon in EPSILONS:
                    how = {"low": rows[4].tolist(), "high": rows[5].tolist(), "epsilon": epsilon, "repeats": 1, "C": CS}
                    jobs.append(files | how)
                    keys.append((name, epsilon))
        asked, answered = Path(folder) / "jobs.json", Path(folder) / "answers.json"
        asked.write_text(json.dumps(jobs))
        script = Path(__file__).with_name("other_linear.py")
        subprocess.run([OTHER, script, "--jobs", asked, "--out", answered], check=True)
        answers = json.loads(answered.read_text())
    result: dict[tuple[str, float], dict[str, list[float]]] = {}
    for key, answer in zip(keys, answers, strict=True):
        for C, values in answer.items():
            result.setdefault(key, {}).setdefault(C, []).extend(values)
    return result


def shown(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values) / np.sqrt(len(values)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--sets", default="synth,cm1,cm2,pima,adult")
    options = parser.parse_args()
    repeats = 2 if options.quick else options.repeats
    splits = {name: [split(name, seed) for seed in range(repeats)] for name in options.sets.split(",")}
    others = theirs(splits, repeats)
    curves: dict[str, dict[str, list[float]]] = {}
    for name, several in splits.items():
        best = [without(rows) for rows in several]
        n, d = several[0][0].shape
        print(f"\n{name}: {n:,} rows, {d} columns; without privacy {shown(best)}\n")
        print("| | " + " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS) + " |")
        print("| --- |" + " --- |" * len(EPSILONS))
        table: dict[str, list[list[float]]] = {}
        for label, way in WAYS.items():
            table[label] = [[ours(rows, way, epsilon) for rows in several] for epsilon in EPSILONS]
        if others:
            table["diffprivlib, C = 1"] = [others[name, epsilon]["1.0"] for epsilon in EPSILONS]
            table["diffprivlib, the best C"] = [
                min(others[name, epsilon].values(), key=lambda errors: float(np.mean(errors))) for epsilon in EPSILONS
            ]
        for label, row in table.items():
            print(f"| {label} | " + " | ".join(shown(cell) for cell in row) + " |", flush=True)
        curves[name] = {label: [float(np.mean(cell)) for cell in row] for label, row in table.items()}
        curves[name]["without privacy"] = [float(np.mean(best))] * len(EPSILONS)
    if options.out:
        draw(curves, options.out)


def draw(curves: dict[str, dict[str, list[float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(3.2 * len(curves), 3.6), sharey=False)
    for axis, (name, rows) in zip(np.atleast_1d(axes), curves.items(), strict=True):
        for label, values in rows.items():
            style = {"color": "black", "linestyle": ":"} if label == "without privacy" else {}
            style |= {"linewidth": 2.5} if label == "`LogisticRegression()`" else {}
            axis.plot(EPSILONS, values, label=label.replace("`", ""), **style)
        axis.set(title=name, xscale="log", xlabel="ε")
    np.atleast_1d(axes)[0].set_ylabel("share of test rows that are wrong")
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.16, 1, 1))
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
