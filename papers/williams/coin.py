"""The coin of Williams and McSherry (2010), section 3.2: how likely a private choice is, exactly, bounded, and ours.

A coin is thrown n times, p(x|θ) = θ^x (1 − θ)^(1−x). Candidates are 0.1, …, 0.9, and log φ(z, x) = log p(x|z), which
lies between log 0.1 and log 0.9. The ε of the paper is the exponent η. As that interval is not within [−1, 1], it costs
η·ln 9 = 2.197η under add-remove and 4.394η under replace-one. The upper bound has a q: ``printed`` is that of the
paper, q ∝ exp(n ∫p log φ); ``with ε`` is what follows from the bound, q ∝ exp(nε ∫p log φ); ``best`` the best of all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plots.plot import INK, SERIES

__all__ = ["COST", "KINDS", "STYLES", "THETA", "likelihoods"]

Array = NDArray[np.float64]

CANDIDATES = np.arange(1, 10) / 10
SCORES = np.log(np.stack([1.0 - CANDIDATES, CANDIDATES]))
THETA = np.linspace(0.01, 0.99, 99)
COIN = np.stack([1.0 - THETA, THETA], axis=1)
COST = {"add-remove": math.log(9.0), "replace-one": 2.0 * math.log(9.0)}  # for each unit of η
KINDS = {
    "lower": "lower bound",
    "upper, printed q": "upper bound, q as printed",
    "upper, q with ε": "upper bound, q with ε",
    "upper, best q": "upper bound, best q (ours)",
    "normal": "normal likelihood (ours)",
}
STYLES: dict[str, dict[str, Any]] = {
    "exact": {"color": INK, "linestyle": "-"},
    "lower": {"color": SERIES["blue"], "linestyle": "-"},
    "upper, printed q": {"color": SERIES["vermillion"], "linestyle": ":"},
    "upper, q with ε": {"color": SERIES["vermillion"], "linestyle": "-"},
    "upper, best q": {"color": SERIES["orange"], "linestyle": "--"},
    "normal": {"color": SERIES["green"], "linestyle": "-."},
}


def likelihoods(rows: int, epsilon: float, index: int) -> dict[str, Array]:
    """Return the logarithm of p(z|θ) for the candidate of that place at each of ``THETA``: exact, bounds and ours."""
    from discreet.inference.factored.factored_bounds import (
        log_exact_likelihood,
        log_lower_bound,
        log_normal_likelihood,
        log_upper_bound,
        standard_normals,
    )
    from discreet.inference.factored.factored_tilt import ObservedDraws, log_sum, log_upper_bound_at

    observed = [ObservedDraws(SCORES, epsilon, (index,))]

    def upper(rate: float) -> Array:
        logits = rows * rate * (COIN @ SCORES)
        return np.asarray(log_upper_bound_at(observed, COIN, rows, [logits - log_sum(logits)[:, None]]))

    return {
        "exact": log_exact_likelihood(observed, COIN, rows),
        "lower": log_lower_bound(observed, COIN, rows),
        "upper, printed q": upper(1.0),
        "upper, q with ε": upper(epsilon),
        "upper, best q": log_upper_bound(observed, COIN, rows),
        "normal": log_normal_likelihood(observed, COIN, rows, standard_normals(2)),
    }
