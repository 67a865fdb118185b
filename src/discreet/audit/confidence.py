"""Lower bounds on ε from counts of right and wrong guesses, at a stated confidence.

An attacker sees the output of a mechanism on one of two neighbouring data sets and guesses "one" or "other". Over n
independent runs on each, the attacker gives a false alarm on "one" with probability α and misses "other" with
probability β. These are unknown, but for a events among n runs the upper bound of Clopper and Pearson (1934),

    u with P(Bin(n, u) ≤ a) = q,    that is the quantile 1 − q of Beta(a + 1, n − a),

is below the true probability with probability at most q. Both bounds together fail with probability at most q + q. From
α ≤ u and β ≤ w it follows:

- **μ-Gaussian privacy** gives β ≥ Φ(Φ⁻¹(1 − α) − μ) (Dong, Roth and Su 2022), so μ ≥ Φ⁻¹(1 − u) − Φ⁻¹(w).
- **(ε, δ)** gives 1 − β ≤ e^ε α + δ and 1 − α ≤ e^ε β + δ, so ε ≥ ln((1 − w − δ)/u) and ε ≥ ln((1 − u − δ)/w).

**One run** (Steinke, Nasr and Jagielski 2023, theorem 5.2): m canaries are each included or left out by a fair coin,
and the attacker guesses r of the coins, v of them rightly. If the mechanism is (ε, δ)-private when a row is added or
removed, then with p = e^ε/(1 + e^ε)

    P(at least v right) ≤ P(Bin(r, p) ≥ v) + 2mδ·max over i of P(v − i ≤ Bin(r, p) < v)/i,

so every ε for which the right side is below 1 − confidence is refuted, and the largest of them is a lower bound.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv, ndtri


def upper_bound(events: Any, runs: int, chance: float) -> Any:
    """Return the Clopper–Pearson upper bound on a probability, which fails with probability at most ``chance``.

    >>> float(upper_bound(0, 1000, 0.05).round(5)), float(upper_bound(1000, 1000, 0.05))
    (0.00299, 1.0)
    """
    events = np.asarray(events, dtype=np.float64)
    inner = np.minimum(events, runs - 0.5)  # if all runs are events the bound is 1
    return np.where(events >= runs, 1.0, betaincinv(inner + 1.0, runs - inner, 1.0 - chance))


def mu_lower_bound(alarms: Any, missed: Any) -> Any:
    """Return a lower bound on the μ of a μ-Gaussian-private mechanism, from upper bounds on the error probabilities.

    >>> round(float(mu_lower_bound(0.1587, 0.5)), 2)
    1.0
    """
    return np.maximum(-ndtri(alarms) - ndtri(missed), 0.0)


def epsilon_lower_bound(alarms: Any, missed: Any, delta: float) -> Any:
    """Return a lower bound on the ε of a mechanism at ``delta``, from upper bounds on the error probabilities.

    >>> round(float(epsilon_lower_bound(0.1, 0.5, 0.0)), 3)
    1.609
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.log(np.maximum(1.0 - missed - delta, 0.0)) - np.log(alarms)
        other = np.log(np.maximum(1.0 - alarms - delta, 0.0)) - np.log(missed)
    return np.maximum(np.maximum(one, other), 0.0)


def one_run_tail_bound(epsilon: float, delta: float, canaries: int, guesses: int, right: int) -> float:
    """Return the largest probability that an (ε, δ)-private mechanism allows for so many right guesses.

    >>> round(one_run_tail_bound(1.0, 0.0, 1000, 100, 73), 3)
    0.561
    """
    p = 1.0 / (1.0 + math.exp(-epsilon))
    # P(Bin ≥ k) is the regularised incomplete beta function, and 1 at k = 0.
    at_least = np.array([1.0 if k == 0 else float(betainc(k, guesses - k + 1.0, p)) for k in range(right + 1)])
    tail = at_least[right]
    if delta == 0.0 or right == 0:
        return float(min(tail, 1.0))
    steps = np.arange(1, right + 1)
    largest = np.max((at_least[right - steps] - tail) / steps)
    return float(min(tail + 2.0 * canaries * delta * largest, 1.0))


def one_run_epsilon(delta: float, canaries: int, guesses: int, right: int, confidence: float) -> float:
    """Return the largest ε that so many right guesses refute, to four digits; 0 if they refute none.

    >>> round(one_run_epsilon(0.0, 100, 100, 95, 0.95), 2)
    2.17
    """
    low, high = 0.0, 60.0
    if one_run_tail_bound(low, delta, canaries, guesses, right) > 1.0 - confidence:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        if one_run_tail_bound(middle, delta, canaries, guesses, right) <= 1.0 - confidence:
            low = middle
        else:
            high = middle
    return low
