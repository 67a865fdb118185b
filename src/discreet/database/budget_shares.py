"""Shares of a budget: the share that a question takes, and the ε that a share buys.

The limit's filter (``discreet.ledger.privacy_filters``) adds up a price for each loss and compares the sum with a
capacity. The share of a loss is its price divided by the capacity. Shares add up, and a sum of at most 1 is admitted,
whatever the questions are and in whatever order they come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from discreet.arguments import ArgumentError
from discreet.guarantees import GaussianLoss, Guarantee
from discreet.guarantees.arithmetic import find_least
from discreet.guarantees.loss import Losses, as_counts
from discreet.ledger import Ledger
from discreet.ledger.dataset_limits import Limit
from discreet.ledger.privacy_filters import Filter
from discreet.statistics.request import Request

MARGIN = 1.0 - 1e-9  # so that ten tenths are admitted in spite of rounding
FILLED = 0.99  # of its share, which a question should use at least
RANGE = 16.0  # factor around the ε of one additive release or one draw within which the ε of a request is searched


@dataclass(frozen=True)
class BudgetShares:
    """The arithmetic of a data set's limit: shares and the ε that they buy. It does not access the ledger."""

    limit: Limit

    @classmethod
    def from_ledger(cls, ledger: Ledger, name: str) -> BudgetShares:
        """Return the shares of the limit in force."""
        limit = ledger.limit(name)
        if limit is None:
            raise ArgumentError("name", name, "a data set with a limit in the ledger; declare a budget")
        return cls(limit)

    @cached_property
    def _filter(self) -> Filter:
        """The filter that is used: the chosen one, or the pure one where the limit leaves no δ for it."""
        return self.limit.filters()[0 if self.limit.guarantee.delta > self.limit.failures else -1]

    @cached_property
    def _capacity(self) -> float:
        return self._filter.capacity()

    @property
    def delta(self) -> float:
        """The δ of a question with Gaussian noise; 0 where the budget does not admit Gaussian noise."""
        limit = self.limit
        return limit.guarantee.delta - limit.failures if self._filter.largest(self._capacity).mu else 0.0

    def share(self, losses: Losses) -> float:
        """Return the share of the budget that losses take."""
        return self._filter.total(self.limit.convert(as_counts(losses))) / self._capacity

    def whole(self, losses: Losses) -> bool:
        """Return whether losses are pure and use no more than the ε of the limit.

        The ledger admits them as the only entry, by its pure filter; nothing that is not pure fits after them.
        """
        counts = self.limit.convert(as_counts(losses))
        return sum(count * loss.pure for loss, count in counts.items()) <= self.limit.guarantee.epsilon * (1.0 + 1e-12)

    def left(self, spent: Losses) -> float:
        """Return the share that remains after these losses."""
        return max(1.0 - self.share(spent), 0.0) if spent else 1.0

    def fill(self, request: Request[Any], share: float, *, pure: bool = False) -> Request[Any]:
        """Return a request at about the largest ε at which it takes at most a share; at δ = 0 if ``pure``.

        A release with additive noise at (ε, δ) has the price of one Gaussian loss, and a draw by an exponential
        mechanism that of a pure ε; the filter can solve both for ε. Several draws at parts of ε are cheaper than one at
        all of it, and a question may combine draws and sums. For these, the noise is searched at which the losses fill
        the share.
        """
        largest = self._filter.largest(share * self._capacity * MARGIN)
        epsilon, delta, relation = largest.epsilon, 0.0, self.limit.guarantee.neighbors
        if largest.mu and not request.pure and not pure:
            delta = self.delta
            epsilon = GaussianLoss(largest.mu, relation).epsilon_at(delta)
            if not epsilon > 0.0:
                raise ArgumentError("share", share, f"a larger share; at δ={delta:g} it admits no ε above 0")

        def at(noise: float) -> Request[Any]:
            return replace(request, guarantee=Guarantee(epsilon / noise, delta, relation))

        filled = at(1.0)
        if FILLED * share <= self.share(filled.losses) <= share:
            return filled
        return at(find_least(lambda noise: self.share(at(noise).losses), share, 1.0 / RANGE, RANGE, relative=1e-4))
