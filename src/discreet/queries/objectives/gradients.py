"""Gradients of a loss at a public θ: what a labelled row contributes, with its norm and its proof.

**Two classes.** A row has features u, ‖u‖ ≤ 1 (``features``), and a label y = ±1. With v = −y·u and φ(t) = −ℓ'(−t),
which rises with t and lies in [0, 1] (``margin_losses``), its gradient is φ(⟨θ, v⟩)·v.

*The norm.* ⟨θ, v⟩ is at most r₊ = √(1 − κ²)‖θ_z‖ + κ|θ_D| for features with a constant κ, and ‖θ‖ without one. So the
norm is at most φ(r₊), and at v with ⟨θ, v⟩ = r₊ it is that.

*Replaced rows.* Let α be the angle between v and θ, and r = ‖θ‖. Two gradients a·v and a'·v', a = φ(‖v‖·r·cos α), are
apart by √(a²‖v‖² + a'²‖v'‖² − 2aa'⟨v, v'⟩). What is across θ of v and of v' is worst where it is opposite: then the
angle between them is α + α'. For a given ⟨θ, v⟩ a longer part across θ only adds, so ‖v‖ = ‖v'‖ = 1. So

    D(r)² = max over α, α' in [0, π] of φ² + φ'² − 2φφ'·cos(α + α'),    φ = φ(r·cos α), φ' = φ(r·cos α').

It is 1 at θ = 0 for the logistic loss, where every a is ½, and rises to 2. It is found by dividing [0, π]² into cells
(``replaced_gradients``). In a cell, for all r between two numbers, φ lies between its values at two corners, since it
rises with r·cos α; −cos(α + α') is at most its value at the nearest sum to π; and the square is convex in (φ, φ'), so
largest at a corner of what they can be. That is a bound for all of the cell. Cells whose bound is below what some
point has are dropped, the others are divided, until bound and point are close or there are many. The largest bound is
what is charged.

**K > 2 classes** with the softmax p of the scores ⟨θ_k, u⟩ and the label l: (p − e_l) ⊗ u, for which
‖p − e_l‖² = (1 − p_l)² + Σ_{j≠l} p_j². With ρ_jk = sup ⟨θ_j − θ_k, u⟩ = √(1 − κ²)‖(θ_j − θ_k)_z‖ + κ(θ_j − θ_k)_D,

    p_k ≥ π_k = 1/(1 + Σ_{j≠k} e^(ρ_jk)),    p_k ≤ q_k = 1/(1 + Σ_{j≠k} e^(−ρ_kj)),

so with the least π and the largest q of all, B² = (1 − π)² + q(1 − π) bounds ‖p − e_l‖²: it is 1 − 1/K at θ = 0 and
below 2 ever.

*Replaced rows.* ‖c − c'‖² ≤ 2B² − 2st with s = ⟨p − e_l, p' − e_l'⟩ and t = ⟨u, u'⟩ in [2κ² − 1, 1]. With the same
label 0 ≤ s ≤ B². With another one s = ⟨p, p'⟩ − p_l' − p'_l, which is at least π − 2q and at most q − 2π, as
π ≤ ⟨p, p'⟩ ≤ q. So −st ≤ max(w·B², 2q − π, w·(q − 2π)), w = max(0, 1 − 2κ²), and never more than B².

**What is attained.** Any row with ‖u‖ = 1 that changes its label moves the gradient by φ(t) + φ(−t), t = ⟨θ, u⟩: by 1
for the logistic loss, by φ(0) or more for any, as φ rises; and by √2 for more classes. One whose label is the least
likely has ‖p − e_l‖² ≥ 1 − 1/K, as its p_l ≤ 1/K. D is attained in a ball of two or more dimensions, for then v and v'
can be as above (with a constant κ where θ has nothing along it: v and v' then have opposite labels and the same
⟨θ, v⟩, which for the logistic loss is below ‖θ‖/2 at the worst α).

**Weights** (two classes, logistic). A row of weight w = 1/t², t ≥ 1, contributes φ(t⟨θ, v⟩)/t·v with v = −√w·y·u,
‖v‖ ≤ 1 (``Features``). φ rises, and is concave above 0, where φ(0) > 0. So φ(tx)/t ≤ φ(x) for every x: the row
contributes a part of what it would with the weight 1. A part of each of two vectors is never longer, or farther from
the other, than the largest of these two and their distance, and D(r) ≥ φ(r).

**Floats.** u is off by e (``features``), a score by f = ‖θ‖(e + (D + 2)u) in each class, u = 2⁻⁵³; a by c·f, c the
largest curvature, or p by 2f; the exponential, the sums and the products add (2K + D + 16)u.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.queries.bound import UNIT_ROUNDOFF, Bound
from discreet.queries.moments.mixed_moments import one_hot
from discreet.queries.objectives.labelled_rows import FeatureQuestion, Features
from discreet.queries.objectives.margin_losses import Logistic, MarginLoss
from discreet.queries.question import Part, Query
from discreet.records import Ball, Block

Array = NDArray[np.float64]

STEP = 2.0**-8  # ‖θ‖ is rounded up to a multiple of it
CLOSE = 1e-4
MOST_CELLS = 2**14
FAR = 600.0  # beyond, a probability is 0 or 1 in all its digits
ROUNDS = 24


def _pushes(loss: MarginLoss, t: Any) -> Array:
    """Return φ(t)."""
    return np.asarray(-loss.slope(-np.asarray(t, dtype=np.float64)), dtype=np.float64)


def _squares(one: Array, other: Array, cosine: Array) -> Array:
    return np.asarray(one * one + other * other - 2.0 * one * other * cosine)


@lru_cache(maxsize=4096)
def replaced_gradients(loss: MarginLoss, steps: int) -> float:
    """Return a bound on D(r) of the module, for every r between steps − 1 and ``steps`` times ``STEP``.

    >>> round(replaced_gradients(Logistic(), 0), 3), round(replaced_gradients(Logistic(), 4 * 256), 3)
    (1.0, 1.533)
    """
    high, low = steps * STEP, max(steps - 1, 0) * STEP

    def largest(cosine: Array) -> Array:
        return _pushes(loss, np.where(cosine > 0.0, high, low) * cosine)

    def least(cosine: Array) -> Array:
        return _pushes(loss, np.where(cosine > 0.0, low, high) * cosine)

    width = math.pi / 16.0
    grid = np.arange(16) * width
    one, other = (side.ravel() for side in np.meshgrid(grid, grid, indexing="ij"))
    result = 0.0
    for _ in range(ROUNDS):
        sums = one + other
        cosine = np.cos(np.clip(math.pi, sums, sums + 2.0 * width))
        sides = [(largest(np.cos(a)), least(np.cos(a + width))) for a in (one, other)]
        bounds = np.max([_squares(a, b, cosine) for a in sides[0] for b in sides[1]], axis=0)
        middle = [side + width / 2.0 for side in (one, other)]
        pushed = [_pushes(loss, high * np.cos(side)) for side in middle]
        points = _squares(pushed[0], pushed[1], np.cos(middle[0] + middle[1]))
        result = max(result, float(points.max()))
        if bounds.max() <= result * (1.0 + CLOSE) or len(one) > MOST_CELLS:
            break
        kept = bounds > result
        width /= 2.0
        one, other = (
            np.concatenate([side[kept] + more for more in shifts])
            for side, shifts in ((one, (0.0, 0.0, width, width)), (other, (0.0, width, 0.0, width)))
        )
    return min(math.sqrt(max(result, float(bounds.max()))) * (1.0 + 1e-9), 2.0 * float(_pushes(loss, high)))


def has_unit_rows(features: Features) -> bool:
    """Return whether some row surely has ‖u‖ = 1: one on the border of the space, or that is clipped."""
    gaussian = features.gaussian
    if gaussian is None:
        return True
    squares = float((gaussian.whitening**2).sum()) / gaussian.dimension + float((gaussian.offsets**2).sum())
    return squares >= features.radius**2


@dataclass(frozen=True, eq=False)
class MarginGradient(FeatureQuestion, Query):
    """Σ of the rows' gradients at a θ.

    Parameters
    ----------
    features : Features
    loss : MarginLoss
        For two classes; with more it is that of the softmax.
    theta : array of shape (q, D)
        Public. q is 1 for two classes, else their number.
    classes : int
    column : int
        Which of the columns of categories holds the labels; for two classes the second is y = 1.
    """

    features: Features
    loss: MarginLoss
    theta: Array
    classes: int
    column: int = 0

    name = "margin gradient"

    def __post_init__(self) -> None:
        shape = (1 if self.classes == 2 else self.classes, self.features.size)
        theta = np.array(self.theta, dtype=np.float64)
        if self.classes < 2 or theta.shape != shape or not np.all(np.isfinite(theta)):
            raise ValueError(f"theta of shape {theta.shape}: expected {shape}, finite, for {self.classes} classes")
        if self.features.weighted and not (self.classes == 2 and isinstance(self.loss, Logistic)):
            raise ArgumentError("features", UNSHOWN, "weights only for the logistic loss of two classes")
        theta.flags.writeable = False  # the bound is that of this θ
        object.__setattr__(self, "theta", theta)

    @property
    def parts(self) -> Mapping[str, Part]:
        """The gradient."""
        return {"gradient": Part(self.theta.shape)}

    def _reach(self, theta: Array, *, either: bool) -> Array:
        """Return sup ⟨θ, u⟩ for each row of θ, rounded up; or of ⟨θ, u⟩ and ⟨−θ, u⟩ together."""
        kappa = self.features.constant
        if not kappa:
            return np.asarray(np.linalg.norm(theta, axis=-1) * (1.0 + 1e-9))
        along = np.abs(theta[..., -1]) if either else theta[..., -1]
        share = math.sqrt(1.0 - kappa * kappa)
        sizes = np.linalg.norm(theta, axis=-1)
        return np.asarray(share * np.linalg.norm(theta[..., :-1], axis=-1) + kappa * along + 1e-9 * sizes)

    @property
    def bound(self) -> Bound:
        """See the module."""
        return self._two_classes if self.classes == 2 else self._several_classes

    @cached_property
    def _two_classes(self) -> Bound:
        size = float(np.linalg.norm(self.theta))
        row = float(_pushes(self.loss, self._reach(self.theta, either=True)[0]))
        pair = min(replaced_gradients(self.loss, math.ceil(size * (1.0 + 1e-9) / STEP)), 2.0 * row)
        unit, ball = has_unit_rows(self.features), isinstance(self.space, Ball) and self.features.gaussian is None
        level = not self.features.constant or not (self.theta[0, -1] or self.features.constant > 0.8)
        tight = ball and self.dimension > 1 and level
        half = float(_pushes(self.loss, 0.0))
        flipped = 1.0 if isinstance(self.loss, Logistic) else half
        return Bound(
            l2=row,
            replace_l2=pair,
            attained={
                "l2": 1.0 if ball else min(half / row, 1.0) * unit,
                "replace_l2": 1.0 if tight else min(flipped / pair, 1.0) * unit,
            },
        )

    @cached_property
    def _several_classes(self) -> Bound:
        k = self.classes
        apart = self._reach(self.theta[:, None, :] - self.theta[None, :, :], either=False)
        others = ~np.eye(k, dtype=bool)
        odds = np.exp(np.clip(apart, -FAR, FAR))
        least = float((1.0 / (1.0 + np.where(others, odds, 0.0).sum(axis=0))).min())
        most = float((1.0 / (1.0 + np.where(others, 1.0 / odds, 0.0).sum(axis=1))).max())
        squared = (1.0 - least) ** 2 + most * (1.0 - least)
        back = max(0.0, 1.0 - 2.0 * self.features.constant**2)
        worst = min(max(back * squared, 2.0 * most - least, back * (most - 2.0 * least)), squared)
        row, pair = math.sqrt(squared), math.sqrt(2.0 * squared + 2.0 * worst)
        unit = has_unit_rows(self.features)
        return Bound(
            l2=row,
            replace_l2=pair,
            attained={
                "l2": min(math.sqrt(1.0 - 1.0 / k) / row, 1.0) * unit,
                "replace_l2": min(math.sqrt(2.0) / pair, 1.0) * unit,
            },
        )

    @property
    def roundoff(self) -> float:
        """See the module, *Floats*."""
        u, own = UNIT_ROUNDOFF, self.features.roundoff
        score = float(np.linalg.norm(self.theta)) * (own + (self.features.size + 2.0) * u)
        push = (self.loss.most_curvature if self.classes == 2 else 2.0) * score
        return (own + push + (2.0 * self.classes + self.features.size + 16.0) * u) / self.bound.l2

    def _pushed(self, block: Block) -> tuple[Any, Any]:
        """Return u, and what it is multiplied with for each row of θ: shapes (n, D) and (n, q)."""
        u, weight = self.features.weigh_rows(block)
        xp = array_namespace(u)
        scores = xp.matmul(u, xp.asarray(self.theta, dtype=u.dtype, device=device(u)).T)
        labels = block.codes[:, self.column]
        if self.classes == 2:
            y = 2.0 * xp.astype(labels == 1, xp.float64)[:, None] - 1.0
            return u, weight[:, None] * y * self.loss.slope(y * scores)
        powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return u, powers / xp.sum(powers, axis=1, keepdims=True) - one_hot(labels, self.classes)

    def contributions(self, block: Block) -> Any:
        """Return the gradient of each row."""
        u, pushed = self._pushed(block)
        return array_namespace(u).reshape(pushed[:, :, None] * u[:, None, :], (u.shape[0], -1))

    def sum(self, block: Block) -> Any:
        """Return the gradient, by one matrix product."""
        u, pushed = self._pushed(block)
        xp = array_namespace(u)
        return xp.reshape(xp.matmul(pushed.T, u), (-1,))
