"""Prices of questions before they are asked, and replies with what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.database.questions import Draft
from discreet.guarantees import Guarantee, Loss
from discreet.statistics import Statistic


@dataclass(frozen=True)
class Priced:
    """One question and its price.

    Attributes
    ----------
    draft : Draft
    guarantee : Guarantee
        The guarantee of its answer by itself.
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
        """The cost in words."""
        return f"{self.guarantee}, {self.share:.1%} of the budget"

    def __str__(self) -> str:
        return f"{self.draft.description}: {self.price}"


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
        The rows from which they take theirs, in words ("at most 4 rows of each patient"); None for all rows.
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


@dataclass(frozen=True, eq=False, repr=False)
class Reply:
    """An answer of the database.

    Attributes
    ----------
    statistic : Statistic
        The answer of ``discreet.statistics``, with its releases.
    priced : Priced
        The question, and what it cost.
    left : float
        The share of the budget that was left after it.
    """

    statistic: Statistic
    priced: Priced
    left: float

    @property
    def value(self) -> Any:
        """The answer, in the data's own units."""
        return self.statistic.value

    def interval(self, level: float = 0.95, of: str = "rows") -> tuple[Any, Any]:
        """Return intervals that hold the values of ``which_rows``, or of the population, with this probability."""
        return self.statistic.interval(level) if of == "rows" else self.statistic.interval(level, of)

    def table(self, level: float = 0.95, of: str = "rows") -> list[dict[str, Any]]:
        """Return a row for each number of the answer: its labels, value and interval."""
        return self.statistic.table(level) if of == "rows" else self.statistic.table(level, of)

    def to_dict(self) -> dict[Any, Any]:
        """Return the values by their labels."""
        return self.statistic.to_dict()

    @property
    def which_rows(self) -> str | None:
        """Which rows it is about, in words ("at most 4 rows of each patient"); None where it is about all of them."""
        return self.statistic.which_rows

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee of this answer by itself."""
        return self.statistic.guarantee

    @property
    def share(self) -> float:
        """The share of the budget that it took."""
        return self.priced.share

    @property
    def cost(self) -> str:
        """The cost, in one line."""
        return f"{self.priced}; {self.left:.1%} is left"

    def __repr__(self) -> str:
        # ``_shown_with_rows`` has the condition already, so the question is shown without it.
        cost = f"{self.priced.draft.question}: {self.priced.price}; {self.left:.1%} is left"
        return f"<{self.statistic._shown_with_rows()}; {cost}>"
