"""``TradeoffPlot``: the power of an attack against its false alarms, and the largest power that the claim allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.plots.plot import INK, MUTED, SERIES, Array, Facts, Plot, format_name, format_number, style_axes


@dataclass(frozen=True, eq=False)
class TradeoffPlot(Plot):
    """The power of an attack against its false alarms.

    Parameters
    ----------
    name : str
        The name of the attacked mechanism.
    alarms : array of shape (n,)
        Probabilities of a false alarm.
    allowed : array of shape (n,)
        The largest power that the claim allows at each of them.
    attained : array of shape (k, 2)
        The observed false alarms and power at every threshold.
    chosen : pair of float
        The same at the threshold that the attacker chose beforehand.
    limits : pair of float
        Confidence bounds for ``chosen``: the true point lies to the left of the first and above the second.
    epsilon, claimed, delta : float
        The lower bound on ε, and the claimed ε at this δ.
    confidence : float
    holds : bool
    """

    name: str
    alarms: Array
    allowed: Array
    attained: Array
    chosen: tuple[float, float]
    limits: tuple[float, float]
    epsilon: float
    claimed: float
    delta: float
    confidence: float
    holds: bool

    @property
    def title(self) -> str:
        """The name of the attacked mechanism."""
        return f"Attack on {self.name}"

    @property
    def description(self) -> str:
        """The chosen threshold, and the lower bound on ε that follows from it."""
        return (
            f"The power of the attack over its false alarms, and what ε = {format_number(self.claimed, 4)} allows. "
            f"At the chosen threshold {self.chosen[0]:.1%} are false alarms and {self.chosen[1]:.1%} are recognised, "
            f"from which ε ≥ {format_number(self.epsilon, 4)} follows with {self.confidence:.4%} confidence."
        )

    @property
    def facts(self) -> Facts:
        """The allowed and the attained power at some probabilities of a false alarm."""
        rows = []
        for place in range(0, len(self.alarms), 8):
            alarm = float(self.alarms[place])
            here = self.attained[self.attained[:, 0] <= alarm]
            power = f"{here[:, 1].max():.1%}" if len(here) else "0.0%"
            rows.append([f"{alarm:.2%}", f"{self.allowed[place]:.1%}", power])
        return Facts(["false alarms", "power that the claim allows", "power that was attained"], rows)

    @property
    def size(self) -> tuple[float, float]:
        """Nearly square."""
        return 5.4, 4.8

    def _fill(self, panels: Any) -> None:
        ax = panels[0, 0]
        blue, vermillion = SERIES["blue"], SERIES["vermillion"]
        alarms, allowed = np.append(0.0, self.alarms), np.append(0.0, self.allowed)
        ax.fill_between(alarms, allowed, 1.0, color=vermillion, alpha=0.12, linewidth=0)
        ax.plot(alarms, allowed, color=vermillion, linewidth=1.6)
        ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        order = np.lexsort((self.attained[:, 1], self.attained[:, 0]))
        ax.plot(*self.attained[order].T, color=blue, linewidth=2.0)
        ax.plot(*self.chosen, "o", color=blue, markersize=6)
        ax.plot(
            [self.chosen[0], self.limits[0], self.limits[0]], [self.limits[1], self.limits[1], self.chosen[1]],
            color=INK, linewidth=1.0,
        )  # fmt: skip
        refuted = "" if self.holds else ", the claim is refuted"
        notes = [
            ("orange: the most power that the claim allows", 0.24, 8.5),
            ("dot: the chosen threshold, corner: its confidence bounds", 0.18, 8.5),
            (f"claimed: ε = {format_number(self.claimed, 4)} at δ = {self.delta:g}", 0.1, 10),
            (f"attacked: ε ≥ {format_number(self.epsilon, 4)}{refuted}", 0.04, 10),
        ]
        for text, height, size in notes:
            ax.annotate(format_name(text), (0.98, height), ha="right", fontsize=size, color=INK if size > 9 else MUTED)
        ax.set_title(format_name(self.title))
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="false alarms", ylabel="power of the attack")
        style_axes(ax, grid="both")
