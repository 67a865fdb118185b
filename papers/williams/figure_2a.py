"""Figure 2a of Williams and McSherry (2010): how far the bounds on a private choice's likelihood are off, against ε."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels
from papers.williams.coin import CANDIDATES, COST, KINDS, STYLES, likelihoods

__all__ = ["EXPERIMENT"]

LARGEST = 1e30  # the bound at the printed q overflows
NEAR_ZERO = 0.01
SHOWN = 100  # the rows of figure 2b; the paper does not say how many figure 2a has


def parts(quick: bool) -> list[Part]:
    """Return numbers of rows and values of ε."""
    epsilons = [0.01, 0.05, 0.2, 0.5, 1.0] if quick else np.geomspace(0.01, 2.0, 16).tolist()
    sizes = (10, SHOWN) if quick else (10, SHOWN, 1000)
    return [{"rows": rows, "epsilon": round(epsilon, 6)} for rows in sizes for epsilon in epsilons]


def measure(rows: int, epsilon: float) -> dict[str, float]:
    """Return the largest error over θ and z of each kind."""
    worst = dict.fromkeys(KINDS, 0.0)
    for index in range(len(CANDIDATES)):
        found = likelihoods(rows, epsilon, index)
        exact = np.exp(found["exact"])
        with np.errstate(over="ignore"):
            off = {kind: float(np.abs(np.exp(found[kind]) - exact).max()) for kind in KINDS}
        worst = {kind: min(max(worst[kind], off[kind]), LARGEST) for kind in KINDS}
    return worst


def numbers(measured: Measured) -> dict[str, Any]:
    """Return errors by rows and kind, along ε."""
    sizes = sorted({part["rows"] for part, _ in measured})
    epsilons = sorted({part["epsilon"] for part, _ in measured})
    found = {(part["rows"], part["epsilon"]): result for part, result in measured}
    errors = {str(n): {kind: [found[n, e][kind] for e in epsilons] for kind in KINDS} for n in sizes}
    return {"rows": sizes, "epsilon": epsilons, "errors": errors, "cost": COST}


def table(found: dict[str, Any]) -> Table:
    """Return a row for each number of rows and some ε."""
    places = sorted({0, len(found["epsilon"]) // 3, 2 * len(found["epsilon"]) // 3, len(found["epsilon"]) - 1})
    rows = [
        [n, found["epsilon"][i], *(_cell(found["errors"][str(n)][kind][i]) for kind in KINDS)]
        for n in found["rows"]
        for i in places
    ]
    return Table(["n", "ε", *KINDS.values()], rows)


def _cell(error: float) -> float | str:
    return error if error < LARGEST else f"above {LARGEST:.0e}"


def draw(found: dict[str, Any]) -> Any:
    """Draw errors against ε, a panel for each number of rows."""
    figure, axes = panels(len(found["rows"]))
    for axis, n in zip(axes, found["rows"], strict=True):
        for kind, label in KINDS.items():
            axis.loglog(found["epsilon"], found["errors"][str(n)][kind], label=label, **STYLES[kind])
        axis.set(title=f"n = {n:,}", xlabel="ε, as the paper counts it", ylim=(1e-6, 10.0))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("largest error of p(z | θ), over θ and z")
    axes[-1].legend(fontsize=7, loc="lower right")
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge the bounds at the smallest ε, with the rows of figure 2b."""
    errors, least = found["errors"][str(SHOWN)], found["epsilon"][0]
    first = {kind: errors[kind][0] for kind in KINDS}
    grow = all(errors[kind][-1] > first[kind] for kind in ("lower", "upper, q with ε"))
    near = max(first["lower"], first["upper, q with ε"]) < NEAR_ZERO
    middle = int(np.argmin(np.abs(np.array(found["epsilon"]) - 0.5)))
    at = found["epsilon"][middle]
    return Verdict(
        holds=near and grow,
        honest=(
            f"At n = {SHOWN} and ε = {least:g} the largest error is {first['lower']:.2g} for the lower bound and "
            f"{first['upper, q with ε']:.2g} for the upper one, if its q has the ε that the printed one lacks; as "
            f"printed, it is off by {first['upper, printed q']:.2g}. The lower bound is "
            f"{first['lower'] / first['upper, q with ε']:.1f} times as far off as the upper one. What the paper calls "
            f"ε costs {COST['add-remove']:.2f}ε under add-remove and twice that under replace-one, since log 0.1 is "
            "below −1."
        ),
        ours=(
            f"The best q brings the upper bound's error at ε = {at:.2g} from {errors['upper, q with ε'][middle]:.2g} "
            f"to {errors['upper, best q'][middle]:.2g}; the normal likelihood, which is no bound, has "
            f"{errors['normal'][middle]:.2g} there and {first['normal']:.2g} at ε = {least:g}."
        ),
    )


EXPERIMENT = Experiment(
    name="williams/figure-2a",
    title="Figure 2a: errors of the bounds on the likelihood",
    claim=(
        "For a private choice among nine biases of a coin, the largest error of the lower and of the upper bound on "
        "p(z | θ) is essentially zero for small ε and grows with ε; for reasonable ε both bounds are equally good."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
