"""Requests for statistics, checked against the declared columns, and the registry of all statistics.

A statistic consists of a request class, and of a function under ``@statistic`` that makes a request from a user's
arguments. The class checks everything against what is declared. Its ``losses`` are computed from the guarantee alone,
so the price is known without asking anything. Its ``plan`` returns the questions, and how to compute the answer from
their releases. Users call the decorated function. ``STATISTICS`` offers it to the database, its drafts, the command
line and the audit.

All decisions here follow from public facts: which columns were named, and how they were declared.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, ClassVar, Generic, ParamSpec, Self, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, integer, iterable, positive, probability
from discreet.door import Curator, open_rows
from discreet.door.inquiry import Inquiry, Measure, PlannedFunction, planned
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.noise import Bits
from discreet.queries.adaptors import OfColumns, Weighted, column_limits
from discreet.queries.counts.grids import Grid
from discreet.queries.question import Query, Question, additive_loss
from discreet.records import Ball, Box, Records
from discreet.records.declared.bounds import is_pair
from discreet.records.given_data import is_array
from discreet.scales import ColumnScale, place_of
from discreet.statistics.groups import By, Groups, ask_groups, name_groups

GUESSED_ROWS = 1000


def planning_rows(curator: Curator, rows: int | None) -> int:
    """Return a public number of rows to plan with: the caller's guess, the true number if public, or 1000."""
    if rows is not None:
        return integer("rows", rows, least=1, most=2**50)
    return max(GUESSED_ROWS if curator.size.units is None else curator.size.units, 1)


def noise_variance(curator: Curator, query: Query, loss: Loss) -> float:
    """Return the variance of the noise on one number of a query, from public numbers; nothing is spent."""
    noise = curator.plan(query, loss).noise
    assert noise is not None  # every sum over rows has additive noise
    return noise.variance


def log_error(inquiry: Inquiry[Any]) -> float:
    """Return the mean logarithm of the variance of the noise over the questions of an inquiry, from public numbers.

    The noise is that on the part with the largest weight, as a release shows it. A question that selects, without
    additive noise, counts with 1/ε².

    >>> from discreet import statistics
    >>> plans = [statistics.count.plan([1.0], epsilon=1.0, delta=delta, bounds=(0, 1), neighbors="add-remove")
    ...          for delta in (0.0, 1e-6)]
    >>> [round(math.exp(log_error(plan) / 2), 2) for plan in plans]  # Laplace noise is smaller, and is taken
    [1.41, 1.41]
    """
    errors: dict[tuple[int, Loss], float] = {}
    for question, loss in inquiry.asked:
        if (id(question), loss) not in errors:
            noise = inquiry.curator.plan(question, loss, bits=inquiry.bits).noise
            parts = question.parts.values() if isinstance(question, Query) else ()
            weight = max((part.weight for part in parts), default=1.0)
            spread = 1.0 / loss.pure**2 if noise is None else noise.variance / weight**2
            errors[id(question), loss] = math.log(spread)
    return math.fsum(errors[id(question), loss] for question, loss in inquiry.asked) / len(inquiry.losses)


def check_scale(curator: Curator, place: int) -> ColumnScale:
    """Return the scale of a column of numbers; raise where floats cannot represent statistics within its bounds.

    Floats must hold the squares of its values, and there must be distinct floats between its bounds.
    """
    low, high = column_limits(curator.space, place)
    size = max(abs(low), abs(high))
    if not (size <= 1e100 and high - low >= max(1e-8 * size, 1e-100)):
        raise ValueError(
            f"bounds of {curator.columns[place]!r}: expected numbers of at most 1e100 in size, apart by 1e-100 and by "
            f"1e-8 of their size or more, got {low!r} and {high!r}; shift or scale the column"
        )
    return ColumnScale(curator.columns[place], curator.scales[place], low, high)


def grid_query(space: Box | Ball, columns: Sequence[int], bins: Sequence[int]) -> Query:
    """Return the query that counts the rows in each cell of a grid, with this many equal bins per column.

    >>> grid_query(Box([0.0, 0.0], [1.0, 8.0]), [1], [4]).parts["counts"].shape
    (4,)
    """
    low, high = zip(*(column_limits(space, column) for column in columns), strict=True)
    return OfColumns(Grid(Box(low, high), list(bins)), space, tuple(columns))


Array = NDArray[np.float64]
Result = TypeVar("Result", covariant=True)
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, kw_only=True)
class Request(ABC, Generic[Result]):
    """A checked request for a statistic, at a guarantee.

    Attributes
    ----------
    curator : Curator
        A view of the columns that are needed.
    guarantee : Guarantee
        What all releases cost together.
    bits : Bits or None
    """

    curator: Curator
    guarantee: Guarantee
    bits: Bits | None

    pure: ClassVar[bool] = False  # True for exponential mechanisms, which are pure ε and do not use δ

    def __post_init__(self) -> None:
        """Raise where the request does not fit the columns."""

    @staticmethod
    def open(
        data: Any, names: Sequence[Any], epsilon: float, delta: float, declared: Mapping[str, Any]
    ) -> tuple[Curator, Guarantee]:
        """Return a curator of the rows, and the guarantee of the request.

        A single pair of bounds, given together with names of a table's columns, declares those columns alone.
        """
        budget, failure = positive("epsilon", epsilon), probability("delta", delta)
        table = not (isinstance(data, Curator | Records | list | tuple) or is_array(data))
        if table and names and all(isinstance(name, str) for name in names) and is_pair(declared.get("bounds")):
            declared = {**declared, "bounds": dict.fromkeys(names, declared["bounds"])}
        curator = open_rows(data, **declared)
        return curator, Guarantee(budget, failure, curator.neighbors)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of each release, computed from the guarantee alone; by default one release with additive noise."""
        return (additive_loss(self.guarantee),)

    @abstractmethod
    def plan(self) -> Inquiry[Result]:
        """Return the questions to ask and how to answer from their releases; nothing is spent."""

    def plan_with_less_noise(self) -> Inquiry[Result]:
        """Return the plan at (ε, δ), or at (ε, 0) if Laplace noise is smaller than Gaussian noise.

        It is a public choice, by ``log_error``. Where there is a ledger, δ means Gaussian noise: Gaussian losses add up
        in squares there, and a pure ε is expensive among them.
        """
        given = self.plan()
        if self.pure or not self.guarantee.delta or self.curator.ledger is not None:
            return given
        try:
            laplace = replace(self, guarantee=replace(self.guarantee, delta=0.0)).plan()
        except ValueError:  # a method that takes Gaussian noise only
            return given
        return laplace if log_error(laplace) < log_error(given) else given

    def make_inquiry(
        self, questions: Iterable[Question], answer: Callable[[Measure], Result], name: str | None = None
    ) -> Inquiry[Result]:
        """Return an inquiry that asks these questions, each at its loss in ``losses``."""
        asked = zip(questions, self.losses, strict=True)
        return Inquiry(self.curator, self.guarantee, asked, answer, name, self.bits)


@dataclass(frozen=True, kw_only=True)
class ColumnRequest(Request[Result]):
    """A request about columns of numbers.

    Attributes
    ----------
    places : tuple of int
        The indices of the numeric columns.
    scales : tuple of ColumnScale
        The scale and the bounds of each column.
    single : bool
        Whether one column was named, or there is only one; then the answer has no axis of columns.
    groups : Groups or None
        The groups, each with an answer of its own.
    weights : (int, float) or None
        The index of the column of weights, and the largest weight.
    """

    places: tuple[int, ...]
    scales: tuple[ColumnScale, ...]
    single: bool
    groups: Groups | None
    weights: tuple[int, float] | None

    argument: ClassVar[str] = "columns"  # its name in errors; "column" where one of several must be named
    one: ClassVar[bool] = False  # whether it takes a single column

    @classmethod
    def from_columns(
        cls,
        data: Any,
        columns: Any,
        epsilon: float,
        delta: float,
        declared: Mapping[str, Any],
        bits: Bits | None,
        by: By | None = None,
        weights: str | int | None = None,
        **more: Any,
    ) -> Self:
        """Make a request from the arguments of a statistic; raise where they do not fit the declared columns."""
        given = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, list | tuple) else []
        curator, guarantee = cls.open(data, given, epsilon, delta, declared)
        if curator.space is None:
            raise ArgumentError("columns", UNSHOWN, "at least one column of numbers; the schema declares none")
        weighed = None if weights is None else curator.columns[place_of("weights", weights, curator.columns)]
        named, single = cls._choose_columns(curator, columns, weighed)
        grouping = name_groups(by, curator)
        curator = curator.only([name for name in (*named, weighed, *grouping) if name is not None])
        places = tuple(curator.columns.index(name) for name in named)
        return cls(
            curator=curator,
            guarantee=guarantee,
            bits=bits,
            places=places,
            scales=tuple(check_scale(curator, place) for place in places),
            single=single,
            groups=Groups.of(grouping, curator),
            weights=None if weighed is None else check_weights(curator, weighed),
            **more,
        )

    @classmethod
    def _choose_columns(cls, curator: Curator, columns: Any, weighed: str | None) -> tuple[list[str], bool]:
        """Return the names of the chosen columns, and whether the answer is about a single one."""
        if columns is None:
            named = [name for name in curator.columns if name != weighed]
            single = len(named) == 1
        else:
            single = isinstance(columns, str) or not iterable(columns)
            several = [columns] if single else list(columns)
            for name in several:
                if isinstance(name, str) and name in curator.category_columns:
                    raise ArgumentError(
                        cls.argument,
                        name,
                        "a column of numbers, and this one has categories",
                        write=f"histogram to count them, by={name!r} for groups, or declare it as a Number",
                    )
            named = [curator.columns[place_of(cls.argument, name, curator.columns)] for name in several]
        if not named or len(set(named)) != len(named):
            raise ArgumentError(cls.argument, columns, "at least one column, each once")
        if len(named) > 1 and (cls.one or (columns is None and cls.argument == "column")):
            raise ArgumentError(cls.argument, columns, f"one of {', '.join(map(repr, named))}")
        return named, single

    @cached_property
    def box(self) -> Box:
        """The declared bounds of the columns."""
        return Box([scale.low for scale in self.scales], [scale.high for scale in self.scales])

    @property
    def rows(self) -> int | None:
        """The number of rows that count, if it is public and there are neither weights nor groups; else None."""
        return self.curator.size.rows if self.groups is None and self.weights is None else None

    def query(self, query: Query, places: Sequence[int] | None = None) -> Query:
        """Adapt a query over the columns to whole rows, with weights and groups."""
        asked: Query = OfColumns(query, self.curator.space, tuple(self.places if places is None else places))
        if self.weights is not None:
            asked = Weighted(asked, *self.weights)
        return ask_groups(self.groups, asked)

    def additive_losses(self, share: float, number: int = 1) -> tuple[Loss, ...]:
        """Return equal losses for sums that together cost a share of ε and δ: Laplace if δ = 0, else Gaussian."""
        epsilon, delta, relation = share * self.guarantee.epsilon, self.guarantee.delta, self.guarantee.neighbors
        if not delta:
            return (LaplaceLoss(epsilon / number, relation),) * number
        return calibrate(Guarantee(epsilon, delta, relation), [GaussianLoss(1.0, relation)] * number).losses

    def selection_losses(self, share: float, number: int = 1) -> tuple[BoundedRangeLoss, ...]:
        """Return equal losses for exponential mechanisms that together cost a share of ε."""
        return (BoundedRangeLoss(share * self.guarantee.epsilon / number, self.guarantee.neighbors),) * number


def check_weights(curator: Curator, name: str) -> tuple[int, float]:
    """Return the index of the column of weights, and the largest weight."""
    place = curator.columns.index(name)
    if curator.scales[place] != "linear":
        raise ArgumentError(
            "weights",
            name,
            "a column of plain numbers, and this one has "
            f"{'dates' if curator.scales[place] == 'date' else 'a log scale'}; declare it as Number(0, most)",
        )
    low, high = column_limits(curator.space, place)
    if low < 0.0 or high <= 0.0:
        raise ArgumentError("weights", name, "a column declared from 0, or more, to a largest weight")
    return place, high


def reshape_values(values: Array, *, grouped: bool, single: bool) -> Any:
    """Drop the axis of groups or columns from values of shape (groups, columns), where the answer has none."""
    values = values if grouped else values[0]
    return unwrap(values[..., 0] if single else values)


def unwrap(values: Any) -> Any:
    """Return an array as it is, and a zero-dimensional one as a float."""
    return values if np.ndim(values) else float(values)


@dataclass(frozen=True)
class RegisteredStatistic:
    """A statistic of the registry.

    Attributes
    ----------
    function : callable
        The function that users call.
    request : callable
        Takes the same arguments and returns a ``Request``.
    example : mapping
        Values for the statistic's own required arguments, for the audit and the tests.
    """

    function: Any
    request: Callable[..., Request[Any]]
    example: Mapping[str, Any]

    @property
    def result(self) -> type:
        """The class of the answers."""
        answers: type = get_args(get_type_hints(self.request)["return"])[0]
        return answers

    @property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """The parameters other than the rows, their declarations, the cost and the bits; the columns come first."""
        given = inspect.signature(self.request).parameters.values()
        own = [one for one in given if one.name not in ("data", "epsilon", "delta", "bits", "declared")]
        return tuple(sorted(own, key=lambda one: (one.kind, one.name not in ("rows", "column", "columns"))))


STATISTICS: dict[str, RegisteredStatistic] = {}
UNKNOWN = {  # what to write in place of an argument that only some statistics have
    "by": "has no groups; ask about one group at a time: where=\"ward == 'surgery'\" of a StatisticalDatabase, or "
    "curator.where(…)",
    "weights": "takes no weights; ask for one that does, such as mean, proportion or quantiles",
    "population": "takes no population=True; interval(level, of='population') says whether its releases allow it",
}


def explain_unknown(name: str, argument: str, taken: Iterable[str]) -> str:
    """Return the message about an argument that a statistic does not have.

    >>> explain_unknown("density", "weights", ["column"])
    'weights: density takes no weights; ask for one that does, such as mean, proportion or quantiles'
    """
    if argument == "by" and "between" in taken:
        return f"by: {name} compares groups; write between=[…] with all the columns that define them"
    if argument in UNKNOWN:
        return f"{argument}: {name} {UNKNOWN[argument]}"
    return f"{argument}: not an argument of {name}, which takes {', '.join(taken)}"


def statistic(
    **example: Any,
) -> Callable[[Callable[Arguments, Request[Result]]], PlannedFunction[Arguments, Result]]:
    """Return a decorator that turns a request-making function into a statistic and registers it.

    The statistic has the name of that function. ``example`` has a value for each of its own required arguments.
    """

    def register(request: Callable[Arguments, Request[Result]]) -> PlannedFunction[Arguments, Result]:
        taken = inspect.signature(request).parameters

        @wraps(request)
        def plan(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Inquiry[Result]:
            for argument in UNKNOWN:
                if argument in kwargs and argument not in taken:
                    raise TypeError(explain_unknown(request.__name__, argument, taken))
            return request(*args, **kwargs).plan_with_less_noise()

        function = planned(plan)
        STATISTICS[function.__name__] = RegisteredStatistic(function, request, example)
        return function

    return register
