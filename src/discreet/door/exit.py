"""The exit: the one function through which numbers made from rows leave.

``release`` does five things, in this order:

1. *plan*: everything is checked and planned from public numbers (``Curator.plan``), and every refusal happens here. The
   mechanism derives its noise from the sensitivity of the question, which ``Setting`` derives from the bound that the
   question proves; no caller supplies one. (The sensitivity of a user's function is stated by the user, and the release
   says so.)
2. *charge*: the payment records the loss, durably, or takes it from a schedule that was recorded before.
3. *collect*: the rows are read, and the question computes the input of the mechanism from them.
4. *draw*: random bits are combined with the collected numbers here, in the planned draw, and nowhere else.
5. *wrap*: a ``Release`` is returned, with all public facts about it.

If 3 or 4 fails (a missing file, a power failure), the spend stays recorded: never less is recorded than released. Where
an error or Ctrl-C ends it, the ledger gets a mark that this entry was not answered, and the error says so: what pays
is called within ``ledger.unanswered.answering``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.door.release import PublicSize, Release, make_measured
from discreet.noise import Bits
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Question
from discreet.queries.question_files import describe

if TYPE_CHECKING:
    from discreet.door.curator import Curator


class Payment(Protocol):
    """A way to pay: a ledger at the time of measurement (``Curator``), a reserved schedule, or a stream."""

    def pay(self, plan: Callable[[Any], Plan]) -> tuple[Plan, bool]:
        """Plan at the loss to be paid, pay it, and return the plan and whether a ledger has recorded it."""


def release(
    curator: Curator,
    question: Question,
    payment: Payment,
    *,
    mechanism: Mechanism | None = None,
    bits: Bits | None = None,
    records: Any = None,
) -> Release:
    """Return a measurement: plan, charge, collect, draw, wrap.

    Parameters
    ----------
    curator : Curator
        The curator of the rows.
    question : Question
    payment : Payment
    mechanism : Mechanism, optional
        By default the one for this question and loss (``mechanism_for``).
    bits : Bits, optional
        Seeded bits, for tests.
    records : optional
        The input of ``question.collect``; by default the curator's records. A stream passes its own sums.
    """
    plan, recorded = payment.pay(lambda loss: curator.plan(question, loss, mechanism, bits))
    collected = question.collect(curator._records if records is None else records, curator.setting)
    asked = describe(question)
    again = plan if asked is not None else curator.plan(question, plan.loss, mechanism, bits)
    if (again.noise, again.facts) != (plan.noise, plan.facts):
        raise ValueError(
            f"query={question.name!r}: its bound changed while it was asked; nothing was released. Write an immutable "
            "query, whose fields do not change"
        )
    return make_measured(
        query=question.name,
        value=draw_plan(plan, collected, bits),
        parts=plan.parts,
        mechanism=plan.kind,
        noise=plan.noise,
        exact=plan.exact,
        loss=plan.loss,
        size=curator.size if records is None else PublicSize(None, False),
        dataset=curator.name,
        recorded=recorded,
        declared=curator.declared | ({"stated": dict(plan.declared)} if plan.declared else {}),
        asked=asked,
        private=bits is None or bits.private,
    )


def draw_plan(plan: Plan, collected: Any, bits: Bits | None) -> Any:
    """Draw what was planned; see ``Plan``."""
    first = [distribution.sample(size(collected), bits) for distribution, size in plan.first]
    drawn = plan.draw.draw(plan.target(collected, *first), bits)
    return np.asarray(plan.finish(drawn), dtype=np.float64)
