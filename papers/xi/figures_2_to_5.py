"""Figures 2 to 5 of Xi, Kantarcioglu and Inan (2011): a standard Gaussian class against a correlated one.

They differ in the number of columns; each has several variances σ of the second class, and several numbers of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import discreet as dp
from papers.experiment import Experiment, Measured, Part, Verdict
from papers.xi.curves import SIZES, draw, gathered, table, worst
from papers.xi.rules import Rows, box_of, errors_of

__all__ = ["FIGURE_2", "FIGURE_3", "FIGURE_4", "FIGURE_5", "SIGMAS", "correlated_rows"]

EPSILON = 0.1
SIGMAS = (1, 2, 3, 4, 5)
LARGE = 16_000  # from so many rows on the paper calls the error bearable
COIN = 0.5  # both classes have the same share


def correlated_rows(d: int, sigma: float, n: int, seed: int) -> Rows:
    """Return rows of two equally likely classes; σ is a variance."""
    drawn = dp.datasets.make_xi_correlated(n, d, sigma, random_state=seed)
    assert drawn.y is not None
    return drawn.X, drawn.y


def parts(quick: bool, d: int) -> list[Part]:
    """Return every size and σ, five times; quickly some of them, twice, with fewer rows to test."""
    sizes, sigmas, repeats = ((500, 4_000, 32_000), (1, 3), 2) if quick else (SIZES, SIGMAS, 5)
    return [
        {"d": d, "sigma": sigma, "n": n, "seed": seed, "tested": 10_000 if quick else 50_000}
        for sigma in sigmas
        for n in sizes
        for seed in range(repeats)
    ]


def measure(d: int, sigma: float, n: int, seed: int, tested: int) -> dict[str, float]:
    """Return the errors of all ways."""
    law = dp.datasets.make_xi_correlated(1, d, sigma).truth
    train, test = correlated_rows(d, sigma, n, seed), correlated_rows(d, sigma, tested, 10_000 + seed)
    return errors_of(EPSILON, box_of(law), train, test, seed)  # type: ignore[arg-type]


def numbers(measured: Measured) -> dict[str, Any]:
    """Return the curves, one for each σ."""
    return {"columns": measured[0][0]["d"], **gathered(measured, "sigma", "σ")}


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether below 16,000 rows the paper's method is nearer to a coin than to no privacy."""
    small = [i for i, n in enumerate(found["rows"]) if n < LARGE]
    lines = list(found["curves"].values())
    high = [
        line["printed"]["mean"][i] - line["none"]["mean"][i] > COIN - line["printed"]["mean"][i]
        for line in lines
        for i in small
    ]
    least = min(line["printed"]["mean"][i] for line in lines for i in small)
    largest, most = found["rows"][-1], found["rows"][small[-1]]
    at_end = [line["printed"]["mean"][-1] for line in lines]
    tight = [line["xi2011"]["mean"][-1] for line in lines]
    gap = max(line["adaptive"]["mean"][-1] - line["none"]["mean"][-1] for line in lines)
    return Verdict(
        holds=all(high),
        honest=(
            f"Below {LARGE:,} rows its error is {least:.3f} or more, and in {sum(high)} of {len(high)} cases nearer "
            f"to a coin's 0.5 than to no privacy. At {largest:,} rows it still is {min(at_end):.3f} to "
            f"{max(at_end):.3f}; with the exact sensitivity, a third of what the paper proves, {min(tight):.3f} to "
            f"{max(tight):.3f}."
        ),
        ours=(
            f"At {largest:,} rows at most {gap:.3f} above no privacy for every σ; at {most:,} the largest error is "
            f"{worst(found, 'adaptive', most):.3f}, where no privacy has {worst(found, 'none', most):.3f}."
        ),
    )


def figure(number: int, d: int) -> Experiment:
    """Return the experiment of one figure."""
    chosen: Callable[[bool], Sequence[Part]] = partial(parts, d=d)
    return Experiment(
        name=f"xi/figure-{number}",
        title=f"Figure {number}: two correlated classes in {d} columns, ε = 0.1",
        claim=(
            f"With {d} columns and fewer than 16,000 rows the error under differential privacy at ε = 0.1 is "
            "prohibitively high for every variance σ of the second class."
        ),
        parts=chosen,
        measure=measure,
        numbers=numbers,
        table=table,
        draw=partial(draw, levels={"a coin": COIN}),
        verdict=verdict,
    )


FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5 = (figure(number, d) for number, d in ((2, 5), (3, 10), (4, 15), (5, 20)))
