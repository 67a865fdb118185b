"""The exit: the one function through which numbers made from rows leave.

``release`` does five things, in this order:

1. *plan*: everything is checked and planned from public numbers, and every refusal happens here. The mechanism derives
   its noise from the sensitivity of the question, which ``Setting`` derives from the bound that the question proves;
   no caller supplies one. (A user's own function has a sensitivity that its user states: the release says so.)
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
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door.release import PublicSize, Release, measured
from discreet.guarantees import Guarantee, Loss
from discreet.noise import Bits, SecureBits
from discreet.queries.mechanism import Mechanism, Plan, mechanism_for
from discreet.queries.naming import described
from discreet.queries.question import Question

if TYPE_CHECKING:
    from discreet.door.curator import Curator

__all__ = ["Payment", "make_plan", "release"]

Array = NDArray[np.float64]


class Payment(Protocol):
    """Who pays: a ledger now (``Curator``), a schedule that was reserved, or a stream."""

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
    """Let a measurement out: plan, charge, collect, draw, wrap.

    Parameters
    ----------
    curator : Curator
        Whose rows they are.
    question : Question
    payment : Payment
    mechanism : Mechanism, optional
        By default the usual one for the question and the loss.
    bits : Bits, optional
        Seeded bits, for a test.
    records : optional
        What the question collects from; the curator's records, but for a stream, which has sums of its own.
    """
    plan, recorded = payment.pay(lambda loss: make_plan(curator, question, loss, mechanism, bits))
    collected = question.collect(curator._records if records is None else records, curator.setting)
    asked = described(question)
    if asked is None and make_plan(curator, question, plan.loss, mechanism, bits).noise != plan.noise:
        raise ValueError(
            f"query={question.name!r}: its bound changed while it was asked; nothing was released. Write a query whose "
            "fields nothing changes once it is made"
        )
    return measured(
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


def make_plan(
    curator: Curator,
    question: Question,
    loss: Loss | Guarantee,
    mechanism: Mechanism | None = None,
    bits: Bits | None = None,
) -> Plan:
    """Return what a measurement would cost and what would be drawn, from public numbers; nothing is spent."""
    check_bits(curator, bits)
    if not isinstance(question, Question):
        raise ArgumentError("query", question, "a Query, for example Sum(curator.space)")
    if not isinstance(mechanism, Mechanism | None):
        raise ArgumentError("mechanism", mechanism, "a Mechanism, for example Euclidean(), or None")
    if isinstance(loss, Guarantee):
        loss = question.default_loss(loss)
    if not isinstance(loss, Loss):
        raise ArgumentError("loss", loss, "what to spend, for example Guarantee(0.5, 1e-6) or GaussianLoss(0.1)")
    if loss.neighbors is not curator.neighbors:
        raise ArgumentError("loss", loss, f"one under {curator.neighbors}, as the curator")
    if question.dimension not in (0, len(curator.columns)):
        expected = f"one over {len(curator.columns)} numeric columns, got {question.dimension}"
        raise ArgumentError("query", question.name, expected)
    question.check(curator.space, curator.categories)
    plan = (mechanism or mechanism_for(question, loss)).plan(question, loss, curator.setting)
    if plan.kind == "approximate" and curator.ledger is not None:
        expected = "an exact draw where a ledger records; nothing is proved about this one"
        raise ArgumentError("query", question.name, expected)
    return plan


def check_bits(curator: Curator, bits: Bits | None) -> None:
    """Raise where noise would come from a seed although a ledger records."""
    if not isinstance(bits, Bits | None):
        raise ArgumentError("bits", bits, "SeededBits, for a test, or None")
    if bits is not None and type(bits) is not SecureBits and curator.ledger is not None:
        raise ArgumentError("bits", UNSHOWN, "None where a ledger records; noise from a seed lets the exact sum out")


def draw_plan(plan: Plan, collected: Any, bits: Bits | None) -> Array:
    """Draw what was planned; see ``Plan``."""
    first = [distribution.sample(size(collected), bits) for distribution, size in plan.first]
    drawn = plan.draw.draw(plan.target(collected, *first), bits)
    return np.asarray(plan.finish(drawn), dtype=np.float64)
