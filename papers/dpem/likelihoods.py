"""Test log-likelihood of private mixtures against ε: what figures 2 and 3 share.

The paper's method is run with honest denominators: noisy sums are divided by noisy counts. The noise of each of its
J(2K + 1) releases follows from a composition; ``moments`` is the moments accountant as the paper has it, over whole
orders up to 100. Whoever takes real orders finds zCDP's noise.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.guarantees import Loss
from discreet.plots.plot import INK, SERIES
from papers.experiment import Measured, Table, panels

__all__ = [
    "DELTA",
    "MARGIN",
    "METHODS",
    "above",
    "draw",
    "fitted",
    "gathered",
    "reaching",
    "split",
    "table",
    "whole_orders",
]

Array = NDArray[np.float64]

DELTA = 1e-4
ORDERS = 100
LEAST, MARGIN = 0.1, 0.1
METHODS = {
    "ours": "ours (adaptive)",
    "exact": "paper, exact",
    "zcdp": "paper, zCDP",
    "moments": "paper, moments",
    "LLG": "paper, LLG, zCDP",
    "advanced": "paper, advanced",
    "linear": "paper, linear",
}


def split(X: Array, fold: int) -> tuple[Array, Array]:
    """Return nine tenths of the rows to fit and a tenth to test."""
    tenths = np.array_split(np.random.default_rng(0).permutation(len(X)), 10)
    kept = np.ones(len(X), dtype=bool)
    kept[tenths[fold]] = False
    return X[kept], X[~kept]


def whole_orders(epsilon: float, releases: int) -> float | None:
    """Return σ/Δ by the moments accountant over whole orders up to 100; None where no order reaches δ.

    δ = exp(m·(λ² + λ)/(2s²) − λε) is solved for s at each order λ, and the smallest s is taken.

    >>> round(whole_orders(1.0, 70)), whole_orders(0.01, 70)
    (37, None)
    """
    spare = [(order, order * epsilon + math.log(DELTA)) for order in range(1, ORDERS + 1)]
    found = [math.sqrt(releases * (order**2 + order) / (2.0 * rest)) for order, rest in spare if rest > 0.0]
    return min(found, default=None)


def _settings(method: str, epsilon: float, steps: int, k: int) -> dict[str, Any] | None:
    """Return the arguments of the mixture; None where the composition has no noise that keeps ε."""
    if method == "ours":
        return {"epsilon": epsilon}
    how: dict[str, Any] = {"method": "paper", "n_steps": steps, "epsilon": epsilon, "composition": method}
    if method == "LLG":
        return how | {"composition": "zcdp", "mechanisms": "LLG"}
    if method == "moments":
        releases = steps * (2 * k + 1)
        noise = whole_orders(epsilon, releases)
        if noise is None:
            return None
        rho = releases / (2.0 * noise**2)  # the same noise as zCDP has at a smaller ε
        return how | {"composition": "zcdp", "epsilon": rho + 2.0 * math.sqrt(-rho * math.log(DELTA))}
    return how


def fitted(
    X: Array, ball: dp.Ball, k: int, steps: int, method: str, epsilon: float | None, fold: int
) -> dict[str, float | None]:
    """Return the mean test log-likelihood a row, in the scale of the unit ball, and σ/Δ of a release."""
    train, test = split(X, fold)
    if epsilon is None:
        return {"score": _without_privacy(train / ball.radius, test / ball.radius, k), "noise": None}
    how = _settings(method, epsilon, steps, k)
    if how is None:  # no noise keeps this ε
        return {"score": None, "noise": None}
    how = {"background": 0.0, **how}  # as the published densities
    mixture = dp.GaussianMixture(k, delta=DELTA, bounds=ball, random_state=fold, **how).fit(train)
    score = float(mixture.score(test)) + X.shape[1] * math.log(ball.radius)
    return {"score": score, "noise": None if method == "ours" else _relative(mixture.losses_[-1])}


def _relative(loss: Loss) -> float:
    """Return σ/Δ of a Gaussian release."""
    assert loss.gaussian is not None
    return 1.0 / loss.gaussian


def _without_privacy(train: Array, test: Array, k: int) -> float:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last steps move the score in its third decimal
        return float(GaussianMixture(k, random_state=0, max_iter=200).fit(train).score(test))


def gathered(measured: Measured) -> dict[str, Any]:
    """Return means and standard errors over the splits for each method and ε, and the noise."""
    epsilons = sorted({part["epsilon"] for part, _ in measured if part["epsilon"] is not None})
    plain = [result["score"] for part, result in measured if part["epsilon"] is None]
    curves: dict[str, Any] = {}
    for method in METHODS:
        line: dict[str, list[float | None]] = {"mean": [], "error": [], "noise": []}
        for epsilon in epsilons:
            runs = [found for part, found in measured if (part["method"], part["epsilon"]) == (method, epsilon)]
            scores: list[Any] = [run["score"] for run in runs if run["score"] is not None]
            line["mean"].append(float(np.mean(scores)) if scores else None)
            line["error"].append(float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else None)
            line["noise"].append(runs[0]["noise"] if runs else None)
        curves[method] = line
    return {"epsilons": epsilons, "splits": len(plain), "plain": float(np.mean(plain)), "curves": curves}


def above(found: dict[str, Any], upper: str, lower: str) -> bool:
    """Return whether one curve is above another somewhere and nowhere below, from ε = 0.1 on, the paper's least.

    Where noise hides everything all methods have the same score, up to chance: a tenth of a nat counts as none.
    """
    pairs = zip(found["epsilons"], found["curves"][upper]["mean"], found["curves"][lower]["mean"], strict=True)
    gaps = [one - other for epsilon, one, other in pairs if epsilon >= LEAST and None not in (one, other)]
    return max(gaps, default=0.0) > MARGIN and min(gaps) > -MARGIN


def reaching(found: dict[str, Any], method: str, score: float) -> str:
    """Return in words the ε at which a curve reaches a score, between the measured ones on a logarithmic scale."""
    curve = found["curves"][method]["mean"]
    for j, value in enumerate(curve):
        if value >= score:
            if j == 0:
                return f"below ε = {found['epsilons'][0]:g}"
            share = (score - curve[j - 1]) / (value - curve[j - 1])
            low, high = (math.log(found["epsilons"][i]) for i in (j - 1, j))
            return f"at ε = {math.exp(low * (1.0 - share) + high * share):.2g}"
    return "at no ε here"


def table(found: dict[str, Any]) -> Table:
    """Return scores by ε, and the noise of the paper's releases at the largest."""
    rows: list[list[float | int | str | None]] = []
    for method, name in METHODS.items():
        line = found["curves"][method]
        rows.append([name, *(_cell(m, e) for m, e in zip(line["mean"], line["error"], strict=True))])
    rows.append(["without privacy", *[None] * (len(found["epsilons"]) - 1), f"{found['plain']:.2f}"])
    for method in ("exact", "zcdp", "moments", "advanced", "linear"):
        noise = found["curves"][method]["noise"]
        rows.append([f"σ/Δ, {METHODS[method][7:]}", *(None if one is None else f"{one:.4g}" for one in noise)])
    return Table(["log-likelihood a test row", *(f"ε = {epsilon:g}" for epsilon in found["epsilons"])], rows)


def _cell(mean: float | None, error: float | None) -> str | None:
    if mean is None:
        return None
    return f"{mean:.2f}" if error is None else f"{mean:.2f} ± {error:.2f}"


def draw(found: dict[str, Any]) -> Any:
    """Draw scores and noise against ε, a colour for each method."""
    figure, axes = panels(2, width=5.0, height=4.2)
    colours = dict(zip(METHODS, [INK, *SERIES.values()], strict=True))
    for (method, name), mark in zip(METHODS.items(), "osD^vPX", strict=True):
        line, width = found["curves"][method], 2.4 if method == "ours" else 1.3
        for axis, which in zip(axes, ("mean", "noise"), strict=True):
            known = [(x, y) for x, y in zip(found["epsilons"], line[which], strict=True) if y is not None]
            if known:
                axis.plot(*zip(*known, strict=True), color=colours[method], marker=mark, ms=5, lw=width, label=name)
    axes[0].axhline(found["plain"], color=INK, ls=":", label="without privacy")
    axes[0].set(xlabel="ε", ylabel="mean log-likelihood of a test row", xscale="log")
    axes[1].set(xlabel="ε", ylabel="σ/Δ of one release", xscale="log", yscale="log")
    axes[0].legend(fontsize=7)
    for axis in axes:
        axis.set_xticks(found["epsilons"], [f"{epsilon:g}" for epsilon in found["epsilons"]])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    return figure
