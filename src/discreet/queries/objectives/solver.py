"""A solver for regularised margin losses that reaches a tolerance fixed beforehand, on every data set.

**The problem.** J(θ) = Σw_iℓ(y_i⟨θ, u_i⟩) + (λ/2)‖θ‖² + ⟨b, θ⟩ with w_i ≤ 1, w_i‖u_i‖ ≤ 1 and w_i‖u_i‖² ≤ 1
(``Features``; w_i = 1 where rows are moved), slopes in [−1, 0] and curvatures in [0, c]. J is λ-strongly convex, and
its gradient is Λ-Lipschitz with Λ = cN + λ. So ‖θ − θ*‖ ≤ ‖∇J(θ)‖/λ: a small gradient proves that the minimum is near,
whatever way θ was found. Nothing else is believed.

**The certificate.** A pass over the rows gives the gradient with a float error of at most E(θ). The solver stops where
‖computed gradient‖ + E(θ) ≤ τ, and only there, so ‖θ − θ*‖ ≤ τ/λ in exact arithmetic. With u = 2⁻⁵³, features off by
e_u and D of them: a margin is off by (e_u + (D + 2)u)‖θ‖ (where w_i < 1, by 1/√w_i times that, and ‖w_iu_i‖ is √w_i),
its slope by c times that and 8u, the product with w_iu_i by e_u + 2u more, and summing adds γN. With the last
additions,

    E(θ) = N·(1 + 10⁻⁶)·(e_u + 12u + c(e_u + (D + 2)u)‖θ‖ + γ) + 4u(λ‖θ‖ + ‖b‖).

**It gets there.** A step tries θ + p, p = −H⁻¹∇J with H = Σℓ''uuᵀ + λI, so that λI ≤ H ≤ ΛI. If the gradient there is
at most half as long as the shortest one accepted in this way so far (at first that at 0), it is accepted: at most
log₂(‖∇J(0)‖/τ) + 1 times. Otherwise φ(t) = J(θ + tp) is convex with φ'(0) = −∇JᵀH⁻¹∇J < 0, and its derivative is looked
at in many places at once, in ever smaller intervals, for a t with ½φ'(0) ≤ φ'(t) ≤ 0. As φ' is Λ‖p‖²-Lipschitz, J falls
by at least (3/8)φ'(0)²/(Λ‖p‖²) ≥ (3/8)(λ/Λ²)‖∇J‖², which is at least (3/8)(λ/Λ²)τ² until the end. J is bounded below,
so between two acceptances of the first kind there are finitely many of the second. ∎ In practice it takes five to
fifteen passes; how many depends on the rows and is told nowhere.

That τ is well above E at the minimum is seen to beforehand (``tolerance``): ‖θ*‖ ≤ √(2Nℓ(0)/λ) + 2‖b‖/λ, since
J(θ*) ≤ J(0), and E is evaluated there with ‖b‖ ≤ σ(√D + 12), which fails with a probability below 10⁻³¹.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.queries.bound import UNIT_ROUNDOFF
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import MarginLoss
from discreet.records import Block

Array = NDArray[np.float64]
Sums = Callable[[Callable[[Block], Any], int, float], Array]  # of a kernel, its size and a norm of its rows

POINTS = 32  # of a line that one pass looks at
STEEPEST = 1e12  # Λ/λ, at most
SLACK = 4.0  # τ over the float error at the minimum


class Slopes(NamedTuple):
    """Gradient and Hessian at a point."""

    gradient: Array
    hessian: Array


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """One class against the others, with noise in the objective.

    Parameters
    ----------
    features : Features
    loss : MarginLoss
    ridge : float
        λ.
    column : int
        Which of the columns of categories holds the labels.
    positive : int
        The code of the class whose label is 1; all others have −1.
    rows, accumulation : int, float
        N and γ of the certificate.
    """

    features: Features
    loss: MarginLoss
    ridge: float
    column: int
    positive: int
    rows: int
    accumulation: float

    def float_error(self, length: float, noise: float) -> float:
        """Return E(θ) for ‖θ‖ = length and ‖b‖ = noise."""
        u, c, own = UNIT_ROUNDOFF, self.loss.most_curvature, self.features.roundoff
        margin = (own + (self.features.size + 2.0) * u) * length
        row = own + 12.0 * u + c * margin + self.accumulation
        return self.rows * (1.0 + 1e-6) * row + 4.0 * u * (self.ridge * length + noise)

    def _seen(self, block: Block) -> tuple[Any, Any, Any]:
        """Return the features of a block's rows, their weights, and their labels, −1 or 1."""
        u, weight = self.features.weigh_rows(block)
        xp = array_namespace(u)
        return u, weight, 2.0 * xp.astype(block.codes[:, self.column] == self.positive, u.dtype) - 1.0

    def _kernel(self, theta: Array) -> Callable[[Block], Any]:
        """Return the sum of a block's gradients and Hessians, one after the other."""

        def kernel(block: Block) -> Any:
            u, weight, label = self._seen(block)
            xp = array_namespace(u)
            here = xp.asarray(theta, dtype=u.dtype, device=device(u))
            margin = label * xp.matmul(u, here)
            gradient = xp.matmul(u.T, weight * label * self.loss.slope(margin))
            hessian = xp.matmul(u.T, u * (weight * self.loss.curvature(margin))[:, None])
            return xp.concat([gradient, xp.reshape(hessian, (-1,))], axis=0)

        return kernel

    def _slopes(self, sums: Sums, theta: Array, b: Array) -> Slopes:
        size = self.features.size
        total = sums(self._kernel(theta), size * (size + 1), 1.0)
        hessian = total[size:].reshape(size, size) + self.ridge * np.eye(size)
        return Slopes(total[:size] + self.ridge * theta + b, (hessian + hessian.T) / 2.0)

    def minimum(self, sums: Sums, b: Array, tau: float) -> Array:
        """Return θ with ‖∇J(θ)‖ ≤ τ; see the module."""
        theta, noise = np.zeros(self.features.size), float(np.linalg.norm(b))
        here = self._slopes(sums, theta, b)
        shortest = float(np.linalg.norm(here.gradient))
        while True:
            length = float(np.linalg.norm(here.gradient))
            if length + self.float_error(float(np.linalg.norm(theta)), noise) <= tau:
                return theta
            step = self._newton(here)
            there = self._slopes(sums, theta + step, b)
            if float(np.linalg.norm(there.gradient)) <= 0.5 * shortest:
                share, here, shortest = 1.0, there, float(np.linalg.norm(there.gradient))
            else:
                share = self._on_line(sums, theta, step, b)
                here = self._slopes(sums, theta + share * step, b)
            theta = theta + share * step

    def _newton(self, here: Slopes) -> Array:
        """Return −H⁻¹∇J, with no eigenvalue of H below λ or what floats can tell from 0; total."""
        values, vectors = np.linalg.eigh(here.hessian)
        least = max(self.ridge, len(values) * UNIT_ROUNDOFF * float(values[-1]))
        return np.asarray(-vectors @ ((vectors.T @ here.gradient) / np.maximum(values, least)))

    def _on_line(self, sums: Sums, theta: Array, step: Array, b: Array) -> float:
        """Return t with ½φ'(0) ≤ φ'(t) ≤ 0, from φ' at many t a pass."""
        low, high, grid = 0.0, 1.0, np.linspace(0.0, 1.0, POINTS) ** 3
        start = math.nan
        while True:
            points = low + (high - low) * grid
            slopes = sums(self._line_kernel(theta, step, points), POINTS, 1.0 + float(np.linalg.norm(step)))
            slopes = slopes + self.ridge * (theta @ step + points * (step @ step)) + b @ step
            start = float(slopes[0]) if math.isnan(start) else start
            fit = points[(slopes <= 0.0) & (slopes >= 0.5 * start) & (points > 0.0)]
            if len(fit):
                return float(fit[-1])
            falling = np.flatnonzero(slopes < 0.0)
            last = int(falling[-1]) if len(falling) else 0
            if last == POINTS - 1:
                low, high = high, 8.0 * high
            else:
                low, high, grid = float(points[last]), float(points[last + 1]), np.linspace(0.0, 1.0, POINTS)
                if high - low <= 4.0 * UNIT_ROUNDOFF * high:  # no float is better
                    return high

    def _line_kernel(self, theta: Array, step: Array, points: Array) -> Callable[[Block], Any]:
        """Return the sum of a block's shares of φ' at these t."""

        def kernel(block: Block) -> Any:
            u, weight, label = self._seen(block)
            xp = array_namespace(u)
            at, along, shares = (xp.asarray(part, dtype=u.dtype, device=device(u)) for part in (theta, step, points))
            margin, change = label * xp.matmul(u, at), label * xp.matmul(u, along)
            slopes = self.loss.slope(margin[:, None] + change[:, None] * shares[None, :])
            return xp.sum(slopes * (weight * change)[:, None], axis=0)

        return kernel


def tolerance(problem: MarginProblem, std: float) -> float:
    """Return τ for noise of this standard deviation in each coordinate of the objective; from public numbers only."""
    steepest = problem.loss.most_curvature * problem.rows + problem.ridge
    if not steepest < STEEPEST * problem.ridge:
        raise ValueError(
            f"ridge={problem.ridge:.3g}: expected at least {steepest / STEEPEST:.3g} for so many rows, or floats could "
            "not tell the minimum; write a smaller C"
        )
    noise = std * (math.sqrt(problem.features.size) + 12.0)
    return SLACK * problem.float_error(longest(problem, std), noise)


def longest(problem: MarginProblem, std: float) -> float:
    """Return a bound on ‖θ*‖."""
    noise = std * (math.sqrt(problem.features.size) + 12.0)
    first = float(problem.loss.value(np.zeros(1))[0])
    return math.sqrt(2.0 * problem.rows * first / problem.ridge) + 2.0 * noise / problem.ridge
