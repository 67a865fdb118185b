"""Figure 2b of Williams and McSherry (2010): the likelihood of a private choice, between its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels
from papers.williams.coin import CANDIDATES, COST, KINDS, STYLES, THETA, likelihoods

__all__ = ["EXPERIMENT"]

ROWS, EPSILON, CHOSEN = 100, 0.5, 0.7
ROUNDOFF = 1e-9
SAME_PEAK = 0.05


def parts(quick: bool) -> list[Part]:
    """Return the one part, which is quick."""
    return [{"rows": ROWS, "epsilon": EPSILON, "chosen": CHOSEN}]


def measure(rows: int, epsilon: float, chosen: float) -> dict[str, list[float]]:
    """Return p(z | θ) of each kind at each θ."""
    index = int(np.argmin(np.abs(CANDIDATES - chosen)))
    with np.errstate(over="ignore"):
        found = {kind: np.exp(logs) for kind, logs in likelihoods(rows, epsilon, index).items()}
    return {kind: np.minimum(values, 1e30).tolist() for kind, values in found.items()}


def numbers(measured: Measured) -> dict[str, Any]:
    """Return the curves, how far each is off and where each is largest."""
    curves = measured[0][1]
    exact = np.array(curves["exact"])
    between = {
        "lower": bool((np.array(curves["lower"]) <= exact + ROUNDOFF).all()),
        "upper, q with ε": bool((np.array(curves["upper, q with ε"]) >= exact - ROUNDOFF).all()),
    }
    return {
        "theta": THETA.tolist(),
        "curves": curves,
        "off": {kind: float(np.abs(np.array(curves[kind]) - exact).max()) for kind in KINDS},
        "peak": {kind: float(THETA[int(np.argmax(values))]) for kind, values in curves.items()},
        "between": between,
        "cost": {name: EPSILON * cost for name, cost in COST.items()},
    }


def table(found: dict[str, Any]) -> Table:
    """Return a row for each curve."""
    rows: list[list[float | int | str | None]] = [["exact", 0.0, found["peak"]["exact"]]]
    rows += [[label, found["off"][kind], found["peak"][kind]] for kind, label in KINDS.items()]
    return Table(["likelihood of z = 0.7", "largest error", "largest at θ"], rows)


def draw(found: dict[str, Any]) -> Any:
    """Draw the likelihood and its bounds against θ."""
    figure, (axis,) = panels(1, width=6.0)
    for kind in ("exact", *KINDS):
        label = KINDS.get(kind, "exact")
        axis.plot(found["theta"], found["curves"][kind], label=label, **STYLES[kind])
    axis.set(title=f"n = {ROWS}, ε = {EPSILON}, z = {CHOSEN}", xlabel="θ", ylabel="p(z | θ)", ylim=(0.0, 1.0))
    axis.axvline(CHOSEN, color="0.8", linewidth=0.8, zorder=0)
    axis.legend(fontsize=8)
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether the bounds enclose the likelihood and have its shape."""
    off, peak = found["off"], found["peak"]
    shaped = all(abs(peak[kind] - peak["exact"]) <= SAME_PEAK for kind in found["between"])
    return Verdict(
        holds=all(found["between"].values()) and shaped,
        honest=(
            f"{'Both bounds enclose' if all(found['between'].values()) else 'The bounds do not enclose'} the exact "
            f"likelihood, {off['lower']:.2g} off at most below and {off['upper, q with ε']:.2g} above (with ε in q; "
            f"{off['upper, printed q']:.2g} with the q that is printed). It is largest at θ = {peak['exact']:.2f}, its "
            f"bounds at {peak['lower']:.2f} and {peak['upper, q with ε']:.2f}. What the paper calls ε = {EPSILON} "
            f"costs {found['cost']['add-remove']:.2f} under add-remove and {found['cost']['replace-one']:.2f} under "
            "replace-one."
        ),
        ours=(
            f"With the best q the upper bound is {off['upper, best q']:.2g} off at most; the normal likelihood "
            f"{off['normal']:.2g}."
        ),
    )


EXPERIMENT = Experiment(
    name="williams/figure-2b",
    title="Figure 2b: the likelihood between its bounds",
    claim=(
        "For n = 100, ε = 0.5 and a private choice of z = 0.7, a large ε at which the bounds are no longer tight, both "
        "bounds still have the shape of the true likelihood, which lies between them."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
