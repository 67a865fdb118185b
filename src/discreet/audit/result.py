"""``Attack``: the counts of an attack, the lower bound on ε, and whether the claim is refuted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.audit.claim import Claim
from discreet.audit.confidence import epsilon_lower_bound, mu_lower_bound, upper_bound
from discreet.audit.scores import Array


@dataclass(frozen=True, eq=False)
class Attack:
    """An attack on a guarantee.

    Attributes
    ----------
    name : str
        What was attacked.
    claim : Claim
        Its guarantee.
    pair : str
        The neighbours on which outputs differed most.
    score : str
        The score that the attacker used.
    confidence : float
    runs : int
        On each side.
    alarms, missed : int
        How often the attacker said "other" of the first data set, and "one" of the other.
    scores : pair of arrays
        Of all counted runs, for the plot.
    seconds : float
    """

    name: str
    claim: Claim
    pair: str
    score: str
    confidence: float
    runs: int
    alarms: int
    missed: int
    scores: tuple[Array, Array] = field(repr=False)
    seconds: float

    @cached_property
    def errors(self) -> tuple[float, float]:
        """Upper bounds on the probabilities of a false alarm and of a miss, both at the stated confidence."""
        chance = (1.0 - self.confidence) / 2.0
        return float(upper_bound(self.alarms, self.runs, chance)), float(upper_bound(self.missed, self.runs, chance))

    @property
    def holds(self) -> bool:
        """Whether the claim is not refuted. False is a proof, at the stated confidence, that the claim is wrong."""
        return not self.claim.is_refuted_by(*self.errors)

    @cached_property
    def noticed(self) -> float:
        """The factor by which noise must be too small for this attack to detect it; ∞ if it would detect none.

        Below 1 the claim is refuted.
        """
        return self.claim.noticed(*self.errors)

    @cached_property
    def epsilon(self) -> float:
        """A lower bound on ε at the claim's δ, for a mechanism of the kind of the claimed losses.

        All guarantees of this kind with a smaller ε are refuted. With Gaussian noise it follows from μ; with pure
        privacy it is the bound of Clopper and Pearson.
        """
        return 0.0 if math.isinf(self.noticed) else self.claim.epsilon(self.noticed)

    @property
    def epsilon_of_any(self) -> float:
        """A lower bound on ε at the claim's δ, for any mechanism."""
        return float(epsilon_lower_bound(*self.errors, self.claim.guarantee.delta))

    @property
    def mu(self) -> float | None:
        """A lower bound on μ, if Gaussian noise is claimed."""
        return None if self.claim.mu is None else float(mu_lower_bound(*self.errors))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON, without the scores."""
        guarantee = self.claim.guarantee
        return {
            "name": self.name,
            "epsilon_claimed": guarantee.epsilon,
            "delta": guarantee.delta,
            "relation": str(guarantee.neighbors),
            "claim": str(self.claim),
            "mu_claimed": self.claim.mu,
            "epsilon": self.epsilon,
            "epsilon_of_any": self.epsilon_of_any,
            "mu": self.mu,
            "noticed": None if math.isinf(self.noticed) else self.noticed,
            "holds": self.holds,
            "confidence": self.confidence,
            "runs": self.runs,
            "alarms": self.alarms,
            "missed": self.missed,
            "pair": self.pair,
            "score": self.score,
            "seconds": round(self.seconds, 1),
        }

    def as_plot(self) -> Any:
        """Return the plot of the claimed trade-off and of the attacker's, not yet drawn."""
        from discreet.plots.attack_curve import TradeoffPlot

        alarms = np.concatenate([np.geomspace(1e-3, 0.1, 30, endpoint=False), np.linspace(0.1, 1.0, 50)])
        curve = self.claim.tradeoff()
        one, other = self.scores
        thresholds = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0.0, 1.0, 200)))
        return TradeoffPlot(
            name=self.name,
            alarms=alarms,
            allowed=np.array([curve.power(float(alarm)) for alarm in alarms]),
            attained=np.array([[np.mean(side > each) for side in (one, other)] for each in thresholds]),
            chosen=(self.alarms / self.runs, 1.0 - self.missed / self.runs),
            limits=(self.errors[0], 1.0 - self.errors[1]),
            epsilon=self.epsilon,
            claimed=self.claim.guarantee.epsilon,
            delta=self.claim.guarantee.delta,
            holds=self.holds,
            confidence=self.confidence,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the power of the attack against its false alarms, with the limit of the claim. Needs matplotlib."""
        return self.as_plot().draw(ax)

    def __repr__(self) -> str:
        verdict = "is not refuted" if self.holds else "IS REFUTED"
        kind = f" for noise of this kind, ε ≥ {self.epsilon_of_any:.3g} for any" if self.claim.losses else ""
        if not self.holds:
            noticed = ""
        elif math.isinf(self.noticed):
            noticed = "; too few runs to notice anything at this ε"
        else:
            noticed = f"; noise too small by a factor of {self.noticed:.3g} or more would have been noticed"
        return (
            f"<attack on {self.name}: the claim {self.claim} {verdict}. ε ≥ {self.epsilon:.3g}{kind}, with "
            f"{self.confidence:.5g} confidence ({self.runs:,} runs a side; neighbours: {self.pair}; score: "
            f"{self.score}){noticed}>"
        )
