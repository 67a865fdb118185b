"""Figure 5 of Park, Foulds, Chaudhuri and Welling (2017): private factors of faces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.plots.plot import INK, MUTED, SERIES, matplotlib_part
from papers.dpem.faces import METHODS, alignment, pictures
from papers.experiment import Experiment, Measured, Part, Table, Verdict

__all__ = ["EXPERIMENT"]

EPSILON = 0.3
ALIKE = 0.5  # a mean squared cosine from which on factors can be called recognised
SEEN = 0.7  # a cosine from which on one factor can
SHOWN, SMALL = 3, 32  # factors of a method, and pixels of a side, that are drawn
LEVELS = "0123456789abcdefghijklmnopqrstuv"
NAMES = {
    "none": "without privacy",
    "published": "the paper's code (not private)",
    "honest": "the paper's, honest noise",
    "ours": "ours",
}


def parts(quick: bool) -> list[Part]:
    """Return the paper's runs, and more people at ε = 0.3; quickly pictures of a quarter of the pixels."""
    side, more, most = (32, (2, 5, 10), (10, 25)) if quick else (64, (2, 5, 6, 8, 10, 25), (4, 10, 25, 100))
    runs = [
        ("none", None, 1),
        *((method, epsilon, 1) for method in ("published", "honest") for epsilon in (0.2, EPSILON)),
    ]
    runs += [("honest", EPSILON, times) for times in more]
    runs += [("ours", EPSILON, times) for times in (1, *most)]
    return [{"method": method, "epsilon": epsilon, "times": times, "side": side} for method, epsilon, times in runs]


def measure(method: str, epsilon: float | None, times: int, side: int) -> dict[str, Any]:
    """Return how near the factors come to those without privacy, and some of them as pictures."""
    found = METHODS[method](pictures(side), times, math.inf if epsilon is None else epsilon, 0)
    largest, overlap = alignment(found.loadings, found.exact)
    return {
        "largest": largest,
        "overlap": overlap,
        "spike": found.spike,
        "edge": found.edge,
        "pictures": [_text(found.loadings[:, j].reshape(side, side)) for j in range(SHOWN)],
    }


def _text(picture: np.ndarray[Any, Any]) -> str:
    """Return a picture in 32 levels of grey, a letter a pixel."""
    wide = len(picture) // SMALL
    small = picture.reshape(SMALL, wide, SMALL, wide).mean(axis=(1, 3)).ravel()
    levels = (small - small.min()) / max(float(np.ptp(small)), 1e-300) * (len(LEVELS) - 1)
    return "".join(LEVELS[int(level)] for level in levels)


def numbers(measured: Measured) -> dict[str, Any]:
    """Return the runs, and from how many people on the paper's spike is above what noise alone makes."""
    runs = [{**part, "rows": 400 * part["times"], **result} for part, result in measured]
    honest = _of(runs, "honest", EPSILON, 1)
    ratio = honest["edge"] / honest["spike"]
    seen = [run["rows"] for run in runs if run["method"] == "honest" and run["largest"] >= SEEN]
    return {"runs": runs, "ratio": ratio, "visible": math.ceil(400 * ratio), "seen": min(seen, default=None)}


def _of(runs: list[dict[str, Any]], method: str, epsilon: float | None, times: int) -> dict[str, Any]:
    wanted = (method, epsilon, times)
    return next(run for run in runs if (run["method"], run["epsilon"], run["times"]) == wanted)


def table(found: dict[str, Any]) -> Table:
    """Return a row for each run."""
    head = ["", "ε", "rows", "largest eigenvalue", "seen above", "largest cosine", "mean squared cosine"]
    rows = [
        [
            *(NAMES[run["method"]], run["epsilon"], f"{run['rows']:,}", run["spike"], run["edge"]),
            *(f"{run['largest']:.3f}", f"{run['overlap']:.3f}"),
        ]
        for run in found["runs"]
    ]
    return Table(head, rows)


def draw(found: dict[str, Any]) -> Any:
    """Draw the first factors of some runs as pictures, and the alignment against the number of people."""
    figure = matplotlib_part("figure").Figure(figsize=(11.5, 5.0), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1.0))
    shown = [run for run in found["runs"] if run["times"] == 1 and run["epsilon"] in (None, EPSILON)]
    shown += [[run for run in found["runs"] if run["method"] == method][-1] for method in ("honest", "ours")]
    axes = left.subplots(SHOWN, len(shown))
    for column, run in enumerate(shown):
        for axis, text in zip(axes[:, column], run["pictures"], strict=True):
            picture = np.array([LEVELS.index(letter) for letter in text]).reshape(SMALL, SMALL)
            axis.imshow(picture, cmap="gray")
            axis.set(xticks=[], yticks=[])
        name = NAMES[run["method"]].replace(" (", "\n(").replace(", ", ",\n")
        axes[0, column].set_title(f"{name}\n{run['rows']:,} rows", fontsize=8)
    axis = right.subplots()
    for method, colour, mark in (("published", "orange", "s"), ("honest", "vermillion", "o"), ("ours", "blue", "D")):
        runs = [run for run in found["runs"] if run["method"] == method and run["epsilon"] == EPSILON]
        axis.plot(
            [run["rows"] for run in runs], [run["overlap"] for run in runs], color=SERIES[colour], marker=mark,
            label=f"{NAMES[method]}: mean squared",
        )  # fmt: skip
        axis.plot(
            [run["rows"] for run in runs], [run["largest"] for run in runs], ":", color=SERIES[colour], marker=mark,
            mfc="none", label=f"{NAMES[method]}: largest",
        )  # fmt: skip
    axis.axvline(found["visible"], color=MUTED, ls="--", lw=1.0)
    axis.text(found["visible"], 0.5, " a spike is above the noise", rotation=90, va="center", fontsize=7, color=INK)
    axis.set(xscale="log", xlabel="pictures", ylabel="cosine with the factors without privacy", ylim=(-0.03, 1.03))
    axis.set_title(f"ε = {EPSILON:g}", fontsize=10)
    axis.legend(fontsize=6)
    axis.grid(alpha=0.3)
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether at ε = 0.3 and 400 pictures the factors are recognised."""
    runs = found["runs"]
    honest, published = _of(runs, "honest", EPSILON, 1), _of(runs, "published", EPSILON, 1)
    own = [run for run in runs if run["method"] == "ours"]
    more = f"from {found['seen']:,} pictures on" if found["seen"] else "for no number of pictures here"
    return Verdict(
        holds=honest["overlap"] >= ALIKE,
        honest=(
            f"At ε = {EPSILON:g} and 400 pictures of {honest['side']} × {honest['side']} pixels the largest "
            f"eigenvalue is {honest['spike']:.3f} and noise alone makes {honest['edge']:.2f}: the mean squared "
            f"cosine with the factors without privacy is {honest['overlap']:.3f}. A first factor can appear from "
            f"{found['visible']:,} pictures on; a cosine above {SEEN:g} was seen {more}. The paper's code has "
            f"{published['overlap']:.3f}, with a variance where a standard deviation belongs, and is not private."
        ),
        ours=(
            f"{own[0]['overlap']:.3f} with 400 pictures, which is noise too; {own[-1]['overlap']:.3f} with "
            f"{own[-1]['rows']:,}. The mean is taken off where its noise does not hide it."
        ),
    )


EXPERIMENT = Experiment(
    name="dp-em/figure-5",
    title="Figure 5: factors of 400 faces at ε = 0.2 and 0.3",
    claim=(
        "With ten factors of 400 pictures of 64 × 64 pixels and δ = 1e-4, the loadings are noisy at ε = 0.2, and at "
        "ε = 0.3 nearly as recognisable as faces as those without privacy."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
