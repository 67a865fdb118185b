"""The history of a ledger as a table: its entries in order, and what each of them cost."""

from __future__ import annotations

import math

from discreet.guarantees import Loss, compose
from discreet.ledger.book import Entry

USUAL_DELTA = 1e-6  # at which losses are read where no limit has a δ
LONGEST = 48  # characters of a question


class History(tuple[Entry, ...]):
    """Entries of a ledger, in order: a tuple that shows itself as a table."""

    __slots__ = ()

    @property
    def costs(self) -> tuple[str, ...]:
        """What each spend cost, at the δ of the limit then in force; of an entry about a limit, the limit."""
        deltas: dict[str, float] = {}
        result = []
        for entry in self:
            if entry.limit is not None:
                deltas[entry.dataset] = entry.limit.guarantee.delta
                result.append(str(entry.limit))
            else:
                result.append(describe_cost(entry.losses, deltas.get(entry.dataset, 0.0)))
        return tuple(result)

    def __repr__(self) -> str:
        """Return a line for each entry: number, time, who, data set, what for, and its cost."""
        lines = []
        for entry, cost in zip(self, self.costs, strict=True):
            what = entry.query or " ".join(filter(None, (entry.kind, entry.reason)))
            what = what if len(what) <= LONGEST else what[: LONGEST - 1] + "…"
            lines.append(
                (str(entry.number), f"{entry.time:%Y-%m-%d %H:%M}", entry.who or "", entry.dataset, what, cost)
            )
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines) or "no entries"

    __str__ = __repr__


def describe_cost(losses: tuple[tuple[Loss, int], ...], delta: float) -> str:
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
