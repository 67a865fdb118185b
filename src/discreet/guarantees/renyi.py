"""Rényi divergences of the mechanisms, and what a bound on them promises.

The divergences are written so that small ε keeps its digits: each is log(1 + excess)/(α − 1) with an excess of
order ε² that is computed without cancellation, or is rounded upwards.

From a bound D(α) on the divergences of every order α > 1 follows (ε, δ) with
ln δ = (α − 1)(D(α) − ε) + (α − 1) ln(1 − 1/α) − ln α (Canonne, Kamath and Steinke 2020, proposition 12).
The right side is convex in α, since (α − 1)D(α) is; so a bounded scalar search finds the best order, and whatever
order it stops at is valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from discreet.guarantees.arithmetic import added

if TYPE_CHECKING:
    from discreet.guarantees.loss import Loss

_LARGE = 30.0  # from here on e^-x is lost beside e^x


def _past_linear(x: float) -> float:
    """Return e^x − 1 − x, all digits kept near zero."""
    if abs(x) < 0.5:
        term, total, k = x * x / 2.0, 0.0, 2
        while abs(term) > 1e-18 * max(total, 1e-300) and k < 40:
            total, k = total + term, k + 1
            term *= x / k
        return total
    return math.expm1(x) - x


def pure_renyi(epsilon: float, order: float) -> float:
    """Return the divergence of randomised response at ε, the largest that pure ε-privacy allows.

    (e^(αε) + e^((1−α)ε))/(1 + e^ε) = 1 + 2 sinh(αε/2) sinh((α−1)ε/2)/cosh(ε/2).
    """
    a, b = order * epsilon / 2.0, (order - 1.0) * epsilon / 2.0
    if a > _LARGE:
        return min(epsilon, (order * epsilon - math.log1p(math.exp(min(epsilon, 700.0)))) / (order - 1.0) + 1e-12)
    return min(epsilon, math.log1p(2.0 * math.sinh(a) * math.sinh(b) / math.cosh(epsilon / 2.0)) / (order - 1.0))


def bounded_range_renyi(epsilon: float, order: float) -> float:
    """Return the largest divergence that ε-bounded range allows.

    Given the range [t − ε, t] of the log-ratio, a convex function of the ratio is largest for the two-point law at its
    ends, whose moment is x^a (A − Bx)/(e^ε − 1) with x = e^t, a = α − 1, A = e^ε − e^(−aε), B = 1 − e^(−aε); the worst
    x is aA/(αB). The float error is charged; where it would show, αε²/8 (Cesar and Rogers 2021) is the better bound.
    """
    a = order - 1.0
    log_a = math.log(-math.expm1(-order * epsilon))
    log_b = math.log(-math.expm1(-a * epsilon))
    log_x = epsilon + math.log(a / order) + log_a - log_b
    log_moment = a * log_x + log_a - math.log(order) - math.log(-math.expm1(-epsilon))
    return min(order * epsilon * epsilon / 8.0, epsilon, max(log_moment, 0.0) / a + 1e-14 * (1.0 + 1.0 / a))


def laplace_renyi(epsilon: float, order: float) -> float:
    """Return the divergence between Laplace densities at distance ε in units of the scale (Mironov 2017).

    The moment (α e^((α−1)ε) + (α−1) e^(−αε))/(2α−1) has no linear term in ε, so it is 1 plus a mean of e^x − 1 − x.
    """
    up, down = (order - 1.0) * epsilon, -order * epsilon
    if up > _LARGE:
        return min(epsilon, epsilon + math.log(order / (2.0 * order - 1.0)) / (order - 1.0) + 1e-12)
    excess = (order * _past_linear(up) + (order - 1.0) * _past_linear(down)) / (2.0 * order - 1.0)
    return min(epsilon, math.log1p(excess) / (order - 1.0))


def geometric_renyi(epsilon: float, steps: int, order: float) -> float:
    """Return the divergence between two-sided geometrics ``steps`` apart, with ε = steps/scale.

    The loss is ±ε beyond the two modes and falls by 2ε/steps a step between them: three parts, the middle one a
    geometric series. Its float error is charged (a few units in the last place of a sum near 1).
    """
    rate = epsilon / steps
    q = math.exp(-rate)
    w = rate * (2.0 * order - 1.0)
    outer = 1.0 + math.exp(-epsilon - 2.0 * (order - 1.0) * epsilon)
    inner = -math.expm1(-rate) * math.exp(-w) * math.expm1(-w * (steps - 1)) / math.expm1(-w) if steps > 1 else 0.0
    log_moment = (order - 1.0) * epsilon + math.log((outer + inner) / (1.0 + q)) + 1e-15 * (1.0 + order * epsilon)
    return min(epsilon, pure_renyi(epsilon, order), max(log_moment, 0.0) / (order - 1.0))


def divergence(mu: float, others: Iterable[tuple[Loss, int]], order: float) -> float:
    """Return the divergence of a Gaussian and so many of each of the others together."""
    return order * (mu * mu) / 2.0 + added(count * loss.renyi(order) for loss, count in others)


def renyi_delta(divergence: Callable[[float], float], epsilon: float) -> float:
    """Return the least δ that the divergences promise at ``epsilon``."""

    def log_delta(order: float) -> float:
        return (order - 1.0) * (divergence(order) - epsilon + math.log1p(-1.0 / order)) - math.log(order)

    return max(math.exp(min(0.0, best_order(log_delta)[1])), 5e-324)  # it is never 0


def renyi_epsilon(divergence: Callable[[float], float], delta: float) -> float:
    """Return the least ε ≥ 0 that the divergences promise at ``delta`` > 0."""

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
