"""Synthetic rows of Adult, numbers and categories, against the real ones: our mixture, and another tool at the same ε.

Writes a table (Markdown) and two figures. 14 columns (all but fnlwgt), bounds and categories from the code book,
δ = 1e-6. The other tool is dpmm, in an environment of its own; ``other_table.py`` says how to make it and what it
guarantees. Without ``--other`` ours runs alone. Neighbours are add-remove, as the other tool's; ``--neighbors`` changes
ours.

    export OMP_NUM_THREADS=1
    python benchmarks/bench_table.py --other build/dpmm/bin/python --cache build/table --out build/benchmarks

The rows come from ``adult.data.gz`` and ``adult.test.gz`` in the folder that ``DISCREET_DATA`` names.

What is measured, between the training file and as many synthetic rows:

- one-way, two-way: total variation distance of the histograms of each column and of each pair, their mean. Numbers have
  20 equal bins alone and 10 in pairs; capital-gain and capital-loss have one bin for 0 and 9 for the rest;
- correlation, Cramér's V: mean absolute difference over pairs of numbers, and over pairs of categories;
- AUC, accuracy: income on the test file, by gradient boosting and by logistic regression trained on synthetic rows.

Of every measure the mean over seeds is shown, ± the standard deviation. "independent" draws every column by itself from
a private histogram, in the same bins that are measured. "real" is the test file against the training file, and
classifiers trained on the latter.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import discreet as dp
from discreet.noise import NotPrivateWarning, SeededBits

DELTA = 1e-6
EPSILONS = (0.3, 1.0, 3.0)
RAW = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
RAW += ["race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
    "hours-per-week": (1, 99),
}
MOSTLY_ZERO = ("capital-gain", "capital-loss")
CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?",
    "income": "<=50K >50K",
}
VALUES = {name: values.split() for name, values in CATEGORIES.items()}
LABEL = "income"
COLUMNS = [name for name in RAW if name != "fnlwgt"]
DECLARED = {
    name: {"low": NUMBERS[name][0], "high": NUMBERS[name][1]} if name in NUMBERS else VALUES[name] for name in COLUMNS
}
SCHEMA = dp.Schema({n: dp.Number(*NUMBERS[n]) if n in NUMBERS else dp.Category(VALUES[n]) for n in COLUMNS})
MEASURES = {
    "one-way": "one-way distance",
    "two-way": "two-way distance",
    "correlation": "correlation, difference",
    "Cramér's V": "Cramér's V, difference",
    "boosting AUC": "AUC, boosting",
    "boosting accuracy": "accuracy, boosting",
    "logistic AUC": "AUC, logistic",
    "logistic accuracy": "accuracy, logistic",
}
Maker = Callable[[pd.DataFrame, float, int], pd.DataFrame]


def rows(folder: Path, name: str) -> pd.DataFrame:
    """Return one of the two files, all but fnlwgt."""
    frame = pd.read_csv(folder / name, names=RAW, skipinitialspace=True, comment="|", keep_default_na=False)
    frame[LABEL] = frame[LABEL].str.rstrip(".")
    return frame[COLUMNS]


def edges(name: str, bins: int) -> np.ndarray:
    """Return where the public bins of a column of numbers end."""
    low, high = NUMBERS[name]
    if name in MOSTLY_ZERO:
        return np.concatenate([[-0.5], np.linspace(0.5, high + 0.5, 10)])
    return np.linspace(low - 0.5, high + 0.5, bins + 1)


def codes(frame: pd.DataFrame, bins: int) -> dict[str, tuple[np.ndarray, int]]:
    """Return each column as whole numbers, and how many there may be."""
    result = {}
    for name in COLUMNS:
        if name in NUMBERS:
            ends = edges(name, bins)
            result[name] = (np.digitize(frame[name], ends[1:-1]), len(ends) - 1)
        else:
            result[name] = (pd.Categorical(frame[name], categories=VALUES[name]).codes.astype(int), len(VALUES[name]))
    return result


def joint(one: tuple[np.ndarray, int], other: tuple[np.ndarray, int]) -> np.ndarray:
    """Return the shares of all pairs."""
    counts = np.bincount(one[0] * other[1] + other[0], minlength=one[1] * other[1])
    return counts.reshape(one[1], other[1]) / len(one[0])


def cramer(shares: np.ndarray) -> float:
    """Return Cramér's V of a table of shares, 0 where a column is constant."""
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = expected > 0
    chi = float(((shares - expected)[there] ** 2 / expected[there]).sum())
    least = min((shares.sum(axis=1) > 0).sum(), (shares.sum(axis=0) > 0).sum()) - 1
    return float(np.sqrt(chi / least)) if least else 0.0


def correlations(frame: pd.DataFrame) -> np.ndarray:
    """Return the correlations of the numbers, 0 where a column is constant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        result = np.corrcoef(frame[list(NUMBERS)].to_numpy(dtype=float), rowvar=False)
    return np.nan_to_num(result)[np.triu_indices(len(NUMBERS), 1)]


def likeness(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict[str, float]:
    """Return how far synthetic rows are from real ones."""
    one = [
        0.5 * abs(np.bincount(a, minlength=c) / len(a) - np.bincount(b, minlength=c) / len(b)).sum()
        for (a, c), (b, _) in zip(codes(real, 20).values(), codes(synthetic, 20).values(), strict=True)
    ]
    a, b = codes(real, 10), codes(synthetic, 10)
    two, associations = [], []
    for i, j in itertools.combinations(COLUMNS, 2):
        p, q = joint(a[i], a[j]), joint(b[i], b[j])
        two.append(0.5 * abs(p - q).sum())
        if i in VALUES and j in VALUES:
            associations.append(abs(cramer(p) - cramer(q)))
    return {
        "one-way": float(np.mean(one)),
        "two-way": float(np.mean(two)),
        "correlation": float(np.mean(abs(correlations(real) - correlations(synthetic)))),
        "Cramér's V": float(np.mean(associations)),
    }


def classifiers() -> dict[str, object]:
    numbers = list(NUMBERS)
    names = [name for name in VALUES if name != LABEL]
    values = [VALUES[name] for name in names]
    ordinal = make_column_transformer((OrdinalEncoder(categories=values), names), ("passthrough", numbers))
    hot = make_column_transformer((OneHotEncoder(categories=values), names), (StandardScaler(), numbers))
    return {
        "boosting": make_pipeline(
            ordinal, HistGradientBoostingClassifier(categorical_features=list(range(len(names))), random_state=0)
        ),
        "logistic": make_pipeline(hot, LogisticRegression(max_iter=1000)),
    }


def usefulness(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Return how well classifiers do on the test rows."""
    truth, result = test[LABEL] == VALUES[LABEL][1], {}
    for name, model in classifiers().items():
        label = train[LABEL] == VALUES[LABEL][1]
        if label.nunique() < 2:  # nothing to learn
            chance = np.full(len(test), float(label.iloc[0]))
        else:
            chance = model.fit(train.drop(columns=LABEL), label).predict_proba(test.drop(columns=LABEL))[:, 1]
        result[f"{name} AUC"] = float(roc_auc_score(truth, chance))
        result[f"{name} accuracy"] = float(accuracy_score(truth, chance > 0.5))
    return result


def mixture(count: int, neighbors: str) -> Maker:
    """Return our mixture of so many components."""

    def make(frame: pd.DataFrame, epsilon: float, seed: int) -> pd.DataFrame:
        model = dp.TableMixture(
            count,
            epsilon=epsilon,
            delta=DELTA,
            schema=SCHEMA,
            whole=list(NUMBERS),
            neighbors=neighbors,
            random_state=seed,
        ).fit(frame)
        return pd.DataFrame(model.sample(len(frame), random_state=seed))

    return make


def independent(neighbors: str) -> Maker:
    """Return independent columns, each from its own private histogram."""

    def make(frame: pd.DataFrame, epsilon: float, seed: int) -> pd.DataFrame:
        result, rng = codes(frame, 20), np.random.default_rng(seed)
        binned = pd.DataFrame({name: code for name, (code, _) in result.items()})
        schema = dp.Schema({name: dp.Category(range(count)) for name, (_, count) in result.items()})
        curator = dp.Curator(binned, schema=schema, neighbors=neighbors)
        guarantee = dp.Guarantee(epsilon, DELTA, dp.Neighbors.parse(neighbors))
        losses = dp.calibrate(guarantee, [dp.GaussianLoss(1.0, neighbors=guarantee.neighbors)] * len(COLUMNS)).losses
        bits, drawn = SeededBits(seed), {}
        for j, (name, loss) in enumerate(zip(COLUMNS, losses, strict=True)):
            release = curator.measure(dp.Histogram(result[name][1], column=j), loss, bits=bits)
            shares = np.maximum(release["counts"], 0.0)
            if name in NUMBERS:  # a bin's share is spread over its whole numbers
                values = np.arange(NUMBERS[name][0], NUMBERS[name][1] + 1)
                code = np.digitize(values, edges(name, 20)[1:-1])
                shares = (shares / np.maximum(np.bincount(code, minlength=len(shares)), 1))[code]
            else:
                values = np.array(VALUES[name])
            drawn[name] = rng.choice(values, size=len(frame), p=shares / shares.sum())
        return pd.DataFrame(drawn)

    return make


def other(python: Path, method: str, cache: Path, iterations: int | None) -> Maker:
    """Return the other tool's rows, kept in a folder, since they take minutes."""

    def make(frame: pd.DataFrame, epsilon: float, seed: int) -> pd.DataFrame:
        path = cache / f"{method}-{iterations or 'own'}-{epsilon:g}-{seed}.csv"
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            frame.to_csv(cache / "rows.csv", index=False)
            (cache / "declared.json").write_text(json.dumps(DECLARED), encoding="utf-8")
            command = [str(python), str(Path(__file__).with_name("other_table.py")), method]
            files = {"rows": cache / "rows.csv", "declared": cache / "declared.json", "out": path.with_suffix(".part")}
            for key, value in (files | {"epsilon": epsilon, "delta": DELTA, "seed": seed}).items():
                command += [f"--{key}", str(value)]
            command += ["--iterations", str(iterations)] if iterations else []
            subprocess.run(command, check=True)
            files["out"].rename(path)
        return pd.read_csv(path, keep_default_na=False)

    return make


def evaluated(make: Maker, train: pd.DataFrame, test: pd.DataFrame, epsilon: float, seed: int) -> dict[str, float]:
    synthetic = make(train, epsilon, seed)[COLUMNS]
    return likeness(train, synthetic) | usefulness(synthetic, test)


def table(real: dict[str, float], majority: float, result: dict[str, np.ndarray], epsilons: tuple[float, ...]) -> str:
    """Return the means over seeds, in Markdown."""
    lines = [
        f"### Adult, 14 columns: the majority class has accuracy {majority:.3f}",
        "",
        f"| ε | method | {' | '.join(MEASURES)} |",
        f"| --- | --- |{' --- |' * len(MEASURES)}",
        f"| | real | {' | '.join(f'{real[measure]:.3f}' for measure in MEASURES)} |",
    ]
    for j, epsilon in enumerate(epsilons):
        for method, values in result.items():
            means, spreads = values[j].mean(axis=0), values[j].std(axis=0)
            cells = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(means, spreads, strict=True)]
            lines.append(f"| {epsilon:g} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def styles(methods: list[str]) -> dict[str, dict[str, object]]:
    """Return a colour, a marker and a line for each method, to be told apart without colour too."""
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
    looks = zip(methods, itertools.cycle(colours), itertools.cycle("os^Dv<>"), itertools.cycle(("-", "--", "-.", ":")))
    return {name: {"color": colour, "marker": marker, "linestyle": line} for name, colour, marker, line in looks}


def measures_figure(
    real: dict[str, float], majority: float, result: dict[str, np.ndarray], epsilons: tuple[float, ...], path: Path
) -> None:
    """Draw every measure against ε."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawing, axes = plt.subplots(2, 4, figsize=(15, 7), layout="constrained")
    looks = styles(list(result))
    for i, (axis, measure) in enumerate(zip(axes.flat, MEASURES, strict=True)):
        for method, values in result.items():
            mean, spread = values[:, :, i].mean(axis=1), values[:, :, i].std(axis=1)
            axis.errorbar(epsilons, mean, yerr=spread, label=method, capsize=2, markersize=5, **looks[method])
        axis.axhline(real[measure], color="black", linewidth=0.8, label="real")
        if "accuracy" in measure:
            axis.axhline(majority, color="grey", linewidth=0.8, linestyle=":", label="majority class")
        if i < 4:
            axis.set_ylim(bottom=0.0)
        better = "less is better" if i < 4 else "more is better"
        axis.set(xscale="log", xlabel="ε", title=f"{MEASURES[measure]} ({better})")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
    drawing.legend(*axes[1, 1].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    drawing.savefig(path, dpi=150)
    plt.close(drawing)


def marginals_figure(train: pd.DataFrame, synthetic: dict[str, pd.DataFrame], epsilon: float, path: Path) -> None:
    """Draw a few columns, real and synthetic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = ("age", "hours-per-week", "education-num", "capital-gain", "marital-status", "occupation")
    drawing, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
    looks = styles(list(synthetic))
    real, others = codes(train, 20), {method: codes(frame, 20) for method, frame in synthetic.items()}
    for axis, name in zip(axes.flat, names, strict=True):
        code, count = real[name]
        axis.bar(np.arange(count), np.bincount(code, minlength=count) / len(code), color="#BBBBBB", label="real")
        for method, result in others.items():
            shares = np.bincount(result[name][0], minlength=count) / len(result[name][0])
            look = looks[method] | ({"linestyle": "none"} if name in VALUES else {"linewidth": 1})
            axis.plot(np.arange(count), shares, label=method, markersize=4, **look)
        axis.set(title=name, ylabel="share of rows")
        if name in VALUES:
            axis.set_xticks(np.arange(count), VALUES[name], rotation=60, ha="right", fontsize=7)
        else:
            ends = edges(name, 20)
            axis.set_xticks(np.arange(count), [f"{low + 0.5:.0f}" for low in ends[:-1]], rotation=60, fontsize=7)
            axis.set_xlabel("from")
        if name in MOSTLY_ZERO:
            axis.set_yscale("symlog", linthresh=1e-3)
            axis.set_ylim(0.0, 1.5)
    axes[0, 0].legend(fontsize=8)
    drawing.suptitle(f"Real and synthetic columns at ε = {epsilon:g}")
    drawing.savefig(path, dpi=150)
    plt.close(drawing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--other", type=Path, help="the Python of an environment with dpmm, see other_table.py")
    parser.add_argument("--methods", nargs="+", default=["mst"], choices=["mst", "aim", "privbayes"])
    parser.add_argument("--iterations", type=int, help="of the other tool's optimiser; by default its own")
    parser.add_argument("--cache", type=Path, default=Path("build/table"), help="where the other tool's rows are kept")
    parser.add_argument("--components", nargs="+", type=int, default=[10])
    parser.add_argument("--neighbors", default="add-remove", choices=["add-remove", "replace-one"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a folder for the table and the figures")
    asked = parser.parse_args()
    folder = os.environ.get("DISCREET_DATA")
    if not folder or not (Path(folder) / "adult.data.gz").exists():
        print("skipped: DISCREET_DATA names no folder with adult.data.gz and adult.test.gz")
        return
    warnings.simplefilter("ignore", NotPrivateWarning)
    train, test = rows(Path(folder), "adult.data.gz"), rows(Path(folder), "adult.test.gz")
    makers = {f"TableMixture, K = {count}": mixture(count, asked.neighbors) for count in asked.components}
    makers["independent"] = independent(asked.neighbors)
    if asked.other:
        makers |= {
            f"{method} (dpmm)": other(asked.other, method, asked.cache, asked.iterations) for method in asked.methods
        }
    epsilons = tuple(asked.epsilons)
    result = {method: np.empty((len(epsilons), asked.seeds, len(MEASURES))) for method in makers}
    for (method, make), (j, epsilon), seed in itertools.product(
        makers.items(), enumerate(epsilons), range(asked.seeds)
    ):
        start = time.perf_counter()
        scores = evaluated(make, train, test, epsilon, seed)
        result[method][j, seed] = [scores[measure] for measure in MEASURES]
        print(f"{method}, ε = {epsilon:g}, seed {seed}: {time.perf_counter() - start:.0f} s", flush=True)
    majority = float((test[LABEL] == VALUES[LABEL][0]).mean())
    real = likeness(train, test) | usefulness(train, test)
    text = table(real, majority, result, epsilons)
    print(text)
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "table.md").write_text(text, encoding="utf-8")
        measures_figure(real, majority, result, epsilons, asked.out / "table.png")
        shown = 1.0 if 1.0 in epsilons else epsilons[0]
        drawn = {method: make(train, shown, 0)[COLUMNS] for method, make in makers.items()}
        marginals_figure(train, drawn, shown, asked.out / "table_marginals.png")


if __name__ == "__main__":
    main()
