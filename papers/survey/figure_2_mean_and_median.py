"""Figure 2 of Sarwate and Chaudhuri (2013): answers of the private mean and of the private median.

Rows lie in [0, 1], n = 1,000 and ε = 0.1, replace-one. The mean gets Laplace noise of scale 1/(εn), which has the
standard deviation √2/(εn); with noise of unit variance over εn, as it is printed, it would cost √2·ε. The median is the
exponential mechanism with the exponent −(ε/2)·n·|½ − F|, over all of [0, 1] and not over a grid. The figure's rows are
not named: here they are uniform, or N(½, 0.1²). With the density f at the median, the median's standard deviation is
about √2/(½εn·f), so it should beat the mean's where f > 2; Beta(a, a) covers a range of f.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from discreet.plots.plot import INK, MUTED, SERIES
from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels

__all__ = ["EXPERIMENT"]

Array = NDArray[np.float64]

ROWS, EPSILON = 1_000, 0.1
SHAPES = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0)  # of Beta(a, a)
KINDS = {"mean": "mean", "median": "median", "median, add-remove": "median under add-remove (ours)"}
COLOURS = {"mean": SERIES["blue"], "median": SERIES["vermillion"], "median, add-remove": SERIES["green"]}
SETS = {"uniform": "uniform on [0, 1]", "normal": "N(0.5, 0.1²)"}
PRINTED = 1.0 / (EPSILON * ROWS)  # the standard deviation of the printed noise
EDGES = np.linspace(-0.1, 0.1, 61)
ACCURATE = 0.05  # a standard deviation, of a range of 1
CROSSING = 2.0


def parts(quick: bool) -> list[Part]:
    """Return laws of the rows."""
    runs, shapes = (150, (1.0, 3.0, 6.0, 20.0)) if quick else (1_000, SHAPES)
    fixed = [{"law": law, "shape": None, "runs": runs} for law in SETS]
    return [*fixed, *({"law": "beta", "shape": a, "runs": runs} for a in shapes)]


def measure(law: str, shape: float | None, runs: int) -> dict[str, Any]:
    """Return errors on new rows in each run, and how answers on the same rows are distributed."""
    from discreet import statistics
    from discreet.noise import SeededBits

    how: dict[str, Any] = {"epsilon": EPSILON, "bounds": (0.0, 1.0)}
    ask: dict[str, Callable[[Array, int], float]] = {
        "mean": lambda rows, seed: statistics.mean(rows, bits=SeededBits(seed), **how).value,
        "median": lambda rows, seed: statistics.median(rows, interval=None, bits=SeededBits(seed), **how).value,
        "median, add-remove": lambda rows, seed: (
            statistics.median(rows, interval=None, bits=SeededBits(seed), neighbors="add-remove", **how).value
        ),
    }
    first = crc32(f"{law} {shape}".encode())  # noise of its own for each law
    rng = np.random.default_rng(first)
    exact: dict[str, Callable[[Array], Any]] = {kind: np.mean if kind == "mean" else np.median for kind in KINDS}
    one = rows_of(law, shape, rng)
    new = [rows_of(law, shape, rng) for _ in range(runs)]
    found: dict[str, Any] = {}
    for kind in KINDS:
        off = np.array([ask[kind](rows, seed) - float(exact[kind](rows)) for seed, rows in enumerate(new, first)])
        found[kind] = {"rmse": float(np.sqrt((off**2).mean()))}
        if shape is None:
            same = np.array([ask[kind](one, first + seed) for seed in range(runs, 2 * runs)]) - float(exact[kind](one))
            counts = np.histogram(np.clip(same, EDGES[0], EDGES[-1]), EDGES)[0]
            found[kind] |= {"deviation": float(same.std()), "counts": counts.tolist()}
    found["median"]["law"] = math.sqrt(np.mean([median_square(rows) for rows in new]))
    return found


def median_square(rows: Array) -> float:
    """Return the mean squared error of the median from its law, ∝ e^(−ε/2·|rows below − n/2|) between two rows."""
    ends = np.concatenate([[0.0], np.sort(rows), [1.0]])
    chances = np.diff(ends) * np.exp(-EPSILON / 2.0 * np.abs(np.arange(len(rows) + 1) - len(rows) / 2.0))
    low, high = ends[:-1] - np.median(rows), ends[1:] - np.median(rows)
    return float((chances * (low * low + low * high + high * high)).sum() / chances.sum() / 3.0)


def rows_of(law: str, shape: float | None, rng: np.random.Generator) -> Array:
    """Return rows in [0, 1]."""
    if law == "beta":
        assert shape is not None
        return rng.beta(shape, shape, ROWS)
    return rng.uniform(size=ROWS) if law == "uniform" else np.clip(rng.normal(0.5, 0.1, ROWS), 0.0, 1.0)


def density(a: float) -> float:
    """Return that of Beta(a, a) at its median, ½."""
    return math.exp(math.lgamma(2.0 * a) - 2.0 * math.lgamma(a) + (2.0 - 2.0 * a) * math.log(2.0))


def numbers(measured: Measured) -> dict[str, Any]:
    """Return what the two sets gave, and errors along the density."""
    sets = {part["law"]: result for part, result in measured if part["shape"] is None}
    shaped = [(density(part["shape"]), result) for part, result in measured if part["shape"] is not None]
    along = sorted(shaped, key=lambda pair: pair[0])
    curves = {kind: [result[kind]["rmse"] for _, result in along] for kind in KINDS}
    return {
        "runs": measured[0][0]["runs"],
        "sets": sets,
        "density": [f for f, _ in along],
        "curves": curves,
        "law": [result["median"]["law"] for _, result in along],
    }


def table(found: dict[str, Any]) -> Table:
    """Return a row for each law of the rows."""
    peaks = {"uniform": 1.0, "normal": 1.0 / (0.1 * math.sqrt(2.0 * math.pi))}
    rows: list[list[float | int | str | None]] = [
        [SETS[law], peaks[law], *(one[kind]["rmse"] for kind in KINDS), one["median"]["law"], expected(peaks[law])]
        for law, one in found["sets"].items()
    ]
    for i, f in enumerate(found["density"]):
        rows.append(["Beta(a, a)", f, *(found["curves"][kind][i] for kind in KINDS), found["law"][i], expected(f)])
    errors = [f"{label}: RMSE" for label in KINDS.values()]
    return Table(["rows", "density f at the median", *errors, "median: RMSE by its law", "√2/(50 f)"], rows)


def expected(f: float) -> float:
    """Return about what the median's standard deviation is under replace-one."""
    return math.sqrt(2.0) / (EPSILON / 2.0 * ROWS * f)


def draw(found: dict[str, Any]) -> Any:
    """Draw histograms on both sets, and errors against the density."""
    figure, axes = panels(3)
    middles, width = (EDGES[:-1] + EDGES[1:]) / 2.0, EDGES[1] - EDGES[0]
    scale = PRINTED / math.sqrt(2.0)
    curve = np.exp(-np.abs(middles) / scale) / (2.0 * scale) * width * found["runs"]
    for axis, (law, one) in zip(axes, found["sets"].items(), strict=False):
        for kind in ("mean", "median"):
            label = f"{kind}, deviation {one[kind]['deviation']:.4f}"
            axis.stairs(one[kind]["counts"], EDGES, fill=True, alpha=0.45, color=COLOURS[kind], label=label)
        axis.plot(middles, curve, color=INK, linewidth=1.0, label=f"mean as printed, {PRINTED:.3f}, costs 1.41ε")
        axis.set(title=SETS[law], xlabel="answer less that of the rows", ylabel=f"of {found['runs']:,} runs")
        axis.margins(y=0.3)  # room for the legend
        axis.legend(fontsize=7)
    for kind, label in KINDS.items():
        axes[2].loglog(found["density"], found["curves"][kind], "o-", markersize=4, color=COLOURS[kind], label=label)
    guess = [expected(f) for f in found["density"]]
    axes[2].plot(found["density"], guess, ":", color=SERIES["vermillion"], label="√2/(50 f)")
    axes[2].axvline(CROSSING, color=MUTED, linewidth=0.8)
    axes[2].set(title="rows of Beta(a, a)", xlabel="density f at the median", ylabel="RMSE")
    axes[2].set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes[2].set_yticks([0.003, 0.01, 0.03], ["0.003", "0.01", "0.03"])
    axes[2].minorticks_off()
    axes[2].legend(fontsize=7)
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether answers lie near to those of the rows, and say where the median is better."""
    sets, f = found["sets"], found["density"]
    spread = {kind: [sets[law][kind]["rmse"] for law in SETS] for kind in KINDS}
    as_told = [
        (median < mean) == (one > CROSSING)
        for one, mean, median in zip(f, found["curves"]["mean"], found["curves"]["median"], strict=True)
    ]
    halves = [a / b for a, b in zip(found["curves"]["median, add-remove"], found["curves"]["median"], strict=True)]
    return Verdict(
        holds=max(spread["mean"] + spread["median"]) < ACCURATE,
        honest=(
            f"On uniform rows the mean is {spread['mean'][0]:.4f} off (root mean square) and the median "
            f"{spread['median'][0]:.4f}; on N(0.5, 0.1²) {spread['mean'][1]:.4f} and {spread['median'][1]:.4f}. The "
            f"printed noise of the mean, of unit variance, would be {PRINTED:.3f} off, and cost {math.sqrt(2.0):.2f} "
            f"times the ε that is stated. The median is better where the density at it is above {CROSSING:g}, which "
            f"told the better one in {sum(as_told)} of {len(f)} laws."
        ),
        ours=(
            f"Both are drawn exactly here, the median over the whole interval. Under add-remove its exponent may be "
            f"twice as large: its error is then {min(halves):.2f} to {max(halves):.2f} times that under replace-one."
        ),
    )


EXPERIMENT = Experiment(
    name="survey/figure-2",
    title="Figure 2: a private mean and a private median",
    claim=(
        "For n = 1,000 rows in [0, 1] and ε = 0.1, a sample mean with Laplace noise of unit variance over εn (a "
        "deviation of 0.010) and a median from the exponential mechanism both give answers near to those of the rows, "
        "in 1,000 runs each."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
