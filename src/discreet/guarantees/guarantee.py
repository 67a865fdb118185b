"""``Guarantee``, an (ε, δ), and ``Neighbors``, the neighbour relation under which it holds.

The relation says which two data sets must be hard to tell apart. ε and δ mean nothing without it, so every loss,
guarantee and release carries one. Each loss converts itself to the other relation. Which conversions exist is decided
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import Enum
from typing import Any

from discreet.arguments import UNSHOWN, ArgumentError, choice, positive, probability


class Neighbors(Enum):
    """What may differ between two neighbouring data sets.

    ``REPLACE_ONE`` (``"replace-one"``, the default everywhere): one record has other values. The number of
    records is the same in both and so is public. ``ADD_REMOVE`` (``"add-remove"``): one record is there or not.
    Wherever a relation is asked for, the string does as well.

    >>> Neighbors.parse("add-remove")
    <Neighbors.ADD_REMOVE: 'add-remove'>
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @classmethod
    def parse(cls, value: Neighbors | str) -> Neighbors:
        """Return the relation that ``value`` names."""
        if isinstance(value, cls):
            return value
        return cls(choice("neighbors", value, [member.value for member in cls]))

    def distance(self, other: Neighbors | str) -> int:
        """Return how many steps of this relation lead from a data set to its neighbour under ``other``.

        A replaced record is one record removed and one added: two steps of add-remove. The reverse is refused:
        replace-one never changes the number of records, so no number of its steps adds one.
        """
        other = Neighbors.parse(other)
        if other is self:
            return 1
        if self is Neighbors.ADD_REMOVE:
            return 2
        why = "what holds when one record is replaced says nothing about one that is added"
        to_do = "so the mechanism must be accounted under 'add-remove' to begin with"
        raise ArgumentError("neighbors", other.value, f"'replace-one'; {why}, {to_do}")

    def __str__(self) -> str:
        return self.value

    def in_words(self, unit: str = "record") -> str:
        """Return how neighbours differ, as the end of the sentence "… what it would be"."""
        if not isinstance(unit, str):
            raise ArgumentError("unit", unit, "what a record is", write="for example unit='patient'")
        if self is Neighbors.REPLACE_ONE:
            return f"if any one {unit} had other values (how many there are is public)"
        return f"if any one {unit} were added or left out"


def common_relation(relations: Iterable[Neighbors]) -> Neighbors:
    """Return the relation that all of ``relations`` share; raise if they differ."""
    distinct = set(relations)
    if len(distinct) == 1:
        return distinct.pop()
    why = "one neighbour relation, got both 'add-remove' and 'replace-one'; convert the add-remove ones with"
    raise ArgumentError("losses", UNSHOWN, f"{why} loss.under('replace-one')")


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy under a neighbour relation.

    Whatever an observer looks for in the output, finding it is at most e^ε times as probable, plus δ, with one
    data set as with its neighbour.

    Parameters
    ----------
    epsilon : float
        Above 0 and finite.
    delta : float
        In [0, 1). Far below one over the number of records, or it protects few.
    neighbors : Neighbors or str
        ``"replace-one"`` (default) or ``"add-remove"``.

    Examples
    --------
    >>> guarantee = Guarantee(1.0, 1e-6)
    >>> print(guarantee)
    (ε=1, δ=1e-06) replace-one
    >>> Guarantee(0.5, 1e-6, "add-remove").under("replace-one").epsilon
    1.0
    """

    epsilon: float
    delta: float = 0.0
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))

    def under(self, neighbors: Neighbors | str) -> Guarantee:
        """Return what this guarantees under another relation; only add-remove to replace-one exists.

        Two steps of (ε, δ) are one of (2ε, (1 + e^ε)δ): P(A) ≤ e^ε P'(A) + δ ≤ e^ε(e^ε P''(A) + δ) + δ.
        """
        if self.neighbors.distance(neighbors) == 1:
            return self
        delta = double_delta(self.epsilon, self.delta)
        if delta >= 1.0:
            raise ValueError(
                f"delta={self.delta!r}: under {str(Neighbors.parse(neighbors))!r} it grows to (1 + e^ε)δ ≥ 1, which "
                "guarantees nothing; expected a smaller δ"
            )
        return Guarantee(2.0 * self.epsilon, delta, Neighbors.parse(neighbors))

    def in_words(self, unit: str = "record") -> str:
        """Return the guarantee as a sentence for readers who are not privacy researchers.

        Parameters
        ----------
        unit : str
            What is protected: a record, or "patient" where the privacy unit is one.

        >>> print(Guarantee(1.0, 1e-6, "add-remove").in_words("patient"))
        Whatever somebody concludes from the output, its probability is at most 2.72 times what it would be if any one \
patient were added or left out, plus 1e-06.
        """
        factor = format_rounded_up(math.exp(self.epsilon), 3) if self.epsilon < 700.0 else f"e^{self.epsilon:g}"
        extra = f", plus {format_rounded_up(self.delta)}" if self.delta else ""
        return (
            f"Whatever somebody concludes from the output, its probability is at most {factor} times what it would be "
            f"{self.neighbors.in_words(unit)}{extra}."
        )

    def __str__(self) -> str:
        return f"(ε={format_rounded_up(self.epsilon)}, δ={format_rounded_up(self.delta)}) {self.neighbors}"


def check_guarantee(guarantee: Any, neighbors: Neighbors) -> None:
    """Raise unless ``guarantee`` is a guarantee under the relation of the losses."""
    if not isinstance(guarantee, Guarantee):
        raise ArgumentError("guarantee", guarantee, "a Guarantee, for example Guarantee(1.0, 1e-6)")
    if guarantee.neighbors is not neighbors:
        raise ValueError(
            f"guarantee={guarantee}: expected one under {neighbors}, as the losses; where those are add-remove, "
            "loss.under('replace-one') converts them"
        )


def double_delta(epsilon: float, delta: float) -> float:
    """Return (1 + e^ε)δ, the δ two steps of a relation away; at most 1, where it guarantees nothing."""
    if delta == 0.0:
        return 0.0
    log = math.log(delta) + max(epsilon, 0.0) + math.log1p(math.exp(-abs(epsilon)))
    return (1.0 + math.exp(epsilon)) * delta if log < -1e-9 and epsilon < 700.0 else math.exp(min(log, 0.0))


def format_rounded_up(value: float, digits: int = 6) -> str:
    """Return a number of ``digits`` digits that is not below ``value``: a guarantee must not read better than it is.

    >>> [format_rounded_up(value) for value in (1.0, 1.0000001, 1e-6, math.inf)], format_rounded_up(2.7182818, 3)
    (['1', '1.00001', '1e-06', 'inf'], '2.72')
    """
    text = f"{value:.{digits}g}"
    if float(text) < value < math.inf:
        exact = Decimal(value)
        step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        text = f"{float((exact / step).to_integral_value(ROUND_CEILING) * step):.{digits}g}"
    return text
