"""What questions would cost, before any of them is asked."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.database.questions import Draft
from discreet.guarantees import Guarantee, Loss

__all__ = ["Priced", "Pricing"]


@dataclass(frozen=True)
class Priced:
    """One question and its price.

    Attributes
    ----------
    draft : Draft
    guarantee : Guarantee
        What is promised for its answer by itself.
    losses : tuple of Loss
        What the ledger would record.
    share : float
        The share of the budget that it takes.
    """

    draft: Draft
    guarantee: Guarantee
    losses: tuple[Loss, ...]
    share: float

    @property
    def price(self) -> str:
        """What it costs, in words."""
        return f"{self.guarantee}, {self.share:.1%} of the budget"

    def __str__(self) -> str:
        return f"{self.draft.words}: {self.price}"


@dataclass(frozen=True)
class Pricing:
    """A batch of questions and its price.

    Attributes
    ----------
    questions : tuple of Priced
    left : float
        The share of the budget that is left now.
    admitted : bool
        Whether all of them can be asked.
    which_rows : str or None
        Of which rows they choose theirs, in words ("at most 4 rows of each patient"); None where of all.
    """

    questions: tuple[Priced, ...]
    left: float
    admitted: bool
    which_rows: str | None = None

    @property
    def share(self) -> float:
        """The share of the budget that all of them take together."""
        return sum(one.share for one in self.questions)

    def __str__(self) -> str:
        lines = [] if self.which_rows is None else [f"all from {self.which_rows}:"]
        lines += [str(one) for one in self.questions]
        after = (
            f"{self.left - self.share:.1%} would be left" if self.admitted else "too much: nothing would be answered"
        )
        lines.append(f"together {self.share:.1%} of the budget, of which {self.left:.1%} is left; {after}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self}>"
