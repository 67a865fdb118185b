"""The limit of a data set: a promise, the filter that keeps it, and what is set aside for failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.arguments import ArgumentError, choice, nonnegative
from discreet.guarantees import Guarantee
from discreet.ledger.filters import FILTERS, Filter, PureFilter
from discreet.plain import to_plain

__all__ = ["Limit"]


@dataclass(frozen=True)
class Limit:
    """What all releases from a data set may cost together. ``Ledger.set_limit`` makes them.

    Attributes
    ----------
    guarantee : Guarantee
        The promise for the whole history, under one neighbour relation.
    filter : str
        ``"gaussian"``, ``"zcdp"`` or ``"pure"``.
    failures : float
        The part of δ that is set aside for mechanisms that have a δ of their own. The filter has the rest.
    """

    guarantee: Guarantee
    filter: str
    failures: float

    @classmethod
    def of(cls, guarantee: Guarantee, filter: str = "gaussian", failures: float | None = None) -> Limit:  # noqa: A002
        """Return the limit, its arguments checked. By default the pure filter has all of δ for failures, others none.

        >>> Limit.of(Guarantee(1.0, 1e-6)).failures, Limit.of(Guarantee(1.0, 1e-6), "pure").failures
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

        Why the second is free is said in ``filters``.
        """
        epsilon, delta = self.guarantee.epsilon, self.guarantee.delta
        chosen = FILTERS[self.filter](epsilon, delta - self.failures, self.failures)
        return (chosen,) if self.filter == "pure" else (chosen, PureFilter(epsilon, 0.0, 0.0))

    def comparable(self, other: Limit) -> bool:
        """Return whether both count in the same way, so that one may take the other's place."""
        return self.filter == other.filter and self.guarantee.neighbors is other.guarantee.neighbors

    def at_most(self, other: Limit) -> bool:
        """Return whether everything that this limit admits, a comparable ``other`` admits as well."""
        mine, theirs = self.guarantee, other.guarantee
        return (
            mine.epsilon <= theirs.epsilon
            and self.failures <= other.failures
            and mine.delta - self.failures <= theirs.delta - other.failures
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the limit as plain values, for JSON; ``from_dict`` reads it back."""
        guarantee = {name: value for name, value in to_plain(self.guarantee).items() if name != "kind"}
        return {**guarantee, "filter": self.filter, "failures": self.failures}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limit:
        """Return the limit that ``to_dict`` described."""
        guarantee = Guarantee(values["epsilon"], values["delta"], values["neighbors"])
        return cls.of(guarantee, values["filter"], values["failures"])

    def __str__(self) -> str:
        share = f", δ={self.failures:g} of it for failures" if self.failures and self.filter != "pure" else ""
        return f"{self.guarantee}, {self.filter} filter{share}"
