"""A reply: an answer of the database with what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.database.pricing import Priced
from discreet.guarantees import Guarantee
from discreet.statistics import Statistic

__all__ = ["Reply"]


@dataclass(frozen=True, eq=False, repr=False)
class Reply:
    """What the database answered.

    Attributes
    ----------
    statistic : Statistic
        The answer of ``discreet.statistics``, with its releases and all that it can say.
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

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return limits that hold what exact counting of these rows (``which_rows``) gives, with this probability."""
        return self.statistic.interval(level)

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each number of the answer: its labels, value and limits."""
        return self.statistic.table(level)

    def to_dict(self) -> dict[Any, Any]:
        """Return the values by their labels."""
        return self.statistic.to_dict()

    @property
    def which_rows(self) -> str | None:
        """Which rows it is about, in words ("at most 4 rows of each patient"); None where it is about all of them."""
        return self.statistic.which_rows

    @property
    def guarantee(self) -> Guarantee | None:
        """What is promised for this answer by itself."""
        return self.statistic.guarantee

    @property
    def share(self) -> float:
        """The share of the budget that it took."""
        return self.priced.share

    @property
    def cost(self) -> str:
        """What it cost, in one line."""
        return f"{self.priced}; {self.left:.1%} is left"

    def __repr__(self) -> str:
        # The condition stands beside the value, with the rest of what says which rows these are.
        cost = f"{self.priced.draft.question}: {self.priced.price}; {self.left:.1%} is left"
        return f"<{self.statistic._shown_with_rows()}; {cost}>"
