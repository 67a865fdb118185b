"""Measurements that were paid in advance: a schedule of losses, or the numbers of a stream.

A ``Schedule`` is the right to measure a fixed list of losses, each once and in order. The questions may be chosen
adaptively. The costs were fixed when the schedule was reserved, so its exact composition holds.

A ``StreamMechanism`` is paid once too, and its numbers are drawn one by one, as they become known. Its cost, which
holds for numbers that depend on earlier releases, is proved beside its question (``queries.series.stream_sums``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door.exit import release
from discreet.door.release import Release
from discreet.guarantees import Loss
from discreet.guarantees.loss import as_counts
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Question
from discreet.queries.series.stream_sums import StreamSums

if TYPE_CHECKING:
    from discreet.door.curator import Curator


class Prepaid:
    """The right to draw what was paid for, in this process only: no copy and no other process may draw it again."""

    thing: ClassVar[str]

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()

    def check_process(self) -> None:
        """Raise in another process: its copy could draw the same number twice."""
        if os.getpid() != self._process:
            raise RuntimeError(f"{self.thing} belongs to the process that paid for it; pay for one in this process")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out other threads; raise in another process, where the lock might never be released."""
        self.check_process()
        with self._lock:
            yield

    def __copy__(self) -> Any:
        raise TypeError(f"{self.thing} cannot be copied: two copies could draw the same number twice")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce__(self) -> str:
        raise TypeError(f"{self.thing} cannot be pickled: two copies could use what was paid for twice")


class Schedule(Prepaid):
    """The remaining losses of a reservation. Creating one pays for it; use ``Curator.reserve``."""

    thing = "a schedule"

    def __init__(self, curator: Curator, losses: Loss | Iterable[Loss], query: str) -> None:
        super().__init__()
        counts = as_counts(losses)  # a mapping of losses to counts is expanded in its own order
        schedule = tuple(losses) if isinstance(losses, Sequence) else tuple(counts.elements())
        for loss in schedule:
            if loss.neighbors is not curator.neighbors:
                raise ArgumentError(
                    "losses", UNSHOWN, f"losses under {curator.neighbors}, the curator's relation; got {loss!r}"
                )
        self._recorded = curator._charge("reserve", schedule, query)
        self._curator = curator
        self._left = list(schedule)

    @property
    def curator(self) -> Curator:
        """The curator that paid."""
        return self._curator

    @property
    def left(self) -> tuple[Loss, ...]:
        """The unused losses, the next one first."""
        return tuple(self._left)

    def take(self, losses: Sequence[Loss]) -> bool:
        """Use up the next losses for a caller that measures them, and return whether a ledger has recorded them."""
        with self.lock():
            if tuple(self._left[: len(losses)]) != tuple(losses):
                raise ArgumentError("losses", UNSHOWN, "those that the schedule has next; reserve another one")
            del self._left[: len(losses)]
        return self._recorded

    def pay(self, plan: Callable[[Any], Plan]) -> tuple[Plan, bool]:
        """Plan at the next loss and use it up; each loss is used once, by one thread."""
        with self.lock():
            if not self._left:
                raise ValueError("losses: the schedule is used up; reserve another one")
            result = plan(self._left[0])
            if result.loss != self._left[0]:
                raise ValueError(
                    f"the question costs {result.loss!r}, expected the {self._left[0]!r} that was reserved"
                )
            self._left.pop(0)
        return result, self._recorded

    def measure(self, query: Question, *, mechanism: Mechanism | None = None, bits: Bits | None = None) -> Release:
        """Measure a query at the next loss of the schedule."""
        return release(self._curator, query, self, mechanism=mechanism, bits=bits)

    def __repr__(self) -> str:
        return f"<Schedule of {self._curator.name or 'unnamed data'}: {len(self._left)} losses left>"

    def __copy__(self) -> Schedule:
        return self

    def __deepcopy__(self, memo: object) -> Schedule:
        return self


class StreamMechanism(Prepaid):
    """The right to draw the numbers of a stream, one after the other. Creating one pays for all of them.

    Parameters
    ----------
    curator : Curator
        The curator that pays; it need not have rows.
    question : StreamSums
    loss : Loss
        A Gaussian loss, for all numbers together.
    bits : Bits, optional
        Seeded bits, for tests.
    """

    thing = "a stream"

    def __init__(self, curator: Curator, question: StreamSums, loss: Loss, *, bits: Bits | None = None) -> None:
        super().__init__()
        self._curator, self._question, self._bits = curator, question, bits
        self._plan = curator.plan(question, loss, bits=bits)
        self._recorded = curator.reserve([loss], query=question.name).take([loss])
        self._left = question.numbers

    @property
    def noise(self) -> NoiseDistribution:
        """The noise of each number."""
        assert self._plan.noise is not None
        return self._plan.noise

    @property
    def recorded(self) -> bool:
        """Whether a ledger has recorded it."""
        return self._recorded

    @property
    def seeded(self) -> bool:
        """Whether the noise comes from a seed, so that there is no guarantee."""
        return self._bits is not None and not self._bits.private

    @property
    def left(self) -> int:
        """How many numbers may still be drawn."""
        return self._left

    def check(self) -> None:
        """Raise where no more numbers may be drawn; uses public facts only."""
        self.check_process()
        if not self._left:
            raise ValueError("size: all numbers that were paid for are drawn; pay for another mechanism")

    def pay(self, plan: Callable[[Any], Plan]) -> tuple[Plan, bool]:
        """Use up one of the paid numbers, and return the plan for all of them."""
        with self.lock():
            self.check()
            self._left -= 1
        return self._plan, self._recorded

    def draw(self, value: float) -> Release:
        """Return the next number with noise. Its ``loss`` is that of all numbers together."""
        given: Any = value
        if not isinstance(given, Real):
            raise ArgumentError("value", UNSHOWN, "a number; nothing was drawn")
        return release(self._curator, self._question, self, bits=self._bits, records=given)

    def __repr__(self) -> str:
        return f"<Stream mechanism of {self._curator.name or 'unnamed data'}: {self._left} numbers left>"
