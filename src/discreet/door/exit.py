"""The exit: the one function through which numbers made from rows leave.

``release`` does five things, in this order:

1. *plan*: everything is checked and planned from public numbers (``Curator.plan``), and every refusal happens here. The
   mechanism derives its noise from the sensitivity of the question, which ``Setting`` derives from the bound that the
   question proves; no caller supplies one. (A user's own function has a sensitivity that its user states: the release
   says so.)
2. *charge*: the payment records the loss, durably, or takes it from what was recorded before.
3. *collect*: the rows are read, and the question makes of them what the mechanism starts from.
4. *draw*: random bits and what was collected meet here, in the draw that was planned, and nowhere else.
5. *wrap*: a ``Release`` is returned, with all that is public about it.

If 3 or 4 fails (a file has gone, the power too), the spend stays recorded: more is recorded than released, never less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.door.release import PublicSize, Release, make_measured
from discreet.noise import Bits
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.naming import describe
from discreet.queries.question import Question

if TYPE_CHECKING:
    from discreet.door.curator import Curator


class Payment(Protocol):
    """What pays: a ledger now (``Curator``), a schedule that was reserved, or a stream."""

    def pay(self, plan: Callable[[Any], Plan]) -> tuple[Plan, bool]:
        """Plan at the loss to be paid, see that it is paid, and return the plan and whether a ledger has it."""


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
        Whose rows they are.
    question : Question
    payment : Payment
    mechanism : Mechanism, optional
        By default that of the question and the loss (``mechanism_for``).
    bits : Bits, optional
        Seeded bits, for a test.
    records : optional
        What the question collects from; the curator's records, but for a stream, which has sums of its own.
    """
    plan, recorded = payment.pay(lambda loss: curator.plan(question, loss, mechanism, bits))
    collected = question.collect(curator._records if records is None else records, curator.setting)
    asked = describe(question)
    again = plan if asked is not None else curator.plan(question, plan.loss, mechanism, bits)
    if (again.noise, again.facts) != (plan.noise, plan.facts):
        raise ValueError(
            f"query={question.name!r}: its bound changed while it was asked; nothing was released. Write a query whose "
            "fields nothing changes once it is made"
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
