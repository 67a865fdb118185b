"""What a limit admits, from the formulas alone: written a second time, to hold the ledger's own arithmetic against."""

from __future__ import annotations

import json
import math
from collections import Counter

from scipy.optimize import minimize_scalar
from scipy.stats import norm

import discreet as dp
from discreet.guarantees import Loss

CLOSE = 1e-6  # how near to a limit it is left open what is admitted


def usage(limit: dict, losses: Counter[str]) -> float:
    """Return the least that one of a limit's filters has used of its bound; what is admitted uses at most 1."""
    if not losses:
        return 0.0
    epsilon, delta = limit["epsilon"], limit["delta"] - limit["failures"]
    mu, rho, pure = 0.0, 0.0, 0.0
    for text, count in losses.items():
        loss = Loss.from_dict(json.loads(text))
        far = 2.0 if (str(loss.neighbors), limit["neighbors"]) == ("add-remove", "replace-one") else 1.0
        if isinstance(loss, dp.GaussianLoss):
            own, one = math.inf, far * loss.mu
            rho += count * one**2 / 2.0
        else:
            own = far * loss.pure
            one = -2.0 * norm.ppf(1.0 / (1.0 + math.exp(own)))
            rho += count * own**2 / 2.0
        mu, pure = math.hypot(mu, one * math.sqrt(count)), pure + count * own
    result = [pure / epsilon]
    if limit["filter"] == "gaussian" and delta:
        result.append((norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)) / delta)
    if limit["filter"] == "zcdp" and delta:
        result.append(zcdp_delta(rho, epsilon) / delta)
    return float(min(result))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the δ of ρ-zCDP by the best order (Canonne, Kamath and Steinke 2020)."""

    def log_delta(size: float) -> float:
        order = 1.0 + math.exp(size)
        return (order - 1.0) * (order * rho - epsilon) + order * math.log1p(-1.0 / order) - size

    start = math.log(max(epsilon / (2.0 * rho), 1e-3))
    result = minimize_scalar(log_delta, bounds=(start - 8.0, start + 4.0), method="bounded", options={"xatol": 1e-10})
    return math.exp(min(result.fun, 0.0))


def admitted(kind: str, limit: dict | None, spent: Counter[str], asked: Counter[str]) -> bool | None:
    """Return whether a limit admits losses after others, None where it is too close to tell."""
    if limit is None:
        return True
    used = usage(limit, spent + asked)
    if used > 1.0 and kind == "reserve" and not spent and limit["delta"]:  # the first of all goes by exact composition
        used = min(used, together(limit, asked) / limit["delta"])
    return None if abs(used - 1.0) < CLOSE else used < 1.0


def together(limit: dict, losses: Counter[str]) -> float:
    """Return the δ of losses at a limit's ε, by exact composition under its relation."""
    counts = Counter()
    for text, count in losses.items():
        counts[Loss.from_dict(json.loads(text)).under(limit["neighbors"])] += count
    return dp.compose(counts).delta(limit["epsilon"])
