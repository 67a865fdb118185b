"""The compositions of the DP-EM paper: linear, advanced, zCDP and the moments accountant.

They are kept to compare with and to reproduce the papers. All are valid; ``exact`` is at least as good as each, but for
corners in which it has to fall back on Rényi divergences (a δ below 1e-11, a loss known by its zCDP alone), where
linear composition of very few mechanisms can be better.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from discreet.guarantees.arithmetic import added, least
from discreet.guarantees.composition import Composition
from discreet.guarantees.guarantee import Guarantee, check_promise
from discreet.guarantees.loss import Losses
from discreet.guarantees.renyi import best_order

__all__ = ["Advanced", "IntegerMoments", "Linear", "Moments", "Zcdp"]


class _Stepwise(Composition):
    """Linear and advanced composition: each mechanism is first priced at an (ε_i, δ_i) of its own.

    A mechanism that states one keeps it. The others, whose loss is a whole curve, share equally what is left of δ.
    """

    own_share: ClassVar[float]  # of what is left of δ, the part that the composition theorem itself takes

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._fixed = [(*loss.stated, count) for loss, count in self.counts.items() if loss.stated]
        self._free = [(loss, count) for loss, count in self.counts.items() if not loss.stated]

    def _epsilon(self, delta: float) -> float:
        spent = added(step_delta * count for _, step_delta, count in self._fixed)
        left = delta - spent
        if left < -4e-16 * spent or (self._free and left <= 0.0):
            return math.inf
        own = max(left, 0.0) * (self.own_share if self._free else 1.0)
        steps = [(epsilon, count) for epsilon, _, count in self._fixed]
        if self._free:
            share = (left - own) / sum(count for _, count in self._free)
            steps += [(loss.epsilon_at(share), count) for loss, count in self._free]
        return self._total(steps, own)

    @abstractmethod
    def _total(self, steps: list[tuple[float, int]], own: float) -> float:
        """Return the ε of all steps, given as (ε_i, count), with ``own`` of δ for the theorem itself."""

    def usage(self, guarantee: Guarantee) -> float:
        """Return ε over the ε allowed, the direction in which these methods have a closed form."""
        check_promise(guarantee, self.neighbors)
        return self.epsilon(guarantee.delta) / guarantee.epsilon

    def _delta(self, epsilon: float) -> float:
        if self._epsilon(0.0) <= epsilon:
            return 0.0
        log_delta = least(lambda log: self._epsilon(math.exp(log)), epsilon, -690.0, -1e-9)
        return math.exp(log_delta) if self._epsilon(math.exp(log_delta)) <= epsilon else 1.0


class Linear(_Stepwise):
    """Σε_i with Σδ_i (Dwork and Roth 2014, theorem 3.16)."""

    method = "linear"
    own_share = 0.0

    def _total(self, steps: list[tuple[float, int]], own: float) -> float:
        return added(epsilon * count for epsilon, count in steps)


class Advanced(_Stepwise):
    """Σε_i(e^ε_i − 1) + √(2 ln(1/δ')Σε_i²) with δ' + Σδ_i (Dwork and Roth 2014, theorem 3.20, for unequal steps).

    The proof carries over to unequal ε_i: the losses' means are at most ε_i(e^ε_i − 1) and Azuma's inequality takes
    steps of unequal length. Half of what is left of δ goes to δ' where other mechanisms need a share as well.
    """

    method = "advanced"
    own_share = 0.5

    def _total(self, steps: list[tuple[float, int]], own: float) -> float:
        if own <= 0.0 or any(epsilon > 700.0 for epsilon, _ in steps):
            return math.inf
        mean = added(count * epsilon * math.expm1(epsilon) for epsilon, count in steps)
        square = added(count * epsilon * epsilon for epsilon, count in steps)
        return mean + math.sqrt(2.0 * math.log(1.0 / own) * square)


class _Concentrated(Composition):
    """What composes by adding up divergences; a mechanism's own failure probability is taken off δ."""

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._failure = added(loss.failure * count for loss, count in self.counts.items())

    def _epsilon(self, delta: float) -> float:
        return self._tail_epsilon(delta - self._failure) if delta > self._failure else math.inf

    def _delta(self, epsilon: float) -> float:
        return self._failure + self._tail_delta(epsilon)

    @abstractmethod
    def _tail_epsilon(self, delta: float) -> float: ...

    @abstractmethod
    def _tail_delta(self, epsilon: float) -> float: ...


class Zcdp(_Concentrated):
    """ε = ρ + 2√(ρ ln(1/δ)) with ρ = Σρ_i (Bun and Steinke 2016; the conversion in the DP-EM paper)."""

    method = "zcdp"

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self.rho = added(loss.zcdp * count for loss, count in self.counts.items())

    def _tail_epsilon(self, delta: float) -> float:
        return self.rho + 2.0 * math.sqrt(self.rho * math.log(1.0 / delta))

    def _tail_delta(self, epsilon: float) -> float:
        if epsilon <= self.rho:
            return 1.0
        above = (epsilon - self.rho) / max(2.0 * math.sqrt(self.rho), 5e-324)
        return max(math.exp(-above * above), 5e-324)


class Moments(_Concentrated):
    """The moments accountant: δ = min_λ exp(Σα_i(λ) − λε), the λ-th log-moment being λ times the divergence of λ+1.

    λ is any positive number.
    """

    method = "moments"

    def _moment(self, order: float) -> float:
        """Return Σα_i(λ) at λ = order − 1."""
        return (order - 1.0) * added(count * loss.renyi(order) for loss, count in self.counts.items())

    def _tail_epsilon(self, delta: float) -> float:
        bits = math.log(1.0 / delta)
        return max(0.0, self._search(lambda order: (self._moment(order) + bits) / (order - 1.0)))

    def _tail_delta(self, epsilon: float) -> float:
        exponent = self._search(lambda order: self._moment(order) - (order - 1.0) * epsilon)
        return max(math.exp(min(0.0, exponent)), 5e-324)

    _search = staticmethod(lambda objective: best_order(objective)[1])


class IntegerMoments(Moments):
    """The moments accountant as the paper searched it: λ in 1, 2, …, 100 only."""

    method = "moments (integer)"

    _search = staticmethod(lambda objective: min(objective(1.0 + power) for power in range(1, 101)))
