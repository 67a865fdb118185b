"""Table 1 of Xi, Kantarcioglu and Inan (2011): the error without privacy, from 500 rows."""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as dp
from discreet.plots.plot import MUTED, SERIES
from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels
from papers.xi.figures_2_to_5 import SIGMAS, correlated_rows
from papers.xi.rules import box_of, law_of, plug_in_error, private_error

__all__ = ["EXPERIMENT"]

ROWS = 500
EPSILON = 1.0  # of ours: at the paper's 0.1 nothing can be seen in 500 rows
PAPER = {
    5: (0.18, 0.22, 0.20, 0.17, 0.14),
    10: (0.12, 0.19, 0.16, 0.12, 0.09),
    15: (0.10, 0.18, 0.15, 0.09, 0.06),
    20: (0.08, 0.18, 0.14, 0.08, 0.05),
}
CLOSE = 0.015  # two decimals are printed, and the paper's mean over five runs has an error of its own


def parts(quick: bool) -> list[Part]:
    """Return every cell of the table, with 20 repeats; quickly 5, with fewer rows to test."""
    repeats, tested = (5, 10_000) if quick else (20, 50_000)
    return [{"d": d, "sigma": sigma, "repeats": repeats, "tested": tested} for d in PAPER for sigma in SIGMAS]


def measure(d: int, sigma: float, repeats: int, tested: int) -> dict[str, float]:
    """Return the mean error of the rule with both classes equally likely, and of ours."""
    test = correlated_rows(d, sigma, tested, 10_000)
    box = box_of(dp.datasets.make_xi_correlated(1, d, sigma).truth)  # type: ignore[arg-type]
    plain, ours = [], []
    for seed in range(repeats):
        train = correlated_rows(d, sigma, ROWS, seed)
        plain.append(plug_in_error(law_of(*train)._replace(weights=np.full(2, 0.5)), test))
        ours.append(private_error("adaptive", EPSILON, box, train, test, seed))
    return {"plain": float(np.mean(plain)), "ours": float(np.mean(ours))}


def numbers(measured: Measured) -> dict[str, Any]:
    """Return a list of errors for each number of columns."""
    found: dict[str, Any] = {str(d): {"plain": [], "ours": [], "paper": list(PAPER[d])} for d in PAPER}
    for part, result in measured:
        for which in ("plain", "ours"):
            found[str(part["d"])][which].append(result[which])
    return {"repeats": measured[0][0]["repeats"], "columns": found}


def table(found: dict[str, Any]) -> Table:
    """Return the table, ours below the paper's."""
    names = {"paper": "paper", "plain": "here, without privacy", "ours": f"our classifier, ε = {EPSILON:g}"}
    rows: list[list[float | int | str | None]] = [
        [int(d), name, *(f"{value:.2f}" if which == "paper" else f"{value:.3f}" for value in lines[which])]
        for d, lines in found["columns"].items()
        for which, name in names.items()
    ]
    return Table(["columns", "error", *(f"σ = {sigma}" for sigma in SIGMAS)], rows)


def draw(found: dict[str, Any]) -> Any:
    """Draw the errors here as lines and the paper's as open circles, and ours in a panel of its own."""
    figure, axes = panels(2, width=4.6)
    for axis, which in zip(axes, ("plain", "ours"), strict=True):
        for colour, (d, lines) in zip(SERIES.values(), found["columns"].items(), strict=False):
            axis.plot(SIGMAS, lines[which], "-", color=colour, marker=".", label=f"{d} columns")
            axis.plot(SIGMAS, lines["paper"], "o", color=colour, mfc="none", ms=8)
        axis.plot([], [], "o", color=MUTED, mfc="none", ms=8, label="the paper, without privacy")
        axis.set(xlabel="σ", xticks=SIGMAS, ylim=(0.0, 0.55))
        axis.grid(alpha=0.3)
    axes[0].set(title="without privacy, 500 rows", ylabel="error on new rows")
    axes[1].set_title(f"ours at ε = {EPSILON:g}, the same rows")
    axes[0].legend(fontsize=8)
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether every cell is where the paper has it."""
    lines = found["columns"].values()
    off = [abs(here - there) for line in lines for here, there in zip(line["plain"], line["paper"], strict=True)]
    excess = [ours - plain for line in lines for ours, plain in zip(line["ours"], line["plain"], strict=True)]
    return Verdict(
        holds=max(off) <= CLOSE,
        honest=(
            f"There is no privacy in this table. With σ as a variance and both classes equally likely the largest of "
            f"{len(off)} differences from the paper is {max(off):.3f}, over {found['repeats']} repeats."
        ),
        ours=(
            f"From the same 500 rows our private classifier at ε = {EPSILON:g}, δ = 1e-5 errs {min(excess):.3f} to "
            f"{max(excess):.3f} more often."
        ),
    )


EXPERIMENT = Experiment(
    name="xi/table-1",
    title="Table 1: the error without privacy, from 500 rows",
    claim=(
        "The error of Bayes' rule with estimated means and covariances, without noise, from 500 rows: 0.18 to 0.22 "
        "to 0.14 as σ grows from 1 over 2 to 5 with 5 columns, and from 0.08 over 0.18 to 0.05 with 20."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
