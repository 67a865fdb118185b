"""The history of a ledger as a table: its entries in order, and what each of them cost."""

from __future__ import annotations

from discreet.ledger.book import Entry
from discreet.ledger.dataset_limits import describe_cost

LONGEST = 48  # characters of a question


class History(tuple[Entry, ...]):
    """Entries of a ledger, in order: a tuple that shows itself as a table."""

    __slots__ = ()

    @property
    def costs(self) -> tuple[str, ...]:
        """What each spend cost, at the δ of the limit then in force; of an entry about a limit, the limit.

        A spend that was not answered says so, and a mark says which entry it is about.
        """
        deltas: dict[str, float] = {}
        result = []
        for entry in self:
            if entry.limit is not None:
                deltas[entry.dataset] = entry.limit.guarantee.delta
                result.append(str(entry.limit))
            elif entry.marked is not None:
                result.append(f"entry {entry.marked} stays charged")
            else:
                cost = describe_cost(entry.losses, deltas.get(entry.dataset, 0.0))
                result.append(f"{cost}, not answered" if entry.number in self.unanswered else cost)
        return tuple(result)

    @property
    def unanswered(self) -> frozenset[int]:
        """The numbers of the entries that were paid for and then not answered, as far as the ledger has a mark."""
        return frozenset(entry.marked for entry in self if entry.marked is not None)

    def __repr__(self) -> str:
        """Return a line for each entry: number, time, who, data set, what for, and its cost."""
        lines = []
        for entry, cost in zip(self, self.costs, strict=True):
            what = entry.query or " ".join(filter(None, (entry.kind, entry.reason)))
            what = what if entry.marked is None else f"not answered: {what}"
            what = what if len(what) <= LONGEST else what[: LONGEST - 1] + "…"
            lines.append(
                (str(entry.number), f"{entry.time:%Y-%m-%d %H:%M}", entry.who or "", entry.dataset, what, cost)
            )
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines) or "no entries"

    __str__ = __repr__
