"""Error rates against the number of rows: results, table and plot of figures 1 to 5 and the Parkinsons experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.plots.plot import INK, MUTED, SERIES
from papers.experiment import Measured, Table, panels

__all__ = ["SIZES", "draw", "gathered", "table", "worst"]

SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)  # the paper's
WAYS = {
    "none": "without privacy",
    "adaptive": "ours",
    "joint": "ours, one release",
    "printed": "Xi et al., honest",
    "xi2011": "Xi et al., exact sensitivity",
}


def gathered(measured: Measured, key: str, symbol: str) -> dict[str, Any]:
    """Return means and standard errors over the repeats, a curve for each value of a key of the parts."""
    sizes = sorted({part["n"] for part, _ in measured})
    seeds = {part["seed"] for part, _ in measured}
    curves: dict[str, Any] = {}
    for value in sorted({part[key] for part, _ in measured}):
        errors = np.zeros((len(WAYS), len(sizes), len(seeds)))
        for part, result in measured:
            if part[key] == value:
                errors[:, sizes.index(part["n"]), part["seed"]] = [result[way] for way in WAYS]
        spread = errors.std(axis=2, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.zeros(errors.shape[:2])
        curves[f"{symbol} = {value:g}"] = {
            way: {"mean": errors[i].mean(axis=1).tolist(), "error": spread[i].tolist()} for i, way in enumerate(WAYS)
        }
    return {"rows": sizes, "repeats": len(seeds), "curves": curves}


def table(found: dict[str, Any]) -> Table:
    """Return a row for each curve and way."""
    rows = [
        [label, name, *(f"{m:.3f} ± {e:.3f}" for m, e in zip(ways[way]["mean"], ways[way]["error"], strict=True))]
        for label, ways in found["curves"].items()
        for way, name in WAYS.items()
    ]
    return Table(["", "error", *(f"{n:,} rows" for n in found["rows"])], rows)


def worst(found: dict[str, Any], way: str, rows: int) -> float:
    """Return the largest mean error of a way over all curves, at a number of rows."""
    place = found["rows"].index(rows)
    return float(max(ways[way]["mean"][place] for ways in found["curves"].values()))


def draw(found: dict[str, Any], levels: Mapping[str, float]) -> Any:
    """Draw the paper's method, with both sensitivities, and ours; levels are lines with a name."""
    figure, axes = panels(3)
    for axis, way in zip(axes, ("printed", "xi2011", "adaptive"), strict=True):
        for colour, (label, ways) in zip(SERIES.values(), found["curves"].items(), strict=False):
            axis.errorbar(
                found["rows"], ways[way]["mean"], ways[way]["error"], color=colour, marker="o", ms=3.5, label=label
            )
            axis.plot(found["rows"], ways["none"]["mean"], ":", color=colour, lw=1.2)
        for style, (name, level) in zip(("--", "-."), levels.items(), strict=False):
            axis.axhline(level, color=MUTED, ls=style, lw=1.0, label=name)
        axis.plot([], [], ":", color=INK, lw=1.2, label=WAYS["none"])
        axis.set(title=WAYS[way], xscale="log", xlabel="rows", ylim=(0.0, 0.62))
        axis.set_xticks(found["rows"], [f"{n:,}" for n in found["rows"]], fontsize=7)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("error on new rows")
    axes[-1].legend(fontsize=7)
    return figure
