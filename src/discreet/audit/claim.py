"""``Claim``: the guarantee that is attacked, and which guarantee of the same kind a test would have refuted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.arguments import ArgumentError
from discreet.guarantees import Guarantee, Loss, compose
from discreet.planning.tradeoff import GaussianTradeoff, PointTradeoff, Tradeoff, tradeoff_of

MOST = 1e6
CLOSE = 0.002  # of a factor of noise, to which it is looked for


@dataclass(frozen=True)
class Claim:
    """A guarantee, and the losses that it follows from where they are known.

    The losses say more than the one point (ε, δ): a whole trade-off between false alarms and power, which a test with
    many false alarms can refute as well as one with few.

    Attributes
    ----------
    guarantee : Guarantee
    losses : tuple of Loss
        Empty where nothing but the guarantee is claimed.
    """

    guarantee: Guarantee
    losses: tuple[Loss, ...] = ()

    @classmethod
    def from_user(cls, claimed: Any) -> Claim:
        """Return what a user states: a guarantee, a loss or several; an error where it is none of them."""
        if isinstance(claimed, Guarantee):
            return cls(claimed)
        losses = (claimed,) if isinstance(claimed, Loss) else claimed
        if isinstance(losses, list | tuple) and losses and all(isinstance(loss, Loss) for loss in losses):
            return cls.from_losses(tuple(losses))
        raise ArgumentError("claimed", claimed, "a Guarantee, a loss or some losses, or None")

    @classmethod
    def from_losses(cls, losses: tuple[Loss, ...], delta: float = 1e-6) -> Claim:
        """Return what losses amount to; at δ = 0 where they are pure."""
        composed = compose(losses)
        delta = max(delta, min(2.0 * sum(loss.failure for loss in losses), 0.5))
        pure = math.isfinite(composed.epsilon(0.0))
        return cls(composed.guarantee(0.0 if pure else delta), losses)

    def __str__(self) -> str:
        kinds = ", ".join(sorted({type(loss).__name__ for loss in self.losses}))
        return f"{self.guarantee} by {kinds}" if kinds else str(self.guarantee)

    @cached_property
    def mu(self) -> float | None:
        """The μ of the whole, where all of it is Gaussian noise."""
        whole = self.tradeoff() if self.losses else None
        return whole.mu if isinstance(whole, GaussianTradeoff) else None

    def tradeoff(self, noise: float = 1.0) -> Tradeoff:
        """Return what the same mechanism with ``noise`` times its noise would let an attacker tell."""
        if not self.losses:
            return PointTradeoff(self.guarantee.epsilon / noise, self.guarantee.delta)
        return tradeoff_of([loss.with_noise(noise) for loss in self.losses])

    def epsilon(self, noise: float = 1.0) -> float:
        """Return what the same mechanism with ``noise`` times its noise would guarantee, at the claim's δ."""
        if not self.losses or noise == 1.0:
            return self.guarantee.epsilon / noise
        return compose([loss.with_noise(noise) for loss in self.losses]).epsilon(self.guarantee.delta)

    def refuted(self, alarms: float, missed: float) -> bool:
        """Return whether no mechanism that keeps the claim can be tested with errors as rare as these."""
        point = PointTradeoff(self.guarantee.epsilon, self.guarantee.delta)
        return any(_refuted(curve, alarms, missed) for curve in (point, self.tradeoff()))

    def noticed(self, alarms: float, missed: float) -> float:
        """Return how many times its noise would have to be for the test to refute the claim, to a few thousandths.

        The test has refuted the claim of every mechanism of this kind with more noise. So it would have noticed noise
        that is too small by this factor or a larger one; a factor below 1 means that the claim itself is refuted.
        """
        if not _refuted(self.tradeoff(MOST), alarms, missed):
            return math.inf
        if self.mu is not None:  # in closed form
            from discreet.audit.confidence import mu_above

            return self.mu / float(mu_above(alarms, missed))
        low, high = 1.0 / 64.0, MOST
        while high / low > 1.0 + CLOSE:
            middle = math.sqrt(low * high)
            if _refuted(self.tradeoff(middle), alarms, missed):
                high = middle
            else:
                low = middle
        return high


def _refuted(curve: Tradeoff, alarms: float, missed: float) -> bool:
    """Return whether both kinds of error are rarer than a curve allows; it holds in both directions."""
    if alarms >= 1.0 or missed >= 1.0:
        return False
    return 1.0 - missed > curve.power(alarms) or 1.0 - alarms > curve.power(missed)
