"""Messages for refusals by the budget, with the largest ε that would be admitted."""

from __future__ import annotations

from discreet.ledger import BudgetExceeded
from discreet.ledger.largest_epsilon import largest_epsilon


def explain_refusal(error: BudgetExceeded) -> str:
    """Return the message of a refusal, with what to write instead."""
    epsilon = largest_epsilon(error.preview, by_share=error.asked is not None)
    if epsilon is None:
        raised = f"discreet budget limit LEDGER EPS:DELTA --name {error.preview.dataset} --reason '…' raises the limit"
        write = f"nothing like it fits any more; {raised}"
    else:
        write = f"write --epsilon {epsilon} or less"
    return f"{error.refusal}; nothing was recorded; {write}"
