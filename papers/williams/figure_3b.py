"""Figure 3b of Williams and McSherry (2010): public rows beside private gradients (SYNTH, ε = 0.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.plots.plot import INK, SERIES
from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels
from papers.williams.logistic import (
    STEPS,
    gradients,
    inferred,
    loss_a_step,
    private_fits,
    split,
    without_privacy,
)

__all__ = ["EXPERIMENT"]

NAME, EPSILON = "synth", 0.1
KINDS = {
    "inference": "inference, expected error",
    "averaged": "inference, averaged (ours)",
    "alone": "public rows alone",
}
COLOURS = {"inference": SERIES["vermillion"], "averaged": SERIES["blue"], "alone": SERIES["green"]}
GUESS = 50.0  # percent
RUNS, BLOCK = 20, 5


def parts(quick: bool) -> list[Part]:
    """Return numbers of public rows, and which runs."""
    if quick:
        return [{"counts": [0, 10, 100], "start": 0, "stop": 4}]
    counts = [0, 10, 30, 100, 300]
    return [{"counts": counts, "start": start, "stop": start + BLOCK} for start in range(0, RUNS, BLOCK)]


def measure(counts: list[int], start: int, stop: int) -> list[dict[str, Any]]:
    """Return for each run the errors with so many public rows, in percent, and those of methods without any."""
    from discreet.datasets import make_synth

    found = []
    for seed in range(start, stop):
        data = split(NAME, seed)
        path = list(gradients(NAME, data, loss_a_step(EPSILON), STEPS, seed))
        releases = [release for release, _ in path]
        more = make_synth(random_state=seed + 10**7)
        labels = np.asarray(more.y).astype(int)
        errors: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for count in counts:
            public = (more.X[:count], labels[:count]) if count else None
            one = inferred(NAME, data, releases, public)
            one["alone"] = _alone(data, more.X[:count], labels[:count])
            for kind in KINDS:
                errors[kind].append(one[kind])
        without = {"heuristic": path[-1][1], "benchmark": without_privacy(data), **private_fits(data, EPSILON, seed)}
        found.append({**errors, "without": without})
    return found


def _alone(data: Any, rows: Any, labels: Any) -> float:
    """Return the error of a regression on the public rows, a guess where they have one label only."""
    from sklearn.linear_model import LogisticRegression

    if len(set(labels.tolist())) < 2:
        return GUESS
    fitted = LogisticRegression(max_iter=1000).fit(rows, labels)
    return float(data.error(fitted.decision_function(data.test)))


def numbers(measured: Measured) -> dict[str, Any]:
    """Return means and deviations over runs, along the numbers of public rows."""
    runs = [run for _, result in measured for run in result]
    means = {kind: np.mean([run[kind] for run in runs], axis=0).tolist() for kind in KINDS}
    deviations = {kind: np.std([run[kind] for run in runs], axis=0, ddof=1).tolist() for kind in KINDS}
    without = {kind: float(np.mean([run["without"][kind] for run in runs])) for kind in runs[0]["without"]}
    counts = measured[0][0]["counts"]
    return {"counts": counts, "runs": len(runs), "means": means, "deviations": deviations, "without": without}


def table(found: dict[str, Any]) -> Table:
    """Return a row for each number of public rows."""
    rows = [
        [count, *(f"{found['means'][kind][i]:.1f} ± {found['deviations'][kind][i]:.1f}" for kind in KINDS)]
        for i, count in enumerate(found["counts"])
    ]
    return Table(["public rows", *(f"{label}, %" for label in KINDS.values())], rows)


def draw(found: dict[str, Any]) -> Any:
    """Draw errors against the number of public rows."""
    figure, (axis,) = panels(1, width=6.2, height=4.4)
    for shift, (kind, label) in enumerate(KINDS.items()):
        at = np.array(found["counts"]) * (1.0 + 0.03 * shift)
        means, deviations = found["means"][kind], found["deviations"][kind]
        axis.errorbar(at, means, deviations, fmt="o-", capsize=3, color=COLOURS[kind], label=label)
    lines = {"benchmark": ("without privacy", INK, ":"), "ours": ("LogisticRegression (ours)", SERIES["sky"], "--")}
    for kind, (label, colour, style) in lines.items():
        axis.axhline(found["without"][kind], color=colour, linestyle=style, label=label)
    axis.set_xscale("symlog", linthresh=10)
    axis.set_xticks(found["counts"], [str(count) for count in found["counts"]])
    axis.set(
        xlabel="public rows with labels", ylabel="test error, %", title=f"SYNTH (1,000 private rows), ε = {EPSILON}"
    )
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether few public rows help, beside the releases and beside what they give alone."""
    counts, means, without = found["counts"], found["means"], found["without"]
    few, most = counts[1], counts[-1]
    expected, averaged, alone = (means[kind] for kind in KINDS)
    return Verdict(
        holds=expected[1] < expected[0] and expected[1] < alone[1] and expected[-1] < expected[1],
        honest=(
            f"The expected error falls from {expected[0]:.1f} % without public rows to {expected[1]:.1f} % with {few} "
            f"and {expected[-1]:.1f} % with {most} of them; these rows alone give {alone[1]:.1f} and {alone[-1]:.1f} "
            f"%. Without privacy it is {without['benchmark']:.1f} %. Means of {found['runs']} runs."
        ),
        ours=(
            f"The averaged probabilities have {averaged[0]:.1f}, {averaged[1]:.1f} and {averaged[-1]:.1f} %; "
            f"LogisticRegression, which takes no public rows, {without['ours']:.1f} %."
        ),
    )


EXPERIMENT = Experiment(
    name="williams/figure-3b",
    title="Figure 3b: public rows beside private releases",
    claim=(
        "On SYNTH, rows with labels that were obtained without privacy are easily taken into the posterior, and even "
        "very few of them improve the error dramatically, towards that of the benchmark without privacy."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
