"""A schedule that has been paid for: the right to measure a fixed list of losses, each once and in order.

What is measured may be chosen adaptively; what it costs was fixed when the schedule was reserved, so its exact
composition holds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from discreet.door.passages import Passage
from discreet.door.question import Question
from discreet.door.release import Release
from discreet.guarantees import Loss
from discreet.guarantees.composition import as_counts
from discreet.noise import Bits

if TYPE_CHECKING:
    from discreet.door.curator import Curator

__all__ = ["Schedule"]


class Schedule:
    """The losses that are left of a reservation. To make one is to pay for it; ``Curator.reserve`` does."""

    def __init__(self, curator: Curator, losses: Loss | Iterable[Loss], query: str) -> None:
        counts = as_counts(losses)  # a mapping of losses to counts has no order, but one that a loop can follow
        schedule = tuple(losses) if isinstance(losses, Sequence) else tuple(counts.elements())
        for loss in schedule:
            if loss.neighbors is not curator.neighbors:
                raise ValueError(f"losses: expected losses under {curator.neighbors}, as the curator; got {loss!r}")
        self._recorded = curator._reserve(schedule, query)
        self._curator = curator
        self._left = list(schedule)
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def curator(self) -> Curator:
        """Who has paid for it."""
        return self._curator

    @property
    def left(self) -> tuple[Loss, ...]:
        """The losses not used yet, the next one first."""
        return tuple(self._left)

    def take(self, losses: Sequence[Loss]) -> bool:
        """Use up the next losses for somebody who measures them, and return whether a ledger has them."""
        self._check_process()
        with self._lock:
            if tuple(self._left[: len(losses)]) != tuple(losses):
                raise ValueError("losses: expected those that the schedule has next; reserve another one")
            del self._left[: len(losses)]
        return self._recorded

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("a schedule belongs to the process that reserved it; reserve one in this process")

    def measure(self, query: Question, *, passage: Passage | None = None, bits: Bits | None = None) -> Release:
        """Measure a query at the next loss of the schedule."""
        self._check_process()
        with self._lock:  # each loss is taken once, by one thread
            if not self._left:
                raise ValueError("losses: the schedule is used up; reserve another one")
            loss = self._left[0]
            plan = self._curator.plan(query, loss, passage, bits)
            if plan.loss != loss:
                raise ValueError(f"query={query.name!r}: costs {plan.loss!r}, expected the {loss!r} that was reserved")
            self._left.pop(0)
        return self._curator._let_out(query, plan, bits, self._recorded)

    def __repr__(self) -> str:
        return f"<Schedule of {self._curator.name or 'unnamed data'}: {len(self._left)} losses left>"

    def __copy__(self) -> Schedule:
        return self

    def __deepcopy__(self, memo: object) -> Schedule:
        return self

    def __reduce__(self) -> str:
        raise TypeError("a schedule cannot be pickled: two copies could use the same reservation twice")
