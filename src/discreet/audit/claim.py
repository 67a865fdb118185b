"""``Claim``: the guarantee that is attacked, and which guarantees of the same kind a test would have refuted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.arguments import ArgumentError
from discreet.audit.confidence import mu_lower_bound
from discreet.guarantees import Guarantee, Loss, compose
from discreet.planning.tradeoff import GaussianTradeoff, PointTradeoff, Tradeoff, tradeoff_of

MAX_FACTOR = 1e6  # of noise
TOLERANCE = 0.002  # of a factor of noise, relative


@dataclass(frozen=True)
class Claim:
    """A guarantee, and the losses that it follows from, where they are known.

    The losses imply more than the one point (ε, δ): a whole trade-off curve between false alarms and power. A test with
    many false alarms can refute it as well as one with few.

    Attributes
    ----------
    guarantee : Guarantee
    losses : tuple of Loss
        Empty where only the guarantee is claimed.
    """

    guarantee: Guarantee
    losses: tuple[Loss, ...] = ()

    @classmethod
    def from_user(cls, claimed: Any) -> Claim:
        """Return the claim of a guarantee, a loss or several losses; raise an error for anything else."""
        if isinstance(claimed, Guarantee):
            return cls(claimed)
        losses = (claimed,) if isinstance(claimed, Loss) else claimed
        if isinstance(losses, list | tuple) and losses and all(isinstance(loss, Loss) for loss in losses):
            return cls.from_losses(tuple(losses))
        raise ArgumentError("claimed", claimed, "a Guarantee, a loss, several losses, or None")

    @classmethod
    def from_losses(cls, losses: tuple[Loss, ...], delta: float = 1e-6) -> Claim:
        """Return the claim of composed losses; at δ = 0 if they are pure."""
        composed = compose(losses)
        delta = max(delta, min(2.0 * sum(loss.failure for loss in losses), 0.5))
        pure = math.isfinite(composed.epsilon(0.0))
        return cls(composed.guarantee(0.0 if pure else delta), losses)

    def __str__(self) -> str:
        kinds = ", ".join(sorted({type(loss).__name__ for loss in self.losses}))
        return f"{self.guarantee} by {kinds}" if kinds else str(self.guarantee)

    @cached_property
    def mu(self) -> float | None:
        """The μ of the composition, if all noise is Gaussian."""
        whole = self.tradeoff() if self.losses else None
        return whole.mu if isinstance(whole, GaussianTradeoff) else None

    def tradeoff(self, noise: float = 1.0) -> Tradeoff:
        """Return the trade-off curve of the same mechanism with ``noise`` times its noise."""
        if not self.losses:
            return PointTradeoff(self.guarantee.epsilon / noise, self.guarantee.delta)
        return tradeoff_of([loss.with_noise(noise) for loss in self.losses])

    def epsilon(self, noise: float = 1.0) -> float:
        """Return the ε of the same mechanism with ``noise`` times its noise, at the claim's δ."""
        if not self.losses or noise == 1.0:
            return self.guarantee.epsilon / noise
        return compose([loss.with_noise(noise) for loss in self.losses]).epsilon(self.guarantee.delta)

    def is_refuted_by(self, alarms: float, missed: float) -> bool:
        """Return whether no mechanism with this guarantee has a test with such small error probabilities."""
        point = PointTradeoff(self.guarantee.epsilon, self.guarantee.delta)
        return any(_is_refuted(curve, alarms, missed) for curve in (point, self.tradeoff()))

    def noticed(self, alarms: float, missed: float) -> float:
        """Return the least factor on the noise for which the test would refute the claim, to a few thousandths.

        The test refutes the claim of every mechanism of this kind with more noise than that. So it would have detected
        noise that is too small by this factor or a larger one. A factor below 1 means that the claim itself is refuted.
        """
        if not _is_refuted(self.tradeoff(MAX_FACTOR), alarms, missed):
            return math.inf
        if self.mu is not None:  # in closed form
            return self.mu / float(mu_lower_bound(alarms, missed))
        low, high = 1.0 / 64.0, MAX_FACTOR
        while high / low > 1.0 + TOLERANCE:
            middle = math.sqrt(low * high)
            if _is_refuted(self.tradeoff(middle), alarms, missed):
                high = middle
            else:
                low = middle
        return high


def _is_refuted(curve: Tradeoff, alarms: float, missed: float) -> bool:
    """Return whether the error probabilities are below a trade-off curve, in either direction."""
    if alarms >= 1.0 or missed >= 1.0:
        return False
    return 1.0 - missed > curve.power(alarms) or 1.0 - alarms > curve.power(missed)
