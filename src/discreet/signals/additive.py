"""Which noise a series gets: Gaussian by its L2 norm, Laplace by its L1 norm, or whichever is less.

Pure ε is more than (ε, δ) asks for, so either keeps the promise. One event that moves one step has the same norm in
L1 as in L2, and Laplace noise is then the smaller one at a small δ; a person who moves every step has an L1 norm √T
times the L2 norm. Which of the two has the lower variance follows from public numbers.
"""

from __future__ import annotations

from discreet.arguments import choice
from discreet.door import Query
from discreet.guarantees import LaplaceLoss, Loss
from discreet.signals.series import Series

__all__ = ["promised_delta", "quietest"]

NOISES = ("gaussian", "laplace")


def promised_delta(argument: str, noise: str | None, delta: float) -> float:
    """Return the δ that a noise spends: none for Laplace noise."""
    if noise is not None and choice(argument, noise, NOISES) == "laplace":
        return 0.0
    if noise == "gaussian" and delta == 0:
        raise ValueError(f"delta={delta!r}: expected more than 0 for Gaussian noise; write {argument}='laplace'")
    return delta


def quietest(series: Series, query: Query, noise: str | None) -> Loss:
    """Return the loss of one release at the whole promise: of the noise that was asked for, or of the lesser one."""
    usual = series.loss()
    if noise is not None or not series.promise.delta:
        return usual
    pure = LaplaceLoss(series.promise.epsilon, series.promise.neighbors)
    laws = [(series.curator.plan(query, loss, bits=series.bits).law, loss) for loss in (usual, pure)]
    return min(laws, key=lambda pair: float("inf") if pair[0] is None else pair[0].variance)[1]
