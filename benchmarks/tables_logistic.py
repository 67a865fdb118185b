"""Tables 2 and 3 and figures 3a and 3b of Williams and McSherry (2010): logistic regression from noisy gradients.

    python benchmarks/tables_logistic.py 2     errors at ε = 0.1, 50 runs on each of five sets
    python benchmarks/tables_logistic.py 3     errors at ε = 1
    python benchmarks/tables_logistic.py 3a    error against the ε spent so far, for several ε a step (CM2)
    python benchmarks/tables_logistic.py 3b    error against the number of public rows (SYNTH, ε = 0.1)

Each writes a JSON of its numbers (``--out``, build/tables), the figures a PNG beside it.

*heuristic*: gradient ascent from a random point, eight noisy gradients of the rows as they are declared, the last
iterate. *inference*: ``dp.infer`` on the same eight releases; the expected error over the posterior, as the paper has
it, and that of the averaged probabilities. The model of a row is a Gaussian for the features, whose mean and covariance
(shrunk as Ledoit and Wolf do) are those of ``UNLABELLED`` public rows without labels, and a logistic label. *ours*:
``dp.LogisticRegression()`` and
``dp.GaussianClassifier(covariance_type="tied")``, as they are, at the same ε. All under add-remove with δ = 1e-6; the
paper has Laplace noise, a step size and a number of steps that it does not state. The number of rows is taken for
known.

SYNTH, CM1 and CM2 are drawn anew for each run, and as many rows to test. Pima has 691 private rows, as the paper's, and
they are the test rows too. Adult (six numeric columns) has 16,000, half of them of each class, and 7,000 to test.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from scipy.special import expit
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LogisticRegression

import discreet as dp
from discreet.guarantees.normal import normal_epsilon, normal_mu
from discreet.inference import InferenceWarning
from discreet.models.features import Features
from discreet.models.margin_gradients import MarginGradient
from discreet.models.margin_losses import Logistic
from discreet.records import Block

mpl.use("Agg")
import matplotlib.pyplot as plt

DELTA, STEPS, CONSTANT = 1e-6, 8, 0.5
SETS = ("synth", "cm1", "cm2", "pima", "adult")
UNLABELLED = 77  # what the paper leaves of Pima
SLOPE = 2.5  # of the log-odds, a deviation of a feature: the prior
RUN = {"chains": 2, "draws": 100, "warmup": 150, "seed": 0}
PAPER = {  # percent, mean and deviation over 50 runs
    "2": {
        "heuristic": ((37.40, 15.75), (3.93, 1.57), (9.32, 1.18), (44.26, 8.50), (43.15, 7.85)),
        "inference": ((29.14, 5.54), (2.72, 0.84), (8.84, 0.79), (45.70, 6.31), (36.07, 6.32)),
    },
    "3": {
        "heuristic": ((17.31, 1.12), (0.00, 0.00), (5.67, 0.19), (35.67, 6.45), (31.30, 4.16)),
        "inference": ((17.16, 0.94), (0.01, 0.02), (5.69, 0.13), (36.47, 8.56), (29.36, 1.31)),
    },
}
BENCHMARK = (16.40, 0.00, 5.40, 19.48, 26.09)


@dataclass(frozen=True)
class Split:
    """Private rows, test rows, and public rows without labels; bounds are public."""

    X: np.ndarray
    y: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    public: np.ndarray
    box: dp.Box

    def error(self, scores: np.ndarray) -> float:
        """Return the share of test rows that are wrong, in percent."""
        return 100.0 * float(np.mean((scores > 0.0) != self.truth))


@lru_cache(maxsize=4)
def split(name: str, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    if name in ("synth", "cm1", "cm2"):
        make = getattr(dp.datasets, f"make_{name}")
        n = 1_000 if name == "synth" else 17_500
        data, public = make(2 * n, random_state=seed), make(random_state=10**9)  # one law of the labels for both halves
        parts = (data.X[:n], data.y[:n], data.X[n:], data.y[n:], public.X[:UNLABELLED])
    else:
        data = dp.datasets.load_adult() if name == "adult" else dp.datasets.fetch_pima()
        y = np.asarray(data.y) == np.max(data.y)
        fixed = np.random.default_rng(0).permutation(len(y))  # the same public rows in every run
        public, rest = fixed[:UNLABELLED], rng.permutation(fixed[UNLABELLED:])
        if name == "pima":
            train = test = rest
        else:
            train = balanced(rest, y, 16_000)
            test = balanced(np.setdiff1d(rest, train), y, 7_000)
        parts = (data.X[train], y[train], data.X[test], y[test], data.X[public])
    low, high = (np.array(end) for end in zip(*data.bounds, strict=True))
    X, y, test, truth, public = (np.asarray(part) for part in parts)
    return Split(X, y == np.max(y), test, truth == np.max(truth), public, dp.Box(low, high))


def balanced(places: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([places[y[places] == value][: count // 2] for value in (False, True)])


@lru_cache(maxsize=8)
def model_of(name: str) -> tuple[Callable[[], None], Features]:
    """Return the model of one row, the same for all runs, so that it is compiled once; and the features."""
    known = split(name, 0)
    features = Features(known.box.for_columns(known.X.shape[1]), CONSTANT)
    codes = np.zeros((len(known.public), 1), dtype=int)
    u = features.of(Block(known.public, codes))[:, :-1]
    mean, units = known.public.mean(axis=0), np.asarray(features.space.scale)
    spread = LedoitWolf().fit(known.public / units).covariance_  # so few rows say little about correlations
    root, deviations = units[:, None] * np.linalg.cholesky(spread), u.std(axis=0) + 1e-3

    def model() -> None:
        slopes = numpyro.sample("slopes", dist.Normal(0.0, SLOPE).expand((len(mean),)).to_event(1))
        level = numpyro.sample("level", dist.Normal(0.0, SLOPE))
        weights = slopes / deviations
        x = numpyro.sample("row", dist.MultivariateNormal(mean, scale_tril=root))
        seen = features.of(Block(x[None, :], jnp.zeros((1, 1), dtype=int)))[0, :-1]
        score = level + weights @ (seen - u.mean(axis=0))
        numpyro.sample("label", dist.Categorical(logits=jnp.stack([0.0, score])))
        numpyro.deterministic("weights", weights)
        numpyro.deterministic("intercept", level - weights @ u.mean(axis=0))

    return model, features


def gradients(data: Split, features: Features, mu: float, steps: int, rng: np.random.Generator) -> Iterator[Any]:
    """Yield each release and the θ after it, every step at a loss of μ."""
    d = data.X.shape[1]
    names = [f"x{j}" for j in range(d)]
    low, high = (np.asarray(end) for end in (features.space.low, features.space.high))
    columns = {name: dp.Number(a, b) for name, a, b in zip(names, low, high, strict=True)}
    schema = dp.Schema(columns | {"label": dp.Category([0, 1])})
    frame = pd.DataFrame(data.X, columns=names).assign(label=data.y.astype(int))
    curator = dp.Curator(frame, schema=schema, neighbors="add-remove")
    curvature = np.append(np.full(d, (1.0 - CONSTANT**2) / (4.0 * d)), CONSTANT**2) / 4.0
    theta = rng.standard_normal((1, d + 1))
    for _ in range(steps):
        release = curator.measure(
            MarginGradient(features, Logistic(), theta, 2), dp.GaussianLoss(mu, neighbors="add-remove")
        )
        theta = theta - release["gradient"] / len(data.X) / curvature
        yield release, theta


def inferred(name: str, data: Split, releases: list[Any], public: Any = None) -> dict[str, float]:
    """Return the expected error over the posterior, and that of the averaged probabilities."""
    model, features = model_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # of short chains
        posterior = dp.infer(releases, model, rows=float(len(data.X)), public=public, undetermined="prior", **RUN)
    u = features.of(Block(data.test, np.zeros((len(data.test), 1), dtype=int)))[:, :-1]
    scores = u @ posterior.draws("weights").T + posterior.draws("intercept")
    return {
        "inference": float(np.mean([data.error(each) for each in scores.T])),
        "inference, averaged": data.error(expit(scores).mean(axis=1) - 0.5),
        "r_hat": posterior.diagnostics.r_hat,
    }


def one_run(name: str, epsilon: float, seed: int) -> dict[str, float]:
    data = split(name, seed)
    _, features = model_of(name)
    rng = np.random.default_rng(seed)
    mu = normal_mu(epsilon, DELTA) / math.sqrt(STEPS)
    path = list(gradients(data, features, mu, STEPS, rng))
    u = features.of(Block(data.test, np.zeros((len(data.test), 1), dtype=int)))
    found = {"heuristic": data.error((u @ path[-1][1].T)[:, 0])}
    found |= inferred(name, data, [release for release, _ in path])
    how = {"epsilon": epsilon, "delta": DELTA, "bounds": data.box, "classes": [0, 1], "neighbors": "add-remove"}
    y = data.y.astype(int)
    found["ours"] = data.error(dp.LogisticRegression(**how).fit(data.X, y).decision_function(data.test))
    tied = dp.GaussianClassifier(covariance_type="tied", **how).fit(data.X, y)
    found["ours, tied"] = data.error(tied.predict_proba(data.test)[:, 1] - 0.5)
    unit = [np.asarray(data.box.to_unit(some)) for some in (data.X, data.test)]
    plain = LogisticRegression(C=1e4, max_iter=10_000).fit(unit[0], data.y)
    found["benchmark"] = data.error(plain.decision_function(unit[1]))
    return found


def table(which: str, runs: int, names: list[str], out: Path) -> None:
    epsilon = {"2": 0.1, "3": 1.0}[which]
    path = out / f"table-{which}.json"
    numbers: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        done = numbers.setdefault(name, [])
        while len(done) < runs:  # goes on where it was interrupted
            start = time.perf_counter()
            done.append(one_run(name, epsilon, len(done)) | {"seconds": time.perf_counter() - start})
            path.write_text(json.dumps(numbers, indent=1))
        print(f"{name}: {len(done)} runs, {np.median([run['seconds'] for run in done]):.1f} s each", flush=True)
    show(which, numbers, runs)


def show(which: str, numbers: dict[str, Any], runs: int) -> None:
    names = [name for name in SETS if name in numbers]
    print(f"| percent, {runs} runs | " + " | ".join(name.upper() for name in names) + " |")
    print("| --- |" + " --- |" * len(names))
    for row, cells in PAPER[which].items():
        chosen = [cells[SETS.index(name)] for name in names]
        print(f"| paper: {row} | " + " | ".join(f"{a:.2f} ± {b:.2f}" for a, b in chosen) + " |")
    for row in ("heuristic", "inference", "inference, averaged", "ours", "ours, tied", "benchmark"):
        cells = [np.array([run[row] for run in numbers[name][:runs]]) for name in names]
        print(f"| {row} | " + " | ".join(f"{cell.mean():.2f} ± {cell.std(ddof=1):.2f}" for cell in cells) + " |")
    print("| paper: benchmark | " + " | ".join(f"{BENCHMARK[SETS.index(name)]:.2f}" for name in names) + " |")


def figure_3a(runs: int, axis: Any) -> dict[str, Any]:
    """Errors along paths of several losses a step, against what was spent so far."""
    each, lengths = (0.02, 0.04, 0.08, 0.16), (1, 2, 4, 8)
    found: dict[str, Any] = {}
    for mu in each:
        epsilons = [normal_epsilon(mu * math.sqrt(length), DELTA) for length in lengths]
        errors = []
        for seed in range(runs):
            data = split("cm2", seed)
            _, features = model_of("cm2")
            rng = np.random.default_rng(seed)
            releases = [release for release, _ in gradients(data, features, mu, max(lengths), rng)]
            errors.append([inferred("cm2", data, releases[:length])["inference"] for length in lengths])
        label = f"{normal_epsilon(mu, DELTA):.2g}"
        found[label] = {"epsilon": epsilons, "error": np.mean(errors, axis=0).tolist(), "runs": errors}
        axis.plot(epsilons, np.mean(errors, axis=0), "o-", label=f"ε = {label} a step")
        print(label, [f"{a:.3g}: {b:.2f}" for a, b in zip(epsilons, found[label]["error"], strict=True)], flush=True)
    axis.plot([0.1], [19.03], "kx", label="Chaudhuri and Monteleoni (2008)")
    axis.set(xscale="log", xlabel="ε spent (δ = 1e-6)", ylabel="expected error on test rows, %", title="CM2")
    return found


def figure_3b(runs: int, axis: Any) -> dict[str, Any]:
    """Errors with public rows beside the releases."""
    counts = (0, 10, 30, 100, 300)
    mu = normal_mu(0.1, DELTA) / math.sqrt(STEPS)
    rows: dict[str, list[list[float]]] = {"inference": [], "inference, averaged": [], "public rows alone": []}
    plain = []
    for seed in range(runs):
        data = split("synth", seed)
        _, features = model_of("synth")
        releases = [release for release, _ in gradients(data, features, mu, STEPS, np.random.default_rng(seed))]
        more = dp.datasets.make_synth(random_state=seed + 10**7)
        labels = (np.asarray(more.y) == np.max(more.y)).astype(int)
        chosen = [(more.X[:count], labels[:count]) if count else None for count in counts]
        both = [inferred("synth", data, releases, public) for public in chosen]
        for kind in ("inference", "inference, averaged"):
            rows[kind].append([one[kind] for one in both])
        alone = [LogisticRegression(max_iter=1000).fit(more.X[:count], labels[:count]) for count in counts[1:]]
        rows["public rows alone"].append([50.0] + [data.error(each.decision_function(data.test)) for each in alone])
        fitted = LogisticRegression(C=1e4, max_iter=10_000).fit(data.X, data.y)
        plain.append(data.error(fitted.decision_function(data.test)))
    for kind, errors in rows.items():
        axis.errorbar(counts, np.mean(errors, axis=0), np.std(errors, axis=0), fmt="o-", capsize=3, label=kind)
        print(kind, np.mean(errors, axis=0).round(2).tolist(), np.std(errors, axis=0).round(2).tolist(), flush=True)
    axis.axhline(np.mean(plain), color="k", linestyle=":", label="without privacy")
    axis.set(xscale="symlog", xlabel="public rows", ylabel="error on test rows, %", title="SYNTH, ε = 0.1")
    return {"counts": counts, "errors": rows, "without privacy": plain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("2", "3", "3a", "3b"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--out", type=Path, default=Path("build/tables"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.what in PAPER:
        table(options.what, options.runs or 50, options.sets.split(","), options.out)
        return
    figure, axis = plt.subplots(figsize=(6, 4.2))
    draw = {"3a": figure_3a, "3b": figure_3b}[options.what]
    numbers = draw(options.runs or 20, axis)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(options.out / f"figure-{options.what}.png", dpi=150)
    (options.out / f"figure-{options.what}.json").write_text(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()
