"""Figure 3a of Williams and McSherry (2010): errors along paths of gradients, against the ε spent so far (CM2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.plots.plot import INK, SERIES, series_colour
from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels
from papers.williams.logistic import DELTA, gradients, inferred, private_fits, split

__all__ = ["EXPERIMENT"]

NAME = "cm2"
# ε, mean and standard deviation of Chaudhuri and Monteleoni (2008), as the paper quotes them.
NIPS08 = (0.1, 19.03, 11.05)
KINDS = ("inference", "averaged", "heuristic", "ours", "tied")
ROUGHLY = 1.25  # errors at one ε differ at most by this factor, where paths share a curve
RUNS, BLOCK = 20, 5


def parts(quick: bool) -> list[Part]:
    """Return paths: μ of a step, after how many steps to look, and which runs."""
    if quick:
        return [{"mu": mu, "lengths": [1, 4], "start": 0, "stop": 1} for mu in (0.04, 0.08)]
    return [
        {"mu": mu, "lengths": [1, 2, 4, 8], "start": start, "stop": start + BLOCK}
        for mu in (0.02, 0.04, 0.08, 0.16)
        for start in range(0, RUNS, BLOCK)
    ]


def spent(mu: float, steps: int) -> float:
    """Return ε of some steps together."""
    from discreet.guarantees.normal import normal_epsilon

    return float(normal_epsilon(mu * math.sqrt(steps), DELTA))


def measure(mu: float, lengths: list[int], start: int, stop: int) -> list[dict[str, list[float]]]:
    """Return for each run and kind the errors after so many steps, in percent."""
    found = []
    for seed in range(start, stop):
        data = split(NAME, seed)
        path = list(gradients(NAME, data, mu, max(lengths), seed))
        errors: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for length in lengths:
            one = inferred(NAME, data, [release for release, _ in path[:length]])
            one |= {"heuristic": path[length - 1][1], **private_fits(data, spent(mu, length), seed)}
            for kind in KINDS:
                errors[kind].append(one[kind])
        found.append(errors)
    return found


def numbers(measured: Measured) -> dict[str, Any]:
    """Return the mean errors along each path, and pairs of paths that have spent the same."""
    runs: dict[float, list[dict[str, list[float]]]] = {}
    for part, result in measured:
        runs.setdefault(part["mu"], []).extend(result)
    lengths = measured[0][0]["lengths"]
    paths = []
    for mu, errors in runs.items():
        means = {kind: np.mean([one[kind] for one in errors], axis=0).tolist() for kind in KINDS}
        ends = [spent(mu, length) for length in lengths]
        paths.append({"step": spent(mu, 1), "epsilon": ends, "runs": len(errors), **means})
    return {"lengths": lengths, "paths": paths, "ratios": {kind: _ratios(paths, kind) for kind in KINDS[:3]}}


def _ratios(paths: list[dict[str, Any]], kind: str) -> list[list[float]]:
    """Return ε at which several paths have arrived, and the largest error there relative to the smallest."""
    at: dict[float, list[float]] = {}
    for path in paths:
        for epsilon, error in zip(path["epsilon"], path[kind], strict=True):
            at.setdefault(round(epsilon, 6), []).append(error)
    return [[epsilon, max(errors) / min(errors)] for epsilon, errors in sorted(at.items()) if len(errors) > 1]


def table(found: dict[str, Any]) -> Table:
    """Return a row for each point of each path."""
    rows = [
        [path["step"], length, path["epsilon"][i], *(path[kind][i] for kind in KINDS)]
        for path in found["paths"]
        for i, length in enumerate(found["lengths"])
    ]
    labels = [
        "inference, expected error, %", "inference, averaged (ours), %", "heuristic, %", "LogisticRegression (ours), %",
        "GaussianClassifier, tied (ours), %",
    ]  # fmt: skip
    return Table(["ε a step", "steps", "ε spent", *labels], rows)


def draw(found: dict[str, Any]) -> Any:
    """Draw expected errors along the paths, our classifiers, and what the paper compares with."""
    figure, (axis,) = panels(1, width=6.4, height=4.4)
    for place, path in enumerate(found["paths"]):
        label = f"inference, ε = {path['step']:.2g} a step"
        axis.plot(path["epsilon"], path["inference"], "o-", color=series_colour(place), label=label)
    points = sorted({(e, t) for path in found["paths"] for e, t in zip(path["epsilon"], path["tied"], strict=True)})
    axis.plot(
        *zip(*points, strict=True), "s:", color=SERIES["sky"], markersize=4, label="GaussianClassifier, tied (ours)"
    )
    epsilon, error, _ = NIPS08
    axis.plot([epsilon], [error], "x", color=INK, markersize=9, label="Chaudhuri and Monteleoni (2008)")
    axis.set(xscale="log", xlabel="ε spent (δ = 1e-6)", ylabel="test error, %", title="CM2", ylim=(0.0, None))
    ticks = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether paths that have spent the same have about the same error."""
    worst = {kind: max(ratio for _, ratio in ratios) for kind, ratios in found["ratios"].items()}
    everywhere = [error for path in found["paths"] for error in path["inference"]]
    ends = [epsilon for path in found["paths"] for epsilon in path["epsilon"]]
    last = max(found["paths"], key=lambda path: path["epsilon"][-1])
    least = min(found["paths"], key=lambda path: path["epsilon"][0])
    return Verdict(
        holds=worst["inference"] <= ROUGHLY,
        honest=(
            f"From ε = {min(ends):.2g} to {max(ends):.2g} the expected error falls from {max(everywhere):.1f} to "
            f"{min(everywhere):.1f} %. Where two paths have spent the same, theirs differ by a factor of "
            f"{worst['inference']:.2f} at most; the last iterates of the heuristic by {worst['heuristic']:.2f}. The "
            f"method of 2008 has {NIPS08[1]} ± {NIPS08[2]} % at ε = {NIPS08[0]}."
        ),
        ours=(
            f"The averaged probabilities differ by {worst['averaged']:.2f} at most. GaussianClassifier with a shared "
            f"covariance, without any path, has {least['tied'][0]:.1f} % at ε = {least['epsilon'][0]:.2g} (inference: "
            f"{least['inference'][0]:.1f}) and {last['tied'][-1]:.1f} % at {last['epsilon'][-1]:.2g} "
            f"({last['inference'][-1]:.1f})."
        ),
    )


EXPERIMENT = Experiment(
    name="williams/figure-3a",
    title="Figure 3a: many small steps or few large ones",
    claim=(
        "On CM2, paths of gradients with different ε a step roughly share one curve when the error is drawn against "
        "the ε spent so far: what inference gets out depends mainly on the total, so the steps need no careful choice."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
