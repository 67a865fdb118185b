"""A budget as its owner thinks of it: so much of the whole.

The limit's filter (``discreet.ledger.filters``) adds up a price for each loss and compares the sum with a capacity. The
share of a loss is its price over the capacity: shares add up, and what sums to 1 is admitted, whatever the questions
were and in whatever order.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.guarantees import GaussianLoss
from discreet.guarantees.composition import Losses, as_counts
from discreet.ledger import Ledger
from discreet.ledger.admission import under
from discreet.ledger.filters import Filter
from discreet.ledger.limit import Limit

__all__ = ["Allowance", "Purse"]

MARGIN = 1.0 - 1e-9  # so that ten tenths are a whole, with their last digits


@dataclass(frozen=True)
class Allowance:
    """What a share of the budget buys: additive noise at (epsilon, delta), or a pure ε."""

    epsilon: float
    delta: float
    pure: float


@dataclass(frozen=True)
class Purse:
    """The budget of one data set in a ledger."""

    ledger: Ledger
    name: str

    @property
    def limit(self) -> Limit:
        """The limit in force."""
        found = self.ledger.limit(self.name)
        if found is None:
            raise ValueError(f"name={self.name!r}: expected a data set with a limit in the ledger; declare a budget")
        return found

    def share(self, losses: Losses) -> float:
        """Return the share of the budget that losses take."""
        limit = self.limit
        chosen = _filter(limit)
        return chosen.total(under(limit, as_counts(losses))) / chosen.capacity()

    @property
    def left(self) -> float:
        """The share that is left."""
        limit, spent = self.limit, self.ledger.spent(self.name)
        chosen = _filter(limit)
        return max(1.0 - chosen.total(under(limit, spent)) / chosen.capacity(), 0.0) if spent else 1.0

    def allowance(self, share: float) -> Allowance:
        """Return what a share buys."""
        limit = self.limit
        chosen = _filter(limit)
        largest = chosen.largest(share * chosen.capacity() * MARGIN)
        if not largest.mu:
            return Allowance(largest.epsilon, 0.0, largest.epsilon)
        delta = limit.guarantee.delta - limit.failures
        epsilon = GaussianLoss(largest.mu, limit.guarantee.neighbors).epsilon_at(delta)
        if not epsilon > 0.0:
            raise ValueError(f"share={share:g}: expected a larger one; with δ={delta:g} it buys no answer at any ε")
        return Allowance(epsilon, delta, largest.epsilon)


def _filter(limit: Limit) -> Filter:
    """Return the filter that counts: the chosen one, or the pure one where there is no δ for it."""
    return limit.filters()[0 if limit.guarantee.delta > limit.failures else -1]
