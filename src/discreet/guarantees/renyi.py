"""Converts bounds on Rényi divergences, and with them zCDP, to (ε, δ), at the best order.

The rules of published papers (zCDP, moments) are in ``composition``.

From a bound D(α) on the divergences of every order α > 1 follows (ε, δ) with
ln δ = (α − 1)(D(α) − ε) + (α − 1) ln(1 − 1/α) − ln α (Canonne, Kamath and Steinke 2020, proposition 12).
The right side is convex in α, since (α − 1)D(α) is; so a bounded scalar search finds the best order, and whatever
order it stops at is valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from discreet.guarantees.arithmetic import add_up

if TYPE_CHECKING:
    from discreet.guarantees.loss import Loss


def composed_divergence(mu: float, others: Iterable[tuple[Loss, int]], order: float) -> float:
    """Return the divergence of a Gaussian mechanism composed with the other losses, each as often as its count."""
    return order * (mu * mu) / 2.0 + add_up(count * loss.renyi(order) for loss, count in others)


def renyi_delta(divergence: Callable[[float], float], epsilon: float) -> float:
    """Return the least δ that follows from the divergences at ``epsilon``."""

    def log_delta(order: float) -> float:
        return (order - 1.0) * (divergence(order) - epsilon + math.log1p(-1.0 / order)) - math.log(order)

    return max(math.exp(min(0.0, best_order(log_delta)[1])), 5e-324)  # it is never 0


def renyi_epsilon(divergence: Callable[[float], float], delta: float) -> float:
    """Return the least ε ≥ 0 that follows from the divergences at ``delta`` > 0."""

    def epsilon(order: float) -> float:
        slack = (math.log(1.0 / delta) - math.log(order)) / (order - 1.0)
        return divergence(order) + slack + math.log1p(-1.0 / order)

    return max(0.0, best_order(epsilon)[1])


def best_order(objective: Callable[[float], float]) -> tuple[float, float]:
    """Return the best order of 1 + 1e-4 to 1 + 1e9, searched on the scale of ln(α − 1), and its value."""
    from scipy.optimize import minimize_scalar

    result = minimize_scalar(
        lambda t: objective(1.0 + math.exp(t)),
        bounds=(math.log(1e-4), math.log(1e9)),
        method="bounded",
        options={"xatol": 1e-7},
    )
    return 1.0 + math.exp(result.x), float(result.fun)
