"""The models of ``examples/`` against the same code with hardly any noise: mean held-out log-likelihood against ε.

Made-up data of known parameters, replace-one, δ = 1e-6. Each fit starts at random, the fit without privacy in the same
place, so what is compared is what noise does. Seeds make the noise reproducible: nothing here is private.

    python benchmarks/bench_own_models.py --seeds 5 --out build/benchmarks
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

import discreet as dp
from discreet.em import expectation_maximization
from discreet.model_check import check_model
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.queries.moments.components import Components
from discreet.records import as_records

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
bernoulli, poisson, hidden, factors = map(
    importlib.import_module, ("bernoulli_mixture", "poisson_mixture", "hidden_markov", "factor_analysers")
)

DELTA, TRAIN, TEST = 1e-6, 10_000, 5_000
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
PRACTICALLY_NONE = 1e5  # the ε of the fits without privacy
Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A model, its space, how its rows are made, its number of steps, the true parameters and their log-likelihood."""

    model: Any
    space: Any
    rows: Callable[[np.random.Generator, int], Array]
    steps: int
    truth: Any
    score: Callable[[Any, Array], Array]


def classes() -> Case:
    truth = bernoulli.Classes(np.array([0.5, 0.3, 0.2]), np.random.default_rng(5).choice([0.1, 0.3, 0.8, 0.9], (3, 10)))
    space = dp.Box(0.0, 1.0).for_columns(10)

    def rows(rng: np.random.Generator, n: int) -> Array:
        return (rng.random((n, 10)) < truth.yes[rng.choice(3, n, p=truth.weights)]).astype(float)

    def score(params: Any, x: Array) -> Array:
        return logsumexp(
            x @ np.log(params.yes).T + (1.0 - x) @ np.log1p(-params.yes).T + np.log(params.weights), axis=1
        )

    return Case(bernoulli.BernoulliMixture(3, space), space, rows, 15, truth, score)


def groups() -> Case:
    truth = poisson.Groups(np.array([0.5, 0.3, 0.2]), np.array([[2.0, 0.5, 4.0], [9.0, 1.0, 15.0], [15.0, 6.0, 25.0]]))
    space = dp.Box([0.0] * 3, [30.0, 15.0, 50.0])

    def rows(rng: np.random.Generator, n: int) -> Array:
        return rng.poisson(truth.rates[rng.choice(3, n, p=truth.weights)]).astype(float)

    def score(params: Any, x: Array) -> Array:
        joint = x @ np.log(params.rates).T - params.rates.sum(axis=1) + np.log(params.weights)
        return logsumexp(joint, axis=1) - gammaln(x + 1.0).sum(axis=1)

    return Case(poisson.PoissonMixture(3, space), space, rows, 15, truth, score)


def chains() -> Case:
    moves = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.02, 0.28, 0.7]])
    truth = (np.array([0.5, 0.3, 0.2]), moves, np.array([-0.5, 0.0, 0.6]), np.array([0.1, 0.16, 0.08]))

    def rows(rng: np.random.Generator, n: int) -> Array:
        state, columns = rng.choice(3, n, p=truth[0]), []
        for _ in range(10):
            columns.append(50.0 + 50.0 * rng.normal(truth[2][state], truth[3][state]))
            state = (rng.random((n, 1)) > moves[state].cumsum(axis=1)).sum(axis=1)
        return np.column_stack(columns)

    def score(params: Any, x: Array) -> Array:
        start, steps, means, widths = params
        z = ((x[:, :, None] - 50.0) / 50.0 - means) / widths
        seen = -0.5 * z * z - np.log(widths * 50.0 * np.sqrt(2.0 * np.pi))
        ahead = np.log(start) + seen[:, 0]
        for t in range(1, x.shape[1]):
            ahead = logsumexp(ahead[:, :, None] + np.log(steps), axis=1) + seen[:, t]
        return logsumexp(ahead, axis=1)

    return Case(hidden.HiddenMarkov(3), dp.Box(0.0, 100.0).for_columns(10), rows, 15, truth, score)


def analysers() -> Case:
    rng = np.random.default_rng(3)
    loadings, means = rng.normal(size=(2, 8, 2)), rng.choice([-1.0, 1.0], (2, 8))
    covariances = loadings @ loadings.transpose(0, 2, 1) + 0.3 * np.eye(8)
    truth, ball = Components(np.array([0.6, 0.4]), means, covariances), dp.Ball(9.0).for_columns(8)

    def score(params: Any, x: Array) -> Array:
        if isinstance(params, Components):
            return params.log_density(x)
        return params.components.rescale(np.zeros(8), np.asarray(ball.scale)).log_density(x)

    model = factors.FactorAnalysers(2, 2)
    return Case(model, ball, lambda rng, n: truth.sample(n, rng)[0], 20, truth, score)


CASES = {
    "Bernoulli mixture": classes,
    "Poisson mixture": groups,
    "hidden Markov": chains,
    "factor analysers": analysers,
}


def fitted(case: Case, rows: Array, epsilon: float, seed: int) -> Any:
    """Return parameters. ``dp.fit_model`` does the same behind attacks, which here are made once a model."""
    curator = dp.Curator(as_records(rows, space=case.space, missing="fill"))
    losses = dp.calibrate(dp.Guarantee(epsilon, DELTA), [dp.GaussianLoss(1.0)] * case.steps).losses
    schedule, bits = curator.reserve(losses, query=case.model.name), SeededBits(seed)
    start = case.model.initialize(case.space.dimension, np.random.default_rng(seed))
    steps = [lambda query: schedule.measure(query, bits=bits)] * case.steps
    return expectation_maximization(case.model, start, case.space, steps)[0]


def scores(name: str, seeds: int) -> tuple[float, Array, Array]:
    """Return the score of the truth, of the fits without privacy (one a seed), and of the private ones (ε by seed)."""
    case = CASES[name]()
    check_model(case.model, case.space)
    rng = np.random.default_rng(0)
    train, test = case.rows(rng, TRAIN), case.rows(rng, TEST)

    def score(epsilon: float, seed: int) -> float:
        return float(case.score(fitted(case, train, epsilon, seed), test).mean())

    exact = np.array([score(PRACTICALLY_NONE, seed) for seed in range(seeds)])
    private = np.array([[score(epsilon, seed) for seed in range(seeds)] for epsilon in EPSILONS])
    return float(case.score(case.truth, test).mean()), exact, private


def table(result: dict[str, tuple[float, Array, Array]]) -> str:
    lines = [
        f"| model | {' | '.join(f'ε={epsilon:g}' for epsilon in EPSILONS)} | no noise | truth |",
        f"| --- |{' --- |' * (len(EPSILONS) + 2)}",
    ]
    for name, (truth, exact, private) in result.items():
        cells = [f"{row.mean():.2f} ± {row.std() / np.sqrt(len(row)):.2f}" for row in (*private, exact)]
        lines.append(f"| {name} | {' | '.join(cells)} | {truth:.2f} |")
    return "\n".join(lines) + "\n"


def figure(result: dict[str, tuple[float, Array, Array]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = plt.subplots(1, len(result), figsize=(4.0 * len(result), 3.6), squeeze=False, layout="constrained")
    for axis, (name, (truth, exact, private)) in zip(panels[1][0], result.items(), strict=True):
        axis.plot(EPSILONS, private, "o", color="C0", markersize=3, alpha=0.4)
        axis.plot(EPSILONS, private.mean(axis=1), "-", color="C0", label="private")
        axis.axhline(exact.mean(), color="black", linewidth=0.8, label="no noise")
        axis.axhline(truth, color="black", linewidth=0.8, linestyle=":", label="truth")
        axis.set(xscale="log", xlabel="ε", title=name)
    panels[1][0][0].set_ylabel("mean held-out log-likelihood")
    panels[1][0][0].legend()
    panels[0].savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, help="a folder for the table and the figure")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    result = {name: scores(name, asked.seeds) for name in asked.models}
    text = table(result)
    print(f"{TRAIN:,} rows, δ = {DELTA:g}, replace-one, {asked.seeds} starts\n\n{text}")
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "own-models.md").write_text(text, encoding="utf-8")
        figure(result, asked.out / "own-models.png")


if __name__ == "__main__":
    main()
