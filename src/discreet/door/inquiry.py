"""Inquiries and answers: what would be asked of a curator at what cost, and what was made of the releases.

Everything that spends is an ``Inquiry``. A function under ``planned`` says what it would ask and returns an inquiry. To
call it is to pay and to ask. ``f.plan(…)``, with the same arguments, only says what would be asked and at which losses:
from public numbers, nothing is spent, no row is read, and whatever would be refused is refused there.

An ``Answer`` is a public number with the releases that it was made from and all that they cost together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Generic, ParamSpec, Protocol, Self, TypeVar

from discreet.door.curator import Curator
from discreet.door.release import Release, describe_guarantee, describe_rows_of_releases
from discreet.door.schedule import Schedule
from discreet.guarantees import Guarantee, Loss
from discreet.noise import Bits
from discreet.queries.question import Question


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A public number, or several, and the guarantee for it.

    Attributes
    ----------
    value : float or array
    guarantee : Guarantee or None
        What all of it cost together; None where a seed made it void.
    unit : str
        For whom it holds: ``"row"``, or ``"each patient"``, say.
    releases : tuple of Release
        All that was measured for it.
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
        """Return the answer that was made from these releases of a curator, which cost the guarantee together."""
        void = any(release.provenance == "simulated" or release.mechanism == "approximate" for release in releases)
        return cls(value, None if void else guarantee, curator.unit, tuple(releases), **more)

    @property
    def release(self) -> Release:
        """The release that the value was read from: the last one, where several led to it."""
        return self.releases[-1]

    @property
    def which_rows(self) -> str | None:
        """Which rows it is about, in words ("at most 4 rows of each patient"); None where it is about all of them."""
        return describe_rows_of_releases(self.releases)

    def _shown(self) -> str:
        return f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)

    def _shown_with_rows(self) -> str:
        """Return the value and, where it is not about all rows, which it is about."""
        rows = self.which_rows
        return self._shown() if rows is None else f"{self._shown()}, {self._from} {rows}"

    def __repr__(self) -> str:
        return f"<{self._shown_with_rows()}: {describe_guarantee(self.guarantee, self.unit, self.releases)}>"


Result = TypeVar("Result", covariant=True)
Arguments = ParamSpec("Arguments")
Measure = Callable[[Question], Release]


@dataclass(frozen=True, repr=False)
class Inquiry(Generic[Result]):
    """Questions to a curator, with their losses; to make one is to check that all of them can be drawn.

    Attributes
    ----------
    curator : Curator
    guarantee : Guarantee
        What all of it costs together.
    asked : iterable of (Question, Loss)
        What is asked, in this order. Where a question depends on the releases before it, one that is like it.
    answer : callable
        From a way to measure questions, one for each loss and in their order, to the result.
    name : str or None
        What the ledger calls the reservation; None for one question, which is recorded as a spend by its own name.
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
        for (_, loss), question in distinct.items():  # what cannot be drawn is refused before anything is spent
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
        """Return an inquiry of one question, by default at the loss that spends the guarantee on it."""
        asked = [(question, question.default_loss(guarantee) if loss is None else loss)]
        return cls(curator, guarantee, asked, lambda measure: answer(measure(question)), bits=bits)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the ledger would record."""
        return tuple(loss for _, loss in self.asked)

    def __repr__(self) -> str:
        what = self.name or next(question.name for question, _ in self.asked)
        many = f"{len(self.losses)} release{'s' if len(self.losses) > 1 else ''}"
        of = self.curator.name or "unnamed data"
        return f"<Inquiry: {what}, {many} of {of}, at {self.guarantee} for {self.curator.unit}; nothing is spent yet>"

    def run(self, paid: Schedule | None = None) -> Result:
        """Pay for all of it at once, ask, and return the result; or take what a schedule has paid for already."""
        curator = self.curator if paid is None else self.curator.paid_by(paid)
        if self.name is None:
            (loss,) = self.losses
            return self.answer(lambda question: curator.measure(question, loss, bits=self.bits))
        schedule = curator.reserve(self.losses, query=self.name)
        return self.answer(lambda question: schedule.measure(question, bits=self.bits))


class PlannedFunction(Protocol[Arguments, Result]):
    """A function that asks; ``plan`` only says what it would ask."""

    __name__: str

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Pay, ask and return the result."""

    def plan(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Inquiry[Result]:
        """Return what would be asked; nothing is spent."""


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
        f"Return what ``{plan.__name__}`` would ask with these arguments, and at which losses.\n\n"
        "Nothing is spent and no row is read; what would be refused is refused here. ``run()`` of what is returned "
        "pays and asks, each time that it is called."
    )
    both[0].plan = only_plan
    planned_function: PlannedFunction[Arguments, Result] = both[0]
    return planned_function
