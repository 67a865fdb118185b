"""Prices of questions before they are asked, and replies with what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from discreet.database.questions import Draft
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, GeometricLoss, Guarantee, LaplaceLoss, Loss, PureLoss
from discreet.notebook import format_html
from discreet.statistics import Counts, Crosstab, Histograms, SchemaCheck, Statistic

NOISE: dict[type[Loss], str] = {
    GaussianLoss: "Gaussian noise",
    LaplaceLoss: "Laplace noise",
    GeometricLoss: "geometric noise",
    BoundedRangeLoss: "the exponential mechanism",
    PureLoss: "pure-ε noise",
}


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
        """The cost in words, and the noise that it buys."""
        return f"{self.guarantee} with {self.noise}, {self.share:.1%} of the budget"

    @property
    def noise(self) -> str:
        """Which noise its releases have, in words."""
        kinds = dict.fromkeys(NOISE.get(type(loss), "noise") for loss in self.losses)
        return " and ".join(kinds)

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

    def interval(self, level: float = 0.95, of: str | None = None) -> tuple[Any, Any]:
        """Return intervals that hold the values of ``which_rows``, or of the population, with this probability."""
        return self.statistic.interval(level, of)

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each number of the answer: its labels, value and interval."""
        return self.statistic.table(level, of)

    def to_dict(self) -> dict[Any, Any]:
        """Return the values by their labels."""
        return self.statistic.to_dict()

    def to_frame(self, level: float = 0.95, of: str | None = None) -> Any:
        """Return ``table(level, of)`` as a data frame of pandas."""
        return self.statistic.to_frame(level, of)

    def plot(self, *, level: float | None = None, ax: Any = None, of: str | None = None) -> Any:
        """Plot the values with their intervals and return the axes, as ``Statistic.plot`` does. Needs matplotlib."""
        return self.statistic.plot(level=level, ax=ax, of=of)

    @property
    def interval_of(self) -> str:
        """What its intervals are about where nothing else is asked: "population" if the question was, else "rows"."""
        return self.statistic.interval_of

    def whole(self) -> Reply:
        """Return the same counts as whole numbers, none below 0; only answers with counts have it."""
        if not isinstance(self.statistic, Counts | Crosstab | SchemaCheck):
            raise TypeError(f"whole: expected counts, and this is the {self.priced.draft.question}")
        return replace(self, statistic=self.statistic.whole())

    def __getattr__(self, name: str) -> Any:
        """Return what only this kind of answer has: ``p_value``, ``edges``, ``levels``, ``drowned()`` and the like."""
        if name.startswith("_") or name == "statistic":  # which a copy does not have yet
            raise AttributeError(name)
        return getattr(self.statistic, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.statistic) if not name.startswith("_"))})

    def __getitem__(self, name: str) -> Reply:
        """Return one of several histograms."""
        if not isinstance(self.statistic, Histograms):
            raise TypeError(f"[{name!r}]: expected several histograms, and this is the {self.priced.draft.question}")
        return replace(self, statistic=self.statistic[name])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.statistic)

    def __float__(self) -> float:
        return float(self.statistic)

    def __format__(self, spec: str) -> str:
        return format(self.statistic, spec) if spec else str(self)

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
    def notes(self) -> tuple[str, ...]:
        """What a reader of the value must know; empty for most answers."""
        return self.statistic.notes

    @property
    def cost(self) -> str:
        """The cost, in one line."""
        return f"{self.priced}; {self.left:.1%} is left"

    def __repr__(self) -> str:
        # ``_shown_with_rows`` has the condition already, so the question is shown without it.
        cost = f"{self.priced.draft.question}: {self.priced.price}; {self.left:.1%} is left"
        return f"<{self.statistic._shown_with_rows()}; {cost}>"

    def _repr_html_(self) -> str:
        """Return the reply for a notebook: its numbers, which rows they are about, and what they cost."""
        about = [] if self.which_rows is None else [f"from {self.which_rows}"]
        cost = f"{self.priced.price}; {self.left:.1%} is left"
        rows = self.statistic._notebook_rows()
        notes = [*about, *self.statistic._describe_intervals(rows), cost]
        return format_html(self.priced.draft.question, rows, notes)
