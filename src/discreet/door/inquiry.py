"""Inquiries and answers: planned questions to a curator with their cost, and the results computed from the releases.

Every public function that spends budget is defined by an ``Inquiry``. A function under ``planned`` returns an inquiry,
which has the questions and their losses. Calling the decorated function pays and measures. ``f.plan(…)``, with the same
arguments, only returns the inquiry: it uses public numbers, spends nothing, reads no row, and raises every refusal.

An ``Answer`` is a public number with the releases that it was computed from and their total cost.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, Generic, ParamSpec, Protocol, Self, TypeVar

from discreet.door.curator import Curator
from discreet.door.release import Release, describe_guarantee, describe_rows_of_releases
from discreet.door.schedule import Schedule
from discreet.guarantees import Guarantee, Loss
from discreet.ledger.unanswered import answering
from discreet.noise import Bits
from discreet.notebook import format_html
from discreet.queries.question import Question


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A public number, or several, and the guarantee for it.

    ``float(answer)`` and ``f"{answer:.2f}"`` are those of a single number.

    Attributes
    ----------
    value : float or array
    guarantee : Guarantee or None
        The total cost; None where seeded noise made it void.
    unit : str
        The unit that it protects: ``"row"``, or for example ``"each patient"``.
    releases : tuple of Release
        All measurements behind the value.
    """

    value: Any
    guarantee: Guarantee | None
    unit: str
    releases: tuple[Release, ...]

    _from: ClassVar[str] = "from"

    @classmethod
    def from_releases(
        cls, value: Any, curator: Curator, guarantee: Guarantee, releases: Sequence[Release], **more: Any
    ) -> Self:
        """Return an answer that was computed from these releases, whose total cost is the guarantee."""
        void = any(release.provenance == "simulated" or release.mechanism == "approximate" for release in releases)
        return cls(value, None if void else guarantee, curator.unit, tuple(releases), **more)

    @property
    def release(self) -> Release:
        """The release that the value was computed from; the last one of several."""
        return self.releases[-1]

    @property
    def which_rows(self) -> str | None:
        """Which rows it is about, in words ("at most 4 rows of each patient"); None where it is about all of them."""
        return describe_rows_of_releases(self.releases)

    def _shown(self) -> str:
        return f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)

    def _shown_with_rows(self) -> str:
        """Return the value, with a description of the rows where it is not about all of them."""
        rows = self.which_rows
        return self._shown() if rows is None else f"{self._shown()}, {self._from} {rows}"

    def __repr__(self) -> str:
        return f"<{self._shown_with_rows()}: {self._cost}>"

    @property
    def _cost(self) -> str:
        return describe_guarantee(self.guarantee, self.unit, self.releases)

    def __float__(self) -> float:
        if not isinstance(self.value, Real):
            size = getattr(self.value, "size", None)
            has = "another value" if size is None else f"{size} of them"
            raise TypeError(f"answer: expected a single number, and it has {has}; write answer.value")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(self.value if isinstance(self.value, str) else float(self), spec)

    def _repr_html_(self) -> str:
        """Return the answer for a notebook: its numbers, which rows they are about, and what they cost."""
        rows = self._notebook_rows()
        about = "" if self.which_rows is None else f"{self._from} {self.which_rows}"
        return format_html("" if rows else self._shown(), rows, [*filter(None, [about]), self._cost])

    def _notebook_rows(self) -> list[dict[str, Any]]:
        """Return the rows of a table for notebooks; empty where the value is shown as text."""
        return []


Result = TypeVar("Result", covariant=True)
Arguments = ParamSpec("Arguments")
Measure = Callable[[Question], Release]


@dataclass(frozen=True, repr=False)
class Inquiry(Generic[Result]):
    """Planned questions to a curator, with their losses. Creating one checks that all of them can be measured.

    Attributes
    ----------
    curator : Curator
    guarantee : Guarantee
        The total cost.
    asked : iterable of (Question, Loss)
        The questions in order. A question that depends on earlier releases is represented by a similar one.
    answer : callable
        From a function that measures a question, called once for each loss and in their order, to the result.
    name : str or None
        The name of the reservation in the ledger; None for a single question, which is recorded under its own name.
    bits : Bits or None
    """

    curator: Curator
    guarantee: Guarantee
    asked: Iterable[tuple[Question, Loss]]
    answer: Callable[[Measure], Result]
    name: str | None = None
    bits: Bits | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", tuple(self.asked))
        distinct = {(id(question), loss): question for question, loss in self.asked}
        for (_, loss), question in distinct.items():  # refuse before anything is spent
            self.curator.plan(question, loss, bits=self.bits)

    @classmethod
    def of_one(
        cls,
        curator: Curator,
        guarantee: Guarantee,
        question: Question,
        answer: Callable[[Release], Result],
        *,
        loss: Loss | None = None,
        bits: Bits | None = None,
    ) -> Inquiry[Result]:
        """Return an inquiry of one question, by default at the loss that spends the whole guarantee on it."""
        asked = [(question, question.default_loss(guarantee) if loss is None else loss)]
        return cls(curator, guarantee, asked, lambda measure: answer(measure(question)), bits=bits)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses that the ledger would record."""
        return tuple(loss for _, loss in self.asked)

    def __repr__(self) -> str:
        what = self.name or next(question.name for question, _ in self.asked)
        many = f"{len(self.losses)} release{'s' if len(self.losses) > 1 else ''}"
        of = self.curator.name or "unnamed data"
        return f"<Inquiry: {what}, {many} of {of}, at {self.guarantee} for {self.curator.unit}; nothing is spent yet>"

    def run(self, paid: Schedule | None = None) -> Result:
        """Pay for everything at once, measure, and return the result; ``paid`` is a schedule that was paid before."""
        curator = self.curator.stating(self.guarantee) if paid is None else self.curator.paid_by(paid)
        if self.name is None:
            (loss,) = self.losses
            return self.answer(lambda question: curator.measure(question, loss, bits=self.bits))
        with answering():
            schedule = curator.reserve(self.losses, query=self.name)
            return self.answer(lambda question: schedule.measure(question, bits=self.bits))


class PlannedFunction(Protocol[Arguments, Result]):
    """A function that measures; its ``plan`` only returns the inquiry."""

    __name__: str

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Pay, measure and return the result."""

    def plan(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Inquiry[Result]:
        """Return the inquiry; nothing is spent."""


def planned(plan: Callable[Arguments, Inquiry[Result]]) -> PlannedFunction[Arguments, Result]:
    """Return a function that runs what ``plan`` returns, with the same signature and documentation.

    >>> from discreet import statistics
    >>> statistics.mean.plan([20.0, 35.0], epsilon=0.5, bounds=(0, 120)).losses
    (LaplaceLoss(epsilon=0.5, neighbors=<Neighbors.REPLACE_ONE: 'replace-one'>),)
    """

    @wraps(plan)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return plan(*args, **kwargs).run()

    @wraps(plan)
    def only_plan(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Inquiry[Result]:
        return plan(*args, **kwargs)

    signature = inspect.signature(plan)
    result = str(signature.return_annotation).partition("[")[2].removesuffix("]")  # of Inquiry[Mean]
    both: tuple[Any, Any] = (run, only_plan)
    for function, returned in zip(both, (result, f"Inquiry[{result}]"), strict=True):
        function.__annotations__ = plan.__annotations__ | {"return": returned}
        function.__signature__ = signature.replace(return_annotation=returned)
    only_plan.__doc__ = (
        f"Return the questions and losses of ``{plan.__name__}`` with these arguments, as an ``Inquiry``.\n\n"
        "Nothing is spent and no row is read; what would be refused is refused here. Its method ``run()`` pays and "
        "measures, each time that it is called."
    )
    both[0].plan = only_plan
    planned_function: PlannedFunction[Arguments, Result] = both[0]
    return planned_function
