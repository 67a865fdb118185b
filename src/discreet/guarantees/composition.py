"""Composition: what several mechanisms on the same data cost together.

A ``Composition`` is a function of a fixed list of losses, whose mechanisms may be chosen adaptively as long as the
losses themselves are fixed beforehand. (A ledger, whose losses are chosen as it goes, needs a filter.) One class a
method: the papers' in ``classical``, the tight one in ``exact``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Self, TypeAlias

from discreet.arguments import ArgumentError, integer, nonnegative, probability
from discreet.guarantees.guarantee import Guarantee, Neighbors, common
from discreet.guarantees.loss import Loss

__all__ = ["Composition", "Losses", "as_counts", "changed"]

MOST = 2**53  # of one loss; up to here a count is exact as a float

Losses: TypeAlias = Loss | Iterable[Loss] | Mapping[Loss, int]


def as_counts(losses: Losses) -> Counter[Loss]:
    """Return how many times each distinct loss occurs in one loss, a list, or a mapping of losses to counts."""
    if isinstance(losses, Loss):
        return Counter([losses])
    try:
        counts = Counter(losses)
    except TypeError:
        counts = Counter()
    if not counts:
        raise ArgumentError("losses", losses, "a loss, or a list of at least one")
    for item, count in counts.items():
        if not isinstance(item, Loss):
            raise ValueError(f"losses: {item!r} is not a loss; expected values such as GaussianLoss(mu=0.1)")
        counts[item] = integer(f"losses[{item!r}]", count, least=1, most=MOST)  # a plain int: NumPy's would wrap
    return counts


def changed(counts: Mapping[Loss, int], change: Callable[[Loss], Loss]) -> Counter[Loss]:
    """Return the losses that ``change`` makes of each; two of them may have become equal."""
    made = Counter[Loss]()
    for loss, count in counts.items():
        made[change(loss)] += count
    return made


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
        self._check(guarantee)
        if guarantee.delta > 0.0:
            return self.delta(guarantee.epsilon) / guarantee.delta
        return self.epsilon(0.0) / guarantee.epsilon

    def _check(self, guarantee: Guarantee) -> None:
        if not isinstance(guarantee, Guarantee):
            raise ArgumentError("guarantee", guarantee, "a Guarantee, for example Guarantee(1.0, 1e-6)")
        if guarantee.neighbors is not self.neighbors:
            raise ValueError(
                f"guarantee={guarantee}: expected one under {self.neighbors}, as the losses; where those are "
                "add-remove, loss.under('replace-one') converts them"
            )

    @abstractmethod
    def _epsilon(self, delta: float) -> float: ...

    @abstractmethod
    def _delta(self, epsilon: float) -> float: ...

    def __repr__(self) -> str:
        parts = ", ".join(f"{count} × {loss!r}" for loss, count in self.counts.items())
        return f"<{self.method} composition of {parts}>"
