"""Figure 1 of Park, Foulds, Chaudhuri and Welling (2017): one person far away, whom a mean of EM gives away.

The paper has 104 places that it drew by itself around German states. So are these: made up, with one person in North
Rhine-Westphalia. For 50 times as many every state has 50 times as many people.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.planning.tradeoff import tradeoff_of
from discreet.plots.plot import INK, MUTED, SERIES, matplotlib_part
from papers.experiment import Experiment, Measured, Part, Table, Verdict, panels

__all__ = ["EXPERIMENT"]

Array = NDArray[np.float64]

GUARANTEE = dp.Guarantee(1.0, 1e-4)  # the paper does not say its ε here
STATES = {  # longitude and latitude of the middle, and how many of the 104; the one person last
    "Bavaria": (11.4, 48.9, 44),
    "Rhineland-Palatinate": (7.4, 49.9, 31),
    "Hesse": (9.0, 50.6, 20),
    "Saarland": (7.0, 49.4, 8),
    "North Rhine-Westphalia": (7.6, 51.5, 1),
}
SPREAD = 0.2  # degrees around the middle
GERMANY = dp.Box([5.8, 47.2], [15.1, 55.1])
KILOMETRES = np.array([71.5, 111.3])  # of a degree, at 50 degrees north
K, STEPS = len(STATES), 10
NEAR, FAR = 10.0, 100.0  # kilometres
NAMES = {"exact": "EM, not private", "paper": "DP-EM, honest noise", "ours": "ours"}


def people(times: int) -> Array:
    """Return made-up places; the last row is the person in North Rhine-Westphalia, whatever ``times`` is."""
    rng = np.random.default_rng(0)
    middles = np.concatenate([np.tile((x, y), (count * times, 1)) for x, y, count in STATES.values()])
    return np.asarray(middles + SPREAD * rng.standard_normal(middles.shape))


def neighbour(rows: Array) -> Array:
    """Return the same rows with the person replaced by one more in Bavaria."""
    return np.concatenate([rows[:-1], [STATES["Bavaria"][:2]]])


def fitted(method: str, rows: Array, seed: int) -> Any:
    """Return a mixture of five Gaussians."""
    if method == "exact":
        from sklearn.mixture import GaussianMixture

        return GaussianMixture(K, n_init=20, init_params="k-means++", reg_covar=1e-4, random_state=0).fit(rows)
    how: dict[str, Any] = {"method": "paper", "n_steps": STEPS} if method == "paper" else {}
    return dp.GaussianMixture(
        K, epsilon=GUARANTEE.epsilon, delta=GUARANTEE.delta, bounds=GERMANY, random_state=seed, **how
    ).fit(rows)


def distances(places: Array, means: Array) -> Array:
    """Return for each place how far the nearest mean is, in kilometres."""
    gaps = (places[:, None, :] - means) * KILOMETRES
    return np.asarray(np.sqrt((gaps**2).sum(axis=2)).min(axis=1))


def parts(quick: bool) -> list[Part]:
    """Return the exact fits, and private ones in blocks of 20 seeds."""
    blocks = {1: 2, 50: 1} if quick else {1: 20, 50: 5}
    private = [
        {"method": method, "times": times, "start": 20 * block, "stop": 20 * block + 20}
        for method in ("paper", "ours")
        for times, count in blocks.items()
        for block in range(count)
    ]
    return [*({"method": "exact", "times": times, "start": 0, "stop": 1} for times in blocks), *private]


def measure(method: str, times: int, start: int, stop: int) -> dict[str, Any]:
    """Return how far the nearest mean is from the person, with and without the person, and from the exact means."""
    rows, found = people(times), []
    exact = fitted("exact", rows, 0)
    for seed in range(start, stop):
        model, other = (fitted(method, some, 2 * seed + i) for i, some in enumerate((rows, neighbour(rows))))
        off = float(exact.weights_ @ distances(exact.means_, model.means_))
        near = [float(distances(rows[-1:], one.means_)[0]) for one in (model, other)]
        found.append({"with": near[0], "without": near[1], "off": off})
        if seed == start:
            first = {"means": model.means_.round(3).tolist(), "covariances": model.covariances_.round(4).tolist()}
    return {"runs": found, **first}


def numbers(measured: Measured) -> dict[str, Any]:
    """Return medians, and how often a guess from the nearest mean is right about who is in the data."""
    found: dict[str, Any] = {}
    for name in ((part["method"], part["times"]) for part, _ in measured if part["start"] == 0):
        blocks = [result for part, result in measured if (part["method"], part["times"]) == name]
        runs = [run for block in blocks for run in block["runs"]]
        values = {which: np.array([run[which] for run in runs]) for which in ("with", "without", "off")}
        found[f"{name[0]} {104 * name[1]}"] = {
            "method": name[0],
            "rows": 104 * name[1],
            "runs": len(runs),
            **{which: float(np.median(some)) for which, some in values.items()},
            "right": _guessed(values["with"], values["without"]),
            "means": blocks[0]["means"],
            "covariances": blocks[0]["covariances"],
        }
    return {"bound": float(tradeoff_of(GUARANTEE).accuracy()), "fits": found}


def _guessed(near: Array, far: Array) -> float:
    """Return the share of right guesses by a threshold that is best on the first half of runs, over the second."""
    half = len(near) // 2
    known, kept = (slice(half), slice(half, None)) if half else (slice(None), slice(None))
    places = np.sort(np.concatenate([near[known], far[known]]))
    candidates = (places[1:] + places[:-1]) / 2.0
    rates = [np.mean(near[known] <= cut) + np.mean(far[known] > cut) for cut in candidates]
    best = candidates[int(np.argmax(rates))]
    return float(np.mean(near[kept] <= best) + np.mean(far[kept] > best)) / 2.0


def table(found: dict[str, Any]) -> Table:
    """Return a row for each fit; medians over the runs, in kilometres."""
    head = ["", "rows", "runs", "person to nearest mean", "the same without the person", "guessed right"]
    rows = [
        [
            *(NAMES[one["method"]], f"{one['rows']:,}", one["runs"], f"{one['with']:.1f} km"),
            *(f"{one['without']:.1f} km", f"{one['right']:.3f}", f"{one['off']:.1f} km"),
        ]
        for one in found["fits"].values()
    ]
    return Table([*head, "from the exact means"], rows)


def draw(found: dict[str, Any]) -> Any:
    """Draw the places, the person, and means with ellipses of two deviations."""
    figure, axes = panels(3, width=4.0, height=4.6)
    ellipse = matplotlib_part("patches").Ellipse
    titles = {"EM, 104 people": ["exact 104"]}
    titles |= {f"private, {rows:,} people": [f"paper {rows}", f"ours {rows}"] for rows in (104, 5200)}
    for axis, (title, shown) in zip(axes, titles.items(), strict=True):
        times = found["fits"][shown[0]]["rows"] // 104
        rows = people(times)[:: max(times // 5, 1)]
        axis.plot(*rows.T, ".", color=MUTED, ms=3, alpha=0.6, label="people")
        for name in shown:
            one = found["fits"][name]
            colour = {"exact": INK, "paper": SERIES["orange"], "ours": SERIES["blue"]}[one["method"]]
            axis.plot(*np.array(one["means"]).T, "+", color=colour, ms=11, mew=2, label=NAMES[one["method"]])
            for mean, covariance in zip(one["means"], one["covariances"], strict=True):
                values, vectors = np.linalg.eigh(np.array(covariance))
                wide, high = 4.0 * np.sqrt(np.maximum(values, 0.0))
                turn = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
                axis.add_patch(ellipse(mean, wide, high, angle=turn, fill=False, color=colour, lw=0.8))
        axis.plot(*people(1)[-1], "o", color=SERIES["vermillion"], ms=12, mfc="none", mew=2, label="the person")
        axis.set(title=title, xlim=(1.5, 19.0), ylim=(44.5, 57.5), xlabel="degrees east", aspect=1.55)
        axis.legend(fontsize=7, loc="upper right")
    axes[0].set_ylabel("degrees north")
    return figure


def verdict(found: dict[str, Any]) -> Verdict:
    """Judge whether EM gives the person away, DP-EM does not, and more people bring it nearer to EM."""
    exact, small, large, own, more = (
        found["fits"][name] for name in ("exact 104", "paper 104", "paper 5200", "ours 104", "ours 5200")
    )
    chance = 3.0 * math.sqrt(0.25 / small["runs"])  # half of the runs, both ways
    revealed = exact["with"] < NEAR and exact["without"] > FAR
    return Verdict(
        holds=revealed and small["right"] <= found["bound"] + chance and large["off"] < small["off"],
        honest=(
            f"A mean of EM lies {exact['with']:.1f} km from the person, and {exact['without']:.0f} km away without "
            f"the person. At ε = {GUARANTEE.epsilon:g} the nearest mean of DP-EM is {small['with']:.0f} km away with "
            f"and {small['without']:.0f} km without; guesses from it are right in {small['right']:.2f} of cases, "
            f"where the guarantee allows {found['bound']:.2f}. From the means of EM it is {small['off']:.0f} km off "
            f"with 104 people and {large['off']:.0f} km with 5,200."
        ),
        ours=(
            f"Guesses are right in {own['right']:.2f} of cases; {own['off']:.0f} km off with 104 people, "
            f"{more['off']:.0f} km with 5,200."
        ),
    )


EXPERIMENT = Experiment(
    name="dp-em/figure-1",
    title="Figure 1: one person far away",
    claim=(
        "Among 104 people of a table of abortions one married person comes from North Rhine-Westphalia, and a mean "
        "of EM gives this person's place away. Private parameters do not; with 50 times as many people they are "
        "closer to those of EM, and the mean is of several people."
    ),
    parts=parts,
    measure=measure,
    numbers=numbers,
    table=table,
    draw=draw,
    verdict=verdict,
)
