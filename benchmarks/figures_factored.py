"""Figures 2a, 2b and 4 of Williams and McSherry (2010), with what their errata change; numbers beside each picture.

    python benchmarks/figures_factored.py 2a    the largest error of each bound, over θ and z, against ε
    python benchmarks/figures_factored.py 2b    the likelihood and its bounds at n = 100, ε = 0.5, z = 0.7
    python benchmarks/figures_factored.py 4     posteriors of the first principal direction at three ε

Each writes a PNG and a JSON of its numbers (``--out``, build/figures).

2a and 2b throw a coin n times: p(x|θ) = θ^x (1 − θ)^(1−x), candidates 0.1, …, 0.9, log φ = log p(x|z) between log 0.1
and log 0.9. The ε of the paper is the exponent η. What it costs is η·ln 9 = 2.197η under add-remove and 4.394η under
replace-one, since that interval is not within [−1, 1]. The upper bound is drawn at three q: without ε, as it is
printed; with ε, q ∝ exp(nε ∫p log φ); and the best. 4 clamps to [−1, 1], so its ε costs 2ε and 4ε.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from discreet import Ball
from discreet.inference.direction_posterior import axis_posterior, direction_mechanism
from discreet.inference.factored_bounds import (
    log_exact_likelihood,
    log_lower_bound,
    log_normal_likelihood,
    log_upper_bound,
    standard_normals,
)
from discreet.inference.factored_tilt import Observed, log_sum, log_upper_bound_at
from discreet.noise import NotPrivateWarning, SeededBits

mpl.use("Agg")
import matplotlib.pyplot as plt

CANDIDATES = np.arange(1, 10) / 10
SCORES = np.log(np.stack([1.0 - CANDIDATES, CANDIDATES]))
THETA = np.linspace(0.01, 0.99, 99)
COIN = np.stack([1.0 - THETA, THETA], axis=1)
NORMALS = standard_normals(2)
EPSILONS = np.geomspace(0.01, 2.0, 16)
COST = {"add-remove": math.log(9.0), "replace-one": 2.0 * math.log(9.0)}
KINDS = {
    "lower": ("lower bound", "C0-"),
    "upper": ("upper bound, best q", "C1-"),
    "upper, first order": ("upper bound, q with ε", "C1--"),
    "upper, printed": ("upper bound, q without ε", "C1:"),
    "normal": ("normal likelihood", "C2-"),
}


def upper_at(observed: list[Observed], rows: int, epsilon: float) -> np.ndarray:
    """Return the upper bound at q ∝ exp(n·ε·∫p log φ); the paper prints it with ε = 1."""
    logits = rows * epsilon * (COIN @ SCORES)
    return log_upper_bound_at(observed, COIN, rows, [logits - log_sum(logits)[:, None]])


def likelihoods(rows: int, epsilon: float, index: int) -> dict[str, np.ndarray]:
    observed = [Observed(SCORES, epsilon, (index,))]
    return {
        "exact": log_exact_likelihood(observed, COIN, rows),
        "lower": log_lower_bound(observed, COIN, rows),
        "upper": log_upper_bound(observed, COIN, rows),
        "upper, first order": upper_at(observed, rows, epsilon),
        "upper, printed": upper_at(observed, rows, 1.0),
        "normal": log_normal_likelihood(observed, COIN, rows, NORMALS),
    }


def figure_2a(panels: Any) -> dict[str, Any]:
    numbers: dict[str, Any] = {"epsilon": EPSILONS.tolist(), "cost": COST, "error": {}}
    for panel, rows in zip(panels, (10, 100, 1000), strict=True):
        errors: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for epsilon in EPSILONS:
            found = [likelihoods(rows, float(epsilon), index) for index in range(len(CANDIDATES))]
            for kind, worst in errors.items():
                with np.errstate(over="ignore"):
                    off = [np.abs(np.exp(one[kind]) - np.exp(one["exact"])).max() for one in found]
                worst.append(min(float(max(off)), 1e30))
        numbers["error"][str(rows)] = errors
        for kind, (label, style) in KINDS.items():
            panel.loglog(EPSILONS, errors[kind], style, label=label)
        panel.set(title=f"n = {rows}", xlabel="ε", ylim=(1e-6, 10.0))
    panels[0].set_ylabel("largest error over θ and z")
    panels[0].legend(fontsize=7)
    return numbers


def figure_2b(panels: Any) -> dict[str, Any]:
    found = {kind: np.exp(logs) for kind, logs in likelihoods(100, 0.5, 6).items()}
    panels[0].plot(THETA, found["exact"], "k-", label="exact")
    for kind in ("lower", "upper", "normal"):
        panels[0].plot(THETA, found[kind], KINDS[kind][1].replace("-", "--"), label=KINDS[kind][0])
    panels[0].set(title="n = 100, ε = 0.5, z = 0.7", xlabel="θ", ylabel="p(z | θ)")
    panels[0].legend(fontsize=7)
    return {"theta": THETA.tolist(), "cost": {name: 0.5 * cost for name, cost in COST.items()}} | {
        kind: values.tolist() for kind, values in found.items()
    }


def figure_4(panels: Any) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    theta, sigma, count = np.array([1.6, 0.9]), 0.6, 1000
    rows = rng.standard_normal((count, 1)) * theta + sigma * rng.standard_normal((count, 2))
    mechanism = direction_mechanism(64, length=float(np.linalg.norm(theta)), sigma=sigma)
    true = math.atan2(theta[1], theta[0])
    numbers: dict[str, Any] = {"theta": theta.tolist(), "sigma": sigma, "rows": count, "true axis": true}
    for panel, epsilon in zip(panels, (0.003, 0.01, 0.03), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            bits = SeededBits(4)
        drawn = mechanism.draw(rows, bounds=Ball(8.0, center=[0.0, 0.0]), epsilon=4.0 * epsilon, bits=bits)
        found = axis_posterior(drawn, sigma=sigma, scale=1.5, radius=8.0, angles=128)
        draws = found.sample(1000, seed=4)
        panel.plot(*rows.T, ".", color="0.75", markersize=2)
        panel.plot(*np.stack([-draws, draws], axis=1).T, color="C0", alpha=0.03)
        panel.plot(*np.stack([-4 * drawn.value, 4 * drawn.value]).T, "C1--", linewidth=1, label="measured")
        panel.plot(*np.stack([-2 * theta, 2 * theta]).T, "k-", linewidth=1, label="true")
        panel.set(title=f"ε = {epsilon}", xlim=(-5, 5), ylim=(-5, 5), aspect="equal")
        numbers[str(epsilon)] = {
            "rate": drawn.rate,
            "cost, replace-one": 4.0 * epsilon,
            "measured axis": math.atan2(drawn.value[1], drawn.value[0]),
            "posterior axis": found.axis,
            "concentration": found.concentration,
            "within, 90 %": found.within(0.9),
            "mean length": float(found.weights @ found.lengths),
        }
    panels[0].legend(fontsize=7)
    return numbers


FIGURES = {"2a": (figure_2a, 3), "2b": (figure_2b, 1), "4": (figure_4, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=list(FIGURES))
    parser.add_argument("--out", type=Path, default=Path("build/figures"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    figure, count = FIGURES[given.figure]
    drawing, panels = plt.subplots(1, count, figsize=(4 * count + 1, 4.4), layout="constrained", squeeze=False)
    numbers = figure(panels[0])
    path = given.out / f"factored-{given.figure}"
    drawing.savefig(path.with_suffix(".png"), dpi=110)
    path.with_suffix(".json").write_text(json.dumps(numbers, indent=1))
    print(f"{path}.png, {path}.json")


if __name__ == "__main__":
    main()
