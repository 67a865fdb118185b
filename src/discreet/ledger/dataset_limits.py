"""The limit of a data set: decides what is admitted, words the refusal (``BudgetExceeded``), and says what is left.

A spend is admitted while one of the limit's filters (``privacy_filters``) holds for the whole history with it.

**A reservation as the only entry of a data set.** Filters cost a little more than exact composition wherever a
mechanism is not Gaussian, so a schedule that was calibrated to (ε, δ) exactly might not fit into a limit of (ε, δ). Yet
it may be admitted if it is the first entry of the history and its exact composition keeps the limit:

The losses of the first entry are fixed before any output is seen; they are the same on both data sets. If a filter
holds for them, the rest of the history is the filters' business and their proof covers it all. If none does, none
will ever hold again (their sums only grow), so nothing is ever admitted after it: the whole transcript is that one
schedule, with losses fixed beforehand, and plain composition applies to it. Which of the two cases it is does not
depend on the data, so there is nothing to pay for the choice. ∎

This applies to reservations only. A small spend without a price in the chosen filter would close the data set for
good. That is intended for a reservation of the whole budget, but not for a small spend.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from discreet.arguments import ArgumentError, choice, nonnegative
from discreet.guarantees import GaussianLoss, Guarantee, Loss, compose
from discreet.guarantees.loss import map_losses
from discreet.ledger.privacy_filters import FILTERS, SLACK, Filter, Largest, PureFilter

USUAL_DELTA = 1e-6  # at which losses are read where no limit has a δ


def describe_cost(losses: tuple[tuple[Loss, int], ...], delta: float = 0.0) -> str:
    """Return what losses cost together: ε alone where they are pure, else at δ.

    Parameters
    ----------
    losses : tuple of (Loss, int)
    delta : float
        That of the limit; 0 takes ``USUAL_DELTA`` for losses that are not pure.

    Examples
    --------
    >>> from discreet import GaussianLoss, LaplaceLoss
    >>> describe_cost(((LaplaceLoss(0.1), 3),), 1e-6), describe_cost(((GaussianLoss(0.1), 4),), 0.0)
    ('ε=0.3', 'ε=0.8341 at δ=1e-06')
    """
    pure = sum(count * loss.pure for loss, count in losses)
    if math.isfinite(pure) and not any(loss.failure for loss, _ in losses):
        return f"ε={pure:.4g}"
    delta = delta or USUAL_DELTA
    return f"ε={compose(dict(losses)).epsilon(delta):.4g} at δ={delta:g}"


@dataclass(frozen=True)
class Limit:
    """What all releases from a data set may cost together. ``Ledger.set_limit`` makes them.

    Attributes
    ----------
    guarantee : Guarantee
        For the whole history, under one neighbour relation.
    filter : str
        ``"gaussian"``, ``"zcdp"`` or ``"pure"``.
    failures : float
        The part of δ that is set aside for mechanisms that have a δ of their own. The filter has the rest.
    """

    guarantee: Guarantee
    filter: str
    failures: float

    @classmethod
    def from_arguments(cls, guarantee: Guarantee, filter: str = "gaussian", failures: float | None = None) -> Limit:  # noqa: A002
        """Return the limit, its arguments checked. By default the pure filter has all of δ for failures, others none.

        >>> guarantee = Guarantee(1.0, 1e-6)
        >>> Limit.from_arguments(guarantee).failures, Limit.from_arguments(guarantee, "pure").failures
        (0.0, 1e-06)
        """
        if not isinstance(guarantee, Guarantee):
            raise ArgumentError("guarantee", guarantee, "a Guarantee, for example Guarantee(1.0, 1e-6)")
        name = choice("filter", filter, FILTERS)
        if failures is None:
            failures = guarantee.delta if name == "pure" else 0.0
        share = nonnegative("failures", failures)
        if share > guarantee.delta:
            raise ArgumentError("failures", failures, f"a part of delta={guarantee.delta!r}, or 0")
        return cls(guarantee, name, share)

    def filters(self) -> tuple[Filter, ...]:
        """Return the filters of which one must hold: the chosen one, which owns δ, and the pure one, which needs none.

        Why the second is free: see the module.
        """
        epsilon, delta = self.guarantee.epsilon, self.guarantee.delta
        chosen = FILTERS[self.filter](epsilon, delta - self.failures, self.failures)
        return (chosen,) if self.filter == "pure" else (chosen, PureFilter(epsilon, 0.0, 0.0))

    def convert(self, losses: Mapping[Loss, int]) -> Counter[Loss]:
        """Return the losses under the limit's relation; a loss that means nothing there raises."""
        return map_losses(losses, lambda loss: loss.under(self.guarantee.neighbors))

    def is_at_most(self, other: Limit) -> bool:
        """Return whether both count in the same way, and all that this limit admits ``other`` admits as well."""
        mine, theirs = self.guarantee, other.guarantee
        return (
            self.filter == other.filter
            and mine.neighbors is theirs.neighbors
            and mine.epsilon <= theirs.epsilon
            and self.failures <= other.failures
            and mine.delta - self.failures <= theirs.delta - other.failures
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the limit as plain values, for JSON; ``from_dict`` reads it back."""
        values = {"neighbors": self.guarantee.neighbors.value, "filter": self.filter, "failures": self.failures}
        return vars(self.guarantee) | values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limit:
        """Return the limit that ``to_dict`` described."""
        guarantee = Guarantee(values["epsilon"], values["delta"], values["neighbors"])
        return cls.from_arguments(guarantee, values["filter"], values["failures"])

    def __str__(self) -> str:
        share = f", δ={self.failures:g} of it for failures" if self.failures and self.filter != "pure" else ""
        return f"{self.guarantee}, {self.filter} filter{share}"


@dataclass(frozen=True)
class Remaining:
    """What is left for a data set: the largest single loss of each kind that would be admitted next.

    They are alternatives, not a sum. All are ∞ where there is no limit, and 0 where nothing more can follow.

    Attributes
    ----------
    dataset : str
    limit : Limit or None
    mu : float
        The largest ``GaussianLoss``.
    epsilon : float
        The largest ``PureLoss`` (or ``LaplaceLoss``, ``GeometricLoss``).
    rho : float
        The largest ``ZcdpLoss``.
    failure : float
        What the failure probabilities of further mechanisms may sum to, as long as the chosen filter holds.
    """

    dataset: str
    limit: Limit | None
    mu: float
    epsilon: float
    rho: float
    failure: float

    def __str__(self) -> str:
        if self.limit is None:
            return f"no limit is set for {self.dataset!r}"
        delta = self.limit.guarantee.delta
        parts = []
        if self.mu:
            parts.append(f"ε={GaussianLoss(self.mu).epsilon_at(delta):.4g} at δ={delta:g} (Gaussian noise)")
        parts += [f"ε={self.epsilon:.4g} (Laplace noise)"] if self.epsilon else []
        return " or ".join(parts) or "nothing"


@dataclass(frozen=True)
class Preview:
    """The answer of a ledger to a possible spend.

    Attributes
    ----------
    dataset : str
    losses : tuple of (Loss, int)
        What was asked about: each distinct loss, and how many times.
    admitted : bool
        Whether ``spend`` would admit it.
    reservable : bool
        Whether ``reserve`` would: also where it is the first entry and its exact composition keeps the limit.
    remaining : Remaining
        What is left now.
    left : Remaining
        What would be left if it were recorded; the same as ``remaining`` where it would not be.
    """

    dataset: str
    losses: tuple[tuple[Loss, int], ...]
    admitted: bool
    reservable: bool
    remaining: Remaining
    left: Remaining

    def __str__(self) -> str:
        limit = self.remaining.limit
        total = sum(count for _, count in self.losses)
        cost = describe_cost(self.losses, 0.0 if limit is None else limit.guarantee.delta)
        asked = f"{cost} was asked for" if total == 1 else f"{cost} was asked for, in {total} releases"
        verdict = "admitted" if self.admitted else "admitted as a reservation" if self.reservable else "not admitted"
        bound = "" if limit is None else f" of {limit}"
        message = f"dataset={self.dataset!r}: {asked}, and is {verdict}; left{bound}: {self.remaining}"
        return message if limit is None or self.reservable else message + "".join(_reasons(self.losses, limit))


class BudgetExceeded(RuntimeError):  # noqa: N818  # the usual name for it
    """A spend that the limit of its data set does not admit. Nothing was recorded.

    A ``RuntimeError``: the same arguments are in order as long as there is budget left.

    Attributes
    ----------
    preview : Preview
        What was asked for and what is left.
    asked : str or None
        The same in the words of the request.
    """

    def __init__(self, preview: Preview, asked: str | None = None) -> None:
        super().__init__(preview, asked)  # the arguments of an exception are what its pickle keeps
        self.preview = preview
        self.asked = asked

    @property
    def refusal(self) -> str:
        """What was asked for and what is left, in words."""
        return str(self.preview) if self.asked is None else self.asked

    def __str__(self) -> str:
        from discreet.ledger.largest_epsilon import largest_epsilon  # it builds on this module

        epsilon = largest_epsilon(self.preview, by_share=self.asked is not None)
        fits = "nothing like it fits any more" if epsilon is None else f"ε={epsilon} or less would fit"
        return f"{self.refusal}; nothing was recorded; {fits}"


def _reasons(losses: tuple[tuple[Loss, int], ...], limit: Limit) -> list[str]:
    """Return the reasons, other than the amount of budget, for which the losses are not admitted."""
    chosen = limit.filters()[0]
    relation = limit.guarantee.neighbors
    unpriced = sorted({type(loss).__name__ for loss, _ in losses if math.isinf(chosen.price(loss.under(relation)))})
    reasons = [f"; the {chosen.name} filter has no price for {name}" for name in unpriced]
    if limit.failures == 0.0 and any(loss.failure for loss, _ in losses):
        reasons.append("; nothing of δ is set aside for mechanisms that may fail (failures= of set_limit)")
    return reasons


class Account(NamedTuple):
    """The record of one data set.

    Attributes
    ----------
    dataset : str
    limit : Limit or None
        The one in force.
    spent : mapping of Loss to int
        Every loss of the whole history.
    unit : str or None
        Whose privacy the losses are about.
    """

    dataset: str
    limit: Limit | None
    spent: Mapping[Loss, int]
    unit: str | None = None

    def check_unit(self, unit: str | None) -> None:
        """Raise where the data set is charged for another unit. Whoever writes holds the write lock."""
        if None not in (self.unit, unit) and self.unit != unit:
            why = "losses of rows and of persons do not add up, so use one unit, or another name"
            raise ArgumentError("unit", unit, f"{self.unit!r}, for which {self.dataset!r} is charged; {why}")

    def admits(self, asked: Mapping[Loss, int], reserve: bool = False) -> bool:
        """Return whether one of the limit's filters holds for the whole history with ``asked``.

        A reservation is also admitted where it is the first entry and its exact composition keeps the limit.
        """
        if self.limit is None:
            return True
        new = self.limit.convert(asked)
        history = self.limit.convert(self.spent) + new
        if any(one.holds(history) for one in self.limit.filters()):
            return True
        return reserve and not self.spent and compose(new).usage(self.limit.guarantee) <= 1.0 + SLACK

    def remaining(self) -> Remaining:
        """Return what is left."""
        if self.limit is None:
            return Remaining(self.dataset, None, math.inf, math.inf, math.inf, math.inf)
        spent, filters = self.limit.convert(self.spent), self.limit.filters()
        largest = Largest(*map(max, zip(*(one.left(spent) for one in filters), strict=True)))
        chosen = filters[0]
        failure = max(0.0, chosen.failures - chosen.total_failure(spent)) if chosen.holds(spent) else 0.0
        return Remaining(self.dataset, self.limit, *largest, failure)

    def preview(self, asked: Mapping[Loss, int]) -> Preview:
        """Return whether ``asked`` is admitted, and what is left before and after."""
        admitted = self.admits(asked)
        reservable = admitted or self.admits(asked, reserve=True)
        before = self.remaining()
        after = self._replace(spent=Counter(self.spent) + Counter(asked)).remaining() if reservable else before
        return Preview(self.dataset, tuple(asked.items()), admitted, reservable, before, after)
