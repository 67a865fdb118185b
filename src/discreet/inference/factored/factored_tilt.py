"""The best q of the upper bound on the likelihood of draws, and the tilted distribution of rows that goes with it.

The likelihood of draws z_j is bounded above for every q (equation 5b of Williams and McSherry 2010). *Proof.* log Σ_z
e^(u_z) ≥ H[q] + Σ_z q(z)u_z, by Jensen's inequality. With one q_j for each draw, all rows factor:

    log p ≤ F(q) = −Σ_j H[q_j] + n·log Σ_k p_k e^(a_k),   a_k = Σ_j η_j (s(z_j, x_k) − Σ_z q_j(z) s(z, x_k)).

F is convex: a sum of negative entropies and the logarithm of a sum of exponentials of linear functions. Where it is
least its derivative is the same for all z: q_j(z) ∝ exp(nη_j Σ_k r_k s(z, x_k)), with r_k ∝ p_k e^(a_k). So q follows
from the tilted distribution r of rows, and r from q. At r = p this is the q of the paper with the η that it lacks. From
there steps of Newton's method go to the fixed point, each along a line and only to a smaller F; where nη is large they
follow the solution from a small n on, since a q that sits on one candidate knows no way. Any q gives a bound, so it is
safe to stop early, and what is returned is no worse than the first-order one. Draws of one mechanism at one rate have
the same q.

By duality, min F = max_r Σ_j log softmax(nη_j Σ_k r_k s(·, x_k))_(z_j) − n·KL(r‖p): r is the mix of rows that best
explains both the draws and the model, and the best upper bound is never above 1.

Arrays may be NumPy's or JAX's, in float64.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from array_api_compat import array_namespace, is_jax_array
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.mechanisms import FactoredChoice

__all__ = ["ObservedDraws", "best_q", "log_mean", "log_sum", "log_upper_bound_at", "tilt", "tilted"]

Array = NDArray[np.float64]

NEWTON, CONJUGATE = 8, 8  # steps
LINE = (1.0, 0.4, 0.1, 0.01)
GENTLE, FACTOR, STAGE = 4.0, 3.0, 3  # where the path of n begins, as a range of exponents; its growth, steps at each


@dataclass(frozen=True, eq=False)
class ObservedDraws:
    """Draws of one mechanism at one rate, as a likelihood sees them.

    Parameters
    ----------
    scores : array of shape (points, candidates)
        log φ, clamped, at each point.
    rate : float
        η.
    indices : tuple of int
        The candidates that were drawn.
    """

    scores: Any
    rate: float
    indices: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.indices or not all(0 <= index < self.scores.shape[1] for index in self.indices):
            raise ArgumentError("indices", self.indices, f"some, from 0 to {self.scores.shape[1] - 1}")
        if not 0.0 <= self.rate * self.most < 600.0:
            raise ArgumentError(
                "rate", self.rate, f"at least 0, and less than 600/{self.most:g}, where floats overflow"
            )

    @classmethod
    def from_choices(cls, choices: Sequence[FactoredChoice], points: Array) -> tuple[ObservedDraws, ...]:
        """Return what draws say of rows at these points; those of one mechanism at one rate together."""
        if not choices or not all(isinstance(choice, FactoredChoice) for choice in choices):
            raise ArgumentError(
                "choices", UNSHOWN, "draws of FactoredExponential", write="[mechanism.draw(data, …), …]"
            )
        groups: dict[tuple[int, float], list[FactoredChoice]] = {}
        for choice in choices:
            groups.setdefault((id(choice.mechanism), choice.rate), []).append(choice)
        return tuple(
            cls(some[0].mechanism.log_scores(points), some[0].rate, tuple(one.index for one in some))
            for some in groups.values()
        )

    @property
    def draws(self) -> int:
        """How many there are."""
        return len(self.indices)

    @property
    def most(self) -> float:
        """How far scores can differ, over all draws."""
        return float(np.ptp(np.asarray(self.scores))) * self.draws

    @property
    def chosen(self) -> Any:
        """The scores of what was drawn, summed; one a point."""
        return self.scores[:, list(self.indices)].sum(axis=1)


def log_upper_bound_at(observed: Sequence[ObservedDraws], weights: Any, rows: Any, log_q: Sequence[Any]) -> Any:
    """Return it at one q for each ``ObservedDraws``, given as logarithms of shape (..., candidates)."""
    xp = array_namespace(weights)
    entropies = sum(one.draws * xp.sum(xp.exp(q) * q, axis=-1) for one, q in zip(observed, log_q, strict=True))
    return entropies + rows * log_mean(weights, tilt(observed, log_q))


def tilt(observed: Sequence[ObservedDraws], log_q: Sequence[Any]) -> Any:
    """Return a, one number a point."""
    xp = array_namespace(log_q[0])
    return sum(
        one.rate * (one.chosen - one.draws * (xp.exp(q) @ one.scores.T)) for one, q in zip(observed, log_q, strict=True)
    )


def tilted(weights: Any, a: Any) -> Any:
    """Return r ∝ p e^a."""
    xp = array_namespace(weights)
    heavy = weights * xp.exp(a - xp.max(a, axis=-1)[..., None])
    return heavy / xp.sum(heavy, axis=-1)[..., None]


def best_q(observed: Sequence[ObservedDraws], weights: Any, rows: int, steps: int) -> Any:
    """Return log q for each ``ObservedDraws``, where F is least as far as some steps find."""
    xp = array_namespace(weights)
    ahead_of = max(rows * sum(one.rate * one.most for one in observed) / GENTLE, 1.0)
    stages = math.ceil(math.log(ahead_of, FACTOR)) if steps else 0
    path = xp.asarray([rows * FACTOR**-j for j in range(stages, 0, -1) for _ in range(STAGE)] + [rows] * (steps + 1))

    def targets(r: Any, n: Any) -> list[Any]:
        return [_normalised(n * one.rate * (r @ one.scores)) for one in observed]

    def better(n: Any, now: list[Any], least: Any, tried: list[Any]) -> tuple[list[Any], Any]:
        value = log_upper_bound_at(observed, weights, n, tried)
        lower = value < least
        chosen = [xp.where(lower[..., None], new, old) for new, old in zip(tried, now, strict=True)]
        return chosen, xp.where(lower, value, least)

    def step(i: Any, log_q: list[Any]) -> list[Any]:
        n = path[i]
        r = tilted(weights, tilt(observed, log_q))
        ahead = [target - one for target, one in zip(targets(r, n), log_q, strict=True)]
        newton = _newton(observed, r, [xp.exp(one) for one in log_q], ahead, n)
        best, least = log_q, log_upper_bound_at(observed, weights, n, log_q)
        for way, length in itertools.product((newton, ahead), LINE):
            tried = [_normalised(one + length * v) for one, v in zip(log_q, way, strict=True)]
            best, least = better(n, best, least, tried)
        return best

    result = _repeated(len(path) - 1, step, targets(weights, path[0]), weights)
    first = targets(weights, rows)
    return better(rows, first, log_upper_bound_at(observed, weights, rows, first), result)[0]


def _newton(observed: Sequence[ObservedDraws], r: Any, q: list[Any], ahead: list[Any], rows: Any) -> list[Any]:
    """Return v = dq/q, Newton's step: v_j = ahead_j − nη_j·Cov_r(s_j, y), y = Σ_i η_i s_i·(q_i v_i), centred under q.

    So (I + n Σ_j η_j² Cov_(q_j)(s_j)·D) y = Σ_j η_j s_j·(q_j ahead_j), D = diag(r) − rrᵀ, in the space of points. By
    conjugate gradients in the inner product of D, in which the operator is symmetric and at least 1: it has as many
    eigenvalues above 1 as the scores have dimensions, which are few.
    """
    xp = array_namespace(r)

    def centred(y: Any, chances: Any) -> Any:
        return y - xp.sum(chances * y, axis=-1)[..., None]

    def weighed(v: list[Any]) -> Any:
        y = sum(
            one.rate * one.draws * ((chances * centred(each, chances)) @ one.scores.T)
            for one, chances, each in zip(observed, q, v, strict=True)
        )
        return centred(y, r)

    def moved(y: Any) -> list[Any]:
        return [rows * one.rate * ((r * centred(y, r)) @ one.scores) for one in observed]

    def step(_: Any, state: Any) -> Any:
        y, rest, way, size = state
        image = way + weighed(moved(way))
        going = size > least
        length = xp.where(going, size / xp.where(going, xp.sum(r * way * image, axis=-1), 1.0), 0.0)
        y, rest = y + length[..., None] * way, rest - length[..., None] * image
        now = xp.sum(r * rest * rest, axis=-1)
        kept = xp.where(going, now / xp.where(going, size, 1.0), 0.0)
        return y, rest, rest + kept[..., None] * way, xp.where(going, now, 0.0)

    rest = weighed(ahead)
    size = xp.sum(r * rest * rest, axis=-1)
    least = 1e-20 * size + 1e-200
    y = _repeated(CONJUGATE, step, (xp.zeros_like(rest), rest, rest, size), r)[0]
    return [each - one for each, one in zip(ahead, moved(y), strict=True)]


def _normalised(logits: Any) -> Any:
    return logits - log_sum(logits)[..., None]


def _repeated(times: int, step: Callable[[Any, Any], Any], state: Any, like: Any) -> Any:
    if is_jax_array(like):
        return jax.lax.fori_loop(0, times, step, state)
    for i in range(times):
        state = step(i, state)
    return state


def log_sum(values: Any) -> Any:
    """Return log Σ e^value over the last axis."""
    xp = array_namespace(values)
    top = xp.max(values, axis=-1)
    return top + xp.log(xp.sum(xp.exp(values - top[..., None]), axis=-1))


def log_mean(weights: Any, a: Any) -> Any:
    """Return log Σ_k p_k e^(a_k) over the last axis, around the mean of a: small differences keep their digits."""
    xp = array_namespace(weights)
    middle = xp.sum(weights * a, axis=-1)
    rest = a - middle[..., None]
    top = xp.max(rest, axis=-1)
    small = xp.where(top[..., None] < 4.0, rest, 0.0)
    large = top + xp.log(xp.sum(weights * xp.exp(rest - top[..., None]), axis=-1))
    return middle + xp.where(top < 4.0, xp.log1p(xp.sum(weights * xp.expm1(small), axis=-1)), large)
