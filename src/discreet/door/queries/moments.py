"""Sums of rows and of their products, mapped into the unit ball of the declared space.

The bounds (DESIGN: the lemma everything rests on). With ‖y‖ ≤ 1 and ψ = (a, b·y, c·yyᵀ), the matrix packed with √2 off
the diagonal so that the vector norm is the Frobenius norm:

- ‖ψ‖₂² = a² + b²‖y‖² + c²‖y‖⁴ ≤ a² + b² + c² = 1.
- ⟨ψ, ψ'⟩ = a² + b²v + c²v² with v = ⟨y, y'⟩ in [−1, 1]. Its least value is t = a² − b⁴/(4c²) at v = −b²/(2c²), where
  that is at least −1, else t = a² − b² + c² at v = −1. So ‖ψ − ψ'‖₂² ≤ 2 − 2t.
- ‖y‖₁ ≤ √d and ‖packed yyᵀ‖₁ = (1 − 1/√2)‖y‖₂² + ‖y‖₁²/√2 ≤ 1 − 1/√2 + d/√2. The constant a cancels when a row is
  replaced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import nonnegative
from discreet.door.bound import Bound
from discreet.door.part import Part, packed_scale
from discreet.door.query import Query
from discreet.door.registry import registered
from discreet.records import Ball, Block, Box

__all__ = ["Moments", "Sum"]


def _spaces(rng: np.random.Generator, d: int, radius: float) -> list[Box | Ball]:
    """Return spaces to search in: a cube, a skewed box far from zero, a ball off the centre."""
    low = rng.normal(size=d) * radius
    return [
        Box(np.full(d, -radius), np.full(d, radius)),
        Box(low, low + radius * 10.0 ** rng.uniform(-3.0, 3.0, d)),
        Ball(radius, center=rng.normal(size=d) * radius),
    ]


@registered(lambda rng, d, radius: [Sum(space) for space in _spaces(rng, d, radius)])
@dataclass(frozen=True)
class Sum(Query):
    """Σ y, the rows mapped into the unit ball: ‖y‖₂ ≤ 1, ‖y‖₁ ≤ √d, and twice that when a row is replaced."""

    space: Box | Ball

    name = "sum"

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """The sum of y."""
        return {"sum": Part((self.dimension,))}

    @property
    def bound(self) -> Bound:
        """1 in L2, √d in L1."""
        return Bound(l2=1.0, l1=math.sqrt(self.dimension))

    def contributions(self, block: Block) -> Any:
        """Return y."""
        return self.space.to_unit(block.x)


@registered(
    lambda rng, d, radius: [
        Moments(space, weights=tuple(weights))
        for space in _spaces(rng, d, radius)
        for weights in (
            rng.dirichlet(np.ones(3)),
            (1 / 3,) * 3,
            (0.0, 0.5, 0.5),
            (0.0, 0.9, 0.1),
            (0.0, 0.0, 1.0),
            (0.3, 0.7, 0.0),
        )
    ]
)
@dataclass(frozen=True)
class Moments(Query):
    """Σ (a, b·y, c·yyᵀ): the number of rows, their sum and their second moment, as one release.

    Parameters
    ----------
    space : Box or Ball
        The rows are clipped to it and mapped into the unit ball.
    weights : tuple of three floats
        a², b² and c², which sum to 1: how the budget is shared between count, first and second moment. The count may be
        left out (0), and one of the moments.
    """

    space: Box | Ball
    weights: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)

    name = "moments"

    def __post_init__(self) -> None:
        wrong = ValueError(f"weights={self.weights!r}: expected three numbers a², b², c² ≥ 0 that sum to 1, a² < 1")
        if not isinstance(self.weights, tuple | list | np.ndarray) or len(self.weights) != 3:
            raise wrong
        a2, b2, c2 = (nonnegative("weights", weight) for weight in self.weights)
        total = a2 + b2 + c2
        if not (b2 + c2 > 0.0 and abs(total - 1.0) < 1e-9):
            raise wrong
        object.__setattr__(self, "weights", (a2 / total, b2 / total, c2 / total))  # 1 to the last digits

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return self.space.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count, the first moment and the second, as far as they have a weight."""
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        d = self.dimension
        named = {"count": Part((1,), a), "first": Part((d,), b), "second": Part((d, d), c, symmetric=True)}
        return {name: part for name, part in named.items() if part.weight}

    @property
    def bound(self) -> Bound:
        """See the module; the L1 bounds and, in one dimension, the L2 bound under replacement are not tight."""
        a2, b2, c2 = self.weights
        d = self.dimension
        least = a2 - b2 * b2 / (4.0 * c2) if b2 <= 2.0 * c2 and c2 > 0.0 else a2 - b2 + c2
        replaced = math.sqrt(max(2.0 - 2.0 * least, 1.0))
        rows = math.sqrt(b2 * d) + math.sqrt(c2) * (1.0 - math.sqrt(0.5) + d * math.sqrt(0.5))
        l1 = math.sqrt(a2) + rows
        # In a box, and on the line, only corners have norm 1, and two of them have v = 1 − 2k/d.
        corners = [1.0 - 2.0 * k / d for k in range(d + 1)]
        at_corners = math.sqrt(max(2.0 - 2.0 * (a2 + b2 * v + c2 * v * v) for v in corners))
        tight = d > 1 and isinstance(self.space, Ball) and 2.0 - 2.0 * least >= 1.0
        return Bound(
            l2=1.0,
            l1=l1,
            replace_l2=replaced,
            replace_l1=max(2.0 * rows, l1),
            attained={
                "replace_l2": 1.0 if tight else at_corners / replaced,
                "replace_l1": 2.0 * math.sqrt(b2 * d) / max(2.0 * rows, l1),
            },
        )

    def _packing(self) -> tuple[Any, Any, Any]:
        i, j = np.triu_indices(self.dimension)
        return i, j, packed_scale(i, j)

    def contributions(self, block: Block) -> Any:
        """Return (a, b·y, c·packed yyᵀ)."""
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        parts = [xp.full((y.shape[0], 1), a, dtype=y.dtype, device=device(y))] if a else []
        parts += [b * y] if b else []
        if c:
            i, j, scale = (xp.asarray(part, device=device(y)) for part in self._packing())
            parts.append(c * (xp.take(y, i, axis=1) * xp.take(y, j, axis=1) * xp.astype(scale, y.dtype)))
        return xp.concat(parts, axis=1)

    def sum(self, block: Block) -> Any:
        """Return the sums by one matrix product."""
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        parts = [xp.full((1,), a * y.shape[0], dtype=y.dtype, device=device(y))] if a else []
        parts += [b * xp.sum(y, axis=0)] if b else []
        if c:
            i, j, scale = (xp.asarray(part, device=device(y)) for part in self._packing())
            gram = xp.reshape(xp.matmul(y.T, y), (-1,))
            parts.append(c * (xp.take(gram, i * self.dimension + j, axis=0) * xp.astype(scale, y.dtype)))
        return xp.concat(parts, axis=0)
