"""The neighbour relation: which two data sets must be hard to tell apart.

A number of privacy means nothing without it, so every loss, guarantee and release carries one. Each loss says
for itself what it is worth under the other relation; which direction exists is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from discreet.arguments import choice, shown

__all__ = ["Neighbors", "common"]


class Neighbors(Enum):
    """What may differ between two neighbouring data sets.

    ``REPLACE_ONE`` (``"replace-one"``, the default everywhere): one record has other values. The number of
    records is the same in both and so is public. ``ADD_REMOVE`` (``"add-remove"``): one record is there or not.
    Wherever a relation is asked for, the string does as well.

    >>> Neighbors.of("add-remove")
    <Neighbors.ADD_REMOVE: 'add-remove'>
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @classmethod
    def of(cls, value: Neighbors | str) -> Neighbors:
        """Return the relation that ``value`` names."""
        if isinstance(value, cls):
            return value
        return cls(choice("neighbors", value, [member.value for member in cls]))

    def distance(self, other: Neighbors | str) -> int:
        """Return how many steps of this relation lead from one neighbour to the other of relation ``other``.

        A replaced record is one record removed and one added: two steps of add-remove. The reverse is refused:
        replace-one never changes the number of records, so no number of its steps adds one.
        """
        other = Neighbors.of(other)
        if other is self:
            return 1
        if self is Neighbors.ADD_REMOVE:
            return 2
        raise ValueError(
            f"neighbors={other.value!r}: expected 'replace-one'; what holds when one record is replaced says "
            "nothing about one that is added, so the mechanism must be accounted under 'add-remove' to begin with"
        )

    def __str__(self) -> str:
        return self.value

    def in_words(self, unit: str = "record") -> str:
        """Return what sets neighbours apart, as the end of "what it would be"."""
        if not isinstance(unit, str):
            raise ValueError(f"unit={shown(unit)}: expected what a record is; write for example unit='patient'")
        if self is Neighbors.REPLACE_ONE:
            return f"if any one {unit} had other values (how many there are is public)"
        return f"if any one {unit} were added or left out"


def common(relations: Iterable[Neighbors]) -> Neighbors:
    """Return the one relation that all of ``relations`` are, or raise."""
    distinct = set(relations)
    if len(distinct) == 1:
        return distinct.pop()
    raise ValueError(
        "losses: expected one neighbour relation, got both 'add-remove' and 'replace-one'; "
        "convert the add-remove ones with loss.under('replace-one')"
    )
