"""Which noise a series gets: Gaussian by its L2 norm, Laplace by its L1 norm, or whichever is less.

Pure ε is more than (ε, δ) asks for, so either keeps the promise. One event that moves one step has the same norm in
L1 as in L2, and Laplace noise is then the smaller one at a small δ; a person who moves every step has an L1 norm √T
times the L2 norm. Which of the two has the lower variance follows from public numbers. Where a ledger records, Gaussian
noise is taken: a pure ε is dear beside Gaussian losses, and what comes after it would pay.
"""

from __future__ import annotations

from discreet.arguments import ArgumentError, choice
from discreet.guarantees import LaplaceLoss, Loss
from discreet.noise import Law
from discreet.queries.question import Query
from discreet.signals.series import Series

__all__ = ["promised_delta", "quietest"]

NOISES = ("gaussian", "laplace")


def promised_delta(argument: str, noise: str | None, delta: float) -> float:
    """Return the δ that a noise spends: none for Laplace noise."""
    if noise is not None and choice(argument, noise, NOISES) == "laplace":
        return 0.0
    if noise == "gaussian" and delta == 0:
        raise ArgumentError("delta", delta, "more than 0 for Gaussian noise", write=f"{argument}='laplace'")
    return delta


def quietest(series: Series, query: Query, noise: str | None) -> tuple[Loss, Law]:
    """Return the loss of one release at the whole promise and its noise: what was asked for, or the lesser one."""
    losses: list[Loss] = [series.loss()]
    if noise is None and series.promise.delta and series.curator.ledger is None:
        losses.append(LaplaceLoss(series.promise.epsilon, series.promise.neighbors))
    found, refusals = [], []
    for loss in losses:
        try:
            found.append((loss, series.law(query, loss)))
        except ValueError as refusal:  # of a noise that does not fit, where the other one may
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return min(found, key=lambda pair: pair[1].variance)
