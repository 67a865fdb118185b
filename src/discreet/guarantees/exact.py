"""The tightest composition that is known for a list of losses.

Six routes, each of them valid by itself; the answer is the best of those that apply.

- ``gaussian``: all mechanisms are Gaussian. Their composition is one Gaussian with μ² = Σμ_i², so nothing is lost but
  the last digits, which are rounded up, and the answer takes microseconds.
- ``pld``: every loss has a curve of its own (all but zCDP). All Gaussians are one; each other loss becomes a
  privacy loss distribution on a common grid, by connecting the dots of its curve, which never understates it
  (Doroshenko et al. 2022), and they are convolved.
- ``renyi``: divergences of every order add up. The only route once a zCDP loss is there; the better one for many
  bounded-range losses, for a δ below the tails that the convolution leaves out, and for a list too long for it.
- ``pure``: Σε_i with the mechanisms' own failures; the only route at δ = 0.
- ``dominated``: a loss that a Gaussian is known to dominate (``Loss.dominating``) is taken for that one.
- ``one``: a loss that has a closed form for itself and the Gaussians beside it (``Loss.beside``) has it.

A mechanism that may fail with probability δ_i is the mixture of a failure and of one that does not, so failures
compose to 1 − Π(1 − δ_i) beside everything else.
"""

from __future__ import annotations

import math
from functools import cached_property

from discreet.guarantees.additive import GaussianLoss
from discreet.guarantees.composition import Composition, Losses, changed
from discreet.guarantees.loss import Loss
from discreet.guarantees.normal import normal_delta, normal_epsilon
from discreet.guarantees.pld import LossDistribution
from discreet.guarantees.renyi import divergence, renyi_delta, renyi_epsilon
from discreet.guarantees.sums import added

__all__ = ["Exact"]


class Exact(Composition):
    """The tightest known composition; see the module."""

    method = "exact"

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        gaussians = [(loss.gaussian, count) for loss, count in self.counts.items() if loss.gaussian is not None]
        self.mu = _together(gaussians)
        self._others = [(loss, count) for loss, count in self.counts.items() if loss.gaussian is None]
        self._one = self._as_one()
        log_success = math.fsum(count * math.log1p(-loss.failure) for loss, count in self._others)
        self._failure = -math.expm1(log_success)

    def _as_one(self) -> Loss | None:
        """Return the one loss that it is, where a loss stands for itself and for all Gaussians beside it."""
        if [count for _, count in self._others] != [1]:
            return None
        return self._others[0][0].beside(self.mu)

    @property
    def quick(self) -> bool:
        """Only the closed forms are."""
        return not self._others or self._one is not None

    def _epsilon(self, delta: float) -> float:
        if not self._others:
            return normal_epsilon(self.mu, delta)
        if self._one is not None:
            return self._one.epsilon_at(delta)
        if delta < self._failure:
            return math.inf
        answers = [self._pure]
        if self._dominated is not None:
            answers.append(self._dominated.epsilon(delta))
        tail = (delta - self._failure) / max(1.0 - self._failure, 1e-300)
        if tail > 0.0:
            answers.append(renyi_epsilon(self._divergence, tail))
            if self._distribution:
                answers.append(self._distribution.epsilon(delta))
        return min(answers)

    def _delta(self, epsilon: float) -> float:
        if not self._others:
            return float(normal_delta(self.mu, epsilon))
        if self._one is not None:
            return float(self._one.delta_at(epsilon))
        if epsilon >= self._pure:
            return self._failure
        answers = [self._failure + (1.0 - self._failure) * renyi_delta(self._divergence, epsilon)]
        if self._distribution:
            answers.append(max(self._distribution.delta(epsilon), self._failure))
        if self._dominated is not None:
            answers.append(self._dominated.delta(epsilon))
        return min(answers)

    @cached_property
    def _dominated(self) -> Exact | None:
        """The composition with a Gaussian in place of each loss that one is known to dominate."""
        if all(loss.dominating is None for loss, _ in self._others):
            return None

        def dominating(loss: Loss) -> Loss:
            return loss if loss.dominating is None else GaussianLoss(loss.dominating, loss.neighbors)

        return Exact(changed(self.counts, dominating))

    @cached_property
    def _pure(self) -> float:
        return math.inf if self.mu else added(loss.pure * count for loss, count in self._others)

    def _divergence(self, order: float) -> float:
        return divergence(self.mu, self._others, order)

    @cached_property
    def _distribution(self) -> LossDistribution | None:
        return LossDistribution(self.mu, self._others) if LossDistribution.applies(self.mu, self._others) else None


def _together(mus: list[tuple[float, int]]) -> float:
    """Return √Σμ² over so many of each, rounded up: a share of 4.5·2⁻⁵³ is lost at most, 8·2⁻⁵³ is added."""
    if len(mus) == 1 and mus[0][1] == 1:
        return mus[0][0]
    largest = max((mu for mu, _ in mus), default=0.0)
    return largest * math.sqrt(math.fsum((mu / largest) ** 2 * count for mu, count in mus)) * (1.0 + 2.0**-50)
