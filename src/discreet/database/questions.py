"""The questions of a database: a method for each registered statistic, answered now or drafted for later."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

from discreet.arguments import ArgumentError, format_value, iterable, one_of, positive
from discreet.statistics import Statistic
from discreet.statistics.groups import By
from discreet.statistics.request import STATISTICS, RegisteredStatistic, explain_unknown

Returned = TypeVar("Returned")  # what the methods return: an answer, or a draft

QUESTIONS: dict[str, RegisteredStatistic] = {
    name: one for name, one in STATISTICS.items() if issubclass(one.result, Statistic)
}


@dataclass(frozen=True, repr=False)
class Draft:
    """A question that has not been asked.

    Attributes
    ----------
    statistic : str
        The name of a function of ``discreet.statistics``.
    arguments : mapping
        Its own arguments.
    where : str or None
        The condition on the rows.
    epsilon, share : float or None
        What it may cost; the database's default share where both are None.
    scales : mapping of str to str
        The scales of columns that are not linear, for the description: the mean of a log column is geometric, and its
        spread is that of the logarithms. A database fills it in.
    """

    statistic: str
    arguments: Mapping[str, Any]
    where: str | None = None
    epsilon: float | None = None
    share: float | None = None
    scales: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.statistic, str) or self.statistic not in QUESTIONS:
            raise ArgumentError("statistic", self.statistic, f"one of {', '.join(QUESTIONS)}")
        if not isinstance(self.scales, Mapping):
            raise ArgumentError("scales", self.scales, "a mapping of columns to their scales")
        if not isinstance(self.arguments, Mapping):
            raise ArgumentError("arguments", self.arguments, "a mapping of names to values")
        if self.epsilon is not None and self.share is not None:
            expected = "one of them, not both: each says what the answer costs"
            raise ArgumentError(("epsilon", "share"), (self.epsilon, self.share), expected)
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)
        if self.share is not None:
            check_share(self.share)
        if self.where is not None and not isinstance(self.where, str):
            raise ValueError(f'where of type {type(self.where).__name__}: expected text; write where="age >= 18"')
        # Arrays, indexes and iterators become lists, which can be read more than once.
        object.__setattr__(self, "arguments", {name: _as_list(value) for name, value in self.arguments.items()})

    @property
    def description(self) -> str:
        """The question in words, with its condition."""
        return self.question if self.where is None else f"{self.question} where {self.where}"

    @property
    def question(self) -> str:
        """The question in words, without its condition."""
        table = {"rows", "columns"} <= self.arguments.keys()  # of others, "rows" is a number
        places = ("time",) if "time" in self.arguments else ("rows", "columns") if table else ("column", "columns")
        names = [name for place in places for name in self._names(place)]
        of, values = self.arguments.get("of"), self.arguments.get("values")
        if of is not None:
            names = [f"{name} {'in' if isinstance(of, list) else '=='} {of!r}" for name in names]
        logs = [name for name in names if self.scales.get(name) == "log"]
        result: type[Statistic] = QUESTIONS[self.statistic].result
        question = result._describe(self.statistic.replace("_", " "), names, logs)
        question += "" if values is None else f" with means of {values}"
        others = {word: ", ".join(self._names(word)) for word in ("by", "between", "over")}
        return question + "".join(f" {word} {named}" for word, named in others.items() if named)

    def _names(self, argument: str) -> list[str]:
        """Return the columns that an argument names."""
        given = self.arguments.get(argument)
        several = [] if given is None else given if isinstance(given, list) else [given]
        return [one if isinstance(one, str) else format_value(one) for one in several]

    def __repr__(self) -> str:
        return f"<Draft: {self.description}>"


def _as_list(value: Any) -> Any:
    """Return an iterable as a list, a mapping with lists, and any other value or text unchanged."""
    if isinstance(value, Mapping):
        return {name: _as_list(one) for name, one in value.items()}
    if isinstance(value, str | bytes) or not iterable(value):
        return value
    return value.tolist() if hasattr(value, "tolist") else list(value)


def check_share(share: Any) -> float:
    """Return a share of the budget as a float; raise where it is not above 0 and at most 1."""
    accepted = "a share of the budget, above 0 and at most 1, for example 0.1 for a tenth"
    return positive("share", share, accepted=accepted, below=math.nextafter(1.0, math.inf))


class CostArguments(TypedDict, total=False):
    """What a question may cost; see ``Questions``."""

    epsilon: float | None
    share: float | None


class RowArguments(CostArguments, total=False):
    """Which rows a question is about, and what it may cost; see ``Questions``."""

    where: str | None


class ColumnArguments(RowArguments, total=False):
    """What questions about columns take beside them; see ``Questions``."""

    by: By | None
    weights: str | None


class EndArguments(ColumnArguments, total=False):
    """What questions about ends take beside their column; see ``Questions``."""

    step: float | None
    interval: float | None


class RankArguments(EndArguments, total=False):
    """What questions about quantiles take beside their column; see ``Questions``."""

    interval_kind: str


class Questions(ABC, Generic[Returned]):
    """The questions of a statistical database: those of ``discreet.statistics`` whose answers are tables of numbers.

    Their common arguments:

    columns : str or list of str
        One column, or several.
    by : str or list of str
        Declared columns of categories: an answer for each combination of their categories, also for one without rows.
    weights : str
        A declared column of non-negative weights.
    step : float
        For quantiles: the step of the values (1 for whole years).
    interval : float or None
        For quantiles: the level of the intervals that are drawn along with them, 0.95 by default. With None the
        quantiles use all of the cost, and have no intervals.
    where : str
        A condition on declared columns: ``"age >= 18 and smoker == 1"``, ``"ward in ['a', 'b']"``; see
        ``discreet.records.Condition``. Where a person has several rows, it selects among the rows that count.
    epsilon : float
        What the answer costs by itself, at the δ of the budget (for quantiles at δ = 0).
    share : float
        In place of ``epsilon``: the share of the budget that the question takes, above 0 and at most 1. By default the
        database's own ``share``.
    """

    @abstractmethod
    def _ask(self, draft: Draft) -> Returned:
        """Answer a question, or return its draft."""

    if not TYPE_CHECKING:  # or it would have every attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says what can be asked."""
            known = "" if name.startswith("_") else f": expected {one_of(name, sorted(QUESTIONS))}"
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{known}")

    if TYPE_CHECKING:  # stubs of the methods that ``_method`` makes from the registry

        def count(self, *, by: By | None = None, **request: Unpack[RowArguments]) -> Returned:
            """Return the number of rows (within the limit of a person), or of those that meet a condition."""

        def sum(self, columns: Any, **request: Unpack[ColumnArguments]) -> Returned:
            """Return sums of columns."""

        def mean(
            self, columns: Any, *, loose: bool = False, population: bool = False, **request: Unpack[ColumnArguments]
        ) -> Returned:
            """Return means of columns; geometric means for columns on a log scale."""

        def trimmed_mean(
            self, column: str, *, trim: float = 0.1, weights: str | None = None, **request: Unpack[RowArguments]
        ) -> Returned:
            """Return the mean of the middle of a column, without a share ``trim`` of the rows at each end."""

        def variance(
            self,
            columns: Any,
            *,
            method: str = "one-shot",
            population: bool = False,
            **request: Unpack[ColumnArguments],
        ) -> Returned:
            """Return variances of columns."""

        def covariance(
            self,
            columns: Sequence[str],
            *,
            method: str = "one-shot",
            population: bool = False,
            **request: Unpack[ColumnArguments],
        ) -> Returned:
            """Return the covariance matrix of columns."""

        def std(
            self,
            columns: Any,
            *,
            method: str = "one-shot",
            population: bool = False,
            **request: Unpack[ColumnArguments],
        ) -> Returned:
            """Return standard deviations of columns."""

        def correlation(
            self,
            columns: Sequence[str],
            *,
            method: str = "one-shot",
            population: bool = False,
            **request: Unpack[ColumnArguments],
        ) -> Returned:
            """Return the correlation matrix of columns."""

        def geometric_mean(
            self, columns: Any, *, population: bool = False, **request: Unpack[ColumnArguments]
        ) -> Returned:
            """Return geometric means of columns on a log scale, or with bounds above 0."""

        def proportion(self, column: str, *, of: Any = None, **request: Unpack[ColumnArguments]) -> Returned:
            """Return the share of rows that meet a condition, or have some categories of a column."""

        def mode(self, column: str, *, by: By | None = None, **request: Unpack[RowArguments]) -> Returned:
            """Return the most frequent category of a column."""

        def min(self, column: str, *, rows: int | None = None, **request: Unpack[EndArguments]) -> Returned:
            """Return a quantile near the smallest value of a column, as close to it as noise allows."""

        def max(self, column: str, *, rows: int | None = None, **request: Unpack[EndArguments]) -> Returned:
            """Return a quantile near the largest value of a column, as close to it as noise allows."""

        def median(self, column: str, **request: Unpack[RankArguments]) -> Returned:
            """Return the median of a column."""

        def quantile(self, column: str, q: float, **request: Unpack[RankArguments]) -> Returned:
            """Return the q-quantile of a column."""

        def quantiles(self, column: str, levels: Sequence[float], **request: Unpack[RankArguments]) -> Returned:
            """Return quantiles of a column."""

        def interquartile_range(self, column: str, **request: Unpack[RankArguments]) -> Returned:
            """Return the interquartile range of a column."""

        def histogram(
            self, column: Any, *, bins: Any = None, by: By | None = None, **request: Unpack[RowArguments]
        ) -> Returned:
            """Return how many rows have each category of a column, or a number in each bin, of one column or more."""

        def crosstab(
            self,
            rows: str,
            columns: str,
            values: str | None = None,
            *,
            bins: Any = None,
            by: By | None = None,
            **request: Unpack[RowArguments],
        ) -> Returned:
            """Return counts, or means of a column, in every combination of the cells of two columns."""

        def survival(
            self,
            time: str,
            event: str,
            *,
            by: By | None = None,
            occurred: Any = None,
            grid: Any = None,
            method: str = "actuarial",
            rows: int | None = None,
            **request: Unpack[RowArguments],
        ) -> Returned:
            """Return survival curves (Kaplan–Meier) of times until an event, or until rows are censored."""

        def log_rank(
            self,
            time: str,
            event: str,
            between: By,
            *,
            groups: Any = None,
            until: float | None = None,
            occurred: Any = None,
            grid: Any = None,
            method: str = "actuarial",
            rows: int | None = None,
            **request: Unpack[RowArguments],
        ) -> Returned:
            """Return the log-rank test of equal survival in groups, and differences of restricted mean times."""

        def difference(
            self,
            column: str,
            *,
            between: str,
            groups: Any = None,
            of: Any = None,
            by: By | None = None,
            **request: Unpack[RowArguments],
        ) -> Returned:
            """Return the difference of two groups in a mean, or in the share of a category, with a test."""

        def rank_test(
            self,
            column: str,
            *,
            between: str,
            groups: Any = None,
            bins: Any = None,
            by: By | None = None,
            **request: Unpack[RowArguments],
        ) -> Returned:
            """Return a rank test of two groups."""

        def chi_square(self, column: str, *, by: By, bins: Any = None, **request: Unpack[RowArguments]) -> Returned:
            """Return a test of independence of a column and groups."""

        def trend(
            self,
            column: str | None = None,
            *,
            over: str,
            bins: Any = None,
            per: str = "year",
            of: Any = None,
            by: By | None = None,
            **request: Unpack[RowArguments],
        ) -> Returned:
            """Return how fast a mean, a share or (with None) the number of rows changes over time, with a test."""

        def check_schema(self, **request: Unpack[CostArguments]) -> Returned:
            """Return how many of the rows that count each column's declaration drops, fills or clips."""

        def count_persons(self, **request: Unpack[CostArguments]) -> Returned:
            """Return how many persons have one row, how many up to ``max_rows`` rows, and how many more."""


def _method(name: str, statistic: RegisteredStatistic) -> Callable[..., Any]:
    """Return the method that asks for a statistic; it takes the statistic's arguments, a condition and the cost."""
    named = inspect.Parameter.KEYWORD_ONLY
    own = list(statistic.parameters)
    if "over" not in [one.name for one in own]:  # a trend without a column is that of the number of rows
        none = inspect.Parameter.empty
        own = [one.replace(default=none) if one.name in ("column", "columns") else one for one in own]
    types = {"where": "str | None", "epsilon": "float | None", "share": "float | None"}
    if not own:  # a check of the declaration, which is about all rows
        del types["where"]
    costs = [inspect.Parameter(one, named, default=None, annotation=kind) for one, kind in types.items()]
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([myself, *own, *costs])

    def ask(*args: Any, **kwargs: Any) -> Any:
        taken = [one for one in signature.parameters if one != "self"]
        for argument in kwargs:
            if argument not in taken:
                raise TypeError(explain_unknown(name, argument, taken))
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; it takes {', '.join(taken)}") from None
        given.apply_defaults()
        arguments = {one.name: given.arguments[one.name] for one in own}
        return given.arguments["self"]._ask(Draft(name, arguments, **{one: given.arguments[one] for one in types}))

    about = inspect.getdoc(statistic.function) or ""
    ask.__name__, ask.__qualname__ = name, f"Questions.{name}"
    ask.__doc__ = f"{about.splitlines()[0]}\n\nSee ``discreet.statistics.{name}``, and ``Questions`` for what it costs."
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


for _name, _statistic in QUESTIONS.items():
    setattr(Questions, _name, _method(_name, _statistic))


class Drafting(Questions[Draft]):
    """The questions of a database as drafts: each method returns a ``Draft`` and asks nothing."""

    def _ask(self, draft: Draft) -> Draft:
        return draft
