"""Sums of rows and of their products, mapped into the unit ball of the declared space.

The bounds (DESIGN: the lemma everything rests on). With ‖y‖ ≤ 1 and ψ = (a, b·y, c·yyᵀ), the matrix packed with √2 off
the diagonal so that the vector norm is the Frobenius norm:

- ‖ψ‖₂² = a² + b²‖y‖² + c²‖y‖⁴ ≤ a² + b² + c² = 1.
- ⟨ψ, ψ'⟩ = a² + b²v + c²v² with v = ⟨y, y'⟩ in [−1, 1]. Its least value is t = a² − b⁴/(4c²) at v = −b²/(2c²), where
  that is at least −1, else t = a² − b² + c² at v = −1. So ‖ψ − ψ'‖₂² ≤ 2 − 2t.
- ‖y‖₁ ≤ √d and ‖packed yyᵀ‖₁ = (1 − 1/√2)‖y‖₂² + ‖y‖₁²/√2 ≤ 1 − 1/√2 + d/√2. The constant a cancels when a row is
  replaced, and in a ball two rows are apart by twice the rest at most.

In a box y = z/√d with z in [−1, 1]^d, and two rows are closer. Let β_i = |z_i − z'_i|/2 and α_i = 1 − β_i, so that
|z_i + z'_i|/2 ≤ α_i. As z_i z_j − z'_i z'_j = ½[(z_i + z'_i)(z_j − z'_j) + (z_i − z'_i)(z_j + z'_j)], it is at most
2(α_iβ_j + β_iα_j), and all of this is attained at once.

- L1: (2b/√d)Σβ_i + (2c/d)·[2S + √2(AB − S)], A = Σα_i, B = Σβ_i, S = Σα_iβ_i, since the diagonal has 2α_iβ_i and each
  pair √2(α_iβ_j + β_iα_j). It grows with S = B − Σβ_i², which for a given B is largest where all β_i are one β. That
  leaves Pβ + Rβ(1 − β), P = 2b√d and R = 2c(2 + √2(d − 1)): at most (P + R)²/(4R) where P ≤ R, else P, at β = 1.
- L2: the square is (4b²/d)Σβ_i² + (4c²/d²)Σ_{i,j}(α_iβ_j + β_iα_j)². In one β_i all of it is convex but the diagonal
  term (16c²/d²)β²(1 − β)², which is at most (4c²/d²)β(1 − β), with equality at both ends. With that in its place the
  second derivative is at least 8b²/d − 8c²/d² ≥ 0 if b²d ≥ c². So the maximum is at two corners that differ in k
  columns: 4b²k/d + 8c²k(d − k)/d².
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from discreet.arguments import ArgumentError, nonnegative
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query, packed_scale
from discreet.records import Ball, Block, Box

__all__ = ["Moments", "Sum"]


def _check_space(space: Any) -> None:
    if not isinstance(space, Box | Ball):
        raise ArgumentError("space", space, "a Box or a Ball", write="for example Sum(curator.space)")


@dataclass(frozen=True)
class Sum(Query):
    """Σ y, the rows mapped into the unit ball: ‖y‖₂ ≤ 1, ‖y‖₁ ≤ √d, and twice that when a row is replaced."""

    space: Box | Ball

    name = "sum"

    def __post_init__(self) -> None:
        _check_space(self.space)

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


def _box_l1(p: float, r: float) -> float:
    """Return the maximum of pβ + rβ(1 − β) over β in [0, 1]."""
    return (p + r) ** 2 / (4.0 * r) if p <= r else p


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
        _check_space(self.space)
        wrong = ArgumentError("weights", self.weights, "three numbers a², b², c² ≥ 0 that sum to 1, a² < 1")
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
        """See the module; in a ball the L1 bound under replacement is not tight, nor in a box L2 where c² > b²d."""
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
        if isinstance(self.space, Box):
            exact = b2 * d >= c2
            return Bound(
                l2=1.0,
                l1=l1,
                replace_l2=at_corners if exact else replaced,
                replace_l1=_box_l1(2.0 * math.sqrt(b2 * d), 2.0 * math.sqrt(c2) * (2.0 + math.sqrt(2.0) * (d - 1))),
                attained={} if exact else {"replace_l2": at_corners / replaced},
            )
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
