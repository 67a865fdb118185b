"""Composition: what several mechanisms on the same data cost together.

A ``Composition`` is a function of a fixed list of losses, whose mechanisms may be chosen adaptively as long as the
losses themselves are fixed beforehand. (A ledger, whose losses are chosen as it goes, needs a filter.) One class a
method: the papers' in ``classical``, the tight one in ``exact``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from discreet.arguments import integer, nonnegative, probability
from discreet.guarantees.guarantee import Guarantee
from discreet.guarantees.loss import Loss
from discreet.guarantees.neighbors import common

__all__ = ["Composition", "Losses", "as_counts"]

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
        raise ValueError(f"losses={losses!r}: expected a loss, or a list of at least one")
    for item, count in counts.items():
        if not isinstance(item, Loss):
            raise ValueError(f"losses: {item!r} is not a loss; expected values such as GaussianLoss(mu=0.1)")
        integer(f"losses[{item!r}]", count, least=1)
    return counts


class Composition(ABC):
    """What a list of losses costs together, by one method.

    Attributes
    ----------
    counts : Counter of Loss
        How many times each distinct loss occurs.
    neighbors : Neighbors
        The one relation that all of them hold under.
    """

    method: str

    def __init__(self, losses: Losses) -> None:
        self.counts = as_counts(losses)
        self.neighbors = common(loss.neighbors for loss in self.counts)

    def epsilon(self, delta: float) -> float:
        """Return the least ε that this method promises at ``delta``; ∞ where it promises none."""
        return self._epsilon(probability("delta", delta))

    def delta(self, epsilon: float) -> float:
        """Return the least δ that this method promises at ``epsilon`` ≥ 0; 1 where it promises none."""
        return min(1.0, self._delta(nonnegative("epsilon", epsilon)))

    def guarantee(self, delta: float) -> Guarantee:
        """Return the whole promise at ``delta``."""
        return Guarantee(self.epsilon(delta), delta, self.neighbors)

    def usage(self, guarantee: Guarantee) -> float:
        """Return a measure of how much of ``guarantee`` is used up: it is kept exactly where this is at most 1."""
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
