"""Optimise q in the upper bound on the likelihood of draws, and the tilted distribution of rows that belongs to it.

The likelihood of draws z_j is bounded above for every q (equation 5b of Williams and McSherry 2010). *Proof.* log Σ_z
e^(u_z) ≥ H[q] + Σ_z q(z)u_z, by Jensen's inequality. With one q_j for each draw, all rows factor:

    log p ≤ F(q) = −Σ_j H[q_j] + n·log Σ_k p_k e^(a_k),   a_k = Σ_j η_j (s(z_j, x_k) − Σ_z q_j(z) s(z, x_k)).

F is convex: a sum of negative entropies and the logarithm of a sum of exponentials of linear functions. At its minimum
the derivative is the same for all z: q_j(z) ∝ exp(nη_j Σ_k r_k s(z, x_k)), with r_k ∝ p_k e^(a_k). So q follows from
the tilted distribution r of rows, and r from q. At r = p this is the q of the paper, with the η that is missing there.
From there Newton steps with a line search, each of which only decreases F, go to the fixed point. Where nη is large
they follow the solution along a path that begins with a small n, since the gradient vanishes where q is concentrated on
one candidate. Any q gives a bound, so it is safe to stop early, and the result is never worse than the first-order q.
Draws of one mechanism at one rate have the same q.

By duality, min F = max_r Σ_j log softmax(nη_j Σ_k r_k s(·, x_k))_(z_j) − n·KL(r‖p): r is the mix of rows that best
explains both the draws and the model, and the best upper bound is never above 1.

Arrays may be NumPy's or JAX's, in float64.
"""

from __future__ import annotations

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

__all__ = [
    "ObservedDraws",
    "log_mean",
    "log_sum",
    "log_upper_bound_at",
    "optimize_q",
    "stop_gradient",
    "tilt_exponents",
    "tilt_weights",
]

Array = NDArray[np.float64]

NEWTON_STEPS, CG_STEPS = 8, 8
STEP_LENGTHS = (1.0, 0.4, 0.1, 0.01)  # of the line search
FIRST_RANGE = 4.0  # of the exponents at the smallest n of the path
PATH_FACTOR, STAGE_STEPS = 3.0, 3  # growth of n from stage to stage, and Newton steps at each


@dataclass(frozen=True, eq=False)
class ObservedDraws:
    """Draws of one mechanism at one rate, as input of a likelihood.

    Parameters
    ----------
    scores : array of shape (points, candidates)
        The clamped log φ at each point.
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
            raise ArgumentError("indices", self.indices, f"indices of candidates, from 0 to {self.scores.shape[1] - 1}")
        if not 0.0 <= self.rate * self.score_range < 600.0:
            raise ArgumentError(
                "rate", self.rate, f"at least 0, and less than 600/{self.score_range:g}, where floats overflow"
            )

    @classmethod
    def from_choices(cls, choices: Sequence[FactoredChoice], points: Array) -> tuple[ObservedDraws, ...]:
        """Return draws with their scores at these points, grouped by mechanism and rate."""
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
        """The number of draws."""
        return len(self.indices)

    @property
    def score_range(self) -> float:
        """The range of the scores, times the number of draws."""
        return float(np.ptp(np.asarray(self.scores))) * self.draws

    @property
    def drawn_scores(self) -> Any:
        """The sum of the scores of the drawn candidates at each point."""
        return self.scores[:, list(self.indices)].sum(axis=1)


def log_upper_bound_at(observed: Sequence[ObservedDraws], weights: Any, rows: Any, log_q: Sequence[Any]) -> Any:
    """Return the upper bound F(q), with log q of shape (..., candidates) for each ``ObservedDraws``."""
    xp = array_namespace(weights)
    entropies = sum(one.draws * xp.sum(xp.exp(q) * q, axis=-1) for one, q in zip(observed, log_q, strict=True))
    return entropies + rows * log_mean(weights, tilt_exponents(observed, log_q))


def tilt_exponents(observed: Sequence[ObservedDraws], log_q: Sequence[Any]) -> Any:
    """Return the exponents a_k, one for each point."""
    xp = array_namespace(log_q[0])
    return sum(
        one.rate * (one.drawn_scores - one.draws * (xp.exp(q) @ one.scores.T))
        for one, q in zip(observed, log_q, strict=True)
    )


def tilt_weights(weights: Any, a: Any) -> Any:
    """Return r ∝ p e^a."""
    xp = array_namespace(weights)
    tilted = weights * xp.exp(a - xp.max(a, axis=-1)[..., None])
    return tilted / xp.sum(tilted, axis=-1)[..., None]


def optimize_q(observed: Sequence[ObservedDraws], weights: Any, rows: int, steps: int) -> Any:
    """Return log q for each ``ObservedDraws``, where F is least as far as some Newton steps find."""
    xp = array_namespace(weights)
    ratio = max(rows * sum(one.rate * one.score_range for one in observed) / FIRST_RANGE, 1.0)
    stages = math.ceil(math.log(ratio, PATH_FACTOR)) if steps else 0
    path = xp.asarray(
        [rows * PATH_FACTOR**-j for j in range(stages, 0, -1) for _ in range(STAGE_STEPS)] + [rows] * (steps + 1)
    )

    def fixed_point(r: Any, n: Any) -> list[Any]:
        return [_normalise(n * one.rate * (r @ one.scores)) for one in observed]

    def choose_lower(n: Any, current: list[Any], least: Any, tried: list[Any]) -> tuple[list[Any], Any]:
        value = log_upper_bound_at(observed, weights, n, tried)
        lower = value < least
        chosen = [xp.where(lower[..., None], new, old) for new, old in zip(tried, current, strict=True)]
        return chosen, xp.where(lower, value, least)

    def step(i: Any, log_q: list[Any]) -> list[Any]:
        n = path[i]
        r = tilt_weights(weights, tilt_exponents(observed, log_q))
        towards = [target - one for target, one in zip(fixed_point(r, n), log_q, strict=True)]
        newton = _newton_direction(observed, r, [xp.exp(one) for one in log_q], towards, n)
        lengths = xp.asarray(STEP_LENGTHS * 2)

        def search(j: Any, found: tuple[list[Any], Any]) -> tuple[list[Any], Any]:
            ways = [xp.where(j < len(STEP_LENGTHS), one, other) for one, other in zip(newton, towards, strict=True)]
            tried = [_normalise(one + lengths[j] * v) for one, v in zip(log_q, ways, strict=True)]
            return choose_lower(n, *found, tried)

        first = log_q, log_upper_bound_at(observed, weights, n, log_q)
        best: list[Any] = _repeat(len(lengths), search, first, weights)[0]
        return best

    result = _repeat(len(path) - 1, step, fixed_point(weights, path[0]), weights)
    first = fixed_point(weights, rows)
    return choose_lower(rows, first, log_upper_bound_at(observed, weights, rows, first), result)[0]


def _newton_direction(
    observed: Sequence[ObservedDraws], r: Any, q: list[Any], towards: list[Any], rows: Any
) -> list[Any]:
    """Return Newton's step v = dq/q, from the step t towards the fixed point.

    v_j = t_j − nη_j·Cov_r(s_j, y), y = Σ_i η_i s_i·(q_i v_i), centred under q. So

        (I + n Σ_j η_j² Cov_(q_j)(s_j)·D) y = Σ_j η_j s_j·(q_j t_j),   D = diag(r) − rrᵀ,

    in the space of points. It is solved by conjugate gradients in the inner product of D, in which the operator is
    symmetric and at least 1: it has as many eigenvalues above 1 as the scores have dimensions, which are few.
    """
    xp = array_namespace(r)

    def centre(y: Any, chances: Any) -> Any:
        return y - xp.sum(chances * y, axis=-1)[..., None]

    def to_points(v: list[Any]) -> Any:
        y = sum(
            one.rate * one.draws * ((chances * centre(each, chances)) @ one.scores.T)
            for one, chances, each in zip(observed, q, v, strict=True)
        )
        return centre(y, r)

    def to_candidates(y: Any) -> list[Any]:
        return [rows * one.rate * ((r * centre(y, r)) @ one.scores) for one in observed]

    def step(_: Any, state: Any) -> Any:
        y, residual, direction, size = state
        image = direction + to_points(to_candidates(direction))
        active = size > tolerance
        length = xp.where(active, size / xp.where(active, xp.sum(r * direction * image, axis=-1), 1.0), 0.0)
        y, residual = y + length[..., None] * direction, residual - length[..., None] * image
        new_size = xp.sum(r * residual * residual, axis=-1)
        factor = xp.where(active, new_size / xp.where(active, size, 1.0), 0.0)
        return y, residual, residual + factor[..., None] * direction, xp.where(active, new_size, 0.0)

    residual = to_points(towards)
    size = xp.sum(r * residual * residual, axis=-1)
    tolerance = 1e-20 * size + 1e-200
    y = _repeat(CG_STEPS, step, (xp.zeros_like(residual), residual, residual, size), r)[0]
    return [each - one for each, one in zip(towards, to_candidates(y), strict=True)]


def _normalise(logits: Any) -> Any:
    return logits - log_sum(logits)[..., None]


def _repeat(times: int, step: Callable[[Any, Any], Any], state: Any, like: Any) -> Any:
    if is_jax_array(like):
        return jax.lax.fori_loop(0, times, step, state)
    for i in range(times):
        state = step(i, state)
    return state


def stop_gradient(x: Any) -> Any:
    """Return x as a constant under differentiation."""
    return jax.lax.stop_gradient(x) if is_jax_array(x) else x


# The largest exponent cancels, so it has no slope. Its own would be 0/0 where a compiler rounds the numbers that it is
# compared with in another way than those of which it is the largest.
def log_sum(values: Any) -> Any:
    """Return log Σ e^value over the last axis."""
    xp = array_namespace(values)
    top = stop_gradient(xp.max(values, axis=-1))
    return top + xp.log(xp.sum(xp.exp(values - top[..., None]), axis=-1))


def log_mean(weights: Any, a: Any) -> Any:
    """Return log Σ_k p_k e^(a_k) over the last axis, relative to the mean of a: accurate for small differences."""
    xp = array_namespace(weights)
    middle = xp.sum(weights * a, axis=-1)
    rest = a - middle[..., None]
    top = stop_gradient(xp.max(rest, axis=-1))
    small = xp.where(top[..., None] < 4.0, rest, 0.0)
    large = top + xp.log(xp.sum(weights * xp.exp(rest - top[..., None]), axis=-1))
    return middle + xp.where(top < 4.0, xp.log1p(xp.sum(weights * xp.expm1(small), axis=-1)), large)
