"""Composition: what several mechanisms on the same data cost together, and the tightest answer that is known.

A ``Composition`` is a function of a fixed list of losses, whose mechanisms may be chosen adaptively as long as the
losses themselves are fixed beforehand. (A ledger, whose losses are chosen as it goes, needs a filter.) One class a
method: the papers' in ``classical``, the tight one here.

``Exact`` has six routes, each of them valid by itself; the answer is the best of those that apply.

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
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Self

from discreet.arguments import ArgumentError, nonnegative, probability
from discreet.guarantees.arithmetic import added
from discreet.guarantees.guarantee import Guarantee, Neighbors, check_promise, common
from discreet.guarantees.loss import Loss, Losses, as_counts, changed
from discreet.guarantees.normal import GaussianLoss, normal_delta, normal_epsilon, together
from discreet.guarantees.pld import LossDistribution
from discreet.guarantees.renyi import divergence, renyi_delta, renyi_epsilon

__all__ = ["Composition", "Exact"]


class Composition(ABC):
    """What a list of losses costs together, by one method.

    Attributes
    ----------
    counts : mapping of Loss to int
        How many times each distinct loss occurs.
    neighbors : Neighbors
        The one relation that all of them hold under.
    """

    method: str

    def __init__(self, losses: Losses) -> None:
        self.counts: Mapping[Loss, int] = MappingProxyType(as_counts(losses))
        self.neighbors = common(loss.neighbors for loss in self.counts)

    def epsilon(self, delta: float) -> float:
        """Return the least ε that this method promises at ``delta``; ∞ where it promises none."""
        return self._epsilon(probability("delta", delta))

    def delta(self, epsilon: float) -> float:
        """Return the least δ that this method promises at ``epsilon`` ≥ 0; 1 where it promises none."""
        return min(1.0, self._delta(nonnegative("epsilon", epsilon)))

    def guarantee(self, delta: float) -> Guarantee:
        """Return the whole promise at ``delta``."""
        epsilon = self.epsilon(delta)
        if math.isinf(epsilon):
            raise ArgumentError("delta", delta, f"a larger one; {self.method} composition promises nothing at it")
        return Guarantee(max(epsilon, 1e-12), delta, self.neighbors)  # its ε is above 0

    def under(self, neighbors: Neighbors | str) -> Self:
        """Return what the same mechanisms cost under another relation; only add-remove to replace-one exists."""
        return type(self)(changed(self.counts, lambda loss: loss.under(neighbors)))

    @property
    def quick(self) -> bool:
        """Whether an answer takes microseconds, so that a search may ask for the last digit."""
        return True

    def usage(self, guarantee: Guarantee) -> float:
        """Return a number that is at most 1 exactly where ``guarantee`` is kept, and falls as noise grows.

        It is δ over the δ allowed, or ε over the ε allowed, whichever the method has in closed form.
        """
        check_promise(guarantee, self.neighbors)
        if guarantee.delta > 0.0:
            return self.delta(guarantee.epsilon) / guarantee.delta
        return self.epsilon(0.0) / guarantee.epsilon

    @abstractmethod
    def _epsilon(self, delta: float) -> float: ...

    @abstractmethod
    def _delta(self, epsilon: float) -> float: ...

    def __repr__(self) -> str:
        parts = ", ".join(f"{count} × {loss!r}" for loss, count in self.counts.items())
        return f"<{self.method} composition of {parts}>"


class Exact(Composition):
    """The tightest known composition; see the module."""

    method = "exact"

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self.mu = together((loss.gaussian, count) for loss, count in self.counts.items() if loss.gaussian is not None)
        self._others = [(loss, count) for loss, count in self.counts.items() if loss.gaussian is None]
        alone = [count for _, count in self._others] == [1]
        self._one = self._others[0][0].beside(self.mu) if alone else None  # one loss for all, where there is one
        log_success = math.fsum(count * math.log1p(-loss.failure) for loss, count in self._others)
        self._failure = -math.expm1(log_success)

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
