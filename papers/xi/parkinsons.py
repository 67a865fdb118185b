"""The Parkinsons experiment of Xi, Kantarcioglu and Inan (2011): rows drawn from the law of its two classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import discreet as dp
from discreet.datasets.truth import TrueMixture
from papers.experiment import Experiment, Measured, Part, Verdict
from papers.xi.curves import SIZES, draw, gathered, table
from papers.xi.rules import box_of, drawn_from, errors_of, law_of

__all__ = ["EXPERIMENT"]

EPSILON = 0.1
MAJORITY = 0.2462  # the error rate of always predicting the larger class
CLOSE, PLAIN = 0.02, 0.01


def patients() -> TrueMixture:
    """Return the law of the two classes of the table, 22 columns."""
    found = dp.datasets.fetch_parkinsons()
    assert isinstance(found, dp.datasets.Dataset)
    assert found.y is not None
    return law_of(np.asarray(found.X), found.y)


def parts(quick: bool) -> list[Part]:
    """Return every size five times, as in the paper; quickly some of them, twice."""
    sizes, repeats = ((500, 4_000, 32_000), 2) if quick else (SIZES, 5)
    return [
        {"epsilon": EPSILON, "n": n, "seed": seed, "tested": 10_000 if quick else 50_000}
        for n in sizes
        for seed in range(repeats)
    ]


def measure(epsilon: float, n: int, seed: int, tested: int) -> dict[str, float]:
    """Return the errors of all ways."""
    law = patients()
    return errors_of(epsilon, box_of(law), drawn_from(law, n, seed), drawn_from(law, tested, 10_000 + seed), seed)


def numbers(measured: Measured) -> dict[str, Any]:
    """Return the curve."""
    return gathered(measured, "epsilon", "ε")


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether the paper's method errs as the larger class does at every size, and no privacy below 0.01."""
    ways = next(iter(found["curves"].values()))
    theirs, plain, ours = (ways[way]["mean"] for way in ("printed", "none", "adaptive"))
    off = max(abs(error - MAJORITY) for error in theirs)
    return Verdict(
        holds=off <= CLOSE and max(plain) < PLAIN,
        honest=(
            f"Its error is {min(theirs):.3f} to {max(theirs):.3f} at all sizes (always the larger class: "
            f"{MAJORITY}), and {max(plain):.3f} or less without privacy. Some of the 22 columns are nearly functions "
            "of others, and noise hides such directions first."
        ),
        ours=f"{ours[0]:.3f} at {found['rows'][0]:,} rows, {ours[-1]:.3f} at {found['rows'][-1]:,}.",
    )


EXPERIMENT = Experiment(
    name="xi/parkinsons",
    title="Parkinsons: rows from the law of its two classes, ε = 0.1",
    claim=(
        "At every size the private models err in about 0.24 of rows, as always saying the larger class does (0.2462); "
        "without privacy the error is below 0.01."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=partial(draw, levels={"always the larger class": MAJORITY}),
    verdict=verdict,
)
