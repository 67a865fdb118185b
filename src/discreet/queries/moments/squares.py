"""Sums of one column and of its squares, about the middle of its bounds: what a variance is made of.

With y in [−1, 1] a row contributes (a, b·y, c·(2y² − 1)), a² + b² + c² = 1. The square is taken about its own middle,
so that a row that comes or goes moves it by half of what y² would.

*Bounds.* b²y² + c²(2y² − 1)² is convex in y², so it is largest at |y| = 1 (or at 0, where it is less): ‖ψ‖₂ ≤ 1, and
‖ψ‖₁ ≤ a + b + c, as b|y| + c|2y² − 1| is at most c + b²/(8c) < b + c where 2y² < 1 and b ≤ 4c, and rises after that.

For two rows let δ = |y − y'| and s = |y + y'|, δ + s ≤ 2. They are apart by (b·δ, 2c·δ·s), so take s = 2 − δ.
- L1: δ(b + 2c(2 − δ)) is largest at δ = 1 + b/(4c), where it is 2c(1 + b/(4c))²; if b ≥ 4c at δ = 2, where it is 2b.
- L2: δ²(b² + 4c²(2 − δ)²) is 4b² at δ = 2. With u = 2 − δ its slope is 0 where b² + 8c²u² − 8c²u = 0, of which
  u = (1 + √(1 − b²/(2c²)))/2 is the maximum, if b² ≤ 2c².
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from discreet.arguments import ArgumentError, positive
from discreet.queries.bound import Bound
from discreet.queries.question import Part, Query
from discreet.records import Block, Box

__all__ = ["Squares"]


@dataclass(frozen=True)
class Squares(Query):
    """Σ(a, b·y, c·(2y² − 1)) of one column.

    Parameters
    ----------
    space : Box
        The column's bounds.
    counted : bool
        Whether the rows are counted as well.
    weights : (float, float, float), optional
        a², b² and c², in any unit. The usual ones make the error of the variance small where the mean is up to a third
        of the way from the middle to an end, and do not fail it elsewhere.
    """

    space: Box
    counted: bool
    weights: tuple[float, float, float] | None = None

    name = "squares"

    def __post_init__(self) -> None:
        if self.space.dimension != 1:
            raise ArgumentError("space", self.space, "the bounds of one column")
        for weight in self.weights or ():
            positive("weights", weight)

    @property
    def amplitudes(self) -> tuple[float, float, float]:
        """a, b and c."""
        usual = (0.64, 1.0, 1.0) if self.counted else (0.0, 1.21, 1.0)
        a2, b2, c2 = usual if self.weights is None else self.weights
        total = (a2 if self.counted else 0.0) + b2 + c2
        return math.sqrt(a2 / total) if self.counted else 0.0, math.sqrt(b2 / total), math.sqrt(c2 / total)

    @property
    def dimension(self) -> int:
        """One."""
        return 1

    @property
    def parts(self) -> Mapping[str, Part]:
        """The count, the sum of y and the sum of 2y² − 1."""
        a, b, c = self.amplitudes
        return ({"count": Part((1,), a)} if a else {}) | {"first": Part((1,), b), "square": Part((1,), c)}

    @property
    def bound(self) -> Bound:
        """See the module."""
        a, b, c = self.amplitudes
        if 2.0 * c * c >= b * b:
            u = (1.0 + math.sqrt(1.0 - b * b / (2.0 * c * c))) / 2.0
            inner = (2.0 - u) * math.sqrt(b * b + 4.0 * c * c * u * u)
        else:
            inner = 0.0
        replace_l1 = 2.0 * b if b >= 4.0 * c else 2.0 * c * (1.0 + b / (4.0 * c)) ** 2
        return Bound(l2=1.0, l1=a + b + c, replace_l2=max(2.0 * b, inner), replace_l1=replace_l1)

    def contributions(self, block: Block) -> Any:
        """Return (a, b·y, c·(2y² − 1))."""
        a, b, c = self.amplitudes
        y = self.space.to_unit(block.x)
        xp = array_namespace(y)
        count = [xp.full(y.shape, a, dtype=y.dtype, device=device(y))] if a else []
        return xp.concat([*count, b * y, c * (2.0 * y * y - 1.0)], axis=1)
